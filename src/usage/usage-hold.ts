import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, maxSafeInteger, Timestamp, TimestampInput } from '../kernel/json.ts';
import { Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { UsageLabel } from '../spend-controls/spend-limit.ts';
import { addressFields, hasOneAddress, NewUsageEvent, oneAddress, references } from './usage-event.ts';

export const UsageHoldId = idSchema('usageHold');

/** The maximum duration of a hold: the longest month. No job needs a reservation longer than a period. */
const maxHoldMs = 31 * 24 * 60 * 60 * 1000;
/** The maximum number of open holds per account: each new hold counts them, and a balance sums the expired ones. */
export const maxOpenHolds = 1000;

/** An open hold becomes `expired` at its expiry. */
export const HoldStatus = z.enum(['open', 'settled', 'released', 'expired']);
export type HoldStatus = z.infer<typeof HoldStatus>;

/** Units of a usage meter reserved for a job, so that no other consumption can use them. */
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
    pooledAmount: z
      .int()
      .min(0)
      .max(maxSafeInteger)
      .meta({ description: 'The part of `amount` that is set aside from a credit pool of the customer.' }),
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
    label: z.string().optional().meta({ description: 'Present if it was sent.' }),
  })
  .meta({ id: 'UsageHold' });
export type UsageHold = z.infer<typeof UsageHold>;

/** The current state of a hold: open only until its expiry. */
export interface HoldRow extends Omit<UsageHold, 'livemode' | 'label'> {
  readonly label: string | null;
  readonly ledgerAccountId: string;
  /** For units that a credit pool is to pay for: its account, and what they cost in its smallest units. */
  readonly poolAccountId: string | null;
  readonly poolAmount: bigint | null;
  /** Whether the account's `held` includes it: until the first change of the account's holds after its expiry. */
  readonly counted: boolean;
}

/** The way to close a hold. */
export type HoldClosing =
  | { readonly status: 'settled'; readonly settledAmount: number }
  | { readonly status: 'released'; readonly settledAmount: null };

/** The statuses in which a hold can be settled or released; the others are final. */
export const closable: ReadonlySet<HoldStatus> = new Set(['open', 'expired']);

/**
 * Whether to close the hold, or whether it was already closed in the same way and this is a repeat. Refuses with
 * `holdSettled` or `holdReleased` a hold that was closed differently.
 */
export function decideClosing(hold: HoldRow, closing: HoldClosing): 'close' | 'repeat' {
  const { id, status, settledAmount } = hold;
  if (closable.has(status)) return 'close';
  if (status === closing.status && settledAmount === closing.settledAmount) return 'repeat';
  throw status === 'settled'
    ? new Problem('holdSettled', { id, amount: settledAmount ?? 0 })
    : new Problem('holdReleased', { id });
}

/** The problem with an expiry of a hold, or null. */
export function holdEndIssue(expiresAt: Instant, now: Instant): string | null {
  if (expiresAt <= now) return `must be in the future: it is now ${now}`;
  return expiresAt <= now + maxHoldMs
    ? null
    : `must be at most ${maxHoldMs / 86_400_000} days in the future: ${now + maxHoldMs}`;
}

const { priceId, priceSlug, usageMeterId, usageMeterSlug } = NewUsageEvent.shape;
const ways = [...references, 'meter'] as const;

/** A request for a hold. */
export const NewHold = z
  .object({
    ...addressFields,
    amount: countInput(1).optional().meta({
      description: 'The units to set aside. A meter that counts events takes 1 alone, and may go without.',
    }),
    expiresAt: TimestampInput.meta({
      description: `The time at which the hold ends by itself, at most ${maxHoldMs / 86_400_000} days ahead.`,
    }),
    label: UsageLabel,
    priceId,
    priceSlug,
    usageMeterId,
    usageMeterSlug,
    meter: usageMeterId.meta({ description: 'The id or slug of the usage meter, whose default price applies.' }),
  })
  .refine((hold) => ways.filter((way) => typeof hold[way] === 'string').length === 1, {
    message: `send exactly one of ${ways.join(', ')}`,
  })
  .refine(hasOneAddress, oneAddress)
  .meta({ id: 'NewHold', description: `Send exactly one of ${ways.join(', ')}.` });
export type NewHold = z.infer<typeof NewHold>;

/** The field of the request that identifies the held usage. */
export function wayOf(hold: NewHold): (typeof ways)[number] {
  return ways.find((way) => typeof hold[way] === 'string') ?? 'meter';
}

/** The usage events that a hold can represent: one for each way to read its request. */
export function eventsToHold({ meter, expiresAt: _, ...hold }: NewHold, id: string): NewUsageEvent[] {
  const event = { ...hold, transactionId: id };
  if (typeof meter !== 'string') return [event];
  return [
    { ...event, usageMeterId: meter },
    { ...event, usageMeterSlug: meter },
  ];
}

/** The usage event that settles a hold. */
export function eventToSettle({ id, subscriptionId, priceId, label }: HoldRow, settledAmount: number): NewUsageEvent {
  return { subscriptionId, priceId, transactionId: id, amount: settledAmount, label };
}
