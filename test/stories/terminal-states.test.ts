import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { invoiceTransitions } from '../../src/invoicing/invoice.ts';
import { paymentTransitions } from '../../src/payments/payment.ts';
import { purchaseTransitions } from '../../src/purchases/purchase.ts';
import { transitions } from '../../src/subscriptions/subscription.ts';
import { closable, HoldStatus } from '../../src/usage/usage-hold.ts';
import { startTestApp } from '../support/harness.ts';
import { insertHealthyData } from '../support/healthy-data.ts';

// Each cell has the same triggers.
const app = await startTestApp({ cells: 1 });
await insertHealthyData(app);

class RollBack extends Error {}

/** The statuses that nothing leads out of. */
function ends(table: Readonly<Record<string, object>>): string[] {
  return Object.keys(table).filter((status) => Object.keys(table[status] ?? {}).length === 0);
}

/** What ends, in which statuses, and what a row needs besides to be in such a one, or in another. */
const lives: readonly {
  readonly table: string;
  readonly final: readonly string[];
  readonly another: string;
  readonly besides?: (status: string) => string;
}[] = [
  {
    table: 'subscriptions',
    final: ends(transitions),
    another: 'active',
    besides: (status) =>
      `, canceled_at = ${status === 'canceled' ? 1 : 'null'}, replaced_by_subscription_id = null, exclusive = false`,
  },
  { table: 'invoices', final: ends(invoiceTransitions), another: 'open' },
  {
    table: 'payments',
    final: ends(paymentTransitions),
    another: 'succeeded',
    besides: (status) => `, refunding_amount = 0, refunded_amount = ${status === 'refunded' ? 'amount' : '0'}`,
  },
  { table: 'refunds', final: ['succeeded', 'failed'], another: 'pending' },
  {
    table: 'credit_notes',
    final: ['settled', 'void'],
    another: 'issued',
    besides: (status) =>
      `, settled_at = ${status === 'settled' ? 1 : 'null'}, voided_at = ${status === 'void' ? 1 : 'null'}`,
  },
  { table: 'purchases', final: ends(purchaseTransitions), another: 'paid' },
  { table: 'checkout_sessions', final: ['succeeded'], another: 'open' },
  {
    table: 'usage_holds',
    final: HoldStatus.options.filter((status) => !closable.has(status)),
    another: 'open',
    besides: (status) => `, settled_amount = ${status === 'settled' ? 1 : 'null'}`,
  },
  {
    table: 'payment_method_attachments',
    final: ['attached', 'refused'],
    another: 'pending',
    besides: (status) => `, outcome = ${status === 'pending' ? 'null' : `'{}'`}`,
  },
];

await sql`
  insert into payment_method_attachments (environment_id, id, pricing_model_id, customer_id, processor, request, status, outcome, created_at, updated_at)
  select environment_id, 'attachment', pricing_model_id, id, 'stripe', '{}', 'attached', '{}', 0, 0 from customers`.execute(
  app.owner,
);

/** What the database says to the second statement, by its owner or by the service, after the first was forced on it. */
async function refusalOf(first: string, second: string, role: 'owner' | 'service'): Promise<{ constraint?: string }> {
  let refusal: unknown = null;
  const tried = app.owner.transaction().execute(async (db) => {
    await sql`set local session_replication_role = replica`.execute(db);
    await sql.raw(first).execute(db);
    await sql`set local session_replication_role = origin`.execute(db);
    if (role === 'service') {
      await sql`select set_config('tollkeeper.environment_id', ${String(app.testEnvironmentId)}, true)`.execute(db);
      await sql`set local role tollkeeper_service`.execute(db);
    }
    await sql
      .raw(second)
      .execute(db)
      .catch((error: unknown) => {
        refusal = error;
      });
    throw new RollBack();
  });
  await assert.rejects(tried, RollBack);
  return (refusal ?? {}) as { constraint?: string };
}

for (const { table, final, another, besides = () => '' } of lives) {
  for (const status of final) {
    test(`${table} that are ${status} stay so, whoever writes`, async () => {
      const first = `update ${table} set status = '${status}'${besides(status)}`;
      const second = `update ${table} set status = '${another}'${besides(another)}`;
      for (const role of ['owner', 'service'] as const)
        assert.equal((await refusalOf(first, second, role)).constraint, `${table}_end_for_good`, role);
    });
  }
}

test('a status that is written again as it is refuses nothing', async () => {
  for (const { table, final, besides = () => '' } of lives) {
    const same = `update ${table} set status = '${final[0]}'${besides(final[0] ?? '')}`;
    assert.deepEqual(await refusalOf(same, same, 'owner'), {}, table);
  }
});

test('what was refunded of a payment only grows', async () => {
  const by = (change: string) =>
    `update payments set refunded_amount = refunded_amount ${change} where status = 'succeeded'`;
  for (const role of ['owner', 'service'] as const) {
    assert.equal((await refusalOf('select 1', by('- 1'), role)).constraint, 'payments_refunds_only_grow');
    assert.deepEqual(await refusalOf('select 1', by('+ 1'), role), {});
  }
});

test('a claim that was released is not taken back', async () => {
  const back = `update resource_claims set released_at = null, release_reason = null, external_id = 'bob' where released_at is not null`;
  for (const role of ['owner', 'service'] as const)
    assert.equal((await refusalOf('select 1', back, role)).constraint, 'resource_claims_end_for_good');
});
