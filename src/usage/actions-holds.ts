import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { type CatchUp, draftAsks } from './actions-draft.ts';
import { publishLowBalances } from './actions-low-balance.ts';
import { bookEvents, toWatched } from './actions-record.ts';
import { storeEvents, toUsageEvent } from './actions-store.ts';
import { fallenBetween } from './low-balance.ts';
import { eventsToHold, eventToSettle, type NewHold, wayOf } from './new-hold.ts';
import { listByTransactionKey, transactionKeyOf } from './store.ts';
import { closeHold, countOpenHolds, findHold, insertHold, pageOfHolds } from './store-holds.ts';
import { lockAccountsForUsage } from './store-usage.ts';
import { balanceOf, type LockedAccount } from './usage-booking.ts';
import { type Draft, insufficientBalance } from './usage-draft.ts';
import { type NewUsageEvent, refusal, type UsageBalance, type UsageEvent } from './usage-event.ts';
import {
  decideClosing,
  type HoldClosing,
  type HoldRow,
  holdEndIssue,
  maxOpenHolds,
  type UsageHold,
} from './usage-hold.ts';

/** A hold, and the balance of its account with it. */
export interface HoldAnswer {
  readonly hold: UsageHold;
  readonly usageBalance: UsageBalance;
}

/** A settled hold, with the usage event that settled it: none where nothing was used. */
export interface SettlementAnswer extends HoldAnswer {
  readonly usageEvent: UsageEvent | null;
}

/**
 * Sets units aside, only if the balance covers them: `insufficientBalance` else, with the balance. What is refused for a
 * usage event is refused here too. Not for usage meters that count distinct properties, which a hold has none of.
 */
export async function takeHold(work: Work, asked: NewHold, catchUp: CatchUp): Promise<HoldAnswer> {
  const issue = holdEndIssue(asked.expiresAt, work.now);
  if (issue !== null) throw invalid(['hold', 'expiresAt'], issue);
  const id = newId('usageHold');
  const draft = await draftHold(work, { id, asked, catchUp });
  const account = await lockAccount(work, draft.ledgerAccountId);
  const balance = balanceOf(account);
  const amount = BigInt(asked.amount);
  if (amount > balance) throw insufficientBalance(draft, balance);
  if ((await countOpenHolds(work, draft.ledgerAccountId)) >= maxOpenHolds)
    throw new Problem('tooManyHolds', { limit: maxOpenHolds });
  const { event, ledgerAccountId } = draft;
  const { pricingModelId, subscriptionId, usageMeterId, priceId } = event;
  const hold: HoldRow = {
    id,
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId,
    subscriptionId,
    usageMeterId,
    priceId,
    ledgerAccountId,
    amount: asked.amount,
    status: 'open',
    settledAmount: null,
    expiresAt: asked.expiresAt,
    counted: true,
  };
  await insertHold(work, hold);
  const after = { ...account, held: account.held + amount };
  await publishLowBalances(work, fallenBetween([toWatched(draft)], accountsOf(account), accountsOf(after)));
  return answerOf(work, hold, balanceOf(after));
}

/**
 * Releases a hold and records what was used, as a usage event with the hold's id as its transactionId; of 0, none. More
 * than was held is recorded all the same, and so is what is told after the end of the hold: it was used. Again with the
 * same amount, it is told again. Refuses as a usage event is refused, and then the hold stays as it is.
 */
export async function settleHold(work: Work, id: string, amount: number, catchUp: CatchUp): Promise<SettlementAnswer> {
  const closing: HoldClosing = { status: 'settled', settledAmount: amount };
  // What was settled is told again whatever became of the subscription since.
  const found = await requireHold(work, id);
  if (decideClosing(found, closing) === 'repeat') return tellSettlement(work, found);
  const draft = await draftOne(work, [eventToSettle(found, amount)], catchUp);
  assert(draft.ledgerAccountId === found.ledgerAccountId, 'the price of a hold stays one of its meter');
  const locked = await lockAccount(work, found.ledgerAccountId);
  const hold = await requireHold(work, id);
  if (decideClosing(hold, closing) === 'repeat') return tellSettlement(work, hold);
  const closed = await closeHold(work, hold, closing);
  const account = withoutHold(locked, hold);
  if (amount === 0) return { ...answerOf(work, closed, balanceOf(account)), usageEvent: null };
  const booked = await record(work, draft, { account, before: locked });
  return { ...answerOf(work, closed, balanceOf(booked)), usageEvent: draft.event };
}

/** Gives back what a hold has set aside, also after its end and after its subscription's. Again, it is told again. */
export async function releaseHold(work: Work, id: string): Promise<HoldAnswer> {
  const { ledgerAccountId } = await requireHold(work, id);
  const account = await lockAccount(work, ledgerAccountId);
  const hold = await requireHold(work, id);
  const closing: HoldClosing = { status: 'released', settledAmount: null };
  if (decideClosing(hold, closing) === 'repeat') return answerOf(work, hold, balanceOf(account));
  const closed = await closeHold(work, hold, closing);
  return answerOf(work, closed, balanceOf(withoutHold(account, hold)));
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

async function lockAccount(work: Work, id: string): Promise<LockedAccount> {
  const account = (await lockAccountsForUsage(work, [id])).get(id);
  assert(account !== undefined, `account ${id} exists`);
  return account;
}

/** The use that a hold is for, checked as a usage event of its amount would be. */
async function draftHold(
  work: Work,
  { id, asked, catchUp }: { id: string; asked: NewHold; catchUp: CatchUp },
): Promise<Draft> {
  const way = wayOf(asked);
  try {
    return await draftOne(work, eventsToHold(asked, id), catchUp);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (way === 'meter' && error.problem === 'usageMeterNotFound')
      throw refusal('usageMeterNotFound', ['hold', way], String(asked.meter));
    // Without properties there is nothing else to say about them.
    if (error.issues.some(({ path }) => path.includes('properties')))
      throw invalid(
        ['hold', way],
        'must be of a usage meter that adds up amounts: this one counts distinct properties',
      );
    throw error;
  }
}

/** The draft of an event in the first of these ways that leads somewhere. */
async function draftOne(work: Work, ways: readonly NewUsageEvent[], catchUp: CatchUp): Promise<Draft> {
  const drafted = await draftAsks(
    work,
    ways.map((event) => ({ kind: 'record', events: [event], pathOf: () => ['hold'] })),
    catchUp,
  );
  const refused: Problem[] = [];
  for (const { drafts } of drafted) {
    if (drafts instanceof Problem) refused.push(drafts);
    else if (drafts[0] !== undefined) return drafts[0];
  }
  throw refused.find(({ problem }) => problem !== 'usageMeterNotFound') ?? refused[0];
}

/** Stores and books the event of a hold on its account, which is locked. Answers the account as it is then. */
async function record(
  work: Work,
  draft: Draft,
  { account, before }: { account: LockedAccount; before: LockedAccount },
): Promise<LockedAccount> {
  const earlier = await storeEvents(work, [draft]);
  if (earlier.size > 0) throw new Problem('holdTransactionTaken', { id: draft.event.transactionId });
  // A balance that was low already with what was held is not told again.
  const booked = await bookEvents(work, [draft], new Set([draft]), accountsOf(account), {
    before: accountsOf(before),
  });
  return booked.get(account.id) ?? account;
}

function accountsOf(account: LockedAccount): ReadonlyMap<string, LockedAccount> {
  return new Map([[account.id, account]]);
}

function withoutHold(account: LockedAccount, { status, amount }: HoldRow): LockedAccount {
  return status === 'open' ? { ...account, held: account.held - BigInt(amount) } : account;
}

async function tellSettlement(work: Work, hold: HoldRow): Promise<SettlementAnswer> {
  const key = transactionKeyOf(work.environmentId, hold.usageMeterId, hold.id);
  const [event] = await listByTransactionKey(work, [key]);
  const balance = balanceOf(await lockAccount(work, hold.ledgerAccountId));
  const usageEvent = hold.settledAmount === 0 || event === undefined ? null : toUsageEvent(work, event);
  return { ...answerOf(work, hold, balance), usageEvent };
}

function answerOf(work: Work, hold: HoldRow, availableBalance: bigint): HoldAnswer {
  const { subscriptionId, usageMeterId } = hold;
  return { hold: toHold(work, hold), usageBalance: { subscriptionId, usageMeterId, availableBalance } };
}

function toHold(work: Work, { ledgerAccountId: _, counted: __, ...hold }: HoldRow): UsageHold {
  return { ...hold, livemode: work.livemode };
}
