import { InvoiceEmail, maxInvoiceEmails } from '../customers/billing-terms.ts';
import type { BillingDetails, CustomerRow } from '../customers/customer.ts';
import { textLimits } from '../kernel/text-limits.ts';
import type { Wording } from '../wording/wording.ts';
import { type AddressName, addressNames, countries } from './buyer-entry.ts';
import type { FieldErrors } from './page-form.ts';

/** The billing details of a customer, who may change them itself. */

const textNames = ['name', 'taxId', 'purchaseOrderNumber', 'invoiceEmails'] as const;
export type TextName = (typeof textNames)[number];
/** The values of the form, as text. The addresses of invoices are separated by commas. */
export type EnteredDetails = Readonly<Record<TextName | AddressName, string>>;

/** The record of a customer, as the portal shows it. */
export type Known = Pick<CustomerRow, 'name' | 'email' | 'billingAddress' | 'billingTerms'>;

/** The details as the form shows them. */
export function knownBilling({ name, billingAddress, billingTerms }: Known): EnteredDetails {
  const { taxId = '', purchaseOrderNumber = '', invoiceEmails = [] } = billingTerms ?? {};
  const address = Object.fromEntries(addressNames.map((field) => [field, billingAddress?.address[field] ?? '']));
  return {
    ...{ name: billingAddress?.name ?? name, taxId, purchaseOrderNumber, invoiceEmails: invoiceEmails.join(', ') },
    ...(address as Record<AddressName, string>),
  };
}

/** The submitted values. A field that was not sent is empty. */
export function enteredBilling(form: Readonly<Record<string, string>>): EnteredDetails {
  const fields = [...textNames, ...addressNames].map((name) => [name, form[name]?.trim() ?? '']);
  return Object.fromEntries(fields) as EnteredDetails;
}

/** The details to store, or the errors of the form. */
export function readBilling(
  { name: ownName }: Known,
  entered: EnteredDetails,
  { words, say }: Wording,
): { readonly details: BillingDetails } | { readonly errors: FieldErrors } {
  const errors: Record<string, string> = {};
  const tooLong = (name: keyof EnteredDetails, most: number) => {
    if (entered[name].length > most) errors[name] = say(words.errors.tooLong, { count: `${most}` });
  };
  for (const name of ['name', 'taxId', 'purchaseOrderNumber'] as const) tooLong(name, textLimits.name);
  for (const name of addressNames) tooLong(name, textLimits.addressLine);
  if (!countries.has(entered.country)) errors.country = words.errors.country;
  const invoiceEmails = entered.invoiceEmails.split(/[\s,;]+/).filter((email) => email !== '');
  const wrong = invoiceEmails.find((email) => !InvoiceEmail.safeParse(email).success);
  if (wrong !== undefined) errors.invoiceEmails = words.errors.invoiceEmails;
  if (invoiceEmails.length > maxInvoiceEmails)
    errors.invoiceEmails = say(words.errors.tooManyEmails, { count: `${maxInvoiceEmails}` });
  if (Object.keys(errors).length > 0) return { errors };
  const orNull = (text: string) => (text === '' ? null : text);
  const lines = Object.fromEntries(addressNames.map((field) => [field, orNull(entered[field])]));
  return {
    details: {
      // A customer who gets another name has it on its documents too.
      name: entered.name === ownName ? null : orNull(entered.name),
      taxId: orNull(entered.taxId),
      purchaseOrderNumber: orNull(entered.purchaseOrderNumber),
      invoiceEmails,
      address: { ...lines, country: entered.country },
    },
  };
}
