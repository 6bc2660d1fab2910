import { freePlan } from './catalogue.ts';
import { dayMs, rounded, share } from './oracle-arithmetic.ts';
import { applyBalance, order, pay, sumOf, takeBackPacks } from './oracle-billing.ts';
import { recountKept } from './oracle-changes.ts';
import { carryOut } from './oracle-collecting.ts';
import { replaceFree } from './oracle-ending.ts';
import {
  type Books,
  type Customer,
  dueOf,
  type Invoice,
  type Line,
  type Note,
  netTermsOf,
  notedOf,
  paidOf,
  reach,
  refundedOf,
} from './oracle-records.ts';
import { subscriptionWith } from './oracle-subscription.ts';
import { discountsOfLines, rateOf, spread, spreadTax, taxed } from './oracle-tax.ts';
import { noteRefund } from './oracle-titles.ts';

/** One-off invoices, credit notes by hand, and the balances of customers. */

/** The amounts of lines that somebody writes. Untaxed ones are left out of the tax. */
function amountsOf(lines: readonly Line[], customer: Customer): Pick<Invoice, 'tax' | 'total'> {
  const untaxed = sumOf(lines.filter(({ isUntaxed }) => isUntaxed));
  const { tax, total } = taxed(sumOf(lines) - untaxed, rateOf(customer));
  return { tax, total: total + untaxed };
}

/** Writes a draft, with the tax of now. It is billed to an account of its own, as a purchase is. */
export function writeDraft(books: Books, customer: Customer, lines: readonly Line[], isCollected: boolean): void {
  const subscription = subscriptionWith(books, { customer, plan: freePlan });
  const none = { discounts: [], discountAmount: 0, attempts: 0, nextAt: null, usedBeforeRefund: 0, applied: 0 };
  customer.drafts.push({
    ...{ customer, subscription, period: null, reason: 'one_off', at: books.now, dueAt: books.now, lines, isCollected },
    ...{ finalizesAt: null, hasNumber: false },
    ...amountsOf(lines, customer),
    ...{ ...none, status: 'draft', moneyBack: [], notes: [], payments: [] },
  });
}

/** Writes the draft again with another line. */
export function addLine({ now }: Books, draft: Invoice, line: Line): void {
  const { customer } = draft;
  const lines = [...draft.lines, line];
  const { drafts } = customer;
  drafts[drafts.indexOf(draft)] = { ...draft, at: now, lines, ...amountsOf(lines, customer) };
}

export function removeDraft({ customer: { drafts } }: Invoice, draft: Invoice): void {
  drafts.splice(drafts.indexOf(draft), 1);
}

/** Gives a draft its number, with the tax and the terms of now. The balance pays first. */
export function finalize(books: Books, draft: Invoice): void {
  const { customer, isCollected = false } = draft;
  removeDraft(draft, draft);
  const days = isCollected ? 0 : netTermsOf(books, customer);
  const invoice: Invoice = {
    ...draft,
    ...amountsOf(draft.lines, customer),
    ...{ at: books.now, dueAt: books.now + days * dayMs, status: 'open', hasNumber: true },
  };
  customer.invoices.push(invoice);
  applyBalance(books, invoice);
  if (dueOf(invoice) === 0) pay(books, invoice, null, null);
  else if (isCollected && customer.defaultMethod !== null) order(books, invoice, customer.defaultMethod);
  carryOut(books);
}

/** The part of a line that no credit note takes back. */
export function leftOf(invoice: Invoice, line: number): number {
  return (invoice.lines[line]?.amount ?? 0) - creditedOf(invoice, line).amount;
}

function creditedOf({ notes }: Invoice, line: number): Pick<Note, 'amount' | 'discount' | 'tax'> {
  const of = notes.filter((note) => note.line === line && note.status !== 'void');
  const sum = (key: 'amount' | 'discount' | 'tax') => of.reduce((total, note) => total + note[key], 0);
  return { amount: sum('amount'), discount: sum('discount'), tax: sum('tax') };
}

/** Whether prices of the invoice include the tax. */
function includesTax({ lines, discountAmount, tax, total }: Invoice): boolean {
  return tax > 0 && sumOf(lines) - discountAmount === total;
}

/** The amount of each line that bears its tax: lines that lower the invoice lower those that bear tax, by their net amounts. */
function taxedOf(invoice: Invoice): number[] {
  const [taxes, discounts] = [spreadTax(invoice), discountsOfLines(invoice)];
  const nets = invoice.lines.map(({ amount }, index) => (taxes[index] ? amount - (discounts[index] ?? 0) : 0));
  const lowering = -invoice.lines.reduce((sum, { amount }) => sum + Math.min(0, amount), 0);
  const lost = spread(
    Math.min(
      lowering,
      nets.reduce((sum, net) => sum + net, 0),
    ),
    nets,
  );
  return invoice.lines.map(({ amount }, index) => {
    const [net = 0, less = 0] = [nets[index], lost[index]];
    return less === 0 ? amount : net - less + share(discounts[index] ?? 0, net - less, net);
  });
}

/**
 * The credit note over a part of a line. Discount and tax are their shares of all that is credited so far, less what was
 * credited before, and leave no negative rest.
 */
export function noteOf(invoice: Invoice, line: number, amount: number, settle: Note['settle']): Note {
  const whole = invoice.lines[line]?.amount ?? 0;
  const before = creditedOf(invoice, line);
  const shareOf = (all: number, of: number) =>
    rounded(BigInt(all) * BigInt(before.amount + amount), BigInt(Math.max(of, 1)));
  const within = (wanted: number, least: number, most: number) => Math.min(most, Math.max(least, wanted));
  const left = whole - before.amount;
  const ofDiscount = discountsOfLines(invoice)[line] ?? 0;
  const netLeft = left - (ofDiscount - before.discount);
  const discount = within(
    shareOf(ofDiscount, whole) - before.discount,
    Math.max(0, amount - netLeft),
    Math.min(amount, ofDiscount - before.discount),
  );
  const net = amount - discount;
  const ofTax = spreadTax(invoice)[line] ?? 0;
  const taxLeft = ofTax - before.tax;
  const isIncluded = includesTax(invoice);
  const [least, most] = isIncluded
    ? [Math.max(0, net - (netLeft - taxLeft)), Math.min(net, taxLeft)]
    : [amount === left ? taxLeft : 0, taxLeft];
  const tax = within(shareOf(ofTax, taxedOf(invoice)[line] ?? 0) - before.tax, least, most);
  return { settle, line, amount, discount, tax, total: isIncluded ? net : net + tax, status: 'issued' };
}

/** The amount that may still be given back of an invoice. */
function returnable(invoice: Invoice): number {
  return paidOf(invoice) + invoice.applied - refundedOf(invoice) - notedOf(invoice, 'balance');
}

/** Whether the service makes such a credit note. */
export function isPossible(invoice: Invoice, { settle, total, line, amount }: Note): boolean {
  if (amount > leftOf(invoice, line) || total === 0 || total > invoice.total - notedOf(invoice)) return false;
  switch (settle) {
    case 'offset':
      return invoice.status === 'open' && total <= dueOf(invoice);
    case 'balance':
      return invoice.status !== 'void' && total <= returnable(invoice);
    case 'refund':
      return (
        (notedOf(invoice, 'balance') === 0 || total <= returnable(invoice)) &&
        invoice.payments.some(
          ({ status, amount: paid, refunded }) => status === 'succeeded' && paid - refunded >= total,
        )
      );
    default:
      return settle satisfies never;
  }
}

/** Makes a credit note that is possible. */
export function credit(books: Books, invoice: Invoice, note: Note): void {
  const { settle, total } = note;
  const { customer } = invoice;
  invoice.notes.push(note);
  reach(books, `credit note by ${settle}`, customer);
  if (settle === 'offset') {
    recountKept(books, invoice.subscription, invoice);
    if (dueOf(invoice) > 0) return;
    pay(books, invoice, null, null);
    if (invoice.reason === 'subscription_start') replaceFree(books, invoice.subscription);
    carryOut(books);
    return;
  }
  note.status = 'settled';
  if (settle === 'balance') {
    changeBalance(customer, total, 'credit_note');
    recountKept(books, invoice.subscription, invoice);
    return;
  }
  noteRefund(books, invoice, total);
  const payment = invoice.payments.findLast(
    ({ status, amount, refunded }) => status === 'succeeded' && amount - refunded >= total,
  );
  if (payment !== undefined) payment.refunded += total;
  invoice.status = refundedOf(invoice) === paidOf(invoice) ? 'refunded' : 'partially_refunded';
  recountKept(books, invoice.subscription, invoice);
  takeBackPacks(books, invoice);
}

/** Voids a credit note. Returns whether that is possible. */
export function voidNote(books: Books, invoice: Invoice, note: Note): boolean {
  const { settle, status, total } = note;
  if (settle === 'offset' && (status !== 'issued' || invoice.status === 'awaiting_payment_confirmation')) return false;
  if (settle === 'refund' || status === 'void') return false;
  if (settle === 'balance' && !changeBalance(invoice.customer, -total, 'voided_credit_note')) return false;
  note.status = 'void';
  reach(books, `credit note by ${settle} voided`, invoice.customer);
  return true;
}

/** Changes a balance. Returns false, and changes nothing, where it has not as much. */
export function changeBalance(customer: Customer, amount: number, source = 'manual'): boolean {
  const own = customer.balance ?? { credited: 0, debited: 0, entries: [] };
  if (own.credited - own.debited + amount < 0) return false;
  if (amount > 0) own.credited += amount;
  else own.debited -= amount;
  own.entries.push([source, amount]);
  customer.balance = own;
  return true;
}
