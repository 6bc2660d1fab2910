import { netTerms } from './catalogue.ts';
import {
  hearFromBank,
  isDefaultPlan,
  oldestOwed,
  payOnRequest,
  recordMoney,
  refund,
  retry,
  changeThreshold as setThreshold,
  voidInvoice,
  writeOff,
} from './oracle-actions.ts';
import { methodOf } from './oracle-billing.ts';
import { type Arrears, dueOf, type Invoice, notedOf, paidOf, refundedOf } from './oracle-records.ts';
import { allInvoices, currentSubscriptions, type Draw, nameOf } from './step.ts';

function invoiceText(invoice: Invoice): string {
  const { customer, reason, total } = invoice;
  return `${customer.name}'s invoice ${customer.invoices.indexOf(invoice)} (${reason}, ${total})`;
}

/** Retries the oldest debt. Refused without one, or without a payment method. */
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
      if (invoice === null || invoice.status !== 'open' || method === null) return 'refused';
      return retry(books, invoice, method) ? 'done' : 'refused_late';
    },
  };
};

/** A bank reports the outcome of a slow charge: the network notifies the service, and the request itself only reads. */
export const sayHowItEnded: Draw = ({ random, books }) => {
  const waiting = allInvoices(books).flatMap((invoice) =>
    invoice.payments.filter(({ status }) => status === 'processing').map((payment) => ({ invoice, payment })),
  );
  const picked = random.pick(waiting);
  if (picked === undefined) return null;
  const { invoice, payment } = picked;
  const takes = random.chance(0.7);
  return {
    text: `hears from the bank that ${invoiceText(invoice)} is ${takes ? 'paid' : 'not paid'}`,
    customer: invoice.customer,
    ask: async (records, network) => {
      const id = await records.payment(invoice, payment);
      network.conclude(id, takes);
      return { method: 'GET', path: `/payments/${id}` };
    },
    apply: () => {
      hearFromBank(books, invoice, payment, takes);
      return 'done';
    },
  };
};

/** Voids an invoice. Refused if it is not open, or has unreturned payments. */
export const takeInvoiceBack: Draw = ({ random, books }) => {
  const open = allInvoices(books).filter(({ status }) => status === 'open');
  const invoice = random.pick(random.chance(0.85) ? open : allInvoices(books));
  if (invoice === undefined) return null;
  return {
    text: `voids ${invoiceText(invoice)}`,
    customer: invoice.customer,
    ask: async (records) => ({ method: 'POST', path: `/invoices/${await records.invoice(invoice)}/void`, body: {} }),
    apply: () => {
      const isKept = paidOf(invoice) > refundedOf(invoice) || notedOf(invoice, 'balance') > 0;
      if (invoice.status !== 'open' || isKept) return 'refused';
      voidInvoice(books, invoice);
      return 'done';
    },
  };
};

/** Writes off an invoice. Refused if it is not open. */
export const writeInvoiceOff: Draw = ({ random, books }) => {
  const open = allInvoices(books).filter(({ status }) => status === 'open');
  const invoice = random.pick(random.chance(0.85) ? open : allInvoices(books));
  if (invoice === undefined) return null;
  return {
    text: `writes ${invoiceText(invoice)} off`,
    customer: invoice.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/invoices/${await records.invoice(invoice)}/mark-uncollectible`,
      body: {},
    }),
    apply: () => {
      if (invoice.status !== 'open') return 'refused';
      writeOff(books, invoice);
      return 'done';
    },
  };
};

/** Changes the net terms of future invoices. */
export const changeNetTerms: Draw = ({ random, books, wish }) => {
  const days = random.pick(netTerms.filter((each) => !wish.isGood || each > 0)) ?? 0;
  if (wish.isGood && books.netTerms > 0) return null;
  return {
    text: `gives ${days} days to pay in`,
    customer: null,
    ask: async () => ({ method: 'PUT', path: '/settings', body: { settings: { netTermsDays: days } } }),
    apply: () => {
      books.netTerms = days;
      return 'done';
    },
  };
};

/** Changes the amount of unbilled usage that is invoiced at once. */
export const changeThreshold: Draw = ({ random, books }) => {
  const threshold = random.pick([null, 300, 900, 2500]) ?? null;
  return {
    text: `invoices usage from ${threshold ?? 'no amount'} on`,
    customer: null,
    ask: async () => ({ method: 'PUT', path: '/settings', body: { settings: { billingThresholdAmount: threshold } } }),
    apply: () => {
      setThreshold(books, threshold);
      return 'done';
    },
  };
};

/** Changes the arrears in which nothing may be used. */
export const changeAccess: Draw = ({ random, books }) => {
  const withheld = (['past_due', 'unpaid'] as const).filter((each) => random.chance(each === 'unpaid' ? 0.8 : 0.3));
  const levelOf = (arrears: Arrears) => (withheld.some((each) => each === arrears) ? 'none' : 'full');
  const access = { pastDue: levelOf('past_due'), unpaid: levelOf('unpaid') };
  return {
    text: `gives access ${JSON.stringify(access)}`,
    customer: null,
    ask: async () => ({ method: 'PUT', path: '/settings', body: { settings: { access } } }),
    apply: () => {
      books.withheld = withheld;
      return 'done';
    },
  };
};

/** A full or partial payment by bank transfer. */
export const recordPayment: Draw = ({ random, books, customers, wish }) => {
  const all = allInvoices({ customers }).filter(wish.invoice ?? (() => true));
  const open = all.filter(({ status }) => status === 'open');
  const invoice = random.pick(wish.invoice || random.chance(0.85) ? open : all);
  if (invoice === undefined) return null;
  const due = dueOf(invoice);
  const most = Math.max(1, wish.isPart ? due - 1 : due + 10);
  const isAll = wish.isPart === undefined ? random.chance(0.6) : !wish.isPart;
  const amount = isAll ? due : random.between(1, most);
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

/** Charges an open invoice to its customer's default method, also of an ended subscription. */
export const payInvoice: Draw = ({ random, books, customers, wish }) => {
  const all = allInvoices({ customers }).filter(wish.invoice ?? (() => true));
  const open = all.filter(({ status }) => status === 'open');
  const invoice = random.pick(wish.invoice || random.chance(0.9) ? open : all);
  if (invoice === undefined) return null;
  return {
    text: `pays ${invoiceText(invoice)} on request`,
    customer: invoice.customer,
    ask: async (records) => ({ method: 'POST', path: `/invoices/${await records.invoice(invoice)}/pay`, body: {} }),
    apply: () => {
      const { defaultMethod } = invoice.customer;
      if (invoice.status !== 'open' || defaultMethod === null) return 'refused';
      return payOnRequest(books, invoice, defaultMethod) ? 'done' : 'refused_late';
    },
  };
};

/** Refunds a payment in full or in part. Refused beyond the remainder. */
export const refundPayment: Draw = ({ random, books, customers, wish }) => {
  const all = allInvoices({ customers }).filter(wish.invoice ?? (() => true));
  const paid = all.flatMap((invoice) => invoice.payments.map((payment) => ({ invoice, payment })));
  const payments = paid.filter(
    ({ payment: { status, amount, refunded } }) => !wish.invoice || (status === 'succeeded' && amount > refunded),
  );
  const picked = random.pick(payments);
  if (picked === undefined) return null;
  const { invoice, payment } = picked;
  // Credit notes by hand give back shares of lines, and refunds money of all lines.
  if (notedOf(invoice) > 0 || invoice.parts !== undefined) return null;
  // Refunds of a plan whose invoice is paid in part are not modelled.
  const isOfOpenPack = invoice.reason === 'purchase' && invoice.status === 'open' && payment.status === 'succeeded';
  if (!isOfOpenPack && !['paid', 'partially_refunded', 'refunded'].includes(invoice.status)) return null;
  const left = payment.amount - payment.refunded;
  const isAll = wish.isPart === undefined ? random.chance(0.3) : !wish.isPart;
  const partialAmount = isAll ? null : random.between(1, Math.max(1, Math.floor(left * (wish.isPart ? 0.6 : 1.1))));
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
      refund(books, invoice, payment, amount);
      return 'done';
    },
  };
};
