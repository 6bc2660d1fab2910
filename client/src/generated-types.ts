// Made from openapi.json by scripts/generate-client.ts: change the API instead.

import type { CallOptions, WriteOptions } from './transport.ts';

export type CurrencyCode = 'USD' | 'AED' | 'AFN' | 'ALL' | 'AMD' | 'ANG' | 'AOA' | 'ARS' | 'AUD' | 'AWG' | 'AZN' | 'BAM' | 'BBD' | 'BDT' | 'BGN' | 'BIF' | 'BMD' | 'BND' | 'BOB' | 'BRL' | 'BSD' | 'BWP' | 'BYN' | 'BZD' | 'CAD' | 'CDF' | 'CHF' | 'CLP' | 'CNY' | 'COP' | 'CRC' | 'CVE' | 'CZK' | 'DJF' | 'DKK' | 'DOP' | 'DZD' | 'EGP' | 'ETB' | 'EUR' | 'FJD' | 'FKP' | 'GBP' | 'GEL' | 'GIP' | 'GMD' | 'GNF' | 'GTQ' | 'GYD' | 'HKD' | 'HNL' | 'HTG' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'ISK' | 'JMD' | 'JPY' | 'KES' | 'KGS' | 'KHR' | 'KMF' | 'KRW' | 'KYD' | 'KZT' | 'LAK' | 'LBP' | 'LKR' | 'LRD' | 'LSL' | 'MAD' | 'MDL' | 'MGA' | 'MKD' | 'MMK' | 'MNT' | 'MOP' | 'MUR' | 'MVR' | 'MWK' | 'MXN' | 'MYR' | 'MZN' | 'NAD' | 'NGN' | 'NIO' | 'NOK' | 'NPR' | 'NZD' | 'PAB' | 'PEN' | 'PGK' | 'PHP' | 'PKR' | 'PLN' | 'PYG' | 'QAR' | 'RON' | 'RSD' | 'RUB' | 'RWF' | 'SAR' | 'SBD' | 'SCR' | 'SEK' | 'SGD' | 'SHP' | 'SLE' | 'SOS' | 'SRD' | 'STD' | 'SZL' | 'THB' | 'TJS' | 'TOP' | 'TRY' | 'TTD' | 'TWD' | 'TZS' | 'UAH' | 'UGX' | 'UYU' | 'UZS' | 'VND' | 'VUV' | 'WST' | 'XAF' | 'XCD' | 'XOF' | 'XPF' | 'YER' | 'ZAR' | 'ZMW';

export type TerminalAction = 'unpaid' | 'canceled' | 'past_due';

export interface BillingAddress {
  name?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  email?: string | null;
  phone?: string | null;
  address: {
    name?: string | null;
    line1?: string | null;
    line2?: string | null;
    city?: string | null;
    state?: string | null;
    postal_code?: string | null;
    country: string;
  };
}

export type SubscriptionStatus = 'trialing' | 'active' | 'past_due' | 'unpaid' | 'cancellation_scheduled' | 'incomplete' | 'incomplete_expired' | 'canceled' | 'paused';

export type IntervalUnit = 'day' | 'week' | 'month' | 'year';

export type Metadata = Record<string, string | number | boolean>;

export interface Cancellation {
  timing: CancelTiming;
  /** For at_future_date only: when it ends. Periods that begin before it are billed whole, and nothing is given back. */
  endDate?: number | string | null;
}

/** When the subscription is to end. */
export type CancelTiming = 'at_end_of_current_billing_period' | 'at_future_date' | 'immediately';

export interface NewAdjustment {
  timing: AdjustmentTiming;
  /** The complete new set: what the subscription has and is not named here ends. */
  newSubscriptionItems: Array<AdjustedSubscriptionItem>;
  /** False: the rest of the current period costs nothing more. True when absent. */
  prorateCurrentBillingPeriod?: boolean;
}

/** When the change is to be made; auto: a cheaper plan waits. */
export type AdjustmentTiming = 'immediately' | 'at_end_of_current_billing_period' | 'auto';

export interface AdjustedSubscriptionItem {
  /** An item of the subscription, to keep or to change; absent: a new one. */
  id?: string;
  type?: 'static';
  /** Checked when given. */
  subscriptionId?: string;
  priceId?: string | null;
  /** The slug (or the id) of an active price, in place of priceId. */
  priceSlug?: string | null;
  /** 1 when absent. */
  quantity?: number;
  /** The price's when absent. */
  unitPrice?: number;
  name?: string | null;
  externalId?: string | null;
  metadata?: Metadata | null;
  /** Not looked at: a new item begins with the change. */
  addedDate?: number | string;
  /** An item ends when a change leaves it out. */
  expiredAt?: null;
  /** True: not looked at. What holds features added by hand stays as it is. */
  manuallyCreated?: boolean;
}

export interface SubscriptionPause {
  /** When it goes on by itself; null: when it is resumed. Absent: null, or what was said before. */
  resumesAt?: number | string | null;
}

export interface AddFeature {
  featureId?: string | null;
  featureSlug?: string | null;
  /** Give the credits now, once for each billing period. Only for a usage_credit_grant. */
  grantCreditsImmediately?: boolean;
}

export type FeatureStructure = {
  type: 'toggle';
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount?: null;
  renewalFrequency?: null;
  usageMeterSlug?: null;
  resourceSlug?: null;
  rolloverMaximum?: null;
  rolloverPeriods?: null;
} | {
  type: 'usage_credit_grant';
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount: number;
  renewalFrequency: RenewalFrequency;
  usageMeterSlug: string;
  resourceSlug?: null;
  /** Of what this grant leaves unused at the end of a billing period at most so many units go over into the next ones. Null: none. */
  rolloverMaximum?: number | null;
  /** For so many billing periods what goes over can be used. Null where nothing goes over. */
  rolloverPeriods?: number | null;
} | {
  type: 'resource';
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount: number;
  renewalFrequency?: null;
  usageMeterSlug?: null;
  resourceSlug: string;
  rolloverMaximum?: null;
  rolloverPeriods?: null;
};

export type RenewalFrequency = 'once' | 'every_billing_period';

export interface ProductStructure {
  product: {
    name: string;
    slug: string;
    description?: string | null;
    imageURL?: string | null;
    singularQuantityLabel?: string | null;
    pluralQuantityLabel?: string | null;
    default?: boolean;
    active?: boolean;
  };
  price: {
    type: 'subscription';
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    currency?: CurrencyCode;
    isDefault?: true;
    active?: true;
    intervalUnit: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: number | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  } | {
    type: 'single_payment';
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    currency?: CurrencyCode;
    isDefault?: true;
    active?: true;
    intervalUnit?: null;
    intervalCount?: null;
    trialPeriodDays?: null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  };
  features?: Array<string>;
}

export interface UsageMeterStructure {
  usageMeter: {
    name: string;
    slug: string;
    aggregationType?: UsageMeterAggregationType;
    /** A balance that falls below so many units is told. Null: none is. */
    lowBalanceThreshold?: number | null;
  };
  prices?: Array<{
    type?: 'usage';
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    currency?: CurrencyCode;
    intervalUnit?: IntervalUnit;
    intervalCount?: number;
    usageEventsPerUnit?: number;
    isDefault?: boolean;
    active?: boolean;
    trialPeriodDays?: null;
  }>;
}

/** How the amounts of events become usage: added up, or once for each distinct set of properties in a period. */
export type UsageMeterAggregationType = 'sum' | 'count_distinct_properties';

export interface ResourceStructure {
  slug: string;
  name: string;
  active?: boolean;
}

export type DestinationEnvironment = 'livemode' | 'testmode';

export type PriceType = 'subscription' | 'single_payment' | 'usage';

export type FeatureType = 'toggle' | 'usage_credit_grant' | 'resource';

export type DiscountAmountType = 'percent' | 'fixed';

export interface NewSubscriptionItemFeature {
  productFeatureId?: string | null;
  usageMeterId?: string | null;
  renewalFrequency?: RenewalFrequency | null;
  resourceId?: string | null;
  expiredAt?: number | string | null;
  detachedAt?: number | string | null;
  detachedReason?: string | null;
  manuallyCreated?: boolean;
  subscriptionItemId: string;
  featureId: string;
  /** That of the feature. */
  type?: FeatureType;
  /** The feature's own amount when absent. */
  amount?: number | null;
}

export interface SubscriptionItemFeatureChange {
  productFeatureId?: string | null;
  usageMeterId?: string | null;
  renewalFrequency?: RenewalFrequency | null;
  resourceId?: string | null;
  expiredAt?: number | string | null;
  detachedAt?: number | string | null;
  detachedReason?: string | null;
  manuallyCreated?: boolean;
  id?: string;
  /** Cannot be changed. */
  type?: FeatureType;
  /** Cannot be changed. */
  featureId?: string;
  /** Cannot be changed. */
  subscriptionItemId?: string;
  /** Cannot be changed. */
  subscriptionId?: string;
  amount?: number | null;
}

export interface NewResourceClaims {
  resourceSlug: string;
  metadata?: Metadata | null;
  /** So many claims without a name. */
  quantity?: number | null;
  /** The claim of this name. */
  externalId?: string | null;
  /** The claims of these names; a name that is given twice counts once. */
  externalIds?: Array<string> | null;
}

export interface ResourceClaimsToRelease {
  resourceSlug: string;
  /** So many claims without a name. */
  quantity?: number | null;
  /** The claim of this name. */
  externalId?: string | null;
  /** The claims of these names; a name that is given twice counts once. */
  externalIds?: Array<string> | null;
  claimIds?: Array<string> | null;
}

export interface EntitlementCheck {
  customerExternalId: string;
  featureSlug: string;
  /** Units of the meter, or places of the resource. 1 when absent; a toggle has no amount. */
  amount?: number | null;
}

/** Takes exactly one of usageMeterId, usageMeterSlug. */
export interface NewUsageCredit {
  subscriptionId: string;
  usageMeterId?: string | null;
  usageMeterSlug?: string | null;
  /** Units of the meter. */
  amount: number;
  /** They can be used until then. For ever when absent. */
  expiresAt?: number | string | null;
  /** Credits with a lower number are used first. 100 when absent. */
  priority?: number | null;
  reason?: string | null;
  /** Names the grant: on one usage meter the same transactionId grants once, and a repeat is answered with the first. */
  transactionId?: string | null;
}

/** Takes exactly one of priceId, priceSlug, usageMeterId, usageMeterSlug. */
export interface NewUsageEvent {
  subscriptionId: string;
  /** Names the event for ever: on one usage meter the same transactionId counts once. */
  transactionId: string;
  amount: number;
  /** When it was used. Now when absent. */
  usageDate?: number | string;
  /** What describes the use, at most 16384 bytes of JSON. A meter that counts distinct properties needs them. */
  properties?: Record<string, unknown> | null;
  priceId?: string | null;
  /** The slug of an active usage price. */
  priceSlug?: string | null;
  /** The usage meter, at its default price. */
  usageMeterId?: string | null;
  /** The slug of the usage meter, at its default price. */
  usageMeterSlug?: string | null;
}

/** Takes exactly one of priceId, priceSlug, usageMeterId, usageMeterSlug, meter. */
export interface NewHold {
  subscriptionId: string;
  amount: number;
  /** When it ends by itself: ahead, and at most 31 days. */
  expiresAt: number | string;
  priceId?: string | null;
  /** The slug of an active usage price. */
  priceSlug?: string | null;
  /** The usage meter, at its default price. */
  usageMeterId?: string | null;
  /** The slug of the usage meter, at its default price. */
  usageMeterSlug?: string | null;
  /** The id or slug of the usage meter, at its default price. */
  meter?: string | null;
}

export interface MoneyReceived {
  /** In the smallest unit of the currency, at most what is due; all of it when absent. */
  amount?: number | null;
  /** When the money arrived; now when absent. */
  paidAt?: number | string | null;
  /** A bank transfer when absent. */
  paymentMethodType?: PaymentMethodType | null;
  description?: string | null;
  /** What the payer or the bank calls the payment. */
  reference?: string | null;
}

export type PaymentMethodType = 'card' | 'link' | 'us_bank_account' | 'sepa_debit';

export type TaxType = 'amusement_tax' | 'communications_tax' | 'gst' | 'hst' | 'igst' | 'jct' | 'lease_tax' | 'pst' | 'qst' | 'rst' | 'sales_tax' | 'vat' | 'none';

export type WebhookFilterType = 'customer.created' | 'customer.updated' | 'purchase.completed' | 'payment.failed' | 'payment.succeeded' | 'subscription.created' | 'subscription.updated' | 'subscription.canceled' | 'usage_balance.low' | 'sync.events_available';

export type WebhookDeliveryStatus = 'pending' | 'succeeded' | 'failed';

export type EventType = 'customer.created' | 'customer.updated' | 'purchase.completed' | 'payment.failed' | 'payment.succeeded' | 'subscription.created' | 'subscription.updated' | 'subscription.canceled' | 'usage_balance.low';

export type EventObject = 'customer' | 'payment' | 'purchase' | 'subscription';

export interface CustomerCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'customer.created';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface CustomerUpdatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'customer.updated';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface PurchaseCompletedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'purchase';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'purchase.completed';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface PaymentFailedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'payment';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'payment.failed';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface PaymentSucceededPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'payment';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'payment.succeeded';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface SubscriptionCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.created';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface SubscriptionUpdatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.updated';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface SubscriptionCanceledPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.canceled';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface UsageBalanceLowPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  usageMeterId: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'usage_balance.low';
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface ErrorBody {
  message: string;
  code: string;
  /** What is wrong with the request, one by one. */
  issues?: Array<{
    message: string;
    path: Array<string | number>;
    code: string;
  }>;
  /** The same as message. */
  error: string;
  request_id: string;
}

export interface ApiKey {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  /** The one pricing model that the key may see; null: all of the environment. */
  pricingModelId: string | null;
  name: string;
  /** The key, masked: its prefix and its last four characters. */
  token: string;
  active: boolean;
  type: 'secret';
  expiresAt: number | null;
  lastUsedAt: number | null;
  identityProviderHostedBillingUserId: string | null;
  stackAuthHostedBillingUserId: string | null;
  /** SHA-256 of the key, in hexadecimal. */
  hashText: string | null;
}

export interface Settings {
  currency: CurrencyCode;
  /** True where a customer may have several paid subscriptions at a time. */
  allowMultipleSubscriptions: boolean;
  dunning: {
    /** Days of 24 hours from one failed attempt to the next; empty: no retry. */
    retryDays: Array<number>;
    /** What becomes of the subscription when the last attempt has failed. */
    terminalAction: TerminalAction;
  };
  /** Days from the date of an invoice to its due date, for who pays without a payment method on file. */
  netTermsDays: number;
  seller: Seller | null;
  /** none: invoices carry no tax; rates: the tax of the tax rates, by the customer’s billing address. */
  taxProvider: 'none' | 'rates';
}

export interface Seller {
  name: string | null;
  email: string | null;
  addressLines: Array<string>;
  taxId: string | null;
}

export interface AuditLogEntry {
  id: string;
  /** Real time, whatever the test clock says. Epoch milliseconds. */
  occurredAt: number;
  pricingModelId: string | null;
  actor: {
    /** customer: on a page of the checkout or the portal; operator: the command line; system: work that nobody asked for at that moment. */
    type: 'api_key' | 'customer' | 'operator' | 'system';
    apiKeyId: string | null;
  };
  /** The operation, such as `POST /products`, or the name of the task or command. */
  action: string | null;
  /** The X-Request-Id of the answer. */
  requestId: string | null;
  record: {
    type: string;
    id: string;
  };
  operation: 'insert' | 'update' | 'delete';
  /** Fields by their names in the database, in camelCase. Secrets are shown as (secret), addresses without their path. Whole numbers beyond 2^53-1 are text. */
  before: Record<string, unknown> | null;
  /** Fields by their names in the database, in camelCase. Secrets are shown as (secret), addresses without their path. Whole numbers beyond 2^53-1 are text. */
  after: Record<string, unknown> | null;
}

export interface Customer {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  /** The caller's own id; unique among the customers that are not archived. */
  externalId: string;
  email: string;
  name: string;
  archived: boolean;
  logoURL: string | null;
  iconURL: string | null;
  domain: string | null;
  userId: string | null;
  billingAddress: BillingAddressOutput | null;
  /** What the numbers of the invoices begin with. */
  invoiceNumberBase: string;
  /** True for who owes no tax. */
  taxExempt: boolean;
}

export type Subscription = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  /** Epoch milliseconds. */
  startDate: number;
  /** Whether the customer has it now. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: number | null;
  cancelScheduledAt: number | null;
  cancellationReason: string | null;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: number | null;
  pausedAt: number | null;
  /** When a paused subscription goes on by itself. */
  resumesAt: number | null;
  /** True when its price is 0. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  runBillingAtPeriodStart: boolean;
  renews: true;
  status: SubscriptionStatus;
  trialEnd: number | null;
  currentBillingPeriodStart: number | null;
  /** Until it starts, the same as its start. */
  currentBillingPeriodEnd: number | null;
  interval: IntervalUnit;
  intervalCount: number;
  /** Epoch milliseconds. */
  billingCycleAnchorDate: number;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  /** Epoch milliseconds. */
  startDate: number;
  /** Whether the customer has it now. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: number | null;
  cancelScheduledAt: number | null;
  cancellationReason: string | null;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: number | null;
  pausedAt: number | null;
  /** When a paused subscription goes on by itself. */
  resumesAt: number | null;
  /** True when its price is 0. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  runBillingAtPeriodStart: boolean;
  renews: false;
  status: 'active' | 'canceled';
  trialEnd: null;
  currentBillingPeriodStart: null;
  currentBillingPeriodEnd: null;
  interval: null;
  intervalCount: null;
  billingCycleAnchorDate: null;
};

export interface SubscriptionItem {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  type: 'static';
  name: string | null;
  priceId: string | null;
  /** A whole number; money is in the smallest unit of the currency. */
  unitPrice: number;
  quantity: number;
  /** Epoch milliseconds. */
  addedDate: number;
  expiredAt: number | null;
  externalId: string | null;
  metadata: Metadata | null;
  /** True for the item that holds features which were added by hand; it costs nothing. */
  manuallyCreated: boolean;
}

export interface CustomerBilling {
  customer: Customer;
  /** Of every status, newest first. */
  subscriptions: Array<SubscriptionDetails>;
  /** Newest first. */
  currentSubscriptions: Array<SubscriptionDetails>;
  currentSubscription?: SubscriptionDetails;
  invoices: Array<{
    invoice: Invoice;
    invoiceLineItems: Array<InvoiceLineItem>;
  }>;
  paymentMethods: Array<PaymentMethod>;
  /** What was paid for and not given back, newest first. */
  purchases: Array<Purchase>;
  pricingModel: PricingModelDetails;
  /** The pricing model again, under its former name. */
  catalog: PricingModelDetails;
  /** Opens the customer portal for a day: give it to the customer alone. */
  billingPortalUrl: string;
}

export type SubscriptionDetails = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  /** Epoch milliseconds. */
  startDate: number;
  /** Whether the customer has it now. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: number | null;
  cancelScheduledAt: number | null;
  cancellationReason: string | null;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: number | null;
  pausedAt: number | null;
  /** When a paused subscription goes on by itself. */
  resumesAt: number | null;
  /** True when its price is 0. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  runBillingAtPeriodStart: boolean;
  renews: true;
  status: SubscriptionStatus;
  trialEnd: number | null;
  currentBillingPeriodStart: number | null;
  /** Until it starts, the same as its start. */
  currentBillingPeriodEnd: number | null;
  interval: IntervalUnit;
  intervalCount: number;
  /** Epoch milliseconds. */
  billingCycleAnchorDate: number;
  /** The items that are active now. */
  subscriptionItems: Array<{
    id: string;
    /** Epoch milliseconds. */
    createdAt: number;
    /** Epoch milliseconds. */
    updatedAt: number;
    livemode: boolean;
    pricingModelId: string;
    subscriptionId: string;
    type: 'static';
    name: string | null;
    priceId: string | null;
    /** A whole number; money is in the smallest unit of the currency. */
    unitPrice: number;
    quantity: number;
    /** Epoch milliseconds. */
    addedDate: number;
    expiredAt: number | null;
    externalId: string | null;
    metadata: Metadata | null;
    /** True for the item that holds features which were added by hand; it costs nothing. */
    manuallyCreated: boolean;
    price: Price;
  }>;
  experimental: {
    /** The features that are active now. */
    featureItems: Array<SubscriptionItemFeature>;
    usageMeterBalances: Array<UsageMeterBalance>;
  };
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  /** Epoch milliseconds. */
  startDate: number;
  /** Whether the customer has it now. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: number | null;
  cancelScheduledAt: number | null;
  cancellationReason: string | null;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: number | null;
  pausedAt: number | null;
  /** When a paused subscription goes on by itself. */
  resumesAt: number | null;
  /** True when its price is 0. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  runBillingAtPeriodStart: boolean;
  renews: false;
  status: 'active' | 'canceled';
  trialEnd: null;
  currentBillingPeriodStart: null;
  currentBillingPeriodEnd: null;
  interval: null;
  intervalCount: null;
  billingCycleAnchorDate: null;
  /** The items that are active now. */
  subscriptionItems: Array<{
    id: string;
    /** Epoch milliseconds. */
    createdAt: number;
    /** Epoch milliseconds. */
    updatedAt: number;
    livemode: boolean;
    pricingModelId: string;
    subscriptionId: string;
    type: 'static';
    name: string | null;
    priceId: string | null;
    /** A whole number; money is in the smallest unit of the currency. */
    unitPrice: number;
    quantity: number;
    /** Epoch milliseconds. */
    addedDate: number;
    expiredAt: number | null;
    externalId: string | null;
    metadata: Metadata | null;
    /** True for the item that holds features which were added by hand; it costs nothing. */
    manuallyCreated: boolean;
    price: Price;
  }>;
  experimental: {
    /** The features that are active now. */
    featureItems: Array<SubscriptionItemFeature>;
    usageMeterBalances: Array<UsageMeterBalance>;
  };
};

export type Price = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  name: string | null;
  slug: string | null;
  /** A whole number; money is in the smallest unit of the currency. */
  unitPrice: number;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  type: 'subscription';
  productId: string;
  usageMeterId: null;
  usageEventsPerUnit: null;
  intervalUnit: IntervalUnit;
  intervalCount: number;
  trialPeriodDays: number | null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  name: string | null;
  slug: string | null;
  /** A whole number; money is in the smallest unit of the currency. */
  unitPrice: number;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  type: 'single_payment';
  productId: string;
  usageMeterId: null;
  usageEventsPerUnit: null;
  intervalUnit: null;
  intervalCount: null;
  trialPeriodDays: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  name: string | null;
  slug: string | null;
  /** A whole number; money is in the smallest unit of the currency. */
  unitPrice: number;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  type: 'usage';
  productId: null;
  usageMeterId: string;
  usageEventsPerUnit: number;
  intervalUnit: IntervalUnit;
  intervalCount: number;
  trialPeriodDays: null;
};

export type SubscriptionItemFeature = {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The link it came from; null when added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  expiredAt: number | null;
  detachedAt: number | null;
  type: 'toggle';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The link it came from; null when added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  expiredAt: number | null;
  detachedAt: number | null;
  type: 'usage_credit_grant';
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  usageMeterId: string;
  renewalFrequency: RenewalFrequency;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The link it came from; null when added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  expiredAt: number | null;
  detachedAt: number | null;
  type: 'resource';
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  usageMeterId: null;
  renewalFrequency: null;
  resourceId: string;
};

export interface UsageMeterBalance {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** A balance that falls below so many units is told. Null: none is. */
  lowBalanceThreshold: number | null;
  subscriptionId: string;
  /** Credits that can still be used minus usage that no credit covered. May be negative. */
  availableBalance: number;
}

export type Invoice = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  /** Counts the customer's invoices, without a gap. */
  invoiceNumber: string;
  /** Epoch milliseconds. */
  invoiceDate: number;
  dueDate: number | null;
  status: InvoiceStatus;
  currency: CurrencyCode;
  /** What the lines add up to, less the discount, without tax. */
  subtotal: number | null;
  taxAmount: number | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** Decimal text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: number | null;
  /** What the discount took off the sum of the lines. */
  discountAmount: number;
  /** What is asked for: subtotal and tax. */
  total: number;
  /** What was paid of the total, refunds not taken off. */
  amountPaid: number;
  /** A whole number; money is in the smallest unit of the currency. */
  amountRefunded: number;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: string | null;
  receiptPdfURL: string | null;
  memo: string | null;
  bankPaymentOnly: boolean | null;
  type: 'subscription';
  subscriptionId: string;
  /** Null where the subscription has no billing periods. */
  billingPeriodId: string | null;
  billingPeriodStartDate: number | null;
  billingPeriodEndDate: number | null;
  purchaseId: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  /** Counts the customer's invoices, without a gap. */
  invoiceNumber: string;
  /** Epoch milliseconds. */
  invoiceDate: number;
  dueDate: number | null;
  status: InvoiceStatus;
  currency: CurrencyCode;
  /** What the lines add up to, less the discount, without tax. */
  subtotal: number | null;
  taxAmount: number | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** Decimal text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: number | null;
  /** What the discount took off the sum of the lines. */
  discountAmount: number;
  /** What is asked for: subtotal and tax. */
  total: number;
  /** What was paid of the total, refunds not taken off. */
  amountPaid: number;
  /** A whole number; money is in the smallest unit of the currency. */
  amountRefunded: number;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: string | null;
  receiptPdfURL: string | null;
  memo: string | null;
  bankPaymentOnly: boolean | null;
  type: 'purchase';
  subscriptionId: null;
  billingPeriodId: null;
  billingPeriodStartDate: null;
  billingPeriodEndDate: null;
  purchaseId: string;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  /** Counts the customer's invoices, without a gap. */
  invoiceNumber: string;
  /** Epoch milliseconds. */
  invoiceDate: number;
  dueDate: number | null;
  status: InvoiceStatus;
  currency: CurrencyCode;
  /** What the lines add up to, less the discount, without tax. */
  subtotal: number | null;
  taxAmount: number | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** Decimal text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: number | null;
  /** What the discount took off the sum of the lines. */
  discountAmount: number;
  /** What is asked for: subtotal and tax. */
  total: number;
  /** What was paid of the total, refunds not taken off. */
  amountPaid: number;
  /** A whole number; money is in the smallest unit of the currency. */
  amountRefunded: number;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: string | null;
  receiptPdfURL: string | null;
  memo: string | null;
  bankPaymentOnly: boolean | null;
  type: 'standalone';
  subscriptionId: null;
  billingPeriodId: null;
  billingPeriodStartDate: null;
  billingPeriodEndDate: null;
  purchaseId: null;
  stripePaymentIntentId: string | null;
  stripeTaxCalculationId: string | null;
  stripeTaxTransactionId: string | null;
};

export type InvoiceStatus = 'draft' | 'open' | 'awaiting_payment_confirmation' | 'paid' | 'partially_refunded' | 'refunded' | 'void' | 'uncollectible';

export type CountryCode = 'AD' | 'AE' | 'AF' | 'AG' | 'AI' | 'AL' | 'AM' | 'AO' | 'AQ' | 'AR' | 'AS' | 'AT' | 'AU' | 'AW' | 'AX' | 'AZ' | 'BA' | 'BB' | 'BD' | 'BE' | 'BF' | 'BG' | 'BH' | 'BI' | 'BJ' | 'BL' | 'BM' | 'BN' | 'BO' | 'BQ' | 'BR' | 'BS' | 'BT' | 'BV' | 'BW' | 'BY' | 'BZ' | 'CA' | 'CC' | 'CD' | 'CF' | 'CG' | 'CH' | 'CI' | 'CK' | 'CL' | 'CM' | 'CN' | 'CO' | 'CR' | 'CU' | 'CV' | 'CW' | 'CX' | 'CY' | 'CZ' | 'DE' | 'DJ' | 'DK' | 'DM' | 'DO' | 'DZ' | 'EC' | 'EE' | 'EG' | 'EH' | 'ER' | 'ES' | 'ET' | 'FI' | 'FJ' | 'FK' | 'FM' | 'FO' | 'FR' | 'GA' | 'GB' | 'GD' | 'GE' | 'GF' | 'GG' | 'GH' | 'GI' | 'GL' | 'GM' | 'GN' | 'GP' | 'GQ' | 'GR' | 'GS' | 'GT' | 'GU' | 'GW' | 'GY' | 'HK' | 'HM' | 'HN' | 'HR' | 'HT' | 'HU' | 'ID' | 'IE' | 'IL' | 'IM' | 'IN' | 'IO' | 'IQ' | 'IR' | 'IS' | 'IT' | 'JE' | 'JM' | 'JO' | 'JP' | 'KE' | 'KG' | 'KH' | 'KI' | 'KM' | 'KN' | 'KP' | 'KR' | 'KW' | 'KY' | 'KZ' | 'LA' | 'LB' | 'LC' | 'LI' | 'LK' | 'LR' | 'LS' | 'LT' | 'LU' | 'LV' | 'LY' | 'MA' | 'MC' | 'MD' | 'ME' | 'MF' | 'MG' | 'MH' | 'MK' | 'ML' | 'MM' | 'MN' | 'MO' | 'MP' | 'MQ' | 'MR' | 'MS' | 'MT' | 'MU' | 'MV' | 'MW' | 'MX' | 'MY' | 'MZ' | 'NA' | 'NC' | 'NE' | 'NF' | 'NG' | 'NI' | 'NL' | 'NO' | 'NP' | 'NR' | 'NU' | 'NZ' | 'OM' | 'PA' | 'PE' | 'PF' | 'PG' | 'PH' | 'PK' | 'PL' | 'PM' | 'PN' | 'PR' | 'PS' | 'PT' | 'PW' | 'PY' | 'QA' | 'RE' | 'RO' | 'RS' | 'RU' | 'RW' | 'SA' | 'SB' | 'SC' | 'SD' | 'SE' | 'SG' | 'SH' | 'SI' | 'SJ' | 'SK' | 'SL' | 'SM' | 'SN' | 'SO' | 'SR' | 'SS' | 'ST' | 'SV' | 'SX' | 'SY' | 'SZ' | 'TC' | 'TD' | 'TF' | 'TG' | 'TH' | 'TJ' | 'TK' | 'TL' | 'TM' | 'TN' | 'TO' | 'TR' | 'TT' | 'TV' | 'TW' | 'TZ' | 'UA' | 'UG' | 'UM' | 'US' | 'UY' | 'UZ' | 'VA' | 'VC' | 'VE' | 'VG' | 'VI' | 'VN' | 'VU' | 'WF' | 'WS' | 'XK' | 'YE' | 'YT' | 'ZA' | 'ZM' | 'ZW';

export type InvoiceLineItem = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: string;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** What one costs. */
  price: number;
  /** price x quantity */
  amount: number;
  type: 'static';
  ledgerAccountId: null;
  ledgerAccountCredit: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: string;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** What one costs. */
  price: number;
  /** price x quantity */
  amount: number;
  type: 'usage';
  /** The account of the subscription and the meter. */
  ledgerAccountId: string;
  /** The units that the line bills. */
  ledgerAccountCredit: number;
  /** What billed the units: the id of the invoice. */
  billingRunId: string;
};

export interface PaymentMethod {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  customerId: string;
  pricingModelId: string;
  billingDetails: BillingAddressOutput;
  type: PaymentMethodType;
  /** True for the one that is charged where nothing else is said. */
  default: boolean;
  paymentMethodData: Record<string, string | number>;
  metadata: Metadata | null;
}

export type Purchase = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  quantity: number;
  name: string;
  status: PurchaseStatus;
  /** Its invoice; of a subscription the first one. */
  invoiceId: string | null;
  checkoutSessionId: string | null;
  billingCycleAnchor: number | null;
  /** What its first invoice asked for; 0 where there was none. */
  firstInvoiceValue: number;
  bankPaymentOnly: boolean | null;
  /** When it was paid for first. */
  purchaseDate: number | null;
  endDate: number | null;
  proposal: string | null;
  archived: boolean | null;
  billingAddress: BillingAddressOutput | null;
  metadata: Metadata | null;
  position: number;
  priceType: 'subscription';
  subscriptionId: string;
  trialPeriodDays: number;
  /** Unit price x quantity, before discount and tax. */
  pricePerBillingCycle: number;
  intervalUnit: IntervalUnit;
  intervalCount: number;
  totalPurchaseValue: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  quantity: number;
  name: string;
  status: PurchaseStatus;
  /** Its invoice; of a subscription the first one. */
  invoiceId: string | null;
  checkoutSessionId: string | null;
  billingCycleAnchor: number | null;
  /** What its first invoice asked for; 0 where there was none. */
  firstInvoiceValue: number;
  bankPaymentOnly: boolean | null;
  /** When it was paid for first. */
  purchaseDate: number | null;
  endDate: number | null;
  proposal: string | null;
  archived: boolean | null;
  billingAddress: BillingAddressOutput | null;
  metadata: Metadata | null;
  position: number;
  subscriptionId: null;
  trialPeriodDays: null;
  pricePerBillingCycle: null;
  intervalUnit: null;
  intervalCount: null;
  /** A whole number; money is in the smallest unit of the currency. */
  totalPurchaseValue: number;
  priceType: 'single_payment';
};

export type PurchaseStatus = 'open' | 'pending' | 'failed' | 'paid' | 'refunded' | 'partial_refund' | 'fraudulent';

export interface PricingModelDetails {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  /** Customers that name no pricing model get the default one. */
  isDefault: boolean;
  name: string;
  products: Array<ProductWithPrices>;
  usageMeters: Array<UsageMeterWithPrices>;
  defaultProduct?: ProductWithPrices;
}

export interface ProductWithPrices {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  description: string | null;
  imageURL: string | null;
  singularQuantityLabel: string | null;
  pluralQuantityLabel: string | null;
  /** True for the plan that every customer starts on. */
  default: boolean;
  active: boolean;
  prices: Array<Price>;
  defaultPrice: Price;
  features: Array<Feature>;
}

export type Feature = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'toggle';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  resourceId: null;
  rolloverMaximum: null;
  rolloverPeriods: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'usage_credit_grant';
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  usageMeterId: string;
  renewalFrequency: RenewalFrequency;
  resourceId: null;
  /** Of what this grant leaves unused at the end of a billing period at most so many units go over into the next ones. Null: none. */
  rolloverMaximum: number | null;
  /** For so many billing periods what goes over can be used. Null where nothing goes over. */
  rolloverPeriods: number | null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'resource';
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  usageMeterId: null;
  renewalFrequency: null;
  resourceId: string;
  rolloverMaximum: null;
  rolloverPeriods: null;
};

export interface UsageMeterWithPrices {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** A balance that falls below so many units is told. Null: none is. */
  lowBalanceThreshold: number | null;
  prices: Array<Price>;
  defaultPrice?: Price;
}

export interface Entitlements {
  customerId: string;
  externalId: string;
  pricingModelId: string;
  /** One for each slug, in order of creation. */
  features: Array<EntitledFeature>;
  /** One for each usage meter of each subscription, the newest subscription first. */
  usageMeterBalances: Array<EntitledBalance>;
  /** One for each resource that a feature of each subscription is or was about, the newest first. */
  resources: Array<EntitledResource>;
}

export type EntitledFeature = {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that give it, the newest first. */
  subscriptionIds: Array<string>;
  type: 'toggle';
  amount: null;
  usageMeterId: null;
  resourceId: null;
} | {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that give it, the newest first. */
  subscriptionIds: Array<string>;
  type: 'usage_credit_grant';
  /** What these subscriptions grant of it together: credits each time they are granted, or places. */
  amount: number;
  usageMeterId: string;
  resourceId: null;
} | {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that give it, the newest first. */
  subscriptionIds: Array<string>;
  type: 'resource';
  /** What these subscriptions grant of it together: credits each time they are granted, or places. */
  amount: number;
  usageMeterId: null;
  resourceId: string;
};

export interface EntitledBalance {
  usageMeterId: string;
  slug: string;
  subscriptionId: string;
  /** Credits that can still be used and are not held, minus usage that no credit covered. */
  availableBalance: number;
  /** Units that open holds have set aside; no longer in availableBalance. */
  held: number;
}

export interface EntitledResource {
  resourceId: string;
  slug: string;
  subscriptionId: string;
  capacity: number;
  claimed: number;
  /** capacity - claimed: negative when capacity went below what is held. */
  available: number;
}

export interface LedgerEntry {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  subscriptionId: string;
  usageMeterId: string;
  type: 'grant' | 'usage' | 'expiry' | 'take_back' | 'settlement' | 'settlement_undone';
  /** What it changed the balance by: credits are positive, usage is negative. */
  amount: number;
  /** Granted and settled less used, expired and taken back, with this entry. */
  availableAfter: number;
  /** Of usage: the price that it is counted at. */
  priceId: string | null;
  billingPeriodId: string | null;
  /** The credits that were granted, ended or taken back. */
  usageCreditId: string | null;
  /** What it was booked for: the number of the booking of usage events, a credit, or an invoice. */
  sourceId: string;
  /** Of usage: the grants it drew from, in the order of use. What is missing to its amount is overage. */
  usageCreditApplications: Array<UsageCreditApplication>;
}

export interface UsageCreditApplication {
  usageCreditId: string;
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  /** Why the credits were granted. */
  source: string;
  /** The feature that granted them, if one did. */
  featureId: string | null;
  expiresAt: number | null;
}

export interface LedgerBalance {
  subscriptionId: string;
  usageMeterId: string;
  /** A whole number; money is in the smallest unit of the currency. */
  availableBalance: number;
}

export interface PortalSession {
  url: string;
  /** Epoch milliseconds, of real time even where a test clock is set. */
  expiresAt: number;
  returnUrl: string | null;
}

export type ResolvedAdjustmentTiming = 'immediately' | 'at_end_of_current_billing_period';

export interface AdjustmentPreview {
  canAdjust: boolean;
  /** Epoch milliseconds. */
  previewGeneratedAt: number;
  /** Why the change would be refused. */
  reason?: string;
  /** For the change, before discount and tax. */
  prorationAmount?: number;
  /** Usage of an unpaid invoice of the period, which the invoice of the change takes the place of. */
  carriedOverAmount?: number;
  /** A whole number; money is in the smallest unit of the currency. */
  discountAmount?: number;
  /** A whole number; money is in the smallest unit of the currency. */
  taxAmount?: number;
  /** What would be charged now. */
  totalDue?: number;
  /** Of a whole period. */
  currentPlanTotal?: number;
  /** A whole number; money is in the smallest unit of the currency. */
  newPlanTotal?: number;
  resolvedTiming?: ResolvedAdjustmentTiming;
  /** Epoch milliseconds. */
  effectiveDate?: number;
  isUpgrade?: boolean;
  /** At the effective date. */
  percentThroughBillingPeriod?: number;
  /** Epoch milliseconds. */
  billingPeriodEnd?: number;
  /** What would be charged. */
  paymentMethod?: {
    id: string;
    type: PaymentMethodType;
    last4?: string;
    brand?: string;
  };
  currentSubscriptionItems?: Array<{
    name: string | null;
    /** A whole number; money is in the smallest unit of the currency. */
    unitPrice: number;
    quantity: number;
    priceId: string | null;
  }>;
  newSubscriptionItems?: Array<{
    name: string | null;
    /** A whole number; money is in the smallest unit of the currency. */
    unitPrice: number;
    quantity: number;
    priceId: string | null;
  }>;
}

export interface Payment {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  invoiceId: string;
  subscriptionId: string | null;
  billingPeriodId: string | null;
  purchaseId: string | null;
  paymentMethodId: string | null;
  paymentMethod: PaymentMethodType;
  /** What is charged, in the smallest unit of the currency. */
  amount: number;
  currency: CurrencyCode;
  /** What the lines add up to, less the discount, without tax. */
  subtotal: number | null;
  taxAmount: number | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** Decimal text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: number | null;
  status: PaymentStatus;
  /** Epoch milliseconds. */
  chargeDate: number;
  settlementDate: number | null;
  description: string | null;
  receiptNumber: string | null;
  receiptURL: string | null;
  /** What the customer has to do before the charge can go on, in the words of the processor; else null. */
  nextAction: unknown;
  failureCode: string | null;
  failureMessage: string | null;
  /** True when all of it was refunded. */
  refunded: boolean;
  /** What was refunded so far; null before any refund. */
  refundedAmount: number | null;
  /** When the last refund was made. */
  refundedAt: number | null;
}

export type PaymentStatus = 'processing' | 'requires_confirmation' | 'requires_action' | 'succeeded' | 'failed' | 'canceled' | 'refunded';

export interface PricingModel {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  /** Customers that name no pricing model get the default one. */
  isDefault: boolean;
  name: string;
}

export interface PricingModelExport {
  pricingModel: {
    name: string;
    isDefault: boolean;
    features: Array<{
      type: 'toggle';
      slug: string;
      name: string;
      description: string;
      active: boolean;
    } | {
      type: 'usage_credit_grant';
      slug: string;
      name: string;
      description: string;
      active: boolean;
      /** A whole number; money is in the smallest unit of the currency. */
      amount: number;
      renewalFrequency: RenewalFrequency;
      usageMeterSlug: string;
      /** A whole number; money is in the smallest unit of the currency. */
      rolloverMaximum?: number;
      rolloverPeriods?: number;
    } | {
      type: 'resource';
      slug: string;
      name: string;
      description: string;
      active: boolean;
      /** A whole number; money is in the smallest unit of the currency. */
      amount: number;
      resourceSlug: string;
    }>;
    products: Array<{
      product: {
        name: string;
        slug: string;
        description?: string;
        imageURL?: string;
        singularQuantityLabel?: string;
        pluralQuantityLabel?: string;
        default: boolean;
        active: boolean;
      };
      price: {
        type: 'subscription';
        name?: string;
        slug?: string;
        /** A whole number; money is in the smallest unit of the currency. */
        unitPrice: number;
        isDefault: true;
        active: true;
        intervalUnit: IntervalUnit;
        intervalCount: number;
        trialPeriodDays?: number;
      } | {
        type: 'single_payment';
        name?: string;
        slug?: string;
        /** A whole number; money is in the smallest unit of the currency. */
        unitPrice: number;
        isDefault: true;
        active: true;
      };
      /** Slugs of the features that the product gives. */
      features: Array<string>;
    }>;
    usageMeters: Array<{
      usageMeter: {
        name: string;
        slug: string;
        aggregationType: UsageMeterAggregationType;
        /** A whole number; money is in the smallest unit of the currency. */
        lowBalanceThreshold?: number;
      };
      prices: Array<{
        type: 'usage';
        name?: string;
        slug?: string;
        /** A whole number; money is in the smallest unit of the currency. */
        unitPrice: number;
        intervalUnit: IntervalUnit;
        intervalCount: number;
        usageEventsPerUnit: number;
        isDefault: boolean;
        active: boolean;
      }>;
    }>;
    resources: Array<{
      slug: string;
      name: string;
      active: boolean;
    }>;
  };
  /** When anything of the pricing model changed last. */
  updatedAt: number;
}

export interface ClonedPricingModel {
  id: string;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  livemode: boolean;
  organizationId: string;
  isDefault: boolean;
  name: string;
  products: Array<ClonedProduct>;
  usageMeters: Array<ClonedUsageMeter>;
  defaultProduct?: ClonedProduct;
}

export interface ClonedProduct {
  id: string;
  livemode: boolean;
  organizationId: string;
  name: string;
  slug: string;
  description: string | null;
  imageURL: string | null;
  singularQuantityLabel: string | null;
  pluralQuantityLabel: string | null;
  /** True for the plan that every customer starts on. */
  default: boolean;
  active: boolean;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  pricingModelId: string;
  displayFeatures: Array<{
    enabled: boolean;
    label: string;
    details?: string;
  }> | null;
  prices: Array<ClonedPrice>;
  defaultPrice: ClonedPrice;
  features: Array<ClonedFeature>;
}

export interface ClonedPrice {
  id: string;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  livemode: boolean;
  pricingModelId: string;
  type: PriceType;
  productId: string | null;
  usageMeterId: string | null;
  name: string | null;
  slug: string | null;
  /** A whole number; money is in the smallest unit of the currency. */
  unitPrice: number;
  intervalUnit: IntervalUnit | null;
  intervalCount: number | null;
  trialPeriodDays: number | null;
  usageEventsPerUnit: number | null;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  setupFeeAmount: number | null;
  overagePriceId: string | null;
  startsWithCreditTrial: boolean | null;
}

export interface ClonedFeature {
  id: string;
  createdAt: string;
  updatedAt: string;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  type: FeatureType;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  amount: number | null;
  usageMeterId: string | null;
  renewalFrequency: RenewalFrequency | null;
  resourceId: string | null;
  /** Of what this grant leaves unused at the end of a billing period at most so many units go over into the next ones. Null: none. */
  rolloverMaximum: number | null;
  /** For so many billing periods what goes over can be used. Null where nothing goes over. */
  rolloverPeriods: number | null;
}

export interface ClonedUsageMeter {
  id: string;
  livemode: boolean;
  organizationId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** A balance that falls below so many units is told. Null: none is. */
  lowBalanceThreshold: number | null;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  pricingModelId: string;
  prices: Array<ClonedPrice>;
  defaultPrice?: ClonedPrice;
}

export interface Product {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  description: string | null;
  imageURL: string | null;
  singularQuantityLabel: string | null;
  pluralQuantityLabel: string | null;
  /** True for the plan that every customer starts on. */
  default: boolean;
  active: boolean;
}

export interface ProductFeature {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  productId: string;
  featureId: string;
  expiredAt: number | null;
}

export interface UsageMeter {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** A balance that falls below so many units is told. Null: none is. */
  lowBalanceThreshold: number | null;
}

export interface UsageMeterSummary {
  usageMeterId: string;
  /** Epoch milliseconds. */
  from: number;
  /** Epoch milliseconds. */
  to: number;
  groupBy: 'hour' | 'day' | 'month' | 'customer' | 'property';
  /** As booked: on a meter that counts distinct properties, of the first event with each in its period. */
  units: number;
  events: number;
  /** Each hour, day or month in order, without a gap; customers and values by their units, most first. */
  groups: Array<UsageTimeGroup | UsageCustomerGroup | UsageValueGroup>;
  /** The customers or values beyond the first 1000. Null where there are none. */
  other: {
    groups: number;
    /** A whole number; money is in the smallest unit of the currency. */
    units: number;
    events: number;
  } | null;
}

/** An hour, day or month in UTC, as far as it lies between `from` and `to`: `end` is not in it. */
export interface UsageTimeGroup {
  /** Epoch milliseconds. */
  start: number;
  /** Epoch milliseconds. */
  end: number;
  /** A whole number; money is in the smallest unit of the currency. */
  units: number;
  events: number;
}

export interface UsageCustomerGroup {
  customerId: string;
  externalId: string;
  /** A whole number; money is in the smallest unit of the currency. */
  units: number;
  events: number;
}

export interface UsageValueGroup {
  /** The property as text, its first 255 characters. Null: the event has none. */
  value: string | null;
  /** A whole number; money is in the smallest unit of the currency. */
  units: number;
  events: number;
}

export interface Resource {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  active: boolean;
}

export interface CatalogRecord {
  id: string;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  livemode: boolean;
  organizationId: string;
  isDefault: boolean;
  name: string;
}

export interface Catalog {
  id: string;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  livemode: boolean;
  organizationId: string;
  isDefault: boolean;
  name: string;
  products: Array<CatalogProduct>;
  usageMeters: Array<CatalogUsageMeter>;
  defaultProduct?: CatalogProduct;
}

export interface CatalogProduct {
  id: string;
  livemode: boolean;
  organizationId: string;
  name: string;
  slug: string;
  description: string | null;
  imageURL: string | null;
  singularQuantityLabel: string | null;
  pluralQuantityLabel: string | null;
  /** True for the plan that every customer starts on. */
  default: boolean;
  active: boolean;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  catalogId: string;
  displayFeatures: Array<{
    enabled: boolean;
    label: string;
    details?: string;
  }> | null;
  prices: Array<ClonedPrice>;
  defaultPrice: ClonedPrice;
}

export interface CatalogUsageMeter {
  id: string;
  livemode: boolean;
  organizationId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** A balance that falls below so many units is told. Null: none is. */
  lowBalanceThreshold: number | null;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  catalogId: string;
}

export type Discount = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** In upper case; unique in the pricing model. */
  code: string;
  /** Whole per cent, of which more than 100 take off everything, or money in the smallest unit. */
  amount: number;
  amountType: DiscountAmountType;
  /** Only an active one can be redeemed; redeemed ones go on. */
  active: boolean;
  duration: 'once';
  numberOfPayments: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** In upper case; unique in the pricing model. */
  code: string;
  /** Whole per cent, of which more than 100 take off everything, or money in the smallest unit. */
  amount: number;
  amountType: DiscountAmountType;
  /** Only an active one can be redeemed; redeemed ones go on. */
  active: boolean;
  duration: 'forever';
  numberOfPayments: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** In upper case; unique in the pricing model. */
  code: string;
  /** Whole per cent, of which more than 100 take off everything, or money in the smallest unit. */
  amount: number;
  amountType: DiscountAmountType;
  /** Only an active one can be redeemed; redeemed ones go on. */
  active: boolean;
  duration: 'number_of_payments';
  numberOfPayments: number;
};

export type RedeemedDiscount = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** In upper case; unique in the pricing model. */
  code: string;
  /** Whole per cent, of which more than 100 take off everything, or money in the smallest unit. */
  amount: number;
  amountType: DiscountAmountType;
  /** Only an active one can be redeemed; redeemed ones go on. */
  active: boolean;
  duration: 'once';
  numberOfPayments: null;
  /** How many subscriptions and single purchases have redeemed it. */
  redemptionCount: number;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** In upper case; unique in the pricing model. */
  code: string;
  /** Whole per cent, of which more than 100 take off everything, or money in the smallest unit. */
  amount: number;
  amountType: DiscountAmountType;
  /** Only an active one can be redeemed; redeemed ones go on. */
  active: boolean;
  duration: 'forever';
  numberOfPayments: null;
  /** How many subscriptions and single purchases have redeemed it. */
  redemptionCount: number;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** In upper case; unique in the pricing model. */
  code: string;
  /** Whole per cent, of which more than 100 take off everything, or money in the smallest unit. */
  amount: number;
  amountType: DiscountAmountType;
  /** Only an active one can be redeemed; redeemed ones go on. */
  active: boolean;
  duration: 'number_of_payments';
  numberOfPayments: number;
  /** How many subscriptions and single purchases have redeemed it. */
  redemptionCount: number;
};

export type ExpiredSubscriptionItemFeature = {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The link it came from; null when added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: string;
  updatedAt: string;
  expiredAt: string | null;
  detachedAt: string | null;
  createdByCommit: null;
  updatedByCommit: null;
  type: 'toggle';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The link it came from; null when added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: string;
  updatedAt: string;
  expiredAt: string | null;
  detachedAt: string | null;
  createdByCommit: null;
  updatedByCommit: null;
  type: 'usage_credit_grant';
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  usageMeterId: string;
  renewalFrequency: RenewalFrequency;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The link it came from; null when added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: string;
  updatedAt: string;
  expiredAt: string | null;
  detachedAt: string | null;
  createdByCommit: null;
  updatedByCommit: null;
  type: 'resource';
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  usageMeterId: null;
  renewalFrequency: null;
  resourceId: string;
};

export interface ResourceClaim {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  subscriptionId: string;
  resourceId: string;
  /** The oldest active feature that grants the resource; null when none does any more. */
  subscriptionItemFeatureId: string | null;
  externalId: string | null;
  /** Epoch milliseconds. */
  claimedAt: number;
  releasedAt: number | null;
  releaseReason: string | null;
  /** When a temporary claim ends by itself. */
  expiredAt: number | null;
  metadata: Metadata | null;
}

export interface ResourceUsage {
  resourceSlug: string;
  resourceId: string;
  capacity: number;
  claimed: number;
  /** capacity - claimed: negative when capacity went below what is held already. */
  available: number;
}

export interface TemporaryResourceClaims {
  claimIds: Array<string>;
  /** When they end. */
  expiredAt: number;
  /** What leaves no room for them from then on. */
  reason: 'scheduled_cancellation' | 'scheduled_adjustment';
}

export interface EntitlementCheckResult {
  customerExternalId: string;
  featureSlug: string;
  allowed: boolean;
  /** Why it is not allowed; null when it is. */
  reason: EntitlementCheckReason | null;
  /** That of the feature; null where there is none. */
  type: FeatureType | null;
  /** What is left of the feature's meter, in the subscriptions that give it; null where none gives credits. */
  availableBalance: number | null;
  /** Places of the resource in the subscriptions that give it; null where none gives any. */
  capacity: number | null;
  /** Places of the resource that are taken in them. */
  claimed: number | null;
}

export type EntitlementCheckReason = 'customer_not_found' | 'feature_not_found' | 'not_granted' | 'insufficient_balance' | 'insufficient_capacity' | 'resource_inactive';

export interface UsageCredit {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  usageMeterId: string;
  /** The feature that brought it; null: it was granted by hand. */
  featureId: string | null;
  /** billing_period_transition: it came with a billing period. manual_adjustment: granted by hand or with a change of plan. rollover: what an earlier one left unused. purchase: bought. */
  source: 'billing_period_transition' | 'manual_adjustment' | 'admin' | 'rollover' | 'purchase';
  reason: string | null;
  /** Credits with a lower number are used first, then those that end first. */
  priority: number;
  /** Units that it was granted with. */
  issuedAmount: number;
  /** Units that paid for usage. */
  appliedAmount: number;
  /** Units that were unused when it ended. */
  expiredAmount: number;
  /** Units that were taken back. */
  takenBackAmount: number;
  /** Units that can still be used. */
  remainingAmount: number;
  /** It can be used until then; null: for ever. */
  expiresAt: number | null;
  /** active while units remain; after that expired where some ended unused, else taken_back where some were taken back, else used. */
  status: 'active' | 'used' | 'expired' | 'taken_back';
}

export interface UsageEvent {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  customerId: string;
  subscriptionId: string;
  usageMeterId: string;
  priceId: string;
  /** The billing period that was current when the event arrived, whatever its usageDate. */
  billingPeriodId: string | null;
  transactionId: string;
  amount: number;
  /** Epoch milliseconds. */
  usageDate: number;
  properties: Record<string, unknown> | null;
}

export interface UsageBalance {
  subscriptionId: string;
  usageMeterId: string;
  /** A whole number; money is in the smallest unit of the currency. */
  availableBalance: number;
}

export interface UsageHold {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  usageMeterId: string;
  /** The price that the use is counted at when the hold is settled. */
  priceId: string;
  amount: number;
  /** An open hold lowers the balance. An expired one holds nothing any more, and can still be settled. */
  status: 'open' | 'settled' | 'released' | 'expired';
  /** What was used after all. */
  settledAmount: number | null;
  /** Epoch milliseconds. */
  expiresAt: number;
}

export interface UpcomingInvoice {
  id: null;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  invoiceNumber: null;
  /** Epoch milliseconds. */
  invoiceDate: number;
  dueDate: number | null;
  status: 'draft';
  currency: CurrencyCode;
  /** What the lines add up to, less the discount, without tax. */
  subtotal: number | null;
  taxAmount: number | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** Decimal text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: number | null;
  /** What the discount took off the sum of the lines. */
  discountAmount: number;
  /** What is asked for: subtotal and tax. */
  total: number;
  /** What was paid of the total, refunds not taken off. */
  amountPaid: number;
  /** A whole number; money is in the smallest unit of the currency. */
  amountRefunded: number;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: null;
  receiptPdfURL: string | null;
  memo: string | null;
  bankPaymentOnly: boolean | null;
  type: 'subscription';
  subscriptionId: string;
  billingPeriodId: null;
  billingPeriodStartDate: number | null;
  billingPeriodEndDate: number | null;
  purchaseId: null;
}

export type UpcomingInvoiceLineItem = {
  id: null;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: null;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** What one costs. */
  price: number;
  /** price x quantity */
  amount: number;
  type: 'static';
  ledgerAccountId: null;
  ledgerAccountCredit: null;
} | {
  id: null;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: null;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** What one costs. */
  price: number;
  /** price x quantity */
  amount: number;
  type: 'usage';
  /** The account of the subscription and the meter. */
  ledgerAccountId: string;
  /** The units that the line bills. */
  ledgerAccountCredit: number;
  billingRunId: null;
};

export interface InvoiceExplanation {
  invoiceId: string;
  invoiceNumber: string;
  currency: string;
  reason: InvoiceReason;
  subscriptionId: string | null;
  billingPeriodId: string | null;
  billingPeriod: ExplainedPeriod | null;
  lines: Array<ExplainedInvoiceLine>;
  /** A whole number; money is in the smallest unit of the currency. */
  sumOfLines: number;
  discount: {
    discountRedemptionId: string;
    code: string;
    kind: 'percent' | 'fixed';
    /** Per cent, of which 100 count at the most, or minor units. */
    amount: number;
    /** What it took off: at most the sum of the lines. */
    computed: number;
    rounding: ExplainedRounding;
  } | null;
  /** The sum of the lines less the discount. */
  taxable: number;
  tax: {
    type: TaxType | null;
    country: CountryCode | null;
    state: string | null;
    ratePercentage: string;
    /** True when the prices contain the tax: it is taxable x rate / (100 + rate) then, else taxable x rate / 100. */
    inclusive: boolean;
    /** A whole number; money is in the smallest unit of the currency. */
    amount: number;
    rounding: ExplainedRounding;
  } | null;
  /** A whole number; money is in the smallest unit of the currency. */
  subtotal: number;
  /** A whole number; money is in the smallest unit of the currency. */
  taxAmount: number;
  /** A whole number; money is in the smallest unit of the currency. */
  total: number;
}

export type InvoiceReason = 'subscription_start' | 'renewal' | 'final_usage' | 'adjustment' | 'purchase';

/** From startAt (in it) to endAt (not in it). */
export interface ExplainedPeriod {
  /** Epoch milliseconds. */
  startAt: number;
  /** Epoch milliseconds. */
  endAt: number;
}

export interface ExplainedInvoiceLine {
  id: string;
  type: 'static' | 'usage';
  /** How the amount was reckoned. item: unitPrice x itemQuantity x fraction. usage: units x unitPrice / usageEventsPerUnit. proration: the sum of value x fraction over the segments, less paid and waived, zero at the least. paused_time: what was kept, at most what the other lines add up to, taken off. */
  kind: 'item' | 'usage' | 'proration' | 'paused_time' | 'unexplained';
  description: string | null;
  /** As on the invoice: the amount is price x quantity. */
  quantity: number;
  /** A whole number; money is in the smallest unit of the currency. */
  price: number;
  /** A whole number; money is in the smallest unit of the currency. */
  amount: number;
  /** The price for one, or for usageEventsPerUnit units. */
  unitPrice: number | null;
  itemQuantity: number | null;
  units: number | null;
  usageEventsPerUnit: number | null;
  /** The time that the line bills. */
  period: ExplainedPeriod | null;
  fraction: ExplainedFraction | null;
  /** What each part of a period with changes of plan would have cost for the whole of it. */
  segments: Array<{
    /** A whole number; money is in the smallest unit of the currency. */
    value: number;
    fraction: ExplainedFraction;
  }> | null;
  /** What the segments are worth together. */
  fairValue: number | null;
  /** What was paid, or is being paid, of that already. */
  paid: number | null;
  /** What changes without proration left out of it. */
  waived: number | null;
  /** What was paid for paused time and not taken off before. */
  kept: number | null;
  rounding: ExplainedRounding;
  /** A whole number; money is in the smallest unit of the currency. */
  discountShare: number;
  /** A whole number; money is in the smallest unit of the currency. */
  taxShare: number;
  priceId: string | null;
  subscriptionItemId: string | null;
  ledgerAccountId: string | null;
}

/** The time of part divided by the time of whole, by the millisecond. */
export interface ExplainedFraction {
  part: ExplainedPeriod;
  whole: ExplainedPeriod;
}

/** The exact value, numerator / denominator, and what it was rounded to: half away from zero. */
export interface ExplainedRounding {
  numerator: string;
  denominator: string;
  /** A whole number; money is in the smallest unit of the currency. */
  rounded: number;
}

export interface TaxRate {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  country: CountryCode;
  /** In upper case; null: wherever the country has no state rate. */
  state: string | null;
  type: TaxType;
  /** Decimal text: 19 or 8.875. */
  percentage: string;
  /** True where prices contain the tax already. */
  inclusive: boolean;
  active: boolean;
  name: string | null;
}

export type CheckoutSession = {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddressOutput | null;
  quantity: number;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** From then on it can no longer be confirmed. */
  expires: number;
  type: 'product';
  priceId: string;
  /** The last attempt to buy. */
  purchaseId: string | null;
  invoiceId: null;
  customerId: string | null;
  preserveBillingCycleAnchor: boolean;
  targetSubscriptionId: null;
  automaticallyUpdateSubscriptions: null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddressOutput | null;
  quantity: number;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** From then on it can no longer be confirmed. */
  expires: number;
  type: 'activate_subscription';
  priceId: string | null;
  purchaseId: null;
  invoiceId: null;
  customerId: string | null;
  preserveBillingCycleAnchor: boolean;
  targetSubscriptionId: string;
  automaticallyUpdateSubscriptions: boolean | null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddressOutput | null;
  quantity: number;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** From then on it can no longer be confirmed. */
  expires: number;
  type: 'add_payment_method';
  priceId: string | null;
  purchaseId: string | null;
  invoiceId: string | null;
  customerId: string;
  preserveBillingCycleAnchor: boolean;
  targetSubscriptionId: string | null;
  automaticallyUpdateSubscriptions: boolean | null;
} | {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddressOutput | null;
  quantity: number;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** From then on it can no longer be confirmed. */
  expires: number;
  type: 'purchase';
  priceId: string;
  purchaseId: string;
  invoiceId: string | null;
  customerId: string | null;
  preserveBillingCycleAnchor: false;
  targetSubscriptionId: null;
  automaticallyUpdateSubscriptions: null;
};

export type CheckoutSessionStatus = 'open' | 'pending' | 'succeeded' | 'failed' | 'expired';

export interface Webhook {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  /** Events of this pricing model are sent, no others. */
  pricingModelId: string;
  name: string;
  url: string;
  /** The types of events that are sent; none: all but usage_balance.low, which has to be named. */
  filterTypes: Array<WebhookFilterType>;
  active: boolean;
  /** Why the service switched it off. Null when it did not; to switch it on again, set active. */
  disabledReason: string | null;
}

export interface WebhookDelivery {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Epoch milliseconds. */
  updatedAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  webhookId: string;
  /** Null for a sample, which tells of nothing that happened. */
  eventId: string | null;
  eventType: EventType;
  objectId: string;
  status: WebhookDeliveryStatus;
  /** How often the event was sent. */
  attempts: number;
  nextAttemptAt: number | null;
  lastAttemptAt: number | null;
  /** What the endpoint answered; null when it did not. */
  lastStatusCode: number | null;
  /** Why the last attempt failed. */
  lastError: string | null;
}

export interface WebhookAttempt {
  /** 1 is the first. */
  number: number;
  /** Epoch milliseconds. */
  startedAt: number;
  durationMs: number;
  /** What the endpoint answered; null when it did not. */
  statusCode: number | null;
  /** Why the attempt failed; null when it succeeded. */
  error: string | null;
  /** The first 2 KiB of what the endpoint answered. */
  answer: string | null;
}

export interface Event {
  id: string;
  /** Epoch milliseconds. */
  createdAt: number;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  type: EventType;
  object: string;
  objectId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  payload: EventPayload;
}

export interface EventPayload {
  /** The id of the record that the event is about. */
  id: string;
  /** The kind of that record. */
  object: string;
  /** The meter of it that the event is about, if it is. */
  usageMeterId?: string;
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: EventType;
  eventId: string;
  /** Epoch milliseconds. */
  occurredAt: number;
  livemode: boolean;
}

export interface TestClock {
  /** The environment's time, in epoch milliseconds. */
  now: number;
  /** True once it was set: then it stands still until it is moved. */
  frozen: boolean;
}

/** What was done since the clock was last set. */
export interface ClockWork {
  /** Billing periods that began where another one ended. */
  periodsRenewed: number;
  /** Subscriptions that ended. */
  subscriptionsCanceled: number;
  /** Invoices that were made. */
  invoicesCreated: number;
  /** Charges that succeeded. */
  paymentsSucceeded: number;
  /** Charges that failed. */
  paymentsFailed: number;
  /** Credits whose unused rest is gone. */
  creditsExpired: number;
  /** Events that were published. */
  eventsCreated: number;
}

export interface BillingAddressOutput {
  name?: string | null;
  firstName?: string | null;
  lastName?: string | null;
  email?: string | null;
  phone?: string | null;
  address: {
    name?: string | null;
    line1?: string | null;
    line2?: string | null;
    city?: string | null;
    state?: string | null;
    postal_code?: string | null;
    country: string;
  };
}

/** The body of a message to a webhook. */
export type WebhookPayload = CustomerCreatedPayload | CustomerUpdatedPayload | PurchaseCompletedPayload | PaymentFailedPayload | PaymentSucceededPayload | SubscriptionCreatedPayload | SubscriptionUpdatedPayload | SubscriptionCanceledPayload | UsageBalanceLowPayload;

export interface UtilsGetPingAnswer {
  message: 'pong';
}

export interface ApiKeysGetInput {
  id: string;
}

export interface ApiKeysGetAnswer {
  apiKey: ApiKey;
}

export interface ApiKeysListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  active?: boolean;
}

export interface ApiKeysListAnswer {
  data: Array<ApiKey>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface SettingsGetAnswer {
  settings: Settings;
}

export interface SettingsUpdateInput {
  settings: {
    currency?: CurrencyCode;
    allowMultipleSubscriptions?: boolean;
    dunning?: {
      /** At most 10 numbers of days; empty: a failed attempt is the last. */
      retryDays?: Array<number>;
      terminalAction?: TerminalAction;
    };
    netTermsDays?: number;
    seller?: {
      name?: string | null;
      email?: string | null;
      addressLines?: Array<string>;
      taxId?: string | null;
    } | null;
    /** none: invoices carry no tax; rates: the tax of the tax rates, by the customer’s billing address. */
    taxProvider?: 'none' | 'rates';
  };
}

export interface SettingsUpdateAnswer {
  settings: Settings;
}

export interface AuditLogListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  recordId?: string;
  /** The type of the record, such as subscriptionItem. */
  record?: string;
  action?: string;
  apiKeyId?: string;
  requestId?: string;
  /** Changes made at this instant or later. */
  since?: string | number;
  /** Changes made before this instant. */
  until?: string | number;
}

export interface AuditLogListAnswer {
  data: Array<AuditLogEntry>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CustomersListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  email?: string;
  externalId?: string;
  pricingModelId?: string;
  archived?: boolean;
}

export interface CustomersListAnswer {
  data: Array<Customer>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CustomersCreateInput {
  customer: {
    email: string;
    name: string;
    logoURL?: string | null;
    iconURL?: string | null;
    domain?: string | null;
    userId?: string | null;
    billingAddress?: BillingAddress | null;
    /** True for who owes no tax; false when absent at the start. */
    taxExempt?: boolean;
    externalId: string;
    /** The default pricing model when absent. */
    pricingModelId?: string | null;
    /** True for a customer that is on record only: it gets no plan. */
    archived?: boolean;
  };
}

export interface CustomersCreateAnswer {
  data: {
    customer: Customer;
    subscription?: Subscription;
    subscriptionItems?: Array<SubscriptionItem>;
  };
}

export interface CustomersGetInput {
  externalId: string;
  /** Needed only when several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersGetAnswer {
  customer: Customer;
}

export interface CustomersUpdateInput {
  externalId: string;
  /** Needed only when several pricing models have this external id. */
  pricingModelId?: string;
  customer: {
    email?: string;
    name?: string;
    logoURL?: string | null;
    iconURL?: string | null;
    domain?: string | null;
    userId?: string | null;
    billingAddress?: BillingAddress | null;
    /** True for who owes no tax; false when absent at the start. */
    taxExempt?: boolean;
  };
}

export interface CustomersUpdateAnswer {
  customer: Customer;
}

export interface CustomersArchiveInput {
  externalId: string;
  /** Needed only when several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersArchiveAnswer {
  customer: Customer;
}

export interface CustomersGetBillingInput {
  externalId: string;
  /** Needed only when several pricing models have this external id. */
  pricingModelId?: string;
}

export type CustomersGetBillingAnswer = CustomerBilling;

export interface CustomersGetEntitlementsInput {
  externalId: string;
  subscriptionId?: string;
  pricingModelId?: string;
}

export interface CustomersGetEntitlementsAnswer {
  entitlements: Entitlements;
}

export interface CustomersGetUsageBalancesInput {
  externalId: string;
  subscriptionId?: string;
  pricingModelId?: string;
}

export interface CustomersGetUsageBalancesAnswer {
  usageMeterBalances: Array<UsageMeterBalance>;
}

export interface CustomersListLedgerInput {
  externalId: string;
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  subscriptionId?: string;
  usageMeterId?: string;
  usageMeterSlug?: string;
  pricingModelId?: string;
  /** A past instant: epoch milliseconds or an ISO 8601 date-time. */
  asOf?: string | number;
}

export interface CustomersListLedgerAnswer {
  data: Array<LedgerEntry>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
  balances: Array<LedgerBalance>;
}

export interface CustomersCreatePortalSessionInput {
  externalId: string;
  /** Needed only when several pricing models have this external id. */
  pricingModelId?: string;
  portalSession?: {
    /** Where the portal leads back to. */
    returnUrl?: string | null;
    /** 3600 when absent, and at most 604800. */
    expiresInSeconds?: number;
  };
}

export interface CustomersCreatePortalSessionAnswer {
  portalSession: PortalSession;
}

export interface SubscriptionsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  status?: SubscriptionStatus;
  customerId?: string;
  priceId?: string;
  pricingModelId?: string;
}

export interface SubscriptionsListAnswer {
  data: Array<Subscription>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface SubscriptionsCreateInput {
  /** Needed only when several pricing models have this customerExternalId. */
  pricingModelId?: string;
  customerId?: string;
  /** The caller's own id, in place of customerId. */
  customerExternalId?: string;
  priceId?: string;
  /** The slug of an active price, in place of priceId. */
  priceSlug?: string;
  /** 1 when absent. */
  quantity?: number;
  /** When the first period begins, and is charged; now when absent. Until then the customer has what it had. */
  startDate?: number | string | null;
  /** The price's when absent. */
  interval?: IntervalUnit | null;
  /** The price's when absent. */
  intervalCount?: number | null;
  /** What the price's trial days come to when absent. */
  trialEnd?: number | string | null;
  metadata?: Metadata | null;
  name?: string | null;
  defaultPaymentMethodId?: string | null;
  /** Charged when the default one fails for good. */
  backupPaymentMethodId?: string | null;
  /** The code of an active discount, in any case: it is redeemed by this subscription. */
  discountCode?: string | null;
  /** True for a subscription that is given away. */
  doNotCharge?: boolean;
}

export interface SubscriptionsCreateAnswer {
  subscription: Subscription;
}

export interface SubscriptionsGetInput {
  id: string;
}

export interface SubscriptionsGetAnswer {
  subscription: Subscription;
}

export interface SubscriptionsCancelInput {
  id: string;
  cancellation: Cancellation;
}

export interface SubscriptionsCancelAnswer {
  subscription: Subscription;
}

export interface SubscriptionsUncancelInput {
  id: string;
}

export interface SubscriptionsUncancelAnswer {
  subscription: Subscription;
}

export interface SubscriptionsAdjustInput {
  id: string;
  adjustment: NewAdjustment;
}

export interface SubscriptionsAdjustAnswer {
  subscription: Subscription;
  /** The items of the plan that count now. */
  subscriptionItems: Array<SubscriptionItem>;
  resolvedTiming: ResolvedAdjustmentTiming;
  /** Whether a period costs more than before. */
  isUpgrade: boolean;
  /** What became of the change: awaiting_payment while its charge takes its time. */
  adjustment: {
    id: string;
    status: 'awaiting_payment' | 'scheduled' | 'applied' | 'canceled' | 'failed';
    invoiceId: string | null;
  };
}

export interface SubscriptionsPreviewAdjustInput {
  id: string;
  adjustment: NewAdjustment;
}

export type SubscriptionsPreviewAdjustAnswer = AdjustmentPreview;

export interface SubscriptionsCancelScheduledAdjustmentInput {
  id: string;
}

export interface SubscriptionsCancelScheduledAdjustmentAnswer {
  subscription: Subscription;
  /** Items that the change would have added or changed. */
  canceledItemCount: number;
}

export interface SubscriptionsPauseInput {
  id: string;
  pause?: SubscriptionPause;
}

export interface SubscriptionsPauseAnswer {
  subscription: Subscription;
}

export interface SubscriptionsResumeInput {
  id: string;
}

export interface SubscriptionsResumeAnswer {
  subscription: Subscription;
}

export type SubscriptionsAddFeatureInput = {
  id: string;
} & (AddFeature);

export interface SubscriptionsAddFeatureAnswer {
  subscriptionItemFeature: SubscriptionItemFeature;
}

export interface SubscriptionsRetryPaymentInput {
  id: string;
  /** What to charge this time; what the subscription is charged on when absent. */
  paymentMethodId?: string | null;
}

export interface SubscriptionsRetryPaymentAnswer {
  subscription: Subscription;
  payment: Payment;
}

export interface PricingModelsCreateInput {
  pricingModel: {
    name: string;
    /** True: the former default is no longer one. */
    isDefault?: boolean;
  };
  /** How often the free plan renews; absent: never. */
  defaultPlanIntervalUnit?: IntervalUnit;
}

export interface PricingModelsCreateAnswer {
  pricingModel: PricingModel;
}

export interface PricingModelsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  isDefault?: boolean;
}

export interface PricingModelsListAnswer {
  data: Array<PricingModel>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PricingModelsGetDefaultAnswer {
  pricingModel: PricingModelDetails;
}

export interface PricingModelsGetInput {
  id: string;
}

export interface PricingModelsGetAnswer {
  pricingModel: PricingModelDetails;
}

export interface PricingModelsUpdateInput {
  id: string;
  pricingModel: {
    id?: string;
    name?: string;
    isDefault?: boolean;
    features?: Array<FeatureStructure>;
    products?: Array<ProductStructure>;
    usageMeters?: Array<UsageMeterStructure>;
    resources?: Array<ResourceStructure>;
  };
}

export interface PricingModelsUpdateAnswer {
  pricingModel: PricingModel;
}

export interface PricingModelsSetupInput {
  name: string;
  /** From then on the default pricing model. */
  isDefault?: boolean;
  features?: Array<FeatureStructure>;
  products?: Array<ProductStructure>;
  usageMeters?: Array<UsageMeterStructure>;
  resources?: Array<ResourceStructure>;
}

export interface PricingModelsSetupAnswer {
  pricingModel: PricingModelDetails;
}

export interface PricingModelsExportInput {
  id: string;
}

export type PricingModelsExportAnswer = PricingModelExport;

export interface PricingModelsCloneInput {
  id: string;
  name: string;
  /** Where the copy is made; absent: where the source is. */
  destinationEnvironment?: DestinationEnvironment;
}

export interface PricingModelsCloneAnswer {
  pricingModel: ClonedPricingModel;
}

export interface ProductsCreateInput {
  product: {
    name: string;
    slug?: string;
    pricingModelId?: string | null;
    /** A new product is active, whatever is sent. */
    active?: boolean;
    default?: boolean;
    description?: string | null;
    imageURL?: string | null;
    singularQuantityLabel?: string | null;
    pluralQuantityLabel?: string | null;
  };
  price: {
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    isDefault?: boolean;
    active?: boolean;
    type: 'subscription';
    intervalUnit: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: number | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  } | {
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    isDefault?: boolean;
    active?: boolean;
    type: 'single_payment';
    intervalUnit?: null;
    intervalCount?: null;
    trialPeriodDays?: null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  };
  featureIds?: Array<string>;
}

export interface ProductsCreateAnswer {
  product: Product;
}

export interface ProductsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  pricingModelId?: string;
  active?: boolean;
  default?: boolean;
  slug?: string;
}

export interface ProductsListAnswer {
  data: Array<Product>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface ProductsGetInput {
  id: string;
}

export type ProductsGetAnswer = ProductWithPrices;

export interface ProductsUpdateInput {
  id: string;
  product: {
    id?: string;
    name?: string;
    slug?: string;
    active?: boolean;
    default?: boolean;
    description?: string | null;
    imageURL?: string | null;
    singularQuantityLabel?: string | null;
    pluralQuantityLabel?: string | null;
  };
  price?: {
    type?: PriceType;
    productId?: string;
    name?: string | null;
    slug?: string | null;
    unitPrice?: number;
    intervalUnit?: IntervalUnit | null;
    intervalCount?: number | null;
    trialPeriodDays?: number | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  };
  featureIds?: Array<string>;
}

export interface ProductsUpdateAnswer {
  product: Product;
}

export interface ProductFeaturesCreateInput {
  productFeature: {
    productId: string;
    featureId: string;
    /** When a new link ends; null or absent: never. */
    expiredAt?: number | string | null;
  };
}

export interface ProductFeaturesCreateAnswer {
  productFeature: {
    id: string;
    /** Epoch milliseconds. */
    createdAt: number;
    /** Epoch milliseconds. */
    updatedAt: number;
    livemode: boolean;
    organizationId: string;
    pricingModelId: string;
    productId: string;
    featureId: string;
    expiredAt: number | null;
    createdByCommit: string | null;
    updatedByCommit: string | null;
  };
}

export interface ProductFeaturesListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  pricingModelId?: string;
  productId?: string;
  featureId?: string;
}

export interface ProductFeaturesListAnswer {
  data: Array<ProductFeature>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface ProductFeaturesGetInput {
  id: string;
}

export interface ProductFeaturesGetAnswer {
  productFeature: ProductFeature;
}

export interface ProductFeaturesExpireInput {
  id: string;
}

export interface ProductFeaturesExpireAnswer {
  success: true;
}

export interface PricesCreateInput {
  price: {
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    isDefault?: boolean;
    active?: boolean;
    type: 'subscription';
    intervalUnit: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: number | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    productId: string;
    pricingModelId?: string | null;
  } | {
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    isDefault?: boolean;
    active?: boolean;
    type: 'single_payment';
    intervalUnit?: null;
    intervalCount?: null;
    trialPeriodDays?: null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    productId: string;
    pricingModelId?: string | null;
  } | {
    name?: string | null;
    slug?: string | null;
    unitPrice: number;
    isDefault?: boolean;
    active?: boolean;
    type: 'usage';
    usageMeterId: string;
    usageEventsPerUnit?: number;
    intervalUnit?: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: null;
    productId?: null;
    pricingModelId?: string | null;
  };
}

export interface PricesCreateAnswer {
  price: Price;
}

export interface PricesListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  pricingModelId?: string;
  productId?: string;
  usageMeterId?: string;
  type?: PriceType;
  active?: boolean;
  isDefault?: boolean;
  slug?: string;
}

export interface PricesListAnswer {
  data: Array<Price>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PricesGetInput {
  id: string;
}

export interface PricesGetAnswer {
  price: Price;
}

export interface PricesUpdateInput {
  id: string;
  price: {
    type?: PriceType;
    name?: string | null;
    slug?: string | null;
    isDefault?: boolean;
    active?: boolean;
    id?: string;
  };
}

export interface PricesUpdateAnswer {
  price: Price;
}

export interface FeaturesCreateInput {
  feature: {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    type: 'toggle';
    amount?: null;
    usageMeterId?: null;
    renewalFrequency?: null;
    resourceId?: null;
    rolloverMaximum?: null;
    rolloverPeriods?: null;
  } | {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    type: 'usage_credit_grant';
    amount: number;
    usageMeterId: string;
    renewalFrequency: RenewalFrequency;
    resourceId?: null;
    /** Of what this grant leaves unused at the end of a billing period at most so many units go over into the next ones. Null: none. */
    rolloverMaximum?: number | null;
    /** For so many billing periods what goes over can be used. Null where nothing goes over. */
    rolloverPeriods?: number | null;
  } | {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    type: 'resource';
    amount: number;
    usageMeterId?: null;
    renewalFrequency?: null;
    resourceId: string;
    rolloverMaximum?: null;
    rolloverPeriods?: null;
  };
}

export interface FeaturesCreateAnswer {
  feature: Feature;
}

export interface FeaturesListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  pricingModelId?: string;
  type?: FeatureType;
  active?: boolean;
  slug?: string;
}

export interface FeaturesListAnswer {
  data: Array<Feature>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface FeaturesGetInput {
  id: string;
}

export interface FeaturesGetAnswer {
  feature: Feature;
}

export interface FeaturesUpdateInput {
  id: string;
  feature: {
    id?: string;
    type?: FeatureType;
    slug?: string;
    name?: string;
    description?: string;
    amount?: number | null;
    usageMeterId?: string | null;
    renewalFrequency?: RenewalFrequency | null;
    resourceId?: string | null;
    /** Of what this grant leaves unused at the end of a billing period at most so many units go over into the next ones. Null: none. */
    rolloverMaximum?: number | null;
    /** For so many billing periods what goes over can be used. Null where nothing goes over. */
    rolloverPeriods?: number | null;
    active?: boolean;
  };
}

export interface FeaturesUpdateAnswer {
  feature: Feature;
}

export interface UsageMetersCreateInput {
  usageMeter: {
    name: string;
    slug: string;
    aggregationType?: UsageMeterAggregationType;
    /** A balance that falls below so many units is told. Null: none is. */
    lowBalanceThreshold?: number | null;
    pricingModelId?: string | null;
  };
  price?: {
    type?: 'usage';
    unitPrice?: number;
    usageEventsPerUnit?: number;
  };
}

export interface UsageMetersCreateAnswer {
  usageMeter: UsageMeter;
}

export interface UsageMetersListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  pricingModelId?: string;
  slug?: string;
  aggregationType?: UsageMeterAggregationType;
}

export interface UsageMetersListAnswer {
  data: Array<UsageMeter>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface UsageMetersGetInput {
  id: string;
}

export interface UsageMetersGetAnswer {
  usageMeter: UsageMeter;
}

export interface UsageMetersUpdateInput {
  id: string;
  usageMeter: {
    id?: string;
    name?: string;
    slug?: string;
    aggregationType?: UsageMeterAggregationType;
    /** A balance that falls below so many units is told. Null: none is. */
    lowBalanceThreshold?: number | null;
  };
}

export interface UsageMetersUpdateAnswer {
  usageMeter: UsageMeter;
}

export interface UsageMetersGetSummaryInput {
  id: string;
  /** The first instant. 30 days before `to` when absent. */
  from?: string | number;
  /** The first instant after the last. The end of this hour when absent. */
  to?: string | number;
  /** By day when absent. */
  groupBy?: 'hour' | 'day' | 'month' | 'customer' | 'property';
  /** Which property, where `groupBy` is property. */
  property?: string;
  customerId?: string;
  subscriptionId?: string;
}

export interface UsageMetersGetSummaryAnswer {
  usageMeterSummary: UsageMeterSummary;
}

export interface ResourcesCreateInput {
  resource: {
    slug: string;
    name: string;
    active?: boolean;
    pricingModelId?: string | null;
  };
}

export interface ResourcesCreateAnswer {
  resource: Resource;
}

export interface ResourcesListInput {
  pricingModelId?: string;
}

export interface ResourcesListAnswer {
  resources: Array<Resource>;
}

export interface ResourcesGetInput {
  id: string;
}

export interface ResourcesGetAnswer {
  resource: Resource;
}

export interface ResourcesUpdateInput {
  id: string;
  resource: {
    id?: string;
    slug?: string;
    name?: string;
    active?: boolean;
  };
}

export interface ResourcesUpdateAnswer {
  resource: Resource;
}

export interface CatalogsCreateInput {
  catalog: {
    name: string;
    isDefault?: boolean;
  };
}

export interface CatalogsCreateAnswer {
  catalog: CatalogRecord;
}

export interface CatalogsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  isDefault?: boolean;
}

export interface CatalogsListAnswer {
  data: Array<CatalogRecord>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CatalogsGetDefaultAnswer {
  catalog: Catalog;
}

export interface CatalogsGetInput {
  id: string;
}

export interface CatalogsGetAnswer {
  catalog: Catalog;
}

export interface CatalogsUpdateInput {
  id: string;
  catalog: {
    id?: string;
    name?: string;
    isDefault?: boolean;
  };
}

export interface CatalogsUpdateAnswer {
  catalog: CatalogRecord;
}

export interface CatalogsCloneInput {
  id: string;
  name: string;
}

export interface CatalogsCloneAnswer {
  catalog: Catalog;
}

export interface DiscountsCreateInput {
  discount: {
    name: string;
    /** 3 to 20 characters; kept in upper case. */
    code: string;
    /** Percent: whole per cent. Fixed: money in the smallest unit. */
    amount: number;
    amountType: DiscountAmountType;
    active?: boolean;
    pricingModelId?: string | null;
    duration: 'once';
    numberOfPayments?: null;
  } | {
    name: string;
    /** 3 to 20 characters; kept in upper case. */
    code: string;
    /** Percent: whole per cent. Fixed: money in the smallest unit. */
    amount: number;
    amountType: DiscountAmountType;
    active?: boolean;
    pricingModelId?: string | null;
    duration: 'forever';
    numberOfPayments?: null;
  } | {
    name: string;
    /** 3 to 20 characters; kept in upper case. */
    code: string;
    /** Percent: whole per cent. Fixed: money in the smallest unit. */
    amount: number;
    amountType: DiscountAmountType;
    active?: boolean;
    pricingModelId?: string | null;
    duration: 'number_of_payments';
    /** How many paid invoices it is taken off. */
    numberOfPayments: number;
  };
}

export interface DiscountsCreateAnswer {
  discount: Discount;
}

export interface DiscountsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  pricingModelId?: string;
  code?: string;
  duration?: string;
  amountType?: string;
  active?: boolean;
}

export interface DiscountsListAnswer {
  data: Array<RedeemedDiscount>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface DiscountsUpdateInput {
  id: string;
  discount: {
    id?: string;
    name?: string;
    /** 3 to 20 characters; kept in upper case. */
    code?: string;
    amount?: number;
    amountType?: DiscountAmountType;
    active?: boolean;
    duration?: 'once' | 'forever' | 'number_of_payments';
    numberOfPayments?: number | null;
  };
}

export interface DiscountsUpdateAnswer {
  discount: Discount;
}

export interface DiscountsGetInput {
  id: string;
}

export interface DiscountsGetAnswer {
  discount: RedeemedDiscount;
}

export interface SubscriptionItemFeaturesCreateInput {
  subscriptionItemFeature: NewSubscriptionItemFeature;
}

export interface SubscriptionItemFeaturesCreateAnswer {
  subscriptionItemFeature: SubscriptionItemFeature;
}

export interface SubscriptionItemFeaturesGetInput {
  id: string;
}

export interface SubscriptionItemFeaturesGetAnswer {
  subscriptionItemFeature: SubscriptionItemFeature;
}

export interface SubscriptionItemFeaturesUpdateInput {
  id: string;
  subscriptionItemFeature: SubscriptionItemFeatureChange;
}

export interface SubscriptionItemFeaturesUpdateAnswer {
  subscriptionItemFeature: SubscriptionItemFeature;
}

export interface SubscriptionItemFeaturesExpireInput {
  id: string;
  /** Epoch milliseconds, or an ISO 8601 date-time (UTC where it names no offset). */
  expiredAt?: number | string;
}

export interface SubscriptionItemFeaturesExpireAnswer {
  subscriptionItemFeature: ExpiredSubscriptionItemFeature;
}

export type ResourceClaimsClaimInput = {
  subscriptionId: string;
} & (NewResourceClaims);

export interface ResourceClaimsClaimAnswer {
  claims: Array<ResourceClaim>;
  usage: ResourceUsage;
  /** Those of the claims that end by themselves. */
  temporaryClaims: TemporaryResourceClaims | null;
}

export interface ResourceClaimsGetClaimsInput {
  subscriptionId: string;
  resourceSlug?: string;
}

export interface ResourceClaimsGetClaimsAnswer {
  claims: Array<ResourceClaim>;
}

export type ResourceClaimsReleaseInput = {
  subscriptionId: string;
} & (ResourceClaimsToRelease);

export interface ResourceClaimsReleaseAnswer {
  releasedClaims: Array<ResourceClaim>;
  usage: ResourceUsage;
}

export interface ResourceClaimsGetUsageInput {
  subscriptionId: string;
  resourceSlug?: string;
  resourceId?: string;
}

export interface ResourceClaimsGetUsageAnswer {
  usage: ResourceUsage;
  claims: Array<ResourceClaim>;
}

export interface ResourceClaimsGetUsagesInput {
  subscriptionId: string;
  /** Slugs, separated by commas or given as several parameters. */
  resourceSlugs?: string | Array<string>;
  /** Ids, likewise. Not looked at when there are slugs. */
  resourceIds?: string | Array<string>;
}

export type ResourceClaimsGetUsagesAnswer = Array<{
  usage: ResourceUsage;
  claims: Array<ResourceClaim>;
}>;

export interface EntitlementsCheckInput {
  checks: Array<EntitlementCheck>;
  /** Whose customers are meant, where several pricing models have one of an external id. */
  pricingModelId?: string | null;
}

export interface EntitlementsCheckAnswer {
  results: Array<EntitlementCheckResult>;
}

export interface UsageCreditsCreateInput {
  usageCredit: NewUsageCredit;
}

export interface UsageCreditsCreateAnswer {
  usageCredit: UsageCredit;
}

export interface UsageCreditsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  subscriptionId?: string;
  usageMeterId?: string;
  source?: string;
}

export interface UsageCreditsListAnswer {
  data: Array<UsageCredit>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface UsageCreditsTakeBackInput {
  id: string;
  /** At most what is left, which it is when absent. */
  amount?: number | null;
}

export interface UsageCreditsTakeBackAnswer {
  usageCredit: UsageCredit;
}

export interface UsageCreditsGetInput {
  id: string;
}

export interface UsageCreditsGetAnswer {
  usageCredit: UsageCredit;
}

export interface UsageEventsCreateInput {
  usageEvent: NewUsageEvent;
}

export interface UsageEventsCreateAnswer {
  usageEvent: UsageEvent;
}

export interface UsageEventsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  customerId?: string;
  subscriptionId?: string;
  usageMeterId?: string;
  priceId?: string;
  billingPeriodId?: string;
  transactionId?: string;
  /** Events used at this instant or later. */
  usageDateFrom?: string | number;
  /** Events used before this instant. */
  usageDateTo?: string | number;
}

export interface UsageEventsListAnswer {
  data: Array<UsageEvent>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface UsageEventsBulkInput {
  usageEvents: Array<NewUsageEvent>;
}

export interface UsageEventsBulkAnswer {
  usageEvents: Array<UsageEvent>;
}

export interface UsageEventsConsumeInput {
  usageEvent: NewUsageEvent;
}

export interface UsageEventsConsumeAnswer {
  usageEvent: UsageEvent;
  usageBalance: UsageBalance;
}

export interface UsageEventsGetInput {
  id: string;
}

export interface UsageEventsGetAnswer {
  usageEvent: UsageEvent;
}

export interface UsageEventsGetLedgerEntryInput {
  id: string;
}

export interface UsageEventsGetLedgerEntryAnswer {
  ledgerEntry: LedgerEntry | null;
}

export interface HoldsCreateInput {
  hold: NewHold;
}

export interface HoldsCreateAnswer {
  hold: UsageHold;
  usageBalance: UsageBalance;
}

export interface HoldsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  subscriptionId?: string;
  usageMeterId?: string;
  status?: 'open' | 'settled' | 'released' | 'expired';
}

export interface HoldsListAnswer {
  data: Array<UsageHold>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface HoldsGetInput {
  id: string;
}

export interface HoldsGetAnswer {
  hold: UsageHold;
}

export interface HoldsSettleInput {
  id: string;
  /** What was used: 0 or more. */
  amount: number;
}

export interface HoldsSettleAnswer {
  hold: UsageHold;
  usageEvent: UsageEvent | null;
  usageBalance: UsageBalance;
}

export interface HoldsReleaseInput {
  id: string;
}

export interface HoldsReleaseAnswer {
  hold: UsageHold;
  usageBalance: UsageBalance;
}

export interface InvoicesGetUpcomingInput {
  subscriptionId: string;
}

export interface InvoicesGetUpcomingAnswer {
  invoice: UpcomingInvoice;
  invoiceLineItems: Array<UpcomingInvoiceLineItem>;
}

export interface InvoicesListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  status?: string;
  type?: string;
  customerId?: string;
  subscriptionId?: string;
  purchaseId?: string;
  billingPeriodId?: string;
}

export interface InvoicesListAnswer {
  data: Array<Invoice>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface InvoicesGetInput {
  id: string;
}

export interface InvoicesGetAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesExplainInput {
  id: string;
}

export type InvoicesExplainAnswer = InvoiceExplanation;

export interface InvoicesVoidInput {
  id: string;
}

export interface InvoicesVoidAnswer {
  invoice: Invoice;
}

export interface InvoicesMarkUncollectibleInput {
  id: string;
}

export interface InvoicesMarkUncollectibleAnswer {
  invoice: Invoice;
}

export interface InvoicesRecordPaymentInput {
  id: string;
  payment?: MoneyReceived | null;
}

export interface InvoicesRecordPaymentAnswer {
  invoice: Invoice;
  payment: Payment;
}

export interface InvoicesGetHtmlInput {
  id: string;
}

export interface InvoicesGetPdfInput {
  id: string;
}

export interface InvoiceLineItemsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  invoiceId?: string;
  type?: string;
  priceId?: string;
}

export interface InvoiceLineItemsListAnswer {
  data: Array<InvoiceLineItem>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface InvoiceLineItemsGetInput {
  id: string;
}

export type InvoiceLineItemsGetAnswer = InvoiceLineItem;

export interface TaxRatesCreateInput {
  taxRate: {
    /** ISO 3166-1 alpha-2: DE. */
    country: string;
    /** As customers write it in their billing address; the case does not matter. */
    state?: string | null;
    type: TaxType;
    /** From 0 to 100 with at most six decimals: "19" or "8.875". */
    percentage: number | string;
    inclusive?: boolean;
    active?: boolean;
    name?: string | null;
  };
}

export interface TaxRatesCreateAnswer {
  taxRate: TaxRate;
}

export interface TaxRatesListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  country?: string;
  state?: string;
  type?: string;
  active?: boolean;
}

export interface TaxRatesListAnswer {
  data: Array<TaxRate>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface TaxRatesGetInput {
  id: string;
}

export interface TaxRatesGetAnswer {
  taxRate: TaxRate;
}

export interface TaxRatesUpdateInput {
  id: string;
  taxRate: {
    id?: string;
    /** ISO 3166-1 alpha-2: DE. */
    country?: string;
    state?: string | null;
    type?: TaxType;
    /** From 0 to 100 with at most six decimals: "19" or "8.875". */
    percentage?: number | string;
    inclusive?: boolean;
    active?: boolean;
    name?: string | null;
  };
}

export interface TaxRatesUpdateAnswer {
  taxRate: TaxRate;
}

export interface TaxRatesDeleteInput {
  id: string;
}

export interface TaxRatesDeleteAnswer {
  taxRate: TaxRate;
}

export interface PurchasesListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  customerId?: string;
  status?: string;
  priceId?: string;
  subscriptionId?: string;
  checkoutSessionId?: string;
}

export interface PurchasesListAnswer {
  data: Array<Purchase>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PurchasesGetInput {
  id: string;
}

export interface PurchasesGetAnswer {
  purchase: Purchase;
}

export interface CheckoutSessionsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  customerId?: string;
  priceId?: string;
  pricingModelId?: string;
  type?: string;
  status?: string;
}

export interface CheckoutSessionsListAnswer {
  data: Array<CheckoutSession>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CheckoutSessionsCreateInput {
  /** Needed only when several pricing models have this external id. */
  pricingModelId?: string;
  checkoutSession: {
    successUrl: string;
    cancelUrl: string;
    /** What the purchase and the subscription are called. */
    outputName?: string | null;
    /** Copied to the purchase and the subscription. */
    outputMetadata?: Metadata | null;
    type: 'product';
    /** Absent or null where the session is anonymous. */
    customerExternalId?: string | null;
    /** True where the buyer says who it is: a customer is made when it pays. */
    anonymous?: boolean;
    priceId?: string;
    /** The slug of an active price, in place of priceId. */
    priceSlug?: string;
    /** 1 when absent. */
    quantity?: number;
    /** Whether a paid plan keeps the free plan's periods: the first one is then paid in part. */
    preserveBillingCycleAnchor?: boolean;
  } | {
    successUrl: string;
    cancelUrl: string;
    /** What the purchase and the subscription are called. */
    outputName?: string | null;
    /** Copied to the purchase and the subscription. */
    outputMetadata?: Metadata | null;
    type: 'activate_subscription';
    customerExternalId: string;
    targetSubscriptionId: string;
    preserveBillingCycleAnchor?: boolean;
  } | {
    successUrl: string;
    cancelUrl: string;
    /** What the purchase and the subscription are called. */
    outputName?: string | null;
    /** Copied to the purchase and the subscription. */
    outputMetadata?: Metadata | null;
    type: 'add_payment_method';
    customerExternalId: string;
    /** A subscription that is charged on it from then on. */
    targetSubscriptionId?: string | null;
    /** Whether all of the customer's subscriptions are charged on it from then on. */
    automaticallyUpdateSubscriptions?: boolean | null;
  };
}

export interface CheckoutSessionsCreateAnswer {
  checkoutSession: CheckoutSession;
  url: string;
}

export interface CheckoutSessionsGetInput {
  id: string;
}

export interface CheckoutSessionsGetAnswer {
  checkoutSession: CheckoutSession;
  url: string;
}

export interface PaymentsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  status?: string;
  customerId?: string;
  subscriptionId?: string;
  invoiceId?: string;
  paymentMethodId?: string;
}

export interface PaymentsListAnswer {
  data: Array<Payment>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PaymentsGetInput {
  id: string;
}

export interface PaymentsGetAnswer {
  payment: Payment;
}

export interface PaymentsRefundInput {
  id: string;
  /** In the smallest unit of the currency, at most what remains of the payment; all of it when absent. */
  partialAmount?: number | null;
}

export interface PaymentsRefundAnswer {
  payment: Payment;
}

export interface PaymentMethodsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  customerId?: string;
  type?: string;
  default?: boolean;
}

export interface PaymentMethodsListAnswer {
  data: Array<PaymentMethod>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PaymentMethodsCreateInput {
  /** Needed only when several pricing models have this customerExternalId. */
  pricingModelId?: string;
  paymentMethod: {
    customerId?: string;
    /** The caller's own id of the customer, in place of customerId. */
    customerExternalId?: string;
    /** What the token stands for; checked when given. */
    type?: PaymentMethodType;
    /** What the processor calls it, such as pm_card_visa. */
    token: string;
    /** Whether it becomes the customer's default; the first one always does. */
    default?: boolean;
    /** Whether the customer's subscriptions are charged on it from now on, whatever they were charged on. */
    automaticallyUpdateSubscriptions?: boolean;
    /** The customer's own when absent. */
    billingDetails?: BillingAddress;
    metadata?: Metadata | null;
  };
}

export interface PaymentMethodsCreateAnswer {
  paymentMethod: PaymentMethod;
}

export interface PaymentMethodsGetInput {
  id: string;
}

export interface PaymentMethodsGetAnswer {
  paymentMethod: PaymentMethod;
}

export interface WebhooksCreateInput {
  webhook: {
    name: string;
    url: string;
    /** The types of events to send; none: all but usage_balance.low, which has to be named. */
    filterTypes: Array<WebhookFilterType>;
    active?: boolean;
    /** The key's own, or the default pricing model, when absent. */
    pricingModelId?: string | null;
  };
}

export interface WebhooksCreateAnswer {
  webhook: Webhook;
  /** `whsec_` and the key of the signatures in base64. */
  secret: string;
}

export interface WebhooksListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  active?: boolean;
  pricingModelId?: string;
}

export interface WebhooksListAnswer {
  data: Array<Webhook>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface WebhooksUpdateInput {
  id: string;
  webhook: {
    id?: string;
    name?: string;
    url?: string;
    /** The types of events to send; none: all but usage_balance.low, which has to be named. */
    filterTypes?: Array<WebhookFilterType>;
    active?: boolean;
    /** Cannot change: the stored value or nothing. */
    pricingModelId?: string | null;
  };
}

export interface WebhooksUpdateAnswer {
  webhook: Webhook;
}

export interface WebhooksGetInput {
  id: string;
}

export interface WebhooksGetAnswer {
  webhook: Webhook;
}

export interface WebhooksDeleteInput {
  id: string;
}

export interface WebhooksDeleteAnswer {
  webhook: Webhook;
}

export interface WebhooksRotateSecretInput {
  id: string;
}

export interface WebhooksRotateSecretAnswer {
  webhook: Webhook;
  /** `whsec_` and the key of the signatures in base64. */
  secret: string;
}

export interface WebhooksListDeliveriesInput {
  id: string;
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  status?: WebhookDeliveryStatus;
  eventId?: string;
  eventType?: EventType;
  objectId?: string;
}

export interface WebhooksListDeliveriesAnswer {
  data: Array<WebhookDelivery>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface WebhooksTestInput {
  id: string;
  test?: {
    /** The type of event that the sample looks like. */
    type?: EventType;
  };
}

export interface WebhooksTestAnswer {
  delivery: WebhookDelivery;
}

export interface WebhooksReplayInput {
  id: string;
  replay: {
    /** Events that happened at this instant or later. Epoch milliseconds or ISO 8601. */
    since: number | string;
    /** Events that happened before this instant; until now when absent. */
    until?: number | string;
    /** Events of these types; those that the webhook's filter lets through when absent. */
    types?: Array<EventType>;
    /** Only those whose delivery to this webhook was given up. */
    onlyFailed?: boolean;
  };
}

export interface WebhooksReplayAnswer {
  replay: {
    /** How many events are sent. */
    deliveries: number;
  };
}

export interface DeliveriesGetInput {
  id: string;
}

export interface DeliveriesGetAnswer {
  delivery: WebhookDelivery;
  attempts: Array<WebhookAttempt>;
}

export interface DeliveriesRetryInput {
  id: string;
}

export interface DeliveriesRetryAnswer {
  delivery: WebhookDelivery;
}

export interface EventsListInput {
  /** Where to go on: a nextCursor of an earlier page. */
  cursor?: string;
  /** Rows a page: 1 to 100, 10 when absent. */
  limit?: number;
  type?: EventType;
  object?: EventObject;
  objectId?: string;
  /** Events that occurred at this instant or later. */
  occurredAtFrom?: string | number;
  /** Events that occurred before this instant. */
  occurredAtTo?: string | number;
}

export interface EventsListAnswer {
  data: Array<Event>;
  hasMore: boolean;
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface EventsGetInput {
  id: string;
}

export interface EventsGetAnswer {
  event: Event;
}

export interface TestClockGetAnswer {
  testClock: TestClock;
}

export interface TestClockUpdateInput {
  testClock: {
    /** Epoch milliseconds, or an ISO 8601 date-time (UTC where it names no offset). */
    now: number | string;
  };
}

export interface TestClockUpdateAnswer {
  testClock: TestClock;
  work: ClockWork;
}

export interface UtilsMethods {
  /** See that the service answers and takes the key. */
  getPing(input?: Record<string, never>, options?: CallOptions): Promise<UtilsGetPingAnswer>;
}

export interface ApiKeysMethods {
  /** Get an API key. */
  get(input: ApiKeysGetInput, options?: CallOptions): Promise<ApiKeysGetAnswer>;

  /** List the API keys. */
  list(input?: ApiKeysListInput, options?: CallOptions): Promise<ApiKeysListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ApiKeysListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ApiKeysListAnswer['data'][number], void, undefined>;
}

export interface SettingsMethods {
  /** Get the settings. How the key's environment bills. Test and live mode have their own. */
  get(input?: Record<string, never>, options?: CallOptions): Promise<SettingsGetAnswer>;

  /** Update the settings. Fields that are absent stay as they are. The currency can change while there are no prices, discounts or invoices of more than nothing. */
  update(input: SettingsUpdateInput, options?: WriteOptions): Promise<SettingsUpdateAnswer>;
}

export interface AuditLogMethods {
  /** List what was changed, by whom. Newest first. One entry for each record that a request, a page, a task or a command has changed; usage and the ledger are logs themselves. `total` counts up to 10,000. */
  list(input?: AuditLogListInput, options?: CallOptions): Promise<AuditLogListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<AuditLogListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<AuditLogListAnswer['data'][number], void, undefined>;
}

export interface CustomersMethods {
  /** List the customers. */
  list(input?: CustomersListInput, options?: CallOptions): Promise<CustomersListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CustomersListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CustomersListAnswer['data'][number], void, undefined>;

  /** Create a customer. Starts the pricing model's default plan with it, where there is one. */
  create(input: CustomersCreateInput, options?: WriteOptions): Promise<CustomersCreateAnswer>;

  /** Get a customer by its external id. */
  get(input: CustomersGetInput, options?: CallOptions): Promise<CustomersGetAnswer>;

  /** Update a customer. Fields that are absent stay as they are. The external id does not change. */
  update(input: CustomersUpdateInput, options?: WriteOptions): Promise<CustomersUpdateAnswer>;

  /** Archive a customer. Ends all its subscriptions now. Its external id can be used again. */
  archive(input: CustomersArchiveInput, options?: WriteOptions): Promise<CustomersArchiveAnswer>;

  /** Get everything a customer has and owes. */
  getBilling(input: CustomersGetBillingInput, options?: CallOptions): Promise<CustomersGetBillingAnswer>;

  /** Get all that a customer may use. The features, balances and resources of the current subscriptions in one answer, or of the one that subscriptionId names. What is paused, has ended or has not begun gives nothing. */
  getEntitlements(input: CustomersGetEntitlementsInput, options?: CallOptions): Promise<CustomersGetEntitlementsAnswer>;

  /** Get the usage balances of a customer. One row for each usage meter of each current subscription, or of the subscription that subscriptionId names, in any status. */
  getUsageBalances(input: CustomersGetUsageBalancesInput, options?: CallOptions): Promise<CustomersGetUsageBalancesAnswer>;

  /** List the ledger entries of a customer. What changed the balances of its subscriptions, in the order in which it was booked; of each use, which grants it drew from. `balances` are those of all the accounts that are asked about: now, or as of the past instant `asOf`, up to which entries are listed then. */
  listLedger(input: CustomersListLedgerInput, options?: CallOptions): Promise<CustomersListLedgerAnswer>;

  /** Every row that `listLedger` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAllLedger(input: Omit<CustomersListLedgerInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CustomersListLedgerAnswer['data'][number], void, undefined>;

  /** Make a link to the customer portal. Behind `url` the customer sees its plan, invoices, usage and payment methods, and may change them. Make one when the customer asks for it: who has the link acts as the customer until it expires. */
  createPortalSession(input: CustomersCreatePortalSessionInput, options?: WriteOptions): Promise<CustomersCreatePortalSessionAnswer>;
}

export interface SubscriptionsMethods {
  /** List the subscriptions. */
  list(input?: SubscriptionsListInput, options?: CallOptions): Promise<SubscriptionsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<SubscriptionsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<SubscriptionsListAnswer['data'][number], void, undefined>;

  /** Subscribe a customer to a price. A paid subscription takes the place of a free one. What is due now is charged before the answer, which shows how that ended: a subscription whose first payment fails is canceled. */
  create(input: SubscriptionsCreateInput, options?: WriteOptions): Promise<SubscriptionsCreateAnswer>;

  /** Get a subscription. */
  get(input: SubscriptionsGetInput, options?: CallOptions): Promise<SubscriptionsGetAnswer>;

  /** Cancel a subscription. A subscription that has ended is answered as it is. With at_future_date it renews as ever until endDate: a period that begins before is billed whole, and nothing is given back. Another date takes the place of the one before. */
  cancel(input: SubscriptionsCancelInput, options?: WriteOptions): Promise<SubscriptionsCancelAnswer>;

  /** Take a scheduled cancel back. A subscription that is not to be canceled is answered as it is. */
  uncancel(input: SubscriptionsUncancelInput, options?: WriteOptions): Promise<SubscriptionsUncancelAnswer>;

  /** Change the plan of a subscription. The items named become the complete set. A change that costs something now is charged before the answer, and the items change when the money has arrived: a failed charge changes nothing and is answered 402. */
  adjust(input: SubscriptionsAdjustInput, options?: WriteOptions): Promise<SubscriptionsAdjustAnswer>;

  /** Preview a change of plan. What adjust would do with the same body now. A change that would be refused is answered with the reason. */
  previewAdjust(input: SubscriptionsPreviewAdjustInput, options?: WriteOptions): Promise<SubscriptionsPreviewAdjustAnswer>;

  /** Take a scheduled change of plan back. Everything is as it was before the change was asked for. */
  cancelScheduledAdjustment(input: SubscriptionsCancelScheduledAdjustmentInput, options?: WriteOptions): Promise<SubscriptionsCancelScheduledAdjustmentAnswer>;

  /** Pause a subscription. It gives nothing and costs nothing until it goes on: at resumesAt, or when it is resumed. What was paid for the rest of its period is kept and taken off its next invoices. Claims stay and count again later; usage events are taken, and billed with the first invoice after the pause. One that is paused already gets the new resumesAt. */
  pause(input: SubscriptionsPauseInput, options?: WriteOptions): Promise<SubscriptionsPauseAnswer>;

  /** Let a paused subscription go on. Its next period begins now and ends where a period of it would have ended anyway; it is billed its share of the price, less what was kept for paused time. One that is not paused is answered as it is. */
  resume(input: SubscriptionsResumeInput, options?: WriteOptions): Promise<SubscriptionsResumeAnswer>;

  /** Add a feature to a subscription. By hand, beside what its plan gives. Again: a toggle stays as it is, credits and capacity of a resource add up. */
  addFeature(input: SubscriptionsAddFeatureInput, options?: WriteOptions): Promise<SubscriptionsAddFeatureAnswer>;

  /** Try to collect what a subscription owes, now. Charges the oldest invoice for a billing period that is not paid. What is due now is charged before the answer; a charge that fails is answered with 402 and counts as an attempt. One that takes its time is answered as it stands. */
  retryPayment(input: SubscriptionsRetryPaymentInput, options?: WriteOptions): Promise<SubscriptionsRetryPaymentAnswer>;
}

export interface PricingModelsMethods {
  /** Create a pricing model. It holds a default product, the free plan, and nothing else. */
  create(input: PricingModelsCreateInput, options?: WriteOptions): Promise<PricingModelsCreateAnswer>;

  /** List the pricing models. */
  list(input?: PricingModelsListInput, options?: CallOptions): Promise<PricingModelsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PricingModelsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PricingModelsListAnswer['data'][number], void, undefined>;

  /** Get the default pricing model. With what can be bought. A key that is pinned to a pricing model gets that one. */
  getDefault(input?: Record<string, never>, options?: CallOptions): Promise<PricingModelsGetDefaultAnswer>;

  /** Get a pricing model. With what can be bought: active products with active prices, and the usage meters. */
  get(input: PricingModelsGetInput, options?: CallOptions): Promise<PricingModelsGetAnswer>;

  /** Update a pricing model. Its name and whether it is the default one; or, when features, products, usageMeters and resources are given, all four, everything that it holds from then on: what has a new slug is made, what is left out is deactivated. A price on other terms replaces the old one, which existing subscriptions keep. Usage meters cannot be removed, and the default product stays. */
  update(input: PricingModelsUpdateInput, options?: WriteOptions): Promise<PricingModelsUpdateAnswer>;

  /** Set up a whole pricing model. Features, products, usage meters and resources, named by slugs; all of it is made, or nothing. Without a default product the Free Plan is added, and each usage meter gets its no-charge price. */
  setup(input: PricingModelsSetupInput, options?: WriteOptions): Promise<PricingModelsSetupAnswer>;

  /** Export a pricing model. As the body of a setup that makes the same, and of an update that changes nothing. What is null is left out. */
  export(input: PricingModelsExportInput, options?: CallOptions): Promise<PricingModelsExportAnswer>;

  /** Clone a pricing model. Copies everything that it holds, with new ids and the same slugs and codes, in the same mode or into the other one. Customers and subscriptions are not copied. */
  clone(input: PricingModelsCloneInput, options?: WriteOptions): Promise<PricingModelsCloneAnswer>;
}

export interface ProductsMethods {
  /** Create a product. With its default price and the features that it gives. */
  create(input: ProductsCreateInput, options?: WriteOptions): Promise<ProductsCreateAnswer>;

  /** List the products. */
  list(input?: ProductsListInput, options?: CallOptions): Promise<ProductsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ProductsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ProductsListAnswer['data'][number], void, undefined>;

  /** Get a product. The answer is the product itself, with its active prices and the features that it gives. */
  get(input: ProductsGetInput, options?: CallOptions): Promise<ProductsGetAnswer>;

  /** Update a product. What is left out stays. Other terms in price make a new default price; the old one is deactivated. featureIds are all the features that the product gives from now on. Existing subscriptions keep their price and their features. */
  update(input: ProductsUpdateInput, options?: WriteOptions): Promise<ProductsUpdateAnswer>;
}

export interface ProductFeaturesMethods {
  /** Make a product give a feature. A link that has expired is revived under its old id. Existing subscriptions are not changed. */
  create(input: ProductFeaturesCreateInput, options?: WriteOptions): Promise<ProductFeaturesCreateAnswer>;

  /** List which products give which features. Expired links are included. */
  list(input?: ProductFeaturesListInput, options?: CallOptions): Promise<ProductFeaturesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ProductFeaturesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ProductFeaturesListAnswer['data'][number], void, undefined>;

  /** Get a link between a product and a feature. */
  get(input: ProductFeaturesGetInput, options?: CallOptions): Promise<ProductFeaturesGetAnswer>;

  /** Make a product no longer give a feature. Existing subscriptions keep the feature. */
  expire(input: ProductFeaturesExpireInput, options?: WriteOptions): Promise<ProductFeaturesExpireAnswer>;
}

export interface PricesMethods {
  /** Create a price. A price of a product becomes its default, and its other prices are deactivated: who subscribed to one of them keeps it. A usage price is added to the others of its usage meter. */
  create(input: PricesCreateInput, options?: WriteOptions): Promise<PricesCreateAnswer>;

  /** List the prices. Active and inactive ones, of products and of usage meters. */
  list(input?: PricesListInput, options?: CallOptions): Promise<PricesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PricesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PricesListAnswer['data'][number], void, undefined>;

  /** Get a price. */
  get(input: PricesGetInput, options?: CallOptions): Promise<PricesGetAnswer>;

  /** Update a price. Its name, slug, default flag and activity. What it costs never changes: create another price instead. */
  update(input: PricesUpdateInput, options?: WriteOptions): Promise<PricesUpdateAnswer>;
}

export interface FeaturesMethods {
  /** Create a feature. */
  create(input: FeaturesCreateInput, options?: WriteOptions): Promise<FeaturesCreateAnswer>;

  /** List the features. */
  list(input?: FeaturesListInput, options?: CallOptions): Promise<FeaturesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<FeaturesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<FeaturesListAnswer['data'][number], void, undefined>;

  /** Get a feature. */
  get(input: FeaturesGetInput, options?: CallOptions): Promise<FeaturesGetAnswer>;

  /** Update a feature. Its type stays. What subscriptions have been granted by it stays as it was. */
  update(input: FeaturesUpdateInput, options?: WriteOptions): Promise<FeaturesUpdateAnswer>;
}

export interface UsageMetersMethods {
  /** Create a usage meter. It gets a no-charge price, so that usage always has a price. With a unitPrice or usageEventsPerUnit it gets a monthly price of its own too, which is the default then. */
  create(input: UsageMetersCreateInput, options?: WriteOptions): Promise<UsageMetersCreateAnswer>;

  /** List the usage meters. */
  list(input?: UsageMetersListInput, options?: CallOptions): Promise<UsageMetersListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<UsageMetersListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<UsageMetersListAnswer['data'][number], void, undefined>;

  /** Get a usage meter. */
  get(input: UsageMetersGetInput, options?: CallOptions): Promise<UsageMetersGetAnswer>;

  /** Update a usage meter. The slug of its no-charge price follows its slug; its other prices keep theirs. */
  update(input: UsageMetersUpdateInput, options?: WriteOptions): Promise<UsageMetersUpdateAnswer>;

  /** Sum up the usage of a usage meter. The units and events with a usageDate from `from` to `to`, grouped by hour, day or month (UTC), by customer, or by a property of the events. */
  getSummary(input: UsageMetersGetSummaryInput, options?: CallOptions): Promise<UsageMetersGetSummaryAnswer>;
}

export interface ResourcesMethods {
  /** Create a resource. */
  create(input: ResourcesCreateInput, options?: WriteOptions): Promise<ResourcesCreateAnswer>;

  /** List the resources. All of them, active and inactive: this list has no pages. */
  list(input?: ResourcesListInput, options?: CallOptions): Promise<ResourcesListAnswer>;

  /** Get a resource. */
  get(input: ResourcesGetInput, options?: CallOptions): Promise<ResourcesGetAnswer>;

  /** Update a resource. One that is inactive can no longer be claimed; what is claimed stays claimed. */
  update(input: ResourcesUpdateInput, options?: WriteOptions): Promise<ResourcesUpdateAnswer>;
}

export interface CatalogsMethods {
  /** Create a catalog. A catalog is a pricing model under its former name, with instants as texts. It holds a default product, the free plan, which never renews, and nothing else. */
  create(input: CatalogsCreateInput, options?: WriteOptions): Promise<CatalogsCreateAnswer>;

  /** List the catalogs. A catalog is a pricing model under its former name, with instants as texts. */
  list(input?: CatalogsListInput, options?: CallOptions): Promise<CatalogsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CatalogsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CatalogsListAnswer['data'][number], void, undefined>;

  /** Get the default catalog. A catalog is a pricing model under its former name, with instants as texts. A key that is pinned to a pricing model gets that one. */
  getDefault(input?: Record<string, never>, options?: CallOptions): Promise<CatalogsGetDefaultAnswer>;

  /** Get a catalog. A catalog is a pricing model under its former name, with instants as texts. With what can be bought: active products with active prices, and the usage meters. */
  get(input: CatalogsGetInput, options?: CallOptions): Promise<CatalogsGetAnswer>;

  /** Update a catalog. A catalog is a pricing model under its former name, with instants as texts. Its name and whether it is the default one; what it holds stays. */
  update(input: CatalogsUpdateInput, options?: WriteOptions): Promise<CatalogsUpdateAnswer>;

  /** Clone a catalog. A catalog is a pricing model under its former name, with instants as texts. The copy is made in the same mode. */
  clone(input: CatalogsCloneInput, options?: WriteOptions): Promise<CatalogsCloneAnswer>;
}

export interface DiscountsMethods {
  /** Create a discount. A customer redeems it by its code when it subscribes. */
  create(input: DiscountsCreateInput, options?: WriteOptions): Promise<DiscountsCreateAnswer>;

  /** List the discounts. */
  list(input?: DiscountsListInput, options?: CallOptions): Promise<DiscountsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<DiscountsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<DiscountsListAnswer['data'][number], void, undefined>;

  /** Update a discount. Fields that are absent stay as they are. Who has redeemed the discount keeps it as it was. */
  update(input: DiscountsUpdateInput, options?: WriteOptions): Promise<DiscountsUpdateAnswer>;

  /** Get a discount. */
  get(input: DiscountsGetInput, options?: CallOptions): Promise<DiscountsGetAnswer>;
}

export interface SubscriptionItemFeaturesMethods {
  /** Give a feature through a subscription item. What is left out is the own value of the feature. */
  create(input: SubscriptionItemFeaturesCreateInput, options?: WriteOptions): Promise<SubscriptionItemFeaturesCreateAnswer>;

  /** Get a subscription item feature. */
  get(input: SubscriptionItemFeaturesGetInput, options?: CallOptions): Promise<SubscriptionItemFeaturesGetAnswer>;

  /** Change a subscription item feature. Only what is sent changes. Its type, feature and item are fixed. An expiredAt of null gives the feature back. */
  update(input: SubscriptionItemFeaturesUpdateInput, options?: WriteOptions): Promise<SubscriptionItemFeaturesUpdateAnswer>;

  /** End a subscription item feature. At expiredAt, or now. Claims and credits that it gave stay. The answer spells instants as ISO 8601 texts. */
  expire(input: SubscriptionItemFeaturesExpireInput, options?: WriteOptions): Promise<SubscriptionItemFeaturesExpireAnswer>;
}

export interface ResourceClaimsMethods {
  /** Claim a resource. All or nothing. A name (externalId) that is held already is answered unchanged, at full capacity too. While the subscription is to be canceled, new claims end with it (expiredAt). While a change to a lower capacity is scheduled, new claims that will not fit end with the change. */
  claim(input: ResourceClaimsClaimInput, options?: WriteOptions): Promise<ResourceClaimsClaimAnswer>;

  /** List the active claims of a subscription. */
  getClaims(input: ResourceClaimsGetClaimsInput, options?: CallOptions): Promise<ResourceClaimsGetClaimsAnswer>;

  /** Release claims of a resource. All or nothing. A quantity takes the oldest claims without a name. */
  release(input: ResourceClaimsReleaseInput, options?: WriteOptions): Promise<ResourceClaimsReleaseAnswer>;

  /** Get the usage of one resource. */
  getUsage(input: ResourceClaimsGetUsageInput, options?: CallOptions): Promise<ResourceClaimsGetUsageAnswer>;

  /** List the usage of the resources of a subscription. Of every resource that a feature of the subscription is or was about; narrowed by slugs, else by ids. */
  getUsages(input: ResourceClaimsGetUsagesInput, options?: CallOptions): Promise<ResourceClaimsGetUsagesAnswer>;
}

export interface EntitlementsMethods {
  /** Check what customers may use. Answers each check, in order: a toggle is allowed when it is given, credits and places of a resource when enough are left in the current subscriptions that give the feature, together. An unknown customer or feature is an answer and no error. Nothing is stored or set aside: who must not be overtaken consumes, holds or claims. */
  check(input: EntitlementsCheckInput, options?: WriteOptions): Promise<EntitlementsCheckAnswer>;
}

export interface UsageCreditsMethods {
  /** Grant usage credits by hand. They can be used from now on; usage that was recorded before stays as it is. With a transactionId a repeat grants nothing and is answered with the first. */
  create(input: UsageCreditsCreateInput, options?: WriteOptions): Promise<UsageCreditsCreateAnswer>;

  /** List the usage credits. */
  list(input?: UsageCreditsListInput, options?: CallOptions): Promise<UsageCreditsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<UsageCreditsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<UsageCreditsListAnswer['data'][number], void, undefined>;

  /** Take back what is left of usage credits. All that is left, or so much of it; what was used stays used. While holds are open, no more can be taken back than they leave of the balance. */
  takeBack(input: UsageCreditsTakeBackInput, options?: WriteOptions): Promise<UsageCreditsTakeBackAnswer>;

  /** Get a usage credit. */
  get(input: UsageCreditsGetInput, options?: CallOptions): Promise<UsageCreditsGetAnswer>;
}

export interface UsageEventsMethods {
  /** Record a usage event. An event whose transactionId its usage meter has already is answered as it was first stored, and counts once. */
  create(input: UsageEventsCreateInput, options?: WriteOptions): Promise<UsageEventsCreateAnswer>;

  /** List the usage events. */
  list(input?: UsageEventsListInput, options?: CallOptions): Promise<UsageEventsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<UsageEventsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<UsageEventsListAnswer['data'][number], void, undefined>;

  /** Record usage events in bulk. All or nothing. Answers one event for each that was sent, in order. An event whose transactionId its usage meter has already is answered as it was first stored, and counts once. A body of application/x-ndjson holds an event in each line. */
  bulk(input: UsageEventsBulkInput, options?: WriteOptions): Promise<UsageEventsBulkAnswer>;

  /** Record a usage event if the balance covers it. Checks the balance and uses it in one step: of many who ask at once, as many succeed as it covers. Answers the event and the balance that is left, or 402 with the balance, and then nothing is stored. An event whose transactionId its usage meter has already is answered as it was first stored, and counts once. */
  consume(input: UsageEventsConsumeInput, options?: WriteOptions): Promise<UsageEventsConsumeAnswer>;

  /** Get a usage event. */
  get(input: UsageEventsGetInput, options?: CallOptions): Promise<UsageEventsGetAnswer>;

  /** Get the ledger entry of a usage event. The entry that booked the event, with all of its subscription and price that were recorded with it, and the credits that it drew from. Null when the event counted nothing. */
  getLedgerEntry(input: UsageEventsGetLedgerEntryInput, options?: CallOptions): Promise<UsageEventsGetLedgerEntryAnswer>;
}

export interface HoldsMethods {
  /** Hold units for a job. Sets units aside before a job that takes time, only if the balance covers them: of many who ask at once, as many succeed as it covers. Answers the hold and the balance that is left, or 402 with the balance, and then nothing is held. The balance stays lower until the hold is settled, released or expires, also into the next billing period. Credits that end meanwhile are gone: what counts is what can be used when the hold is settled. At most 1000 of a subscription and usage meter are open at a time. */
  create(input: HoldsCreateInput, options?: WriteOptions): Promise<HoldsCreateAnswer>;

  /** List the holds. */
  list(input?: HoldsListInput, options?: CallOptions): Promise<HoldsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<HoldsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<HoldsListAnswer['data'][number], void, undefined>;

  /** Get a hold. */
  get(input: HoldsGetInput, options?: CallOptions): Promise<HoldsGetAnswer>;

  /** Settle a hold with what was used. Releases the hold and records a usage event of the amount in one step; with 0, none. The event's transactionId is the id of the hold. The amount may be more than was held, and a hold that has expired is settled too: the use was real, only what was set aside for it was free again. A repeat with the same amount is answered as the first. Once the subscription has ended no use is recorded any more, and the hold can only be released. */
  settle(input: HoldsSettleInput, options?: WriteOptions): Promise<HoldsSettleAnswer>;

  /** Release a hold of which nothing was used. A repeat is answered as the first. A hold that was released cannot be settled any more. */
  release(input: HoldsReleaseInput, options?: WriteOptions): Promise<HoldsReleaseAnswer>;
}

export interface InvoicesMethods {
  /** Show the next invoice of a subscription. What the subscription's next renewal would ask for if it came now: the items of the next period and the usage until now. It has no id, number and billing period yet, and one without lines is never made. Where no renewal follows, it is refused. */
  getUpcoming(input: InvoicesGetUpcomingInput, options?: CallOptions): Promise<InvoicesGetUpcomingAnswer>;

  /** List invoices. */
  list(input?: InvoicesListInput, options?: CallOptions): Promise<InvoicesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<InvoicesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<InvoicesListAnswer['data'][number], void, undefined>;

  /** Get an invoice with its lines. */
  get(input: InvoicesGetInput, options?: CallOptions): Promise<InvoicesGetAnswer>;

  /** Explain the amounts of an invoice. What every line, the discount and the tax were reckoned from, with the exact value before each rounding: the answer alone is enough to reckon every amount again. */
  explain(input: InvoicesExplainInput, options?: CallOptions): Promise<InvoicesExplainAnswer>;

  /** Make an open invoice void. As though it had never been made: the usage on it is billed again with the next invoice. */
  void(input: InvoicesVoidInput, options?: WriteOptions): Promise<InvoicesVoidAnswer>;

  /** Write an open invoice off. Nobody expects the money any more; what the invoice bills stays billed. */
  markUncollectible(input: InvoicesMarkUncollectibleInput, options?: WriteOptions): Promise<InvoicesMarkUncollectibleAnswer>;

  /** Record money that arrived outside of every processor. Of an open invoice, a part of what is due or all of it. Send an Idempotency-Key, so that a repeat records nothing twice. */
  recordPayment(input: InvoicesRecordPaymentInput, options?: WriteOptions): Promise<InvoicesRecordPaymentAnswer>;

  /** Show an invoice as a page to print. */
  getHtml(input: InvoicesGetHtmlInput, options?: CallOptions): Promise<string>;

  /** Get an invoice as PDF. */
  getPdf(input: InvoicesGetPdfInput, options?: CallOptions): Promise<Uint8Array>;
}

export interface InvoiceLineItemsMethods {
  /** List the lines of invoices. */
  list(input?: InvoiceLineItemsListInput, options?: CallOptions): Promise<InvoiceLineItemsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<InvoiceLineItemsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<InvoiceLineItemsListAnswer['data'][number], void, undefined>;

  /** Get a line of an invoice. */
  get(input: InvoiceLineItemsGetInput, options?: CallOptions): Promise<InvoiceLineItemsGetAnswer>;
}

export interface TaxRatesMethods {
  /** Create a tax rate. Counts where the settings say taxProvider "rates". The rate of a state goes before that of its country. */
  create(input: TaxRatesCreateInput, options?: WriteOptions): Promise<TaxRatesCreateAnswer>;

  /** List the tax rates. */
  list(input?: TaxRatesListInput, options?: CallOptions): Promise<TaxRatesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<TaxRatesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<TaxRatesListAnswer['data'][number], void, undefined>;

  /** Get a tax rate. */
  get(input: TaxRatesGetInput, options?: CallOptions): Promise<TaxRatesGetAnswer>;

  /** Update a tax rate. Fields that are absent stay as they are. Invoices keep the rate that they were made with. */
  update(input: TaxRatesUpdateInput, options?: WriteOptions): Promise<TaxRatesUpdateAnswer>;

  /** Delete a tax rate. Invoices keep the rate that they were made with. Answers the tax rate as it was. */
  delete(input: TaxRatesDeleteInput, options?: WriteOptions): Promise<TaxRatesDeleteAnswer>;
}

export interface PurchasesMethods {
  /** List purchases. Each attempt to buy something, whatever became of it. */
  list(input?: PurchasesListInput, options?: CallOptions): Promise<PurchasesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PurchasesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PurchasesListAnswer['data'][number], void, undefined>;

  /** Get a purchase. */
  get(input: PurchasesGetInput, options?: CallOptions): Promise<PurchasesGetAnswer>;
}

export interface CheckoutSessionsMethods {
  /** List checkout sessions. */
  list(input?: CheckoutSessionsListInput, options?: CallOptions): Promise<CheckoutSessionsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CheckoutSessionsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CheckoutSessionsListAnswer['data'][number], void, undefined>;

  /** Make a checkout session. Send the buyer to `url`: a page on which it pays for a product, activates a subscription that waits for its first payment, or adds a payment method. From there it goes to successUrl or cancelUrl. Who has the link may pay; it is good for 24 hours. */
  create(input: CheckoutSessionsCreateInput, options?: WriteOptions): Promise<CheckoutSessionsCreateAnswer>;

  /** Get a checkout session. */
  get(input: CheckoutSessionsGetInput, options?: CallOptions): Promise<CheckoutSessionsGetAnswer>;
}

export interface PaymentsMethods {
  /** List payments. */
  list(input?: PaymentsListInput, options?: CallOptions): Promise<PaymentsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PaymentsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PaymentsListAnswer['data'][number], void, undefined>;

  /** Get a payment. */
  get(input: PaymentsGetInput, options?: CallOptions): Promise<PaymentsGetAnswer>;

  /** Refund a payment, in part or whole. Refunds of one payment never exceed it, however many are asked for at once. */
  refund(input: PaymentsRefundInput, options?: WriteOptions): Promise<PaymentsRefundAnswer>;
}

export interface PaymentMethodsMethods {
  /** List payment methods. */
  list(input?: PaymentMethodsListInput, options?: CallOptions): Promise<PaymentMethodsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PaymentMethodsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PaymentMethodsListAnswer['data'][number], void, undefined>;

  /** Attach a payment method to a customer. With the built-in test processor, `token` is one of Stripe's test tokens, such as `pm_card_visa` or `pm_card_chargeCustomerFail`. With Stripe it is the id of a payment method that Stripe's script made, or that was set up for the customer there. */
  create(input: PaymentMethodsCreateInput, options?: WriteOptions): Promise<PaymentMethodsCreateAnswer>;

  /** Get a payment method. */
  get(input: PaymentMethodsGetInput, options?: CallOptions): Promise<PaymentMethodsGetAnswer>;
}

export interface WebhooksMethods {
  /** Register a webhook. The secret that its messages are signed with is answered here and never again. */
  create(input: WebhooksCreateInput, options?: WriteOptions): Promise<WebhooksCreateAnswer>;

  /** List the webhooks. */
  list(input?: WebhooksListInput, options?: CallOptions): Promise<WebhooksListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<WebhooksListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<WebhooksListAnswer['data'][number], void, undefined>;

  /** Update a webhook. To switch on one that the service has switched off, set active to true. What was not sent meanwhile is not sent by itself: ask for it with POST /webhooks/{id}/replay. */
  update(input: WebhooksUpdateInput, options?: WriteOptions): Promise<WebhooksUpdateAnswer>;

  /** Get a webhook. */
  get(input: WebhooksGetInput, options?: CallOptions): Promise<WebhooksGetAnswer>;

  /** Delete a webhook. Its deliveries go with it: what was not sent yet is not sent. Answers the webhook as it was. */
  delete(input: WebhooksDeleteInput, options?: WriteOptions): Promise<WebhooksDeleteAnswer>;

  /** Change a webhook's secret. The new secret is answered here and never again. For 24 hours each message is signed with the old one too, so that a receiver that knows either accepts it. Another rotation within that time ends the oldest of the three at once. */
  rotateSecret(input: WebhooksRotateSecretInput, options?: WriteOptions): Promise<WebhooksRotateSecretAnswer>;

  /** List the deliveries of a webhook. */
  listDeliveries(input: WebhooksListDeliveriesInput, options?: CallOptions): Promise<WebhooksListDeliveriesAnswer>;

  /** Every row that `listDeliveries` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAllDeliveries(input: Omit<WebhooksListDeliveriesInput, 'cursor'>, options?: CallOptions): AsyncGenerator<WebhooksListDeliveriesAnswer['data'][number], void, undefined>;

  /** Send a sample to a webhook. A message that looks like an event of the type, with ids that end in `sample`: nothing happened, and there are no such records. It is sent once, whatever the filter says; how it went is in the delivery. */
  test(input: WebhooksTestInput, options?: WriteOptions): Promise<WebhooksTestAnswer>;

  /** Send events to a webhook again. Every event of the webhook's pricing model that happened from since until before until, in order, with the ids that it had: also what was told before there was the webhook, or while it was not active. Deliveries that wait for their next attempt are left alone and do not count. */
  replay(input: WebhooksReplayInput, options?: WriteOptions): Promise<WebhooksReplayAnswer>;
}

export interface DeliveriesMethods {
  /** Get a webhook delivery. With its attempts of the last 30 days, the newest last, 100 at the most. */
  get(input: DeliveriesGetInput, options?: CallOptions): Promise<DeliveriesGetAnswer>;

  /** Send a webhook delivery once more. At once, also when it succeeded. If it fails, it is sent again as a new event is. */
  retry(input: DeliveriesRetryInput, options?: WriteOptions): Promise<DeliveriesRetryAnswer>;
}

export interface EventsMethods {
  /** List the events. */
  list(input?: EventsListInput, options?: CallOptions): Promise<EventsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<EventsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<EventsListAnswer['data'][number], void, undefined>;

  /** Get an event. */
  get(input: EventsGetInput, options?: CallOptions): Promise<EventsGetAnswer>;
}

export interface TestClockMethods {
  /** Get the environment's time. */
  get(input?: Record<string, never>, options?: CallOptions): Promise<TestClockGetAnswer>;

  /** Freeze the time of test mode, or move it forward. Everything that is due on the way is done, in the order of its due instants, before the answer. Time then stands still until it is moved again. Before there are subscriptions, any instant can be set. */
  update(input: TestClockUpdateInput, options?: WriteOptions): Promise<TestClockUpdateAnswer>;
}
