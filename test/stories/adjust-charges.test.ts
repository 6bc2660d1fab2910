import assert from 'node:assert/strict';
import { test } from 'node:test';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const { subscribe, adjust, invoices, items, moveTo } = changes;

/** Changes the plan on a day of April, and answers what was charged for it: 0 when there is no new invoice. */
async function chargeFor(id: string, elapsedDays: number, plan: string | Body[], more: Body = {}): Promise<number> {
  await app.setClock(day(elapsedDays));
  const before = (await invoices(id)).length;
  const answer = await adjust(id, plan, more);
  assert.equal(answer.adjustment.status, 'applied');
  const [made] = (await invoices(id)).slice(before);
  assert.equal(made?.[0] ?? 'paid', 'paid');
  return made?.[1] ?? 0;
}

test('worked examples A1 to A3, A8 and A9: what the period is worth, less what was paid for it', async () => {
  const rows: [name: string, from: string, elapsedDays: number, to: string, charge: number][] = [
    ['A1', 'p3000', 10, 'p6000', 2000],
    ['A2', 'p3000', 25, 'p6000', 500],
    ['A3', 'p6000', 10, 'p3000', 0],
    ['A8', 'p999', 10, 'p1999', 667],
    ['A9', 'p1000 x 2', 15, 'p1000 x 5', 1500],
  ];
  for (const [name, from, elapsedDays, to, charge] of rows) {
    const { id, externalId } = await subscribe(from);
    assert.equal(await chargeFor(id, elapsedDays, to), charge, name);
    const [plan = '', quantity = '1'] = to.split(' x ');
    assert.deepEqual(await items(externalId), [[Number(plan.slice(1)), Number(quantity)]], name);
  }
});

test('worked example A5: the second upgrade of a period counts the first, so 1000 and not 2000', async () => {
  const { id } = await subscribe('p3000');
  assert.equal(await chargeFor(id, 10, 'p6000'), 2000);
  assert.equal(await chargeFor(id, 20, 'p9000'), 1000);
  assert.deepEqual(await invoices(id), [
    ['paid', 3000],
    ['paid', 2000],
    ['paid', 1000],
  ]);
});

test('an item that is changed in place remembers what it was: the charges are those of A5', async () => {
  const { id, externalId } = await subscribe('p1000 x 3');
  const [item] = await changes.itemsOf(externalId);
  assert.equal(await chargeFor(id, 10, [{ id: item.id, quantity: 6 }]), 2000);
  assert.equal(await chargeFor(id, 20, [{ id: item.id, quantity: 9 }]), 1000);
  const [changed] = await changes.itemsOf(externalId);
  assert.deepEqual([changed.id, changed.quantity, changed.addedDate, changed.name], [item.id, 9, april, 'Monthly x 9']);
});

test('worked example A4: when the period was never paid, the change asks for all of it and for its usage', async () => {
  const { id, externalId, customerId } = await subscribe('p100');
  await changes.use(id, 250);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await moveTo(may);
  assert.deepEqual(await invoices(id), [
    ['paid', 100],
    ['open', 225],
  ]);
  await moveTo(may + 15.5 * 86_400_000);
  // The card still fails: nothing changes, and the old invoice stands as it stood.
  const before = await app.owner
    .selectFrom('invoices')
    .select(['nextAttemptAt'])
    .where('status', '=', 'open')
    .execute();
  await changes.refused(id, 'p200', 402);
  const after = await app.owner.selectFrom('invoices').select(['nextAttemptAt']).where('status', '=', 'open').execute();
  assert.deepEqual(after, before);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  const preview = await changes.preview(id, 'p200');
  assert.deepEqual([preview.prorationAmount, preview.carriedOverAmount, preview.totalDue], [150, 125, 275]);
  await adjust(id, 'p200');
  assert.deepEqual(await invoices(id), [
    ['paid', 100],
    ['void', 225],
    ['paid', 275],
  ]);
  assert.deepEqual(await items(externalId), [[200, 1]]);
  assert.equal((await changes.subscription(id)).status, 'active');
  assert.equal(await changes.calls(externalId, id), 0);
});

test('worked example A6: without proration nothing is due now, and the next change does not ask for it either', async () => {
  const { id, externalId } = await subscribe('p3000');
  assert.equal(await chargeFor(id, 10, 'p6000', { prorateCurrentBillingPeriod: false }), 0);
  assert.deepEqual(await items(externalId), [[6000, 1]]);
  assert.equal(await chargeFor(id, 20, 'p9000'), 1000);
  await moveTo(may);
  assert.deepEqual((await invoices(id)).at(-1), ['paid', 9000]);
});

test('worked example A10: a payment that is under way counts as paid', async () => {
  const { id, customerId } = await subscribe('p3000', { token: 'pm_card_processing' });
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  assert.equal(await chargeFor(id, 10, 'p6000'), 2000);
});

/** A customer on p3000 since 1 April with a refund of its first payment. */
async function withRefund(partialAmount: number) {
  const customer = await subscribe('p3000');
  const [payment] = (await app.get(`/payments?customerId=${customer.customerId}`)).data;
  await app.post(`/payments/${payment.id}/refund`, { partialAmount });
  return customer;
}

test('a refund is settled: a change charges its difference only, and a change of metadata nothing', async () => {
  for (const refunded of [3000, 1000]) {
    const { id } = await withRefund(refunded);
    assert.equal(await chargeFor(id, 15, 'p6000'), 1500);
  }
  const half = await withRefund(1500);
  const [item] = await changes.itemsOf(half.externalId);
  await app.setClock(day(15));
  await adjust(half.id, [{ id: item?.id as string, metadata: { seat: 'window' } }]);
  assert.deepEqual(await invoices(half.id), [['partially_refunded', 3000]]);
  const whole = await withRefund(3000);
  assert.equal(await chargeFor(whole.id, 15, 'p1000'), 0);
});

test('worked example A11: who says so collects what was refunded, and the preview says how much', async () => {
  const collects = { collectRefunded: true };
  const wanted: [refunded: number, plan: string, charge: number][] = [
    [3000, 'p6000', 4500],
    [1000, 'p6000', 2500],
    [1500, 'p3000', 1500],
    [3000, 'p1000', 2000],
  ];
  for (const [refunded, plan, charge] of wanted) {
    const { id } = await withRefund(refunded);
    await app.setClock(day(15));
    assert.equal((await changes.preview(id, plan)).totalDue, plan === 'p6000' ? 1500 : 0);
    assert.equal((await changes.preview(id, plan, collects)).totalDue, charge);
    assert.equal(await chargeFor(id, 15, plan, collects), charge);
  }
  const { id } = await withRefund(1500);
  const noProration = { ...collects, prorateCurrentBillingPeriod: false };
  assert.match(await changes.refused(id, 'p6000', 400, noProration), /collectRefunded/);
});

test('a void invoice is settled too, but not that of a change that failed', async () => {
  const { id, customerId } = await subscribe('p3000');
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await moveTo(may);
  const [owed] = (await app.get(`/invoices?subscriptionId=${id}&status=open`)).data;
  await app.post(`/invoices/${owed.id}/void`);
  await app.setClock(may + 15.5 * 86_400_000);
  await changes.refused(id, 'p6000', 402);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  // Half of May at 3000 and half at 6000 are 4500, of which 3000 were voided.
  assert.equal((await changes.preview(id, 'p6000')).totalDue, 1500);
  assert.equal((await changes.preview(id, 'p6000', { collectRefunded: true })).totalDue, 4500);
  await adjust(id, 'p6000');
  assert.deepEqual((await invoices(id)).slice(1), [
    ['void', 3000],
    ['paid', 1500],
  ]);
});

test('what was written off is not asked for with a change', async () => {
  const { id, customerId } = await subscribe('p3000');
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
  await moveTo(may);
  const [owed] = (await app.get(`/invoices?subscriptionId=${id}&status=open`)).data;
  await app.post(`/invoices/${owed.id}/mark-uncollectible`);
  await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_visa'));
  // Half of May has 15.5 days: 1500 of 3000 and 3000 of 6000 are 4500, of which nobody expects 3000.
  await moveTo(may + 15.5 * 86_400_000);
  assert.equal((await changes.preview(id, 'p6000')).totalDue, 1500);
  await adjust(id, 'p6000');
  assert.deepEqual((await invoices(id)).slice(1), [
    ['uncollectible', 3000],
    ['paid', 1500],
  ]);
});

test('up and down again costs what the time on the dearer plan was worth, and nothing is given back', async () => {
  const { id } = await subscribe('p3000');
  assert.equal(await chargeFor(id, 10, 'p6000'), 2000);
  assert.equal(await chargeFor(id, 20, 'p3000'), 0);
  // 20 days at 3000 and 10 at 6000 are 4000; 5000 were paid, so going up again is paid for in part.
  assert.equal(await chargeFor(id, 20, 'p6000'), 0);
});

test('in a trial a change costs nothing, and what follows the trial is billed at the new price', async () => {
  const { id, externalId } = await subscribe('trial');
  assert.equal(await chargeFor(id, 7, 'p6000'), 0);
  const subscription = await changes.subscription(id);
  assert.deepEqual([subscription.status, subscription.trialEnd], ['trialing', day(14)]);
  assert.deepEqual(await items(externalId), [[6000, 1]]);
  await moveTo(day(14));
  assert.deepEqual(await invoices(id), [['paid', 6000]]);
});

test('the subscription is named after the item that costs most, and is free when all of it is', async () => {
  const { id } = await subscribe('p3000');
  await app.setClock(day(10));
  const { subscription } = await adjust(id, ['p3000', 'p1000 x 5']);
  assert.deepEqual([subscription.priceId, subscription.name], [changes.priceIdOf('p1000'), 'p1000 - Monthly']);
  const free = (await adjust(id, 'zero')).subscription;
  assert.deepEqual([free.priceId, free.name, free.isFreePlan], [changes.priceIdOf('zero'), 'zero - Monthly', true]);
  const again = (await adjust(id, 'p9000')).subscription;
  assert.deepEqual([again.isFreePlan, again.status], [false, 'active']);
  assert.deepEqual((await changes.events(id)).slice(1), Array(3).fill('subscription.updated'));
});

test('after all of it the data is sound', async () => {
  await assertSound(app);
});
