import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDays, instant } from '../kernel/calendar.ts';
import { capacitiesOf, creditsOfChange, featuresAfter, type GivenFeature, type GrantedCredits } from './plan-change.ts';

const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const day = (elapsed: number) => addDays(april.start, elapsed);

const feature = (subscriptionItemId: string, featureId: string, more: Partial<GivenFeature> = {}): GivenFeature => ({
  subscriptionItemId,
  featureId,
  type: 'toggle',
  amount: null,
  usageMeterId: null,
  renewalFrequency: null,
  grantInterval: null,
  resourceId: null,
  expiredAt: null,
  ...more,
});
const credits = (
  itemId: string,
  featureId: string,
  amount: bigint,
  renewalFrequency: 'once' | 'every_billing_period' = 'every_billing_period',
) => feature(itemId, featureId, { type: 'usage_credit_grant', amount, usageMeterId: 'meter', renewalFrequency });
const seats = (itemId: string, featureId: string, amount: bigint, more: Partial<GivenFeature> = {}) =>
  feature(itemId, featureId, { type: 'resource', amount, resourceId: 'seat', ...more });
const granted = (featureId: string, inPeriod: bigint): GrantedCredits => ({
  usageMeterId: 'meter',
  featureId,
  inPeriod,
});

/** What a change on a day of April brings, by feature. */
function extra(features: GivenFeature[], changed: string[], before: GrantedCredits[], elapsed: number) {
  const brought = creditsOfChange(features, new Set(changed), before, {
    at: day(elapsed),
    whole: april,
    spanOf: () => ({ ...april, whole: april }),
  });
  return brought.map(({ feature: { featureId }, amount, expiresAt }) => [featureId, amount, expiresAt]);
}

test('the table of changes: recurring credits for the rest of the period, less what it granted; once credits in full', () => {
  const mega = [credits('new', 'calls-900', 900n)];
  assert.deepEqual(extra(mega, ['new'], [granted('calls-360', 360n)], 15), [['calls-900', 90n, april.end]]);
  assert.deepEqual(extra(mega, ['new'], [granted('calls-360', 360n)], 20), []);
  const added = [credits('new', 'calls-1000', 1000n)];
  assert.deepEqual(extra(added, ['new'], [], 10), [['calls-1000', 667n, april.end]]);
  assert.deepEqual(extra(added, ['new'], [], 25), [['calls-1000', 167n, april.end]]);
  const once = [credits('new', 'welcome-500', 500n, 'once')];
  assert.deepEqual(extra(once, ['new'], [], 25), [['welcome-500', 500n, null]]);
  assert.deepEqual(extra(once, ['new'], [granted('welcome-500', 0n)], 25), [], 'granted before, whenever');
  const pro = [credits('new', 'calls-360', 360n)];
  assert.deepEqual(extra(pro, ['new'], [granted('calls-900', 900n)], 15), []);
});

test('in a long first period all that it granted counts, also before the interval that its amounts refer to', () => {
  // From 15 days before April to its end: 1.5 intervals, so 360 of an interval were 540.
  const long = { ...granted('calls-360', 540n), startAt: day(-15), endAt: april.end };
  // 400 of an interval are 600 of the whole period.
  assert.deepEqual(extra([credits('new', 'calls-400', 400n)], ['new'], [long], -15), [['calls-400', 60n, april.end]]);
  assert.deepEqual(extra([credits('new', 'calls-300', 300n)], ['new'], [long], -15), []);
});

test('what an item that stays was granted is its own, up to what it gives', () => {
  const features = [credits('kept', 'calls-360', 360n), credits('new', 'calls-1000', 1000n)];
  assert.deepEqual(extra(features, ['new'], [granted('calls-360', 360n)], 10), [['calls-1000', 667n, april.end]]);
  // Of 500 that the feature brought, 360 belong to the item that stays; 140 count against the new one.
  assert.deepEqual(extra(features, ['new'], [granted('calls-360', 500n)], 10), [['calls-1000', 527n, april.end]]);
  assert.deepEqual(extra(features, [], [], 10), [], 'nothing changed');
});

test('several new features on a meter share what comes, and meters do not mix', () => {
  const features = [
    credits('one', 'a', 100n),
    credits('two', 'b', 300n),
    { ...credits('two', 'c', 50n), usageMeterId: 'other' },
  ];
  assert.deepEqual(extra(features, ['one', 'two'], [granted('old', 100n)], 15), [
    ['a', 25n, april.end],
    ['b', 75n, april.end],
    ['c', 25n, april.end],
  ]);
});

test('after a change ended items give nothing, the plan wins over what was added by hand, and the rest stays', () => {
  const before = [
    seats('old', 'seats-10', 10n),
    seats('kept', 'seats-3', 3n),
    seats('manual', 'seats-5', 5n),
    feature('manual', 'sso'),
    seats('kept', 'seats-1', 1n, { expiredAt: day(5) }),
  ];
  const after = featuresAfter(before, {
    endingItemIds: new Set(['old']),
    manualItemIds: new Set(['manual']),
    granted: [seats('kept', 'seats-3', 9n), feature('new', 'sso')],
    at: day(10),
  });
  assert.deepEqual(
    after.map(({ subscriptionItemId, featureId, amount }) => [subscriptionItemId, featureId, amount]),
    [
      ['kept', 'seats-3', 9n],
      ['new', 'sso', null],
      ['manual', 'seats-5', 5n],
    ],
  );
  assert.deepEqual(capacitiesOf(after), { seat: 14 });
});

test('capacity is what the wire can carry: not below 0, not above 2^53-1', () => {
  assert.deepEqual(capacitiesOf([]), {});
  assert.deepEqual(capacitiesOf([seats('a', 'x', -5n)]), { seat: 0 });
  assert.deepEqual(capacitiesOf([seats('a', 'x', 2n ** 53n), seats('b', 'y', 1n)]), { seat: 2 ** 53 - 1 });
});

test('credits of an interval come for the rest of it, less what was granted for it', () => {
  const week = { start: day(7), end: day(14) };
  const weekly = (itemId: string, amount: bigint) =>
    feature(itemId, `weekly-${amount}`, {
      type: 'usage_credit_grant',
      amount,
      usageMeterId: 'meter',
      renewalFrequency: 'every_interval',
      grantInterval: { unit: 'week', count: 1 },
    });
  const time = { at: day(10), whole: april, spanOf: () => ({ ...week, whole: week }) };
  const brought = (before: GrantedCredits[], features = [weekly('new', 700n)]) =>
    creditsOfChange(features, new Set(['new']), before, time).map(({ amount, expiresAt, intervalStartAt }) => {
      assert.deepEqual([expiresAt, intervalStartAt], [week.end, day(10)]);
      return amount;
    });
  assert.deepEqual(brought([]), [400n]);
  assert.deepEqual(brought([{ ...granted('weekly-140', 140n), startAt: week.start, endAt: week.end }]), [260n]);
  // 300 of a month are 70 of a week.
  assert.deepEqual(brought([{ ...granted('calls-300', 300n), startAt: april.start, endAt: april.end }]), [330n]);
  // Credits of the month that stay are its own.
  const kept = [credits('kept', 'calls-300', 300n), weekly('new', 700n)];
  assert.deepEqual(brought([{ ...granted('calls-300', 300n), startAt: april.start, endAt: april.end }], kept), [400n]);
});
