import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { assertOneSlotInEachRow } from '../support/slots.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);

const day = (date: string) => app.setClock(instant(date));
const billing = (): Promise<Body> => app.get('/customers/acme/billing');
let used = 0;
const use = (subscriptionId: string, amount: number): Promise<Body> => {
  used += 1;
  const event = { subscriptionId, priceSlug: 'call-overage', transactionId: `t-${used}`, amount };
  return app.post('/usage-events/bulk', { usageEvents: [event] });
};
const claim = (id: string, externalIds: string[]) =>
  app.request('POST', `/resource-claims/${id}/claim`, { resourceSlug: 'seat', externalIds });

test("a customer's first month", async (month) => {
  let customerId = '';
  let freeId = '';
  let proId = '';

  await month.test('1 June: a new customer is on the free plan, with 500 calls to begin with', async () => {
    await day('2026-06-01');
    const customer = { externalId: 'acme', email: 'a@acme.test', name: 'Acme' };
    const { data } = await app.post('/customers', { customer });
    customerId = data.customer.id;
    freeId = data.subscription.id;
    await use(freeId, 200);
    assert.equal((await claim(freeId, ['ada', 'bob'])).body.usage.claimed, 2);
    const { currentSubscription, invoices } = await billing();
    assert.equal(currentSubscription.id, freeId);
    assert.equal(currentSubscription.experimental.usageMeterBalances[0].availableBalance, 300);
    assert.deepEqual(invoices, []);
  });

  await month.test(
    '11 June: Pro costs the whole 30.00, because its month begins today: U1 without the anchor kept',
    async () => {
      await day('2026-06-11');
      const { paymentMethod } = await app.post('/payment-methods', {
        paymentMethod: { customerExternalId: 'acme', token: 'pm_card_visa' },
      });
      const pro = await plans.subscribe({
        customerExternalId: 'acme',
        priceSlug: 'pro-monthly',
        defaultPaymentMethodId: paymentMethod.id,
      });
      proId = pro.id;
      assert.deepEqual(
        [pro.status, pro.currentBillingPeriodStart, pro.currentBillingPeriodEnd],
        ['active', instant('2026-06-11'), instant('2026-07-11')],
      );
      const { currentSubscriptions, subscriptions, invoices } = await billing();
      assert.deepEqual(
        currentSubscriptions.map((row: Body) => row.id),
        [proId],
      );
      assert.deepEqual(
        subscriptions.map((row: Body) => [row.id, row.status, row.subscriptionItems.length]),
        [
          [proId, 'active', 1],
          [freeId, 'canceled', 0],
        ],
      );
      assert.deepEqual(
        invoices.map((row: Body) => [row.invoice.total, row.invoice.status]),
        [[3000, 'paid']],
      );
    },
  );

  await month.test('the seats of the free plan are released with it, and its credits stay behind', async () => {
    assert.deepEqual((await app.get(`/resource-claims/${freeId}/claims`)).claims, []);
    assert.equal((await claim(freeId, ['eve'])).status, 400);
    // The welcome calls come once: 200 of 500 were used on the free plan.
    assert.equal(await plans.calls('acme', proId), 1300);
    const { featureItems } = (await billing()).currentSubscription.experimental;
    assert.deepEqual(featureItems.map((row: Body) => row.slug).sort(), [
      'monthly-calls',
      'seats',
      'sso',
      'welcome-calls',
    ]);
  });

  await month.test('20 June: the team fills its five seats and uses 1700 calls, 400 more than it has', async () => {
    await day('2026-06-20');
    assert.equal((await claim(proId, ['ada', 'bob', 'cy', 'dan', 'eve'])).status, 200);
    assert.equal((await claim(proId, ['fay'])).status, 400);
    await use(proId, 1700);
    assert.equal(await plans.calls('acme', proId), -400);
  });

  await month.test('25 June: it means to leave on 11 July, and thinks better of it', async () => {
    await day('2026-06-25');
    const leaving = await plans.cancel(proId, 'at_end_of_current_billing_period');
    assert.deepEqual([leaving.status, leaving.cancelScheduledAt], ['cancellation_scheduled', instant('2026-07-11')]);
    await day('2026-06-26');
    const staying = (await app.post(`/subscriptions/${proId}/uncancel`)).subscription;
    assert.deepEqual([staying.status, staying.cancelScheduledAt], ['active', null]);
  });

  await month.test(
    '30 June: it leaves at once; the 400 calls cost 2.00, and it is on the free plan again',
    async () => {
      await day('2026-06-30');
      assert.equal((await plans.cancel(proId, 'immediately')).status, 'canceled');
      const { currentSubscriptions, invoices, paymentMethods } = await billing();
      assert.deepEqual(
        currentSubscriptions.map((row: Body) => [row.name, row.startDate]),
        [['Free Subscription', instant('2026-06-30')]],
      );
      assert.deepEqual(
        invoices.map(({ invoice }: Body) => [invoice.invoiceNumber.slice(-5), invoice.total, invoice.status]),
        [
          ['00002', 200, 'paid'],
          ['00001', 3000, 'paid'],
        ],
      );
      assert.equal(paymentMethods.length, 1);
      assert.deepEqual((await app.get(`/resource-claims/${proId}/claims`)).claims, []);
    },
  );

  await month.test('every change was told, in order', async () => {
    const rows = await app.owner.selectFrom('events').select(['type', 'payload']).orderBy('id').execute();
    assert.deepEqual(
      rows.map((row) => row.type),
      [
        'customer.created',
        'subscription.created',
        'subscription.created',
        'invoice.created',
        'invoice.finalized',
        'payment.succeeded',
        'invoice.paid',
        'subscription.updated',
        'subscription.updated',
        'invoice.created',
        'invoice.finalized',
        'subscription.created',
        'subscription.canceled',
        'payment.succeeded',
        'invoice.paid',
      ],
    );
    for (const { payload } of rows) {
      assert.deepEqual((payload as Body).customer, { id: customerId, externalId: 'acme' });
    }
  });

  await month.test('what must be true of the data still is', async () => {
    await assertSound(app);
  });

  await month.test('the ids in each row are of one customer', async () => {
    const tables = await assertOneSlotInEachRow(app.owner);
    assert(tables.length > 8, tables.join());
  });
});
