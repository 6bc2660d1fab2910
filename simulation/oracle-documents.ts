import { freePlan } from './catalogue.ts';
import { dayMs, rounded } from './oracle-arithmetic.ts';
import { applyBalance, order, pay, sumOf } from './oracle-billing.ts';
import { carryOut } from './oracle-collecting.ts';
import { subscriptionWith } from './oracle-ending.ts';
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
import { rateOf, spreadTax, taxed } from './oracle-tax.ts';

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

function creditedOf({ notes }: Invoice, line: number): { readonly amount: number; readonly tax: number } {
  const of = notes.filter((note) => note.line === line && note.status !== 'void');
  const sum = (key: 'amount' | 'tax') => of.reduce((total, note) => total + note[key], 0);
  return { amount: sum('amount'), tax: sum('tax') };
}

/** Whether prices of the invoice include the tax. */
function includesTax({ lines, tax, total }: Invoice): boolean {
  return tax > 0 && sumOf(lines) === total;
}

/** The tax of a credit: its share of all that is credited so far, less what was credited before. */
function taxOf(invoice: Invoice, line: number, amount: number): number {
  const whole = { amount: invoice.lines[line]?.amount ?? 0, tax: spreadTax(invoice)[line] ?? 0 };
  const before = creditedOf(invoice, line);
  const wanted = rounded(BigInt(whole.tax) * BigInt(before.amount + amount), BigInt(whole.amount)) - before.tax;
  const [left, taxLeft] = [whole.amount - before.amount, whole.tax - before.tax];
  const [least, most] = includesTax(invoice)
    ? [Math.max(0, amount - (left - taxLeft)), Math.min(amount, taxLeft)]
    : [amount === left ? taxLeft : 0, taxLeft];
  return Math.min(most, Math.max(least, wanted));
}

/** The credit note over a part of a line. */
export function noteOf(invoice: Invoice, line: number, amount: number, settle: Note['settle']): Note {
  const tax = taxOf(invoice, line, amount);
  return { settle, line, amount, tax, total: includesTax(invoice) ? amount : amount + tax, status: 'issued' };
}

/** The amount that may still be given back of an invoice. */
function returnable(invoice: Invoice): number {
  return paidOf(invoice) + invoice.applied - refundedOf(invoice) - notedOf(invoice, 'balance');
}

/** Whether the service makes such a credit note. */
export function isPossible(invoice: Invoice, { settle, total, line, amount }: Note): boolean {
  if (amount > leftOf(invoice, line) || total > invoice.total - notedOf(invoice)) return false;
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
    if (dueOf(invoice) === 0) pay(books, invoice, null, null);
    return;
  }
  note.status = 'settled';
  if (settle === 'balance') {
    changeBalance(customer, total);
    return;
  }
  const payment = invoice.payments.findLast(
    ({ status, amount, refunded }) => status === 'succeeded' && amount - refunded >= total,
  );
  if (payment !== undefined) payment.refunded += total;
  invoice.status = refundedOf(invoice) === paidOf(invoice) ? 'refunded' : 'partially_refunded';
}

/** Voids a credit note. Returns whether that is possible. */
export function voidNote(books: Books, invoice: Invoice, note: Note): boolean {
  const { settle, status, total } = note;
  if (settle === 'offset' && (status !== 'issued' || invoice.status === 'awaiting_payment_confirmation')) return false;
  if (settle === 'refund' || status === 'void') return false;
  if (settle === 'balance' && !changeBalance(invoice.customer, -total)) return false;
  note.status = 'void';
  reach(books, `credit note by ${settle} voided`, invoice.customer);
  return true;
}

/** Changes a balance. Returns false, and changes nothing, where it has not as much. */
export function changeBalance(customer: Customer, amount: number): boolean {
  const own = customer.balance ?? { credited: 0, debited: 0 };
  if (own.credited - own.debited + amount < 0) return false;
  if (amount > 0) own.credited += amount;
  else own.debited -= amount;
  customer.balance = own;
  return true;
}
