import type { Period } from '../kernel/calendar.ts';
import { fairValue, type PlanSegment } from './proration.ts';

/** The plan of a period as its invoices tell it, at list value in minor units. */
interface BilledPlan {
  /** The plan lines, also those that were refunded, voided or written off. */
  readonly listed: bigint;
  /** The value of changes that were not charged. */
  readonly waived: bigint;
  /** The value of the rest of the interval, which is kept for later invoices; 0 where nothing is kept. */
  readonly unused: bigint;
}

/**
 * The amount of a plan that counts towards the commitment of its period. The seller gave away what it waived or voided,
 * and does not ask for it again. Time that is kept for later is of a later period. Worked example: 30.00, cut half-way
 * by a pause, are 15.00.
 */
export function planTowardsCommitment({ listed, waived, unused }: BilledPlan): bigint {
  const amount = listed + waived - unused;
  return amount > 0n ? amount : 0n;
}

/** A period at its end. Money in minor units, before discounts and tax. */
interface CommittedPeriod {
  /** The commitments for a whole interval, each for the time in which its price was held. */
  readonly segments: readonly PlanSegment[];
  /** The interval that the commitments are for. */
  readonly whole: Period;
  readonly plan: bigint;
  /** The usage that invoices of the period bill, with the one at its end. */
  readonly usage: bigint;
}

/**
 * The commitment of a period, and what is missing from plan and usage to it. So plan, usage and true-up are worth the
 * larger of the commitment and plan with usage. Worked example for 100.00 a month: 30.00 for the plan and 50.00 of
 * usage leave 20.00. In half a month, 15.00 and 20.00 leave 15.00. A multiple of `step`, if the amounts are.
 */
export function commitmentTrueUp(
  { segments, whole, plan, usage }: CommittedPeriod,
  step: bigint,
): { readonly commitment: bigint; readonly trueUp: bigint } {
  const commitment = fairValue(segments, whole, step);
  const missing = commitment - plan - usage;
  return { commitment, trueUp: missing > 0n ? missing : 0n };
}
