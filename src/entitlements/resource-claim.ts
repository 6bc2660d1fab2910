import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, freeText, Metadata, Timestamp } from '../kernel/json.ts';
import { longPageQuery } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';

const ResourceClaimId = idSchema('resourceClaim');

// The maximum number of claims created or released per request. It bounds the response to a few megabytes and the lock
// on the subscription to well under a second.
const maxClaimsPerRequest = 10_000;
// Each of these claims holds the metadata, and so does the answer.
const maxMetadataOfRequest = 4_000_000;
// Each claim counts the others, and the end of the subscription releases all of them in its transaction.
const maxClaimsHeld = 100_000;
// More resources than any real pricing model, in a query that still fits into a URL.
const maxListedResources = 100;

/** The reason for the end of a claim. */
export type ReleaseReason = 'released' | 'subscription_canceled' | 'scheduled_cancellation' | 'expired';

/** One unit of a resource that a subscription holds, with or without a name given by the caller. */
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

/** The capacity and claims of a resource. */
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

const ExternalId = freeText('name');
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

function fitsMetadata(metadata: Metadata | null | undefined, count: number): boolean {
  const { length } = JSON.stringify(metadata ?? null);
  return length * Math.min(count, maxClaimsPerRequest) <= maxMetadataOfRequest;
}

/** A request to claim: exactly one of `quantity`, `externalId` and `externalIds`. */
export const NewClaims = z
  .object({ resourceSlug: ResourceSlug, metadata: Metadata.nullable().optional(), ...selectors })
  .refine(({ quantity, externalId, externalIds }) => isExactlyOneGiven([quantity, externalId, externalIds]), {
    message: 'send exactly one of quantity, externalId and externalIds',
  })
  .refine(({ metadata, quantity, externalIds }) => fitsMetadata(metadata, quantity ?? externalIds?.length ?? 1), {
    path: ['metadata'],
    message: `must be shorter for so many claims: the metadata of all of them has at most ${maxMetadataOfRequest} characters as JSON`,
  })
  .meta({ id: 'NewResourceClaims' });
export type NewClaims = z.output<typeof NewClaims>;

/**
 * A request to release: exactly one of `quantity` (the oldest unnamed claims), `externalId`, `externalIds`, `claimIds`.
 */
export const ClaimsToRelease = z
  .object({
    resourceSlug: ResourceSlug,
    ...selectors,
    claimIds: z.array(z.string().min(1).max(255)).min(1).max(maxClaimsPerRequest).nullable().optional(),
  })
  .refine((body) => isExactlyOneGiven([body.quantity, body.externalId, body.externalIds, body.claimIds]), {
    message: 'send exactly one of quantity, externalId, externalIds and claimIds',
  })
  .meta({ id: 'ResourceClaimsToRelease' });
export type ClaimsToRelease = z.output<typeof ClaimsToRelease>;

/** The query for a page of claims. */
export const ClaimsQuery = longPageQuery({ resourceSlug: z.string().max(255).optional() });
export type ClaimsQuery = z.output<typeof ClaimsQuery>;

/** The query for one resource: exactly one of its slug and its id. */
export const OneResource = z
  .object({ resourceSlug: ResourceSlug.optional(), resourceId: ResourceSlug.optional() })
  .refine(({ resourceSlug, resourceId }) => isExactlyOneGiven([resourceSlug, resourceId]), {
    message: 'send exactly one of resourceSlug and resourceId',
  });
export type OneResource = z.output<typeof OneResource>;

// Slugs are separated by commas but may contain them: a text with commas means both its parts and itself. Unknown slugs
// are ignored anyway.
// A request line is no longer.
const ListedText = z.string().max(16_384);
const Listed = z
  .union([ListedText, z.array(ListedText).max(maxListedResources)])
  .transform((given, context) => {
    const texts = [given].flat();
    const parts = texts.flatMap((text) => text.split(','));
    if (parts.length > maxListedResources)
      context.addIssue({ code: 'custom', message: `must contain at most ${maxListedResources} resources` });
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

/** Whether a query includes the resource. Slugs take precedence over ids; a query with neither includes all. */
export function isAskedFor({ resourceId, resourceSlug }: Holding, query: SeveralResources): boolean {
  const slugs = [query.resourceSlugs, query['resourceSlugs[]']];
  if (slugs.some((list) => list !== undefined)) return slugs.some((list) => list?.includes(resourceSlug));
  const ids = [query.resourceIds, query['resourceIds[]']];
  return ids.every((list) => list === undefined) || ids.some((list) => list?.includes(resourceId));
}

/** A stored claim. */
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

/** The state of a resource on a subscription at an instant. */
export interface Holding {
  readonly resourceId: string;
  readonly resourceSlug: string;
  readonly resourceActive: boolean;
  /** The total capacity of its active features, 0 to 2^53-1. */
  readonly capacity: number;
  /** Active claims. */
  readonly claimed: number;
  /** Active unnamed claims. */
  readonly anonymous: number;
  /** Expired claims that were not released, so that their names are still taken. */
  readonly expired: number;
  /** Active claims without an end. */
  readonly lasting: number;
  /** The oldest active feature that grants the resource, or null if there is none. */
  readonly subscriptionItemFeatureId: string | null;
  /** The capacity after a scheduled or unpaid plan change; null without one. */
  readonly plannedCapacity: number | null;
  /** The effective date of that change. */
  readonly plannedAt: Instant | null;
}

/** The usage to return. `change` claims were added (or released, if negative) since the holding was read. */
export function toUsage(holding: Holding, change = 0): ResourceUsage {
  const claimed = holding.claimed + change;
  const { resourceSlug, resourceId, capacity } = holding;
  return { resourceSlug, resourceId, capacity, claimed, available: capacity - claimed };
}

/** Refuses to claim `requested` more units at `now` if they exceed the capacity or the request limit. */
export function checkClaim(holding: Holding, requested: number, now: Instant): void {
  if (requested === 0) return;
  const { resourceSlug: slug, claimed } = holding;
  const capacity = claimableCapacity(holding, now);
  if (!holding.resourceActive) throw new Problem('resourceInactive', { slug });
  const available = capacity - claimed;
  if (requested > available) throw new Problem('capacityExhausted', { slug, requested, available, capacity, claimed });
  if (requested > maxClaimsPerRequest) throw new Problem('tooManyClaims', { requested, limit: maxClaimsPerRequest });
  if (claimed + requested > maxClaimsHeld) throw new Problem('claimsFull', { slug, claimed, limit: maxClaimsHeld });
}

/** Refuses to release more unnamed claims than there are, or than the request limit. */
export function checkRelease(holding: Holding, requested: number): void {
  const { resourceSlug: slug, anonymous: available } = holding;
  if (requested > available) throw new Problem('tooFewClaims', { slug, requested, available });
  if (requested > maxClaimsPerRequest) throw new Problem('tooManyClaims', { requested, limit: maxClaimsPerRequest });
}

/**
 * The claimable capacity. A plan change whose date has come, but that is not yet paid or applied, already limits it.
 */
export function claimableCapacity(
  { capacity, plannedCapacity, plannedAt }: Pick<Holding, 'capacity' | 'plannedCapacity' | 'plannedAt'>,
  now: Instant,
): number {
  const isImminent = plannedCapacity !== null && plannedAt !== null && plannedAt <= now;
  return isImminent ? Math.min(capacity, plannedCapacity) : capacity;
}

/** The reason for the automatic end of a claim. */
const TemporaryReason = z.enum(['scheduled_cancellation', 'scheduled_adjustment']);

/** The temporary claims of a response. */
export const TemporaryClaims = z
  .object({
    claimIds: z.array(ResourceClaimId),
    expiredAt: Timestamp.meta({ description: 'The end of these claims.' }),
    reason: TemporaryReason.meta({ description: 'The change that leaves no room for these claims.' }),
  })
  .meta({ id: 'TemporaryResourceClaims' });
export type TemporaryClaims = z.infer<typeof TemporaryClaims>;

/** The number of permanent ones among new claims, and the end of the others. */
interface ClaimTerm {
  readonly lasting: number;
  readonly end: { readonly at: Instant; readonly reason: TemporaryClaims['reason'] } | null;
}

/**
 * Decides the term of `requested` new claims. If the cancellation is scheduled, they end with the subscription; older
 * claims do so anyway (worked example C2). If a reduction of capacity is scheduled, as many as fit afterwards are
 * permanent and the others end with it. Example C1: capacity 10, and 3 from July; 2 are claimed and 4 requested: 1 is
 * permanent, 3 end. An increase has room for all (C3).
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

/** The temporary claims of a response with their end and reason; null if there are none. */
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

/** The number of claims of a resource that a subscription holds. */
export interface ClaimCount {
  readonly resourceId: string;
  readonly resourceSlug: string;
  readonly claimed: number;
}

/** Refuses a change that leaves less capacity than is claimed; resources missing in `capacities` count as 0. */
export function checkCapacities(capacities: Readonly<Record<string, number>>, counts: readonly ClaimCount[]): void {
  for (const { resourceId, resourceSlug: slug, claimed } of counts) {
    const capacity = capacities[resourceId] ?? 0;
    if (claimed > capacity) {
      throw new Problem('capacityBelowClaims', { slug, capacity, claimed, excess: claimed - capacity });
    }
  }
}
