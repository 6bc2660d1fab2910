import { TollkeeperError } from './errors.ts';
import { operations } from './generated-operations.ts';
import type { CustomersGetEntitlementsAnswer, Entitlements, FeatureValue } from './generated-types.ts';
import type { CallOptions, Transport } from './transport.ts';

/** Options for every request of the reader: code that must respond quickly sets a short timeout. */
export interface EntitlementReaderOptions extends Pick<CallOptions, 'timeoutMs' | 'maxRetries'> {
  /** The maximum age of a cached response in ms before it is revalidated. 5,000 when absent. */
  readonly maxAgeMs?: number;
  /** The maximum number of cached customers; the least recently used are evicted. 10,000 when absent. */
  readonly max?: number;
  /**
   * How long, in ms since the last validation, a cached response may be used while the service is not responding. 0
   * when absent. The service is queried every `maxAgeMs` meanwhile.
   */
  readonly staleOnErrorMs?: number;
  /** Required only if several pricing models have customers with the same external ids. */
  readonly pricingModelId?: string;
}

/** Answers entitlement checks from a cache. Every method throws the errors of its request. */
export interface EntitlementReader {
  /**
   * Whether the customer has the feature and, for credits or capacity, `needed` (1 when absent) of it left. A value that
   * is a number has to reach `needed`; one that is a text has to be it, and a list has to contain it. Reserves nothing:
   * use credits with `usageEvents.consume`, and capacity with `resourceClaims.claim`.
   */
  may(externalId: string, featureSlug: string, needed?: number | string): Promise<boolean>;
  /** The value of a feature of type `value`, such as a limit or a list of regions; null without one. */
  value(externalId: string, featureSlug: string): Promise<FeatureValue | null>;
  /** The remaining credits on the usage meter over all subscriptions; 0 without any. */
  balance(externalId: string, usageMeterSlug: string): Promise<number>;
  /** All entitlements. The object is shared: do not modify it. */
  entitlements(externalId: string): Promise<Entitlements>;
  /** Removes the customer from the cache: call it after a change, so that the next check sees it. */
  forget(externalId: string): void;
}

interface Known {
  readonly entitlements: Entitlements;
  readonly etag: string | null;
  /** The time of the last validation, and of the last request. */
  readonly readAt: number;
  readonly askedAt: number;
}

interface Entry {
  known: Known | null;
  /** The request in flight, shared by all concurrent callers. */
  pending: Promise<Entitlements> | null;
}

export function createEntitlementReader(
  transport: Pick<Transport, 'exchange'>,
  { maxAgeMs = 5_000, max = 10_000, staleOnErrorMs = 0, pricingModelId, ...options }: EntitlementReaderOptions,
): EntitlementReader {
  // In order of last use.
  const entries = new Map<string, Entry>();

  function entryOf(externalId: string): Entry {
    const entry = entries.get(externalId) ?? { known: null, pending: null };
    entries.delete(externalId);
    entries.set(externalId, entry);
    for (const oldest of entries.keys()) {
      if (entries.size <= max) break;
      entries.delete(oldest);
    }
    return entry;
  }

  async function ask(externalId: string, entry: Entry): Promise<Entitlements> {
    const { known } = entry;
    // Measured from the start of the request, so that a slow response does not count as fresh.
    const askedAt = performance.now();
    try {
      const input = { externalId, pricingModelId };
      const etag = known?.etag ?? undefined;
      const answer = await transport.exchange(operations.customers.getEntitlements, input, options, etag);
      const entitlements =
        answer.status === 304 && known
          ? known.entitlements
          : (answer.body as CustomersGetEntitlementsAnswer).entitlements;
      entry.known = { entitlements, etag: answer.headers.get('etag'), readAt: askedAt, askedAt };
      return entitlements;
    } catch (error) {
      if (known && isOutage(error) && isWithin(known.readAt, staleOnErrorMs)) {
        entry.known = { ...known, askedAt };
        return known.entitlements;
      }
      if (!known && entries.get(externalId) === entry) entries.delete(externalId);
      throw error;
    } finally {
      entry.pending = null;
    }
  }

  async function entitlements(externalId: string): Promise<Entitlements> {
    const entry = entryOf(externalId);
    const { known } = entry;
    if (known && isWithin(known.askedAt, maxAgeMs) && isWithin(known.readAt, Math.max(maxAgeMs, staleOnErrorMs))) {
      return known.entitlements;
    }
    entry.pending ??= ask(externalId, entry);
    return entry.pending;
  }

  return {
    entitlements,
    may: async (externalId, featureSlug, needed = 1) => isAllowed(await entitlements(externalId), featureSlug, needed),
    value: async (externalId, featureSlug) => {
      const { features } = await entitlements(externalId);
      const feature = features.find(({ slug }) => slug === featureSlug);
      return feature?.type === 'value' ? feature.value : null;
    },
    balance: async (externalId, usageMeterSlug) => {
      const { usageMeterBalances } = await entitlements(externalId);
      return sum(usageMeterBalances.filter(({ slug }) => slug === usageMeterSlug).map((row) => row.availableBalance));
    },
    forget: (externalId) => {
      entries.delete(externalId);
    },
  };
}

function isWithin(since: number, ms: number): boolean {
  return performance.now() - since < ms;
}

/** Whether the error is an outage rather than a problem of the request. */
function isOutage(error: unknown): boolean {
  return error instanceof TollkeeperError && (error.status === null || error.status === 429 || error.status >= 500);
}

/** Sums credits and capacity over all subscriptions that grant the feature. */
function isAllowed(
  { features, usageMeterBalances, creditPoolBalances, resources }: Entitlements,
  featureSlug: string,
  needed: number | string,
): boolean {
  const feature = features.find(({ slug }) => slug === featureSlug);
  if (feature === undefined) return false;
  const gives = ({ subscriptionId }: { subscriptionId: string }) => feature.subscriptionIds.includes(subscriptionId);
  // A text is asked of values only, and an amount is by default one.
  const amount = typeof needed === 'number' ? needed : 1;
  switch (feature.type) {
    case 'toggle':
    case 'spend_limit':
      return true;
    case 'usage_credit_grant': {
      const { creditPoolId } = feature;
      if (creditPoolId !== undefined) {
        const pool = creditPoolBalances.find((row) => row.creditPoolId === creditPoolId);
        return amount <= Number(pool?.availableBalance ?? 0);
      }
      const balances = usageMeterBalances.filter((row) => row.usageMeterId === feature.usageMeterId && gives(row));
      // As `entitlements.check` answers: a pool is the same for all subscriptions, and pays behind credits whatever is owed.
      const pooled = balances.reduce((most, row) => Math.max(most, row.pooledUnits), 0);
      if (pooled > 0) return amount <= sum(balances.map((row) => row.usableCredits)) + pooled;
      return amount <= sum(balances.map((row) => row.availableBalance));
    }
    case 'resource': {
      const places = resources.filter((row) => row.resourceId === feature.resourceId && gives(row));
      return places.every((row) => row.active) && amount <= sum(places.map((row) => row.available));
    }
    case 'value':
      if (typeof feature.value === 'number') return amount <= feature.value;
      return typeof needed === 'number' || [feature.value].flat().includes(needed);
    default:
      return feature satisfies never;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
