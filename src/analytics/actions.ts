import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Health } from './health.ts';
import {
  checkCohorts,
  type PaymentsReport,
  type RetentionReport,
  type RevenueReport,
  toPaymentsReport,
  toRetentionReport,
  toRevenueReport,
  toUsageReport,
  type UsageReport,
} from './money-report.ts';
import {
  type ChurnReport,
  inMinorUnits,
  type MrrGrouping,
  type MrrMovements,
  type MrrReport,
  openingsOf,
  toChurnReport,
  toMrrReport,
} from './mrr-report.ts';
import { type ReportRange, toReportRange } from './report-range.ts';
import * as store from './store.ts';
import { type CountedAttention, type CountedWork, countAttention, countWork } from './store-health.ts';

/** The query of a report. */
interface ReportQuery {
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  readonly interval?: ReportRange['interval'] | undefined;
}

/** The query of a report on MRR. */
type MrrQuery = ReportQuery & { readonly groupBy?: MrrGrouping | undefined };

async function movementsOf(
  work: Work,
  { groupBy = null, ...query }: Omit<MrrQuery, 'groupBy'> & { groupBy?: MrrGrouping | null | undefined },
): Promise<MrrMovements> {
  const range = toReportRange(query, work.now);
  return { range, groupBy, currency: work.currency, ...(await store.sumMovements(work, range, groupBy)) };
}

/** The monthly recurring revenue of the environment over time. */
export async function reportMrr(work: Work, query: MrrQuery): Promise<MrrReport> {
  return toMrrReport(await movementsOf(work, query));
}

/** The customers and the recurring revenue that were lost over time. */
export async function reportChurn(work: Work, query: MrrQuery): Promise<ChurnReport> {
  return toChurnReport(await movementsOf(work, query));
}

/** How the recurring revenue of customers is kept, at each point and by cohorts. */
export async function reportRetention(work: Work, query: ReportQuery): Promise<RetentionReport> {
  const movements = await movementsOf(work, query);
  const { range, currency } = movements;
  checkCohorts(range);
  const kept = await store.sumKept(work, range);
  const cohorts = await store.sumCohorts(work, range);
  return toRetentionReport({ range, currency, openings: openingsOf(movements), kept, cohorts, round: inMinorUnits });
}

/** Invoiced and credited revenue, and the money that was collected and refunded. */
export async function reportRevenue(
  work: Work,
  { groupBy = null, ...query }: ReportQuery & { readonly groupBy?: RevenueReport['groupBy'] | undefined },
): Promise<RevenueReport> {
  const range = toReportRange(query, work.now);
  return toRevenueReport(
    { range, rows: await store.sumRevenue(work, range, groupBy), currency: work.currency },
    groupBy,
  );
}

/** Payments that succeeded, failed and were recovered. */
export async function reportPayments(
  work: Work,
  { groupBy = null, ...query }: ReportQuery & { readonly groupBy?: PaymentsReport['groupBy'] | undefined },
): Promise<PaymentsReport> {
  const range = toReportRange(query, work.now);
  return toPaymentsReport(
    { range, rows: await store.sumPayments(work, range, groupBy), currency: work.currency },
    groupBy,
  );
}

/** The usage of all meters. */
export async function reportUsage(work: Work, query: ReportQuery): Promise<UsageReport> {
  const range = toReportRange(query, work.now);
  return toUsageReport(range, await store.sumUsage(work, range));
}

// Months of one transaction, which keeps movements of its environment waiting, and the most transactions of a job.
const monthsAtOnce = 12;
const mostPortions = 1_000;

/** Takes the balances of months that are over, in every environment. Returns their number. */
export async function takeBalancesOnce(database: Database): Promise<number> {
  let taken = 0;
  for (let portion = 0; portion < mostPortions; portion++) {
    const count = await store.takeBalances(database, monthsAtOnce);
    taken += count;
    if (count === 0) break;
  }
  return taken;
}

// Rows of one transaction.
const sumsAtOnce = 5_000;

/** Closes idle roll-ups, merges the new sums of days and adds to those of months, in every environment. Returns the number of all. */
export async function mergeSumsOnce(database: Database): Promise<number> {
  let merged = 0;
  for (let portion = 0; portion < mostPortions; portion++) {
    const count = await store.mergeSums(database, sumsAtOnce);
    merged += count;
    if (count === 0) break;
  }
  return merged;
}

// A look at what there is to do needs no more.
export const mostToLookAt = 1000;
const failedDays = 7;
const dayMs = 86_400_000;

/** Counts what needs attention, in one statement. */
export function readAttention(work: Work): Promise<CountedAttention> {
  return countAttention(work, { since: work.now - failedDays * dayMs, mostCounted: mostToLookAt });
}

/** The work of the environment that is due, and how long the database took to count it. */
export async function readHealth(work: Work): Promise<{ database: Health['database']; work: CountedWork }> {
  const startedAt = performance.now();
  const { databaseVersion, ...counted } = await countWork(work, mostToLookAt);
  const roundTripMs = Math.round((performance.now() - startedAt) * 100) / 100;
  return { database: { version: databaseVersion, roundTripMs }, work: counted };
}
