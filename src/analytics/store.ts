import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
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

/** Takes balances of months that are over, of one environment. Returns their number. */
export async function takeBalances(database: Database, atMost: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select take_mrr_balances(${atMost}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}
