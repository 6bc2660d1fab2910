import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { maxSafeInteger, Timestamp } from '../kernel/json.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';

export const UsageHoldId = idSchema('usageHold');

/** How long a hold may last: as long as the longest month. What is set aside for longer than a period is no job's. */
export const maxHoldMs = 31 * 24 * 60 * 60 * 1000;
/** Open holds on one account: whoever takes one counts them, and a balance adds up those of them that have ended. */
export const maxOpenHolds = 1000;

/** `expired` is what an open hold is once its end has come. */
export const HoldStatus = z.enum(['open', 'settled', 'released', 'expired']);
export type HoldStatus = z.infer<typeof HoldStatus>;

/** Units of a usage meter that are set aside for a job, so that nothing else that asks for leave can use them. */
export const UsageHold = z
  .object({
    id: UsageHoldId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    subscriptionId: z.string(),
    usageMeterId: z.string(),
    priceId: z.string().meta({ description: 'The price at which the use is counted when the hold is settled.' }),
    amount: z.int().min(1).max(maxSafeInteger),
    status: HoldStatus.meta({
      description: 'An open hold lowers the balance. An expired hold reserves nothing, and can still be settled.',
    }),
    settledAmount: z
      .int()
      .min(0)
      .max(maxSafeInteger)
      .nullable()
      .meta({ description: 'The units used, once the hold is settled.' }),
    expiresAt: Timestamp,
  })
  .meta({ id: 'UsageHold' });
export type UsageHold = z.infer<typeof UsageHold>;

/** A hold as it is now: open only until its end. */
export interface HoldRow extends Omit<UsageHold, 'livemode'> {
  readonly ledgerAccountId: string;
  /** Whether its account's `held` has it in it: until somebody changes the holds of the account after its end. */
  readonly counted: boolean;
}

/** How a caller closes a hold. */
export type HoldClosing =
  | { readonly status: 'settled'; readonly settledAmount: number }
  | { readonly status: 'released'; readonly settledAmount: null };

/** The statuses in which a hold can be settled or released; the others are final. */
export const closable: ReadonlySet<HoldStatus> = new Set(['open', 'expired']);

/**
 * Whether the closing is to be done, or was done before just so and is only told again. Refuses with `holdSettled` or
 * `holdReleased` when the hold was closed otherwise.
 */
export function decideClosing(hold: HoldRow, closing: HoldClosing): 'close' | 'repeat' {
  const { id, status, settledAmount } = hold;
  if (closable.has(status)) return 'close';
  if (status === closing.status && settledAmount === closing.settledAmount) return 'repeat';
  throw status === 'settled'
    ? new Problem('holdSettled', { id, amount: settledAmount ?? 0 })
    : new Problem('holdReleased', { id });
}

/** Why a hold cannot end at this instant, or null. */
export function holdEndIssue(expiresAt: Instant, now: Instant): string | null {
  if (expiresAt <= now) return `must lie ahead: it is ${now} now`;
  return expiresAt <= now + maxHoldMs
    ? null
    : `must be at most ${maxHoldMs / 86_400_000} days ahead: ${now + maxHoldMs}`;
}
