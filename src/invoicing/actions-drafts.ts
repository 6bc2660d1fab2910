import { lockNamedCustomer } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { invoiceUrl } from '../customers/portal-link.ts';
import { findCustomer, listOwnTerms, lockCustomer, termsOf } from '../customers/store.ts';
import { bookEntries } from '../customers/store-balances.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import type { Metadata } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { normalizeCode } from '../pricing/discount.ts';
import { listActivePricesBySlug, listPlanNames, listPricesByIds } from '../pricing/store-prices.ts';
import {
  buyerOf,
  getInvoice,
  type InvoiceWithLines,
  numberInvoices,
  onceInItsLife,
  payFromBalances,
  publishInvoiceChanges,
  publishInvoices,
  renderInvoice,
  rowOf,
  withBuyer,
} from './actions.ts';
import { findGivenDiscount, redeem } from './actions-discounts.ts';
import { quoteTaxes } from './actions-tax.ts';
import { consolidate, isConsolidated, partOf, refusePart } from './consolidation.ts';
import { fitPaybacks, fitRequest, type LeftUsage, trueUpAfter } from './fitting-lines.ts';
import type { AppliedDiscount, Invoice, InvoiceDiscount } from './invoice.ts';
import { isWritten, itemOf, type NewLine, priceLine, unpricedLine } from './invoice-line-item.ts';
import { draftInvoice, type NewInvoice } from './new-invoice.ts';
import {
  changeTerms,
  type DraftChange,
  type DraftTerms,
  decideTerms,
  dueDateAt,
  isOfMetadata,
  isOfPeriod,
  maxWrittenLines,
  type OneOffInvoice,
  refuseFineLines,
  refuseForPeriod,
  refuseUnwritable,
  requireDraft,
  type WrittenLine,
  writtenLine,
} from './one-off.ts';
import {
  type ExplainedLineRow,
  findInvoice,
  type InvoiceRow,
  insertInvoices,
  insertLines,
  listExplainedLines,
  lockInvoice,
  saveMetadata,
  updateInvoice,
} from './store.ts';
import { deleteDraft, saveDraftLines, saveDrafts } from './store-drafts.ts';
import { releaseItems } from './store-items.ts';
import {
  deleteRedemptions,
  insertInvoiceDiscounts,
  listDiscountsOfInvoices,
  saveInvoiceDiscounts,
} from './store-redemptions.ts';

/** A line of a draft: stored with its id and the time at which it was written, or new. */
interface DraftedLine {
  readonly stored: Pick<ExplainedLineRow, 'id' | 'createdAt'> | null;
  readonly line: NewLine;
}

/** Writes a one-off invoice as a draft. It has no number yet, and its amounts are those of now. */
export async function createDraft(
  work: Work,
  { customerId, customerExternalId, lines = [], discountCode, ...given }: OneOffInvoice,
  pricingModelId: string | undefined,
): Promise<InvoiceWithLines> {
  const customer = await lockNamedCustomer(work, { customerId, customerExternalId }, pricingModelId);
  const terms = decideTerms(given, work.now);
  const written = await writeLines(work, customer, lines);
  const discounts = listOf(await redeemCode(work, customer, { discountCode, lines: written }));
  const id = newId('invoice', customer.id);
  const known = { id, createdAt: work.now, customer, terms, discounts };
  const composed = await composeDraft(work, known, written.map(unstored));
  const { row, rows } = composed;
  await insertInvoices(work, [row]);
  await insertInvoiceDiscounts(work, [{ invoice: row, discounts: composed.discounts }]);
  await insertLines(work, rows);
  await publishInvoiceChanges(work, [{ before: null, invoice: row, cause: onceInItsLife }]);
  return getInvoice(work, id);
}

function unstored(line: NewLine): DraftedLine {
  return { stored: null, line };
}

async function redeemCode(
  work: Work,
  customer: CustomerRow,
  { discountCode, lines }: { readonly discountCode?: string | null | undefined; readonly lines: readonly NewLine[] },
) {
  const discount = await findGivenDiscount(work, customer, { discountCode });
  if (discount === null) return null;
  const prices = await listPricesByIds(
    work,
    lines.flatMap(({ priceId }) => priceId ?? []),
  );
  const ordered = lines.map((line) => ({
    productId: prices.find(({ id }) => id === line.priceId)?.productId ?? null,
    amount: priceLine(line).amount,
  }));
  return redeem(work, { discount, customerId: customer.id, ordered }, { invoice: 'own' });
}

/** The lines that somebody writes, each at its own amount or at that of its price. */
export async function writeLines(
  work: Work,
  { pricingModelId }: Pick<CustomerRow, 'pricingModelId'>,
  lines: readonly WrittenLine[],
): Promise<NewLine[]> {
  refuseFineLines(lines, work.currency);
  const slugs = lines.flatMap(({ priceSlug }) => priceSlug ?? []);
  const ids = lines.flatMap(({ priceId }) => priceId ?? []);
  const named = new Map(
    (await listActivePricesBySlug(work, pricingModelId, slugs)).map((price) => [price.slug, price]),
  );
  const known = new Map(
    (await listPricesByIds(work, ids)).flatMap((price) =>
      price.pricingModelId === pricingModelId ? [[price.id, price]] : [],
    ),
  );
  const prices = [...named.values(), ...known.values()];
  const names = await listPlanNames(
    work,
    prices.map(({ id }) => id),
  );
  const step = chargedStep(work.currency);
  return lines.map((line) => {
    const reference = line.priceId ?? line.priceSlug;
    if (reference === undefined) return writtenLine(line, null, step);
    const price = line.priceId === undefined ? named.get(reference) : known.get(reference);
    refuseUnwritable(price, reference);
    return writtenLine(line, { ...price, name: price.name ?? names.get(price.id)?.productName ?? null }, step);
  });
}

interface KnownDraft {
  readonly id: string;
  readonly createdAt: number;
  readonly customer: CustomerRow;
  readonly terms: DraftTerms;
  readonly discounts: readonly InvoiceDiscount[];
  /** The draft of a renewal as it is stored. Absent: somebody writes the draft. */
  readonly ofPeriod?: InvoiceRow | null;
}

function periodOf({ billingPeriodId: id, billingPeriodStartDate: startAt, billingPeriodEndDate: endAt }: InvoiceRow) {
  return startAt === null || endAt === null ? null : { id, startAt, endAt };
}

/** The rows of a draft, by the amounts of now. */
async function composeDraft(
  work: Work,
  { id, createdAt, customer, terms: { dueDate, ...written }, discounts, ofPeriod = null }: KnownDraft,
  lines: readonly DraftedLine[],
) {
  if (lines.length > maxWrittenLines)
    throw invalid(['invoice', 'lines'], `must be at most ${maxWrittenLines} lines in all, not ${lines.length}`);
  const settings = await readSettings(work);
  const taxes = await quoteTaxes(work, settings, [customer.id]);
  const request: NewInvoice = {
    customerId: customer.id,
    pricingModelId: customer.pricingModelId,
    subscriptionId: ofPeriod?.subscriptionId ?? null,
    billingPeriod: ofPeriod && periodOf(ofPeriod),
    reason: ofPeriod?.reason ?? 'one_off',
    currency: work.currency as NewInvoice['currency'],
    lines: lines.map(({ line }) => line),
    invoiceDate: ofPeriod?.invoiceDate ?? work.now,
    finalizesAt: ofPeriod?.finalizesAt ?? null,
    dueDate,
    discounts,
    tax: taxes.get(customer.id) ?? null,
    seller: settings.seller,
    written,
  };
  // Without a line that was taken off, the rest may not cover what became cheaper.
  if (ofPeriod !== null && fitPaybacks(request).left.length > 0)
    throw new Problem('draftOfPeriod', { id, reason: 'its usage pays back more than the other lines cost' });
  return composeRows(work, { id, createdAt, buyer: buyerOf(customer) }, request, lines);
}

/** The rows of a draft. It keeps its discounts even while they have no effect. */
function composeRows(
  work: Work,
  known: Pick<InvoiceRow, 'id' | 'createdAt' | 'buyer'>,
  request: NewInvoice,
  lines: readonly DraftedLine[],
): ComposedRows {
  const draft = draftInvoice(request);
  const takenOff = new Map(draft.discounts.map((discount) => [discount.redemptionId, discount.takenOff]));
  const discounts = request.discounts.map((discount) => ({
    ...discount,
    takenOff: takenOff.get(discount.redemptionId) ?? 0n,
  }));
  const row: InvoiceRow = {
    ...rowOf(draft),
    ...known,
    ...{ updatedAt: work.now, invoiceNumber: null, status: 'draft', discountCount: discounts.length },
  };
  return { row, rows: rowsOf(work, row, draft.lines, lines), discounts };
}

interface ComposedRows {
  readonly row: InvoiceRow;
  readonly rows: ExplainedLineRow[];
  readonly discounts: readonly AppliedDiscount[];
}

function rowsOf(
  work: Work,
  { id: invoiceId, pricingModelId }: InvoiceRow,
  priced: ReturnType<typeof draftInvoice>['lines'],
  lines: readonly DraftedLine[],
): ExplainedLineRow[] {
  return priced.map((line, index) => {
    const { id, createdAt } = lines[index]?.stored ?? { id: newId('invoiceLineItem', invoiceId), createdAt: work.now };
    return { id, createdAt, updatedAt: work.now, pricingModelId, invoiceId, creditedAmount: 0n, ...line };
  });
}

/** Marks an invoice as sent to its customer, and publishes that. Refuses a draft, and one that is not to be paid any more. */
export async function sendInvoice(work: Work, encryption: Encryption, id: string): Promise<Invoice> {
  const invoice = await lockInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  refusePart(invoice);
  const { status } = invoice;
  if (status === 'draft' || status === 'void' || status === 'uncollectible')
    throw new Problem('invoiceStatusForbids', { id, status, trigger: 'sent' });
  const sent = await updateInvoice(work, id, { sentAt: work.now });
  await publishInvoices(work, [{ type: 'invoice.sent', invoice: sent }]);
  return { ...renderInvoice(work, sent), ...(await hostedPage(work, encryption, sent)) };
}

/** An invoice with its lines and, once it is finalized, the link to the page on which it is paid. */
export async function readInvoice(work: Work, encryption: Encryption, id: string): Promise<InvoiceWithLines> {
  const { invoice, invoiceLineItems } = await getInvoice(work, id);
  if (invoice.status === 'draft') return { invoice, invoiceLineItems };
  return { invoice: { ...invoice, ...(await hostedPage(work, encryption, invoice)) }, invoiceLineItems };
}

async function hostedPage(
  work: Work,
  encryption: Encryption,
  {
    id,
    customerId,
    consolidatedInvoiceId: invoiceId = id,
  }: Pick<Invoice, 'id' | 'customerId' | 'consolidatedInvoiceId'>,
): Promise<Pick<Invoice, 'hostedInvoiceUrl'>> {
  const customer = await findCustomer(work, customerId);
  if (customer === null) return {};
  // A part is paid on the page of its whole.
  const pass = { environmentId: work.environmentId, invoiceId, version: customer.portalVersion };
  return { hostedInvoiceUrl: invoiceUrl(work.publicUrl, encryption, pass) };
}

/** A draft to finalize. */
interface Finalization {
  readonly draft: InvoiceRow;
  /** The date of the invoice. */
  readonly at: Instant;
  /** Usage of the period that arrived while the draft waited. Absent: none. */
  readonly late?: readonly NewLine[];
  /** Drafts with the same key become one invoice. Null or absent: it stays alone. */
  readonly together?: string | null;
  /** Whether it is due at once unless it has other terms. Absent: `autoCollect` decides. */
  readonly isDueAtOnce?: boolean;
  /** Whether its customer is charged for it. Absent: nobody is. */
  readonly isCharged?: boolean;
}

/** The rows of drafts that are finalized now, before they have their numbers, and the usage that they leave. */
async function composeFinal(work: Work, finalizations: readonly Finalization[]) {
  const drafts = finalizations.map(({ draft }) => draft);
  const settings = await readSettings(work);
  const customerIds = [...new Set(drafts.map(({ customerId }) => customerId))];
  const taxes = await quoteTaxes(work, settings, customerIds);
  const own = await listOwnTerms(work, customerIds);
  const discounts = await findDiscounts(work, drafts);
  const ids = drafts.map(({ id }) => id);
  const lines = Map.groupBy(await listExplainedLines(work, ids), ({ invoiceId }) => invoiceId);
  return finalizations.map((finalization) => {
    const { draft: invoice, at, late = [], together = null, isCharged = false } = finalization;
    const { isDueAtOnce = invoice.autoCollect } = finalization;
    const known = withLateUsage((lines.get(invoice.id) ?? []).map(stored), late);
    if (known.length === 0) throw new Problem('draftHasNoLines', { id: invoice.id });
    const request: NewInvoice = {
      ...invoice,
      billingPeriod: periodOf(invoice),
      lines: known.map(({ line }) => line),
      invoiceDate: at,
      finalizesAt: null,
      dueDate: dueDateAt({ ...invoice, autoCollect: isDueAtOnce }, termsOf(own.get(invoice.customerId), settings), at),
      discounts: discounts.get(invoice.id) ?? [],
      tax: taxes.get(invoice.customerId) ?? null,
      seller: settings.seller,
      written: invoice,
    };
    const fit = fitRequest(request);
    const draft = draftInvoice(fit.request);
    const byLine = new Map(known.map((each) => [each.line, each]));
    const drafted = fit.request.lines.map((line) => byLine.get(line) ?? unstored(line));
    const { id, createdAt } = invoice;
    const row: InvoiceRow = { ...invoice, ...rowOf(draft), id, createdAt, updatedAt: work.now };
    const rows = rowsOf(work, row, draft.lines, drafted);
    return { row, together, isCharged, rows, left: fit.left, discounts: draft.discounts };
  });
}

/** The lines of a draft with late usage, which the true-up of a commitment counts. */
function withLateUsage(drafted: readonly DraftedLine[], late: readonly NewLine[]): DraftedLine[] {
  if (late.length === 0) return [...drafted];
  const kept = drafted.flatMap(({ stored, line }): DraftedLine[] => {
    const counted = trueUpAfter(line, late);
    return counted === null ? [] : [{ stored, line: counted }];
  });
  return [...kept, ...late.map(unstored)];
}

/** The draft and its customer, locked until the work ends. Refuses with `invoiceNotFound` and `invoiceStatusForbids`. */
async function lockDraft(work: Work, id: string, trigger: 'changed' | 'deleted') {
  const { invoice, customer } = await lockWithCustomer(work, id);
  requireDraft(invoice, trigger);
  return { invoice, customer };
}

async function lockWithCustomer(work: Work, id: string) {
  const found = await findInvoice(work, id);
  if (found === null) throw new Problem('invoiceNotFound', { id });
  const customer = await lockCustomer(work, found.customerId);
  const invoice = await lockInvoice(work, id);
  if (invoice === null || customer === null) throw new Problem('invoiceNotFound', { id });
  return { invoice, customer };
}

function stored({ id, createdAt, ...line }: ExplainedLineRow): DraftedLine {
  return { stored: { id, createdAt }, line: unpricedLine(line) };
}

/** Changes a draft: its terms and texts, its discount, and all of its lines where lines are given. */
export async function changeDraft(
  work: Work,
  id: string,
  { id: bodyId, ...change }: DraftChange,
): Promise<InvoiceWithLines> {
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { bodyId, pathId: id });
  if (isOfMetadata(change)) return changeMetadata(work, id, change.metadata ?? null);
  const { lines, discountCode, ...given } = change;
  const { invoice, customer } = await lockDraft(work, id, 'changed');
  if (isOfPeriod(invoice)) refuseForPeriod(id, { lines, discountCode, autoCollect: given.autoCollect });
  const terms = changeTerms(invoice, given, work.now);
  const kept = lines ? (await writeLines(work, customer, lines)).map(unstored) : await listDrafted(work, id);
  const before = await findDiscountsOf(work, invoice);
  // Nobody writes a code on the draft of a period, so that it is one discount at most.
  const isKept =
    discountCode === undefined ||
    (discountCode === null ? null : normalizeCode(discountCode)) === (before[0]?.code ?? null);
  // The same customer may redeem the same discount once, so the former one goes first.
  if (!isKept) await dropDiscounts(work, invoice, before);
  const written = kept.map(({ line }) => line);
  const redeemed = isKept ? null : await redeemCode(work, customer, { discountCode, lines: written });
  const discounts = isKept ? before : listOf(redeemed);
  return saveDraft(work, { ...knownOf(invoice), customer, terms, discounts }, kept);
}

async function changeMetadata(work: Work, id: string, metadata: Metadata | null): Promise<InvoiceWithLines> {
  const { customer } = await lockWithCustomer(work, id);
  // An erased customer takes no personal data again.
  if (customer.erasedAt !== null) throw new Problem('customerArchived', { id: customer.id });
  await saveMetadata(work, id, metadata);
  return getInvoice(work, id);
}

function knownOf(invoice: InvoiceRow): Pick<KnownDraft, 'id' | 'createdAt' | 'ofPeriod'> {
  const { id, createdAt } = invoice;
  return { id, createdAt, ofPeriod: isOfPeriod(invoice) ? invoice : null };
}

function listOf(discount: InvoiceDiscount | null): readonly InvoiceDiscount[] {
  return discount === null ? [] : [discount];
}

async function dropDiscounts(work: Work, invoice: InvoiceRow, discounts: readonly InvoiceDiscount[]): Promise<void> {
  if (discounts.length === 0) return;
  await saveInvoiceDiscounts(work, [{ invoice, discounts: [] }]);
  await deleteRedemptions(
    work,
    discounts.map(({ redemptionId }) => redemptionId),
  );
}

async function saveDraft(work: Work, known: KnownDraft, lines: readonly DraftedLine[]): Promise<InvoiceWithLines> {
  const { row, rows, discounts } = await composeDraft(work, known, lines);
  await saveDrafts(work, [row]);
  await saveInvoiceDiscounts(work, [{ invoice: row, discounts }]);
  await saveDraftLines(work, [row.id], rows);
  return getInvoice(work, row.id);
}

async function listDrafted(work: Work, id: string): Promise<DraftedLine[]> {
  return (await listExplainedLines(work, [id])).map(stored);
}

function findDiscounts(work: Work, drafts: readonly InvoiceRow[]) {
  return listDiscountsOfInvoices(
    work,
    drafts.flatMap(({ id, discountCount }) => (discountCount > 0 ? id : [])),
  );
}

async function findDiscountsOf(work: Work, draft: InvoiceRow): Promise<readonly InvoiceDiscount[]> {
  return (await findDiscounts(work, [draft])).get(draft.id) ?? [];
}

/** Adds lines to a draft. */
export async function addLines(work: Work, id: string, lines: readonly WrittenLine[]): Promise<InvoiceWithLines> {
  const { invoice, customer } = await lockDraft(work, id, 'changed');
  const added = (await writeLines(work, customer, lines)).map(unstored);
  const discounts = await findDiscountsOf(work, invoice);
  return saveDraft(work, { ...knownOf(invoice), customer, terms: invoice, discounts }, [
    ...(await listDrafted(work, id)),
    ...added,
  ]);
}

/** Takes a line off a draft. Refuses with `invoiceLineItemNotFound` a line of another invoice. */
export async function removeLine(work: Work, id: string, lineId: string): Promise<InvoiceWithLines> {
  const { invoice, customer } = await lockDraft(work, id, 'changed');
  const lines = await listDrafted(work, id);
  const left = lines.filter((line) => line.stored?.id !== lineId);
  const removed = lines.find((line) => line.stored?.id === lineId);
  if (removed === undefined) throw new Problem('invoiceLineItemNotFound', { id: lineId });
  if (isOfPeriod(invoice) && !isWritten(removed.line.explanation))
    throw new Problem('draftOfPeriod', { id, reason: `line ${lineId} was not added by hand` });
  if (isOfPeriod(invoice) && left.length === 0)
    throw new Problem('draftOfPeriod', { id, reason: `line ${lineId} is its last one: void the draft instead` });
  const itemId = itemOf(removed.line.explanation);
  // The item waits for the next invoice again.
  if (itemId !== null) await releaseItems(work, id, [itemId]);
  const discounts = await findDiscountsOf(work, invoice);
  return saveDraft(work, { ...knownOf(invoice), customer, terms: invoice, discounts }, left);
}

/** Deletes a draft, and returns it as it was. The customer may redeem its discount again. */
export async function removeDraft(work: Work, id: string): Promise<Invoice> {
  const { invoice } = await lockDraft(work, id, 'deleted');
  if (isOfPeriod(invoice))
    throw new Problem('draftOfPeriod', { id, reason: 'void it, so that its usage is billed again' });
  await dropDiscounts(work, invoice, await findDiscountsOf(work, invoice));
  await deleteDraft(work, id);
  return renderInvoice(work, invoice);
}

/**
 * Finalizes drafts that the caller has locked with their customers: computes them by the tax, the seller and the buyer
 * of now, numbers them, and lets balances pay. Each gets one number, because it is saved only while it is a draft. Drafts that
 * come together are parts of one invoice, which has the number and the payment.
 * Refuses with `draftHasNoLines` one without lines. The caller handles the consequences of an invoice that is paid from the
 * start, its collection, and the usage that is left to the next invoice.
 */
export async function finalizeDrafts(
  work: Work,
  finalizations: readonly Finalization[],
): Promise<{ readonly invoices: InvoiceRow[]; readonly left: readonly LeftUsage[] }> {
  if (finalizations.length === 0) return { invoices: [], left: [] };
  const drafts = finalizations.map(({ draft }) => draft);
  const composed = await composeFinal(work, finalizations);
  const { invoices: unnumbered, wholeOf } = consolidate(composed, (part) => newId('invoice', part));
  const numbers = await numberInvoices(work, unnumbered);
  const numbered = unnumbered.flatMap((row, index) => {
    const numbered = numbers[index];
    return numbered === undefined ? [] : [withBuyer(row, numbered)];
  });
  const { invoices, entries } = await payFromBalances(work, numbered);
  const byId = new Map(invoices.map((invoice) => [invoice.id, invoice]));
  if (wholeOf.size > 0) await insertInvoices(work, invoices.filter(isConsolidated));
  const saved = composed.flatMap(({ row }) => {
    const whole = byId.get(wholeOf.get(row.id)?.id ?? '');
    return whole === undefined ? (byId.get(row.id) ?? []) : partOf(row, whole);
  });
  await saveDrafts(work, saved);
  await saveFinalDiscounts(work, drafts, composed);
  await bookEntries(work, entries);
  await saveDraftLines(
    work,
    drafts.map(({ id }) => id),
    composed.flatMap(({ rows }) => rows),
  );
  await publishInvoiceChanges(
    work,
    invoices.map((invoice) => ({ before: isConsolidated(invoice) ? null : 'draft', invoice, cause: onceInItsLife })),
  );
  return { invoices, left: composed.flatMap(({ left }) => left) };
}

/** Saves the discounts that have an effect. A draft of its own that had another one does not use it up. */
async function saveFinalDiscounts(work: Work, drafts: readonly InvoiceRow[], composed: readonly FinalRows[]) {
  const discounted = composed.filter((_, index) => (drafts[index]?.discountCount ?? 0) > 0);
  if (discounted.length === 0) return;
  const before = await findDiscounts(work, drafts);
  await saveInvoiceDiscounts(
    work,
    discounted.map(({ row, discounts }) => ({ invoice: row, discounts })),
  );
  const kept = new Set(discounted.flatMap(({ discounts }) => discounts.map(({ redemptionId }) => redemptionId)));
  const named = drafts.flatMap((draft) => (isOfPeriod(draft) ? [] : (before.get(draft.id) ?? [])));
  await deleteRedemptions(
    work,
    named.flatMap(({ redemptionId }) => (kept.has(redemptionId) ? [] : redemptionId)),
  );
}

type FinalRows = Pick<ComposedRows, 'row' | 'discounts'>;
