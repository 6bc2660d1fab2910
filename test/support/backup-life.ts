import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { connected } from '../../bench/database.ts';
import { meterPlan, priceSlugs } from '../../bench/plans.ts';
import { type Body, send } from './harness.ts';

// A small life on a service in another process, for backups to be taken of.

const key = 'sk_test_backup';
const customers = ['ada', 'bob', 'cy'];

export interface Life {
  readonly subscriptionIds: readonly string[];
}

export async function ask(address: string, method: string, path: string, body?: unknown): Promise<Body> {
  const answer = await send(address, method, path, body, { key });
  assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Three customers of a plan with credits for three meters, and a webhook at `receiver`. */
export async function begin(address: string, receiver: string): Promise<Life> {
  await ask(address, 'POST', '/pricing-models/setup', meterPlan);
  await ask(address, 'POST', '/webhooks', { webhook: { name: 'Receiver', url: receiver, filterTypes: [] } });
  const subscriptionIds: string[] = [];
  for (const externalId of customers) {
    const { data } = await addCustomer(address, externalId);
    subscriptionIds.push(data.subscription.id);
  }
  return { subscriptionIds };
}

export function addCustomer(address: string, externalId: string): Promise<Body> {
  const customer = { externalId, email: `${externalId}@backup.test`, name: externalId };
  return ask(address, 'POST', '/customers', { customer });
}

/** Stores so many events, whose transaction ids begin with `label`. */
export async function use(address: string, { subscriptionIds }: Life, label: string, count: number): Promise<void> {
  const usageEvents = Array.from({ length: count }, (_, index) => ({
    subscriptionId: subscriptionIds[index % subscriptionIds.length],
    priceSlug: priceSlugs[index % priceSlugs.length],
    transactionId: `${label}-${String(index).padStart(4, '0')}`,
    amount: index + 1,
  }));
  await ask(address, 'POST', '/usage-events/bulk', { usageEvents });
}

/** What customers would see: their balances, billing and usage. */
export async function view(address: string): Promise<Body> {
  const seen: Body[] = [];
  for (const externalId of customers) {
    seen.push(await ask(address, 'GET', `/customers/${externalId}`));
    seen.push(await ask(address, 'GET', `/customers/${externalId}/usage-balances`));
  }
  return seen;
}

/** The transaction ids of all events, and how many rows each table of ours has. */
export async function contents(databaseUrl: string) {
  return connected(databaseUrl, async (client) => {
    const events = await client.query('select transaction_id as id from usage_events order by 1');
    const tables = await client.query(
      "select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace order by 1",
    );
    const counts: Record<string, number> = {};
    for (const { name } of tables.rows) {
      const { rows } = await client.query(`select count(*)::integer as count from ${name}`);
      counts[name] = rows[0].count;
    }
    return { transactionIds: events.rows.map(({ id }) => String(id)), counts };
  });
}

/** Waits for a condition, for half a minute at the most. */
export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 30_000; !(await isTrue()); await sleep(20)) assert(Date.now() < end, what);
}
