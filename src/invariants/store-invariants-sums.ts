import { type RawBuilder, sql } from 'kysely';

/** The mark up to which entries and events were healthy and summed up: both are append-only and numbered. */
export interface Mark {
  readonly entrySequence: number;
  readonly booking: number;
}

/**
 * The rows to read: those after the mark, with stored sums for the rest; or (null) everything. With `upTo`, only those
 * between the two marks.
 */
export type Since = (Mark & { readonly upTo?: Mark }) | null;

// Marks are literals, so that the planner knows how few rows lie after them.
function between(column: string, { after, upTo }: { after: number; upTo: number | undefined }): RawBuilder<boolean> {
  const end = upTo === undefined ? sql`` : sql` and ${sql.ref(column)} <= ${sql.lit(upTo)}`;
  return sql<boolean>`${sql.ref(column)} > ${sql.lit(after)}${end}`;
}

function isEntrySince({ entrySequence, upTo }: NonNullable<Since>): RawBuilder<boolean> {
  return between('sequence', { after: entrySequence, upTo: upTo?.entrySequence });
}

/** The ledger entries to check. */
export function entriesSince(since: Since): RawBuilder<unknown> {
  return since === null ? sql`ledger_entries` : sql`(select * from ledger_entries where ${isEntrySince(since)})`;
}

/** The usage events to check. */
export function eventsSince(since: Since): RawBuilder<unknown> {
  if (since === null) return sql`usage_events`;
  return sql`(select * from usage_events where ${between('booking', { after: since.booking, upTo: since.upTo?.booking })})`;
}

/** The sums of events that are archived, by series and partition. */
export const archivedUsage = sql`(
  select s.* from usage_archive_sums s join usage_partitions p on p.number = s.number and p.state = 'archived')`;

/** The sums of archived events to check, by series. The mark is never within an archived partition. */
export function archivedSince(since: Since): RawBuilder<unknown> {
  if (since === null) return archivedUsage;
  const range = between('last_booking', { after: since.booking, upTo: since.upTo?.booking });
  return sql`(select * from ${archivedUsage} a where ${range})`;
}

/** The applications of credits to the entries to check. */
export function applicationsSince(since: Since): RawBuilder<unknown> {
  return sql`(select e.environment_id, e.id as ledger_entry_id, e.ledger_account_id, e.credit_side,
         paid.usage_credit_id, paid.amount
    from ${entriesSince(since)} e, unnest(e.applied_credit_ids, e.applied_amounts) as paid (usage_credit_id, amount)
   where e.applied_credit_ids is not null)`;
}

/** The rows of `found`, plus the stored sums of the rest. Both have the same columns. */
function withKept(since: Since, found: RawBuilder<unknown>, kept: RawBuilder<unknown>): RawBuilder<unknown> {
  return since === null || since.upTo !== undefined ? found : sql`${found} union all ${kept}`;
}

/** The amounts moved on and off each side of each account. One or several rows per account. */
export function sidesOfAccounts(since: Since): RawBuilder<unknown> {
  const found = sql`
    select environment_id, ledger_account_id,
           coalesce(sum(amount) filter (where debit_side = 'granted'), 0) as granted,
           coalesce(sum(amount) filter (where credit_side = 'used'), 0) as used,
           coalesce(sum(amount) filter (where credit_side = 'expired'), 0) as expired,
           coalesce(sum(amount) filter (where credit_side = 'taken_back'), 0) as taken_back,
           coalesce(sum(case 'settled' when debit_side then amount when credit_side then -amount end), 0) as settled,
           coalesce(sum(amount) filter (where debit_side = 'pooled'), 0) as pooled
      from ${entriesSince(since)} e group by environment_id, ledger_account_id`;
  return withKept(
    since,
    found,
    sql`select environment_id, ledger_account_id, granted, used, expired, taken_back, settled, pooled from check_account_sums`,
  );
}

/** The usage of each account at each price, and the part covered by credits, those of credit pools included. One or several rows each. */
export function usageOfPrices(since: Since): RawBuilder<unknown> {
  const found = sql`
    select e.environment_id, e.ledger_account_id, e.price_id, sum(e.amount) as used,
           sum(case e.debit_side when 'pooled' then e.amount else coalesce(a.amount, 0) end) as covered
      from ${entriesSince(since)} e
      left join (select environment_id, ledger_entry_id, sum(amount) as amount
                   from ${applicationsSince(since)} applied group by environment_id, ledger_entry_id) a
        on a.environment_id = e.environment_id and a.ledger_entry_id = e.id
     where e.credit_side = 'used' and e.price_id is not null group by e.environment_id, e.ledger_account_id, e.price_id`;
  return withKept(
    since,
    found,
    sql`select environment_id, ledger_account_id, price_id, used, covered from check_price_sums`,
  );
}

/** The granted, expired and taken back amounts in the entries of each credit. One or several rows per credit. */
export function entriesOfCredits(since: Since): RawBuilder<unknown> {
  const found = sql`
    select environment_id, usage_credit_id,
           coalesce(sum(amount) filter (where debit_side = 'granted'), 0) as granted,
           coalesce(sum(amount) filter (where credit_side = 'expired'), 0) as expired,
           coalesce(sum(amount) filter (where credit_side = 'taken_back'), 0) as taken_back
      from ${entriesSince(since)} e where usage_credit_id is not null group by environment_id, usage_credit_id`;
  return withKept(
    since,
    found,
    sql`select environment_id, usage_credit_id, granted, expired, taken_back from check_credit_sums`,
  );
}

/** The applied amount of each credit. One or several rows per credit. */
export function appliedOfCredits(since: Since): RawBuilder<unknown> {
  const found = sql`
    select environment_id, usage_credit_id, sum(amount) as applied
      from ${applicationsSince(since)} a group by environment_id, usage_credit_id`;
  return withKept(since, found, sql`select environment_id, usage_credit_id, applied from check_credit_sums`);
}

/**
 * The number and amounts of the events of each series, in total and for the first ones with their properties. One or
 * several rows per series.
 */
export function eventsOfSeries(since: Since): RawBuilder<unknown> {
  const found = sql`
    select e.environment_id, e.series_id, count(*) as events, sum(e.amount) as amount,
           coalesce(sum(e.amount) filter (where d.usage_event_id is not null), 0) as first_amount,
           count(d.usage_event_id) as firsts
      from ${eventsSince(since)} e
      left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
     group by e.environment_id, e.series_id
     union all
    select environment_id, series_id, events, amount, first_amount, firsts from ${archivedSince(since)} a`;
  return withKept(
    since,
    found,
    sql`select environment_id, series_id, events, amount, first_amount, firsts from check_series_sums`,
  );
}

/** The last stored time of each account's entries; empty without stored sums. */
export function lastOfAccounts(since: Since): RawBuilder<unknown> {
  const columns = sql`environment_id, ledger_account_id, last_created_at,
    granted + settled + pooled - used - expired - taken_back as available`;
  return since === null
    ? sql`select ${columns} from check_account_sums where false`
    : sql`select ${columns} from check_account_sums`;
}
