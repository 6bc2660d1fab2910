import { usersSlug } from './catalogue-usage.ts';
import { give } from './oracle-credits.ts';
import { fits, spendOf } from './oracle-limits.ts';
import { hasAccess } from './oracle-records.ts';
import { doesCount, useDistinct, usersLeft } from './oracle-usage.ts';
import { currentSubscriptions, type Draw, nameOf } from './step.ts';

const mostUsers = 6;

/** Credits of the meter that counts distinct properties. */
export const grantUsers: Draw = ({ random, books, newName }) => {
  const subscription = random.pick(currentSubscriptions(books));
  if (subscription === undefined) return null;
  const amount = random.between(1, 12);
  const transactionId = newName('grant');
  return {
    text: `grants ${amount} users on ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => {
      const subscriptionId = await records.subscription(subscription);
      const usageCredit = { subscriptionId, usageMeterSlug: usersSlug, amount, transactionId };
      return { method: 'POST', path: '/usage-credits', body: { usageCredit } };
    },
    apply: () => {
      give(subscription.users, { issued: BigInt(amount), expiresAt: null, kind: 'by_hand', transactionId });
      return 'done';
    },
  };
};

/** Records a user, who counts once per period: with keys in any order, by consume or record. Only covered usage. */
export const tellUser: Draw = ({ random, books, newName }) => {
  const all = currentSubscriptions(books).filter((each) => each.period !== null);
  const granted = all.filter((each) => each.users.credits.length > 0);
  const subscription = random.pick(granted);
  if (subscription === undefined) return null;
  const left = usersLeft(books, subscription);
  const [user, amount] = [random.below(mostUsers), random.between(1, 4)];
  const known = random.chance(0.15) ? random.pick([...subscription.users.events]) : undefined;
  const transactionId = known ?? newName('user');
  const isCovered = known !== undefined || !doesCount(subscription, user) || amount <= left;
  const asksLeave = !isCovered || random.chance(0.5);
  const properties = random.chance(0.5) ? { user, team: { name: 'a' } } : { team: { name: 'a' }, user };
  const lacksProperties = random.chance(0.05);
  const kind = lacksProperties ? 'nobody' : `user ${user}`;
  return {
    text: `tells of ${kind} as ${amount} of ${left} (${asksLeave ? 'consumes' : 'records'}) on ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => {
      const subscriptionId = await records.subscription(subscription);
      const event = { subscriptionId, transactionId, amount, usageMeterSlug: usersSlug };
      const usageEvent = lacksProperties ? event : { ...event, properties };
      return { method: 'POST', path: asksLeave ? '/usage-events/consume' : '/usage-events', body: { usageEvent } };
    },
    apply: () => {
      if (lacksProperties || !isCovered) return 'refused';
      if (asksLeave && known === undefined && !hasAccess(books, subscription)) return 'refused';
      const spend = {
        meter: usersSlug,
        price: null,
        label: null,
        drawn: null,
        units: BigInt(doesCount(subscription, user) ? amount : 0),
      };
      const isNew = asksLeave && known === undefined;
      if (isNew && !fits(books, spendOf(books, subscription, spend))) return 'refused';
      useDistinct(books, subscription, { transactionId, user, amount }, asksLeave);
      return 'done';
    },
  };
};
