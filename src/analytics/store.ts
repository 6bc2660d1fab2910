import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { hourMs, hourOf, splitAtDays } from '../usage/event-query.ts';
import { metersWithin } from '../usage/store-summary.ts';
import type { CohortSums, KeptSums, MeterSums, MoneySums, PaymentsReport, RevenueReport } from './money-report.ts';
import type { MovementSums, MrrGrouping } from './mrr-report.ts';
import { monthOf, type ReportRange, startOf, startsFrom } from './report-range.ts';

/** Until when the balances reach; null: there is none yet. */
async function findLastBalance(work: Work): Promise<Instant | null> {
  const { rows } = await sql<{ untilAt: Instant | null }>`
    select max(until_at) as until_at from mrr_balances where environment_id = ${work.environmentId}`.execute(work.db);
  return rows[0]?.untilAt ?? null;
}

interface Grouped {
  readonly key: RawBuilder<unknown>;
  readonly name: RawBuilder<unknown>;
}

const groupings: Readonly<Record<MrrGrouping, Grouped>> = {
  product: {
    key: sql`p.product_id`,
    name: sql`(select t.name from products t where t.environment_id = p.environment_id and t.id = p.product_id)`,
  },
  price: { key: sql`p.id`, name: sql`p.name` },
  interval: {
    key: sql`p.interval_count || ' ' || p.interval_unit`,
    name: sql`p.interval_count || ' ' || p.interval_unit`,
  },
};

/**
 * The movements of a range by type and group. Balances at the boundaries of months that are over are read in place of
 * the movements: `knownTo` is the last such boundary. Before the range one balance is read, and the movements since.
 */
export async function sumMovements(
  work: Work,
  { boundaries, from, to }: ReportRange,
  groupBy: MrrGrouping | null,
): Promise<{ rows: MovementSums[]; knownTo: number }> {
  const last = await findLastBalance(work);
  const isKnown = (at: Instant) => last !== null && at <= last && at === monthOf(at);
  const firstUnknown = boundaries.findIndex((at) => !isKnown(at));
  const known = firstUnknown === -1 ? boundaries : boundaries.slice(0, firstUnknown);
  const balances = known.length > 0 || last === null ? known : [Math.min(monthOf(from), last)];
  const since = balances.at(-1) ?? null;
  const { key, name } = groupBy === null ? { key: sql`null`, name: sql`null` } : groupings[groupBy];
  const { rows } = await sql<MovementSums>`
    with summed as (
      select asked.position - 1 as point, true as is_balance, b.currency, b.price_id, b.type,
             sum(b.amount) as amount, sum(b.customers) as customers
        from unnest(${balances}::bigint[]) with ordinality as asked (at, position)
       cross join lateral (select max(until_at) as until_at from mrr_balances
                            where environment_id = ${work.environmentId} and until_at <= asked.at) last
        join mrr_balances b on b.environment_id = ${work.environmentId} and b.until_at = last.until_at
       group by 1, 2, 3, 4, 5
       union all
      select width_bucket(m.occurred_at, ${boundaries}::bigint[]), false, m.currency, m.price_id, m.type,
             sum(m.amount), sum(m.customers)
        from mrr_movements m
       where m.environment_id = ${work.environmentId} and m.occurred_at < ${to}
         ${since === null ? sql`` : sql`and m.occurred_at >= ${since}`}
       group by 1, 2, 3, 4, 5
    )
    select s.point, s.is_balance, s.currency, ${key} as key, min(${name}) as name, s.type, sum(s.amount) as amount,
           sum(s.customers)::bigint as customers
      from summed s
      left join prices p on p.environment_id = ${work.environmentId} and p.id = s.price_id
     group by 1, 2, 3, 4, 6`.execute(work.db);
  return { rows, knownTo: Math.max(known.length - 1, 0) };
}

/**
 * The movements at each point of the customers who had MRR at its start: the change of what each of them has, and the
 * part of it that was lost. Points that begin with their interval are sums of days, less what moved on the last day after
 * the range. Another first point is read movement by movement.
 */
export async function sumKept(work: Work, range: ReportRange): Promise<KeptSums[]> {
  const { environmentId, currency } = work;
  const { boundaries, from, to, interval } = range;
  const begun = Math.min(startsFrom(from, interval), to);
  const unit = sql.lit(interval);
  const parts: RawBuilder<unknown>[] = [];
  if (from < begun)
    parts.push(sql`
      select 1 as point, sum(moved.amount) as moved, sum(least(moved.amount, 0)) as lost
        from (select sum(m.amount) as amount, (array_agg(m.customer_amount order by m.position desc))[1] - sum(m.amount) as before
                from mrr_movements m
               where m.environment_id = ${environmentId} and m.occurred_at >= ${from} and m.occurred_at < ${begun}
                 and m.currency = ${currency}
               group by m.customer_id) moved
       where moved.before > 0`);
  if (begun < to) {
    const { days, outside } = splitAtDays({ from: begun, to });
    parts.push(sql`
      select width_bucket(r.at, ${boundaries}::bigint[]) as point, r.amount as moved, r.lost
        from mrr_retention r
       where r.environment_id = ${environmentId} and r.interval_unit = ${unit} and r.cohort_at is null and r.currency = ${currency}
         and r.at >= ${days.from} and r.at < ${days.to}`);
    for (const part of outside)
      parts.push(sql`
        select ${boundaries.length - 1}::integer, - m.amount, least(m.after - m.amount - b.amount, 0) - least(m.after - b.amount, 0)
          from (select m.customer_id, min(m.occurred_at) as occurred_at, sum(m.amount) as amount, min(m.customer_amount) as after
                  from mrr_movements m
                 where m.environment_id = ${environmentId} and m.occurred_at >= ${part.from} and m.occurred_at < ${part.to}
                   and m.currency = ${currency}
                 group by m.customer_id, m.position) m
         cross join lateral (select mrr_before(${environmentId}, m.customer_id, interval_start(${unit}, m.occurred_at)) as amount) b
         where b.amount > 0`);
  }
  const { rows } = await sql<KeptSums>`
    select point, sum(moved) as moved, sum(lost) as lost from (${sql.join(parts, sql` union all `)}) part
     group by point having sum(moved) is not null`.execute(work.db);
  return rows;
}

/**
 * The movements, at each point, of the customers whose first movement was at a point of the range. They are summed up by
 * weeks and months. Movements of the first and the last one are read one by one where the range cuts these.
 */
export async function sumCohorts(work: Work, range: ReportRange): Promise<CohortSums[]> {
  const { environmentId, currency } = work;
  const { boundaries, from, to, interval } = range;
  const unit = interval === 'day' ? null : interval === 'week' ? 'week' : 'month';
  const begun = unit === null ? to : Math.min(startsFrom(from, unit), to);
  const ended = unit === null ? to : Math.max(startOf(to, unit), begun);
  const point = (at: RawBuilder<unknown>) => sql`width_bucket(${at}, ${boundaries}::bigint[])`;
  const one = (condition: RawBuilder<unknown>) => sql`
    select ${point(sql`m.cohort_at`)} as cohort, ${point(sql`m.occurred_at`)} as point, m.amount, m.customers,
           (m.type = 'new' and m.customers = 1)::integer as made
      from mrr_movements m
     where m.environment_id = ${environmentId} and m.currency = ${currency} and m.occurred_at < ${to} and ${condition}`;
  const parts = [
    one(sql`m.cohort_at >= ${from} and m.cohort_at < ${begun}`),
    ...(ended < to ? [one(sql`m.cohort_at >= ${begun} and m.occurred_at >= ${ended}`)] : []),
    ...(begun < ended
      ? [
          sql`
    select ${point(sql`r.cohort_at`)}, ${point(sql`r.at`)}, r.amount, r.customers, r.made
      from mrr_retention r
     where r.environment_id = ${environmentId} and r.interval_unit = ${unit} and r.currency = ${currency}
       and r.cohort_at >= ${begun} and r.at >= ${begun} and r.at < ${ended}`,
        ]
      : []),
  ];
  const { rows } = await sql<CohortSums>`
    select cohort, point, sum(amount) as amount, sum(customers)::bigint as customers,
           sum(sum(made)) over (partition by cohort)::bigint as made
      from (${sql.join(parts, sql` union all `)}) part
     group by cohort, point`.execute(work.db);
  return rows;
}

const nothing = sql`null::text`;

/** Sums of days and of single records, which add up by currency, key and point. A sum of no record is left out. */
async function addedUp(work: Work, parts: readonly RawBuilder<unknown>[]): Promise<MoneySums[]> {
  const { rows } = await sql<MoneySums>`
    select kind, currency, key, point, sum(count)::bigint as count, sum(amount) as amount, sum(tax) as tax
      from (${sql.join(parts, sql` union all `)}) part
     group by 1, 2, 3, 4 having sum(count) <> 0`.execute(work.db);
  return rows;
}

/** The point of an instant. The first and the last day may begin before the range or end after it. */
function pointAt(instant: RawBuilder<unknown>, { boundaries }: ReportRange): RawBuilder<unknown> {
  return sql`least(greatest(width_bucket(${instant}, ${boundaries}::bigint[]), 1), ${boundaries.length - 1}) as point`;
}

interface Dated {
  /** The name in the answer. */
  readonly kind: MoneySums['kind'];
  /** The name in the sums of days, and of the same records one by one. */
  readonly summed: 'invoiced' | 'succeeded' | 'recovered' | 'failed';
  readonly key: RawBuilder<unknown>;
  /** The key of a single record, where it stands elsewhere. */
  readonly keyOfRecord?: RawBuilder<unknown>;
}

const recordsOf = {
  invoiced: {
    table: sql`invoices`,
    at: sql`r.invoice_date`,
    matches: sql`r.status not in ('draft', 'void') and r.consolidated_into is null`,
  },
  succeeded: { table: sql`payments`, at: sql`r.settlement_date`, matches: sql`r.status in ('succeeded', 'refunded')` },
  recovered: {
    table: sql`payments`,
    at: sql`r.settlement_date`,
    matches: sql`r.status in ('succeeded', 'refunded') and r.attempt_number > 1`,
  },
  failed: { table: sql`payments`, at: sql`r.created_at`, matches: sql`r.status = 'failed'` },
};

/** The sums of the days that a range touches, less the records of these days that are not in it. */
function sumsOfDays(
  work: Work,
  range: ReportRange,
  { kind, summed, key, keyOfRecord = key }: Dated,
): RawBuilder<unknown>[] {
  const { environmentId } = work;
  const { table, at, matches } = recordsOf[summed];
  const { days, outside } = splitAtDays(range);
  const taxed = summed === 'invoiced';
  const [amount, tax] = taxed ? [sql`r.subtotal`, sql`r.tax_amount`] : [sql`r.amount`, sql`0`];
  return [
    sql`select ${sql.lit(kind)} as kind, r.currency, ${key} as key, ${pointAt(sql`r.day`, range)}, r.count, r.amount, r.tax
          from money_days r
         where r.environment_id = ${environmentId} and r.kind = ${sql.lit(summed)} and r.day >= ${days.from}::bigint
           and r.day < ${days.to}::bigint`,
    ...outside.map(
      ({ from, to }) => sql`
        select ${sql.lit(kind)}, r.currency, ${keyOfRecord}, ${pointAt(at, range)}, -1, - ${amount}, - ${tax}
          from ${table} r
         where r.environment_id = ${environmentId} and ${at} >= ${from}::bigint and ${at} < ${to}::bigint and ${matches}`,
    ),
  ];
}

/** Invoices and credit notes by their dates, and the money that came and went. */
export async function sumRevenue(
  work: Work,
  range: ReportRange,
  groupBy: RevenueReport['groupBy'],
): Promise<MoneySums[]> {
  const { environmentId } = work;
  const { from, to } = range;
  const key = groupBy === null ? nothing : sql`i.reason`;
  const invoiceOf = (record: string) =>
    sql`left join invoices i on i.environment_id = ${sql.ref(`${record}.environment_id`)} and i.id = ${sql.ref(`${record}.invoice_id`)}`;
  const invoiced = sumsOfDays(work, range, {
    kind: 'invoiced',
    summed: 'invoiced',
    key: groupBy === null ? nothing : sql`r.reason`,
  });
  const collected = sumsOfDays(work, range, {
    kind: 'collected',
    summed: 'succeeded',
    key: groupBy === null ? nothing : sql`r.reason`,
    keyOfRecord:
      groupBy === null
        ? nothing
        : sql`(select i.reason from invoices i where i.environment_id = r.environment_id and i.id = r.invoice_id)`,
  });
  // An invoice may be voided after its money was refunded. It counts nothing then, so nothing is taken back of it.
  const credited = sql`
    select 'credited', c.currency, ${key}, ${pointAt(sql`c.created_at`, range)}, 1, c.subtotal, c.tax_amount
      from credit_notes c
      ${invoiceOf('c')}
     where c.environment_id = ${environmentId} and c.created_at >= ${from} and c.created_at < ${to} and c.status <> 'void'
       and i.status <> 'void'`;
  const refunded = sql`
    select 'refunded', p.currency, ${key}, ${pointAt(sql`r.created_at`, range)}, 1, r.amount, 0
      from refunds r
      join payments p on p.environment_id = r.environment_id and p.id = r.payment_id
      ${groupBy === null ? sql`` : invoiceOf('p')}
     where r.environment_id = ${environmentId} and r.created_at >= ${from} and r.created_at < ${to} and r.status = 'succeeded'`;
  return addedUp(work, [...invoiced, credited, ...collected, refunded]);
}

const paymentKeys = { processor: sql`r.processor`, paymentMethod: sql`r.payment_method` };

/** Payments that arrived, and attempts that failed. */
export async function sumPayments(
  work: Work,
  range: ReportRange,
  groupBy: PaymentsReport['groupBy'],
): Promise<MoneySums[]> {
  const key = groupBy === null ? nothing : paymentKeys[groupBy];
  const kinds = ['succeeded', 'recovered', 'failed'] as const;
  return addedUp(
    work,
    kinds.flatMap((kind) => sumsOfDays(work, range, { kind, summed: kind, key })),
  );
}

/** The usage of each meter from the roll-ups of whole hours. */
export async function sumUsage(work: Work, range: ReportRange): Promise<MeterSums[]> {
  const hours = { from: hourOf(range.from), to: hourOf(range.to + hourMs - 1) };
  const { rows } = await sql<MeterSums>`
    select m.id as usage_meter_id, m.name, m.slug, summed.point, summed.units, summed.events
      from (select e.usage_meter_id, ${pointAt(sql`e.hour`, range)}, sum(e.units) as units, sum(e.events)::bigint as events
              from ${metersWithin(work, hours)}
             group by 1, 2 having sum(e.events) <> 0) summed
      join usage_meters m on m.environment_id = ${work.environmentId} and m.id = summed.usage_meter_id`.execute(
    work.db,
  );
  return rows;
}

/** Closes idle roll-ups, merges the sums of days, and adds roll-ups to the months of customers. */
export async function mergeSums(database: Database, atMost: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select close_idle_rollups(${atMost}) + merge_daily_sums(${atMost}) + sum_usage_months(${atMost}) as count`.execute(
    database,
  );
  return rows[0]?.count ?? 0;
}

/** Takes balances of months that are over, of one environment. Returns their number. */
export async function takeBalances(database: Database, atMost: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select take_mrr_balances(${atMost}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}
