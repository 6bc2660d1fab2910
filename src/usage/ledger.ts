import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { WholeNumber } from '../kernel/json.ts';
import { UsageMeter } from '../pricing/usage-meter.ts';
import type { PeriodSchedule } from '../subscriptions/billing-period.ts';

/** What is left to use of a meter: credits granted and not expired, minus usage. Below zero it is usage without credit. */
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

/** The sides of an account. `available` is what the others leave: granted + settled - used - expired - taken back. */
export type Side = 'available' | 'granted' | 'used' | 'expired' | 'settled' | 'taken_back';

/** Every way that an amount moves on an account: off one side and onto another, so that entries sum to zero. */
export const moves = {
  grant: { debitSide: 'granted', creditSide: 'available' },
  usage: { debitSide: 'available', creditSide: 'used' },
  expiry: { debitSide: 'available', creditSide: 'expired' },
  takeBack: { debitSide: 'available', creditSide: 'taken_back' },
  settlement: { debitSide: 'settled', creditSide: 'available' },
  settlementUndone: { debitSide: 'available', creditSide: 'settled' },
} as const satisfies Record<string, { debitSide: Side; creditSide: Side }>;

/** Which account: there is one for each usage meter of a subscription. */
export interface AccountKey {
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly pricingModelId: string;
}

/** Why credits are granted, and the type of the ledger transaction that books them. */
export const transactionTypeOfSource = {
  billing_period_transition: 'billing_period_transition',
  manual_adjustment: 'credit_grant_recognized',
  admin: 'admin_credit_adjusted',
  rollover: 'billing_period_transition',
  purchase: 'credit_grant_recognized',
} as const;
export type CreditSource = keyof typeof transactionTypeOfSource;
// The keys of a literal are its keys and no others.
export const creditSources = Object.keys(transactionTypeOfSource) as [CreditSource, ...CreditSource[]];

/** Of credits of which nothing is said: there is room before them and after. */
export const defaultPriority = 100;

/** Credits to be granted, until `expiresAt` or, when that is null, for ever. (source, sourceId) names the grant. */
export interface CreditGrant extends AccountKey {
  /** Of the credit. A new one when absent. */
  readonly id?: string;
  readonly featureId: string | null;
  readonly billingPeriodId: string | null;
  readonly amount: bigint;
  readonly expiresAt: Instant | null;
  readonly source: CreditSource;
  readonly sourceId: string;
  /** Credits with a lower number are used first. `defaultPriority` when absent. */
  readonly priority?: number;
  /** Why it was granted, in the words of who granted it. */
  readonly reason?: string;
}

/** A grant to an account that is locked. */
export interface AccountGrant extends CreditGrant {
  readonly ledgerAccountId: string;
}

/** Usage to bill: units of one price that no credit covered and no earlier invoice billed, and what they cost. */
export interface Overage {
  readonly subscriptionId: string;
  readonly ledgerAccountId: string;
  readonly usageMeterId: string;
  readonly meterName: string;
  readonly priceId: string;
  /** The price of `usageEventsPerUnit` units, in minor units. */
  readonly unitPrice: bigint;
  readonly usageEventsPerUnit: number;
  readonly units: bigint;
}

/** A subscription whose credits are looked through, and the instant by which they have ended. */
export interface CreditExpiry {
  readonly subscriptionId: string;
  readonly at: Instant;
  /** How its periods are counted where a new one begins at that instant: what rolls over does so. */
  readonly goesOn?: PeriodSchedule;
}

/** Units of one price that an invoice bills. */
export interface BilledUsage {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly units: bigint;
}

/** Units of an account that an invoice was paid for. */
export interface SettledUsage {
  readonly invoiceId: string;
  readonly ledgerAccountId: string;
  readonly units: bigint;
}

/** A text that is equal for equal accounts. Ids hold no spaces. */
export function accountKeyText({ subscriptionId, usageMeterId }: Omit<AccountKey, 'pricingModelId'>): string {
  return `${subscriptionId} ${usageMeterId}`;
}

/** One key for each account, in the order in which they were first named. */
export function distinctAccounts(keys: readonly AccountKey[]): AccountKey[] {
  return [...new Map(keys.map((key) => [accountKeyText(key), key])).values()];
}

/**
 * The units of each invoice and account, in the order in which they were first named: an invoice may bill one meter at
 * two prices.
 */
export function mergeSettledUsage(lines: readonly SettledUsage[]): SettledUsage[] {
  const merged = new Map<string, SettledUsage>();
  for (const { invoiceId, ledgerAccountId, units } of lines) {
    const key = `${invoiceId} ${ledgerAccountId}`;
    merged.set(key, { invoiceId, ledgerAccountId, units: (merged.get(key)?.units ?? 0n) + units });
  }
  return [...merged.values()];
}
