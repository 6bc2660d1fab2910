import { meterSlug } from './catalogue.ts';
import { type Customer, hasAccess, isCurrent, isTerminal, type Subscription } from './oracle-records.ts';
import { balance, use } from './oracle-usage.ts';
import type { Random } from './random.ts';
import { allSubscriptions, type Draw, nameOf } from './step.ts';

interface Use {
  readonly subscription: Subscription;
  readonly transactionId: string;
  readonly amount: number;
}

const mostOfBulk = 12;

/** Records one or many events, of one or several subscriptions; some are repeats, in any order. */
export const recordUsage: Draw = ({ random, books, customers, wish, newName }) => {
  const isBulk = !wish.isMuch && random.chance(0.5);
  const isByLines = random.chance(0.4);
  const uses: Use[] = [];
  for (let left = isBulk ? random.between(1, mostOfBulk) : 1; left > 0; left--) {
    const subscription = pickUser(random, customers);
    if (subscription === undefined) return null;
    const isMuch = wish.isMuch || random.chance(0.2);
    const amount = isMuch ? random.between(100, 1500) : random.between(1, 99);
    const repeated = random.chance(0.2) ? pickKnown(random, subscription, uses) : undefined;
    uses.push({ subscription, amount, transactionId: repeated ?? newName('use') });
  }
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
      if (!isBulk) return { method: 'POST', path: '/usage-events', body: { usageEvent: events[0] } };
      const path = '/usage-events/bulk';
      return isByLines
        ? { method: 'POST', path, lines: events }
        : { method: 'POST', path, body: { usageEvents: events } };
    },
    apply: () => {
      if (uses.some((each) => !mayUse(each, uses))) return 'refused';
      for (const { subscription, transactionId, amount } of uses) use(books, subscription, transactionId, amount);
      return 'done';
    },
  };
};

/** A running or paused subscription; sometimes an ended one, which records no usage. */
function pickUser(random: Random, customers: readonly Customer[]): Subscription | undefined {
  const all = allSubscriptions({ customers });
  const ended = all.filter(isTerminal);
  if (ended.length > 0 && random.chance(0.02)) return random.pick(ended);
  return random.pick(all.filter((each) => isCurrent(each) || each.status === 'paused'));
}

/** An earlier event: usually of this subscription, sometimes of another one of its customer; or of this request. */
function pickKnown(random: Random, subscription: Subscription, uses: readonly Use[]): string | undefined {
  const { subscriptions } = subscription.customer;
  const known = (random.chance(0.9) ? [subscription] : subscriptions).flatMap(({ events }) => [...events.keys()]);
  const told = uses.filter((each) => each.subscription === subscription).map(({ transactionId }) => transactionId);
  return random.pick([...known, ...told]);
}

/** A transaction belongs to the first subscription that recorded it. */
function mayUse({ subscription, transactionId }: Use, uses: readonly Use[]): boolean {
  const { subscriptions } = subscription.customer;
  const first =
    subscriptions.find(({ events }) => events.has(transactionId)) ??
    uses.find((each) => each.transactionId === transactionId)?.subscription;
  return !isTerminal(subscription) && (first ?? subscription) === subscription;
}

/** Consumes only as far as the balance covers; repeats return the first result. */
export const consume: Draw = ({ random, books, customers, newName }) => {
  const subscription = pickUser(random, customers);
  if (subscription === undefined) return null;
  const left = balance(books, subscription);
  const amount = left > 0 && random.chance(0.7) ? random.between(1, left) : Math.max(1, left + random.between(1, 50));
  const repeated = random.chance(0.15) ? pickKnown(random, subscription, []) : undefined;
  const consumed: Use = { subscription, amount, transactionId: repeated ?? newName('use') };
  return {
    text: `consumes ${amount} of ${left} on ${nameOf(subscription)} as ${consumed.transactionId}`,
    customer: subscription.customer,
    ask: async (records) => {
      const subscriptionId = await records.subscription(subscription);
      const { transactionId } = consumed;
      const usageEvent = { subscriptionId, transactionId, amount, usageMeterSlug: meterSlug };
      return { method: 'POST', path: '/usage-events/consume', body: { usageEvent } };
    },
    apply: () => {
      if (!mayUse(consumed, [])) return 'refused';
      const isRepeat = subscription.events.has(consumed.transactionId);
      if (!isRepeat && (amount > left || !hasAccess(books, subscription))) return 'refused';
      use(books, subscription, consumed.transactionId, amount);
      return 'done';
    },
  };
};
