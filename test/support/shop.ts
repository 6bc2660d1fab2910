import type { Body, RequestOptions, TestApp } from './harness.ts';

// What pricing models of tests are written with, and who comes to buy. Everything is active and by the month where nothing
// else is said, and each word takes what is to be otherwise.

const monthly = { intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true };

export function toggle(slug: string, more: object = {}) {
  return { type: 'toggle', slug, name: slug, description: '', active: true, ...more };
}

/** Credits of a meter: each period, or once where `more` says so. */
export function credits(slug: string, amount: number, usageMeterSlug: string, more: object = {}) {
  const renewalFrequency = 'every_billing_period';
  const base = { slug, name: slug, description: '', active: true };
  return { ...base, type: 'usage_credit_grant', amount, renewalFrequency, usageMeterSlug, ...more };
}

/** Places on a resource. */
export function capacity(slug: string, amount: number, resourceSlug: string, more: object = {}) {
  return { type: 'resource', slug, name: slug, description: '', active: true, amount, resourceSlug, ...more };
}

export function resource(slug: string, name: string) {
  return { slug, name, active: true };
}

/** A product with its one price, which is named after it. The plan `free` is what customers begin with. */
export function plan(slug: string, unitPrice: number, features: readonly unknown[] = [], more: Body = {}) {
  const { product = {}, ...price } = more;
  return {
    product: { name: slug, slug, active: true, ...(slug === 'free' ? { default: true } : {}), ...product },
    price: { ...monthly, type: 'subscription', slug: `${slug}-monthly`, name: 'Monthly', unitPrice, ...price },
    features,
  };
}

/** A meter with the price of its usage. */
export function meter(
  slug: string,
  name: string,
  price: { slug: string; unitPrice: number } & Body,
  more: object = {},
) {
  return { usageMeter: { name, slug, ...more }, prices: [{ ...monthly, type: 'usage', ...price }] };
}

/** Who sends requests: an app, or one key of it. */
export interface Sender {
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Body>;
}

/** A customer on the free plan, with a card when one is named. */
export async function newCustomer(
  sender: Sender,
  externalId: string,
  { token = null, ...more }: { token?: string | null } & Body = {},
) {
  const { data } = await sender.post('/customers', {
    customer: { externalId, email: `${externalId.replaceAll(' ', '.')}@acme.test`, name: 'Acme', ...more },
  });
  const customerId: string = data.customer.id;
  const paymentMethodId = token === null ? null : await newCard(sender, customerId, token);
  return { externalId, customerId, freeId: data.subscription?.id as string, paymentMethodId };
}

/** Attaches a card, and answers the id of the payment method. */
export async function newCard(sender: Sender, customerId: string, token: string, more: object = {}): Promise<string> {
  const paymentMethod = { customerId, type: 'card', token, ...more };
  return (await sender.post('/payment-methods', { paymentMethod })).paymentMethod.id;
}

/** The types of the events about a record, oldest first. */
export async function eventTypes(app: TestApp, objectId: string): Promise<string[]> {
  const events = app.owner.selectFrom('events').select('type').where('objectId', '=', objectId).orderBy('id');
  return (await events.execute()).map(({ type }) => type);
}

/** The balance of a subscription's first meter. */
export async function firstBalance(
  app: TestApp,
  externalId: string,
  subscriptionId: string,
): Promise<number | undefined> {
  const path = `/customers/${externalId}/usage-balances?subscriptionId=${subscriptionId}`;
  return (await app.get(path)).usageMeterBalances[0]?.availableBalance;
}
