import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, Metadata, Timestamp } from '../kernel/json.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';

export const ResourceClaimId = idSchema('resourceClaim');

// A request makes or ends so many claims at the most: their rows and the answer stay within a few megabytes, and the
// lock on the subscription is held for well under a second. Who needs more sends several requests.
export const maxClaimsPerRequest = 10_000;
// More resources than any pricing model has at work, and a query that still fits into a URL.
const maxListedResources = 100;

/** Why a claim ended. */
export type ReleaseReason = 'released' | 'subscription_canceled' | 'scheduled_cancellation' | 'expired';

/** One unit of a resource that a subscription holds, under a name of the caller's own or without one. */
export const ResourceClaim = z
  .object({
    id: ResourceClaimId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    subscriptionId: z.string(),
    resourceId: z.string(),
    subscriptionItemFeatureId: z
      .string()
      .nullable()
      .meta({ description: 'The oldest active feature that grants the resource. Null if there is none.' }),
    externalId: z.string().nullable(),
    claimedAt: Timestamp,
    releasedAt: Timestamp.nullable(),
    releaseReason: z.string().nullable(),
    expiredAt: Timestamp.nullable().meta({ description: 'The end of a temporary claim.' }),
    metadata: Metadata.nullable(),
  })
  .meta({ id: 'ResourceClaim' });
export type ResourceClaim = z.infer<typeof ResourceClaim>;

/** How much of a resource a subscription may hold and holds. */
export const ResourceUsage = z
  .object({
    resourceSlug: z.string(),
    resourceId: z.string(),
    capacity: z.int().min(0),
    claimed: z.int().min(0),
    available: z
      .int()
      .meta({ description: 'Capacity less claims. Negative if the capacity was lowered below the claims.' }),
  })
  .meta({ id: 'ResourceUsage' });
export type ResourceUsage = z.infer<typeof ResourceUsage>;

const ExternalId = z.string().max(255);
const ResourceSlug = z.string().min(1).max(255);

const selectors = {
  quantity: countInput(1).nullable().optional().meta({ description: 'The number of claims without a name.' }),
  externalId: ExternalId.nullable().optional().meta({ description: 'The claim with this name.' }),
  externalIds: z
    .array(ExternalId)
    .min(1)
    .max(maxClaimsPerRequest)
    .nullable()
    .optional()
    .meta({ description: 'The claims with these names. A repeated name counts once.' }),
};

function isExactlyOneGiven(values: readonly unknown[]): boolean {
  return values.filter((value) => value !== undefined && value !== null).length === 1;
}

/** What to claim: exactly one of `quantity`, `externalId` and `externalIds`. */
export const NewClaims = z
  .object({ resourceSlug: ResourceSlug, metadata: Metadata.nullable().optional(), ...selectors })
  .refine(({ quantity, externalId, externalIds }) => isExactlyOneGiven([quantity, externalId, externalIds]), {
    message: 'give exactly one of quantity, externalId and externalIds',
  })
  .meta({ id: 'NewResourceClaims' });
export type NewClaims = z.output<typeof NewClaims>;

/** What to release: exactly one of `quantity` (the oldest without a name), `externalId`, `externalIds`, `claimIds`. */
export const ClaimsToRelease = z
  .object({
    resourceSlug: ResourceSlug,
    ...selectors,
    claimIds: z.array(z.string().min(1).max(255)).min(1).max(maxClaimsPerRequest).nullable().optional(),
  })
  .refine((body) => isExactlyOneGiven([body.quantity, body.externalId, body.externalIds, body.claimIds]), {
    message: 'give exactly one of quantity, externalId, externalIds and claimIds',
  })
  .meta({ id: 'ResourceClaimsToRelease' });
export type ClaimsToRelease = z.output<typeof ClaimsToRelease>;

/** The query for one resource: exactly one of its slug and its id. */
export const OneResource = z
  .object({ resourceSlug: ResourceSlug.optional(), resourceId: ResourceSlug.optional() })
  .refine(({ resourceSlug, resourceId }) => isExactlyOneGiven([resourceSlug, resourceId]), {
    message: 'give exactly one of resourceSlug and resourceId',
  });
export type OneResource = z.output<typeof OneResource>;

// The comma separates, yet a slug may hold one: a text with commas stands for its parts and for itself. What matches
// nothing is left out anyway.
const Listed = z
  .union([z.string(), z.array(z.string())])
  .transform((given, context) => {
    const texts = [given].flat();
    const parts = texts.flatMap((text) => text.split(','));
    if (parts.length > maxListedResources)
      context.addIssue({ code: 'custom', message: `must name at most ${maxListedResources}` });
    return [...new Set([...parts, ...texts])];
  })
  .optional();

/** The query for several resources: `a=x,y`, `a=x&a=y` and `a[]=x&a[]=y` all name two. */
export const SeveralResources = z.object({
  resourceSlugs: Listed.meta({ description: 'Slugs, separated by commas or given as several parameters.' }),
  'resourceSlugs[]': Listed.meta({ description: 'The same as resourceSlugs.' }),
  resourceIds: Listed.meta({ description: 'Ids, separated in the same way. Ignored if there are slugs.' }),
  'resourceIds[]': Listed.meta({ description: 'The same as resourceIds.' }),
});
export type SeveralResources = z.output<typeof SeveralResources>;

/** Whether a query asks for the resource. Slugs win over ids; a query that names neither asks for all. */
export function isAskedFor({ resourceId, resourceSlug }: Holding, query: SeveralResources): boolean {
  const slugs = [query.resourceSlugs, query['resourceSlugs[]']];
  if (slugs.some((list) => list !== undefined)) return slugs.some((list) => list?.includes(resourceSlug));
  const ids = [query.resourceIds, query['resourceIds[]']];
  return ids.every((list) => list === undefined) || ids.some((list) => list?.includes(resourceId));
}

/** A claim as it is kept. */
export interface StoredClaim {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly resourceId: string;
  readonly externalId: string | null;
  readonly claimedAt: Instant;
  readonly releasedAt: Instant | null;
  readonly releaseReason: string | null;
  readonly expiredAt: Instant | null;
  readonly metadata: z.infer<typeof Metadata> | null;
}

/** What a subscription has of a resource at an instant. */
export interface Holding {
  readonly resourceId: string;
  readonly resourceSlug: string;
  readonly resourceActive: boolean;
  /** What its active features grant together, 0 to 2^53-1. */
  readonly capacity: number;
  /** Active claims. */
  readonly claimed: number;
  /** Active claims without a name. */
  readonly anonymous: number;
  /** Claims that have expired and were not released, so that their names are still taken. */
  readonly lapsed: number;
  /** Active claims that have no end. */
  readonly lasting: number;
  /** The oldest active feature that grants the resource, or null when there is none. */
  readonly subscriptionItemFeatureId: string | null;
  /** What a change of plan that is scheduled, or waits for its payment, leaves of the capacity; null without one. */
  readonly plannedCapacity: number | null;
  /** When that change takes effect. */
  readonly plannedAt: Instant | null;
}

/** The usage to answer; `change` claims were added (or, when negative, released) since the holding was read. */
export function toUsage(holding: Holding, change = 0): ResourceUsage {
  const claimed = holding.claimed + change;
  const { resourceSlug, resourceId, capacity } = holding;
  return { resourceSlug, resourceId, capacity, claimed, available: capacity - claimed };
}

/** Refuses, at `now`, to claim `requested` more of a resource when they do not fit, or are too many for one request. */
export function checkClaim(holding: Holding, requested: number, now: Instant): void {
  if (requested === 0) return;
  const { resourceSlug: slug, claimed } = holding;
  const capacity = claimableCapacity(holding, now);
  if (!holding.resourceActive) throw new Problem('resourceInactive', { slug });
  const available = capacity - claimed;
  if (requested > available) throw new Problem('capacityExceeded', { slug, requested, available, capacity, claimed });
  if (requested > maxClaimsPerRequest) throw new Problem('tooManyClaims', { requested, limit: maxClaimsPerRequest });
}

/** Refuses to release more claims without a name than there are, or too many for one request. */
export function checkRelease(holding: Holding, requested: number): void {
  const { resourceSlug: slug, anonymous: available } = holding;
  if (requested > available) throw new Problem('tooFewClaims', { slug, requested, available });
  if (requested > maxClaimsPerRequest) throw new Problem('tooManyClaims', { requested, limit: maxClaimsPerRequest });
}

/**
 * What can be claimed of. A change whose instant has come, and which waits for its payment or for being carried out,
 * must find room for what is claimed.
 */
export function claimableCapacity(
  { capacity, plannedCapacity, plannedAt }: Pick<Holding, 'capacity' | 'plannedCapacity' | 'plannedAt'>,
  now: Instant,
): number {
  const isImminent = plannedCapacity !== null && plannedAt !== null && plannedAt <= now;
  return isImminent ? Math.min(capacity, plannedCapacity) : capacity;
}

/** Why a claim ends by itself. */
export const TemporaryReason = z.enum(['scheduled_cancellation', 'scheduled_adjustment']);

/** The claims of an answer that end by themselves. */
export const TemporaryClaims = z
  .object({
    claimIds: z.array(ResourceClaimId),
    expiredAt: Timestamp.meta({ description: 'The end of these claims.' }),
    reason: TemporaryReason.meta({ description: 'The change that leaves no room for these claims.' }),
  })
  .meta({ id: 'TemporaryResourceClaims' });
export type TemporaryClaims = z.infer<typeof TemporaryClaims>;

/** Of claims to be made, how many are for good, and when the others end. */
export interface ClaimTerm {
  readonly lasting: number;
  readonly end: { readonly at: Instant; readonly reason: TemporaryClaims['reason'] } | null;
}

/**
 * For how long `requested` new claims are made. Until the subscription ends, where that is scheduled; claims that were
 * made before go with the subscription itself (worked example C2). Where a change to a lower capacity is scheduled, as
 * many as fit then are for good, and the others end with it: capacity 10 and 3 from July on, 2 claimed and 4 more asked
 * for: 1 is for good, 3 end (C1). A higher capacity has room for all (C3).
 */
export function claimTerm(
  holding: Pick<Holding, 'lasting' | 'plannedCapacity' | 'plannedAt'>,
  subscription: { readonly cancelScheduledAt: Instant | null },
  requested: number,
  now: Instant,
): ClaimTerm {
  const { cancelScheduledAt } = subscription;
  if (cancelScheduledAt !== null && cancelScheduledAt > now) {
    return { lasting: 0, end: { at: cancelScheduledAt, reason: 'scheduled_cancellation' } };
  }
  const { plannedCapacity, plannedAt } = holding;
  if (plannedCapacity === null || plannedAt === null || plannedAt <= now) return { lasting: requested, end: null };
  const lasting = Math.min(requested, Math.max(plannedCapacity - holding.lasting, 0));
  return { lasting, end: lasting === requested ? null : { at: plannedAt, reason: 'scheduled_adjustment' } };
}

/** The claims of an answer that end by themselves, when and why; null when there are none. */
export function temporaryOf(
  claims: readonly Pick<StoredClaim, 'id' | 'expiredAt'>[],
  subscription: { readonly cancelScheduledAt: Instant | null },
): TemporaryClaims | null {
  const ending = claims.filter((claim) => claim.expiredAt !== null);
  const expiredAt = ending[0]?.expiredAt ?? null;
  if (expiredAt === null) return null;
  const reason = subscription.cancelScheduledAt === null ? 'scheduled_adjustment' : 'scheduled_cancellation';
  return { claimIds: ending.map(({ id }) => id), expiredAt, reason };
}

/** How many claims of a resource a subscription holds. */
export interface ClaimCount {
  readonly resourceId: string;
  readonly resourceSlug: string;
  readonly claimed: number;
}

/** Refuses a change that leaves less of a resource than is claimed; 0 of what `capacities`, by resource id, do not name. */
export function checkCapacities(capacities: Readonly<Record<string, number>>, counts: readonly ClaimCount[]): void {
  for (const { resourceId, resourceSlug: slug, claimed } of counts) {
    const capacity = capacities[resourceId] ?? 0;
    if (claimed > capacity) {
      throw new Problem('capacityBelowClaims', { slug, capacity, claimed, excess: claimed - capacity });
    }
  }
}
