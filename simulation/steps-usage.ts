import { meterSlug, seatSlug } from './catalogue.ts';
import { dayMs } from './oracle-arithmetic.ts';
import { type Subscription, seatsOf } from './oracle-records.ts';
import { balance, use } from './oracle-usage.ts';
import { currentSubscriptions, type Draw, nameOf } from './step.ts';

interface Use {
  readonly subscription: Subscription;
  readonly transactionId: string;
  readonly amount: number;
}

const mostOfBulk = 12;

/** Uses, one or many, of one subscription or several; some of them were told before, and come in any order. */
export const recordUsage: Draw = ({ random, books, newName }) => {
  const subscriptions = currentSubscriptions(books);
  const isBulk = random.chance(0.5);
  const uses = Array.from({ length: isBulk ? random.between(1, mostOfBulk) : 1 }, (): Use | null => {
    const subscription = random.pick(subscriptions);
    if (subscription === undefined) return null;
    const known = random.chance(0.2) ? random.pick([...subscription.events]) : undefined;
    const amount = random.chance(0.2) ? random.between(100, 1500) : random.between(1, 99);
    const [transactionId, first] = known ?? [newName('use'), amount];
    return { subscription, transactionId, amount: known === undefined ? amount : first };
  }).filter((each) => each !== null);
  if (uses.length === 0) return null;
  const told = uses.map(({ subscription, amount }) => `${amount} on ${nameOf(subscription)}`).join(', ');
  return {
    text: `records ${told}`,
    customer: isBulk ? null : (uses[0]?.subscription.customer ?? null),
    ask: async (records) => {
      const events: unknown[] = [];
      for (const { subscription, transactionId, amount } of uses) {
        const subscriptionId = await records.subscription(subscription);
        events.push({ subscriptionId, transactionId, amount, usageMeterSlug: meterSlug });
      }
      return isBulk
        ? { method: 'POST', path: '/usage-events/bulk', body: { usageEvents: events } }
        : { method: 'POST', path: '/usage-events', body: { usageEvent: events[0] } };
    },
    apply: () => {
      for (const { subscription, transactionId, amount } of uses) use(books, subscription, transactionId, amount);
      return 'done';
    },
  };
};

/** A use only as far as the balance covers it. */
export const consume: Draw = ({ random, books, newName }) => {
  const subscription = random.pick(currentSubscriptions(books));
  if (subscription === undefined) return null;
  const left = balance(books, subscription);
  const amount = left > 0 && random.chance(0.7) ? random.between(1, left) : Math.max(1, left + random.between(1, 50));
  const transactionId = newName('use');
  return {
    text: `consumes ${amount} of ${left} on ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => {
      const subscriptionId = await records.subscription(subscription);
      const usageEvent = { subscriptionId, transactionId, amount, usageMeterSlug: meterSlug };
      return { method: 'POST', path: '/usage-events/consume', body: { usageEvent } };
    },
    apply: () => {
      if (amount > left) return 'refused';
      use(books, subscription, transactionId, amount);
      return 'done';
    },
  };
};

/** Credits that somebody grants by hand, for a while or for ever. */
export const grantByHand: Draw = ({ random, books, newName }) => {
  const subscription = random.pick(currentSubscriptions(books));
  if (subscription === undefined) return null;
  const amount = random.between(1, 400);
  const expiresAt = random.chance(0.5) ? books.now + random.between(1, 40) * dayMs : null;
  const transactionId = newName('grant');
  return {
    text: `grants ${amount} on ${nameOf(subscription)} until ${expiresAt ?? 'ever'}`,
    customer: subscription.customer,
    ask: async (records) => {
      const subscriptionId = await records.subscription(subscription);
      const usageCredit = { subscriptionId, usageMeterSlug: meterSlug, amount, expiresAt, transactionId };
      return { method: 'POST', path: '/usage-credits', body: { usageCredit } };
    },
    apply: () => {
      subscription.credits.push({ issued: amount, left: amount, expiresAt, kind: 'by_hand' });
      return 'done';
    },
  };
};

/** Seats by name: refused where there are not so many, and all or none. */
export const claimSeats: Draw = ({ random, books, newName }) => {
  // What becomes of a claim beyond a lower capacity that is scheduled is not modelled.
  const subscription = random.pick(currentSubscriptions(books).filter((each) => each.scheduledQuantity === null));
  if (subscription === undefined || subscription.plan.seats === 0) return null;
  const known = random.chance(0.2) ? random.pick([...subscription.claims]) : undefined;
  const names = Array.from({ length: random.between(1, 4) }, () => newName('seat'));
  if (known !== undefined) names.push(known);
  const fresh = names.filter((name) => !subscription.claims.has(name));
  return {
    text: `claims ${names.length} seats of ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/resource-claims/${await records.subscription(subscription)}/claim`,
      body: { resourceSlug: seatSlug, externalIds: names },
    }),
    apply: () => {
      if (subscription.claims.size + fresh.length > seatsOf(subscription)) return 'refused';
      for (const name of fresh) subscription.claims.add(name);
      return 'done';
    },
  };
};

export const releaseSeat: Draw = ({ random, books, newName }) => {
  const subscription = random.pick(currentSubscriptions(books).filter(({ claims }) => claims.size > 0));
  if (subscription === undefined) return null;
  const name = random.chance(0.9) ? random.pick([...subscription.claims]) : newName('seat');
  if (name === undefined) return null;
  return {
    text: `releases ${name} of ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/resource-claims/${await records.subscription(subscription)}/release`,
      body: { resourceSlug: seatSlug, externalId: name },
    }),
    apply: () => (subscription.claims.delete(name) ? 'done' : 'refused'),
  };
};
