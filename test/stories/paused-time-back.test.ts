import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const june = instant('2026-06-01');

/** What is kept of the value paid for paused time. */
async function keptOf(id: string): Promise<number> {
  const row = app.owner.selectFrom('subscriptions').select('pausedCredit').where('id', '=', id);
  return Number((await row.executeTakeFirstOrThrow()).pausedCredit);
}

/**
 * On p3000, paid for April, paused from 11 to 21 April, so that 1000 of the 2000 that were kept are left for May. By
 * then the card fails: May is open at 2000.
 */
async function withOpenMay() {
  const customer = await changes.subscribe('p3000');
  await changes.moveTo(day(10));
  await app.post(`/subscriptions/${customer.id}/pause`);
  await changes.moveTo(day(20));
  await app.post(`/subscriptions/${customer.id}/resume`);
  assert.equal(await keptOf(customer.id), 1000);
  await changes.chargeOn(customer.id, await changes.attach(customer.customerId, 'pm_card_chargeCustomerFail'));
  await changes.moveTo(may);
  assert.deepEqual(await changes.invoices(customer.id), [
    ['paid', 3000],
    ['paid', 0],
    ['open', 2000],
  ]);
  assert.equal(await keptOf(customer.id), 0);
  const [open] = (await app.get(`/invoices?subscriptionId=${customer.id}&status=open`)).data as Body[];
  const mends = async () => changes.chargeOn(customer.id, await changes.attach(customer.customerId, 'pm_card_visa'));
  return { ...customer, invoiceId: open?.id as string, mends };
}

test('a void invoice gives back what it took off for paused time, and the next one takes it off', async () => {
  const { id, invoiceId, mends } = await withOpenMay();
  await app.post(`/invoices/${invoiceId}/void`);
  assert.equal(await keptOf(id), 1000);
  await mends();
  await changes.moveTo(june);
  assert.deepEqual((await changes.invoices(id)).slice(2), [
    ['void', 2000],
    ['paid', 2000],
  ]);
  assert.equal(await keptOf(id), 0);
});

test('an invoice that a change takes the place of gives it back too, for the month after', async () => {
  const { id, mends } = await withOpenMay();
  await mends();
  await changes.adjust(id, 'p6000');
  assert.equal(await keptOf(id), 1000);
  await changes.moveTo(june);
  assert.deepEqual((await changes.invoices(id)).slice(2), [
    ['void', 2000],
    ['paid', 6000],
    ['paid', 5000],
  ]);
});

test('an invoice that is written off has used it up', async () => {
  const writtenOff = await withOpenMay();
  await app.post(`/invoices/${writtenOff.invoiceId}/mark-uncollectible`);
  assert.equal(await keptOf(writtenOff.id), 0);
  await writtenOff.mends();
  await changes.moveTo(june);
  assert.deepEqual((await changes.invoices(writtenOff.id)).at(-1), ['paid', 3000]);
});

test('what has ended keeps nothing, though its invoice is taken back', async () => {
  const { id, invoiceId } = await withOpenMay();
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  await app.post(`/invoices/${invoiceId}/void`);
  assert.equal(await keptOf(id), 0);
});

test('after all of it the data is sound', async () => {
  await assertSound(app);
});
