import { queryOptions } from '@tanstack/react-query';
import { queries, send } from '../api.ts';

/** A browser in which the person is signed in. */
export interface OwnSession {
  readonly id: string;
  readonly token: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  /** The company's provider that signed the person in; null for a sign-in of their own. */
  readonly signInProviderId: string | null;
}

interface Account {
  readonly session: OwnSession;
  readonly user: { readonly name: string; readonly email: string; readonly twoFactorEnabled: boolean };
}

export interface Passkey {
  readonly id: string;
  readonly name: string | null;
  readonly createdAt: string;
}

const key = 'account';

export const accountQuery = queryOptions({
  queryKey: [key, 'session'],
  queryFn: () => send<Account>('GET', '/auth/get-session'),
});
export const sessionsQuery = queryOptions({
  queryKey: [key, 'sessions'],
  queryFn: () => send<readonly OwnSession[]>('GET', '/auth/list-sessions'),
  retry: false,
});
export const passkeysQuery = queryOptions({
  queryKey: [key, 'passkeys'],
  queryFn: () => send<readonly Passkey[]>('GET', '/auth/passkey/list-user-passkeys'),
});

/** Reads again how the person signs in, and who they are. */
export async function refreshAccount(): Promise<void> {
  await Promise.all([queries.invalidateQueries({ queryKey: [key] }), queries.invalidateQueries({ queryKey: ['me'] })]);
}

// In this order: most browsers name others too.
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** `Mozilla/5.0 (X11; Linux x86_64) ... Chrome/153.0.0.0 ...` -> Chrome on Linux */
export function deviceText(userAgent: string | null): string {
  const nameIn = (names: readonly (readonly [part: string, name: string])[]) =>
    names.find(([part]) => userAgent?.includes(part))?.[1];
  const [browser, system] = [nameIn(browsers), nameIn(systems)];
  if (browser === undefined) return system ?? 'Another program';
  return system === undefined ? browser : `${browser} on ${system}`;
}
