import { instant } from '../../src/kernel/calendar.ts';
import {
  ask,
  atEnd,
  attach,
  cancelAt,
  changeTo,
  declines,
  lapse,
  onPlan,
  openInvoiceOf,
  type Path,
  pauseUntil,
} from './events-told-world.ts';
import { breakCard } from './years.ts';

const ofCustomers: readonly Path[] = [
  {
    path: 'a new customer stands on the default plan',
    does: () => ['POST', '/customers', { customer: { externalId: 'bob', email: 'b@acme.test', name: 'Bob' } }],
    tells: ['2026-01-01 customer.created', '2026-01-01 subscription.created'],
  },
  {
    path: 'a customer on record only',
    does: () => [
      'POST',
      '/customers',
      { customer: { externalId: 'bob', email: 'b@acme.test', name: 'Bob', archived: true } },
    ],
    tells: ['2026-01-01 customer.created'],
  },
  {
    path: 'an external id that is taken',
    does: () => ['POST', '/customers', { customer: { externalId: 'ada', email: 'b@acme.test', name: 'B' } }, 409],
    tells: [],
  },
  {
    path: 'a customer changes',
    does: () => ['PUT', '/customers/ada', { customer: { name: 'Ada Lovelace' } }],
    tells: ['2026-01-01 customer.updated'],
  },
  {
    path: 'a change that changes nothing',
    does: () => ['PUT', '/customers/ada', { customer: { name: 'ada' } }],
    tells: [],
  },
  {
    path: 'a customer is archived: its plan ends, and its last usage is paid',
    does: () => ['POST', '/customers/ada/archive', {}],
    tells: ['2026-01-01 subscription.canceled', '2026-01-01 customer.updated', '2026-01-01 payment.succeeded'],
  },
  {
    path: 'archived again',
    given: ({ caller }) => caller.post('/customers/ada/archive'),
    does: () => ['POST', '/customers/ada/archive', {}],
    tells: [],
  },
  {
    path: 'a customer is erased: its plan ends first',
    given: ({ caller, subscriptionId }) =>
      caller.post(`/subscriptions/${subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } }),
    does: () => ['POST', '/customers/ada/erase', {}],
    tells: ['2026-01-01 subscription.canceled', '2026-01-01 customer.updated', '2026-01-01 customer.erased'],
  },
  { path: 'another card', does: (world) => attach(world, 'pm_card_mastercard', { default: true }), tells: [] },
  {
    path: 'another card, and the plan is charged on it from now on',
    does: (world) => attach(world, 'pm_card_mastercard', { automaticallyUpdateSubscriptions: true }),
    tells: ['2026-01-01 subscription.updated'],
  },
];

const ofStarts: readonly Path[] = [
  {
    path: 'a paid plan takes the place of the free one, of whose end its creation tells',
    given: ({ caller, subscriptionId }) =>
      caller.post(`/subscriptions/${subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } }),
    does: ({ customerId }) => ['POST', '/subscriptions', { customerId, priceSlug: 'year-price' }],
    tells: ['2026-01-01 subscription.created', '2026-01-01 payment.succeeded', '2026-01-01 subscription.updated'],
  },
  {
    path: 'a trial begins',
    with: { plan: 'free' },
    does: ({ customerId }) => ['POST', '/subscriptions', { customerId, priceSlug: 'trial-price' }],
    tells: ['2026-01-01 subscription.created'],
  },
  {
    path: 'a trial ends, and its first month is paid',
    with: { plan: 'trial' },
    does: () => '2026-01-15',
    tells: [
      '2026-01-12 subscription.trial_will_end',
      '2026-01-15 subscription.updated',
      '2026-01-15 payment.succeeded',
    ],
  },
  {
    path: 'a trial ends with nothing to charge: the month begins, and it is past due',
    with: { plan: 'trial', token: undefined },
    does: () => '2026-01-15',
    tells: [
      '2026-01-12 subscription.trial_will_end',
      '2026-01-15 subscription.updated',
      '2026-01-15 subscription.updated',
    ],
  },
  {
    path: 'the first payment after a trial fails',
    with: { plan: 'trial', token: declines },
    does: () => '2026-01-15',
    tells: [
      '2026-01-12 subscription.trial_will_end',
      '2026-01-15 subscription.updated',
      '2026-01-15 payment.failed',
      '2026-01-15 subscription.created',
      '2026-01-15 subscription.canceled',
    ],
  },
  {
    path: 'a plan with nothing to charge waits for its payment for 23 hours',
    with: { token: undefined },
    does: () => '2026-01-02',
    tells: ['2026-01-01T23:00Z subscription.updated'],
  },
  {
    path: 'a plan is to start later',
    given: (world) => ask(world, cancelAt(world, 'immediately')),
    does: ({ customerId }) => [
      'POST',
      '/subscriptions',
      { customerId, priceSlug: 'month-price', startDate: instant('2026-01-10') },
    ],
    tells: ['2026-01-01 subscription.created'],
  },
  {
    path: 'its start has come',
    with: { startDate: instant('2026-01-10') },
    does: () => '2026-01-10',
    tells: ['2026-01-10 subscription.updated', '2026-01-10 payment.succeeded'],
  },
];

const ofEnds: readonly Path[] = [
  {
    path: 'canceled now: the customer stands on the default plan again, and its last usage is paid',
    does: (world) => cancelAt(world, 'immediately'),
    tells: ['2026-01-01 subscription.created', '2026-01-01 subscription.canceled', '2026-01-01 payment.succeeded'],
  },
  {
    path: 'to be canceled',
    does: (world) => cancelAt(world, atEnd),
    tells: ['2026-01-01 subscription.updated'],
  },
  {
    path: 'to be canceled as it was to be',
    given: (world) => ask(world, cancelAt(world, atEnd)),
    does: (world) => cancelAt(world, atEnd),
    tells: [],
  },
  {
    path: 'not to be canceled after all',
    given: (world) => ask(world, cancelAt(world, atEnd)),
    does: (world) => onPlan(world, 'uncancel'),
    tells: ['2026-01-01 subscription.updated'],
  },
  {
    path: 'the end has come',
    given: (world) => ask(world, cancelAt(world, atEnd)),
    does: () => '2026-02-01',
    tells: ['2026-02-01 subscription.created', '2026-02-01 subscription.canceled', '2026-02-01 payment.succeeded'],
  },
];

const ofPauses: readonly Path[] = [
  { path: 'paused', does: (world) => pauseUntil(world, null), tells: ['2026-01-01 subscription.updated'] },
  {
    path: 'the pause is to end',
    given: (world) => ask(world, pauseUntil(world, null)),
    does: (world) => pauseUntil(world, '2026-01-20'),
    tells: ['2026-01-01 subscription.updated'],
  },
  {
    path: 'the pause is to end as it was to',
    given: (world) => ask(world, pauseUntil(world, '2026-01-20')),
    does: (world) => pauseUntil(world, '2026-01-20'),
    tells: [],
  },
  {
    path: 'a pause of no time',
    given: (world) => ask(world, pauseUntil(world, null)),
    does: (world) => onPlan(world, 'resume'),
    tells: ['2026-01-01 subscription.updated'],
  },
  {
    // The value that the pause kept pays for the plan. All credits were used before it, so it pays for no usage.
    path: 'it goes on by itself, in a new period that costs only the usage of the last one',
    given: (world) => ask(world, pauseUntil(world, '2026-01-20')),
    does: () => '2026-01-20',
    tells: ['2026-01-20 subscription.updated', '2026-01-20 payment.succeeded'],
  },
];

const ofChanges: readonly Path[] = [
  {
    path: 'a change now that is paid for',
    does: (world) => onPlan(world, 'adjust', changeTo('immediately', { priceSlug: 'month-price', quantity: 2 })),
    tells: ['2026-01-01 payment.succeeded', '2026-01-01 subscription.updated'],
  },
  {
    path: 'a change now whose charge fails is not made',
    given: (world) => breakCard(world.app, world),
    does: (world) => onPlan(world, 'adjust', changeTo('immediately', { priceSlug: 'month-price', quantity: 2 }), 402),
    tells: ['2026-01-01 payment.failed'],
  },
  {
    path: 'a look at what a change would cost',
    does: (world) =>
      onPlan(world, 'preview-adjust', changeTo('immediately', { priceSlug: 'month-price', quantity: 2 })),
    tells: [],
  },
  {
    path: 'a change at the end of the month',
    does: (world) => onPlan(world, 'adjust', changeTo(atEnd, { priceSlug: 'quarter-price' })),
    tells: ['2026-01-01 subscription.updated'],
  },
  {
    path: 'no change after all',
    given: (world) => ask(world, onPlan(world, 'adjust', changeTo(atEnd, { priceSlug: 'quarter-price' }))),
    does: (world) => onPlan(world, 'cancel-scheduled-adjustment'),
    tells: ['2026-01-01 subscription.updated'],
  },
  {
    path: 'the change at the end of the month is made with the renewal',
    given: (world) => ask(world, onPlan(world, 'adjust', changeTo(atEnd, { priceSlug: 'quarter-price' }))),
    does: () => '2026-02-01',
    tells: ['2026-02-01 subscription.updated', '2026-02-01 payment.succeeded'],
  },
];

const ofMoney: readonly Path[] = [
  {
    path: 'two renewals',
    does: () => '2026-03-01',
    tells: ['02', '03'].flatMap((month) => [
      `2026-${month}-01 subscription.updated`,
      `2026-${month}-01 payment.succeeded`,
    ]),
  },
  {
    path: 'a plan that costs nothing is renewed',
    with: { plan: 'free' },
    does: () => '2026-02-01',
    tells: ['2026-02-01 subscription.updated'],
  },
  {
    path: 'what could not be paid is tried again, on a card that works',
    given: async (world) => {
      await lapse(world);
      await ask(world, attach(world, 'pm_card_visa', { automaticallyUpdateSubscriptions: true }));
    },
    does: () => '2026-02-04',
    tells: ['2026-02-04 payment.succeeded', '2026-02-04 subscription.updated'],
  },
  {
    path: 'a renewal that cannot be paid, and every attempt until it is unpaid',
    given: (world) => breakCard(world.app, world),
    does: () => '2026-02-20',
    tells: [
      '2026-02-01 subscription.updated',
      '2026-02-01 payment.failed',
      '2026-02-01 subscription.updated',
      '2026-02-04 payment.failed',
      '2026-02-09 payment.failed',
      '2026-02-14 payment.failed',
      '2026-02-14 subscription.updated',
    ],
  },
  {
    path: 'the last attempt ends it where the settings say so',
    settings: { dunning: { retryDays: [2], terminalAction: 'canceled' } },
    given: lapse,
    does: () => '2026-02-03',
    tells: ['2026-02-03 payment.failed', '2026-02-03 subscription.created', '2026-02-03 subscription.canceled'],
  },
  {
    path: 'what is owed is charged on another card',
    given: lapse,
    does: async (world) => {
      const { body } = await ask(world, attach(world, 'pm_card_visa'));
      return onPlan(world, 'retry-payment', { paymentMethodId: body.paymentMethod.id });
    },
    tells: ['2026-02-01 payment.succeeded', '2026-02-01 subscription.updated'],
  },
  {
    path: 'what is owed is charged again, and fails again',
    given: lapse,
    does: (world) => onPlan(world, 'retry-payment', {}, 402),
    tells: ['2026-02-01 payment.failed'],
  },
  {
    path: 'what is owed came by bank transfer',
    given: lapse,
    does: async (world) => ['POST', `/invoices/${await openInvoiceOf(world)}/record-payment`, {}],
    tells: ['2026-02-01 payment.succeeded', '2026-02-01 subscription.updated'],
  },
  {
    path: 'what is owed is forgiven',
    given: lapse,
    does: async (world) => ['POST', `/invoices/${await openInvoiceOf(world)}/void`, {}],
    tells: ['2026-02-01 subscription.updated'],
  },
  {
    path: 'what is owed is written off',
    given: lapse,
    does: async (world) => ['POST', `/invoices/${await openInvoiceOf(world)}/mark-uncollectible`, {}],
    tells: ['2026-02-01 subscription.updated'],
  },
  {
    path: 'a refund changes no plan, and settles its credit note',
    does: async ({ caller }) => ['POST', `/payments/${(await caller.get('/payments')).data[0].id}/refund`, {}],
    tells: ['2026-01-01 credit_note.created', '2026-01-01 refund.created', '2026-01-01 credit_note.settled'],
  },
  {
    path: 'a debit that takes an hour',
    with: { token: 'pm_card_processing' },
    does: () => '2026-01-01T01:00:00Z',
    tells: ['2026-01-01T01:00Z payment.succeeded', '2026-01-01T01:00Z subscription.updated'],
  },
  {
    path: 'usage changes no record that events are about',
    does: ({ subscriptionId }) => [
      'POST',
      '/usage-events',
      { usageEvent: { subscriptionId, priceSlug: 'call', transactionId: 'more', amount: 1 } },
    ],
    tells: [],
  },
];

/** Every path on which something may be told, but for those that a processor begins. */
export const paths: readonly Path[] = [...ofCustomers, ...ofStarts, ...ofEnds, ...ofPauses, ...ofChanges, ...ofMoney];
