import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { catchUp } from '../../src/billing/catch-up.ts';
import { isWiderThanWindow, openWindow, seriousViolations } from '../support/browser.ts';
import type { Body } from '../support/harness.ts';
import { openShop, payWith } from '../support/pages-fixture.ts';

const shop = await openShop();
const { app, plans } = shop;
const day = (text: string) => Date.parse(`${text}T00:00:00Z`);
const dayMs = 86_400_000;

const arabic = 'شركة الاختبار للتجارة والصناعة والخدمات المحدودة';
const branding = { primaryColor: '#5b21b6', legalFooter: 'Acme GmbH, HRB 12345, Berlin' };

await app.setClock(day('2026-04-01'));
await app.put('/settings', {
  settings: { bankDebits: true, branding, paymentInstructions: 'IBAN DE02 1203 0000 0000 2020 51' },
});
const month = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true };
const { pricingModelId } = plans;
await app.post('/products', {
  product: { name: 'الباقة الذهبية', slug: 'gold', pricingModelId, active: true, description: 'كل ما تحتاجه الشركات' },
  price: { ...month, slug: 'gold-monthly', unitPrice: 6000 },
});
await app.post('/products', {
  product: { name: 'الباقة الذهبية, yearly', slug: 'gold-year', pricingModelId, active: true },
  price: { ...month, slug: 'gold-yearly', intervalUnit: 'year', unitPrice: 60_000 },
});
const session = (rest: Body) => shop.newSession({ type: 'product', ...rest });
const ofPro = { priceId: plans.priceOf('pro-monthly').id };

async function customer(token?: string, name?: string) {
  const made = await plans.newCustomer(token);
  if (name !== undefined)
    await app.put(`/customers/${made.externalId}`, { customer: { externalId: made.externalId, name } });
  return made;
}

/** Opens a checkout of the plan, by a customer who has this card. */
async function checkout(page: Page, rest: Body = {}, token?: string) {
  const { externalId, customerId } = await customer(token);
  const made = await session({ customerExternalId: externalId, ...ofPro, ...rest });
  await page.goto(made.url);
  return { ...made, externalId, customerId };
}

async function payIn(page: Page, cardNumber: string, button = /^Pay \$/): Promise<void> {
  await page.getByLabel('Country').selectOption({ label: 'Germany' });
  await payWith(page, cardNumber, button);
}

async function portal(page: Page, { token = 'pm_card_visa', name }: { token?: string; name?: string } = {}) {
  const made = await customer(token, name);
  const { id } = await plans.subscribe({ customerId: made.customerId, ...ofPro });
  await page.goto(await shop.portal(made.externalId, { returnUrl: `${shop.shop}/account` }));
  return { ...made, subscriptionId: id as string };
}

async function invoice(page: Page, change: (invoice: Body) => Promise<unknown> = async () => undefined) {
  const { externalId } = await customer(undefined, arabic);
  const lines = [
    { description: 'Workshop', unitAmount: 15_000, quantity: 2 },
    { description: `Travel of two people, ${arabic}`, unitAmount: 15_000 },
  ];
  const { invoice: draft } = await app.post('/invoices', {
    invoice: { customerExternalId: externalId, lines, netTermsDays: 14 },
  });
  await app.post(`/invoices/${draft.id}/finalize`, {});
  const { invoice: made } = await app.get(`/invoices/${draft.id}`);
  await change(made);
  await page.goto(made.hostedInvoiceUrl);
}

let isSellingPacks = false;
async function sellPacks(): Promise<void> {
  if (isSellingPacks) return;
  isSellingPacks = true;
  const { pricingModelId } = plans;
  const { data } = await app.get(`/features?pricingModelId=${pricingModelId}&limit=100`);
  await app.post('/products', {
    product: { name: 'Pack', slug: 'pack', pricingModelId, active: true },
    price: { type: 'single_payment', slug: 'pack', unitPrice: 1000, isDefault: true, active: true },
    featureIds: [data.find(({ slug }: Body) => slug === 'monthly-calls').id],
  });
  const rates = [{ usageMeterSlug: 'api-calls', per: 100, cost: '0.5' }];
  await app.post('/credit-pools', {
    creditPool: { slug: 'ai', name: 'AI credits', unit: 'credit', rates, pricingModelId },
  });
}

/** Every state of the pages that buyers see. */
const states: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  'checkout-new-buyer': async (page) => {
    await page.goto((await session({ anonymous: true, ...ofPro, quantity: 3, maximumQuantity: 9 })).url);
  },
  'checkout-right-to-left': async (page) => {
    const { externalId } = await customer(undefined, arabic);
    await page.goto((await session({ customerExternalId: externalId, priceSlug: 'gold-monthly' })).url);
  },
  'checkout-entries-wrong': async (page) => {
    await page.goto((await session({ anonymous: true, ...ofPro })).url);
    await page.getByRole('button', { name: /^Pay \$/ }).click();
  },
  'checkout-debit': async (page) => {
    await checkout(page);
    await page.getByLabel('US bank account').check();
  },
  'checkout-saved-card': (page) => checkout(page, {}, 'pm_card_visa'),
  'checkout-trial': (page) => checkout(page, { priceId: plans.priceOf('team-monthly').id }),
  'checkout-declined': async (page) => {
    await checkout(page);
    await payIn(page, '4000 0000 0000 0002');
  },
  'checkout-bank-asks': async (page) => {
    await checkout(page);
    await payIn(page, '4000 0000 0000 3220');
  },
  'checkout-processing': async (page) => {
    await checkout(page);
    await page.getByLabel('Country').selectOption({ label: 'Germany' });
    await page.getByLabel('US bank account').check();
    await page.getByLabel('Routing number').fill('110000000');
    await page.getByLabel('Account number').fill('000123456789');
    await page.getByRole('button', { name: /^Pay \$/ }).click();
  },
  'checkout-done': async (page) => {
    const { url } = await checkout(page);
    await payIn(page, '4242 4242 4242 4242');
    await page.waitForURL(`${shop.shop}/thanks`);
    await page.goto(url);
  },
  'checkout-expired': async (page) => {
    const { url } = await checkout(page);
    await app.setClock(day('2026-04-03'));
    await page.goto(url);
  },
  'checkout-failed': async (page) => {
    const { url, id } = await checkout(page);
    await app.owner.updateTable('checkoutSessions').set({ status: 'failed' }).where('id', '=', id).execute();
    await page.goto(url);
  },
  'checkout-has-plan-already': async (page) => {
    const { url, customerId } = await checkout(page, {}, 'pm_card_visa');
    const { id } = await plans.subscribe({ customerId, ...ofPro });
    await plans.cancel(id, 'at_end_of_current_billing_period');
    await page.goto(url);
  },
  'checkout-method-to-add': (page) => checkout(page, { type: 'add_payment_method', priceId: undefined }),
  'page-link-invalid': (page) => page.goto(`${app.url}/checkout/chckt_session_none?key=none`),
  'portal-empty': async (page) => {
    const { externalId, customerId } = await customer();
    const { data } = await app.get(`/subscriptions?customerId=${customerId}`);
    await app.owner
      .updateTable('subscriptions')
      .set({ status: 'canceled', canceledAt: 1 })
      .where('id', '=', data[0].id)
      .execute()
      .catch(() => 0);
    await page.goto(await shop.portal(externalId));
  },
  'portal-full': async (page) => {
    const { subscriptionId, externalId } = await portal(page, { name: arabic });
    const use = (amount: number, usageDate: number) =>
      app.post('/usage-events', {
        usageEvent: {
          subscriptionId,
          priceSlug: 'call-overage',
          transactionId: `${subscriptionId} ${usageDate}`,
          amount,
          usageDate,
        },
      });
    await app.setClock(day('2026-04-20'));
    for (let date = 0; date < 20; date += 3) await use(date * 10 + 20, day('2026-04-01') + date * dayMs);
    const claim = {
      resourceSlug: 'seat',
      externalIds: ['ada@acme.test', 'مريم', 'grace.brewster.hopper@a-very-long-company-name.test'],
    };
    await app.post(`/resource-claims/${subscriptionId}/claim`, claim);
    await page.goto(await shop.portal(externalId, { returnUrl: `${shop.shop}/account` }));
  },
  'portal-past-due': async (page) => {
    await app.setClock(day('2026-04-20'));
    const { customerId, externalId, subscriptionId } = await portal(page);
    const broken = {
      customerId,
      token: 'pm_card_chargeCustomerFail',
      default: true,
      automaticallyUpdateSubscriptions: true,
    };
    await app.post('/payment-methods', { paymentMethod: broken });
    await app.setClock(day('2026-05-21'));
    await app.inEnvironment((work) => catchUp(work, subscriptionId));
    await app.runJobs({ all: true });
    await page.goto(await shop.portal(externalId));
  },
  'portal-plans': async (page) => {
    await portal(page);
    await page.getByRole('link', { name: 'Change plan' }).click();
  },
  'portal-change': async (page) => {
    await portal(page);
    await page.getByRole('link', { name: 'Change plan' }).click();
    await page
      .getByRole('button', { name: /^Choose / })
      .first()
      .click();
  },
  'portal-cancel': async (page) => {
    await portal(page);
    await page.getByRole('link', { name: 'Cancel subscription' }).click();
  },
  'portal-ending': async (page) => {
    await portal(page);
    await page.getByRole('link', { name: 'Cancel subscription' }).click();
    await page.getByRole('button', { name: 'Cancel subscription' }).click();
  },
  'portal-details-wrong': async (page) => {
    await portal(page);
    await page.getByRole('link', { name: 'Change details' }).click();
    await page.getByLabel('Email addresses for invoices').fill('nobody');
    await page.getByRole('button', { name: 'Save details' }).click();
  },
  'portal-limits-wrong': async (page) => {
    const { externalId } = await portal(page);
    const limits = [
      { usageMeterSlug: 'api-calls', period: 'month', amount: 400 },
      { period: 'day', unit: 'money', amount: 2500, action: 'notify' },
    ];
    await app.put(`/customers/${externalId}/spend-controls`, { spendControls: { limits, ownLimits: limits } });
    await page.getByRole('link', { name: 'Manage limits' }).click();
    await page.getByRole('button', { name: 'Save limit' }).click();
  },
  'portal-top-up-wrong': async (page) => {
    await sellPacks();
    await portal(page);
    await page.getByRole('link', { name: 'Set up' }).click();
    await page.getByRole('button', { name: 'Turn on' }).click();
  },
  'portal-credits': async (page) => {
    await sellPacks();
    const { externalId, subscriptionId } = await portal(page);
    const pool = { creditPoolSlug: 'ai', customerExternalId: externalId, amount: '120.5', expiresAt: '2099-01-01' };
    await app.post('/usage-credits', { usageCredit: pool });
    const autoTopUp = { priceSlug: 'pack', below: 100, upTo: 3000, maximumAmountPerMonth: 10_000 };
    const ownLimits = [{ usageMeterSlug: 'api-calls', period: 'month', amount: 1200 }];
    await app.put(`/customers/${externalId}/spend-controls`, { spendControls: { ownLimits, autoTopUp } });
    const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: subscriptionId, amount: 900 };
    await app.post('/usage-events', { usageEvent });
    const hold = { subscriptionId, priceSlug: 'call-overage', amount: 100 };
    await app.post('/holds', {
      hold: { ...hold, expiresAt: (await app.get('/test-clock')).testClock.now + 3_600_000 },
    });
    await page.reload();
  },
  'portal-method-to-add': async (page) => {
    await portal(page);
    await page.getByRole('link', { name: 'Add a payment method' }).click();
  },
  'portal-signed-out': async (page) => {
    await portal(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
  },
  'invoice-open': (page) => invoice(page),
  'invoice-paid': (page) =>
    invoice(page, ({ id }) => app.post(`/invoices/${id}/record-payment`, { payment: { amount: 45_000 } })),
  'invoice-void': (page) => invoice(page, ({ id }) => app.post(`/invoices/${id}/void`, {})),
  'invoice-declined': async (page) => {
    await invoice(page);
    await payWith(page, '4000 0000 0000 0002', /^Pay \$/);
  },
  'invoice-processing': async (page) => {
    await invoice(page);
    await page.getByLabel('US bank account').check();
    await page.getByLabel('Routing number').fill('110000000');
    await page.getByLabel('Account number').fill('000123456789');
    await page.getByRole('button', { name: /^Pay \$/ }).click();
  },
};

/** More to look at, where only pictures are wanted: their parts are among the states above. */
const drawn: Record<string, (page: Page) => Promise<unknown>> = {
  'checkout-discount': async (page) => {
    const { externalId } = await customer();
    const lines = { priceSlug: 'gold-monthly', quantity: 1, discountCode: 'LAUNCH' };
    await page.goto((await session({ customerExternalId: externalId, ...lines })).url);
  },
  'checkout-tiers': async (page) => {
    const tiers = [
      { upTo: 10, unitAmount: '1000' },
      { upTo: null, unitAmount: '800' },
    ];
    const pricing = { model: 'graduated', tiers };
    await app.post('/products', {
      product: { name: 'Seats', slug: 'seats', pricingModelId, active: true },
      price: { ...month, slug: 'seats-monthly', pricing },
    });
    await page.goto((await session({ anonymous: true, priceSlug: 'seats-monthly', quantity: 12 })).url);
  },
  'portal-trial': async (page) => {
    const { externalId, customerId } = await customer('pm_card_visa');
    await plans.subscribe({ customerId, priceId: plans.priceOf('team-monthly').id });
    await page.goto(await shop.portal(externalId));
  },
};
for (const language of ['de', 'fr', 'ja']) {
  drawn[`checkout-in-${language}`] = (page) => checkout(page);
  drawn[`portal-in-${language}`] = (page) => portal(page);
  drawn[`invoice-in-${language}`] = (page) => invoice(page);
}

const pictures = process.env.TOLLKEEPER_TEST_PICTURES;

/** Pictures for the eye: on a telephone, a tablet and a desk, in the light and in the dark. */
async function takePictures(page: Page, name: string): Promise<void> {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.screenshot({ path: `${pictures}/${name}-${colorScheme}-${width}.png`, fullPage: true });
    }
  }
}

for (const [name, open] of Object.entries({ ...states, ...(pictures ? drawn : {}) })) {
  test(`the page ${name} is good to everybody, in the light and in the dark, and fits a small telephone`, async () => {
    const page = await openWindow({ locale: /-in-(\w+)$/.exec(name)?.[1] ?? 'en-US' });
    await open(page);
    for (const colorScheme of ['light', 'dark'] as const)
      assert.deepEqual(await seriousViolations(page, colorScheme), [], colorScheme);
    assert.equal(await isWiderThanWindow(page), false);
    await takePictures(page, name);
    await page.context().close();
  });
}
