import { freePlan } from './catalogue.ts';
import { dayMs } from './oracle-arithmetic.ts';
import { draft as amountsOf, applyBalance, fitting, methodOf, noteEverPaid, pay, sumOf } from './oracle-billing.ts';
import type { Asked } from './oracle-discounts.ts';
import { lateLines, putOnInvoice, takeOffInvoice } from './oracle-metering.ts';
import { type Books, dueOf, type Invoice, type Line, netTermsOf, reach } from './oracle-records.ts';
import { subscriptionWith } from './oracle-subscription.ts';

/** Drafts of renewals: they wait for a review, are not owed, and become invoices as of the end of it. */

/** The draft with other lines, by the tax of now. It keeps its discounts. */
function askedOf({ reason, at, period, discounts }: Invoice, lines: readonly Line[]): Asked {
  return { reason, at, period, lines, redemptions: discounts.map(({ redemption }) => redemption) };
}

function replace(draft: Invoice, by: Invoice): void {
  const { invoices } = draft.customer;
  invoices.splice(invoices.indexOf(draft), 1, by);
}

function rewrite(draft: Invoice, lines: readonly Line[]): void {
  replace(draft, { ...draft, ...amountsOf(draft.subscription, askedOf(draft, lines)), lines });
}

export function addToDraft(draft: Invoice, line: Line): void {
  rewrite(draft, [...draft.lines, line]);
}

/** Takes a line off that somebody has written. A pending one waits again. */
export function takeOffDraft(draft: Invoice, line: Line): void {
  for (const item of draft.customer.items) if (item.line === line) item.isInvoiced = false;
  rewrite(
    draft,
    draft.lines.filter((each) => each !== line),
  );
}

/**
 * Makes a draft an invoice, as of an instant or of the end of its review where that was before. Late usage gets onto it. The
 * number, tax, balance and terms are of then.
 */
export function finalizeReview(books: Books, draft: Invoice, at: number): Invoice {
  const invoice = finalOf(books, draft, at);
  draft.customer.invoices.push(invoice);
  settleFinal(books, invoice);
  return invoice;
}

/**
 * The same. A draft whose review is over becomes one invoice with the others that end then, if its customer consolidates.
 * A draft of nothing stays alone.
 */
export function finalizeTogether(books: Books, draft: Invoice, at: number): Invoice[] {
  const { customer, finalizesAt } = draft;
  const isOver = finalizesAt !== null && finalizesAt <= at;
  const isBeside = (each: Invoice) => each.status === 'draft' && each.finalizesAt === finalizesAt;
  const drafts = isOver && customer.consolidates ? customer.invoices.filter(isBeside) : [draft];
  const finals = drafts.map((each) => finalOf(books, each, at));
  const owed = finals.filter(({ total }) => total > 0);
  const whole = owed.length > 1 ? wholeOf(books, owed) : null;
  const invoices = whole === null ? finals : [whole, ...finals.filter(({ total }) => total === 0)];
  customer.invoices.push(...(whole?.parts ?? []), ...invoices);
  for (const each of invoices) settleFinal(books, each);
  if (whole !== null) {
    reach(books, `consolidated invoice of ${owed.length}`, customer);
    noteEverPaid(whole);
  }
  return invoices;
}

/** The invoice that collects these. Each amount is their sum, so nothing is rounded twice. */
function wholeOf(books: Books, owed: readonly Invoice[]): Invoice {
  const [first] = owed;
  if (first === undefined) throw new Error('a consolidated invoice has parts');
  const { customer } = first;
  const sum = (key: 'total' | 'tax' | 'discountAmount') => owed.reduce((all, each) => all + each[key], 0);
  const parts: Invoice[] = [];
  const whole: Invoice = {
    ...first,
    subscription: subscriptionWith(books, { customer, plan: freePlan }),
    dueAt: Math.min(...owed.map(({ dueAt }) => dueAt)),
    ...{ period: null, lines: [], discounts: [], parts },
    ...{ total: sum('total'), tax: sum('tax'), discountAmount: sum('discountAmount') },
    ...{ moneyBack: [], notes: [], payments: [] },
  };
  for (const each of owed)
    parts.push({
      ...{ ...each, whole, hasNumber: false },
      get status() {
        return whole.status;
      },
      get attempts() {
        return whole.attempts;
      },
    });
  return whole;
}

function settleFinal(books: Books, invoice: Invoice): void {
  applyBalance(books, invoice);
  if (dueOf(invoice) === 0) pay(books, invoice, null, null);
}

function finalOf(books: Books, draft: Invoice, at: number): Invoice {
  const { subscription, customer, finalizesAt } = draft;
  const late = lateLines(subscription, draft);
  const listOfLate = late.reduce((sum, { amount, takenBack = 0 }) => sum + amount - takenBack, 0);
  const drafted = draft.lines.flatMap((line): Line[] => {
    if (line.kind !== 'commitment') return [line];
    const amount = line.amount - listOfLate;
    return amount > 0 ? [{ ...line, amount }] : [];
  });
  const asked = askedOf(draft, [...drafted, ...late]);
  const { lines, left } = fitting(subscription, asked);
  for (const line of late) putOnInvoice(subscription, line);
  for (const line of left) takeOffInvoice(subscription, line);
  const finalAt = Math.min(at, finalizesAt ?? at);
  const days = methodOf(subscription) === null ? netTermsOf(books, customer) : 0;
  const invoice: Invoice = {
    ...draft,
    ...amountsOf(subscription, { ...asked, lines }),
    ...{ lines, at: finalAt, dueAt: finalAt + days * dayMs, finalizesAt: null, hasNumber: true, status: 'open' },
  };
  customer.invoices.splice(customer.invoices.indexOf(draft), 1);
  reach(books, `draft finalized ${finalAt === finalizesAt ? 'on time' : 'early'}`, customer);
  if (late.length > 0) reach(books, `late usage on a draft${sumOf(late) < 0 ? ' that pays back' : ''}`, customer);
  return invoice;
}
