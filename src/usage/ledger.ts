import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant, Interval } from '../kernel/calendar.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { CreditAmount } from '../pricing/credit-pool.ts';
import type { Pricing } from '../pricing/pricing.ts';
import { UsageMeter } from '../pricing/usage-meter.ts';
import type { Quantities, UsageCharge } from '../rating/usage-parts.ts';
import type { PeriodSchedule } from '../subscriptions/billing-period.ts';
import type { InterimSchedule } from '../subscriptions/interim.ts';
import type { OverrideSpan } from '../subscriptions/price-override.ts';

/** The remaining balance of a meter: credits granted and not expired, minus usage. Negative: usage without credit. */
export const UsageMeterBalance = z
  .object({
    ...UsageMeter.shape,
    subscriptionId: z.string(),
    availableBalance: WholeNumber.meta({
      description: 'The usable credits, minus usage that no credit covered. May be negative.',
    }),
  })
  .meta({ id: 'UsageMeterBalance' });
export type UsageMeterBalance = z.infer<typeof UsageMeterBalance>;

/**
 * The sides of an account. `available` is granted + settled + pooled - used - expired - taken back.
 * Credit pools paid for `pooled` use of a meter.
 */
export type Side = 'available' | 'granted' | 'used' | 'expired' | 'settled' | 'taken_back' | 'pooled';

/** All moves on an account: off one side and onto another, so that entries sum to zero. */
export const moves = {
  grant: { debitSide: 'granted', creditSide: 'available' },
  usage: { debitSide: 'available', creditSide: 'used' },
  pooledUsage: { debitSide: 'pooled', creditSide: 'used' },
  expiry: { debitSide: 'available', creditSide: 'expired' },
  takeBack: { debitSide: 'available', creditSide: 'taken_back' },
  settlement: { debitSide: 'settled', creditSide: 'available' },
  settlementUndone: { debitSide: 'available', creditSide: 'settled' },
} as const satisfies Record<string, { debitSide: Side; creditSide: Side }>;

/** Whether a balance that was `before` and is `after` has fallen below the threshold: from at or above it. */
export function hasFallen(threshold: bigint | null, before: bigint, after: bigint): boolean {
  return threshold !== null && before >= threshold && after < threshold;
}

/**
 * Identifies an account: there is one per usage meter of a subscription. With a credit pool it is the account of the
 * customer of the subscription.
 */
export interface AccountKey {
  readonly subscriptionId: string;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
  readonly pricingModelId: string;
}

/** The sources of credits, and the type of the ledger transaction that books each. */
export const transactionTypeOfSource = {
  billing_period_transition: 'billing_period_transition',
  manual_adjustment: 'credit_grant_recognized',
  admin: 'admin_credit_adjusted',
  rollover: 'billing_period_transition',
  purchase: 'credit_grant_recognized',
} as const;
export type CreditSource = keyof typeof transactionTypeOfSource;
// The literal has exactly these keys.
export const creditSources = Object.keys(transactionTypeOfSource) as [CreditSource, ...CreditSource[]];

/** The default priority leaves room before and after it. */
export const defaultPriority = 100;

/** A credit grant, valid until `expiresAt` or forever when that is null. (source, sourceId) identifies the grant. */
export interface CreditGrant extends AccountKey {
  /** The id of the credit; a new one when absent. */
  readonly id?: string;
  readonly featureId: string | null;
  readonly billingPeriodId: string | null;
  readonly amount: bigint;
  readonly expiresAt: Instant | null;
  /** The start of the time that credits of an interval are for. Absent or null: they are of no interval. */
  readonly intervalStartAt?: Instant | null;
  readonly source: CreditSource;
  readonly sourceId: string;
  /** Credits with a lower number are used first. `defaultPriority` when absent. */
  readonly priority?: number;
  /** The reason for the grant in the caller's words. */
  readonly reason?: string | null;
  /** The credit from which the units were transferred. */
  readonly transferredFrom?: string;
}

/** A grant to a locked account. */
export interface AccountGrant extends Omit<CreditGrant, 'subscriptionId'> {
  readonly ledgerAccountId: string;
  /** Null: the account of a customer. */
  readonly subscriptionId: string | null;
}

/**
 * Usage to bill at one price: units that neither a credit covered nor an earlier invoice billed. Credits cover units, and
 * neither an amount for each event nor an own price.
 */
export interface Overage extends Quantities {
  readonly subscriptionId: string;
  readonly ledgerAccountId: string;
  readonly usageMeterId: string;
  readonly meterName: string;
  readonly priceId: string;
  /** The price of `usageEventsPerUnit` units, in minor units: 0 where the plan does not bill overage. */
  readonly unitPrice: bigint;
  readonly usageEventsPerUnit: number;
  /** Whether the price of the subscription bills overage. */
  readonly isBilled: boolean;
  /** The function from units to money, in place of `unitPrice`; null: none, or the plan does not bill overage. */
  readonly pricing: Pricing | null;
  /** The terms that the price has had for the subscription; none: those of the price. */
  readonly overrides: readonly OverrideSpan[];
  /** The start of its present usage period. */
  readonly periodStart: Instant;
  /** For a price that has or had a pricing: its usage periods that the bill may concern. */
  readonly charges: readonly UsageCharge[];
}

/** A usage period of an account at a price. */
export interface ChargedPeriod extends UsageCharge {
  readonly ledgerAccountId: string;
  readonly priceId: string;
}

/** A subscription whose credits expire by the instant `at`. */
export interface CreditExpiry {
  readonly subscriptionId: string;
  readonly at: Instant;
  /** The schedule of its periods if a new one begins at that instant, into which credits roll over. */
  readonly goesOn?: PeriodSchedule;
}

/** Units of one price on an invoice. */
export interface BilledUsage extends Quantities {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  /** For a price with a pricing: the usage period of the units. Null or absent: none. */
  readonly periodStart?: Instant | null;
  readonly amount: bigint;
}

/** A subscription whose usage is billed, and its present usage periods. */
export interface UsageToBill {
  readonly subscriptionId: string;
  /** The start of the usage period of prices that follow the subscription. */
  readonly periodStart: Instant;
  /** The start of the usage period of prices with an interval of their own. Absent: the same. */
  readonly ownPeriodStart?: (interval: Interval) => Instant;
  /** The usage that is taken. Absent: all. */
  readonly takes?: UsageTaken;
  /** The end of the usage periods that are taken. Absent: now. */
  readonly until?: Instant;
  /** The schedule until then. Absent: the present one. */
  readonly schedule?: InterimSchedule;
  /** The price of the plan until then, whose rates measured usage has. Absent: the present one. */
  readonly planPriceId?: string | null;
}

/**
 * The usage that is billed at an instant: of prices that follow the subscription, and of those with these intervals.
 */
interface UsageTaken {
  readonly following: boolean;
  readonly intervals: readonly Interval[];
}

/** Units of an account on a paid invoice. */
export interface SettledUsage {
  readonly invoiceId: string;
  readonly ledgerAccountId: string;
  readonly units: bigint;
}

/** A text key for an account. Ids contain no spaces. */
export function accountKeyText({ subscriptionId, usageMeterId }: Omit<AccountKey, 'pricingModelId'>): string {
  return `${subscriptionId} ${usageMeterId}`;
}

/** Deduplicates account keys in order of first appearance. */
export function distinctAccounts(keys: readonly AccountKey[]): AccountKey[] {
  return [...new Map(keys.map((key) => [accountKeyText(key), key])).values()];
}

/** Sums units by invoice and account, in order of first appearance: an invoice may bill one meter at two prices. */
export function mergeSettledUsage(lines: readonly SettledUsage[]): SettledUsage[] {
  const merged = new Map<string, SettledUsage>();
  for (const { invoiceId, ledgerAccountId, units } of lines) {
    const key = `${invoiceId} ${ledgerAccountId}`;
    merged.set(key, { invoiceId, ledgerAccountId, units: (merged.get(key)?.units ?? 0n) + units });
  }
  return [...merged.values()];
}

const ledgerEntryTypes = [
  'grant',
  'usage',
  'pooled_usage',
  'expiry',
  'take_back',
  'settlement',
  'settlement_undone',
] as const;
type LedgerEntryType = (typeof ledgerEntryTypes)[number];

/** The amount that a usage entry took from one grant. */
const UsageCreditApplication = z
  .object({
    usageCreditId: z.string(),
    amount: CreditAmount,
    source: z.string().meta({ description: 'The origin of the credits.' }),
    featureId: z.string().nullable().meta({ description: 'The feature that granted the credits, if any.' }),
    expiresAt: Timestamp.nullable(),
  })
  .meta({ id: 'UsageCreditApplication' });
export type UsageCreditApplication = z.infer<typeof UsageCreditApplication>;

const accountOwner = z.string().nullable().meta({
  description:
    'The subscription of the account. Null: that of the customer, for a credit pool or credits that wait for a subscription.',
});
const subject = {
  usageMeterId: z.string().nullable().meta({ description: 'Null on the account of a credit pool.' }),
  creditPoolId: z.string().nullable().meta({
    description: 'The credit pool of the account, or the one that paid for `pooled_usage`.',
  }),
};

/** A change of a balance, and the grants that a usage entry used. */
export const LedgerEntry = z
  .object({
    id: z.string(),
    createdAt: Timestamp,
    subscriptionId: accountOwner,
    ...subject,
    type: z.enum(ledgerEntryTypes).meta({
      description: '`pooled_usage`: usage that a credit pool paid for. It leaves the balance of the meter as it is.',
    }),
    amount: CreditAmount.meta({
      description: 'The change of the balance: credits are positive, usage is negative.',
    }),
    availableAfter: CreditAmount.meta({
      description:
        'The balance after this entry: credits granted and usage settled, less units used, expired and taken back.',
    }),
    priceId: z.string().nullable().meta({ description: 'For usage, the price at which it is counted.' }),
    billingPeriodId: z.string().nullable(),
    usageCreditId: z.string().nullable().meta({ description: 'The credits that were granted, expired or taken back.' }),
    sourceId: z.string().meta({
      description: 'The reason of the entry: the number of a booking of usage events, a credit, or an invoice.',
    }),
    usageCreditApplications: z.array(UsageCreditApplication).meta({
      description:
        'For usage, the first 100 grants that paid for it, in the order of use. What none paid for is overage.',
    }),
  })
  .meta({ id: 'LedgerEntry' });
export type LedgerEntry = z.infer<typeof LedgerEntry>;

/** The available amount of an account at an instant. */
export const LedgerBalance = z
  .object({ subscriptionId: accountOwner, ...subject, availableBalance: CreditAmount })
  .meta({ id: 'LedgerBalance' });
export type LedgerBalance = z.infer<typeof LedgerBalance>;

/** Selects accounts of a customer and a point in time: `asOf` null is now. */
export interface LedgerQuery {
  readonly customerId: string;
  readonly subscriptionId: string | null;
  readonly usageMeterId: string | null;
  readonly asOf: Instant | null;
}

const typeOfMove = {
  grant: 'grant',
  usage: 'usage',
  pooledUsage: 'pooled_usage',
  expiry: 'expiry',
  takeBack: 'take_back',
  settlement: 'settlement',
  settlementUndone: 'settlement_undone',
} as const satisfies Record<keyof typeof moves, LedgerEntryType>;

const typeOfSides = new Map(
  Object.entries(typeOfMove).map(([move, type]) => [sidesText(moves[move as keyof typeof moves]), type]),
);

function sidesText({ debitSide, creditSide }: { debitSide: string; creditSide: string }): string {
  return `${debitSide} ${creditSide}`;
}

/** The type of a move between two sides, and the amount by which it changed the balance. */
export function readMove(sides: { debitSide: string; creditSide: string; amount: bigint }): {
  type: LedgerEntryType;
  amount: bigint;
} {
  const type = typeOfSides.get(sidesText(sides));
  assert(type !== undefined, 'the database knows no other sides');
  const available: Side = 'available';
  return { type, amount: sides.creditSide === available ? sides.amount : -sides.amount };
}
