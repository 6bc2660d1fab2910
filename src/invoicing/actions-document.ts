import { invoiceUrl } from '../customers/portal-link.ts';
import { findCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import type { PrintedDocument } from '../documents/document.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { Turns } from '../jobs/turns.ts';
import type { Language } from '../kernel/language.ts';
import { Problem } from '../kernel/problem.ts';
import { readBranding, readSellerName, readSettings } from '../organizations/store-settings.ts';
import { listUsageByDay } from '../usage/actions.ts';
import type { UsageByDay } from '../usage/usage-summary.ts';
import { discountsOn } from './actions.ts';
import { isConsolidated } from './consolidation.ts';
import { type DocumentLook, type InvoiceToPrint, invoiceDocument } from './invoice-document.ts';
import {
  type ExplainedLineRow,
  findInvoice,
  type InvoiceRow,
  listExplainedLines,
  listNamesOfParts,
  listParts,
} from './store.ts';

/** The services that a document needs: those that sign the link to its page. */
export interface DocumentServices {
  readonly encryption: Encryption;
  /** The address of the service in links. */
  readonly publicUrl: string;
}

/** The look of the documents of the environment. */
export async function readLook(
  work: Work,
  language: Language,
): Promise<Pick<DocumentLook, 'language' | 'branding' | 'company'>> {
  return { language, branding: await readBranding(work), company: await readSellerName(work) };
}

/** The language of an invoice and its credit notes: that of its buyer. */
export function languageOf({ buyer }: Pick<InvoiceRow, 'buyer'>): Language {
  return buyer?.terms?.language ?? 'en';
}

/** The invoice as a document, and for a part that of its consolidated invoice. Refuses with `invoiceNotFound`. */
export async function getDocument(work: Work, id: string, services: DocumentServices): Promise<PrintedDocument> {
  const found = await findInvoice(work, id);
  const invoice = found?.consolidatedInto ? await findInvoice(work, found.consolidatedInto) : found;
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  const { paymentInstructions } = await readSettings(work);
  const { lines, usage } = await linesToPrint(work, invoice);
  const look = {
    ...(await readLook(work, languageOf(invoice))),
    ...{ paymentInstructions, payLink: await payLinkOf(work, invoice, services) },
  };
  return new Turns().run(
    invoiceDocument({ ...invoice, discounts: await discountsOn(work, invoice), usage }, lines, look),
  );
}

/** A line with the name of its subscription, on an invoice of several. */
type PrintedLine = ExplainedLineRow & { readonly subscription: string | null };

/** The lines and the usage behind them, part by part on a consolidated invoice, whose lines name their subscriptions. */
async function linesToPrint(work: Work, invoice: InvoiceRow, withUsage = true) {
  const isOne = !isConsolidated(invoice);
  const parts = isOne ? [invoice] : await listParts(work, [invoice]);
  const names = isOne ? new Map<string, null>() : await listNamesOfParts(work, invoice.id);
  const ids = parts.map(({ id }) => id);
  const found = Map.groupBy(await listExplainedLines(work, ids), ({ invoiceId }) => invoiceId);
  const lines: PrintedLine[] = [];
  const usage: UsageByDay[] = [];
  for (const part of parts) {
    const ofPart = found.get(part.id) ?? [];
    const subscription = names.get(part.id) ?? null;
    lines.push(...ofPart.map((line) => ({ ...line, subscription })));
    if (withUsage) usage.push(...(await usageOf(work, part, ofPart)));
  }
  return { lines, usage };
}

// A page with more would be too long to read. The document has all of them.
const mostLinesOfPage = 50;

/** The lines and sums of an invoice as its page shows them: the first lines, and the number of the others. */
export interface LinesOfPage extends Pick<PrintedDocument, 'lines' | 'sums'> {
  readonly others: number;
}

/** The lines and sums of an invoice in the language of a page. */
export async function readLinesOfPage(work: Work, invoice: InvoiceRow, language: Language): Promise<LinesOfPage> {
  const { lines: found } = await linesToPrint(work, invoice, false);
  const look = { ...(await readLook(work, language)), paymentInstructions: null, payLink: null };
  const printed = invoiceDocument({ ...invoice, discounts: await discountsOn(work, invoice) }, found, look);
  const { lines, sums } = await new Turns().run(printed);
  return { sums, lines: lines.slice(0, mostLinesOfPage), others: Math.max(0, lines.length - mostLinesOfPage) };
}

/** The usage by day behind the lines. A renewal bills that of the period before its own. */
function usageOf(
  work: Work,
  { reason, status, invoiceDate, billingPeriodStartDate }: InvoiceRow,
  lines: readonly ExplainedLineRow[],
): Promise<UsageByDay[]> {
  if (status === 'draft') return Promise.resolve([]);
  const accountIds = [...new Set(lines.flatMap(({ ledgerAccountId }) => ledgerAccountId ?? []))];
  const before = reason === 'renewal' ? (billingPeriodStartDate ?? invoiceDate) : invoiceDate;
  return listUsageByDay(work, accountIds, before);
}

async function payLinkOf(
  work: Work,
  { id: invoiceId, customerId, status }: InvoiceRow,
  { publicUrl, encryption }: DocumentServices,
): Promise<string | null> {
  const customer = await findCustomer(work, customerId);
  if (customer === null || status === 'draft') return null;
  return invoiceUrl(publicUrl, encryption, {
    ...{ environmentId: work.environmentId, invoiceId },
    version: customer.portalVersion,
  });
}

/** An invoice of an example, as it would look with this branding. */
export async function previewDocument(
  work: Work,
  { language, branding }: Pick<DocumentLook, 'language' | 'branding'>,
): Promise<PrintedDocument> {
  const { currency, seller, paymentInstructions } = await readSettings(work);
  const { lines, ...invoice } = sampleInvoice;
  const look = { language, branding, company: await readSellerName(work), paymentInstructions, payLink: sampleLink };
  return new Turns().run(invoiceDocument({ ...invoice, currency, seller }, lines, look));
}

const sampleLink = 'https://example.com/pay/inv_example';

// 3 x 20.00 and 15.00 are 75.00, and 19 % of it is 14.25.
const sampleInvoice = {
  ...{ invoiceNumber: 'INV-0042', status: 'open', invoiceDate: Date.UTC(2030, 0, 1), dueDate: Date.UTC(2030, 0, 15) },
  ...{ billingPeriodStartDate: Date.UTC(2030, 0, 1), billingPeriodEndDate: Date.UTC(2030, 1, 1) },
  lines: [
    { description: 'Pro, 3 seats', quantity: 3, price: 2000n, amount: 6000n },
    { description: 'Support', quantity: 1, price: 1500n, amount: 1500n },
  ],
  ...{ discountAmount: 0n, taxAmount: 1425n, taxType: 'vat', taxCountry: 'DE', taxState: null },
  ...{ taxRatePercentage: '19', taxInclusive: false, total: 8925n, amountPaid: 0n, amountRefunded: 0n },
  ...{ offsetAmount: 0n, balanceApplied: 0n, memo: null, footer: null, purchaseOrderNumber: null },
  buyer: {
    ...{ name: 'Ada Lovelace', email: 'ada@example.com' },
    billingAddress: {
      address: { line1: '12 St James Square', city: 'London', postal_code: 'SW1Y 4JH', country: 'GB' },
    },
  },
} satisfies Omit<InvoiceToPrint, 'currency' | 'seller'> & { readonly lines: readonly object[] };
