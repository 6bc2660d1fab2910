import assert from 'node:assert/strict';
import { test } from 'node:test';
import { topUpHandler } from '../../src/billing/buy.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { openPortalOf } from '../support/portal-fixture.ts';
import { newProduct } from '../support/pricing-fixture.ts';
import { setUpShop } from '../support/purchases-fixture.ts';

// The credits of a customer in its portal, its own limits, and the purchases that it lets happen.

const app = await startTestApp();
const shop = await setUpShop(app);
const { plans } = shop;
const pack = await app.get(`/products/${shop.packId}`);
// Packs of 1000 calls for 10.00.
const { product: refill } = await newProduct(app, plans.pricingModelId, {
  product: { name: 'Refill' },
  price: { type: 'single_payment', slug: 'refill', unitPrice: 1000 },
  featureIds: pack.features.map(({ id }: Body) => id),
});
const refillPrice: string = (await app.get(`/prices?productId=${refill.id}`)).data[0].id;
const rates = [{ usageMeterSlug: 'api-calls', per: 1000, cost: '0.5' }];
const { creditPool: pool } = await app.post('/credit-pools', {
  creditPool: { slug: 'ai', name: 'AI credits', unit: 'credit', rates, pricingModelId: plans.pricingModelId },
});
const { feature: poolCredits } = await app.post('/features', {
  feature: {
    ...{ type: 'usage_credit_grant', slug: 'pack-credits', name: 'Credits of a pack', description: '', amount: 10 },
    ...{ creditPoolId: pool.id, renewalFrequency: 'once', pricingModelId: plans.pricingModelId },
  },
});
const { product: poolPack } = await newProduct(app, plans.pricingModelId, {
  product: { name: 'AI pack' },
  price: { type: 'single_payment', slug: 'ai-pack', unitPrice: 500 },
  featureIds: [poolCredits.id],
});
const poolPrice: string = (await app.get(`/prices?productId=${poolPack.id}`)).data[0].id;
const { creditPool: purse } = await app.post('/credit-pools', {
  creditPool: { slug: 'purse', name: 'Purse', unit: 'USD', rates: [], pricingModelId: plans.pricingModelId },
});
const { data: shopMeters } = await app.get(`/usage-meters?pricingModelId=${plans.pricingModelId}&limit=100`);
const meterId: string = shopMeters.find(({ slug }: Body) => slug === 'api-calls').id;
const june = instant('2026-06-10');

async function openPortal(token = 'pm_card_visa') {
  await app.setClock(june);
  const customer = await plans.newCustomer(token);
  const portal = await openPortalOf(app, customer.externalId);
  const controls = async (): Promise<Body> =>
    (await app.get(`/customers/${customer.externalId}/spend-controls`)).spendControls;
  return { ...customer, ...portal, controls };
}

let sent = 0;
function use(subscriptionId: string, amount: number) {
  sent += 1;
  const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: `use-${sent}`, amount };
  return app.post('/usage-events', { usageEvent });
}

/** The text of a section, without tags. */
function section(page: string, id: string): string {
  const found = new RegExp(`<section aria-labelledby="${id}">([\\s\\S]*?)</section>`).exec(page)?.[1] ?? '';
  return found
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

test('balances say what is left, included, bought, reserved and next to expire, of meters and of pools', async () => {
  const { externalId, freeId, read } = await openPortal();
  const grant = (more: Body) =>
    app.post('/usage-credits', { usageCredit: { customerExternalId: externalId, ...more } });
  await grant({ creditPoolSlug: 'ai', amount: '2.5', expiresAt: instant('2026-07-01') });
  await use(freeId, 1500);
  const hold = { subscriptionId: freeId, priceSlug: 'call-overage', amount: 1000, expiresAt: june + 600_000 };
  await app.post('/holds', { hold });
  const page = await read('/portal');
  // 1000 calls beyond the 500 of the plan cost 0.5, and the reserved ones as much.
  assert.equal(
    section(page, 'balances'),
    'Remaining usage API calls 0 of 500 left AI credits 1.5 of 2.5 left Reserved: 0.5 · Expiring on July 1, 2026: 2',
  );
  const usage = section(page, 'usage');
  assert.match(
    usage,
    /AI credits: 0\.5 in the last 30 days, most on June 10, 2026 with 0\.5\. June 10, 2026 API calls: 0\.5 0\.5/,
  );
  assert.match(usage, /API calls: 1,500 in the last 30 days/);
});

test('a pack whose credits it gives until an instant ahead is offered until then, with these', async () => {
  const { product: summer } = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Summer pack' },
    price: { type: 'single_payment', slug: 'summer', unitPrice: 500 },
  });
  const end = june + 86_400_000;
  const productFeature = { productId: summer.id, featureId: poolCredits.id, expiredAt: end };
  await app.post('/product-features', { productFeature });
  const { read } = await openPortal();
  assert.match(section(await read('/portal'), 'top-ups'), /Summer pack \$5\.00 once Includes Credits of a pack: 10/);
  await app.setClock(end);
  assert.doesNotMatch(await read('/portal'), /Summer pack/);
});

test('a customer sets limits below those of the seller, changes and removes them, and sees their use', async () => {
  const { externalId, freeId, controls, read, send } = await openPortal();
  assert.match(section(await read('/portal'), 'limits'), /No limits are set/);
  const monthly = { usageMeterSlug: 'api-calls', period: 'month' };
  await app.put(`/customers/${externalId}/spend-controls`, {
    spendControls: { limits: [{ ...monthly, amount: 400 }], ownLimits: [{ label: 'team', period: 'day', amount: 9 }] },
  });
  const form = { subject: meterId, unit: 'units', period: 'month', amount: '1,000', action: 'block' };
  const refused = await send('/portal/limits', form);
  assert.equal(refused.status, 422);
  const wrong = await refused.text();
  assert.match(wrong, /value="1,000"[^>]+aria-invalid="true"[^>]+aria-describedby="amount-error"/);
  assert.match(wrong, /id="amount-error">Enter at most 400, the limit that [^<]+ has set\./);
  for (const [bad, text] of [
    [{ amount: '' }, 'Enter a whole number'],
    [{ amount: '0' }, 'Enter a whole number'],
    [{ amount: '1.5' }, 'Enter a whole number'],
    [{ unit: 'money', amount: '1.2345' }, 'Enter an amount, such as 50.00.'],
    [{ unit: 'gold' }, 'Choose one of the options.'],
    [{ period: 'year' }, 'Choose one of the options.'],
    [{ subject: 'unknown' }, 'Choose one of the options.'],
    [{ action: '' }, 'Choose one of the options.'],
  ] as const) {
    const answer = await send('/portal/limits', { ...form, ...bad });
    assert.equal(answer.status, 422, text);
    assert((await answer.text()).includes(text), text);
  }
  // The form is sent twice, and once more with another amount.
  for (const amount of ['300', '300', '200'])
    assert.equal((await send('/portal/limits', { ...form, amount })).headers.get('location'), '/portal?done=limit');
  await send('/portal/limits', { ...form, subject: '', unit: 'money', amount: '12.50', action: 'notify' });
  const own = (await controls()).limits.filter(({ setBy }: Body) => setBy === 'customer');
  assert.deepEqual(
    own.map(({ usageMeterSlug, label, unit, amount, action }: Body) => [usageMeterSlug, label, unit, amount, action]),
    [
      [null, 'team', 'units', 9, 'block'],
      ['api-calls', null, 'units', 200, 'block'],
      [null, null, 'money', 1250, 'notify'],
    ],
  );
  await use(freeId, 150);
  const shown = section(await read('/portal'), 'limits');
  assert.match(
    shown,
    /API calls · each month 150 of 200 used Set by you\. Usage stops at the limit\. Resets on July 1, 2026\./,
  );
  assert.match(shown, /All usage \(team\) · each day 0 of 9 used/);
  assert.match(shown, /All usage · each month \$0\.75 of \$12\.50 used Set by you\. You are only notified\./);
  const change = await read(`/portal/limits?change=${own[2].id}`);
  assert.match(change, /name="amount"[^>]+value="12\.50"/);
  for (const _time of [1, 2])
    assert.equal(
      (await send(`/portal/limits/${own[1].id}/remove`)).headers.get('location'),
      '/portal?done=limitRemoved',
    );
  const left = (await controls()).limits;
  assert.deepEqual(
    left.map(({ setBy, label }: Body) => [setBy, label]),
    [
      ['seller', null],
      ['customer', 'team'],
      ['customer', null],
    ],
  );
  // A limit of the seller, or of another customer, is not the customer's to remove.
  await send(`/portal/limits/${left[0].id}/remove`);
  assert.equal((await controls()).limits.length, 3);
  assert.equal((await send('/portal/limits', { ...form, formToken: 'guessed' })).status, 403);
});

test('a customer limits what its usage draws from a pool, in credits or money, below what its seller allows', async () => {
  const { externalId, freeId, controls, read, send } = await openPortal();
  await app.post('/usage-credits', {
    usageCredit: { customerExternalId: externalId, creditPoolSlug: 'ai', amount: 9 },
  });
  await app.put(`/customers/${externalId}/spend-controls`, {
    spendControls: { limits: [{ creditPoolSlug: 'ai', period: 'day', amount: '2.5' }] },
  });
  assert.match(await read('/portal/limits'), new RegExp(`<option value="${pool.id}">AI credits`));
  const form = { subject: pool.id, unit: 'units', period: 'day', amount: '1.5', action: 'block' };
  for (const [bad, text] of [
    [{ unit: 'money' }, 'Choose “Units” for AI credits.'],
    [{ subject: purse.id }, 'Choose “Money (USD)” for Purse.'],
    [{ amount: '1.5555' }, 'Enter an amount, such as 50.'],
    [{ amount: '2.51' }, 'Enter at most 2.5, the limit that'],
  ] as const) {
    const answer = await send('/portal/limits', { ...form, ...bad });
    assert.equal(answer.status, 422, text);
    assert((await answer.text()).includes(text), text);
  }
  // It is sent twice, and then changed.
  for (const amount of ['1.5', '1.5', '0.5']) await send('/portal/limits', { ...form, amount });
  await send('/portal/limits', { ...form, subject: purse.id, unit: 'money', period: 'month', amount: '1,250.50' });
  const own = (await controls()).limits.filter(({ setBy }: Body) => setBy === 'customer');
  assert.deepEqual(
    own.map(({ creditPoolSlug, unit, period, amount }: Body) => [creditPoolSlug, unit, period, amount]),
    [
      ['ai', 'units', 'day', '0.5'],
      ['purse', 'units', 'month', '1250.5'],
    ],
  );
  // 500 calls are of the plan.
  await use(freeId, 1500);
  const usageEvent = { subscriptionId: freeId, priceSlug: 'call-overage', transactionId: 'one more', amount: 2 };
  const { status, body } = await app.request('POST', '/usage-events/consume', { usageEvent });
  assert.deepEqual([status, body.spendLimit?.id], [402, own[0].id]);
  const shown = section(await read('/portal'), 'limits');
  assert.match(shown, /AI credits · each day 0\.5 of 0\.5 used Set by you\. Usage stops at the limit\./);
  assert.match(shown, /Purse · each month \$0\.00 of \$1,250\.50 used/);
  const change = async (id: string) => (await read(`/portal/limits?change=${id}`)).replaceAll(/\s+/g, ' ');
  assert.match(await change(own[0].id), new RegExp(`value="${pool.id}" selected`));
  assert.match(await change(own[1].id), /name="amount"[^>]+value="1250\.50"/);
  assert.match(await change(own[1].id), /value="money" selected/);
  await send(`/portal/limits/${own[0].id}/remove`);
  assert.equal((await controls()).limits.length, 2);
});

test('an automatic top-up is turned on, buys, and is turned off', async () => {
  const { freeId, controls, read, send } = await openPortal();
  const path = '/portal/automatic-top-up';
  assert.match(section(await read('/portal'), 'automatic'), /Credits are bought for you when your balance runs low/);
  const form = { priceId: refillPrice, below: '300', upTo: '2000', maximum: '100' };
  for (const [bad, text] of [
    [{ below: 'x' }, 'Enter a whole number, 1 or more.'],
    [{ upTo: '200' }, 'Enter a balance of at least 300.'],
    [{ maximum: '' }, 'Enter an amount, such as 50.00.'],
    [{ maximum: '9.99' }, 'Enter at least $10.00, the price of one purchase.'],
    [{ priceId: 'price_other' }, 'Choose one of the options.'],
  ] as const) {
    const answer = await send(path, { ...form, ...bad });
    assert.equal(answer.status, 422, text);
    assert((await answer.text()).includes(text), text);
  }
  assert.equal((await controls()).autoTopUp, null);
  assert.equal((await send(path, form)).headers.get('location'), '/portal?done=topUp');
  await use(freeId, 250);
  await app.runJobs({ all: true });
  assert.match(
    section(await read('/portal'), 'automatic'),
    /On When the balance of API calls falls below 300, Refill is bought up to a balance of 2,000\. \$20\.00 of at most \$100\.00 spent this month\./,
  );
  assert.match(
    section(await read('/portal'), 'balances'),
    /API calls 2,250 of 2,500 left Included: 250 · Bought: 2,000/,
  );
  assert.match(await read(path), /name="maximum"[^>]+value="100\.00"/);
  for (const _time of [1, 2])
    assert.equal((await send(`${path}/off`)).headers.get('location'), '/portal?done=topUpOff');
  assert.equal((await controls()).autoTopUp, null);
});

test('a top-up that has stopped says why, offers to buy once, and is turned on again with its terms', async () => {
  const { freeId, controls, read, send } = await openPortal('pm_card_chargeCustomerFail');
  const path = '/portal/automatic-top-up';
  await send(path, { priceId: refillPrice, below: '300', upTo: '2000', maximum: '100' });
  await use(freeId, 250);
  await app.runJobs({ all: true });
  assert.match(section(await read('/portal'), 'automatic'), /The last payment failed and will be tried again/);
  assert.equal((await send(`${path}/on`)).status, 303, 'it has not stopped, so nothing is hurried');
  assert.equal((await controls()).autoTopUp.failures, 1);
  for (const hours of [2, 30]) {
    await app.setClock(june + hours * 3_600_000);
    await app.inEnvironment(async (work) => topUpHandler.perform(work, await topUpHandler.take(work, 10)));
    await app.runJobs({ all: true });
  }
  const page = section(await read('/portal'), 'automatic');
  assert.match(page, /Stopped .* Several payments failed, so it has stopped\..* Turn on again Buy once now/);
  await send(`${path}/on`);
  const { autoTopUp } = await controls();
  assert.deepEqual([autoTopUp.stoppedAt, autoTopUp.failures, autoTopUp.upTo], [null, 0, 2000]);
});

test('an automatic top-up of a credit pool takes amounts with decimals, and refills it', async () => {
  const { customerId, externalId, controls, read, send } = await openPortal();
  const form = { priceId: poolPrice, below: '2,5', upTo: '30', maximum: '50' };
  const refused = await send('/portal/automatic-top-up', { ...form, upTo: '1' });
  assert.match(await refused.text(), /Enter a balance of at least 2\.5\./);
  assert.equal((await send('/portal/automatic-top-up', form)).status, 303);
  const { below, upTo, creditPoolId } = (await controls()).autoTopUp;
  assert.deepEqual([below, upTo, creditPoolId], ['2.5', '30', pool.id]);
  await app.runJobs({ all: true });
  const { data } = await app.get(`/purchases?customerId=${customerId}`);
  assert.deepEqual(
    data.map(({ quantity, status }: Body) => [quantity, status]),
    [[3, 'paid']],
  );
  assert.match(
    section(await read('/portal'), 'automatic'),
    /When the balance of AI credits falls below 2\.5, AI pack is bought up to a balance of 30\./,
  );
  assert.match(section(await read('/portal'), 'balances'), /AI credits 30 of 30 left Bought: 30/);
  assert.match(await read('/portal/automatic-top-up'), /name="below"[^>]+value="2\.50"/);
  assert.equal(
    (await app.get(`/customers/${externalId}/credit-balances`)).creditBalances.find(({ slug }: Body) => slug === 'ai')
      .paid,
    '30',
  );
});

test('without a payment method nothing is turned on', async () => {
  await app.setClock(june);
  const customer = await plans.newCustomer();
  const { read, send } = await openPortalOf(app, customer.externalId);
  const path = '/portal/automatic-top-up';
  assert.match(await read(path), /Please add a payment method first/);
  await send(path, { priceId: refillPrice, below: '300', upTo: '2000', maximum: '100' });
  const { spendControls } = await app.get(`/customers/${customer.externalId}/spend-controls`);
  assert.equal(spendControls.autoTopUp, null);
});
