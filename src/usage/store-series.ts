import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { idArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';

/** What events of a subscription at a price are counted in: in its period that began at `periodStart`, if there is one. */
export interface SeriesKey {
  readonly subscriptionId: string;
  readonly priceId: string;
  readonly periodStart: Instant | null;
}

/** Where the events of a key go. `series` is undefined until the first of them. */
export interface FoundSeries {
  readonly billingPeriodId: string | null;
  readonly series: Series | undefined;
}

export interface Series {
  readonly id: number;
  readonly ledgerAccountId: string;
}

// A series never changes, and is remembered only when it was read, so what is here was committed. It is asked for by
// subscriptions that this very unit of work has read, so nobody sees what is not theirs. Those of a subscription's period are
// known by their price.
const known = new LRUCache<string, PeriodSeries>({ max: 50_000 });

/** The series of a subscription in one period that are remembered, by the ids of their prices. */
interface PeriodSeries {
  readonly periodStart: Instant | null;
  readonly byPrice: Map<string, FoundSeries>;
}

/** What is remembered of a key; undefined: it is to be looked for. */
export function recallSeries({ subscriptionId, priceId, periodStart }: SeriesKey): FoundSeries | undefined {
  const period = known.get(subscriptionId);
  return period?.periodStart === periodStart ? period.byPrice.get(priceId) : undefined;
}

function remember({ subscriptionId, priceId, periodStart }: SeriesKey, found: FoundSeries): void {
  const before = known.get(subscriptionId);
  const period =
    before?.periodStart === periodStart ? before : { periodStart, byPrice: new Map<string, FoundSeries>() };
  period.byPrice.set(priceId, found);
  if (period !== before) known.set(subscriptionId, period);
}

/** A key as a text, for maps. A subscription has one period that is current. */
export function seriesText({ subscriptionId, priceId }: Omit<SeriesKey, 'periodStart'>): string {
  return `${subscriptionId} ${priceId}`;
}

/** The series of keys that are not remembered, by `seriesText`. One statement, or none. */
export async function findSeries(work: Work, keys: readonly SeriesKey[]): Promise<ReadonlyMap<string, FoundSeries>> {
  if (keys.length === 0) return new Map();
  const asked = [...new Map(keys.map((key) => [seriesText(key), key])).values()];
  const { rows } = await sql<{
    position: number;
    billingPeriodId: string | null;
    id: number | null;
    ledgerAccountId: string | null;
  }>`
    select asked.position, p.id as billing_period_id, s.id, s.ledger_account_id
      from unnest(
             ${idArray(asked.map((key) => key.subscriptionId))}::text[],
             ${idArray(asked.map((key) => key.priceId))}::text[],
             ${idArray(asked.map((key) => key.periodStart))}::bigint[]
           ) with ordinality as asked (subscription_id, price_id, period_start, position)
      left join billing_periods p on p.environment_id = ${work.environmentId} and p.subscription_id = asked.subscription_id
       and p.start_at = asked.period_start
      left join usage_series s on s.environment_id = ${work.environmentId} and s.subscription_id = asked.subscription_id
       and s.price_id = asked.price_id and s.billing_period_id is not distinct from p.id
     order by asked.position`.execute(work.db);
  const found = asked.map((key, index): [string, FoundSeries] => {
    const row = rows[index];
    assert(row !== undefined, 'one answer for each that was asked');
    const { billingPeriodId, id, ledgerAccountId } = row;
    const series = id === null || ledgerAccountId === null ? undefined : { id, ledgerAccountId };
    if (series !== undefined) remember(key, { billingPeriodId, series });
    return [seriesText(key), { billingPeriodId, series }];
  });
  return new Map(found);
}

/** A series to be opened, on an account that is there. */
export interface NewSeries {
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
      from unnest(
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
