import type { Encryption } from '../jobs/encryption.ts';
import type { Instant } from '../kernel/calendar.ts';

/** The customer whose portal a link opens, and the link's expiry. */
export interface PortalPass {
  readonly environmentId: number;
  readonly customerId: string;
  /** The customer's `portalVersion` when the link was made. */
  readonly version: number;
  readonly expiresAt: Instant;
  /** The return address of the portal, which is part of the signature. */
  readonly returnUrl: string | null;
}

const portalContext = 'portal';

/** The link to a customer's portal: `<publicUrl>/portal?key=<pass>.<mac>`, valid until it expires. */
export function portalUrl(publicUrl: string, encryption: Encryption, pass: PortalPass): string {
  return `${publicUrl.replace(/\/+$/, '')}/portal?key=${portalKey(encryption, pass)}`;
}

/** The key of a portal link, also stored in a cookie. Its characters need no escaping in either. */
export function portalKey(
  encryption: Encryption,
  { environmentId, customerId, version, expiresAt, returnUrl }: PortalPass,
): string {
  const fields = [environmentId, customerId, version, expiresAt, returnUrl];
  const pass = Buffer.from(JSON.stringify(fields)).toString('base64url');
  return `${pass}.${encryption.mac(pass, portalContext)}`;
}

/** The pass in `key`, or null if the key is not ours or has expired at `now`. */
export function readPortalKey(encryption: Encryption, key: string, now: Instant): PortalPass | null {
  const parts = key.split('.');
  const [pass = '', mac = ''] = parts;
  if (parts.length !== 2 || !encryption.isMac(pass, portalContext, mac)) return null;
  // The MAC proves that this service created the pass.
  const read = JSON.parse(Buffer.from(pass, 'base64url').toString()) as [
    number,
    string,
    number,
    Instant,
    string | null,
  ];
  const [environmentId, customerId, version, expiresAt, returnUrl] = read;
  return now < expiresAt ? { environmentId, customerId, version, expiresAt, returnUrl } : null;
}
