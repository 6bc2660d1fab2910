import { TollkeeperError } from './errors.ts';
import { operations } from './generated-operations.ts';
import type { CustomersGetEntitlementsAnswer, Entitlements } from './generated-types.ts';
import type { CallOptions, Transport } from './transport.ts';

/** Of a call's own options, what holds for every request of the reader: who must not wait long asks for little patience. */
export interface EntitlementReaderOptions extends Pick<CallOptions, 'timeoutMs' | 'maxRetries'> {
  /** How old an answer may be, in ms, before the service is asked whether it still holds. 5,000 when absent. */
  readonly maxAgeMs?: number;
  /** How many customers are remembered; of more, those who were asked about last. 10,000 when absent. */
  readonly max?: number;
  /**
   * For how long, in ms since it was last confirmed, an answer may be used while the service does not answer. 0 when
   * absent. Meanwhile the service is asked every `maxAgeMs`.
   */
  readonly staleOnErrorMs?: number;
  /** Needed only when several pricing models have customers of the same external ids. */
  readonly pricingModelId?: string;
}

/** Answers from memory what customers are entitled to. Every method throws what the request for it throws. */
export interface EntitlementReader {
  /**
   * Whether the customer has the feature and, where it is of credits or of places, `amount` (1 when absent) of them
   * left. It reserves nothing: to use credits is `usageEvents.consume`, to take a place `resourceClaims.claim`.
   */
  may(externalId: string, featureSlug: string, amount?: number): Promise<boolean>;
  /** The credits left on the usage meter, of all subscriptions together; 0 where there are none. */
  balance(externalId: string, usageMeterSlug: string): Promise<number>;
  /** All of it: the object that others are given too, so leave it as it is. */
  entitlements(externalId: string): Promise<Entitlements>;
  /** Forgets what is known of the customer: after a change, so that the next answer shows it. */
  forget(externalId: string): void;
}

interface Known {
  readonly entitlements: Entitlements;
  readonly etag: string | null;
  /** When the service last said so, and when it was last asked. */
  readonly readAt: number;
  readonly askedAt: number;
}

interface Entry {
  known: Known | null;
  /** The request that is under way, which all who ask meanwhile wait for. */
  pending: Promise<Entitlements> | null;
}

export function createEntitlementReader(
  transport: Pick<Transport, 'exchange'>,
  { maxAgeMs = 5_000, max = 10_000, staleOnErrorMs = 0, pricingModelId, ...options }: EntitlementReaderOptions,
): EntitlementReader {
  // In the order in which customers were last asked about.
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
    // Counted from here, so that an answer that was long under way is not taken for a fresh one.
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
    may: async (externalId, featureSlug, amount = 1) => isAllowed(await entitlements(externalId), featureSlug, amount),
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

/** Whether the service is at fault and not the question. */
function isOutage(error: unknown): boolean {
  return error instanceof TollkeeperError && (error.status === null || error.status === 429 || error.status >= 500);
}

/** Credits and places are those of all subscriptions that give the feature, together. */
function isAllowed(
  { features, usageMeterBalances, resources }: Entitlements,
  featureSlug: string,
  amount: number,
): boolean {
  const feature = features.find(({ slug }) => slug === featureSlug);
  if (feature === undefined) return false;
  const gives = ({ subscriptionId }: { subscriptionId: string }) => feature.subscriptionIds.includes(subscriptionId);
  switch (feature.type) {
    case 'toggle':
      return true;
    case 'usage_credit_grant': {
      const balances = usageMeterBalances.filter((row) => row.usageMeterId === feature.usageMeterId && gives(row));
      return amount <= sum(balances.map((row) => row.availableBalance));
    }
    case 'resource': {
      const places = resources.filter((row) => row.resourceId === feature.resourceId && gives(row));
      return amount <= sum(places.map((row) => row.available));
    }
    default:
      return feature satisfies never;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
