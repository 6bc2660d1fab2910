import assert from 'node:assert/strict';
import { viewCheckout } from '../../src/checkout/actions.ts';
import type { CheckoutConfirmation, CheckoutDraft, CheckoutView } from '../../src/checkout/checkout-view.ts';
import { performCheckout } from '../../src/checkout/jobs.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { slotOf } from '../../src/kernel/id.ts';
import { createProcessors } from '../../src/payments/actions.ts';
import type { Body, TestApp } from './harness.ts';
import { setUpPlans } from './plans.ts';
import { newProduct } from './pricing-fixture.ts';

export const returns = { successUrl: 'https://app.test/paid', cancelUrl: 'https://app.test/plans' };

/** Who pays, and with what. */
export const visa = { token: 'pm_card_visa' } as const;

/** Plans (from 3000 a month) and a book (999, once), sold by checkout sessions from 1 June 2026 on. */
export async function openCheckout(app: TestApp) {
  await app.setClock(instant('2026-06-01'));
  const plans = await setUpPlans(app);
  const { price } = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Book', description: 'How to bill' },
    price: { type: 'single_payment', unitPrice: 999 },
  });
  return {
    plans,
    bookPriceId: price.id as string,
    /** Makes a session and answers its id. */
    async open(session: Body): Promise<string> {
      const requested = { ...returns, type: 'product', ...session };
      return (await app.post('/checkout-sessions', { checkoutSession: requested })).checkoutSession.id;
    },
    async session(id: string): Promise<Body> {
      return (await app.get(`/checkout-sessions/${id}`)).checkoutSession;
    },
    /** Looks at the page as a browser does: in a transaction that cannot write. */
    async view(sessionId: string, draft?: CheckoutDraft): Promise<CheckoutView> {
      const look = (work: Work) => viewCheckout(work, createProcessors(work.db, app.services), sessionId, draft);
      const entry = { environmentId: app.testEnvironmentId };
      const { cells } = app.services;
      const outcome = await runInEnvironment(app.databaseOf(slotOf(sessionId)), entry, look, { readOnly: true, cells });
      assert(outcome);
      return outcome.answer;
    },
    confirm(sessionId: string, confirmation: CheckoutConfirmation): Promise<CheckoutView> {
      const place = { environmentId: app.testEnvironmentId, publicUrl: app.url, sessionId };
      return performCheckout({ ...app, database: app.databaseOf(slotOf(sessionId)) }, place, confirmation);
    },
    async billing(externalId: string): Promise<Body> {
      return app.get(`/customers/${externalId}/billing`);
    },
    /** The payments that a customer made or tried, oldest first: what became of each. */
    async payments(customerId: string): Promise<[string, number][]> {
      const { data } = await app.get(`/payments?customerId=${customerId}&limit=100`);
      return data.map((payment: Body) => [payment.status, payment.amount]);
    },
    async discount(code: string, terms: Body): Promise<Body> {
      const discount = { name: code, code, amountType: 'percent', duration: 'once', ...terms };
      return (await app.post('/discounts', { discount })).discount;
    },
  };
}
