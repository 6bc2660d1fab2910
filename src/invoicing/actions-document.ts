import { invoiceUrl } from '../customers/portal-link.ts';
import { findCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import type { PrintedDocument } from '../documents/document.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { Turns } from '../jobs/turns.ts';
import type { Language } from '../kernel/language.ts';
import { Problem } from '../kernel/problem.ts';
import { readBranding, readSellerName, readSettings } from '../organizations/store-settings.ts';
import { discountsOn } from './actions.ts';
import { type DocumentLook, invoiceDocument } from './invoice-document.ts';
import { findInvoice, type InvoiceRow, listExplainedLines } from './store.ts';

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

/** The invoice as a document. Refuses with `invoiceNotFound`. */
export async function getDocument(work: Work, id: string, services: DocumentServices): Promise<PrintedDocument> {
  const invoice = await findInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  const { paymentInstructions } = await readSettings(work);
  const look = {
    ...(await readLook(work, languageOf(invoice))),
    ...{ paymentInstructions, payLink: await payLinkOf(work, invoice, services) },
  };
  return new Turns().run(
    invoiceDocument(
      { ...invoice, discounts: await discountsOn(work, invoice) },
      await listExplainedLines(work, id),
      look,
    ),
  );
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
