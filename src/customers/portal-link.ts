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

/** The invoice that a link shows and lets its holder pay. */
export interface InvoicePass {
  readonly environmentId: number;
  readonly invoiceId: string;
  /** The customer's `portalVersion` when the link was made. */
  readonly version: number;
}

/**
 * The page to pay an invoice: `<publicUrl>/pay/<id>?key=<environment>.<version>.<mac>`. It has no end of its own, because
 * invoices are forwarded and paid late. It ends with the links to the portal of the customer.
 */
export function invoiceUrl(publicUrl: string, encryption: Encryption, pass: InvoicePass): string {
  const { environmentId, invoiceId, version } = pass;
  const place = `${environmentId.toString(36)}.${version.toString(36)}`;
  const mac = encryption.mac(place, invoiceContext(invoiceId));
  return `${publicUrl.replace(/\/+$/, '')}/pay/${invoiceId}?key=${place}.${mac}`;
}

/** The pass of a link to this invoice, or null if the key is not ours. */
export function readInvoiceKey(encryption: Encryption, invoiceId: string, key: string): InvoicePass | null {
  const parts = key.split('.');
  const [environment = '', version = '', mac = ''] = parts;
  const isOurs = parts.length === 3 && encryption.isMac(`${environment}.${version}`, invoiceContext(invoiceId), mac);
  if (!isOurs) return null;
  return { environmentId: Number.parseInt(environment, 36), invoiceId, version: Number.parseInt(version, 36) };
}

function invoiceContext(invoiceId: string): string {
  return `invoice ${invoiceId}`;
}

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
