import type { Encryption } from '../jobs/encryption.ts';

// Links of the customer portal are made and read in customers/portal-link.ts, because the billing answer has one.

/** Which page a link of a checkout session opens. Both show the same session. */
export type CheckoutPage = 'checkout' | 'add-payment-method';

/** A session, and the environment that it is in. */
export interface SessionPlace {
  readonly environmentId: number;
  readonly sessionId: string;
}

/**
 * Where a checkout session is opened: `<publicUrl>/checkout/<id>?key=<environment>.<mac>`. Who has the link may pay;
 * nobody can guess it from the id.
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

/** The environment of the session that `key` opens, or null when it opens none by this id. */
export function readCheckoutKey(encryption: Encryption, sessionId: string, key: string): number | null {
  const parts = key.split('.');
  const [environment = '', mac = ''] = parts;
  if (parts.length !== 2 || !encryption.isMac(environment, checkoutContext(sessionId), mac)) return null;
  return Number.parseInt(environment, 36);
}

function checkoutContext(sessionId: string): string {
  return `checkout ${sessionId}`;
}
