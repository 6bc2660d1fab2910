import assert from 'node:assert/strict';
import { ratioText } from '../../src/analytics/mrr-report.ts';
import type { Body, TestApp } from './harness.ts';

interface Reported {
  readonly environmentId: number;
  readonly get: (path: string) => Promise<Body>;
  readonly report: (name: string, query?: string) => Promise<Body>;
}

const hourMs = 3_600_000;
const mostCohorts = 60;

interface Counted {
  readonly at: number;
  readonly count: number;
  readonly sum: number;
  readonly key?: string | null;
}

/** The number of records in each point, and their sum. */
function inPoints(rows: readonly Counted[], points: readonly Body[]): [count: number, sum: number][] {
  return points.map(({ start: from, end: to }) => {
    const own = rows.filter(({ at }) => at >= from && at < to);
    return [own.reduce((all, { count }) => all + count, 0), own.reduce((all, { sum }) => all + sum, 0)];
  });
}

/** The records themselves, read as they are. */
async function recordsOf({ ownerPool }: Pick<TestApp, 'ownerPool'>, environmentId: number) {
  const read = async (query: string): Promise<Counted[]> => {
    const { rows } = await ownerPool.query(query, [environmentId]);
    return rows.map(({ at, count, sum, key }) => ({ at: Number(at), count: Number(count), sum: Number(sum), key }));
  };
  const paid = `from payments where environment_id = $1 and status in ('succeeded', 'refunded')`;
  return {
    invoiced: await read(
      `select invoice_date as at, 1 as count, subtotal as sum from invoices where environment_id = $1 and status not in ('draft', 'void')`,
    ),
    succeeded: await read(
      `select settlement_date as at, 1 as count, amount as sum,
              (select reason from invoices i where i.environment_id = $1 and i.id = payments.invoice_id) as key ${paid}`,
    ),
    recovered: await read(`select settlement_date as at, 1 as count, amount as sum ${paid} and attempt_number > 1`),
    failed: await read(
      `select created_at as at, 1 as count, amount as sum from payments where environment_id = $1 and status = 'failed'`,
    ),
    refunded: await read(
      `select created_at as at, 1 as count, amount as sum from refunds where environment_id = $1 and status = 'succeeded'`,
    ),
    used: await read(
      `select usage_date - usage_date % ${hourMs} as at, 1 as count, amount as sum from usage_events where environment_id = $1`,
    ),
  };
}

interface Moved {
  readonly customer: string;
  readonly at: number;
  readonly cohort: number;
  readonly amount: bigint;
  readonly customers: number;
}

async function movementsOf({ ownerPool }: Pick<TestApp, 'ownerPool'>, environmentId: number): Promise<Moved[]> {
  const { rows } = await ownerPool.query(
    `select customer_id as customer, min(occurred_at) as at, min(cohort_at) as cohort, sum(amount) as amount, sum(customers) as customers
       from mrr_movements where environment_id = $1 group by customer_id, position order by customer_id, position`,
    [environmentId],
  );
  return rows.map(({ customer, at, cohort, amount, customers }) => ({
    customer,
    at: Number(at),
    cohort: Number(cohort),
    amount: BigInt(amount),
    customers: Number(customers),
  }));
}

const sumOf = (moves: readonly Moved[]) => moves.reduce((sum, { amount }) => sum + amount, 0n);

/** Retention as it is defined: customer by customer, from every movement. */
function assertPlainRetention(moves: readonly Moved[], { points, cohorts }: Body): void {
  const customers = [...Map.groupBy(moves, ({ customer }) => customer).values()];
  assert.deepEqual(
    points.map((point: Body) => [point.netRetention, point.grossRetention]),
    points.map(({ start, end }: Body) => {
      const kept = customers
        .map((all) => ({
          opening: sumOf(all.filter(({ at }) => at < start)),
          closing: sumOf(all.filter(({ at }) => at < end)),
        }))
        .filter(({ opening }) => opening > 0n);
      const all = (amounts: readonly bigint[]) => amounts.reduce((sum, each) => sum + each, 0n);
      const opening = all(kept.map((each) => each.opening));
      const lower = kept.map((each) => (each.closing < each.opening ? each.closing : each.opening));
      return [ratioText(all(kept.map(({ closing }) => closing)), opening), ratioText(all(lower), opening)];
    }),
  );
  for (const { start, end, customers: made, points: later } of cohorts) {
    const own = moves.filter(({ cohort }) => cohort >= start && cohort < end);
    assert.equal(made, new Set(own.filter(({ at }) => at < later.at(-1).end).map(({ customer }) => customer)).size);
    for (const point of later) {
      const until = own.filter(({ at }) => at < point.end);
      const first = sumOf(own.filter(({ at }) => at < end));
      assert.equal(
        point.customers,
        until.reduce((sum, each) => sum + each.customers, 0),
      );
      assert.equal(point.netRetention, ratioText(sumOf(until), first));
    }
  }
}

/** Each report of a range is the plain sum over the records. */
export async function assertPlainSums(
  app: Pick<TestApp, 'ownerPool'>,
  { get, report, environmentId }: Reported,
  { from, to, interval }: { readonly from: number; readonly to: number; readonly interval: string },
): Promise<void> {
  const query = `from=${from}&to=${to}&interval=${interval}`;
  const records = await recordsOf(app, environmentId);
  const { points: money } = (await report('revenue', query)).groups[0];
  const sums = (rows: readonly Counted[]) => inPoints(rows, money).map(([, sum]) => sum);
  assert.deepEqual(
    money.map((point: Body) => point.invoiced),
    sums(records.invoiced),
  );
  assert.deepEqual(
    money.map((point: Body) => point.collected),
    sums(records.succeeded),
  );
  assert.deepEqual(
    money.map((point: Body) => point.refunded),
    sums(records.refunded),
  );
  const { groups: byReason } = await report('revenue', `${query}&groupBy=reason`);
  for (const { key, points } of byReason)
    assert.deepEqual(
      points.map((point: Body) => point.collected),
      inPoints(
        records.succeeded.filter(({ key: reason }) => reason === key),
        points,
      ).map(([, sum]) => sum),
    );
  if (money.length <= mostCohorts)
    assertPlainRetention(await movementsOf(app, environmentId), await report('retention', query));
  const { points: paid } = (await report('payments', query)).groups[0];
  for (const kind of ['succeeded', 'recovered', 'failed'] as const)
    assert.deepEqual(
      paid.map((point: Body) => [point[kind], point[`${kind}Amount`]]),
      inPoints(records[kind], paid),
    );
  const { meters } = await report('usage', query);
  // A report on usage is of whole hours: that of its first instant counts.
  const hours = records.used.map((event) =>
    event.at + hourMs > from && event.at < from ? { ...event, at: from } : event,
  );
  assert.deepEqual(
    meters.flatMap(({ points }: Body) => points.map((point: Body) => [point.events, point.units])),
    inPoints(hours, money).some(([count]) => count > 0) ? inPoints(hours, money) : [],
  );
  if (meters.length === 0) return;
  const days = interval === 'month' ? 'month' : 'day';
  const path = `/usage-meters/${meters[0].usageMeterId}/summary?groupBy=${days}&from=${from - (from % hourMs)}&to=${to - (to % hourMs) + hourMs}`;
  const { groups } = (await get(path)).usageMeterSummary;
  assert.deepEqual(
    groups.map((group: Body) => [group.events, group.units]),
    inPoints(records.used, groups),
  );
}
