import type { Flowglad } from '@flowglad/node';
import { z } from 'zod';
import type { TestApp } from './harness.ts';
import { pageOf } from './official-client.ts';
import {
  CheckoutSession,
  CheckoutSessionWithUrl,
  Invoice,
  InvoiceLineItem,
  InvoiceWithLines,
  Payment,
  PaymentMethod,
  Purchase,
} from './official-money-records.ts';
import {
  Customer,
  PricingModelDetails,
  ResourceClaim,
  ResourceUsage,
  Subscription,
  SubscriptionDetails,
  SubscriptionItem,
  UsageAndClaims,
  UsageEvent,
} from './official-records.ts';
import { newSubscriber, returns, type Shop } from './official-shop.ts';

/** A valid call of one method. */
export interface OfficialCall {
  readonly call: (client: Flowglad, shop: Shop, app: TestApp) => Promise<unknown>;
  /** Every key that the answer was promised to have. */
  readonly answers: z.ZodType;
  /** What can be said of the values. */
  readonly says?: object;
}

const newSession = (client: Flowglad, shop: Shop) =>
  client.checkoutSessions.create({
    checkoutSession: {
      ...returns,
      type: 'product',
      customerExternalId: shop.externalId,
      priceSlug: 'onboarding-once',
      quantity: 2,
      outputName: 'Kick-off',
      outputMetadata: { source: 'pricing page', seats: 2, trial: false },
    },
  });

/** One valid call of each method that has to do with customers and what they have, owe and use. */
export const billingCalls: Readonly<Record<string, OfficialCall>> = {
  'customers.create': {
    call: (client) =>
      client.customers.create({
        customer: { externalId: 'new', email: 'new@shop.test', name: 'New', domain: 'shop.test', userId: null },
      }),
    answers: z.object({
      data: z.object({
        customer: Customer,
        subscription: Subscription,
        subscriptionItems: z.array(SubscriptionItem).min(1),
      }),
    }),
    says: { data: { customer: { domain: 'shop.test', archived: false }, subscription: { isFreePlan: true } } },
  },
  'customers.retrieve': {
    call: (client, shop) => client.customers.retrieve(shop.externalId),
    answers: z.object({ customer: Customer }),
    says: { customer: { externalId: 'ada' } },
  },
  'customers.update': {
    call: (client, shop) => client.customers.update(shop.externalId, { customer: { name: 'Ada', archived: true } }),
    answers: z.object({ customer: Customer }),
    // Customers are archived by an operation of its own.
    says: { customer: { name: 'Ada', archived: false } },
  },
  'customers.list': {
    call: (client) => client.customers.list({ limit: '3' }),
    answers: pageOf(Customer),
  },
  'customers.retrieveBilling': {
    call: (client, shop) => client.customers.retrieveBilling(shop.externalId),
    answers: z.object({
      customer: Customer,
      subscriptions: z.array(SubscriptionDetails).min(2),
      currentSubscriptions: z.array(SubscriptionDetails).length(1),
      currentSubscription: SubscriptionDetails,
      invoices: z.array(InvoiceWithLines).min(1),
      paymentMethods: z.array(PaymentMethod).min(1),
      purchases: z.array(Purchase),
      pricingModel: PricingModelDetails,
      catalog: PricingModelDetails,
      billingPortalUrl: z.url(),
    }),
    says: { currentSubscription: { status: 'active', isFreePlan: false, current: true } },
  },
  'subscriptions.create': {
    call: (client) => newSubscriber(client, 'subscriber'),
    answers: z.object({ subscription: Subscription }),
    says: { subscription: { status: 'active', isFreePlan: false, current: true, interval: 'month', intervalCount: 1 } },
  },
  'subscriptions.retrieve': {
    call: (client, shop) => client.subscriptions.retrieve(shop.subscriptionId),
    answers: z.object({ subscription: Subscription }),
    says: { subscription: { renews: true, current: true } },
  },
  'subscriptions.list': {
    call: (client) => client.subscriptions.list({ limit: '100' }),
    answers: pageOf(Subscription),
  },
  'subscriptions.adjust': {
    call: async (client) => {
      const { subscription } = await newSubscriber(client, 'climber');
      return client.subscriptions.adjust(subscription.id, {
        adjustment: { timing: 'auto', newSubscriptionItems: [{ priceSlug: 'team-monthly', quantity: 2 }] },
      });
    },
    answers: z.object({
      subscription: Subscription,
      subscriptionItems: z.array(SubscriptionItem).min(1),
      resolvedTiming: z.enum(['immediately', 'at_end_of_current_billing_period']),
      isUpgrade: z.boolean(),
    }),
    says: { isUpgrade: true, resolvedTiming: 'immediately' },
  },
  'subscriptions.cancel': {
    call: async (client) => {
      const { subscription } = await newSubscriber(client, 'leaver');
      return client.subscriptions.cancel(subscription.id, {
        cancellation: { timing: 'at_end_of_current_billing_period' },
      });
    },
    answers: z.object({ subscription: Subscription }),
    says: { subscription: { status: 'cancellation_scheduled', canceledAt: null, current: true } },
  },
  'subscriptions.uncancel': {
    call: async (client) => {
      const { subscription } = await newSubscriber(client, 'stayer');
      const timing = 'at_end_of_current_billing_period';
      await client.subscriptions.cancel(subscription.id, { cancellation: { timing } });
      return client.subscriptions.uncancel(subscription.id);
    },
    answers: z.object({ subscription: Subscription }),
    says: { subscription: { status: 'active', cancelScheduledAt: null } },
  },
  'usageEvents.create': {
    call: (client, shop) =>
      client.usageEvents.create({
        usageEvent: {
          subscriptionId: shop.subscriptionId,
          priceSlug: 'call',
          amount: 7,
          transactionId: 'seven',
          usageDate: 1_750_000_000_000,
          properties: { region: 'eu' },
        },
      }),
    answers: z.object({ usageEvent: UsageEvent }),
    says: { usageEvent: { amount: 7, usageDate: 1_750_000_000_000, properties: { region: 'eu' } } },
  },
  'usageEvents.retrieve': {
    call: (client, shop) => client.usageEvents.retrieve(shop.usageEventId),
    answers: z.object({ usageEvent: UsageEvent }),
    says: { usageEvent: { transactionId: 'first', amount: 1 } },
  },
  'resourceClaims.claim': {
    call: (client, shop) =>
      client.resourceClaims.claim(shop.subscriptionId, {
        resourceSlug: 'seat',
        externalIds: ['grace', 'edsger'],
        metadata: { team: 'compilers' },
      }),
    answers: z.object({ claims: z.array(ResourceClaim).length(2), usage: ResourceUsage }),
    says: { usage: { capacity: 3, claimed: 2, available: 1 } },
  },
  'resourceClaims.listUsages': {
    call: (client, shop) => client.resourceClaims.listUsages(shop.subscriptionId, { resourceSlugs: ['seat'] }),
    answers: z.array(UsageAndClaims).length(1),
  },
  'resourceClaims.retrieveUsage': {
    call: (client, shop) => client.resourceClaims.retrieveUsage(shop.subscriptionId, { resourceSlug: 'seat' }),
    answers: UsageAndClaims,
  },
  'resourceClaims.release': {
    call: async (client, shop) => {
      await client.resourceClaims.claim(shop.subscriptionId, { resourceSlug: 'seat', quantity: 1 });
      return client.resourceClaims.release(shop.subscriptionId, { resourceSlug: 'seat', quantity: 1 });
    },
    answers: z.object({ releasedClaims: z.array(ResourceClaim).length(1), usage: ResourceUsage }),
  },
  'invoices.retrieve': {
    call: (client, shop) => client.invoices.retrieve(shop.invoiceId),
    answers: InvoiceWithLines,
    says: { invoice: { type: 'subscription', status: 'paid', currency: 'USD', subtotal: 2900 } },
  },
  'invoices.list': { call: (client) => client.invoices.list(), answers: pageOf(Invoice) },
  'invoiceLineItems.retrieve': {
    call: (client, shop) => client.invoiceLineItems.retrieve(shop.lineItemId),
    answers: InvoiceLineItem,
    says: { type: 'static', quantity: 1, price: 2900 },
  },
  'invoiceLineItems.list': { call: (client) => client.invoiceLineItems.list(), answers: pageOf(InvoiceLineItem) },
  'payments.retrieve': {
    call: (client, shop) => client.payments.retrieve(shop.paymentId),
    answers: z.object({ payment: Payment }),
    says: { payment: { amount: 2900, status: 'succeeded', paymentMethod: 'card', refunded: false } },
  },
  'payments.list': { call: (client) => client.payments.list({ limit: '100' }), answers: pageOf(Payment) },
  'payments.refund': {
    call: (client, shop) => client.payments.refund(shop.paymentId, { partialAmount: 900 }),
    answers: z.object({ payment: Payment }),
    says: { payment: { status: 'succeeded', refunded: false, refundedAmount: 900 } },
  },
  'paymentMethods.retrieve': {
    call: (client, shop) => client.paymentMethods.retrieve(shop.paymentMethodId),
    answers: z.object({ paymentMethod: PaymentMethod }),
    says: { paymentMethod: { type: 'card', default: true, paymentMethodData: { brand: 'visa', last4: '4242' } } },
  },
  'paymentMethods.list': { call: (client) => client.paymentMethods.list(), answers: pageOf(PaymentMethod) },
  'checkoutSessions.create': {
    call: newSession,
    answers: CheckoutSessionWithUrl,
    says: { checkoutSession: { type: 'product', status: 'open', quantity: 2, outputName: 'Kick-off' } },
  },
  'checkoutSessions.retrieve': {
    call: async (client, shop) => client.checkoutSessions.retrieve((await newSession(client, shop)).checkoutSession.id),
    answers: CheckoutSessionWithUrl,
    says: { checkoutSession: { outputMetadata: { source: 'pricing page', seats: 2, trial: false } } },
  },
  'checkoutSessions.list': {
    call: async (client, shop) => {
      await newSession(client, shop);
      return client.checkoutSessions.list();
    },
    answers: pageOf(CheckoutSession),
  },
};
