import { rounded } from './oracle-arithmetic.ts';
import {
  applyChange,
  draft,
  issue,
  leaveUnmade,
  listOf,
  methodOf,
  order,
  settledForPlan,
  sumOf,
} from './oracle-billing.ts';
import { carryOut, collect, endReview } from './oracle-collecting.ts';
import { accountsOf } from './oracle-pools.ts';
import {
  advanceOf,
  type Books,
  type Invoice,
  invoicesOf,
  isForPeriod,
  isOwed,
  isTerminal,
  netTermsOf,
  notedOf,
  type Period,
  paidOf,
  pausedTimeOf,
  reach,
  refundedOf,
  type Subscription,
  type Terms,
} from './oracle-records.ts';
import { discountsOfLines } from './oracle-tax.ts';
import { takePausedBack } from './oracle-usage.ts';

/** Plan and quantity changes within a period, and pauses: the value of a period, and the amount paid for it. */

/** The outcome of an immediate change. `lacks_method`: there is no payment method, and nothing was tried. */
export type Changed = 'made' | 'lacks_method' | 'not_paid';

/**
 * Another plan or quantity, now: paid first, unless the rest of the period is not charged. Under net terms and without
 * a payment method it is made, and its invoice collected from its due date on.
 */
export function changeNow(
  books: Books,
  subscription: Subscription,
  terms: Terms,
  { prorates, collectsRefunded }: { readonly prorates: boolean; readonly collectsRefunded: boolean },
): Changed {
  const { period } = subscription;
  if (period === null) return 'not_paid';
  endReview(books, subscription, books.now);
  const settled = collectsRefunded ? paidForPlan(subscription, period) : settledForPlan(subscription, period);
  const isOwnOpen = invoicesOf(subscription).some(
    (each) =>
      each.period === period && isForPeriod(each) && isOwed(each) && !each.whole && notedOf(each, 'offset') === 0,
  );
  // Without terms the change would replace what is owed, and pay for both.
  if (prorates && isOwnOpen && methodOf(subscription) === null && netTermsOf(books, subscription.customer) === 0)
    return 'lacks_method';
  const amount = Math.max(0, worthWith(books, subscription, period, terms) - settled);
  if (amount === 0 || !prorates) {
    period.waived += amount;
    applyChange(books, subscription, terms);
    // The draft whose review this has ended is charged.
    carryOut(books);
    return 'made';
  }
  const method = methodOf(subscription);
  const lines = [{ kind: 'change', amount }] as const;
  const bill = { reason: 'adjustment', at: books.now, period, lines } as const;
  if (method === null && draft(subscription, bill).total > 0) {
    if (netTermsOf(books, subscription.customer) === 0) return 'lacks_method';
    reach(books, 'change under net terms', subscription.customer);
    const owed = issue(books, subscription, bill);
    applyChange(books, subscription, terms);
    collect(books, owed);
    carryOut(books);
    return 'made';
  }
  const change = () => applyChange(books, subscription, terms);
  const invoice = issue(books, subscription, bill, { change });
  if (invoice?.status === 'open' && method !== null) order(books, invoice, method, { change });
  carryOut(books);
  if (leaveUnmade(invoice)) reach(books, 'change not paid', subscription.customer);
  return invoice?.status === 'paid' ? 'made' : 'not_paid';
}

/** The value of the period: the prorated sum of its stretches, rounded once. A trial is worth nothing. */
function worthWith({ now }: Books, { holdings }: Subscription, period: Period, terms: Terms): number {
  if (period.isTrial) return 0;
  const rest = BigInt(advanceOf(terms)) * BigInt(period.end - now);
  return rounded(worthTimesTime(holdings, period, now) + rest, BigInt(period.end - period.wholeStart));
}

function worthTimesTime(holdings: Subscription['holdings'], period: Period, now: number): bigint {
  return holdings.reduce((sum, { value, start, end }) => {
    const time = Math.min(end ?? now, now) - Math.max(start, period.start);
    return sum + BigInt(value) * BigInt(Math.max(0, time));
  }, 0n);
}

function planInvoices(subscription: Subscription, period: Period): Invoice[] {
  return invoicesOf(subscription).filter((each) => each.period === period && each.status !== 'void');
}

/** The list value paid or waived for the plan: before discount, without usage, less refunds. */
function paidForPlan(subscription: Subscription, period: Period): number {
  return planInvoices(subscription, period).reduce((sum, invoice) => sum + paidByList(invoice), period.waived);
}

function paidByList(invoice: Invoice): number {
  return paidOfAmount(invoice, listOf(invoice));
}

/** The paid and not refunded part of an amount on the invoice. Paused time was paid before. */
function paidOfAmount(invoice: Invoice, amount: number): number {
  const { lines, total, discountAmount } = invoice;
  if (total === 0) return amount;
  const pausedTime = pausedTimeOf(invoice);
  const net = sumOf(lines) + pausedTime - discountAmount;
  const asked = invoice.status === 'open' ? total - notedOf(invoice, 'offset') : paidOf(invoice) + invoice.applied;
  const received = Math.max(0, asked - refundedOf(invoice) - notedOf(invoice, 'balance'));
  const [paid, of] = [BigInt(pausedTime) * BigInt(total) + BigInt(net - pausedTime) * BigInt(received), BigInt(net)];
  return rounded(BigInt(amount) * paid, of * BigInt(total));
}

/** The plan lines less their part of the discounts. */
function billedOf(invoice: Invoice): number {
  const discounts = discountsOfLines(invoice);
  return invoice.lines.reduce(
    (sum, { kind, amount }, index) =>
      kind !== 'item' && kind !== 'change' ? sum : sum + amount - (discounts[index] ?? 0),
    0,
  );
}

/** Gives a running trial, and the credits that end with it, another end. */
export function moveTrialEnd(books: Books, subscription: Subscription, end: number): void {
  const { period } = subscription;
  if (period === null) return;
  reach(books, 'another end of a trial', subscription.customer);
  for (const credit of accountsOf(subscription).flatMap(({ credits }) => credits))
    if (credit.kind === 'recurring' && credit.expiresAt === period.end) credit.expiresAt = end;
  period.end = end;
  subscription.trialEnd = end;
}

/** Keeps what was really paid for the rest of the period. */
export function pause(books: Books, subscription: Subscription, resumesAt: number | null): void {
  const { now } = books;
  const { period, pausedParts } = subscription;
  if (period === null) return;
  const { kept } = unusedOf(subscription, period, now);
  const invoices = planInvoices(subscription, period);
  if (invoices.some(({ discountAmount }) => discountAmount > 0))
    reach(books, 'pause with a discount', subscription.customer);
  if (invoices.some((each) => refundedOf(each) > 0)) reach(books, 'pause after a refund', subscription.customer);
  pausedParts.push({ period, at: now, kept });
  subscription.kept += kept;
  takePausedBack(books, subscription, period);
  if (subscription.credits.some(({ periodStart, pausedOwed }) => periodStart === period.start && pausedOwed > 0n))
    reach(books, 'pause after use ahead of it', subscription.customer);
  subscription.status = 'paused';
  subscription.resumesAt = resumesAt;
  subscription.period = { ...period, end: now };
}

/** Unused paid value, and what rounding left out of the used value, in trillionths. */
interface Unused {
  readonly kept: number;
  readonly carried: bigint;
}

const trillion = 1_000_000_000_000n;

/** The amount really paid minus the billed value of the used time; after a downgrade at most that of the rest. */
export function unusedOf(subscription: Subscription, period: Period, at: number): Unused {
  const invoices = planInvoices(subscription, period);
  const listed = invoices.reduce((sum, invoice) => sum + listOf(invoice), 0);
  if (listed === 0) return { kept: 0, carried: 0n };
  const billed = invoices.reduce((sum, invoice) => sum + billedOf(invoice), 0);
  const paid = invoices.reduce((sum, invoice) => sum + paidOfAmount(invoice, billedOf(invoice)), -period.returned);
  const { holdings } = subscription;
  const current = holdings.findLast(({ start }) => start <= at)?.value ?? 0;
  const whole = BigInt(period.end - period.wholeStart) * BigInt(listed);
  const exact = worthTimesTime(holdings, period, at) * BigInt(billed) * trillion + (period.carried ?? 0n) * whole;
  const used = Math.max(0, rounded(exact, whole * trillion));
  const kept = paid - used;
  const rest = rounded(BigInt(current) * BigInt(period.end - at) * BigInt(billed), whole);
  const most = hasFallen(holdings, period, at) ? rest : kept;
  if (kept < 0 || most < kept) return { kept: Math.max(0, Math.min(kept, most)), carried: 0n };
  return { kept, carried: BigInt(rounded(exact - BigInt(used) * whole * trillion, whole)) };
}

/** Whether the plan became cheaper within the period. */
function hasFallen(holdings: Subscription['holdings'], { start: from }: Period, at: number): boolean {
  const held = holdings.filter(({ start, end }) => Math.max(start, from) < Math.min(end ?? at, at));
  const current = holdings.findLast(({ start }) => start <= at)?.value ?? 0;
  const values = [...held.map(({ value }) => value), current];
  return values.some((value, index) => value < (values[index - 1] ?? 0));
}

/** After a refund, a void or a write-off: what was given back is not kept too. */
export function recountKept(books: Books, subscription: Subscription, { period }: Invoice): void {
  const part = subscription.pausedParts.find((each) => each.period === period);
  if (part === undefined) return;
  const kept = Math.min(part.kept, unusedOf(subscription, part.period, part.at).kept);
  const lost = part.kept - kept;
  if (lost > 0) reach(books, 'refund or void of kept time', subscription.customer);
  part.kept = kept;
  if (isTerminal(subscription)) return;
  const left = Math.min(lost, subscription.kept);
  subscription.kept -= left;
  const current = subscription.period;
  if (subscription.status === 'paused' || current === null) return;
  const taken = planInvoices(subscription, current).reduce((sum, invoice) => sum + pausedTimeOf(invoice), 0);
  current.returned = Math.min(current.returned + lost - left, taken);
}
