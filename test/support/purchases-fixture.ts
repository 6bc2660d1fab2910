import type { Bought } from '../../src/billing/buy.ts';
import type { Quote } from '../../src/billing/quote.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { buyNow, quoteNow, type Wish } from './buying.ts';
import { eventsOf } from './charge.ts';
import type { Body, TestApp } from './harness.ts';
import { setUpPlans } from './plans.ts';
import { newProduct, unique } from './pricing-fixture.ts';

/** Plans, packs of 1000 calls for 1000, and who buys them, from 1 June 2026 on. */
export async function setUpShop(app: TestApp) {
  await app.setClock(instant('2026-06-01'));
  const plans = await setUpPlans(app);
  const { data: meters } = await app.get('/usage-meters');
  const { feature } = await app.post('/features', {
    feature: {
      type: 'usage_credit_grant',
      slug: 'pack-calls',
      name: 'Calls of a pack',
      description: '',
      amount: 1000,
      usageMeterId: meters[0].id,
      renewalFrequency: 'once',
      pricingModelId: plans.pricingModelId,
    },
  });
  const once = (unitPrice: number) => ({ type: 'single_payment', unitPrice });
  const { product: pack } = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Pack of calls' },
    price: once(1000),
    featureIds: [feature.id],
  });
  const { product: book } = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Book' },
    price: once(999),
  });
  const productOf = (slug: string): string => plans.priceOf(slug).productId;
  return {
    plans,
    packId: pack.id as string,
    bookId: book.id as string,
    bookPriceId: (await app.get(`/products/${book.id}`)).defaultPrice.id as string,
    proId: productOf('pro-monthly'),
    teamId: productOf('team-monthly'),
    /** Buys, charges, and answers the purchase as it is then. */
    async buy(wish: Wish): Promise<Body> {
      const { purchase } = await app.inCellOf(wish.customerId, (work) => buyNow(work, wish));
      await app.runJobs({ all: true });
      return (await app.get(`/purchases/${purchase.id}`)).purchase;
    },
    /** The same without the charge. */
    buyOnly: (wish: Wish): Promise<Bought> => app.inCellOf(wish.customerId, (work) => buyNow(work, wish)),
    quote: (wish: Wish): Promise<Quote> => app.inCellOf(wish.customerId, (work) => quoteNow(work, wish)),
    async discount(terms: object): Promise<Body> {
      const discount = { name: 'Deal', code: unique('DEAL'), amountType: 'percent', duration: 'once', ...terms };
      return (await app.post('/discounts', { discount })).discount;
    },
    async invoice(id: string): Promise<Body> {
      return app.get(`/invoices/${id}`);
    },
    async payments(invoiceId: string): Promise<Body[]> {
      return (await app.get(`/payments?invoiceId=${invoiceId}`)).data;
    },
    /** The tries of a purchase that has no invoice yet, oldest first: what became of each. */
    async tries(purchaseId: string): Promise<[string, number][]> {
      const { data } = await app.get(`/payments?purchaseId=${purchaseId}&limit=100`);
      return data.map(({ status, amount }: Body) => [status, amount]);
    },
    /** How many records of each kind the customer has. */
    async counts(customerId: string): Promise<Record<string, number>> {
      const kinds = ['subscriptions', 'invoices', 'payments', 'purchases'];
      const totals = kinds.map(async (kind) => [kind, (await app.get(`/${kind}?customerId=${customerId}`)).total]);
      return Object.fromEntries(await Promise.all(totals));
    },
    async addCard(customerId: string, token = 'pm_card_visa'): Promise<string> {
      return (await app.post('/payment-methods', { paymentMethod: { customerId, token } })).paymentMethod.id;
    },
    purchase: async (id: string): Promise<Body> => (await app.get(`/purchases/${id}`)).purchase,
    events: (id: string) => eventsOf(app, id),
    async current(externalId: string): Promise<Body> {
      return (await app.get(`/customers/${externalId}/billing`)).currentSubscription;
    },
  };
}
