import { z } from 'zod';
import { TimestampInput } from '../kernel/json.ts';
import { NewUsageEvent, references } from './usage-event.ts';
import { type HoldRow, maxHoldMs } from './usage-hold.ts';

const { subscriptionId, amount, priceId, priceSlug, usageMeterId, usageMeterSlug } = NewUsageEvent.shape;
const ways = [...references, 'meter'] as const;

/** A hold as it is asked for. */
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
    message: `exactly one of ${ways.join(', ')} must be given`,
  })
  .meta({ id: 'NewHold', description: `Send exactly one of ${ways.join(', ')}.` });
export type NewHold = z.infer<typeof NewHold>;

/** Which field of the request says what is held. */
export function wayOf(hold: NewHold): (typeof ways)[number] {
  return ways.find((way) => typeof hold[way] === 'string') ?? 'meter';
}

/** The usage event that a hold stands in for, in each way that its request can be read. */
export function eventsToHold({ meter, expiresAt: _, ...hold }: NewHold, id: string): NewUsageEvent[] {
  const event = { ...hold, transactionId: id };
  if (typeof meter !== 'string') return [event];
  return [
    { ...event, usageMeterId: meter },
    { ...event, usageMeterSlug: meter },
  ];
}

/** The usage event that a hold is settled with. */
export function eventToSettle({ id, subscriptionId, priceId }: HoldRow, settledAmount: number): NewUsageEvent {
  return { subscriptionId, priceId, transactionId: id, amount: settledAmount };
}
