import assert from 'node:assert/strict';
import { applyBalances, previewApplied, returnToBalance } from '../customers/actions-balances.ts';
import { termsOfBuyer } from '../customers/billing-terms.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { listCustomersById, listExternalIds } from '../customers/store.ts';
import { bookEntries } from '../customers/store-balances.ts';
import { publish } from '../customers/store-events.ts';
import { takeNumbers } from '../customers/store-numbers.ts';
import { newId } from '../database/new-id.ts';
import { instantOf, type Work } from '../database/work.ts';
import { Turns } from '../jobs/turns.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { isConsolidated } from './consolidation.ts';
import {
  type AppliedDiscount,
  amountDue,
  type Buyer,
  decideBalanceApplied,
  decideRefunded,
  type Invoice,
  type InvoiceEventType,
  type InvoiceReason,
  type InvoiceStatus,
  type InvoiceTrigger,
  invoiceEvents,
  nextInvoiceStatus,
  type UpcomingInvoice,
} from './invoice.ts';
import { explainConsolidated, explainInvoice, type InvoiceExplanation } from './invoice-explanation.ts';
import type { DraftLine, InvoiceLineItem, UpcomingInvoiceLineItem } from './invoice-line-item.ts';
import { draftInvoice, type InvoiceDraft, type NewInvoice, type WrittenTerms } from './new-invoice.ts';
import * as store from './store.ts';
import {
  type ExplainedLineRow,
  findInvoice,
  type InvoiceLineItemRow,
  type InvoiceRow,
  listExplainedLines,
} from './store.ts';
import { endNotices } from './store-collecting.ts';
import { releaseItems } from './store-items.ts';
import { insertInvoiceDiscounts, listDiscountsOfInvoices } from './store-redemptions.ts';

// More lines than nearly every invoice has. The invoice itself has all of them.
const maxLinesListed = 100;

/** An invoice with its lines, as returned by the API. */
export interface InvoiceWithLines {
  readonly invoice: Invoice;
  readonly invoiceLineItems: InvoiceLineItem[];
}

/**
 * Creates invoices in the order of the requests; they are numbered in that order. A total of 0 is paid
 * from the start, otherwise the invoice is open; one that is to be reviewed is a draft. A billing period has one invoice per reason, except adjustments: a
 * second one violates the constraint behind `periodAlreadyInvoiced`. The number of statements does not depend on the
 * number of invoices.
 */
export async function createInvoices(work: Work, requests: readonly NewInvoice[]): Promise<InvoiceRow[]> {
  if (requests.length === 0) return [];
  const drafts = requests.map(draftInvoice);
  const { invoices, entries } = await payFromBalances(work, await newRows(work, drafts));
  await store.insertInvoices(work, invoices);
  const discounted = invoices.map((invoice, index) => ({ invoice, discounts: drafts[index]?.discounts ?? [] }));
  await insertInvoiceDiscounts(work, discounted);
  await bookEntries(work, entries);
  const lines = drafts.flatMap((draft, index) => {
    const invoice = invoices[index];
    assert(invoice, 'each draft has its invoice');
    return draft.lines.map((line) => newLine(work, invoice, line));
  });
  await store.insertLines(work, lines);
  await publishInvoiceChanges(
    work,
    invoices.map((invoice) => ({ before: null, invoice, cause: onceInItsLife })),
  );
  return invoices;
}

// Invoices that nobody has asked for. A purchase, a start and a change are paid first, at the amount that was shown.
const paidFromBalance: ReadonlySet<InvoiceReason> = new Set([
  'renewal',
  'usage',
  'usage_threshold',
  'final_usage',
  'one_off',
]);

/** The rows of new invoices. One that is reviewed first is a draft, with the buyer of now. */
async function newRows(work: Work, drafts: readonly InvoiceDraft[]): Promise<InvoiceRow[]> {
  const waiting = drafts.filter(isReviewed);
  const numbered = (
    await numberDrafts(
      work,
      drafts.filter((draft) => !isReviewed(draft)),
    )
  ).values();
  const ids = [...new Set(waiting.map(({ request }) => request.customerId))];
  const customers = ids.length === 0 ? [] : await listCustomersById(work, ids);
  const buyers = new Map(customers.map((customer) => [customer.id, buyerOf(customer)]));
  return drafts.map((draft): InvoiceRow => {
    if (!isReviewed(draft)) {
      const invoice = numbered.next().value;
      assert(invoice, 'each invoice has its number');
      return invoice;
    }
    const stamps = stampsOf(work, draft.request);
    const buyer = buyers.get(draft.request.customerId) ?? null;
    return {
      id: newId('invoice', draft.request.customerId),
      ...stamps,
      ...rowOf(draft),
      invoiceNumber: null,
      buyer,
      status: 'draft',
    };
  });
}

function isReviewed({ request: { finalizesAt = null } }: InvoiceDraft): boolean {
  return finalizesAt !== null;
}

/** The new invoices, each less what the balance of its customer pays, oldest first. */
export async function payFromBalances(work: Work, invoices: readonly InvoiceRow[]) {
  const payable = invoices.filter(({ reason, status }) => status !== 'draft' && paidFromBalance.has(reason));
  const { applied, entries } = await applyBalances(
    work,
    payable.map((invoice) => ({ ...invoice, due: amountDue(invoice) })),
  );
  const paid = invoices.map((invoice) => {
    const amount = applied.get(invoice.id);
    return amount === undefined ? invoice : { ...invoice, ...decideBalanceApplied(invoice, amount) };
  });
  return { invoices: paid, entries };
}

/** Gives the drafts their ids and the next numbers of their series. */
async function numberDrafts(work: Work, drafts: readonly InvoiceDraft[]): Promise<InvoiceRow[]> {
  const numbers = await numberInvoices(
    work,
    drafts.map(({ request }) => request),
  );
  return drafts.map((draft, index) => {
    const numbered = numbers[index];
    assert(numbered, 'a number was taken for each invoice');
    return withBuyer(
      { id: newId('invoice', draft.request.customerId), ...stampsOf(work, draft.request), ...rowOf(draft) },
      numbered,
    );
  });
}

/** The next numbers of their series for these invoices, in order, with the buyers of now. */
export async function numberInvoices(
  work: Work,
  invoices: readonly Pick<NewInvoice, 'customerId' | 'invoiceDate'>[],
): Promise<NumberedBuyer[]> {
  const numbers = await takeNumbers(
    work,
    'invoice',
    invoices.map(({ customerId, invoiceDate: date }) => ({ customerId, date })),
  );
  return numbers.map(({ number: invoiceNumber, buyer }) => ({ invoiceNumber, buyer }));
}

/** A number of an invoice, and its buyer with the terms of now. */
interface NumberedBuyer {
  readonly invoiceNumber: string;
  readonly buyer: BuyerDetails;
}

type BuyerDetails = Pick<CustomerRow, 'name' | 'email' | 'billingAddress' | 'billingTerms'>;

/** The buyer as its invoice keeps it. */
export function buyerOf({ name, email, billingAddress, billingTerms }: BuyerDetails): Buyer {
  const terms = termsOfBuyer(billingTerms);
  return { name, email, billingAddress, ...(terms === null ? {} : { terms }) };
}

/** The invoice with its number and its buyer, whose memo and purchase order it bears unless it has its own. */
export function withBuyer(
  row: Omit<InvoiceRow, 'invoiceNumber' | 'buyer'>,
  { invoiceNumber, buyer }: NumberedBuyer,
): InvoiceRow {
  const { memo, purchaseOrderNumber } = buyer.billingTerms ?? {};
  return {
    ...row,
    ...{ invoiceNumber, buyer: buyerOf(buyer) },
    memo: row.memo ?? memo ?? null,
    purchaseOrderNumber: row.purchaseOrderNumber ?? purchaseOrderNumber ?? null,
  };
}

/** The columns of an invoice that are known before it has an id and a number. */
export function rowOf(
  draft: InvoiceDraft,
): Omit<InvoiceRow, 'id' | 'createdAt' | 'updatedAt' | 'invoiceNumber' | 'buyer'> {
  const { request, discounts, lines: _, ...money } = draft;
  const { memo, footer, purchaseOrderNumber, metadata, netTermsDays, autoCollect } = request.written ?? unwritten;
  const {
    pricingModelId,
    customerId,
    subscriptionId,
    purchaseId = null,
    billingPeriod,
    reason,
    currency,
    tax,
  } = request;
  return {
    ...money,
    pricingModelId,
    customerId,
    subscriptionId,
    purchaseId,
    billingPeriodId: billingPeriod?.id ?? null,
    billingPeriodStartDate: billingPeriod?.startAt ?? null,
    billingPeriodEndDate: billingPeriod?.endAt ?? null,
    type: typeOf(request),
    reason,
    invoiceDate: request.invoiceDate,
    dueDate: request.dueDate,
    currency,
    discountCount: discounts.length,
    taxType: tax?.type ?? null,
    taxCountry: tax?.country ?? null,
    taxState: tax?.state ?? null,
    taxRatePercentage: tax?.percentage ?? null,
    taxInclusive: tax?.inclusive ?? false,
    seller: request.seller,
    attemptCount: 0,
    nextAttemptAt: null,
    ...{ memo, footer, purchaseOrderNumber, metadata, netTermsDays, autoCollect },
    sentAt: null,
    finalizesAt: request.finalizesAt ?? null,
    consolidatedInto: null,
  };
}

const unwritten: WrittenTerms = {
  memo: null,
  footer: null,
  purchaseOrderNumber: null,
  metadata: null,
  netTermsDays: null,
  autoCollect: false,
};

function typeOf({ subscriptionId, purchaseId }: NewInvoice): Invoice['type'] {
  if (subscriptionId !== null) return 'subscription';
  return purchaseId ? 'purchase' : 'standalone';
}

function newLine(work: Work, invoice: InvoiceRow, line: DraftLine): ExplainedLineRow {
  const { id: invoiceId, pricingModelId } = invoice;
  const id = newId('invoiceLineItem', invoiceId);
  return { id, ...stampsOf(work, invoice), pricingModelId, invoiceId, creditedAmount: 0n, ...line };
}

function stampsOf(work: Work, { customerId }: Pick<InvoiceRow, 'customerId'>) {
  return { createdAt: instantOf(work, customerId), updatedAt: instantOf(work, customerId) };
}

/**
 * Applies an event that moves no money. Refuses with `invoiceStatusForbids` an event that is impossible in the current
 * status.
 */
async function moveInvoice(work: Work, id: string, trigger: InvoiceTrigger): Promise<InvoiceRow> {
  const invoice = await lock(work, id);
  const status = nextInvoiceStatus(invoice.status, trigger);
  if (status === null) throw new Problem('invoiceStatusForbids', { id, status: invoice.status, trigger });
  // An invoice that is no longer owed is not retried, and a void draft is not finalized.
  return store.updateInvoice(work, id, { status, nextAttemptAt: null, finalizesAt: null });
}

async function lock(work: Work, id: string): Promise<InvoiceRow> {
  const invoice = await store.lockInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  return invoice;
}

/**
 * Voids an invoice, and gives back its invoice items and what the customer's balance paid of it. Refuses one with a payment
 * in flight, and one in a final status. The caller publishes it once all of it has changed.
 */
export async function voidInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const voided = await moveInvoice(work, id, 'voided');
  for (const each of await store.withParts(work, [voided])) await releaseItems(work, each.id);
  if (voided.balanceApplied === 0n) return voided;
  await returnToBalance(work, voided, voided.balanceApplied);
  return store.updateInvoice(work, id, { balanceApplied: 0n });
}

/** Writes off an open invoice as uncollectible. */
export async function giveUpInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const writtenOff = await moveInvoice(work, id, 'given_up');
  await publishInvoiceChanges(work, [{ before: 'open', invoice: writtenOff, cause: onceInItsLife }]);
  return writtenOff;
}

/** Records a refund of `refunded` minor units of the amount paid. */
export async function recordInvoiceRefund(work: Work, id: string, refunded: bigint): Promise<InvoiceRow> {
  return store.updateInvoice(work, id, decideRefunded(await lock(work, id), refunded));
}

/** The invoices that have the lines of an invoice: itself, or the parts of a consolidated one. */
function idsOfLines(invoice: InvoiceRow, parts: readonly InvoiceRow[]): string[] {
  return (isConsolidated(invoice) ? parts : [invoice]).map(({ id }) => id);
}

/** An invoice with its lines. */
export async function getInvoice(work: Work, id: string): Promise<InvoiceWithLines> {
  const invoice = await store.findInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  const parts = await store.listParts(work, [invoice]);
  const lines = await store.listLinesOfInvoices(work, idsOfLines(invoice, parts));
  return {
    invoice: renderInvoice(work, invoice),
    invoiceLineItems: placeLines(lines, [...parts, invoice]).map((line) => renderLine(work, line)),
  };
}

export async function listInvoices(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfInvoices(work, request);
  const invoices = rows.map((row) => renderInvoice(work, row));
  return page(request, invoices, total);
}

/** The customer's newest invoices, at most `limit`, newest first, each with its first lines. */
export async function listInvoicesOfCustomer(work: Work, customerId: string, limit: number) {
  const invoices = await store.listInvoicesOfCustomer(work, customerId, limit);
  const ids = invoices.map((invoice) => invoice.id);
  const parts = await store.listParts(work, invoices);
  const partIds = parts.map((part) => part.id);
  const found = await store.listFirstLines(work, [...ids, ...partIds], maxLinesListed + 1);
  const linesByInvoice = Map.groupBy(placeLines(found, parts), (line) => line.invoiceId);
  return invoices.map((invoice) => {
    const lines = linesByInvoice.get(invoice.id) ?? [];
    return {
      invoice: renderInvoice(work, invoice),
      invoiceLineItems: lines.slice(0, maxLinesListed).map((line) => renderLine(work, line)),
      hasMore: lines.length > maxLinesListed,
    };
  });
}

export async function getInvoiceLineItem(work: Work, id: string): Promise<InvoiceLineItem> {
  const line = await store.findLine(work, id);
  if (line === null) throw new Problem('invoiceLineItemNotFound', { id });
  const [placed = line] = placeLines([line], await store.listPartsById(work, [line.invoiceId]));
  return renderLine(work, placed);
}

export async function listInvoiceLineItems(work: Work, request: PageRequest) {
  const { rows, total } = await pageOfLines(work, request);
  const lines = rows.map((row) => renderLine(work, row));
  return page(request, lines, total);
}

/** An invoice as returned by the API. */
export function renderInvoice(work: Work, row: InvoiceRow): Invoice {
  const { reason: _, type, subscriptionId, purchaseId, seller: _seller, buyer: _buyer, ...known } = row;
  const { discountCount: _discounts, taxInclusive: _inclusive, attemptCount: _count, ...counted } = known;
  const { nextAttemptAt, creditedAmount, offsetAmount, balanceApplied, balanceCredited, ...collected } = counted;
  const { footer, purchaseOrderNumber, metadata, netTermsDays, autoCollect, sentAt, finalizesAt, ...dated } = collected;
  const { consolidatedInto, ...kept } = dated;
  const address = `${work.publicUrl.replace(/\/+$/, '')}/api/v1/invoices/${row.id}`;
  const everyInvoice = {
    ...kept,
    ...(creditedAmount === 0n ? {} : { creditedAmount }),
    ...(offsetAmount === 0n ? {} : { offsetAmount }),
    ...(balanceApplied === 0n ? {} : { balanceApplied }),
    ...(balanceCredited === 0n ? {} : { balanceCredited }),
    ...(footer === null ? {} : { footer }),
    ...(purchaseOrderNumber === null ? {} : { purchaseOrderNumber }),
    ...(metadata === null ? {} : { metadata }),
    ...(sentAt === null ? {} : { sentAt }),
    ...(finalizesAt === null ? {} : { finalizesAt }),
    ...(consolidatedInto === null ? {} : { consolidatedInvoiceId: consolidatedInto }),
    ...(nextAttemptAt === null ? {} : { nextAttemptAt }),
    livemode: work.livemode,
    organizationId: work.organizationId,
    applicationFee: null,
    billingRunId: null,
    ownerMembershipId: null,
    pdfURL: `${address}/pdf`,
    // The payment of a consolidated invoice is that of the whole.
    receiptPdfURL: row.amountPaid > 0n && consolidatedInto === null ? `${address}/receipt/pdf` : null,
    bankPaymentOnly: null,
  };
  if (subscriptionId !== null) return { ...everyInvoice, type: 'subscription', subscriptionId, purchaseId: null };
  const noPeriod = {
    subscriptionId: null,
    billingPeriodId: null,
    billingPeriodStartDate: null,
    billingPeriodEndDate: null,
  };
  if (purchaseId !== null) return { ...everyInvoice, ...noPeriod, type: 'purchase', purchaseId };
  assert(type === 'standalone', 'an invoice of nothing else stands alone');
  return {
    ...everyInvoice,
    ...noPeriod,
    ...(netTermsDays === null ? {} : { netTermsDays }),
    ...(autoCollect ? { autoCollect } : {}),
    type,
    purchaseId: null,
    stripePaymentIntentId: null,
    stripeTaxCalculationId: null,
    stripeTaxTransactionId: null,
  };
}

/** The cause of events of which an invoice has one in its life. */
export const onceInItsLife = '';

/** An event of an invoice, as the API returns it now. */
interface InvoiceEvent {
  readonly type: InvoiceEventType;
  readonly invoice: InvoiceRow;
  /** Absent: the event may occur again for the same reason. */
  readonly cause?: string;
}

/** A change of an invoice whose status was `before`; null: a new one. */
interface InvoiceChange {
  readonly before: InvoiceStatus | null;
  readonly invoice: InvoiceRow;
  /** The payment or credit note that pays it; `onceInItsLife` for every other change. */
  readonly cause: string;
}

/** Publishes the events of these changes of invoices, in order. */
export function publishInvoiceChanges(work: Work, changes: readonly InvoiceChange[]): Promise<void> {
  return publishInvoices(
    work,
    changes.flatMap(({ before, invoice, cause }) =>
      invoiceEvents(before, invoice.status).map((type) => ({
        type,
        invoice,
        cause: type === 'invoice.paid' ? cause : onceInItsLife,
      })),
    ),
  );
}

/** Publishes that these invoices are overdue, once. The caller has locked them and knows that they are open. */
export async function publishOverdue(work: Work, ids: readonly string[]): Promise<void> {
  const invoices = await endNotices(work, ids);
  await publishInvoices(
    work,
    invoices.map((invoice) => ({ type: 'invoice.overdue', invoice, cause: onceInItsLife })),
  );
}

/** Publishes events of invoices, in order. */
export async function publishInvoices(work: Work, events: readonly InvoiceEvent[]): Promise<void> {
  if (events.length === 0) return;
  const externalIds = await listExternalIds(work, [...new Set(events.map(({ invoice }) => invoice.customerId))]);
  await publish(
    work,
    events.map(({ invoice, ...event }) => {
      const { id, pricingModelId, customerId } = invoice;
      const externalId = externalIds.get(customerId);
      assert(externalId !== undefined, 'an invoice has its customer');
      const customer = { id: customerId, externalId };
      const data = renderInvoice(work, invoice);
      return { ...event, object: 'invoice', objectId: id, pricingModelId, customer, data };
    }),
  );
}

type Part = Pick<InvoiceRow, 'id' | 'consolidatedInto' | 'subscriptionId'>;

/** A line, with its subscription where the invoice is of several. */
type PlacedLine<Line extends InvoiceLineItemRow = InvoiceLineItemRow> = Line & { readonly subscriptionId?: string };

/** The lines, those of these parts on their consolidated invoice. */
function placeLines<Line extends InvoiceLineItemRow>(lines: readonly Line[], parts: readonly Part[]) {
  const byId = new Map(parts.map((part) => [part.id, part]));
  return lines.map((line): PlacedLine<Line> => {
    const { consolidatedInto: invoiceId = null, subscriptionId = null } = byId.get(line.invoiceId) ?? {};
    return invoiceId === null || subscriptionId === null ? line : { ...line, invoiceId, subscriptionId };
  });
}

/** A page of lines, each on the invoice that is numbered. */
export async function pageOfLines(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfLines(work, request);
  const ids = [...new Set(rows.map(({ invoiceId }) => invoiceId))];
  return { rows: placeLines(rows, await store.listPartsById(work, ids)), total };
}

/** A line as returned by the API. */
function renderLine(work: Work, row: PlacedLine): InvoiceLineItem {
  const { type, subscriptionItemId: _, ledgerAccountId, ledgerAccountCredit, ...shared } = row;
  const { discountAmount: _discount, taxAmount: _tax, creditedAmount, ...timed } = shared;
  const { taxable, serviceStartAt, serviceEndAt, ...kept } = timed;
  const isFor = serviceStartAt === null || serviceEndAt === null ? null : { start: serviceStartAt, end: serviceEndAt };
  const everyLine = {
    ...kept,
    ...(creditedAmount === 0n ? {} : { creditedAmount }),
    ...(taxable ? {} : { taxable }),
    ...(isFor === null ? {} : { servicePeriod: isFor }),
    livemode: work.livemode,
  };
  if (type === 'static') return { ...everyLine, type, ledgerAccountId: null, ledgerAccountCredit: null };
  assert(ledgerAccountId !== null && ledgerAccountCredit !== null, 'a usage line names its account and its units');
  return { ...everyLine, type, ledgerAccountId, ledgerAccountCredit, billingRunId: row.invoiceId };
}

/** A draft invoice of a subscription with its lines, in the form of an invoice. */
export interface UpcomingInvoiceWithLines {
  readonly invoice: UpcomingInvoice;
  readonly invoiceLineItems: UpcomingInvoiceLineItem[];
}

// Placeholders that are not shown: fields without a value yet are null in the response.
const unnamed = { id: '', invoiceNumber: '', buyer: null };

/** A draft as returned by the API, with what the balance of the customer would pay of it. */
export async function renderDraft(work: Work, draft: InvoiceDraft): Promise<UpcomingInvoiceWithLines> {
  const row = { ...rowOf(draft), ...unnamed, createdAt: work.now, updatedAt: work.now };
  const applied = await previewApplied(work, { ...row, due: amountDue(row) });
  const invoice = renderInvoice(work, { ...row, ...decideBalanceApplied(row, applied) });
  assert(invoice.type === 'subscription', 'only subscriptions have an upcoming invoice');
  return {
    invoice: { ...invoice, id: null, invoiceNumber: null, status: 'draft', billingPeriodId: null, pdfURL: null },
    invoiceLineItems: draft.lines.map((line) => renderDraftLine(work, draft, line)),
  };
}

function renderDraftLine(work: Work, { request }: InvoiceDraft, line: DraftLine): UpcomingInvoiceLineItem {
  const { explanation: _, ...kept } = line;
  const stamps = { createdAt: work.now, updatedAt: work.now, pricingModelId: request.pricingModelId };
  const shown = renderLine(work, { ...kept, ...stamps, id: '', invoiceId: '', creditedAmount: 0n });
  if (shown.type === 'static') return { ...shown, id: null, invoiceId: null };
  return { ...shown, id: null, invoiceId: null, billingRunId: null };
}

/** Explains every amount of the invoice. Refuses with `invoiceNotFound`. */
export async function getExplanation(work: Work, id: string): Promise<InvoiceExplanation> {
  const invoice = await findInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  if (isConsolidated(invoice))
    return explainConsolidated(invoice, await explain(work, await store.listParts(work, [invoice])));
  const [explained] = await explain(work, [invoice]);
  assert(explained !== undefined, 'each invoice is explained');
  return explained;
}

/** Explains invoices that have lines of their own, in order. */
async function explain(work: Work, invoices: readonly InvoiceRow[]): Promise<InvoiceExplanation[]> {
  const ids = invoices.map(({ id }) => id);
  const lines = Map.groupBy(await listExplainedLines(work, ids), ({ invoiceId }) => invoiceId);
  const discounts = await listDiscountsOfInvoices(work, withDiscounts(invoices));
  const explained: InvoiceExplanation[] = [];
  for (const invoice of invoices) {
    const { id } = invoice;
    explained.push(await new Turns().run(explainInvoice(invoice, lines.get(id) ?? [], discounts.get(id) ?? [])));
  }
  return explained;
}

function withDiscounts(invoices: readonly InvoiceRow[]): string[] {
  return invoices.flatMap(({ id, discountCount }) => (discountCount === 0 ? [] : id));
}

/** The discounts on an invoice, in order. */
export async function discountsOn(work: Work, invoice: InvoiceRow): Promise<readonly AppliedDiscount[]> {
  const parts = await store.withParts(work, [invoice]);
  const ids = withDiscounts(parts);
  const discounts = await listDiscountsOfInvoices(work, ids);
  return ids.flatMap((id) => discounts.get(id) ?? []);
}
