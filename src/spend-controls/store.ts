import { sql } from 'kysely';
import { idArray, idColumn, textArray } from '../database/array-literal.ts';
import { insertRecords } from '../database/json-records.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { LimitTerms } from '../pricing/feature.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { CountedPeriod, SpendLimitRow, StoredSpendLimit } from './spend-limit.ts';

/** The limits `l` that count at an instant, with the amount and terms of the features of plans. */
function presentLimits(at: Instant) {
  return sql`spend_limits l
      left join lateral spend_limit_of_plan(row(l.*)::spend_limits, ${at}::bigint) p on l.set_by = 'plan'
      cross join lateral (
        select coalesce(l.amount, p.amount) as amount, coalesce(l.action, p.action) as action,
               coalesce(to_jsonb(l.thresholds), p.thresholds) as thresholds) n`;
}

/** The limits of these customers that count now, in order of creation. */
export async function listLimits(work: Work, customerIds: readonly string[]): Promise<SpendLimitRow[]> {
  const { rows } = await sql<SpendLimitRow>`
    select l.id, l.created_at, l.updated_at, l.pricing_model_id, l.customer_id, l.set_by, l.subscription_id, l.usage_meter_id, l.label,
           l.period, l.unit, n.amount, n.action, n.thresholds
      from ${presentLimits(work.now)}
     where l.environment_id = ${work.environmentId} and l.customer_id = any(${textArray(customerIds)}::text[])
       and n.amount is not null
     order by l.id`.execute(work.db);
  return rows;
}

// As much as no use reaches, also in smallest units of a pool.
const noAmount = 10n ** 37n;

/**
 * The limits of subscription `s` and of its customer, as JSON; null: there are none. One of a plan that does not hold now
 * goes on counting: it has its use when it holds again.
 */
export function limitsOfSubscription(now: Instant) {
  return sql<readonly StoredSpendLimit[] | null>`
    case when s.has_spend_limits then (
      select jsonb_agg(jsonb_build_object('id', l.id, 'customerId', l.customer_id, 'setBy', l.set_by,
               'subscriptionId', l.subscription_id, 'usageMeterId', l.usage_meter_id, 'label', l.label, 'period', l.period,
               'unit', l.unit, 'amount', coalesce(n.amount, ${sql.lit(noAmount)})::text,
               'poolSlug', (select p.slug from credit_pools p where p.environment_id = l.environment_id and p.id = l.usage_meter_id),
               'action', coalesce(n.action, 'notify'), 'thresholds', coalesce(n.thresholds, '[]')) order by l.id)
        from ${presentLimits(now)}
       where l.environment_id = s.environment_id and l.customer_id = s.customer_id
         and coalesce(l.subscription_id, s.id) = s.id) end`;
}

/** A limit that a feature gives a subscription. */
interface PlanLimit extends Pick<LimitTerms, 'usageMeterId' | 'period' | 'unit'> {
  readonly subscriptionId: string;
}

/** Opens the limits of these plans that are not there yet. The caller has locked the subscriptions. */
export async function openPlanLimits(work: Work, limits: readonly PlanLimit[]): Promise<void> {
  if (limits.length === 0) return;
  const { rows } = await sql<{ id: string }>`
    insert into spend_limits (environment_id, id, pricing_model_id, customer_id, set_by, subscription_id, usage_meter_id, period, unit,
                              booked_before, created_at, updated_at)
    select s.environment_id, given.id, s.pricing_model_id, s.customer_id, 'plan', s.id, given.usage_meter_id, given.period, given.unit,
           ${notYet}, ${work.now}, ${work.now}
      from unnest(${limits.map(({ subscriptionId }) => newId('spendLimit', subscriptionId))}::text[], ${limits.map((limit) => limit.subscriptionId)}::text[],
                  ${limits.map((limit) => limit.usageMeterId)}::text[], ${limits.map((limit) => limit.period)}::text[],
                  ${limits.map((limit) => limit.unit)}::text[]) as given (id, subscription_id, usage_meter_id, period, unit)
      join subscriptions s on s.environment_id = ${work.environmentId} and s.id = given.subscription_id
    on conflict on constraint spend_limits_once do nothing
    returning id`.execute(work.db);
  await countFromNow(
    work,
    rows.map(({ id }) => id),
  );
}

// The number of a limit until countFromNow(), in the same transaction.
const notYet = 0;

/**
 * Lets new limits count what is booked from now on. Their insert waited for pending usage of the accounts, and later usage looks for
 * limits. A booking number that was taken before it could be lower than that of usage which saw no limit.
 */
async function countFromNow(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const { rows } = await sql<{ booking: number }>`select nextval('usage_bookings') as booking`.execute(work.db);
  await sql`
    update spend_limits set booked_before = ${rows[0]?.booking}
     where environment_id = ${work.environmentId} and id = any(${textArray(ids)}::text[])`.execute(work.db);
}

/** Inserts limits, which count what is booked from now on: the caller has locked the subscriptions of the customer. */
export async function insertLimits(work: Work, limits: readonly SpendLimitRow[]): Promise<void> {
  if (limits.length === 0) return;
  await insertRecords(
    work,
    'spendLimits',
    [
      'id',
      'createdAt',
      'updatedAt',
      'pricingModelId',
      'customerId',
      'setBy',
      'subscriptionId',
      'usageMeterId',
      'label',
      'period',
      'unit',
      'amount',
      'action',
      'thresholds',
      'bookedBefore',
    ],
    limits.map((limit) => ({ ...limit, amount: String(limit.amount), bookedBefore: notYet })),
  );
  await countFromNow(
    work,
    limits.map(({ id }) => id),
  );
}

/** Saves the fields that change while a limit goes on counting. */
export async function saveLimits(work: Work, limits: readonly SpendLimitRow[]): Promise<void> {
  if (limits.length === 0) return;
  const rows = limits.map(({ id, amount, action, thresholds }) => ({ id, amount: String(amount), action, thresholds }));
  await sql`
    update spend_limits l set amount = given.amount, action = given.action, thresholds = given.thresholds, updated_at = ${work.now}
      from json_populate_recordset(null::spend_limits, ${JSON.stringify(rows)}::json) as given
     where l.environment_id = ${work.environmentId} and l.id = given.id`.execute(work.db);
}

/** Deletes limits and their counters. */
export async function deleteLimits(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`delete from spend_limits where environment_id = ${work.environmentId} and id = any(${textArray(ids)}::text[])`.execute(
    work.db,
  );
}

/** The use at one price as it is stored: decimal texts of units, events and own prices. */
type StoredQuantities = readonly [units: string, events: string, ownAmount: string];

/** The use of a limit in one period. */
export interface CounterRow {
  readonly spendLimitId: string;
  readonly periodKey: string;
  readonly units: bigint;
  readonly used: bigint;
  readonly byPrice: Readonly<Record<string, StoredQuantities>>;
  /** The amount of the limit whose reached thresholds are published. */
  readonly publishedAmount: bigint;
}

/** A counter that a use needs. */
interface WantedCounter {
  readonly spendLimitId: string;
  readonly period: CountedPeriod;
}

/** Opens missing counters and locks all of them, always in the same order. They stay locked until the work ends. */
export async function lockCounters(work: Work, wanted: readonly WantedCounter[]): Promise<CounterRow[]> {
  // An update that changes nothing locks a row that is there: one statement instead of three.
  const { rows } = await sql<CounterRow>`
    insert into spend_counters (environment_id, pricing_model_id, spend_limit_id, period_key, period_start, period_end)
    select l.environment_id, l.pricing_model_id, w.id, w.key, w.starts, w.ends
      from unnest(${idColumn(wanted, ({ spendLimitId }) => spendLimitId)}::text[],
                  ${idColumn(wanted, ({ period }) => period.key)}::text[],
                  ${idColumn(wanted, ({ period }) => period.start)}::bigint[],
                  ${idColumn(wanted, ({ period }) => period.end)}::bigint[]) as w (id, key, starts, ends)
      join spend_limits l on l.environment_id = ${work.environmentId} and l.id = w.id
     order by w.id collate "C", w.key collate "C"
    on conflict (environment_id, spend_limit_id, period_key) do update set period_end = excluded.period_end
    returning spend_limit_id, period_key, units, used, by_price, published_amount`.execute(work.db);
  return rows;
}

/** The state of a counter after uses. */
interface CountedUse extends CounterRow {
  /** Set where a use had to fit into the limit: what was used after it, and the limit. */
  readonly checked: { readonly used: bigint; readonly limit: bigint } | null;
}

/** Saves counters that are locked. */
export async function saveCounters(work: Work, counters: readonly CountedUse[]): Promise<void> {
  if (counters.length === 0) return;
  await sql`
    update spend_counters c
       set units = n.units, used = n.used, by_price = n.by_price, published_amount = n.published_amount,
           checked_used = coalesce(n.checked_used, c.checked_used), checked_limit = coalesce(n.checked_limit, c.checked_limit)
      from unnest(${idColumn(counters, ({ spendLimitId }) => spendLimitId)}::text[],
                  ${idColumn(counters, ({ periodKey }) => periodKey)}::text[],
                  ${idColumn(counters, ({ units }) => units)}::numeric[],
                  ${idColumn(counters, ({ used }) => used)}::numeric[],
                  ${idColumn(counters, ({ publishedAmount }) => publishedAmount)}::numeric[],
                  ${counters.map(({ byPrice }) => JSON.stringify(byPrice))}::jsonb[],
                  ${idColumn(counters, ({ checked }) => checked?.used ?? null)}::numeric[],
                  ${idColumn(counters, ({ checked }) => checked?.limit ?? null)}::numeric[])
             as n (id, key, units, used, published_amount, by_price, checked_used, checked_limit)
     where c.environment_id = ${work.environmentId} and c.spend_limit_id = n.id and c.period_key = n.key`.execute(
    work.db,
  );
}

/** A counter whose period has not ended. */
interface PresentCounter {
  readonly spendLimitId: string;
  readonly periodKey: string;
  readonly subscriptionId: string | null;
  readonly periodStart: Instant | null;
  readonly periodEnd: Instant | null;
  readonly used: bigint;
}

/** The counters of limits in the periods that have not ended, the latest first: at most `atMost` for each limit. */
export async function listPresentCounters(
  work: Work,
  limitIds: readonly string[],
  atMost: number,
): Promise<PresentCounter[]> {
  if (limitIds.length === 0) return [];
  const { rows } = await sql<PresentCounter>`
    select found.* from unnest(${textArray(limitIds)}::text[]) as asked (id)
     cross join lateral (
       select c.spend_limit_id, c.period_key, coalesce(b.subscription_id, s.id) as subscription_id, c.period_start, c.period_end, c.used
         from spend_counters c
         left join billing_periods b on b.environment_id = c.environment_id and b.id = c.period_key
         left join subscriptions s on s.environment_id = c.environment_id and s.id = c.period_key
        where c.environment_id = ${work.environmentId} and c.spend_limit_id = asked.id
          and coalesce(b.end_at, c.period_end, ${work.now + 1}::bigint) > ${work.now}::bigint
          and coalesce(c.period_start, ${work.now}::bigint) <= ${work.now}::bigint
        order by c.period_key desc limit ${atMost}) found`.execute(work.db);
  return rows;
}

/** The amounts of a price. */
interface PriceAmounts {
  readonly id: string;
  readonly unitPrice: bigint;
  readonly usageEventsPerUnit: number;
  readonly pricing: Pricing | null;
}

export async function listPriceAmounts(work: Work, ids: readonly string[]): Promise<PriceAmounts[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<PriceAmounts>`
    select id, unit_price, coalesce(usage_events_per_unit, 1) as usage_events_per_unit, pricing from prices
     where environment_id = ${work.environmentId} and id = any(${idArray(ids)}::text[])`.execute(work.db);
  return rows;
}
