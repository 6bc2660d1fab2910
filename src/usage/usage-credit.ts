import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, freeText, Timestamp, TimestampInput } from '../kernel/json.ts';
import { smallerOf } from '../kernel/money.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { amountOf, CreditAmount, CreditAmountInput, isCreditPool, subjectOf } from '../pricing/credit-pool.ts';
import { poolText } from '../rating/pool-units.ts';
import { isTerminal, type SubscriptionStatus } from '../subscriptions/subscription.ts';
import { type CreditSource, creditSources, defaultPriority } from './ledger.ts';

export const UsageCreditId = idSchema('usageCredit');

const maxPriority = 1000;

/** The state of a credit: whether it has units left, or why not. */
const usageCreditStatuses = ['active', 'used', 'expired', 'taken_back', 'transferred'] as const;

/**
 * Units of a meter, or an amount of a credit pool, granted to a subscription or a customer, and their use: issued = applied + expired + taken back + transferred +
 * remaining.
 */
export const UsageCredit = z
  .object({
    id: UsageCreditId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    customerId: z.string(),
    subscriptionId: z.string().nullable().meta({
      description: 'Null: the credits are of a credit pool, or wait on the customer for its next subscription.',
    }),
    usageMeterId: z.string().nullable().meta({ description: 'Null for credits of a credit pool.' }),
    creditPoolId: z.string().nullable().meta({ description: 'Null for credits of a usage meter.' }),
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
    issuedAmount: CreditAmount.meta({ description: 'The units that were granted.' }),
    appliedAmount: CreditAmount.meta({ description: 'The units that paid for usage.' }),
    expiredAmount: CreditAmount.meta({ description: 'The units that expired unused.' }),
    takenBackAmount: CreditAmount.meta({ description: 'The units that were taken back.' }),
    withheldAmount: CreditAmount.meta({
      description: 'The part of `takenBackAmount` that paid back units used ahead of a pause.',
    }),
    owedAmount: CreditAmount.meta({
      description:
        'The units of paused time that were used or held when the subscription was paused. The next credits of its plan pay them back.',
    }),
    transferredAmount: CreditAmount.meta({
      description:
        'The units that another subscription of the customer got: when this one ended, or when one came for which they waited.',
    }),
    transferredFrom: z.string().nullable().meta({
      description: 'The credit whose units these are: on an earlier subscription of the customer, or on the customer.',
    }),
    remainingAmount: CreditAmount.meta({ description: 'The units that can still be used.' }),
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

const subjects = ['usageMeterId', 'usageMeterSlug', 'creditPoolId', 'creditPoolSlug'] as const;

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
    creditPoolId: name,
    creditPoolSlug: name.meta({ description: 'Credits of a pool are of a customer, whatever subscriptions it has.' }),
    amount: CreditAmountInput.meta({
      description: 'The number of units of the meter, or an amount of the pool, which may be a decimal text.',
    }),
    expiresAt: TimestampInput.nullish().meta({ description: 'The end of their use. Without it, they do not expire.' }),
    priority: countInput(0, maxPriority)
      .nullish()
      .meta({ description: `Credits with a lower number are used first. ${defaultPriority} when absent.` }),
    reason: freeText('description').nullish(),
    transactionId: name.meta({
      description:
        'Your own id of the grant. A repeat with the same `transactionId` on a usage meter or credit pool returns the first grant.',
    }),
  })
  .refine((sent) => [sent.subscriptionId, sent.customerId, sent.customerExternalId].filter(isNamed).length === 1, {
    message: 'send exactly one of subscriptionId, customerId and customerExternalId',
  })
  .refine((sent) => subjects.filter((field) => isNamed(sent[field])).length === 1, {
    message: `send exactly one of ${subjects.join(', ')}`,
  })
  .refine((sent) => !isNamed(sent.subscriptionId) || !(isNamed(sent.creditPoolId) || isNamed(sent.creditPoolSlug)), {
    path: ['subscriptionId'],
    message: 'must be absent for credits of a pool, which are of a customer: send customerId or customerExternalId',
  })
  .refine((sent) => typeof sent.amount !== 'string' || isNamed(sent.creditPoolId) || isNamed(sent.creditPoolSlug), {
    path: ['amount'],
    message: 'must be a whole number of units of a usage meter',
  })
  .meta({
    id: 'NewUsageCredit',
    description:
      'Send exactly one of `subscriptionId`, `customerId` and `customerExternalId`, and exactly one of ' +
      `${subjects.map((field) => `\`${field}\``).join(', ')}.`,
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
  /** The usage meter or credit pool. */
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
    usageMeterId,
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
  const subject = subjectOf(usageMeterId);
  const status = statusOf(amounts);
  if (subject.creditPoolId === null) return { ...row, ...subject, ...amounts, livemode, status };
  return { ...row, ...subject, ...textsOf(amounts), livemode, status };
}

type Amounts = Readonly<Record<'remainingAmount' | 'expiredAmount' | 'takenBackAmount' | 'transferredAmount', bigint>>;

/** Amounts of a credit pool as decimal texts. */
function textsOf<Fields extends Readonly<Record<string, bigint>>>(amounts: Fields): Record<keyof Fields, string> {
  return Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, poolText(amount)])) as Record<
    keyof Fields,
    string
  >;
}

function statusOf({
  remainingAmount,
  expiredAmount,
  takenBackAmount,
  transferredAmount,
}: Amounts): UsageCredit['status'] {
  if (remainingAmount > 0n) return 'active';
  if (expiredAmount > 0n) return 'expired';
  if (takenBackAmount > 0n) return 'taken_back';
  return transferredAmount > 0n ? 'transferred' : 'used';
}

/**
 * The credits that a customer has on a usage meter or in a credit pool. All subscriptions that have not ended count,
 * and the accounts of the customer.
 */
export const CreditBalance = z
  .object({
    slug: z.string(),
    kind: z.enum(['meter', 'pool']).meta({
      description: '`meter`: credits of one usage meter. `pool`: credits that the usage of several meters draws from.',
    }),
    unit: z.string().meta({
      description: 'The unit of the amounts: `units` of the usage meter, or `credit` or the currency of the pool.',
    }),
    availableBalance: CreditAmount.meta({
      description:
        'granted + paid - held, less usage that neither credits nor a paid invoice covered. May be negative. Amounts of a pool are decimal texts, cut off after the twelfth decimal.',
    }),
    granted: CreditAmount.meta({ description: 'The unused units that a plan or the seller granted.' }),
    paid: CreditAmount.meta({ description: 'The unused units that were bought.' }),
    held: CreditAmount.meta({ description: 'The units that open holds set aside.' }),
    expiringNext: z
      .object({ amount: CreditAmount, expiresAt: Timestamp })
      .nullable()
      .meta({ description: 'The unused units that expire next. Null: none expires.' }),
  })
  .meta({ id: 'CreditBalance' });
export type CreditBalance = z.infer<typeof CreditBalance>;

/** The credits of a customer on one usage meter, or in one credit pool. */
export interface CreditsOfMeter {
  readonly usageMeterId: string;
  /** The units left of credits that were granted, and of those that were paid for. */
  readonly granted: bigint;
  readonly paid: bigint;
  /** All units of those credits of which some are left. */
  readonly begun: bigint;
  readonly held: bigint;
  /** Usage that neither a credit covered nor a paid invoice settled. */
  readonly owed: bigint;
  /** The next expiry of a credit with units left, and the units that expire then. Null: none expires. */
  readonly expiresAt: Instant | null;
  readonly expiring: bigint;
}

/**
 * The balance of a usage meter, or of a credit pool, which has a unit. Worked example: 100 granted, 50 paid, 30 held and
 * 10 owed leave 110.
 */
export function toCreditBalance(
  { id, slug, unit = null }: { readonly id: string; readonly slug: string; readonly unit?: string | null },
  credits: Omit<CreditsOfMeter, 'usageMeterId' | 'begun'> = noCredits,
): CreditBalance {
  const { granted, paid, held, owed, expiresAt, expiring } = credits;
  return {
    slug,
    kind: isCreditPool(id) ? 'pool' : 'meter',
    unit: unit ?? 'units',
    availableBalance: amountOf(id, granted + paid - held - owed),
    granted: amountOf(id, granted),
    paid: amountOf(id, paid),
    held: amountOf(id, held),
    expiringNext: expiresAt === null ? null : { amount: amountOf(id, expiring), expiresAt },
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
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
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
export function decideTakeBack(
  { id, usageMeterId, remaining, balance, held }: TakeBackState,
  requested: bigint | null,
): bigint {
  const tell = (units: bigint) => amountOf(usageMeterId, units);
  if (remaining === 0n) throw new Problem('usageCreditSpent', { id });
  const amount = requested ?? remaining;
  if (amount > remaining)
    throw new Problem('usageCreditTooSmall', { id, amount: tell(amount), remaining: tell(remaining) });
  if (held > 0n && amount > balance) {
    const free = balance > 0n ? smallerOf(balance, remaining) : 0n;
    throw new Problem('usageCreditHeld', { id, amount: tell(amount), free: tell(free) });
  }
  return amount;
}
