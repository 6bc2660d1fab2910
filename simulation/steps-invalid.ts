import { seatSlug } from './catalogue.ts';
import { meterSlug } from './catalogue-usage.ts';
import type { Ask, Body } from './client.ts';
import { isDefaultPlan } from './oracle-actions.ts';
import { allSubscriptions, type Draw, type Records } from './step.ts';

type Wrong = (records: Records, known: { readonly subscriptionId: string; readonly customerName: string }) => Ask;

const post = (path: string, body: Body): Ask => ({ method: 'POST', path, body });

/** Invalid requests: each is refused, and nothing changes. */
const wrongs: Readonly<Record<string, Wrong>> = {
  'a customer without a name': () => post('/customers', { customer: { externalId: 'x', email: 'x@sim.test' } }),
  'a customer that there is': (_, { customerName }) =>
    post('/customers', { customer: { externalId: customerName, email: 'y@sim.test', name: 'Y' } }),
  'a subscription to no price': (_, { customerName }) =>
    post('/subscriptions', { customerExternalId: customerName, priceSlug: 'nothing' }),
  'a subscription of -1': (_, { customerName }) =>
    post('/subscriptions', { customerExternalId: customerName, priceSlug: 'pro', quantity: -1 }),
  'a subscription with a wrong code': (_, { customerName }) =>
    post('/subscriptions', { customerExternalId: customerName, priceSlug: 'free', discountCode: 'NOTHING' }),
  'a subscription of nobody': () => post('/subscriptions', { customerExternalId: 'nobody', priceSlug: 'pro' }),
  'usage of nothing': (_, { subscriptionId }) =>
    post('/usage-events', { usageEvent: { subscriptionId, transactionId: 'w', amount: 0, usageMeterSlug: meterSlug } }),
  'usage of no meter': (_, { subscriptionId }) =>
    post('/usage-events', { usageEvent: { subscriptionId, transactionId: 'w', amount: 1, usageMeterSlug: 'nothing' } }),
  'usage that is partly wrong': (_, { subscriptionId }) =>
    post('/usage-events/bulk', {
      usageEvents: [
        { subscriptionId, transactionId: 'w1', amount: 1, usageMeterSlug: meterSlug },
        { subscriptionId: 'sub_000000000000000000000', transactionId: 'w2', amount: 1, usageMeterSlug: meterSlug },
      ],
    }),
  'a change to nothing': (_, { subscriptionId }) =>
    post(`/subscriptions/${subscriptionId}/adjust`, { adjustment: { timing: 'auto', newSubscriptionItems: [] } }),
  'an end at a date that is over': (_, { subscriptionId }) =>
    post(`/subscriptions/${subscriptionId}/cancel`, { cancellation: { timing: 'at_future_date', endDate: 1 } }),
  'an end of no kind': (_, { subscriptionId }) =>
    post(`/subscriptions/${subscriptionId}/cancel`, { cancellation: { timing: 'some day' } }),
  'more seats than anybody has': (_, { subscriptionId }) =>
    post(`/resource-claims/${subscriptionId}/claim`, { resourceSlug: seatSlug, quantity: 9999 }),
  'seats in two ways': (_, { subscriptionId }) =>
    post(`/resource-claims/${subscriptionId}/claim`, { resourceSlug: seatSlug, quantity: 1, externalId: 'w' }),
  'credits of 1.5': (_, { subscriptionId }) =>
    post('/usage-credits', { usageCredit: { subscriptionId, usageMeterSlug: meterSlug, amount: 1.5 } }),
  'a payment method of nobody': () =>
    post('/payment-methods', { paymentMethod: { customerExternalId: 'nobody', type: 'card', token: 'pm_card_visa' } }),
  'a payment method that there is not': (_, { customerName }) =>
    post('/payment-methods', { paymentMethod: { customerExternalId: customerName, type: 'card', token: 'pm_none' } }),
  'a refund of nothing known': () => post('/payments/pym_000000000000000000000/refund', { partialAmount: 1 }),
  'a discount of -5': () =>
    post('/discounts', { discount: { name: 'W', code: 'WRONG', amount: -5, amountType: 'fixed', duration: 'once' } }),
  'a clock that goes back': () => ({ method: 'PUT', path: '/test-clock', body: { testClock: { now: 1000 } } }),
  'a body of another kind': () => post('/customers', [1, 2, 3]),
};

export const askWrongly: Draw = ({ random, books }) => {
  // The default plan, for which each of these requests is invalid.
  const subscription = random.pick(allSubscriptions(books).filter(isDefaultPlan));
  const what = random.pick(Object.keys(wrongs));
  const wrong = wrongs[what ?? ''];
  if (subscription === undefined || wrong === undefined) return null;
  const customerName = subscription.customer.name;
  return {
    text: `asks for ${what}`,
    customer: null,
    ask: async (records) => wrong(records, { customerName, subscriptionId: await records.subscription(subscription) }),
    apply: () => 'refused',
  };
};
