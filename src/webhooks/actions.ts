import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Outbound } from '../jobs/outbound.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { resolveLockedPricingModel } from '../pricing/actions.ts';
import { secretContext } from './delivery.ts';
import * as store from './store.ts';
import { maxWebhooks, type NewWebhook, previousSecretLifetimeMs, type Webhook, type WebhookChange } from './webhook.ts';

/** The external services of webhooks: keys that the database does not know, and a way to addresses that others choose. */
export interface WebhookServices {
  readonly encryption: Encryption;
  readonly outbound: Outbound;
}

/** The part of the external services that webhooks use. */
export interface WithWebhooks {
  readonly webhooks?: WebhookServices;
}

/** The services that webhooks were started with. */
export function webhookServicesOf({ webhooks }: WithWebhooks = {}): WebhookServices {
  assert(webhooks, 'the service has keys and a way out');
  return webhooks;
}

/** Adds the fields of the environment. */
export function render<Row>(work: Work, row: Row): Row & { livemode: boolean; organizationId: string } {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

// 256 bits, the length of the HMAC's digest.
const secretBytes = 32;

/** Standard base64: verifiers refuse the url-safe alphabet. */
function newSecret(): string {
  return `whsec_${randomBytes(secretBytes).toString('base64')}`;
}

/** Refuses an address that would never be sent to. The address that its name resolves to is checked when a message is sent. */
function checkUrl(work: Work, { outbound }: WebhookServices, url: string): void {
  const issue = outbound.issueOf(url, work.livemode);
  if (issue !== null) throw invalid(['webhook', 'url'], issue);
}

/** Registers a webhook. The secret is returned only here; it is stored encrypted. */
export async function createWebhook(
  work: Work,
  { pricingModelId, ...webhook }: NewWebhook,
  services: WebhookServices,
): Promise<{ webhook: Webhook; secret: string }> {
  checkUrl(work, services, webhook.url);
  // Locked, so that of many at once no more are made than there may be.
  const resolvedId = await resolveLockedPricingModel(work, pricingModelId);
  if ((await store.countWebhooks(work, resolvedId)) >= maxWebhooks)
    throw new Problem('tooManyWebhooks', { id: resolvedId, limit: maxWebhooks });
  const id = newId('webhook');
  const secret = newSecret();
  const sealedSecret = services.encryption.seal(secret, secretContext(work.environmentId, id));
  const row = await store.insertWebhook(work, { ...webhook, id, pricingModelId: resolvedId, sealedSecret });
  return { webhook: render(work, row), secret };
}

/** The stored webhook. Refuses with `webhookNotFound`. */
export async function webhookOf(work: Work, id: string): Promise<store.WebhookRow> {
  return found(await store.findWebhook(work, id), id);
}

/**
 * A webhook to send to, protected from deletion until the work ends by `lock`. Refuses with `webhookNotFound` and
 * `webhookInactive`.
 */
export async function lockedWebhookOf(
  work: Work,
  id: string,
  lock = store.lockWebhookAgainstDeletion,
): Promise<store.WebhookRow> {
  const row = found(await lock(work, id), id);
  if (!row.active) throw new Problem('webhookInactive', { id });
  return row;
}

function found(row: store.WebhookRow | null, id: string): store.WebhookRow {
  if (row === null) throw new Problem('webhookNotFound', { id });
  return row;
}

export async function getWebhook(work: Work, id: string): Promise<Webhook> {
  return render(work, await webhookOf(work, id));
}

export async function listWebhooks(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfWebhooks(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

/**
 * Changes the given fields, for events published from then on. The secret stays. Reactivating a webhook or changing its
 * address resets its failure history.
 */
export async function updateWebhook(
  work: Work,
  id: string,
  change: WebhookChange,
  services: WebhookServices,
): Promise<Webhook> {
  const { id: bodyId, pricingModelId, name, url, filterTypes, active } = change;
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { bodyId, pathId: id });
  if (url !== undefined) checkUrl(work, services, url);
  const current = await webhookOf(work, id);
  if (pricingModelId && pricingModelId !== current.pricingModelId)
    throw invalid(['webhook', 'pricingModelId'], 'cannot be changed: create another webhook');
  const isRevived = active === true || (url !== undefined && url !== current.url);
  const row = await store.updateWebhook(work, id, {
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(filterTypes === undefined ? {} : { filterTypes }),
    ...(active === undefined ? {} : { active }),
    ...(active === true ? { disabledReason: null } : {}),
    ...(isRevived ? { failingSince: null } : {}),
  });
  await store.announceChange(work, id);
  return render(work, found(row, id));
}

/** Deletes a webhook with its deliveries, pending ones included. Returns its last values. */
export async function deleteWebhook(work: Work, id: string): Promise<Webhook> {
  const row = found(await store.deleteWebhook(work, id), id);
  await store.announceChange(work, id);
  return render(work, row);
}

/**
 * Replaces the webhook's secret; the new one is returned only here. Messages are also signed with the previous secret
 * for a day of real time.
 */
export async function rotateSecret(
  work: Work,
  id: string,
  { encryption }: WebhookServices,
): Promise<{ webhook: Webhook; secret: string }> {
  const secret = newSecret();
  const sealedSecret = encryption.seal(secret, secretContext(work.environmentId, id));
  const row = await store.rotateSecret(work, id, sealedSecret, Date.now() + previousSecretLifetimeMs);
  await store.announceChange(work, id);
  return { webhook: render(work, found(row, id)), secret };
}
