import type { PlanLimit } from './catalogue.ts';
import { smallestPerUnit } from './catalogue-pools.ts';
import type { UsagePrice } from './catalogue-usage.ts';
import { calendarStart, total } from './oracle-arithmetic.ts';
import { statusAt } from './oracle-holds.ts';
import { costOf, nothing, plus, type Used } from './oracle-pricing.ts';
import { type Books, type Customer, isTerminal, type Period, reach, type Subscription } from './oracle-records.ts';

/** Limits of what a customer uses: each is compared with a plain sum of all uses since it was set. */

export interface Limit {
  readonly setBy: 'seller' | 'customer' | 'plan';
  /** The subscription that a limit of a plan counts, and whose plan says amount and action. Else null. */
  readonly subscription: Subscription | null;
  /** Null: all meters, and usage with any label. */
  readonly meter: string | null;
  /** The pool whose payments it counts, in place of a meter; null: none. */
  readonly pool: string | null;
  readonly label: string | null;
  readonly period: 'day' | 'week' | 'month' | 'billing_period';
  readonly unit: 'units' | 'money';
  /** A limit of a pool has its smallest units. */
  amount: bigint;
  action: 'block' | 'notify';
  /** The uses of its customer that came before it. */
  readonly since: number;
  /** The periods whose use has changed in this action, and the thresholds that were reached in each with an amount. */
  readonly touched: Set<PeriodKey>;
  readonly reached: Map<PeriodKey, Set<string>>;
}

type PeriodKey = symbol | string;

/** As much as no use reaches, also in smallest units of a pool. */
const noAmount = 10n ** 40n;

/** The percents of an amount at which an event says so: 100 by another one. */
export const thresholds = [50, 80, 100] as const;

export interface Spend {
  readonly subscription: Subscription;
  /** The billing period in which it came. */
  readonly period: symbol;
  readonly start: number;
  readonly at: number;
  readonly meter: string;
  /** Null: it costs nothing. */
  readonly price: UsagePrice | null;
  readonly used: Used;
  /** The pool that may pay for it, and the smallest units that it pays; null: none may. */
  readonly drawn: Drawn | null;
  readonly label: string | null;
}

export interface Drawn {
  readonly pool: string;
  readonly amount: bigint;
}

export function spendOf(
  { now }: Books,
  subscription: Subscription,
  use: Pick<Spend, 'meter' | 'price' | 'label' | 'drawn'> & Partial<Used>,
): Spend {
  const { meter, price, label, drawn, ...used } = use;
  const { period } = subscription;
  const start = period?.start ?? 0;
  const known = { subscription, period: markOf(period), start, at: now };
  return { ...known, meter, price, label, drawn, used: { ...nothing, ...used } };
}

/** One for each billing period, whatever its end becomes. */
function markOf(period: Period | null): symbol {
  if (period === null) return Symbol();
  period.mark ??= Symbol();
  return period.mark;
}

function isCounted(limit: Limit, spend: Pick<Spend, 'meter' | 'label' | 'subscription' | 'drawn'>): boolean {
  const { meter, pool, label, subscription } = limit;
  return (
    (meter === null || meter === spend.meter) &&
    (pool === null || pool === spend.drawn?.pool) &&
    (label === null || label === spend.label) &&
    (subscription === null || subscription === spend.subscription)
  );
}

/** Whether a limit counts what the use of a subscription draws from a pool, with any label. */
export function isLimitedIn({ limits }: Customer, of: Subscription, pool: string): boolean {
  return limits.some((each) => each.pool === pool && (each.subscription === null || each.subscription === of));
}

/** The present terms. A limit of a plan that is left, or in whose place the seller has set one, refuses nothing. */
function termsOf({ limits }: Customer, limit: Limit): Pick<Limit, 'amount' | 'action'> {
  const { subscription } = limit;
  if (subscription === null) return limit;
  const { plan, quantity } = subscription;
  const isReplaced = limits.some((each) => each.setBy === 'seller' && keyOfLimit(each) === keyOfLimit(limit));
  const given = plan.limits?.find((each) => keyOfLimit(each) === keyOfLimit(limit));
  if (isTerminal(subscription) || isReplaced || given === undefined) return { amount: noAmount, action: 'notify' };
  return { amount: amountOf(given) * BigInt(quantity), action: given.action };
}

function amountOf({ pool, amount }: PlanLimit): bigint {
  return BigInt(amount) * (pool === undefined ? 1n : smallestPerUnit);
}

/** Opens the limits of the plan of a subscription. They stay, and go on counting, whatever plan follows. */
export function openPlanLimits(subscription: Subscription): void {
  const { customer, plan } = subscription;
  for (const terms of plan.limits ?? []) {
    const isOpen = customer.limits.some(
      (each) => each.subscription === subscription && keyOfLimit(each) === keyOfLimit(terms),
    );
    if (isOpen) continue;
    const fresh = { since: customer.spends.length, touched: new Set<PeriodKey>(), reached: new Map() };
    const { meter, pool = null, period, unit, action } = terms;
    const same = { meter, pool, label: null, period, unit, action } as const;
    customer.limits = [...customer.limits, { ...same, amount: amountOf(terms), setBy: 'plan', subscription, ...fresh }];
  }
}

/** The key of the period in which a limit counts a use. */
function periodKey(limit: Limit, { period, at }: Pick<Spend, 'period' | 'at'>): PeriodKey {
  return limit.period === 'billing_period' ? period : String(calendarStart({ unit: limit.period, count: 1 }, at));
}

function sumOf(limit: Limit, spends: readonly Pick<Spend, 'price' | 'used' | 'drawn'>[]): bigint {
  if (limit.unit === 'units') return unitsOf(limit, spends);
  const costs = [...Map.groupBy(spends, ({ price }) => price)].map(([price, each]) => {
    if (price === null) return 0n;
    const used = each.reduce((all, one) => plus(all, one.used), nothing);
    return BigInt(costOf(price.terms, used));
  });
  return total(costs, (cost) => cost);
}

function unitsOf({ pool }: Limit, spends: readonly Pick<Spend, 'used' | 'drawn'>[]): bigint {
  return total(spends, ({ used, drawn }) => (pool === null ? used.units : (drawn?.amount ?? 0n)));
}

/** The uses that a limit counts together with another one. */
function countedWith(customer: Customer, limit: Limit, spend: Spend): Spend[] {
  const key = periodKey(limit, spend);
  return customer.spends.slice(limit.since).filter((each) => isCounted(limit, each) && periodKey(limit, each) === key);
}

/** Whether a use fits into every blocking limit, beside open holds. One that costs nothing fits. */
export function fits(books: Books, spend: Spend): boolean {
  const { now } = books;
  const { customer } = spend.subscription;
  const open = customer.holds
    .filter((hold) => statusAt(hold, now) === 'open')
    .map((hold) => ({
      ...hold,
      meter: hold.price.meter,
      used: { ...nothing, units: BigInt(hold.amount), events: 1n },
      drawn: hold.pool === null ? null : { pool: hold.pool.slug, amount: hold.poolAmount },
    }));
  const refusing = customer.limits.filter((limit) => {
    const { amount, action } = termsOf(customer, limit);
    if (action === 'notify' || !isCounted(limit, spend)) return false;
    const isOfAny = limit.period !== 'billing_period';
    const held = open.filter((hold) => isCounted(limit, hold) && (isOfAny || hold.subscription === spend.subscription));
    const before = [...countedWith(customer, limit, spend), ...held];
    const after = sumOf(limit, [...before, spend]);
    return after > amount && after > sumOf(limit, before);
  });
  if (refusing.some(({ pool }) => pool !== null)) reach(books, 'use refused by a limit of a pool', customer);
  return refusing.length === 0;
}

/** Counts a use. `isChecked`: it had to fit, so it is beyond no limit. */
export function count(books: Books, spend: Spend, isChecked = false): void {
  const { customer } = spend.subscription;
  const counting = customer.limits.filter((limit) => isCounted(limit, spend));
  const beyond = counting.filter((limit) => {
    const { amount, action } = termsOf(customer, limit);
    if (isChecked || action !== 'block') return false;
    const before = countedWith(customer, limit, spend);
    const after = sumOf(limit, [...before, spend]);
    return after > amount && after > sumOf(limit, before);
  });
  for (const limit of counting) limit.touched.add(periodKey(limit, spend));
  customer.spends.push(spend);
  if (beyond.length === 0) return;
  reach(books, `use beyond a limit${beyond.some(({ pool }) => pool !== null) ? ' of a pool' : ''}`, customer);
  spend.subscription.beyond += 1;
}

/** Notes the thresholds that are reached after an action, each once in a period of a limit and with an amount. */
export function noteReached({ customers }: Books): void {
  for (const customer of customers)
    for (const limit of customer.limits) {
      for (const { key, used } of countersOf(customer, limit)) {
        if (!limit.touched.has(key)) continue;
        const { amount } = termsOf(customer, limit);
        const reached = limit.reached.get(key) ?? new Set();
        limit.reached.set(key, reached);
        for (const percent of thresholds) {
          const cause = `${amount} ${percent}`;
          if (used * 100n < amount * BigInt(percent) || reached.has(cause)) continue;
          reached.add(cause);
          customer.reached[percent === 100 ? 'limits' : 'thresholds'] += 1;
        }
      }
      limit.touched.clear();
    }
}

/** The use of a limit in each period. */
function countersOf(customer: Customer, limit: Limit) {
  const counted = customer.spends.slice(limit.since).filter((spend) => isCounted(limit, spend));
  return [...Map.groupBy(counted, (spend) => periodKey(limit, spend))].map(([key, spends]) => ({
    key,
    start: limit.period === 'billing_period' ? (spends[0]?.start ?? 0) : Number(key),
    units: unitsOf(limit, spends),
    used: sumOf(limit, spends),
  }));
}

export type LimitTerms = Pick<Limit, 'setBy' | 'meter' | 'pool' | 'label' | 'period' | 'unit' | 'amount' | 'action'>;
type LimitedUse = Pick<Limit, 'meter' | 'period' | 'unit'> & {
  readonly pool?: string | null;
  readonly label?: string | null;
};

/** The text that two limits of a customer share when one takes the place of the other. */
export function keyOfLimit({ meter, pool = null, label = null, period, unit }: LimitedUse): string {
  return [meter, pool, label, period, unit].join(' ');
}

/** Sets the limits of a customer by its seller or by itself, in place of those before. False: they are refused. */
export function setLimits(
  { now }: Books,
  customer: Customer,
  setBy: Limit['setBy'],
  wanted: readonly LimitTerms[],
): boolean {
  const isAbove = (terms: LimitTerms) => {
    const same = customer.limits.filter((each) => each.setBy !== 'customer' && keyOfLimit(each) === keyOfLimit(terms));
    const blocking = same.map((each) => termsOf(customer, each)).filter(({ action }) => action === 'block');
    return blocking.length > 0 && terms.amount > total(blocking, ({ amount }) => amount);
  };
  if (setBy === 'customer' && wanted.some(isAbove)) return false;
  const after = wanted.map((terms): Limit => {
    const before = customer.limits.find((each) => each.setBy === setBy && keyOfLimit(each) === keyOfLimit(terms));
    if (before === undefined)
      return { ...terms, subscription: null, since: customer.spends.length, touched: new Set(), reached: new Map() };
    if (before.amount !== terms.amount || before.action !== terms.action)
      for (const key of presentKeys(customer, before, now)) before.touched.add(key);
    return Object.assign(before, { amount: terms.amount, action: terms.action });
  });
  customer.limits = [...customer.limits.filter((each) => each.setBy !== setBy), ...after];
  return true;
}

function presentKeys({ subscriptions }: Customer, limit: Limit, now: number): PeriodKey[] {
  if (limit.period !== 'billing_period') return [periodKey(limit, { period: Symbol(), at: now })];
  const present = subscriptions.filter(({ period }) => period !== null && period.end > now);
  return present.map(({ period }) => markOf(period));
}

/** In the form of reality's lines. */
export function limitLines(customer: Customer): object[] {
  const lines = customer.limits.flatMap((limit) => {
    const { setBy, subscription, meter, pool, label, period, unit } = limit;
    const isOfPlan = subscription !== null;
    const of = isOfPlan ? customer.subscriptions.indexOf(subscription) : null;
    const [amount, action] = isOfPlan ? [null, null] : [String(limit.amount), limit.action];
    const counters = countersOf(customer, limit)
      .filter(({ units }) => units > 0n)
      .map(({ start, units, used }) => [BigInt(start), units, used])
      .toSorted((one, other) => one.reduce((sum, each, index) => sum || Number(each - (other[index] ?? 0n)), 0))
      .map((counter) => counter.map(String));
    // One of a plan that nobody has used is left out.
    return isOfPlan && counters.length === 0
      ? []
      : { limit: setBy, of, meter, pool, label, period, unit, amount, action, counters };
  });
  const { limits, thresholds: parts } = customer.reached;
  return limits + parts === 0 ? lines : [...lines, { reached: limits, thresholds: parts }];
}
