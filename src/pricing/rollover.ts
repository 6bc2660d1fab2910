import { z } from 'zod';
import { amountInput, countInput, WholeNumber } from '../kernel/json.ts';

/** The rollover of credits granted every billing period. Both fields are null if nothing rolls over. */
export interface Rollover {
  readonly rolloverMaximum: bigint | null;
  readonly rolloverPeriods: number | null;
}

// Eight years of monthly periods, far beyond any price list.
const maxRolloverPeriods = 100;

const maximum = {
  description: 'The most unused units that roll over at the end of a billing period into later ones. Null: none.',
};
const periods = {
  description: 'The number of billing periods for which rolled-over units can be used. Null if there is no rollover.',
};

/** Fields in the record of a credit grant. */
export const rolloverFields = {
  rolloverMaximum: WholeNumber.nullable().meta(maximum),
  rolloverPeriods: z.int().nullable().meta(periods),
};
/** Fields in the record of a feature without rollover. */
export const noRolloverFields = { rolloverMaximum: z.null(), rolloverPeriods: z.null() };

/** Fields in a request. */
export const RolloverMaximum = amountInput(1).nullable().meta(maximum);
export const RolloverPeriods = countInput(1, maxRolloverPeriods).nullable().meta(periods);

interface RolloverIssue {
  readonly field: keyof Rollover;
  readonly message: string;
}

/**
 * The problem with a rollover, or null. Credits that are granted once do not end with a period, so they cannot roll
 * over.
 */
export function rolloverIssue(
  { rolloverMaximum, rolloverPeriods }: Rollover,
  renewalFrequency: 'once' | 'every_billing_period',
): RolloverIssue | null {
  if (rolloverMaximum === null && rolloverPeriods === null) return null;
  if (renewalFrequency !== 'every_billing_period') {
    const field = rolloverMaximum === null ? 'rolloverPeriods' : 'rolloverMaximum';
    return { field, message: 'must be null unless renewalFrequency is every_billing_period' };
  }
  if (rolloverMaximum === null)
    return { field: 'rolloverMaximum', message: 'is required when rolloverPeriods is given' };
  if (rolloverPeriods === null)
    return { field: 'rolloverPeriods', message: 'is required when rolloverMaximum is given' };
  return null;
}

/** Reports the issue that `rolloverIssue` finds in a request. */
export function refineRollover(
  given: Rollover & { readonly renewalFrequency: 'once' | 'every_billing_period' },
  context: z.RefinementCtx,
): void {
  const issue = rolloverIssue(given, given.renewalFrequency);
  if (issue) context.addIssue({ code: 'custom', path: [issue.field], message: issue.message });
}

/**
 * The rollover after a change. Absent fields keep their value; null for one field, with the other absent, removes the
 * rollover.
 */
export function changedRollover(
  stored: Rollover,
  sent: { readonly [Field in keyof Rollover]?: Rollover[Field] | undefined },
): Rollover {
  const { rolloverMaximum = stored.rolloverMaximum, rolloverPeriods = stored.rolloverPeriods } = sent;
  const given = [sent.rolloverMaximum, sent.rolloverPeriods].filter((value) => value !== undefined);
  const isTakenOff = given.length > 0 && given.every((value) => value === null);
  return isTakenOff ? { rolloverMaximum: null, rolloverPeriods: null } : { rolloverMaximum, rolloverPeriods };
}
