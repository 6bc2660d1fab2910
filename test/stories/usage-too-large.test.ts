import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const largest = 9_007_199_254_740_991;
const mostOfOnePayment = 4_503_599_627_370_495;

/** The amounts of the lines of the last invoice. */
async function lastLines(id: string): Promise<number[]> {
  const { data } = await app.get(`/invoices?limit=100&subscriptionId=${id}`);
  const { invoiceLineItems } = await app.get(`/invoices/${data.at(-1).id}`);
  return invoiceLineItems.map((line: Body) => line.amount);
}

test('usage that no payment can carry is billed as far as one can, and the rest with the next period', async () => {
  // At 50 per 100 the largest event there is costs half of its units; two of them cost twice what a payment carries.
  const { id } = await changes.subscribe('p3000');
  await changes.use(id, largest);
  await changes.use(id, largest);
  const upcoming = await app.get(`/invoices/upcoming?subscriptionId=${id}`);
  assert.equal(upcoming.invoice.total, mostOfOnePayment);
  await changes.moveTo(may);
  assert.deepEqual(await lastLines(id), [3000, mostOfOnePayment - 3000]);
  await changes.moveTo(instant('2026-06-01'));
  assert.deepEqual(await lastLines(id), [3000, mostOfOnePayment - 3000]);
  // 2 x largest units at a half each are 2 x mostOfOnePayment + 1, of which each month carried 3000 less than the most.
  await changes.moveTo(instant('2026-07-01'));
  assert.deepEqual(await lastLines(id), [3000, 6001]);
});

test('too much usage does not keep a subscription from ending', async () => {
  const { id } = await changes.subscribe('p3000');
  await changes.use(id, largest);
  await changes.use(id, largest);
  const { subscription } = await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.equal(subscription.status, 'canceled');
  assert.deepEqual(await lastLines(id), [mostOfOnePayment]);
});

test('after all of it the data is sound', async () => {
  await assertSound(app);
});
