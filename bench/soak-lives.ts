import { freeProduct, meterPlan, month } from './plans.ts';
import type { BenchService } from './running.ts';

// The slow part of a mixed load: customers who sign up, pay, change plans, view their bills and leave.

/** The benchmarks' plan with two additional paid ones. */
export const soakPlan = {
  ...meterPlan,
  name: 'Soak',
  products: [...meterPlan.products, paid('pro', 2000), paid('team', 5000)],
};

function paid(slug: string, unitPrice: number) {
  const { product, price, features } = freeProduct(meterPlan.features);
  return {
    product: { ...product, name: slug, slug, default: false },
    price: { ...price, ...month, slug: `${slug}-monthly`, unitPrice },
    features,
  };
}

interface Life {
  readonly externalId: string;
  step: number;
  subscriptionId: string;
}

interface Step {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
}

const items = (priceSlug: string) => ({
  adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }] },
});

// The steps of a customer, in order.
const steps: readonly ((life: Life) => Step)[] = [
  ({ externalId }) => {
    const customer = { externalId, email: `${externalId}@soak.test`, name: externalId };
    return { method: 'POST', path: '/customers', body: { customer } };
  },
  ({ externalId: customerExternalId }) => {
    const paymentMethod = { customerExternalId, type: 'card', token: 'pm_card_visa' };
    return { method: 'POST', path: '/payment-methods', body: { paymentMethod } };
  },
  ({ externalId: customerExternalId }) => {
    return { method: 'POST', path: '/subscriptions', body: { customerExternalId, priceSlug: 'pro-monthly' } };
  },
  ({ externalId }) => ({ method: 'GET', path: `/customers/${externalId}/billing` }),
  ({ subscriptionId }) => {
    return { method: 'POST', path: `/subscriptions/${subscriptionId}/preview-adjust`, body: items('team-monthly') };
  },
  ({ subscriptionId }) => {
    return { method: 'POST', path: `/subscriptions/${subscriptionId}/adjust`, body: items('team-monthly') };
  },
  ({ subscriptionId }) => ({ method: 'GET', path: `/invoices?subscriptionId=${subscriptionId}` }),
  ({ subscriptionId }) => ({ method: 'GET', path: `/invoices/upcoming?subscriptionId=${subscriptionId}` }),
  ({ externalId: customerExternalId }) => {
    const urls = { successUrl: 'https://soak.test/thanks', cancelUrl: 'https://soak.test/plans' };
    const checkoutSession = { type: 'product', customerExternalId, priceSlug: 'team-monthly', ...urls };
    return { method: 'POST', path: '/checkout-sessions', body: { checkoutSession } };
  },
  ({ subscriptionId }) => {
    const body = { cancellation: { timing: 'immediately' } };
    return { method: 'POST', path: `/subscriptions/${subscriptionId}/cancel`, body };
  },
];

const subscribeStep = 2;

/** The result of a step: its status, and the body of a response other than 200. */
export interface StepAnswer {
  readonly status: number;
  readonly text: string;
}

/** Customer lives that advance one step at a time; a new one starts if none is waiting. */
export class Lives {
  readonly #service: BenchService;
  readonly #waiting: Life[] = [];
  #begun = 0;

  constructor(service: BenchService) {
    this.#service = service;
  }

  /** Takes the next step of some life. A refused step ends the life. */
  async goOn(): Promise<StepAnswer> {
    const life = this.#waiting.shift() ?? { externalId: `life-${this.#begun++}`, step: 0, subscriptionId: '' };
    const step = steps[life.step]?.(life);
    if (step === undefined) throw new Error('a life has no such step');
    const response = await fetch(`${this.#service.address}/api/v1${step.path}`, {
      method: step.method,
      headers: { authorization: this.#service.key, 'content-type': 'application/json' },
      ...(step.body === undefined ? {} : { body: JSON.stringify(step.body) }),
    });
    const text = await response.text();
    if (response.status !== 200) return { status: response.status, text: `${step.method} ${step.path}: ${text}` };
    if (life.step === subscribeStep) life.subscriptionId = JSON.parse(text).subscription.id;
    life.step += 1;
    if (life.step < steps.length) this.#waiting.push(life);
    return { status: 200, text: '' };
  }
}
