import type { PriceDraws } from '../credit-pools/actions-draws.ts';
import { RunAgain, type Work } from '../database/work.ts';
import { type Batch, type BatchedOperation, PartialRejection } from '../jobs/batcher.ts';
import { Problem } from '../kernel/problem.ts';
import { type Access, accessOf } from '../organizations/setting.ts';
import { pooledShare, unitsPaidBy } from '../rating/pool-units.ts';
import { takeUsage } from '../rating/spending.ts';
import type { Budgets } from '../spend-controls/actions-count.ts';
import {
  bookAtOnce,
  bookEvents,
  budgetsOf,
  countedOf,
  digestOf,
  draftInTransaction,
  drawKeyOf,
  findPools,
  isTaken,
  listByTransaction,
  openDrawsOf,
  type PoolUse,
  poolKeyOf,
  poolStateOf,
  poolUseOf,
  storeEvents,
  takenProblem,
  transactionText,
  usageBatches,
} from './actions-record.ts';
import { type CatchUp, openMissingSeries, type UsageCache } from './actions-resolve.ts';
import * as store from './store.ts';
import { type LockedBalance, lockBalances } from './store-accounts.ts';
import { listHeldUnits } from './store-holds.ts';
import {
  accessRefusal,
  countsDistinct,
  type Draft,
  type Drafted,
  draftsOf,
  insufficientBalance,
  seriesOf,
  spendUseOf,
  type UsageAnswer,
  type UsageRequest,
} from './usage-draft.ts';
import type { UsageBalance, UsageEvent } from './usage-event.ts';

/**
 * Records the one event of each request only if the customer has access and the balance covers it. An event that
 * several meters count is recorded only if the balance of each covers its part. The requests of a batch are decided in
 * the order in which they came, on locked accounts: as many are accepted as the balances cover.
 */
export function consumeUsage(catchUp: CatchUp): BatchedOperation<UsageRequest, UsageAnswer, UsageCache> {
  return {
    name: 'consume',
    ...usageBatches,
    answerAtOnce: consumeAtOnce,
    answer: (work, requests, cache) => consume(work, requests, { catchUp, cache }),
  };
}

/** The usual case, in one statement: the balances cover the whole batch. Null: the batch needs a transaction. */
async function consumeAtOnce(batch: Batch<UsageRequest, UsageCache>): Promise<(UsageAnswer | Problem)[] | null> {
  const done = await bookAtOnce(batch, { consumes: true });
  return done === null ? null : answersOf(done.drafted, new Map(done.balances));
}

/** The answers of a batch, each with the balances after it. `balances` are those after the last. */
function answersOf(drafted: readonly Drafted[], balances: Map<string, bigint>): (UsageAnswer | Problem)[] {
  const answers = drafted.toReversed().map(({ drafts }) => {
    if (drafts instanceof Problem) return drafts;
    const told = drafts.toReversed().map((draft) => {
      const { ledgerAccountId } = seriesOf(draft);
      const { subscriptionId, usageMeterId, amount } = draft.event;
      const availableBalance = balances.get(ledgerAccountId) ?? 0n;
      balances.set(ledgerAccountId, availableBalance + BigInt(amount));
      return { subscriptionId, usageMeterId, availableBalance };
    });
    return { events: drafts.map(({ event }) => event), balances: told.reverse() };
  });
  return answers.reverse();
}

async function consume(
  work: Work,
  requests: readonly UsageRequest[],
  using: { readonly catchUp: CatchUp; readonly cache: UsageCache },
): Promise<(UsageAnswer | Problem)[]> {
  const drafted = await draftInTransaction(work, requests, using);
  const drafts = draftsOf(drafted);
  const opened = await openMissingSeries(work, drafts);
  const uses = drafts.map(poolUseOf);
  const pools = await findPools(work, uses);
  const ids = new Set([...drafts.map((draft) => seriesOf(draft).ledgerAccountId), ...pools.values()]);
  const accounts = await lockBalances(work, [...ids]);
  const budgets = await budgetsOf(work, drafts, listHeldUnits);
  const soFar: SoFar = {
    budgets,
    access: accessOf(work),
    stored: await listByTransaction(work, drafts),
    seen: await findSeen(work, drafts),
    accounts: new Map(accounts),
    pools,
    draws: await openDrawsOf(work, uses, pools),
  };
  const accepted: Decision[] = [];
  const refused = new Map<number, Problem>();
  const answers = drafted.map(({ drafts: own }, index) => {
    if (own instanceof Problem) return own;
    const decided = decideRequest(own, soFar);
    if (!(decided instanceof Problem)) {
      accepted.push(...decided.filter((each) => each.accepted));
      const told = decided.map(({ answer }) => answer);
      return { events: told.map(({ event }) => event), balances: told.map(({ balance }) => balance) };
    }
    // A series and an account that nobody uses are not kept.
    if (own.some(({ found }) => opened.has(found))) refused.set(index, decided);
    return decided;
  });
  if (refused.size > 0) throw new PartialRejection(refused);
  await storeAccepted(work, accepted, using.cache);
  await budgets.save(work);
  return answers;
}

/** Decides the parts of a request, of which all are accepted or none: then the first refusal is the answer. */
function decideRequest(drafts: readonly Draft[], soFar: SoFar): Decision[] | Problem {
  const decided: Decision[] = [];
  for (const draft of drafts) {
    const decision = decideConsumption(draft, soFar);
    if (decision instanceof Problem) {
      for (const each of decided) if (each.accepted) undo(each, soFar);
      return decision;
    }
    decided.push(decision);
  }
  return decided;
}

function undo({ draft, counts, pooled, poolUse }: Decision, soFar: SoFar): void {
  soFar.stored.delete(transactionText(draft.event));
  if (!counts) return;
  const cost = poolUse === null ? 0n : payOf(poolUse, pooled, soFar, true);
  soFar.budgets.takeBack(spendUseOf(draft, true, -cost));
  take(draft, { units: -BigInt(draft.event.amount), pooled: -pooled, cost }, soFar);
  if (countsDistinct(draft)) soFar.seen.delete(digestOf(draft));
}

/** Takes units of a draft from its account, but for those that its credit pool pays for, and their cost from the pool. */
function take(
  draft: Draft,
  { units, pooled, cost }: { readonly units: bigint; readonly pooled: bigint; readonly cost: bigint },
  { accounts, pools }: SoFar,
): void {
  const { ledgerAccountId } = seriesOf(draft);
  const { balance, held, free } = accountOf(accounts, ledgerAccountId);
  const own = units - pooled;
  accounts.set(ledgerAccountId, { balance: balance - own, held, free: free - own });
  const poolId = pools.get(poolKeyOf(poolUseOf(draft)));
  if (pooled === 0n || poolId === undefined) return;
  const pool = accountOf(accounts, poolId);
  accounts.set(poolId, { ...pool, balance: pool.balance - cost });
}

/** The cost of units of a use that its pool pays for, or that is given back. At a price it is counted. */
function payOf({ draft, rate, ...use }: PoolUse, pooled: bigint, { draws }: SoFar, isBack = false): bigint {
  if (pooled === 0n || rate === null) return 0n;
  const sign = isBack ? -1n : 1n;
  if (rate.unitCost !== null) return sign * pooled * rate.unitCost;
  const usage = { ...use, units: pooled };
  return draws.add(drawKeyOf(draft), isBack ? takeUsage(usage) : usage);
}

function accountOf(accounts: ReadonlyMap<string, LockedBalance>, id: string): LockedBalance {
  return accounts.get(id) ?? { balance: 0n, held: 0n, free: 0n };
}

/** Stores and books what was accepted. If another process stored the same event first, the whole batch is decided again. */
async function storeAccepted(work: Work, accepted: readonly Decision[], cache: UsageCache): Promise<void> {
  if (accepted.length === 0) return;
  const added = accepted.map(({ draft }) => draft);
  const booking = await store.nextBooking(work);
  if ((await storeEvents(work, added, booking)).size > 0) throw new RunAgain();
  const counted = await countedOf(work, added);
  if (accepted.some(({ draft, counts }) => counts !== counted.has(draft))) throw new RunAgain();
  await bookEvents(work, added, { booking, counted, cache });
}

/** The state that decisions of a batch are made on. `decideConsumption` adds to it what it accepts. */
interface SoFar {
  readonly access: Access;
  readonly budgets: Budgets;
  /** Events by `transactionText`. */
  readonly stored: Map<string, UsageEvent>;
  /** Digests of properties that do not count again. */
  readonly seen: Set<string>;
  /** By ledger account, those of credit pools included. */
  readonly accounts: Map<string, LockedBalance>;
  /** The accounts of credit pools, by `poolKeyOf`. */
  readonly pools: ReadonlyMap<string, string>;
  readonly draws: PriceDraws;
}

interface Decision {
  readonly draft: Draft;
  readonly answer: { readonly event: UsageEvent; readonly balance: UsageBalance };
  readonly accepted: boolean;
  /** Whether its amount counts. */
  readonly counts: boolean;
  /** The units that a credit pool pays for. */
  readonly pooled: bigint;
  /** The use that it pays for; null: none. */
  readonly poolUse: PoolUse | null;
}

function decideConsumption(draft: Draft, soFar: SoFar): Decision | Problem {
  const { access, budgets, stored, seen, accounts, pools, draws } = soFar;
  const { subscriptionId, usageMeterId } = draft.event;
  const account = accountOf(accounts, seriesOf(draft).ledgerAccountId);
  const answer = (event: UsageEvent, availableBalance: bigint) => {
    return { event, balance: { subscriptionId, usageMeterId, availableBalance } };
  };
  const first = stored.get(transactionText(draft.event));
  if (first !== undefined) {
    if (isTaken(draft, first)) return takenProblem(draft);
    return { draft, answer: answer(first, account.balance), accepted: false, counts: false, pooled: 0n, poolUse: null };
  }
  const refusal = accessRefusal(draft, access);
  if (refusal !== null) return refusal;
  const digest = countsDistinct(draft) ? digestOf(draft) : null;
  const counts = digest === null || !seen.has(digest);
  const units = counts ? BigInt(draft.event.amount) : 0n;
  const poolUse = poolUseOf(draft);
  const poolId = pools.get(poolKeyOf(poolUse));
  const pool = poolId === undefined ? null : poolStateOf(poolUse, accountOf(accounts, poolId).balance, draws);
  // An event that counts nothing needs no balance, also where that is negative.
  const pooled = units === 0n ? 0n : pooledShare(units, account, pool);
  if (pooled === null) return insufficientBalance(draft, account.balance, unitsPaidBy(pool, units));
  const use = spendUseOf(draft, counts, pool === null || pooled === 0n ? 0n : pool.costOf(pooled));
  const beyond = budgets.refusal(use);
  if (beyond !== null) return beyond;
  budgets.add(use, true);
  take(draft, { units, pooled, cost: payOf(poolUse, pooled, soFar) }, soFar);
  stored.set(transactionText(draft.event), draft.event);
  if (digest !== null) seen.add(digest);
  const balance = account.balance - (units - pooled);
  return { draft, answer: answer(draft.event, balance), accepted: true, counts, pooled, poolUse };
}

async function findSeen(work: Work, drafts: readonly Draft[]): Promise<Set<string>> {
  const digests = drafts.filter(countsDistinct).map(digestOf);
  return digests.length === 0 ? new Set() : new Set(await store.listSeenProperties(work, digests));
}
