import assert from 'node:assert/strict';
import type { IdKind } from '../../src/kernel/id.ts';
import { isNoChargePrice } from '../../src/pricing/price.ts';
import type { PricingModelContents, StructureChanges } from '../../src/pricing/structure-contents.ts';

/** Ids that grow, as those of the service do. */
export function countingIds() {
  let count = 0;
  return (kind: IdKind) => `${kind}_${String(++count).padStart(6, '0')}`;
}

const known = { createdAt: 0, updatedAt: 0, livemode: false, organizationId: 'org' };

interface Row {
  readonly id: string;
}

function merged<Kept extends Row>(rows: readonly Kept[], made: readonly Row[], changed: readonly Kept[]): Kept[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of changed) {
    assert.notDeepEqual(byId.get(row.id), row, 'what is written has changed');
    assert(byId.has(row.id), 'what is changed exists');
    byId.set(row.id, row);
  }
  for (const row of made) {
    assert(!byId.has(row.id), 'what is made is new');
    // What is made lacks only what the unit of work knows.
    byId.set(row.id, { ...known, ...row } as unknown as Kept);
  }
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The contents after the changes, as the database would hold them. */
export function applyInMemory(
  contents: PricingModelContents,
  changes: StructureChanges,
  at: number,
): PricingModelContents {
  const kept = contents.productFeatures.map((link) =>
    changes.productFeatures.expired.includes(link.id) ? { ...link, expiredAt: at } : link,
  );
  const pair = ({ productId, featureId }: { productId: string; featureId: string }) => `${productId} ${featureId}`;
  const linked = new Map(changes.productFeatures.linked.map((link) => [pair(link), link]));
  const revived = kept.map((link) => {
    const again = linked.get(pair(link));
    if (again === undefined) return link;
    linked.delete(pair(link));
    const { value: _, ...rest } = link;
    return { ...rest, ...(again.value === undefined ? {} : { value: again.value }), expiredAt: null };
  });
  const { resources, usageMeters, features, products, prices } = changes;
  return {
    resources: merged(contents.resources, resources.made, resources.changed),
    usageMeters: merged(contents.usageMeters, usageMeters.made, usageMeters.changed),
    features: merged(contents.features, features.made, features.changed),
    products: merged(contents.products, products.made, products.changed),
    prices: merged(contents.prices, prices.made, prices.changed),
    productFeatures: merged(revived, [...linked.values()], []),
    // The structures that are drawn have none.
    creditPools: contents.creditPools,
  };
}

function assertUnique(values: readonly (string | null)[], what: string): void {
  const given = values.filter((value) => value !== null);
  assert.equal(new Set(given).size, given.length, `${what} are unique: ${given.join(', ')}`);
}

/** What holds of every pricing model; the database refuses most of the rest. */
export function assertSound({ resources, usageMeters, features, products, prices }: PricingModelContents): void {
  const slugsOf = (rows: readonly { slug: string | null; active: boolean }[]) =>
    rows.filter(({ active }) => active).map(({ slug }) => slug);
  assertUnique(slugsOf(resources), 'slugs of active resources');
  assertUnique(slugsOf(features), 'slugs of active features');
  assertUnique(slugsOf(products), 'slugs of active products');
  assertUnique(slugsOf(prices), 'slugs of active prices');
  assert.deepEqual(
    products.filter((product) => product.default).map(({ active }) => active),
    [true],
    'there is one default product, and it is active',
  );
  for (const product of products) {
    const own = prices.filter(({ productId }) => productId === product.id);
    assert.equal(own.filter(({ isDefault }) => isDefault).length, 1, 'a product has one default price');
    const sold = own.filter(({ active }) => active);
    assert.equal(sold.length, product.active ? 1 : 0, 'an active product has one active price, an inactive one none');
    assert.equal(new Set(own.map(({ type }) => type)).size, 1, 'the prices of a product are of one type');
  }
  for (const meter of usageMeters) {
    const own = prices.filter(({ usageMeterId }) => usageMeterId === meter.id);
    const defaults = own.filter(({ isDefault }) => isDefault);
    assert.deepEqual(
      defaults.map(({ active }) => active),
      [true],
      'a usage meter has one default price, and it is active',
    );
    assert.equal(own.filter((price) => isNoChargePrice(price) && price.active).length, 1, 'it has a no-charge price');
  }
  for (const feature of features.filter(({ active }) => active)) {
    const target = feature.type === 'resource' ? resources.find(({ id }) => id === feature.resourceId) : null;
    assert(target !== undefined, 'a resource feature is for a resource');
  }
}
