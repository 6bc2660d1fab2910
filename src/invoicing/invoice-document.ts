import { isReverseCharged } from '../customers/billing-terms.ts';
import type { DocumentLine, DocumentTable, Party, PrintedDocument } from '../documents/document.ts';
import { type DocumentTexts, documentTexts, fillIn } from '../documents/document-text.ts';
import { type LineTexts, lineTexts } from '../documents/line-words.ts';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import {
  type Language,
  localCount,
  localCountry,
  localDay,
  localMoney,
  localMonth,
  localPercent,
  localRange,
} from '../kernel/language.ts';
import { allocate } from '../kernel/money.ts';
import type { Seller } from '../organizations/setting.ts';
import { priceModelOf } from '../pricing/pricing.ts';
import { type PriceRow, priceRows } from '../rating/price-text.ts';
import type { UsageByDay } from '../usage/usage-summary.ts';
import { type AppliedDiscount, amountDue, type Buyer, type InvoiceStatus } from './invoice.ts';
import type { LineExplanation, PartOfUsage } from './invoice-line-item.ts';
import { localDescription } from './line-text.ts';

/** A line. Money in minor units. */
interface InvoiceLine {
  readonly description: string | null;
  readonly quantity: number;
  readonly price: bigint;
  readonly amount: bigint;
  readonly serviceStartAt?: Instant | null;
  readonly serviceEndAt?: Instant | null;
  readonly explanation?: LineExplanation;
  /** Absent: it bears tax. */
  readonly taxable?: boolean;
  readonly discountAmount?: bigint;
  /** The name of its subscription on an invoice of several. Absent or null: none. */
  readonly subscription?: string | null;
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
  /** In order. Absent: only their sum is shown. */
  readonly discounts?: readonly Pick<AppliedDiscount, 'code' | 'takenOff'>[];
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
  /** The usage behind the lines. Absent: it is not shown. */
  readonly usage?: readonly UsageByDay[];
}

/** How a document looks and where it leads. */
export interface DocumentLook {
  readonly language: Language;
  readonly branding: PrintedDocument['branding'];
  /** The name of the seller beside the document, where the seller has no logo. */
  readonly company: string | null;
  /** The page on which the invoice is paid; null without one. */
  readonly payLink: string | null;
  /** How to pay without a card. */
  readonly paymentInstructions: string | null;
}

/** Formats an invoice as text, a line a step. Its dates are days in the time zone of its buyer, periods in UTC. */
export function* invoiceDocument(
  invoice: InvoiceToPrint,
  lines: readonly InvoiceLine[],
  look: DocumentLook,
): Generator<void, PrintedDocument> {
  const { language, branding, company, payLink } = look;
  const { invoiceNumber, currency, status, memo, footer } = invoice;
  const texts = documentTexts[language];
  const money = (amount: bigint) => localMoney(amount, currency, language);
  const printed: DocumentLine[] = [];
  for (const line of lines) {
    yield;
    const { description, quantity, price, amount, explanation, serviceStartAt, serviceEndAt, subscription } = line;
    const service = serviceStartAt && serviceEndAt ? { start: serviceStartAt, end: serviceEndAt } : null;
    printed.push({
      description: withName(
        localDescription(description ?? '', { explanation, service, currency, language }),
        subscription,
      ),
      quantity: localCount(BigInt(quantity), language),
      price: money(price),
      amount: money(amount),
      details: explanation === undefined ? [] : detailsOf(explanation, amount, currency, language),
    });
  }
  const isAsked = isAskedFor(status) && amountDue(invoice) > 0n;
  const instructions = isAsked && status !== 'draft' ? look.paymentInstructions : null;
  return {
    ...{ language, branding, company },
    title: invoiceNumber === null ? texts.invoiceDraft : texts.invoice,
    number: invoiceNumber,
    status: texts.statuses[status],
    facts: factsOf(invoice, language),
    ...partiesOf(invoice, language),
    headline: headlineOf(invoice, texts, language, money),
    columns: texts,
    lines: printed,
    sums: sumsOf(invoice, lines, texts, language),
    taxes: taxesOf(invoice, lines, texts, language),
    payment:
      isAsked && payLink !== null
        ? { heading: texts.pay, text: texts.scan, action: texts.openPage, link: payLink }
        : null,
    notes: [
      ...reverseChargeOf(invoice, texts),
      ...noteOf(texts.byTransfer, instructions),
      ...noteOf(texts.memo, memo),
      ...noteOf('', footer),
    ],
    annex: usageTables(invoice.usage ?? [], language),
    pageText: texts.page,
  };
}

// More columns would leave no room for the names of the meters.
const metersOfTable = 3;

/** Tables of the units of each day: one of several meters that have the same period. */
function usageTables(usage: readonly UsageByDay[], language: Language): DocumentTable[] {
  const texts = documentTexts[language];
  const together = Map.groupBy(usage, ({ period, unit }) => `${period.start} ${period.end} ${unit}`);
  return [...together.values()].flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / metersOfTable) }, (_, index) => {
      const meters = all.slice(index * metersOfTable, (index + 1) * metersOfTable);
      const [{ period, unit } = { period: { start: 0, end: 0 }, unit: 'day' }] = meters;
      const starts = [...new Set(meters.flatMap(({ groups }) => groups.map(({ start }) => start)))];
      const unitsAt = meters.map(({ groups }) => new Map(groups.map(({ start, units }) => [start, units])));
      const rows = starts
        .sort((one, other) => one - other)
        .map((start) => [
          unit === 'day' ? localDay(start, language) : localMonth(start, language),
          ...unitsAt.map((units) => localCount(units.get(start) ?? 0n, language)),
        ]);
      const totals = meters.map(({ groups }) => groups.reduce((sum, { units }) => sum + units, 0n));
      return {
        heading: fillIn(unit === 'day' ? texts.usageByDay : texts.usageByMonth, {
          range: localRange(period, language),
        }),
        columns: ['', ...meters.map(({ meterName }) => meterName)],
        rows,
        total: [texts.totalUnits, ...totals.map((units) => localCount(units, language))],
      };
    }),
  );
}

/** The description with the name of its subscription, unless it begins with that. */
function withName(description: string, name: string | null = null): string {
  return name === null || description.startsWith(name) ? description : `${name}: ${description}`;
}

/** The sentence that an invoice without tax has to bear where its buyer accounts for the VAT. */
export function reverseChargeOf(invoice: InvoiceToPrint, { reverseCharge }: DocumentTexts): Party[] {
  return noteOf('', !hasTax(invoice) && isReverseCharged(invoice.buyer?.terms) ? reverseCharge : null);
}

/** A text below the totals. */
export function noteOf(heading: string, text: string | null): Party[] {
  return text === null ? [] : [{ heading, lines: [text] }];
}

function headlineOf(
  invoice: InvoiceToPrint,
  texts: DocumentTexts,
  language: Language,
  money: (amount: bigint) => string,
): string {
  const { status, dueDate, total } = invoice;
  const due = amountDue(invoice);
  if (!isAskedFor(status)) return `${money(total)} · ${texts.statuses[status]}`;
  if (dueDate === null || due === 0n) return `${texts.amountDue}: ${money(due)}`;
  return fillIn(texts.dueOn, { amount: money(due), date: localDay(dueDate, language, invoice.buyer?.terms?.timeZone) });
}

/** The seller and the buyer, as the invoice has copied them. */
export function partiesOf({ seller, buyer }: Pick<InvoiceToPrint, 'seller' | 'buyer'>, language: Language) {
  const { from, to, noSeller } = documentTexts[language];
  return {
    seller: { heading: from, lines: seller === null ? [noSeller] : sellerLines(seller, language) },
    buyer: { heading: to, lines: buyerLines(buyer, language) },
  };
}

/** The rows below a line, which add up to its amount, where it is more than a quantity at a price. */
function detailsOf(explanation: LineExplanation, amount: bigint, currency: string, language: Language) {
  return rowsOf(explanation, amount, currency, language).map((row) => ({
    text: row.text,
    amount: localMoney(row.amount, currency, language),
  }));
}

function rowsOf(explanation: LineExplanation, amount: bigint, currency: string, language: Language): PriceRow[] {
  const { line: texts, price } = lineTexts[language];
  const unit = { currency, step: chargedStep(currency) };
  const words = { language, texts: price };
  switch (explanation.kind) {
    case 'priced_usage': {
      const { pricing, units, unitsSoFar, eventsSoFar: events, ownAmountSoFar: ownAmount, billedBefore } = explanation;
      const soFar = { units: unitsSoFar, events, ownAmount };
      const before = unitsSoFar - units;
      const isPart = before > 0n || billedBefore !== 0n;
      const billed = {
        text: fillIn(texts.unitsBilledBefore, { units: localCount(before, language) }),
        amount: -billedBefore,
      };
      const rows = priceRows(priceModelOf(pricing), soFar, unit, words);
      return [...rows, ...(isPart ? [billed] : []), ...takenBack(explanation, texts)];
    }
    case 'measured_usage': {
      const { pricing, units, per, billedBefore } = explanation;
      const before = billedBefore === 0n ? [] : [{ text: texts.billedBefore, amount: -billedBefore }];
      const after = [...before, ...takenBack(explanation, texts)];
      const soFar = amount + billedBefore - (explanation.discountTakenBack ?? 0n);
      if (pricing === null) return billedBefore === 0n ? [] : [{ text: texts.soFar, amount: soFar }, ...after];
      const usage = { units, per, events: 0n, ownAmount: 0n };
      return [...priceRows(priceModelOf(pricing), usage, unit, words), ...after];
    }
    case 'priced_item': {
      const { pricing, quantity, value, period } = explanation;
      const usage = { units: BigInt(quantity), events: 0n, ownAmount: 0n };
      const rows = priceRows(priceModelOf(pricing), usage, unit, words);
      if (period === null || value === amount) return rows;
      return [...rows, { text: fillIn(texts.only, { range: localRange(period, language) }), amount: amount - value }];
    }
    case 'proration':
      return segmentRows(explanation, amount, currency, language);
    default:
      return [];
  }
}

function takenBack({ discountTakenBack = 0n }: PartOfUsage, texts: LineTexts['line']): PriceRow[] {
  return discountTakenBack === 0n ? [] : [{ text: texts.discountTakenBack, amount: discountTakenBack }];
}

/** Each plan of a period with its worth for its time, and the amount that was settled before. */
function segmentRows(
  { segments, fairValue }: Extract<LineExplanation, { kind: 'proration' }>,
  amount: bigint,
  currency: string,
  language: Language,
): PriceRow[] {
  if (!segments.some(({ items }) => items !== undefined)) return [];
  const texts = lineTexts[language].line;
  const step = chargedStep(currency);
  const weights = segments.map(({ start, end, value }) => value * BigInt(end - start));
  const shares = allocate(fairValue / step, weights);
  const rows = segments.map(({ items = [], ...period }, index) => {
    const held = items.map(({ quantity, value }) =>
      fillIn(texts.quantityFor, { quantity: String(quantity), amount: localMoney(value, currency, language) }),
    );
    return {
      text: `${held.join(` ${lineTexts[language].price.and} `)}, ${localRange(period, language)}`,
      amount: (shares[index] ?? 0n) * step,
    };
  });
  return amount === fairValue ? rows : [...rows, { text: texts.billedBefore, amount: amount - fairValue }];
}

function factsOf(invoice: InvoiceToPrint, language: Language) {
  const { invoiceNumber, invoiceDate, dueDate, billingPeriodStartDate, billingPeriodEndDate, purchaseOrderNumber } =
    invoice;
  const { timeZone, customFields = [] } = invoice.buyer?.terms ?? {};
  const texts = documentTexts[language];
  const facts = [{ label: texts.invoiceDate, value: localDay(invoiceDate, language, timeZone) }];
  if (invoiceNumber !== null) facts.unshift({ label: texts.invoiceNumber, value: invoiceNumber });
  if (dueDate !== null) facts.push({ label: texts.dueDate, value: localDay(dueDate, language, timeZone) });
  if (billingPeriodStartDate !== null && billingPeriodEndDate !== null) {
    const period = { start: billingPeriodStartDate, end: billingPeriodEndDate };
    facts.push({ label: texts.billingPeriod, value: localRange(period, language) });
  }
  if (purchaseOrderNumber !== null) facts.push({ label: texts.purchaseOrder, value: purchaseOrderNumber });
  for (const { name: label, value } of customFields) facts.push({ label, value });
  return facts;
}

function sumsOf(
  invoice: InvoiceToPrint,
  lines: readonly InvoiceLine[],
  texts: DocumentTexts,
  language: Language,
): PrintedDocument['sums'] {
  const { total, amountPaid, amountRefunded, offsetAmount, balanceApplied, discountAmount, taxAmount, status } =
    invoice;
  const { discounts = [] } = invoice;
  const row = (label: string, amount: bigint, strong = false) => ({
    ...{ label, strong },
    amount: localMoney(amount, invoice.currency, language),
  });
  const sums = [
    row(
      texts.subtotal,
      lines.reduce((sum, line) => sum + line.amount, 0n),
    ),
  ];
  // A code says which discount it is, where there are several.
  if (discounts.length > 1)
    for (const { code, takenOff } of discounts) sums.push(row(`${texts.discount} ${code}`, -takenOff));
  else if (discountAmount > 0n) sums.push(row(texts.discount, -discountAmount));
  if (hasTax(invoice)) sums.push(row(texts.netAmount, total - taxAmount), row(taxName(invoice, language), taxAmount));
  sums.push(row(texts.total, total, true));
  if (balanceApplied > 0n) sums.push(row(texts.balanceApplied, -balanceApplied));
  if (offsetAmount > 0n) sums.push(row(texts.credited, -offsetAmount));
  if (amountPaid > 0n) sums.push(row(texts.paid, -amountPaid));
  if (amountRefunded > 0n) sums.push(row(texts.refunded, amountRefunded));
  if (isAskedFor(status)) sums.push(row(texts.amountDue, amountDue(invoice), true));
  return sums;
}

function hasTax({ taxAmount, taxType }: InvoiceToPrint): boolean {
  return taxAmount > 0n || (taxType !== null && taxType !== 'none');
}

/** The net amount and the tax of each rate: that of the invoice, and none for lines that bear no tax. */
function taxesOf(
  invoice: InvoiceToPrint,
  lines: readonly InvoiceLine[],
  texts: DocumentTexts,
  language: Language,
): PrintedDocument['taxes'] {
  if (!hasTax(invoice)) return null;
  const { total, taxAmount, currency } = invoice;
  const money = (amount: bigint) => localMoney(amount, currency, language);
  const untaxed = lines
    .filter(({ taxable = true }) => !taxable)
    .reduce((sum, { amount, discountAmount = 0n }) => sum + amount - discountAmount, 0n);
  const without = { ...invoice, taxRatePercentage: '0', taxCountry: null, taxState: null };
  return {
    heading: texts.taxSummary,
    columns: [texts.tax, texts.netAmount, texts.tax],
    rows: [
      [taxName(invoice, language), money(total - taxAmount - untaxed), money(taxAmount)],
      ...(untaxed === 0n ? [] : [[taxName(without, language), money(untaxed), money(0n)]]),
    ],
    total: null,
  };
}

function isAskedFor(status: InvoiceStatus): boolean {
  return status === 'open' || status === 'awaiting_payment_confirmation' || status === 'draft';
}

type TaxToPrint = Pick<InvoiceToPrint, 'taxType' | 'taxRatePercentage' | 'taxCountry' | 'taxState'>;

/** For example `VAT 19% (DE)`; the type `none` is printed as a tax too. */
export function taxName(tax: TaxToPrint, language: Language): string {
  const { taxRatePercentage, taxCountry, taxState } = tax;
  const texts = documentTexts[language];
  const place = [taxCountry, taxState].filter((part) => part !== null).join(' ');
  const rate = taxRatePercentage === null ? '' : ` ${localPercent(taxRatePercentage, language)}`;
  return `${nameOf(tax, texts, language)}${rate}${place === '' ? '' : ` (${place})`}`;
}

function nameOf({ taxType, taxCountry }: TaxToPrint, { tax, vat }: DocumentTexts, language: Language): string {
  if (taxType === null || taxType === 'none') return tax;
  // Readers of Japanese have a word for their own tax alone.
  if (language === 'ja' && (taxType === 'jct' || (taxType === 'vat' && taxCountry === 'JP'))) return '消費税';
  return taxType === 'vat' ? vat : taxType.replaceAll('_', ' ').toUpperCase();
}

function sellerLines(seller: Seller, language: Language): string[] {
  return present([seller.name, ...seller.addressLines, seller.email, taxIdText(seller.taxId, language)]);
}

// The ids of value added tax begin with a country, as in `DE123456789`. Other numbers of taxpayers do not.
const vatIdStart = /^[A-Z]{2}[\dA-Z]/;

function taxIdText(id: string | null | undefined, language: Language): string | null {
  const { taxId, vatId } = documentTexts[language];
  return id === null || id === undefined ? null : fillIn(vatIdStart.test(id) ? vatId : taxId, { id });
}

/** The name of a country, where the address has its code. */
function countryName(country: string | null | undefined, language: Language) {
  return country && /^[A-Z]{2}$/.test(country) ? localCountry(country, language) : country;
}

// A legal form, or a word for an institution, in the languages that are common among buyers in Japan.
const company =
  /会社|法人|組合|協会|財団|連盟|大学|学校|病院|銀行|(?:^|[\s,])(?:inc|corp|co|company|ltd|limited|llc|llp|plc|gmbh|ag|kg|sa|sas|sarl|spa|srl|bv|nv|oy|ab)\.?$/iu;

/** The name of a buyer. On a Japanese document a company has another title than a person. */
export function addressed({ name: ofBuyer, billingAddress, terms }: Buyer, language: Language): string {
  const name = (billingAddress?.name ?? ofBuyer).trim();
  if (language !== 'ja' || name === '' || /(?:様|御中|殿)$/u.test(name)) return name;
  const isCompany = terms?.taxId !== undefined || name !== ofBuyer.trim() || company.test(name);
  return `${name} ${isCompany ? '御中' : '様'}`;
}

function buyerLines(buyer: Buyer | null, language: Language): string[] {
  if (buyer === null) return [];
  const { line1, line2, city, state, postal_code: postalCode, country } = buyer.billingAddress?.address ?? {};
  const name = addressed(buyer, language);
  const place = present([postalCode, city]).join(' ');
  const isJapanese = language === 'ja' && country === 'JP';
  // In Japan an address goes from the large to the small.
  const address = isJapanese
    ? [postalCode && `〒${postalCode}`, present([state, city]).join(''), line1, line2]
    : [line1, line2, place, state];
  const idText = taxIdText(buyer.terms?.taxId, language);
  return present([name, ...address, countryName(country, language), buyer.email, idText]);
}

function present(texts: readonly (string | null | undefined)[]): string[] {
  return texts.flatMap((text) => (text === null || text === undefined || text.trim() === '' ? [] : [text.trim()]));
}
