import { z } from 'zod';
import { renderInvoice } from '../invoicing/actions.ts';
import { Invoice, InvoiceId, maxInvoiceTotal } from '../invoicing/invoice.ts';
import { amountInput, FreeText, SafeString, TimestampInput } from '../kernel/json.ts';
import { renderPayment } from '../payments/actions.ts';
import { Payment } from '../payments/payment.ts';
import { PaymentMethodType } from '../payments/payment-method.ts';
import { route } from '../platform/route.ts';
import type { Work } from '../platform/work.ts';
import { Subscription, SubscriptionId, toSubscription } from '../subscriptions/subscription.ts';
import { takeBackInvoice, writeOffInvoice } from './close-invoice.ts';
import { recordPayment } from './record-payment.ts';
import { type RetriedPayment, reportRetry, retryPayment } from './retry-payment.ts';

const params = z.object({ id: InvoiceId });

const MoneyReceived = z
  .object({
    amount: amountInput(1, Number(maxInvoiceTotal))
      .nullish()
      .meta({ description: 'In the smallest unit of the currency, at most what is due; all of it when absent.' }),
    paidAt: TimestampInput.nullish().meta({ description: 'When the money arrived; now when absent.' }),
    paymentMethodType: PaymentMethodType.nullish().meta({ description: 'A bank transfer when absent.' }),
    description: FreeText.nullish(),
    reference: SafeString.nullish().meta({ description: 'What the payer or the bank calls the payment.' }),
  })
  .meta({ id: 'MoneyReceived' });

function renderRetry(work: Work, { subscription, payment }: RetriedPayment) {
  return { subscription: toSubscription(work, subscription), payment: renderPayment(work, payment) };
}

export const collectingRoutes = [
  route({
    method: 'POST',
    path: '/subscriptions/{id}/retry-payment',
    summary: 'Try to collect what a subscription owes, now',
    description:
      'Charges the oldest invoice for a billing period that is not paid. What is due now is charged before the answer; a charge that fails is answered with 402 and counts as an attempt. One that takes its time is answered as it stands.',
    tag: 'Subscriptions',
    params: z.object({ id: SubscriptionId }),
    body: z.object({
      paymentMethodId: z
        .string()
        .min(1)
        .max(255)
        .nullish()
        .meta({ description: 'What to charge this time; what the subscription is charged on when absent.' }),
    }),
    returns: z.object({ subscription: Subscription, payment: Payment }),
    refuses: [
      'processorUnavailable',
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionNotCharged',
      'nothingOwed',
      'invoiceAlreadyBeingPaid',
      'paymentMethodRequired',
      'paymentFailed',
    ],
    handle: async (work, input) =>
      renderRetry(work, await retryPayment(work, input.params.id, input.body.paymentMethodId ?? null)),
    afterEffects: async (work, answer) => renderRetry(work, await reportRetry(work, answer)),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/void',
    summary: 'Make an open invoice void',
    description: 'As though it had never been made: the usage on it is billed again with the next invoice.',
    tag: 'Invoices',
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceStatusForbids', 'invoiceAlreadyBeingPaid', 'invoicePartlyPaid'],
    handle: async (work, input) => ({ invoice: renderInvoice(work, await takeBackInvoice(work, input.params.id)) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/mark-uncollectible',
    summary: 'Write an open invoice off',
    description: 'Nobody expects the money any more; what the invoice bills stays billed.',
    tag: 'Invoices',
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceStatusForbids', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) => ({ invoice: renderInvoice(work, await writeOffInvoice(work, input.params.id)) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/record-payment',
    summary: 'Record money that arrived outside of every processor',
    description:
      'Of an open invoice, a part of what is due or all of it. Send an Idempotency-Key, so that a repeat records nothing twice.',
    tag: 'Invoices',
    params,
    body: z.object({ payment: MoneyReceived.nullish() }),
    returns: z.object({ invoice: Invoice, payment: Payment }),
    refuses: ['invoiceNotFound', 'invoiceNotOpen', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) => {
      const { invoice, payment } = await recordPayment(work, input.params.id, input.body.payment ?? {});
      return { invoice: renderInvoice(work, invoice), payment: renderPayment(work, payment) };
    },
  }),
];
