import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import type { AccountUsage } from '../ledger/usage-booking.ts';
import { hourOf } from './time-range.ts';
import type { BillablePrice, EventPath, NewUsageEvent, UsageEvent } from './usage-event.ts';

/**
 * What one caller asks for. `record`: all of its events are stored, or none. `consume`: its one event is stored only if
 * the balance covers it.
 */
export interface UsageAsk {
  readonly kind: 'record' | 'consume';
  readonly events: readonly NewUsageEvent[];
  /** Where in the caller's request an event stands. */
  readonly pathOf: (index: number) => EventPath;
}

/** What a caller is answered: an event for each that was given, in order, and of a `consume` the balance that is left. */
export interface UsageAnswer {
  readonly events: readonly UsageEvent[];
  readonly balance: bigint | null;
}

/** An event of an ask that passed every check and was not yet stored. */
export interface Draft {
  readonly event: UsageEvent;
  readonly propertiesText: string | null;
  readonly price: BillablePrice;
  readonly path: EventPath;
  readonly transactionKey: string;
  readonly seriesId: number;
  readonly ledgerAccountId: string;
}

/** The asks whose events passed, with their drafts, and those that are refused. */
export interface Drafted {
  readonly ask: UsageAsk;
  readonly drafts: readonly Draft[] | Problem;
}

export function countsDistinct({ price }: Draft): boolean {
  return price.aggregationType === 'count_distinct_properties';
}

/** The usage that a draft is booked as. */
export function usageOf({ event, ledgerAccountId }: Draft): AccountUsage {
  const { priceId, billingPeriodId, amount } = event;
  return { ledgerAccountId, priceId, billingPeriodId, units: BigInt(amount) };
}

/** The refusal of what the balance does not cover. It is told with the balance. */
export function insufficientBalance({ event }: Draft, balance: bigint): Problem {
  const { subscriptionId, usageMeterId, amount } = event;
  return new Problem('insufficientBalance', { amount, balance }, [], {
    usageBalance: { subscriptionId, usageMeterId, availableBalance: balance },
  });
}

/** What new events add to the hours of their series. `counts` says whether an event's amount is booked. */
export function hoursOf(drafts: readonly Draft[], counts: (draft: Draft) => boolean) {
  const hours = new Map<string, { seriesId: number; hour: Instant; units: bigint; events: number }>();
  for (const draft of drafts) {
    const hour = hourOf(draft.event.usageDate);
    const key = `${draft.seriesId} ${hour}`;
    const sum = hours.get(key) ?? { seriesId: draft.seriesId, hour, units: 0n, events: 0 };
    sum.events += 1;
    if (counts(draft)) sum.units += BigInt(draft.event.amount);
    hours.set(key, sum);
  }
  return [...hours.values()];
}

/** The event of an ask that has one. */
export function first(events: readonly UsageEvent[]): UsageEvent {
  const [event] = events;
  assert(event !== undefined, 'one answer for one event');
  return event;
}
