import { addOn, discounts, type Plan, paidPlans, takesAddOns } from './catalogue.ts';
import {
  book,
  cancelAtEnd,
  cancelNow,
  firstWorth,
  isChargeable,
  isChargedAtOnce,
  isDefaultPlan,
  subscribe,
  uncancel,
} from './oracle-actions.ts';
import { dayMs, hourMs } from './oracle-arithmetic.ts';
import { byProgram, endAttempt, takeAttempt } from './oracle-attempts.ts';
import { methodOf } from './oracle-billing.ts';
import { pause } from './oracle-changes.ts';
import { resume } from './oracle-clock.ts';
import { carryOut } from './oracle-collecting.ts';
import {
  draftOf,
  hasUsed,
  invoicesOf,
  isBooked,
  isInTheWay,
  isNotFor,
  isOwed,
  isTerminal,
  netTermsOf,
  reach,
} from './oracle-records.ts';
import type { Random } from './random.ts';
import { allSubscriptions, currentSubscriptions, type Draw, nameOf } from './step.ts';
import { drawOwnTerms, overrideOf } from './steps-changes.ts';

/** A plan, and sometimes the add-on beside it, from the start. */
function itemsOf(plan: Plan, quantity: number, addOns: number) {
  if (addOns === 0) return { priceSlug: plan.slug, quantity };
  return {
    items: [
      { priceSlug: addOn.slug, quantity: addOns },
      { priceSlug: plan.slug, quantity },
    ],
  };
}

function drawAddOns(random: Random, plan: Plan): number {
  return takesAddOns(plan) && random.chance(0.3) ? random.between(1, 3) : 0;
}

/** Subscribes to a plan: refused if another paid one prevents it. */
export const subscribeTo: Draw = ({ random, books, customers, wish }) => {
  const customer = random.pick(customers);
  const plan = random.pick(paidPlans.filter((each) => wish.plan?.(each, null) ?? true));
  if (customer === undefined || plan === undefined) return null;
  const quantity = random.chance(0.7) ? 1 : random.between(2, 4);
  const addOns = drawAddOns(random, plan);
  const isDiscounted = wish.isDiscounted ?? random.chance(0.35);
  // A plot needs something to pay.
  const offers = discounts.filter(
    ({ amount, type, minimum }) =>
      wish.isDiscounted === undefined || ((type === 'fixed' || amount < 100) && minimum === undefined),
  );
  const discount = isDiscounted ? (random.pick(offers) ?? null) : null;
  const isBeside = wish.isBeside === true && books.allowsSeveral;
  const hasPlan = !isBeside && customer.subscriptions.some((each) => isInTheWay(each) && !each.isFree);
  // A second one is requested occasionally, to be refused.
  if (hasPlan && (books.allowsSeveral || random.chance(0.8))) return null;
  const worth = firstWorth({ plan, quantity, addOns });
  const isUsed = discount !== null && (hasUsed(customer, discount) || isNotFor(customer, discount, worth));
  const hasTrial = plan.trialDays > 0 && customer.subscriptions.every(({ trialEnd }) => trialEnd === null);
  const threshold = random.chance(0.3) ? (random.pick([0, 500, 2000]) ?? 0) : null;
  const ownTerms = random.chance(0.3) ? drawOwnTerms(random) : [];
  // Subscriptions beside each other renew on one day.
  const hasAnchor = !hasTrial && !isBeside;
  const isByCalendar = hasAnchor && random.chance(wish.plan === undefined ? 0.3 : 0.15);
  const isByDay = !isByCalendar && hasAnchor && random.chance(0.2);
  const day = isByDay ? random.between(1, plan.unit === 'year' ? 28 : 31) : null;
  const isLong = random.chance(0.3);
  const hasNoDay = day !== null && plan.unit === 'week';
  const billingAnchor = isByCalendar ? { billingAnchor: 'calendar' } : day === null ? {} : { billingAnchor: { day } };
  return {
    text: `subscribes ${customer.name} to ${quantity} of ${plan.slug}${addOns === 0 ? '' : ` and ${addOns} of ${addOn.slug}`}${discount === null ? '' : ` with ${discount.code}`}${isByCalendar ? ' by the calendar' : ''}${day === null ? '' : ` on day ${day}`}${isLong ? ' with a long first period' : ''}${threshold === null ? '' : ` up to ${threshold}`}${ownTerms.length === 0 ? '' : ` at own prices ${ownTerms.map(({ slug }) => slug)}`}`,
    customer,
    ask: async () => ({
      method: 'POST',
      path: '/subscriptions',
      body: {
        customerExternalId: customer.name,
        ...itemsOf(plan, quantity, addOns),
        ...(discount === null ? {} : { discountCode: discount.code.toLowerCase() }),
        ...billingAnchor,
        ...(isLong ? { firstPeriod: 'long' } : {}),
        ...(threshold === null ? {} : { billingThresholdAmount: threshold }),
        ...(ownTerms.length === 0 ? {} : { priceOverrides: ownTerms.map(overrideOf) }),
      },
    }),
    apply: () => {
      if (!hasPlan && isUsed) reach(books, 'code used a second time', customer);
      if (hasPlan || isUsed || hasNoDay || !isChargeable(books, customer, { plan, quantity, addOns, discount }))
        return 'refused';
      const charged = isChargedAtOnce(customer, { plan, quantity, addOns, discount });
      const attempt = byProgram(customer);
      if (charged && !takeAttempt(books, attempt)) return 'refused';
      const subscription = subscribe(books, customer, {
        ...{ plan, quantity, addOns, discount, isByCalendar, day, isLong, threshold, ownTerms },
      });
      if (addOns > 0) reach(books, 'add-ons from the start', customer);
      if (isTerminal(subscription)) return 'refused_late';
      if (charged) endAttempt(books, attempt, subscription.status === 'active' ? 'paid' : 'passed');
      return 'done';
    },
  };
};

/** Books a plan for the scheduled end of the present one, or some days later. Refused before that end, and beside another. */
export const bookNext: Draw = ({ random, books }) => {
  const present = random.pick(currentSubscriptions(books).filter(({ status }) => status === 'cancellation_scheduled'));
  const plan = random.pick(paidPlans.filter(({ trialDays, billsAtEnd }) => trialDays === 0 && !billsAtEnd));
  if (present === undefined || plan === undefined || present.cancelAt === null) return null;
  const { customer } = present;
  const quantity = random.between(1, 3);
  const addOns = drawAddOns(random, plan);
  const isEarly = random.chance(0.1);
  const days = random.chance(0.6) ? 0 : random.between(1, 9);
  const at = present.cancelAt + (isEarly ? -1 : days * dayMs);
  const isRefused = isEarly || customer.subscriptions.some(isBooked);
  if (isRefused && books.allowsSeveral) return null;
  return {
    text: `books ${quantity} of ${plan.slug}${addOns === 0 ? '' : ` and ${addOns} of ${addOn.slug}`} for ${customer.name} from ${at} on`,
    customer,
    ask: async () => ({
      method: 'POST',
      path: '/subscriptions',
      body: { customerExternalId: customer.name, ...itemsOf(plan, quantity, addOns), startDate: at },
    }),
    apply: () => {
      if (isRefused) return 'refused';
      book(books, customer, { plan, quantity, addOns, at });
      return 'done';
    },
  };
};

/** Cancels immediately or at the end of the period. Refused if not allowed. */
export const cancel: Draw = ({ random, books, customers, wish }) => {
  const subscription = random.pick(
    allSubscriptions({ customers }).filter(
      (each) => !isTerminal(each) && (wish.isNow === undefined || !isDefaultPlan(each)),
    ),
  );
  if (subscription === undefined) return null;
  const isDefault = isDefaultPlan(subscription);
  if (isDefault && random.chance(0.8)) return null;
  const isNow = wish.isNow ?? random.chance(0.4);
  const { status, scheduled } = subscription;
  const cannotWait = !isNow && (status === 'incomplete' || status === 'paused' || isBooked(subscription));
  const isRefused = isDefault || scheduled !== null || cannotWait;
  return {
    text: `cancels ${nameOf(subscription)} ${isNow ? 'at once' : 'at the end of its period'}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/cancel`,
      body: { cancellation: { timing: isNow ? 'immediately' : 'at_end_of_current_billing_period' } },
    }),
    apply: () => {
      if (isRefused) return 'refused';
      if (isNow) cancelNow(books, subscription);
      else cancelAtEnd(subscription);
      return 'done';
    },
  };
};

/** Undoes a scheduled cancellation. Refused without a payment method or net terms, and while the next plan is booked. */
export const takeCancelBack: Draw = ({ random, books, customers }) => {
  const scheduled = currentSubscriptions({ customers }).filter(({ status }) => status === 'cancellation_scheduled');
  const subscription = random.pick(scheduled);
  if (subscription === undefined) return null;
  const isBeforeNext = subscription.customer.subscriptions.some(isBooked);
  if (isBeforeNext && books.allowsSeveral) return null;
  const isRefused = isBeforeNext || (methodOf(subscription) === null && netTermsOf(books, subscription.customer) === 0);
  return {
    text: `takes the end of ${nameOf(subscription)} back`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/uncancel`,
      body: {},
    }),
    apply: () => {
      if (isRefused) return 'refused';
      reach(books, 'end taken back', subscription.customer);
      uncancel(books, subscription);
      return 'done';
    },
  };
};

/** Pauses for a time or until resumed. Refused with open debts. */
export const pauseIt: Draw = ({ random, books, customers, wish }) => {
  const subscription = random.pick(
    currentSubscriptions({ customers }).filter((each) => each.status === 'active' && !isDefaultPlan(each)),
  );
  if (subscription === undefined || subscription.scheduled !== null) return null;
  // A pause at the start of a period has no duration that the rules cover.
  if (subscription.period?.start === books.now) return null;
  const owes = invoicesOf(subscription).some(isOwed) || draftOf(subscription) !== undefined;
  const resumesAt =
    !wish.isNow && random.chance(0.6)
      ? books.now + random.between(1, 60) * dayMs + random.between(0, 5) * hourMs
      : null;
  return {
    text: `pauses ${nameOf(subscription)} until ${resumesAt ?? 'somebody resumes it'}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/pause`,
      body: { pause: { resumesAt } },
    }),
    apply: () => {
      if (owes) return 'refused';
      pause(books, subscription, resumesAt);
      return 'done';
    },
  };
};

/** Resumes now. */
export const resumeIt: Draw = ({ random, books, customers }) => {
  const paused = allSubscriptions({ customers }).filter(({ status }) => status === 'paused');
  const subscription = random.pick(paused);
  // A pause of zero duration is not modelled by the oracle.
  if (subscription === undefined || subscription.period?.end === books.now) return null;
  return {
    text: `resumes ${nameOf(subscription)}`,
    customer: subscription.customer,
    ask: async (records) => ({
      method: 'POST',
      path: `/subscriptions/${await records.subscription(subscription)}/resume`,
      body: {},
    }),
    apply: () => {
      resume(books, subscription, books.now);
      carryOut(books);
      return 'done';
    },
  };
};
