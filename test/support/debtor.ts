import { instant } from '../../src/kernel/calendar.ts';
import type { Answer, Body, RequestOptions, TestApp } from './harness.ts';
import { beginYears, type Caller, callerOf, subscribeFor } from './years.ts';

/** A customer of an organization of its own, whose clock is the test's: 30.00 a month from 1 January on. */
export interface Debtor {
  readonly caller: Caller;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly environmentId: number;
  /** Any answer, also a refusal. */
  send(path: string, body?: Body, options?: RequestOptions): Promise<Answer>;
  /** Moves the clock, with all the work that is due on the way. */
  moveTo(at: string): Promise<Body>;
  subscription(): Promise<Body>;
  /** The invoices of the subscription, oldest first: reason, status, what is due, and when they are tried again. */
  invoices(): Promise<string[]>;
  /** The payments, oldest first: day, amount and how they ended. */
  payments(): Promise<string[]>;
  /** What was told of the subscription and its payments, in order. */
  events(): Promise<string[]>;
  /** Attaches a payment method of this token to the customer. */
  attach(token: string, more?: Body): Promise<string>;
  /** From now on the subscription's own card is one of this token. */
  swapCard(token: string): Promise<void>;
}

/** The day of an instant, and the time where it is not midnight. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().replace('T00:00:00.000Z', '').replace(':00.000Z', 'Z');
}

export async function newDebtor(app: TestApp, more: Body = {}, settings?: Body): Promise<Debtor> {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  const { testEnvironmentId: environmentId } = organization;
  await beginYears(app, organization, caller, instant('2026-01-01'));
  if (settings !== undefined) await caller.put('/settings', { settings });
  const subscriber = { plan: 'month', token: 'pm_card_visa', ...more };
  const { customerId, subscriptionId, paymentMethodId } = await subscribeFor(caller, 'ada', subscriber);
  return {
    caller,
    customerId,
    subscriptionId,
    environmentId,
    send: (path, body = {}, options = {}) => app.request('POST', path, body, { key: organization.testKey, ...options }),
    moveTo: (at) => caller.moveTo(instant(at)),
    subscription: async () => (await caller.get(`/subscriptions/${subscriptionId}`)).subscription,
    async invoices() {
      const rows = await app.owner
        .selectFrom('invoices')
        .selectAll()
        .where('subscriptionId', '=', subscriptionId)
        .orderBy('id')
        .execute();
      return rows.map(({ reason, status, total, amountPaid, nextAttemptAt }) => {
        const next = nextAttemptAt === null ? '' : `, again on ${dayOf(nextAttemptAt)}`;
        return `${reason} ${status} ${total - amountPaid}${next}`;
      });
    },
    async payments() {
      const rows = await app.owner
        .selectFrom('payments')
        .selectAll()
        .where('environmentId', '=', environmentId)
        .orderBy('id')
        .execute();
      return rows.map(({ chargeDate, amount, status }) => `${dayOf(chargeDate)} ${amount} ${status}`);
    },
    async events() {
      const rows = await app.owner
        .selectFrom('events')
        .select('type')
        .where('environmentId', '=', environmentId)
        .where('object', 'in', ['subscription', 'payment'])
        .orderBy('id')
        .execute();
      return rows.map(({ type }) => type);
    },
    async attach(token, data = {}) {
      const { paymentMethod } = await caller.post('/payment-methods', {
        paymentMethod: { customerId, type: 'card', token, ...data },
      });
      return paymentMethod.id;
    },
    async swapCard(token) {
      const card = app.owner.updateTable('paymentMethods').set({ processorToken: token });
      await card.where('id', '=', paymentMethodId).execute();
    },
  };
}
