import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { saturated } from '../kernel/money.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { poolText } from '../rating/pool-units.ts';
import type { CatchUp } from '../usage/actions-resolve.ts';
import { findPooledUnits } from './actions-pooled.ts';
import {
  type EntitledBalance,
  type EntitledResource,
  type Entitlements,
  kindAbout,
  type NamedGrant,
  toEntitledFeatures,
} from './entitlement.ts';
import {
  ambiguousCustomers,
  askedOf,
  decideChecks,
  type EntitlementCheck,
  type EntitlementCheckResult,
  type PooledUnits,
  toGivenValue,
} from './entitlement-check.ts';
import * as store from './store-entitlements.ts';

/**
 * The entitlements of a customer's current subscriptions, or of the one in the query; a subscription that is not
 * current grants nothing. Refuses with `customerNotFound`, `externalIdAmbiguous` and `subscriptionNotFound`.
 */
export async function readEntitlements(
  work: Work,
  externalId: string,
  query: store.EntitlementsQuery,
  catchUp: CatchUp,
): Promise<Entitlements> {
  const found = await findCurrent(work, catchUp, () => store.findEntitlements(work, externalId, query));
  const [customer, other] = found.customers;
  if (customer === undefined) throw new Problem('customerNotFound', { id: externalId });
  if (other !== undefined) throw new Problem('externalIdAmbiguous', { externalId });
  if (!found.hasSubscription) throw new Problem('subscriptionNotFound', { id: query.subscriptionId ?? '' });
  const [customerId, pricingModelId] = customer;
  const creditPoolBalances = found.pools.map(([creditPoolId, slug, available, held]) => {
    return { creditPoolId, slug, availableBalance: poolText(BigInt(available)), held: poolText(BigInt(held)) };
  });
  const pooled = await findPooledUnits(work, found.atPrice);
  return { customerId, externalId, pricingModelId, ...toEntitled(found, pooled), creditPoolBalances };
}

/** The units that pools pay for, of a meter on a subscription. A rate comes before the price. */
function unitsOfPools({ pools, poolRates }: store.FoundEntitlements, pooled: readonly PooledUnits[]) {
  const balances = new Map(pools.map(([creditPoolId, , available]) => [creditPoolId, BigInt(available)]));
  const atRate = new Map(
    poolRates.map(([usageMeterId, creditPoolId, unitCost]) => {
      const balance = balances.get(creditPoolId) ?? 0n;
      return [usageMeterId, balance > 0n ? balance / BigInt(unitCost) : 0n];
    }),
  );
  const atPrice = new Map(pooled.map((each) => [`${each.subscriptionId} ${each.usageMeterId}`, each.units]));
  return (subscriptionId: string, usageMeterId: string) =>
    atRate.get(usageMeterId) ?? atPrice.get(`${subscriptionId} ${usageMeterId}`) ?? 0n;
}

function toEntitled(found: store.FoundEntitlements, pooled: readonly PooledUnits[]) {
  const { subscriptions } = found;
  const unitsOf = unitsOfPools(found, pooled);
  const grants: NamedGrant[] = [];
  const usageMeterBalances: EntitledBalance[] = [];
  const resources: EntitledResource[] = [];
  const unpaidSubscriptionIds: string[] = [];
  for (const [subscriptionId, features, balances, capacities, claims, hasAccess] of subscriptions) {
    if (!hasAccess) {
      unpaidSubscriptionIds.push(subscriptionId);
      continue;
    }
    for (const [featureId, slug, name, type, active, amount, meant, valued, spendLimit] of features) {
      const granted = amount === null ? null : BigInt(amount);
      const given = toGivenValue(subscriptionId, valued);
      const about = meant ?? kindAbout(given?.value ?? null);
      grants.push({ subscriptionId, featureId, slug, name, type, active, about, amount: granted, given, spendLimit });
    }
    for (const [usageMeterId, slug, available, held, usable] of balances) {
      const units = { availableBalance: BigInt(available), held: BigInt(held), usableCredits: BigInt(usable) };
      const pooledUnits = saturated(unitsOf(subscriptionId, usageMeterId));
      usageMeterBalances.push({ usageMeterId, slug, subscriptionId, ...units, pooledUnits });
    }
    const claimedOf = new Map(claims);
    for (const [resourceId, slug, capacity, active] of capacities) {
      const claimed = claimedOf.get(resourceId) ?? 0;
      resources.push({ resourceId, slug, subscriptionId, capacity, claimed, available: capacity - claimed, active });
    }
  }
  return { features: toEntitledFeatures(grants), usageMeterBalances, resources, unpaidSubscriptionIds };
}

/** Checks, limited to customers of one pricing model if given. */
interface ChecksRequest {
  readonly checks: readonly EntitlementCheck[];
  readonly pricingModelId?: string | undefined;
  /** The places of the checks in the list of the caller; absent: they are that list. */
  readonly places?: readonly number[] | undefined;
}

/** Decides checks in order. Refuses an external id that is ambiguous between pricing models. */
export async function checkEntitlements(
  work: Work,
  { checks, pricingModelId, places }: ChecksRequest,
  catchUp: CatchUp,
): Promise<EntitlementCheckResult[]> {
  const requested = askedOf(checks);
  const found = await findCurrent(work, catchUp, () => store.findForChecks(work, requested, pricingModelId));
  if (found.subscriptionsRead > store.maxSubscriptionsChecked) {
    const most = store.maxSubscriptionsChecked.toLocaleString('en');
    throw invalid(['checks'], `concern customers with more than ${most} subscriptions: send fewer checks at a time`);
  }
  const ambiguous = new Set([...ambiguousCustomers(found)].map((customer) => requested.externalIds[customer - 1]));
  if (ambiguous.size > 0) {
    const index = checks.findIndex(({ customerExternalId }) => ambiguous.has(customerExternalId));
    assert(index >= 0, 'every external id stands in a check');
    throw invalid(
      ['checks', places?.[index] ?? index, 'customerExternalId'],
      'is ambiguous: several pricing models have a customer with this external id, so send pricingModelId',
    );
  }
  const pooled = await findPooledUnits(work, found.atPrice);
  return decideChecks(checks, requested, { ...found, pooled }, work.now);
}

/** Reads once more where subscriptions had overdue work, which is done first. After a recent failure the work is skipped. */
async function findCurrent<Found extends store.MaybeBehind>(
  work: Work,
  catchUp: CatchUp,
  find: () => Promise<Found>,
): Promise<Found> {
  const found = await find();
  if (found.behind === null) return found;
  // Charges are left to their jobs: a check waits for no processor.
  await catchUp({ ...work, effects: [] }, found.behind);
  return find();
}
