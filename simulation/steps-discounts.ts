import { discounts } from './catalogue.ts';
import { hasUsed, isNotFor, isTerminal, type Redemption, reach, type Subscription, worthOf } from './oracle-records.ts';
import { allSubscriptions, type Draw, nameOf } from './step.ts';

/** Whether its discounts can change: not while a first payment waits, and not after the end. */
function isChangeable(subscription: Subscription): boolean {
  return !isTerminal(subscription) && subscription.status !== 'incomplete';
}

function discountsOn({ discounts: all }: Subscription): Redemption[] {
  return all.filter(({ isOff }) => !isOff);
}

/** Puts a discount on a subscription, behind those that it has. */
export const putDiscountOn: Draw = ({ random, books, customers, wish }) => {
  const paid = allSubscriptions({ customers }).filter(({ isFree }) => !isFree);
  const isDrawn = (each: Subscription) => isChangeable(each) || (wish.isNow === undefined && random.chance(0.05));
  const subscription = random.pick(paid.filter(isDrawn));
  const discount = random.pick(discounts.filter(({ amount, type }) => type === 'fixed' || amount < 100));
  if (subscription === undefined || discount === undefined) return null;
  const { customer } = subscription;
  return {
    text: `puts ${discount.code} on ${nameOf(subscription)}`,
    customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/discounts`,
      body: { discount: { code: discount.code } },
    }),
    apply: () => {
      const isOn = discountsOn(subscription).some((each) => each.discount === discount);
      const isRefused = hasUsed(customer, discount) || isNotFor(customer, discount, worthOf(subscription));
      if (isOn || isRefused || !isChangeable(subscription)) return 'refused';
      subscription.discounts.push({ discount, isOff: false });
      reach(books, `discount ${discountsOn(subscription).length} of a subscription`, customer);
      return 'done';
    },
  };
};

/** Takes a discount off a subscription. */
export const takeDiscountOff: Draw = ({ random, books, customers }) => {
  const subscription = random.pick(allSubscriptions({ customers }).filter((each) => discountsOn(each).length > 0));
  const redemption = subscription && random.pick(discountsOn(subscription));
  if (subscription === undefined || redemption === undefined) return null;
  const { customer } = subscription;
  return {
    text: `takes ${redemption.discount.code} off ${nameOf(subscription)}`,
    customer,
    ask: async (records) => {
      const id = await records.subscription(subscription);
      const discountId = await records.redemption(subscription, redemption);
      return { method: 'DELETE', path: `/subscriptions/${id}/discounts/${discountId}` };
    },
    apply: () => {
      if (!isChangeable(subscription)) return 'refused';
      redemption.isOff = true;
      reach(books, 'discount taken off', customer);
      return 'done';
    },
  };
};
