import { z } from 'zod';
import type { Parts } from '../database/cells.ts';
import type { Instant } from '../kernel/calendar.ts';
import { WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { inMinorUnits, type MrrMovements, openingsOf, ratioText } from './mrr-report.ts';
import { pointFields, pointsOf, type ReportRange, rangeFields } from './report-range.ts';

export const revenueGroupings = ['reason'] as const;
export const paymentGroupings = ['processor', 'paymentMethod'] as const;

const group = {
  currency: z.string(),
  key: z.string().nullable().meta({ description: 'The value of the grouping; null without groups.' }),
};

const RevenuePoint = z.object({
  ...pointFields,
  invoiced: WholeNumber.meta({
    description: 'The net amount of the invoices of this time, without tax. Drafts and void ones do not count.',
  }),
  tax: WholeNumber,
  credited: WholeNumber.meta({
    description: 'The net amount of the credit notes of this time. Void ones do not count, nor those of void invoices.',
  }),
  creditedTax: WholeNumber,
  net: WholeNumber.meta({ description: 'Invoiced less credited.' }),
  collected: WholeNumber.meta({ description: 'The money of payments that arrived in this time, with tax.' }),
  refunded: WholeNumber.meta({ description: 'The money of refunds of this time, with tax.' }),
});

/** Revenue over time. */
export const RevenueReport = z
  .object({
    ...rangeFields,
    groupBy: z.enum(revenueGroupings).nullable(),
    groups: z.array(z.object({ ...group, points: z.array(RevenuePoint) })),
  })
  .meta({ id: 'RevenueReport', description: 'Revenue over time, in the smallest unit of each currency.' });
export type RevenueReport = z.infer<typeof RevenueReport>;

const PaymentsPoint = z.object({
  ...pointFields,
  succeeded: z.int(),
  succeededAmount: WholeNumber.meta({ description: 'By the time at which the money arrived.' }),
  failed: z.int(),
  failedAmount: WholeNumber.meta({ description: 'By the time of the attempt.' }),
  recovered: z.int(),
  recoveredAmount: WholeNumber.meta({ description: 'Payments that succeeded after an earlier attempt had failed.' }),
});

/** Payments over time. */
export const PaymentsReport = z
  .object({
    ...rangeFields,
    groupBy: z.enum(paymentGroupings).nullable(),
    groups: z.array(z.object({ ...group, points: z.array(PaymentsPoint) })),
  })
  .meta({ id: 'PaymentsReport', description: 'Payments over time, in the smallest unit of each currency.' });
export type PaymentsReport = z.infer<typeof PaymentsReport>;

/** Usage over time. */
export const UsageReport = z
  .object({
    ...rangeFields,
    meters: z.array(
      z.object({
        usageMeterId: z.string(),
        name: z.string(),
        slug: z.string(),
        units: WholeNumber,
        events: z.int(),
        points: z.array(z.object({ ...pointFields, units: WholeNumber, events: z.int() })),
      }),
    ),
  })
  .meta({
    id: 'UsageReport',
    description:
      'Units and events of each usage meter by the hours of their `usageDate`. The most used meter is first.',
  });
export type UsageReport = z.infer<typeof UsageReport>;

const rate = z.string().nullable().meta({ description: 'A decimal text with six decimals.', example: '0.950000' });

/** How revenue and customers are kept. */
export const RetentionReport = z
  .object({
    ...rangeFields,
    currency: z.string(),
    points: z.array(
      z.object({
        ...pointFields,
        opening: WholeNumber.meta({ description: 'The MRR of all customers at the start.' }),
        netRetention: rate.meta({ description: 'The MRR of those customers at the end, by that at the start.' }),
        grossRetention: rate.meta({ description: 'The same without what any of them has more than at the start.' }),
      }),
    ),
    cohorts: z.array(
      z.object({
        ...pointFields,
        customers: z.int().meta({ description: 'The customers whose first MRR was in this time.' }),
        points: z.array(
          z.object({
            ...pointFields,
            customers: z.int().meta({ description: 'Those with MRR at the end of the point.' }),
            mrr: WholeNumber,
            customerRetention: rate,
            netRetention: rate.meta({ description: 'The MRR by that at the end of the first point.' }),
          }),
        ),
      }),
    ),
  })
  .meta({
    id: 'RetentionReport',
    description: 'Retention of revenue at each point, and of the customers of each point.',
  });
export type RetentionReport = z.infer<typeof RetentionReport>;

/** Sums of one kind at a point, counted from 1. */
export interface MoneySums {
  readonly currency: string;
  readonly key: string | null;
  readonly kind: 'invoiced' | 'credited' | 'collected' | 'refunded' | 'succeeded' | 'failed' | 'recovered';
  readonly point: number;
  readonly count: number;
  readonly amount: bigint;
  readonly tax: bigint;
}

/** Sums of a range in one cell. */
export interface MoneyPart {
  readonly range: ReportRange;
  readonly rows: readonly MoneySums[];
  /** The currency of the environment. */
  readonly currency: string;
}

/** The range of all cells, and the sums of each group by kind and point: those of all cells add up. */
function groupsOf(parts: Parts<MoneyPart>, groupBy: string | null) {
  const [{ range, currency }] = parts;
  const ofGroups = Map.groupBy(
    parts.flatMap(({ rows }) => rows),
    (row) => `${row.currency} ${row.key}`,
  );
  const groups = [...ofGroups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, ofGroup]) => {
      const sums = Map.groupBy(ofGroup, (row) => `${row.kind} ${row.point}`);
      const at = (kind: MoneySums['kind'], index: number) => sumOf(sums.get(`${kind} ${index + 1}`) ?? []);
      return { currency: ofGroup[0]?.currency ?? currency, key: ofGroup[0]?.key ?? null, at };
    });
  const none = { currency, key: null, at: () => sumOf([]) };
  return { range, groups: groups.length === 0 && groupBy === null ? [none] : groups };
}

function sumOf(rows: readonly MoneySums[]): Pick<MoneySums, 'count' | 'amount' | 'tax'> {
  const none = { count: 0, amount: 0n, tax: 0n };
  return rows.reduce((sum, row) => {
    return { count: sum.count + row.count, amount: sum.amount + row.amount, tax: sum.tax + row.tax };
  }, none);
}

const rangeOf = ({ from, to, interval }: ReportRange) => ({ from, to, interval });

/** The report on revenue, which adds up over cells. */
export function toRevenueReport(parts: Parts<MoneyPart>, groupBy: RevenueReport['groupBy'] = null): RevenueReport {
  const { range, groups: summed } = groupsOf(parts, groupBy);
  const groups = summed.map(({ at, ...rest }) => ({
    ...rest,
    points: pointsOf(range, (period, index) => {
      const [invoiced, credited] = [at('invoiced', index), at('credited', index)];
      return {
        ...period,
        invoiced: invoiced.amount,
        tax: invoiced.tax,
        credited: credited.amount,
        creditedTax: credited.tax,
        net: invoiced.amount - credited.amount,
        collected: at('collected', index).amount,
        refunded: at('refunded', index).amount,
      };
    }),
  }));
  return { ...rangeOf(range), groupBy, groups };
}

/** The report on payments, which adds up over cells. */
export function toPaymentsReport(parts: Parts<MoneyPart>, groupBy: PaymentsReport['groupBy'] = null): PaymentsReport {
  const { range, groups: summed } = groupsOf(parts, groupBy);
  const groups = summed.map(({ at, ...rest }) => ({
    ...rest,
    points: pointsOf(range, (period, index) => {
      const [succeeded, failed, recovered] = [at('succeeded', index), at('failed', index), at('recovered', index)];
      return {
        ...period,
        succeeded: succeeded.count,
        succeededAmount: succeeded.amount,
        failed: failed.count,
        failedAmount: failed.amount,
        recovered: recovered.count,
        recoveredAmount: recovered.amount,
      };
    }),
  }));
  return { ...rangeOf(range), groupBy, groups };
}

/** Usage of a meter at a point, counted from 1. */
export interface MeterSums {
  readonly usageMeterId: string;
  readonly name: string;
  readonly slug: string;
  readonly point: number;
  readonly units: bigint;
  readonly events: number;
}

/** The usage of a range in one cell. */
export interface UsagePart {
  readonly range: ReportRange;
  readonly rows: readonly MeterSums[];
}

/** The report on usage, which adds up over cells. */
export function toUsageReport(parts: Parts<UsagePart>): UsageReport {
  const [{ range }] = parts;
  const rows = parts.flatMap((part) => part.rows);
  const sumOfAll = (some: readonly MeterSums[]) => ({
    units: some.reduce((sum, { units }) => sum + units, 0n),
    events: some.reduce((sum, { events }) => sum + events, 0),
  });
  const meters = [...Map.groupBy(rows, ({ usageMeterId }) => usageMeterId).values()].map((ofMeter) => {
    const sums = Map.groupBy(ofMeter, ({ point }) => point);
    const [{ usageMeterId, name, slug } = { usageMeterId: '', name: '', slug: '' }] = ofMeter;
    return {
      usageMeterId,
      name,
      slug,
      ...sumOfAll(ofMeter),
      points: pointsOf(range, (period, index) => ({ ...period, ...sumOfAll(sums.get(index + 1) ?? []) })),
    };
  });
  meters.sort((a, b) => b.events - a.events || (a.usageMeterId < b.usageMeterId ? -1 : 1));
  return { ...rangeOf(range), meters };
}

/** The maximum number of points: a cohort has a value at each later one. */
const maxCohorts = 60;

/** Refuses a range of too many cohorts. */
export function checkCohorts({ boundaries }: ReportRange): void {
  const count = boundaries.length - 1;
  if (count > maxCohorts)
    throw invalid(
      ['interval'],
      `results in ${count} points, more than the maximum of ${maxCohorts}: use a shorter range or a longer interval`,
    );
}

/** The change, at a point, of what the customers with MRR at its start have; and the part of it that was lost. Fine. */
export interface KeptSums {
  readonly point: number;
  readonly moved: bigint;
  readonly lost: bigint;
}

/** The movements, at a point, of the customers of a cohort. Both are counted from 1. Fine. */
export interface CohortSums {
  readonly cohort: number;
  readonly point: number;
  readonly amount: bigint;
  readonly customers: number;
  /** The number of customers of the cohort in this cell. */
  readonly made: number;
}

/** The part of one cell in the report on retention. */
export interface RetentionPart {
  readonly movements: MrrMovements;
  readonly kept: readonly KeptSums[];
  readonly cohorts: readonly CohortSums[];
}

/** The report on retention: rates are of the sums of all cells. */
export function toRetentionReport(parts: Parts<RetentionPart>): RetentionReport {
  const [{ movements }, ...others] = parts;
  const { range, currency } = movements;
  const openings = openingsOf([movements, ...others.map((other) => other.movements)]);
  const keptAt = Map.groupBy(
    parts.flatMap(({ kept }) => kept),
    ({ point }) => point,
  );
  const cohortAt = Map.groupBy(
    parts.flatMap(({ cohorts }) => cohorts),
    ({ cohort, point }) => `${cohort} ${point}`,
  );
  const periods = pointsOf(range, (period): { start: Instant; end: Instant } => period);
  return {
    ...rangeOf(range),
    currency,
    points: periods.map((period, index) => {
      const { exact, rounded } = openings[index] ?? { exact: 0n, rounded: 0n };
      const sums = keptAt.get(index + 1) ?? [];
      const moved = sums.reduce((sum, each) => sum + each.moved, 0n);
      const lost = sums.reduce((sum, each) => sum + each.lost, 0n);
      return {
        ...period,
        opening: rounded,
        netRetention: ratioText(exact + moved, exact),
        grossRetention: ratioText(exact + lost, exact),
      };
    }),
    cohorts: periods.map((period, cohort) => {
      let [amount, customers] = [0n, 0];
      const totals = periods.slice(cohort).map((point, later) => {
        for (const sums of cohortAt.get(`${cohort + 1} ${cohort + later + 1}`) ?? []) {
          amount += sums.amount;
          customers += sums.customers;
        }
        return { point, amount, customers };
      });
      const [first = { amount: 0n, customers: 0 }] = totals;
      const made = parts.reduce(
        (sum, { cohorts }) => sum + (cohorts.find((each) => each.cohort === cohort + 1)?.made ?? 0),
        0,
      );
      return {
        ...period,
        customers: made,
        points: totals.map((total) => ({
          ...total.point,
          customers: total.customers,
          mrr: inMinorUnits(total.amount),
          customerRetention: ratioText(BigInt(total.customers), BigInt(made)),
          netRetention: ratioText(total.amount, first.amount),
        })),
      };
    }),
  };
}
