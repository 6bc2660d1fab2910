import { sql } from 'kysely';
import { slotOf } from '../../src/kernel/id.ts';
import { anyId } from './any-id.ts';
import { insertFixture, nameIn } from './fixtures.ts';
import type { TestApp } from './harness.ts';

/** The columns of a copy that differ from its original's, as SQL over the copy's number `n`. */
type Differences = Readonly<Record<string, string>>;

/**
 * Customers `many-1` to `many-<count>`, or with a further number, each with a card that can be charged and a monthly subscription at 30.00 whose
 * first period of 30 days began at `now` and is paid for, written straight into the database.
 */
export async function insertManySubscriptions(
  app: TestApp,
  count: number,
  { environmentId = app.testEnvironmentId, now }: { environmentId?: number; now: number },
): Promise<void> {
  const { customerId, subscriptionId, pricingModelId, productId } = await insertFixture(app, { environmentId, now });
  await app.owner.updateTable('products').set({ isDefault: true }).where('id', '=', productId).execute();
  await app.owner
    .insertInto('paymentMethods')
    .values({
      environmentId,
      id: anyId('paymentMethod'),
      pricingModelId,
      customerId,
      type: 'card',
      isDefault: true,
      billingDetails: '{}',
      paymentMethodData: '{"brand":"visa","last4":"4242"}',
      processor: 'test',
      processorToken: 'pm_card_visa',
      createdAt: now,
      updatedAt: now,
    })
    .execute();
  // All are in the cell of the original.
  const slot = slotOf(customerId);
  const names = Array.from({ length: count }, (_, n) =>
    nameIn(app, app.databaseOf(slot), environmentId, `many-${n + 1}`),
  );
  const id = (prefix: string) => `'${prefix}_' || lpad(n::text, 19, '0') || '${slot}'`;
  const ofCustomer = { customer_id: id('cust') };
  const ofSubscription = { subscription_id: id('sub') };
  const copies: readonly (readonly [table: string, where: string, Differences])[] = [
    [
      'customers',
      `id = '${customerId}'`,
      { id: id('cust'), external_id: 'named.name', invoice_number_base: `'M' || n` },
    ],
    ['payment_methods', `customer_id = '${customerId}'`, { id: id('pm'), ...ofCustomer }],
    ['subscriptions', `id = '${subscriptionId}'`, { id: id('sub'), ...ofCustomer }],
    ['billing_periods', `subscription_id = '${subscriptionId}'`, { id: id('billing_period'), ...ofSubscription }],
    ['subscription_items', `subscription_id = '${subscriptionId}'`, { id: id('si'), ...ofSubscription }],
  ];
  for (const [table, where, differences] of copies) {
    const changed = Object.entries(differences).map(([column, value]) => `'${column}', ${value}`);
    await sql
      .raw(
        `insert into ${table} select copy.* from ${table} original, unnest('{${names.join()}}'::text[]) with ordinality named (name, n),
           jsonb_populate_record(null::${table}, to_jsonb(original) || jsonb_build_object(${changed.join(', ')})) copy
          where original.environment_id = ${environmentId} and original.${where}`,
      )
      .execute(app.owner);
  }
  // The original itself is nobody's.
  await sql`update subscriptions set status = 'canceled', canceled_at = ${now}, cancel_scheduled_at = ${now}
             where environment_id = ${environmentId} and id = ${subscriptionId}`.execute(app.owner);
  await sql`update billing_periods set status = 'completed'
             where environment_id = ${environmentId} and subscription_id = ${subscriptionId}`.execute(app.owner);
}
