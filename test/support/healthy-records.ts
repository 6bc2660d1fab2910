import { sql } from 'kysely';
import { formatId } from '../../src/kernel/id.ts';
import { anyId } from './any-id.ts';
import type { insertFixture } from './fixtures.ts';
import type { TestApp } from './harness.ts';

type Fixture = Awaited<ReturnType<typeof insertFixture>>;
interface Model {
  readonly environmentId: number;
  readonly pricingModelId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What the records of a healthy life need around them: seats, what was told of them, a checkout, what a processor remembers. */
export async function insertAround(app: TestApp, model: Model, fixture: Fixture): Promise<void> {
  await insertSeats(app, model, fixture);
  await insertTold(app, model, fixture);
  await insertMoneyTold(app);
  await insertCheckout(app, model, fixture);
  await insertProcessorSide(app, model, fixture);
  await insertChange(app, model, fixture);
}

/** One seat, which a feature of the subscription grants. */
async function insertSeats(app: TestApp, model: Model, { subscriptionId, resourceId, itemId }: Fixture): Promise<void> {
  const seat = { type: 'resource', resourceId, amount: 1n };
  const featureId = anyId('feature');
  await app.owner
    .insertInto('features')
    .values({ ...model, ...seat, id: featureId, slug: 'seats', name: 'Seats', description: '', active: true })
    .execute();
  await app.owner
    .insertInto('subscriptionItemFeatures')
    .values({
      ...model,
      ...seat,
      id: anyId('subscriptionItemFeature'),
      subscriptionId,
      subscriptionItemId: itemId,
      featureId,
      manuallyCreated: false,
    })
    .execute();
}

/** An endpoint that was told of the subscription at the second attempt, long after it was made, and a queued email. */
async function insertTold(app: TestApp, model: Model, { subscriptionId, customerId }: Fixture): Promise<void> {
  const { updatedAt: _, ...stamps } = model;
  const now = Date.now();
  const webhookId = anyId('webhook');
  await app.owner
    .insertInto('webhooks')
    .values({
      ...model,
      id: webhookId,
      name: 'Told',
      url: 'https://told.test',
      active: true,
      filterTypes: ['subscription.created'],
      sealedSecret: '-',
    })
    .execute();
  const type = 'subscription.created';
  const eventId = anyId('event');
  const payload = { id: subscriptionId, object: 'subscription', type, eventId, occurredAt: model.createdAt };
  const about = { type, object: 'subscription', objectId: subscriptionId };
  await app.owner
    .insertInto('events')
    .values({ ...stamps, ...about, id: eventId, payload: JSON.stringify(payload), occurredAt: model.createdAt })
    .execute();
  const ended = { type: 'subscription.canceled', eventId: anyId('event') };
  const customer = { id: customerId, externalId: customerId };
  await sql`update environments set mail = mail || '{"enabled": true}' where id = ${model.environmentId}`.execute(
    app.owner,
  );
  await app.owner
    .insertInto('events')
    .values({
      ...{ ...stamps, ...about, type: ended.type, id: ended.eventId, occurredAt: model.createdAt },
      payload: JSON.stringify({ ...payload, ...ended, customer, data: { id: subscriptionId } }),
    })
    .execute();
  await sql`update webhooks set wanted_since = ${now - 3_600_000}`.execute(app.owner);
  await sql`
    update webhook_deliveries set status = 'succeeded', attempts = 2, failures = 1, next_attempt_at = null, last_attempt_at = ${now},
           last_status_code = 200`.execute(app.owner);
  await sql`
    insert into webhook_attempts (environment_id, delivery_id, number, pricing_model_id, started_at, duration_ms, status_code)
    select environment_id, id, n, pricing_model_id, ${now}, 5, 100 + 100 * n from webhook_deliveries, generate_series(1, 2) n`.execute(
    app.owner,
  );
}

/** What was told of the invoices and of the refunds. No endpoint wants it. */
async function insertMoneyTold(app: TestApp): Promise<void> {
  const { rows } = await sql<{ type: string; id: string; cause: string }>`
    select told.type, i.id, '' as cause from invoices i
     cross join (values ('invoice.created'), ('invoice.finalized'), ('invoice.paid')) as told (type)
     where told.type <> 'invoice.paid' or i.status in ('paid', 'partially_refunded', 'refunded')
    union all select 'refund.created', payment_id, id from refunds`.execute(app.owner);
  for (const { type, id, cause } of rows) {
    const [eventId, object] = [anyId('event'), type.startsWith('invoice') ? 'invoice' : 'payment'];
    const about = JSON.stringify({ id, type, eventId, object });
    await sql`
      insert into events (environment_id, id, pricing_model_id, type, object, object_id, payload, occurred_at, created_at, cause)
      select environment_id, ${eventId}, pricing_model_id, ${type}, ${object}, ${id}, payload || ${about}::jsonb, occurred_at,
             created_at, ${cause}
        from events where type = 'subscription.created'`.execute(app.owner);
  }
}

/** A checkout session that sold the subscription. */
async function insertCheckout(app: TestApp, model: Model, { customerId, priceId }: Fixture): Promise<void> {
  const sessionId = anyId('checkoutSession');
  await app.owner
    .insertInto('checkoutSessions')
    .values({
      ...model,
      id: sessionId,
      type: 'product',
      status: 'open',
      customerId,
      anonymous: false,
      priceId,
      quantity: 1,
      preserveBillingCycleAnchor: false,
      expiresAt: model.createdAt + 86_400_000,
    })
    .execute();
  await sql`update purchases set checkout_session_id = ${sessionId}`.execute(app.owner);
  await sql`update checkout_sessions set status = 'succeeded', purchase_id = (select id from purchases)`.execute(
    app.owner,
  );
}

/** What the test processor did of the payments and refunds, a customer at another processor, an answer that is kept. */
async function insertProcessorSide(
  app: TestApp,
  { environmentId, createdAt }: Model,
  { customerId }: Fixture,
): Promise<void> {
  await sql`
    insert into test_processor_operations (idempotency_key, kind, reference, amount, outcome, created_at)
    select id, 'charge', 'ch_' || id, amount, '{}'::jsonb, ${createdAt}::bigint from payments
    union all
    select id, 'refund', 'ch_' || payment_id, amount, '{}'::jsonb, ${createdAt}::bigint from refunds where status = 'succeeded'`.execute(
    app.owner,
  );
  await sql`update payments set processor_reference = 'ch_' || id`.execute(app.owner);
  await app.owner
    .insertInto('processorCustomers')
    .values({ environmentId, customerId, processor: 'stripe', reference: 'cus_1', createdAt })
    .execute();
  const receivedAt = Date.now();
  await app.owner
    .insertInto('processorEvents')
    .values({ environmentId, processor: 'stripe', id: 'evt_1', receivedAt })
    .execute();
  await app.owner
    .insertInto('idempotencyKeys')
    .values({ environmentId, key: 'a key', requestHash: Buffer.alloc(32), response: '{}', createdAt: receivedAt })
    .execute();
}

/** A change of plan that was made, and the quantity before it. */
async function insertChange(app: TestApp, model: Model, { subscriptionId, itemId }: Fixture): Promise<void> {
  await app.owner
    .insertInto('subscriptionAdjustments')
    .values({
      ...model,
      id: anyId('subscriptionAdjustment'),
      subscriptionId,
      status: 'applied',
      effectiveAt: model.createdAt,
      items: '[]',
      capacities: '{}',
    })
    .execute();
  const { updatedAt: _, ...stamps } = model;
  const version = { ...stamps, subscriptionId, subscriptionItemId: itemId, unitPrice: 3000n, quantity: 2 };
  await app.owner
    .insertInto('subscriptionItemVersions')
    .values({
      ...version,
      id: anyId('subscriptionItemVersion'),
      startAt: model.createdAt - 1000,
      endAt: model.createdAt,
    })
    .execute();
}

/** 5.00 off each invoice, paid once so far. */
export async function insertRedemption(
  app: TestApp,
  redeemer: { readonly model: Model; readonly customerId: string; readonly subscriptionId: string },
): Promise<string> {
  const { model, customerId, subscriptionId } = redeemer;
  const discount = {
    ...model,
    name: 'Five off',
    code: 'FIVEOFF',
    amountType: 'fixed',
    amount: 500n,
    duration: 'forever',
  };
  const [discountId, redemptionId] = [anyId('discount'), anyId('discountRedemption')];
  await app.owner
    .insertInto('discounts')
    .values({ ...discount, id: discountId, active: true })
    .execute();
  await app.copyCatalogs();
  await app.owner
    .insertInto('discountRedemptions')
    .values({ ...discount, id: redemptionId, discountId, customerId, subscriptionId, paymentsMade: 1 })
    .execute();
  return redemptionId;
}

/** The id of a record that was made an hour ago, in real time. */
export function idOfAnHourAgo(kind: 'payment' | 'refund' | 'event'): string {
  return formatId(kind, Date.now() - 3_600_000, 1, 1);
}
