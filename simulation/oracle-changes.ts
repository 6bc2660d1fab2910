import { rounded } from './oracle-arithmetic.ts';
import { applyChange, draft, issue, methodOf, order, sumOf, worthOf } from './oracle-billing.ts';
import { carryOut } from './oracle-collecting.ts';
import {
  type Books,
  type Invoice,
  invoicesOf,
  type Period,
  paidOf,
  refundedOf,
  type Subscription,
  type Terms,
} from './oracle-records.ts';

/** Plan and quantity changes within a period, and pauses: the value of a period, and the amount paid for it. */

/** The outcome of an immediate change. `lacks_method`: there is no payment method, and nothing was tried. */
export type Changed = 'made' | 'lacks_method' | 'not_paid';

/** Another plan or quantity, now: paid first, unless the rest of the period is not charged. */
export function changeNow(
  books: Books,
  subscription: Subscription,
  terms: Terms,
  { prorates, collectsRefunded }: { readonly prorates: boolean; readonly collectsRefunded: boolean },
): Changed {
  const { period } = subscription;
  if (period === null) return 'not_paid';
  const settled = collectsRefunded ? paidForPlan(subscription, period) : settledForPlan(subscription, period);
  const amount = Math.max(0, worthWith(books, subscription, period, terms) - settled);
  if (amount === 0 || !prorates) {
    period.waived += amount;
    applyChange(books, subscription, terms);
    return 'made';
  }
  const method = methodOf(subscription);
  const lines = [{ kind: 'change', amount, units: 0 }] as const;
  const bill = { reason: 'adjustment', at: books.now, period, lines } as const;
  if (method === null && draft(subscription, bill).total > 0) return 'lacks_method';
  const invoice = issue(books, subscription, bill, { change: terms });
  if (invoice?.status === 'open' && method !== null) order(books, invoice, method, terms);
  carryOut(books);
  return invoice?.status === 'paid' ? 'made' : 'not_paid';
}

/** The value of the period: the prorated sum of its stretches, rounded once. A trial is worth nothing. */
function worthWith({ now }: Books, { holdings }: Subscription, period: Period, terms: Terms): number {
  if (period.isTrial) return 0;
  const rest = BigInt(worthOf(terms)) * BigInt(period.end - now);
  return rounded(worthTimesTime(holdings, period, now) + rest, BigInt(period.end - period.wholeStart));
}

function worthTimesTime(holdings: Subscription['holdings'], period: Period, now: number): bigint {
  return holdings.reduce((sum, { value, start, end }) => {
    const time = Math.min(end ?? now, now) - Math.max(start, period.start);
    return sum + BigInt(value) * BigInt(Math.max(0, time));
  }, 0n);
}

/** The list value that nothing collects again. Void invoices of such a period are those of failed changes. */
function settledForPlan(subscription: Subscription, period: Period): number {
  return planInvoices(subscription, period).reduce((sum, invoice) => sum + listOf(invoice), period.waived);
}

function planInvoices(subscription: Subscription, period: Period): Invoice[] {
  return invoicesOf(subscription).filter((each) => each.period === period && each.status !== 'void');
}

function listOf({ lines }: Invoice): number {
  return sumOf(lines.filter(({ kind }) => kind === 'item' || kind === 'change'));
}

/** The list value paid or waived for the plan: before discount, without usage, less refunds. */
function paidForPlan(subscription: Subscription, period: Period): number {
  return planInvoices(subscription, period).reduce((sum, invoice) => sum + paidByList(invoice), period.waived);
}

function paidByList(invoice: Invoice): number {
  const list = listOf(invoice);
  if (invoice.total === 0) return list;
  return rounded(BigInt(list) * BigInt(paidOf(invoice) - refundedOf(invoice)), BigInt(invoice.total));
}

/** Keeps the paid, unused value, but at most the current value of the rest. */
export function pause({ now }: Books, subscription: Subscription, resumesAt: number | null): void {
  const { period, holdings } = subscription;
  if (period === null) return;
  const whole = BigInt(period.end - period.wholeStart);
  const rest = rounded(BigInt(worthOf(subscription)) * BigInt(period.end - now), whole);
  const unused = paidForPlan(subscription, period) - rounded(worthTimesTime(holdings, period, now), whole);
  subscription.kept += Math.max(0, Math.min(unused, rest));
  subscription.status = 'paused';
  subscription.resumesAt = resumesAt;
  subscription.period = { ...period, end: now };
}
