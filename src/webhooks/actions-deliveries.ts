import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { heldWebhookOf, render, webhookOf } from './actions.ts';
import type { WebhookAttempt, WebhookDelivery } from './delivery.ts';
import type { EventType } from './event.ts';
import { maxReplayed, type ReplayRequest } from './replay.ts';
import { samplePayload } from './sample.ts';
import { lockWebhook } from './store.ts';
import * as store from './store-deliveries.ts';

// What is sent is sent in real time, whatever the test clock says: these actions read the clock of the machine.

export async function listDeliveries(work: Work, webhookId: string, request: PageRequest) {
  await webhookOf(work, webhookId);
  const { rows, total } = await store.pageOfDeliveries(work, webhookId, request);
  return page(
    request,
    rows.map((row): WebhookDelivery => render(work, row)),
    total,
  );
}

// More than a schedule has; who begins a delivery anew again and again sees the end of it.
const maxAttemptsShown = 100;

/** A delivery, and its attempts in the order in which they were made. */
export async function getDelivery(
  work: Work,
  id: string,
): Promise<{ delivery: WebhookDelivery; attempts: WebhookAttempt[] }> {
  const delivery = render(work, await deliveryOf(work, id));
  return { delivery, attempts: await store.listAttempts(work, id, maxAttemptsShown) };
}

async function deliveryOf(work: Work, id: string): Promise<store.DeliveryRow> {
  return found(await store.findDelivery(work, id), id);
}

function found(row: store.DeliveryRow | null, id: string): store.DeliveryRow {
  if (row === null) throw new Problem('deliveryNotFound', { id });
  return row;
}

/** Sends a delivery once more, at once, whatever has become of it; if that fails, at all the times of the schedule. */
export async function retryDelivery(work: Work, id: string): Promise<WebhookDelivery> {
  const { webhookId } = await deliveryOf(work, id);
  await heldWebhookOf(work, webhookId);
  const row = found(await store.beginDelivery(work, id, Date.now()), id);
  await store.announceDeliveries(work, webhookId);
  return render(work, row);
}

/** Sends, once, a message that looks like an event of that type and is none. */
export async function sendSample(work: Work, webhookId: string, type: EventType): Promise<WebhookDelivery> {
  const { pricingModelId } = await heldWebhookOf(work, webhookId);
  const { livemode, now: occurredAt } = work;
  const sample = samplePayload({ type, eventId: newId('event'), pricingModelId, occurredAt, livemode });
  const values = { id: newId('webhookDelivery'), pricingModelId, webhookId, sample };
  const row = await store.insertSample(work, values, Date.now());
  await store.announceDeliveries(work, webhookId);
  return render(work, row);
}

/** Sends the events of a time again, in their order. Answers how many. */
export async function replayEvents(
  work: Work,
  webhookId: string,
  { since, until, types, onlyFailed }: ReplayRequest,
): Promise<{ deliveries: number }> {
  if (until !== undefined && until <= since) throw invalid(['replay', 'until'], 'must be later than since');
  // One after the other: deliveries that two made at once would meet at both of their keys, of which only one is looked for.
  await heldWebhookOf(work, webhookId, lockWebhook);
  const range = { since, until: until ?? null, types: types ?? null, onlyFailed };
  const replay = { webhookId, ...range, limit: maxReplayed };
  const deliveries = await store.beginDeliveries(work, replay, Date.now());
  if (deliveries > maxReplayed) throw new Problem('replayTooLarge', { limit: maxReplayed });
  if (deliveries > 0) await store.announceDeliveries(work, webhookId);
  return { deliveries };
}

// As long as one looks back at what went wrong; the deliveries themselves stay.
const attemptLifetimeMs = 30 * 24 * 60 * 60 * 1000;
// Portions that hold no lock for long, and more of them than ten minutes of sending make.
const forgetAtOnce = 10_000;
const mostPortions = 200;

/** Deletes attempts of long ago, in every environment, a portion at a time. Answers how many. */
export async function forgetAttemptsOnce(database: Database): Promise<number> {
  const before = Date.now() - attemptLifetimeMs;
  let forgotten = 0;
  for (let portions = 0; portions < mostPortions; portions++) {
    const portion = await store.forgetAttempts(database, before, forgetAtOnce);
    forgotten += portion;
    if (portion < forgetAtOnce) break;
  }
  return forgotten;
}
