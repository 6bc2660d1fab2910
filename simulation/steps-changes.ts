import { addOn, paidPlans, takesAddOns } from './catalogue.ts';
import { isCharged, isDefaultPlan } from './oracle-actions.ts';
import { boundary, hourMs, isSameInterval } from './oracle-arithmetic.ts';
import { methodOf } from './oracle-billing.ts';
import { changeNow, moveTrialEnd } from './oracle-changes.ts';
import { carryOut, endReview } from './oracle-collecting.ts';
import {
  type BillingAnchor,
  beginsPeriod,
  changeInterval,
  cutsInterval,
  isOwing,
  moveAnchor,
} from './oracle-intervals.ts';
import { changeOwnTerms, lateLines } from './oracle-metering.ts';
import {
  draftOf,
  invoicesOf,
  isBooked,
  isForPeriod,
  isTerminal,
  type OwnTermsChange,
  reach,
  type Subscription,
  type Terms,
  worthOf,
} from './oracle-records.ts';
import type { Random } from './random.ts';
import { allSubscriptions, currentSubscriptions, type Draw, nameOf } from './step.ts';

const mostUnits = 6;
const timings = ['immediately', 'auto', 'auto', 'at_end_of_current_billing_period'] as const;

/**
 * Another plan or quantity, now or with the next period. Only if the period's own invoice was paid, or awaits a
 * transfer.
 */
export const changePlan: Draw = ({ random, books, customers, wish }) => {
  const changeable = currentSubscriptions({ customers }).filter((each) => isChangeable(each) || isReviewed(each));
  const subscription = random.pick(changeable);
  // Changes with slow payments are not modelled.
  if (subscription === undefined || methodOf(subscription)?.takesDays) return null;
  const { customer, scheduled } = subscription;
  const plans = paidPlans.filter((each) => wish.plan?.(each, subscription.plan) ?? true);
  const plan = !wish.plan && random.chance(0.4) ? subscription.plan : (random.pick(plans) ?? subscription.plan);
  const anyQuantity = random.between(1, random.chance(0.5) ? 2 : mostUnits);
  const anyAddOns = random.chance(0.4) ? random.between(0, 3) : subscription.addOns;
  const terms: Terms = {
    plan,
    quantity: wish.plan ? subscription.quantity + random.below(2) : anyQuantity,
    addOns: takesAddOns(plan) ? anyAddOns : 0,
  };
  const { quantity, addOns } = subscription;
  if (plan === subscription.plan && terms.quantity === quantity && terms.addOns === addOns) return null;
  const timing = wish.isNow ? 'immediately' : (random.pick(timings) ?? 'auto');
  const prorates = wish.isNow || random.chance(0.85);
  const collectsRefunded = prorates && random.chance(0.2);
  const isNow = isMadeNow(subscription, terms, timing);
  const takesInterval = !isSameInterval(subscription.plan, plan);
  const anchor: BillingAnchor = wish.anchor ?? (random.chance(0.4) ? 'unchanged' : 'now');
  const begins = isNow && beginsPeriod(subscription, terms);
  // Weeks have no day of the month.
  if (begins && subscription.day !== null && plan.unit === 'week') return null;
  const lacksSeats = plan.seats * terms.quantity < subscription.claims.size;
  const how = `${timing}${begins ? `, anchor ${anchor}` : ''}${prorates ? '' : ', without proration'}${collectsRefunded ? ', collecting refunds' : ''}`;
  return {
    text: `changes ${nameOf(subscription)} to ${terms.quantity} of ${plan.slug}${terms.addOns ? ` and ${terms.addOns} of ${addOn.slug}` : ''} (${how})`,
    customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/adjust`,
      body: {
        adjustment: {
          timing,
          newSubscriptionItems: [
            { priceSlug: plan.slug, quantity: terms.quantity },
            ...(terms.addOns ? [{ priceSlug: addOn.slug, quantity: terms.addOns }] : []),
          ],
          prorateCurrentBillingPeriod: prorates,
          ...(isNow && takesInterval ? { billingAnchor: anchor } : {}),
          ...(collectsRefunded ? { collectRefunded: true } : {}),
        },
      },
    }),
    apply: () => {
      if (scheduled !== null || lacksSeats) return 'refused';
      if (isNow && movesToEnd(subscription, terms)) return 'refused';
      if (isNow && !prorates && (plan.billsAtEnd || subscription.plan.billsAtEnd)) return 'refused';
      if (!isNow) {
        subscription.scheduled = terms;
        return 'done';
      }
      if (begins) {
        if (!prorates) return 'refused';
        const begun = changeInterval(books, subscription, terms, anchor);
        return begun === 'made' ? 'done' : begun === 'not_paid' ? 'refused_late' : 'refused';
      }
      if (terms.addOns !== addOns) reach(books, 'add-ons added or removed', customer);
      if (worthOf(terms) < worthOf(subscription) && subscription.covered > 0)
        reach(books, 'cheaper plan after use', subscription.customer);
      // A trial goes on, and the new interval begins at its end.
      const changed = changeNow(books, subscription, terms, { prorates, collectsRefunded });
      if (changed === 'made' && takesInterval) subscription.anchor = books.now;
      if (changed === 'made') return 'done';
      return changed === 'lacks_method' ? 'refused' : 'refused_late';
    },
  };
};

/** `auto` lets a cheaper plan wait, and one that is billed at the end. */
export function isMadeNow(before: Subscription, terms: Terms, timing: (typeof timings)[number]): boolean {
  if (timing !== 'auto') return timing === 'immediately';
  return worthOf(terms) >= worthOf(before) && !movesToEnd(before, terms);
}

/** Whether a plan that is paid in advance gives way within its period to one that is billed at the end. */
function movesToEnd({ plan, period }: Subscription, terms: Terms): boolean {
  return terms.plan.billsAtEnd === true && !plan.billsAtEnd && isSameInterval(plan, terms.plan) && !period?.isTrial;
}

export function isChangeable(subscription: Subscription): boolean {
  const { status, period } = subscription;
  if (isDefaultPlan(subscription) || period === null) return false;
  if (status === 'trialing') return true;
  const own = invoicesOf(subscription).filter((invoice) => invoice.period === period && isForPeriod(invoice));
  const settled = methodOf(subscription) === null ? ['open'] : [];
  const isPaid = own.every(({ status: is }) => ['paid', 'refunded', 'partially_refunded', ...settled].includes(is));
  return status === 'active' && isPaid && (own.length > 0 || subscription.plan.billsAtEnd === true);
}

/** Whether a change ends the review of a draft that is paid at once. */
function isReviewed(subscription: Subscription): boolean {
  const { status, period, customer } = subscription;
  const [draft, method] = [draftOf(subscription), methodOf(subscription)];
  if (draft === undefined || draft.period !== period || status !== 'active' || customer.balance !== null) return false;
  return method !== null && !isDefaultPlan(subscription) && isCharged(customer, method, draft.total);
}

/** Whether late usage makes an invoice of a draft of nothing. */
function becomesOwed(subscription: Subscription): boolean {
  const draft = draftOf(subscription);
  return draft?.total === 0 && lateLines(subscription, draft).length > 0;
}

/**
 * Moves the billing anchor: a period begins now and ends there. Refused beyond one interval, where something is owed or
 * scheduled, and in a trial or a pause.
 */
export const moveBillingAnchor: Draw = ({ random, books, customers }) => {
  const { now } = books;
  const living = allSubscriptions({ customers }).filter((each) => !isTerminal(each) && !isBooked(each));
  const subscription = random.pick(living);
  // Changes with slow payments are not modelled.
  if (subscription === undefined || methodOf(subscription)?.takesDays) return null;
  const { customer, status, period, plan, scheduled } = subscription;
  const isKnown = status !== 'active' || isDefaultPlan(subscription) || isChangeable(subscription);
  if (period === null || !(isKnown || isReviewed(subscription)) || becomesOwed(subscription)) return null;
  const last = boundary(now, plan, 1);
  const isTooFar = random.chance(0.1);
  const ahead = random.chance(0.15) ? period.end : now + random.between(1, Math.floor((last - now) / hourMs)) * hourMs;
  const anchor = isTooFar ? last + 1 : ahead;
  const isRefused =
    status !== 'active' ||
    scheduled !== null ||
    (anchor > last && (anchor !== period.end || cutsInterval(subscription, anchor, now)));
  return {
    text: `moves the anchor of ${nameOf(subscription)} to ${anchor}`,
    customer,
    ask: async (records) => ({
      method: 'PUT',
      path: `/subscriptions/${await records.subscription(subscription)}`,
      body: { subscription: { billingCycleAnchorDate: anchor } },
    }),
    apply: () => {
      if (anchor === subscription.anchor) return 'done';
      if (isRefused || isOwing(subscription)) return 'refused';
      const moved = moveAnchor(books, subscription, anchor);
      return moved === 'made' ? 'done' : moved === 'not_paid' ? 'refused_late' : 'refused';
    },
  };
};

/** Own terms of usage prices that a seller may agree with a customer. */
const offers: readonly OwnTermsChange[] = [
  { slug: 'calls-overage', terms: { unitPrice: 25, units: 100 } },
  {
    slug: 'calls-overage',
    terms: {
      pricing: {
        model: 'volume',
        tiers: [
          { upTo: 400, unitAmount: '0.3' },
          { upTo: null, unitAmount: '0.2' },
        ],
      },
    },
  },
  { slug: 'calls-large', terms: { pricing: { model: 'package', packageSize: 50, packageAmount: '33' } } },
  { slug: 'calls-max', terms: { unitPrice: 1, units: 1 } },
  { slug: 'tokens', terms: { pricing: { model: 'per_unit', unitAmount: '0.1', minimumAmount: '20' } } },
  { slug: 'payments', terms: { pricing: { model: 'percentage', rate: '1', fixedAmountPerEvent: '10' } } },
  { slug: 'resale', terms: { pricing: { model: 'dynamic', maximumAmount: '100' } } },
  { slug: 'compute', terms: { pricing: { model: 'per_unit', unitAmount: '1.7' } } },
  {
    slug: 'compute-large',
    terms: { pricing: { model: 'package', packageSize: 10, packageAmount: '9', freeUnits: 5 } },
  },
  { slug: 'storage', terms: { unitPrice: 5, units: 1000 } },
  { slug: 'machines', terms: { pricing: { model: 'per_unit', unitAmount: '120' } } },
  { slug: 'desks', terms: { unitPrice: 400, units: 1 } },
];

export function drawOwnTerms(random: Random): OwnTermsChange[] {
  const drawn = Array.from({ length: random.between(1, 3) }, () => random.pick(offers) ?? []).flat();
  return drawn.filter(({ slug }, index) => drawn.findIndex((each) => each.slug === slug) === index);
}

/** As the service takes it. */
export function overrideOf({ slug: priceSlug, terms }: OwnTermsChange): object {
  if (terms === null) return { priceSlug, unitPrice: null };
  return { priceSlug, ...('pricing' in terms ? terms : { unitPrice: terms.unitPrice }) };
}

/** Agrees own prices with a customer, or takes them back. The default plan has none. */
export const changePrices: Draw = ({ random, books, customers }) => {
  const all = currentSubscriptions({ customers });
  const changeable = all.filter((each) => isChangeable(each) || isReviewed(each));
  const subscription = random.pick(random.chance(0.9) ? changeable : all.filter(isDefaultPlan));
  if (subscription === undefined || subscription.period === null) return null;
  const { period, scheduled, plan, quantity, addOns } = subscription;
  const ownTerms = drawOwnTerms(random).map((each) => (random.chance(0.3) ? { ...each, terms: null } : each));
  const isNow = random.chance(0.7);
  const timing = isNow ? 'immediately' : 'at_end_of_current_billing_period';
  return {
    text: `agrees ${JSON.stringify(ownTerms)} with ${nameOf(subscription)} (${timing})`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/adjust`,
      body: { adjustment: { timing, priceOverrides: ownTerms.map(overrideOf) } },
    }),
    apply: () => {
      if (isDefaultPlan(subscription) || scheduled !== null) return 'refused';
      reach(books, `own prices ${isNow ? 'now' : 'for the next period'}`, subscription.customer);
      if (isNow) {
        endReview(books, subscription, books.now);
        carryOut(books);
      }
      // A usage period that has begun keeps its terms.
      if (isNow) changeOwnTerms(subscription, ownTerms, books.now === period.start ? books.now + 1 : books.now);
      else subscription.scheduled = { plan, quantity, addOns, agreed: ownTerms };
      return 'done';
    },
  };
};

/** Gives a trial another end. Refused outside of a trial, and where something is scheduled. */
export const moveTrial: Draw = ({ random, books }) => {
  const living = currentSubscriptions(books).filter(({ trialEnd }) => trialEnd !== null);
  const trials = living.filter(({ status }) => status === 'trialing');
  const subscription = random.pick(random.chance(0.85) ? trials : living);
  if (subscription === undefined) return null;
  const { status, scheduled, customer } = subscription;
  const isPast = random.chance(0.1);
  const end = isPast ? books.now : books.now + random.between(1, 30 * 24) * hourMs;
  return {
    text: `ends the trial of ${nameOf(subscription)} at ${end}`,
    customer,
    ask: async (records) => ({
      method: 'PUT',
      path: `/subscriptions/${await records.subscription(subscription)}`,
      body: { subscription: { trialEnd: end } },
    }),
    apply: () => {
      if (end === subscription.trialEnd) return 'done';
      if (isPast || status !== 'trialing' || scheduled !== null) return 'refused';
      moveTrialEnd(books, subscription, end);
      return 'done';
    },
  };
};

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
