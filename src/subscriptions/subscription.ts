import assert from 'node:assert/strict';
import { z } from 'zod';
import { addDays, type Instant, type IntervalUnit as Unit } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Metadata, Timestamp, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { type Access, AnchorRule, FirstPeriod } from '../organizations/setting.ts';
import { IntervalUnit } from '../pricing/price.ts';
import { PriceOverride } from './price-override.ts';

export const SubscriptionId = idSchema('subscription');

export const subscriptionStatuses = [
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'cancellation_scheduled',
  'incomplete',
  'incomplete_expired',
  'canceled',
  'paused',
] as const;
export const SubscriptionStatus = z.enum(subscriptionStatuses).meta({ id: 'SubscriptionStatus' });
export type SubscriptionStatus = z.infer<typeof SubscriptionStatus>;

/** Events that change a subscription's status. */
export const triggers = [
  /** A charge succeeded: the first, or one after a failure. */
  'paid',
  /** A charge other than the very first failed. (A failed first charge cancels the subscription.) */
  'payment_failed',
  /** A paid period began without a payment method. */
  'payment_method_missing',
  /** The trial ended and the next period can be paid. */
  'trial_ended',
  /** The last attempt to collect a failed payment failed. */
  'retries_exhausted',
  'cancel_scheduled',
  /** A scheduled cancellation was undone; nothing is owed and any trial is over. */
  'uncanceled',
  'uncanceled_in_trial',
  /** The same with an invoice open after a failed attempt. */
  'uncanceled_past_due',
  /** The same after the last attempt. */
  'uncanceled_unpaid',
  'paused',
  'resumed',
  'canceled',
  /** The first payment did not arrive in time. */
  'expired',
] as const;
type Trigger = (typeof triggers)[number];

/** The life cycle of a subscription: the status after each event. Missing entries are impossible. */
export const transitions: Readonly<Record<SubscriptionStatus, Readonly<Partial<Record<Trigger, SubscriptionStatus>>>>> =
  {
    incomplete: { paid: 'active', canceled: 'canceled', expired: 'incomplete_expired' },
    trialing: {
      trial_ended: 'active',
      payment_method_missing: 'past_due',
      cancel_scheduled: 'cancellation_scheduled',
      canceled: 'canceled',
    },
    active: {
      paid: 'active',
      payment_failed: 'past_due',
      payment_method_missing: 'past_due',
      cancel_scheduled: 'cancellation_scheduled',
      paused: 'paused',
      canceled: 'canceled',
    },
    past_due: {
      paid: 'active',
      payment_failed: 'past_due',
      payment_method_missing: 'past_due',
      retries_exhausted: 'unpaid',
      cancel_scheduled: 'cancellation_scheduled',
      canceled: 'canceled',
    },
    unpaid: {
      paid: 'active',
      payment_failed: 'unpaid',
      payment_method_missing: 'unpaid',
      cancel_scheduled: 'cancellation_scheduled',
      canceled: 'canceled',
    },
    // It ends at its date, whatever happens to its trial and payments until then.
    cancellation_scheduled: {
      paid: 'cancellation_scheduled',
      payment_failed: 'cancellation_scheduled',
      payment_method_missing: 'cancellation_scheduled',
      trial_ended: 'cancellation_scheduled',
      retries_exhausted: 'cancellation_scheduled',
      cancel_scheduled: 'cancellation_scheduled',
      uncanceled: 'active',
      uncanceled_in_trial: 'trialing',
      uncanceled_past_due: 'past_due',
      uncanceled_unpaid: 'unpaid',
      canceled: 'canceled',
    },
    // Everything was paid before the pause. A reversed payment takes effect on resume.
    paused: { resumed: 'active', canceled: 'canceled' },
    canceled: {},
    incomplete_expired: {},
  };

/** Final statuses. */
export const terminalStatuses = ['canceled', 'incomplete_expired'] as const;
/** Statuses in which the customer has the subscription: it counts for features, credits and seats. */
export const currentStatuses = ['trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled'] as const;

/**
 * Whether the subscription prevents another one of its customer: it is current, will be when it resumes, or will be
 * when its first payment, now in flight, succeeds.
 */
export function isInTheWay({
  status,
  currentBillingPeriodStart,
}: Pick<SubscriptionRow, 'status' | 'currentBillingPeriodStart'>): boolean {
  return isCurrent(status) || status === 'paused' || (status === 'incomplete' && currentBillingPeriodStart !== null);
}

/** Whether its start is in the future, or has passed unprocessed: its current period is empty until then. */
export function isWaitingForStart({
  status,
  currentBillingPeriodStart: start,
  currentBillingPeriodEnd: end,
}: Pick<SubscriptionRow, 'status' | 'currentBillingPeriodStart' | 'currentBillingPeriodEnd'>): boolean {
  return isCurrent(status) && start !== null && start === end;
}

export function isTerminal(status: SubscriptionStatus): boolean {
  return terminalStatuses.some((each) => each === status);
}

export function isCurrent(status: SubscriptionStatus): boolean {
  return currentStatuses.some((each) => each === status);
}

/** The status after the event, or null if it is impossible in this status. */
export function statusAfter(status: SubscriptionStatus, trigger: Trigger): SubscriptionStatus | null {
  return transitions[status][trigger] ?? null;
}

/** The same for an event that is known to be possible. */
export function requireStatusAfter(status: SubscriptionStatus, trigger: Trigger): SubscriptionStatus {
  const next = statusAfter(status, trigger);
  assert(next, `a subscription that is ${status} cannot be ${trigger}`);
  return next;
}

/** Whether an invoice is open after a failed attempt (`past_due`) or after the last attempt (`unpaid`). */
export type Arrears = 'none' | 'past_due' | 'unpaid';

/** A scheduled cancellation hides the arrears, so they are stored beside the status. */
type Standing = Pick<SubscriptionRow, 'status' | 'arrears'>;

/** The arrears that a status implies; null for a scheduled cancellation, which keeps those from before. */
export function arrearsOfStatus(status: SubscriptionStatus): Arrears | null {
  if (status === 'cancellation_scheduled') return null;
  return status === 'past_due' || status === 'unpaid' ? status : 'none';
}

/** The status that payments have led to, without a scheduled cancellation. */
export function statusOfPayments({ status, arrears }: Standing): SubscriptionStatus {
  if (status !== 'cancellation_scheduled') return status;
  return arrears === 'none' ? 'active' : arrears;
}

/** The subscription after payments have led to this status. A scheduled cancellation stays. */
export function withStatusOfPayments<Row extends Standing>(row: Row, status: SubscriptionStatus): Row {
  const arrears = arrearsOfStatus(status) ?? row.arrears;
  return row.status === 'cancellation_scheduled' ? { ...row, arrears } : { ...row, status, arrears };
}

/** The arrears in which the customer may not use the subscription, by the settings. */
export function arrearsWithoutAccess({ pastDue, unpaid }: Access): Arrears[] {
  return [...(pastDue === 'none' ? ['past_due' as const] : []), ...(unpaid === 'none' ? ['unpaid' as const] : [])];
}

export function hasAccess({ arrears }: Pick<SubscriptionRow, 'arrears'>, access: Access): boolean {
  return !arrearsWithoutAccess(access).includes(arrears);
}

/** The reason why a subscription ended other than by a cancel request. */
const cancellationReasons = ['upgraded_to_paid', 'non_payment', 'customer_archived'] as const;
export type CancellationReason = (typeof cancellationReasons)[number];

const shared = {
  id: SubscriptionId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  pricingModelId: z.string(),
  customerId: z.string(),
  priceId: z.string(),
  name: z.string().nullable(),
  startDate: Timestamp,
  current: z.boolean().meta({
    description:
      'True while the customer has the subscription. An unpaid one is current; settings decide on its access.',
  }),
  defaultPaymentMethodId: z.string().nullable(),
  backupPaymentMethodId: z.string().nullable(),
  metadata: Metadata.nullable(),
  canceledAt: Timestamp.nullable(),
  cancelScheduledAt: Timestamp.nullable(),
  cancellationReason: z.string().nullable().meta({
    description:
      'The reason why it ended or will end: `upgraded_to_paid`, `non_payment`, `customer_archived`, or the one of the customer, such as `too_expensive`.',
  }),
  cancellationComment: z.string().optional().meta({
    description: 'The comment of the customer on its cancellation. Absent without one.',
  }),
  replacedBySubscriptionId: z.string().nullable(),
  scheduledAdjustmentAt: Timestamp.nullable(),
  pausedAt: Timestamp.nullable(),
  resumesAt: Timestamp.nullable().meta({ description: 'The time at which a paused subscription resumes by itself.' }),
  isFreePlan: z.boolean().meta({ description: 'True if the price is 0 at any quantity.' }),
  doNotCharge: z.boolean(),
  billingThresholdAmount: WholeNumber.nullable().meta({
    description: 'Unbilled usage is invoiced as soon as it is worth this much. 0: never. null: as the settings say.',
  }),
  runBillingAtPeriodStart: z.boolean(),
  priceOverrides: z.array(PriceOverride).meta({
    description: 'Own terms of this customer in force, in place of those of the prices.',
  }),
};

export const RenewingSubscription = z.object({
  ...shared,
  renews: z.literal(true),
  status: SubscriptionStatus,
  trialEnd: Timestamp.nullable(),
  currentBillingPeriodStart: Timestamp.nullable(),
  currentBillingPeriodEnd: Timestamp.nullable().meta({
    description: 'Before the subscription starts, the same as the start.',
  }),
  interval: IntervalUnit,
  intervalCount: z.int(),
  billingCycleAnchorDate: Timestamp,
  billingAnchor: AnchorRule,
  firstPeriod: FirstPeriod,
});

export const NonRenewingSubscription = z.object({
  ...shared,
  renews: z.literal(false),
  status: z.enum(['active', 'canceled']),
  trialEnd: z.null(),
  currentBillingPeriodStart: z.null(),
  currentBillingPeriodEnd: z.null(),
  interval: z.null(),
  intervalCount: z.null(),
  billingCycleAnchorDate: z.null(),
  billingAnchor: z.null(),
  firstPeriod: z.null(),
});

/** A customer's right to a product: at a price, period after period or (`renews` false) permanently. */
export const Subscription = z
  .discriminatedUnion('renews', [RenewingSubscription, NonRenewingSubscription])
  .meta({ id: 'Subscription' });
export type Subscription = z.infer<typeof Subscription>;

/** A subscription as it is stored. */
export interface SubscriptionRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly priceId: string;
  readonly name: string | null;
  readonly status: SubscriptionStatus;
  readonly arrears: Arrears;
  readonly renews: boolean;
  readonly isFreePlan: boolean;
  /** True for the subscription of the default product, which every customer has. */
  readonly isDefaultPlan: boolean;
  readonly doNotCharge: boolean;
  readonly runBillingAtPeriodStart: boolean;
  /** True if the environment allowed only one current subscription when this one was created. */
  readonly exclusive: boolean;
  /** True if it began with the trial of its price and the environment allowed its customer no other. */
  readonly isOnlyTrial: boolean;
  readonly startDate: Instant;
  readonly trialEnd: Instant | null;
  readonly intervalUnit: Unit | null;
  readonly intervalCount: number | null;
  readonly billingCycleAnchorDate: Instant | null;
  /** The way in which the anchor was found. `anniversary` again once a later change has set another one. */
  readonly billingAnchor: AnchorRule;
  readonly firstPeriod: FirstPeriod;
  readonly currentBillingPeriodStart: Instant | null;
  readonly currentBillingPeriodEnd: Instant | null;
  /**
   * The next instant within the current period at which usage is billed or credits are granted; null: none. While
   * paused: the end of the usage periods that are open.
   */
  readonly interimAt: Instant | null;
  readonly defaultPaymentMethodId: string | null;
  readonly backupPaymentMethodId: string | null;
  readonly canceledAt: Instant | null;
  readonly cancelScheduledAt: Instant | null;
  readonly cancellationReason: string | null;
  /** The customer's own words about its cancellation. */
  readonly cancellationComment: string | null;
  readonly replacedBySubscriptionId: string | null;
  readonly scheduledAdjustmentAt: Instant | null;
  /** True if the customer itself scheduled the last end or change, so that it may undo it. */
  readonly scheduledByCustomer: boolean;
  /** The start of the pause; null if not paused. */
  readonly pausedAt: Instant | null;
  /** The automatic resume date; null: on request only. */
  readonly resumesAt: Instant | null;
  /** List value of paid, unused paused time, in minor units. */
  readonly pausedCredit: bigint;
  /** The setup fee that its first invoice will bill, in minor units; 0 once it has. */
  readonly setupFee: bigint;
  /** The terms of prices in force for this customer, by price. */
  readonly priceOverrides: readonly PriceOverride[];
  /** Unbilled usage of this value is invoiced at once, in minor units; 0: none is. Null: as the settings say. */
  readonly billingThresholdAmount: bigint | null;
  readonly metadata: z.infer<typeof Metadata> | null;
}

/** A subscription as returned by the API; `known` are the fields of its environment. */
export function toSubscription(
  known: { livemode: boolean; organizationId: string },
  {
    intervalUnit,
    isDefaultPlan: _,
    exclusive: _1,
    isOnlyTrial: _2,
    pausedCredit: _3,
    arrears: _4,
    scheduledByCustomer: _5,
    setupFee: _6,
    billingAnchor,
    firstPeriod,
    interimAt: _7,
    cancellationComment,
    ...row
  }: SubscriptionRow,
): Subscription {
  // Table constraints hold each row to the variant of its `renews`.
  return {
    ...row,
    ...(cancellationComment === null ? {} : { cancellationComment }),
    livemode: known.livemode,
    organizationId: known.organizationId,
    interval: intervalUnit,
    billingAnchor: row.renews ? billingAnchor : null,
    firstPeriod: row.renews ? firstPeriod : null,
    // Own terms of a new subscription are for any usage period, however early it began.
    priceOverrides: row.priceOverrides.map((each) => ({ ...each, startsAt: Math.max(each.startsAt, row.startDate) })),
    current: isCurrent(row.status) && !isWaitingForStart(row),
  } as Subscription;
}

const trialNoticeDays = 3;

/**
 * The instant at which the end of a trial is announced: three days before, which lies in the past of a shorter one. Null
 * without a trial.
 */
export function trialNoticeAt(trialEnd: Instant | null): Instant | null {
  return trialEnd === null ? null : addDays(trialEnd, -trialNoticeDays);
}
