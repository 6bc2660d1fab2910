import { openDraws } from '../credit-pools/actions-draws.ts';
import type { Work } from '../database/work.ts';
import { maxSafeInteger } from '../kernel/json.ts';
import { unitsPaidBy } from '../rating/pool-units.ts';
import { resolvePrices } from '../usage/store.ts';
import type { PooledUnits } from './entitlement-check.ts';
import type { PoolAtPrice } from './store-entitlements.ts';

// As many as a check can ask for. A last tier may cost nothing.
const mostUnits = BigInt(maxSafeInteger);

/**
 * The units that pools pay for at the price of a meter, behind what they have paid for in the usage period. One
 * event without properties can consume as many. An event that brings its own amount is not asked about.
 */
export async function findPooledUnits(work: Work, pools: readonly PoolAtPrice[]): Promise<PooledUnits[]> {
  if (pools.length === 0) return [];
  const resolved = await resolvePrices(
    work,
    pools.map(([, pricingModelId, productId, usageMeterId]) => {
      return { pricingModelId, productId, kind: 'usageMeterId', value: usageMeterId };
    }),
  );
  const uses = pools.flatMap(([subscriptionId, , , usageMeterId, accountId, creditPoolId, balance], index) => {
    const price = resolved[index]?.rest;
    if (!price?.priceId || price.ofEvents === 'own') return [];
    const { priceId, ofEvents } = price;
    // Without an account there is no draw: the subscription takes its place as a key.
    const key = { subscriptionId, priceId, ledgerAccountId: accountId ?? subscriptionId, creditPoolId };
    return { key, usageMeterId, balance: BigInt(balance), events: ofEvents === 'counted' ? 1n : 0n };
  });
  const draws = await openDraws(
    work,
    uses.map(({ key }) => key),
  );
  return uses.flatMap(({ key, usageMeterId, balance, events }) => {
    if (!draws.has(key)) return [];
    const costOf = (units: bigint) => draws.costOf(key, { units, events, ownAmount: 0n });
    const units = unitsPaidBy({ balance, costOf, isWhole: false }, mostUnits);
    return { subscriptionId: key.subscriptionId, usageMeterId, units };
  });
}
