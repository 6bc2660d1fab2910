import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Answer, Body, RequestOptions, TestApp } from './harness.ts';

/** A slug, name or the like that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}

/** A pricing model over the API, with its free plan. */
export async function newModel(app: TestApp, options?: RequestOptions): Promise<string> {
  const body = { pricingModel: { name: unique('Model') }, defaultPlanIntervalUnit: 'month' };
  return (await app.post('/pricing-models', body, options)).pricingModel.id;
}

export const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 2000 };
export const once = { type: 'single_payment', unitPrice: 9900 };

/** A product over the API, with its price. */
export async function newProduct(
  app: TestApp,
  pricingModelId: string,
  { product = {}, price = monthly, featureIds }: { product?: object; price?: object; featureIds?: string[] } = {},
): Promise<{ product: Body; price: Body }> {
  const slug = unique('pro');
  const body = { product: { name: 'Pro', slug, pricingModelId, ...product }, price: { slug, ...price }, featureIds };
  const made = (await app.post('/products', body)).product;
  return { product: made, price: (await app.get(`/products/${made.id}`)).defaultPrice };
}

export async function newToggle(app: TestApp, pricingModelId: string, more: object = {}): Promise<Body> {
  const feature = { type: 'toggle', slug: unique('sso'), name: 'Single sign-on', pricingModelId, ...more };
  return (await app.post('/features', { feature })).feature;
}

export async function newMeter(app: TestApp, pricingModelId: string, price?: object): Promise<Body> {
  const usageMeter = { name: 'API calls', slug: unique('calls'), pricingModelId };
  return (await app.post('/usage-meters', { usageMeter, price })).usageMeter;
}

export async function newResource(app: TestApp, pricingModelId: string): Promise<Body> {
  return (await app.post('/resources', { resource: { slug: unique('seat'), name: 'Seat', pricingModelId } })).resource;
}

/** The default product of a pricing model, with its prices. */
export async function defaultProduct(app: TestApp, pricingModelId: string): Promise<Body> {
  return (await app.get(`/pricing-models/${pricingModelId}`)).pricingModel.defaultProduct;
}

/** A meter's prices, the default one and the no-charge one picked out. */
export async function pricesOfMeter(app: TestApp, usageMeterId: string) {
  const { data } = await app.get(`/prices?usageMeterId=${usageMeterId}&limit=100`);
  const defaults = data.filter((price: Body) => price.isDefault);
  assert.equal(defaults.length, 1, 'a meter has one default price');
  return {
    all: data,
    inForce: defaults[0],
    noCharge: data.find((price: Body) => price.slug.endsWith('_no_charge')),
  };
}

/** Checks that an answer is a refusal of this status whose message says what it must. */
export function refused(answer: Answer, status: number, message: RegExp): void {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.match(answer.body.message, message);
}

export const codes = { 400: 'BAD_REQUEST', 403: 'FORBIDDEN', 404: 'NOT_FOUND', 409: 'CONFLICT' } as const;
