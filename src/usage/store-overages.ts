import { type RawBuilder, sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant, Interval } from '../kernel/calendar.ts';
import { type Conditions, conditionsText } from '../rating/conditions.ts';
import type { UsageCharge } from '../rating/usage-parts.ts';
import type { OverrideSpan } from '../subscriptions/price-override.ts';
import { overrideHistory, type StoredSpans, withAmounts } from '../subscriptions/store-price-overrides.ts';
import {
  type BilledUsage,
  type ChargedPeriod,
  moves,
  type Overage,
  type SettledUsage,
  type Side,
  type UsageToBill,
} from './ledger.ts';

interface FoundOverage extends Omit<Overage, 'charges' | 'overrides' | 'periodStart'> {
  readonly priceName: string | null;
  readonly overrides: StoredSpans;
  readonly where: Conditions | null;
  /** The interval of the price, if it is billed by that; null: it follows the subscription. */
  readonly ownUnit: Interval['unit'] | null;
  readonly ownCount: number;
}

type Read = Omit<FoundOverage, 'overrides'> & Pick<Overage, 'overrides' | 'periodStart'>;

const [all, following] = ['all', 'following'];

/** The usage that the bills take, by subscription: one of these texts, or an interval. */
function takenBy(bills: readonly UsageToBill[]) {
  const taken = bills.flatMap(({ subscriptionId, takes }): [string, string][] => {
    if (takes === undefined) return [[subscriptionId, all]];
    const own = takes.intervals.map(({ unit, count }): [string, string] => [subscriptionId, `${count} ${unit}`]);
    return takes.following ? [[subscriptionId, following], ...own] : own;
  });
  return sql`unnest(${taken.map(([id]) => id)}::text[], ${taken.map(([, what]) => what)}::text[]) as taken (subscription_id, what)`;
}

/**
 * The unbilled usage of the accounts `a` that `which` selects, as far as the bills take it. PostgreSQL plans each step by
 * itself: to plan all of its joins at once takes longer than to carry them out.
 */
function overages(
  work: Work,
  which: RawBuilder<boolean>,
  bills: readonly UsageToBill[],
  stored: RawBuilder<unknown> = sql`usage_overages`,
) {
  const { environmentId } = work;
  return sql`
    with used as materialized (
      select a.subscription_id, a.usage_meter_id, o.ledger_account_id, o.price_id, o.uncovered - o.invoiced as units,
             o.events - o.invoiced_events as events, o.own_amount - o.invoiced_own_amount as own_amount
        from ledger_accounts a
        join ${stored} o on o.environment_id = ${environmentId} and o.ledger_account_id = a.id
       where a.environment_id = ${environmentId} and ${which} and (o.uncovered > o.invoiced or o.events > o.invoiced_events)
    ), planned as materialized (
      select s.id as subscription_id, coalesce(plan.overage = 'bill', false) as is_billed
        from subscriptions s
        join prices plan on plan.environment_id = ${environmentId} and plan.id = s.price_id
       where s.environment_id = ${environmentId} and s.id in (select subscription_id from used)
    ), rated as materialized (
      select used.*, planned.is_billed, p.name as price_name, p.where, p.unit_price, p.usage_events_per_unit, p.pricing,
             p.has_own_interval, p.interval_unit, p.interval_count,
             ${overrideHistory(work, sql.ref('used.subscription_id'), sql.ref('used.price_id'))} as overrides
        from used
        join planned on planned.subscription_id = used.subscription_id
        join prices p on p.environment_id = ${environmentId} and p.id = used.price_id
    ), timed as (
      select rated.*, case when ${isOwn} then interval_unit end as own_unit, interval_count as own_count from rated
    )
    select timed.subscription_id, timed.ledger_account_id, timed.usage_meter_id, m.name as meter_name, timed.price_name,
           timed.where, timed.price_id, case when timed.is_billed then timed.unit_price else 0 end as unit_price,
           timed.is_billed, timed.usage_events_per_unit, timed.pricing, timed.units, timed.events, timed.own_amount,
           timed.own_unit, timed.own_count, timed.overrides
      from timed
      join ${takenBy(bills)} on taken.subscription_id = timed.subscription_id
       and taken.what in (${sql.lit(all)}, coalesce(timed.own_count || ' ' || timed.own_unit, ${sql.lit(following)}))
      join usage_meters m on m.environment_id = ${environmentId} and m.id = timed.usage_meter_id`;
}

// Whether usage at a price is billed by the price's own interval. One that costs nothing has no invoices of its own.
export const isOwn = sql<boolean>`has_own_interval and is_billed and (unit_price > 0 or pricing is not null or overrides <> '[]')`;

/** Marks all uncovered usage of locked accounts as invoiced. Returns the newly marked part. */
export function claimOverages(
  work: Work,
  ledgerAccountIds: readonly string[],
  bills: readonly UsageToBill[],
): Promise<Overage[]> {
  return claim(work, ledgerAccountIds, bills, sql`usage_overages`);
}

/**
 * The same for late usage only: events of the present billing period whose date lies before it. If credits cover a
 * part of the usage, late usage is the first that they do not cover. Usage with released units waits for the next
 * bill, which knows its periods. A roll-up of an hour before the period says cheaply whether there is any.
 */
export function claimLateOverages(
  work: Work,
  ledgerAccountIds: readonly string[],
  bills: readonly UsageToBill[],
): Promise<Overage[]> {
  const { environmentId } = work;
  const late = sql`(
    select o.environment_id, o.ledger_account_id, o.price_id, o.invoiced, o.invoiced_events, o.invoiced_own_amount,
           least(o.uncovered, o.invoiced + late.units) as uncovered, least(o.events, o.invoiced_events + late.events) as events,
           least(o.own_amount, o.invoiced_own_amount + late.own_amount) as own_amount
      from unnest(${bills.map(({ subscriptionId }) => subscriptionId)}::text[], ${bills.map(({ until }) => until ?? 0)}::bigint[])
        as asked (subscription_id, start_at)
      join billing_periods b on b.environment_id = ${environmentId} and b.subscription_id = asked.subscription_id
       and b.start_at = asked.start_at
      join usage_series s on s.subscription_id = asked.subscription_id and s.billing_period_id = b.id and s.environment_id = ${environmentId}
      join usage_meters m on m.environment_id = ${environmentId} and m.id = s.usage_meter_id
       and not m.is_measured and m.aggregation_type <> 'count_distinct_properties'
     cross join lateral (
       select sum(part.units) as units, sum(part.events) as events, sum(part.own_price) * 1000000000000 as own_amount
         from (select sum(e.amount) as units, count(*) as events, coalesce(sum(e.own_price), 0) as own_price
                 from usage_events e
                where e.environment_id = ${environmentId} and e.series_id = s.id and e.usage_date < asked.start_at
                union all
               select a.late_units, a.late_events, a.late_own_price
                 from usage_archive_sums a
                 join usage_partitions archive on archive.number = a.number and archive.state = 'archived'
                where a.environment_id = ${environmentId} and a.series_id = s.id) part) late
      join usage_overages o on o.environment_id = ${environmentId} and o.ledger_account_id = s.ledger_account_id
       and o.price_id = s.price_id
     where late.events > 0
       and (exists (select from usage_rollups r
                     where r.environment_id = ${environmentId} and r.series_id = s.id and r.hour < asked.start_at)
            or exists (select from ledger_accounts a
                        where a.environment_id = ${environmentId} and a.id = s.ledger_account_id
                          and a.open_series_id = s.id and a.open_hour < asked.start_at))
       and not exists (select from usage_charges c
                        where c.environment_id = ${environmentId} and c.ledger_account_id = o.ledger_account_id
                          and c.price_id = o.price_id and (c.released > 0 or c.released_events > 0)))`;
  return claim(work, ledgerAccountIds, bills, late);
}

async function claim(
  work: Work,
  ledgerAccountIds: readonly string[],
  bills: readonly UsageToBill[],
  stored: RawBuilder<unknown>,
): Promise<Overage[]> {
  const { rows } = await sql<FoundOverage>`
    with due as (${overages(work, sql`a.id = any(${ledgerAccountIds}::text[])`, bills, stored)}
    ), claimed as (
      update usage_overages o
         set invoiced = o.invoiced + due.units, invoiced_events = o.invoiced_events + due.events,
             invoiced_own_amount = o.invoiced_own_amount + due.own_amount from due
       where o.environment_id = ${work.environmentId} and o.ledger_account_id = due.ledger_account_id and o.price_id = due.price_id
    )
    select * from due order by usage_meter_id, price_id`.execute(work.db);
  return withCharges(work, rows, bills);
}

/** The result that `claimOverages` would return for the accounts of the subscriptions, without changes. */
export async function listOverages(work: Work, bills: readonly UsageToBill[]): Promise<Overage[]> {
  const { rows } = await sql<FoundOverage>`
    ${overages(work, sql`a.subscription_id = any(${bills.map(({ subscriptionId }) => subscriptionId)}::text[])`, bills)}
     order by usage_meter_id, price_id`.execute(work.db);
  return withCharges(work, rows, bills);
}

/**
 * Adds the charges of prices that have or had a pricing: of the present usage period, and of those with released units.
 */
async function withCharges(
  work: Work,
  rows: readonly FoundOverage[],
  bills: readonly UsageToBill[],
): Promise<Overage[]> {
  const bySubscription = new Map(bills.map((bill) => [bill.subscriptionId, bill]));
  const read = rows.map((overage): Read => {
    const overrides = withAmounts<OverrideSpan>(overage.overrides);
    return { ...overage, overrides, periodStart: periodStartOf(overage, bySubscription) };
  });
  const priced = read.filter(({ pricing, overrides }) => pricing !== null || overrides.length > 0);
  if (priced.length === 0) return read.map((overage) => named(overage, []));
  const { rows: charged } = await sql<ChargedPeriod>`
    select c.ledger_account_id, c.price_id, c.period_start, c.units, c.released, c.amount, c.events, c.released_events,
           c.own_amount, c.released_own_amount
      from unnest(
             ${priced.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${priced.map(({ priceId }) => priceId)}::text[],
             ${priced.map(({ periodStart }) => periodStart)}::bigint[]
           ) as asked (ledger_account_id, price_id, period_start)
      join usage_charges c on c.environment_id = ${work.environmentId} and c.ledger_account_id = asked.ledger_account_id
       and c.price_id = asked.price_id and (c.period_start = asked.period_start or c.released > 0 or c.released_events > 0)
     order by c.period_start`.execute(work.db);
  const charges = Map.groupBy(charged, keyOf);
  return read.map((overage) => named(overage, charges.get(keyOf(overage)) ?? []));
}

/** Usage at a price with conditions is named by it as well: `Tokens (GPT-5)`. */
function named(
  { priceName, where, ownUnit: _unit, ownCount: _count, ...overage }: Read,
  charges: readonly UsageCharge[],
): Overage {
  if (where === null) return { ...overage, charges };
  return { ...overage, meterName: `${overage.meterName} (${priceName ?? conditionsText(where)})`, charges };
}

function periodStartOf(
  { subscriptionId, ownUnit, ownCount }: Pick<FoundOverage, 'subscriptionId' | 'ownUnit' | 'ownCount'>,
  bills: ReadonlyMap<string, UsageToBill>,
): Instant {
  const bill = bills.get(subscriptionId);
  if (ownUnit === null || bill?.ownPeriodStart === undefined) return bill?.periodStart ?? 0;
  return bill.ownPeriodStart({ unit: ownUnit, count: ownCount });
}

function keyOf({ ledgerAccountId, priceId }: { readonly ledgerAccountId: string; readonly priceId: string }): string {
  return `${ledgerAccountId} ${priceId}`;
}

/** A charge as it is stored: of counted units, or of measured ones (`per`). */
interface StoredCharge extends ChargedPeriod {
  readonly per: bigint | null;
  readonly waived: bigint;
  readonly reopened: boolean;
}

/** Writes the charges of usage periods of locked accounts. Each is listed once. */
export async function writeCharges(work: Work, charges: readonly StoredCharge[]): Promise<void> {
  if (charges.length === 0) return;
  await sql`
    insert into usage_charges (environment_id, ledger_account_id, price_id, period_start, units, released, amount, events,
           released_events, own_amount, released_own_amount, per, waived, reopened)
    select ${work.environmentId}, asked.*
      from one_row, unnest(
             ${charges.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${charges.map(({ priceId }) => priceId)}::text[],
             ${charges.map(({ periodStart }) => periodStart)}::bigint[],
             ${charges.map(({ units }) => units)}::numeric[],
             ${charges.map(({ released }) => released)}::numeric[],
             ${charges.map(({ amount }) => amount)}::numeric[],
             ${charges.map(({ events }) => events)}::numeric[],
             ${charges.map(({ releasedEvents }) => releasedEvents)}::numeric[],
             ${charges.map(({ ownAmount }) => ownAmount)}::numeric[],
             ${charges.map(({ releasedOwnAmount }) => releasedOwnAmount)}::numeric[],
             ${charges.map(({ per }) => per)}::numeric[],
             ${charges.map(({ waived }) => waived)}::numeric[],
             ${charges.map(({ reopened }) => reopened)}::boolean[]
           ) as asked
    on conflict (environment_id, ledger_account_id, price_id, period_start)
    do update set units = excluded.units, released = excluded.released, amount = excluded.amount, events = excluded.events,
                  released_events = excluded.released_events, own_amount = excluded.own_amount,
                  released_own_amount = excluded.released_own_amount, per = excluded.per, waived = excluded.waived,
                  reopened = excluded.reopened`.execute(work.db);
}

/** Unmarks invoiced units of locked accounts, to be billed again in their own usage periods. */
export async function uninvoice(work: Work, billed: readonly BilledUsage[]): Promise<void> {
  await sql`
    update usage_overages o
       set invoiced = o.invoiced - released.units, invoiced_events = o.invoiced_events - released.events,
           invoiced_own_amount = o.invoiced_own_amount - released.own_amount
      from (select given.ledger_account_id, given.price_id, sum(given.units) as units, sum(given.events) as events,
                   sum(given.own_amount) as own_amount
              from unnest(
                     ${billed.map((line) => line.ledgerAccountId)}::text[],
                     ${billed.map((line) => line.priceId)}::text[],
                     ${billed.map((line) => line.units)}::numeric[],
                     ${billed.map((line) => line.events)}::numeric[],
                     ${billed.map((line) => line.ownAmount)}::numeric[]
                   ) as given (ledger_account_id, price_id, units, events, own_amount)
             group by given.ledger_account_id, given.price_id) released
     where o.environment_id = ${work.environmentId} and o.ledger_account_id = released.ledger_account_id
       and o.price_id = released.price_id`.execute(work.db);
  // A price whose units cost the same each has a charge only for what was released while its customer has had own terms. A
  // line that names no period was billed before them.
  const { environmentId } = work;
  const hadOverride = sql<boolean>`exists (
    select from subscription_price_overrides o
     where o.environment_id = ${environmentId} and o.subscription_id = a.subscription_id and o.price_id = given.price_id)`;
  await sql`
    with given as (
      select given.ledger_account_id, given.price_id, ${hadOverride} as had_override,
             coalesce(given.period_start, case when p.pricing is null and ${hadOverride} then 0 end) as period_start,
             given.units, given.amount, given.events, given.own_amount
        from unnest(
               ${billed.map((line) => line.ledgerAccountId)}::text[],
               ${billed.map((line) => line.priceId)}::text[],
               ${billed.map((line) => line.periodStart ?? null)}::bigint[],
               ${billed.map((line) => line.units)}::numeric[],
               ${billed.map((line) => line.amount)}::numeric[],
               ${billed.map((line) => line.events)}::numeric[],
               ${billed.map((line) => line.ownAmount)}::numeric[]
             ) as given (ledger_account_id, price_id, period_start, units, amount, events, own_amount)
        join ledger_accounts a on a.environment_id = ${environmentId} and a.id = given.ledger_account_id
        join prices p on p.environment_id = ${environmentId} and p.id = given.price_id
    ), released as materialized (
      select ledger_account_id, price_id, period_start, bool_or(had_override) as had_override, sum(units) as units,
             sum(amount) as amount, sum(events) as events, sum(own_amount) as own_amount
        from given where period_start is not null group by ledger_account_id, price_id, period_start
    ), changed as (
      update usage_charges c
         set released = c.released + released.units, units = greatest(c.units, c.released + released.units),
             amount = c.amount - released.amount,
             released_events = c.released_events + released.events, events = greatest(c.events, c.released_events + released.events),
             released_own_amount = c.released_own_amount + released.own_amount,
             own_amount = greatest(c.own_amount, c.released_own_amount + released.own_amount),
             reopened = c.per is not null
        from released
       where c.environment_id = ${environmentId} and c.ledger_account_id = released.ledger_account_id
         and c.price_id = released.price_id and c.period_start = released.period_start
      returning c.ledger_account_id, c.price_id, c.period_start
    )
    insert into usage_charges (environment_id, ledger_account_id, price_id, period_start, units, released, amount, events,
           released_events, own_amount, released_own_amount)
    select ${environmentId}, r.ledger_account_id, r.price_id, r.period_start, r.units, r.units, 0, r.events, r.events,
           r.own_amount, r.own_amount
      from one_row, released r
     where r.had_override and not exists (
       select from changed c where c.ledger_account_id = r.ledger_account_id and c.price_id = r.price_id
                               and c.period_start = r.period_start)`.execute(work.db);
}

/** Settled usage on a locked account. */
export interface AccountSettlement extends SettledUsage {
  readonly pricingModelId: string;
  /** The instant as of which it is booked: one for each invoice. */
  readonly at: Instant;
}

/**
 * Books the settlement of usage by paid invoices on locked accounts, once per invoice. Each (invoice, account) is
 * listed once. One statement for any number of invoices.
 */
export function settleAccounts(work: Work, settlements: readonly AccountSettlement[]): Promise<void> {
  return book(work, settlements, { type: settlementType, move: moves.settlement, sign: 1, condition: sql`true` });
}

/**
 * Reverses the settlements of invoices that have one, once each. Each (invoice, account) is listed once. One statement.
 */
export function unsettleAccounts(work: Work, settlements: readonly AccountSettlement[]): Promise<void> {
  const wasSettled = sql<boolean>`exists (
    select from ledger_transactions t
     where t.environment_id = ${work.environmentId} and t.type = ${sql.lit(settlementType)} and t.source_id = asked.invoice_id)`;
  const undone = { type: 'settlement_undone', move: moves.settlementUndone, sign: -1 };
  return book(work, settlements, { ...undone, condition: wasSettled });
}

const settlementType = 'settle_invoice_usage_costs';

/** The booking of invoices, and the condition on the invoices (`requested`) to book. */
interface Booking {
  readonly type: string;
  readonly move: { readonly debitSide: Side; readonly creditSide: Side };
  /** 1 adds to the settled side, -1 subtracts from it. */
  readonly sign: number;
  readonly condition: RawBuilder<boolean>;
}

async function book(
  work: Work,
  settlements: readonly AccountSettlement[],
  { type, move, sign, condition }: Booking,
): Promise<void> {
  if (settlements.length === 0) return;
  const { environmentId } = work;
  const ofInvoice = new Map(settlements.map((settlement) => [settlement.invoiceId, settlement]));
  const first = [...ofInvoice.values()];
  await sql`
    with written_transaction as (
      insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
      select ${environmentId}, asked.id, asked.pricing_model_id, ${type}::text, asked.invoice_id,
             asked.at, asked.at
        from one_row, unnest(
               ${first.map(() => newId('ledgerTransaction'))}::text[],
               ${first.map(({ pricingModelId }) => pricingModelId)}::text[],
               ${first.map(({ invoiceId }) => invoiceId)}::text[],
               ${first.map(({ at }) => at)}::bigint[]
             ) as asked (id, pricing_model_id, invoice_id, at)
       where ${condition}
       order by asked.invoice_id
      on conflict (environment_id, type, source_id) where type <> 'usage_event_processed' do nothing
      returning id, source_id
    ), settled_line as (
      select asked.*, written_transaction.id as transaction_id
        from unnest(
               ${settlements.map(({ ledgerAccountId }) => newId('ledgerEntry', ledgerAccountId))}::text[],
               ${settlements.map((settlement) => settlement.pricingModelId)}::text[],
               ${settlements.map((settlement) => settlement.invoiceId)}::text[],
               ${settlements.map((settlement) => settlement.ledgerAccountId)}::text[],
               ${settlements.map((settlement) => settlement.units)}::numeric[],
               ${settlements.map((settlement) => settlement.at)}::bigint[]
             ) as asked (entry_id, pricing_model_id, invoice_id, ledger_account_id, units, at)
        join written_transaction on written_transaction.source_id = asked.invoice_id
    ), written_entry as (
      insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side,
             credit_side, amount, available_after, created_at)
      select ${environmentId}, line.entry_id, line.pricing_model_id, line.transaction_id, line.ledger_account_id,
             ${move.debitSide}::text, ${move.creditSide}::text, line.units,
             a.available + ${sign}::integer * sum(line.units) over (partition by line.ledger_account_id order by line.entry_id),
             greatest(a.updated_at, line.at)
        from settled_line line
        join ledger_accounts a on a.environment_id = ${environmentId} and a.id = line.ledger_account_id
       order by line.entry_id
    )
    update ledger_accounts a set settled = a.settled + ${sign}::integer * moved.units, updated_at = greatest(a.updated_at, moved.at)
      from (select ledger_account_id, sum(units) as units, max(at) as at from settled_line group by ledger_account_id) moved
     where a.environment_id = ${environmentId} and a.id = moved.ledger_account_id`.execute(work.db);
}
