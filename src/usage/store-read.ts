import { type RawBuilder, sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import { idArray, textArray } from '../database/array-literal.ts';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { idPrefixes } from '../kernel/id.ts';
import { isAscending, mostCounted, type PageRequest } from '../kernel/pagination.ts';
import { type EventQuery, type SeriesFilter, seriesFilters, splitAtHours, type TimeRange } from './event-query.ts';
import { eventColumns, type StoredEvent, selectEvents, shortId, transactionKeyOf } from './store.ts';

function isEventId(id: string): boolean {
  return id.startsWith(`${idPrefixes.usageEvent}_`);
}

export async function findEvent(work: Work, id: string): Promise<StoredEvent | null> {
  if (!isEventId(id)) return null;
  const [event] = await listEvents(work, [shortId(id)], sql`asc`);
  return event ?? null;
}

/** The events with these ids. Looks each one up, because planner statistics of a fast-growing table are unreliable. */
function listEvents(work: Work, shortIds: readonly string[], way: RawBuilder<unknown>): Promise<StoredEvent[]> {
  const { environmentId } = work;
  return selectEvents(
    work,
    sql`
    select ${eventColumns} from unnest(${textArray(shortIds)}::text[]) as asked (id)
     cross join lateral (
       select * from usage_events e where e.environment_id = ${environmentId} and e.id = asked.id collate "C" offset 0) e
     cross join lateral (
       select * from usage_series s where s.environment_id = ${environmentId} and s.id = e.series_id offset 0) s
     order by e.id ${way}`,
  );
}

/**
 * The booking of an event. `counts` is false if an earlier event had the same properties, on a meter that counts
 * distinct ones.
 */
interface EventBooking {
  /** The event as it is stored. */
  readonly id: string;
  readonly amount: number;
  readonly booking: number;
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly counts: boolean;
}

// Whether event `e` of meter `m` adds to a balance.
const addsToBalance = sql`
  not m.is_measured and (m.aggregation_type <> 'count_distinct_properties' or exists (
    select from usage_event_distinct_properties d where d.environment_id = e.environment_id and d.usage_event_id = e.id))`;

/** The booking of the event with this id, or null if there is none. */
export async function findBooking(work: Work, id: string): Promise<EventBooking | null> {
  if (!isEventId(id)) return null;
  const { rows } = await sql<EventBooking>`
    select e.id, e.amount, e.booking, s.ledger_account_id, s.price_id, ${addsToBalance} as counts
      from usage_events e
      join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
      join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
     where e.environment_id = ${work.environmentId} and e.id = ${shortId(id)}`.execute(work.db);
  return rows[0] ?? null;
}

/** For each of these stored ids, the units that events of the booking with smaller ids used on the account. */
export async function countUnitsBefore(
  work: Work,
  { booking, ledgerAccountId }: Pick<EventBooking, 'booking' | 'ledgerAccountId'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await sql<{ id: string; units: bigint }>`
    select asked.id, coalesce(sum(e.amount) filter (where e.id < asked.id collate "C"), 0) as units
      from usage_events e
      join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
      join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
     cross join unnest(${textArray(ids)}::text[]) as asked (id)
     where e.environment_id = ${work.environmentId} and e.booking = ${booking}
       and s.ledger_account_id = ${ledgerAccountId} and ${addsToBalance}
     group by asked.id`.execute(work.db);
  return new Map(rows.map(({ id, units }) => [id, units]));
}

/** A page of events in order of creation, plus one if there are more, and the total number of matches. */
export async function pageOfEvents(
  work: Work,
  query: EventQuery,
  request: PageRequest,
): Promise<{ rows: StoredEvent[]; total: number; archivedUntil: Instant | null }> {
  const choice = await chooseSeries(work, query.series);
  const archivedUntil = await findArchivedUntil(work, choice, [query.range ?? { from: null, to: null }]);
  if (query.transactionId !== null)
    return { ...(await pageOfTransaction(work, query, query.transactionId, request)), archivedUntil };
  if (query.label !== null) return { ...(await pageOfLabel(work, query, query.label, request)), archivedUntil };
  const total = await countMatches(work, choice, query);
  if (total === 0) return { rows: [], total, archivedUntil };
  const page = pagePart(request);
  const ids = await (query.range === null
    ? idsOfSeries(work, choice, page)
    : idsInRange(work, choice, page, query.range, total));
  return { rows: await listEvents(work, ids, page.way), total, archivedUntil };
}

/**
 * The number of events up to `mostCounted`. For a meter or an environment at any time, sums of hours are read first, and
 * roll-ups only where these have fewer.
 */
async function countMatches(work: Work, choice: SeriesChoice, { series, range }: EventQuery): Promise<number> {
  if (choice.extent === 'none') return 0;
  const { usageMeterId, ...others } = series;
  if (range === null && Object.values(others).every((filter) => filter === undefined)) {
    const ofMeter = usageMeterId === undefined ? sql`true` : sql`usage_meter_id = ${usageMeterId}`;
    // Each row has an event at least, so no more rows are needed.
    const { rows } = await sql<{ total: number }>`
      select coalesce(sum(events), 0)::bigint as total
        from (select events from usage_hours
               where environment_id = ${work.environmentId} and ${ofMeter} limit ${mostCounted}) summed`.execute(
      work.db,
    );
    if ((rows[0]?.total ?? 0) >= mostCounted) return mostCounted;
  }
  return countEvents(work, choice, range, mostCounted);
}

/** The conditions of a page on events `e`, and the order of ids. */
interface PagePart {
  readonly beyond: RawBuilder<unknown>;
  readonly way: RawBuilder<unknown>;
  /** The limit plus one. */
  readonly most: number;
}

function pagePart(request: PageRequest): PagePart {
  const { after, limit } = request;
  const upwards = isAscending(request);
  const beyond = after === null ? sql`true` : sql`e.id ${upwards ? sql`>` : sql`<`} ${shortId(after)}`;
  return { beyond, way: upwards ? sql`asc` : sql`desc`, most: limit + 1 };
}

// The number of events to scan in order in the hope of matches: about ten milliseconds.
const mostWalked = 20_000;
// Most events of a busy meter are within the next few.
const mostNear = 500;

async function idsOfSeries(work: Work, choice: SeriesChoice, page: PagePart): Promise<string[]> {
  if (choice.extent === 'few') return idsBySeries(work, choice, page);
  for (const most of choice.extent === 'all' ? [page.most] : [mostNear, mostWalked]) {
    const walked = await walk(work, choice, page, { range: null, most });
    if (walked !== null) return walked;
  }
  return idsBySeries(work, choice, page);
}

/**
 * The ids of a page in a range. Events arrive nearly in order of their dates: where many match, the next ones are
 * probably adjacent, and paging continues from there. Otherwise the whole range is read.
 */
async function idsInRange(
  work: Work,
  choice: SeriesChoice,
  page: PagePart,
  range: TimeRange,
  total: number,
): Promise<string[]> {
  const walked = total > mostWalked ? await walk(work, choice, page, { range, most: mostWalked }) : null;
  return walked ?? idsByDate(work, choice, page, range);
}

/** The ids of a page among the next `most` events of the environment; null if these were too few to decide. */
async function walk(
  work: Work,
  { matches }: SeriesChoice,
  page: PagePart,
  { range, most }: { readonly range: TimeRange | null; readonly most: number },
): Promise<string[] | null> {
  const { rows } = await sql<{ ids: string[]; walked: number }>`
    with walked as materialized (
      select e.id, e.series_id, e.usage_date from usage_events e
       where e.environment_id = ${work.environmentId} and ${page.beyond} order by e.id ${page.way} limit ${most})
    select (select count(*) from walked) as walked,
           array(select e.id from walked e where ${matches} and ${range === null ? sql`true` : within('e.usage_date', range)}
                  order by e.id ${page.way} limit ${page.most}) as ids`.execute(work.db);
  const { ids = [], walked = 0 } = rows[0] ?? {};
  return ids.length === page.most || walked < most ? ids : null;
}

// The newest events of an environment that one look at a meter reads: some milliseconds.
const mostLookedAt = 1_000;

/** The newest events of a meter after a short id, newest first. `isCut` is true if there may be more. */
export async function newestEvents(
  work: Work,
  { usageMeterId, after, most }: { readonly usageMeterId: string; readonly after: string; readonly most: number },
): Promise<{ events: StoredEvent[]; isCut: boolean }> {
  const { matches } = await chooseSeries(work, { usageMeterId });
  const { rows } = await sql<{ ids: string[]; read: number }>`
    with newest as materialized (
      select e.id, e.series_id from usage_events e
       where e.environment_id = ${work.environmentId} and e.id > ${after} order by e.id desc limit ${mostLookedAt})
    select (select count(*) from newest) as read,
           array(select e.id from newest e where ${matches} order by e.id desc limit ${most + 1}) as ids`.execute(
    work.db,
  );
  const { ids = [], read = 0 } = rows[0] ?? {};
  const events = ids.length === 0 ? [] : await listEvents(work, ids.slice(0, most), sql`desc`);
  return { events, isCut: ids.length > most || read === mostLookedAt };
}

/** The ids of a page: the first of each series in index order, and the first of those overall. */
async function idsBySeries(work: Work, { table }: SeriesChoice, { beyond, way, most }: PagePart): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select own.id from ${table} cross join lateral (
             select e.id from usage_events e
              where e.series_id = s.id and e.environment_id = ${work.environmentId} and ${beyond}
              order by e.id ${way} limit ${most}) own
     order by own.id ${way} limit ${most}`.execute(work.db);
  return rows.map((row) => row.id);
}

/** The ids of a page, selected from all events in a range. */
async function idsByDate(work: Work, choice: SeriesChoice, page: PagePart, range: TimeRange): Promise<string[]> {
  const { beyond, way, most } = page;
  const { rows } = await sql<{ id: string }>`
    select e.id from ${eventsWithin(work, choice, range)} where ${choice.matches} and ${beyond}
     order by e.id ${way} limit ${most}`.execute(work.db);
  return rows.map((row) => row.id);
}

/** The events of a transaction: at most one per usage meter. */
async function pageOfTransaction(
  work: Work,
  { series, range }: EventQuery,
  transactionId: string,
  request: PageRequest,
): Promise<{ rows: StoredEvent[]; total: number }> {
  const meterIds = series.usageMeterId === undefined ? await listMeterIds(work) : [series.usageMeterId];
  const keys = meterIds.map((usageMeterId) => transactionKeyOf(work.environmentId, { usageMeterId, transactionId }));
  const { way, most } = pagePart(request);
  const conditions = [
    sql`e.transaction_key = any(${idArray(keys)}::uuid[])`,
    ...seriesConditions(work, series),
    ...(range === null ? [] : [within('e.usage_date', range)]),
  ];
  const found = await selectEvents(
    work,
    sql`
    select ${eventColumns} from usage_events e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
     where e.environment_id = ${work.environmentId} and ${sql.join(conditions, sql` and `)}
     order by e.id ${way}`,
  );
  const { after } = request;
  const upwards = isAscending(request);
  const rows = found.filter(({ id }) => after === null || (upwards ? id > after : id < after));
  return { rows: rows.slice(0, most), total: found.length };
}

/** The events with a label, which have an index in their order. */
async function pageOfLabel(
  work: Work,
  { series, range }: EventQuery,
  label: string,
  request: PageRequest,
): Promise<{ rows: StoredEvent[]; total: number }> {
  const { beyond, way, most } = pagePart(request);
  const conditions = [
    sql`e.environment_id = ${work.environmentId}`,
    sql`e.label = ${label}`,
    ...seriesConditions(work, series),
    ...(range === null ? [] : [within('e.usage_date', range)]),
  ];
  const labelled = sql`usage_events e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
     where ${sql.join(conditions, sql` and `)}`;
  const { rows } = await sql<{ ids: string[]; total: number }>`
    select (select count(*) from (select from ${labelled} limit ${mostCounted}) counted)::integer as total,
           array(select e.id from ${labelled} and ${beyond} order by e.id ${way} limit ${most}) as ids`.execute(
    work.db,
  );
  const { ids = [], total = 0 } = rows[0] ?? {};
  return { rows: await listEvents(work, ids, way), total };
}

async function listMeterIds(work: Work): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from usage_meters where environment_id = ${work.environmentId}`.execute(work.db);
  return rows.map((row) => row.id);
}

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
  const conditions: RawBuilder<unknown>[] = seriesFilters.flatMap((each) => {
    const value = filter[each];
    return value === undefined ? [] : [sql`${sql.ref(`s.${columnOf[each]}`)} = ${value}`];
  });
  const { customerExternalId } = filter;
  if (customerExternalId !== undefined)
    conditions.push(ofCustomerNamed(work, sql.ref('s.customer_id'), customerExternalId));
  const pinned = work.pinnedTo;
  return pinned === null ? conditions : [...conditions, sql`s.pricing_model_id = ${pinned}`];
}

/** Whether the instant in `column` lies in a range. */
function within(column: 'e.usage_date' | 'e.hour', { from, to }: TimeRange): RawBuilder<unknown> {
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
 * The latest date of archived events of a choice that lie in one of the ranges; null: none of them can. Each is known by the
 * first and last date of its series in an archive, so these may be wider.
 */
export async function findArchivedUntil(
  work: Work,
  { extent, matches }: SeriesChoice,
  ranges: readonly TimeRange[],
): Promise<Instant | null> {
  if (extent === 'none' || ranges.length === 0) return null;
  const overlaps = ranges.map(({ from, to }) => {
    const since = from === null ? sql`true` : sql`e.last_usage_date >= ${from}::bigint`;
    const until = to === null ? sql`true` : sql`e.first_usage_date < ${to}::bigint`;
    return sql`(${since} and ${until})`;
  });
  const { rows } = await sql<{ at: Instant | null }>`
    select max(found.at) as at
      from usage_partitions p
     cross join lateral (
       select e.last_usage_date as at from usage_archive_sums e
        where e.number = p.number and e.environment_id = ${work.environmentId} and ${matches}
          and (${sql.join(overlaps, sql` or `)})
        order by e.last_usage_date desc limit 1) found
     where p.state = 'archived'`.execute(work.db);
  return rows[0]?.at ?? null;
}

/**
 * The number of events, within a range if given: from roll-ups for whole hours, counted only in the partial hours at
 * the ends. With `atMost`, a larger number is reported as that one: each roll-up has an event, so no more of them are read.
 */
export async function countEvents(
  work: Work,
  choice: SeriesChoice,
  range: TimeRange | null,
  atMost: number | null = null,
): Promise<number> {
  const { hours, edges } = splitAtHours(range ?? { from: null, to: null });
  const most = atMost === null ? sql`` : sql` limit ${atMost}`;
  const parts = edges.map(
    (edge) => sql`(select count(*) from ${eventsWithin(work, choice, edge)} where ${choice.matches})`,
  );
  if (hours !== null)
    parts.push(
      sql`(select coalesce(sum(e.events), 0)::bigint
             from (select e.events from ${rollUpsWithin(work, choice, hours)} where ${choice.matches}${most}) e)`,
    );
  const { rows } = await sql<{ total: number }>`select ${sql.join(parts, sql` + `)} as total`.execute(work.db);
  return Math.min(rows[0]?.total ?? 0, atMost ?? Number.POSITIVE_INFINITY);
}

/** Until the transaction ends, no usage events move to or from an archive. */
export async function keepEventsInPlace(db: Database): Promise<void> {
  await sql`lock table only usage_events in access share mode`.execute(db);
}
