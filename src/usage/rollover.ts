import type { Instant } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';
import { type PeriodSchedule, periodsEnd } from '../subscriptions/billing-period.ts';
import type { AccountGrant, CreditExpiry } from './ledger.ts';

/** A credit that ends with an unused rest, and what of it may go over. */
export interface EndingCredit {
  readonly id: string;
  readonly pricingModelId: string;
  readonly ledgerAccountId: string;
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly featureId: string | null;
  readonly priority: number;
  readonly rest: bigint;
  /** Of its feature, as it is now. Null: nothing goes over. */
  readonly rolloverMaximum: bigint | null;
  readonly rolloverPeriods: number | null;
  /** What went over before of the credits of this feature on this account, and can still be used. */
  readonly outstanding: bigint;
}

/** When the subscriptions go on that do, and how their periods are counted. */
type Transitions = ReadonlyMap<string, { readonly at: Instant; readonly schedule: PeriodSchedule }>;

/**
 * What goes over into the next periods of credits that end, the oldest first: of all credits of a feature on an account
 * together so much that with what went over before no more than its maximum can be used. Each is a credit of its own. Of a
 * subscription that does not go on, nothing does.
 *
 * Worked example: of 100 a month 30 are used, so 70 are left, and a maximum of 50 lets 50 go over. Where 20 of an earlier
 * month can still be used, 30 do.
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
    const key = `${credit.ledgerAccountId} ${credit.featureId}`;
    const free = room.get(key) ?? rolloverMaximum - outstanding;
    const amount = smallerOf(credit.rest, free);
    // A maximum that was lowered may leave less than no room.
    if (amount <= 0n) return [];
    room.set(key, free - amount);
    return [toGrant(credit, amount, periodsEnd(transition.schedule, transition.at, rolloverPeriods))];
  });
}

function toGrant(credit: EndingCredit, amount: bigint, expiresAt: Instant): AccountGrant {
  const { id, pricingModelId, ledgerAccountId, subscriptionId, usageMeterId, featureId, priority } = credit;
  return {
    subscriptionId,
    usageMeterId,
    pricingModelId,
    ledgerAccountId,
    featureId,
    // What comes with a period is counted by it, and this came with an earlier one.
    billingPeriodId: null,
    amount,
    expiresAt,
    source: 'rollover',
    // A credit ends once, so it goes over once.
    sourceId: id,
    priority,
  };
}
