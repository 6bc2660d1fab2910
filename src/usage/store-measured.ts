import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Instant, Interval } from '../kernel/calendar.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { UsageMeter } from '../pricing/usage-meter.ts';
import type {
  Around,
  Measure,
  MeasuredCharge,
  MeasuredEvent,
  MeasuredSoFar,
  Proration,
} from '../rating/measured-usage.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import type { InterimSchedule } from '../subscriptions/interim.ts';
import type { OverrideSpan } from '../subscriptions/price-override.ts';
import { holdsItsStart } from '../subscriptions/store-billing-periods.ts';
import { overrideHistory, type StoredSpans, withAmounts } from '../subscriptions/store-price-overrides.ts';
import { isOwn } from './store-overages.ts';

/** A usage price. */
export interface Rated {
  readonly priceId: string;
  readonly unitPrice: bigint;
  readonly usageEventsPerUnit: number;
  readonly pricing: Pricing | null;
  /** Own terms that the customer has had for it. */
  readonly overrides: readonly OverrideSpan[];
}

/** An account of a measured meter, its running totals, and the price of the plan for it. */
export interface MeasuredAccount extends Omit<Rated, 'priceId'> {
  readonly subscriptionId: string;
  readonly ledgerAccountId: string;
  readonly meterName: string;
  readonly measure: Measure;
  readonly isBilled: boolean;
  /** Null: the meter has no price for it. */
  readonly priceId: string | null;
  /** The interval of the price, if its usage is billed by that; null: it follows the subscription. */
  readonly own: Interval | null;
  /** Null: it had no event. */
  readonly soFar: MeasuredSoFar | null;
  readonly schedule: InterimSchedule;
  /** The present billing period. */
  readonly current: Pick<BillingPeriodRow, 'startAt' | 'endAt' | 'wholeStartAt'>;
}

interface MeasuredRow
  extends Omit<MeasuredAccount, 'measure' | 'own' | 'soFar' | 'schedule' | 'current' | 'overrides'>,
    InterimSchedule {
  readonly aggregationType: UsageMeter['aggregationType'];
  readonly proration: Proration;
  readonly overrides: StoredSpans;
  readonly ownUnit: Interval['unit'] | null;
  readonly ownCount: number;
  readonly startAt: Instant;
  readonly endAt: Instant;
  readonly wholeStartAt: Instant | null;
  readonly measuredFrom: Instant | null;
  readonly openingValue: bigint;
  readonly value: bigint;
  readonly valueAt: Instant;
  readonly eventDate: Instant | null;
  readonly eventId: string | null;
  readonly valueTime: bigint;
  readonly daysFrom: Instant | null;
}

/** A subscription, and the start of its billing period and its plan where the caller knows others than the stored ones. */
interface MeasuredQuery {
  readonly subscriptionId: string;
  readonly periodStart?: Instant;
  readonly planPriceId?: string | null;
}

/**
 * The accounts of measured meters of these subscriptions. A period that is billed in part keeps its price. PostgreSQL
 * plans each step by itself, which takes less time than all joins at once.
 */
export async function listMeasured(work: Work, asked: readonly MeasuredQuery[]): Promise<MeasuredAccount[]> {
  if (asked.length === 0) return [];
  const { environmentId } = work;
  const { rows } = await sql<MeasuredRow>`
    with account as materialized (
      select a.subscription_id, a.id, a.usage_meter_id, m.name as meter_name, m.aggregation_type, m.proration, asked.period_start,
             asked.plan_price_id
        from unnest(
               ${asked.map(({ subscriptionId }) => subscriptionId)}::text[],
               ${asked.map(({ periodStart }) => periodStart ?? null)}::bigint[],
               ${asked.map(({ planPriceId }) => planPriceId ?? null)}::text[]
             ) as asked (subscription_id, period_start, plan_price_id)
        join ledger_accounts a on a.environment_id = ${environmentId} and a.subscription_id = asked.subscription_id
        join usage_meters m on m.environment_id = ${environmentId} and m.id = a.usage_meter_id and m.is_measured
    ), subscribed as materialized (
      select account.*, coalesce(account.plan_price_id, s.price_id) as plan_id, s.start_date, s.trial_end, s.billing_anchor,
             s.first_period, s.billing_cycle_anchor_date, s.interval_unit, s.interval_count, s.current_billing_period_start,
             s.current_billing_period_end, s.interim_at
        from account
        join subscriptions s on s.environment_id = ${environmentId} and s.id = account.subscription_id
    ), planned as materialized (
      select subscribed.*, coalesce(plan.overage = 'bill', false) as is_billed, plan.product_id
        from subscribed join prices plan on plan.environment_id = ${environmentId} and plan.id = subscribed.plan_id
    ), begun as materialized (
      select planned.*, b.start_at, b.end_at, b.whole_start_at, t.period_start as measured_from, t.opening_value, t.value,
             t.value_at, t.event_date, t.event_id, t.value_time, t.days_from
        from planned
        join billing_periods b on b.environment_id = ${environmentId} and b.subscription_id = planned.subscription_id
         and b.start_at = coalesce(planned.period_start, planned.current_billing_period_start) and ${holdsItsStart('b')}
        left join usage_measures t on t.environment_id = ${environmentId} and t.ledger_account_id = planned.id
    ), rated as materialized (
      select begun.*, coalesce(
               (select c.price_id from usage_charges c
                 where c.environment_id = ${environmentId} and c.ledger_account_id = begun.id
                   and c.period_start = begun.measured_from limit 1),
               (select product.usage_prices ->> begun.usage_meter_id from products product
                 where product.environment_id = ${environmentId} and product.id = begun.product_id),
               (select usual.id from prices usual
                 where usual.environment_id = ${environmentId} and usual.usage_meter_id = begun.usage_meter_id
                   and usual.is_default)) as price_id
        from begun
    ), priced as (
      select rated.*, p.unit_price, p.usage_events_per_unit, p.pricing, p.has_own_interval, p.interval_unit as price_unit,
             p.interval_count as price_count,
             ${overrideHistory(work, sql.ref('rated.subscription_id'), sql.ref('rated.price_id'))} as overrides
        from rated
        left join prices p on p.environment_id = ${environmentId} and p.id = rated.price_id
    )
    select priced.*, id as ledger_account_id, case when ${isOwn} then price_unit end as own_unit, price_count as own_count
      from priced order by usage_meter_id`.execute(work.db);
  return rows.map(toAccount);
}

function toAccount(row: MeasuredRow): MeasuredAccount {
  const { subscriptionId, ledgerAccountId, meterName, isBilled, priceId, unitPrice, usageEventsPerUnit, pricing } = row;
  const { startAt, endAt, wholeStartAt, ownUnit, ownCount, overrides, ...schedule } = row;
  return {
    ...{ subscriptionId, ledgerAccountId, meterName, isBilled, priceId, unitPrice, usageEventsPerUnit, pricing },
    overrides: withAmounts<OverrideSpan>(overrides),
    measure: measureOf(row),
    own: ownUnit === null ? null : { unit: ownUnit, count: ownCount },
    soFar: soFarOf(row),
    schedule,
    current: { startAt, endAt, wholeStartAt },
  };
}

function measureOf({ aggregationType, proration }: Pick<MeasuredRow, 'aggregationType' | 'proration'>): Measure {
  if (aggregationType === 'max' || aggregationType === 'latest' || aggregationType === 'unit_hours')
    return { kind: aggregationType };
  return { kind: 'standing', proration };
}

function soFarOf(row: MeasuredRow): MeasuredSoFar | null {
  const { measuredFrom, openingValue, value, valueAt, eventDate, eventId, valueTime, daysFrom } = row;
  if (measuredFrom === null) return null;
  const latest = eventDate === null || eventId === null ? null : { date: eventDate, id: eventId };
  return { periodStart: measuredFrom, opening: openingValue, value, at: valueAt, latest, valueTime, daysFrom };
}

/** The running totals of a locked account. */
interface AccountMeasure extends MeasuredSoFar {
  readonly ledgerAccountId: string;
}

/** Writes the running totals of locked accounts, each once. */
export async function saveMeasures(work: Work, measures: readonly AccountMeasure[]): Promise<void> {
  if (measures.length === 0) return;
  await sql`
    insert into usage_measures (environment_id, ledger_account_id, period_start, booked_before, opening_value, value, value_at,
           event_date, event_id, value_time, days_from)
    select ${work.environmentId}, given.id, given.period_start, 0, given.opening, given.value, given.at, given.event_date,
           given.event_id, given.value_time, given.days_from
      from one_row, unnest(
             ${measures.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${measures.map(({ periodStart }) => periodStart)}::bigint[],
             ${measures.map(({ opening }) => opening)}::numeric[],
             ${measures.map(({ value }) => value)}::numeric[],
             ${measures.map(({ at }) => at)}::bigint[],
             ${measures.map(({ latest }) => latest?.date ?? null)}::bigint[],
             ${measures.map(({ latest }) => latest?.id ?? null)}::text[],
             ${measures.map(({ valueTime }) => valueTime)}::numeric[],
             ${measures.map(({ daysFrom }) => daysFrom)}::bigint[]
           ) as given (id, period_start, opening, value, at, event_date, event_id, value_time, days_from)
    on conflict (environment_id, ledger_account_id)
    do update set value = excluded.value, value_at = excluded.value_at, event_date = excluded.event_date,
                  event_id = excluded.event_id, value_time = excluded.value_time, days_from = excluded.days_from`.execute(
    work.db,
  );
}

/** A value that an event sets in the open usage period of an account. */
export interface Level extends MeasuredEvent {
  readonly ledgerAccountId: string;
  readonly periodStart: Instant;
}

/** The stored values around ones that are not, by the id of their event. Without one after it an event has no entry. */
export async function listAround(work: Work, levels: readonly Level[]): Promise<ReadonlyMap<string, Around>> {
  if (levels.length === 0) return new Map();
  const { rows } = await sql<{
    id: string;
    beforeDate: Instant | null;
    beforeId: string;
    beforeValue: bigint;
    afterDate: Instant;
  }>`
    select given.id, before.event_date as before_date, before.event_id as before_id, before.value as before_value,
           after.event_date as after_date
      from unnest(
             ${levels.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${levels.map(({ periodStart }) => periodStart)}::bigint[],
             ${levels.map(({ date }) => date)}::bigint[],
             ${levels.map(({ id }) => id)}::text[]
           ) as given (ledger_account_id, period_start, event_date, id)
     cross join lateral (
       select l.event_date from usage_levels l
        where l.environment_id = ${work.environmentId} and l.ledger_account_id = given.ledger_account_id
          and l.period_start = given.period_start and (l.event_date, l.event_id) > (given.event_date, given.id)
        order by l.event_date, l.event_id limit 1) after
      left join lateral (
       select l.event_date, l.event_id, l.value from usage_levels l
        where l.environment_id = ${work.environmentId} and l.ledger_account_id = given.ledger_account_id
          and l.period_start = given.period_start and (l.event_date, l.event_id) < (given.event_date, given.id)
        order by l.event_date desc, l.event_id desc limit 1) before on true`.execute(work.db);
  return new Map(
    rows.map(({ id, beforeDate, beforeId, beforeValue, afterDate }) => {
      const before = beforeDate === null ? null : { date: beforeDate, id: beforeId, amount: beforeValue };
      return [id, { before, after: { date: afterDate } }];
    }),
  );
}

// Values of earlier periods go at least as fast as new ones come, and no statement deletes all of a period.
const deletedForEach = 2;

/** Stores values of locked accounts, and deletes some of earlier usage periods. */
export async function insertLevels(work: Work, levels: readonly Level[]): Promise<void> {
  if (levels.length === 0) return;
  const { environmentId } = work;
  await sql`
    with given as (
      select * from unnest(
               ${levels.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
               ${levels.map(({ periodStart }) => periodStart)}::bigint[],
               ${levels.map(({ date }) => date)}::bigint[],
               ${levels.map(({ id }) => id)}::text[],
               ${levels.map(({ amount }) => amount)}::numeric[]
             ) as given (ledger_account_id, period_start, event_date, event_id, value)
    ), past as (
      select l.ledger_account_id, l.period_start, l.event_date, l.event_id
        from (select ledger_account_id, period_start, count(*) as count from given group by ledger_account_id, period_start) present
       cross join lateral (
         select * from usage_levels l
          where l.environment_id = ${environmentId} and l.ledger_account_id = present.ledger_account_id
            and l.period_start < present.period_start
          order by l.period_start, l.event_date, l.event_id
          limit ${deletedForEach} * present.count) l
    ), deleted as (
      delete from usage_levels l using past
       where l.environment_id = ${environmentId} and l.ledger_account_id = past.ledger_account_id
         and l.period_start = past.period_start and l.event_date = past.event_date and l.event_id = past.event_id
    )
    insert into usage_levels (environment_id, ledger_account_id, period_start, event_date, event_id, value)
    select ${environmentId}, given.* from one_row, given`.execute(work.db);
}

/** A usage period of a locked account that ends at an instant. */
interface EndedMeasure {
  readonly ledgerAccountId: string;
  readonly at: Instant;
}

/**
 * Ends the open usage periods of locked accounts. The next ones begin there, with the value that is held. The
 * subscriptions are locked, so no booking is in flight: each later one has a higher number. Values of a period that ends
 * at its start are deleted, because the next one begins there too.
 */
export async function closeMeasures(work: Work, ended: readonly EndedMeasure[]): Promise<void> {
  if (ended.length === 0) return;
  await sql`
    with empty as (
      delete from usage_levels l
       using unnest(
               ${ended.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
               ${ended.map(({ at }) => at)}::bigint[]
             ) as given (id, at)
       where l.environment_id = ${work.environmentId} and l.ledger_account_id = given.id and l.period_start = given.at)
    update usage_measures t
       set period_start = ended.at, value_at = ended.at, booked_before = ended.booking, event_date = null, event_id = null,
           value_time = 0, days_from = null, opening_value = case when ended.is_held then t.value else 0 end,
           value = case when ended.is_held then t.value else 0 end
      from (select given.id, given.at, nextval('usage_bookings') as booking, m.aggregation_type not in ('max', 'latest') as is_held
              from unnest(
                     ${ended.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
                     ${ended.map(({ at }) => at)}::bigint[]
                   ) as given (id, at)
              join ledger_accounts a on a.environment_id = ${work.environmentId} and a.id = given.id
              join usage_meters m on m.environment_id = ${work.environmentId} and m.id = a.usage_meter_id) ended
     where t.environment_id = ${work.environmentId} and t.ledger_account_id = ended.id`.execute(work.db);
}

/** Locks the accounts of these subscriptions that have measured usage. */
export async function listMeasuredAccounts(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<{ readonly ledgerAccountId: string; readonly subscriptionId: string }[]> {
  const { rows } = await sql<{ ledgerAccountId: string; subscriptionId: string }>`
    select a.id as ledger_account_id, a.subscription_id
      from ledger_accounts a
      join usage_measures t on t.environment_id = ${work.environmentId} and t.ledger_account_id = a.id
     where a.environment_id = ${work.environmentId} and a.subscription_id = any(${subscriptionIds}::text[])
     order by a.subscription_id, a.usage_meter_id for no key update of a`.execute(work.db);
  return rows;
}

/** A measured usage period of an account at a price, as far as invoices bill it. */
interface MeasuredPeriodCharge extends MeasuredCharge, Rated {
  readonly ledgerAccountId: string;
}

/** The charges of these accounts for their open usage periods, and of earlier ones that are reopened. */
export async function listMeasuredCharges(
  work: Work,
  accounts: readonly { readonly ledgerAccountId: string; readonly soFar: MeasuredSoFar }[],
): Promise<MeasuredPeriodCharge[]> {
  if (accounts.length === 0) return [];
  const { rows } = await sql<Omit<MeasuredPeriodCharge, 'overrides'> & { readonly overrides: StoredSpans }>`
    select c.ledger_account_id, c.period_start, c.units, c.per, c.amount, c.waived, c.reopened,
           c.price_id, p.unit_price, p.usage_events_per_unit, p.pricing,
           ${overrideHistory(work, sql.ref('a.subscription_id'), sql.ref('p.id'))} as overrides
      from unnest(
             ${accounts.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${accounts.map(({ soFar }) => soFar.periodStart)}::bigint[]
           ) as asked (ledger_account_id, period_start)
      join usage_charges c on c.environment_id = ${work.environmentId} and c.ledger_account_id = asked.ledger_account_id
       and (c.period_start = asked.period_start or c.reopened)
      join ledger_accounts a on a.environment_id = ${work.environmentId} and a.id = c.ledger_account_id
      join prices p on p.environment_id = ${work.environmentId} and p.id = c.price_id
     order by c.ledger_account_id, c.period_start`.execute(work.db);
  return rows.map((row) => ({ ...row, overrides: withAmounts<OverrideSpan>(row.overrides) }));
}
