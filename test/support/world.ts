import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Ids } from '../../examples/request-ids.ts';
import { teamPlan } from '../../examples/requests.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { slotOf } from '../../src/kernel/id.ts';
import { anyId } from './any-id.ts';
import { buyNow } from './buying.ts';
import type { Body, TestApp, TestOrganization } from './harness.ts';

/** The ids of one environment in which every kind of record exists, made through the API alone. */
export type World = Ids;

/** A pricing model with every type of price and feature. */
export function structure(suffix: string) {
  return { ...teamPlan(`World ${suffix}`), isDefault: true };
}

/** What may be otherwise about a world. */
export interface WorldOptions {
  /** Where what every customer is sold comes from. */
  readonly structureOf?: (suffix: string) => Body;
  /** The key that everything is made with: one that is pinned to the pricing model of the structure, once it is there. */
  readonly keyFor?: (pricingModelId: string) => Promise<string>;
  /** The external id of a customer, such as one that leads to a cell. */
  readonly nameOf?: NameOf;
}

type NameOf = (name: string) => string;

/** What a world is made through. */
export type WorldApp = Pick<TestApp, 'get' | 'post' | 'put' | 'databaseOf' | 'testKey' | 'testEnvironmentId'>;

/** Makes one record of every kind in the organization's test environment. */
export async function buildWorld(
  app: WorldApp,
  organization: Pick<TestOrganization, 'testKey' | 'testEnvironmentId'> = app,
  suffix = 'one',
  { structureOf = structure, keyFor, nameOf = (name) => name }: WorldOptions = {},
): Promise<World> {
  const whole = { key: organization.testKey };
  const { pricingModel } = await app.post('/pricing-models/setup', structureOf(suffix), whole);
  const options = keyFor === undefined ? whole : { key: await keyFor(pricingModel.id) };
  const get = (path: string): Promise<Body> => app.get(path, options);
  const post = (path: string, body: unknown): Promise<Body> => app.post(path, body, options);
  const team = pricingModel.products.find((product: Body) => product.slug === 'team');
  const meter = pricingModel.usageMeters[0];
  // Takes as long as a trial, and meanwhile everything else is made.
  const owing = insertOwing(post, get, {
    pricingModelId: pricingModel.id,
    priceId: team.defaultPrice.id,
    externalId: nameOf(`owing-${suffix}`),
  });
  const { resources } = await get(`/resources?pricingModelId=${pricingModel.id}`);
  const { data: pools } = await get(`/credit-pools?pricingModelId=${pricingModel.id}`);
  const { data: features } = await get(`/features?limit=100&pricingModelId=${pricingModel.id}`);
  const featureOf = (slug: string) => features.find((row: Body) => row.slug === slug).id;
  const { data: links } = await get(`/product-features?productId=${team.id}`);
  const externalId = nameOf(`customer-${suffix}`);
  const { data } = await post('/customers', {
    customer: { externalId, email: `${suffix}@acme.test`, name: `Acme ${suffix}` },
  });
  const leavingExternalId = nameOf(`leaving-${suffix}`);
  await post('/customers', {
    customer: { externalId: leavingExternalId, email: `${suffix}@leaving.test`, name: 'Leaving' },
  });
  const { paymentMethod } = await post('/payment-methods', {
    paymentMethod: { customerId: data.customer.id, type: 'card', token: 'pm_card_visa' },
  });
  const { subscription } = await post('/subscriptions', {
    customerId: data.customer.id,
    priceId: team.defaultPrice.id,
    defaultPaymentMethodId: paymentMethod.id,
  });
  const spare = await post('/payment-methods', {
    paymentMethod: { customerId: data.customer.id, type: 'card', token: 'pm_card_mastercard' },
  });
  const limited = `/customers/${data.customer.externalId}/spend-controls`;
  await app.put(limited, { spendControls: { limits: [{ period: 'month', amount: 1_000_000 }] } }, options);
  const { usageEvents } = await post('/usage-events/bulk', {
    usageEvents: [
      { subscriptionId: subscription.id, priceSlug: 'call-overage', transactionId: `t-${suffix}`, amount: 25 },
    ],
  });
  const hold = { subscriptionId: subscription.id, meter: 'api-calls', amount: 10, expiresAt: Date.now() + 86_400_000 };
  const holds = [await post('/holds', { hold }), await post('/holds', { hold })].map((answer) => answer.hold.id);
  await post(`/resource-claims/${subscription.id}/claim`, { resourceSlug: 'seat', externalId: 'ada' });
  const { usageCredit } = await post('/usage-credits', {
    usageCredit: { subscriptionId: subscription.id, usageMeterId: meter.id, amount: 5 },
  });
  await post('/usage-credits', {
    usageCredit: { customerId: data.customer.id, creditPoolSlug: 'ai', amount: '2.5' },
  });
  const { webhook } = await post('/webhooks', {
    webhook: {
      url: 'https://hooks.example.com/hook',
      name: 'Hook',
      filterTypes: ['customer.created'],
      pricingModelId: pricingModel.id,
    },
  });
  const { delivery } = await post(`/webhooks/${webhook.id}/test`, {});
  const { discount } = await post('/discounts', {
    discount: { name: 'Launch', code: 'LAUNCH', amount: 20, amountType: 'percent', duration: 'forever' },
  });
  const spareDiscount = await post('/discounts', {
    discount: { name: 'Spare', code: 'SPARE', amount: 5, amountType: 'percent', duration: 'forever' },
  });
  const { subscriptionDiscount } = await post(`/subscriptions/${subscription.id}/discounts`, {
    discount: { discountId: discount.id },
  });
  // Tax rates are the environment's, which a pinned key may not change.
  const newTaxRate = { country: 'DE', state: suffix, type: 'vat', percentage: '19' };
  const { taxRate } = await app.post('/tax-rates', { taxRate: newTaxRate }, whole);
  const billing = await get(`/customers/${externalId}/billing`);
  const current = billing.currentSubscription;
  const [paid] = billing.invoices;
  const credited = await post(
    `/invoices/${paid.invoice.id}/credit-notes`,
    creditOf(paid.invoiceLineItems[0], 'refund'),
  );
  const draft = await writeDraft(post, externalId);
  const item = await addItem(post, externalId);
  const given = { customerExternalId: externalId, amount: 1, description: 'Sorry' };
  const { customerBalance } = await post('/customer-balances/adjust', { adjustment: given });
  // A pinned key makes no pricing model, and could not delete it.
  const spareModel = await app.post('/pricing-models', { pricingModel: { name: `Spare ${suffix}` } }, whole);
  const price = { type: 'single_payment', unitPrice: 100 };
  const spareProduct = await post('/products', {
    product: { name: 'Spare', slug: `spare-${suffix}`, pricingModelId: pricingModel.id },
    price,
  });
  return {
    pricingModelId: pricingModel.id,
    sparePricingModelId: spareModel.pricingModel.id,
    productId: team.id,
    spareProductId: spareProduct.product.id,
    featureId: featureOf('sso'),
    spareFeatureId: featureOf('audit'),
    priceId: team.defaultPrice.id,
    packPriceSlug: `gift-${suffix}`,
    discountId: discount.id,
    spareDiscountId: spareDiscount.discount.id,
    subscriptionDiscountId: subscriptionDiscount.id,
    taxRateId: taxRate.id,
    usagePriceSlug: 'call-overage',
    usageMeterId: meter.id,
    creditPoolId: pools.find(({ slug }: Body) => slug === 'ai').id,
    resourceId: resources[0].id,
    productFeatureId: links[0].id,
    externalId,
    leavingExternalId,
    customerId: data.customer.id,
    subscriptionId: subscription.id,
    changingSubscriptionId: await makeChanging(post, nameOf(`changing-${suffix}`), team.defaultPrice.id),
    subscriptionItemId: current.subscriptionItems[0].id,
    subscriptionItemFeatureId: current.experimental.featureItems.find((row: Body) => row.type === 'toggle').id,
    usageEventId: usageEvents[0].id,
    holdId: holds[0],
    spareHoldId: holds[1],
    usageCreditId: usageCredit.id,
    ...(await owing),
    invoiceId: paid.invoice.id,
    ...draft,
    ...item,
    creditNoteId: credited.creditNote.id,
    customerBalanceId: customerBalance.id,
    invoiceLineItemId: paid.invoiceLineItems[0].id,
    paymentId: (await get(`/payments?customerId=${data.customer.id}`)).data[0].id,
    paymentMethodId: paymentMethod.id,
    sparePaymentMethodId: spare.paymentMethod.id,
    purchaseId: await insertBought(app, organization, post, { customerId: data.customer.id, suffix }),
    checkoutSessionId: await makeCheckout(post, { customerExternalId: externalId, priceId: team.defaultPrice.id }),
    webhookId: webhook.id,
    deliveryId: delivery.id,
    eventId: (await get('/events')).data[0].id,
    emailId: await insertEmail(app, organization, data.customer.id),
    apiKeyId: (await get('/api-keys')).data[0].id,
    spareApiKeyId: await makeKey(post, pricingModel.id),
  };
}

type Send = (path: string, body: unknown) => Promise<Body>;

async function makeKey(post: Send, pricingModelId: string): Promise<string> {
  const apiKey = { name: 'Spare', permissions: ['read'], pricingModelId };
  return (await post('/api-keys', { apiKey })).apiKey.id;
}

// Milliseconds. A busy machine takes longer than the shortest to begin a subscription.
const trialsMs = [500, 2_000, 8_000];

/** A gift, bought by the customer as a page would. */
async function insertBought(
  app: WorldApp,
  { testEnvironmentId: environmentId }: Pick<TestOrganization, 'testEnvironmentId'>,
  post: Send,
  { customerId, suffix }: { customerId: string; suffix: string },
): Promise<string> {
  const { product } = await post('/products', {
    product: { name: 'Gift', slug: `gift-${suffix}` },
    price: { type: 'single_payment', slug: `gift-${suffix}`, unitPrice: 0 },
  });
  const bought = await runInEnvironment(app.databaseOf(slotOf(customerId)), { environmentId }, (work) =>
    buyNow(work, { customerId, productId: product.id }),
  );
  assert(bought);
  return bought.answer.purchase.id;
}

/** An email that was not to be sent. */
async function insertEmail(
  { databaseOf }: WorldApp,
  { testEnvironmentId: environmentId }: Pick<TestOrganization, 'testEnvironmentId'>,
  customerId: string,
): Promise<string> {
  const made = await runInEnvironment(databaseOf(slotOf(customerId)), { environmentId }, ({ db }) =>
    sql<{ id: string }>`
      insert into emails as made (environment_id, id, pricing_model_id, customer_id, event_id, template, status, created_at, updated_at)
      select environment_id, ${anyId('email', slotOf(customerId))}, pricing_model_id, payload -> 'customer' ->> 'id', id, 'receipt', 'suppressed',
             created_at, created_at
        from events where type = 'payment.succeeded' and environment_id = ${environmentId} and payload -> 'customer' ->> 'id' = ${customerId}
         order by id limit 1
      returning made.id`.execute(db),
  );
  const id = made?.answer.rows[0]?.id;
  assert(id);
  return id;
}

/** An invoice that somebody writes. */
export async function writeDraft(
  post: Send,
  customerExternalId: string,
): Promise<Pick<World, 'draftInvoiceId' | 'draftInvoiceLineItemId'>> {
  const lines = [{ description: 'Training', unitAmount: 100 }];
  const { invoice, invoiceLineItems } = await post('/invoices', { invoice: { customerExternalId, lines } });
  return { draftInvoiceId: invoice.id, draftInvoiceLineItemId: invoiceLineItems[0].id };
}

/** An item that waits for the next invoice. */
export async function addItem(post: Send, customerExternalId: string): Promise<Pick<World, 'invoiceItemId'>> {
  const { invoiceItem } = await post('/invoice-items', {
    invoiceItem: { customerExternalId, description: 'Set-up', unitAmount: 100 },
  });
  return { invoiceItemId: invoiceItem.id };
}

/** A subscription whose short trial ended without a payment method, which its customer has attached since. */
export async function insertOwing(
  post: Send,
  get: (path: string) => Promise<Body>,
  { pricingModelId, priceId, externalId }: { pricingModelId: string; priceId: string; externalId: string },
): Promise<Pick<World, 'owingSubscriptionId' | 'openInvoiceId' | 'openInvoiceLineItemId' | 'issuedCreditNoteId'>> {
  const { data } = await post('/customers', {
    customer: { externalId, email: `${externalId}@acme.test`, name: 'Owing', pricingModelId },
  });
  const customerId = data.customer.id;
  const subscription = await subscribeForMoment(post, { customerId, priceId });
  await sleep(Math.max(0, subscription.trialEnd - Date.now()) + 1);
  // Whatever is asked of a subscription does first what is due for it.
  await post(`/subscriptions/${subscription.id}/uncancel`, {});
  await post('/payment-methods', { paymentMethod: { customerId, type: 'card', token: 'pm_card_visa' } });
  const { data: invoices } = await get(`/invoices?subscriptionId=${subscription.id}&status=open`);
  const { invoiceLineItems } = await get(`/invoices/${invoices[0].id}`);
  const [line] = invoiceLineItems;
  const { creditNote } = await post(`/invoices/${invoices[0].id}/credit-notes`, creditOf(line, 'offset'));
  return {
    owingSubscriptionId: subscription.id,
    openInvoiceId: invoices[0].id,
    openInvoiceLineItemId: line.id,
    issuedCreditNoteId: creditNote.id,
  };
}

/** A subscription with a trial as short as this machine allows. */
async function subscribeForMoment(post: Send, order: { customerId: string; priceId: string }): Promise<Body> {
  let refusal: unknown;
  for (const trialMs of trialsMs) {
    try {
      return (await post('/subscriptions', { ...order, trialEnd: Date.now() + trialMs })).subscription;
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

/** A credit of the smallest amount. */
function creditOf({ id: invoiceLineItemId }: Body, settle: 'refund' | 'offset') {
  return { creditNote: { lines: [{ invoiceLineItemId, amount: 1 }], settle, reason: 'Sorry' } };
}

/** A link by which the customer may buy. */
async function makeCheckout(
  post: Send,
  { customerExternalId, priceId }: { customerExternalId: string; priceId: string },
): Promise<string> {
  const returns = { successUrl: 'https://app.example.com/paid', cancelUrl: 'https://app.example.com/plans' };
  const session = { type: 'product', customerExternalId, priceId, ...returns };
  return (await post('/checkout-sessions', { checkoutSession: session })).checkoutSession.id;
}

async function makeChanging(
  post: (path: string, body: unknown) => Promise<Body>,
  externalId: string,
  priceId: string,
): Promise<string> {
  const { data } = await post('/customers', {
    customer: { externalId, email: `${externalId}@changing.test`, name: 'Changing' },
  });
  const customerId: string = data.customer.id;
  await post('/payment-methods', { paymentMethod: { customerId, type: 'card', token: 'pm_card_visa' } });
  const { subscription } = await post('/subscriptions', { customerId, priceId, quantity: 2 });
  await post(`/subscriptions/${subscription.id}/adjust`, {
    adjustment: { timing: 'at_end_of_current_billing_period', newSubscriptionItems: [{ priceId }] },
  });
  return subscription.id;
}
