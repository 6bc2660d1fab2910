import assert from 'node:assert/strict';
import type { Flowglad } from '@flowglad/node';
import { performCheckout } from '../../src/checkout/jobs.ts';
import { slotOf } from '../../src/kernel/id.ts';
import type { Body, TestApp } from './harness.ts';
import { capacity, credits, meter, plan, resource, toggle } from './shop.ts';

/** What the tests of the official clients sell: a plan with every type of feature, a dearer one, and a single payment. */
export const catalog = {
  name: 'Shop',
  isDefault: true,
  features: [
    toggle('sso', { name: 'SSO', description: 'Single sign-on' }),
    toggle('audit', { name: 'Audit log', description: 'Who did what' }),
    credits('hundred-calls', 100, 'calls', { name: '100 calls', description: 'Each month' }),
    capacity('seats', 3, 'seat', { name: '3 seats' }),
    capacity('desks', 2, 'desk', { name: '2 desks' }),
  ],
  products: [
    plan('team', 2900, ['sso', 'hundred-calls', 'seats', 'desks']),
    plan('pro', 5900, ['sso', 'audit', 'hundred-calls', 'seats', 'desks']),
    {
      product: { name: 'Onboarding', slug: 'onboarding', active: true },
      price: { type: 'single_payment', slug: 'onboarding-once', unitPrice: 10_000, isDefault: true, active: true },
      features: [],
    },
  ],
  usageMeters: [
    meter('calls', 'Calls', { slug: 'call', unitPrice: 50, usageEventsPerUnit: 100 }, { aggregationType: 'sum' }),
  ],
  resources: [resource('seat', 'Seat'), resource('desk', 'Desk')],
};

/** A shop with one customer on the plan `team`, paid by card. */
export interface Shop {
  readonly pricingModelId: string;
  readonly meterId: string;
  readonly resourceId: string;
  readonly featureIds: Readonly<Record<string, string>>;
  readonly products: Readonly<Record<string, Body>>;
  readonly externalId: string;
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly subscriptionId: string;
  readonly usageEventId: string;
  readonly invoiceId: string;
  readonly lineItemId: string;
  readonly paymentId: string;
  readonly discountId: string;
}

/** Sets the shop up through an official client alone; what it has no method for goes over its raw calls. */
export async function openShop(client: Flowglad): Promise<Shop> {
  const { pricingModel } = await post(client, '/pricing-models/setup', catalog);
  const { resources } = await client.resources.list({ pricingModelId: pricingModel.id });
  const { data: features } = await client.get<Body>('/api/v1/features', { query: { limit: '100' } });
  const customer = await newCustomer(client, 'ada');
  const { subscription } = await client.subscriptions.create({
    customerId: customer.id,
    priceSlug: 'team-monthly',
    defaultPaymentMethodId: customer.paymentMethodId,
  });
  const { usageEvent } = await client.usageEvents.create({
    usageEvent: { subscriptionId: subscription.id, usageMeterSlug: 'calls', amount: 1, transactionId: 'first' },
  });
  const { discount } = await client.discounts.create({
    discount: { name: 'Launch', code: 'launch', amount: 20, amountType: 'percent', duration: 'once' },
  });
  const { invoices } = await client.customers.retrieveBilling('ada');
  const [bill] = invoices;
  const seat = resources.find(({ slug }) => slug === 'seat');
  const { data: payments } = await client.payments.list();
  assert(bill?.invoiceLineItems[0] && payments[0] && seat);
  return {
    pricingModelId: pricingModel.id,
    meterId: pricingModel.usageMeters[0].id,
    resourceId: seat.id,
    featureIds: Object.fromEntries(features.map((feature: Body) => [feature.slug, feature.id])),
    products: Object.fromEntries(pricingModel.products.map((product: Body) => [product.slug, product])),
    externalId: 'ada',
    customerId: customer.id,
    paymentMethodId: customer.paymentMethodId,
    subscriptionId: subscription.id,
    usageEventId: usageEvent.id,
    invoiceId: bill.invoice.id,
    lineItemId: bill.invoiceLineItems[0].id,
    paymentId: payments[0].id,
    discountId: discount.id,
  };
}

/** A customer on the free plan, with a card. */
export async function newCustomer(client: Flowglad, externalId: string) {
  const { data } = await client.customers.create({
    customer: { externalId, email: 'someone@shop.test', name: externalId },
  });
  const { paymentMethod } = await post(client, '/payment-methods', {
    paymentMethod: { customerId: data.customer.id, type: 'card', token: 'pm_card_visa' },
  });
  return { id: data.customer.id, paymentMethodId: paymentMethod.id as string };
}

/** A customer on the plan `team`. */
export async function newSubscriber(client: Flowglad, externalId: string) {
  const { id, paymentMethodId } = await newCustomer(client, externalId);
  const { subscription } = await client.subscriptions.create({
    customerExternalId: externalId,
    priceSlug: 'team-monthly',
    defaultPaymentMethodId: paymentMethodId,
  });
  return { customerId: id, paymentMethodId, subscription };
}

/** A subscription that waits for its first payment: its customer has no card. */
export async function newIncomplete(client: Flowglad, externalId: string) {
  await client.customers.create({ customer: { externalId, email: 'someone@shop.test', name: externalId } });
  const order = { customerExternalId: externalId, priceSlug: 'team-monthly' };
  return (await client.subscriptions.create(order)).subscription;
}

export const returns = { successUrl: 'https://shop.test/thanks', cancelUrl: 'https://shop.test/back' };

/** What the page of a session does with a card that is good. */
export async function payBy(
  app: TestApp,
  sessionId: string,
  discountCode: string | null = null,
  token = 'pm_card_visa',
): Promise<void> {
  const place = { environmentId: app.testEnvironmentId, publicUrl: app.url, sessionId };
  const buyer = { name: 'Buyer', email: 'buyer@shop.test' };
  const context = { ...app, database: app.databaseOf(slotOf(sessionId)) };
  const { status } = await performCheckout(context, place, { ...buyer, token, discountCode });
  assert.equal(status, 'succeeded');
}

/** A request that the official client has no method for. */
export function post(client: Flowglad, path: string, body: object): Promise<Body> {
  return client.post<Body>(`/api/v1${path}`, { body });
}
