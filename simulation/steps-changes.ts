import { changeNow, isDefaultPlan } from './oracle-actions.ts';
import { invoicesOf, isForPeriod, type Subscription } from './oracle-records.ts';
import { currentSubscriptions, type Draw, nameOf } from './step.ts';

const mostUnits = 6;

/** Another quantity of the plan, now or with the next period. Only where the period's own invoice was paid. */
export const changeQuantityOf: Draw = ({ random, books }) => {
  const subscription = random.pick(currentSubscriptions(books).filter((each) => isChangeable(each, books.now)));
  if (subscription === undefined) return null;
  const { customer, plan, scheduledQuantity } = subscription;
  const quantity = random.between(1, mostUnits);
  if (quantity === subscription.quantity) return null;
  const isLess = quantity < subscription.quantity;
  const timing = isLess
    ? (random.pick(['immediately', 'auto', 'at_end_of_current_billing_period'] as const) ?? 'auto')
    : (random.pick(['immediately', 'auto'] as const) ?? 'auto');
  const isNow = timing === 'immediately' || (timing === 'auto' && !isLess);
  const lacksSeats = plan.seats * quantity < subscription.claims.size;
  return {
    text: `changes ${nameOf(subscription)} to ${quantity} units (${timing})`,
    customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/adjust`,
      body: { adjustment: { timing, newSubscriptionItems: [{ priceSlug: plan.slug, quantity }] } },
    }),
    apply: () => {
      if (scheduledQuantity !== null || lacksSeats) return 'refused';
      if (!isNow) {
        subscription.scheduledQuantity = quantity;
        return 'done';
      }
      const changed = changeNow(books, subscription, quantity);
      if (changed === 'made') return 'done';
      return changed === 'lacks_method' ? 'refused' : 'refused_late';
    },
  };
};

function isChangeable(subscription: Subscription, now: number): boolean {
  const { status, period } = subscription;
  if (isDefaultPlan(subscription) || period === null || period.isTrial || period.start === now) return false;
  const own = invoicesOf(subscription).filter((invoice) => invoice.period === period && isForPeriod(invoice));
  const isPaid = own.every((invoice) => ['paid', 'refunded', 'partially_refunded'].includes(invoice.status));
  return status === 'active' && isPaid && own.length > 0;
}
