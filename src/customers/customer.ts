import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { countInput, freeText, isSameJson, Metadata, MetadataInput, Timestamp } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { maxReviewHours } from '../organizations/setting.ts';
import { BillingTerms, BillingTermsInput, readBillingTerms } from './billing-terms.ts';

const CustomerId = idSchema('customer');

/** The caller's own id of a customer: any text of 1 to 255 characters. */
export const ExternalId = freeText('name').min(1);

const AddressLines = z.object({
  name: freeText('name').nullish(),
  line1: freeText('addressLine').nullish(),
  line2: freeText('addressLine').nullish(),
  city: freeText('addressLine').nullish(),
  state: freeText('addressLine').nullish(),
  postal_code: freeText('addressLine').nullish(),
  country: freeText('addressLine'),
});

/** The invoice address. Only the country is required, because it determines tax. */
export const BillingAddress = z
  .object({
    name: freeText('name').nullish(),
    firstName: freeText('name').nullish(),
    lastName: freeText('name').nullish(),
    email: freeText('email').nullish(),
    phone: freeText('phone').nullish(),
    address: AddressLines,
  })
  .meta({ id: 'BillingAddress' });
export type BillingAddress = z.infer<typeof BillingAddress>;

/** The party that is billed. */
export const Customer = z
  .object({
    id: CustomerId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    externalId: z.string().meta({
      description: 'Your own id of the customer, unique in a pricing model among customers that are not archived.',
    }),
    email: z.string(),
    name: z.string(),
    archived: z.boolean(),
    erasedAt: Timestamp.nullable().meta({ description: 'The time at which its personal data was erased.' }),
    logoURL: z.string().nullable(),
    iconURL: z.string().nullable(),
    domain: z.string().nullable(),
    userId: z.string().nullable(),
    billingAddress: BillingAddress.nullable(),
    invoiceNumberBase: z.string().meta({ description: 'Names the customer in the numbers of its own series.' }),
    taxExempt: z.boolean().meta({ description: 'True if the customer owes no tax.' }),
    metadata: Metadata.nullable(),
    reviewHours: z.int().optional().meta({
      description: 'The hours for which its invoices of renewals wait as drafts. Absent: those of the settings.',
    }),
    consolidateInvoices: z.literal(true).optional().meta({
      description:
        'True: the renewals of one day (UTC) are one invoice, which is made at the end of it. Absent: each subscription has its own.',
    }),
    billingTerms: BillingTerms.optional().meta({
      description: 'The terms on which it is billed. A field that is absent is that of the settings.',
    }),
  })
  .meta({ id: 'Customer' });
export type Customer = z.infer<typeof Customer>;

/** A customer as it is stored. */
export type CustomerRow = Omit<
  Customer,
  'livemode' | 'organizationId' | 'reviewHours' | 'consolidateInvoices' | 'billingTerms'
> & {
  readonly reviewHours: number | null;
  readonly consolidateInvoices: boolean;
  readonly billingTerms: BillingTerms | null;
  /** Links to the portal are of this version; another one closes them all. */
  readonly portalVersion: number;
};

/** The fields of a customer that a caller may set. */
const CustomerDetails = z.object({
  email: freeText('email'),
  name: freeText('name'),
  logoURL: freeText('url').nullish(),
  iconURL: freeText('url').nullish(),
  domain: freeText('name').nullish(),
  userId: freeText('name').nullish(),
  billingAddress: BillingAddress.nullish(),
  taxExempt: z.boolean().optional().meta({ description: 'If true, the customer owes no tax. False by default.' }),
  metadata: MetadataInput,
  reviewHours: countInput(0, maxReviewHours).nullish().meta({
    description:
      'The hours for which its invoices of renewals wait as drafts. Null, the default: those of the settings.',
  }),
  consolidateInvoices: z.boolean().optional().meta({
    description:
      'If true, the renewals of one day (UTC) are one invoice, which is made at the end of it. False by default.',
  }),
  billingTerms: BillingTermsInput.nullish().meta({
    description: 'The terms on which it is billed, replaced as a whole. Null removes them.',
  }),
});
export const CustomerChange = CustomerDetails.partial().extend({
  externalId: ExternalId.optional().meta({ description: 'Another external id for the customer, from now on.' }),
});
export type CustomerChange = z.infer<typeof CustomerChange>;

export const NewCustomer = CustomerDetails.extend({
  externalId: ExternalId,
  pricingModelId: z.string().min(1).max(255).nullish().meta({ description: 'The default pricing model by default.' }),
  archived: z
    .boolean()
    .optional()
    .meta({ description: 'If true, the customer is only kept on record and gets no plan.' }),
});
export type NewCustomer = z.infer<typeof NewCustomer>;

/** The changed customer, or null if nothing changes. Absent fields keep their value. */
export function decideChange(customer: CustomerRow, change: CustomerChange): CustomerRow | null {
  const changed: CustomerRow = {
    ...customer,
    externalId: change.externalId ?? customer.externalId,
    email: change.email ?? customer.email,
    name: change.name ?? customer.name,
    logoURL: given(change.logoURL, customer.logoURL),
    iconURL: given(change.iconURL, customer.iconURL),
    domain: given(change.domain, customer.domain),
    userId: given(change.userId, customer.userId),
    billingAddress: given(change.billingAddress, customer.billingAddress),
    taxExempt: change.taxExempt ?? customer.taxExempt,
    metadata: given(change.metadata, customer.metadata),
    reviewHours: given(change.reviewHours, customer.reviewHours),
    consolidateInvoices: change.consolidateInvoices ?? customer.consolidateInvoices,
    billingTerms: change.billingTerms === undefined ? customer.billingTerms : readBillingTerms(change.billingTerms),
  };
  return isSameJson(changed, customer) ? null : changed;
}

/** The details that a customer may change itself. */
export interface BillingDetails {
  /** The name on documents; null: that of the customer. */
  readonly name: string | null;
  readonly taxId: string | null;
  readonly purchaseOrderNumber: string | null;
  readonly invoiceEmails: readonly string[];
  readonly address: BillingAddress['address'];
}

/** The change that gives a customer these details. Its other terms, which the seller decides, stay. */
export function withDetails(
  customer: Pick<CustomerRow, 'billingAddress' | 'billingTerms'>,
  { name, taxId, purchaseOrderNumber, invoiceEmails, address }: BillingDetails,
): CustomerChange {
  const { billingAddress, billingTerms } = customer;
  const said = withTaxId(customer, { taxId, country: address.country });
  return {
    billingAddress: { ...billingAddress, name, address: { ...billingAddress?.address, ...address } },
    billingTerms: { ...billingTerms, ...said.billingTerms, purchaseOrderNumber, invoiceEmails: [...invoiceEmails] },
  };
}

/**
 * The change of the terms of a customer that names its tax id and country itself; absent, they stay. Others than before
 * end the reverse charge, for which the seller has checked the old ones.
 */
export function withTaxId(
  { billingAddress, billingTerms }: Pick<CustomerRow, 'billingAddress' | 'billingTerms'>,
  said: { readonly taxId?: string | null | undefined; readonly country?: string | undefined },
): Pick<CustomerChange, 'billingTerms'> {
  const known = { taxId: billingTerms?.taxId ?? null, country: billingAddress?.address.country };
  const { taxId = known.taxId, country = known.country } = said;
  if (taxId === known.taxId && country === known.country) return {};
  return { billingTerms: { ...billingTerms, taxId, reverseCharge: null } };
}

function given<Value>(value: Value | undefined, stored: Value): Value {
  return value === undefined ? stored : value;
}
