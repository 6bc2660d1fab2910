import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';

/** A grant with `remaining` units of its meter still to use, until `expiresAt` or, when that is null, for ever. */
export type UsableCredit = { id: string; remaining: bigint; expiresAt: Instant | null };

/** So many units (1 or more) of one credit that cover usage. */
export type CreditApplication = { id: string; amount: bigint };

/**
 * Covers `units` of usage with credits, each used up before the next is touched: the earliest expiry first, then those
 * that never expire, and among equals in the order given, which is oldest first. Answers the applications in that
 * order and the units that no credit covers. Only credits that can be used now are handed in: expiry is not judged
 * here. Nothing is negative. Worked example L1.
 */
export function applyCredits(
  credits: readonly UsableCredit[],
  units: bigint,
): { applications: CreditApplication[]; uncovered: bigint } {
  assert(units >= 0n, 'usage is not negative');
  const applications: CreditApplication[] = [];
  let uncovered = units;
  for (const { id, remaining } of [...credits].sort(compareExpiry)) {
    assert(remaining >= 0n, 'a credit does not go below zero');
    const amount = smallerOf(remaining, uncovered);
    if (amount > 0n) applications.push({ id, amount });
    uncovered -= amount;
  }
  return { applications, uncovered };
}

function compareExpiry(a: UsableCredit, b: UsableCredit): number {
  const [first, second] = [a.expiresAt ?? Number.POSITIVE_INFINITY, b.expiresAt ?? Number.POSITIVE_INFINITY];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}
