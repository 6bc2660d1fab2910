import { requireCustomerByExternalId } from '../customers/actions.ts';
import { portalUrl } from '../customers/portal-link.ts';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { type NewPortalSession, type PortalSession, portalSessionSeconds } from './portal-session.ts';

/**
 * A link by which a customer looks after its plan by itself. It expires by real time, and not by the environment's:
 * a test clock that stands still would keep it open for ever. Refuses with `customerNotFound`.
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
