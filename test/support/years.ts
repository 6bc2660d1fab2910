import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Body, TestApp, TestOrganization } from './harness.ts';
import { capacity, credits, meter, newCustomer, plan, resource } from './shop.ts';

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

const every = (slug: string, unitPrice: number, intervalUnit: string, intervalCount = 1, more: Body = {}) =>
  plan(slug, unitPrice, slug === 'free' ? [] : ['calls', 'seats'], {
    slug: `${slug}-price`,
    intervalUnit,
    intervalCount,
    ...more,
  });

const eachWeek = { renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 1 } };

/** Plans of every interval, one with a trial, one with credits by the week, and a meter that is billed at 50 per 100 calls. */
const structure = {
  name: 'Years',
  isDefault: true,
  features: [
    credits('calls', 100, 'calls', { name: 'Calls' }),
    credits('weekly', 20, 'calls', eachWeek),
    capacity('seats', 5, 'seat', { name: 'Seats' }),
  ],
  products: [
    every('free', 0, 'month'),
    every('month', 3000, 'month'),
    plan('weekly', 3000, ['weekly'], { slug: 'weekly-price' }),
    every('trial', 3000, 'month', 1, { trialPeriodDays: 14 }),
    every('two-weeks', 1400, 'week', 2),
    every('ten-days', 1000, 'day', 10),
    every('quarter', 9000, 'month', 3),
    every('year', 36_000, 'year'),
  ],
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 50, usageEventsPerUnit: 100 })],
  resources: [resource('seat', 'Seat')],
};

/** Calls the API as one organization. */
export function callerOf(app: TestApp, { testKey: key }: TestOrganization) {
  return {
    get: (path: string): Promise<Body> => app.get(path, { key }),
    post: (path: string, body: Body = {}): Promise<Body> => app.post(path, body, { key }),
    put: (path: string, body: Body): Promise<Body> => app.put(path, body, { key }),
    delete: async (path: string): Promise<Body> => {
      const { status, body } = await app.request('DELETE', path, undefined, { key });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
    /** Moves the test clock. */
    moveTo: (now: number): Promise<Body> => app.put('/test-clock', { testClock: { now } }, { key }),
  };
}

export type Caller = ReturnType<typeof callerOf>;

/** Moves everything that an organization is founded with to the instant at which the test clock is to begin. */
export async function beginAt(app: TestApp, { testEnvironmentId }: TestOrganization, caller: Caller, start: number) {
  await caller.moveTo(start);
  // It was made in real time.
  for (const table of ['pricing_models', 'products', 'prices'])
    await sql`update ${sql.table(table)} set created_at = ${start}, updated_at = ${start}
               where environment_id = ${testEnvironmentId}`.execute(app.owner);
}

/** Makes the plans, at the instant at which the test clock is to begin. */
export async function beginYears(app: TestApp, organization: TestOrganization, caller: Caller, start: number) {
  await beginAt(app, organization, caller, start);
  await caller.post('/pricing-models/setup', structure);
}

export interface Subscriber {
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly paymentMethodId: string | null;
}

/** A customer on a plan, who has used 250 calls: 100 are covered by credits, the other 150 cost 75. */
export async function subscribeFor(
  caller: Caller,
  externalId: string,
  { plan: slug, token, ...more }: { plan: string; token?: string } & Body,
): Promise<Subscriber> {
  const { customerId, paymentMethodId } = await newCustomer(caller, externalId, { token, name: externalId });
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug: `${slug}-price`, ...more });
  if (subscription.current) {
    await caller.post('/usage-events', {
      usageEvent: {
        subscriptionId: subscription.id,
        priceSlug: 'call',
        transactionId: `first-${externalId}`,
        amount: 250,
      },
    });
  }
  return { customerId, subscriptionId: subscription.id, paymentMethodId };
}

/** From now on every charge of the card fails. */
export async function breakCard(app: TestApp, { paymentMethodId }: Subscriber): Promise<void> {
  assert(paymentMethodId !== null);
  await app.owner
    .updateTable('paymentMethods')
    .set({ processorToken: 'pm_card_chargeCustomerFail' })
    .where('id', '=', paymentMethodId)
    .execute();
}
