import assert from 'node:assert/strict';
import type { RawBuilder } from 'kysely';
import { RunAgain, sentWithCommit, type Work } from '../database/work.ts';
import type { Problem } from '../kernel/problem.ts';
import * as store from './store.ts';
import { currentBooking } from './store-subscriptions.ts';
import { countsDistinct, type Draft } from './usage-draft.ts';
import { refusal, type UsageEvent } from './usage-event.ts';

// When an event was last told that is there already. Who has told one is likely to tell more.
let repeatedAt = Number.NEGATIVE_INFINITY;
// A few that are not new are soon done anew. Of many, that takes as long as a hundred requests of others.
const few = 500;
const repeatsExpectedMs = { ofFew: 1_000, ofMany: 60_000 };

/** Whether so many new events are likely to be new, as none of late was not. */
export function expectsNew(count: number): boolean {
  return performance.now() - repeatedAt > (count > few ? repeatsExpectedMs.ofMany : repeatsExpectedMs.ofFew);
}

/**
 * Stores the events that are new. Answers the earlier event of each that is not, by the id that it would have had. To look
 * for each takes an eighth of the time of storing it, so it is done where some are likely to be there already.
 */
export async function storeEvents(work: Work, drafts: readonly Draft[]): Promise<ReadonlyMap<string, UsageEvent>> {
  if (drafts.length === 0) return new Map();
  if (expectsNew(drafts.length)) {
    storeNew(work, drafts);
    return new Map();
  }
  const rows = drafts.map(rowOf);
  const stored = await store.insertNewEvents(work, rows);
  if (stored === rows.length) return new Map();
  repeatedAt = performance.now();
  const keys = rows.map((row) => row.transactionKey);
  const ids = await store.listIdsByTransactionKey(work, keys);
  const repeats = drafts.filter((each) => ids.get(each.transactionKey) !== store.shortId(each.event.id));
  const found = await store.listByTransactionKey(
    work,
    repeats.map((each) => each.transactionKey),
  );
  const first = new Map(found.map((row) => [transactionText(row), toUsageEvent(work, row)]));
  return new Map(
    repeats.map(({ event }) => {
      const earlier = first.get(transactionText(event));
      assert(earlier !== undefined, 'what could not be stored is there already');
      return [event.id, earlier];
    }),
  );
}

/** Stores events that are taken to be new. Where one is not, the unit of work is done anew. */
export function storeNew(work: Work, drafts: readonly Draft[], booking: RawBuilder<number> = currentBooking): void {
  if (drafts.length === 0) return;
  sentWithCommit(work, store.eventInsertion(work, drafts.map(rowOf), booking), (error) => {
    if ((error as { code?: unknown }).code !== '23505') return;
    repeatedAt = performance.now();
    throw new RunAgain();
  });
}

export function transactionText({
  usageMeterId,
  transactionId,
}: {
  usageMeterId: string;
  transactionId: string;
}): string {
  return `${usageMeterId} ${transactionId}`;
}

function rowOf({ event, seriesId, transactionKey, propertiesText }: Draft): store.EventRow {
  const { transactionId, amount, usageDate } = event;
  return { id: store.shortId(event.id), seriesId, transactionKey, transactionId, amount, usageDate, propertiesText };
}

/** An event never changes, so it was last changed when it was made. */
export function toUsageEvent(work: Work, { id, createdAt, ...rest }: store.StoredEvent): UsageEvent {
  return { id, createdAt, updatedAt: createdAt, livemode: work.livemode, ...rest };
}

export function isTaken({ event }: Draft, first: UsageEvent | undefined): boolean {
  return first !== undefined && first.subscriptionId !== event.subscriptionId;
}

export function takenProblem({ event, path }: Draft): Problem {
  return refusal('transactionIdTaken', [...path, 'transactionId'], event.transactionId);
}

/** What the properties of an event are known by, on a meter that counts distinct ones. */
export function digestOf({ event, ledgerAccountId }: Draft): string {
  return store.propertiesDigest(ledgerAccountId, event);
}

/** Which of new events count: all, but on a meter that counts distinct properties the first with theirs only. */
export async function countedOf(work: Work, added: readonly Draft[]): Promise<ReadonlySet<Draft>> {
  const distinct = added.filter(countsDistinct);
  if (distinct.length === 0) return new Set(added);
  const rows = distinct.map((draft) => ({ eventId: store.shortId(draft.event.id), digest: digestOf(draft) }));
  const firstIds = await store.insertFirstWithProperties(work, rows);
  return new Set(added.filter((draft) => !countsDistinct(draft) || firstIds.has(store.shortId(draft.event.id))));
}
