import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { hourOf } from '../usage/event-query.ts';
import { rollUpsWithin } from '../usage/store-read.ts';
import type { CohortSums, KeptSums, MeterSums, MoneySums, PaymentsReport, RevenueReport } from './money-report.ts';
import type { MovementSums, MrrGrouping } from './mrr-report.ts';
import { monthOf, type ReportRange } from './report-range.ts';

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
 * part of it that was lost.
 */
export async function sumKept(work: Work, { boundaries, from, to }: ReportRange): Promise<KeptSums[]> {
  const { rows } = await sql<KeptSums>`
    select moved.point, sum(moved.amount) as moved, sum(least(moved.amount, 0)) as lost
      from (select width_bucket(m.occurred_at, ${boundaries}::bigint[]) as point, sum(m.amount) as amount,
                   (array_agg(m.customer_amount order by m.position desc))[1] - sum(m.amount) as before
              from mrr_movements m
             where m.environment_id = ${work.environmentId} and m.occurred_at >= ${from} and m.occurred_at < ${to}
               and m.currency = ${work.currency}
             group by m.customer_id, 1) moved
     where moved.before > 0
     group by moved.point`.execute(work.db);
  return rows;
}

/** The movements, at each point, of the customers whose first movement was at a point of the range. */
export async function sumCohorts(work: Work, { boundaries, from, to }: ReportRange): Promise<CohortSums[]> {
  const { rows } = await sql<CohortSums>`
    select c.*, sum(c.first_ones) over (partition by c.cohort)::bigint as made
      from (select width_bucket(m.cohort_at, ${boundaries}::bigint[]) as cohort,
                   width_bucket(m.occurred_at, ${boundaries}::bigint[]) as point,
                   sum(m.amount) as amount, sum(m.customers)::bigint as customers,
                   count(*) filter (where m.type = 'new' and m.customers = 1) as first_ones
              from mrr_movements m
             where m.environment_id = ${work.environmentId} and m.cohort_at >= ${from} and m.cohort_at < ${to}
               and m.occurred_at < ${to} and m.currency = ${work.currency}
             group by 1, 2) c`.execute(work.db);
  return rows;
}

const nothing = sql`null::text`;

/** Invoices and credit notes by their dates, and the money that came and went. */
export async function sumRevenue(
  work: Work,
  { boundaries, from, to }: ReportRange,
  groupBy: RevenueReport['groupBy'],
): Promise<MoneySums[]> {
  const key = groupBy === null ? nothing : sql`i.reason`;
  const at = (instant: RawBuilder<unknown>) => sql`width_bucket(${instant}, ${boundaries}::bigint[]) as point`;
  const { rows } = await sql<MoneySums>`
    select 'invoiced' as kind, i.currency, ${key} as key, ${at(sql`i.invoice_date`)}, count(*) as count,
           sum(i.subtotal) as amount, sum(i.tax_amount) as tax
      from invoices i
     where i.environment_id = ${work.environmentId} and i.invoice_date >= ${from} and i.invoice_date < ${to}
       and i.status not in ('draft', 'void')
     group by 1, 2, 3, 4
     union all
    select 'credited', c.currency, ${key}, ${at(sql`c.created_at`)}, count(*), sum(c.subtotal), sum(c.tax_amount)
      from credit_notes c
      join invoices i on i.environment_id = c.environment_id and i.id = c.invoice_id
     where c.environment_id = ${work.environmentId} and c.created_at >= ${from} and c.created_at < ${to} and c.status <> 'void'
     group by 1, 2, 3, 4
     union all
    select 'collected', p.currency, ${key}, ${at(sql`p.settlement_date`)}, count(*), sum(p.amount), 0
      from payments p
      left join invoices i on i.environment_id = p.environment_id and i.id = p.invoice_id
     where p.environment_id = ${work.environmentId} and p.settlement_date >= ${from} and p.settlement_date < ${to}
       and p.status in ('succeeded', 'refunded')
     group by 1, 2, 3, 4
     union all
    select 'refunded', p.currency, ${key}, ${at(sql`r.created_at`)}, count(*), sum(r.amount), 0
      from refunds r
      join payments p on p.environment_id = r.environment_id and p.id = r.payment_id
      left join invoices i on i.environment_id = p.environment_id and i.id = p.invoice_id
     where r.environment_id = ${work.environmentId} and r.created_at >= ${from} and r.created_at < ${to} and r.status = 'succeeded'
     group by 1, 2, 3, 4`.execute(work.db);
  return rows;
}

const paymentKeys = { processor: sql`p.processor`, paymentMethod: sql`p.payment_method` };

/** Payments that arrived, and attempts that failed. */
export async function sumPayments(
  work: Work,
  { boundaries, from, to }: ReportRange,
  groupBy: PaymentsReport['groupBy'],
): Promise<MoneySums[]> {
  const key = groupBy === null ? nothing : paymentKeys[groupBy];
  const arrived = (kind: string, more: RawBuilder<unknown>) => sql`
    select ${sql.lit(kind)} as kind, p.currency, ${key} as key, width_bucket(p.settlement_date, ${boundaries}::bigint[]) as point,
           count(*) as count, sum(p.amount) as amount, 0::numeric as tax
      from payments p
     where p.environment_id = ${work.environmentId} and p.settlement_date >= ${from} and p.settlement_date < ${to}
       and p.status in ('succeeded', 'refunded') ${more}
     group by 1, 2, 3, 4`;
  const { rows } = await sql<MoneySums>`
    ${arrived('succeeded', sql``)}
     union all
    ${arrived('recovered', sql`and p.attempt_number > 1`)}
     union all
    select 'failed', p.currency, ${key}, width_bucket(p.created_at, ${boundaries}::bigint[]), count(*), sum(p.amount), 0
      from payments p
     where p.environment_id = ${work.environmentId} and p.created_at >= ${from} and p.created_at < ${to} and p.status = 'failed'
     group by 1, 2, 3, 4`.execute(work.db);
  return rows;
}

const ofEverySeries = { extent: 'all', matches: sql`true`, table: sql`usage_series s` } as const;

/** The usage of each meter from the roll-ups of whole hours. */
export async function sumUsage(work: Work, { boundaries, from, to }: ReportRange): Promise<MeterSums[]> {
  const hours = { from: hourOf(from), to };
  const { rows } = await sql<MeterSums>`
    select m.id as usage_meter_id, m.name, m.slug, greatest(summed.point, 1) as point, sum(summed.units) as units,
           sum(summed.events)::bigint as events
      from (select s.usage_meter_id, width_bucket(e.hour, ${boundaries}::bigint[]) as point, sum(e.units) as units, sum(e.events) as events
              from ${rollUpsWithin(work, ofEverySeries, hours)}
              join usage_series s on s.environment_id = ${work.environmentId} and s.id = e.series_id
             group by 1, 2) summed
      join usage_meters m on m.environment_id = ${work.environmentId} and m.id = summed.usage_meter_id
     group by 1, 2, 3, 4`.execute(work.db);
  return rows;
}

/** Takes balances of months that are over, of one environment. Returns their number. */
export async function takeBalances(database: Database, atMost: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select take_mrr_balances(${atMost}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}
