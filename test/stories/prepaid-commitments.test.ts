import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { Tollkeeper } from '../../client/src/client.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newPoolUser } from '../support/pool-user.ts';
import { meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

// Money that is bought up front, and that usage draws down at its prices. All prices are in cents, the pool in dollars.

const app = await startTestApp();
after(() => assertSound(app));
const start = instant('2026-06-01');
await app.setClock(start);
const priced = (slug: string, pricing: object) => ({ slug, unitPrice: 0, pricing });
const oncePaid = { type: 'single_payment', intervalUnit: undefined, intervalCount: undefined };
// Meters with a plan of their own, whose credits a check asks for.
const checkedMeters = ['calls', 'tokens', 'packs', 'payments', 'lots', 'storage', 'seconds'];
const checkedFeatures = checkedMeters.map((usageMeterSlug) => {
  const feature = { type: 'usage_credit_grant', slug: `${usageMeterSlug}-included`, name: usageMeterSlug, amount: 3 };
  return { ...feature, usageMeterSlug, renewalFrequency: 'every_billing_period' };
});
const setup = {
  name: 'Cloud',
  isDefault: true,
  features: [
    {
      type: 'usage_credit_grant',
      slug: 'commitment',
      name: 'Commitment',
      amount: 10_000,
      creditPoolSlug: 'prepaid',
      renewalFrequency: 'every_interval',
      grantInterval: { unit: 'year', count: 1 },
      rolloverMaximum: 1000,
      rolloverPeriods: 1,
    },
    ...checkedFeatures,
  ],
  products: [
    plan('free', 0, []),
    plan('pro', 2900, []),
    plan(
      'checked',
      2900,
      checkedFeatures.map(({ slug }) => slug),
    ),
    plan('commitment', 800_000, ['commitment'], oncePaid),
    plan('commitment-list', 1_000_000, ['commitment'], oncePaid),
    plan('committed', 800_000, ['commitment'], { intervalUnit: 'year' }),
  ],
  usageMeters: [
    meter('calls', 'Calls', { slug: 'call', unitPrice: 5, usageEventsPerUnit: 7 }),
    meter(
      'tokens',
      'Tokens',
      priced('token', {
        model: 'graduated',
        tiers: [
          { upTo: 100, unitAmount: '3' },
          { upTo: null, unitAmount: '2' },
        ],
      }),
    ),
    meter('packs', 'Packs', priced('pack', { model: 'package', packageSize: 10, packageAmount: '250' })),
    meter('payments', 'Payments', priced('payment', { model: 'percentage', rate: '2.9', fixedAmountPerEvent: '30' })),
    meter('lots', 'Lots', priced('lot', { model: 'dynamic' })),
    meter('storage', 'Storage', priced('volume', { model: 'volume', tiers: [{ upTo: null, unitAmount: '1' }] })),
    meter('seconds', 'Seconds', { slug: 'second', unitPrice: 5, usageEventsPerUnit: 1 }),
  ],
  creditPools: [
    {
      slug: 'prepaid',
      name: 'Prepaid',
      unit: 'USD',
      drawAtPrice: true,
      rates: [{ usageMeterSlug: 'seconds', per: 60, cost: '1' }],
    },
  ],
};
const { pricingModel } = await app.post('/pricing-models/setup', setup);
const pricingModelId: string = pricingModel.id;

const newUser = () => newPoolUser(app, 'prepaid');

test('only a pool in the currency of prices draws at the price, one in each pricing model, for good', async () => {
  const refused = async (creditPool: object) => {
    const { body } = await app.request('POST', '/credit-pools', {
      creditPool: { slug: 'other', name: 'Other', ...creditPool },
    });
    return body.issues.map(({ path, message }: Body) => `${path.join('.')}: ${message}`);
  };
  for (const unit of ['credit', 'EUR'])
    assert.deepEqual(await refused({ unit, drawAtPrice: true }), [
      'creditPool.drawAtPrice: must be false unless the unit is USD, the currency of prices',
    ]);
  assert.deepEqual(await refused({ unit: 'USD', drawAtPrice: true }), [
    'creditPool.drawAtPrice: must be false: credit pool prepaid draws at the price already',
  ]);
  const exported = (await app.get(`/pricing-models/${pricingModelId}/export`)).pricingModel;
  assert.equal(exported.creditPools[0].drawAtPrice, true);
  const clone = await app.post(`/pricing-models/${pricingModelId}/clone`, { name: 'Copy' });
  const pools = (await app.get(`/credit-pools?pricingModelId=${clone.pricingModel.id}`)).data;
  assert.deepEqual(
    pools.map((pool: Body) => pool.drawAtPrice),
    [true],
  );
  const [pool] = exported.creditPools;
  const changed = await app.request('PUT', `/pricing-models/${pricingModelId}`, {
    pricingModel: { ...exported, creditPools: [{ ...pool, drawAtPrice: false }] },
  });
  assert.match(JSON.stringify(changed.body), /drawAtPrice of a credit pool cannot change/);
});

test('usage draws the amounts of its prices, over the boundary of tiers and for parts of cents', async () => {
  const user = await newUser();
  await user.grant(10);
  // 99 x 3 cents; then 3 + 2.
  await user.record(user.event('tokens', 99));
  assert.equal(await user.balance(), '7.03');
  assert.equal((await user.consume('tokens', 2)).status, 200);
  assert.equal(await user.balance(), '6.98');
  // Seven calls cost 5 cents, one by one or together.
  for (let call = 0; call < 7; call += 1) assert.equal((await user.consume('calls', 1)).status, 200);
  assert.equal(await user.balance(), '6.93');
  // A package is paid for with its first unit.
  await user.record(user.event('packs', 1), user.event('packs', 3));
  assert.equal(await user.balance(), '4.43');
  assert.equal((await user.consume('packs', 6)).status, 200);
  assert.equal(await user.balance(), '4.43');
  // 2.9 % of 10 dollars and 30 cents; an event with a price of its own.
  await user.record(user.event('payments', 1000), user.event('lots', 3, { price: '12.5' }));
  assert.equal(await user.balance(), '3.715');
  // A rate comes before the price. Prices that may fall are billed.
  await user.record(user.event('seconds', 30), user.event('storage', 4));
  assert.deepEqual([await user.balance(), await user.meter('storage'), await user.meter('seconds')], ['3.215', -4, 0]);
});

test('a pool pays for as many whole units as its balance pays, and the rest is overage', async () => {
  const user = await newUser();
  await user.grant('3.05');
  await user.record(user.event('tokens', 50), user.event('tokens', 60));
  // 100 x 3 cents and 2 x 2 cents are 3.04.
  assert.deepEqual([await user.balance(), await user.meter('tokens')], ['0.01', -8]);
  const short = await user.consume('tokens', 1);
  assert.equal(short.status, 402);
  // An event with an amount of its own is paid for whole, or not at all.
  await user.grant('0.595');
  await user.record(user.event('payments', 1000), user.event('payments', 900), user.event('lots', 1, { price: '1.5' }));
  assert.deepEqual([await user.balance(), await user.meter('payments'), await user.meter('lots')], ['0', -900, 0]);
});

test('a hold sets aside what its units cost, and is settled at the price', async () => {
  const user = await newUser();
  await user.grant(5);
  const { hold } = await app.post('/holds', {
    hold: {
      customerExternalId: user.externalId,
      usageMeterSlug: 'tokens',
      amount: 110,
      expiresAt: start + 3_600_000,
    },
  });
  assert.equal(await user.balance(), '1.8');
  await app.post(`/holds/${hold.id}/settle`, { amount: 100 });
  assert.equal(await user.balance(), '2');
});

test('any events draw the same in one request as one by one', async () => {
  const uses = fc.array(
    fc.oneof(
      fc.tuple(fc.constantFrom('tokens', 'calls', 'packs', 'seconds', 'storage'), fc.integer({ min: 1, max: 60 })),
      fc.tuple(fc.constantFrom('payments', 'lots'), fc.integer({ min: 1, max: 400 })),
    ),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(uses, fc.integer({ min: 1, max: 9 }), async (drawn, dollars) => {
      const [together, apart] = [await newUser(), await newUser()];
      const eventsOf = (user: typeof together) =>
        drawn.map(([slug, amount]) => user.event(slug, amount, slug === 'lots' ? { price: `${amount / 8}` } : {}));
      for (const user of [together, apart]) await user.grant(dollars);
      await together.record(...eventsOf(together));
      for (const event of eventsOf(apart)) await apart.record(event);
      assert.equal(await together.balance(), await apart.balance());
      for (const slug of new Set(drawn.map(([each]) => each)))
        assert.equal(await together.meter(slug), await apart.meter(slug), slug);
    }),
    { numRuns: 5 },
  );
});

/** A user whose plan includes three units of each meter, what a check and a reader say of a meter, and whether consume takes an amount. */
async function newCheckedUser() {
  const user = await newUser();
  const of = { customerId: user.customerId, priceSlug: 'checked-monthly' };
  const { subscription } = await app.post('/subscriptions', of);
  const through = { customerExternalId: undefined, subscriptionId: subscription.id };
  return {
    ...user,
    through,
    use: (slug: string, amount: number) => user.record(user.event(slug, amount, through)),
    async checked(...slugs: string[]): Promise<number[]> {
      const checks = slugs.map((slug) => ({ customerExternalId: user.externalId, featureSlug: `${slug}-included` }));
      const { results } = await app.post('/entitlements/check', { checks });
      const reader = new Tollkeeper({ key: app.testKey, baseUrl: app.url }).entitlementReader();
      for (const { featureSlug, availableBalance: left } of results) {
        const may = (amount: number) => reader.may(user.externalId, featureSlug, amount);
        assert.deepEqual([left < 1 || (await may(left)), await may(left + 1)], [true, false], featureSlug);
      }
      return results.map(({ availableBalance }: Body) => availableBalance);
    },
    async takes(slug: string, amount: number): Promise<boolean> {
      const usageEvent = user.event(slug, amount, through);
      const { status } = await app.request('POST', '/usage-events/consume?dryRun=true', { usageEvent });
      assert(status === 200 || status === 402, `${status}`);
      return status === 200;
    },
  };
}

test('a check counts what a pool pays at the price, behind what it has drawn', async () => {
  const user = await newCheckedUser();
  assert.deepEqual(await user.checked(...checkedMeters), [3, 3, 3, 3, 3, 3, 3], 'no pool');
  await user.grant('3.09');
  // 432 calls at 5 cents for 7; 100 tokens at 3 cents and 4 at 2; one package; 30 cents and 2.9 % of 9,620 cents.
  const billed = { lots: 3, storage: 3 };
  const before = await user.checked('calls', 'tokens', 'packs', 'payments', 'seconds', ...Object.keys(billed));
  assert.deepEqual(before, [435, 107, 13, 9623, 188, ...Object.values(billed)]);
  // 102 tokens are drawn: 3.04. The next ones are of the second tier.
  await user.use('tokens', 105);
  assert.deepEqual(await user.checked('calls', 'tokens', 'packs'), [10, 2, 3]);
  const checks = [2, 3].map((amount) => {
    return { customerExternalId: user.externalId, featureSlug: 'tokens-included', amount };
  });
  const { results } = await app.post('/entitlements/check', { checks });
  assert.deepEqual(
    results.map(({ allowed }: Body) => allowed),
    [true, false],
  );
});

test('a check allows exactly what consume takes, whatever was drawn, held, granted and owed', async () => {
  const meters = fc.constantFrom('calls', 'tokens', 'packs', 'payments', 'storage', 'seconds');
  const amount = fc.integer({ min: 1, max: 150 });
  const steps = fc.array(
    fc.oneof(
      fc.tuple(fc.constantFrom('use', 'hold'), meters, amount),
      fc.tuple(fc.constant('grant'), meters, fc.integer({ min: 1, max: 6 })),
    ),
    { minLength: 2, maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const user = await newCheckedUser();
      for (const [kind, usageMeterSlug, count] of taken) {
        if (kind === 'grant') await user.grant(count);
        else if (kind === 'use') await user.use(usageMeterSlug, count);
        else {
          const hold = { ...user.through, usageMeterSlug, amount: count, expiresAt: start + 3_600_000 };
          const { status } = await app.request('POST', '/holds', { hold });
          assert(status === 200 || status === 402, `${status}`);
        }
      }
      for (const slug of ['calls', 'tokens', 'packs', 'payments', 'storage', 'seconds']) {
        const [left = 0] = await user.checked(slug);
        if (left > 0) assert(await user.takes(slug, left), `${slug}: ${left} are left`);
        assert(!(await user.takes(slug, Math.max(left, 0) + 1)), `${slug}: no more than ${left} are left`);
      }
    }),
    { numRuns: 4 },
  );
});

test('64 consumers at once draw exactly what the balance pays for', async () => {
  const user = await newUser();
  // 40 x 3 cents.
  await user.grant('1.2');
  const answers = await Promise.all(Array.from({ length: 64 }, () => user.consume('tokens', 1)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 40);
  assert.equal(answers.filter(({ status }) => status === 402).length, 24);
  assert.equal(await user.balance(), '0');
});

/** A seller with these prices on 1 June 2026, and one customer on the free plan. */
async function newSeller() {
  const caller = callerOf(app, await app.newOrganization());
  const moveTo = (date: string) => caller.moveTo(instant(date));
  await moveTo('2026-06-01');
  await caller.post('/pricing-models/setup', setup);
  const { externalId, customerId } = await newCustomer(caller, 'ada', { token: 'pm_card_visa' });
  const of = { customerExternalId: externalId };
  let uses = 0;
  return {
    ...caller,
    moveTo,
    customerId,
    externalId,
    buy: async (priceSlug: string, more: object = {}): Promise<Body> => {
      const { purchase } = await caller.post('/purchases', { purchase: { ...of, priceSlug, quantity: 1, ...more } });
      assert.equal(purchase.status, 'paid');
      return purchase;
    },
    use: (usageMeterSlug: string, amount: number) => {
      uses += 1;
      const usageEvent = { ...of, usageMeterSlug, amount, transactionId: `use-${uses}` };
      return caller.post('/usage-events', { usageEvent });
    },
    balance: async (query = ''): Promise<string> => {
      const { creditBalances } = await caller.get(`/customers/${externalId}/credit-balances${query}`);
      return creditBalances.find((each: Body) => each.slug === 'prepaid').availableBalance;
    },
    paymentOf: async (paid: number): Promise<string> => {
      const { data } = await caller.get(`/payments?customerId=${customerId}&limit=100`);
      return data.find(({ amount }: Body) => amount === paid).id;
    },
  };
}

test('10,000 for a year at 80 % of list are drawn at list prices, and the rest rolls over to the next commitment', async () => {
  const seller = await newSeller();
  await seller.buy('commitment-monthly');
  assert.equal(await seller.balance(), '10000');
  // 5,000 for calls; 3 + 4,000 for tokens.
  await seller.use('calls', 700_000);
  await seller.use('tokens', 200_100);
  assert.equal(await seller.balance(), '997');
  // The next one costs the same by a discount on the list price. All of the rest is below the maximum of 1,000.
  await seller.moveTo('2027-05-31');
  const { pricingModel: model } = (await seller.get('/pricing-models/default')) as Body;
  await seller.post('/discounts', {
    discount: {
      name: 'Commitment',
      code: 'COMMIT',
      amount: 20,
      amountType: 'percent',
      duration: 'once',
      pricingModelId: model.id,
    },
  });
  await seller.buy('commitment-list-monthly', { discountCode: 'COMMIT' });
  assert.equal(await seller.balance(), '10997');
  await seller.moveTo('2027-06-02');
  assert.equal(await seller.balance(), '10997');
  // Overage begins when the money is used up: 100 x 3 cents and 1,539,160 calls are 10,997, and 14 calls are 10 cents.
  await seller.use('tokens', 100);
  await seller.use('calls', 1_539_174);
  assert.equal(await seller.balance(), '0');
  const { usageMeterBalances } = await seller.get(`/customers/${seller.externalId}/usage-balances`);
  assert.equal(usageMeterBalances.find(({ slug }: Body) => slug === 'calls').availableBalance, -14);
  assert.equal(await seller.balance(`?asOf=${instant('2027-05-30')}`), '997');
});

test('a commitment ends after its year, what is above the maximum too, and a refund takes back what is unused', async () => {
  const seller = await newSeller();
  await seller.buy('commitment-monthly');
  await seller.moveTo('2027-05-30');
  await seller.use('tokens', 100);
  await seller.buy('commitment-list-monthly');
  assert.equal(await seller.balance(), '19997');
  // Of 9,997, 1,000 rolled over.
  await seller.moveTo('2027-06-02');
  assert.equal(await seller.balance(), '11000');
  const { credits } = await seller.post(`/payments/${await seller.paymentOf(1_000_000)}/refund`, {});
  assert.deepEqual(
    credits.map(({ boughtAmount, takenBackAmount }: Body) => [boughtAmount, takenBackAmount]),
    [['10000', '10000']],
  );
  assert.equal(await seller.balance(), '1000');
  await seller.post(`/payments/${await seller.paymentOf(800_000)}/refund`, {});
  assert.equal(await seller.balance(), '0');
  await seller.buy('commitment-monthly');
  await seller.moveTo('2028-06-03');
  assert.equal(await seller.balance(), '0');
});

test('a yearly plan grants its commitment with each renewal, and rolls over at most its maximum', async () => {
  const seller = await newSeller();
  await seller.post('/subscriptions', { customerId: seller.customerId, priceSlug: 'committed-monthly' });
  await seller.use('tokens', 100);
  assert.equal(await seller.balance(), '9997');
  await seller.moveTo('2027-06-02');
  assert.equal(await seller.balance(), '11000');
});
