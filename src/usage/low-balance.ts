import { balanceOf, type LockedAccount } from './usage-booking.ts';

/** An account whose balance has fallen below its meter's threshold. */
export interface LowBalance {
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
}

/** An account that may fall below its threshold. */
export interface WatchedAccount extends LowBalance {
  readonly ledgerAccountId: string;
  /** The threshold of the meter; null: none. */
  readonly lowBalanceThreshold: bigint | null;
}

/** Whether a balance change crosses the threshold: from at or above it to below. */
export function hasFallen(threshold: bigint | null, before: bigint, after: bigint): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

/** The accounts that fell below their thresholds between two states, each once. */
export function fallenBetween(
  watched: readonly WatchedAccount[],
  before: ReadonlyMap<string, LockedAccount>,
  after: ReadonlyMap<string, LockedAccount>,
): LowBalance[] {
  const fallen = new Map<string, LowBalance>();
  for (const account of watched) {
    const [was, is] = [before.get(account.ledgerAccountId), after.get(account.ledgerAccountId)];
    if (was === undefined || is === undefined || was === is) continue;
    if (hasFallen(account.lowBalanceThreshold, balanceOf(was), balanceOf(is)))
      fallen.set(account.ledgerAccountId, account);
  }
  return [...fallen.values()];
}
