import { requireCustomerByExternalId } from '../customers/actions.ts';
import { portalUrl } from '../customers/portal-link.ts';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { type NewPortalSession, type PortalSession, portalSessionSeconds } from './portal-session.ts';

/**
 * A link to the customer's portal. It expires by real time: with a frozen test clock it would never expire. Refuses
 * with `customerNotFound`.
 */
export async function createPortalSession(
  work: Work,
  encryption: Encryption,
  externalId: string,
  { returnUrl = null, expiresInSeconds = portalSessionSeconds }: NewPortalSession,
  pricingModelId?: string,
): Promise<PortalSession> {
  const { id: customerId } = await requireCustomerByExternalId(work, externalId, pricingModelId);
  const expiresAt = Date.now() + expiresInSeconds * 1000;
  const pass = { environmentId: work.environmentId, customerId, expiresAt, returnUrl };
  return { url: portalUrl(work.publicUrl, encryption, pass), expiresAt, returnUrl };
}
