import { isDeepStrictEqual } from 'node:util';
import { type UsagePrice, usagePrices } from './catalogue-usage.ts';
import { share } from './oracle-arithmetic.ts';
import { chargeOf, measuredLines, type Taking } from './oracle-measured.ts';
import { openUsageStart, termsAt } from './oracle-periods.ts';
import { costOf, nothing, plus, type Used } from './oracle-pricing.ts';
import { type Invoice, invoicesOf, type Line, type OwnTermsChange, type Subscription } from './oracle-records.ts';
import type { MeteredLine, MeteredPeriod } from './oracle-records-usage.ts';
import { discountsOfLines, netTakenBack } from './oracle-tax.ts';

export function meter({ metered }: Subscription, { slug }: UsagePrice, used: Used): void {
  const known = metered.get(slug) ?? { fresh: nothing, late: new Map(), periods: new Map() };
  known.fresh = plus(known.fresh, used);
  metered.set(slug, known);
}

/** Notes usage that happened before the period in which it comes. */
export function noteLate({ metered, period }: Subscription, { slug }: UsagePrice, used: Used): void {
  const known = metered.get(slug) ?? { fresh: nothing, late: new Map(), periods: new Map() };
  const start = period?.start ?? 0;
  known.late.set(start, plus(known.late.get(start) ?? nothing, used));
  metered.set(slug, known);
}

/** The usage of a price that is on no invoice. */
export function openOf({ metered }: Subscription, { slug }: UsagePrice): Used {
  const { fresh = nothing, periods = new Map<number, MeteredPeriod>() } = metered.get(slug) ?? {};
  return [...periods.values()].reduce((sum, { released }) => plus(sum, released), fresh);
}

/** The units of a usage meter that are on no invoice. */
export function openUnits(subscription: Subscription, meterSlug: string): number {
  const prices = usagePrices.filter((price) => price.meter === meterSlug);
  return Number(prices.reduce((sum, price) => sum + openOf(subscription, price).units, 0n));
}

export function hasOpenUsage(subscription: Subscription): boolean {
  const open = usagePrices.map((price) => openOf(subscription, price));
  return subscription.measured.size > 0 || open.some(({ units, events }) => units > 0n || events > 0n);
}

/** Takes all usage until an instant. */
export function allUntil(at: number): Taking {
  return { takes: () => true, at };
}

/** The lines of a bill that takes the usage of some prices. */
export function usageLines(subscription: Subscription, taking: Taking): Line[] {
  const counted = usagePrices.filter(taking.takes).flatMap((price) => linesOf(subscription, price));
  const lines = [...counted, ...measuredLines(subscription, taking)];
  return lines.map((line) => (line.amount < 0 ? paidBack(subscription, line) : line));
}

/** A line that pays back does so after the discount: as much stays billed as one invoice would have billed. */
function paidBack(subscription: Subscription, line: Line): Line {
  const billed = invoicesOf(subscription)
    .filter(({ status }) => status !== 'void')
    .flatMap((invoice) => billedOf(invoice, line));
  const sum = (key: 'listed' | 'off' | 'net') => billed.reduce((total, each) => total + each[key], 0);
  const rates = new Set(billed.flatMap(({ listed, rate }) => (listed > 0 ? rate : [])));
  const listed = Math.max(0, sum('listed'));
  const left = Math.max(0, listed + line.amount);
  const [rate = 0, other] = rates;
  const isOfOneRate = rate !== null && other === undefined;
  const off = listed === 0 ? 0 : isOfOneRate ? share(left, rate, 100) : share(sum('off'), left, listed);
  const back = Math.max(0, Math.min(sum('net'), listed - sum('off') - (left - off)));
  // Nothing goes back if nothing became cheaper than what was billed.
  const amount = left === listed ? 0 : -back;
  return { ...line, amount, takenBack: amount - line.amount };
}

/** The part of an invoice that bills the usage period of a line. Several discounts have no common rate. */
function billedOf(invoice: Invoice, { usage }: Line) {
  const { lines, discounts: taken, discountAmount } = invoice;
  const discounts = discountsOfLines(invoice);
  const ofPercents = taken.reduce(
    (sum, { redemption, amount }) => sum + (redemption.discount.type === 'percent' ? amount : 0),
    0,
  );
  const [only] = taken;
  const ofOne = only?.redemption.discount.type === 'percent' ? Math.min(100, only.redemption.discount.amount) : 0;
  return lines.flatMap(({ amount, takenBack = 0, usage: other }, index) => {
    if (other === undefined || other.price !== usage?.price || other.start !== usage.start) return [];
    const own = discounts[index] ?? 0;
    return {
      listed: amount - takenBack,
      // A line that paid back gave its part of the discount back.
      off: (discountAmount === 0 ? 0 : share(own, ofPercents, discountAmount)) - takenBack,
      rate: taken.length > 1 ? null : ofOne,
      net: amount - own - netTakenBack(invoice, index),
    };
  });
}

function linesOf(subscription: Subscription, price: UsagePrice): Line[] {
  const metered = subscription.metered.get(price.slug);
  if (metered === undefined) return [];
  if (!subscription.plan.billsOverage) {
    const used = openOf(subscription, price);
    return used.units === 0n ? [] : [lineOf({ price, start: null, used, isWaived: true }, 0)];
  }
  const { fresh, periods } = metered;
  const present = openUsageStart(subscription, price);
  const known = (start: number) => periods.get(start) ?? { taken: nothing, released: nothing, amount: 0 };
  const earlier = [...periods.keys()].filter((start) => start !== present).toSorted((a, b) => a - b);
  const parts = [...earlier, present].flatMap((start): Line[] => {
    const terms = termsAt(subscription, price, start);
    const { taken, released, amount } = known(start);
    const isPresent = start === present;
    if (isPresent && !('pricing' in terms)) return [];
    const used = isPresent ? plus(released, fresh) : released;
    if (used.units === 0n && used.events === 0n) return [];
    const soFar = isPresent ? plus(taken, fresh) : taken;
    return [lineOf({ price, start, used, isWaived: false }, costOf(terms, soFar) - amount)];
  });
  const terms = termsAt(subscription, price, present);
  if ('pricing' in terms || fresh.units === 0n) return parts;
  return [lineOf({ price, start: null, used: fresh, isWaived: false }, costOf(terms, fresh)), ...parts];
}

/**
 * The lines of usage that came while a draft waited, and happened before its period: at the terms of the usage period
 * that had ended. If credits cover a part of the usage, they cover late usage last.
 */
export function lateLines(subscription: Subscription, { period, usageStarts = new Map() }: Invoice): Line[] {
  const lines = usagePrices.flatMap((price): Line[] => {
    const metered = subscription.metered.get(price.slug);
    const late = metered?.late.get(period?.start ?? 0);
    const start = usageStarts.get(price.slug);
    if (metered === undefined || late === undefined || start === undefined) return [];
    const { fresh, periods } = metered;
    // Usage of a voided bill waits for the next one.
    if ([...periods.values()].some(({ released }) => released.units > 0n || released.events > 0n)) return [];
    const used = less(fresh, late);
    if (used.units === 0n && used.events === 0n) return [];
    if (!subscription.plan.billsOverage) return [lineOf({ price, start: null, used, isWaived: true }, 0)];
    const terms = termsAt(subscription, price, start);
    if (!('pricing' in terms)) return [lineOf({ price, start: null, used, isWaived: false }, costOf(terms, used))];
    const { taken, amount } = periods.get(start) ?? { taken: nothing, amount: 0 };
    return [lineOf({ price, start, used, isWaived: false }, costOf(terms, plus(taken, used)) - amount)];
  });
  return lines.map((line) => (line.amount < 0 ? paidBack(subscription, line) : line));
}

function less(one: Used, other: Used): Used {
  const least = (a: bigint, b: bigint) => (a < b ? a : b);
  return {
    ...one,
    units: least(one.units, other.units),
    events: least(one.events, other.events),
    own: least(one.own, other.own),
  };
}

function lineOf(usage: MeteredLine, amount: number): Line {
  return { kind: 'usage', amount, usage };
}

/** Changes own terms. They hold for usage periods that begin then or later. */
export function changeOwnTerms({ ownTerms }: Subscription, changes: readonly OwnTermsChange[], from: number): void {
  for (const { slug, terms } of changes) {
    const spans = ownTerms.get(slug) ?? [];
    const last = spans.at(-1);
    const present = last?.until === null ? last : undefined;
    if (isDeepStrictEqual(present?.terms ?? null, terms)) continue;
    if (present !== undefined) present.until = from;
    ownTerms.set(slug, [...spans, ...(terms === null ? [] : [{ terms, from, until: null }])]);
  }
}

/** Puts a line on an invoice. */
export function putOnInvoice(subscription: Subscription, line: Line): void {
  const { metered } = subscription;
  const { usage, amount, takenBack = 0 } = line;
  if (usage === undefined) return;
  const { price, start, used, isWaived } = usage;
  const charge = chargeOf(subscription, line);
  if (charge !== undefined) charge.amount += amount - takenBack;
  const known = metered.get(price.slug);
  if (known === undefined) return;
  if (start === null) {
    const released = [...known.periods.values()].reduce((sum, each) => plus(sum, each.released), nothing);
    known.fresh = plus(known.fresh, isWaived ? plus(used, released, -1n) : used, -1n);
    if (!isWaived) return;
    for (const period of known.periods.values()) {
      period.taken = plus(period.taken, period.released, -1n);
      period.released = nothing;
    }
    return;
  }
  const period = known.periods.get(start) ?? { taken: nothing, released: nothing, amount: 0 };
  // All but the period's own void invoices is fresh.
  const fresh = plus(used, period.released, -1n);
  period.taken = plus(period.taken, fresh);
  period.released = nothing;
  period.amount += amount - takenBack;
  known.fresh = plus(known.fresh, fresh, -1n);
  known.periods.set(start, period);
}

/** Takes a line off an invoice: its units and its amount are of their own usage period again. */
export function takeOffInvoice(subscription: Subscription, line: Line): void {
  const { metered } = subscription;
  const { usage, amount, takenBack = 0 } = line;
  if (usage === undefined) return;
  const { price, start, used } = usage;
  const charge = chargeOf(subscription, line);
  if (charge !== undefined) {
    charge.amount -= amount - takenBack;
    charge.isReopened = true;
  }
  const known = metered.get(price.slug);
  if (known === undefined) return;
  const period = start === null ? undefined : known.periods.get(start);
  if (period === undefined) {
    known.fresh = plus(known.fresh, used);
    return;
  }
  period.released = plus(period.released, used);
  period.amount -= amount - takenBack;
}
