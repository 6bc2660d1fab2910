import { isDeepStrictEqual } from 'node:util';
import { type Interval, ownIntervals, type Terms, type UsagePrice, usagePrices } from './catalogue-usage.ts';
import { intervalAt, isSameInterval, share } from './oracle-arithmetic.ts';
import { costOf, nothing, plus, type Used } from './oracle-pricing.ts';
import {
  type Invoice,
  invoicesOf,
  isBooked,
  isCurrent,
  type Line,
  type OwnTermsChange,
  type Subscription,
} from './oracle-records.ts';
import { spread } from './oracle-tax.ts';

/**
 * Usage that no credit covers, by price. With a model a price is a function of all units of its usage period: a bill is
 * worth what they cost so far, less what was billed.
 */
export interface Metered {
  /** On no invoice yet, and of no usage period. */
  fresh: Used;
  /** By the start of the usage period. */
  readonly periods: Map<number, MeteredPeriod>;
}

interface MeteredPeriod {
  /** All that was ever billed of the period. */
  taken: Used;
  /** The part of that which is on no invoice any more. */
  released: Used;
  /** The amount on invoices. */
  amount: number;
}

/** The usage of a line. */
export interface MeteredLine {
  readonly price: UsagePrice;
  /** The start of its usage period. Null: each unit is priced by itself, or the plan does not bill it. */
  readonly start: number | null;
  readonly used: Used;
  readonly isWaived: boolean;
}

export function meter({ metered }: Subscription, { slug }: UsagePrice, used: Used): void {
  const known = metered.get(slug) ?? { fresh: nothing, periods: new Map() };
  known.fresh = plus(known.fresh, used);
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
  return open.some(({ units, events }) => units > 0n || events > 0n);
}

/** The lines of a bill that takes the usage of some prices. */
export function usageLines(subscription: Subscription, takes: (price: UsagePrice) => boolean = () => true): Line[] {
  const lines = usagePrices.filter(takes).flatMap((price) => linesOf(subscription, price));
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
  const off = other === undefined ? share(left, rate, 100) : share(sum('off'), left, listed);
  const back = Math.max(0, Math.min(sum('net'), listed - sum('off') - (left - off)));
  // Nothing goes back if nothing became cheaper than what was billed.
  const amount = left === listed ? 0 : -back;
  return { ...line, amount, takenBack: amount - line.amount };
}

/** The part of an invoice that bills the usage period of a line. */
function billedOf({ lines, discount, discountAmount }: Invoice, { usage }: Line) {
  const discounts = spread(
    discountAmount,
    lines.map(({ amount }) => amount),
  );
  return lines.flatMap(({ amount, takenBack = 0, usage: other }, index) => {
    if (other === undefined || other.price !== usage?.price || other.start !== usage.start) return [];
    const rate = discount?.type === 'percent' ? Math.min(100, discount.amount) : 0;
    const own = discounts[index] ?? 0;
    return { listed: amount - takenBack, off: takenBack + (rate > 0 ? own : 0), rate, net: amount - own };
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
  const present = startOfUsage(subscription, price);
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

function lineOf(usage: MeteredLine, amount: number): Line {
  return { kind: 'usage', amount, usage };
}

/** The terms of a usage period: those in force at its start. */
function termsAt({ ownTerms }: Subscription, { slug, terms }: UsagePrice, start: number): Terms {
  const own = ownTerms.get(slug) ?? [];
  return own.find(({ from, until }) => from <= start && (until === null || start < until))?.terms ?? terms;
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
export function putOnInvoice({ metered }: Subscription, { usage, amount, takenBack = 0 }: Line): void {
  if (usage === undefined) return;
  const { price, start, used, isWaived } = usage;
  const known = metered.get(price.slug);
  if (known === undefined) return;
  if (start === null) {
    known.fresh = isWaived ? nothing : plus(known.fresh, used, -1n);
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
export function takeOffInvoice({ metered }: Subscription, { usage, amount, takenBack = 0 }: Line): void {
  if (usage === undefined) return;
  const { price, start, used } = usage;
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

/** The instant from which the intervals of a subscription count. */
export function anchorOf({ anchor, trialEnd }: Subscription): number {
  return Math.max(anchor, trialEnd ?? anchor);
}

/** The next instant within its period at which an own interval of usage ends; null: none. Not while it is paused. */
export function interimAt(each: Subscription): number | null {
  return isCurrent(each) && !isBooked(each) ? nextInterim(each, each.period) : null;
}

function nextInterim(each: Subscription, period: Subscription['period']): number | null {
  const { plan, interimDone } = each;
  if (period === null || period.isTrial) return null;
  const after = Math.max(period.start, interimDone);
  const ends = ownIntervals
    .filter((interval) => !isSameInterval(plan, interval))
    .map((interval) => intervalAt(anchorOf(each), interval, after).end);
  const next = Math.min(...ends);
  return next < period.end ? next : null;
}

/** Whether usage of the price is billed by an interval of its own: not on a plan that does not bill it. */
function ownIntervalOf({ plan }: Subscription, { interval }: UsagePrice): Interval | null {
  return plan.billsOverage ? interval : null;
}

/** Whether a usage period of the price ends at an instant within the billing period, or at its end. */
export function endsUsage(subscription: Subscription, price: UsagePrice, at: number): boolean {
  const { period, plan } = subscription;
  const isEnd = at === period?.end;
  const interval = ownIntervalOf(subscription, price);
  if (interval === null || isSameInterval(plan, interval)) return isEnd;
  return intervalAt(anchorOf(subscription), interval, at).start === at;
}

/** The start of the usage period that is open. It stays open in a pause. */
function startOfUsage(subscription: Subscription, price: UsagePrice): number {
  const { period, pausedParts, status, createdAt, startsAt } = subscription;
  const interval = ownIntervalOf(subscription, price);
  if (interval === null) return period?.start ?? 0;
  const whole = status === 'paused' ? (pausedParts.at(-1)?.period ?? period) : period;
  const next = nextInterim(subscription, whole) ?? whole?.end ?? 0;
  return Math.max(intervalAt(anchorOf(subscription), interval, next - 1).start, startsAt ?? createdAt);
}
