import { netTerms } from './catalogue.ts';
import {
  addLine,
  changeBalance,
  credit,
  finalize,
  isPossible,
  leftOf,
  noteOf,
  removeDraft,
  voidNote,
  writeDraft,
} from './oracle-documents.ts';
import { type Invoice, isTerminal, type Line, type Note } from './oracle-records.ts';
import { discountsOfLines, spreadTax } from './oracle-tax.ts';
import type { Random } from './random.ts';
import { allInvoices, type Draw, nameOf } from './step.ts';

const mostDrafts = 3;

export function drawLine(random: Random): Line {
  return { kind: 'written', amount: random.between(1, 9000), isUntaxed: random.chance(0.3) };
}

/** A line for the service: sometimes as two of half the amount. */
export function writtenOf({ amount, isUntaxed }: Line) {
  const quantity = amount % 2 === 0 ? 2 : 1;
  return { description: 'Work', quantity, unitAmount: amount / quantity, ...(isUntaxed ? { taxable: false } : {}) };
}

function draftText({ customer, lines }: Invoice): string {
  return `a draft of ${customer.name} (${lines.map(({ amount }) => amount)})`;
}

/** Writes a one-off invoice as a draft. */
export const writeInvoice: Draw = ({ random, books, customers }) => {
  const customer = random.pick(customers);
  if (customer === undefined || customer.drafts.length >= mostDrafts) return null;
  const lines = Array.from({ length: random.between(1, 3) }, () => drawLine(random));
  const isCollected = random.chance(0.3);
  return {
    text: `writes ${customer.name} an invoice over ${lines.map(({ amount }) => amount)}${isCollected ? ' to collect' : ''}`,
    customer,
    ask: async () => ({
      method: 'POST',
      path: '/invoices',
      body: {
        invoice: { customerExternalId: customer.name, lines: lines.map(writtenOf), autoCollect: isCollected },
      },
    }),
    apply: () => {
      writeDraft(books, customer, lines, isCollected);
      return 'done';
    },
  };
};

/** Finalizes a draft, adds a line to it, or deletes it. */
export const settleDraft: Draw = ({ random, books, customers, wish }) => {
  const draft = random.pick(customers.flatMap(({ drafts }) => drafts));
  if (draft === undefined) return null;
  const { customer } = draft;
  const place = customer.drafts.indexOf(draft);
  const how = wish.isNow || random.chance(0.65) ? 'finalize' : random.chance(0.7) ? 'lines' : 'delete';
  const line = drawLine(random);
  return {
    text: `${how === 'lines' ? `adds ${line.amount} to` : `${how}s`} ${draftText(draft)}`,
    customer,
    ask: async (records) => {
      const path = `/invoices/${await records.draft(customer, place)}`;
      if (how === 'delete') return { method: 'DELETE', path };
      return { method: 'POST', path: `${path}/${how}`, body: how === 'lines' ? { lines: [writtenOf(line)] } : {} };
    },
    apply: () => {
      if (how === 'lines') addLine(books, draft, line);
      else if (how === 'delete') removeDraft(draft, draft);
      else finalize(books, draft);
      return 'done';
    },
  };
};

/** Credits a part of a line of an invoice, or more than is left of it, to be refused. */
export const creditLine: Draw = ({ random, books, customers, wish }) => {
  const invoice = random.pick(
    allInvoices({ customers })
      .filter(wish.invoice ?? (() => true))
      .filter(isCreditable),
  );
  if (invoice === undefined) return null;
  const { customer } = invoice;
  const line = random.below(invoice.lines.length);
  if (invoice.reason !== 'one_off' && !isUnique(invoice, line)) return null;
  const left = leftOf(invoice, line);
  const amount = random.chance(0.3) ? Math.max(1, left) : random.between(1, Math.max(1, Math.ceil(left * 1.1)));
  const isOpen = invoice.status === 'open';
  const usual: Note['settle'] = isOpen ? 'offset' : random.chance(0.5) ? 'refund' : 'balance';
  // Money of an invoice that is paid in part goes to the balance only.
  const other = isOpen || random.chance(0.5) ? 'balance' : 'offset';
  const settle = random.chance(0.85) || (isOpen && invoice.reason !== 'one_off') ? usual : other;
  const note = noteOf(invoice, line, amount, settle);
  return {
    text: `credits ${amount} of line ${line} (${left} left) of ${customer.name}'s invoice ${customer.invoices.indexOf(invoice)} by ${settle}`,
    customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/invoices/${await records.invoice(invoice)}/credit-notes`,
      body: {
        creditNote: {
          lines: [{ invoiceLineItemId: await records.line(invoice, line, amountsOfLine(invoice, line)), amount }],
          settle,
          reason: 'By hand',
        },
      },
    }),
    apply: () => {
      if (!isPossible(invoice, note)) return 'refused';
      credit(books, invoice, note);
      return 'done';
    },
  };
};

// A refund gives back money of all lines, which mixes with shares of one.
function isCreditable({ status, moneyBack, parts }: Invoice): boolean {
  if (parts !== undefined) return false;
  const settled = ['open', 'paid', 'partially_refunded', 'refunded'].includes(status);
  return settled && moneyBack.every((money) => money === 0);
}

/** The amount, discount and tax of a line. */
function amountsOfLine(invoice: Invoice, line: number): readonly [number, number, number] {
  return [invoice.lines[line]?.amount ?? 0, discountsOfLines(invoice)[line] ?? 0, spreadTax(invoice)[line] ?? 0];
}

/** Whether the line is known by its amounts: the order of lines that nobody has written is the service's. */
function isUnique(invoice: Invoice, line: number): boolean {
  const textOf = (index: number) => amountsOfLine(invoice, index).join(' ');
  return invoice.lines.every((_, index) => index === line || textOf(index) !== textOf(line));
}

/** Voids a credit note: refused after its refund, after its invoice was paid, and when the balance has not as much. */
export const takeNoteBack: Draw = ({ random, books, customers }) => {
  const noted = allInvoices({ customers }).flatMap((invoice) => invoice.notes.map((note) => ({ invoice, note })));
  const picked = random.pick(noted);
  if (picked === undefined) return null;
  const { invoice, note } = picked;
  return {
    text: `voids the credit note ${JSON.stringify(note)} of ${invoice.customer.name}`,
    customer: invoice.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/credit-notes/${await records.note(invoice, note)}/void`,
      body: {},
    }),
    apply: () => (voidNote(books, invoice, note) ? 'done' : 'refused'),
  };
};

/** Gives a customer money, or takes some off again. Refused where there is not as much. */
export const changeMoney: Draw = ({ random, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const amount = wish.isGood || random.chance(0.75) ? random.between(1, 8000) : -random.between(1, 3000);
  return {
    text: `changes the balance of ${customer.name} by ${amount}`,
    customer,
    ask: async () => ({
      method: 'POST',
      path: '/customer-balances/adjust',
      body: { adjustment: { customerExternalId: customer.name, amount } },
    }),
    apply: () => (changeBalance(customer, amount) ? 'done' : 'refused'),
  };
};

/** Gives a customer net terms of its own, or those of the settings again. */
export const changeTerms: Draw = ({ random, customers }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const days = random.chance(0.3) ? null : (random.pick(netTerms) ?? 0);
  return {
    text: `gives ${customer.name} ${days ?? 'the usual'} days to pay in`,
    customer,
    ask: async () => ({
      method: 'PUT',
      path: `/customers/${customer.name}`,
      body: { customer: { billingTerms: days === null ? null : { netTermsDays: days } } },
    }),
    apply: () => {
      customer.netTerms = days;
      return 'done';
    },
  };
};

/** Stores a line for the next renewal of a customer, or for one subscription: refused after its end. */
export const addItem: Draw = ({ random, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const living = customer.subscriptions.filter((each) => !isTerminal(each) || (!wish.isNow && random.chance(0.1)));
  const subscription = random.chance(0.5) ? (random.pick(living) ?? null) : null;
  const line = drawLine(random);
  return {
    text: `puts an item of ${line.amount}${line.isUntaxed ? ' without tax' : ''} on ${subscription === null ? customer.name : nameOf(subscription)}`,
    customer,
    ask: async (records) => {
      const owner =
        subscription === null
          ? { customerExternalId: customer.name }
          : { subscriptionId: await records.subscription(subscription) };
      return { method: 'POST', path: '/invoice-items', body: { invoiceItem: { ...owner, ...writtenOf(line) } } };
    },
    apply: () => {
      if (subscription !== null && isTerminal(subscription)) return 'refused';
      customer.items.push({ line, subscription, isInvoiced: false });
      return 'done';
    },
  };
};

/** Deletes a pending item. */
export const removeItem: Draw = ({ random, customers }) => {
  const pending = customers.flatMap((customer) =>
    customer.items.filter(({ isInvoiced }) => !isInvoiced).map((item, place) => ({ customer, item, place })),
  );
  const picked = random.pick(pending);
  if (picked === undefined) return null;
  const { customer, item, place } = picked;
  return {
    text: `deletes the item of ${item.line.amount} of ${customer.name}`,
    customer,
    ask: async (records) => ({ method: 'DELETE', path: `/invoice-items/${await records.item(customer, place)}` }),
    apply: () => {
      customer.items.splice(customer.items.indexOf(item), 1);
      return 'done';
    },
  };
};
