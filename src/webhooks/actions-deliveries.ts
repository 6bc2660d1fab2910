import type { Database } from '../database/database.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { requestEffect } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { homeSlot } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { lockedWebhookOf, render, webhookOf } from './actions.ts';
import { maxReplayed, type ReplayRequest, type WebhookAttempt, type WebhookDelivery } from './delivery.ts';
import type { EventType } from './event.ts';
import { samplePayload } from './sample.ts';
import { lockWebhook } from './store.ts';
import * as store from './store-deliveries.ts';

// Deliveries happen in real time, whatever the test clock says: these actions use the machine's clock.

export async function listDeliveries(work: Work, webhookId: string, request: PageRequest) {
  await webhookOf(work, webhookId);
  const { rows, total } = await store.pageOfDeliveries(work, webhookId, request);
  return page(
    request,
    rows.map((row): WebhookDelivery => render(work, row)),
    total,
  );
}

// More than a schedule has; repeatedly restarted deliveries show their last attempts.
const maxAttemptsShown = 100;

/** A delivery with its attempts in order. */
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

/** Restarts a delivery in any state: one attempt now and, if that fails, the whole schedule. */
export async function retryDelivery(work: Work, id: string): Promise<WebhookDelivery> {
  const { webhookId } = await deliveryOf(work, id);
  await lockedWebhookOf(work, webhookId);
  const row = found(await store.beginDelivery(work, id, Date.now()), id);
  await store.announceDeliveries(work, webhookId);
  return render(work, row);
}

/** Sends, once, a sample message in the form of an event of this type. */
export async function sendSample(work: Work, webhookId: string, type: EventType): Promise<WebhookDelivery> {
  const { pricingModelId } = await lockedWebhookOf(work, webhookId);
  const { livemode, now: occurredAt } = work;
  const sample = samplePayload({ type, eventId: newId('event', homeSlot), pricingModelId, occurredAt, livemode });
  const values = { id: newId('webhookDelivery'), pricingModelId, webhookId, sample };
  const row = await store.insertSample(work, values, Date.now());
  await store.announceDeliveries(work, webhookId);
  return render(work, row);
}

/** The events of a replay. */
interface Replayed {
  readonly deliveries: number;
}

/** The task that has other cells resend their events too. */
export const replayElsewhereTask = 'replay_events_elsewhere';

/**
 * Resends the events of a time range, in order within each cell. Returns their number in all cells. Other cells have
 * counted theirs, and do it after the commit.
 */
export async function replayEvents(
  work: Work,
  webhookId: string,
  replay: ReplayRequest,
  others: readonly Replayed[],
): Promise<Replayed> {
  const here = await replayHere(work, webhookId, replay);
  const deliveries = others.reduce((sum, there) => sum + there.deliveries, here.deliveries);
  if (deliveries > maxReplayed) throw new Problem('replayTooLarge', { limit: maxReplayed });
  if (deliveries > here.deliveries)
    await requestEffect(work, {
      task: replayElsewhereTask,
      payload: { webhookId, replay: { ...replay, until: replay.until ?? work.now + 1 }, requestedAt: Date.now() },
      key: `${replayElsewhereTask}:${newId('webhookDelivery')}`,
      assume: async () => undefined,
    });
  return { deliveries };
}

/** Resends the events of one cell: those whose deliveries have not changed since an instant, or all. */
export async function replayHere(
  work: Work,
  webhookId: string,
  { since, until, types, onlyFailed }: ReplayRequest,
  unchangedSince: Instant | null = null,
): Promise<Replayed> {
  if (until !== undefined && until <= since) throw invalid(['replay', 'until'], 'must be later than since');
  // Serialized: concurrent inserts of deliveries would collide on two unique keys, of which only one is handled.
  await lockedWebhookOf(work, webhookId, lockWebhook);
  const range = { since, until: until ?? null, types: types ?? null, onlyFailed };
  const replay = { webhookId, ...range, unchangedSince, limit: maxReplayed };
  const deliveries = await store.beginDeliveries(work, replay, Date.now());
  if (deliveries > maxReplayed) throw new Problem('replayTooLarge', { limit: maxReplayed });
  if (deliveries > 0) await store.announceDeliveries(work, webhookId);
  return { deliveries };
}

// Long enough to investigate failures; the deliveries themselves stay.
const attemptLifetimeMs = 30 * 24 * 60 * 60 * 1000;
// Batches that hold no lock for long, and together exceed ten minutes of sending.
const forgetAtOnce = 10_000;
const mostPortions = 200;

/** Deletes old attempts of every environment in batches. Returns their number. */
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
