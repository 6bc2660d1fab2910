import assert from 'node:assert/strict';
import { instant } from '../../src/kernel/calendar.ts';
import type { Body, TestApp, TestOrganization } from './harness.ts';
import { meter, newCustomer, plan } from './shop.ts';

const model = {
  name: 'Analytics',
  isDefault: true,
  features: [],
  products: [
    plan('free', 0),
    plan('pro', 3000),
    plan('team', 6000),
    plan('year', 10_000, [], { intervalUnit: 'year' }),
    plan('week', 700, [], { intervalUnit: 'week' }),
    plan('day', 100, [], { intervalUnit: 'day' }),
    plan('half', 6000, [], { intervalCount: 6 }),
    plan('trial', 3000, [], { trialPeriodDays: 14 }),
    plan('setup', 3000, [], { setupFeeAmount: 9900 }),
    plan('seats', 0, [], {
      unitPrice: undefined,
      pricing: {
        model: 'volume',
        tiers: [
          { upTo: 10, unitAmount: '1000' },
          { upTo: null, unitAmount: '800' },
        ],
      },
    }),
    plan('support', 500, [], { product: { addOn: true } }),
  ],
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1 })],
};

/** An organization of its own, and its reports. */
export interface AnalyticsShop {
  readonly environmentId: number;
  readonly moveTo: (day: string) => Promise<void>;
  readonly subscribe: (slug: string, more?: Body) => Promise<string>;
  readonly adjust: (id: string, items: readonly Body[], more?: Body) => Promise<Body>;
  readonly cancel: (id: string, timing: string) => Promise<Body>;
  readonly post: (path: string, body?: unknown) => Promise<Body>;
  readonly get: (path: string) => Promise<Body>;
  readonly report: (name: string, query?: string) => Promise<Body>;
  readonly refused: (name: string, query: string, message: RegExp) => Promise<void>;
  /** The movements of the whole time, in the order in which they were made. */
  readonly movements: () => Promise<[day: string, type: string, amount: number][]>;
  /** The MRR now. */
  readonly mrr: () => Promise<number>;
}

let customers = 0;

/** An organization of its own, whose clock stands at the day. */
async function begin(app: TestApp, start: string, settings?: Body): Promise<AnalyticsShop> {
  const organization: TestOrganization = await app.newOrganization();
  const options = { key: organization.testKey };
  const post = (path: string, body?: unknown) => app.post(path, body, options);
  const moveTo = async (day: string) => {
    await app.put('/test-clock', { testClock: { now: instant(day) } }, options);
  };
  if (settings !== undefined) await app.put('/settings', { settings }, options);
  await moveTo(start);
  await post('/pricing-models/setup', model);
  const report = async (name: string, query = '') => (await app.get(`/analytics/${name}?${query}`, options))[name];
  const environmentId = organization.testEnvironmentId;
  return {
    environmentId,
    moveTo,
    post,
    get: (path) => app.get(path, options),
    report,
    async refused(name, query, message) {
      const { status, body } = await app.request('GET', `/analytics/${name}?${query}`, undefined, options);
      assert.equal(status, 400);
      assert.match(body.message, message);
    },
    async subscribe(slug, more = {}) {
      customers += 1;
      const { customerId } = more.customerId
        ? more
        : await newCustomer({ post }, `customer-${customers}`, {
            token: 'pm_card_visa',
          });
      const body = { customerId, priceSlug: `${slug}-monthly`, ...more };
      return (await post('/subscriptions', body)).subscription.id;
    },
    adjust: (id, items, more = {}) =>
      post(`/subscriptions/${id}/adjust`, {
        adjustment: { timing: 'immediately', newSubscriptionItems: items, ...more },
      }),
    cancel: (id, timing) => post(`/subscriptions/${id}/cancel`, { cancellation: { timing } }),
    async movements() {
      const rows = await app.owner
        .selectFrom('mrrMovements')
        .select(['occurredAt', 'type', 'amount'])
        .where('environmentId', '=', environmentId)
        .orderBy('occurredAt')
        .orderBy('customerId')
        .orderBy('position')
        .execute();
      return rows.map(({ occurredAt, type, amount }) => [
        new Date(occurredAt).toISOString().slice(0, 10),
        type,
        Number(amount) / 1e12,
      ]);
    },
    async mrr() {
      const { groups } = await report('mrr');
      return groups[0].points.at(-1).mrr;
    },
  };
}

/** Begins organizations of an app, each with its clock at a day. */
export function analyticsShops(app: TestApp): (start: string, settings?: Body) => Promise<AnalyticsShop> {
  return (start, settings) => begin(app, start, settings);
}
