import type { FeatureType } from '../../src/pricing/feature.ts';
import { anyId } from './any-id.ts';
import { insertFixture } from './fixtures.ts';
import type { Body, TestApp } from './harness.ts';

export type Fixture = Awaited<ReturnType<typeof insertFixture>>;
export type EntitlementFixture = Awaited<ReturnType<typeof insertEntitlementFixture>>;

interface FeatureValues {
  readonly type: FeatureType;
  readonly slug: string;
  readonly amount?: bigint;
  readonly usageMeterId?: string;
  readonly renewalFrequency?: string;
  readonly resourceId?: string;
  readonly active?: boolean;
}

/** Writes a feature of the fixture's pricing model and answers its id. */
export async function insertFeature(
  app: TestApp,
  { pricingModelId }: { pricingModelId: string },
  values: FeatureValues,
  { environmentId = app.testEnvironmentId, now = Date.now() } = {},
): Promise<string> {
  const id = anyId('feature');
  const stamps = { environmentId, createdAt: now, updatedAt: now };
  await app.owner
    .insertInto('features')
    .values({ ...stamps, id, pricingModelId, name: `The ${values.slug}`, description: '', active: true, ...values })
    .execute();
  return id;
}

/** Links a feature to the fixture's product and answers the id of the link. */
export async function insertLink(
  app: TestApp,
  { pricingModelId, productId }: { pricingModelId: string; productId: string },
  featureId: string,
  expiredAt: number | null = null,
): Promise<string> {
  const id = anyId('productFeature');
  const stamps = { environmentId: app.testEnvironmentId, createdAt: Date.now(), updatedAt: Date.now() };
  await app.owner
    .insertInto('productFeatures')
    .values({ ...stamps, id, pricingModelId, productId, featureId, expiredAt })
    .execute();
  return id;
}

/** The fixture with a feature of each type: a toggle, credits each period, credits once, and 5 seats. */
export async function insertEntitlementFixture(app: TestApp, options: { environmentId?: number; now?: number } = {}) {
  const fixture = await insertFixture(app, options);
  const credits = { type: 'usage_credit_grant', amount: 100n, usageMeterId: fixture.meterId } as const;
  return {
    ...fixture,
    toggleId: await insertFeature(app, fixture, { type: 'toggle', slug: 'sso' }, options),
    creditsId: await insertFeature(
      app,
      fixture,
      { ...credits, slug: 'calls', renewalFrequency: 'every_billing_period' },
      options,
    ),
    bonusId: await insertFeature(app, fixture, { ...credits, slug: 'bonus', renewalFrequency: 'once' }, options),
    seatsId: await insertFeature(
      app,
      fixture,
      { type: 'resource', slug: 'seats', amount: 5n, resourceId: fixture.resourceId },
      options,
    ),
  };
}

/** Gives a feature on the fixture's item, over the API. */
export async function give(
  app: TestApp,
  { itemId }: { itemId: string },
  featureId: string,
  values: Body = {},
): Promise<Body> {
  const sent = { subscriptionItemId: itemId, featureId, ...values };
  return (await app.post('/subscription-item-features', { subscriptionItemFeature: sent })).subscriptionItemFeature;
}

/** The fixture with its 5 seats given: what to claim from. */
export async function insertSeats(app: TestApp, values: Body = {}) {
  const fixture = await insertEntitlementFixture(app);
  const seats = await give(app, fixture, fixture.seatsId, values);
  return { ...fixture, seatsFeatureId: seats.id as string, path: `/resource-claims/${fixture.subscriptionId}` };
}
