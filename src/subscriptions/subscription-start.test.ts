import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calendarEnd, calendarStart, instant, msPerDay } from '../kernel/calendar.ts';
import type { Problem } from '../kernel/problem.ts';
import type { Price } from '../pricing/price.ts';
import type { SubscriptionRow } from './subscription.ts';
import {
  decideActivation,
  decideStart,
  decideTrialMove,
  maxPeriodsBehind,
  NewSubscription,
  refuseFarStart,
  refuseSecond,
  type StartTerms,
  subscriptionName,
} from './subscription-start.ts';

const startDate = instant('2026-04-01');
const price = {
  id: 'price_1',
  type: 'subscription',
  unitPrice: 3000n,
  pricing: null,
  setupFeeAmount: null,
  minimumCommitment: null,
  intervalUnit: 'month',
  intervalCount: 1,
  trialPeriodDays: null,
  active: true,
  // The rest of a price says nothing about the start.
} as Price;
const terms: StartTerms = {
  price,
  product: { active: true, default: false },
  quantity: 1,
  startDate,
  now: startDate,
  trialEnd: null,
  intervalUnit: null,
  intervalCount: null,
  doNotCharge: false,
  hadTrial: false,
  givenPaymentMethodId: null,
  storedPaymentMethodId: null,
  hasNetTerms: false,
  anchorSettings: { billingAnchor: 'anniversary', firstPeriod: 'short' },
};
const withTrial = { ...price, trialPeriodDays: 14 } as Price;
const free = { ...price, unitPrice: 0n } as Price;
const once = { ...free, type: 'single_payment', intervalUnit: null, intervalCount: null } as Price;
const inTwoWeeks = startDate + 14 * msPerDay;

const cases: {
  claim: string;
  terms: Partial<StartTerms>;
  status: string;
  end: string | null;
  chargeWith: string | null;
}[] = [
  { claim: 'waits for a payment method', terms: {}, status: 'incomplete', end: null, chargeWith: null },
  {
    claim: 'that is invoiced, because there are terms to pay in, is active without a card',
    terms: { hasNetTerms: true },
    status: 'active',
    end: '2026-05-01',
    chargeWith: null,
  },
  {
    claim: 'with a named card is active, and the card is charged',
    terms: { givenPaymentMethodId: 'pm_given', storedPaymentMethodId: 'pm_stored' },
    status: 'active',
    end: '2026-05-01',
    chargeWith: 'pm_given',
  },
  {
    claim: "with the customer's card is incomplete until the charge succeeds",
    terms: { storedPaymentMethodId: 'pm_stored' },
    status: 'incomplete',
    end: '2026-05-01',
    chargeWith: 'pm_stored',
  },
  {
    claim: 'with trial days is on trial, and nothing is charged',
    terms: { price: withTrial, givenPaymentMethodId: 'pm_given' },
    status: 'trialing',
    end: '2026-04-15',
    chargeWith: null,
  },
  {
    claim: 'with a trial until the day that the caller names is on trial until then',
    terms: { trialEnd: instant('2026-04-04') },
    status: 'trialing',
    end: '2026-04-04',
    chargeWith: null,
  },
  {
    claim: 'after an earlier trial has no second one of its price',
    terms: { price: withTrial, hadTrial: true, givenPaymentMethodId: 'pm_given' },
    status: 'active',
    end: '2026-05-01',
    chargeWith: 'pm_given',
  },
  {
    claim: 'after an earlier trial is on trial until the day that the caller names',
    terms: { price: withTrial, hadTrial: true, trialEnd: inTwoWeeks, givenPaymentMethodId: 'pm_given' },
    status: 'trialing',
    end: '2026-04-15',
    chargeWith: null,
  },
  {
    claim: 'that is given away is active, without a trial',
    terms: { price: withTrial, doNotCharge: true, storedPaymentMethodId: 'pm_stored' },
    status: 'active',
    end: '2026-05-01',
    chargeWith: null,
  },
  {
    claim: 'that costs nothing waits for no payment method',
    terms: { price: free, storedPaymentMethodId: 'pm_stored' },
    status: 'active',
    end: '2026-05-01',
    chargeWith: null,
  },
  {
    claim: 'on a price that is paid once has no periods',
    terms: { price: once, product: { active: true, default: true } },
    status: 'active',
    end: null,
    chargeWith: null,
  },
  {
    claim: 'with an interval of its own has periods of that',
    terms: { intervalUnit: 'week', intervalCount: 2, givenPaymentMethodId: 'pm_given' },
    status: 'active',
    end: '2026-04-15',
    chargeWith: 'pm_given',
  },
];

for (const { claim, terms: changed, status, end, chargeWith } of cases) {
  test(`a subscription ${claim}`, () => {
    const start = decideStart({ ...terms, ...changed });
    assert.equal(start.status, status);
    assert.deepEqual(start.period, end === null ? null : { start: startDate, end: instant(end) });
    assert.equal(start.chargeWith, chargeWith);
    assert.equal(start.interval === null, changed.price?.type === 'single_payment');
  });
}

test('what is given away costs nothing, and is no free plan', () => {
  const start = decideStart({ ...terms, doNotCharge: true });
  assert.equal(start.isFreePlan, false);
  assert.deepEqual([decideStart(terms).isFreePlan, decideStart({ ...terms, price: free }).isFreePlan], [false, true]);
});

test('with an anchor of 15 March kept, what starts on 1 April has the rest of a month first; a trial and a later start have not', () => {
  const anchor = instant('2026-03-15');
  const charged = { ...terms, anchor, givenPaymentMethodId: 'pm_given' };
  const rest = decideStart(charged);
  assert.deepEqual(
    [rest.anchor, rest.wholeStartAt, rest.period],
    [anchor, anchor, { start: startDate, end: instant('2026-04-15') }],
  );
  const onBoundary = decideStart({ ...charged, anchor: instant('2026-02-01') });
  assert.deepEqual(
    [onBoundary.wholeStartAt, onBoundary.period],
    [null, { start: startDate, end: instant('2026-05-01') }],
  );
  const ahead = decideStart({ ...charged, anchor: instant('2026-04-15') });
  assert.deepEqual([ahead.wholeStartAt, ahead.period], [anchor, rest.period], 'an anchor ahead counts backwards');
  for (const changed of [{ price: withTrial }, { now: startDate - 1 }]) {
    const { anchor: kept, wholeStartAt } = decideStart({ ...charged, ...changed });
    assert.deepEqual([kept, wholeStartAt], [null, null]);
  }
});

test('what has waited begins when it is activated: a whole month, or the rest of one with an anchor kept', () => {
  const waiting = {
    startDate,
    billingAnchor: 'anniversary',
    firstPeriod: 'short',
    trialEnd: null,
    billingCycleAnchorDate: startDate,
    intervalUnit: 'month',
    intervalCount: 1,
  } as const;
  const now = startDate + 10 * msPerDay;
  assert.deepEqual(decideActivation(waiting, { anchor: null, now }), {
    period: { start: now, end: instant('2026-05-11'), wholeStartAt: null },
    anchor: now,
    billingAnchor: 'anniversary',
  });
  assert.deepEqual(decideActivation(waiting, { anchor: startDate, now }), {
    period: { start: now, end: instant('2026-05-01'), wholeStartAt: startDate },
    anchor: startDate,
    billingAnchor: 'anniversary',
  });
});

test('a trial of billions of days is legal and ends with the calendar', () => {
  const endless = { ...price, trialPeriodDays: 4_503_599_627_370_495 } as Price;
  assert.equal(decideStart({ ...terms, price: endless }).trialEnd, calendarEnd);
});

const refusals: [string, Partial<StartTerms>, string][] = [
  ['a price of usage', { price: { ...price, type: 'usage' } as Price }, 'priceNotSubscribable'],
  ['a single payment for another product than the default one', { price: once }, 'priceNotSubscribable'],
  ['an inactive price', { price: { ...price, active: false } as Price }, 'priceInactive'],
  ['an inactive product', { product: { active: false, default: false } }, 'priceInactive'],
  ['a start before the calendar', { startDate: calendarStart - 1 }, 'invalidRequest'],
  ['a start after the calendar', { startDate: calendarEnd }, 'invalidRequest'],
  ['a trial that ends when it begins', { trialEnd: startDate }, 'invalidRequest'],
  [
    'a trial of a price that is paid once',
    { price: once, product: { active: true, default: true }, trialEnd: inTwoWeeks },
    'invalidRequest',
  ],
  ['more than a payment can carry', { quantity: 1_501_199_875_791 }, 'invalidRequest'],
];

for (const [claim, changed, problem] of refusals) {
  test(`refuses ${claim}`, () => {
    assert.throws(
      () => decideStart({ ...terms, ...changed }),
      (error: Problem) => error.problem === problem,
    );
  });
}

test('the most that a payment can carry is accepted: 1501199875790 x 3000 is 4503599627370000', () => {
  assert.equal(decideStart({ ...terms, quantity: 1_501_199_875_790 }).status, 'incomplete');
});

test('a start lies at most 500 periods back, counted from the end of its trial', () => {
  const now = startDate;
  const refuses = (more: Partial<StartTerms>, back: number) => {
    const given = { ...terms, ...more, startDate: startDate - back * msPerDay };
    const start = decideStart(given);
    try {
      refuseFarStart(start, { startDate: given.startDate, now });
      return false;
    } catch (error) {
      assert.match((error as Problem).message, /startDate: must be at most 500 billing periods in the past/);
      return true;
    }
  };
  const daily = { intervalUnit: 'day' } as const;
  assert.equal(maxPeriodsBehind, 500);
  assert.deepEqual([refuses(daily, 500), refuses(daily, 501)], [false, true]);
  assert.deepEqual([refuses({}, 501), refuses({}, 40_000)], [false, true]);
  assert.deepEqual(
    [refuses({ ...daily, price: withTrial }, 514), refuses({ ...daily, price: withTrial }, 515)],
    [false, true],
  );
  assert.equal(refuses({ price: once, product: { active: true, default: true } }, 40_000), false);
});

test('the name says product and price', () => {
  assert.equal(subscriptionName({ name: 'Pro' }, { name: 'Monthly' }), 'Pro - Monthly');
  assert.equal(subscriptionName({ name: 'Pro' }, { name: null }), 'Pro');
});

// What else stands in a row does not matter to what is replaced.
const row = (id: string, status: string, isFreePlan: boolean, currentBillingPeriodStart: number | null = 0) =>
  ({ id, status, isFreePlan, currentBillingPeriodStart, cancelScheduledAt: null }) as SubscriptionRow;

test('a paid subscription is not refused beside the free one, which it replaces', () => {
  const living = [row('free', 'active', true)];
  for (const allowMultiple of [false, true]) {
    refuseSecond(living, { isFreePlan: false, allowMultiple, startsAt: 0 });
    refuseSecond([], { isFreePlan: false, allowMultiple, startsAt: 0 });
  }
});

test('a second subscription is refused where one is allowed, and so is a second free one anywhere', () => {
  const refused = (living: SubscriptionRow[], isFreePlan: boolean, allowMultiple: boolean) =>
    assert.throws(
      () => refuseSecond(living, { isFreePlan, allowMultiple, startsAt: 0 }),
      (error: Problem) => error.problem === 'currentSubscriptionExists',
    );
  refused([row('paid', 'past_due', false)], false, false);
  refused([row('paid', 'active', false)], true, false);
  refused([row('paid', 'active', false), row('free', 'active', true)], false, false);
  refused([row('free', 'active', true)], true, true);
  refused([row('free', 'active', true)], true, false);
  refuseSecond([row('paid', 'active', false)], { isFreePlan: false, allowMultiple: true, startsAt: 0 });
  refuseSecond([row('paid', 'active', false)], { isFreePlan: true, allowMultiple: true, startsAt: 0 });
});

test('one that waits for a payment method stands in nobody’s way; one whose first payment is under way does', () => {
  const once = { isFreePlan: false, allowMultiple: false, startsAt: 0 };
  refuseSecond([row('waiting', 'incomplete', false, null)], once);
  assert.throws(() => refuseSecond([row('paying', 'incomplete', false)], once));
});

test('the next one may start when the one before it has ended, and not while another is booked', () => {
  const ends = { ...row('pro', 'cancellation_scheduled', false), cancelScheduledAt: 100 };
  const booked = { ...row('team', 'active', false, 100), currentBillingPeriodEnd: 100, startDate: 100 };
  const refusal = (living: SubscriptionRow[], startsAt: number) => {
    try {
      refuseSecond(living, { isFreePlan: false, allowMultiple: false, startsAt });
      return null;
    } catch (error) {
      return (error as Problem).problem;
    }
  };
  assert.equal(refusal([ends], 99), 'nextSubscriptionTooEarly');
  assert.equal(refusal([ends], 100), null);
  assert.equal(refusal([booked, ends], 200), 'nextSubscriptionBooked');
  assert.equal(refusal([{ ...booked, cancelScheduledAt: 200 }, ends], 200), null);
});

test('a request names one customer and one price, and no card for what is given away', () => {
  const wrong = (given: object) => {
    const result = NewSubscription.safeParse(given);
    return result.success ? [] : result.error.issues.map((issue) => issue.path.join('.'));
  };
  assert.deepEqual(wrong({}), ['customerId', 'priceId']);
  assert.deepEqual(wrong({ customerId: 'c', customerExternalId: 'e', priceId: 'p', priceSlug: 's' }), [
    'customerId',
    'priceId',
  ]);
  assert.deepEqual(wrong({ customerId: 'c', priceSlug: 's', doNotCharge: true, backupPaymentMethodId: 'pm' }), [
    'doNotCharge',
  ]);
  assert.deepEqual(wrong({ customerId: 'c', priceId: 'p', quantity: 0 }), ['quantity']);
  assert.deepEqual(wrong({ customerId: 'c', priceId: 'p', quantity: '5', startDate: '2026-04-01' }), []);
});

test('only what costs something and has nothing to charge is invoiced', () => {
  const isInvoiced = (changed: Partial<StartTerms>) =>
    decideStart({ ...terms, hasNetTerms: true, ...changed }).isInvoiced;
  assert.equal(isInvoiced({}), true);
  const others = [{ storedPaymentMethodId: 'pm_1' }, { price: free }, { price: withTrial }, { doNotCharge: true }];
  assert.deepEqual(
    [...others.map(isInvoiced), isInvoiced({ hasNetTerms: false })],
    [false, false, false, false, false],
  );
});

test('a running trial gets another end that is later than now, and nothing else does', () => {
  const day = 86_400_000;
  const trial = {
    id: 'sub_1',
    status: 'trialing',
    trialEnd: 14 * day,
    currentBillingPeriodStart: 0,
    currentBillingPeriodEnd: 14 * day,
  } as const;
  const at = { now: 3 * day, hasPendingChange: false };
  assert.equal(decideTrialMove(trial, 20 * day, at), true);
  assert.equal(decideTrialMove(trial, 3 * day + 1, at), true);
  assert.equal(decideTrialMove(trial, undefined, at), false);
  assert.equal(decideTrialMove({ ...trial, status: 'active' }, 14 * day, at), false);
  const refused = (subscription: Parameters<typeof decideTrialMove>[0], trialEnd: number, pending = false) => {
    try {
      decideTrialMove(subscription, trialEnd, { ...at, hasPendingChange: pending });
    } catch (error) {
      return (error as Problem).problem;
    }
    return null;
  };
  assert.equal(refused(trial, 3 * day), 'invalidRequest');
  for (const status of ['active', 'canceled', 'paused', 'cancellation_scheduled'] as const)
    assert.equal(refused({ ...trial, status }, 20 * day), 'trialEndFixed');
  assert.equal(refused({ ...trial, currentBillingPeriodEnd: 0 }, 20 * day), 'trialEndFixed');
  assert.equal(refused(trial, 20 * day, true), 'trialEndFixed');
});
