import { queryOptions, useQuery } from '@tanstack/react-query';
import { chooseEnvironment, currentEnvironment, leaveEnvironment, queries, send } from './api.ts';

export interface Membership {
  readonly organization: { readonly id: string; readonly name: string };
  readonly role: string;
  readonly permissions: readonly string[];
  readonly environments: readonly { readonly id: string; readonly livemode: boolean }[];
}

interface Me {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  readonly memberships: readonly Membership[];
}

/** The person who is signed in, in one environment. */
export interface Session {
  readonly me: Me;
  readonly membership: Membership;
  readonly environment: { readonly id: string; readonly livemode: boolean };
}

const sessionFreshMs = 60_000;

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async () => (await send<{ me: Me }>('GET', '/api/v1/me')).me,
  staleTime: sessionFreshMs,
  retry: false,
});

/** The session; null while nothing is known of it, or for a person without an organization. */
export function useSession(): Session | null {
  const { data: me } = useQuery(meQuery);
  return me === undefined ? null : sessionOf(me);
}

/** The session in the chosen environment, or else in the first one of test mode. */
function sessionOf(me: Me): Session | null {
  const places = me.memberships.flatMap((membership) =>
    membership.environments.map((environment) => ({ me, membership, environment })),
  );
  const chosen = places.find(({ environment }) => environment.id === currentEnvironment());
  const session = chosen ?? places.find(({ environment }) => !environment.livemode) ?? places[0] ?? null;
  if (session !== null && chosen === undefined) chooseEnvironment(session.environment.id);
  return session;
}

/** Whether the role of the session may do what an operation needs, such as `payments:money`. */
export function useMay(needs: `${string}:${string}`): boolean {
  const [, kind = ''] = needs.split(':');
  const permissions = useSession()?.membership.permissions ?? [];
  return permissions.some((permission) => permission === needs || permission === kind);
}

/** Signs in with a password. With an authenticator, its code is still to come. */
export async function signIn(email: string, password: string): Promise<{ readonly needsCode: boolean }> {
  const answer = await send<{ twoFactorRedirect?: boolean }>('POST', '/auth/sign-in/email', { email, password });
  if (answer.twoFactorRedirect === true) return { needsCode: true };
  await queries.resetQueries();
  return { needsCode: false };
}

/** The second step: the code of the authenticator, or one of the backup codes. */
export async function signInWithCode(code: string, kind: 'totp' | 'backup-code'): Promise<void> {
  await send('POST', `/auth/two-factor/verify-${kind}`, { code });
  await queries.resetQueries();
}

export async function signInWithPasskey(): Promise<void> {
  const { provePasskey } = await import('./account/webauthn.ts');
  await provePasskey();
  await queries.resetQueries();
}

export async function signOut(): Promise<void> {
  await send('POST', '/auth/sign-out', {});
  leaveEnvironment();
  queries.clear();
  location.assign('/sign-in');
}
