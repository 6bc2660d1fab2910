import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { hourOf } from './time-range.ts';
import type { AccountUsage, LockedAccount, RollUp } from './usage-booking.ts';
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
  /** Whether the series, and its account if there was none, are opened by this unit of work. */
  readonly isFirst: boolean;
  /** Of its subscription. */
  readonly revision: number;
}

/** The asks whose events passed, with their drafts, and those that are refused. */
export interface Drafted {
  readonly ask: UsageAsk;
  readonly drafts: readonly Draft[] | Problem;
}

export function countsDistinct({ price }: Draft): boolean {
  return price.aggregationType === 'count_distinct_properties';
}

/** The refusal of what the balance does not cover. It is told with the balance. */
export function insufficientBalance({ event }: Draft, balance: bigint): Problem {
  const { subscriptionId, usageMeterId, amount } = event;
  return new Problem('insufficientBalance', { amount, balance }, [], {
    usageBalance: { subscriptionId, usageMeterId, availableBalance: balance },
  });
}

/** What new events of an account add to a roll-up. */
export interface Addition extends RollUp {
  readonly ledgerAccountId: string;
}

/** What new events of a series come to. */
interface SeriesSum {
  /** One of them. */
  readonly draft: Draft;
  /** Of those that count. */
  units: bigint;
  readonly byHour: Map<Instant, { units: bigint; events: number }>;
}

/**
 * What new events come to: the usage that is booked, in the order in which it first counted, and what is added to the roll-ups
 * of their series. (account, price) and (series, hour) are there once: a subscription has one current period, so one series at
 * a price. `counted` are those of which the amount is booked.
 */
export function addUp(
  drafts: readonly Draft[],
  counted: ReadonlySet<Draft>,
): { usages: AccountUsage[]; additions: Addition[] } {
  const sums = new Map<number, SeriesSum>();
  const used: SeriesSum[] = [];
  for (const draft of drafts) {
    const { seriesId, event } = draft;
    let sum = sums.get(seriesId);
    if (sum === undefined) {
      sum = { draft, units: 0n, byHour: new Map() };
      sums.set(seriesId, sum);
    }
    const hour = hourOf(event.usageDate);
    let ofHour = sum.byHour.get(hour);
    if (ofHour === undefined) {
      ofHour = { units: 0n, events: 0 };
      sum.byHour.set(hour, ofHour);
    }
    ofHour.events += 1;
    if (!counted.has(draft)) continue;
    if (sum.units === 0n) used.push(sum);
    const units = BigInt(event.amount);
    ofHour.units += units;
    sum.units += units;
  }
  const additions: Addition[] = [];
  for (const { draft, byHour } of sums.values()) {
    const { seriesId, ledgerAccountId } = draft;
    for (const [hour, { units, events }] of byHour) additions.push({ ledgerAccountId, seriesId, hour, units, events });
  }
  return { usages: used.map(usageOf), additions };
}

function usageOf({ draft: { event, ledgerAccountId }, units }: SeriesSum): AccountUsage {
  const { priceId, billingPeriodId } = event;
  return { ledgerAccountId, priceId, billingPeriodId, units };
}

/**
 * Where additions go: onto the rows of their accounts, where a roll-up of the present hour is open on each, or into the
 * table of roll-ups. That of an earlier hour makes room for one of the present hour, and goes into the table. Only accounts
 * on which something is booked are written, and have one.
 *
 * Worked example, at ten past three: what is open since two goes into the table, what came at three is open, and what came
 * with a date of yesterday goes into the table.
 */
export function placeAdditions(
  additions: readonly Addition[],
  { accounts, now }: { readonly accounts: ReadonlyMap<string, Pick<LockedAccount, 'open'>>; readonly now: Instant },
): { open: ReadonlyMap<string, RollUp>; closed: RollUp[] } {
  const open = new Map<string, RollUp>();
  const closed: RollUp[] = [];
  for (const { ledgerAccountId, ...added } of additions) {
    const account = accounts.get(ledgerAccountId);
    const before = open.get(ledgerAccountId) ?? account?.open ?? null;
    if (account === undefined || added.hour !== hourOf(now)) closed.push(added);
    else if (before === null) open.set(ledgerAccountId, added);
    else if (before.hour < added.hour) {
      closed.push(before);
      open.set(ledgerAccountId, added);
    } else if (before.hour === added.hour && before.seriesId === added.seriesId) {
      const units = before.units + added.units;
      open.set(ledgerAccountId, { ...before, units, events: before.events + added.events });
    } else closed.push(added);
  }
  return { open, closed };
}

/** The event of an ask that has one. */
export function first(events: readonly UsageEvent[]): UsageEvent {
  const [event] = events;
  assert(event !== undefined, 'one answer for one event');
  return event;
}
