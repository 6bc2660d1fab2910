import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { dayText, rangeText } from '../kernel/iso-text.ts';
import { allocate } from '../kernel/money.ts';
import { moneyText } from '../kernel/money-text.ts';
import type { Seller } from '../organizations/setting.ts';
import { priceModelOf } from '../pricing/pricing.ts';
import { type PriceRow, priceRows } from '../rating/price-text.ts';
import { amountDue, type Buyer, type InvoiceStatus } from './invoice.ts';
import type { LineExplanation, PartOfUsage } from './invoice-line-item.ts';
import { withPeriod } from './line-text.ts';

/** A line. Money in minor units. */
interface DocumentLine {
  readonly description: string | null;
  readonly quantity: number;
  readonly price: bigint;
  readonly amount: bigint;
  readonly serviceStartAt?: Instant | null;
  readonly serviceEndAt?: Instant | null;
  readonly explanation?: LineExplanation;
}

/** The data of a printed invoice. Money in minor units. */
export interface InvoiceToPrint {
  /** Null on a draft. */
  readonly invoiceNumber: string | null;
  readonly invoiceDate: Instant;
  readonly dueDate: Instant | null;
  readonly billingPeriodStartDate: Instant | null;
  readonly billingPeriodEndDate: Instant | null;
  readonly status: InvoiceStatus;
  readonly currency: string;
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
  readonly taxType: string | null;
  readonly taxCountry: string | null;
  readonly taxState: string | null;
  readonly taxRatePercentage: string | null;
  readonly taxInclusive: boolean;
  readonly total: bigint;
  readonly amountPaid: bigint;
  readonly amountRefunded: bigint;
  readonly offsetAmount: bigint;
  readonly balanceApplied: bigint;
  readonly memo: string | null;
  readonly footer: string | null;
  readonly purchaseOrderNumber: string | null;
  readonly seller: Seller | null;
  readonly buyer: Buyer | null;
}

/** A row of the totals below the lines. */
interface DocumentSum {
  readonly label: string;
  readonly amount: string;
  readonly strong: boolean;
}

/** An invoice as formatted text, ready for layout. */
export interface InvoiceDocument {
  readonly title: string;
  readonly status: string;
  readonly facts: readonly { readonly label: string; readonly value: string }[];
  readonly seller: readonly string[];
  readonly buyer: readonly string[];
  readonly lines: readonly {
    readonly description: string;
    readonly quantity: string;
    readonly price: string;
    readonly amount: string;
    /** The tiers and other parts of a price that is more than an amount per unit. */
    readonly details: readonly { readonly text: string; readonly amount: string }[];
  }[];
  readonly sums: readonly DocumentSum[];
  readonly memo: string | null;
  readonly footer: string | null;
}

/** The printed name of each status. */
export const invoiceStatusTexts: Readonly<Record<InvoiceStatus, string>> = {
  draft: 'Draft',
  open: 'Open',
  awaiting_payment_confirmation: 'Payment pending',
  paid: 'Paid',
  partially_refunded: 'Partly refunded',
  refunded: 'Refunded',
  void: 'Void',
  uncollectible: 'Uncollectible',
};

const noSeller = ['No seller is named yet, so this is not a tax invoice.'];

/** Formats an invoice as text, a line a step. Instants become days in UTC. */
export function* invoiceDocument(
  invoice: InvoiceToPrint,
  lines: readonly DocumentLine[],
): Generator<void, InvoiceDocument> {
  const money = (amount: bigint) => moneyText(amount, invoice.currency);
  const printed: InvoiceDocument['lines'][number][] = [];
  for (const { description, quantity, price, amount, explanation, serviceStartAt, serviceEndAt } of lines) {
    yield;
    const service = serviceStartAt && serviceEndAt ? { start: serviceStartAt, end: serviceEndAt } : null;
    printed.push({
      description: withPeriod(description ?? '', service),
      quantity: String(quantity),
      price: money(price),
      amount: money(amount),
      details: explanation === undefined ? [] : detailsOf(explanation, amount, invoice.currency),
    });
  }
  return {
    title: invoice.invoiceNumber === null ? 'Invoice draft' : `Invoice ${invoice.invoiceNumber}`,
    status: invoiceStatusTexts[invoice.status],
    facts: factsOf(invoice),
    seller: sellerLines(invoice.seller),
    buyer: buyerLines(invoice.buyer),
    lines: printed,
    sums: sumsOf(invoice, lines, money),
    memo: invoice.memo,
    footer: invoice.footer,
  };
}

/** The rows below a line, which add up to its amount, where it is more than a quantity at a price. */
function detailsOf(explanation: LineExplanation, amount: bigint, currency: string) {
  return rowsOf(explanation, amount, currency).map((row) => ({
    text: row.text,
    amount: moneyText(row.amount, currency),
  }));
}

function rowsOf(explanation: LineExplanation, amount: bigint, currency: string): PriceRow[] {
  const step = chargedStep(currency);
  switch (explanation.kind) {
    case 'priced_usage': {
      const { pricing, units, unitsSoFar, eventsSoFar: events, ownAmountSoFar: ownAmount, billedBefore } = explanation;
      const soFar = { units: unitsSoFar, events, ownAmount };
      const before = unitsSoFar - units;
      const isPart = before > 0n || billedBefore !== 0n;
      const billed = { text: `${before.toLocaleString('en-US')} of them billed before`, amount: -billedBefore };
      const rows = priceRows(priceModelOf(pricing), soFar, currency, step);
      return [...rows, ...(isPart ? [billed] : []), ...takenBack(explanation)];
    }
    case 'measured_usage': {
      const { pricing, units, per, billedBefore } = explanation;
      const before = billedBefore === 0n ? [] : [{ text: 'Billed before', amount: -billedBefore }];
      const after = [...before, ...takenBack(explanation)];
      const soFar = amount + billedBefore - (explanation.discountTakenBack ?? 0n);
      if (pricing === null) return billedBefore === 0n ? [] : [{ text: 'So far', amount: soFar }, ...after];
      const usage = { units, per, events: 0n, ownAmount: 0n };
      return [...priceRows(priceModelOf(pricing), usage, currency, step), ...after];
    }
    case 'priced_item': {
      const { pricing, quantity, value, period } = explanation;
      const usage = { units: BigInt(quantity), events: 0n, ownAmount: 0n };
      const rows = priceRows(priceModelOf(pricing), usage, currency, step);
      if (period === null || value === amount) return rows;
      return [...rows, { text: `Only ${rangeText(period)}`, amount: amount - value }];
    }
    case 'proration':
      return segmentRows(explanation, amount, currency);
    default:
      return [];
  }
}

function takenBack({ discountTakenBack = 0n }: PartOfUsage): PriceRow[] {
  return discountTakenBack === 0n ? [] : [{ text: 'Discount on what is paid back', amount: discountTakenBack }];
}

/** Each plan of a period with its worth for its time, and the amount that was settled before. */
function segmentRows(
  { segments, fairValue }: Extract<LineExplanation, { kind: 'proration' }>,
  amount: bigint,
  currency: string,
): PriceRow[] {
  if (!segments.some(({ items }) => items !== undefined)) return [];
  const step = chargedStep(currency);
  const weights = segments.map(({ start, end, value }) => value * BigInt(end - start));
  const shares = allocate(fairValue / step, weights);
  const rows = segments.map(({ items = [], ...period }, index) => {
    const held = items.map(({ quantity, value }) => `${quantity} for ${moneyText(value, currency)}`);
    return { text: `${held.join(' and ')}, ${rangeText(period)}`, amount: (shares[index] ?? 0n) * step };
  });
  return amount === fairValue ? rows : [...rows, { text: 'Billed before', amount: amount - fairValue }];
}

function factsOf({
  invoiceNumber,
  invoiceDate,
  dueDate,
  billingPeriodStartDate,
  billingPeriodEndDate,
  purchaseOrderNumber,
}: InvoiceToPrint) {
  const facts = [{ label: 'Invoice date', value: dayText(invoiceDate) }];
  if (invoiceNumber !== null) facts.unshift({ label: 'Invoice number', value: invoiceNumber });
  if (dueDate !== null) facts.push({ label: 'Due date', value: dayText(dueDate) });
  if (billingPeriodStartDate !== null && billingPeriodEndDate !== null) {
    const period = { start: billingPeriodStartDate, end: billingPeriodEndDate };
    facts.push({ label: 'Billing period', value: rangeText(period) });
  }
  if (purchaseOrderNumber !== null) facts.push({ label: 'Purchase order', value: purchaseOrderNumber });
  return facts;
}

function sumsOf(
  invoice: InvoiceToPrint,
  lines: readonly DocumentLine[],
  money: (amount: bigint) => string,
): DocumentSum[] {
  const {
    total,
    amountPaid,
    amountRefunded,
    offsetAmount,
    balanceApplied,
    discountAmount,
    taxAmount,
    taxType,
    status,
  } = invoice;
  const row = (label: string, amount: bigint, strong = false) => ({ label, amount: money(amount), strong });
  const sums = [
    row(
      'Subtotal',
      lines.reduce((sum, line) => sum + line.amount, 0n),
    ),
  ];
  if (discountAmount > 0n) sums.push(row('Discount', -discountAmount));
  if (taxAmount > 0n || (taxType !== null && taxType !== 'none'))
    sums.push(row('Net amount before tax', total - taxAmount), row(taxName(invoice), taxAmount));
  sums.push(row('Total', total, true));
  if (balanceApplied > 0n) sums.push(row('Balance applied', -balanceApplied));
  if (offsetAmount > 0n) sums.push(row('Credited', -offsetAmount));
  if (amountPaid > 0n) sums.push(row('Paid', -amountPaid));
  if (amountRefunded > 0n) sums.push(row('Refunded', amountRefunded));
  if (isAskedFor(status)) sums.push(row('Amount due', amountDue(invoice), true));
  return sums;
}

function isAskedFor(status: InvoiceStatus): boolean {
  return status === 'open' || status === 'awaiting_payment_confirmation' || status === 'draft';
}

type TaxToPrint = Pick<InvoiceToPrint, 'taxType' | 'taxRatePercentage' | 'taxCountry' | 'taxState'>;

/** For example `VAT 19% (DE)`; the type `none` is printed as a tax too. */
export function taxName({ taxType, taxRatePercentage, taxCountry, taxState }: TaxToPrint): string {
  const name = (taxType === null || taxType === 'none' ? 'tax' : taxType).replaceAll('_', ' ').toUpperCase();
  const place = [taxCountry, taxState].filter((part) => part !== null).join(' ');
  return `${name}${taxRatePercentage === null ? '' : ` ${taxRatePercentage}%`}${place === '' ? '' : ` (${place})`}`;
}

export function sellerLines(seller: Seller | null): string[] {
  if (seller === null) return noSeller;
  const taxId = seller.taxId === null ? null : `Tax ID: ${seller.taxId}`;
  return present([seller.name, ...seller.addressLines, seller.email, taxId]);
}

export function buyerLines(buyer: Buyer | null): string[] {
  if (buyer === null) return [];
  const { line1, line2, city, state, postal_code: postalCode, country } = buyer.billingAddress?.address ?? {};
  const name = buyer.billingAddress?.name ?? buyer.name;
  const place = present([postalCode, city]).join(' ');
  return present([name, line1, line2, place, state, country, buyer.email]);
}

function present(texts: readonly (string | null | undefined)[]): string[] {
  return texts.flatMap((text) => (text === null || text === undefined || text.trim() === '' ? [] : [text.trim()]));
}
