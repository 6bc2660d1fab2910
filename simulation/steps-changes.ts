import { paidPlans } from './catalogue.ts';
import { isDefaultPlan } from './oracle-actions.ts';
import { isSameInterval } from './oracle-arithmetic.ts';
import { methodOf, worthOf } from './oracle-billing.ts';
import { changeNow } from './oracle-changes.ts';
import { type BillingAnchor, beginsPeriod, changeInterval } from './oracle-intervals.ts';
import { invoicesOf, isForPeriod, type Subscription, type Terms } from './oracle-records.ts';
import { currentSubscriptions, type Draw, nameOf } from './step.ts';

const mostUnits = 6;
const timings = ['immediately', 'auto', 'auto', 'at_end_of_current_billing_period'] as const;

/**
 * Another plan or quantity, now or with the next period. Only if the period's own invoice was paid, or awaits a
 * transfer.
 */
export const changePlan: Draw = ({ random, books }) => {
  const subscription = random.pick(currentSubscriptions(books).filter(isChangeable));
  // Changes with slow payments are not modelled.
  if (subscription === undefined || methodOf(subscription)?.takesDays) return null;
  const { customer, scheduled } = subscription;
  const plan = random.chance(0.4) ? subscription.plan : (random.pick(paidPlans) ?? subscription.plan);
  const terms: Terms = { plan, quantity: random.between(1, random.chance(0.5) ? 2 : mostUnits) };
  if (plan === subscription.plan && terms.quantity === subscription.quantity) return null;
  const timing = random.pick(timings) ?? 'auto';
  const prorates = random.chance(0.85);
  const collectsRefunded = prorates && random.chance(0.2);
  const isNow = isMadeNow(subscription, terms, timing);
  const takesInterval = !isSameInterval(subscription.plan, plan);
  const anchor: BillingAnchor = random.chance(0.4) ? 'unchanged' : 'now';
  const begins = isNow && beginsPeriod(subscription, terms);
  const lacksSeats = plan.seats * terms.quantity < subscription.claims.size;
  const how = `${timing}${begins ? `, anchor ${anchor}` : ''}${prorates ? '' : ', without proration'}${collectsRefunded ? ', collecting refunds' : ''}`;
  return {
    text: `changes ${nameOf(subscription)} to ${terms.quantity} of ${plan.slug} (${how})`,
    customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/adjust`,
      body: {
        adjustment: {
          timing,
          newSubscriptionItems: [{ priceSlug: plan.slug, quantity: terms.quantity }],
          prorateCurrentBillingPeriod: prorates,
          ...(isNow && takesInterval ? { billingAnchor: anchor } : {}),
          ...(collectsRefunded ? { collectRefunded: true } : {}),
        },
      },
    }),
    apply: () => {
      if (scheduled !== null || lacksSeats) return 'refused';
      if (!isNow) {
        subscription.scheduled = terms;
        return 'done';
      }
      if (begins) {
        if (!prorates) return 'refused';
        const begun = changeInterval(books, subscription, terms, anchor);
        return begun === 'made' ? 'done' : begun === 'not_paid' ? 'refused_late' : 'refused';
      }
      // A trial goes on, and the new interval begins at its end.
      const changed = changeNow(books, subscription, terms, { prorates, collectsRefunded });
      if (changed === 'made' && takesInterval) subscription.anchor = books.now;
      if (changed === 'made') return 'done';
      return changed === 'lacks_method' ? 'refused' : 'refused_late';
    },
  };
};

/** `auto` lets a cheaper plan wait. */
function isMadeNow(before: Subscription, terms: Terms, timing: (typeof timings)[number]): boolean {
  return timing === 'immediately' || (timing === 'auto' && worthOf(terms) >= worthOf(before));
}

function isChangeable(subscription: Subscription): boolean {
  const { status, period } = subscription;
  if (isDefaultPlan(subscription) || period === null) return false;
  if (status === 'trialing') return true;
  const own = invoicesOf(subscription).filter((invoice) => invoice.period === period && isForPeriod(invoice));
  const settled = methodOf(subscription) === null ? ['open'] : [];
  const isPaid = own.every(({ status: is }) => ['paid', 'refunded', 'partially_refunded', ...settled].includes(is));
  return status === 'active' && isPaid && own.length > 0;
}

/** Cancels a scheduled change. Refused without one. */
export const takeChangeBack: Draw = ({ random, books }) => {
  const living = currentSubscriptions(books);
  const scheduled = living.filter((each) => each.scheduled !== null);
  const subscription = random.pick(random.chance(0.9) ? scheduled : living);
  if (subscription === undefined) return null;
  return {
    text: `takes the change of ${nameOf(subscription)} back`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/cancel-scheduled-adjustment`,
      body: {},
    }),
    apply: () => {
      if (subscription.scheduled === null) return 'refused';
      subscription.scheduled = null;
      return 'done';
    },
  };
};
