import { z } from 'zod';
import { amountInput, countInput, WholeNumber } from '../kernel/json.ts';

/** What goes over of credits that come every billing period: both are null where nothing does. */
export interface Rollover {
  readonly rolloverMaximum: bigint | null;
  readonly rolloverPeriods: number | null;
}

// Eight years of months: longer than anybody plans a price list for.
const maxRolloverPeriods = 100;

const maximum = {
  description: 'The most unused units that roll over at the end of a billing period into later ones. Null: none.',
};
const periods = {
  description: 'The number of billing periods for which rolled-over units can be used. Null if there is no rollover.',
};

/** The fields in the record of a credit grant. */
export const rolloverFields = {
  rolloverMaximum: WholeNumber.nullable().meta(maximum),
  rolloverPeriods: z.int().nullable().meta(periods),
};
/** The fields in the record of a feature that nothing can go over of. */
export const noRolloverFields = { rolloverMaximum: z.null(), rolloverPeriods: z.null() };

/** The fields in a request. */
export const RolloverMaximum = amountInput(1).nullable().meta(maximum);
export const RolloverPeriods = countInput(1, maxRolloverPeriods).nullable().meta(periods);

export interface RolloverIssue {
  readonly field: keyof Rollover;
  readonly message: string;
}

/**
 * What is wrong with the roll-over of credits that come as often as this, or null when nothing is. Credits that come once
 * do not end with a period, so there is nothing of them that could go over.
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
  if (rolloverMaximum === null) return { field: 'rolloverMaximum', message: 'must be given with rolloverPeriods' };
  if (rolloverPeriods === null) return { field: 'rolloverPeriods', message: 'must be given with rolloverMaximum' };
  return null;
}

/** Refuses in a request what `rolloverIssue` finds. */
export function refineRollover(
  given: Rollover & { readonly renewalFrequency: 'once' | 'every_billing_period' },
  context: z.RefinementCtx,
): void {
  const issue = rolloverIssue(given, given.renewalFrequency);
  if (issue) context.addIssue({ code: 'custom', path: [issue.field], message: issue.message });
}

/** A roll-over after a change: what is left out stays, and null for one field, where the other is left out, takes it off. */
export function changedRollover(
  stored: Rollover,
  sent: { readonly [Field in keyof Rollover]?: Rollover[Field] | undefined },
): Rollover {
  const { rolloverMaximum = stored.rolloverMaximum, rolloverPeriods = stored.rolloverPeriods } = sent;
  const given = [sent.rolloverMaximum, sent.rolloverPeriods].filter((value) => value !== undefined);
  const isTakenOff = given.length > 0 && given.every((value) => value === null);
  return isTakenOff ? { rolloverMaximum: null, rolloverPeriods: null } : { rolloverMaximum, rolloverPeriods };
}
