import assert from 'node:assert/strict';
import { noPriceDraws, openDraws, type PriceDraws } from '../credit-pools/actions-draws.ts';
import type { DrawKey } from '../credit-pools/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type Batch, type BatchedOperation, PartialRejection } from '../jobs/batcher.ts';
import { Turns } from '../jobs/turns.ts';
import { smallerOf } from '../kernel/money.ts';
import { Problem, refusal } from '../kernel/problem.ts';
import { maxMetersPerEvent } from '../pricing/usage-meter.ts';
import {
  addMeasured,
  compareDated,
  type MeasuredEvent,
  type MeasuredSoFar,
  openMeasured,
} from '../rating/measured-usage.ts';
import { type PoolState, unitsPaidBy } from '../rating/pool-units.ts';
import type { Quantities } from '../rating/usage-parts.ts';
import { type Budgets, openBudgets } from '../spend-controls/actions-count.ts';
import { measuredPeriod } from '../subscriptions/interim.ts';
import { publishLowBalances } from './actions-low-balance.ts';
import { type CatchUp, openMissingSeries, resolveEvents, UsageCache } from './actions-resolve.ts';
import * as store from './store.ts';
import { type LockedBalance, listPoolAccounts, lockAccounts, lockBalances } from './store-accounts.ts';
import {
  insertLevels,
  type Level,
  listAround,
  listMeasured,
  type MeasuredAccount,
  saveMeasures,
} from './store-measured.ts';
import { askForThresholdChecks } from './store-subscriptions.ts';
import {
  countsDistinct,
  type Draft,
  type Drafted,
  draftRequests,
  draftsOf,
  isAtPrice,
  isLimited,
  isLimitedByPool,
  isMeasured,
  mergePaid,
  seriesOf,
  spendUseOf,
  sumUp,
  thresholdsOf,
  type UsageAnswer,
  type UsageRequest,
  type UsageSum,
} from './usage-draft.ts';
import { addressOf, maxEventsPerRequest, type PoolRate, type UsageEvent } from './usage-event.ts';

/** The most events that a request may store. */
function weigh({ events }: UsageRequest): number {
  const named = events.reduce((count, { eventName }) => (typeof eventName === 'string' ? count + 1 : count), 0);
  return Math.min(events.length + named * (maxMetersPerEvent - 1), Math.max(events.length, maxEventsPerRequest));
}

/** Limits and locks that recording and consuming have in common. */
export const usageBatches = {
  weigh,
  maxBatchWeight: 4 * maxEventsPerRequest,
  maxQueuedWeight: 20 * maxEventsPerRequest,
  subjectOf: ({ events: [event] }: UsageRequest) => (event === undefined ? '' : addressOf(event).value),
  createCache: (weight?: number) => new UsageCache(weight),
};

/**
 * Records the usage events of a batch of requests. The events of a request are stored and booked on the ledger, all of
 * them or none. Answers one event for each, in order. An event whose transactionId its meter has already is answered as it
 * was first stored, and does not count again; where another subscription recorded it, the request is refused. A refusal
 * names its event. `catchUp` is called for subscriptions whose period is over.
 */
export function recordUsage(catchUp: CatchUp): BatchedOperation<UsageRequest, UsageAnswer, UsageCache> {
  return {
    name: 'usage',
    ...usageBatches,
    answerAtOnce: recordAtOnce,
    answer: (work, requests, cache) => recordInTransaction(work, requests, { catchUp, cache }),
  };
}

/** The events of a batch, and the balances that they leave where they consume. */
interface DoneAtOnce {
  readonly drafted: readonly Drafted[];
  readonly balances: store.BalancesLeft;
}

/**
 * The usual case: everything that the events refer to is known to this process, and the events are new. One statement
 * compares what is known, and stores and books the events. Null: the batch needs a transaction.
 */
export async function bookAtOnce(
  { database, entry, requests, cache }: Batch<UsageRequest, UsageCache>,
  { consumes }: { readonly consumes: boolean },
): Promise<DoneAtOnce | null> {
  const scope = await cache.scopeOf(database, entry);
  if (scope === null) return null;
  const realNow = Date.now();
  const now = scope.clockNow ?? realNow;
  const stamp = stampOf({ now, livemode: scope.livemode });
  const drafted = await new Turns().run(draftRequests(requests, cache.resolver(scope, now), stamp));
  if (drafted === null) return null;
  const drafts = draftsOf(drafted);
  if (drafts.length === 0 || drafts.some((draft) => needsTransaction(draft, cache))) return null;
  if (consumes && !drafts.every(isConsumedAtOnce)) return null;
  const sums = sumUp(drafts, () => true, now);
  const balances = await store.recordAtOnce(database, { entry, scope, realNow, now }, drafts, { sums, consumes });
  // The cache is not out of date, and a caller that consumes in a loop beyond its balance is refused from it.
  if (balances === 'uncovered') return null;
  if (balances !== null) return { drafted, balances };
  cache.forget(entry, scope, drafts);
  return null;
}

async function recordAtOnce(batch: Batch<UsageRequest, UsageCache>) {
  const done = await bookAtOnce(batch, { consumes: false });
  return done === null ? null : done.drafted.map((each) => answerOf(each));
}

function needsTransaction(draft: Draft, cache: UsageCache): boolean {
  if (isAtPrice(draft.poolRate) && cache.hasPool(draft.event.customerId)) return true;
  return countsDistinct(draft) || isMeasured(draft) || isLimited(draft);
}

/** Whether the balance of its account alone decides: no credit pool may pay, and no setting takes the access of debtors. */
function isConsumedAtOnce({ event, poolRate, subscription }: Draft): boolean {
  return event.amount > 0 && poolRate === null && subscription.arrears === 'none';
}

/** The general case, in a transaction that is open. */
async function recordInTransaction(
  work: Work,
  requests: readonly UsageRequest[],
  using: { readonly catchUp: CatchUp; readonly cache: UsageCache },
): Promise<(UsageAnswer | Problem)[]> {
  const drafted = await draftInTransaction(work, requests, using);
  const drafts = draftsOf(drafted);
  await openMissingSeries(work, drafts);
  const booking = await store.nextBooking(work);
  const earlier = await storeEvents(work, drafts, booking);
  refuseTaken(drafted, earlier);
  const added = drafts.filter(({ event }) => !earlier.has(event.id));
  const counted = await countedOf(work, added);
  const drawn = await bookEvents(work, added, { booking, counted, cache: using.cache });
  const beyond = await countSpending(work, added, { counted, drawn });
  const measured = added.filter(isMeasured);
  await measureEvents(work, measured);
  await askForThresholdChecks(work, thresholdsOf(measured));
  return drafted.map((each) => answerOf(each, { earlier, beyond }));
}

/** Resolves and checks requests. Their subscriptions stay locked until the work ends. */
export async function draftInTransaction(
  work: Work,
  requests: readonly UsageRequest[],
  using: { readonly catchUp: CatchUp; readonly cache: UsageCache },
): Promise<readonly Drafted[]> {
  const events = requests.flatMap((request) => request.events);
  const resolve = await resolveEvents(work, events, using);
  const drafted = await new Turns().run(draftRequests(requests, resolve, stampOf(work)));
  assert(drafted !== null, 'every event was resolved');
  return drafted;
}

function stampOf({ now, livemode }: Pick<Work, 'now' | 'livemode'>) {
  return { now, livemode, newEventId: (subscriptionId: string) => newId('usageEvent', subscriptionId) };
}

interface Stored {
  /** The stored event of each event that was not new, by the id that the new one would have had. */
  readonly earlier: ReadonlyMap<string, UsageEvent>;
  /** The new events beyond a spend limit. */
  readonly beyond: ReadonlySet<Draft>;
}

function answerOf({ request, drafts }: Drafted, stored?: Stored): UsageAnswer | Problem {
  if (drafts instanceof Problem) return drafts;
  const events = drafts.map((draft) => stored?.earlier.get(draft.event.id) ?? told(draft, stored?.beyond));
  if (events.length === request.events.length) return { events, balances: [] };
  // Each event of a request has a path of its own.
  const ofEach = Map.groupBy(drafts, ({ path }) => path);
  return { events, balances: [], sizes: Array.from(ofEach.values(), ({ length }) => length) };
}

/** A new event as it is answered. */
export function told(draft: Draft, beyond?: ReadonlySet<Draft>): UsageEvent {
  return beyond?.has(draft) ? { ...draft.event, beyondLimit: true } : draft.event;
}

type ListHeld = Parameters<typeof openBudgets>[2];

/** The locked counters of the spend limits that these events touch. The caller has locked their accounts. */
export function budgetsOf(work: Work, drafts: readonly Draft[], listHeld: ListHeld): Promise<Budgets> {
  // One of each series, credit pool and label, of which a request may have thousands of events.
  const distinct = new Map<string, Draft>();
  for (const draft of drafts)
    if (isLimited(draft))
      distinct.set(`${seriesOf(draft).id} ${draft.poolRate?.creditPoolId} ${draft.event.label ?? ''}`, draft);
  const uses = Array.from(distinct.values(), (draft) => {
    return { ...spendUseOf(draft), limits: draft.subscription.spendLimits ?? [] };
  });
  return openBudgets(work, uses, listHeld);
}

/** Counts events that are stored whatever the spend limits say. Marks and answers those beyond a blocking limit. */
export async function countSpending(
  work: Work,
  added: readonly Draft[],
  { counted, drawn }: { readonly counted: ReadonlySet<Draft>; readonly drawn: ReadonlyMap<Draft, bigint> },
): Promise<ReadonlySet<Draft>> {
  const limited = added.filter((draft) => isLimited(draft) && counted.has(draft));
  if (limited.length === 0) return new Set();
  const budgets = await budgetsOf(work, limited, null);
  const beyond = limited.filter((draft) => budgets.add(spendUseOf(draft, true, drawn.get(draft)), false));
  await store.markBeyondLimit(work, beyond);
  await budgets.save(work);
  return new Set(beyond);
}

/** Stores the events that are new. Answers the earlier event of each of the others, by the id that it would have had. */
export async function storeEvents(
  work: Work,
  drafts: readonly Draft[],
  booking: number,
): Promise<ReadonlyMap<string, UsageEvent>> {
  if (drafts.length === 0) return new Map();
  const stored = await store.insertEvents(work, drafts, booking);
  if (stored === drafts.length) return new Map();
  const keyOf = ({ event }: Draft) => store.transactionKeyOf(work.environmentId, event);
  const ids = await store.listIdsByTransactionKey(work, drafts.map(keyOf));
  const repeats = drafts.filter((draft) => ids.get(keyOf(draft)) !== store.shortId(draft.event.id));
  const first = await listByTransaction(work, repeats);
  return new Map(
    repeats.map(({ event }) => {
      const earlier = first.get(transactionText(event));
      assert(earlier !== undefined, 'an event that was not stored is there already');
      return [event.id, earlier];
    }),
  );
}

/** The stored events of the transactions of drafts, by `transactionText`. */
export async function listByTransaction(work: Work, drafts: readonly Draft[]): Promise<Map<string, UsageEvent>> {
  if (drafts.length === 0) return new Map();
  const keys = drafts.map(({ event }) => store.transactionKeyOf(work.environmentId, event));
  const rows = await store.listByTransactionKey(work, keys);
  return new Map(rows.map((row) => [transactionText(row), toUsageEvent(work, row)]));
}

export function transactionText(event: Pick<UsageEvent, 'usageMeterId' | 'transactionId'>): string {
  return `${event.usageMeterId} ${event.transactionId}`;
}

/** An event never changes, so it was last changed when it was created. */
export function toUsageEvent(work: Work, { id, createdAt, ...rest }: store.StoredEvent): UsageEvent {
  return { id, createdAt, updatedAt: createdAt, livemode: work.livemode, ...rest };
}

/** Rejects the requests with a transaction that another user recorded: nothing else of theirs is stored either. */
function refuseTaken(drafted: readonly Drafted[], earlier: ReadonlyMap<string, UsageEvent>): void {
  if (earlier.size === 0) return;
  const refusals = new Map<number, Problem>();
  // A transaction that a rejected request stored first is free again, so requests behind it are tried again.
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
  if (refusals.size > 0) throw new PartialRejection(refusals);
}

/** Whether the transaction is that of another user. An event that names a customer is a repeat on any of its subscriptions. */
export function isTaken({ event, customer }: Draft, first: UsageEvent | undefined): boolean {
  if (first === undefined) return false;
  return customer === undefined ? first.subscriptionId !== event.subscriptionId : first.customerId !== event.customerId;
}

export function takenProblem({ event, path }: Draft): Problem {
  return refusal('transactionIdTaken', [...path, 'transactionId'], event.transactionId);
}

/** The digest of the properties of an event, on a meter that counts distinct properties. */
export function digestOf(draft: Draft): string {
  return store.propertiesDigest(seriesOf(draft).ledgerAccountId, draft.event);
}

/**
 * The new events that count: on a meter that counts distinct properties, only the first with its properties; on one
 * that is measured later, none.
 */
export async function countedOf(work: Work, events: readonly Draft[]): Promise<ReadonlySet<Draft>> {
  const added = events.filter((draft) => !isMeasured(draft));
  const distinct = added.filter(countsDistinct);
  if (distinct.length === 0) return new Set(added);
  const rows = distinct.map((draft) => ({ eventId: store.shortId(draft.event.id), digest: digestOf(draft) }));
  const firstIds = await store.insertFirstWithProperties(work, rows);
  return new Set(added.filter((draft) => !countsDistinct(draft) || firstIds.has(store.shortId(draft.event.id))));
}

/** Adds new events of measured meters to the running totals of their accounts. A late one looks up the values around it. */
async function measureEvents(work: Work, added: readonly Draft[]): Promise<void> {
  if (added.length === 0) return;
  const ofAccounts = Map.groupBy(added, (draft) => seriesOf(draft).ledgerAccountId);
  await lockAccounts(work, [...ofAccounts.keys()]);
  const subscriptionIds = [...new Set(added.map(({ event }) => event.subscriptionId))];
  const accounts = await listMeasured(
    work,
    subscriptionIds.map((subscriptionId) => ({ subscriptionId })),
  );
  const opened = accounts.flatMap((account) => {
    const drafts = ofAccounts.get(account.ledgerAccountId);
    return drafts === undefined ? [] : { ...openUsage(account), events: drafts.map(toMeasuredEvent) };
  });
  assert(opened.length === ofAccounts.size, 'a measured event is in a billing period');
  const levels = opened.filter(({ measure }) => measure.kind === 'unit_hours').flatMap(levelsOf);
  const latest = new Map(opened.map(({ ledgerAccountId, soFar }) => [ledgerAccountId, soFar.latest]));
  const around = await listAround(
    work,
    levels.filter((level) => isLate(level, latest.get(level.ledgerAccountId) ?? null)),
  );
  const aroundOf = ({ id }: MeasuredEvent) => {
    const found = around.get(id);
    assert(found !== undefined, 'the latest event comes after a late one');
    return found;
  };
  await saveMeasures(
    work,
    opened.map(({ ledgerAccountId, measure, soFar, end, whole, events }) => {
      return { ledgerAccountId, ...addMeasured(measure, soFar, events, { end, whole, around: aroundOf }) };
    }),
  );
  await insertLevels(work, levels);
}

/** The running totals of an account before new events, and the end of its period and the interval of its price. */
function openUsage({ ledgerAccountId, measure, soFar, own, schedule, current }: MeasuredAccount) {
  const { start, whole } = measuredPeriod(schedule, own, current);
  const known = { ledgerAccountId, measure, end: current.endAt };
  const ofPeriod = { start: current.startAt, end: current.endAt };
  return { ...known, soFar: soFar ?? openMeasured(start), whole: whole ?? ofPeriod };
}

/** A date that is still to come counts from the arrival of its event. */
function toMeasuredEvent({ event: { id, usageDate, createdAt, amount } }: Draft): MeasuredEvent {
  return { date: Math.min(usageDate, createdAt), id: store.shortId(id), amount: BigInt(amount) };
}

function levelsOf({ ledgerAccountId, soFar: { periodStart }, events }: MeasuredUse): Level[] {
  return events.map((event) => ({ ...event, ledgerAccountId, periodStart }));
}

interface MeasuredUse {
  readonly ledgerAccountId: string;
  readonly soFar: MeasuredSoFar;
  readonly events: readonly MeasuredEvent[];
}

function isLate(event: MeasuredEvent, latest: MeasuredSoFar['latest']): boolean {
  return latest !== null && compareDated(event, latest) < 0;
}

interface Booked {
  readonly booking: number;
  readonly counted: ReadonlySet<Draft>;
  readonly isWatched?: boolean;
  /** Keeps which customers have a pool that draws at the price. */
  readonly cache?: UsageCache;
}

/** A use that a credit pool may pay for. */
export interface PoolUse extends Quantities {
  readonly draft: Draft;
  readonly rate: PoolRate | null;
}

export function poolUseOf(draft: Draft): PoolUse {
  const { units, events, ownAmount } = spendUseOf(draft);
  return { draft, rate: draft.poolRate, units, events, ownAmount };
}

/** The key of the credit pool of the customer that may pay for a use. */
export function poolKeyOf({ draft: { event }, rate }: Pick<PoolUse, 'draft' | 'rate'>): string {
  return `${event.customerId} ${rate?.creditPoolId}`;
}

/** The accounts of the credit pools that may pay for uses, by `poolKeyOf`. */
export async function findPools(work: Work, uses: readonly PoolUse[]): Promise<ReadonlyMap<string, string>> {
  const rated = uses.filter(({ rate }) => rate !== null);
  if (rated.length === 0) return new Map();
  const found = await listPoolAccounts(work, {
    customerIds: [...new Set(rated.map(({ draft }) => draft.event.customerId))],
    creditPoolIds: [...new Set(rated.flatMap(({ rate }) => rate?.creditPoolId ?? []))],
  });
  return new Map(found.map(({ id, customerId, creditPoolId }) => [`${customerId} ${creditPoolId}`, id]));
}

/** Opens the draws of uses whose pool is among `pools` and draws at the price. The caller has locked their accounts. */
export function openDrawsOf(work: Work, uses: readonly PoolUse[], pools: ReadonlyMap<string, string>) {
  const atPrice = uses.filter((use) => isAtPrice(use.rate) && pools.has(poolKeyOf(use)));
  return openDraws(
    work,
    atPrice.map(({ draft, rate }) => ({ ...drawKeyOf(draft), creditPoolId: rate?.creditPoolId ?? '' })),
  );
}

export function drawKeyOf(draft: Draft): DrawKey {
  const { subscriptionId, priceId } = draft.event;
  return { subscriptionId, priceId, ledgerAccountId: seriesOf(draft).ledgerAccountId };
}

/** The state of the pool that may pay for a use, with this balance; null: it pays for none. */
export function poolStateOf(
  { draft, rate, events, ownAmount }: PoolUse,
  balance: bigint,
  draws: PriceDraws,
): PoolState | null {
  if (rate === null) return null;
  const { unitCost } = rate;
  if (unitCost !== null) return { balance, costOf: (units) => units * unitCost, isWhole: false };
  const key = drawKeyOf(draft);
  if (!draws.has(key)) return null;
  return { balance, costOf: (units) => draws.costOf(key, { units, events, ownAmount }), isWhole: events > 0n };
}

/**
 * Decides for each part of the usage how many units its pool pays for, where a pool draws at the price. All accounts are
 * locked for that. Without such a pool it does nothing.
 */
async function payAtPrices(work: Work, sums: readonly UsageSum[], cache?: UsageCache): Promise<PriceDraws> {
  const uses = sums.flatMap((sum) =>
    sum.parts.map((part) => {
      const { rate, units, events, ownAmount } = part;
      return { draft: sum.draft, rate, units, events, ownAmount, sum, part };
    }),
  );
  if (!uses.some(({ rate }) => isAtPrice(rate))) return noPriceDraws;
  const pools = await findPools(work, uses);
  const atPrice = uses.filter((use) => isAtPrice(use.rate) && pools.has(poolKeyOf(use)));
  if (atPrice.length === 0) return noPriceDraws;
  for (const { draft } of atPrice) cache?.keepPool(draft.event.customerId);
  const ledgerAccountIds = sums.map(({ draft }) => seriesOf(draft).ledgerAccountId);
  const balances = await lockBalances(work, [...new Set([...ledgerAccountIds, ...pools.values()])]);
  const draws = await openDrawsOf(work, uses, pools);
  const left = new Map(balances);
  for (const use of uses.sort((one, other) => one.part.position - other.part.position)) {
    const { draft, rate, sum, part, events, ownAmount } = use;
    const account = lockedIn(left, seriesOf(draft).ledgerAccountId);
    const own = smallerOf(part.units, account.free);
    left.set(seriesOf(draft).ledgerAccountId, { ...account, free: account.free - own });
    const poolId = pools.get(poolKeyOf(use));
    const pool = poolId === undefined ? null : poolStateOf(use, lockedIn(left, poolId).balance, draws);
    const units = unitsPaidBy(pool, part.units - own);
    part.paid = { units, amount: isAtPrice(rate) ? 0n : null };
    if (units === 0n || pool === null || poolId === undefined) continue;
    const amount = pool.costOf(units);
    left.set(poolId, { ...lockedIn(left, poolId), balance: pool.balance - amount });
    if (!isAtPrice(rate)) continue;
    draws.add(drawKeyOf(draft), { units, events, ownAmount });
    part.paid = { units, amount };
    sum.events -= events;
    sum.ownAmount -= ownAmount;
  }
  for (const { parts } of sums) parts.splice(0, parts.length, ...mergePaid(parts));
  return draws;
}

function lockedIn(accounts: ReadonlyMap<string, LockedBalance>, id: string): LockedBalance {
  const account = accounts.get(id);
  assert(account !== undefined, 'the account is locked');
  return account;
}

/**
 * Books stored events, of which those in `counted` count, and publishes which balances fell below the thresholds of their
 * meters and credit pools. With `isWatched` false it publishes none. Returns what events drew from credit pools that a spend
 * limit counts.
 */
export async function bookEvents(
  work: Work,
  added: readonly Draft[],
  { booking, counted, isWatched = true, cache }: Booked,
): Promise<ReadonlyMap<Draft, bigint>> {
  const sums = sumUp(added, (draft) => counted.has(draft), work.now);
  const draws = await payAtPrices(work, sums, cache);
  const alone = sums.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      const own = added[part.position];
      if (own === undefined || !isLimitedByPool(own)) return [];
      return { own, entryId: part.entryId, accountId: seriesOf(own).ledgerAccountId };
    }),
  );
  const fallen = await store.bookUsage(work, sums, { booking, isWatched });
  await draws.save(work);
  await publishLowBalances(work, fallen);
  const drawn = await store.listDrawn(
    work,
    [...new Set(alone.map(({ accountId }) => accountId))],
    alone.map(({ entryId }) => entryId),
  );
  return new Map(alone.map(({ own, entryId }) => [own, drawn.get(entryId) ?? 0n]));
}
