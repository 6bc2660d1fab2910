import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { homeSlot } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem, refusal } from '../kernel/problem.ts';
import { accessOf } from '../organizations/setting.ts';
import { noCreditsOfMeasured } from '../pricing/usage-meter.ts';
import { pooledShare, unitsPaidBy } from '../rating/pool-units.ts';
import { publishLowBalances } from './actions-low-balance.ts';
import {
  bookEvents,
  budgetsOf,
  countSpending,
  draftInTransaction,
  findPools,
  openDrawsOf,
  poolKeyOf,
  poolStateOf,
  poolUseOf,
  storeEvents,
  told,
  toUsageEvent,
} from './actions-record.ts';
import { type CatchUp, openMissingSeries, UsageCache } from './actions-resolve.ts';
import { hasFallen } from './ledger.ts';
import { listByTransactionKey, nextBooking, transactionKeyOf } from './store.ts';
import { type LockedBalance, lockBalances } from './store-accounts.ts';
import {
  closeHold,
  countOpenHolds,
  endExpiredHolds,
  findHold,
  insertHold,
  listHeldUnits,
  pageOfHolds,
} from './store-holds.ts';
import { accessRefusal, type Draft, insufficientBalance, seriesOf, spendUseOf } from './usage-draft.ts';
import type { NewUsageEvent, UsageBalance, UsageEvent } from './usage-event.ts';
import {
  decideClosing,
  eventsToHold,
  eventToSettle,
  type HoldClosing,
  type HoldRow,
  holdEndIssue,
  maxOpenHolds,
  type NewHold,
  type UsageHold,
  wayOf,
} from './usage-hold.ts';

/** A hold, and the balance of its account with it. */
interface HoldAnswer {
  readonly hold: UsageHold;
  readonly usageBalance: UsageBalance;
}

/** A settled hold, with the usage event that settled it: none where nothing was used. */
interface SettlementAnswer extends HoldAnswer {
  readonly usageEvent: UsageEvent | null;
}

/**
 * Sets units aside, only if the balance covers them: `insufficientBalance` else, with the balance. It refuses whatever a
 * usage event would be refused for, and a subscription without access. A meter that counts distinct properties has no holds, because a hold has no properties.
 */
export async function takeHold(work: Work, requested: NewHold, catchUp: CatchUp): Promise<HoldAnswer> {
  const issue = holdEndIssue(requested.expiresAt, work.now);
  if (issue !== null) throw invalid(['hold', 'expiresAt'], issue);
  const draft = await draftHold(work, { requested, catchUp });
  const refusal = accessRefusal(draft, accessOf(work));
  if (refusal !== null) throw refusal;
  const { ledgerAccountId } = seriesOf(draft);
  const use = poolUseOf(draft);
  const pools = await findPools(work, [use]);
  const poolAccountId = pools.get(poolKeyOf(use)) ?? null;
  const accounts = await lockBalances(work, [ledgerAccountId, ...pools.values()]);
  const account = accountIn(accounts, ledgerAccountId);
  const { balance } = account;
  const amount = BigInt(draft.event.amount);
  const draws = await openDrawsOf(work, [use], pools);
  const pool = poolAccountId === null ? null : poolStateOf(use, accountIn(accounts, poolAccountId).balance, draws);
  const pooled = pooledShare(amount, account, pool);
  if (pooled === null) throw insufficientBalance(draft, balance, unitsPaidBy(pool, amount));
  const poolAmount = pooled === 0n || pool === null ? null : pool.costOf(pooled);
  const beyond = (await budgetsOf(work, [draft], listHeldUnits)).refusal(spendUseOf(draft, true, poolAmount ?? 0n));
  if (beyond !== null) throw beyond;
  const { running, ended } = await countOpenHolds(work, ledgerAccountId);
  if (running >= maxOpenHolds) throw new Problem('tooManyHolds', { limit: maxOpenHolds });
  const { event } = draft;
  const { pricingModelId, subscriptionId, usageMeterId, priceId } = event;
  const hold: HoldRow = {
    id: newId('usageHold', ledgerAccountId),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId,
    subscriptionId,
    usageMeterId,
    priceId,
    ledgerAccountId,
    amount: draft.event.amount,
    pooledAmount: Number(pooled),
    poolAccountId: pooled === 0n ? null : poolAccountId,
    poolAmount,
    status: 'open',
    settledAmount: null,
    expiresAt: requested.expiresAt,
    label: draft.event.label ?? null,
    counted: true,
  };
  if (ended > 0) await endExpiredHolds(work, ledgerAccountId);
  await insertHold(work, hold);
  const after = balance - (amount - pooled);
  const held = new Map([[ledgerAccountId, { balance: after }]]);
  if (poolAccountId !== null && pool !== null) held.set(poolAccountId, { balance: pool.balance - (poolAmount ?? 0n) });
  await publishFallen(work, draft, { poolAccountId, before: accounts, after: held });
  return answerOf(work, hold, after);
}

/** The account of the customer in the credit pool that may pay for a draft; null: none. */
async function findPool(work: Work, draft: Draft): Promise<string | null> {
  const use = poolUseOf(draft);
  return (await findPools(work, [use])).get(poolKeyOf(use)) ?? null;
}

/**
 * Releases a hold and records the use, as a usage event with the hold's id as its transactionId. An amount of 0 records
 * none. An amount above the hold is recorded too, and so is one after the end of the hold, because it was used. A repeat
 * with the same amount gets the same answer. It refuses whatever a usage event would be refused for, and keeps the hold.
 */
export async function settleHold(work: Work, id: string, amount: number, catchUp: CatchUp): Promise<SettlementAnswer> {
  const closing: HoldClosing = { status: 'settled', settledAmount: amount };
  // A repeat is answered whatever the subscription has become since.
  const found = await requireHold(work, id);
  if (decideClosing(found, closing) === 'repeat') return tellSettlement(work, found);
  const draft = await draftOne(work, [eventToSettle(found, amount)], catchUp);
  assert(seriesOf(draft).ledgerAccountId === found.ledgerAccountId, 'the price of a hold stays one of its meter');
  const poolAccountId = await findPool(work, draft);
  const ids = [found.ledgerAccountId, found.poolAccountId, poolAccountId].filter((each) => each !== null);
  const accounts = await lockBalances(work, ids);
  const { balance: before } = accountIn(accounts, found.ledgerAccountId);
  const hold = await requireHold(work, id);
  if (decideClosing(hold, closing) === 'repeat') return tellSettlement(work, hold);
  const closed = await closeHold(work, hold, closing);
  const released = withoutHold(before, hold);
  if (amount === 0) return { ...answerOf(work, closed, released), usageEvent: null };
  const usageEvent = await record(work, draft);
  // A credit pool may have paid for a part of it.
  const after = await lockBalances(work, ids);
  const { balance } = accountIn(after, found.ledgerAccountId);
  // A balance that was below its threshold with the hold is not published again.
  await publishFallen(work, draft, { poolAccountId, before: accounts, after });
  return { ...answerOf(work, closed, balance), usageEvent };
}

/** Gives back the units of a hold, also after its end and its subscription's. A repeat gets the same answer. */
export async function releaseHold(work: Work, id: string): Promise<HoldAnswer> {
  const { ledgerAccountId } = await requireHold(work, id);
  const { balance } = await lockAccount(work, ledgerAccountId);
  const hold = await requireHold(work, id);
  const closing: HoldClosing = { status: 'released', settledAmount: null };
  if (decideClosing(hold, closing) === 'repeat') return answerOf(work, hold, balance);
  const closed = await closeHold(work, hold, closing);
  return answerOf(work, closed, withoutHold(balance, hold));
}

export async function getHold(work: Work, id: string): Promise<UsageHold> {
  return toHold(work, await requireHold(work, id));
}

export async function listHolds(work: Work, request: PageRequest) {
  const { rows, total } = await pageOfHolds(work, request);
  return page(
    request,
    rows.map((row) => toHold(work, row)),
    total,
  );
}

async function requireHold(work: Work, id: string): Promise<HoldRow> {
  const hold = await findHold(work, id);
  if (hold === null) throw new Problem('holdNotFound', { id });
  return hold;
}

async function lockAccount(work: Work, id: string): Promise<LockedBalance> {
  return accountIn(await lockBalances(work, [id]), id);
}

function accountIn(accounts: ReadonlyMap<string, LockedBalance>, id: string): LockedBalance {
  const account = accounts.get(id);
  assert(account !== undefined, `account ${id} exists`);
  return account;
}

/** The use that a hold is for, checked as a usage event of its amount would be. */
async function draftHold(work: Work, { requested, catchUp }: { requested: NewHold; catchUp: CatchUp }): Promise<Draft> {
  const way = wayOf(requested);
  try {
    const draft = await draftOne(work, eventsToHold(requested, newId('usageHold', homeSlot)), catchUp);
    if (draft.price.isRest)
      throw invalid(
        ['hold', way],
        'must not be of a usage meter that has prices with conditions: a hold has no properties. Send a price without any',
      );
    return draft;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (way === 'meter' && error.problem === 'usageMeterNotFound')
      throw refusal('usageMeterNotFound', ['hold', way], String(requested.meter));
    if (error.issues.some(({ path }) => path.at(-1) === 'price'))
      throw invalid(['hold', way], 'must not have dynamic pricing: what settles a hold brings no price of its own');
    if (error.issues.some(({ message }) => message === noCreditsOfMeasured))
      throw invalid(['hold', way], noCreditsOfMeasured);
    if (error.issues.some(({ path }) => path.at(-2) === 'properties'))
      throw invalid(['hold', way], 'must be a price without conditions: a hold has no properties');
    // Without properties there is nothing else to say about them.
    if (error.issues.some(({ path }) => path.includes('properties')))
      throw invalid(
        ['hold', way],
        'must be of a usage meter that adds up amounts: this one counts distinct properties',
      );
    throw error;
  }
}

/** The draft of an event in the first of these ways that can be resolved. Its series is open. */
async function draftOne(work: Work, ways: readonly NewUsageEvent[], catchUp: CatchUp): Promise<Draft> {
  const drafted = await draftInTransaction(
    work,
    ways.map((event) => ({ kind: 'hold', events: [event], pathOf: () => ['hold'] })),
    { catchUp, cache: new UsageCache(1) },
  );
  const refused: Problem[] = [];
  for (const { drafts } of drafted) {
    if (drafts instanceof Problem) refused.push(drafts);
    else if (drafts[0] !== undefined) {
      await openMissingSeries(work, [drafts[0]]);
      return drafts[0];
    }
  }
  throw refused.find(({ problem }) => problem !== 'usageMeterNotFound') ?? refused[0];
}

/** Stores and books the event of a hold on its account, which is locked. */
async function record(work: Work, draft: Draft): Promise<UsageEvent> {
  const booking = await nextBooking(work);
  const earlier = await storeEvents(work, [draft], booking);
  if (earlier.size > 0) throw new Problem('holdTransactionTaken', { id: draft.event.transactionId });
  const counted = new Set([draft]);
  const drawn = await bookEvents(work, [draft], { booking, counted, isWatched: false });
  const beyond = await countSpending(work, [draft], { counted, drawn });
  return told(draft, beyond);
}

type Balances = ReadonlyMap<string, Pick<LockedBalance, 'balance'>>;

/** Publishes which balances fell below their thresholds: that of the meter of a draft, and that of its credit pool. */
async function publishFallen(
  work: Work,
  draft: Draft,
  {
    poolAccountId,
    before,
    after,
  }: { readonly poolAccountId: string | null; readonly before: Balances; readonly after: Balances },
): Promise<void> {
  const watched = [
    { id: seriesOf(draft).ledgerAccountId, threshold: draft.price.lowBalanceThreshold },
    { id: poolAccountId, threshold: draft.poolRate?.lowBalanceThreshold ?? null },
  ];
  const fallen = watched.flatMap(({ id, threshold }) => {
    const [earlier, later] = [before.get(id ?? ''), after.get(id ?? '')];
    return id !== null && earlier && later && hasFallen(threshold, earlier.balance, later.balance) ? [id] : [];
  });
  await publishLowBalances(work, fallen);
}

/** A balance once a hold no longer sets anything aside from it. */
function withoutHold(balance: bigint, { status, amount, pooledAmount }: HoldRow): bigint {
  return status === 'open' ? balance + BigInt(amount - pooledAmount) : balance;
}

async function tellSettlement(work: Work, hold: HoldRow): Promise<SettlementAnswer> {
  const { usageMeterId } = hold;
  const key = transactionKeyOf(work.environmentId, { usageMeterId, transactionId: hold.id });
  const [event] = await listByTransactionKey(work, [key]);
  const { balance } = await lockAccount(work, hold.ledgerAccountId);
  const usageEvent = hold.settledAmount === 0 || event === undefined ? null : toUsageEvent(work, event);
  return { ...answerOf(work, hold, balance), usageEvent };
}

function answerOf(work: Work, hold: HoldRow, availableBalance: bigint): HoldAnswer {
  const { subscriptionId, usageMeterId } = hold;
  return { hold: toHold(work, hold), usageBalance: { subscriptionId, usageMeterId, availableBalance } };
}

function toHold(
  work: Work,
  { ledgerAccountId: _, counted: __, poolAccountId: ___, poolAmount: ____, label, ...hold }: HoldRow,
): UsageHold {
  return { ...hold, ...(label === null ? {} : { label }), livemode: work.livemode };
}
