import { packs } from './catalogue.ts';
import { meterSlug } from './catalogue-usage.ts';
import { buyPacks } from './oracle-actions.ts';
import { dayMs } from './oracle-arithmetic.ts';
import { creditLine, give, usualPriority } from './oracle-credits.ts';
import { balance } from './oracle-pools.ts';
import { type Credit, type Customer, holderOf, isCurrent, type Subscription } from './oracle-records.ts';
import { takeBackOf } from './oracle-usage.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, type Drawing, nameOf } from './step.ts';

const priorities = [0, 50, 99, usualPriority, 101, 1000];

/** Manual credits, temporary or permanent, with a higher or lower priority than others. */
export const grantByHand: Draw = ({ random, books, customers, newName }) => {
  const living = allSubscriptions({ customers }).filter((each) => isCurrent(each) || each.status === 'paused');
  const subscription = random.chance(0.3) ? null : (random.pick(living) ?? null);
  const customer = subscription?.customer ?? random.pick(customers);
  if (customer === undefined) return null;
  const amount = random.between(1, 400);
  const priority = random.chance(0.5) ? null : (random.pick(priorities) ?? null);
  const ahead = random.chance(0.9) ? random.between(1, 40) * dayMs : 0;
  const expiresAt = random.chance(0.5) ? books.now + ahead : null;
  const earlier = random.chance(0.2) ? random.pick(grantsOf(customer)) : undefined;
  const transactionId = earlier?.credit.transactionId ?? newName('grant');
  return {
    text: `grants ${amount} as ${transactionId} (${priority}) on ${subscription === null ? customer.name : nameOf(subscription)} until ${expiresAt ?? 'ever'}`,
    customer,
    ask: async (records) => {
      const to =
        subscription === null
          ? { customerExternalId: customer.name }
          : { subscriptionId: await records.subscription(subscription) };
      const usageCredit = { ...to, usageMeterSlug: meterSlug, amount, expiresAt, priority, transactionId };
      return { method: 'POST', path: '/usage-credits', body: { usageCredit } };
    },
    apply: () => {
      // A repeat returns the first grant, whatever else it says.
      if (earlier !== undefined)
        return subscription === null || earlier.subscription === subscription ? 'done' : 'refused';
      if (expiresAt !== null && expiresAt <= books.now) return 'refused';
      const known = { issued: BigInt(amount), expiresAt, kind: 'by_hand', transactionId } as const;
      give(subscription ?? holderOf(customer) ?? customer.waiting, { ...known, priority: priority ?? usualPriority });
      return 'done';
    },
  };
};

interface Given {
  readonly subscription: Subscription;
  readonly credit: Credit;
}

/** Manual grants to the customer and its subscriptions. A transferred credit is no grant of its own. */
function grantsOf({ subscriptions, waiting }: Customer) {
  const grants = [
    ...waiting.credits.map((credit) => ({ subscription: null, credit })),
    ...subscriptions.flatMap((subscription) => subscription.credits.map((credit): Given => ({ subscription, credit }))),
  ];
  return grants.filter(({ credit: { transactionId } }) => transactionId !== null);
}

/** Buys packs of calls with the default method, or within net terms. */
export const buyPack: Draw = ({ random, books, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const quantity = random.between(1, 3);
  const ofPools = packs.filter(({ credits }) => credits > 0);
  const pack = random.pick(wish.isOfPool ? ofPools : random.chance(0.5) ? packs.slice(0, 1) : packs);
  if (pack === undefined) return null;
  return {
    text: `sells ${quantity} of ${pack.slug} to ${customer.name}`,
    customer,
    ask: async (records) => {
      const purchase = { customerId: await records.customer(customer), priceSlug: pack.slug, quantity };
      return { method: 'POST', path: '/purchases', body: { purchase } };
    },
    apply: () => {
      const outcome = buyPacks(books, customer, quantity, pack);
      if (outcome === 'made') return 'done';
      return outcome === 'refused' ? 'refused' : 'refused_late';
    },
  };
};

/** Takes back the remainder of a credit or a part of it. Refused beyond it, and for amounts promised to open holds. */
export const takeCreditBack: Draw = ({ random, books, customers, wish }) => {
  const picked = pickCredit(random, { customers, wish });
  if (picked === undefined) return null;
  const { subscription, credit } = picked;
  const { customer } = subscription;
  const requested = random.chance(0.4) ? null : random.between(1, Math.max(1, Math.ceil(Number(credit.left) * 1.1)));
  // Its line before the step changes it.
  const line = creditLine(subscription, credit, books.now);
  const text = JSON.stringify(line);
  const equals = subscription.credits.filter(
    (each) => JSON.stringify(creditLine(subscription, each, books.now)) === text,
  );
  const place = equals.indexOf(credit);
  return {
    text: `takes ${requested ?? 'the rest'} back of ${text}, balance ${balance(books, subscription)}, of ${nameOf(subscription)}`,
    customer,
    ask: async (records) => {
      const path = `/usage-credits/${records.told(customer.name, line, place)}/take-back`;
      return { method: 'POST', path, body: requested === null ? {} : { amount: requested } };
    },
    apply: () => {
      const amount = takeBackOf(books, subscription, credit, requested === null ? null : BigInt(requested));
      if (amount === null) return 'refused';
      credit.left -= amount;
      credit.takenBack += amount;
      credit.takenByHand += amount;
      return 'done';
    },
  };
};

function pickCredit(random: Random, { customers, wish }: Pick<Drawing, 'customers' | 'wish'>): Given | undefined {
  const all = allSubscriptions({ customers }).flatMap((subscription) =>
    subscription.credits.map((credit): Given => ({ subscription, credit })),
  );
  const left = all.filter(({ subscription, credit }) => isCurrent(subscription) && credit.left > 0n);
  if (wish.isMuch) return random.pick(left.filter(({ credit: { kind } }) => kind === 'recurring'));
  return random.pick(random.chance(0.85) && left.length > 0 ? left : all);
}
