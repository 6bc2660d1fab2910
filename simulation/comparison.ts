import { addOn, limitOf } from './catalogue.ts';
import { meterSlug, meters, usagePrices } from './catalogue-usage.ts';
import { total } from './oracle-arithmetic.ts';
import { attemptLines } from './oracle-attempts.ts';
import { unitsOf } from './oracle-billing.ts';
import { claimLine } from './oracle-claims.ts';
import { creditLine } from './oracle-credits.ts';
import { holdLine } from './oracle-holds.ts';
import { limitLines } from './oracle-limits.ts';
import { openOf, openUnits } from './oracle-metering.ts';
import { poolCreditLine } from './oracle-pools.ts';
import {
  type Books,
  type Customer,
  type Invoice,
  isTerminal,
  type Note,
  notedOf,
  type Payment,
  paidOf,
  refundedOf,
  type Subscription,
} from './oracle-records.ts';
import { discountsOfLines, spreadTax } from './oracle-tax.ts';
import { topUpLines } from './oracle-top-ups.ts';
import { usersLines } from './oracle-usage.ts';
import { type Picture, pictureOf } from './reality.ts';

/** The records that the service should have, in the lines of `readReality`. */
export function expectedOf(books: Books): Picture {
  const everybody = attemptLines(books, null).map((line) => ({ name: 'everybody', line: { ...line } }));
  const told = books.customers.flatMap((customer) => {
    const { name } = customer;
    const payments = customer.invoices.flatMap((invoice) => invoice.payments);
    return [
      ...customer.subscriptions.map((each) => ({ name, line: subscriptionLine(books, each) })),
      ...[...customer.invoices, ...customer.drafts].map((each) => ({ name, line: invoiceLine(each) })),
      ...customer.items.flatMap(({ line, isInvoiced }) => (isInvoiced ? [] : { name, line: { item: line.amount } })),
      ...customer.invoices.flatMap(({ notes }) => notes.map((each) => ({ name, line: noteLine(each) }))),
      ...(customer.balance === null ? [] : [{ name, line: { ...customer.balance } }]),
      ...(payments.length === 0 && customer.declined === 0
        ? []
        : [{ name, line: paymentLine(payments, customer.declined) }]),
      ...customer.waiting.credits.map((each) => ({ name, line: creditLine(null, each, books.now) })),
      ...customer.subscriptions.flatMap((subscription) =>
        subscription.credits.map((each) => ({ name, line: creditLine(subscription, each, books.now) })),
      ),
      ...customer.pools.flatMap(({ slug, credits }) =>
        credits.map((each) => ({ name, line: poolCreditLine(customer, slug, each, books.now) })),
      ),
      ...customer.subscriptions.flatMap((subscription) =>
        [...subscription.claims].map((each) => ({ name, line: claimLine(subscription, each) })),
      ),
      ...customer.subscriptions.flatMap((each) => meterLines(each).map((line) => ({ name, line }))),
      ...customer.subscriptions.flatMap((each) => usersLines(books, each).map((line) => ({ name, line: { ...line } }))),
      ...customer.holds.map((each) => ({ name, line: holdLine(each, books.now) })),
      ...limitLines(customer).map((line) => ({ name, line: { ...line } })),
      ...topUpLines(books, customer).map((line) => ({ name, line: { ...line } })),
      { name, line: { methods: customer.methods.length } },
      ...attemptLines(books, name).map((line) => ({ name, line: { ...line } })),
    ];
  });
  return pictureOf([...told, ...everybody]);
}

function subscriptionLine({ now }: Books, each: Subscription) {
  const settlements = each.customer.holds.filter(
    ({ subscription, price, settled }) => subscription === each && price.meter === meterSlug && settled,
  );
  const live = each.credits.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  return {
    subscription: each.plan.slug,
    status: each.status,
    quantity: each.quantity,
    addOns: isTerminal(each) ? 0 : each.addOns,
    start: each.period?.start ?? null,
    end: each.period?.end ?? null,
    trial: each.trialEnd,
    anchor: each.anchor,
    cancelAt: each.cancelAt,
    canceledAt: each.canceledAt,
    reason: each.reason,
    resumesAt: each.resumesAt,
    kept: each.kept,
    isToChange: each.scheduled !== null,
    discounts: isTerminal(each) ? [] : each.discounts.flatMap(({ discount, isOff }) => (isOff ? [] : discount.code)),
    granted: Number(total(each.credits, ({ issued }) => issued)),
    used: each.used,
    covered: each.covered,
    settled: each.settled,
    pooled: each.pooled,
    beyond: each.beyond,
    left: Number(total(live, ({ left }) => left)),
    unbilled: openUnits(each, meterSlug),
    events: each.events.size + settlements.length,
    consumed: [...each.events.values(), ...settlements.map((hold) => hold.settled ?? 0)].reduce(
      (sum, one) => sum + one,
      0,
    ),
    claims: each.claims.size,
    limit: isTerminal(each) ? null : (each.ownLimit ?? Math.max(limitOf(each.plan), each.addOns > 0 ? addOn.limit : 0)),
  };
}

/** The meters without credits that were used. */
function meterLines(each: Subscription) {
  const of = each.customer.subscriptions.indexOf(each);
  return meters.flatMap(({ slug: meter }) => {
    const account = each.meters.get(meter);
    if (account === undefined) return [];
    const open = usagePrices.filter((price) => price.meter === meter).map((price) => openOf(each, price));
    return {
      meter,
      of,
      used: account.used,
      settled: account.settled,
      pooled: account.pooled,
      open: openUnits(each, meter),
      openEvents: Number(open.reduce((sum, { events }) => sum + events, 0n)),
      openOwn: String(open.reduce((sum, { own }) => sum + own, 0n)),
      events: account.events.size,
      stored: [...account.events.values()].reduce((sum, { units }) => sum + units, 0),
      from: each.measured.get(meter)?.start ?? null,
      billed: each.measured.get(meter)?.charges.reduce((sum, { amount }) => sum + amount, 0) ?? 0,
    };
  });
}

function invoiceLine(each: Invoice) {
  const discounts = discountsOfLines(each);
  const taxes = spreadTax(each);
  return {
    invoice: each.reason,
    at: each.at,
    due: each.hasNumber || each.whole ? each.dueAt : null,
    status: each.status,
    total: each.total,
    discount: each.discountAmount,
    discounts: each.discounts.map(({ redemption, amount }) => `${redemption.discount.code} ${amount}`),
    tax: each.tax,
    paid: paidOf(each),
    refunded: refundedOf(each),
    credited: each.moneyBack.reduce((sum, money) => sum + money, 0) + notedOf(each),
    applied: each.applied,
    offset: notedOf(each, 'offset'),
    toBalance: notedOf(each, 'balance'),
    attempts: each.attempts,
    nextAt: each.nextAt,
    // The lines of a consolidated invoice are those of its parts.
    lines: each.parts
      ? null
      : each.lines.map(({ amount }, index) => [amount, discounts[index], taxes[index]].join(' ')).sort(),
    units: unitsOf(each, meterSlug),
    others: unitsOf(each) - unitsOf(each, meterSlug),
  };
}

function noteLine({ settle, status, total, discount, tax }: Note) {
  return { note: settle, status, total, discount, tax };
}

function paymentLine(payments: readonly Payment[], declined: number) {
  const by = (wanted: Payment['status']) => payments.filter(({ status }) => status === wanted);
  const succeeded = by('succeeded');
  return {
    payments: succeeded.length === 0 ? null : succeeded.reduce((sum, { amount }) => sum + amount, 0),
    succeeded: succeeded.length,
    failed: by('failed').length + declined,
    others: by('processing').length,
    refunded: payments.reduce((sum, { refunded }) => sum + refunded, 0),
    refunding: 0,
  };
}

/** The differences of two pictures as lines: missing and unexpected ones. */
export function differences(expected: Picture, actual: Picture): string[] {
  const names = [...new Set([...expected.keys(), ...actual.keys()])];
  return names.flatMap((name) => {
    const [should, is] = [sorted(expected.get(name)), sorted(actual.get(name))];
    if (should.length === is.length && should.every((line, index) => line === is[index])) return [];
    const lacking = without(should, is).map((line) => `${name} should have ${line}`);
    return [...lacking, ...without(is, should).map((line) => `${name} has         ${line}`)];
  });
}

function sorted(lines: readonly string[] = []): string[] {
  return [...lines].sort();
}

/** The lines missing in the others, counting duplicates. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Compares the expected charges and refunds of each customer with the network's. */
export function networkDifferences(
  customers: readonly Customer[],
  totals: ReadonlyMap<string, { taken: number; returned: number }>,
): string[] {
  return customers.flatMap(({ name, invoices }) => {
    const charges = invoices.flatMap(({ payments }) => payments.filter(({ method }) => method !== null));
    const taken = charges.reduce((sum, { status, amount }) => sum + (status === 'succeeded' ? amount : 0), 0);
    const returned = charges.reduce((sum, { refunded }) => sum + refunded, 0);
    const has = totals.get(name) ?? { taken: 0, returned: 0 };
    if (has.taken === taken && has.returned === returned) return [];
    return [
      `the network should have taken ${taken} from ${name} and returned ${returned}; it took ${has.taken} and returned ${has.returned}`,
    ];
  });
}
