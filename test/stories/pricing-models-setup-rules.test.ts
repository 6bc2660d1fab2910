import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, countRows } from '../support/pricing-models.ts';

const app = await startTestApp();
const before = await countRows(app);

interface Refusal {
  readonly claim: string;
  readonly change: (body: Body) => unknown;
  readonly paths: readonly string[];
  readonly status?: number;
}

const pro = (product: object = {}, price: object = {}, features: string[] = []) => ({
  product: { name: 'Pro', slug: 'pro', ...product },
  price: { type: 'subscription', slug: 'pro-monthly', intervalUnit: 'month', unitPrice: 100, ...price },
  features,
});
const once = { type: 'single_payment', intervalUnit: null };
const firstPrice = (body: Body) => body.usageMeters[0].prices[0];
const many = <Value>(count: number, make: (index: number) => Value) => Array.from({ length: count }, (_, i) => make(i));
const toggle = (index: number) => ({ type: 'toggle', slug: `toggle-${index}`, name: 'Toggle' });

const refusals: readonly Refusal[] = [
  // Slugs
  {
    claim: 'two features with one slug',
    change: (body) => body.features.push({ type: 'toggle', slug: 'seats-5', name: 'Again' }),
    paths: ['features.3.slug'],
  },
  {
    claim: 'two products with one slug',
    change: (body) => body.products.push(pro({ slug: 'team' })),
    paths: ['products.1.product.slug'],
  },
  {
    claim: 'two usage meters with one slug',
    change: (body) => body.usageMeters.push({ usageMeter: { name: 'Again', slug: ' api-calls ' } }),
    paths: ['usageMeters.1.usageMeter.slug'],
  },
  {
    claim: 'two resources with one slug',
    change: (body) => body.resources.push({ slug: 'seat', name: 'Again' }),
    paths: ['resources.1.slug'],
  },
  {
    claim: 'prices of two products with one slug',
    change: (body) => body.products.push(pro({}, { slug: 'team-monthly' })),
    paths: ['products.1.price.slug'],
  },
  {
    claim: 'a price of a product and one of a usage meter with one slug',
    change: (body) => body.products.push(pro({}, { slug: 'call-overage' })),
    paths: ['usageMeters.0.prices.0.slug'],
  },
  {
    claim: 'two prices of one usage meter with one slug, though one is inactive',
    change: (body) => body.usageMeters[0].prices.push({ unitPrice: 2, slug: 'call-overage', active: false }),
    paths: ['usageMeters.0.prices.1.slug'],
  },
  {
    claim: 'a price with the slug that the price of the Free Plan is about to get',
    change: (body) => body.products.push(pro({}, { slug: 'free' })),
    paths: ['products.1.price.slug'],
  },
  {
    claim: "a usage meter's price with the reserved ending",
    change: (body) => Object.assign(firstPrice(body), { slug: 'api-calls_no_charge' }),
    paths: ['usageMeters.0.prices.0.slug'],
  },
  {
    claim: "a product's price with the reserved ending",
    change: (body) => body.products.push(pro({}, { slug: 'api-calls_no_charge' })),
    paths: ['products.1.price.slug'],
  },
  ...['free', 'FREE'].map((slug) => ({
    claim: `a product that is not the default and has the slug ${slug}`,
    change: (body: Body) => body.products.push(pro({ slug })),
    paths: ['products.1.product.slug'],
  })),

  // The default product
  {
    claim: 'two default products',
    change: (body) => {
      const free = { unitPrice: 0 };
      body.products.push(
        pro({ default: true }, free),
        pro({ slug: 'other', default: true }, { ...free, slug: 'other' }),
      );
    },
    paths: ['products.2.product.default'],
  },
  {
    claim: 'a default product that costs something and has a trial',
    change: (body) => Object.assign(body.products[0].product, { default: true }),
    paths: ['products.0.price.unitPrice', 'products.0.price.trialPeriodDays'],
  },
  {
    claim: 'an inactive default product',
    change: (body) => body.products.push(pro({ default: true, active: false }, { unitPrice: 0 })),
    paths: ['products.1.product.active'],
  },

  // Prices
  {
    claim: 'a product without a price',
    change: (body) => body.products.push({ product: pro().product }),
    paths: ['products.1.price'],
  },
  ...['isDefault', 'active'].map((field) => ({
    claim: `a product's only price with ${field} false`,
    change: (body: Body) => body.products.push(pro({}, { [field]: false })),
    paths: [`products.1.price.${field}`],
  })),
  {
    claim: 'a usage price of a product',
    change: (body) => body.products.push(pro({}, { type: 'usage' })),
    paths: ['products.1.price.type'],
  },
  {
    claim: 'a product price with fields of a usage price',
    change: (body) => body.products.push(pro({}, { usageEventsPerUnit: 1, usageMeterId: 'usage_meter_1' })),
    paths: ['products.1.price.usageEventsPerUnit', 'products.1.price.usageMeterId'],
  },
  {
    claim: 'a subscription price without an interval',
    change: (body) => body.products.push(pro({}, { intervalUnit: undefined })),
    paths: ['products.1.price.intervalUnit'],
  },
  {
    claim: 'an interval of 0 months',
    change: (body) => body.products.push(pro({}, { intervalCount: 0 })),
    paths: ['products.1.price.intervalCount'],
  },
  {
    claim: 'a single payment with an interval and a trial',
    change: (body) =>
      body.products.push(pro({}, { ...once, intervalUnit: 'month', intervalCount: 1, trialPeriodDays: 7 })),
    paths: ['products.1.price.intervalUnit', 'products.1.price.intervalCount', 'products.1.price.trialPeriodDays'],
  },
  {
    claim: 'a currency that is none',
    change: (body) => body.products.push(pro({}, { currency: 'EURO' })),
    paths: ['products.1.price.currency'],
  },
  {
    claim: 'currencies other than that of the environment',
    change: (body) => {
      body.products.push(pro({}, { currency: 'EUR' }));
      Object.assign(firstPrice(body), { currency: 'EUR' });
    },
    paths: ['products.1.price.currency', 'usageMeters.0.prices.0.currency'],
  },
  {
    claim: 'two default prices of one usage meter',
    change: (body) => body.usageMeters[0].prices.push({ unitPrice: 2, isDefault: true }),
    paths: ['usageMeters.0.prices.1.isDefault'],
  },
  {
    claim: 'an inactive default price of a usage meter',
    change: (body) => Object.assign(firstPrice(body), { active: false }),
    paths: ['usageMeters.0.prices.0.isDefault'],
  },
  {
    claim: 'a usage price with a trial, for no events, of another type',
    change: (body) =>
      Object.assign(firstPrice(body), { trialPeriodDays: 1, usageEventsPerUnit: 0, type: 'subscription' }),
    paths: ['type', 'usageEventsPerUnit', 'trialPeriodDays'].map((field) => `usageMeters.0.prices.0.${field}`),
  },
  {
    claim: 'a low-balance threshold of 0',
    change: (body) => Object.assign(body.usageMeters[0].usageMeter, { lowBalanceThreshold: 0 }),
    paths: ['usageMeters.0.usageMeter.lowBalanceThreshold'],
  },
  {
    claim: 'an unknown way to aggregate',
    change: (body) => Object.assign(body.usageMeters[0].usageMeter, { aggregationType: 'median' }),
    paths: ['usageMeters.0.usageMeter.aggregationType'],
  },

  // Features
  {
    claim: 'a credit grant without amount and frequency',
    change: (body) =>
      body.features.push({ type: 'usage_credit_grant', slug: 'more', name: 'More', usageMeterSlug: 'api-calls' }),
    paths: ['amount', 'renewalFrequency'].map((field) => `features.3.${field}`),
  },
  {
    claim: 'a credit grant of neither a meter nor a pool',
    change: (body) => {
      const grant = { type: 'usage_credit_grant', amount: 5, renewalFrequency: 'once' };
      body.features.push({ ...grant, slug: 'more', name: 'More' });
    },
    paths: ['features.3.usageMeterSlug'],
  },
  {
    claim: 'a resource feature of nothing, without a resource',
    change: (body) => body.features.push({ type: 'resource', slug: 'more', name: 'More', amount: 0 }),
    paths: ['features.3.amount', 'features.3.resourceSlug'],
  },
  {
    claim: 'a toggle with an amount',
    change: (body) => Object.assign(body.features[0], { amount: 1 }),
    paths: ['features.0.amount'],
  },
  {
    claim: 'a toggle with a roll-over',
    change: (body) => Object.assign(body.features[0], { rolloverMaximum: 1, rolloverPeriods: 1 }),
    paths: ['features.0.rolloverMaximum', 'features.0.rolloverPeriods'],
  },
  {
    claim: 'a roll-over of credits that are granted once',
    change: (body) =>
      Object.assign(body.features[1], { renewalFrequency: 'once', rolloverMaximum: 1, rolloverPeriods: 1 }),
    paths: ['features.1.rolloverMaximum'],
  },
  {
    claim: 'a roll-over for no number of periods',
    change: (body) => Object.assign(body.features[1], { rolloverMaximum: 1 }),
    paths: ['features.1.rolloverPeriods'],
  },
  {
    claim: 'a roll-over of nothing for too many periods',
    change: (body) => Object.assign(body.features[1], { rolloverMaximum: 0, rolloverPeriods: 101 }),
    paths: ['features.1.rolloverMaximum', 'features.1.rolloverPeriods'],
  },

  // References
  {
    claim: 'features of a product that are not in the body, all of them told',
    change: (body) => body.products[0].features.push('nowhere', 'sso', 'nobody'),
    paths: ['products.0.features.3', 'products.0.features.5'],
    status: 404,
  },
  {
    claim: 'credits for a usage meter that is not in the body',
    change: (body) => Object.assign(body.features[1], { usageMeterSlug: 'nowhere' }),
    paths: ['features.1.usageMeterSlug'],
    status: 404,
  },
  {
    claim: 'capacity of a resource that is not in the body',
    change: (body) => Object.assign(body.features[2], { resourceSlug: 'nowhere' }),
    paths: ['features.2.resourceSlug'],
    status: 404,
  },

  // Limits
  ...(
    [
      ['1,001 features', 'features', (body) => many(1001, toggle).concat(body.features)],
      ['1,001 products', 'products', () => many(1001, (i) => pro({ slug: `p-${i}` }, { slug: `p-${i}` }))],
      [
        '1,000 products without the default one',
        'products',
        () => many(1000, (i) => pro({ slug: `p-${i}` }, { slug: `p-${i}` })),
      ],
      ['1,001 resources', 'resources', () => many(1001, (i) => ({ slug: `r-${i}`, name: 'R' }))],
      ['201 usage meters', 'usageMeters', () => many(201, (i) => ({ usageMeter: { name: 'M', slug: `m-${i}` } }))],
    ] as [string, string, (body: Body) => unknown][]
  ).map(([claim, list, make]) => ({
    claim,
    change: (body: Body) => Object.assign(body, { [list]: make(body) }),
    paths: [list],
  })),
  {
    claim: '101 prices of one usage meter',
    change: (body) => body.usageMeters[0].prices.push(...many(100, (unitPrice) => ({ unitPrice }))),
    paths: ['usageMeters.0.prices'],
  },
  {
    claim: 'more than 20,000 features of all products together',
    change: (body) => {
      body.features.push(...many(500, toggle));
      const slugs = many(500, (index) => `toggle-${index}`);
      body.products.push(...many(41, (i) => pro({ slug: `p-${i}` }, { slug: `p-${i}` }, slugs)));
    },
    paths: ['products'],
  },
  {
    claim: 'several things at once, all of them told',
    change: (body) => {
      body.resources.push({ slug: 'seat', name: 'Again' });
      body.products.push(pro({ slug: 'free' }, { slug: 'team-monthly' }));
    },
    paths: ['resources.1.slug', 'products.1.price.slug', 'products.1.product.slug'],
  },
];

for (const { claim, change, paths, status = 400 } of refusals) {
  test(`refuses ${claim}`, async () => {
    const body = acme();
    change(body);
    const answer = await app.request('POST', '/pricing-models/setup', body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.equal(answer.body.code, status === 404 ? 'NOT_FOUND' : 'BAD_REQUEST');
    assert.deepEqual(
      answer.body.issues.map(({ path }: Body) => path.join('.')),
      paths,
    );
    assert(answer.body.issues.every(({ message }: Body) => typeof message === 'string' && message.length > 0));
  });
}

test('nothing of what was refused is stored', async () => {
  assert.deepEqual(await countRows(app), before);
});

test('what is inactive leaves the slug of its price to another', async () => {
  const body = acme();
  body.products.push(pro({ active: false }, { slug: 'team-monthly' }));
  assert.equal((await app.post('/pricing-models/setup?dryRun=true', body)).pricingModel.products.length, 2);
});

test('a key that is not valid learns nothing about the body', async () => {
  const answer = await app.request('POST', '/pricing-models/setup', { name: '' }, { key: 'sk_test_unknown' });
  assert.equal(answer.status, 401);
});
