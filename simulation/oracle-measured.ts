import { isMeasured, type Meter, meters, priceFor, type UsagePrice, usagePrices } from './catalogue-usage.ts';
import { dayMs, hourMs, intervalAt, isSameInterval, type Span } from './oracle-arithmetic.ts';
import { anchorOf, nextUsageBoundary, openUsageStart, ownIntervalOf, termsAt } from './oracle-periods.ts';
import { costOf, nothing, type Used } from './oracle-pricing.ts';
import { askForThreshold, type Books, type Line, type Subscription } from './oracle-records.ts';
import type { Measured, MeasuredCharge, MeasuredEvent } from './oracle-records-usage.ts';

/**
 * Meters whose units are measured when a period is billed: the largest or the latest value, or a value that is held over
 * time. Each bill counts them again, from all events of the period.
 */

const measuredMeters = meters.filter(isMeasured);

/** The usage that a bill takes: of which prices, and until when. */
export interface Taking {
  readonly takes: (price: UsagePrice) => boolean;
  readonly at: number;
}

/** The price of the units: that of the plan, unless the period is billed in part at another one. */
export function measuredPriceOf({ plan, measured }: Subscription, { slug }: Meter): UsagePrice {
  const state = measured.get(slug);
  const begun = state?.charges.find(({ start }) => start === state.start);
  return begun?.price ?? priceFor(plan.rates, slug, {});
}

/** Adds an event to the usage period that is open when it comes. */
export function recordMeasured(
  books: Books,
  subscription: Subscription,
  meter: Meter,
  { date, amount }: Pick<MeasuredEvent, 'date' | 'amount'>,
): void {
  const { period, measured } = subscription;
  if (period === null) return;
  const known = measured.get(meter.slug);
  const price = measuredPriceOf(subscription, meter);
  const state = known ?? { start: startOf(subscription, price), opening: 0, events: [], daysFrom: null, charges: [] };
  measured.set(meter.slug, state);
  state.daysFrom ??= wholeOf(subscription, price).start;
  const counted = Math.min(date, books.now);
  state.events.push({ date: counted, at: Math.min(counted, period.end), amount });
  askForThreshold(books, subscription);
}

/** Whether the price has usage periods of its own within the billing periods. A trial is one period. */
function hasOwnPeriods(subscription: Subscription, price: UsagePrice): boolean {
  const { plan, period } = subscription;
  const own = ownIntervalOf(subscription, price);
  return own !== null && !period?.isTrial && !isSameInterval(plan, own);
}

function startOf(subscription: Subscription, price: UsagePrice): number {
  return hasOwnPeriods(subscription, price) ? openUsageStart(subscription, price) : (subscription.period?.start ?? 0);
}

/** The interval for which the price is: its own, or that of the plan. */
function wholeOf(subscription: Subscription, price: UsagePrice): Span {
  const { plan, period } = subscription;
  const own = ownIntervalOf(subscription, price);
  const from = anchorOf(subscription);
  if (own !== null && hasOwnPeriods(subscription, price))
    return intervalAt(from, own, nextUsageBoundary(subscription) - 1);
  if (period === null) return { start: 0, end: 0 };
  if (period.isTrial) return period;
  return intervalAt(from, plan, Math.max(period.start, period.wholeStart));
}

/** The units of the open usage period until an instant. */
function unitsUntil({ aggregationType, proration = 'none' }: Meter, state: Measured, until: number, whole: Span): Used {
  const { start, opening, events, daysFrom } = state;
  const inOrder = events.toSorted((one, other) => one.date - other.date);
  const amounts = inOrder.map(({ amount }) => amount);
  // The value from each instant on.
  const isSet = aggregationType === 'unit_hours';
  const values: [at: number, value: number][] = [[start, opening]];
  for (const { at, amount } of inOrder)
    values.push([Math.max(start, at), isSet ? amount : (values.at(-1)?.[1] ?? 0) + amount]);
  const held = values.map(
    ([at, value], index) => [value, Math.min(until, values[index + 1]?.[0] ?? until) - at] as const,
  );
  const valueTime = held.reduce((sum, [value, time]) => sum + BigInt(value) * BigInt(time), 0n);
  const last = values.at(-1)?.[1] ?? 0;
  switch (aggregationType) {
    case 'max':
      return unitsOf(BigInt(Math.max(0, ...amounts)), 1n);
    case 'latest':
      return unitsOf(BigInt(amounts.at(-1) ?? 0), 1n);
    case 'unit_hours':
      return unitsOf(valueTime, BigInt(hourMs));
    default:
      if (proration === 'none') return unitsOf(BigInt(last), 1n);
      if (proration === 'second') return unitsOf(valueTime, BigInt(whole.end - whole.start));
      return unitsByDay(state, daysFrom ?? whole.start, until, whole);
  }
}

/** The sum of the values at the end of each day, as a share of the days of the interval. The last one may be short. */
function unitsByDay({ start, opening, events }: Measured, from: number, until: number, whole: Span): Used {
  let sum = 0;
  // A long first period begins before the interval, at the same rate.
  const first = from - Math.ceil(Math.max(0, from - start) / dayMs) * dayMs;
  for (let day = first; day < whole.end; day += dayMs) {
    const end = Math.min(day + dayMs, whole.end);
    if (end <= start || end > until) continue;
    const before = events.filter(({ at }) => Math.max(start, at) < end);
    sum += before.reduce((value, { amount }) => value + amount, opening);
  }
  return unitsOf(BigInt(sum), BigInt(Math.ceil((whole.end - whole.start) / dayMs)));
}

/** Less than nothing is nothing. */
function unitsOf(units: bigint, per: bigint): Used {
  return units > 0n ? { ...nothing, units, per } : nothing;
}

/** A usage period that a bill takes, with its units so far, and what is billed of it. */
interface Part extends Pick<MeasuredCharge, 'price' | 'start' | 'used'> {
  readonly state: Measured;
  readonly charge: MeasuredCharge | null;
  readonly due: number;
}

/** The open usage periods whose prices the bill takes, and earlier ones of which a bill was taken back. */
function partsOf(subscription: Subscription, { takes, at }: Taking): Part[] {
  return measuredMeters.flatMap((meter): Part[] => {
    const state = subscription.measured.get(meter.slug);
    const price = measuredPriceOf(subscription, meter);
    if (state === undefined || !takes(price)) return [];
    const until = Math.max(
      Math.min(at, subscription.period?.end ?? at),
      ...state.events.map((event) => Math.max(state.start, event.at)),
    );
    const used = unitsUntil(meter, state, until, wholeOf(subscription, price));
    const { start, charges } = state;
    const open = { price, start, used, charge: charges.find((each) => each.start === start) ?? null };
    const earlier = charges.filter((each) => each.start !== start && each.isReopened);
    return [...earlier.map((charge) => ({ ...charge, charge })), open].map((part) => {
      const billed = part.charge === null ? 0 : part.charge.amount + part.charge.waived;
      const due = costOf(termsAt(subscription, part.price, part.start), part.used) - billed;
      return { price: part.price, start: part.start, used: part.used, charge: part.charge, state, due };
    });
  });
}

/** The lines of a bill. A plan that does not bill usage has none. */
export function measuredLines(subscription: Subscription, taking: Taking): Line[] {
  if (!subscription.plan.billsOverage) return [];
  return partsOf(subscription, taking).flatMap(({ price, start, due }): Line[] => {
    const usage = { price, start, used: nothing, isWaived: false };
    return due === 0 ? [] : [{ kind: 'usage', amount: due, usage }];
  });
}

/**
 * Notes that a bill takes them, before its lines are on an invoice: they keep their price. A plan that does not bill
 * usage waives what it costs.
 */
export function takeMeasured(subscription: Subscription, taking: Taking): void {
  if (!subscription.plan.billsOverage) takeEvents(subscription, taking);
  for (const { state, charge, price, start, used, due } of partsOf(subscription, taking)) {
    const taken = charge ?? { price, start, used, amount: 0, waived: 0, isReopened: false };
    if (charge === null) state.charges.push(taken);
    taken.used = used;
    taken.isReopened = false;
    if (!subscription.plan.billsOverage) taken.waived += due;
  }
}

/** Events whose units pools have paid for leave no line where usage is not billed. */
function takeEvents({ metered }: Subscription, { takes }: Taking): void {
  for (const price of usagePrices.filter(takes)) {
    const known = metered.get(price.slug);
    if (known?.fresh.units === 0n) known.fresh = nothing;
  }
}

/** The meters whose open usage periods a bill takes to their ends. */
export function endingMeters(subscription: Subscription, { takes }: Pick<Taking, 'takes'>): Meter[] {
  return measuredMeters.filter((meter) => takes(measuredPriceOf(subscription, meter)));
}

/** Ends the open usage periods of meters. The next ones begin then, with the value that is held. */
export function endMeasured({ measured }: Subscription, ending: readonly Meter[], at: number): void {
  for (const meter of ending) {
    const state = measured.get(meter.slug);
    if (state === undefined) continue;
    const amounts = state.events.toSorted((one, other) => one.date - other.date).map(({ amount }) => amount);
    const isHeld = meter.aggregationType === 'unit_hours' || meter.recurring === true;
    const sum = amounts.reduce((total, amount) => total + amount, state.opening);
    const last = meter.aggregationType === 'unit_hours' ? (amounts.at(-1) ?? state.opening) : sum;
    state.opening = isHeld ? last : 0;
    state.start = at;
    state.events = [];
    state.daysFrom = null;
  }
}

/** The charge of a line's usage period. */
export function chargeOf({ measured }: Subscription, { usage }: Line): MeasuredCharge | undefined {
  if (usage === undefined) return undefined;
  return measured
    .get(usage.price.meter)
    ?.charges.find(({ price, start }) => price === usage.price && start === usage.start);
}
