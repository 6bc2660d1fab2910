import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();

const send = (lines: readonly object[], more: object = {}) =>
  app.request('POST', '/prices/quote', { quote: { lines, ...more } });

async function quote(lines: readonly object[], more: object = {}) {
  const { status, body } = await send(lines, more);
  assert.equal(status, 200, JSON.stringify(body));
  return body.quote;
}

async function refusal(lines: readonly object[], more: object = {}): Promise<string> {
  const { status, body } = await send(lines, more);
  assert.ok(status === 400 || status === 404, `${status}`);
  return body.error;
}

const tiers = [
  { upTo: 1000, unitAmount: '0' },
  { upTo: 10_000, unitAmount: '2', flatAmount: '100' },
  { upTo: null, unitAmount: '0.5' },
];

test('a quote prices each model, each line by itself, and adds the lines up', async () => {
  const found = await quote([
    { pricing: { model: 'per_unit', unitAmount: '0.25' }, units: 10 },
    { pricing: { model: 'package', packageSize: 100, packageAmount: '250' }, units: 101 },
    { pricing: { model: 'graduated', tiers }, units: 10_001 },
    { pricing: { model: 'volume', tiers }, units: 1_001 },
    {
      pricing: {
        model: 'stairstep',
        tiers: [
          { upTo: 5, flatAmount: '500' },
          { upTo: null, flatAmount: '900' },
        ],
      },
      units: 6,
    },
    { pricing: { model: 'percentage', rate: '2.9', fixedAmountPerEvent: '30' }, units: 10_000, events: 3 },
    {
      pricing: {
        model: 'graduated_percentage',
        tiers: [
          { upTo: 1000, rate: '2' },
          { upTo: null, rate: '1' },
        ],
      },
      units: 1500,
    },
    { pricing: { model: 'dynamic' }, units: 3, eventsAmount: '1.5' },
    { pricing: { model: 'per_unit', unitAmount: '1', freeUnits: 100, minimumAmount: '50' }, units: 120 },
  ]);
  // 2.5, 2 packages, 0 + 100 + 18,000 + 0.5, 100 + 2,002, 900, 290 + 90, 20 + 5, 1.5, and 20 that become 50.
  const amounts = [3, 500, 18_101, 2_102, 900, 380, 25, 2, 50];
  assert.deepEqual(
    found.lines.map((line: { amount: number }) => line.amount),
    amounts,
  );
  assert.equal(found.total, 22_063);
  assert.equal(found.currency, 'USD');
});

test('a quote shows each tier that holds units', async () => {
  const { lines } = await quote([{ pricing: { model: 'graduated', tiers }, units: 1_010 }]);
  assert.deepEqual(lines[0].tiers, [
    { upTo: 1000, units: 1000, unitAmount: '0', rate: '0', flatAmount: '0', amount: 0 },
    { upTo: 10_000, units: 10, unitAmount: '2', rate: '0', flatAmount: '100', amount: 120 },
  ]);
});

test('a quote finds prices by id and by slug: 250 units at 50 per 100 are 125, 3 seats at 20.00 are 60.00', async () => {
  const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Quoted', isDefault: true } });
  const { usageMeter } = await app.post('/usage-meters', {
    usageMeter: { pricingModelId: pricingModel.id, name: 'Calls', slug: 'calls' },
  });
  const price = {
    type: 'usage',
    usageMeterId: usageMeter.id,
    unitPrice: 50,
    usageEventsPerUnit: 100,
    slug: 'per-call',
  };
  await app.post('/prices', { price });
  await app.post('/products', {
    product: { pricingModelId: pricingModel.id, name: 'Seat', slug: 'seat' },
    price: { type: 'subscription', intervalUnit: 'month', unitPrice: 2000, slug: 'seat' },
  });
  const { lines, total } = await quote([
    { priceSlug: 'per-call', units: 250 },
    { priceId: (await app.get('/prices?slug=seat')).data[0].id, units: 3 },
  ]);
  assert.deepEqual([lines[0].amount, lines[1].amount, total], [125, 6000, 6125]);
  assert.match(await refusal([{ priceSlug: 'per-cal', units: 1 }]), /per-cal/);
  assert.match(await refusal([{ priceSlug: 'seat', units: 1 }], { currency: 'EUR' }), /quote\.currency: must be USD/);
});

test('a bad pricing is refused by the name of its field', async () => {
  const graduated = (upTos: readonly (number | null)[]) => ({
    pricing: { model: 'graduated', tiers: upTos.map((upTo) => ({ upTo, unitAmount: '1' })) },
    units: 1,
  });
  const at = 'quote\\.lines\\.0\\.pricing';
  const rows: [line: object, message: RegExp][] = [
    [graduated([1000, 10, null]), new RegExp(`${at}\\.tiers\\.1\\.upTo: must be more than 1000`)],
    [graduated([10, 20]), new RegExp(`${at}\\.tiers\\.1\\.upTo: must be null`)],
    [graduated([null, null]), new RegExp(`${at}\\.tiers\\.0\\.upTo: must be a number`)],
    [
      { pricing: { model: 'per_unit', unitAmount: '1.0000000000001' }, units: 1 },
      new RegExp(`${at}\\.unitAmount: must be a decimal`),
    ],
    [
      { pricing: { model: 'per_unit', unitAmount: '9999999999999999' }, units: 1 },
      new RegExp(`${at}\\.unitAmount: must be at most`),
    ],
    [
      { pricing: { model: 'per_unit', unitAmount: '1', minimumAmount: 'x', maximumAmount: '-1' }, units: 1 },
      new RegExp(`${at}\\.minimumAmount: must be a decimal`),
    ],
    [{ pricing: { model: 'bundle' }, units: 1 }, new RegExp(`${at}.*must be per_unit, package`)],
    [
      { pricing: { model: 'per_unit', unitAmount: '1', minimumAmount: '2', maximumAmount: '1' }, units: 1 },
      new RegExp(`${at}\\.maximumAmount: must be at least`),
    ],
    [{ pricing: { model: 'dynamic' }, units: 1 }, /eventsAmount: must be given/],
    [{ units: 1 }, /exactly one of priceId, priceSlug and pricing/],
    [{ pricing: { model: 'per_unit', unitAmount: '4503599627370495' }, units: 3 }, /units: must be fewer/],
  ];
  for (const [line, message] of rows) assert.match(await refusal([line]), message);
});

test('no units cost nothing, with an amount per event too, and what a line does not use is refused', async () => {
  const pricing = { model: 'percentage', rate: '2.9', fixedAmountPerEvent: '30' };
  const { lines } = await quote([
    { pricing, units: 0 },
    { pricing, units: 1000 },
  ]);
  assert.deepEqual([lines[0].amount, lines[1].amount], [0, 59]);
  const { id: priceId } = (await app.get('/prices?limit=1')).data[0];
  assert.match(await refusal([{ priceId, units: 1, eventsAmount: '1.5' }]), /eventsAmount: must be absent/);
  assert.match(await refusal([{ priceId, units: 1, events: 2 }]), /events: must be absent/);
});

test('a thousand lines are quoted, and one more is refused', async () => {
  const line = { pricing: { model: 'graduated', tiers }, units: 2_000 };
  assert.equal((await quote(new Array(1000).fill(line))).total, 2_100_000);
  assert.match(await refusal(new Array(1001).fill(line)), /quote\.lines/);
});
