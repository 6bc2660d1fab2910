import type { Instant } from '../kernel/calendar.ts';

/** The purchase that an automatic top-up makes. Exactly one of `upTo` and `quantity` is there. */
interface TopUpSize {
  readonly balance: bigint;
  /** The balance that the purchase reaches. */
  readonly upTo: bigint | null;
  /** The quantity that it buys, whatever the balance is. */
  readonly quantity: number | null;
  /** The credits of one unit of the product. */
  readonly creditsPerUnit: bigint;
  readonly maxQuantity: number;
}

/** The quantity to buy. Worked example: a balance of -50 up to 1,000 by packs of 400 takes 3. */
export function topUpQuantity({ balance, upTo, quantity, creditsPerUnit, maxQuantity }: TopUpSize): number {
  if (quantity !== null) return quantity;
  const gap = (upTo ?? 0n) - balance;
  if (gap <= 0n) return 0;
  const units = (gap + creditsPerUnit - 1n) / creditsPerUnit;
  return units > BigInt(maxQuantity) ? maxQuantity : Number(units);
}

/**
 * The next smaller quantity to try when `quantity` costs `total` and only `rest` may be spent. Both totals are rounded, so the
 * share allows half a unit for each. Tiers may make a smaller quantity cost more than its share, so it is priced again.
 * Worked example: with a tax of 19 %, three at 333 cost 1,189, and one costs 396. A rest of 396 buys one.
 */
export function smallerQuantity(quantity: number, total: bigint, rest: bigint): number {
  const share = rest <= 0n ? 0 : Number((BigInt(quantity) * (2n * rest + 1n)) / (2n * total - 1n));
  return Math.max(0, Math.min(quantity - 1, share));
}

/** Three declines in a row are no accident: only a person can help then. */
const maxTopUpFailures = 3;

// An hour for a bank that is busy, and a day for a card that is empty.
const backOffMs = [3_600_000, 24 * 3_600_000];

/** The instant of the next attempt after so many failures in a row. Null: none. */
export function nextTopUpAttempt(failures: number, now: Instant): Instant | null {
  const wait = backOffMs[failures - 1];
  return failures >= maxTopUpFailures || wait === undefined ? null : now + wait;
}
