import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { SafeString, Timestamp } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { amountOf, CreditAmount, CreditAmountInput, isCreditPool } from '../pricing/credit-pool.ts';
import {
  grantSubject,
  LimitAction,
  LimitPeriod,
  LimitUnit,
  limitTermsInput,
  refineLimited,
  thresholdsMeta,
} from '../pricing/feature.ts';
import { calendarPeriod } from '../rating/spending.ts';

const SpendLimitId = idSchema('spendLimit');

/** The most limits that a seller, or a customer, sets for a customer. Each use is compared with all of them. */
export const maxSpendLimits = 50;
/** The label of usage and of a limit. */
export const UsageLabel = SafeString.nullish().meta({
  description:
    'The part of the customer that uses the units, such as a team, an agent or an API key. Limits with the same label count it.',
});

/** A counter of a limit in a period that has not ended. */
const SpendCounter = z.object({
  subscriptionId: z.string().nullable().meta({ description: 'Of a limit by billing period: the subscription.' }),
  periodStart: Timestamp.nullable(),
  resetsAt: Timestamp.nullable().meta({ description: 'When the limit begins again. Null: never.' }),
  usedAmount: CreditAmount,
  remainingAmount: CreditAmount.meta({ description: 'The rest up to the amount. Open holds reserve part of it.' }),
});

/** A limit of the use of a customer, and how much of it is used. */
const SpendLimit = z
  .object({
    id: SpendLimitId,
    ...stamps,
    setBy: z.enum(['seller', 'customer', 'plan']).meta({
      description:
        'The seller, or the customer for itself: both limits hold. Or a plan, by its features: a limit of the seller of the same ' +
        'use takes its place.',
    }),
    subscriptionId: z.string().nullable().meta({
      description: 'The subscription whose plan has set the limit, which counts its use only. Else null.',
    }),
    usageMeterId: z.string().nullable(),
    usageMeterSlug: z.string().nullable().meta({
      description: 'Null: the limit counts all usage meters, or a credit pool.',
    }),
    creditPoolId: z.string().optional().meta({
      description: 'The credit pool, if the limit counts what is drawn from one. Its amounts are decimal texts.',
    }),
    creditPoolSlug: z.string().optional(),
    label: z.string().nullable().meta({ description: 'Null: the limit counts usage with any label or none.' }),
    period: LimitPeriod,
    amount: CreditAmount,
    unit: LimitUnit,
    action: LimitAction,
    thresholds: z.array(z.int()).meta(thresholdsMeta),
    counters: z.array(SpendCounter).meta({
      description: 'The present periods. Without usage in one there is none. A limit counts from its creation on.',
    }),
  })
  .meta({ id: 'SpendLimit' });
type SpendLimit = z.infer<typeof SpendLimit>;

/** An amount in an event: a decimal text of a credit pool. */
const ReachedAmount = z.union([z.int(), z.string()]);

/** A limit of which a threshold was reached, in an event. */
export const ReachedSpendLimit = SpendLimit.pick({
  setBy: true,
  subscriptionId: true,
  usageMeterId: true,
  creditPoolId: true,
  label: true,
  period: true,
  unit: true,
  action: true,
})
  .extend({
    id: z.string(),
    amount: ReachedAmount,
    threshold: z.int().meta({ description: 'Percent of the amount: 100 in `spend_limit.reached`.' }),
    usedAmount: ReachedAmount,
    resetsAt: Timestamp.nullable().meta({ description: 'When the limit begins again. Null: never.' }),
  })
  .meta({ id: 'ReachedSpendLimit' });

/** The amount of a limit and the period for which it holds, as a caller sends them. */
export const SpendLimitInput = z
  .object({
    usageMeterSlug: SafeString.nullish().meta({ description: 'The usage meter to count. Absent: all.' }),
    creditPoolSlug: SafeString.nullish().meta({
      description:
        'The credit pool of which to count what usage draws, in place of a usage meter. The amount is in its unit, and may be ' +
        'a decimal text.',
    }),
    label: UsageLabel,
    amount: CreditAmountInput,
    ...limitTermsInput,
  })
  .superRefine(refineLimited('Slug'))
  .meta({ id: 'SpendLimitInput' });
export type SpendLimitInput = z.output<typeof SpendLimitInput>;

/** The controls of a customer as its seller sends them. Absent fields keep their value. */
export const SpendControlsInput = z.object({
  limits: z
    .array(SpendLimitInput)
    .max(maxSpendLimits)
    .optional()
    .meta({
      description:
        'All limits that the seller sets, in place of those before. One with the same meter, label, period and unit as ' +
        'before goes on counting.',
    }),
  ownLimits: z
    .array(SpendLimitInput)
    .max(maxSpendLimits)
    .optional()
    .meta({
      description:
        'All limits that the customer sets for itself, in place of those before. Where the seller blocks the same use, ' +
        'they must not be higher.',
    }),
});
export type SpendControlsInput = z.output<typeof SpendControlsInput>;

/** The controls of a customer. */
export const SpendControls = z.object({ limits: z.array(SpendLimit) });
export type SpendControls = z.infer<typeof SpendControls>;

/** A stored limit. */
export interface SpendLimitRow
  extends Omit<SpendLimit, 'counters' | 'usageMeterSlug' | 'creditPoolId' | 'creditPoolSlug' | 'amount'> {
  /** In units of the ledger: of a credit pool in its smallest units. `usageMeterId` names the pool. */
  readonly amount: bigint;
  readonly pricingModelId: string;
  readonly customerId: string;
}

/** The part of a limit that decides about usage. */
export interface CountedLimit extends Omit<SpendLimitRow, 'createdAt' | 'updatedAt' | 'pricingModelId'> {
  /** The slug of its credit pool. Null or absent: it is of none, or was not read with the usage. */
  readonly poolSlug?: string | null;
}

/** The same as usage reads it with its subscription. */
export interface StoredSpendLimit extends Omit<CountedLimit, 'amount'> {
  /** A whole number as text. */
  readonly amount: string;
}

/** The customer, meter and label of a use, and what it draws from a credit pool. */
export interface SpendScope {
  readonly units: bigint;
  /** The credit pool that may pay, and the smallest units that it pays; null: none may. */
  readonly pool: { readonly id: string; readonly drawn: bigint } | null;
  readonly customerId: string;
  readonly usageMeterId: string;
  readonly label: string | null;
}

/** Whether a limit counts this use. */
export function counts(limit: Pick<SpendLimitRow, 'customerId' | 'usageMeterId' | 'label'>, use: SpendScope): boolean {
  const subjectId = isOfPool(limit) ? use.pool?.id : use.usageMeterId;
  return (
    limit.customerId === use.customerId &&
    (limit.usageMeterId ?? subjectId) === subjectId &&
    (limit.label ?? use.label) === use.label
  );
}

type Subject = Pick<SpendLimitRow, 'usageMeterId'>;

function isOfPool({ usageMeterId }: Subject): boolean {
  return usageMeterId !== null && isCreditPool(usageMeterId);
}

/** The part of a use that a limit in units counts. */
export function unitsOf(limit: Subject, { units, pool }: Pick<SpendScope, 'units' | 'pool'>): bigint {
  return isOfPool(limit) ? (pool?.drawn ?? 0n) : units;
}

/** An amount of a limit as the API tells it. */
export function shownAmount({ usageMeterId }: Subject, amount: bigint): bigint | string {
  return usageMeterId === null ? amount : amountOf(usageMeterId, amount);
}

/** The usage meter or credit pool of a limit as the API names it. */
export function subjectOfLimit({ usageMeterId }: Subject) {
  return grantSubject(usageMeterId);
}

/** The subscription that is used, and its billing period. */
export interface UsedSubscription {
  readonly id: string;
  readonly billingPeriodId: string | null;
  readonly periodStart: Instant | null;
  readonly periodEnd: Instant | null;
}

/** The period in which a limit counts a use: the key is the same for all uses that are counted together. */
export interface CountedPeriod {
  readonly key: string;
  readonly start: Instant | null;
  readonly end: Instant | null;
}

/**
 * The period of a limit in which usage is counted that arrives now. A subscription without billing periods is one for its
 * whole life.
 */
export function periodOf(
  { period }: Pick<SpendLimitRow, 'period'>,
  now: Instant,
  used: UsedSubscription,
): CountedPeriod {
  if (period === 'billing_period') {
    const { id, billingPeriodId, periodStart, periodEnd } = used;
    return billingPeriodId === null
      ? { key: id, start: null, end: null }
      : { key: billingPeriodId, start: periodStart, end: periodEnd };
  }
  const { start, end } = calendarPeriod(period, now);
  return { key: String(start), start, end };
}

/** The text that two limits of a customer share when one takes the place of the other. */
export function limitKey({
  usageMeterId,
  label,
  period,
  unit,
}: Pick<SpendLimitRow, 'usageMeterId' | 'label' | 'period' | 'unit'>): string {
  return JSON.stringify([usageMeterId, label, period, unit]);
}

/**
 * The most that a limit of the customer may be: the blocking limit of its seller for the same use, or those of its plans
 * together. Null: there is none.
 */
export function mostAllowed(
  limits: readonly (Parameters<typeof limitKey>[0] & Pick<SpendLimitRow, 'setBy' | 'action' | 'amount'>)[],
  wanted: Parameters<typeof limitKey>[0],
): bigint | null {
  const key = limitKey(wanted);
  const blocking = limits.filter(
    (each) => each.setBy !== 'customer' && each.action === 'block' && limitKey(each) === key,
  );
  return blocking.length === 0 ? null : blocking.reduce((sum, { amount }) => sum + amount, 0n);
}

/** The name of a limit for people: `100 units of meter calls in a day`. */
export function nameOfLimit(
  limit: Pick<CountedLimit, 'amount' | 'unit' | 'period' | 'label' | 'usageMeterId' | 'poolSlug'>,
): string {
  const ofPool = limit.poolSlug ? ` of credit pool ${limit.poolSlug}` : '';
  const unit = limit.unit === 'units' ? `units${ofPool}` : 'minor units of money';
  const label = limit.label === null ? '' : ` with label ${limit.label}`;
  return `${shownAmount(limit, limit.amount)} ${unit}${label} in a ${limit.period.replace('_', ' ')}`;
}
