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
import { amountInput, countInput, Metadata, MetadataInput, SafeString, TimestampInput } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { AnchorRule, type AnchorTerms, FirstPeriod } from '../organizations/setting.ts';
import { amountAt, firstAmountAt, IntervalUnit, type Price } from '../pricing/price.ts';
import { maxUnitPrice, mayCost } from '../pricing/pricing.ts';
import { maxQuantity } from '../pricing/product.ts';
import { maxItems } from './adjustment-input.ts';
import { type AnchorRequest, anchorOf, anchorTerms, type PartPeriod, periodFrom } from './billing-anchor.ts';
import { billingInterval, type PeriodSchedule } from './billing-period.ts';
import { NewPriceOverrides } from './price-override.ts';
import { isInTheWay, isWaitingForStart, type SubscriptionRow, type SubscriptionStatus } from './subscription.ts';

const Reference = z.string().min(1).max(255);
const ThresholdInput = amountInput(0, maxUnitPrice)
  .nullish()
  .meta({
    description:
      'Unbilled usage is invoiced as soon as it is worth this much, in minor units. 0: only at the end of the period. null: as ' +
      'the settings say.',
  });

const NewItem = z
  .object({
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
    quantity: countInput(1, maxQuantity).optional().meta({ description: '1 by default.' }),
  })
  .refine((given) => (given.priceId === undefined) !== (given.priceSlug === undefined), {
    path: ['priceId'],
    message: 'send exactly one of priceId and priceSlug',
  })
  .meta({ id: 'NewSubscriptionItem' });

/** Items of a request, in place of one price. */
export const NewItems = z
  .array(NewItem)
  .min(1)
  .max(maxItems)
  .optional()
  .meta({
    description:
      'Several items at once, in place of one price and its `quantity`: one plan, and add-ons (`addOn: true`) beside it. All ' +
      'have the same interval.',
  });

interface GivenItems {
  readonly priceId?: string | undefined;
  readonly priceSlug?: string | undefined;
  readonly quantity?: number | undefined;
  readonly items?: readonly unknown[] | undefined;
}

/** A rule of a request that names one price, or items. */
export const onePriceOrItems = [
  ({ priceId, priceSlug, items }: GivenItems) =>
    [priceId, priceSlug, items].filter((each) => each !== undefined).length === 1,
  { path: ['priceId'], message: 'send exactly one of priceId, priceSlug and items' },
] as const satisfies Rule;

/** A rule of its quantity. */
export const quantityOfOnePrice = [
  ({ items, quantity }: GivenItems) => items === undefined || quantity === undefined,
  { path: ['quantity'], message: 'must be absent beside items: each has its own' },
] as const satisfies Rule;

type Rule = readonly [(given: GivenItems) => boolean, { path: string[]; message: string }];

/** A request for a subscription. */
export const NewSubscription = z
  .object({
    customerId: Reference.optional(),
    customerExternalId: Reference.optional().meta({
      description: 'Your own id of the customer, instead of `customerId`.',
    }),
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
    quantity: countInput(1, maxQuantity).optional().meta({ description: '1 by default.' }),
    items: NewItems,
    startDate: TimestampInput.nullish().meta({
      description:
        'The begin of the first period and its charge, by default now. Until then the customer keeps its present plan. ' +
        'If that plan is scheduled to end, the start must be at its end or later.',
    }),
    interval: IntervalUnit.nullish().meta({ description: 'By default that of the price.' }),
    intervalCount: countInput(1).nullish().meta({ description: 'By default that of the price.' }),
    trialEnd: TimestampInput.nullish().meta({
      description:
        'The end of the trial, by default as the trial days of the price have it. It is obeyed also for a customer ' +
        'who already had a trial.',
    }),
    billingAnchor: AnchorRule.nullish().meta({ description: 'By default that of the settings.' }),
    firstPeriod: FirstPeriod.nullish().meta({ description: 'By default that of the settings.' }),
    metadata: Metadata.nullish(),
    name: SafeString.nullish(),
    defaultPaymentMethodId: Reference.nullish(),
    backupPaymentMethodId: Reference.nullish().meta({
      description: 'The payment method for attempts after the default one has failed.',
    }),
    discountCode: z.string().min(1).max(255).nullish().meta({
      description:
        'The code of an active discount, which this subscription redeems. Upper and lower case are the same.',
    }),
    doNotCharge: z.boolean().optional().meta({ description: 'If true, the subscription is free of charge.' }),
    priceOverrides: NewPriceOverrides.optional(),
    billingThresholdAmount: ThresholdInput,
  })
  .refine((given) => (given.customerId === undefined) !== (given.customerExternalId === undefined), {
    path: ['customerId'],
    message: 'send exactly one of customerId and customerExternalId',
  })
  .refine(...onePriceOrItems)
  .refine(...quantityOfOnePrice)
  .refine((given) => !given.doNotCharge || !(given.defaultPaymentMethodId || given.backupPaymentMethodId), {
    path: ['doNotCharge'],
    message: 'must be omitted for a subscription that is not charged',
  })
  .refine((given) => !given.doNotCharge || !given.priceOverrides?.length, {
    path: ['priceOverrides'],
    message: 'must be omitted for a subscription that is not charged',
  })
  .refine((given) => !given.doNotCharge || typeof given.trialEnd !== 'number', {
    path: ['trialEnd'],
    message: 'must be omitted for a subscription that is not charged: it has no trial',
  });
export type NewSubscription = z.infer<typeof NewSubscription>;

const MethodReference = Reference.nullish();

/** A change of a subscription apart from its plan. Absent fields keep their value. */
export const SubscriptionUpdate = z.object({
  id: z.string().max(255).optional(),
  name: SafeString.nullish(),
  metadata: MetadataInput,
  defaultPaymentMethodId: MethodReference.meta({
    description: 'The payment method that is charged; null for the default one of the customer.',
  }),
  backupPaymentMethodId: MethodReference.meta({
    description: 'The payment method that is charged from the third attempt on.',
  }),
  billingThresholdAmount: ThresholdInput,
  trialEnd: TimestampInput.optional().meta({
    description: 'Another end of the running trial, later than now. The first payment is due then.',
  }),
  billingCycleAnchorDate: TimestampInput.optional().meta({
    description:
      'The instant from which billing periods are counted: later than now, and at most one interval ahead. A period that ' +
      'ends there begins now, at its share of the price. The unused paid value of the present one is taken off. Sent ' +
      'alone, because it may be charged.',
  }),
});
export type SubscriptionUpdate = z.output<typeof SubscriptionUpdate>;

/**
 * Decides whether a trial gets another end. Refuses an end that has passed. Refuses with `trialEndFixed` a subscription
 * whose trial does not run. So it does where something is scheduled for the end, which would move unasked.
 */
export function decideTrialMove(
  subscription: Pick<
    SubscriptionRow,
    'id' | 'status' | 'trialEnd' | 'currentBillingPeriodStart' | 'currentBillingPeriodEnd'
  >,
  trialEnd: Instant | undefined,
  { now, hasPendingChange }: { readonly now: Instant; readonly hasPendingChange: boolean },
): boolean {
  const { id, status } = subscription;
  if (trialEnd === undefined || trialEnd === subscription.trialEnd) return false;
  const refuse = (reason: string) => new Problem('trialEndFixed', { id, reason });
  if (status === 'cancellation_scheduled') throw refuse('an end is scheduled: undo that first');
  if (status !== 'trialing') throw refuse(`its status is ${status}, and only a trial that runs gets another end`);
  if (isWaitingForStart(subscription)) throw refuse('it has not started yet');
  if (hasPendingChange) throw refuse('a change of plan is scheduled: undo that first');
  if (trialEnd <= now || trialEnd > calendarEnd) {
    throw invalid(['subscription', 'trialEnd'], `must be later than now (${now}) and at most ${calendarEnd}`);
  }
  return true;
}

/** The maximum price of a period, in minor units: the limit of a single payment. */
export const maxPeriodAmount = BigInt(maxUnitPrice);

/** The maximum number of past periods of a new subscription: each is started, billed and published individually. */
export const maxPeriodsBehind = 500;

/** The terms of a new subscription, with all references resolved. */
export interface StartTerms {
  readonly price: Price;
  readonly product: { readonly active: boolean; readonly default: boolean };
  readonly quantity: number;
  /** Items beside that of the plan. Absent: none. */
  readonly addOns?: readonly AddOn[];
  readonly startDate: Instant;
  readonly now: Instant;
  /** The requested end of the trial; null: the price's. */
  readonly trialEnd: Instant | null;
  /** The requested interval; null: the price's. */
  readonly intervalUnit: Interval['unit'] | null;
  readonly intervalCount: number | null;
  readonly doNotCharge: boolean;
  /** Whether the customer has used up the price's own trial. */
  readonly hadTrial: boolean;
  /** The payment method named for this subscription. */
  readonly givenPaymentMethodId: string | null;
  /** The customer's stored payment method, charged when none is named. */
  readonly storedPaymentMethodId: string | null;
  /** The field of the request that names a payment method. Absent: `defaultPaymentMethodId`. */
  readonly payerField?: string;
  /** Whether the environment has net terms, so that it sends an invoice when there is nothing to charge. */
  readonly hasNetTerms: boolean;
  /**
   * An anchor to keep, which may lie ahead, so that the first period is the rest of an interval. A trial sets its
   * own anchor. Null or absent: none is kept.
   */
  readonly anchor?: Instant | null;
  /** The requested count of its periods. Absent or null: that of the settings. */
  readonly anchorRequest?: AnchorRequest;
  /** The count of periods by the settings. */
  readonly anchorSettings: AnchorTerms;
}

/** A quantity of the price of an add-on. */
export interface AddOn {
  readonly price: Price;
  readonly product: { readonly id: string; readonly name: string; readonly active: boolean };
  readonly quantity: number;
}

export interface Start {
  readonly status: SubscriptionStatus;
  readonly trialEnd: Instant | null;
  /** Whether the trial is that of the price, and not one that the caller asked for. */
  readonly hasTrialOfPrice: boolean;
  /** Null when it does not renew. */
  readonly interval: Interval | null;
  /** Null without periods, or while the first one awaits a payment method. Empty until a future start. */
  readonly period: Period | null;
  /** The anchor of its periods; null: its start. */
  readonly anchor: Instant | null;
  /** How its periods are counted. */
  readonly count: AnchorTerms;
  /** The start of the interval of which the first period is the rest; null: the period is whole. */
  readonly wholeStartAt: Instant | null;
  /** True for a future start: until then nothing is granted or billed. */
  readonly startsLater: boolean;
  readonly isFreePlan: boolean;
  /** The payment method charged for the first period; null: nothing is charged now. */
  readonly chargeWith: string | null;
  /** True if there is nothing to charge and the first period is invoiced under net terms. */
  readonly isInvoiced: boolean;
}

/**
 * Decides how a subscription starts. A paid plan without a chargeable method awaits one, or is invoiced under net
 * terms. Refuses with `priceNotSubscribable` a price that is not for subscriptions, and with `invalidRequest`
 * contradictory terms or values out of range.
 */
export function decideStart(terms: StartTerms): Start {
  refuseBadTerms(terms);
  const { price, doNotCharge, startDate, givenPaymentMethodId } = terms;
  const isFreePlan = ![price, ...addOnsOf(terms).map((each) => each.price)].some(mayCost);
  const interval = decideInterval(terms);
  const trialEnd = interval === null ? null : decideTrialEnd(terms);
  const status = decideInitialStatus({
    doNotCharge,
    isInTrial: trialEnd !== null,
    isFreePlan,
    hasGivenPaymentMethod: givenPaymentMethodId !== null,
    isDefaultPlan: terms.product.default,
  });
  const kept = trialEnd === null && startDate <= terms.now ? (terms.anchor ?? null) : null;
  const asked = anchorTerms(terms.anchorRequest ?? {}, terms.anchorSettings, interval);
  // A kept anchor is an instant, and the first period is the rest of an interval of the free plan.
  const isKept = kept !== null || interval === null;
  const count: AnchorTerms = isKept ? { billingAnchor: 'anniversary', firstPeriod: 'short' } : asked;
  const begins = trialEnd ?? startDate;
  const anchor = interval === null ? null : (kept ?? anchorOf(count.billingAnchor, interval, begins));
  const first = interval === null ? null : firstPaid(begins, anchor, interval, count);
  const known = {
    trialEnd,
    hasTrialOfPrice: trialEnd !== null && terms.trialEnd === null,
    interval,
    isFreePlan,
    anchor,
    count,
    wholeStartAt: trialEnd === null && startDate <= terms.now ? (first?.wholeStartAt ?? null) : null,
  };
  if (interval !== null && startDate > terms.now) {
    // A future start is charged then, so it needs no payment method now.
    const period = { start: startDate, end: startDate };
    const waiting = status === 'incomplete' ? 'active' : status;
    return { ...known, status: waiting, period, startsLater: true, chargeWith: null, isInvoiced: false };
  }
  // A plan in arrears has nothing to charge at its start but a setup fee.
  const inArrears = price.billingTiming === 'in_arrears';
  const isDueNow = !inArrears || setupFeesOf(terms) > 0n;
  const isPaid = interval !== null && trialEnd === null && !isFreePlan && !doNotCharge;
  const isCharged = isPaid && isDueNow;
  if (isPaid && !isDueNow) refuseWithoutPayer(terms);
  const chargeWith = isCharged ? (givenPaymentMethodId ?? terms.storedPaymentMethodId) : null;
  const isInvoiced = isCharged && chargeWith === null && terms.hasNetTerms;
  const waits = isCharged && status === 'incomplete' && chargeWith === null && !isInvoiced;
  const period = first === null || waits ? null : { start: startDate, end: trialEnd ?? first.end };
  return {
    ...known,
    status: isInvoiced || (isPaid && !isDueNow) ? 'active' : status,
    period,
    startsLater: false,
    chargeWith,
    isInvoiced,
  };
}

/**
 * Refuses a plan in arrears that nobody could be charged for. Net terms and a covering discount need no payment method.
 */
function refuseWithoutPayer(terms: StartTerms): void {
  const { product, hasNetTerms, givenPaymentMethodId, storedPaymentMethodId, payerField } = terms;
  if (product.default || hasNetTerms || (givenPaymentMethodId ?? storedPaymentMethodId) !== null) return;
  const reason = 'is required: the plan is charged at the end of each period, and the customer has no payment method';
  throw invalid([payerField ?? 'defaultPaymentMethodId'], reason);
}

/** The first paid period, from `begins` on. With an anchor that is kept it is the rest of an interval. */
function firstPaid(
  begins: Instant,
  anchor: Instant | null,
  interval: Interval,
  { firstPeriod }: AnchorTerms,
): PartPeriod {
  // A trial may last until the end of the calendar.
  if (begins >= calendarEnd) return { start: begins, end: begins, wholeStartAt: null };
  return periodFrom(begins, anchor ?? begins, interval, firstPeriod);
}

/** The beginning of a subscription that has waited. */
interface ActivationStart extends Pick<AnchorTerms, 'billingAnchor'> {
  readonly period: PartPeriod;
  readonly anchor: Instant;
}

/** The first period of a subscription that is activated at `now`: counted by its own terms, or from a kept anchor. */
export function decideActivation(
  subscription: PeriodSchedule,
  { anchor: kept, now }: { readonly anchor: Instant | null; readonly now: Instant },
): ActivationStart {
  const interval = billingInterval(subscription);
  const billingAnchor = kept === null ? subscription.billingAnchor : 'anniversary';
  const anchor = kept ?? anchorOf(billingAnchor, interval, now) ?? now;
  const first = kept === null ? subscription.firstPeriod : 'short';
  return { period: periodFrom(now, anchor, interval, first), anchor, billingAnchor };
}

/** Refuses a start with more past periods than can be caught up. */
export function refuseFarStart(
  { interval, trialEnd }: Start,
  { startDate, now }: { startDate: Instant; now: Instant },
) {
  const anchor = trialEnd ?? startDate;
  if (interval === null || anchor >= now) return;
  if (periodAt(anchor, interval, Math.min(now, calendarEnd - 1)).index > maxPeriodsBehind)
    throw invalid(['startDate'], `must be at most ${maxPeriodsBehind} billing periods in the past`);
}

/**
 * The initial status; the first matching row applies. A free plan needs no payment method. A plan charged to the stored
 * method is incomplete until the charge succeeds.
 */
function decideInitialStatus(given: {
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

/**
 * The end of the trial: the requested one, else the price's days of 24 hours. The price's own trial is not for
 * customers who had one, nor for subscriptions that are not charged.
 */
function decideTrialEnd({ price, doNotCharge, hadTrial, startDate, trialEnd }: StartTerms): Instant | null {
  if (trialEnd !== null) return trialEnd;
  if (doNotCharge || hadTrial) return null;
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
  if (trialEnd !== null && price.type !== 'subscription')
    throw invalid(['trialEnd'], 'must be omitted: the price is paid once, so it has no trial');
  refuseTooDear(price, quantity);
  refuseBadAddOns(terms);
}

function addOnsOf({ addOns = [] }: Pick<StartTerms, 'addOns'>): readonly AddOn[] {
  return addOns;
}

/** The setup fees of a plan and its add-ons, which the first invoice bills together. */
export function setupFeesOf({ price, addOns = [] }: Pick<StartTerms, 'price' | 'addOns'>): bigint {
  return [price, ...addOns.map((each) => each.price)].reduce(
    (sum, { setupFeeAmount }) => sum + (setupFeeAmount ?? 0n),
    0n,
  );
}

/** Refuses add-ons that are not for sale, of another interval than the plan, or too dear with it. `path` is where they were sent. */
export function refuseBadAddOns(
  { price: plan, quantity: count, ...terms }: Pick<StartTerms, 'price' | 'quantity' | 'addOns'>,
  path: readonly string[] = ['items'],
): void {
  const addOns = addOnsOf(terms);
  // The start of a subscription takes money for all of it, or for nothing but a setup fee.
  if (addOns.some(({ price }) => price.billingTiming !== plan.billingTiming))
    throw invalid(path, 'must be billed as the plan is, all in advance or all in arrears');
  for (const { price, product } of addOns) {
    if (price.type !== 'subscription') throw new Problem('priceNotSubscribable', { id: price.id, type: price.type });
    if (!price.active || !product.active) throw new Problem('priceInactive', { id: price.id });
    if (price.intervalUnit !== plan.intervalUnit || price.intervalCount !== plan.intervalCount)
      throw invalid(path, 'must all have the same billing interval');
  }
  const all = [{ price: plan, quantity: count }, ...addOns];
  const total = all.reduce((sum, { price, quantity }) => sum + firstAmountAt(price, quantity), 0n);
  if (total > maxPeriodAmount) throw invalid(path, `must cost at most ${maxPeriodAmount} in total, not ${total}`);
}

/** Refuses a quantity whose price is beyond the limit of a single payment. `path` is where it was sent. */
export function refuseTooDear(price: Price, quantity: number, path: readonly string[] = ['quantity']): void {
  const amount = amountAt(price, quantity);
  // Its first invoice bills the fee, and a later one at most the commitment.
  const [fee, commitment] = [price.setupFeeAmount ?? 0n, price.minimumCommitment ?? 0n];
  const most = fee > commitment ? fee : commitment;
  if (amount + most <= maxPeriodAmount) return;
  if (amount <= maxPeriodAmount)
    throw invalid(path, `must be less: with the setup fee or commitment an invoice would be above ${maxPeriodAmount}`);
  if (price.pricing !== null) throw invalid(path, `must cost at most ${maxPeriodAmount}, not ${amount}`);
  const limit = maxPeriodAmount / price.unitPrice;
  throw invalid(path, `must be at most ${limit} at a unit price of ${price.unitPrice}`);
}

/** The default name of a subscription. */
export function subscriptionName(product: { name: string }, price: { name: string | null }): string {
  return price.name === null ? product.name : `${product.name} - ${price.name}`;
}

/** The name of the default plan's subscription. */
export function defaultPlanName(product: { name: string }): string {
  return `${product.name} Subscription`;
}

/**
 * Refuses a second free subscription and, if only one is allowed, a second paid one. Paused subscriptions and those with
 * a first payment in flight count. A paid subscription replaces the free one. One that starts at or after the scheduled
 * end of another is the next one, and is not refused.
 */
export function refuseSecond(
  living: readonly SubscriptionRow[],
  {
    isFreePlan,
    allowMultiple,
    startsAt,
  }: { readonly isFreePlan: boolean; readonly allowMultiple: boolean; readonly startsAt: Instant },
): void {
  const isSecond = ({ isFreePlan: isFree }: SubscriptionRow) => (isFree ? isFreePlan : !allowMultiple);
  for (const other of living.filter(isInTheWay).filter(isSecond)) {
    const { id, startDate, cancelScheduledAt: endsAt } = other;
    if (endsAt !== null && endsAt <= startsAt) continue;
    if (endsAt !== null) throw new Problem('nextSubscriptionTooEarly', { id, endsAt });
    if (isWaitingForStart(other)) throw new Problem('nextSubscriptionBooked', { id, startDate });
    throw new Problem('currentSubscriptionExists');
  }
}
