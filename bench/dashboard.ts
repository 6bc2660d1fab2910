import { fork } from 'node:child_process';
import { once } from 'node:events';
import { withCosts } from './costs.ts';
import { multiplyCustomers } from './dashboard-population.ts';
import type { Measured, Row } from './measured.ts';
import { ask, type BenchService } from './running.ts';

const customers = Number(process.env.BENCH_CUSTOMERS ?? 100_000);
// As many as a customer of the demo has in two years.
const eventsOfCustomer = 50;
const rounds = 20;
const dayMs = 86_400_000;
const limitMs = 100;
const homeLimitMs = 300;

/** Fills the test environment with the company of `npm run demo`, many times over. */
async function fill(service: BenchService): Promise<void> {
  const env = { ...process.env, TOLLKEEPER_URL: service.address, TOLLKEEPER_TEST_KEY: service.key };
  const demo = fork(new URL('../examples/demo.ts', import.meta.url).pathname, { env, stdio: 'ignore' });
  const [code] = await once(demo, 'exit');
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
  await multiplyCustomers(service.databaseUrl, { customers, events: customers * eventsOfCustomer });
}

interface Listed {
  readonly data: readonly { readonly id: string; readonly externalId: string; readonly invoiceNumber: string | null }[];
}

/** The requests of each page of the dashboard. */
async function requestsOfPages(service: BenchService): Promise<Readonly<Record<string, readonly string[]>>> {
  const first = async (path: string) => {
    const { data } = await ask<Listed>(service, 'GET', path);
    const [row] = data;
    if (row === undefined) throw new Error(`${path} is empty`);
    return row;
  };
  const page = 'limit=25&order=desc';
  // The oldest customer has the longest history.
  const customer = await first('/customers?limit=1&order=asc');
  const invoice = await first(`/invoices?limit=1&order=asc&customerId=${customer.id}`);
  const payment = await first(`/payments?limit=1&order=asc&customerId=${customer.id}`);
  const meter = await first('/usage-meters?limit=1');
  const { testClock } = await ask<{ testClock: { now: number } }>(service, 'GET', '/test-clock');
  const { data: named } = await ask<Listed>(service, 'GET', `/customers?${page}`);
  const names = `/customers?limit=100&ids=${named.map(({ id }) => id).join(',')}`;
  const count = (list: string, status: string) => `/${list}?limit=1&status=${status}`;
  const usage = (days: number, by: string) =>
    `/usage-meters/${meter.id}/summary?groupBy=${by}&from=${testClock.now - days * dayMs}`;
  const today = new Date(testClock.now);
  const monthsAgo = (months: number) => Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months, 1);
  const ranking = (months: number) =>
    `/usage-meters/${meter.id}/summary?groupBy=customer&from=${monthsAgo(months)}&to=${monthsAgo(months - 1)}`;
  const reports = ['mrr', 'revenue', 'payments', 'churn', 'retention', 'usage'];
  return {
    home: [
      ...reports.map((report) => `/analytics/${report}?interval=month`),
      ...[count('subscriptions', 'active'), count('subscriptions', 'trialing'), '/analytics/attention'],
    ],
    search: ['/customers?limit=5&search=harbor', `/customers?limit=5&search=${customer.externalId}`],
    customers: [`/customers?${page}`, `/customers?${page}&archived=false`, `/customers?${page}&search=labs`],
    customer: [
      ...['billing', 'entitlements', 'ledger'].map((part) => `/customers/${customer.externalId}/${part}`),
      ...['invoices', 'payments', 'payment-methods'].map((list) => `/${list}?${page}&customerId=${customer.id}`),
      ...[`/events?${page}&objectId=${customer.id}`, `/audit-log?${page}&recordId=${customer.id}`],
    ],
    subscriptions: [`/subscriptions?${page}`, `/subscriptions?${page}&status=active`, names],
    invoices: [
      `/invoices?${page}`,
      `/invoices?${page}&status=open`,
      `/invoices?${page}&status=paid`,
      `/invoices?${page}&pastDue=true`,
    ],
    invoice: [
      `/invoices/${invoice.id}`,
      `/invoices/${invoice.id}/explain`,
      `/payments?${page}&invoiceId=${invoice.id}`,
    ],
    payments: [`/payments?${page}`, `/payments?${page}&status=failed`, `/payments/${payment.id}`],
    'credit-notes': [`/credit-notes?${page}`],
    catalog: ['/pricing-models?limit=100', '/pricing-models/default'],
    usage: [
      ...[usage(1, 'hour'), usage(30, 'day'), usage(365, 'month'), ranking(0), ranking(1)],
      `/usage-events?${page}&usageMeterId=${meter.id}`,
    ],
    events: [`/events?${page}`, `/events?${page}&type=subscription.updated`],
    'audit-log': [`/audit-log?${page}`, `/audit-log?${page}&record=invoices`],
    others: [`/webhooks?${page}`, `/api-keys?${page}`, '/settings', '/test-clock'],
  };
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  // The first two warm up.
  for (let round = 0; round < rounds + 2; round++) {
    const from = performance.now();
    await act();
    if (round >= 2) times.push(performance.now() - from);
  }
  return times.sort((one, other) => one - other)[Math.ceil(rounds * 0.95) - 1] ?? 0;
}

/** The p95 of each request that a page makes, one after the other, and of the first page as a whole. */
async function measure(service: BenchService): Promise<{ readonly slowest: number; readonly home: number }> {
  const pages = await requestsOfPages(service);
  const all: number[] = [];
  for (const [page, paths] of Object.entries(pages)) {
    for (const path of paths) {
      const p95 = await timed(() => ask(service, 'GET', path));
      all.push(p95);
      const mark = p95 > limitMs ? ' above the limit' : '';
      console.log(`  ${page.padEnd(14)} ${p95.toFixed(1).padStart(8)} ms  ${path.replace(/ids=.*/, 'ids=...')}${mark}`);
    }
  }
  const home = await timed(() => Promise.all((pages.home ?? []).map((path) => ask(service, 'GET', path))));
  console.log(`  ${'home'.padEnd(14)} ${home.toFixed(1).padStart(8)} ms  all at once, limit ${homeLimitMs}`);
  return { slowest: Math.max(...all), home };
}

async function dashboard(service: BenchService): Promise<Measured> {
  await fill(service);
  const { answer, costs } = await withCosts(service, () => measure(service));
  return {
    value: answer.slowest,
    unit: 'ms',
    limit: limitMs,
    note: `${customers} customers, the slowest p95; first page at once ${Math.round(answer.home)} ms of ${homeLimitMs}`,
    costs,
    each: 'round',
    count: rounds,
  };
}

export const dashboardRows: Readonly<Record<string, Row>> = { dashboard };
