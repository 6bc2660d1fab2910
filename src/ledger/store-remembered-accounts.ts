import { LRUCache } from 'lru-cache';
import type { Instant } from '../kernel/calendar.ts';
import type { Work } from '../platform/work.ts';
import type { LockedAccount, UsedAccount } from './usage-booking.ts';

/** What the sides of an account have come to. None of its credits has changed as long as all of them are the same. */
export interface AccountSums {
  readonly granted: bigint;
  readonly used: bigint;
  readonly covered: bigint;
  readonly expired: bigint;
  readonly settled: bigint;
  readonly takenBack: bigint;
}

/** An account that nothing is held on, as this process left it. It may have changed since: the database compares the sums. */
export interface RememberedAccount {
  readonly account: LockedAccount;
  readonly sums: AccountSums;
  /** Accounts are locked in the order of these. */
  readonly lockedBy: { readonly subscriptionId: string; readonly usageMeterId: string };
}

/** What is remembered of an account, and when that proved wrong. */
interface Memory {
  remembered: RememberedAccount | null;
  failedAt: number;
  distrustedUntil: number;
}

/** The most accounts of a unit of work that are remembered: to ask for those of a bulk load once more is little of it. */
export const mostRemembered = 500;

// An account with its credits is about a kilobyte.
const known = new LRUCache<string, Memory>({ max: 30_000 });

// Where others use an account too, what is remembered of it proves wrong again soon, and that costs all of a transaction.
const distrustMs = 1_000;

function keyOf({ environmentId }: Work, id: string): string {
  return `${environmentId} ${id}`;
}

/** That of an account, to be changed in its place: an empty one where there is none. */
function memoryOf(work: Work, id: string): Memory {
  const key = keyOf(work, id);
  const memory = known.get(key);
  if (memory !== undefined) return memory;
  const empty: Memory = { remembered: null, failedAt: Number.NEGATIVE_INFINITY, distrustedUntil: 0 };
  known.set(key, empty);
  return empty;
}

/** Remembers an account as it was read under its lock; one that is to be read each time is forgotten. */
export function rememberAccount(work: Work, seen: RememberedAccount): void {
  const { account } = seen;
  const isPlain = account.held === 0n && account.lapsed === 0n;
  memoryOf(work, account.id).remembered = isPlain ? seen : null;
}

/** The accounts as they are remembered. Null where one is not, or has proved wrong of late, or has a credit that has ended by now. */
export function recallAccounts(work: Work, ids: readonly string[]): ReadonlyMap<string, RememberedAccount> | null {
  if (ids.length > mostRemembered) return null;
  const recalled = new Map<string, RememberedAccount>();
  for (const id of ids) {
    const memory = known.get(keyOf(work, id));
    if (memory === undefined || memory.remembered === null || memory.distrustedUntil > performance.now()) return null;
    if (!isUsable(memory.remembered.account, work.now)) return null;
    recalled.set(id, memory.remembered);
  }
  return recalled;
}

function isUsable({ credits }: LockedAccount, now: Instant): boolean {
  return credits.every(({ expiresAt }) => expiresAt === null || expiresAt > now);
}

/** Remembers what becomes of accounts once usage on them is committed. */
export function rememberUsed(work: Work, accounts: readonly UsedAccount[]): void {
  const areRemembered = accounts.length <= mostRemembered;
  for (const { account, used, covered } of accounts) {
    const memory = known.get(keyOf(work, account.id));
    if (memory === undefined || memory.remembered === null) continue;
    if (!areRemembered) {
      memory.remembered = null;
      continue;
    }
    const { sums, lockedBy } = memory.remembered;
    memory.remembered = {
      account: { ...account, bookedAt: Math.max(account.bookedAt, work.now) },
      sums: { ...sums, used: sums.used + used, covered: sums.covered + covered },
      lockedBy,
    };
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
