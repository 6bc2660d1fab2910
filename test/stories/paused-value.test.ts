import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { instant } from '../../src/kernel/calendar.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const june = instant('2026-06-01');

let made = 0;
async function newCode(terms: Body): Promise<string> {
  made += 1;
  const discount = { name: 'Deal', code: `PAUSE${made}`, duration: 'once', ...terms };
  return (await app.post('/discounts', { discount })).discount.code;
}
const percent = (amount: number, more: Body = {}) => newCode({ amountType: 'percent', amount, ...more });
const fixed = (amount: number, more: Body = {}) => newCode({ amountType: 'fixed', amount, ...more });

const pause = (id: string) => app.post(`/subscriptions/${id}/pause`);
const resume = (id: string) => app.post(`/subscriptions/${id}/resume`);
const cancel = (id: string) => app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
/** The totals of the invoices, oldest first. */
const totals = async (id: string) => (await changes.invoices(id)).map(([, total]) => total);

/** Refunds so much of the first payment. */
async function refund(customerId: string, partialAmount: number): Promise<void> {
  const [payment] = (await app.get(`/payments?customerId=${customerId}`)).data;
  await app.post(`/payments/${payment.id}/refund`, { partialAmount });
}

async function keptOf(id: string): Promise<number> {
  const row = app.owner.selectFrom('subscriptions').select('pausedCredit').where('id', '=', id);
  return Number((await row.executeTakeFirstOrThrow()).pausedCredit);
}

test('a refund during a pause is not given twice: 29.00 of 30.00 are back, and the next month costs 30.00', async () => {
  const { id, customerId } = await changes.subscribe('p3000');
  await changes.moveTo(day(1));
  await pause(id);
  assert.equal(await keptOf(id), 2900);
  await refund(customerId, 2900);
  assert.equal(await keptOf(id), 0);
  await changes.moveTo(may);
  await resume(id);
  assert.deepEqual(await totals(id), [3000, 3000]);
});

test('a refund before a pause, or after its end, takes from what is kept once', async () => {
  const before = await changes.subscribe('p3000');
  await refund(before.customerId, 1500);
  await changes.moveTo(day(10));
  await pause(before.id);
  assert.equal(await keptOf(before.id), 500);

  const after = await changes.subscribe('p3000');
  await changes.moveTo(day(10));
  await pause(after.id);
  await changes.moveTo(day(20));
  await resume(after.id);
  // 2000 were kept and 1000 of them taken off. 1500 back are the 1000 that are left, and 500 of those taken off.
  await refund(after.customerId, 1500);
  assert.equal(await keptOf(after.id), 0);
  await changes.moveTo(day(25));
  await pause(after.id);
  // Of the other 500, five days have used 500.
  assert.equal(await keptOf(after.id), 0);
  await changes.moveTo(may);
  await resume(after.id);
  assert.deepEqual(await totals(after.id), [3000, 0, 3000]);
});

test('a refund while a year waits for its money, or after that, takes as much from what a pause of the year keeps', async () => {
  const yearly = async (refundedOn: number) => {
    const { id, customerId } = await changes.subscribe('p3000');
    await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
    await changes.moveTo(day(15));
    await changes.adjust(id, 'yearly');
    if (refundedOn === 15) await refund(customerId, 3000);
    await changes.moveTo(day(16));
    if (refundedOn === 16) await refund(customerId, 3000);
    await pause(id);
    return keptOf(id);
  };
  // 285.00 were paid, and a day of the year costs 0.82.
  assert.deepEqual([await yearly(15), await yearly(16)], [28_418, 28_418]);
});

test('a refund in a pause of no time is not given back by its end', async () => {
  const { id, customerId } = await changes.subscribe('p3000');
  await changes.moveTo(day(10));
  await pause(id);
  await refund(customerId, 2000);
  await resume(id);
  await pause(id);
  assert.equal(await keptOf(id), 0);
});

test('nobody keeps what nobody paid: a code of 100 % pays for no usage, and one of 50 % for its half', async () => {
  const free = await changes.subscribe('p3000', { discountCode: await percent(100) });
  await changes.use(free.id, 6000);
  await pause(free.id);
  await cancel(free.id);
  assert.deepEqual(await totals(free.id), [0, 3000]);

  const half = await changes.subscribe('p3000', { discountCode: await percent(50) });
  await changes.use(half.id, 9000);
  await pause(half.id);
  await cancel(half.id);
  // 15.00 were paid; 45.00 of usage less these 15.00 are 30.00. In all 45.00.
  assert.deepEqual(await totals(half.id), [1500, 3000]);
});

test('kept value whose credits were used pays for a plan, and not for usage: 360 of 360 on day 10, and 10.00 of usage', async () => {
  // 20.00 are kept, and of the 240 for these days so many are owed.
  for (const [used, overage, due] of [
    [360, 2000, 1000],
    [240, 6000, 2000],
    [120, 6000, 1000],
  ] as const) {
    const { id } = await changes.subscribe('pro');
    await changes.moveTo(day(10));
    await changes.use(id, used);
    await pause(id);
    assert.equal(await keptOf(id), 2000);
    await changes.use(id, overage);
    await cancel(id);
    assert.deepEqual(await totals(id), [3000, due], `${used} used`);
  }

  const resumed = await changes.subscribe('pro');
  await changes.moveTo(day(10));
  await changes.use(resumed.id, 360);
  await pause(resumed.id);
  await changes.use(resumed.id, 2000);
  await changes.moveTo(day(20));
  await resume(resumed.id);
  // The last ten days are paid by what is kept, the usage is not. 10.00 stay for the 120 that are owed still.
  assert.deepEqual(await totals(resumed.id), [3000, 1000]);
  assert.equal(await keptOf(resumed.id), 1000);
});

test('kept value whose credits were used pays for no commitment: 45.00 a month at least, 30.00 of it in advance', async () => {
  // Each ten days cost 10.00 of 15.00. So 20.00 are kept on day 10, and the resumption bills 10.00 and the missing 5.00.
  for (const [used, due, kept] of [
    [360, 500, 1000],
    [0, 0, 500],
  ] as const) {
    const { id } = await changes.subscribe('pledge');
    await changes.moveTo(day(10));
    if (used > 0) await changes.use(id, used);
    await pause(id);
    await changes.moveTo(day(20));
    await resume(id);
    assert.deepEqual(await totals(id), [3000, due], `${used} used`);
    assert.equal(await keptOf(id), kept);
  }
});

test('a change of interval counts on no credits that pay back a pause: of 60 next ones none are left for 60 used ahead', async () => {
  const { id } = await changes.subscribe('pro');
  await changes.moveTo(day(10));
  await changes.use(id, 360);
  await pause(id);
  await changes.moveTo(day(20));
  await resume(id);
  // 120 came back and were withheld, so 120 are owed. 10.00 of 20.00 are kept.
  await changes.moveTo(day(25));
  await changes.adjust(id, 'thirty', { billingAnchor: 'unchanged' });
  // The five days left were used ahead, so their 5.00 are gone. Those of the new plan cost 5.00 of what is kept.
  assert.equal(await keptOf(id), 500);
  await changes.use(id, 1000);
  await cancel(id);
  assert.deepEqual(await totals(id), [3000, 0, 0, 500]);
});

test('10.00 off each month, paused on day 10 and resumed on the boundary: 6.67', async () => {
  const { id } = await changes.subscribe('p3000', { discountCode: await fixed(1000, { duration: 'forever' }) });
  await changes.moveTo(day(10));
  await pause(id);
  assert.equal(await keptOf(id), 1333);
  await changes.moveTo(may);
  await resume(id);
  assert.deepEqual(await totals(id), [2000, 667]);
});

test('the rest of an interval carries its discount on, and uses it once', async () => {
  const half = await changes.subscribe('p3000', { discountCode: await percent(50) });
  const off = await changes.subscribe('p3000', { discountCode: await fixed(1000, { duration: 'forever' }) });
  const twice = { duration: 'number_of_payments', numberOfPayments: 2 };
  const two = await changes.subscribe('p3000', { discountCode: await percent(50, twice) });
  for (const { id } of [half, off, two]) {
    await app.setClock(day(10));
    await pause(id);
    await app.setClock(day(20));
    await resume(id);
  }
  // 15.00 are 0.50 a day: 10.00 were kept, ten days took 5.00, and 5.00 come off May.
  assert.deepEqual([await keptOf(half.id), await keptOf(two.id)], [500, 500]);
  // Of 20.00 are 13.33 kept; ten days are 10.00 less a third of 10.00.
  assert.equal(await keptOf(off.id), 1333 - 667);
  await changes.moveTo(june);
  assert.deepEqual(await totals(half.id), [1500, 0, 2500, 3000]);
  assert.deepEqual(await totals(off.id), [2000, 0, 2000 - 666, 2000]);
  assert.deepEqual(await totals(two.id), [1500, 0, 1000, 3000]);
});

test('an invoice that was written off, or voided, pays for no paused time', async () => {
  for (const verb of ['mark-uncollectible', 'void']) {
    const { id, customerId } = await changes.subscribe('p3000');
    await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_chargeCustomerFail'));
    await changes.moveTo(may);
    const [owed] = (await app.get(`/invoices?subscriptionId=${id}&status=open`)).data;
    await app.post(`/invoices/${owed.id}/${verb}`);
    await changes.moveTo(may + 86_400_000);
    await pause(id);
    assert.equal(await keptOf(id), 0, verb);
  }
});

const cents = fc.integer({ min: 1, max: 3000 });
const step = fc.record({ days: fc.integer({ min: 0, max: 6 }), refund: fc.option(cents) });
const life = fc.record({
  discount: fc.constantFrom(null, { amountType: 'percent', amount: 50 }, { amountType: 'fixed', amount: 1000 }),
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
});

test('whatever is paused, resumed and refunded in a month: nobody pays less than the time is worth, or gets money back twice', async () => {
  await fc.assert(
    fc.asyncProperty(life, async ({ discount, steps }) => {
      const discountCode = discount === null ? null : await newCode({ ...discount, duration: 'forever' });
      const price = discount === null ? 3000 : discount.amountType === 'percent' ? 1500 : 2000;
      const { id, customerId } = await changes.subscribe('p3000', discountCode === null ? {} : { discountCode });
      let [now, active, isPaused, refunded] = [april, 0, false, 0];
      const unusedAtFirst = price - (price * (steps[0]?.days ?? 0)) / 30;
      for (const { days, refund: asked } of steps) {
        const since = now;
        now += days * 86_400_000;
        await changes.moveTo(now);
        if (!isPaused) active += now - since;
        await (isPaused ? resume(id) : pause(id));
        isPaused = !isPaused;
        const back = Math.min(asked ?? 0, price - refunded);
        if (back > 0) await refund(customerId, back);
        refunded += Math.max(0, back);
        const paid = (await totals(id)).reduce((sum, total) => sum + total, 0);
        const kept = await keptOf(id);
        const whole = may - april;
        // A resumed rest is billed in advance.
        const billed = isPaused ? active : active + (may - now);
        const worth = (price * billed) / whole;
        assert(paid - kept + steps.length >= worth - refunded, `${paid} - ${kept} is less than ${worth} - ${refunded}`);
        // More than the unused part of the first payment was a gift.
        const given = Math.min(refunded, unusedAtFirst);
        assert(kept <= Math.max(0, paid - given - worth) + steps.length, `${kept} of ${paid} - ${given} is kept twice`);
      }
    }),
    { numRuns: 8 },
  );
});

test('after all of it the data is sound', () => assertSound(app));
