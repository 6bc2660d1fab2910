import type { Work } from '../database/work.ts';
import { isDunned } from '../invoicing/collection.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import { listValuePaid } from '../invoicing/list-value.ts';
import { listExplainedLines } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { fairValue, prorationCharge } from '../rating/proration.ts';
import { changeSegments, headOf, type PlanItem, wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { listItemSpans } from '../subscriptions/store-item-versions.ts';
import { listPeriodInvoices, type PeriodInvoice } from './store-period-invoices.ts';

/** The price of a change within a period. Money in minor units at list value: before discount and tax. */
export interface PlanCharge {
  /** For the change itself. */
  readonly amount: bigint;
  /** Value that the change adds to the period without a charge. */
  readonly waived: bigint;
  /** The billed lines: the change, and usage of the replaced invoice. */
  readonly lines: readonly NewLine[];
  /** The part of it that is such usage. */
  readonly carriedOver: bigint;
  readonly replacedInvoiceId: string | null;
}

/** A change of items in a period. */
export interface PeriodChange {
  readonly period: BillingPeriodRow;
  readonly items: readonly PlanItem[];
  /** False: the change is not charged. */
  readonly prorates: boolean;
  /** Whether the charge may replace the period's own invoice. True when absent. */
  readonly replaces?: boolean;
  readonly at: Instant;
}

/**
 * Prices a change: the value of the period with it, minus the amounts paid or in flight for the period, but at least 0.
 * If the period's own invoice was never paid, the change bills the whole value of the period and the usage on that
 * invoice, and replaces it. A trial is worth nothing. Worked examples A1 to A11.
 */
export async function priceChange(work: Work, change: PeriodChange): Promise<PlanCharge> {
  const { period, items, prorates, replaces = true, at } = change;
  const invoices = await listPeriodInvoices(work, [period]);
  const replaced = prorates && replaces ? (invoices.find(isNeverPaid) ?? null) : null;
  const counted = invoices.filter((invoice) => invoice !== replaced);
  const history = period.trialPeriod ? [] : await listItemSpans(work, period.subscriptionId, period.startAt);
  const segments = period.trialPeriod ? [] : changeSegments(history, items, period, at);
  const whole = wholeOf(period);
  const paid = counted.reduce((sum, invoice) => sum + listValuePaid(asExpected(invoice)), 0n);
  const amount = prorationCharge(segments, whole, paid + period.prorationWaived);
  if (!prorates) return { amount: 0n, waived: amount, lines: [], carriedOver: 0n, replacedInvoiceId: null };
  const usage = replaced === null ? [] : await usageLinesOf(work, replaced.id);
  const explanation = {
    kind: 'proration',
    segments,
    whole,
    fairValue: fairValue(segments, whole),
    paid,
    waived: period.prorationWaived,
  } as const;
  const lines = amount === 0n ? usage : [lineOf(items, amount, explanation), ...usage];
  return {
    amount,
    waived: 0n,
    lines,
    carriedOver: usage.reduce((sum, line) => sum + line.amount, 0n),
    replacedInvoiceId: replaced?.id ?? null,
  };
}

/** The period's own invoice without any received or pending payment (worked example A4). */
function isNeverPaid(invoice: PeriodInvoice): boolean {
  return isDunned(invoice) && invoice.status === 'open' && !invoice.isBeingPaid && invoice.amountPaid === 0n;
}

/**
 * Open and written-off amounts count as expected: otherwise the former would be billed twice and the latter after all.
 * An invoice of a change is open only if the change was applied.
 */
function asExpected(invoice: PeriodInvoice): PeriodInvoice {
  const { status } = invoice;
  return status === 'open' || status === 'uncollectible' ? { ...invoice, isBeingPaid: true } : invoice;
}

function lineOf(
  items: readonly PlanItem[],
  amount: bigint,
  explanation: Extract<NewLine['explanation'], { kind: 'proration' }>,
): NewLine {
  const { planName, priceId } = headOf(items);
  return {
    type: 'static',
    explanation,
    quantity: 1,
    price: amount,
    priceId,
    subscriptionItemId: null,
    description: `Change to ${planName}`,
  };
}

type UsageLine = Extract<NewLine, { type: 'usage' }>;

/** The usage lines of an invoice, to be billed by another one. */
async function usageLinesOf(work: Work, invoiceId: string): Promise<UsageLine[]> {
  const lines = await listExplainedLines(work, [invoiceId]);
  return lines.flatMap(({ type, amount, priceId, ledgerAccountId, ledgerAccountCredit: units, ...line }) => {
    if (type !== 'usage' || priceId === null || ledgerAccountId === null || units === null) return [];
    // A line from before explanations is billed as its own sum.
    const asOne = { kind: 'usage', units, unitPrice: amount, usageEventsPerUnit: Number(units) } as const;
    const explanation = line.explanation ?? asOne;
    return { type, units, amount, priceId, ledgerAccountId, description: line.description, explanation };
  });
}
