import { z } from 'zod';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { amountInput, countInput, freeText, MetadataInput, SafeString, TimestampInput } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { Settings } from '../organizations/setting.ts';
import type { Price } from '../pricing/price.ts';
import { maxUnitPrice, type Priced } from '../pricing/pricing.ts';
import { maxQuantity } from '../pricing/product.ts';
import { InvoiceId, type InvoiceStatus } from './invoice.ts';
import { isItem, itemLine, type NewLine } from './invoice-line-item.ts';
import type { WrittenTerms } from './new-invoice.ts';

// A request is read and priced in one transaction. A longer invoice is written in several.
const maxLinesAtOnce = 250;
/** The most lines of an invoice that somebody writes. */
export const maxWrittenLines = 1_000;
const maxNetTermsDays = 365;

const Reference = z.string().min(1).max(255);

/** A line that somebody writes on an invoice. */
export const WrittenLine = z
  .object({
    description: freeText('description').trim().min(1).nullish().meta({
      description: 'The text of the line. By default the name of the price; required with `unitAmount`.',
    }),
    quantity: countInput(1, maxQuantity).optional().meta({ description: '1 by default.' }),
    unitAmount: amountInput(0, maxUnitPrice).optional().meta({
      description: 'The amount of one, in the smallest unit of the currency.',
    }),
    priceId: Reference.optional(),
    priceSlug: Reference.optional().meta({
      description: "The slug of an active price of the customer's pricing model. A price of usage bills no line.",
    }),
    taxable: z.boolean().optional().meta({ description: 'If false, the line bears no tax. True by default.' }),
    servicePeriod: z
      .object({ start: TimestampInput, end: TimestampInput })
      .refine(({ start, end }) => start < end, { path: ['end'], message: 'must be after start' })
      .nullish()
      .meta({ description: 'The time that the line is for.' }),
  })
  .refine(
    (line) => [line.unitAmount, line.priceId, line.priceSlug].filter((given) => given !== undefined).length === 1,
    {
      path: ['unitAmount'],
      message: 'send exactly one of unitAmount, priceId and priceSlug',
    },
  )
  .refine(({ unitAmount, description }) => unitAmount === undefined || (description ?? null) !== null, {
    path: ['description'],
    message: 'is required with unitAmount',
  })
  .meta({ id: 'WrittenLine' });
export type WrittenLine = z.output<typeof WrittenLine>;

export const WrittenLines = z.array(WrittenLine).max(maxLinesAtOnce);

const terms = {
  dueDate: TimestampInput.nullish().meta({ description: 'The date on which it is due. Not with `netTermsDays`.' }),
  netTermsDays: countInput(0, maxNetTermsDays).nullish().meta({
    description: 'The days from its finalization to its due date. Without both, those of the settings.',
  }),
  memo: freeText('description').nullish(),
  footer: freeText('description').nullish(),
  purchaseOrderNumber: SafeString.nullish(),
  metadata: MetadataInput,
  autoCollect: z
    .boolean()
    .optional()
    .meta({
      description:
        "If true, finalization charges the customer's default payment method, where there is one. It is then due at once, " +
        'unless other terms are given. False by default.',
    }),
  discountCode: z.string().min(1).max(255).nullish().meta({ description: 'The code of an active discount.' }),
};

function hasOneDueDate(given: { readonly dueDate?: unknown; readonly netTermsDays?: unknown }): boolean {
  return (given.dueDate ?? null) === null || (given.netTermsDays ?? null) === null;
}
const twoDueDates = { path: ['dueDate'], message: 'send dueDate or netTermsDays, not both' };

/** A request for a one-off invoice. */
export const OneOffInvoice = z
  .object({
    customerId: Reference.optional(),
    customerExternalId: Reference.optional(),
    lines: WrittenLines.optional(),
    ...terms,
  })
  .refine((given) => (given.customerId === undefined) !== (given.customerExternalId === undefined), {
    path: ['customerId'],
    message: 'send exactly one of customerId and customerExternalId',
  })
  .refine(hasOneDueDate, twoDueDates);
export type OneOffInvoice = z.output<typeof OneOffInvoice>;

/** A change of a draft. Absent fields keep their value, null removes one, and lines replace all lines. */
export const DraftChange = z
  .object({ id: InvoiceId.optional(), lines: WrittenLines.optional(), ...terms })
  .refine(hasOneDueDate, twoDueDates);
export type DraftChange = z.output<typeof DraftChange>;

/** The terms of a draft, and its due date where one is given. */
export interface DraftTerms extends WrittenTerms {
  readonly dueDate: Instant | null;
}

const noTerms: DraftTerms = {
  dueDate: null,
  netTermsDays: null,
  memo: null,
  footer: null,
  purchaseOrderNumber: null,
  metadata: null,
  autoCollect: false,
};

/** The terms of a new draft. Refuses with `invalidRequest` a due date in the past. */
export function decideTerms(given: Omit<DraftChange, 'id' | 'lines' | 'discountCode'>, now: Instant): DraftTerms {
  return changeTerms(noTerms, given, now);
}

/** The terms of a draft after a change. A due date takes the place of net terms, and the other way round. */
export function changeTerms(
  before: DraftTerms,
  given: Omit<DraftChange, 'id' | 'lines' | 'discountCode'>,
  now: Instant,
): DraftTerms {
  if (given.dueDate !== null && given.dueDate !== undefined && given.dueDate < now)
    throw invalid(['invoice', 'dueDate'], `must not be in the past: it is now ${now}`);
  const after = <Key extends keyof DraftTerms>(key: Key) =>
    given[key] === undefined ? before[key] : (given[key] as DraftTerms[Key]);
  const [dueDate, netTermsDays] = [after('dueDate'), after('netTermsDays')];
  const isDated = given.dueDate !== null && given.dueDate !== undefined;
  return {
    dueDate: given.netTermsDays === null || given.netTermsDays === undefined ? dueDate : null,
    netTermsDays: isDated ? null : netTermsDays,
    memo: after('memo'),
    footer: after('footer'),
    purchaseOrderNumber: after('purchaseOrderNumber'),
    metadata: after('metadata'),
    autoCollect: given.autoCollect ?? before.autoCollect,
  };
}

/**
 * The due date of a draft that is finalized now: the one that was given unless that has passed, else after its terms.
 * One that is charged has no terms of the settings.
 */
export function dueDateAt(
  { dueDate, netTermsDays, autoCollect }: Pick<DraftTerms, 'dueDate' | 'netTermsDays' | 'autoCollect'>,
  settings: Pick<Settings, 'netTermsDays'>,
  now: Instant,
): Instant {
  if (dueDate !== null) return Math.max(dueDate, now);
  return addDays(now, netTermsDays ?? (autoCollect ? 0 : settings.netTermsDays));
}

/** The line of an invoice, at an amount of its own or at a price of one whole interval. */
export function writtenLine(
  { description = null, quantity = 1, unitAmount, taxable = true, servicePeriod: service = null }: WrittenLine,
  price: (Priced & { readonly id: string; readonly name: string | null }) | null,
  step: bigint,
): NewLine {
  const priced: Priced = price ?? { unitPrice: unitAmount ?? 0n, pricing: null };
  const item = { ...priced, id: null, priceId: price?.id ?? null, name: description ?? price?.name ?? null, quantity };
  const line = itemLine(item, service, service, step);
  const { explanation } = line;
  if (line.type !== 'static' || !isItem(explanation)) return line;
  return { ...line, explanation: { ...explanation, written: true }, taxable, service };
}

/** Refuses amounts that card networks could not charge. */
export function refuseFineLines(lines: readonly WrittenLine[], currency: string): void {
  lines.forEach(({ unitAmount = 0n }, index) => {
    refuseFineAmount(['lines', String(index), 'unitAmount'], unitAmount, currency);
  });
}

/** Refuses a price that bills no line of an invoice. */
export function refuseUnwritable(price: Price | undefined, reference: string): asserts price is Price {
  if (price === undefined) throw new Problem('priceNotFound', { id: reference });
  if (!price.active) throw new Problem('priceInactive', { id: price.id });
  if (price.type === 'usage')
    throw invalid(['invoice', 'lines'], `must not name a price of usage, as ${reference} is: send its amount instead`);
}

/** Whether an invoice is that of a billing period of a subscription. */
export function isOfPeriod({ subscriptionId }: { readonly subscriptionId: string | null }): boolean {
  return subscriptionId !== null;
}

/** Refuses with `draftOfPeriod` changes that its subscription decides. */
export function refuseForPeriod(id: string, given: Readonly<Record<string, unknown>>): void {
  const field = Object.keys(given).find((key) => given[key] !== undefined);
  if (field !== undefined) throw new Problem('draftOfPeriod', { id, reason: `its subscription decides ${field}` });
}

/** Whether a change is of the metadata alone, which may change after the finalization too. */
export function isOfMetadata({ metadata, ...others }: Omit<DraftChange, 'id'>): boolean {
  return metadata !== undefined && Object.values(others).every((given) => given === undefined);
}

/** Refuses with `invoiceStatusForbids` whatever is for drafts only. */
export function requireDraft(
  { id, status }: { readonly id: string; readonly status: InvoiceStatus },
  trigger: 'changed' | 'deleted',
): void {
  if (status !== 'draft') throw new Problem('invoiceStatusForbids', { id, status, trigger });
}
