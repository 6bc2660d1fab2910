import type { Plan } from './catalogue.ts';
import { type PoolGrants, type PoolRate, pools, poolText, rateOf } from './catalogue-pools.ts';
import { meterSlug, type Properties, type UsagePrice } from './catalogue-usage.ts';
import { least, most, total } from './oracle-arithmetic.ts';
import { draw, hasEnded, liveCredits } from './oracle-credits.ts';
import { heldOf, statusAt } from './oracle-holds.ts';
import { type Drawn, isLimitedIn } from './oracle-limits.ts';
import {
  type Books,
  type Credit,
  type Customer,
  type PoolAccount,
  type PoolHolder,
  reach,
  type Subscription,
} from './oracle-records.ts';

/** Credit pools: accounts of a customer, from which the usage of all its subscriptions draws. */

/** The pools of a new customer. */
export function newPools(): PoolAccount[] {
  return pools.map(({ slug }) => ({ slug, credits: [] }));
}

function poolOf({ pools: all }: Customer, wanted: string): PoolAccount {
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
  for (const credit of credits) credit.left = 0n;
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

/** The pool that may pay for usage, and how many of the units it can pay for: whole ones. Null: no pool has a rate for it. */
export function payable(books: Books, customer: Customer, meter: string, properties: Properties, units: bigint) {
  const rate = rateOf(meter, properties);
  if (rate === null) return null;
  const account = poolOf(customer, rate.pool);
  const balance = balanceIn(books, customer, account);
  return { account, cost: rate.cost, units: balance <= 0n ? 0n : least(units, balance / rate.cost) };
}

/** The part of a use that these units draw from the pool with a rate for it; null: none has. */
export function drawnFor(meter: string, properties: Properties, units: bigint): Drawn | null {
  const rate = rateOf(meter, properties);
  return rate === null ? null : { pool: rate.pool, amount: units * rate.cost };
}

/** More units than anybody uses at once. */
export const mostOfPool = 20_000n;

/** The units for which a pool pays, where credits and it cover all of them. Null: they do not. */
export function pooledShare(
  books: Books,
  subscription: Subscription,
  properties: Properties,
  amount: number,
): number | null {
  if (amount <= balance(books, subscription)) return 0;
  const uncovered = most(0n, BigInt(amount) - freeOf(books, subscription));
  const paid = payable(books, subscription.customer, meterSlug, properties, uncovered);
  // A pool that cannot pay for one unit is the same as none.
  if (payable(books, subscription.customer, meterSlug, properties, 1n)?.units !== 1n) return null;
  return paid?.units === uncovered ? Number(uncovered) : null;
}

/** Usage of a meter that credits and pools may pay for. */
export interface Payable {
  readonly subscription: Subscription;
  readonly meter: string;
  readonly price: UsagePrice;
  readonly properties: Properties;
  readonly units: bigint;
}

/**
 * Lets pools pay for the usage of a request, in its order, as far as the credits of the meter leave it. Usage at one price
 * and rate comes with the first of it, unless other usage of the meter is between them, or a limit counts the pool.
 * Returns what is paid of each.
 */
export function payByPools(books: Books, all: readonly Payable[]): bigint[] {
  const paid = all.map(() => 0n);
  const parts: { readonly first: Payable; readonly rate: PoolRate | null; readonly places: number[] }[] = [];
  for (const [place, use] of all.entries()) {
    const { rate = null, pool = '' } = rateOf(use.meter, use.properties) ?? {};
    const isAlone = isLimitedIn(use.subscription.customer, use.subscription, pool);
    const last = parts.findLast(({ first }) => first.subscription === use.subscription && first.meter === use.meter);
    if (!isAlone && last?.first.price === use.price && last.rate === rate) last.places.push(place);
    else parts.push({ first: use, rate, places: [place] });
  }
  const free = new Map<Subscription, bigint>();
  for (const { first, places } of parts) {
    const { subscription, meter, properties } = first;
    let left = total(places, (place) => all[place]?.units ?? 0n);
    if (meter === meterSlug) {
      const before = free.get(subscription) ?? freeOf(books, subscription);
      free.set(subscription, before - least(before, left));
      left -= least(before, left);
    }
    let pooled = payByPool(books, subscription.customer, meter, properties, left);
    for (const place of places) {
      paid[place] = least(pooled, all[place]?.units ?? 0n);
      pooled -= paid[place];
    }
  }
  return paid;
}

/** Lets a pool pay for as many of the units as it can: returns how many. */
function payByPool(books: Books, customer: Customer, meter: string, properties: Properties, units: bigint): bigint {
  const paid = payable(books, customer, meter, properties, units);
  if (paid === null || paid.units === 0n) return 0n;
  draw(books, paid.account, paid.units * paid.cost);
  reach(books, `use paid by a pool${paid.units < units ? ' in part' : ''}`, customer);
  return paid.units;
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
