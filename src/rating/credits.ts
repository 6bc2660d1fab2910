import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';

/**
 * A grant with `remaining` units of its meter still to use, until `expiresAt` or, when that is null, for ever. Those with
 * a lower `priority` are used first.
 */
export type UsableCredit = { id: string; remaining: bigint; priority: number; expiresAt: Instant | null };

/** So many units (1 or more) of one credit that cover usage. */
export type CreditApplication = { id: string; amount: bigint };

/**
 * Covers `units` of usage with credits, each used up before the next is touched: the lowest priority first, then the
 * earliest expiry, then those that never expire, and among equals in the order given, which is oldest first. Answers the
 * applications in that order and the units that no credit covers. Only credits that can be used now are handed in: expiry
 * is not judged here. Nothing is negative. Worked example L1.
 */
export function applyCredits(
  credits: readonly UsableCredit[],
  units: bigint,
): { applications: CreditApplication[]; uncovered: bigint } {
  assert(units >= 0n, 'usage is not negative');
  const applications: CreditApplication[] = [];
  let uncovered = units;
  for (const { id, remaining } of inOrderOfUse(credits)) {
    assert(remaining >= 0n, 'a credit does not go below zero');
    const amount = smallerOf(remaining, uncovered);
    if (amount > 0n) applications.push({ id, amount });
    uncovered -= amount;
  }
  return { applications, uncovered };
}

/** The credits in the order in which they are used. */
export function inOrderOfUse<Credit extends Pick<UsableCredit, 'priority' | 'expiresAt'>>(
  credits: readonly Credit[],
): Credit[] {
  return [...credits].sort((a, b) => a.priority - b.priority || compareExpiry(a.expiresAt, b.expiresAt));
}

function compareExpiry(a: Instant | null, b: Instant | null): number {
  if (a === b) return 0;
  if (a === null) return 1;
  return b === null || a < b ? -1 : 1;
}
