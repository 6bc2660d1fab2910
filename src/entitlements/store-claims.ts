import { type RawBuilder, sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { maxSafeInteger } from '../kernel/json.ts';
import { isAscending, type PageRequest } from '../kernel/pagination.ts';
import type { SubscriptionStatus } from '../subscriptions/subscription.ts';
import type { ClaimCount, Holding, ReleaseReason, StoredClaim } from './resource-claim.ts';
import { givesAccess } from './store-item-features.ts';

/** The subscription of the claims, and the pricing model of its resources. */
export interface Holder {
  readonly id: string;
  readonly pricingModelId: string;
  readonly status: SubscriptionStatus;
}

const claimColumns = sql`c.id, c.created_at, c.updated_at, c.pricing_model_id, c.subscription_id, c.resource_id,
  c.external_id, c.claimed_at, c.released_at, c.release_reason, c.expired_at, c.metadata`;

/** The unreleased claims of a subscription, in the terms of the partial index. */
function unreleased(work: Work, subscriptionId: string | RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`c.environment_id = ${work.environmentId} and c.subscription_id = ${subscriptionId}
    and c.released_at is null`;
}

/** True for an unexpired claim `c`, which is active if it is also unreleased. */
export function notExpired(at: Instant): RawBuilder<boolean> {
  return sql<boolean>`(c.expired_at is null or c.expired_at > ${at})`;
}

/** The total capacity of features `s` for one resource, counting those for which `count` is true. */
export function capacityOf(count: RawBuilder<boolean>): RawBuilder<number> {
  return sql<number>`least(greatest(coalesce(sum(s.amount) filter (where ${count}), 0), 0), ${maxSafeInteger})::bigint`;
}

interface HoldingOf extends Holding {
  readonly subscriptionId: string;
}

const holderId = sql.ref<string>('holder.id');

/**
 * The state of subscriptions for the resources of their pricing models that `which` selects; `r` is the resource and
 * `granted.features` counts its features, expired ones included.
 */
async function readHoldings(work: Work, holders: readonly Holder[], which: RawBuilder<unknown>): Promise<HoldingOf[]> {
  const ids = holders.map(({ id }) => id);
  const modelIds = holders.map(({ pricingModelId }) => pricingModelId);
  const result = await sql<HoldingOf>`
    select holder.id as subscription_id, r.id as resource_id, r.slug as resource_slug, r.active as resource_active, granted.capacity,
           granted.subscription_item_feature_id, held.claimed, held.anonymous, held.lasting, held.expired,
           planned.at as planned_at, planned.capacity as planned_capacity
      from unnest(${ids}::text[], ${modelIds}::text[]) as holder (id, pricing_model_id)
      join resources r on r.environment_id = ${work.environmentId} and r.pricing_model_id = holder.pricing_model_id
      cross join lateral (
        select ${capacityOf(givesAccess(work.now))} as capacity,
               min(s.id) filter (where ${givesAccess(work.now)}) as subscription_item_feature_id,
               count(*) as features
          from subscription_item_features s
          join subscription_items i on i.environment_id = s.environment_id and i.id = s.subscription_item_id
         where s.environment_id = ${work.environmentId} and s.subscription_id = ${holderId} and s.resource_id = r.id
      ) as granted
      cross join lateral (
        select count(*) filter (where ${notExpired(work.now)}) as claimed,
               count(*) filter (where ${notExpired(work.now)} and c.external_id is null) as anonymous,
               count(*) filter (where c.expired_at is null) as lasting,
               count(*) filter (where not ${notExpired(work.now)}) as expired
          from resource_claims c
         where ${unreleased(work, holderId)} and c.resource_id = r.id
      ) as held
      left join lateral (
        select a.effective_at as at, coalesce((a.capacities ->> r.id)::bigint, 0) as capacity
          from subscription_adjustments a
         where a.environment_id = ${work.environmentId} and a.subscription_id = ${holderId}
           and a.status in ('awaiting_payment', 'scheduled')
      ) as planned on true
     where ${which}`.execute(work.db);
  // A paused subscription has no capacity. Its claims stay and are covered again on resume.
  const paused = new Set(holders.flatMap(({ id, status }) => (status === 'paused' ? id : [])));
  return result.rows.map((holding) =>
    paused.has(holding.subscriptionId) ? { ...holding, capacity: 0, subscriptionItemFeatureId: null } : holding,
  );
}

/**
 * By slug: the active resource, else the newest inactive one, because the slug of an inactive resource can be reused.
 */
export async function findHoldingBySlug(work: Work, holder: Holder, slug: string): Promise<HoldingOf | null> {
  // Chosen first: claims are counted for this one only, however many inactive ones there were.
  const chosen = sql`(
    select named.id from resources named
     where named.environment_id = ${work.environmentId} and named.pricing_model_id = ${holder.pricingModelId}
       and named.slug = ${slug} order by named.active desc, named.id desc limit 1)`;
  const [holding] = await readHoldings(work, [holder], sql`r.id = ${chosen}`);
  return holding ?? null;
}

export async function findHoldingById(work: Work, holder: Holder, resourceId: string): Promise<HoldingOf | null> {
  const [holding] = await readHoldings(work, [holder], sql`r.id = ${resourceId}`);
  return holding ?? null;
}

/** For each resource of the features of these subscriptions, expired ones included. */
export function listHoldings(work: Work, holders: readonly Holder[]): Promise<HoldingOf[]> {
  return readHoldings(work, holders, sql`granted.features > 0 order by r.id`);
}

/** A page of the active claims of a subscription, of one resource or (null) of any, plus one when there are more. */
export async function pageOfActiveClaims(
  work: Work,
  subscriptionId: string,
  resourceId: string | null,
  request: PageRequest,
): Promise<StoredClaim[]> {
  const upwards = isAscending(request);
  const ofResource = resourceId === null ? sql`` : sql`and c.resource_id = ${resourceId}`;
  const beyond = request.after === null ? sql`` : sql`and c.id ${upwards ? sql`>` : sql`<`} ${request.after}`;
  const result = await sql<StoredClaim>`
    select ${claimColumns} from resource_claims c
     where ${unreleased(work, subscriptionId)} and ${notExpired(work.now)} ${ofResource} ${beyond}
     order by c.id ${upwards ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  return result.rows;
}

/** The oldest active claims of each of these resources, at most `limit` of each. */
export async function listOldestClaims(
  work: Work,
  of: readonly Pick<HoldingOf, 'subscriptionId' | 'resourceId'>[],
  limit: number,
): Promise<StoredClaim[]> {
  const ids = of.map(({ subscriptionId }) => subscriptionId);
  const resourceIds = of.map(({ resourceId }) => resourceId);
  const result = await sql<StoredClaim>`
    select oldest.* from unnest(${ids}::text[], ${resourceIds}::text[]) as holder (id, resource_id)
     cross join lateral (
       select ${claimColumns} from resource_claims c
        where ${unreleased(work, holderId)} and ${notExpired(work.now)} and c.resource_id = holder.resource_id
        order by c.id limit ${limit}) oldest`.execute(work.db);
  return result.rows;
}

/** The number of active claims by resource, for resources with any. */
export async function countClaims(work: Work, subscriptionId: string): Promise<ClaimCount[]> {
  const result = await sql<ClaimCount>`
    select c.resource_id, r.slug as resource_slug, count(*) as claimed
      from resource_claims c
      join resources r on r.environment_id = c.environment_id and r.id = c.resource_id
     where ${unreleased(work, subscriptionId)} and ${notExpired(work.now)}
     group by c.resource_id, r.slug order by r.slug`.execute(work.db);
  return result.rows;
}

/** The active claims of a resource with these names. */
export async function findNamedClaims(
  work: Work,
  subscriptionId: string,
  resourceId: string,
  externalIds: readonly string[],
): Promise<StoredClaim[]> {
  const result = await sql<StoredClaim>`
    select ${claimColumns} from resource_claims c
     where ${unreleased(work, subscriptionId)} and ${notExpired(work.now)}
       and c.resource_id = ${resourceId} and c.external_id = any(${externalIds})`.execute(work.db);
  return result.rows;
}

/** The shared values of new claims. */
interface ClaimTerms {
  readonly resourceId: string;
  readonly metadata: StoredClaim['metadata'];
}

/** A claim to insert. */
interface NewClaim {
  /** Its name; null: it has none. */
  readonly externalId: string | null;
  /** Its automatic end; null: none. */
  readonly expiredAt: Instant | null;
}

/** Inserts claims in one statement and returns them in the given order. */
export async function insertClaims(
  work: Work,
  holder: Holder,
  terms: ClaimTerms,
  given: readonly NewClaim[],
): Promise<StoredClaim[]> {
  const claims = given.map(({ externalId, expiredAt }) => ({
    id: newId('resourceClaim', holder.id),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: holder.pricingModelId,
    subscriptionId: holder.id,
    resourceId: terms.resourceId,
    externalId,
    claimedAt: work.now,
    releasedAt: null,
    releaseReason: null,
    expiredAt,
    metadata: terms.metadata,
  }));
  const metadata = terms.metadata === null ? null : JSON.stringify(terms.metadata);
  await sql`
    insert into resource_claims (environment_id, id, pricing_model_id, subscription_id, resource_id, external_id,
      claimed_at, expired_at, metadata, created_at, updated_at)
    select ${work.environmentId}::bigint, given.id, ${holder.pricingModelId}, ${holder.id}, ${terms.resourceId},
           given.external_id, ${work.now}::bigint, given.expired_at, ${metadata}::jsonb, ${work.now}::bigint,
           ${work.now}::bigint
      from one_row, unnest(
             ${claims.map(({ id }) => id)}::text[], ${claims.map(({ externalId }) => externalId)}::text[],
             ${claims.map(({ expiredAt }) => expiredAt)}::bigint[]) as given (id, external_id, expired_at)`.execute(
    work.db,
  );
  return claims;
}

async function release(
  work: Work,
  at: Instant | RawBuilder<Instant>,
  reason: ReleaseReason,
  which: RawBuilder<unknown>,
): Promise<StoredClaim[]> {
  const result = await sql<StoredClaim>`
    with ended as (
      update resource_claims c set released_at = ${at}, release_reason = ${reason}, updated_at = ${work.now}
       where ${which} returning ${claimColumns}
    )
    select * from ended order by claimed_at, id`.execute(work.db);
  return result.rows;
}

/** Releases at most `count` of the oldest active unnamed claims. Returns them, oldest first. */
export async function releaseAnonymousClaims(
  work: Work,
  subscriptionId: string,
  resourceId: string,
  count: number,
): Promise<StoredClaim[]> {
  const oldest = sql`
    select c.id from resource_claims c
     where ${unreleased(work, subscriptionId)} and ${notExpired(work.now)}
       and c.resource_id = ${resourceId} and c.external_id is null
     order by c.claimed_at, c.id limit ${count}`;
  return release(work, work.now, 'released', sql`c.environment_id = ${work.environmentId} and c.id in (${oldest})`);
}

/** Releases the active claims with these names or ids; missing ones are ignored. Returns them, oldest first. */
export async function releaseChosenClaims(
  work: Work,
  subscriptionId: string,
  resourceId: string,
  by: 'externalId' | 'id',
  values: readonly string[],
): Promise<StoredClaim[]> {
  const chosen = sql`${unreleased(work, subscriptionId)} and ${notExpired(work.now)} and c.resource_id = ${resourceId}
    and ${sql.ref(`c.${by}`)} = any(${values})`;
  return release(work, work.now, 'released', chosen);
}

/** Releases expired claims as of their expiry, which frees their names. */
export async function releaseEndedClaims(work: Work, subscriptionId: string, resourceId: string): Promise<void> {
  const expired = sql`${unreleased(work, subscriptionId)} and c.resource_id = ${resourceId}
    and not ${notExpired(work.now)}`;
  await release(work, sql<Instant>`c.expired_at`, 'expired', expired);
}

/** Releases the claims of each subscription that have expired by its instant, as of their expiry. */
export async function releaseClaimsEndedBy(
  work: Work,
  requested: readonly { readonly subscriptionId: string; readonly at: Instant }[],
): Promise<void> {
  await sql`
    update resource_claims c set released_at = c.expired_at, release_reason = 'expired', updated_at = ${instantOfColumn(work, 'c.subscription_id')}
      from unnest(${requested.map((each) => each.subscriptionId)}::text[], ${requested.map((each) => each.at)}::bigint[])
             as asked (subscription_id, at)
     where c.environment_id = ${work.environmentId} and c.subscription_id = asked.subscription_id
       and c.released_at is null and c.expired_at <= asked.at`.execute(work.db);
}

/**
 * Releases every claim of these subscriptions at the instant. A claim created later, before an overdue end was
 * processed, is released at its creation time.
 */
export async function releaseAllClaims(
  work: Work,
  subscriptionIds: readonly string[],
  at: Instant,
  reason: ReleaseReason,
): Promise<void> {
  await sql`
    update resource_claims
       set released_at = greatest(${at}, claimed_at), release_reason = ${reason}, updated_at = ${work.now}
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds})
       and released_at is null`.execute(work.db);
}

/** Moves the end of a subscription's temporary claims from one instant to another. */
export async function moveTemporaryClaims(
  work: Work,
  subscriptionId: string,
  { from, to }: { from: Instant; to: Instant },
): Promise<void> {
  await work.db
    .updateTable('resourceClaims')
    .set({ expiredAt: to, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscriptionId)
    .where('releasedAt', 'is', null)
    .where('expiredAt', '=', from)
    .execute();
}

/** Makes the unexpired temporary claims of a subscription permanent. */
export async function keepTemporaryClaims(work: Work, subscriptionId: string): Promise<void> {
  await work.db
    .updateTable('resourceClaims')
    .set({ expiredAt: null, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscriptionId)
    .where('releasedAt', 'is', null)
    .where('expiredAt', '>', work.now)
    .execute();
}
