import assert from 'node:assert/strict';
import { invalid, Problem } from '../kernel/problem.ts';
import type { Work } from '../platform/work.ts';
import { byPlace, type Entitlements, toEntitledFeatures } from './entitlement.ts';
import {
  ambiguousCustomers,
  askedOf,
  decideChecks,
  type EntitlementCheck,
  type EntitlementCheckResult,
} from './entitlement-check.ts';
import * as store from './store-entitlements.ts';

/**
 * What a customer's current subscriptions let it use, or the one of them that the query names; one that is not current
 * gives nothing. Refuses with `customerNotFound`, `externalIdAmbiguous` and `subscriptionNotFound`.
 */
export async function readEntitlements(
  work: Work,
  externalId: string,
  query: store.EntitlementsQuery,
): Promise<Entitlements> {
  const found = await store.findEntitlements(work, externalId, query);
  const [customer, other] = found.customers;
  if (customer === undefined) throw new Problem('customerNotFound', { id: externalId });
  if (other !== undefined) throw new Problem('externalIdAmbiguous', { externalId });
  if (!found.hasSubscription) throw new Problem('subscriptionNotFound', { id: query.subscriptionId ?? '' });
  const [customerId, pricingModelId] = customer;
  const grants = found.grants.map(([subscriptionId, featureId, slug, name, type, active, amount, about]) => ({
    ...{ subscriptionId, featureId, slug, name, type, active, about },
    amount: amount === null ? null : BigInt(amount),
  }));
  const claimsOf = byPlace(found.claims);
  return {
    customerId,
    externalId,
    pricingModelId,
    features: toEntitledFeatures(grants),
    usageMeterBalances: found.balances.map(([usageMeterId, slug, subscriptionId, available, held]) => ({
      ...{ usageMeterId, slug, subscriptionId },
      availableBalance: BigInt(available),
      held: BigInt(held),
    })),
    resources: found.holdings.map(([resourceId, slug, subscriptionId, capacity]) => {
      const claimed = claimsOf(subscriptionId, resourceId)?.[2] ?? 0;
      return { resourceId, slug, subscriptionId, capacity, claimed, available: capacity - claimed };
    }),
  };
}

/** Checks, of customers of one pricing model only where it is named. */
export interface ChecksRequest {
  readonly checks: readonly EntitlementCheck[];
  readonly pricingModelId?: string | undefined;
}

/** Answers checks in their order. Refuses an external id that several pricing models have a customer with. */
export async function checkEntitlements(
  work: Work,
  { checks, pricingModelId }: ChecksRequest,
): Promise<EntitlementCheckResult[]> {
  const asked = askedOf(checks);
  const found = await store.findForChecks(work, asked, pricingModelId);
  const ambiguous = new Set([...ambiguousCustomers(found)].map((customer) => asked.externalIds[customer - 1]));
  if (ambiguous.size > 0) {
    const index = checks.findIndex(({ customerExternalId }) => ambiguous.has(customerExternalId));
    assert(index >= 0, 'every external id stands in a check');
    throw invalid(
      ['checks', index, 'customerExternalId'],
      'several pricing models have a customer with this external id: add pricingModelId',
    );
  }
  return decideChecks(checks, asked, found, work.now);
}
