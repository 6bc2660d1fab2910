import assert from 'node:assert/strict';
import { doDueWork } from '../../src/billing/do-due-work.ts';
import type { DueWorkHandler } from '../../src/billing/due-work-runner.ts';
import { interimHandler, renewHandler } from '../../src/billing/renew.ts';
import type { TestApp } from './harness.ts';

/**
 * Renews what is due by the clock, chunk by chunk, after usage that is billed within a period, and makes the charges of
 * each chunk. Answers how many.
 */
export async function renewDue(app: TestApp, limit = 500): Promise<number> {
  for (let renewed = 0; ; ) {
    const interims = await perform(app, interimHandler, limit);
    const ended = await perform(app, renewHandler, limit);
    if (interims + ended === 0) return renewed;
    renewed += ended;
    await app.runJobs({ all: true });
  }
}

async function perform(app: TestApp, handler: DueWorkHandler, limit: number): Promise<number> {
  const claimed = await app.inEachCell(async (work) => {
    const taken = await handler.take(work, limit);
    await handler.perform(work, taken);
    return taken.length;
  });
  return claimed.reduce((sum, each) => sum + each);
}

/** Does what is due in each cell. */
export async function doDueWorkOfCells(
  { cells, tasks, services }: TestApp,
  environmentId: number,
  options: Parameters<typeof doDueWork>[2],
): Promise<void> {
  for (const { database } of cells) await doDueWork({ database, tasks, services }, environmentId, options);
}

/** Lives through the time until `target`, stopping at each end of a period. Answers how many periods began. */
export async function renewUntil(app: TestApp, target: number): Promise<number> {
  for (let renewed = 0; ; ) {
    const next = await app.owner
      .selectFrom('subscriptions')
      .select('currentBillingPeriodEnd')
      .where('renews', '=', true)
      .where('status', 'in', ['trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled'])
      .where('currentBillingPeriodEnd', '<=', target)
      .orderBy('currentBillingPeriodEnd')
      .executeTakeFirst();
    await app.setClock(next?.currentBillingPeriodEnd ?? target);
    if (next === undefined) return renewed;
    const done = await renewDue(app);
    assert(done > 0, 'what is due is renewed');
    renewed += done;
  }
}

/** The billing periods of a subscription, the oldest first. */
export function periodsOf(app: TestApp, subscriptionId: string) {
  return app.owner
    .selectFrom('billingPeriods')
    .select(['startAt', 'endAt', 'status', 'trialPeriod'])
    .where('subscriptionId', '=', subscriptionId)
    .orderBy('startAt')
    .execute();
}

/** Each invoice of a subscription, the oldest first: its reason, the day it is of, its status, and its lines' amounts. */
export async function invoicesOf(app: TestApp, subscriptionId: string) {
  const invoices = await app.owner
    .selectFrom('invoices')
    .select(['id', 'reason', 'invoiceDate', 'status', 'total'])
    .where('subscriptionId', '=', subscriptionId)
    .orderBy('invoiceDate')
    .orderBy('id')
    .execute();
  const lines = await app.owner.selectFrom('invoiceLineItems').select(['invoiceId', 'amount']).orderBy('id').execute();
  return invoices.map(({ id, reason, invoiceDate, status, total }) => ({
    reason,
    day: day(invoiceDate),
    status,
    total: Number(total),
    lines: lines.filter((line) => line.invoiceId === id).map((line) => Number(line.amount)),
  }));
}

/** The day of an instant, in UTC: 2026-01-31. */
export function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
