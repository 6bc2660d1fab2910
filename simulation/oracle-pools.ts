import type { Plan } from './catalogue.ts';
import { type PoolGrants, type PoolRate, pools, poolText, rateOf } from './catalogue-pools.ts';
import { meterSlug, type Properties, type UsagePrice } from './catalogue-usage.ts';
import { least, most, total } from './oracle-arithmetic.ts';
import { draw, hasEnded, liveCredits } from './oracle-credits.ts';
import { costOfMore, isDrawable, noteDraw } from './oracle-draws.ts';
import { heldOf, statusAt } from './oracle-holds.ts';
import { type Drawn, isLimitedIn } from './oracle-limits.ts';
import { nothing, type Used } from './oracle-pricing.ts';
import {
  type Books,
  type Credit,
  type Customer,
  type PoolAccount,
  type PoolHolder,
  reach,
  type Subscription,
} from './oracle-records.ts';
import { noteFall } from './oracle-top-ups.ts';

/** Credit pools: accounts of a customer, from which the usage of all its subscriptions draws. */

/** The pools of a new customer. */
export function newPools(): PoolAccount[] {
  return pools.map(({ slug }) => ({ slug, credits: [] }));
}

export function poolOf({ pools: all }: Customer, wanted: string): PoolAccount {
  const pool = all.find(({ slug }) => slug === wanted);
  if (pool === undefined) throw new Error(`there is no pool ${wanted}`);
  return pool;
}

/** The accounts on which the plans of a subscription grant credits: that of its meter, and those of pools. */
export function accountsOf(subscription: Subscription): Subscription[] {
  return [subscription, ...pools.map(({ slug }) => seenIn(subscription, slug))];
}

/** The subscription with what its plans grant in a pool in place of what they grant of the meter. */
export function seenIn(subscription: Subscription, slug: string): Subscription {
  const { customer, inPools, plan } = subscription;
  const own = inPools.get(slug) ?? { credits: [], hadOnce: new Set() };
  inPools.set(slug, own);
  return { ...subscription, ...own, plan: planIn(plan, slug), pool: poolOf(customer, slug) };
}

/** The terms seen on the same account. */
export function seenWith<Terms extends Pick<Subscription, 'plan'>>({ pool }: Subscription, terms: Terms): Terms {
  return pool === null ? terms : { ...terms, plan: planIn(terms.plan, pool.slug) };
}

const plansInPools = new Map<string, Plan>();

/** One and the same for each plan and pool. */
function planIn(plan: Plan, slug: string): Plan {
  const key = `${plan.slug} ${slug}`;
  const { rollover: _, ...rest } = plan;
  const grants: PoolGrants = plan.pools?.[slug] ?? {};
  const seen = plansInPools.get(key) ?? { ...rest, once: 0, recurring: 0, ...grants };
  plansInPools.set(key, seen);
  return seen;
}

/** The end of a subscription is that of what its plans granted in pools. */
export function endInPools(books: Books, subscription: Subscription): void {
  const credits = [...subscription.inPools.values()].flatMap((each) => each.credits);
  if (credits.some(({ left }) => left > 0n)) reach(books, 'credits of a pool ended with a plan', subscription.customer);
  for (const [slug, own] of subscription.inPools)
    endIn(books, subscription.customer, poolOf(subscription.customer, slug), own.credits);
}

function endIn(books: Books, customer: Customer, account: PoolAccount, credits: readonly Credit[]): void {
  const before = balanceIn(books, customer, account);
  for (const credit of credits) credit.left = 0n;
  noteFall(books, customer, account.slug, before, balanceIn(books, customer, account));
}

/** The usable amount, not held; negative: overage that nobody has paid. */
export function balance(books: Books, subscription: Subscription): number {
  const left = total(liveCredits(books, subscription), (credit) => credit.left);
  const { covered, settled, pooled, used } = subscription;
  return Number(left - heldOf(books, subscription)) + covered + settled + pooled - used;
}

/** The units that may be taken beside open holds; null: there are none. */
export function beside(books: Books, account: Subscription | PoolHolder): bigint | null {
  if (heldOf(books, account) === 0n) return null;
  const left = isHolder(account) ? balanceIn(books, account.customer, account.pool) : BigInt(balance(books, account));
  return most(0n, left);
}

function isHolder(account: Subscription | PoolHolder): account is PoolHolder {
  return account.pool !== null;
}

/** The credits of its meter that no hold sets aside, whatever is owed. */
export function freeOf(books: Books, subscription: Subscription): bigint {
  return most(0n, total(liveCredits(books, subscription), ({ left }) => left) - heldOf(books, subscription));
}

export function heldIn({ now }: Books, { holds }: Customer, account: PoolAccount): bigint {
  return total(holds, (hold) => (hold.pool === account && statusAt(hold, now) === 'open' ? hold.poolAmount : 0n));
}

export function balanceIn(books: Books, customer: Customer, account: PoolAccount): bigint {
  return total(liveCredits(books, account), ({ left }) => left) - heldIn(books, customer, account);
}

/** Usage of a meter that credits and pools may pay for. */
export interface Payable {
  readonly subscription: Subscription;
  readonly meter: string;
  readonly price: UsagePrice;
  readonly properties: Properties;
  readonly units: bigint;
  /** At a price with an amount for each event. Absent: 0. */
  readonly events?: bigint;
  readonly own?: bigint;
}

/** The pool that may pay for usage: the one with the best rate for it, else the one that draws at the price. */
interface Payer {
  readonly account: PoolAccount;
  /** Null: at the price. */
  readonly rate: PoolRate | null;
  /** The smallest units that so many units cost. Null: it pays for none at this price. */
  readonly costOf: ((units: bigint) => bigint) | null;
  /** Whether it pays for all of the units or for none. */
  readonly isWhole: boolean;
}

function payerOf(use: Payable): Payer | null {
  const { subscription, meter, price, properties } = use;
  const known = rateOf(meter, properties);
  const atPrice = pools.find(({ drawAtPrice }) => drawAtPrice);
  if (known !== null) {
    const { rate, pool, cost } = known;
    return { account: poolOf(subscription.customer, pool), rate, costOf: (units) => units * cost, isWhole: false };
  }
  if (atPrice === undefined) return null;
  const account = poolOf(subscription.customer, atPrice.slug);
  const costOf = (units: bigint) => costOfMore(subscription, price, usedOf(use, units));
  const isWhole = (use.events ?? 0n) > 0n;
  return { account, rate: null, costOf: isDrawable(subscription, price) ? costOf : null, isWhole };
}

export function usedOf({ events = 0n, own = 0n }: Payable, units: bigint): Used {
  return { ...nothing, units, events, own };
}

function hasHadCredits({ subscriptions }: Customer, { slug, credits }: PoolAccount): boolean {
  return credits.length > 0 || subscriptions.some(({ inPools }) => (inPools.get(slug)?.credits.length ?? 0) > 0);
}

/** The units of a use that its pool pays for: whole ones, as many as its balance pays. */
export function unitsPaid(books: Books, use: Payable): bigint {
  const payer = payerOf(use);
  if (payer === null || payer.costOf === null) return 0n;
  const { account, costOf, isWhole } = payer;
  // Without an account it does not even pay for what costs nothing.
  if (!hasHadCredits(use.subscription.customer, account)) return 0n;
  const balance = most(0n, balanceIn(books, use.subscription.customer, account));
  if (costOf(use.units) <= balance) return use.units;
  let [paid, tooMany] = [0n, isWhole ? 0n : use.units];
  while (tooMany - paid > 1n) {
    const middle = (paid + tooMany) / 2n;
    if (costOf(middle) <= balance) paid = middle;
    else tooMany = middle;
  }
  return paid;
}

/** The part of a use that these units draw from the pool that may pay for it; null: none may. */
export function drawnFor(use: Payable, units: bigint): Drawn | null {
  const payer = payerOf(use);
  if (payer === null) return null;
  return { pool: payer.account.slug, amount: units === 0n || payer.costOf === null ? 0n : payer.costOf(units) };
}

/** More units than anybody uses at once. */
export const mostOfPool = 20_000n;

/** The units for which a pool pays, where credits and it cover all of them. Null: they do not. */
export function pooledShare(books: Books, use: Payable): bigint | null {
  const { subscription, meter, units } = use;
  const isOfCalls = meter === meterSlug;
  if (isOfCalls && units <= BigInt(balance(books, subscription))) return 0n;
  const uncovered = isOfCalls ? most(0n, units - freeOf(books, subscription)) : units;
  // A pool that cannot pay for one unit is the same as none.
  if (unitsPaid(books, { ...use, units: 1n }) === 0n) return null;
  return unitsPaid(books, { ...use, units: uncovered }) === uncovered ? uncovered : null;
}

/** The part of a use for which a pool has paid. */
export interface Paid {
  readonly units: bigint;
  /** Null: no pool may pay for it. */
  readonly drawn: Drawn | null;
}

/**
 * Lets pools pay for the usage of a request, in its order, as far as the credits of the meter leave it. Usage at one price
 * and rate comes with the first of it, unless other usage of the meter is between them. Usage is alone where a limit counts
 * the pool, or where it draws at a price with an amount for each event. Returns what is paid of each.
 */
export function payByPools(books: Books, all: readonly Payable[]): Paid[] {
  const paid: Paid[] = all.map(() => ({ units: 0n, drawn: null }));
  const parts: { readonly first: Payable; readonly payer: Payer | null; readonly places: number[] }[] = [];
  for (const [place, use] of all.entries()) {
    const payer = payerOf(use);
    const { subscription } = use;
    const isLimited = isLimitedIn(subscription.customer, subscription, payer?.account.slug ?? '');
    const isAlone = isLimited || (payer?.rate === null && payer.isWhole);
    const last = parts.findLast(({ first }) => first.subscription === subscription && first.meter === use.meter);
    const isSame = last?.first.price === use.price && last.payer?.rate === payer?.rate;
    if (!isAlone && last !== undefined && isSame) last.places.push(place);
    else parts.push({ first: use, payer, places: [place] });
  }
  const free = new Map<Subscription, bigint>();
  for (const { first, places } of parts) {
    const { subscription, meter } = first;
    let left = total(places, (place) => all[place]?.units ?? 0n);
    if (meter === meterSlug) {
      const before = free.get(subscription) ?? freeOf(books, subscription);
      free.set(subscription, before - least(before, left));
      left -= least(before, left);
    }
    const drawn = payByPool(books, { ...first, units: left });
    let [pooled, amount] = [drawn.units, drawn.amount];
    for (const place of places) {
      const units = least(pooled, all[place]?.units ?? 0n);
      // Nothing counts the shares of a part.
      const share = pooled === 0n ? 0n : (amount * units) / pooled;
      paid[place] = { units, drawn: drawn.pool === null ? null : { pool: drawn.pool, amount: share } };
      pooled -= units;
      amount -= share;
    }
  }
  return paid;
}

/** Lets a pool pay for as many of the units as it can. */
function payByPool(books: Books, use: Payable) {
  const payer = payerOf(use);
  const units = unitsPaid(books, use);
  if (payer === null || payer.costOf === null || units === 0n)
    return { pool: payer?.account.slug ?? null, units: 0n, amount: 0n };
  const { subscription, price } = use;
  const { customer } = subscription;
  const amount = payer.costOf(units);
  const before = balanceIn(books, customer, payer.account);
  draw(books, payer.account, amount);
  noteFall(books, customer, payer.account.slug, before, before - amount);
  if (payer.rate === null) noteDraw(subscription, price, usedOf(use, units));
  const how = payer.rate === null ? ' at the price' : '';
  reach(books, `use paid by a pool${how}${units < use.units ? ' in part' : ''}`, customer);
  return { pool: payer.account.slug, units, amount };
}

/** The credits of a pool as its customer sees them. */
export function creditsIn(books: Books, customer: Customer, account: PoolAccount) {
  const live = liveCredits(books, account);
  const sumOf = (isPaid: boolean) => total(live, ({ kind, left }) => ((kind === 'bought') === isPaid ? left : 0n));
  return {
    availableBalance: poolText(balanceIn(books, customer, account)),
    granted: poolText(sumOf(false)),
    paid: poolText(sumOf(true)),
    held: poolText(heldIn(books, customer, account)),
  };
}

/** In the form of reality's line. */
export function poolCreditLine({ subscriptions }: Customer, slug: string, credit: Credit, now: number) {
  const { issued, kind, applied, takenBack, left, priority, expiresAt } = credit;
  const of = subscriptions.findIndex(({ inPools }) => inPools.get(slug)?.credits.includes(credit) === true);
  const rest = hasEnded(credit, now) ? 0n : left;
  const amounts = {
    credit: String(issued),
    applied: String(applied),
    takenBack: String(takenBack),
    left: String(rest),
  };
  return { pool: slug, of: of === -1 ? null : of, kind, ...amounts, priority, expiresAt };
}
