import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { instant, msPerDay } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertBooksAreRight, insertSpender } from '../support/spending.ts';

const app = await startTestApp();
let begin = instant('2026-03-10T12:00');

interface Limit {
  readonly label: string | null;
  readonly period: 'day' | 'month';
  readonly unit: 'units' | 'money';
  readonly amount: number;
  readonly action: 'block' | 'notify';
}

interface Use {
  readonly units: number;
  readonly label: string | null;
}

function keyOf({ label, period, unit }: Limit): string {
  return `${label} ${period} ${unit}`;
}

/** The plain oracle: every use with its instant, and each limit with the number of uses that were before it. */
class Oracle {
  now = begin;
  readonly uses: (Use & { readonly at: number })[] = [];
  readonly holds = new Map<string, Use & { readonly until: number }>();
  limits: (Limit & { readonly since: number })[] = [];

  set(limits: readonly Limit[]): void {
    const before = new Map(this.limits.map((limit) => [keyOf(limit), limit.since]));
    this.limits = limits.map((limit) => ({ ...limit, since: before.get(keyOf(limit)) ?? this.uses.length }));
  }

  used(limit: Limit & { readonly since: number }, more: readonly Use[] = []): number {
    const length = limit.period === 'day' ? 10 : 7;
    const periodOf = (at: number) => new Date(at).toISOString().slice(0, length);
    const counted = this.uses.slice(limit.since).filter(({ at }) => periodOf(at) === periodOf(this.now));
    const units = [...counted, ...more].reduce(
      (sum, use) => sum + (limit.label === null || limit.label === use.label ? use.units : 0),
      0,
    );
    // A hundred units cost fifty cents, and half a cent is rounded up.
    return limit.unit === 'units' ? units : Math.round(units / 2);
  }

  fits(use: Use): boolean {
    const held = [...this.holds.values()];
    return this.limits.every((limit) => {
      const after = this.used(limit, [...held, use]);
      return limit.action === 'notify' || after <= limit.amount || after === this.used(limit, held);
    });
  }

  /** Adds a use, and says whether it is beyond a blocking limit. */
  add(use: Use): boolean {
    const isBeyond = this.limits.some((limit) => {
      const after = this.used(limit, [use]);
      return limit.action === 'block' && after > limit.amount && after > this.used(limit);
    });
    this.uses.push({ ...use, at: this.now });
    return isBeyond;
  }
}

const label = fc.constantFrom(null, 'agent');
const use = fc.record({ units: fc.integer({ min: 1, max: 12 }), label });
const limit = fc.record({
  label,
  period: fc.constantFrom('day' as const, 'month' as const),
  unit: fc.constantFrom('units' as const, 'money' as const),
  amount: fc.integer({ min: 1, max: 40 }),
  action: fc.constantFrom('block' as const, 'block' as const, 'notify' as const),
});
const limits = fc.uniqueArray(limit, {
  maxLength: 4,
  selector: keyOf,
});
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant('consume' as const), use }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('record' as const), use }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('hold' as const), use }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constantFrom('settle' as const, 'release' as const),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('wait' as const), hours: fc.integer({ min: 5, max: 300 }) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('limit' as const), limits }) },
);

test('consumptions, events, holds and limits in any order do what a plain sum of all uses says', async () => {
  await fc.assert(
    fc.asyncProperty(limits, fc.array(step, { minLength: 10, maxLength: 30 }), async (first, steps) => {
      await app.setClock(begin);
      const spender = await insertSpender(app, { credits: 100_000, now: begin });
      const oracle = new Oracle();
      const setLimits = async (given: readonly Limit[]) => {
        await spender.limit(given.map((each) => ({ ...each, thresholds: [50] })));
        oracle.set(given);
      };
      await setLimits(first);
      for (const each of steps) {
        switch (each.act) {
          case 'consume': {
            const fits = oracle.fits(each.use);
            const sent = { amount: each.use.units, label: each.use.label };
            assert.equal((await spender.consume(sent)).status, fits ? 200 : 402);
            if (fits) oracle.add(each.use);
            break;
          }
          case 'record': {
            const { status, body } = await spender.use({ amount: each.use.units, label: each.use.label });
            const isBeyond = oracle.add(each.use);
            assert.deepEqual([status, body.usageEvent.beyondLimit ?? false], [200, isBeyond]);
            break;
          }
          case 'hold': {
            const more: Body = { label: each.use.label, expiresAt: oracle.now + msPerDay };
            const { status, body } = await spender.hold(each.use.units, more);
            assert.equal(status, oracle.fits(each.use) ? 200 : 402);
            if (status === 200) oracle.holds.set(body.hold.id, { ...each.use, until: oracle.now + msPerDay });
            break;
          }
          case 'settle':
          case 'release': {
            const [held] = oracle.holds;
            if (held === undefined) break;
            const [id, { units, label: ofHold }] = held;
            oracle.holds.delete(id);
            if (each.act === 'release') assert.equal((await spender.release(id)).status, 200);
            else {
              const settled = { units: 1 + Math.floor(each.part * (units - 1)), label: ofHold };
              const { status, body } = await spender.settle(id, settled.units);
              assert.deepEqual([status, body.usageEvent.beyondLimit ?? false], [200, oracle.add(settled)]);
            }
            break;
          }
          case 'wait':
            oracle.now += each.hours * 3_600_000;
            for (const [id, { until }] of oracle.holds) if (until <= oracle.now) oracle.holds.delete(id);
            await app.setClock(oracle.now);
            break;
          case 'limit':
            await setLimits(each.limits);
            break;
          default:
            each satisfies never;
        }
        const path = `/customers/${spender.externalId}/spend-controls?pricingModelId=${spender.pricingModelId}`;
        const { limits: shown } = (await app.get(path)).spendControls;
        assert.deepEqual(
          new Map(shown.map((limit: Body) => [keyOf(limit as Limit), limit.counters[0]?.usedAmount ?? 0])),
          new Map(oracle.limits.map((limit) => [keyOf(limit), oracle.used(limit)])),
        );
      }
      await assertBooksAreRight(app);
      // The clock of an environment does not go back: an ended day would be the present one again.
      begin = oracle.now;
    }),
    { numRuns: 8, endOnFailure: true },
  );
});
