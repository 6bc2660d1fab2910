import { type RawBuilder, sql } from 'kysely';
import { idArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import { type SeriesFilter, seriesFilters } from './event-query.ts';
import { splitAtHours, type TimeRange } from './time-range.ts';

const columnOf = {
  customerId: 'customer_id',
  subscriptionId: 'subscription_id',
  usageMeterId: 'usage_meter_id',
  priceId: 'price_id',
  billingPeriodId: 'billing_period_id',
} as const satisfies Record<(typeof seriesFilters)[number], string>;

// Enough for one customer or a rarely used meter. Beyond it an array is no faster than the condition itself.
const mostListed = 1_000;

/** The selected series, as parts of statements. */
export interface SeriesChoice {
  /** `all`: of the environment. `few`: at most a thousand, already looked up. */
  readonly extent: 'none' | 'few' | 'many' | 'all';
  /** Matches rows `e`, events or hours, of these series. */
  readonly matches: RawBuilder<unknown>;
  /** Their ids: a table `s` with the column `id`. */
  readonly table: RawBuilder<unknown>;
}

/** Finds the series that match a filter. A pinned key sees only its pricing model. */
export async function chooseSeries(work: Work, filter: SeriesFilter): Promise<SeriesChoice> {
  const conditions = seriesConditions(work, filter);
  const ofEnvironment = sql`s.environment_id = ${work.environmentId}`;
  const selected = sql`select s.id from usage_series s where ${sql.join([ofEnvironment, ...conditions], sql` and `)}`;
  const table = sql`(${selected}) s`;
  if (conditions.length === 0) return { extent: 'all', matches: sql`true`, table };
  const { rows } = await sql<{ id: number }>`${selected} limit ${mostListed + 1}`.execute(work.db);
  if (rows.length > mostListed) return { extent: 'many', matches: sql`e.series_id in (${selected})`, table };
  const ids = sql`${idArray(rows.map((row) => row.id))}::bigint[]`;
  return {
    extent: rows.length === 0 ? 'none' : 'few',
    matches: sql`e.series_id = any(${ids})`,
    table: sql`unnest(${ids}) as s (id)`,
  };
}

/** The conditions of a filter on a series `s`, besides its environment. */
export function seriesConditions(work: Work, filter: SeriesFilter): RawBuilder<unknown>[] {
  const conditions = seriesFilters.flatMap((each) => {
    const value = filter[each];
    return value === undefined ? [] : [sql`${sql.ref(`s.${columnOf[each]}`)} = ${value}`];
  });
  const pinned = work.pinnedPricingModelId;
  return pinned === null ? conditions : [...conditions, sql`s.pricing_model_id = ${pinned}`];
}

/** Whether the instant in `column` lies in a range. */
export function within(column: 'e.usage_date' | 'e.hour', { from, to }: TimeRange): RawBuilder<unknown> {
  const at = sql.ref(column);
  const since = from === null ? sql`true` : sql`${at} >= ${from}::bigint`;
  const until = to === null ? sql`true` : sql`${at} < ${to}::bigint`;
  return sql`${since} and ${until}`;
}

/**
 * The events of a choice in a range, as a table `e`. For many series, `matches` in the outer query selects them. The
 * subquery runs first: otherwise a planner without statistics scans the range once per series.
 */
export function eventsWithin(work: Work, { extent, matches }: SeriesChoice, range: TimeRange): RawBuilder<unknown> {
  const ofFew = extent === 'few' ? sql` and ${matches}` : sql``;
  return sql`(
    select e.* from usage_events e
     where e.environment_id = ${work.environmentId}${ofFew} and ${within('e.usage_date', range)} offset 0) e`;
}

/**
 * The roll-ups of a choice in a range of whole hours, as a table `e`. For many series, `matches` in the outer query
 * selects them. A series and hour may have two rows, because its open roll-up is stored on the account.
 */
export function rollUpsWithin(
  { environmentId }: Work,
  { extent, matches, table }: SeriesChoice,
  hours: TimeRange,
): RawBuilder<unknown> {
  const isFew = extent === 'few';
  const ofFew = isFew ? sql` and ${matches}` : sql``;
  // The open roll-up of a series can only be found by its account.
  const accountsOfFew = sql`
    select s.ledger_account_id from usage_series s
     where s.environment_id = ${environmentId} and s.id in (select s.id from ${table})`;
  const onAccountsOfFew = isFew ? sql` and a.id in (${accountsOfFew})` : sql``;
  return sql`(
    select e.series_id, e.hour, e.units, e.events from usage_rollups e
     where e.environment_id = ${environmentId}${ofFew} and ${within('e.hour', hours)}
    union all
    select e.series_id, e.hour, e.units, e.events
      from (select a.open_series_id as series_id, a.open_hour as hour, a.open_units as units, a.open_events as events
              from ledger_accounts a
             where a.environment_id = ${environmentId} and a.open_series_id is not null${onAccountsOfFew}) e
     where ${within('e.hour', hours)}${ofFew} offset 0) e`;
}

/**
 * The number of events, within a range if given: from roll-ups for whole hours, counted only in the partial hours at
 * the ends.
 */
export async function countEvents(work: Work, choice: SeriesChoice, range: TimeRange | null): Promise<number> {
  const { hours, edges } = splitAtHours(range ?? { from: null, to: null });
  const parts = edges.map(
    (edge) => sql`(select count(*) from ${eventsWithin(work, choice, edge)} where ${choice.matches})`,
  );
  if (hours !== null)
    parts.push(
      sql`(select coalesce(sum(e.events), 0)::bigint from ${rollUpsWithin(work, choice, hours)} where ${choice.matches})`,
    );
  const { rows } = await sql<{ total: number }>`select ${sql.join(parts, sql` + `)} as total`.execute(work.db);
  return rows[0]?.total ?? 0;
}
