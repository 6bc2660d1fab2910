import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Problem } from '../kernel/problem.ts';
import { noChargePrice, type Price } from './price.ts';
import { decidePriceChange, newProductPrice, newUsagePrice, type PriceChange } from './price-input.ts';

const stamps = { createdAt: 0, updatedAt: 0, livemode: false };
const product = { id: 'prod', pricingModelId: 'model', active: true, default: false };
const meter = { id: 'meter', pricingModelId: 'model', name: 'Calls', slug: 'calls' };

function productPrice(id: string, isDefault: boolean, active = true): Price {
  const input = { type: 'single_payment', name: null, slug: id, unitPrice: 100n } as const;
  return { ...newProductPrice(id, product, input, 'USD'), ...stamps, isDefault, active };
}

function usagePrice(id: string, isDefault: boolean, active = true): Price {
  const terms = { unitPrice: 1n, usageEventsPerUnit: 1, intervalUnit: 'month', intervalCount: 1 } as const;
  return { ...newUsagePrice(id, meter, { name: null, slug: id, ...terms }, 'USD'), ...stamps, isDefault, active };
}

function noCharge(isDefault: boolean): Price {
  return { ...noChargePrice('gratis', meter, { isDefault, currency: 'USD' }), ...stamps };
}

/** The prices of one product or meter after a change; as before where it is refused. */
function after(prices: readonly Price[], index: number, change: PriceChange): Price[] {
  const price = prices[index % prices.length];
  assert(price);
  try {
    const siblings = prices.filter((each) => each !== price);
    const changed = decidePriceChange(price, siblings, change, { ofDefaultProduct: false });
    return prices.map((each) => changed.find(({ id }) => id === each.id) ?? each);
  } catch (error) {
    assert(error instanceof Problem);
    return [...prices];
  }
}

const changes = fc.array(
  fc.tuple(fc.nat(20), fc.record({ isDefault: fc.boolean(), active: fc.boolean() }, { requiredKeys: [] })),
  { maxLength: 30 },
);

test('whatever is changed, a product has one default price, and it is active while any of its prices is', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), changes, (count, all) => {
      let prices = Array.from({ length: count }, (_, index) => productPrice(`price-${index}`, index === 0));
      for (const [index, change] of all) prices = after(prices, index, change);
      const defaults = prices.filter((price) => price.isDefault);
      assert.equal(defaults.length, 1);
      assert.equal(
        defaults[0]?.active,
        prices.some((price) => price.active),
      );
    }),
  );
});

test('whatever is changed, a meter has one default price, which is active, and its no-charge price', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3 }), changes, (count, all) => {
      const own = Array.from({ length: count }, (_, index) => usagePrice(`price-${index}`, index === 0));
      let prices = [...own, noCharge(count === 0)];
      for (const [index, change] of all) prices = after(prices, index, change);
      const defaults = prices.filter((price) => price.isDefault);
      assert.equal(defaults.length, 1);
      assert.equal(defaults[0]?.active, true);
      assert.equal(prices.at(-1)?.active, true);
    }),
  );
});

test('only what changes is written: the price alone, or the price and the one that the flag comes from or goes to', () => {
  const [first, second, third] = [productPrice('a', true), productPrice('b', false), productPrice('c', false)];
  const ids = (price: Price, siblings: Price[], change: PriceChange) =>
    decidePriceChange(price, siblings, change, { ofDefaultProduct: false }).map((each) => each.id);
  assert.deepEqual(ids(second, [first, third], { name: 'B' }), ['b']);
  assert.deepEqual(ids(second, [first, third], { isDefault: true }), ['b', 'a']);
  assert.deepEqual(ids(first, [second, third], { active: false }), ['a', 'c']);
});
