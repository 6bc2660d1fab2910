import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { instant } from '../kernel/calendar.ts';
import { type EndingCredit, rolledByPurchase, rolledOver } from './rollover.ts';

const june = instant('2026-06-01');
const schedule = {
  startDate: instant('2026-01-01'),
  billingAnchor: 'anniversary',
  firstPeriod: 'short',
  trialEnd: null,
  billingCycleAnchorDate: instant('2026-01-01'),
  intervalUnit: 'month',
  intervalCount: 1,
} as const;
const goesOn = [{ subscriptionId: 'sub_1', at: june, goesOn: schedule }];

const ending = (change: Partial<EndingCredit>): EndingCredit => ({
  id: 'usage_credit_1',
  pricingModelId: 'pricing_model_1',
  ledgerAccountId: 'la_1',
  subscriptionId: 'sub_1',
  usageMeterId: 'usage_meter_1',
  featureId: 'feature_1',
  priority: 100,
  rest: 70n,
  rolloverMaximum: 50n,
  grantInterval: null,
  rolloverPeriods: 1,
  outstanding: 0n,
  ...change,
});
const amounts = (...credits: EndingCredit[]) =>
  rolledOver(credits, goesOn).map(({ sourceId, amount }) => [sourceId, amount]);

test('70 are left and at most 50 go over: 50; with 20 of before, 30; with 50 or more of before, nothing', () => {
  assert.deepEqual(amounts(ending({})), [['usage_credit_1', 50n]]);
  assert.deepEqual(amounts(ending({ outstanding: 20n })), [['usage_credit_1', 30n]]);
  assert.deepEqual(amounts(ending({ outstanding: 50n })), []);
  assert.deepEqual(amounts(ending({ outstanding: 80n })), []);
});

test('40 are left and at most 50 go over: 40', () => {
  assert.deepEqual(amounts(ending({ rest: 40n })), [['usage_credit_1', 40n]]);
});

test('what goes over can be used for so many periods, and keeps its feature and priority', () => {
  const [grant] = rolledOver([ending({ rolloverPeriods: 3, priority: 7 })], goesOn);
  assert(grant);
  const { expiresAt, featureId, priority, source, billingPeriodId } = grant;
  assert.deepEqual(
    { expiresAt, featureId, priority, source, billingPeriodId },
    {
      expiresAt: instant('2026-09-01'),
      featureId: 'feature_1',
      priority: 7,
      source: 'rollover',
      billingPeriodId: null,
    },
  );
});

test('credits of one feature on one account share its maximum; another feature and another account have their own', () => {
  const credits = [
    ending({ id: 'a', rest: 30n }),
    ending({ id: 'b', rest: 30n }),
    ending({ id: 'c', rest: 30n }),
    ending({ id: 'd', rest: 30n, featureId: 'feature_2' }),
    ending({ id: 'e', rest: 30n, ledgerAccountId: 'la_2' }),
  ];
  assert.deepEqual(amounts(...credits), [
    ['a', 30n],
    ['b', 20n],
    ['d', 30n],
    ['e', 30n],
  ]);
});

test('nothing goes over without a roll-over, or where the subscription does not go on', () => {
  assert.deepEqual(amounts(ending({ rolloverMaximum: null, rolloverPeriods: null })), []);
  assert.deepEqual(rolledOver([ending({})], [{ subscriptionId: 'sub_1', at: june }]), []);
});

test('what goes over and what went over before is never more than the maximum, unless that was so before', () => {
  const amount = fc.bigInt({ min: 1n, max: 1000n });
  fc.assert(
    fc.property(fc.array(amount), amount, fc.bigInt({ min: 0n, max: 1000n }), (rests, maximum, outstanding) => {
      const credits = rests.map((rest, n) => ending({ id: `${n}`, rest, rolloverMaximum: maximum, outstanding }));
      const grants = rolledOver(credits, goesOn);
      const sum = grants.reduce((total, grant) => total + grant.amount, 0n);
      const left = rests.reduce((total, rest) => total + rest, 0n);
      const room = maximum > outstanding ? maximum - outstanding : 0n;
      assert.equal(sum, left < room ? left : room);
      assert(grants.every((grant) => grant.amount > 0n && grant.amount <= (rests[Number(grant.sourceId)] ?? 0n)));
    }),
  );
});

test('30 and 40 are left, and 15 that rolled over before: of at most 60, 30 and 15 roll over with the next purchase', () => {
  const rest = (id: string, amount: bigint, rolled = false) => ({ id, rest: amount, rolled });
  const left = [rest('a', 30n), rest('b', 15n, true), rest('c', 40n)];
  assert.deepEqual(rolledByPurchase(left, 60n), [
    { id: 'a', amount: 30n },
    { id: 'c', amount: 15n },
  ]);
  assert.deepEqual(rolledByPurchase(left, 15n), []);
  assert.deepEqual(rolledByPurchase(left, 10n), []);
});
