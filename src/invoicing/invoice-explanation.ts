import { z } from 'zod';
import type { Period } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { fineText, PricedTier, Pricing, priceMeasured, priceModelOf, shownTier } from '../pricing/pricing.ts';
import { type DiscountableLine, discountLines, type LineDiscount, leftAfter } from '../rating/discount.ts';
import { type Rounding, taxableAmount, taxRounding } from '../rating/invoice-amounts.ts';
import { priceQuantities, priceUnits } from '../rating/usage-parts.ts';
import type { ItemizedSegment } from '../subscriptions/adjustment.ts';
import { type AppliedDiscount, InvoiceReason, taxFields } from './invoice.ts';
import { discountable, isItem, isPartOfUsage, type LineExplanation } from './invoice-line-item.ts';

const PeriodShown = z
  .object({ startAt: Timestamp, endAt: Timestamp })
  .meta({ id: 'ExplainedPeriod', description: 'A range of time. `startAt` is part of it and `endAt` is not.' });

/** The time of `part` divided by the time of `whole`, by the millisecond. */
const Fraction = z.object({ part: PeriodShown, whole: PeriodShown }).meta({
  id: 'ExplainedFraction',
  description: 'The duration of `part` divided by the duration of `whole`, in milliseconds.',
});

const RoundingShown = z
  .object({
    numerator: z.string().regex(/^-?\d+$/),
    denominator: z.string().regex(/^[1-9]\d*$/),
    rounded: WholeNumber,
  })
  .meta({
    id: 'ExplainedRounding',
    description: 'The exact value as a fraction, and the rounded value. Halves are rounded away from zero.',
  });

/** A quantity of a price within a plan. */
const SegmentItem = z
  .object({ priceId: z.string().nullable(), unitPrice: WholeNumber, quantity: z.int(), value: WholeNumber })
  .meta({
    id: 'ExplainedSegmentItem',
    description: 'A quantity of a price. `value` is its price for the whole period.',
  });

const ExplainedLine = z
  .object({
    id: z.string(),
    type: z.enum(['static', 'usage']),
    kind: z
      .enum([
        'item',
        'priced_item',
        'usage',
        'priced_usage',
        'measured_usage',
        'proration',
        'setup_fee',
        'minimum_commitment',
        'arrears',
        'paused_time',
        'unexplained',
      ])
      .meta({
        description:
          'The way of computing the amount. `item`: unitPrice x itemQuantity x fraction. `priced_item`: `value` x fraction, where `value` is the price of itemQuantity by `pricing`. `usage`: units x unitPrice / usageEventsPerUnit. `priced_usage`: the price of `unitsSoFar` (and `eventsSoFar`, or `eventsAmount`) by `pricing`, less `billedBefore`. `measured_usage`: the price of unitsSoFar / unitsPer units, by `pricing` or at unitPrice for usageEventsPerUnit, less `billedBefore`. Where usage has become cheaper, both are plus `discountTakenBack`. `proration`: the sum of value x fraction of the segments, less paid and waived, at least 0. `setup_fee`: unitPrice, once. `minimum_commitment`: the sum of value x fraction of the segments, less planAmount and usageAmount, at least 0. `arrears`: the sum of value x fraction of the segments, for the period that has ended. `paused_time`: the credit for paused time, at most the sum of the other lines less the discount.',
      }),
    description: z.string().nullable(),
    quantity: z
      .int()
      .meta({ description: 'The quantity on the invoice. The amount is the product of price and quantity.' }),
    price: WholeNumber,
    amount: WholeNumber,
    unitPrice: WholeNumber.nullable().meta({ description: 'The price of one, or of `usageEventsPerUnit` units.' }),
    itemQuantity: z.int().nullable(),
    value: WholeNumber.nullable().meta({ description: 'The price of all of itemQuantity for a whole interval.' }),
    units: WholeNumber.nullable(),
    usageEventsPerUnit: z.int().nullable(),
    pricing: Pricing.nullable(),
    unitsSoFar: WholeNumber.nullable().meta({
      description: 'All units of the usage period, those of the line included.',
    }),
    unitsPer: WholeNumber.optional().meta({
      description: 'Present for `measured_usage`: the units so far, and those of tiers, are so many parts of a unit.',
    }),
    events: WholeNumber.nullable().meta({
      description: 'The events that the line bills, where each of them costs something.',
    }),
    eventsSoFar: WholeNumber.nullable().meta({ description: 'All of them in the usage period.' }),
    eventsAmount: z.string().nullable().meta({
      description: 'The sum of the own prices of all events of the usage period, in minor units.',
    }),
    billedBefore: WholeNumber.nullable().meta({
      description: 'The amount that was billed for the usage period before.',
    }),
    discountTakenBack: WholeNumber.optional().meta({
      description:
        'Present where the usage period has become cheaper: the part that is not paid back, because a discount had taken it off before.',
    }),
    tiers: z.array(PricedTier).nullable().meta({
      description:
        'The tiers that hold the units so far, or the quantity. Packages, free units and bounds are in no tier.',
    }),
    period: PeriodShown.nullable().meta({ description: 'The time that the line bills.' }),
    fraction: Fraction.nullable(),
    segments: z
      .array(z.object({ value: WholeNumber, fraction: Fraction, items: z.array(SegmentItem).optional() }))
      .nullable()
      .meta({
        description:
          'The plans of a period with changes, each with its price for the whole period and its share of the time. ' +
          '`items` are present where one of them has a pricing: `POST /prices/quote` tells the tiers of its quantity.',
      }),
    fairValue: WholeNumber.nullable().meta({ description: 'The sum of the values of the segments.' }),
    paid: WholeNumber.nullable().meta({
      description: 'The part of that value that is settled: paid, being paid, refunded, voided or written off.',
    }),
    waived: WholeNumber.nullable().meta({
      description: 'The part of that value that changes without proration do not charge.',
    }),
    planAmount: WholeNumber.nullable().meta({
      description: 'What the plan of the period costs towards its commitment.',
    }),
    usageAmount: WholeNumber.nullable().meta({
      description: 'What the usage of the period costs towards its commitment.',
    }),
    kept: WholeNumber.nullable().meta({ description: 'The credit for paused time that was not yet taken off.' }),
    rounding: RoundingShown,
    discountShare: WholeNumber,
    taxShare: WholeNumber,
    taxable: z.literal(false).optional().meta({ description: 'False: the line bears no tax. Absent: it does.' }),
    priceId: z.string().nullable(),
    subscriptionItemId: z.string().nullable(),
    ledgerAccountId: z.string().nullable(),
  })
  .meta({ id: 'ExplainedInvoiceLine' });
type ExplainedLine = z.infer<typeof ExplainedLine>;

const ExplainedTax = z
  .object({
    type: taxFields.taxType,
    country: taxFields.taxCountry,
    state: taxFields.taxState,
    ratePercentage: z.string(),
    inclusive: z.boolean().meta({
      description:
        'If true, prices include the tax, which is taxable x rate / (100 + rate). Otherwise it is taxable x rate / 100.',
    }),
    amount: WholeNumber,
    rounding: RoundingShown,
  })
  .nullable();

/** The derivation of every amount of an invoice, so that anybody can recompute it. */
export const InvoiceExplanation = z
  .object({
    invoiceId: z.string(),
    invoiceNumber: z.string().nullable().meta({ description: 'Null until a draft is finalized.' }),
    currency: z.string(),
    reason: InvoiceReason,
    subscriptionId: z.string().nullable(),
    billingPeriodId: z.string().nullable(),
    billingPeriod: PeriodShown.nullable(),
    lines: z.array(ExplainedLine),
    sumOfLines: WholeNumber,
    discounts: z
      .array(
        z.object({
          discountRedemptionId: z.string(),
          code: z.string(),
          kind: z.enum(['percent', 'fixed']),
          amount: WholeNumber.meta({
            description:
              'A percentage, of which at most 100 count, or an amount in minor units. After a pause the rest of an interval gets its share.',
          }),
          base: WholeNumber.meta({
            description:
              'What the discounts before it leave of the lines that it is for, without paused time, which was paid before.',
          }),
          computed: WholeNumber.meta({ description: 'The amount taken off, at most the base.' }),
          rounding: RoundingShown,
        }),
      )
      .meta({ description: 'In the order in which they lower the invoice.' }),
    taxable: WholeNumber.meta({
      description: 'The sum of the lines less their shares of the discounts, without those that bear no tax.',
    }),
    tax: ExplainedTax,
    subtotal: WholeNumber.meta({ description: 'The net amount: the total before tax.' }),
    taxAmount: WholeNumber,
    total: WholeNumber,
    parts: z
      .array(
        z.object({
          invoiceId: z.string(),
          subscriptionId: z.string().nullable(),
          billingPeriodId: z.string().nullable(),
          taxable: WholeNumber,
          tax: ExplainedTax,
          total: WholeNumber,
        }),
      )
      .optional()
      .meta({
        description:
          'The part of each subscription of a consolidated invoice, whose amounts are their sums. Tax is rounded for each.',
      }),
  })
  .meta({ id: 'InvoiceExplanation' });
export type InvoiceExplanation = z.infer<typeof InvoiceExplanation>;

/** The fields of an invoice that its arithmetic uses. */
interface ExplainableInvoice extends Pick<InvoiceExplanation, 'reason' | 'subscriptionId' | 'billingPeriodId'> {
  readonly id: string;
  readonly invoiceNumber: string | null;
  readonly currency: string;
  readonly billingPeriodStartDate: number | null;
  readonly billingPeriodEndDate: number | null;
  readonly discountAmount: bigint;
  readonly taxType: z.infer<typeof taxFields.taxType>;
  readonly taxCountry: z.infer<typeof taxFields.taxCountry>;
  readonly taxState: string | null;
  readonly taxRatePercentage: string | null;
  readonly taxInclusive: boolean;
  readonly subtotal: bigint;
  readonly taxAmount: bigint;
  readonly total: bigint;
}

interface ExplainableLine
  extends Pick<
    ExplainedLine,
    | 'id'
    | 'type'
    | 'description'
    | 'quantity'
    | 'price'
    | 'amount'
    | 'priceId'
    | 'subscriptionItemId'
    | 'ledgerAccountId'
  > {
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
  readonly taxable: boolean;
  readonly explanation: LineExplanation;
}

/** Explains an invoice, a line a step; `discounts` are those on it, in order. */
export function* explainInvoice(
  invoice: ExplainableInvoice,
  lines: readonly ExplainableLine[],
  discounts: readonly AppliedDiscount[],
): Generator<void, InvoiceExplanation> {
  const explained: ExplainedLine[] = [];
  for (const line of lines) {
    yield;
    explained.push(explainLine(line, invoice.currency));
  }
  const sumOfLines = lines.reduce((sum, line) => sum + line.amount, 0n);
  const taxable = taxableAmount(lines.map((line) => (line.taxable ? line.amount - line.discountAmount : 0n)));
  const { billingPeriodStartDate: start, billingPeriodEndDate: end } = invoice;
  return {
    invoiceId: invoice.id,
    invoiceNumber: invoice.invoiceNumber,
    currency: invoice.currency,
    reason: invoice.reason,
    subscriptionId: invoice.subscriptionId,
    billingPeriodId: invoice.billingPeriodId,
    billingPeriod: start === null || end === null ? null : shownPeriod({ start, end }),
    lines: explained,
    sumOfLines,
    discounts: explainDiscounts(discounts, lines, chargedStep(invoice.currency)),
    taxable,
    tax: explainTax(invoice, taxable),
    subtotal: invoice.subtotal,
    taxAmount: invoice.taxAmount,
    total: invoice.total,
  };
}

/**
 * Explains a consolidated invoice by its parts: each amount is a sum over them. A discount applies to its part, and tax was
 * rounded for each, so the exact tax of all may be some halves of a cent off.
 */
export function explainConsolidated(
  invoice: ExplainableInvoice,
  parts: readonly InvoiceExplanation[],
): InvoiceExplanation {
  const sumOf = (amountOf: (part: InvoiceExplanation) => bigint) =>
    parts.reduce((sum, part) => sum + amountOf(part), 0n);
  const taxable = sumOf((part) => part.taxable);
  return {
    invoiceId: invoice.id,
    invoiceNumber: invoice.invoiceNumber,
    currency: invoice.currency,
    reason: invoice.reason,
    ...{ subscriptionId: null, billingPeriodId: null, billingPeriod: null },
    lines: parts.flatMap(({ lines }) => lines),
    sumOfLines: sumOf(({ sumOfLines }) => sumOfLines),
    discounts: parts.flatMap(({ discounts }) => discounts),
    taxable,
    tax: explainTax(invoice, taxable),
    ...{ subtotal: invoice.subtotal, taxAmount: invoice.taxAmount, total: invoice.total },
    parts: parts.map(({ invoiceId, subscriptionId, billingPeriodId, taxable: ofPart, tax, total }) => {
      return { invoiceId, subscriptionId, billingPeriodId, taxable: ofPart, tax, total };
    }),
  };
}

/**
 * Each applies to what is left of all lines but paused time and those of other products. A fixed amount for the rest of an
 * interval after a pause is its share.
 */
function explainDiscounts(discounts: readonly AppliedDiscount[], lines: readonly ExplainableLine[], step: bigint) {
  let left = lines.map(discountable);
  return discounts.map((discount) => {
    const explained = explainDiscount(discount, left, lines);
    // The amount that it took off, whatever it was computed from.
    const taken: LineDiscount = { kind: 'fixed', amount: discount.takenOff, priceIds: discount.priceIds ?? null };
    const { shares } = discountLines(taken, left, step);
    left = left.map((line, index) => leftAfter(line, shares[index] ?? 0n, taken, step));
    return explained;
  });
}

function explainDiscount(
  discount: AppliedDiscount,
  left: readonly DiscountableLine[],
  lines: readonly ExplainableLine[],
) {
  const { redemptionId: discountRedemptionId, code, kind, amount, takenOff: computed } = discount;
  const { base } = discountLines(discount, left);
  const percent = amount > 100n ? 100n : amount;
  const fixed = computed < amount && computed < base ? shareOfFixed(amount, lines, computed) : exactly(computed);
  const exact = kind === 'percent' ? { numerator: base * percent, denominator: 100n } : fixed;
  const rounding = shownRounding({ ...exact, rounded: computed });
  return { discountRedemptionId, code, kind, amount, base, computed, rounding };
}

function shareOfFixed(amount: bigint, lines: readonly ExplainableLine[], computed: bigint) {
  for (const { explanation } of lines)
    if (isItem(explanation) && explanation.period !== null && explanation.whole !== null)
      return { numerator: amount * lengthOf(explanation.period), denominator: lengthOf(explanation.whole) };
  return exactly(computed);
}

function explainTax(invoice: ExplainableInvoice, taxable: bigint): InvoiceExplanation['tax'] {
  const { taxRatePercentage, taxInclusive: inclusive, taxAmount, taxType, taxCountry, taxState } = invoice;
  if (taxRatePercentage === null) return null;
  const { numerator, denominator } = taxRounding({ percentage: taxRatePercentage, inclusive }, taxable);
  return {
    type: taxType,
    country: taxCountry,
    state: taxState,
    ratePercentage: taxRatePercentage,
    inclusive,
    amount: taxAmount,
    rounding: shownRounding({ numerator, denominator, rounded: taxAmount }),
  };
}

function explainLine(line: ExplainableLine, currency: string): ExplainedLine {
  const { id, type, description, quantity, price, amount, priceId, subscriptionItemId, ledgerAccountId } = line;
  return {
    id,
    type,
    description,
    quantity,
    price,
    amount,
    unitPrice: null,
    itemQuantity: null,
    value: null,
    units: null,
    usageEventsPerUnit: null,
    pricing: null,
    unitsSoFar: null,
    events: null,
    eventsSoFar: null,
    eventsAmount: null,
    billedBefore: null,
    tiers: null,
    period: null,
    fraction: null,
    segments: null,
    fairValue: null,
    paid: null,
    waived: null,
    planAmount: null,
    usageAmount: null,
    kept: null,
    ...reckoningOf(line, currency),
    ...takenBackOf(line.explanation),
    discountShare: line.discountAmount,
    taxShare: line.taxAmount,
    ...(line.taxable ? {} : { taxable: false as const }),
    priceId,
    subscriptionItemId,
    ledgerAccountId,
  };
}

function takenBackOf(explanation: LineExplanation) {
  if (!isPartOfUsage(explanation) || explanation.discountTakenBack === undefined) return {};
  return { discountTakenBack: explanation.discountTakenBack };
}

/** The part of a line's explanation that depends on its kind. */
function reckoningOf(
  { explanation, amount }: ExplainableLine,
  currency: string,
): Pick<ExplainedLine, 'kind' | 'rounding'> & Partial<ExplainedLine> {
  switch (explanation.kind) {
    case 'item':
      return explainItem(explanation, amount);
    case 'priced_item':
      return explainPricedItem(explanation, amount, chargedStep(currency));
    case 'usage': {
      const { kind, units, unitPrice, usageEventsPerUnit } = explanation;
      const exact = { numerator: units * unitPrice, denominator: BigInt(usageEventsPerUnit) };
      return { kind, units, unitPrice, usageEventsPerUnit, rounding: shownRounding({ ...exact, rounded: amount }) };
    }
    case 'priced_usage':
      return explainPricedUsage(explanation, chargedStep(currency));
    case 'measured_usage':
      return explainMeasuredUsage(explanation, chargedStep(currency));
    case 'proration':
      return explainProration(explanation);
    case 'setup_fee': {
      const { kind, unitPrice } = explanation;
      return { kind, unitPrice, itemQuantity: 1, rounding: shownRounding({ ...exactly(amount), rounded: amount }) };
    }
    case 'minimum_commitment':
      return explainCommitment(explanation);
    case 'arrears':
      return explainArrears(explanation);
    case 'paused_time':
      return {
        kind: explanation.kind,
        kept: explanation.kept,
        rounding: shownRounding({ ...exactly(amount), rounded: amount }),
      };
    case 'unexplained':
      return { kind: explanation.kind, rounding: shownRounding({ ...exactly(amount), rounded: amount }) };
    default:
      return explanation satisfies never;
  }
}

type ItemExplanation = Extract<LineExplanation, { kind: 'item' }>;
type PricedItemExplanation = Extract<LineExplanation, { kind: 'priced_item' }>;
type PricedUsageExplanation = Extract<LineExplanation, { kind: 'priced_usage' }>;
type MeasuredUsageExplanation = Extract<LineExplanation, { kind: 'measured_usage' }>;
type ProrationExplanation = Extract<LineExplanation, { kind: 'proration' }>;

function explainItem({ kind, unitPrice, quantity, period, whole }: ItemExplanation, amount: bigint) {
  return {
    kind,
    unitPrice,
    itemQuantity: quantity,
    ...shareOf(unitPrice * BigInt(quantity), { period, whole }, amount),
  };
}

function explainPricedItem(
  { kind, pricing, quantity, value, ...time }: PricedItemExplanation,
  amount: bigint,
  step: bigint,
) {
  const tiers = tiersOf(pricing, BigInt(quantity), step);
  return { kind, pricing, itemQuantity: quantity, value, tiers, ...shareOf(value, time, amount) };
}

function tiersOf(pricing: Pricing, units: bigint, step: bigint) {
  return priceUnits(priceModelOf(pricing), units, step).tiers.map(shownTier);
}

/** The share of a value that its time is worth. */
function shareOf(
  value: bigint,
  { period, whole }: { readonly period: Period | null; readonly whole: Period | null },
  amount: bigint,
) {
  const exact =
    period === null || whole === null
      ? exactly(value)
      : { numerator: value * lengthOf(period), denominator: lengthOf(whole) };
  return {
    period: period === null ? null : shownPeriod(period),
    fraction: period === null || whole === null ? null : shownFraction(period, whole),
    rounding: shownRounding({ ...exact, rounded: amount }),
  };
}

function explainPricedUsage(explanation: PricedUsageExplanation, step: bigint) {
  const { kind, pricing, units, unitsSoFar, billedBefore, events, eventsSoFar, ownAmountSoFar } = explanation;
  const soFar = { units: unitsSoFar, events: eventsSoFar, ownAmount: ownAmountSoFar };
  const { amount: rounded, exact, tiers } = priceQuantities(priceModelOf(pricing), soFar, step);
  const rounding = shownRounding({ ...exact, rounded });
  const usage = { units, unitsSoFar, billedBefore, tiers: tiers.map(shownTier), rounding };
  if (eventsSoFar === 0n) return { kind, pricing, ...usage };
  const eventsAmount = pricing.model === 'dynamic' ? fineText(ownAmountSoFar) : null;
  return { kind, pricing, ...usage, events, eventsSoFar, eventsAmount };
}

function explainCommitment(explanation: Extract<LineExplanation, { kind: 'minimum_commitment' }>) {
  const { kind, segments, period, whole, commitment, plan, usage } = explanation;
  const { period: _, ...shares } = explainSegments(segments, whole, commitment);
  return { kind, period: shownPeriod(period), ...shares, planAmount: plan, usageAmount: usage };
}

function explainMeasuredUsage(explanation: MeasuredUsageExplanation, step: bigint) {
  const { kind, unitPrice, usageEventsPerUnit, pricing, units, per, billedBefore } = explanation;
  const { amount: rounded, exact, tiers } = priceMeasured(explanation, { units, per }, step);
  const terms = pricing === null ? { unitPrice, usageEventsPerUnit } : { pricing, tiers: tiers.map(shownTier) };
  const rounding = shownRounding({ ...exact, rounded });
  return { kind, ...terms, unitsSoFar: units, unitsPer: per, billedBefore, rounding };
}

function explainArrears(explanation: Extract<LineExplanation, { kind: 'arrears' }>) {
  const { kind, segments, period, whole, fairValue } = explanation;
  const { period: _, ...shares } = explainSegments(segments, whole, fairValue);
  return { kind, period: shownPeriod(period), ...shares };
}

function explainProration({ kind, segments, whole, fairValue, paid, waived }: ProrationExplanation) {
  return { kind, ...explainSegments(segments, whole, fairValue), paid, waived };
}

/** The sum of the values of segments, each for its time. */
function explainSegments(segments: readonly ItemizedSegment[], whole: Period, fairValue: bigint) {
  const numerator = segments.reduce((sum, segment) => sum + segment.value * lengthOf(segment), 0n);
  return {
    period: shownPeriod(whole),
    segments: segments.map((segment) => ({
      value: segment.value,
      fraction: shownFraction(segment, whole),
      ...(segment.items === undefined ? {} : { items: [...segment.items] }),
    })),
    fairValue,
    rounding: shownRounding({ numerator, denominator: lengthOf(whole), rounded: fairValue }),
  };
}

function exactly(amount: bigint) {
  return { numerator: amount, denominator: 1n };
}

function lengthOf({ start, end }: Period): bigint {
  return BigInt(end - start);
}

function shownPeriod({ start, end }: Period) {
  return { startAt: start, endAt: end };
}

function shownFraction(part: Period, whole: Period) {
  return { part: shownPeriod(part), whole: shownPeriod(whole) };
}

/** As text, because an exact value may exceed JSON's numbers. */
function shownRounding({ numerator, denominator, rounded }: Rounding) {
  return { numerator: numerator.toString(), denominator: denominator.toString(), rounded };
}
