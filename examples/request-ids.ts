import { type IdKind, idPrefixes } from '../src/kernel/id.ts';

/** Ids and slugs of records, one of each kind. */
export interface Ids {
  readonly pricingModelId: string;
  /** One that nothing uses. */
  readonly sparePricingModelId: string;
  readonly productId: string;
  /** One that nobody has bought. */
  readonly spareProductId: string;
  readonly spareFeatureId: string;
  readonly featureId: string;
  readonly priceId: string;
  /** A price that is paid once. */
  readonly packPriceSlug: string;
  readonly discountId: string;
  readonly spareDiscountId: string;
  readonly subscriptionDiscountId: string;
  readonly taxRateId: string;
  readonly usagePriceSlug: string;
  readonly usageMeterId: string;
  readonly creditPoolId: string;
  readonly resourceId: string;
  readonly productFeatureId: string;
  readonly externalId: string;
  /** A customer without a paid plan. */
  readonly leavingExternalId: string;
  readonly customerId: string;
  readonly subscriptionId: string;
  /** One whose change of plan is scheduled. */
  readonly changingSubscriptionId: string;
  readonly subscriptionItemId: string;
  readonly subscriptionItemFeatureId: string;
  readonly usageEventId: string;
  readonly holdId: string;
  readonly spareHoldId: string;
  readonly usageCreditId: string;
  /** A customer who owes an invoice and has added a card since. */
  readonly owingSubscriptionId: string;
  readonly openInvoiceId: string;
  readonly openInvoiceLineItemId: string;
  /** One that is not finalized. */
  readonly draftInvoiceId: string;
  readonly draftInvoiceLineItemId: string;
  readonly creditNoteId: string;
  readonly invoiceItemId: string;
  readonly customerBalanceId: string;
  /** Offsets the open invoice. */
  readonly issuedCreditNoteId: string;
  readonly invoiceId: string;
  readonly invoiceLineItemId: string;
  readonly paymentId: string;
  readonly checkoutSessionId: string;
  readonly paymentMethodId: string;
  /** One that no subscription names. */
  readonly sparePaymentMethodId: string;
  readonly purchaseId: string;
  readonly webhookId: string;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly emailId: string;
  readonly apiKeyId: string;
  /** One that nobody uses. */
  readonly spareApiKeyId: string;
}

const idOf = (kind: IdKind) => `${idPrefixes[kind]}_0Bq3xZ9kQ2mW7vT1nR5yP`;

/** Ids that look like those of records. */
export const placeholders: Ids = {
  pricingModelId: idOf('pricingModel'),
  sparePricingModelId: idOf('pricingModel'),
  productId: idOf('product'),
  spareProductId: idOf('product'),
  spareFeatureId: idOf('feature'),
  featureId: idOf('feature'),
  priceId: idOf('price'),
  packPriceSlug: 'pack-500',
  discountId: idOf('discount'),
  spareDiscountId: idOf('discount'),
  subscriptionDiscountId: idOf('discountRedemption'),
  taxRateId: idOf('taxRate'),
  usagePriceSlug: 'call-overage',
  usageMeterId: idOf('usageMeter'),
  creditPoolId: idOf('creditPool'),
  resourceId: idOf('resource'),
  productFeatureId: idOf('productFeature'),
  externalId: 'user-42',
  leavingExternalId: 'user-43',
  customerId: idOf('customer'),
  subscriptionId: idOf('subscription'),
  changingSubscriptionId: idOf('subscription'),
  subscriptionItemId: idOf('subscriptionItem'),
  subscriptionItemFeatureId: idOf('subscriptionItemFeature'),
  usageEventId: idOf('usageEvent'),
  holdId: idOf('usageHold'),
  spareHoldId: idOf('usageHold'),
  usageCreditId: idOf('usageCredit'),
  owingSubscriptionId: idOf('subscription'),
  openInvoiceId: idOf('invoice'),
  openInvoiceLineItemId: idOf('invoiceLineItem'),
  draftInvoiceId: idOf('invoice'),
  draftInvoiceLineItemId: idOf('invoiceLineItem'),
  creditNoteId: idOf('creditNote'),
  invoiceItemId: idOf('invoiceItem'),
  customerBalanceId: idOf('customerBalance'),
  issuedCreditNoteId: idOf('creditNote'),
  invoiceId: idOf('invoice'),
  invoiceLineItemId: idOf('invoiceLineItem'),
  paymentId: idOf('payment'),
  checkoutSessionId: idOf('checkoutSession'),
  paymentMethodId: idOf('paymentMethod'),
  sparePaymentMethodId: idOf('paymentMethod'),
  purchaseId: idOf('purchase'),
  webhookId: idOf('webhook'),
  deliveryId: idOf('webhookDelivery'),
  eventId: idOf('event'),
  emailId: idOf('email'),
  apiKeyId: idOf('apiKey'),
  spareApiKeyId: idOf('apiKey'),
};
