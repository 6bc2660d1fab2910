import type { Work } from '../database/work.ts';
import { discountable, isItem, isWritten, type LineExplanation } from '../invoicing/invoice-line-item.ts';
import { listExplainedLines } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import type { PeriodInvoice } from '../payments/store-period-invoices.ts';
import { type LinePart, partsByWorth } from '../rating/discount.ts';
import { worthOf } from '../rating/proration.ts';
import { changeSegments, headOf, type ItemSpan, type PlanItem, wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';

/** The charge for a change of items in a period. */
interface ChargedChange {
  readonly amount: bigint;
  readonly items: readonly PlanItem[];
  readonly period: BillingPeriodRow;
  readonly at: Instant;
  /** The items so far, and those from `at` on, which are paid in advance. */
  readonly history: readonly ItemSpan[];
  readonly next: readonly PlanItem[];
}

/**
 * The part of a charge that each price has, because a discount may be for some products only: by the worth of the period
 * at the price above what the `counted` invoices billed for it. Undefined if all of it is for the price that heads the
 * plan. Where there is one price only, nothing is read. Worked example: a plan of 3000 and a seat of 1000 are paid. Two
 * more seats for half of the period are 1000, all for seats.
 */
export async function partsOfChange(
  work: Work,
  counted: readonly PeriodInvoice[],
  { amount, items, period, at, history, next }: ChargedChange,
): Promise<readonly LinePart[] | undefined> {
  const priceIds = [...new Set([...history, ...next].map(({ priceId }) => priceId))];
  if (priceIds.length < 2) return undefined;
  const step = chargedStep(work.currency);
  const whole = wholeOf(period);
  const ids = counted.flatMap(({ id, isWithdrawn }) => (isWithdrawn ? [] : id));
  const lines = await listExplainedLines(work, ids);
  const billed = lines.flatMap((line) => (isOfPlan(line.explanation) ? partsOf(line) : []));
  const worths = priceIds.map((priceId) => {
    const isOf = (each: { readonly priceId: string | null }) => each.priceId === priceId;
    const worth = worthOf(changeSegments(history.filter(isOf), next.filter(isOf), period, at, step));
    const paid = billed.filter(isOf).reduce((sum, { value }) => sum + value, 0n);
    return [priceId, worth - paid * BigInt(whole.end - whole.start)] as const;
  });
  return partsByWorth({ amount, priceId: headOf(items).priceId }, new Map(worths), step);
}

/** Whether a line bills the plan of its period in advance. */
function isOfPlan(explanation: LineExplanation): boolean {
  return (isItem(explanation) && !isWritten(explanation)) || explanation.kind === 'proration';
}

function partsOf(line: Parameters<typeof discountable>[0]): readonly LinePart[] {
  const { amount: value, priceId, parts } = discountable(line);
  return parts ?? [{ priceId, value }];
}
