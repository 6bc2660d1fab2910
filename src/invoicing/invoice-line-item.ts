import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant, Period } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { amountOf, type Priced, type Pricing } from '../pricing/pricing.ts';
import type { CreditedLine } from '../rating/credited.ts';
import type { DiscountableLine, LinePart } from '../rating/discount.ts';
import type { LineShares } from '../rating/invoice-amounts.ts';
import type { MeasuredPart } from '../rating/measured-usage.ts';
import { fairValue, type PlanSegment } from '../rating/proration.ts';
import type { UsagePart } from '../rating/usage-parts.ts';
import type { ItemizedSegment } from '../subscriptions/adjustment.ts';

export const InvoiceLineItemId = idSchema('invoiceLineItem');

/** The time that a line is for. */
const ServicePeriod = z
  .object({ start: Timestamp, end: Timestamp })
  .meta({ id: 'ServicePeriod', description: 'A range of time. `start` is part of it and `end` is not.' });

const everyLine = {
  id: InvoiceLineItemId,
  ...stamps,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  invoiceId: z.string(),
  priceId: z.string().nullable(),
  description: z.string().nullable(),
  quantity: z.int(),
  price: WholeNumber.meta({ description: 'The price of one.' }),
  amount: WholeNumber.meta({ description: 'The product of price and quantity.' }),
  creditedAmount: WholeNumber.optional().meta({
    description: 'The part of `amount` that credit notes have taken back. Absent if that is nothing.',
  }),
  taxable: z
    .literal(false)
    .optional()
    .meta({ description: 'False: the line bears no tax. Absent: it bears the tax of the invoice.' }),
  subscriptionId: z.string().optional().meta({
    description: 'The subscription that a line of a consolidated invoice is of. Absent on every other line.',
  }),
  servicePeriod: ServicePeriod.optional().meta({
    description: "The time that a line of the seller's own is for. Absent without one.",
  }),
};

const StaticLine = z.object({
  ...everyLine,
  type: z.literal('static'),
  ledgerAccountId: z.null(),
  ledgerAccountCredit: z.null(),
});
const UsageLine = z.object({
  ...everyLine,
  type: z.literal('usage'),
  ledgerAccountId: z.string().meta({ description: 'The ledger account of the subscription and the meter.' }),
  ledgerAccountCredit: WholeNumber.meta({
    description: 'The units that the line bills; 0 where they are measured, and so on no balance.',
  }),
  billingRunId: z.string().meta({ description: 'The id of the invoice that billed the units.' }),
});

/** A line of an invoice: a quantity of an item, or the usage of a meter as one amount. */
export const InvoiceLineItem = z.discriminatedUnion('type', [StaticLine, UsageLine]).meta({ id: 'InvoiceLineItem' });
export type InvoiceLineItem = z.infer<typeof InvoiceLineItem>;

/** A line of an invoice preview. */
export const UpcomingInvoiceLineItem = z
  .discriminatedUnion('type', [
    StaticLine.extend({ id: z.null(), invoiceId: z.null() }),
    UsageLine.extend({ id: z.null(), invoiceId: z.null(), billingRunId: z.null() }),
  ])
  .meta({ id: 'UpcomingInvoiceLineItem' });
export type UpcomingInvoiceLineItem = z.infer<typeof UpcomingInvoiceLineItem>;

/** A line of an invoice, and the part of it that credit notes have taken back. */
export interface CreditableLine extends CreditedLine {
  readonly id: string;
  readonly isUsage: boolean;
  readonly description: string | null;
  readonly quantity: number;
  readonly price: bigint;
}

/** A part of a usage period that has become cheaper pays back only what was billed net of discount. */
interface Payback {
  /** The part of its list price that it does not pay back. Absent: none. */
  readonly discountTakenBack?: bigint;
}

/** The inputs of a line's amount, so that anybody can recompute it. Money in minor units. */
export type LineExplanation =
  /** unitPrice x quantity x time of `period` / time of `whole`, rounded once. */
  | {
      readonly kind: 'item';
      readonly unitPrice: bigint;
      readonly quantity: number;
      readonly period: Period | null;
      readonly whole: Period | null;
      /** Somebody wrote the line, so it is no part of a plan. */
      readonly written?: true;
      /** The invoice item that it was while it was pending. */
      readonly invoiceItemId?: string;
    }
  /** `value`, the price of the quantity by `pricing`, rounded once, x time of `period` / time of `whole`, rounded. */
  | {
      readonly kind: 'priced_item';
      readonly pricing: Pricing;
      readonly quantity: number;
      readonly value: bigint;
      readonly period: Period | null;
      readonly whole: Period | null;
      readonly written?: true;
      readonly invoiceItemId?: string;
    }
  /** units x unitPrice / usageEventsPerUnit, rounded once. */
  | {
      readonly kind: 'usage';
      readonly units: bigint;
      readonly unitPrice: bigint;
      readonly usageEventsPerUnit: number;
      /** At a price with an amount for each event, if its plan bills none. */
      readonly events?: bigint;
      readonly ownAmount?: bigint;
      /** The start of its usage period, where the customer has had own terms for the price. */
      readonly periodStart?: Instant;
    }
  /** The price of all usage of the usage period so far, rounded once, less what was billed for the period before. */
  | (Omit<UsagePart, 'amount'> & Payback & { readonly kind: 'priced_usage'; readonly pricing: Pricing })
  /**
   * The price of the `units / per` units of the usage period so far, rounded once, less what was billed or waived
   * before.
   */
  | (Omit<MeasuredPart, 'amount'> &
      Payback & {
        readonly kind: 'measured_usage';
        readonly unitPrice: bigint;
        readonly usageEventsPerUnit: number;
        readonly pricing: Pricing | null;
      })
  /** max(0, sum of value x time of the segment / time of `whole`, rounded once - paid - waived). */
  | {
      readonly kind: 'proration';
      readonly segments: readonly ItemizedSegment[];
      readonly whole: Period;
      readonly fairValue: bigint;
      readonly paid: bigint;
      readonly waived: bigint;
      /** The part of each price, where it is for several. */
      readonly parts?: readonly LinePart[];
    }
  /** `unitPrice`, which the first invoice of a subscription bills once. */
  | { readonly kind: 'setup_fee'; readonly unitPrice: bigint }
  /**
   * max(0, commitment - plan - usage), where commitment is the sum of value x time of the segment / time of `whole`.
   */
  | {
      readonly kind: 'minimum_commitment';
      readonly segments: readonly PlanSegment[];
      readonly period: Period;
      readonly whole: Period;
      readonly commitment: bigint;
      readonly plan: bigint;
      readonly usage: bigint;
    }
  /** A plan that is billed at the end of `period`: the sum of value x time of the segment / time of `whole`. */
  | {
      readonly kind: 'arrears';
      readonly segments: readonly ItemizedSegment[];
      readonly period: Period;
      readonly whole: Period;
      readonly fairValue: bigint;
      readonly parts?: readonly LinePart[];
    }
  /** Paid time in which the subscription was paused: negative, at most the value kept for it. */
  | { readonly kind: 'paused_time'; readonly kept: bigint }
  /** The line was created before explanations existed. */
  | { readonly kind: 'unexplained' };

export const moneyOfExplanations: ReadonlySet<string> = new Set([
  'unitPrice',
  'units',
  'unitsSoFar',
  'per',
  'events',
  'eventsSoFar',
  'ownAmount',
  'ownAmountSoFar',
  'billedBefore',
  'discountTakenBack',
  'value',
  'fairValue',
  'paid',
  'waived',
  'kept',
  'commitment',
  'plan',
  'usage',
]);

/** Parses JSON with the money of these keys exact at any size. */
export function parseMoney(text: string, keys: ReadonlySet<string> = moneyOfExplanations): unknown {
  return JSON.parse(text, (key, value, context?: { readonly source?: string }) =>
    keys.has(key) && context?.source !== undefined ? BigInt(context.source) : value,
  );
}

/** Parses a stored explanation with its money exact at any size. */
export function readExplanation(text: string): LineExplanation {
  // An object is all that is ever written.
  const read = parseMoney(text) as object;
  // Only explanations are ever written; lines from before have `{}`.
  return 'kind' in read ? (read as LineExplanation) : { kind: 'unexplained' };
}

/** A line of a new invoice. Money in minor units. */
export type NewLine =
  | {
      readonly type: 'static';
      readonly explanation: LineExplanation;
      readonly quantity: number;
      readonly price: bigint;
      readonly priceId: string | null;
      readonly subscriptionItemId: string | null;
      readonly description: string | null;
      /** Absent: it bears tax. */
      readonly taxable?: boolean;
      /** The time that a line of the seller's own is for. Absent or null: none. */
      readonly service?: Period | null;
    }
  | {
      readonly type: 'usage';
      readonly explanation: LineExplanation;
      /** The billed units of the meter; `amount` is their total price. */
      readonly units: bigint;
      readonly amount: bigint;
      readonly priceId: string;
      readonly ledgerAccountId: string;
      readonly description: string | null;
    };

/** A stored line without the fields shared by its invoice and without its shares of discount and tax. */
interface PricedLine {
  readonly type: 'static' | 'usage';
  readonly quantity: number;
  readonly price: bigint;
  readonly amount: bigint;
  readonly priceId: string | null;
  readonly subscriptionItemId: string | null;
  readonly description: string | null;
  readonly ledgerAccountId: string | null;
  readonly ledgerAccountCredit: bigint | null;
  readonly taxable: boolean;
  readonly serviceStartAt: Instant | null;
  readonly serviceEndAt: Instant | null;
  readonly explanation: LineExplanation;
}

/** A line of an invoice without a number. */
export interface DraftLine extends PricedLine, LineShares {}

/**
 * Computes a line's amount, price x quantity. The units of a usage line are priced together and rounded once, so such a
 * line has quantity 1 at the rounded sum; the units are stored beside it.
 */
export function priceLine(line: NewLine): PricedLine {
  if (line.type === 'static') {
    const { type, quantity, price, priceId, subscriptionItemId, description, explanation } = line;
    const { taxable = true, service = null } = line;
    const amount = price * BigInt(quantity);
    const noUsage = { ledgerAccountId: null, ledgerAccountCredit: null };
    const own = { taxable, serviceStartAt: service?.start ?? null, serviceEndAt: service?.end ?? null };
    return { type, quantity, price, amount, priceId, subscriptionItemId, description, explanation, ...noUsage, ...own };
  }
  const { type, units, amount, priceId, ledgerAccountId, description, explanation } = line;
  return {
    type,
    quantity: 1,
    price: amount,
    amount,
    priceId,
    subscriptionItemId: null,
    description,
    ledgerAccountId,
    ledgerAccountCredit: units,
    taxable: true,
    serviceStartAt: null,
    serviceEndAt: null,
    explanation,
  };
}

/** A line as discounts see it. One amount may be for several prices. */
export function discountable({
  amount,
  priceId,
  explanation,
}: Pick<PricedLine, 'amount' | 'priceId' | 'explanation'>): DiscountableLine {
  const parts = 'parts' in explanation ? explanation.parts : undefined;
  return { amount, priceId, ...(parts === undefined ? {} : { parts }) };
}

/** The parts of a line that bills the plan of its period in advance; none of another line. */
export function partsOfPlan(line: Pick<PricedLine, 'amount' | 'priceId' | 'explanation'>): readonly LinePart[] {
  const { explanation } = line;
  if ((!isItem(explanation) || isWritten(explanation)) && explanation.kind !== 'proration') return [];
  const { amount: value, priceId, parts } = discountable(line);
  return parts ?? [{ priceId, value }];
}

/** The same for a line that is not priced yet. */
export function discountableOf(line: NewLine): DiscountableLine {
  return discountable(priceLine(line));
}

/** The amount of a line before discount: a payback of usage has its discount taken off already. */
export function listAmount({ explanation, ...line }: NewLine): bigint {
  const { amount } = priceLine({ explanation, ...line });
  return amount - (isPartOfUsage(explanation) ? (explanation.discountTakenBack ?? 0n) : 0n);
}

export type PartOfUsage = Extract<LineExplanation, { kind: 'priced_usage' | 'measured_usage' }>;

/** Whether a line bills a part of a usage period. */
export function isPartOfUsage(explanation: LineExplanation): explanation is PartOfUsage {
  return explanation.kind === 'priced_usage' || explanation.kind === 'measured_usage';
}

/** The line as it was before it was priced, so that it is priced again. */
export function unpricedLine(line: PricedLine): NewLine {
  const { type, quantity, price, amount, priceId, description, explanation } = line;
  if (type === 'static') {
    const { subscriptionItemId, taxable, serviceStartAt: start, serviceEndAt: end } = line;
    const service = start === null || end === null ? null : { start, end };
    return { type, quantity, price, priceId, subscriptionItemId, description, explanation, taxable, service };
  }
  const { ledgerAccountId, ledgerAccountCredit: units } = line;
  assert(priceId !== null && ledgerAccountId !== null && units !== null, 'a line of usage has its account');
  return { type, units, amount, priceId, ledgerAccountId, description, explanation };
}

/** An item to bill. */
export interface BilledItem extends Priced {
  readonly id: string | null;
  readonly priceId: string | null;
  readonly name: string | null;
  readonly quantity: number;
}

/**
 * The line of an item: its quantity and price for all of `period`. If the period is part of the interval `whole` that
 * the price covers, the line has quantity 1 at its share of the total. The share is rounded once, to a multiple of
 * `step`. A price that is no amount per unit has quantity 1 too, at the price of all.
 */
export function itemLine(item: BilledItem, period: Period | null, whole: Period | null = period, step = 1n): NewLine {
  const { unitPrice, pricing, quantity, priceId, name } = item;
  const value = amountOf(item, quantity, step);
  const time = { period, whole };
  return {
    type: 'static',
    ...priceForPart(item, value, time, step),
    priceId,
    subscriptionItemId: item.id,
    description: name,
    explanation:
      pricing === null
        ? { kind: 'item', unitPrice, quantity, ...time }
        : { kind: 'priced_item', pricing, quantity, value, ...time },
  };
}

function priceForPart(
  { unitPrice, pricing, quantity }: BilledItem,
  value: bigint,
  { period, whole }: { readonly period: Period | null; readonly whole: Period | null },
  step: bigint,
): { readonly quantity: number; readonly price: bigint } {
  const isWhole = period === null || whole === null || (period.start === whole.start && period.end === whole.end);
  if (!isWhole) return { quantity: 1, price: fairValue([{ ...period, value }], whole, step) };
  return pricing === null ? { quantity, price: unitPrice } : { quantity: 1, price: value };
}

type ItemExplanation = Extract<LineExplanation, { kind: 'item' | 'priced_item' }>;

/** Whether somebody wrote the line. */
export function isWritten(explanation: LineExplanation): boolean {
  return isItem(explanation) && explanation.written === true;
}

/** The invoice item that a line was while it was pending; null: none. */
export function itemOf(explanation: LineExplanation): string | null {
  return isItem(explanation) ? (explanation.invoiceItemId ?? null) : null;
}

/** Whether a line bills an item, and not usage or a change. */
export function isItem(explanation: LineExplanation): explanation is ItemExplanation {
  return explanation.kind === 'item' || explanation.kind === 'priced_item';
}
