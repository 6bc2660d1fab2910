import { z } from 'zod';
import { countInput, freeText, SafeString, TimeZone } from '../kernel/json.ts';
import { Language } from '../kernel/language.ts';

/** The longest time to pay an invoice. */
const maxNetTermsDays = 365;
// An accounts department has a few addresses, and a printed invoice has room for a few facts.
export const maxInvoiceEmails = 10;
const maxCustomFields = 10;

export const InvoiceEmail = freeText('email').regex(/^[^\s@<>,;"]+@[^\s@<>,;"]+$/, 'must be an email address');

const CustomField = z
  .object({ name: freeText('metadataKey').trim().min(1), value: freeText('addressLine').trim().min(1) })
  .meta({ id: 'CustomField', description: 'A name and its value, which are printed on documents.' });

/** The terms on which one customer is billed. A field that is absent is that of the settings. */
export const BillingTerms = z
  .object({
    netTermsDays: z.int().optional(),
    taxId: z.string().optional(),
    reverseCharge: z.boolean().optional(),
    purchaseOrderNumber: z.string().optional(),
    language: Language.optional(),
    timeZone: TimeZone.optional(),
    invoiceEmails: z.array(z.string()).optional(),
    memo: z.string().optional(),
    customFields: z.array(CustomField).optional(),
  })
  .meta({ id: 'BillingTerms' });
export type BillingTerms = z.infer<typeof BillingTerms>;

export const BillingTermsInput = z
  .object({
    netTermsDays: countInput(0, maxNetTermsDays).nullish().meta({
      description: 'The days from an invoice to its due date, where it is not charged automatically.',
    }),
    taxId: SafeString.nullish().meta({
      description: 'The tax id of the customer, such as its VAT number, for its documents.',
    }),
    reverseCharge: z
      .boolean()
      .nullish()
      .meta({
        description:
          'Whether the customer accounts for the VAT itself, such as a business in another country of the EU. With a ' +
          '`taxId`, its invoices bear no tax and say why. You check the id: it ends when the customer enters another tax ' +
          'id or country.',
      }),
    purchaseOrderNumber: SafeString.nullish().meta({
      description: 'The purchase order of invoices without their own.',
    }),
    language: Language.nullish().meta({ description: 'The language of documents and emails.' }),
    timeZone: TimeZone.nullish().meta({ description: 'The time zone of dates in emails and on documents.' }),
    invoiceEmails: z.array(InvoiceEmail).max(maxInvoiceEmails).nullish().meta({
      description: "The addresses that get invoices, receipts and credit notes, in place of the customer's own.",
    }),
    memo: freeText('description').nullish().meta({ description: 'The memo of invoices without their own.' }),
    customFields: z.array(CustomField).max(maxCustomFields).nullish().meta({
      description: 'Facts to print on invoices, such as a cost centre.',
    }),
  })
  .meta({ id: 'BillingTermsInput' });

/** The terms as they are stored: without fields that say nothing. Null if none says anything. */
export function readBillingTerms(given: z.output<typeof BillingTermsInput> | null): BillingTerms | null {
  const said = Object.entries(given ?? {}).filter(
    ([, value]) =>
      value !== null && value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0),
  );
  // The input was parsed, so each field that is left is one of the terms.
  return said.length === 0 ? null : (Object.fromEntries(said) as BillingTerms);
}

/** Whether the buyer accounts for the VAT: an invoice that leaves it to the buyer has to name the buyer's tax id. */
export function isReverseCharged(terms: Pick<BillingTerms, 'taxId' | 'reverseCharge'> | null | undefined): boolean {
  return terms?.reverseCharge === true && terms.taxId !== undefined;
}

/** The terms that an invoice keeps of its buyer. Its due date, memo and purchase order have places of their own. */
export type TermsOfBuyer = Pick<BillingTerms, 'taxId' | 'reverseCharge' | 'language' | 'timeZone' | 'customFields'>;

/** The terms to keep; null if there are none. */
export function termsOfBuyer(terms: BillingTerms | null): TermsOfBuyer | null {
  const { taxId, reverseCharge, language, timeZone, customFields } = terms ?? {};
  const kept: TermsOfBuyer = {
    ...(taxId === undefined ? {} : { taxId }),
    ...(reverseCharge === undefined ? {} : { reverseCharge }),
    ...(language === undefined ? {} : { language }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(customFields === undefined ? {} : { customFields }),
  };
  return Object.keys(kept).length === 0 ? null : kept;
}
