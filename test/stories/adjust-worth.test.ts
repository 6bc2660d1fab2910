import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { divHalfAway } from '../../src/kernel/money.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const changes = await setUpChanges(app);
const whole = BigInt(may - april);

const prices = { p100: 100, p999: 999, p3000: 3000, zero: 0 } as const;
const quantity = fc.integer({ min: 1, max: 6 });
const shape = {
  first: quantity,
  /** Days of April; null: no pause. */
  pause: fc.option(fc.record({ from: fc.integer({ min: 0, max: 9 }), days: fc.integer({ min: 1, max: 8 }) })),
  changes: fc.array(
    fc.record({
      /** How far into what is left of the period. */
      share: fc.double({ min: 0, max: 0.6, noNaN: true }),
      /** What becomes of the items that there are, in their order: another quantity, or their end. */
      kept: fc.array(fc.option(quantity), { maxLength: 4 }),
      added: fc.array(fc.record({ plan: fc.constantFrom('p100', 'p999', 'p3000', 'zero'), quantity }), {
        minLength: 1,
        maxLength: 2,
      }),
      prorates: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
};

/** What has been charged for the subscription since its `count`-th invoice. */
async function chargedSince(id: string, count: number): Promise<bigint> {
  const rows = await changes.invoices(id);
  return BigInt(rows.slice(count).reduce((sum, [, total]) => sum + total, 0));
}

test('several items, changed in place, added and ended, with and without proration, after a pause or none: each change costs what the period is worth, less what was paid and waived', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(shape), async ({ first, pause, changes: list }) => {
      const { id, externalId } = await changes.subscribe(`p999 x ${first}`);
      let value = BigInt(999 * first);
      let [now, worthTimesTime, accounted] = [april, 0n, value];
      if (pause !== null) {
        await changes.moveTo(day(pause.from));
        await app.post(`/subscriptions/${id}/pause`, { pause: {} });
        now = day(pause.from + pause.days);
        await changes.moveTo(now);
        await app.post(`/subscriptions/${id}/resume`);
        // The period that begins then is the rest of April, at its share of the price.
        accounted = divHalfAway(value * BigInt(may - now), whole);
      }
      for (const { share, kept, added, prorates } of list) {
        const since = now;
        now += Math.floor((may - now) * share);
        await changes.moveTo(now);
        worthTimesTime += value * BigInt(now - since);
        const items: Body[] = await changes.itemsOf(externalId);
        const staying = items.flatMap((item, index) => {
          const units = kept[index] ?? null;
          return units === null ? [] : { id: item.id, quantity: units, unitPrice: item.unitPrice };
        });
        const fresh = added.map((item) => ({ ...item, unitPrice: prices[item.plan] }));
        value = [...staying, ...fresh].reduce((sum, item) => sum + BigInt(item.unitPrice * item.quantity), 0n);
        const before = (await changes.invoices(id)).length;
        await changes.adjust(id, [...staying, ...added.map((item) => `${item.plan} x ${item.quantity}`)], {
          prorateCurrentBillingPeriod: prorates,
        });
        const worth = divHalfAway(worthTimesTime + value * BigInt(may - now), whole);
        const due = worth > accounted ? worth - accounted : 0n;
        assert.equal(await chargedSince(id, before), prorates ? due : 0n);
        // What is waived is not asked for with the next change either.
        accounted += due;
      }
    }),
    { numRuns: 12 },
  );
});

test('after all of it the data is sound', async () => {
  await assertSound(app);
});
