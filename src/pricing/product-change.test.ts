import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isReservedProductSlug, slugOfName } from './product.ts';
import { decideFeatureLinks } from './product-change.ts';

const stamps = { createdAt: 0, updatedAt: 0, livemode: false, organizationId: 'org' };
const now = 1000;

function link(featureId: string, expiredAt: number | null) {
  return { ...stamps, id: `link-${featureId}`, pricingModelId: 'model', productId: 'prod', featureId, expiredAt };
}

test('a link that ends later than now still gives, one that ends now does not', () => {
  const links = [link('a', null), link('b', 1001), link('c', 1000), link('d', null)];
  assert.deepEqual(decideFeatureLinks(links, ['a', 'b', 'c', 'e'], now), {
    featureIdsToLink: ['c', 'e'],
    linkIdsToExpire: ['link-d'],
  });
  assert.deepEqual(decideFeatureLinks(links, [], now).linkIdsToExpire, ['link-a', 'link-b', 'link-d']);
});

test('after the links are changed the product gives exactly what was asked for', () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
  fc.assert(
    fc.property(names, names, names, (active, expired, wanted) => {
      const links = [
        ...active.map((name) => link(name, null)),
        ...expired.filter((name) => !active.includes(name)).map((name) => link(name, 1)),
      ];
      const { featureIdsToLink, linkIdsToExpire } = decideFeatureLinks(links, wanted, now);
      const kept = active.filter((name) => !linkIdsToExpire.includes(`link-${name}`));
      assert.deepEqual([...kept, ...featureIdsToLink].sort(), [...wanted].sort());
    }),
  );
});

test('a slug is made of the letters and digits of a name', () => {
  assert.equal(slugOfName('Pro (yearly)'), 'pro-yearly');
  assert.equal(slugOfName('Café — 2 Tassen'), 'cafe-2-tassen');
  assert.equal(slugOfName('無料'), null);
});

test('the slug of the free plan is reserved in any case, and no other is', () => {
  assert.deepEqual(['free', 'FREE', 'Free'].map(isReservedProductSlug), [true, true, true]);
  assert.deepEqual(['freedom', 'free-2', ''].map(isReservedProductSlug), [false, false, false]);
});
