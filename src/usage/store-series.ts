import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { idArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { holdsItsStart } from '../subscriptions/store-billing-periods.ts';
import type { FoundSeries } from './usage-draft.ts';

/** A subscription and a price, and where the current period of the subscription began, if it has one. */
export interface SeriesKey {
  readonly subscriptionId: string;
  readonly priceId: string;
  readonly periodStart: Instant | null;
}

/** The key of a map. A subscription has one current period. */
export function seriesText({ subscriptionId, priceId }: Omit<SeriesKey, 'periodStart'>): string {
  return `${subscriptionId} ${priceId}`;
}

/** A series that was looked for, or another open one of the same subscription and period. */
interface SeriesOfPrice extends FoundSeries {
  readonly subscriptionId: string;
  readonly priceId: string;
}

// So that usage by many prices fills the cache in one read. More are read when they are asked for.
const maxOtherSeries = 64;

/**
 * The series of distinct keys, by `seriesText`, and others that are open in the current periods of these subscriptions.
 * A subscription has one period in the keys.
 */
export async function findSeries(work: Work, keys: readonly SeriesKey[]): Promise<ReadonlyMap<string, SeriesOfPrice>> {
  if (keys.length === 0) return new Map();
  const { rows } = await sql<{
    subscriptionId: string;
    priceId: string;
    billingPeriodId: string | null;
    id: number | null;
    ledgerAccountId: string | null;
  }>`
    with asked as materialized (
      select asked.subscription_id, asked.price_id, p.id as billing_period_id
        from unnest(
               ${idArray(keys.map((key) => key.subscriptionId))}::text[],
               ${idArray(keys.map((key) => key.priceId))}::text[],
               ${idArray(keys.map((key) => key.periodStart))}::bigint[]
             ) as asked (subscription_id, price_id, period_start)
        left join billing_periods p on p.environment_id = ${work.environmentId} and p.subscription_id = asked.subscription_id
         and p.start_at = asked.period_start and ${holdsItsStart('p')}
    )
    select asked.*, s.id, s.ledger_account_id
      from asked
      -- Each half is one look into the index, however many periods there were.
      left join lateral (
        select id, ledger_account_id from usage_series
         where environment_id = ${work.environmentId} and subscription_id = asked.subscription_id
           and price_id = asked.price_id and billing_period_id = asked.billing_period_id
        union all
        select id, ledger_account_id from usage_series
         where environment_id = ${work.environmentId} and subscription_id = asked.subscription_id
           and price_id = asked.price_id and billing_period_id is null and asked.billing_period_id is null
      ) s on true
    union all
    select period.subscription_id, other.price_id, period.billing_period_id, other.id, other.ledger_account_id
      from (select distinct subscription_id, billing_period_id from asked where billing_period_id is not null) period
     cross join lateral (
      select price_id, id, ledger_account_id from usage_series
       where environment_id = ${work.environmentId} and subscription_id = period.subscription_id
         and billing_period_id = period.billing_period_id
       limit ${maxOtherSeries}
    ) other`.execute(work.db);
  const found = new Map<string, SeriesOfPrice>();
  for (const { id, ledgerAccountId, ...row } of rows) {
    const key = seriesText(row);
    const series = id === null || ledgerAccountId === null ? undefined : { id, ledgerAccountId };
    if (!found.has(key)) found.set(key, { ...row, series });
  }
  return found;
}

/** A series to be opened, on an account that is there. */
interface NewSeries {
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly priceId: string;
  readonly billingPeriodId: string | null;
  readonly ledgerAccountId: string;
}

/** Opens the series that are missing. Answers the id of each, in order. */
export async function openSeries(work: Work, series: readonly NewSeries[]): Promise<number[]> {
  const column = <Key extends keyof NewSeries>(key: Key) => idArray(series.map((each) => each[key]));
  const { rows } = await sql<{ id: number; subscriptionId: string; priceId: string }>`
    insert into usage_series (environment_id, pricing_model_id, customer_id, subscription_id, usage_meter_id, price_id,
           billing_period_id, ledger_account_id)
    select ${work.environmentId}, new.*
      from one_row, unnest(
             ${column('pricingModelId')}::text[], ${column('customerId')}::text[], ${column('subscriptionId')}::text[],
             ${column('usageMeterId')}::text[], ${column('priceId')}::text[], ${column('billingPeriodId')}::text[],
             ${column('ledgerAccountId')}::text[]) as new
    on conflict (environment_id, subscription_id, price_id, billing_period_id)
    do update set price_id = excluded.price_id
    returning id, subscription_id, price_id`.execute(work.db);
  const ids = new Map(rows.map((row) => [seriesText(row), row.id]));
  return series.map((each) => {
    const id = ids.get(seriesText(each));
    assert(id !== undefined, 'the series is open');
    return id;
  });
}
