import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApp } from '../support/harness.ts';
import { billingCalls } from '../support/official-calls-billing.ts';
import { pricingCalls } from '../support/official-calls-pricing.ts';
import { assertShape, methodsOf, officialClient, watch } from '../support/official-client.ts';
import { openShop } from '../support/official-shop.ts';

const app = await startTestApp();
const client = officialClient(app, await watch(app));
const shop = await openShop(client);
const calls = { ...pricingCalls, ...billingCalls };

test('the official client has 54 methods, and each has a call here', () => {
  const methods = methodsOf(client);
  assert.equal(methods.length, 54);
  assert.deepEqual(Object.keys(calls).sort(), methods.sort());
});

for (const [method, { call, answers, says }] of Object.entries(calls)) {
  test(`${method}: the answer is documented and has every key that clients read`, async () => {
    const answer = await call(client, shop, app);
    assertShape(answers, answer);
    if (says) assert.partialDeepStrictEqual(answer, says);
  });
}
