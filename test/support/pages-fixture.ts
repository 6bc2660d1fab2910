import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { isWiderThanWindow, seriousViolations } from './browser.ts';
import { type Body, startTestApp, type TestApp } from './harness.ts';
import { setUpPlans } from './plans.ts';

/** The shop that customers come from and go back to: a server of its own, on another port. */
async function startShop(): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop ${request.url}</h1></main></html>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The service with plans to sell, and a shop that sells them. */
export async function openShop(given: Parameters<typeof startTestApp>[0] = {}) {
  const app = await startTestApp(given);
  const plans = await setUpPlans(app);
  const shop = await startShop();
  const { discount } = await app.post('/discounts', {
    discount: { name: 'Launch', code: 'LAUNCH', amount: 20, amountType: 'percent', duration: 'once' },
  });
  return {
    app,
    plans,
    shop,
    discountId: discount.id as string,
    /** Makes a session, with the shop's addresses to go back to. */
    async newSession(session: Body): Promise<{ id: string; url: string }> {
      const { checkoutSession, url } = await app.post('/checkout-sessions', {
        checkoutSession: { successUrl: `${shop}/thanks`, cancelUrl: `${shop}/cart`, ...session },
      });
      return { id: checkoutSession.id, url };
    },
    async session(id: string): Promise<Body> {
      return (await app.get(`/checkout-sessions/${id}`)).checkoutSession;
    },
    async billing(externalId: string): Promise<Body> {
      return app.get(`/customers/${externalId}/billing`);
    },
    async portal(externalId: string, portalSession: Body = {}): Promise<string> {
      return (await app.post(`/customers/${externalId}/portal-sessions`, { portalSession })).portalSession.url;
    },
  };
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

/** Fills in a card of the test network and sends the form. */
export async function payWith(page: Page, cardNumber: string, button: RegExp): Promise<void> {
  await page.getByLabel('Card number').fill(cardNumber);
  await page.getByLabel('Expiry date').fill('12 / 34');
  await page.getByLabel('Security code').fill('123');
  await page.getByRole('button', { name: button }).click();
}

/** Every page has to be good to everybody: read by a machine, and on a small telephone. */
export async function assertGood(page: Page): Promise<void> {
  assert.deepEqual(await seriousViolations(page), [], await page.title());
  assert.equal(await isWiderThanWindow(page), false, `${await page.title()} is wider than the window`);
  const picture = process.env.TOLLKEEPER_TEST_PICTURES;
  if (picture) await page.screenshot({ path: `${picture}/${pictures++}.png`, fullPage: true });
}

let pictures = 1;

/** Every payment of the customer that has succeeded, in minor units. */
export async function paidAmounts(app: TestApp, customerId: string): Promise<number[]> {
  const { data } = await app.get(`/payments?customerId=${customerId}&status=succeeded&limit=100`);
  return data.map((payment: Body) => payment.amount);
}
