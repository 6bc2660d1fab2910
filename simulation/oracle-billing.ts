import { type Pack, packOf } from './catalogue.ts';
import { smallestPerUnit } from './catalogue-pools.ts';
import { meterSlug } from './catalogue-usage.ts';
import { boundary, dayMs, hourMs, least, most, nearest, rounded, total } from './oracle-arithmetic.ts';
import { give, hasEnded, inOrderOfUse, liveCredits, owedOf } from './oracle-credits.ts';
import { type Asked, discountsOf } from './oracle-discounts.ts';
import { openPlanLimits } from './oracle-limits.ts';
import { takeMeasured } from './oracle-measured.ts';
import { allUntil, putOnInvoice, takeOffInvoice, usageLines } from './oracle-metering.ts';
import { accountsOf, beside } from './oracle-pools.ts';
import {
  askForThreshold,
  type Books,
  type Credit,
  dueOf,
  hasAccess,
  holderOf,
  type Invoice,
  type InvoiceItem,
  invoicesOf,
  isDunned,
  isInArrears,
  isOwed,
  isTerminal,
  type Line,
  type Method,
  netTermsOf,
  notedOf,
  type Order,
  type Period,
  type PoolHolder,
  paidOf,
  partsOfInvoice,
  reach,
  refundedOf,
  type Subscription,
  type Terms,
} from './oracle-records.ts';
import { holdingOf } from './oracle-subscription.ts';
import { discountsOfLines, rateOf, taxed } from './oracle-tax.ts';
import { topUpPaid } from './oracle-top-ups.ts';
import { grantChange, grantPeriod } from './oracle-usage.ts';

/** Invoices, and the consequences of their payment. */

export function sumOf(lines: readonly Pick<Line, 'amount'>[]): number {
  return lines.reduce((sum, { amount }) => sum + amount, 0);
}

/** The list value of the plan on an invoice that pays it in advance. */
export function listOf({ lines }: Invoice): number {
  return sumOf(lines.filter(({ kind }) => kind === 'item' || kind === 'change'));
}

/** The list value that nothing collects again. */
export function settledForPlan(subscription: Subscription, period: Period): number {
  const ofPeriod = invoicesOf(subscription).filter((each) => each.period === period);
  return ofPeriod.reduce((sum, each) => sum + listOf(each), period.waived);
}

/** The fee of the first invoice, whatever the quantity. */
export function feeLines({ setupFee }: Subscription): Line[] {
  return setupFee === 0 ? [] : [{ kind: 'setup_fee', amount: setupFee }];
}

/** Takes paid paused time off the lines, as far as they go after their discount. */
export function withPausedTime(subscription: Subscription, requested: Asked, kept = subscription.kept): Asked {
  const { lines } = requested;
  const { discountAmount } = draft(subscription, requested);
  const ofPlan = sumOf(lines.filter(({ kind }) => kind !== 'usage' && kind !== 'commitment')) - discountAmount;
  const free = Math.max(0, kept - valueOfOwed(subscription));
  const taken = Math.min(kept, sumOf(lines) - discountAmount, Math.max(0, ofPlan) + free);
  return taken > 0 ? { ...requested, lines: [...lines, { kind: 'paused_time', amount: -taken }] } : requested;
}

/** The kept value of time whose credits were used ahead and are not paid back: it pays for plans only. */
function valueOfOwed(subscription: Subscription): number {
  return Math.max(...accountsOf(subscription).map(valueOfOwedOn));
}

function valueOfOwedOn({ pausedParts, credits }: Subscription): number {
  const owed = total(credits, ({ pausedOwed }) => pausedOwed);
  if (owed === 0n) return 0;
  const value = total(pausedParts, ({ period, kept, at }) => {
    const paused = credits.filter(({ periodStart }) => periodStart === period.start);
    const used = total(paused, ({ pausedOwed }) => pausedOwed);
    return used === 0n ? 0n : nearest(BigInt(kept) * used, unitsOfRest(paused, period.end, at));
  });
  return rounded(value * owedOf({ credits }), owed);
}

/** The units of a paused rest. Units of an interval count as often as it fits in the rest. */
function unitsOfRest(paused: readonly Credit[], end: number, at: number): bigint {
  const all = paused.map(({ pausedBack, pausedOwed, pausedByHand, expiresAt, plan }) => {
    const units = pausedBack + pausedOwed + pausedByHand;
    const isOfInterval = plan?.grantInterval !== undefined && units > 0n && expiresAt !== null;
    return isOfInterval ? { units: units * BigInt(end - at), of: BigInt(expiresAt - at) } : { units, of: 1n };
  });
  const of = all.reduce((product, each) => product * each.of, 1n);
  return nearest(
    total(all, (each) => (each.units * of) / each.of),
    of,
  );
}

/** The amounts of an invoice. */
export function draft(
  subscription: Subscription,
  requested: Asked,
): Pick<Invoice, 'discounts' | 'discountAmount' | 'tax' | 'total'> {
  const discounts = discountsOf(subscription, requested);
  const sum = sumOf(fitting(subscription, requested).lines);
  const discountAmount = sumOf(discounts);
  const off = discountsOfLines({ lines: requested.lines, discounts });
  const untaxed = requested.lines.reduce(
    (rest, { amount, isUntaxed }, index) => (isUntaxed ? rest + amount - (off[index] ?? 0) : rest),
    0,
  );
  const net = sum - discountAmount - untaxed;
  const { tax, total } = taxed(Math.max(0, net), rateOf(subscription.customer));
  return { discounts, discountAmount, tax, total: total + untaxed + Math.min(0, net) };
}

/**
 * Leaves out usage that pays back more than the rest of the invoice costs. A later unit can make all units cheaper: the
 * next invoice takes that.
 */
export function fitting(
  subscription: Subscription,
  requested: Asked,
): { readonly lines: Line[]; readonly left: Line[] } {
  let rest = sumOf(requested.lines) - sumOf(discountsOf(subscription, requested));
  const left = requested.lines.filter((line) => {
    if (rest >= 0 || line.kind !== 'usage' || line.amount >= 0) return false;
    rest -= line.amount;
    return true;
  });
  return { lines: requested.lines.filter((line) => !left.includes(line)), left };
}

/** The pending items that a bill takes: a renewal those of its customer too, and those of subscriptions that have ended. */
function itemsFor(subscription: Subscription, { reason }: Asked): InvoiceItem[] {
  if (reason !== 'renewal' && reason !== 'final_usage') return [];
  return subscription.customer.items.filter(({ subscription: of, isInvoiced }) => {
    const isOfAny = reason === 'renewal' && (of === null || isTerminal(of));
    return !isInvoiced && (of === subscription || isOfAny);
  });
}

/** Creates an invoice with the unbilled usage; a total of 0 is paid at once. Null without anything to bill. */
export function issue(
  books: Books,
  subscription: Subscription,
  asked: Asked,
  { method = null, change = null }: Partial<Pick<Order, 'change'>> & { readonly method?: Method | null } = {},
): Invoice | null {
  const items = itemsFor(subscription, asked);
  const requested: Asked = { ...asked, lines: [...asked.lines, ...items.map(({ line }) => line)] };
  if (requested.lines.length === 0) return null;
  const { lines, left } = fitting(subscription, requested);
  if (lines.length === 0) {
    for (const line of left) {
      putOnInvoice(subscription, line);
      takeOffInvoice(subscription, line);
    }
    return null;
  }
  for (const item of items) {
    item.isInvoiced = true;
    reach(books, `item on ${asked.reason}${asked.lines.length === 0 ? ' alone' : ''}`, subscription.customer);
  }
  const { beginsPeriod = false, carriesOn, redemptions: _, ...made } = requested;
  const isDueLater = methodOf(subscription) === null && !beginsPeriod;
  // The rest of an interval after a pause is asked for.
  const finalizesAt = asked.reason === 'renewal' && carriesOn === undefined ? reviewEnd(subscription, asked.at) : null;
  const dueAt = isDueLater ? requested.at + netTermsOf(books, subscription.customer) * dayMs : requested.at;
  const known = {
    customer: subscription.customer,
    subscription,
    dueAt,
    finalizesAt,
    hasNumber: finalizesAt === null,
    ...draft(subscription, requested),
    ...made,
    lines,
  };
  for (const line of [...lines, ...left]) putOnInvoice(subscription, line);
  for (const line of left) {
    reach(books, 'usage that pays back more than it costs', subscription.customer);
    takeOffInvoice(subscription, line);
  }
  const invoice: Invoice = {
    ...known,
    status: finalizesAt === null ? 'open' : 'draft',
    attempts: 0,
    nextAt: null,
    usedBeforeRefund: 0,
    moneyBack: [],
    applied: 0,
    notes: [],
    payments: [],
  };
  if (lines.some(({ kind }) => kind === 'setup_fee')) subscription.setupFee = 0;
  // A change takes what it takes off when it is made.
  if (!beginsPeriod) for (const line of lines) if (line.kind === 'paused_time') subscription.kept += line.amount;
  subscription.customer.invoices.push(invoice);
  if (invoice.status === 'draft') {
    reach(books, 'draft of a renewal', subscription.customer);
    return invoice;
  }
  applyBalance(books, invoice);
  if (dueOf(invoice) === 0) pay(books, invoice, method, change);
  return invoice;
}

/** The end of the review of a renewal. Renewals to consolidate wait for the end of their day before it. */
function reviewEnd({ customer }: Subscription, at: number): number | null {
  const from = customer.consolidates ? (Math.floor(at / dayMs) + 1) * dayMs : at;
  const end = from + (customer.reviewHours ?? 0) * hourMs;
  return end === at ? null : end;
}

const paidFromBalance: readonly Invoice['reason'][] = ['renewal', 'usage', 'usage_threshold', 'final_usage', 'one_off'];

/** The balance of the customer pays what it can of an invoice that nobody has asked for. */
export function applyBalance(books: Books, invoice: Invoice): void {
  const { customer, reason } = invoice;
  const { balance: own } = customer;
  if (own === null || !paidFromBalance.includes(reason)) return;
  invoice.applied = Math.min(own.credited - own.debited, invoice.total);
  own.debited += invoice.applied;
  if (invoice.applied > 0) own.entries.push(['invoice', -invoice.applied]);
  if (invoice.applied > 0)
    reach(books, `${reason} paid by a balance${dueOf(invoice) === 0 ? '' : ' in part'}`, customer);
}

/** The units on its lines: of one usage meter, or of all. */
export function unitsOf({ lines }: Invoice, meter: string | null = null): number {
  const of = lines.flatMap(({ usage }) => usage ?? []).filter(({ price }) => meter === null || price.meter === meter);
  return of.reduce((sum, { used }) => sum + Number(used.units), 0);
}

/** Requests a charge when the current action is recorded. */
export function order(
  books: Books,
  invoice: Invoice,
  method: Method,
  { change = null, isOnRequest = false }: Partial<Pick<Order, 'change' | 'isOnRequest'>> = {},
): void {
  invoice.nextAt = null;
  books.orders.push({ invoice, method, change, isOnRequest });
}

/** Notes that subscriptions were paid for once. */
export function noteEverPaid(invoice: Invoice): void {
  for (const each of partsOfInvoice(invoice)) each.subscription.everPaid ||= paidOf(each) > 0;
}

/** Applies the consequences of a paid invoice. */
export function pay(books: Books, invoice: Invoice, method: Method | null, change: Order['change']): void {
  const [refunded, paid] = [refundedOf(invoice), paidOf(invoice)];
  invoice.status = refunded === 0 ? 'paid' : refunded < paid ? 'partially_refunded' : 'refunded';
  for (const note of invoice.notes) if (note.settle === 'offset' && note.status === 'issued') note.status = 'settled';
  invoice.nextAt = null;
  for (const each of partsOfInvoice(invoice)) settle(books, each, method, change);
}

function settle(books: Books, invoice: Invoice, method: Method | null, change: Order['change']): void {
  const { subscription } = invoice;
  change?.(invoice);
  subscription.settled += unitsOf(invoice, meterSlug);
  for (const [meter, account] of subscription.meters) account.settled += unitsOf(invoice, meter);
  if (invoice.reason === 'usage_threshold') askForThreshold(books, subscription);
  recover(books, subscription, method);
  grantAwaited(books, subscription);
  if (invoice.reason === 'purchase') {
    reach(books, 'pack paid', invoice.customer);
    grantPacks(books, invoice);
    if (isTopUp(invoice)) topUpPaid(books, invoice.customer);
    takeBackPacks(books, invoice);
  }
  if (invoice.reason !== 'subscription_start' || invoice.period === null || isTerminal(subscription)) return;
  // Credits granted before the payment are not granted again.
  if (!subscription.isInvoiced) grantPeriod(subscription, invoice.period, true, books.now);
}

/**
 * Grants what was bought: calls to the subscription that holds credits now, or else to the last one, and credits of a pool,
 * which may end, to the customer.
 */
function grantPacks(books: Books, invoice: Invoice): void {
  const { customer } = invoice;
  const holder = holderOf(customer) ?? customer.subscriptions.at(-1);
  const of = packOf(invoice);
  const bought = { kind: 'bought', invoice } as const;
  const quantity = sumOf(invoice.lines) / of.unitPrice;
  if (holder !== undefined) give(holder, { ...bought, expiresAt: null, issued: BigInt(quantity * of.calls) });
  for (const pool of customer.pools) {
    if (pool.slug !== of.pool) continue;
    const earlier = liveCredits(books, pool);
    const expiresAt = of.lasts === undefined ? null : boundary(books.now, of.lasts, 1);
    give({ credits: pool.credits }, { ...bought, expiresAt, issued: BigInt(quantity * of.credits) * smallestPerUnit });
    rollPacksOver(books, of, pool.credits, earlier);
  }
}

/** Moves what is left of earlier purchases of a pack into the time of the new one. It rolls over once. */
function rollPacksOver(books: Books, of: Pack, credits: Credit[], earlier: readonly Credit[]): void {
  if (of.lasts === undefined) return;
  const { rollover } = of.lasts;
  const expiresAt = boundary(books.now, of.lasts, rollover.periods);
  const same = inOrderOfUse(earlier).filter(({ invoice }) => invoice !== null && packOf(invoice) === of);
  const hasRolled = ({ from }: Credit) => from !== null;
  let room = BigInt(rollover.maximum) * smallestPerUnit - total(same.filter(hasRolled), ({ left }) => left);
  for (const credit of same) {
    const issued = most(0n, least(room, credit.left));
    if (hasRolled(credit) || issued === 0n || (credit.expiresAt ?? expiresAt) >= expiresAt) continue;
    room -= issued;
    credit.left -= issued;
    credit.takenBack += issued;
    const { kind, priority, invoice } = credit;
    give({ credits }, { issued, expiresAt, kind, priority, invoice, from: books.now });
    if (invoice !== null) reach(books, 'bought credits rolled over', invoice.customer);
  }
}

/** Whether an automatic top-up has asked for the purchase. */
export function isTopUp({ lines }: Invoice): boolean {
  return lines.some((line) => line.isTopUp === true);
}

/** Takes back the refunded share of what was bought, as far as it is neither used nor held. */
export function takeBackPacks(books: Books, invoice: Invoice): void {
  const { customer } = invoice;
  takeBackFrom(books, invoice, customer.subscriptions);
  for (const pool of customer.pools) takeBackFrom(books, invoice, [{ customer, credits: pool.credits, pool }]);
}

/** The accounts on which calls of the purchase may be, or its credits of a pool. */
function takeBackFrom(books: Books, invoice: Invoice, accounts: readonly (Subscription | PoolHolder)[]): void {
  const bought = accounts.flatMap((account) =>
    account.credits.filter((credit) => credit.invoice === invoice).map((credit) => ({ account, credit })),
  );
  const [first, ...transferred] = bought;
  if (first === undefined) return;
  const moved = total(transferred, ({ credit }) => credit.issued);
  const takenBack = total(bought, ({ credit }) => credit.takenBack) - moved;
  const refunded = nearest(
    first.credit.issued * BigInt(refundedOf(invoice)),
    BigInt(invoice.total - notedOf(invoice, 'offset')),
  );
  for (const { account, credit } of bought) {
    const left = hasEnded(credit, books.now) ? 0n : credit.left;
    const free = least(left, beside(books, account) ?? left);
    const amount = most(0n, least(refunded - takenBack, free));
    credit.left -= amount;
    credit.takenBack += amount;
  }
}

export function applyChange(books: Books, subscription: Subscription, terms: Terms): void {
  // A plan that stays as it is has its credits.
  const changesPlan = terms.plan !== subscription.plan || terms.quantity !== subscription.quantity;
  changeTerms(books, subscription, terms, books.now);
  const awaits = subscription.awaiting.some((each) => each === subscription.period);
  grantAwaited(books, subscription);
  if (!awaits && changesPlan) grantChange(subscription, books.now);
}

/** Grants the credits of periods that began without access and for which nothing is owed any more. */
export function grantAwaited(books: Books, subscription: Subscription): void {
  if (isTerminal(subscription) || !hasAccess(books, subscription)) return;
  const isDue = (period: Period) =>
    !invoicesOf(subscription).some((invoice) => invoice.period === period && isOwed(invoice));
  for (const period of subscription.awaiting.filter(isDue)) grantPeriod(subscription, period, false, books.now);
  subscription.awaiting = subscription.awaiting.filter((period) => !isDue(period));
}

/** Changes the plan. The usage of a plan with other terms for overage is billed before. */
export function changeTerms(books: Books, subscription: Subscription, terms: Terms, at: number): void {
  if (terms.plan.billsOverage !== subscription.plan.billsOverage) {
    const lines = usageLines(subscription, allUntil(at));
    takeMeasured(subscription, allUntil(at));
    const invoice = issue(books, subscription, { reason: 'final_usage', at, period: null, lines });
    if (invoice?.status === 'open') invoice.nextAt = books.now;
  }
  const last = subscription.holdings.at(-1);
  if (last !== undefined) last.end = at;
  // Boundaries of intervals that the plan before did not have are no work of this one.
  subscription.interimDone = Math.max(subscription.interimDone, at);
  subscription.holdings.push(holdingOf(terms, at));
  subscription.quantity = terms.quantity;
  subscription.addOns = terms.addOns ?? 0;
  subscription.plan = terms.plan;
  openPlanLimits(subscription);
}

/** A subscription without remaining debts recovers; unattempted invoices are attempted. */
export function recover(books: Books, subscription: Subscription, method: Method | null): void {
  const { status, arrears } = subscription;
  if (isInArrears(subscription)) return;
  if (arrears !== 'none') askForThreshold(books, subscription);
  subscription.arrears = 'none';
  if (status === 'incomplete') subscription.method ??= method;
  if (status === 'incomplete' || status === 'past_due' || status === 'unpaid') subscription.status = 'active';
  if (arrears !== 'unpaid') return;
  reach(books, 'unpaid and recovered', subscription.customer);
  for (const invoice of invoicesOf(subscription))
    if (isDunned(invoice) && invoice.status === 'open') {
      const collected = invoice.whole ?? invoice;
      collected.nextAt ??= books.now;
    }
}

/** Voids an invoice as if it had never been created: its usage is billed again. */
export function takeBack(books: Books, invoice: Invoice): void {
  invoice.status = 'void';
  invoice.nextAt = null;
  const { balance: own } = invoice.customer;
  if (own !== null && invoice.applied > 0) {
    own.credited += invoice.applied;
    own.entries.push(['voided_invoice', invoice.applied]);
  }
  invoice.applied = 0;
  for (const note of invoice.notes) if (note.settle === 'offset') note.status = 'void';
  if (invoice.reason === 'usage_threshold') askForThreshold(books, invoice.subscription);
  for (const { subscription, lines } of partsOfInvoice(invoice)) {
    for (const line of lines) takeOffInvoice(subscription, line);
    for (const item of invoice.customer.items) if (lines.includes(item.line)) item.isInvoiced = false;
  }
}

/** An invoice that is made with its money: a declined first payment is all that it leaves. Returns whether it was left so. */
export function leaveUnmade(invoice: Invoice | null): boolean {
  if (invoice?.status !== 'void') return false;
  const { customer } = invoice;
  customer.invoices.splice(customer.invoices.indexOf(invoice), 1);
  customer.declined += 1;
  return true;
}

export function methodOf({ method, customer }: Subscription): Method | null {
  return method ?? customer.defaultMethod;
}
