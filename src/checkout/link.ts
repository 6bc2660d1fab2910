import type { Encryption } from '../jobs/encryption.ts';

// Links of the customer portal are in customers/portal-link.ts, because the billing response contains one.

/** The page that a link opens. Both show the same session. */
export type CheckoutPage = 'checkout' | 'add-payment-method';

/** A session and its environment. */
export interface SessionPlace {
  readonly environmentId: number;
  readonly sessionId: string;
}

/**
 * The address of a checkout session: `<publicUrl>/checkout/<id>?key=<environment>.<mac>`. The link authorizes its
 * holder to pay, and cannot be guessed from the id.
 */
export function checkoutUrl(
  publicUrl: string,
  encryption: Encryption,
  { environmentId, sessionId }: SessionPlace,
  page: CheckoutPage = 'checkout',
): string {
  const environment = environmentId.toString(36);
  const key = `${environment}.${encryption.mac(environment, checkoutContext(sessionId))}`;
  return `${publicUrl.replace(/\/+$/, '')}/${page}/${sessionId}?key=${key}`;
}

/** The environment of the session for which `key` is valid, or null. */
export function readCheckoutKey(encryption: Encryption, sessionId: string, key: string): number | null {
  const parts = key.split('.');
  const [environment = '', mac = ''] = parts;
  if (parts.length !== 2 || !encryption.isMac(environment, checkoutContext(sessionId), mac)) return null;
  return Number.parseInt(environment, 36);
}

function checkoutContext(sessionId: string): string {
  return `checkout ${sessionId}`;
}
