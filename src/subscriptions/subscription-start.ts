import { z } from 'zod';
import {
  addDays,
  calendarEnd,
  calendarStart,
  type Instant,
  type Interval,
  type Period,
  periodAt,
} from '../kernel/calendar.ts';
import { countInput, Metadata, SafeString, TimestampInput } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { IntervalUnit, maxUnitPrice, type Price } from '../pricing/price.ts';
import { billingInterval, firstPeriod, type PeriodSchedule } from './billing-period.ts';
import { isInTheWay, type SubscriptionRow, type SubscriptionStatus } from './subscription.ts';

// An item's quantity, as the wire of the clients types it.
export const maxQuantity = 2 ** 31 - 1;
const Reference = z.string().min(1).max(255);

/** What a caller says of a subscription to make. */
export const NewSubscription = z
  .object({
    customerId: Reference.optional(),
    customerExternalId: Reference.optional().meta({
      description: 'Your own id of the customer, instead of `customerId`.',
    }),
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
    quantity: countInput(1, maxQuantity).optional().meta({ description: '1 by default.' }),
    startDate: TimestampInput.nullish().meta({
      description:
        'The begin of the first period and its charge, by default now. Until then the customer keeps its present plan.',
    }),
    interval: IntervalUnit.nullish().meta({ description: 'By default that of the price.' }),
    intervalCount: countInput(1).nullish().meta({ description: 'By default that of the price.' }),
    trialEnd: TimestampInput.nullish().meta({
      description: 'The end of the trial, by default as the trial days of the price have it.',
    }),
    metadata: Metadata.nullish(),
    name: SafeString.nullish(),
    defaultPaymentMethodId: Reference.nullish(),
    backupPaymentMethodId: Reference.nullish().meta({
      description: 'The payment method for attempts after the default one has failed.',
    }),
    discountCode: z
      .string()
      .min(1)
      .max(255)
      .nullish()
      .meta({
        description:
          'The code of an active discount, which this subscription redeems. Upper and lower case are the same.',
      }),
    doNotCharge: z.boolean().optional().meta({ description: 'If true, the subscription is free of charge.' }),
  })
  .refine((given) => (given.customerId === undefined) !== (given.customerExternalId === undefined), {
    path: ['customerId'],
    message: 'give exactly one of customerId and customerExternalId',
  })
  .refine((given) => (given.priceId === undefined) !== (given.priceSlug === undefined), {
    path: ['priceId'],
    message: 'give exactly one of priceId and priceSlug',
  })
  .refine((given) => !given.doNotCharge || !(given.defaultPaymentMethodId || given.backupPaymentMethodId), {
    path: ['doNotCharge'],
    message: 'leave out the payment methods of a subscription that is not charged',
  });
export type NewSubscription = z.infer<typeof NewSubscription>;

/** The most that a period may cost, in minor units: a payment carries no more than a unit may cost. */
export const maxPeriodAmount = BigInt(maxUnitPrice);

/** How many periods may be over when a subscription is made: each is begun, billed and told of on its own. */
export const maxPeriodsBehind = 500;

/** What a subscription is to be made of, once every id in the request has been looked up. */
export interface StartTerms {
  readonly price: Price;
  readonly product: { readonly active: boolean; readonly default: boolean };
  readonly quantity: number;
  readonly startDate: Instant;
  readonly now: Instant;
  /** The end of the trial that the caller asks for; null: what the price says. */
  readonly trialEnd: Instant | null;
  /** The interval that the caller asks for; null: the price's. */
  readonly intervalUnit: Interval['unit'] | null;
  readonly intervalCount: number | null;
  readonly doNotCharge: boolean;
  /** Whether the customer ever had a trial. */
  readonly hadTrial: boolean;
  /** The payment method that the caller names for this subscription. */
  readonly givenPaymentMethodId: string | null;
  /** The one that the customer has, which is charged when none is named. */
  readonly storedPaymentMethodId: string | null;
  /** Whether the environment gives its customers days to pay in, so that it sends an invoice where it can charge nothing. */
  readonly hasNetTerms: boolean;
  /**
   * What the periods are to be counted from, at or before the start, so that the first one is the rest of an interval. A
   * trial sets its own anchor. Null or absent: the start.
   */
  readonly anchor?: Instant | null;
}

export interface Start {
  readonly status: SubscriptionStatus;
  readonly trialEnd: Instant | null;
  /** Null when it does not renew. */
  readonly interval: Interval | null;
  /** Null when it has no periods, or when the first one waits for a payment method. Empty until a later start. */
  readonly period: Period | null;
  /** What its periods are counted from; null: its start. */
  readonly anchor: Instant | null;
  /** Where the interval begins that the first period is the rest of; null: the period is whole. */
  readonly wholeStartAt: Instant | null;
  /** True when it starts later: until then it gives nothing, and nothing is billed. */
  readonly startsLater: boolean;
  readonly isFreePlan: boolean;
  /** Of the item, in minor units: 0 for who is not charged. */
  readonly unitPrice: bigint;
  /** The payment method that the first period is charged to; null: nothing is charged now. */
  readonly chargeWith: string | null;
  /** True when there is nothing to charge and the first period is invoiced, to be paid within the terms. */
  readonly isInvoiced: boolean;
}

/**
 * How a subscription begins. What costs something and has nothing to charge waits for a payment method, or is invoiced
 * where there are terms to pay in. Refuses with `priceNotSubscribable` a price that is not for subscriptions, and with
 * `invalidRequest` terms that contradict each other or lie out of range.
 */
export function decideStart(terms: StartTerms): Start {
  refuseBadTerms(terms);
  const { price, doNotCharge, startDate, givenPaymentMethodId } = terms;
  const isFreePlan = price.unitPrice === 0n;
  const interval = decideInterval(terms);
  const trialEnd = interval === null ? null : decideTrialEnd(terms);
  const status = decideInitialStatus({
    doNotCharge,
    isInTrial: trialEnd !== null,
    isFreePlan,
    hasGivenPaymentMethod: givenPaymentMethodId !== null,
    isDefaultPlan: terms.product.default,
  });
  const whole = interval === null || trialEnd !== null ? null : keptInterval(terms, interval);
  const known = {
    trialEnd,
    interval,
    isFreePlan,
    unitPrice: doNotCharge ? 0n : price.unitPrice,
    anchor: whole === null ? null : (terms.anchor ?? null),
    wholeStartAt: whole !== null && whole.start < startDate ? whole.start : null,
  };
  if (interval !== null && startDate > terms.now) {
    // It is paid for when it starts, with what there is to charge then, so it waits for no payment method now.
    const period = { start: startDate, end: startDate };
    const waiting = status === 'incomplete' ? 'active' : status;
    return { ...known, status: waiting, period, startsLater: true, chargeWith: null, isInvoiced: false };
  }
  const isCharged = interval !== null && trialEnd === null && !isFreePlan && !doNotCharge;
  const chargeWith = isCharged ? (givenPaymentMethodId ?? terms.storedPaymentMethodId) : null;
  const isInvoiced = isCharged && chargeWith === null && terms.hasNetTerms;
  const waits = status === 'incomplete' && chargeWith === null && !isInvoiced;
  const first = interval === null || waits ? null : firstPeriod(startDate, trialEnd, interval);
  const period = first !== null && whole !== null ? { ...first, end: whole.end } : first;
  return { ...known, status: isInvoiced ? 'active' : status, period, startsLater: false, chargeWith, isInvoiced };
}

/** The interval, counted from an anchor that is to be kept, in which the subscription starts. */
function keptInterval(
  { anchor, startDate, now }: Pick<StartTerms, 'anchor' | 'startDate' | 'now'>,
  interval: Interval,
): Period | null {
  if (anchor === undefined || anchor === null || anchor > startDate || startDate > now) return null;
  return periodAt(anchor, interval, startDate);
}

/**
 * The first period of a subscription that has waited for a payment method until `now`: one interval from now on or, with
 * an anchor to be kept, the rest of one.
 */
export function decideActivation(
  subscription: PeriodSchedule,
  { anchor, now }: { readonly anchor: Instant | null; readonly now: Instant },
): { readonly period: Period; readonly anchor: Instant; readonly wholeStartAt: Instant | null } {
  const interval = billingInterval(subscription);
  const whole = keptInterval({ anchor, startDate: now, now }, interval);
  const period = { ...firstPeriod(now, null, interval), ...(whole === null ? {} : { end: whole.end }) };
  const isRest = whole !== null && whole.start < now;
  return {
    period,
    anchor: anchor !== null && whole !== null ? anchor : now,
    wholeStartAt: isRest ? whole.start : null,
  };
}

/** Refuses a start that lies so far back that more periods would be over by now than can be caught up with. */
export function refuseFarStart(
  { interval, trialEnd }: Start,
  { startDate, now }: { startDate: Instant; now: Instant },
) {
  const anchor = trialEnd ?? startDate;
  if (interval === null || anchor >= now) return;
  if (periodAt(anchor, interval, Math.min(now, calendarEnd - 1)).index > maxPeriodsBehind)
    throw invalid(['startDate'], `must lie at most ${maxPeriodsBehind} billing periods back`);
}

/**
 * The status that a subscription begins in; the first row that fits. A plan that costs nothing waits for no payment
 * method. One that the customer's stored method is charged for is incomplete until the charge succeeds.
 */
export function decideInitialStatus(given: {
  doNotCharge: boolean;
  isInTrial: boolean;
  hasGivenPaymentMethod: boolean;
  isDefaultPlan: boolean;
  isFreePlan: boolean;
}): SubscriptionStatus {
  if (given.doNotCharge) return 'active';
  if (given.isInTrial) return 'trialing';
  if (given.hasGivenPaymentMethod || given.isDefaultPlan || given.isFreePlan) return 'active';
  return 'incomplete';
}

/** The end of the trial: the one asked for, else the price's days of 24 hours; null for who had one or is not charged. */
function decideTrialEnd({ price, doNotCharge, hadTrial, startDate, trialEnd }: StartTerms): Instant | null {
  if (doNotCharge || hadTrial) return null;
  if (trialEnd !== null) return trialEnd;
  return price.trialPeriodDays ? addDays(startDate, price.trialPeriodDays) : null;
}

function decideInterval({ price, intervalUnit, intervalCount }: StartTerms): Interval | null {
  if (price.type === 'single_payment') return null;
  return { unit: intervalUnit ?? price.intervalUnit, count: intervalCount ?? price.intervalCount };
}

function refuseBadTerms(terms: StartTerms): void {
  const { price, product, quantity, startDate, trialEnd } = terms;
  const isSold = price.type === 'subscription' || (price.type === 'single_payment' && product.default);
  if (!isSold) throw new Problem('priceNotSubscribable', { id: price.id, type: price.type });
  if (!price.active || !product.active) throw new Problem('priceInactive', { id: price.id });
  if (startDate < calendarStart || startDate >= calendarEnd) {
    throw invalid(['startDate'], `must be from ${calendarStart} to ${calendarEnd - 1}`);
  }
  if (trialEnd !== null && (trialEnd <= startDate || trialEnd > calendarEnd)) {
    throw invalid(['trialEnd'], `must be later than startDate (${startDate}) and at most ${calendarEnd}`);
  }
  // A payment carries no more than a unit may cost at the most, so a period must not either.
  if (price.unitPrice * BigInt(quantity) > maxPeriodAmount) {
    const most = maxPeriodAmount / price.unitPrice;
    throw invalid(['quantity'], `must be at most ${most} at a unit price of ${price.unitPrice}`);
  }
}

/** What a subscription is called when the caller gives no name. */
export function subscriptionName(product: { name: string }, price: { name: string | null }): string {
  return price.name === null ? product.name : `${product.name} - ${price.name}`;
}

/** What the subscription is called that every customer starts with. */
export function defaultPlanName(product: { name: string }): string {
  return `${product.name} Subscription`;
}

/**
 * Which subscription a new one takes the place of: a paid one that of the customer's free one. Null when it stands
 * beside nothing. Refuses with `currentSubscriptionExists` a second free one, and where the environment allows one
 * subscription only, a second of any kind. One that is paused counts, and so does one whose first payment is under way.
 */
export function decideReplaced(
  living: readonly SubscriptionRow[],
  { isFreePlan, allowMultiple }: { isFreePlan: boolean; allowMultiple: boolean },
): SubscriptionRow | null {
  const current = living.filter(isInTheWay);
  const free = current.find((subscription) => subscription.isFreePlan) ?? null;
  if (isFreePlan && free !== null) throw new Problem('currentSubscriptionExists');
  const replaced = isFreePlan ? null : free;
  if (!allowMultiple && current.some((subscription) => subscription !== replaced)) {
    throw new Problem('currentSubscriptionExists');
  }
  return replaced;
}
