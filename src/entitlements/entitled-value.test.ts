import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { entitledValue, type GivenValue } from './entitled-value.ts';

const given = (
  subscriptionId: string,
  id: string,
  value: GivenValue['value'],
  manuallyCreated = false,
): GivenValue => ({
  subscriptionId,
  id,
  value,
  manuallyCreated,
});

test('of several numbers a customer has the highest, of lists all texts, of texts the newest', () => {
  assert.equal(entitledValue([given('sub_1', 'f_1', 10), given('sub_1', 'f_2', 5), given('sub_2', 'f_3', 7)]), 10);
  assert.deepEqual(entitledValue([given('sub_2', 'f_3', ['us', 'eu']), given('sub_1', 'f_1', ['eu', 'ap'])]), [
    'eu',
    'ap',
    'us',
  ]);
  assert.equal(entitledValue([given('sub_1', 'f_9', 'eu'), given('sub_2', 'f_2', 'us')]), 'us');
  assert.equal(entitledValue([given('sub_1', 'f_1', 'eu'), given('sub_1', 'f_2', 'us')]), 'us');
  assert.deepEqual(entitledValue([given('sub_1', 'f_1', [])]), []);
});

test('a value that was added by hand replaces those of products in its subscription, and in no other one', () => {
  const plans = [given('sub_1', 'f_1', 10), given('sub_1', 'f_2', 5), given('sub_2', 'f_3', 7)];
  assert.equal(entitledValue([...plans, given('sub_1', 'f_4', 6, true)]), 7);
  assert.equal(entitledValue([...plans, given('sub_2', 'f_4', 3, true)]), 10);
  assert.equal(entitledValue([...plans, given('sub_1', 'f_0', 25, true)]), 25);
  assert.equal(entitledValue([given('sub_1', 'f_9', 'eu'), given('sub_1', 'f_1', 'us', true)]), 'us');
});

const grants = (value: fc.Arbitrary<GivenValue['value']>) =>
  fc.uniqueArray(
    fc.record({
      subscriptionId: fc.constantFrom('sub_1', 'sub_2', 'sub_3'),
      id: fc.nat(1000).map((n) => `f_${String(n).padStart(4, '0')}`),
      manuallyCreated: fc.boolean(),
      value,
    }),
    { minLength: 1, maxLength: 8, selector: ({ id }) => id },
  );

test('the order in which grants are read says nothing, and a plan more takes nothing away', () => {
  const text = fc.constantFrom('eu', 'us', 'ap');
  fc.assert(
    fc.property(
      fc
        .oneof(grants(fc.integer()), grants(text), grants(fc.uniqueArray(text)))
        .chain((drawn) => fc.tuple(fc.constant(drawn), fc.shuffledSubarray(drawn, { minLength: drawn.length }))),
      ([drawn, shuffled]) => assert.deepEqual(entitledValue(shuffled), entitledValue(drawn)),
    ),
  );
  fc.assert(
    fc.property(grants(fc.integer()), fc.integer(), (drawn, more) => {
      const before = entitledValue(drawn);
      const after = entitledValue([...drawn, given('sub_4', 'f_9999', more)]);
      assert.ok(Number(after) >= Number(before));
      assert.ok(Number(after) >= more);
    }),
  );
});
