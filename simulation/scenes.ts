import type { Plan } from './catalogue.ts';
import { monthly } from './catalogue-usage.ts';
import { isSameInterval } from './oracle-arithmetic.ts';
import type { Invoice } from './oracle-records.ts';
import type { Wish } from './step.ts';
import type { StepKind } from './steps.ts';

/**
 * A plot: the steps by which a customer gets into situations that free draws hardly reach. Other steps come between
 * them, so none can rely on the one before. A step that is not possible then is left out.
 */
export type Plot = readonly Scene[];

/** `renewal`: to the next one of the customer of the plot. */
export type ClockMove = 'hours' | 'days' | 'due' | 'weeks' | 'renewal';

/** A step of a plot, or a move of the clock. */
export type Scene =
  | { readonly kind: StepKind; readonly wish: Wish }
  | { readonly kind: 'clock'; readonly move: ClockMove };

export const step = (kind: StepKind, wish: Wish = {}): Scene => ({ kind, wish });
export const clock = (move: ClockMove): Scene => ({ kind: 'clock', move });

export const isPack = ({ reason }: Invoice) => reason === 'purchase';
export const isPlan = ({ reason, total }: Invoice) => reason !== 'purchase' && reason !== 'one_off' && total > 0;
export const isWritten = ({ reason }: Invoice) => reason === 'one_off';
export const isAny = () => true;
export const isOfLastPlan = (invoice: Invoice) => invoice === invoice.customer.invoices.findLast(isPlan);
export const begins = ({ trialDays }: Plan) => trialDays === 0;
export const isInvoicedBetween = (plan: Plan) => begins(plan) && plan.billsOverage && !isSameInterval(plan, monthly);
export const endsWithMore = (plan: Plan) => begins(plan) && plan.commitment !== undefined;
export const isMonthly = (plan: Plan) =>
  begins(plan) && plan.unit === 'month' && plan.count === 1 && plan.recurring > 0;
export const isDearer = (plan: Plan, before: Plan | null) =>
  before !== null && isSameInterval(plan, before) && plan.unitPrice >= before.unitPrice;
export const isCheaper = (plan: Plan, before: Plan | null) =>
  before !== null && isSameInterval(plan, before) && plan.unitPrice < before.unitPrice;
export const hasRhythm = ({ grantInterval }: Plan) => grantInterval !== undefined;
export const hasOtherRhythm = (plan: Plan, before: Plan | null) =>
  before !== null && isSameInterval(plan, before) && hasRhythm(plan) !== hasRhythm(before);
export const hasTrial = ({ trialDays }: Plan) => trialDays > 0;
export const hasOtherInterval = (plan: Plan, before: Plan | null) => before !== null && !isSameInterval(plan, before);
export const subscribes = step('subscribe', { plan: begins, isDiscounted: false });
export const measures = step('recordOthers', { isMeasured: true });
export const useUp = step('consume', { isMuch: true });
