import type { Answer, Body, TestApp } from './harness.ts';
import { newCustomer } from './shop.ts';

let made = 0;

/** A customer on the free plan with a card, and what is asked about it and the credit pool with this slug. */
export async function newPoolUser(app: TestApp, poolSlug: string) {
  made += 1;
  const { externalId, customerId, freeId } = await newCustomer(app, `user-${made}`, { token: 'pm_card_visa' });
  const event = (usageMeterSlug: string, amount: number, change: object = {}) => {
    made += 1;
    return { customerExternalId: externalId, usageMeterSlug, amount, transactionId: `t${made}`, ...change };
  };
  return {
    externalId,
    customerId,
    freeId,
    event,
    async grant(amount: number | string, change: object = {}): Promise<Body> {
      const usageCredit = { customerExternalId: externalId, creditPoolSlug: poolSlug, amount, ...change };
      return (await app.post('/usage-credits', { usageCredit })).usageCredit;
    },
    consume: (usageMeterSlug: string, amount: number, change: object = {}): Promise<Answer> =>
      app.request('POST', '/usage-events/consume', { usageEvent: event(usageMeterSlug, amount, change) }),
    record: (...usageEvents: object[]) => app.post('/usage-events/bulk', { usageEvents }),
    /** The pool or a meter as `credit-balances` shows it. */
    async balances(slug = poolSlug, query = ''): Promise<Body> {
      const { creditBalances } = await app.get(`/customers/${externalId}/credit-balances${query}`);
      return creditBalances.find((each: Body) => each.slug === slug);
    },
    async balance(query = ''): Promise<string> {
      return (await this.balances(poolSlug, query)).availableBalance;
    },
    async meter(slug: string): Promise<number> {
      const { usageMeterBalances } = await app.get(`/customers/${externalId}/usage-balances`);
      return usageMeterBalances.find((each: Body) => each.slug === slug).availableBalance;
    },
  };
}
