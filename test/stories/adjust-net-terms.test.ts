import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { day, setUpChanges } from '../support/adjust-fixture.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const { subscribe, adjust, attach, calls, invoices } = await setUpChanges(app);
await app.put('/settings', { settings: { netTermsDays: 14 } });

// Pro gives 360 calls a month, mega 900. A change on day 5 of 30 leaves 25: of mega that is 900 x 25 / 30 = 750.
describe('a plan that is invoiced and not paid yet gave its credits at its start; a change of it gives the difference', () => {
  const begin = async () => {
    await app.setClock(day(0));
    const subscription = await subscribe('pro', { token: null });
    assert.equal(await calls(subscription.externalId, subscription.id), 360);
    await app.setClock(day(5));
    return subscription;
  };
  const pay = async (subscriptionId: string) => {
    const { data } = await app.get(`/invoices?subscriptionId=${subscriptionId}`);
    await app.post(`/invoices/${data[0].id}/record-payment`, { payment: {} });
  };

  test('a change to another plan, without proration, gives 750, and nothing again with the money', async () => {
    const { id, externalId } = await begin();
    await adjust(id, 'mega', { prorateCurrentBillingPeriod: false });
    assert.equal(await calls(externalId, id), 750);
    await pay(id);
    assert.equal(await calls(externalId, id), 750);
    assert.deepEqual(await invoices(id), [['paid', 3000]]);
  });

  test('a change to two of it, without proration, gives 720 x 25 / 30 = 600', async () => {
    const { id, externalId } = await begin();
    await adjust(id, 'pro x 2', { prorateCurrentBillingPeriod: false });
    assert.equal(await calls(externalId, id), 600);
    await pay(id);
    assert.equal(await calls(externalId, id), 600);
  });

  test('a change that is paid for in place of the invoice gives 750', async () => {
    const { id, externalId, customerId } = await begin();
    await attach(customerId, 'pm_card_visa');
    await adjust(id, 'mega');
    assert.deepEqual(await invoices(id), [
      ['void', 3000],
      ['paid', 8000],
    ]);
    assert.equal(await calls(externalId, id), 750);
  });
});
