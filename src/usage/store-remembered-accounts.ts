import { LRUCache } from 'lru-cache';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type LockedAccount, sumOf, type UsedAccount } from './usage-booking.ts';

/** What the sides of an account have come to. None of its credits has changed as long as all of them are the same. */
export interface AccountSums {
  readonly granted: bigint;
  used: bigint;
  covered: bigint;
  /** Of that, what stands in the rows of credits. */
  applied: bigint;
  readonly expired: bigint;
  readonly settled: bigint;
  readonly takenBack: bigint;
}

/**
 * An account that nothing is held on, as this process left it. It may have changed since: the database compares the sums.
 * Usage changes it in its place: thousands that are made anew each second are what the engine's collection of garbage copies.
 */
export interface RememberedAccount {
  account: LockedAccount;
  readonly sums: AccountSums;
  /** What the account says of its subscription. */
  readonly subscriptionRevision: number;
  /** Accounts are locked in the order of these. */
  readonly lockedBy: { readonly subscriptionId: string; readonly usageMeterId: string };
}

/** Accounts that are gone by as they are remembered. */
export interface RememberedAccounts {
  readonly accounts: ReadonlyMap<string, RememberedAccount>;
  /** Told where that, or what else was remembered with it, may not have been right. */
  readonly onDoubt: () => void;
}

/** What is remembered of an account, and when that proved wrong. */
interface Memory {
  readonly environmentId: number;
  remembered: RememberedAccount | null;
  failedAt: number;
  distrustedUntil: number;
}

/** The most accounts of a unit of work that are remembered: to ask for those of a bulk load once more is little of it. */
export const mostRemembered = 500;

// By id: to put that together with its environment's for each event would take longer. An account with its credits is about
// a kilobyte.
const known = new LRUCache<string, Memory>({ max: 30_000 });

// Where others use an account too, what is remembered of it proves wrong again soon, and that costs all of a transaction.
const distrustMs = 1_000;

/** That of an account, if there is one of this environment. */
function seenOf({ environmentId }: Work, id: string): Memory | undefined {
  const memory = known.get(id);
  return memory?.environmentId === environmentId ? memory : undefined;
}

/** That of an account, to be changed in its place: an empty one where there is none. */
function memoryOf(work: Work, id: string): Memory {
  const memory = seenOf(work, id);
  if (memory !== undefined) return memory;
  const { environmentId } = work;
  const empty: Memory = { environmentId, remembered: null, failedAt: Number.NEGATIVE_INFINITY, distrustedUntil: 0 };
  known.set(id, empty);
  return empty;
}

/** Remembers an account as it was read under its lock; one that is to be read each time is forgotten. */
export function rememberAccount(work: Work, seen: RememberedAccount): void {
  const { account } = seen;
  const isPlain = account.held === 0n && account.lapsed === 0n;
  memoryOf(work, account.id).remembered = isPlain ? seen : null;
}

/**
 * The accounts as they are remembered, of subscriptions with these revisions. Null where one is not, or was when its
 * subscription had another one, or has proved wrong of late, or has a credit that has ended by now.
 */
export function recallAccounts(
  work: Work,
  revisions: ReadonlyMap<string, number>,
): ReadonlyMap<string, RememberedAccount> | null {
  if (revisions.size > mostRemembered) return null;
  const recalled = new Map<string, RememberedAccount>();
  const instant = performance.now();
  for (const [id, revision] of revisions) {
    const memory = seenOf(work, id);
    if (memory === undefined || memory.remembered === null || memory.distrustedUntil > instant) return null;
    if (memory.remembered.subscriptionRevision !== revision) return null;
    if (!isUsable(memory.remembered.account, work.now)) return null;
    recalled.set(id, memory.remembered);
  }
  return recalled;
}

function isUsable({ credits }: LockedAccount, now: Instant): boolean {
  return credits.every(({ expiresAt }) => expiresAt === null || expiresAt > now);
}

/**
 * Remembers what becomes of accounts once usage on them is committed. `before` are the accounts that it was worked out from:
 * one that is remembered otherwise by now, as somebody else has booked on it meanwhile, is forgotten, so that no account is
 * ever put together from two histories.
 */
export function rememberUsed(
  work: Work,
  before: ReadonlyMap<string, LockedAccount>,
  accounts: readonly UsedAccount[],
): void {
  const areRemembered = accounts.length <= mostRemembered;
  for (const { account, used, covered, applied } of accounts) {
    const memory = seenOf(work, account.id);
    if (memory === undefined || memory.remembered === null) continue;
    const { remembered } = memory;
    if (!areRemembered || remembered.account !== before.get(account.id)) {
      memory.remembered = null;
      continue;
    }
    const { sums } = remembered;
    remembered.account = account;
    sums.used += used;
    sums.covered += covered;
    sums.applied += sumOf(applied);
  }
}

/** Forgets accounts that may not be as they are remembered; those of which that is so again and again for a while. */
export function distrustAccounts(work: Work, ids: readonly string[]): void {
  const now = performance.now();
  for (const id of ids) {
    const memory = memoryOf(work, id);
    if (now - memory.failedAt < distrustMs) memory.distrustedUntil = now + distrustMs;
    memory.failedAt = now;
    memory.remembered = null;
  }
}
