import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, Timestamp, TimestampInput, WholeNumber } from '../kernel/json.ts';
import { smallerOf } from '../kernel/money.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { isTerminal, type SubscriptionStatus } from '../subscriptions/subscription.ts';
import { type CreditSource, creditSources, defaultPriority } from './ledger.ts';

export const UsageCreditId = idSchema('usageCredit');

const maxPriority = 1000;

/** The state of a credit: whether it has units left, or why not. */
const usageCreditStatuses = ['active', 'used', 'expired', 'taken_back', 'transferred'] as const;

/**
 * Units of a meter granted to a subscription or a customer, and their use: issued = applied + expired + taken back + transferred +
 * remaining.
 */
export const UsageCredit = z
  .object({
    id: UsageCreditId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    customerId: z.string(),
    subscriptionId: z
      .string()
      .nullable()
      .meta({ description: 'Null: the credits wait on the customer, and the next subscription gets them.' }),
    usageMeterId: z.string(),
    featureId: z
      .string()
      .nullable()
      .meta({ description: 'The feature that granted the credits. Null if they were granted by hand.' }),
    source: z.enum(creditSources).meta({
      description:
        '`billing_period_transition`: granted with a billing period. `manual_adjustment`: granted by hand or with a change of plan. `rollover`: left unused by an earlier grant. `purchase`: bought.',
    }),
    reason: z.string().nullable(),
    priority: z
      .int()
      .meta({ description: 'Credits with a lower number are used first, and among equals those that expire first.' }),
    issuedAmount: WholeNumber.meta({ description: 'The units that were granted.' }),
    appliedAmount: WholeNumber.meta({ description: 'The units that paid for usage.' }),
    expiredAmount: WholeNumber.meta({ description: 'The units that expired unused.' }),
    takenBackAmount: WholeNumber.meta({ description: 'The units that were taken back.' }),
    withheldAmount: WholeNumber.meta({
      description: 'The part of `takenBackAmount` that paid back units used ahead of a pause.',
    }),
    owedAmount: WholeNumber.meta({
      description:
        'The units of paused time that were used or held when the subscription was paused. The next credits of its plan pay them back.',
    }),
    transferredAmount: WholeNumber.meta({
      description:
        'The units that another subscription of the customer got: when this one ended, or when one came for which they waited.',
    }),
    transferredFrom: z.string().nullable().meta({
      description: 'The credit whose units these are: on an earlier subscription of the customer, or on the customer.',
    }),
    remainingAmount: WholeNumber.meta({ description: 'The units that can still be used.' }),
    expiresAt: Timestamp.nullable().meta({ description: 'The end of their use. Null: they do not expire.' }),
    status: z.enum(usageCreditStatuses).meta({
      description:
        '`active` while units remain. Then `expired` if some expired unused, else `taken_back` if some were taken back, ' +
        'else `transferred` if some were transferred, else `used`.',
    }),
  })
  .meta({ id: 'UsageCredit' });
export type UsageCredit = z.infer<typeof UsageCredit>;

const name = z.string().min(1).max(255).nullish();
const isNamed = (sent: string | null | undefined) => typeof sent === 'string';

/** A request to grant credits manually. */
export const NewUsageCredit = z
  .object({
    subscriptionId: name,
    customerId: name.meta({
      description:
        'The subscription that has the bought credits of this customer gets them. Without one they wait for the next.',
    }),
    customerExternalId: name.meta({ description: 'The same, by your own id of the customer.' }),
    usageMeterId: name,
    usageMeterSlug: name,
    amount: amountInput(1).meta({ description: 'The number of units of the meter.' }),
    expiresAt: TimestampInput.nullish().meta({ description: 'The end of their use. Without it, they do not expire.' }),
    priority: countInput(0, maxPriority)
      .nullish()
      .meta({ description: `Credits with a lower number are used first. ${defaultPriority} when absent.` }),
    reason: freeText('description').nullish(),
    transactionId: name.meta({
      description:
        'Your own id of the grant. A repeat with the same `transactionId` on a usage meter returns the first grant.',
    }),
  })
  .refine((sent) => [sent.subscriptionId, sent.customerId, sent.customerExternalId].filter(isNamed).length === 1, {
    message: 'send exactly one of subscriptionId, customerId and customerExternalId',
  })
  .refine(
    ({ usageMeterId, usageMeterSlug }) => (typeof usageMeterId === 'string') !== (typeof usageMeterSlug === 'string'),
    {
      message: 'send exactly one of usageMeterId and usageMeterSlug',
    },
  )
  .meta({
    id: 'NewUsageCredit',
    description:
      'Send exactly one of `subscriptionId`, `customerId` and `customerExternalId`, and exactly one of `usageMeterId` and `usageMeterSlug`.',
  });
export type NewUsageCredit = z.infer<typeof NewUsageCredit>;

/** A stored credit with its account. */
export interface UsageCreditRow {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  readonly customerId: string;
  /** Null: on the account of the customer. */
  readonly subscriptionId: string | null;
  readonly usageMeterId: string;
  readonly featureId: string | null;
  readonly source: CreditSource;
  readonly reason: string | null;
  readonly priority: number;
  readonly issued: bigint;
  readonly applied: bigint;
  readonly expired: bigint;
  readonly takenBack: bigint;
  readonly pausedOwed: bigint;
  readonly withheld: bigint;
  readonly expiresAt: Instant | null;
  readonly transferredFrom: string | null;
  /** The part of `takenBack` that was transferred to credits of other accounts. */
  readonly transferred: bigint;
}

/**
 * A credit as returned by the API. One that has expired by `now` is shown as expired, whether or not that was booked.
 */
export function toUsageCredit(
  {
    ledgerAccountId: _,
    issued,
    applied,
    expired,
    takenBack,
    transferred,
    pausedOwed,
    withheld,
    ...row
  }: UsageCreditRow,
  { livemode, now }: { readonly livemode: boolean; readonly now: Instant },
): UsageCredit {
  const rest = issued - applied - expired - takenBack;
  const hasEnded = row.expiresAt !== null && row.expiresAt <= now;
  const amounts = {
    issuedAmount: issued,
    appliedAmount: applied,
    expiredAmount: hasEnded ? expired + rest : expired,
    takenBackAmount: takenBack - transferred,
    withheldAmount: withheld,
    owedAmount: pausedOwed,
    transferredAmount: transferred,
    remainingAmount: hasEnded ? 0n : rest,
  };
  return { ...row, ...amounts, livemode, status: statusOf(amounts) };
}

function statusOf({
  remainingAmount,
  expiredAmount,
  takenBackAmount,
  transferredAmount,
}: Pick<
  UsageCredit,
  'remainingAmount' | 'expiredAmount' | 'takenBackAmount' | 'transferredAmount'
>): UsageCredit['status'] {
  if (remainingAmount > 0n) return 'active';
  if (expiredAmount > 0n) return 'expired';
  if (takenBackAmount > 0n) return 'taken_back';
  return transferredAmount > 0n ? 'transferred' : 'used';
}

/** The credits that a customer has on a usage meter: on all subscriptions that have not ended, and those that wait for one. */
export const CreditBalance = z
  .object({
    slug: z.string(),
    kind: z.enum(['meter']).meta({ description: '`meter`: credits of one usage meter.' }),
    unit: z.string().meta({ description: 'The unit of the amounts: `units` of the usage meter.' }),
    availableBalance: WholeNumber.meta({
      description:
        'granted + paid - held, less usage that neither credits nor a paid invoice covered. May be negative.',
    }),
    granted: WholeNumber.meta({ description: 'The unused units that a plan or the seller granted.' }),
    paid: WholeNumber.meta({ description: 'The unused units that were bought.' }),
    held: WholeNumber.meta({ description: 'The units that open holds set aside.' }),
    expiringNext: z
      .object({ amount: WholeNumber, expiresAt: Timestamp })
      .nullable()
      .meta({ description: 'The unused units that expire next. Null: none expires.' }),
  })
  .meta({ id: 'CreditBalance' });
export type CreditBalance = z.infer<typeof CreditBalance>;

/** The credits of a customer on one usage meter. */
export interface CreditsOfMeter {
  readonly usageMeterId: string;
  /** The units left of credits that were granted, and of those that were paid for. */
  readonly granted: bigint;
  readonly paid: bigint;
  readonly held: bigint;
  /** Usage that neither a credit covered nor a paid invoice settled. */
  readonly owed: bigint;
  /** The next expiry of a credit with units left, and the units that expire then. Null: none expires. */
  readonly expiresAt: Instant | null;
  readonly expiring: bigint;
}

/** The balance of a usage meter. Worked example: 100 granted, 50 paid, 30 held and 10 owed leave 110. */
export function toCreditBalance(
  slug: string,
  credits: Omit<CreditsOfMeter, 'usageMeterId'> = noCredits,
): CreditBalance {
  const { granted, paid, held, owed, expiresAt, expiring } = credits;
  return {
    slug,
    kind: 'meter',
    unit: 'units',
    availableBalance: granted + paid - held - owed,
    granted,
    paid,
    held,
    expiringNext: expiresAt === null ? null : { amount: expiring, expiresAt },
  };
}

const noCredits = { granted: 0n, paid: 0n, held: 0n, owed: 0n, expiresAt: null, expiring: 0n };

/** The fields of a subscription that a grant needs. */
export interface GrantedSubscription {
  readonly id: string;
  readonly status: SubscriptionStatus;
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly customerArchived: boolean;
}

/** Refuses unknown and ended subscriptions, and those of archived customers. */
export function requireGrantable(found: GrantedSubscription | null, id: string): GrantedSubscription {
  if (found === null) throw new Problem('subscriptionNotFound', { id });
  if (found.customerArchived) throw new Problem('customerArchived', { id: found.customerId });
  if (isTerminal(found.status)) throw new Problem('subscriptionTerminal', { id, status: found.status });
  return found;
}

/** The remainder of a credit, and the state of its account. */
interface TakeBackState {
  readonly id: string;
  readonly remaining: bigint;
  /** The available amount of the account. */
  readonly balance: bigint;
  /** The amount of the account reserved by open holds. */
  readonly held: bigint;
}

/**
 * Decides the amount to take back from a credit: `requested`, or the whole remainder. Refuses more than the remainder, and
 * amounts that would reduce the balance below open holds, which are promised. Overage is no reason to refuse, because
 * the remaining credits do not cover it either.
 *
 * Worked example: 100 are left, of which a hold reserves 30. 70 can be taken back.
 */
export function decideTakeBack({ id, remaining, balance, held }: TakeBackState, requested: bigint | null): bigint {
  if (remaining === 0n) throw new Problem('usageCreditSpent', { id });
  const amount = requested ?? remaining;
  if (amount > remaining) throw new Problem('usageCreditTooSmall', { id, amount, remaining });
  if (held > 0n && amount > balance) {
    const free = balance > 0n ? smallerOf(balance, remaining) : 0n;
    throw new Problem('usageCreditHeld', { id, amount, free });
  }
  return amount;
}
