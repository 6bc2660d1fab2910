import { randomBytes } from 'node:crypto';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/page.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { enqueue, enqueueAll } from '../platform/jobs.ts';
import type { Work } from '../platform/work.ts';
import { resolvePricingModel } from '../pricing/actions.ts';
import { decideAfterAttempt, type EndpointAnswer, type WebhookDelivery } from './delivery.ts';
import type { Event } from './event.ts';
import * as store from './store.ts';
import type { NewWebhook, Webhook, WebhookChange } from './webhook.ts';

/** Adds what the environment knows. */
function render<Row>(work: Work, row: Row): Row & { livemode: boolean; organizationId: string } {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

// 256 bits, as long as the digest that they key.
const secretBytes = 32;

/** Registers a webhook. The secret is told here and never again. */
export async function createWebhook(
  work: Work,
  { pricingModelId, ...webhook }: NewWebhook,
): Promise<{ webhook: Webhook; secret: string }> {
  // Plain base64: verifiers refuse the characters of the url-safe one.
  const secret = `whsec_${randomBytes(secretBytes).toString('base64')}`;
  const resolvedId = await resolvePricingModel(work, pricingModelId);
  const row = await store.insertWebhook(work, { ...webhook, pricingModelId: resolvedId, secret });
  return { webhook: render(work, row), secret };
}

async function webhookOf(work: Work, id: string): Promise<store.WebhookRow> {
  const row = await store.findWebhook(work, id);
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

/** Changes what is given. It holds for every event that is relayed from then on. The secret stays. */
export async function updateWebhook(work: Work, id: string, change: WebhookChange): Promise<Webhook> {
  const { id: bodyId, pricingModelId, name, url, filterTypes, active } = change;
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { bodyId, pathId: id });
  const current = await webhookOf(work, id);
  if (pricingModelId && pricingModelId !== current.pricingModelId)
    throw invalid(['webhook', 'pricingModelId'], 'cannot be changed: make another webhook');
  const row = await store.updateWebhook(work, id, {
    ...(name === undefined ? {} : { name }),
    ...(url === undefined ? {} : { url }),
    ...(filterTypes === undefined ? {} : { filterTypes }),
    ...(active === undefined ? {} : { active }),
  });
  if (row === null) throw new Problem('webhookNotFound', { id });
  return render(work, row);
}

/** Deletes a webhook with its deliveries, the pending ones too; answers it as it was. */
export async function deleteWebhook(work: Work, id: string): Promise<Webhook> {
  const row = await store.deleteWebhook(work, id);
  if (row === null) throw new Problem('webhookNotFound', { id });
  return render(work, row);
}

export async function getEvent(work: Work, id: string): Promise<Event> {
  const row = await store.findEvent(work, id);
  if (row === null) throw new Problem('eventNotFound', { id });
  return render(work, row);
}

export async function listEvents(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfEvents(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

export async function listDeliveries(work: Work, webhookId: string, request: PageRequest) {
  await webhookOf(work, webhookId);
  const { rows, total } = await store.pageOfDeliveries(work, webhookId, request);
  return page(
    request,
    rows.map((row): WebhookDelivery => render(work, row)),
    total,
  );
}

/** The task that makes one attempt at one delivery. */
export const deliverTask = 'deliver_webhook';

/**
 * Addresses new events: a delivery for each (event, webhook that wants it), and its first attempt, in one commit.
 * `at` is real time. A repeat finds the deliveries there and adds nothing.
 */
export async function relayEvents(work: Work, eventIds: readonly string[], at: Instant): Promise<void> {
  const matches = await store.matchWebhooks(work, eventIds);
  const deliveryIds = await store.insertDeliveries(work, matches, at);
  await enqueueAll(
    work,
    deliverTask,
    deliveryIds.map((deliveryId) => ({ deliveryId, attempt: 1 })),
  );
}

/** What is to be sent where, and the secret to sign it with. */
export interface Message {
  readonly id: string;
  readonly body: string;
  readonly url: string;
  readonly secret: string;
}

/**
 * The message of attempt number `attempt`, or null when there is nothing to send: the attempt was made before, the
 * delivery is gone with its webhook, or the webhook was switched off, which ends the delivery.
 */
export async function beginAttempt(
  work: Work,
  deliveryId: string,
  attempt: number,
  at: Instant,
): Promise<Message | null> {
  const task = await store.findDeliveryTask(work, deliveryId);
  if (task === null || task.status !== 'pending' || task.attempts !== attempt - 1) return null;
  if (!task.active) {
    await store.abandonDelivery(work, deliveryId, 'The webhook is not active.', at);
    return null;
  }
  return { id: task.eventId, body: task.body, url: task.url, secret: task.secret };
}

/** Notes how attempt number `attempt` ended at `at`, and asks for the next one where there is one. */
export async function endAttempt(
  work: Work,
  deliveryId: string,
  attempt: number,
  answer: EndpointAnswer,
  at: Instant,
): Promise<void> {
  const outcome = decideAfterAttempt(attempt, answer, at);
  const isFirst = await store.saveAttempt(work, deliveryId, outcome);
  if (!isFirst || outcome.nextAttemptAt === null) return;
  await enqueue(work, deliverTask, { deliveryId, attempt: attempt + 1 }, { runAt: new Date(outcome.nextAttemptAt) });
}
