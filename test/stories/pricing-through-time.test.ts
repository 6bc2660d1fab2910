import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { environmentLines } from '../support/digest.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { beginAt, callerOf } from '../support/years.ts';

const app = await startTestApp();
const start = '2026-01-31';
const year = { intervalUnit: 'year' };
const monthly = { intervalUnit: 'month', intervalCount: 1 };

/** 1,000 tokens of a model cost these cents. */
const ofModel = (model: string, unitPrice: number) => ({
  type: 'usage',
  slug: model,
  ...monthly,
  unitPrice,
  usageEventsPerUnit: 1000,
  where: { model: [model] },
});
const tokens = meter('tokens', 'Tokens', { slug: 'any-model', unitPrice: 1, usageEventsPerUnit: 1000 });
const volume = {
  model: 'volume',
  tiers: [
    { upTo: 10, unitAmount: '1000' },
    { upTo: null, unitAmount: '800' },
  ],
};
const graduated = {
  model: 'graduated',
  tiers: [
    { upTo: 100, unitAmount: '0' },
    { upTo: null, unitAmount: '2' },
  ],
};
const eachMonth = { renewalFrequency: 'every_interval', grantInterval: { unit: 'month', count: 1 } };

const structure = {
  name: 'Prices as people sell',
  isDefault: true,
  features: [credits('calls', 1200, 'calls', eachMonth)],
  products: [
    plan('free', 0),
    plan('api', 120_000, [], year),
    plan('seats', 0, [], { pricing: volume, minimumCommitment: 20_000 }),
    plan('arrears', 3000, [], { billingTiming: 'in_arrears' }),
    plan('credits', 12_000, ['calls'], year),
    plan('storage', 1000),
  ],
  usageMeters: [
    { ...tokens, prices: [...tokens.prices, ofModel('large', 10), ofModel('small', 2)] },
    meter('calls', 'Calls', { slug: 'call', unitPrice: 0, pricing: graduated, intervalCount: 3 }),
    meter('hours', 'GB-hours', { slug: 'hour', unitPrice: 1 }, { aggregationType: 'unit_hours' }),
    meter('machines', 'Machines', { slug: 'machine', unitPrice: 100 }, { recurring: true, proration: 'second' }),
  ],
};

async function newSeller() {
  const organization = await app.newOrganization();
  const by = callerOf(app, organization);
  await beginAt(app, organization, by, instant(start));
  await by.post('/pricing-models/setup', structure);
  let count = 0;
  const join = async (slug: string, more: Body = {}) => {
    count += 1;
    const { customerId } = await newCustomer(by, `customer ${count}`, { token: 'pm_card_visa' });
    const { subscription } = await by.post('/subscriptions', { customerId, priceSlug: `${slug}-monthly`, ...more });
    const subscriptionId: string = subscription.id;
    const use = (usageMeterSlug: string, amount: number, properties?: Body) => {
      count += 1;
      const usageEvent = { subscriptionId, usageMeterSlug, amount, properties, transactionId: `use ${count}` };
      return by.post('/usage-events', { usageEvent });
    };
    return { subscriptionId, use };
  };
  return { ...organization, by, join };
}

test('an AI API bills tokens by model each month of an annual plan, and at 100.00 at once', async () => {
  const { by, join } = await newSeller();
  const { subscriptionId, use } = await join('api', { billingThresholdAmount: 10_000 });
  await by.moveTo(instant('2026-02-10'));
  // 50.00 and 10.00.
  await use('tokens', 500_000, { model: 'large' });
  await use('tokens', 500_000, { model: 'small' });
  await by.moveTo(instant('2026-03-10'));
  // 100.00, which is the threshold; what came before is paid.
  await use('tokens', 1_000_000, { model: 'large' });
  await by.moveTo(instant('2026-03-11'));
  // 20.00 and, of a model without a price of its own, 1.00.
  await use('tokens', 200_000, { model: 'large' });
  await use('tokens', 100_000, { model: 'new' });
  await by.moveTo(instant('2026-04-15'));
  const { data } = await by.get(`/invoices?subscriptionId=${subscriptionId}&limit=100`);
  assert.deepEqual(
    data.map(({ invoiceDate, status, total }: Body) => [
      new Date(invoiceDate).toISOString().slice(0, 10),
      status,
      total,
    ]),
    [
      ['2026-01-31', 'paid', 120_000],
      ['2026-02-28', 'paid', 6000],
      ['2026-03-10', 'paid', 10_000],
      ['2026-03-31', 'paid', 2100],
    ],
  );
});

test('a jump of the clock over all kinds of prices ends as its steps do', async () => {
  const lives = async (steps: readonly string[]) => {
    const seller = await newSeller();
    const { by, join } = seller;
    const api = await join('api', { billingThresholdAmount: 10_000 });
    await api.use('tokens', 300_000, { model: 'large' });
    await api.use('calls', 150);
    await join('seats', { quantity: 12, billingAnchor: 'calendar', firstPeriod: 'long' });
    await join('arrears', { billingAnchor: { day: 15 } });
    await (await join('credits')).use('calls', 1500);
    const storage = await join('storage');
    await storage.use('hours', 5);
    await storage.use('machines', 3);
    for (const step of [...steps, '2027-03-31']) await by.moveTo(instant(step));
    return environmentLines(app.owner, seller.testEnvironmentId);
  };
  const jumped = await lives([]);
  const months = Array.from({ length: 13 }, (_, month) => new Date(Date.UTC(2026, 1 + month, 12)).toISOString());
  assert.deepEqual(await lives(months), jumped);
  await assertSound(app);
});
