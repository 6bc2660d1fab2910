import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type Health, mostToLookAt } from './health.ts';
import {
  checkCohorts,
  type MoneyPart,
  type PaymentsReport,
  type RetentionPart,
  type RevenueReport,
  type UsagePart,
} from './money-report.ts';
import { flowsOf, type MrrGrouping, type MrrMovements } from './mrr-report.ts';
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
type MrrQuery = ReportQuery & { readonly groupBy?: MrrGrouping | null | undefined };

/** The movements of the monthly recurring revenue of the environment over time. */
export async function readMovements(work: Work, { groupBy = null, ...query }: MrrQuery): Promise<MrrMovements> {
  const range = toReportRange(query, work.now);
  const { rows, knownTo } = await store.sumMovements(work, range, groupBy);
  return { range, groupBy, currency: work.currency, flows: flowsOf(rows, range, knownTo) };
}

/** How the recurring revenue of customers is kept, at each point and by cohorts. */
export async function readRetention(work: Work, query: ReportQuery): Promise<RetentionPart> {
  const movements = await readMovements(work, query);
  const { range } = movements;
  checkCohorts(range);
  return { movements, kept: await store.sumKept(work, range), cohorts: await store.sumCohorts(work, range) };
}

/** Invoiced and credited revenue, and the money that was collected and refunded. */
export async function readRevenue(
  work: Work,
  { groupBy = null, ...query }: ReportQuery & { readonly groupBy?: RevenueReport['groupBy'] | undefined },
): Promise<MoneyPart> {
  const range = toReportRange(query, work.now);
  return { range, rows: await store.sumRevenue(work, range, groupBy), currency: work.currency };
}

/** Payments that succeeded, failed and were recovered. */
export async function readPayments(
  work: Work,
  { groupBy = null, ...query }: ReportQuery & { readonly groupBy?: PaymentsReport['groupBy'] | undefined },
): Promise<MoneyPart> {
  const range = toReportRange(query, work.now);
  return { range, rows: await store.sumPayments(work, range, groupBy), currency: work.currency };
}

/** The usage of all meters. */
export async function readUsage(work: Work, query: ReportQuery): Promise<UsagePart> {
  const range = toReportRange(query, work.now);
  return { range, rows: await store.sumUsage(work, range) };
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
