import { z } from 'zod';
import { TimestampInput } from '../kernel/json.ts';
import { NewUsageEvent, references } from './usage-event.ts';
import { type HoldRow, maxHoldMs } from './usage-hold.ts';

const { subscriptionId, amount, priceId, priceSlug, usageMeterId, usageMeterSlug } = NewUsageEvent.shape;
const ways = [...references, 'meter'] as const;

/** A request for a hold. */
export const NewHold = z
  .object({
    subscriptionId,
    amount,
    expiresAt: TimestampInput.meta({
      description: `The time at which the hold ends by itself, at most ${maxHoldMs / 86_400_000} days ahead.`,
    }),
    priceId,
    priceSlug,
    usageMeterId,
    usageMeterSlug,
    meter: usageMeterId.meta({ description: 'The id or slug of the usage meter, whose default price applies.' }),
  })
  .refine((hold) => ways.filter((way) => typeof hold[way] === 'string').length === 1, {
    message: `send exactly one of ${ways.join(', ')}`,
  })
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
export function eventToSettle({ id, subscriptionId, priceId }: HoldRow, settledAmount: number): NewUsageEvent {
  return { subscriptionId, priceId, transactionId: id, amount: settledAmount };
}
