import type { Encryption } from '../jobs/encryption.ts';
import type { Instant } from '../kernel/calendar.ts';

/** Whose portal a link opens, and until when. */
export interface PortalPass {
  readonly environmentId: number;
  readonly customerId: string;
  readonly expiresAt: Instant;
  /** Where the portal leads back to. It is part of what is signed. */
  readonly returnUrl: string | null;
}

const portalContext = 'portal';

/** Where a customer looks after its plan by itself: `<publicUrl>/portal?key=<pass>.<mac>`, until it expires. */
export function portalUrl(publicUrl: string, encryption: Encryption, pass: PortalPass): string {
  return `${publicUrl.replace(/\/+$/, '')}/portal?key=${portalKey(encryption, pass)}`;
}

/** The key of a portal link; also what a cookie may hold. Its characters need no escaping in either. */
export function portalKey(
  encryption: Encryption,
  { environmentId, customerId, expiresAt, returnUrl }: PortalPass,
): string {
  const pass = Buffer.from(JSON.stringify([environmentId, customerId, expiresAt, returnUrl])).toString('base64url');
  return `${pass}.${encryption.mac(pass, portalContext)}`;
}

/** The pass that `key` is, or null when it is none of ours or has expired at `now`. */
export function readPortalKey(encryption: Encryption, key: string, now: Instant): PortalPass | null {
  const parts = key.split('.');
  const [pass = '', mac = ''] = parts;
  if (parts.length !== 2 || !encryption.isMac(pass, portalContext, mac)) return null;
  // Nothing but a pass of ours has such a mac.
  const read = JSON.parse(Buffer.from(pass, 'base64url').toString()) as [number, string, Instant, string | null];
  const [environmentId, customerId, expiresAt, returnUrl] = read;
  return now < expiresAt ? { environmentId, customerId, expiresAt, returnUrl } : null;
}
