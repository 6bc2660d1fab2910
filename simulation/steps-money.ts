import { isDefaultPlan, oldestOwed, recordMoney, refund, retry, voidInvoice } from './oracle-actions.ts';
import { methodOf } from './oracle-billing.ts';
import { type Invoice, paidOf } from './oracle-records.ts';
import { allInvoices, currentSubscriptions, type Draw, nameOf } from './step.ts';

function invoiceText(invoice: Invoice): string {
  const { customer, reason, total } = invoice;
  return `${customer.name}'s invoice ${customer.invoices.indexOf(invoice)} (${reason}, ${total})`;
}

/** Tries to collect what is owed longest. Refused where nothing is, or there is nothing to charge. */
export const retryPayment: Draw = ({ random, books }) => {
  const owing = currentSubscriptions(books).filter((each) => oldestOwed(each) !== null);
  const subscription = random.pick(random.chance(0.9) ? owing : currentSubscriptions(books));
  if (subscription === undefined || (isDefaultPlan(subscription) && random.chance(0.5))) return null;
  return {
    text: `retries the payment of ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/retry-payment`,
      body: {},
    }),
    apply: () => {
      const [invoice, method] = [oldestOwed(subscription), methodOf(subscription)];
      if (invoice === null || method === null) return 'refused';
      return retry(books, invoice, method) ? 'done' : 'refused_late';
    },
  };
};

/** Takes an invoice back. Refused of one that is not open, or of which money is kept. */
export const takeInvoiceBack: Draw = ({ random, books }) => {
  const open = allInvoices(books).filter(({ status }) => status === 'open');
  const invoice = random.pick(random.chance(0.85) ? open : allInvoices(books));
  if (invoice === undefined) return null;
  return {
    text: `voids ${invoiceText(invoice)}`,
    customer: invoice.customer,
    ask: async (records) => ({ method: 'POST', path: `/invoices/${await records.invoice(invoice)}/void`, body: {} }),
    apply: () => {
      if (invoice.status !== 'open' || paidOf(invoice) > 0) return 'refused';
      voidInvoice(books, invoice);
      return 'done';
    },
  };
};

/** Money by bank transfer, a part of what is due or all of it. */
export const recordPayment: Draw = ({ random, books }) => {
  const open = allInvoices(books).filter(({ status }) => status === 'open');
  const invoice = random.pick(random.chance(0.85) ? open : allInvoices(books));
  if (invoice === undefined) return null;
  const due = invoice.total - paidOf(invoice);
  const amount = random.chance(0.6) ? due : random.between(1, Math.max(1, due + 10));
  return {
    text: `records ${amount} of ${due} for ${invoiceText(invoice)}`,
    customer: invoice.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/invoices/${await records.invoice(invoice)}/record-payment`,
      body: { payment: { amount } },
    }),
    apply: () => {
      if (invoice.status !== 'open' || amount > due || amount === 0) return 'refused';
      recordMoney(books, invoice, amount);
      return 'done';
    },
  };
};

/** Gives back a part of a payment or all that is left of it. Refused beyond that. */
export const refundPayment: Draw = ({ random, books }) => {
  const payments = allInvoices(books).flatMap((invoice) =>
    invoice.payments.filter(({ isCharge }) => isCharge).map((payment) => ({ invoice, payment })),
  );
  const picked = random.pick(payments);
  if (picked === undefined) return null;
  const { invoice, payment } = picked;
  // What a refund leaves of an invoice that is paid in part is not modelled.
  if (invoice.status === 'open' || invoice.status === 'void') return null;
  const left = payment.amount - payment.refunded;
  const partialAmount = random.chance(0.3) ? null : random.between(1, Math.max(1, Math.floor(left * 1.1)));
  const amount = partialAmount ?? left;
  return {
    text: `refunds ${partialAmount ?? 'the rest'} of ${left} of a payment of ${invoiceText(invoice)}`,
    customer: invoice.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/payments/${await records.payment(invoice, payment)}/refund`,
      body: { partialAmount },
    }),
    apply: () => {
      if (payment.status !== 'succeeded' || left === 0 || amount > left) return 'refused';
      refund(invoice, payment, amount);
      return 'done';
    },
  };
};
