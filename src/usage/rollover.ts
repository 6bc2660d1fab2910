import type { Instant, Interval } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';
import { type PeriodSchedule, periodsEnd } from '../subscriptions/billing-period.ts';
import { grantIntervalsEnd } from '../subscriptions/interim.ts';
import type { AccountGrant, CreditExpiry } from './ledger.ts';

/** A credit that expires with an unused remainder, and its rollover terms. */
export interface EndingCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly featureId: string | null;
  readonly priority: number;
  readonly rest: bigint;
  /** The current terms of its feature. Null: no rollover. */
  readonly rolloverMaximum: bigint | null;
  readonly rolloverPeriods: number | null;
  /** The interval that the rollover is counted in. Null: the billing period. */
  readonly grantInterval: Interval | null;
  /** The usable amount of earlier rollovers of this feature's credits on this account. */
  readonly outstanding: bigint;
}

/** The renewal of each continuing subscription: its time and schedule. */
type Transitions = ReadonlyMap<string, { readonly at: Instant; readonly schedule: PeriodSchedule }>;

/**
 * Decides the rollover of expiring credits, oldest first. All credits of a feature of a subscription share one limit:
 * together with earlier rollovers, no more than the maximum is usable. Each rollover is a separate credit. Credits of a
 * subscription that does not continue do not roll over.
 *
 * Worked example: of 100 a month 30 are used, so 70 are left, and a maximum of 50 lets 50 roll over. If 20 of an
 * earlier month are still usable, 30 do.
 */
export function rolledOver(ending: readonly EndingCredit[], expiries: readonly CreditExpiry[]): AccountGrant[] {
  const transitions: Transitions = new Map(
    expiries.flatMap(({ subscriptionId, at, goesOn }) =>
      goesOn === undefined ? [] : [[subscriptionId, { at, schedule: goesOn }]],
    ),
  );
  const room = new Map<string, bigint>();
  return ending.flatMap((credit) => {
    const { rolloverMaximum, rolloverPeriods, outstanding } = credit;
    const transition = transitions.get(credit.subscriptionId);
    if (rolloverMaximum === null || rolloverPeriods === null || transition === undefined) return [];
    const key = `${credit.ledgerAccountId} ${credit.subscriptionId} ${credit.featureId}`;
    const free = room.get(key) ?? rolloverMaximum - outstanding;
    const amount = smallerOf(credit.rest, free);
    // A lowered maximum may leave negative room.
    if (amount <= 0n) return [];
    room.set(key, free - amount);
    return [toGrant(credit, amount, rolloverEnd(credit, rolloverPeriods, transition))];
  });
}

/** A bought credit with a rest that may still be used, or a part of one that rolled over before. */
export interface BoughtRest {
  readonly id: string;
  readonly rest: bigint;
  /** Whether it rolled over already: then it does not again, and counts towards the maximum. */
  readonly rolled: boolean;
}

/**
 * The parts of bought credits that roll over when their feature is bought again, in their order. Worked example: 30 and 40 are
 * left, and 15 that rolled over before. With a maximum of 60, 30 and 15 roll over.
 */
export function rolledByPurchase(
  credits: readonly BoughtRest[],
  maximum: bigint,
): { readonly id: string; readonly amount: bigint }[] {
  let room = credits.reduce((left, { rest, rolled }) => (rolled ? left - rest : left), maximum);
  return credits.flatMap(({ id, rest, rolled }) => {
    const amount = smallerOf(rest, room);
    if (rolled || amount <= 0n) return [];
    room -= amount;
    return [{ id, amount }];
  });
}

function rolloverEnd(
  { grantInterval }: EndingCredit,
  rolloverPeriods: number,
  { at, schedule }: { readonly at: Instant; readonly schedule: PeriodSchedule },
): Instant {
  if (grantInterval === null) return periodsEnd(schedule, at, rolloverPeriods);
  return grantIntervalsEnd(schedule, grantInterval, at, rolloverPeriods);
}

function toGrant(credit: EndingCredit, amount: bigint, expiresAt: Instant): AccountGrant {
  const { id, pricingModelId, ledgerAccountId, subscriptionId, usageMeterId, featureId, priority } = credit;
  return {
    subscriptionId,
    usageMeterId,
    pricingModelId,
    ledgerAccountId,
    featureId,
    // Credits of a period count towards it, and these belong to an earlier one.
    billingPeriodId: null,
    amount,
    expiresAt,
    source: 'rollover',
    // A credit expires once, so it rolls over once.
    sourceId: id,
    priority,
  };
}
