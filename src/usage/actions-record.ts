import type { RawBuilder } from 'kysely';
import { sentTogether } from '../database/sent-together.ts';
import { sentWithCommit, untilSent, type Work } from '../database/work.ts';
import { RefusedAfterAll, type Together } from '../jobs/together.ts';
import { Problem } from '../kernel/problem.ts';
import { decideConsumption, findConsumed, refusedFirsts, storeConsumed } from './actions-consume.ts';
import { type CatchUp, draftUnheld } from './actions-draft.ts';
import { bookUsage } from './actions-ledger.ts';
import { publishLowBalances } from './actions-low-balance.ts';
import { countedOf, expectsNew, isTaken, storeEvents, storeNew, takenProblem } from './actions-store.ts';
import { fallenBetween, type WatchedAccount } from './low-balance.ts';
import { rollUpsAddition } from './store.ts';
import { type RememberedAccounts, recallAccounts } from './store-remembered-accounts.ts';
import {
  bookingUnheld,
  currentBooking,
  currentBookingText,
  forgetSubscriptions,
  holdRemembered,
} from './store-subscriptions.ts';
import { lockAccountsForUsage } from './store-usage.ts';
import type { LockedAccount } from './usage-booking.ts';
import {
  addUp,
  countsDistinct,
  type Draft,
  type Drafted,
  placeAdditions,
  type UsageAnswer,
  type UsageAsk,
} from './usage-draft.ts';
import { maxEventsPerRequest, type UsageEvent } from './usage-event.ts';

/**
 * Records usage of callers who wait at the same time, as many statements for ten thousand events of a hundred callers as
 * for one. Each caller's events are stored and booked on the ledger accounts, all or nothing. Answers one event for each
 * that was given, in order: one whose transactionId its meter has already is answered as it was first stored, and counts no
 * more; when another subscription recorded it, the caller is refused. A refusal names the event that it is about.
 * `catchUp` is asked where the period of a subscription is over, so that the usage is not counted to that.
 */
export function usageTogether(catchUp: CatchUp): Together<UsageAsk, UsageAnswer> {
  return {
    name: 'usage',
    answer: (work, asks) => recordUsage(work, asks, catchUp),
    weigh: (ask) => ask.events.length,
    // Each account is locked until the commit.
    subjectOf: (ask) => ask.events[0]?.subscriptionId ?? '',
    most: 4 * maxEventsPerRequest,
    mostInLine: 500,
    mostWaiting: 20 * maxEventsPerRequest,
  };
}

async function recordUsage(
  work: Work,
  asks: readonly UsageAsk[],
  catchUp: CatchUp,
): Promise<(UsageAnswer | Problem)[]> {
  const { asks: drafted, remembered: subscriptions } = await draftUnheld(work, asks, catchUp);
  const drafts = drafted.flatMap((each) => (each.drafts instanceof Problem ? [] : each.drafts));
  const recorded = drafted.flatMap((each) =>
    each.ask.kind === 'record' && !(each.drafts instanceof Problem) ? each.drafts : [],
  );
  // What is to be decided, or is not new, needs to be looked at first.
  const isPlain = recorded.length === drafts.length && !drafts.some(countsDistinct) && expectsNew(drafts.length);
  const revisions = new Map(drafts.map((draft) => [draft.ledgerAccountId, draft.revision]));
  const remembered = isPlain ? recallAccounts(work, revisions) : null;
  // Their accounts tell whether subscriptions are what is remembered. What was refused has none.
  const isToldByAccounts = remembered !== null && !drafted.some((each) => each.drafts instanceof Problem);
  const areUnheld = subscriptions !== null && isToldByAccounts;
  if (subscriptions !== null && !areUnheld) holdRemembered(work, subscriptions);
  if (remembered !== null) {
    const booking = areUnheld ? bookingUnheld(work, subscriptions) : currentBooking;
    const onDoubt = () => forgetSubscriptions(subscriptions ?? []);
    await recordOnRemembered(work, drafts, { accounts: remembered, onDoubt }, booking);
    return drafted.map(({ drafts: own }) => (own instanceof Problem ? own : answerOf(own)));
  }
  const [earlier, stored, accounts] = await sentTogether([
    storeEvents(work, recorded),
    findConsumed(work, drafted),
    lockAccountsForUsage(work, [...revisions.keys()]),
  ]);
  refuseTaken(drafted, earlier);
  const added = earlier.size === 0 ? recorded : recorded.filter(({ event }) => !earlier.has(event.id));
  const counted = await countedOf(work, added);
  const consumed = await decideConsumption(work, drafted, { stored, accounts, counted });
  // Nothing is kept of what is refused, nor an account that nobody uses.
  const refused = refusedFirsts(drafted, consumed);
  if (refused.size > 0) throw new RefusedAfterAll(refused);
  await storeConsumed(work, consumed);
  await bookEvents(work, [...added, ...consumed.added], new Set([...counted, ...consumed.counted]), accounts);
  return drafted.map((each, index): UsageAnswer | Problem => {
    if (each.drafts instanceof Problem) return each.drafts;
    if (each.ask.kind === 'consume') return consumed.answerOf(index);
    return answerOf(each.drafts, earlier.size === 0 ? null : earlier);
  });
}

/** `earlier` has the events that were not new, by the ids that they would have had. */
function answerOf(drafts: readonly Draft[], earlier: ReadonlyMap<string, UsageEvent> | null = null): UsageAnswer {
  return { events: drafts.map(({ event }) => earlier?.get(event.id) ?? event), balance: null };
}

/**
 * Records usage on accounts that are as this process remembers them, without waiting for an answer before that to the commit:
 * where one has changed, or an event is there already, the database undoes all of it, and the unit of work runs again.
 * `booking` is the number it is booked under.
 */
async function recordOnRemembered(
  work: Work,
  drafts: readonly Draft[],
  remembered: RememberedAccounts,
  booking: RawBuilder<number>,
): Promise<void> {
  storeNew(work, drafts, booking);
  // The database stores them while it is worked out here what is booked.
  await untilSent();
  // As they are by now: another group may have booked on them meanwhile.
  const accounts = new Map(Array.from(remembered.accounts, ([id, { account }]) => [id, account]));
  await bookEvents(work, drafts, new Set(drafts), accounts, { remembered });
}

/** A transaction that another subscription recorded cannot be this one's. What else its caller sent is not stored either. */
function refuseTaken(drafted: readonly Drafted[], earlier: ReadonlyMap<string, UsageEvent>): void {
  if (earlier.size === 0) return;
  const refusals = new Map<number, Problem>();
  // What a caller who is refused sent first is free again for who comes after: that one is tried anew.
  const undone = new Set<string>();
  for (const [index, { drafts }] of drafted.entries()) {
    if (drafts instanceof Problem) continue;
    const taken = drafts.find((draft) => {
      const first = earlier.get(draft.event.id);
      return isTaken(draft, first) && !undone.has(first?.id ?? '');
    });
    if (taken === undefined) continue;
    refusals.set(index, takenProblem(taken));
    for (const { event } of drafts) undone.add(event.id);
  }
  if (refusals.size > 0) throw new RefusedAfterAll(refusals);
}

/**
 * Books new events on accounts that are locked or `remembered`, of which those in `counted` count, and tells which
 * balances fell below the thresholds of their meters, compared to `before`. Answers the accounts as they are then.
 */
export async function bookEvents(
  work: Work,
  added: readonly Draft[],
  counted: ReadonlySet<Draft>,
  accounts: ReadonlyMap<string, LockedAccount>,
  {
    before = accounts,
    remembered = null,
  }: {
    before?: ReadonlyMap<string, LockedAccount>;
    remembered?: RememberedAccounts | null;
  } = {},
): Promise<ReadonlyMap<string, LockedAccount>> {
  if (added.length === 0) return accounts;
  const { usages, additions } = addUp(added, counted);
  const used = new Set(usages.map(({ ledgerAccountId }) => ledgerAccountId));
  const { open, closed } = placeAdditions(additions, {
    accounts: new Map([...accounts].filter(([id]) => used.has(id))),
    now: work.now,
  });
  const booked = bookUsage(work, { sourceId: currentBookingText, usages, open }, accounts, remembered);
  if (closed.length > 0) sentWithCommit(work, rollUpsAddition(work, closed));
  const watched = [...counted].filter(({ price }) => price.lowBalanceThreshold !== null);
  await publishLowBalances(work, fallenBetween(watched.map(toWatched), before, booked));
  return booked;
}

/** The account of a draft, as far as its balance is watched. */
export function toWatched({ event, price, ledgerAccountId }: Draft): WatchedAccount {
  const { pricingModelId, customerId, subscriptionId, usageMeterId } = event;
  const { lowBalanceThreshold } = price;
  return { pricingModelId, customerId, subscriptionId, usageMeterId, ledgerAccountId, lowBalanceThreshold };
}
