import { meterSlug, usagePrices } from './catalogue-usage.ts';
import { dayMs, hourMs, minuteMs } from './oracle-arithmetic.ts';
import { bookedBalance, noteFallOfMeter } from './oracle-falls.ts';
import { canEnd, close, closingOf, holdLine } from './oracle-holds.ts';
import { fits, spendOf } from './oracle-limits.ts';
import { balance, balanceIn, drawnFor, mostOfPool, pooledShare, unitsPaid } from './oracle-pools.ts';
import { type Books, type Hold, hasAccess, isCurrent, reach } from './oracle-records.ts';
import { noteFall } from './oracle-top-ups.ts';
import { openMeter, useHeld } from './oracle-usage.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, nameOf } from './step.ts';
import { drawLabel } from './steps-limits.ts';

const callsPrices = usagePrices.filter(({ meter }) => meter === meterSlug);
// A meter without credits and rates: a pool in money pays its price.
const drawnAtPrice = usagePrices.filter(({ slug }) => slug === 'compute');

/** Reserves units temporarily, as far as the balance covers them. A hold has no properties to find a price by. */
export const takeHold: Draw = ({ random, books }) => {
  const subscriptions = allSubscriptions(books).filter((each) => isCurrent(each) || each.status === 'paused');
  const usable = subscriptions.filter((each) => balance(books, each) > 0);
  const subscription = random.pick(usable.length > 0 && random.chance(0.85) ? usable : subscriptions);
  if (subscription === undefined) return null;
  const withoutWhere = callsPrices.filter(({ where }) => where === undefined);
  const isAtPrice = random.chance(0.3);
  const price = random.pick(isAtPrice ? drawnAtPrice : random.chance(0.9) ? withoutWhere : callsPrices);
  if (price === undefined) return null;
  const { meter } = price;
  const left = isAtPrice ? 0 : balance(books, subscription);
  const use = { subscription, meter, price, properties: {} };
  const paid = unitsPaid(books, { ...use, units: mostOfPool });
  const inAll = Math.max(left, 0) + (isAtPrice || random.chance(0.4) ? Number(paid) : 0);
  const amount =
    inAll > 0 && random.chance(0.85) ? random.between(1, inAll) : Math.max(1, inAll + random.between(0, 20));
  const expiresAt = books.now + lengthOf(random);
  const held = { ...use, units: BigInt(amount) };
  const pooled = pooledShare(books, held);
  const namesMeter = random.chance(0.05);
  const label = drawLabel(random);
  return {
    text: `holds ${amount} of ${left} ${meter} and ${paid} of a pool on ${nameOf(subscription)} until ${new Date(expiresAt).toISOString()}`,
    customer: subscription.customer,
    ask: async (records) => {
      const subscriptionId = await records.subscription(subscription);
      return {
        method: 'POST',
        path: '/holds',
        body: {
          hold: {
            subscriptionId,
            ...(namesMeter ? { meter } : { priceSlug: price.slug }),
            amount,
            expiresAt,
            label,
          },
        },
      };
    },
    apply: () => {
      if (namesMeter || price.where !== undefined || !hasAccess(books, subscription)) return 'refused';
      if (!canEnd(books, expiresAt) || pooled === null) return 'refused';
      const drawn = drawnFor(held, pooled);
      const spend = { meter, price, label, drawn, units: BigInt(amount) };
      if (!fits(books, spendOf(books, subscription, spend))) {
        reach(books, 'hold refused by a limit', subscription.customer);
        return 'refused';
      }
      if (pooled > 0n) reach(books, isAtPrice ? 'hold at the price' : 'hold of a pool', subscription.customer);
      const { customer } = subscription;
      const account = customer.pools.find(({ slug }) => pooled > 0n && slug === drawn?.pool) ?? null;
      if (account !== null) {
        const before = balanceIn(books, customer, account);
        noteFall(books, customer, account.slug, before, before - (drawn?.amount ?? 0n));
      }
      if (isAtPrice) openMeter(subscription, meter);
      const before = bookedBalance(books, subscription);
      customer.holds.push({
        subscription,
        price,
        label,
        amount,
        pooled: Number(pooled),
        pool: account,
        poolAmount: drawn?.amount ?? 0n,
        expiresAt,
        status: 'open',
        settled: null,
      });
      if (pooled < BigInt(amount)) noteFallOfMeter(books, subscription, before);
      return 'done';
    },
  };
};

function lengthOf(random: Random): number {
  const kind = random.weighted({ minutes: 2, hours: 3, days: 3, longest: 0.5, too_long: 0.3, none: 0.2 });
  return {
    minutes: random.between(1, 90) * minuteMs,
    hours: random.between(1, 40) * hourMs,
    days: random.between(1, 30) * dayMs,
    longest: 31 * dayMs,
    too_long: 31 * dayMs + minuteMs,
    none: 0,
  }[kind];
}

/** Settles a hold with less, all, more, or nothing. Sometimes a closed or expired one. */
export const settleHold: Draw = ({ random, books }) => {
  const hold = pickHold(random, books);
  if (hold === null) return null;
  const { amount } = hold;
  const kind = random.weighted({ nothing: 1, less: 4, all: 3, more: 1.5 });
  const drawn = { nothing: 0, less: random.below(amount), all: amount, more: amount + random.between(1, 200) }[kind];
  return closeIt(books, hold, hold.settled !== null && random.chance(0.6) ? hold.settled : drawn);
};

/** Releases a hold without usage. */
export const releaseHold: Draw = ({ random, books }) => {
  const hold = pickHold(random, books);
  return hold === null ? null : closeIt(books, hold, null);
};

function pickHold(random: Random, { customers }: Books): Hold | null {
  const all = customers.flatMap(({ holds }) => holds);
  const open = all.filter(({ status }) => status === 'open');
  return random.pick(open.length > 0 && random.chance(0.85) ? open : all) ?? null;
}

function closeIt(books: Books, hold: Hold, used: number | null): ReturnType<Draw> {
  const { subscription, amount } = hold;
  const { customer } = subscription;
  // Its line before the step changes it.
  const line = holdLine(hold, books.now);
  const equals = customer.holds.filter((each) => JSON.stringify(holdLine(each, books.now)) === JSON.stringify(line));
  const place = equals.indexOf(hold);
  const what = used === null ? 'releases' : `settles with ${used}`;
  return {
    text: `${what} a hold of ${amount} (${line.status}) on ${nameOf(subscription)}`,
    customer,
    ask: async (records) => {
      const path = `/holds/${records.told(customer.name, line, place)}/${used === null ? 'release' : 'settle'}`;
      return used === null ? { method: 'POST', path } : { method: 'POST', path, body: { amount: used } };
    },
    apply: () => {
      const closing = closingOf(hold, used);
      if (closing === 'refused') return 'refused';
      if (closing === 'told_again') return 'done';
      close(hold, used);
      if (used !== null) useHeld(books, hold, used);
      return 'done';
    },
  };
}
