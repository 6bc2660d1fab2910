// Made from openapi.json by scripts/generate-client.ts: change the API instead.

import type { CallOptions, WriteOptions } from './transport.ts';

/** Something that a key may do: a kind of access in all groups of operations, such as `read`, or in one of them, such as `usage-events:write`. */
export type Permission = 'read' | 'write' | 'money' | 'catalog' | 'admin' | 'api-keys:read' | 'api-keys:admin' | 'organizations:admin' | 'members:read' | 'members:admin' | 'invitations:read' | 'invitations:admin' | 'sign-in-provider:read' | 'sign-in-provider:admin' | 'settings:read' | 'settings:admin' | 'audit-log:read' | 'changes:read' | 'customers:read' | 'customers:write' | 'customers:admin' | 'portal-sessions:write' | 'subscriptions:read' | 'subscriptions:write' | 'subscriptions:money' | 'cancellations:write' | 'pricing-models:read' | 'pricing-models:catalog' | 'products:read' | 'products:catalog' | 'product-features:read' | 'product-features:catalog' | 'prices:read' | 'prices:catalog' | 'features:read' | 'features:catalog' | 'usage-meters:read' | 'usage-meters:catalog' | 'credit-pools:read' | 'credit-pools:catalog' | 'resources:read' | 'resources:catalog' | 'catalogs:read' | 'catalogs:catalog' | 'discounts:read' | 'discounts:catalog' | 'subscription-item-features:read' | 'subscription-item-features:write' | 'resource-claims:read' | 'resource-claims:write' | 'entitlements:read' | 'usage-credits:read' | 'usage-credits:money' | 'usage-events:read' | 'usage-events:write' | 'archives:read' | 'holds:read' | 'holds:write' | 'invoices:read' | 'invoices:money' | 'invoice-line-items:read' | 'invoice-items:read' | 'invoice-items:money' | 'credit-notes:read' | 'credit-notes:money' | 'customer-balances:read' | 'customer-balances:money' | 'exports:read' | 'tax-rates:read' | 'tax-rates:money' | 'purchases:read' | 'purchases:write' | 'checkout-sessions:read' | 'checkout-sessions:write' | 'payments:read' | 'payments:money' | 'payment-methods:read' | 'payment-methods:write' | 'webhooks:read' | 'webhooks:admin' | 'deliveries:read' | 'deliveries:write' | 'events:read' | 'emails:read' | 'emails:write' | 'analytics:read' | 'search:read' | 'test-clock:read' | 'test-clock:admin';

/** Epoch milliseconds, or an ISO 8601 date-time, which is in UTC unless it names an offset. */
export type TimestampInput = number | string;

export type CurrencyCode = 'USD' | 'AED' | 'AFN' | 'ALL' | 'AMD' | 'ANG' | 'AOA' | 'ARS' | 'AUD' | 'AWG' | 'AZN' | 'BAM' | 'BBD' | 'BDT' | 'BGN' | 'BHD' | 'BIF' | 'BMD' | 'BND' | 'BOB' | 'BRL' | 'BSD' | 'BWP' | 'BYN' | 'BZD' | 'CAD' | 'CDF' | 'CHF' | 'CLP' | 'CNY' | 'COP' | 'CRC' | 'CVE' | 'CZK' | 'DJF' | 'DKK' | 'DOP' | 'DZD' | 'EGP' | 'ETB' | 'EUR' | 'FJD' | 'FKP' | 'GBP' | 'GEL' | 'GIP' | 'GMD' | 'GNF' | 'GTQ' | 'GYD' | 'HKD' | 'HNL' | 'HTG' | 'HUF' | 'IDR' | 'ILS' | 'INR' | 'IQD' | 'ISK' | 'JMD' | 'JOD' | 'JPY' | 'KES' | 'KGS' | 'KHR' | 'KMF' | 'KRW' | 'KWD' | 'KYD' | 'KZT' | 'LAK' | 'LBP' | 'LKR' | 'LRD' | 'LSL' | 'LYD' | 'MAD' | 'MDL' | 'MGA' | 'MKD' | 'MMK' | 'MNT' | 'MOP' | 'MUR' | 'MVR' | 'MWK' | 'MXN' | 'MYR' | 'MZN' | 'NAD' | 'NGN' | 'NIO' | 'NOK' | 'NPR' | 'NZD' | 'OMR' | 'PAB' | 'PEN' | 'PGK' | 'PHP' | 'PKR' | 'PLN' | 'PYG' | 'QAR' | 'RON' | 'RSD' | 'RUB' | 'RWF' | 'SAR' | 'SBD' | 'SCR' | 'SEK' | 'SGD' | 'SHP' | 'SLE' | 'SOS' | 'SRD' | 'STD' | 'SZL' | 'THB' | 'TJS' | 'TND' | 'TOP' | 'TRY' | 'TTD' | 'TWD' | 'TZS' | 'UAH' | 'UGX' | 'UYU' | 'UZS' | 'VND' | 'VUV' | 'WST' | 'XAF' | 'XCD' | 'XOF' | 'XPF' | 'YER' | 'ZAR' | 'ZMW';

export type AccessLevel = 'full' | 'none';

/** The instant from which billing periods are counted, in UTC. `anniversary`: the start or, after a trial, its end. `calendar`: the first instant of the day, of the week (Monday), of the month, or of the year (1 January); several months are counted from January. `day`: the next such day of a month, for intervals of months and years. A month without that day has its last day instead. */
export type AnchorRule = 'anniversary' | 'calendar' | {
  day: number;
};

/** The first paid period, where it begins between two boundaries. `short`: it ends at the next one, and costs its share of the price. `long`: it ends at the one after that, and each day of it costs as much as one of that whole interval. */
export type FirstPeriod = 'short' | 'long';

export type TerminalAction = 'unpaid' | 'canceled' | 'past_due';

export interface NumberSeriesChange {
  /** `customer`: each customer has its own series. `environment`: all customers share one. */
  per?: 'customer' | 'environment';
  /** The first part of the numbers. null: the usual one of the series. */
  prefix?: string | null;
  /** If true, each year has its own series, with the year in its numbers: that of the date in `timeZone`. */
  yearly?: boolean;
}

/** The name of a time zone of the IANA database, such as `Europe/Vienna`. */
export type TimeZone = string;

/** The treatment of fields and query parameters that an operation does not have. `refuse`: the request is refused with 400. `ignore`: they are dropped, and the header `Tollkeeper-Ignored` names them. */
export type UnknownFields = 'refuse' | 'ignore';

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

/** Your own data: up to 50 keys of 1 to 40 characters. A value is a text of up to 500 characters, a number or a boolean. */
export type Metadata = Record<string, string | number | boolean>;

export interface BillingTermsInput {
  /** The days from an invoice to its due date, where it is not charged automatically. */
  netTermsDays?: number | null;
  /** The tax id of the customer, such as its VAT number, for its documents. */
  taxId?: string | null;
  /** Whether the customer accounts for the VAT itself, such as a business in another country of the EU. With a `taxId`, its invoices bear no tax and say why. You check the id: it ends when the customer enters another tax id or country. */
  reverseCharge?: boolean | null;
  /** The purchase order of invoices without their own. */
  purchaseOrderNumber?: string | null;
  /** The language of documents and emails. */
  language?: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt' | null;
  /** The time zone of dates in emails and on documents. */
  timeZone?: TimeZone | null;
  /** The addresses that get invoices, receipts and credit notes, in place of the customer's own. */
  invoiceEmails?: Array<string> | null;
  /** The memo of invoices without their own. */
  memo?: string | null;
  /** Facts to print on invoices, such as a cost centre. */
  customFields?: Array<CustomField> | null;
}

/** A name and its value, which are printed on documents. */
export interface CustomField {
  name: string;
  value: string;
}

export interface SpendControlsInput {
  /** All limits that the seller sets, in place of those before. One with the same meter, label, period and unit as before goes on counting. */
  limits?: Array<SpendLimitInput>;
  /** All limits that the customer sets for itself, in place of those before. Where the seller blocks the same use, they must not be higher. */
  ownLimits?: Array<SpendLimitInput>;
  /** Null removes the automatic top-up. Absent: it stays. */
  autoTopUp?: AutoTopUpInput | null;
}

export interface SpendLimitInput {
  /** The usage meter to count. Absent: all. */
  usageMeterSlug?: string | null;
  /** The credit pool of which to count what usage draws, in place of a usage meter. The amount is in its unit, and may be a decimal text. */
  creditPoolSlug?: string | null;
  /** The part of the customer that uses the units, such as a team, an agent or an API key. Limits with the same label count it. */
  label?: string | null;
  amount: number | string;
  /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
  period: 'day' | 'week' | 'month' | 'billing_period';
  /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
  unit?: 'units' | 'money';
  /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
  action?: 'block' | 'notify';
  /** Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full amount always causes `spend_limit.reached`. */
  thresholds?: Array<number>;
}

export interface AutoTopUpInput {
  /** The slug of an active price that is paid once, whose product gives credits of one usage meter or credit pool. */
  priceSlug: string;
  /** A purchase is made when the available balance falls below these units of the meter, or this amount of the credit pool. */
  below: number | string;
  /** The balance that a purchase reaches, as `below`. Its quantity closes the gap. */
  upTo?: number | string | null;
  /** The quantity that a purchase has, in place of `upTo`. */
  quantity?: number | null;
  /** The most that the purchases of a month in UTC may cost, with tax, in minor units. A purchase that does not fit is smaller, or waits for the next month. */
  maximumAmountPerMonth: number;
}

export type SubscriptionStatus = 'trialing' | 'active' | 'past_due' | 'unpaid' | 'cancellation_scheduled' | 'incomplete' | 'incomplete_expired' | 'canceled' | 'paused';

export interface NewSubscriptionItem {
  priceId?: string;
  /** The slug of an active price, instead of `priceId`. */
  priceSlug?: string;
  /** 1 by default. */
  quantity?: number;
}

export type IntervalUnit = 'day' | 'week' | 'month' | 'year';

export interface NewPriceOverride {
  priceId?: string;
  /** The slug of an active price, instead of `priceId`. */
  priceSlug?: string;
  /** In place of that of the price: of one, or of `usageEventsPerUnit` units. */
  unitPrice?: number | null;
  /** In place of that of the price. */
  pricing?: Pricing | null;
  /** Ignored: the terms begin with the change. */
  startsAt?: TimestampInput;
}

/** How units become money, in each usage period. `per_unit`: each unit. `package`: whole packages, rounded up. `graduated`: each unit at the rate of its own tier. `volume`: all units at the rate of the tier of the last one. `stairstep`: one amount for each tier. `percentage` and `graduated_percentage`: units are an amount of money. `dynamic`: each event has its own price. `freeUnits` come off before tiers and packages. */
export type Pricing = {
  model: 'per_unit';
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  unitAmount: string;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'package';
  packageSize: number;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  packageAmount: string;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'graduated' | 'volume';
  tiers: Array<{
    /** The last unit of the tier; null in the last tier. */
    upTo: number | null;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    unitAmount: string;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    flatAmount?: string;
  }>;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'stairstep';
  tiers: Array<{
    /** The last unit of the tier; null in the last tier. */
    upTo: number | null;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    flatAmount: string;
  }>;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'percentage';
  /** A decimal text, in percent, with up to 12 decimals. */
  rate: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  fixedAmountPerEvent?: string;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'graduated_percentage';
  tiers: Array<{
    /** The last unit of the tier; null in the last tier. */
    upTo: number | null;
    /** A decimal text, in percent, with up to 12 decimals. */
    rate: string;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    flatAmount?: string;
  }>;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'dynamic';
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
};

export interface Cancellation {
  timing: CancelTiming;
  /** The end, only with `at_future_date`. Periods that begin before it are billed whole and not refunded. */
  endDate?: TimestampInput | null;
  /** The reason of the customer, kept as `cancellationReason`. Without one, that of an earlier request stays. */
  reason?: 'too_expensive' | 'missing_features' | 'switched_service' | 'unused' | 'low_quality' | 'too_complex' | 'customer_service' | 'other' | null;
  /** The own words of the customer, kept as `cancellationComment`. Without any, those of an earlier request stay. */
  comment?: string | null;
}

/** The time at which the subscription ends. */
export type CancelTiming = 'at_end_of_current_billing_period' | 'at_future_date' | 'immediately';

export interface NewAdjustment {
  timing: AdjustmentTiming;
  /** The complete new set of items. Items of the subscription that are missing here end. It may be absent beside `priceOverrides`: the items stay. */
  newSubscriptionItems?: Array<AdjustedSubscriptionItem>;
  /** Own terms of this customer, for the prices that are named. Null in `unitPrice` or `pricing` without the other: the price has its own terms again. Those of other prices stay. Those of an item end with it. */
  priceOverrides?: Array<ChangedPriceOverride>;
  /** If false, the rest of the current period costs nothing more. True by default. */
  prorateCurrentBillingPeriod?: boolean;
  billingAnchor?: BillingAnchor;
  /** If true, an immediate change also charges what was refunded or voided for the current period. False by default. */
  collectRefunded?: boolean;
}

/** The time of the change. `auto`: a cheaper plan waits for the end of the period, a dearer one does not. At the end the renewal makes the change and bills the new price. An immediate change to another interval ends the period and begins a new one: its price is charged, less the unused paid value of the old one. */
export type AdjustmentTiming = 'immediately' | 'at_end_of_current_billing_period' | 'auto';

export interface AdjustedSubscriptionItem {
  /** An item of the subscription to keep or change. Without it, the item is new. */
  id?: string;
  type?: 'static';
  /** Checked if given. */
  subscriptionId?: string;
  priceId?: string | null;
  /** The slug or id of an active price, instead of `priceId`. */
  priceSlug?: string | null;
  /** 1 by default. */
  quantity?: number;
  /** By default that of the price. Above 0 it takes the place of a `pricing`. */
  unitPrice?: number;
  /** The pricing of the price, or absent. Null: `unitPrice` takes its place. */
  pricing?: Pricing | null;
  name?: string | null;
  externalId?: string | null;
  metadata?: Metadata | null;
  /** Ignored: a new item begins with the change. */
  addedDate?: TimestampInput;
  /** An item that has expired by the time of the change is left out. A later instant is refused: schedule a change without the item. */
  expiredAt?: TimestampInput | null;
  /** If true, the item is ignored. The item with features added by hand stays as it is. */
  manuallyCreated?: boolean;
}

export interface ChangedPriceOverride {
  priceId?: string;
  /** The slug of an active price, instead of `priceId`. */
  priceSlug?: string;
  /** In place of that of the price: of one, or of `usageEventsPerUnit` units. */
  unitPrice?: number | null;
  /** In place of that of the price. */
  pricing?: Pricing | null;
  /** Ignored: the terms begin with the change. */
  startsAt?: TimestampInput;
}

/** For an immediate change to another interval. `now` (the default): the new period is whole, and later ones are counted from the change. `unchanged`: the new period is the rest of the interval around the change, counted from the present anchor, at its share of the price. */
export type BillingAnchor = 'now' | 'unchanged';

export interface SubscriptionPause {
  /** The time of the resume. Null: the subscription stays paused. By default null, or the value of an earlier request. */
  resumesAt?: TimestampInput | null;
}

export interface AddFeature {
  featureId?: string | null;
  featureSlug?: string | null;
  /** If true, the credits are granted now, once in each billing period. Only for a feature of type `usage_credit_grant`. */
  grantCreditsImmediately?: boolean;
  /** For a feature of type `value`: the value that this subscription has in place of that of its plan. Null or absent: that of the feature. */
  value?: number | string | Array<string> | null;
}

export type FeatureStructure = {
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount?: null;
  renewalFrequency?: null;
  grantInterval?: null;
  usageMeterSlug?: null;
  creditPoolSlug?: null;
  resourceSlug?: null;
  rolloverMaximum?: null;
  rolloverPeriods?: null;
  value?: null;
  spendLimit?: null;
  type: 'toggle';
} | {
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount: number;
  renewalFrequency: RenewalFrequency;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval?: {
    unit: 'day' | 'week' | 'month' | 'year';
    count?: number;
  } | null;
  usageMeterSlug?: string | null;
  creditPoolSlug?: string | null;
  resourceSlug?: null;
  /** The most unused units that roll over at the end of a billing period, or grant interval, into later ones. Of a credit pool, what is left of a purchase rolls over when it is bought again before its end. Null: none. */
  rolloverMaximum?: number | null;
  /** The number of billing periods, or grant intervals, for which rolled-over units can be used. Null if there is no rollover. */
  rolloverPeriods?: number | null;
  value?: null;
  spendLimit?: null;
  type: 'usage_credit_grant';
} | {
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount: number;
  renewalFrequency?: null;
  grantInterval?: null;
  usageMeterSlug?: null;
  creditPoolSlug?: null;
  resourceSlug: string;
  rolloverMaximum?: null;
  rolloverPeriods?: null;
  value?: null;
  spendLimit?: null;
  type: 'resource';
} | {
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount?: null;
  renewalFrequency?: null;
  grantInterval?: null;
  usageMeterSlug?: null;
  creditPoolSlug?: null;
  resourceSlug?: null;
  rolloverMaximum?: null;
  rolloverPeriods?: null;
  /** A number, a text, or a list of at most 100 different texts. */
  value: number | string | Array<string>;
  spendLimit?: null;
  type: 'value';
} | {
  slug: string;
  name: string;
  description?: string;
  active?: boolean;
  amount: number;
  renewalFrequency?: null;
  grantInterval?: null;
  usageMeterSlug?: null;
  creditPoolSlug?: null;
  resourceSlug?: null;
  rolloverMaximum?: null;
  rolloverPeriods?: null;
  value?: null;
  spendLimit: {
    /** The usage meter that the limit counts. Null: all, or a credit pool. */
    usageMeterSlug?: string | null;
    /** The credit pool of which the limit counts what usage draws, in place of a usage meter. The amount is in whole units of it. */
    creditPoolSlug?: string | null;
    /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
    period: 'day' | 'week' | 'month' | 'billing_period';
    /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
    unit?: 'units' | 'money';
    /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
    action?: 'block' | 'notify';
    /** Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full amount always causes `spend_limit.reached`. */
    thresholds?: Array<number>;
  };
  type: 'spend_limit';
};

/** How often credits are granted: once, with each billing period, or with each `grantInterval` also within a period. */
export type RenewalFrequency = 'once' | 'every_billing_period' | 'every_interval';

export interface ProductStructure {
  product: {
    name: string;
    slug: string;
    description?: string | null;
    imageURL?: string | null;
    singularQuantityLabel?: string | null;
    pluralQuantityLabel?: string | null;
    minimumQuantity?: number | null;
    maximumQuantity?: number | null;
    usagePrices?: Array<{
      usageMeterSlug: string;
      priceSlug: string;
    }>;
    addOn?: boolean;
    default?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
  };
  price: {
    type: 'subscription';
    name?: string | null;
    slug?: string | null;
    /** That of the environment, or absent. */
    currency?: CurrencyCode;
    metadata?: Metadata | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    isDefault?: true;
    active?: true;
    intervalUnit: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: number | null;
    /** By default `none` for the default product, else `bill`. */
    overage?: Overage | null;
    setupFeeAmount?: number | null;
    minimumCommitment?: number | null;
    usageInterval?: null;
    billingTiming?: BillingTiming;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  } | {
    type: 'single_payment';
    name?: string | null;
    slug?: string | null;
    /** That of the environment, or absent. */
    currency?: CurrencyCode;
    metadata?: Metadata | null;
    unitPrice: number;
    pricing?: null;
    isDefault?: true;
    active?: true;
    intervalUnit?: null;
    intervalCount?: null;
    trialPeriodDays?: null;
    overage?: null;
    setupFeeAmount?: null;
    minimumCommitment?: null;
    usageInterval?: null;
    billingTiming?: null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
  };
  features?: Array<string | {
    slug: string;
    value?: number | string | Array<string> | null;
  }>;
}

/** The treatment of usage that no credit covers. `bill`: it is billed at the price of its usage meter. `none`: it is recorded and shown on the invoice, and costs nothing. */
export type Overage = 'bill' | 'none';

/** When the price of a billing period is billed. `in_advance`: at its start. `in_arrears`: at its end, with its usage, each quantity for its share of the time. */
export type BillingTiming = 'in_advance' | 'in_arrears';

export interface UsageMeterStructure {
  usageMeter: {
    name: string;
    slug: string;
    aggregationType?: UsageMeterAggregationType;
    /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
    recurring?: boolean;
    proration?: UsageMeterProration;
    /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
    lowBalanceThreshold?: number | null;
    /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
    eventName?: string | null;
    /** The events with this name that count on the meter; null: all. */
    where?: Where | null;
    /** The property of such events with the units; null: their `amount`, by default 1. */
    valueProperty?: string | null;
  };
  prices?: Array<{
    type?: 'usage';
    name?: string | null;
    slug?: string | null;
    /** That of the environment, or absent. */
    currency?: CurrencyCode;
    metadata?: Metadata | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    intervalUnit?: IntervalUnit | null;
    intervalCount?: number | null;
    /** By default `own` where the price names an interval, else `subscription`. */
    usageInterval?: UsageInterval | null;
    usageEventsPerUnit?: number;
    where?: Where | null;
    isDefault?: boolean;
    active?: boolean;
    trialPeriodDays?: null;
    overage?: null;
  }>;
}

/** `sum` adds up the amounts of events. `count` counts events: the amount of each is 1. `count_distinct_properties` counts each distinct set of properties once in a period. `max` and `latest` take the largest amount of a period, and that of the latest usage date. `unit_hours` is a value that each event sets, times the hours for which it is held. */
export type UsageMeterAggregationType = 'sum' | 'count' | 'count_distinct_properties' | 'max' | 'latest' | 'unit_hours';

/** How the units of a recurring meter count. `none`: the value at the end of the period. `day`: the share of days at whose end they are held. `second`: the exact share of the time. */
export type UsageMeterProration = 'none' | 'day' | 'second';

/** The values that properties of an event may have: up to 5 properties with up to 50 values each. A number or boolean of an event is compared as a text. */
export type Where = Record<string, Array<string>>;

/** The interval by which usage at the price is billed. `own`: by the interval of the price, counted from the billing anchor of the subscription. `subscription`: by that of the subscription. */
export type UsageInterval = 'own' | 'subscription';

export interface ResourceStructure {
  slug: string;
  name: string;
  active?: boolean;
}

export interface CreditPoolStructure {
  slug: string;
  name: string;
  /** The unit of its amounts: `credit`, or a currency such as `USD`. It never changes. */
  unit: 'credit' | CurrencyCode;
  /** Whether use of a meter without a rate for it draws the amount of its price. For a pool whose unit is the currency of prices; a pricing model has one such pool. It never changes. Usage is drawn at a price whose first unit costs something and that has no `freeUnits`, `minimumAmount` or `maximumAmount`, and not with the models `volume` and `stairstep`: other usage is billed. Tiers and packages of what the pool pays for, and of what is billed, are counted apart. */
  drawAtPrice?: boolean;
  /** A decimal text in units of the pool. A balance that falls below it causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold?: string | null;
  /** At most 200, all of them: those that are missing end. */
  rates?: Array<{
    usageMeterSlug: string;
    /** The events of the meter that it is for; null: all others. Of several, the one with the most properties applies. */
    where?: Where | null;
    /** The number of units of the usage meter that cost `cost`. */
    per?: number;
    /** A decimal text, in units of the pool. */
    cost: string;
  }>;
}

export type DestinationEnvironment = 'livemode' | 'testmode';

export type PriceType = 'subscription' | 'single_payment' | 'usage';

export interface SpendLimitTermsInput {
  /** The usage meter that the limit counts. Null: all, or a credit pool. */
  usageMeterId?: string | null;
  /** The credit pool of which the limit counts what usage draws, in place of a usage meter. The amount is in whole units of it. */
  creditPoolId?: string | null;
  /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
  period: 'day' | 'week' | 'month' | 'billing_period';
  /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
  unit?: 'units' | 'money';
  /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
  action?: 'block' | 'notify';
  /** Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full amount always causes `spend_limit.reached`. */
  thresholds?: Array<number>;
}

export type FeatureType = 'toggle' | 'usage_credit_grant' | 'resource' | 'value' | 'spend_limit';

export type DiscountAmountType = 'percent' | 'fixed';

export interface NewSubscriptionItemFeature {
  productFeatureId?: string | null;
  usageMeterId?: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string | null;
  renewalFrequency?: RenewalFrequency | null;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval?: {
    unit: 'day' | 'week' | 'month' | 'year';
    count?: number;
  } | null;
  resourceId?: string | null;
  /** By default the value of the feature. */
  value?: number | string | Array<string> | null;
  expiredAt?: TimestampInput | null;
  detachedAt?: TimestampInput | null;
  detachedReason?: string | null;
  manuallyCreated?: boolean;
  subscriptionItemId: string;
  featureId: string;
  /** The type of the feature. */
  type?: FeatureType;
  /** By default the amount of the feature. */
  amount?: number | null;
}

export interface SubscriptionItemFeatureChange {
  productFeatureId?: string | null;
  usageMeterId?: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string | null;
  renewalFrequency?: RenewalFrequency | null;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval?: {
    unit: 'day' | 'week' | 'month' | 'year';
    count?: number;
  } | null;
  resourceId?: string | null;
  /** By default the value of the feature. */
  value?: number | string | Array<string> | null;
  expiredAt?: TimestampInput | null;
  detachedAt?: TimestampInput | null;
  detachedReason?: string | null;
  manuallyCreated?: boolean;
  id?: string;
  /** The type cannot change. */
  type?: FeatureType;
  /** The type cannot change. */
  featureId?: string;
  /** The type cannot change. */
  subscriptionItemId?: string;
  /** The type cannot change. */
  subscriptionId?: string;
  amount?: number | null;
}

export interface NewResourceClaims {
  resourceSlug: string;
  metadata?: Metadata | null;
  /** The number of claims without a name. */
  quantity?: number | null;
  /** The claim with this name. */
  externalId?: string | null;
  /** The claims with these names. A repeated name counts once. */
  externalIds?: Array<string> | null;
}

export interface ResourceClaimsToRelease {
  resourceSlug: string;
  /** The number of claims without a name. */
  quantity?: number | null;
  /** The claim with this name. */
  externalId?: string | null;
  /** The claims with these names. A repeated name counts once. */
  externalIds?: Array<string> | null;
  claimIds?: Array<string> | null;
}

export interface EntitlementCheck {
  customerExternalId: string;
  featureSlug: string;
  /** The number of units of the meter or credit pool, or places of the resource, or the number that a value has to reach, by default 1. A toggle has no amount. */
  amount?: number | null;
  /** The text that a value has to be or to contain. Only for a value that is a text or a list. */
  value?: string | null;
}

/** Send exactly one of `subscriptionId`, `customerId` and `customerExternalId`, and exactly one of `usageMeterId`, `usageMeterSlug`, `creditPoolId`, `creditPoolSlug`. */
export interface NewUsageCredit {
  subscriptionId?: string | null;
  /** The subscription that has the bought credits of this customer gets them. Without one they wait for the next. */
  customerId?: string | null;
  /** The same, by your own id of the customer. */
  customerExternalId?: string | null;
  usageMeterId?: string | null;
  usageMeterSlug?: string | null;
  creditPoolId?: string | null;
  /** Credits of a pool are of a customer, whatever subscriptions it has. */
  creditPoolSlug?: string | null;
  /** The number of units of the meter, or an amount of the pool, which may be a decimal text. */
  amount: number | string;
  /** The end of their use. Without it, they do not expire. */
  expiresAt?: TimestampInput | null;
  /** Credits with a lower number are used first. 100 when absent. */
  priority?: number | null;
  reason?: string | null;
  /** Your own id of the grant. A repeat with the same `transactionId` on a usage meter or credit pool returns the first grant. */
  transactionId?: string | null;
}

/** Send exactly one of subscriptionId, customerId, customerExternalId, and exactly one of priceId, priceSlug, usageMeterId, usageMeterSlug, eventName. */
export interface NewUsageEvent {
  subscriptionId?: string | null;
  /** The customer, in place of `subscriptionId`: its one current subscription that has the usage meter. */
  customerId?: string | null;
  /** Your own id of the customer, in place of `subscriptionId`: its one current subscription that has the usage meter. */
  customerExternalId?: string | null;
  /** Your own id of the event. An event with the same `transactionId` counts once on a usage meter, without a limit of time unless the service has one: see `deduplicationDays` of `GET /archives`. */
  transactionId: string;
  /** The units of the use, 1 or more. A meter that counts events takes 1 alone, and may go without; any other requires it. Meters of type `max`, `latest` and `unit_hours` take 0 too, and recurring ones also a negative amount. */
  amount?: number;
  /** The time of use, by default now. */
  usageDate?: TimestampInput;
  /** Details of the use, at most 16384 bytes of JSON. A meter of distinct properties requires them. */
  properties?: Record<string, unknown> | null;
  /** The price of the event itself, a decimal text in the smallest unit of the currency. Required at a price with the model `dynamic`, and refused at any other. */
  price?: string;
  /** The part of the customer that uses the units, such as a team, an agent or an API key. Limits with the same label count it. */
  label?: string | null;
  priceId?: string | null;
  /** The slug of an active usage price. */
  priceSlug?: string | null;
  /** The usage meter. The event is rated by the price whose `where` it matches with the most properties, else by the rate of the plan, else by the default price. */
  usageMeterId?: string | null;
  /** The slug of the usage meter. The event is rated by the price whose `where` it matches with the most properties, else by the rate of the plan, else by the default price. */
  usageMeterSlug?: string | null;
  /** The name of the event, in place of a price or meter. It counts on every usage meter with this `eventName` whose `where` it matches: one event for each, with the same `transactionId`. All of them are stored, or none. */
  eventName?: string | null;
}

/** Send exactly one of priceId, priceSlug, usageMeterId, usageMeterSlug, meter. */
export interface NewHold {
  subscriptionId?: string | null;
  /** The customer, in place of `subscriptionId`: its one current subscription that has the usage meter. */
  customerId?: string | null;
  /** Your own id of the customer, in place of `subscriptionId`: its one current subscription that has the usage meter. */
  customerExternalId?: string | null;
  /** The units to set aside. A meter that counts events takes 1 alone, and may go without. */
  amount?: number;
  /** The time at which the hold ends by itself, at most 31 days ahead. */
  expiresAt: TimestampInput;
  /** The part of the customer that uses the units, such as a team, an agent or an API key. Limits with the same label count it. */
  label?: string | null;
  priceId?: string | null;
  /** The slug of an active usage price. */
  priceSlug?: string | null;
  /** The usage meter. The event is rated by the price whose `where` it matches with the most properties, else by the rate of the plan, else by the default price. */
  usageMeterId?: string | null;
  /** The slug of the usage meter. The event is rated by the price whose `where` it matches with the most properties, else by the rate of the plan, else by the default price. */
  usageMeterSlug?: string | null;
  /** The id or slug of the usage meter, whose default price applies. */
  meter?: string | null;
}

export type InvoiceStatus = 'draft' | 'open' | 'awaiting_payment_confirmation' | 'paid' | 'partially_refunded' | 'refunded' | 'void' | 'uncollectible';

export interface WrittenLine {
  /** The text of the line. By default the name of the price; required with `unitAmount`. */
  description?: string | null;
  /** 1 by default. */
  quantity?: number;
  /** The amount of one, in the smallest unit of the currency. */
  unitAmount?: number;
  priceId?: string;
  /** The slug of an active price of the customer's pricing model. A price of usage bills no line. */
  priceSlug?: string;
  /** If false, the line bears no tax. True by default. */
  taxable?: boolean;
  /** The time that the line is for. */
  servicePeriod?: {
    start: TimestampInput;
    end: TimestampInput;
  } | null;
}

export interface MoneyReceived {
  /** The amount received, in the smallest unit of the currency. At most the amount due, which is the default. */
  amount?: number | null;
  /** The time at which the money arrived, by default now. */
  paidAt?: TimestampInput | null;
  /** By default a bank transfer. */
  paymentMethodType?: PaymentMethodType | null;
  description?: string | null;
  /** The reference of the payer or the bank. */
  reference?: string | null;
}

export type PaymentMethodType = 'card' | 'link' | 'us_bank_account' | 'sepa_debit' | 'bacs_debit';

export interface CreditNoteInput {
  lines: Array<CreditNoteLineInput>;
  settle: CreditNoteSettlement;
  reason?: string | null;
}

export interface CreditNoteLineInput {
  invoiceLineItemId: string;
  /** The part of the amount of the line, before discount and tax. By default all that is left of it. */
  amount?: number | null;
  /** A quantity at the price of the line, in place of an amount. */
  quantity?: number | null;
}

/** `refund` returns money of a payment of the invoice; a refund of a payment makes one by itself. `offset` lowers the amount due on an open invoice. `balance` adds what was paid of the invoice to the balance of the customer. */
export type CreditNoteSettlement = 'refund' | 'offset' | 'balance';

export type CreditNoteStatus = 'issued' | 'settled' | 'void';

export interface BalanceAdjustment {
  customerExternalId: string;
  /** Positive: added to the balance. Negative: taken off it, at most what is left. */
  amount: number;
  description?: string | null;
}

export interface NewInvoiceItem {
  /** The text of the line. By default the name of the price; required with `unitAmount`. */
  description?: string | null;
  /** 1 by default. */
  quantity?: number;
  /** The amount of one, in the smallest unit of the currency. */
  unitAmount?: number;
  priceId?: string;
  /** The slug of an active price of the customer's pricing model. A price of usage bills no line. */
  priceSlug?: string;
  /** If false, the line bears no tax. True by default. */
  taxable?: boolean;
  /** The time that the line is for. */
  servicePeriod?: {
    start: TimestampInput;
    end: TimestampInput;
  } | null;
  customerId?: string;
  customerExternalId?: string;
  /** The subscription whose next invoice takes it. By default the next invoice of any of the customer. */
  subscriptionId?: string;
}

/** `pending`: it waits for the next invoice. `invoiced`: it is a line of `invoiceId`. */
export type InvoiceItemStatus = 'pending' | 'invoiced';

export interface InvoiceItemChange {
  /** The text of the line. By default the name of the price; required with `unitAmount`. */
  description?: string | null;
  /** 1 by default. */
  quantity?: number;
  /** The amount of one, in the smallest unit of the currency. */
  unitAmount?: number;
  priceId?: string;
  /** The slug of an active price of the customer's pricing model. A price of usage bills no line. */
  priceSlug?: string;
  /** If false, the line bears no tax. True by default. */
  taxable?: boolean;
  /** The time that the line is for. */
  servicePeriod?: {
    start: TimestampInput;
    end: TimestampInput;
  } | null;
  id?: string;
}

export type TaxType = 'amusement_tax' | 'communications_tax' | 'gst' | 'hst' | 'igst' | 'jct' | 'lease_tax' | 'pst' | 'qst' | 'rst' | 'sales_tax' | 'vat' | 'none';

export type PurchaseStatus = 'open' | 'pending' | 'failed' | 'paid' | 'refunded' | 'partial_refund' | 'fraudulent';

export type CheckoutSessionStatus = 'open' | 'pending' | 'succeeded' | 'failed' | 'expired';

export interface NewCheckoutItem {
  priceId?: string;
  /** The slug of an active price, instead of `priceId`. */
  priceSlug?: string;
  /** By default `minimumQuantity`, else 1. The buyer cannot change it without limits. */
  quantity?: number;
  /** The least that the buyer may choose. By default 1 if there is a `maximumQuantity`. */
  minimumQuantity?: number | null;
  /** The most that the buyer may choose. Without it the quantity is fixed. */
  maximumQuantity?: number | null;
}

export type PaymentStatus = 'processing' | 'requires_confirmation' | 'requires_action' | 'succeeded' | 'failed' | 'canceled' | 'refunded';

/** A type of event. `sync.events_available` is accepted for compatibility, and no such event is ever sent. */
export type WebhookFilterType = 'customer.created' | 'customer.updated' | 'purchase.completed' | 'payment.failed' | 'payment.succeeded' | 'subscription.created' | 'subscription.updated' | 'subscription.canceled' | 'usage_balance.low' | 'usage_threshold.reached' | 'spend_limit.reached' | 'auto_top_up.action_required' | 'auto_top_up.stopped' | 'auto_top_up.limit_reached' | 'customer.erased' | 'attempts.limit_reached' | 'credit_note.created' | 'credit_note.settled' | 'credit_note.voided' | 'invoice.sent' | 'invoice.created' | 'invoice.finalized' | 'invoice.paid' | 'invoice.payment_failed' | 'invoice.overdue' | 'invoice.voided' | 'invoice.uncollectible' | 'refund.created' | 'subscription.trial_will_end' | 'payment_method.expiring' | 'payment.action_required' | 'sync.events_available';

export type WebhookDeliveryStatus = 'pending' | 'succeeded' | 'failed';

export type EventType = 'customer.created' | 'customer.updated' | 'purchase.completed' | 'payment.failed' | 'payment.succeeded' | 'subscription.created' | 'subscription.updated' | 'subscription.canceled' | 'usage_balance.low' | 'usage_threshold.reached' | 'spend_limit.reached' | 'auto_top_up.action_required' | 'auto_top_up.stopped' | 'auto_top_up.limit_reached' | 'customer.erased' | 'attempts.limit_reached' | 'credit_note.created' | 'credit_note.settled' | 'credit_note.voided' | 'invoice.sent' | 'invoice.created' | 'invoice.finalized' | 'invoice.paid' | 'invoice.payment_failed' | 'invoice.overdue' | 'invoice.voided' | 'invoice.uncollectible' | 'refund.created' | 'subscription.trial_will_end' | 'payment_method.expiring' | 'payment.action_required';

export type EventObject = 'customer' | 'payment' | 'purchase' | 'subscription' | 'checkoutSession' | 'creditNote' | 'invoice' | 'paymentMethod';

/** `queued`: it is about to be sent, or tried again. `sent`: the mail server took it. `bounced`: the server refused all its addresses for good. `failed`: all attempts failed. `suppressed`: it was not to be sent, as `lastError` says. */
export type EmailStatus = 'queued' | 'sent' | 'bounced' | 'failed' | 'suppressed';

export interface ApiKey {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  /** The pricing model that the key is pinned to. Null: the key sees the whole environment. */
  pricingModelId: string | null;
  name: string;
  /** The key, masked: its prefix and its last four characters. */
  token: string;
  active: boolean;
  type: 'secret';
  /** What the key may do. */
  permissions: Array<Permission>;
  /** The end of the key in real time. Null: it has none. */
  expiresAt: Timestamp | null;
  /** The key that took the place of this one, if it was rotated. */
  replacedById: string | null;
  lastUsedAt: Timestamp | null;
  identityProviderHostedBillingUserId: string | null;
  stackAuthHostedBillingUserId: string | null;
  /** SHA-256 of the key that asks, in hexadecimal. Null for other keys. */
  hashText: string | null;
}

/** Epoch milliseconds. */
export type Timestamp = number;

export interface Organization {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  name: string;
}

export interface Settings {
  currency: CurrencyCode;
  /** If true, a customer may have several paid subscriptions at a time. */
  allowMultipleSubscriptions: boolean;
  access: Access;
  /** If true, the trial days of a price count for customers who already had a trial. A `trialEnd` in a request always counts. */
  allowRepeatedTrials: boolean;
  /** If true, the pages of buyers take debits beside cards: of SEPA in EUR, of Bacs in GBP, and of US bank accounts in USD. Stripe must have them activated. Their money arrives days later. */
  bankDebits: boolean;
  billingAnchor: AnchorRule;
  firstPeriod: FirstPeriod;
  /** If true, a customer may redeem the same discount more than once. A redemption that ended before any invoice with the discount does not count. */
  allowRepeatedDiscounts: boolean;
  /** Unbilled usage of a subscription is invoiced as soon as it is worth this much, in minor units. null: at the end of the period. A subscription may have its own. */
  billingThresholdAmount: WholeNumber | null;
  dunning: {
    /** The days from each failed attempt to the next. Empty: no retry. */
    retryDays: Array<number>;
    /** The status of the subscription after the last attempt has failed. */
    terminalAction: TerminalAction;
  };
  branding: Branding;
  mail: MailSettings;
  /** The days from the date of an invoice to its due date, for customers without a payment method. */
  netTermsDays: number;
  numbering: Numbering;
  /** How to pay without a card, such as the bank account: the text on the page to pay an invoice. */
  paymentInstructions: string | null;
  /** The hours for which the invoice of a renewal waits as a draft. Late usage and lines by hand still get onto it. 0: it is finalized at once. A customer may have its own. */
  reviewHours: number;
  seller: Seller | null;
  /** `none`: invoices carry no tax. `rates`: the tax rates apply, by the billing address of the customer. */
  taxProvider: 'none' | 'rates';
  /** The time zone of the seller, which decides the year of a number. Periods and the days on documents are in UTC. */
  timeZone: string;
  unknownFields: UnknownFields;
}

/** The access to a subscription whose invoices are unpaid. `none`: checks, consumption, holds and claims are refused, and a new period grants its credits once it is paid. Usage events are always stored. */
export interface Access {
  /** While the collection of a failed payment is still tried. */
  pastDue: AccessLevel;
  /** After the last attempt has failed. */
  unpaid: AccessLevel;
}

/** A whole number. An amount of money is in the smallest unit of its currency. */
export type WholeNumber = number;

/** The look of documents, emails and pages that buyers see. */
export interface Branding {
  /** The logo as a data URI of a PNG, at most 480 by 160 pixels. null: the name of the seller stands there. */
  logo: string | null;
  /** A square mark as a data URI of a PNG, at most 128 by 128 pixels. */
  icon: string | null;
  /** The colour of headings, lines and buttons, such as #1f3a5f. null: a dark grey. */
  primaryColor: string | null;
  /** The text at the end of each document, such as the register number, the directors and the bank account. */
  legalFooter: string | null;
}

/** The emails to customers. */
export interface MailSettings {
  /** If true, customers get emails about events from now on. The service needs a mail server for that. */
  enabled: boolean;
  /** The address for answers; null: the address of the sender. */
  replyTo: string | null;
  /** The addresses that get emails in test mode: `jo@example.com`, or `@example.com` for all of a domain. Others get none. Live mode ignores it. */
  testRecipients: Array<string>;
  /** Own texts of emails, by the name of the email. Their placeholders are filled in. */
  texts: Record<string, EmailTexts>;
}

/** Own texts of an email, in any language. `{customer}` is a placeholder. */
export interface EmailTexts {
  /** The subject; null: the usual one, in the language. */
  subject: string | null;
  /** The text; null: the usual one, in the language. */
  text: string | null;
}

/** The series of the numbers of invoices and of credit notes. A series has no gap, and a number is used once in an environment. After a change the next document begins another series, or continues one that was used before. */
export interface Numbering {
  invoices: NumberSeries;
  creditNotes: NumberSeries;
}

export interface NumberSeries {
  /** `customer`: each customer has its own series. `environment`: all customers share one. */
  per: 'customer' | 'environment';
  /** The first part of the numbers. null: the usual one of the series. */
  prefix: string | null;
  /** If true, each year has its own series, with the year in its numbers: that of the date in `timeZone`. */
  yearly: boolean;
}

export interface Seller {
  name: string | null;
  email: string | null;
  addressLines: Array<string>;
  taxId: string | null;
}

/** The branding after a change, with pages that show it. */
export interface BrandingPreview {
  branding: Branding;
  documentHtml: string;
  emailHtml: string;
}

export interface Archive {
  /** The number of the archive, as the command line names it. In another cell, `-` and its name follow. */
  id: string;
  createdAt: Timestamp;
  /** `restored`: its events are there, until an operator releases it. */
  state: 'archived' | 'restored';
  arrivedFrom: Timestamp;
  /** Its events arrived between these instants, in real time. */
  arrivedUntil: Timestamp;
  usageDateFrom: Timestamp;
  /** The first and the last `usageDate` of its events. */
  usageDateTo: Timestamp;
  events: number;
}

export interface AuditLogEntry {
  id: string;
  /** Real time in epoch milliseconds, even if the test clock is set. */
  occurredAt: Timestamp;
  pricingModelId: string | null;
  actor: {
    /** `user`: a person who was signed in. `customer`: a page of the checkout or portal. `operator`: the command line. `system`: background work. */
    type: 'api_key' | 'user' | 'customer' | 'operator' | 'system';
    apiKeyId: string | null;
    userId: string | null;
  };
  /** The operation, such as `POST /products`, or the name of the task or command. */
  action: string | null;
  /** The `X-Request-Id` of the answer. */
  requestId: string | null;
  record: {
    type: string;
    id: string;
  };
  operation: 'insert' | 'update' | 'delete';
  /** The fields by their names in the database, in camelCase. Secrets read `(secret)`, and addresses have no path. Integers beyond 2^53-1 are text. */
  before: Record<string, unknown> | null;
  /** The fields by their names in the database, in camelCase. Secrets read `(secret)`, and addresses have no path. Integers beyond 2^53-1 are text. */
  after: Record<string, unknown> | null;
}

export interface Customer {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  /** Your own id of the customer, unique in a pricing model among customers that are not archived. */
  externalId: string;
  email: string;
  name: string;
  archived: boolean;
  /** The time at which its personal data was erased. */
  erasedAt: Timestamp | null;
  logoURL: string | null;
  iconURL: string | null;
  domain: string | null;
  userId: string | null;
  billingAddress: BillingAddress | null;
  /** Names the customer in the numbers of its own series. */
  invoiceNumberBase: string;
  /** True if the customer owes no tax. */
  taxExempt: boolean;
  metadata: Metadata | null;
  /** The hours for which its invoices of renewals wait as drafts. Absent: those of the settings. */
  reviewHours?: number;
  /** True: the renewals of one day (UTC) are one invoice, which is made at the end of it. Absent: each subscription has its own. */
  consolidateInvoices?: true;
  /** The terms on which it is billed. A field that is absent is that of the settings. */
  billingTerms?: BillingTerms;
}

export interface BillingTerms {
  netTermsDays?: number;
  taxId?: string;
  reverseCharge?: boolean;
  purchaseOrderNumber?: string;
  language?: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt';
  timeZone?: TimeZone;
  invoiceEmails?: Array<string>;
  memo?: string;
  customFields?: Array<CustomField>;
}

export type Subscription = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  startDate: Timestamp;
  /** True while the customer has the subscription. An unpaid one is current; settings decide on its access. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: Timestamp | null;
  cancelScheduledAt: Timestamp | null;
  /** The reason why it ended or will end: `upgraded_to_paid`, `non_payment`, `customer_archived`, or the one of the customer, such as `too_expensive`. */
  cancellationReason: string | null;
  /** The comment of the customer on its cancellation. Absent without one. */
  cancellationComment?: string;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: Timestamp | null;
  pausedAt: Timestamp | null;
  /** The time at which a paused subscription resumes by itself. */
  resumesAt: Timestamp | null;
  /** True if the price is 0 at any quantity. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  /** Unbilled usage is invoiced as soon as it is worth this much. 0: never. null: as the settings say. */
  billingThresholdAmount: WholeNumber | null;
  runBillingAtPeriodStart: boolean;
  /** Own terms of this customer in force, in place of those of the prices. */
  priceOverrides: Array<PriceOverride>;
  renews: true;
  status: SubscriptionStatus;
  trialEnd: Timestamp | null;
  currentBillingPeriodStart: Timestamp | null;
  /** Before the subscription starts, the same as the start. */
  currentBillingPeriodEnd: Timestamp | null;
  interval: IntervalUnit;
  intervalCount: number;
  billingCycleAnchorDate: Timestamp;
  billingAnchor: AnchorRule;
  firstPeriod: FirstPeriod;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  startDate: Timestamp;
  /** True while the customer has the subscription. An unpaid one is current; settings decide on its access. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: Timestamp | null;
  cancelScheduledAt: Timestamp | null;
  /** The reason why it ended or will end: `upgraded_to_paid`, `non_payment`, `customer_archived`, or the one of the customer, such as `too_expensive`. */
  cancellationReason: string | null;
  /** The comment of the customer on its cancellation. Absent without one. */
  cancellationComment?: string;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: Timestamp | null;
  pausedAt: Timestamp | null;
  /** The time at which a paused subscription resumes by itself. */
  resumesAt: Timestamp | null;
  /** True if the price is 0 at any quantity. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  /** Unbilled usage is invoiced as soon as it is worth this much. 0: never. null: as the settings say. */
  billingThresholdAmount: WholeNumber | null;
  runBillingAtPeriodStart: boolean;
  /** Own terms of this customer in force, in place of those of the prices. */
  priceOverrides: Array<PriceOverride>;
  renews: false;
  status: 'active' | 'canceled';
  trialEnd: null;
  currentBillingPeriodStart: null;
  currentBillingPeriodEnd: null;
  interval: null;
  intervalCount: null;
  billingCycleAnchorDate: null;
  billingAnchor: null;
  firstPeriod: null;
};

export interface PriceOverride {
  priceId: string;
  unitPrice: WholeNumber | null;
  pricing: Pricing | null;
  /** A usage price has these terms for usage periods that begin then or later. */
  startsAt: Timestamp;
}

export interface SubscriptionItem {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  type: 'static';
  name: string | null;
  priceId: string | null;
  /** The price of one; 0 where there is a `pricing`. */
  unitPrice: WholeNumber;
  /** How the quantity becomes money, in place of `unitPrice`. */
  pricing: PricingOutput | null;
  quantity: number;
  addedDate: Timestamp;
  expiredAt: Timestamp | null;
  externalId: string | null;
  metadata: Metadata | null;
  /** True for the item with features that were added by hand, which costs nothing. */
  manuallyCreated: boolean;
}

export interface Erasure {
  customerId: string;
  erasedAt: Timestamp;
  /** The time at which all copies were erased; null before. */
  completedAt: Timestamp | null;
  /** The records whose fields were erased. */
  erased: Array<{
    /** The type of the records, such as `paymentMethod`. */
    record: string;
    /** Their number. Events, audit log entries and usage events: up to 10,000. */
    count: number;
    fields: Array<string>;
  }>;
  /** The copies that a job erases next. Empty when it is done. */
  pending: Array<{
    /** The type of the records, such as `paymentMethod`. */
    record: string;
    /** Their number. Events, audit log entries and usage events: up to 10,000. */
    count: number;
    fields: Array<string>;
  }>;
  /** The records that stay, and why. */
  kept: Array<{
    /** The type of the records, such as `paymentMethod`. */
    record: string;
    /** Their number. Events, audit log entries and usage events: up to 10,000. */
    count: number;
    reason: string;
  }>;
}

export interface CustomerBilling {
  customer: Customer;
  /** The newest 100 subscriptions of every status, and all current ones; newest first. */
  subscriptions: Array<SubscriptionDetails>;
  /** The current subscriptions, newest first. */
  currentSubscriptions: Array<SubscriptionDetails>;
  currentSubscription?: SubscriptionDetails;
  /** The newest 100 invoices, newest first. */
  invoices: Array<{
    invoice: Invoice;
    /** The first 100 lines. */
    invoiceLineItems: Array<InvoiceLineItem>;
    /** Whether the invoice has more lines. */
    hasMore: boolean;
  }>;
  /** At most 100, the default first. */
  paymentMethods: Array<PaymentMethod>;
  /** The newest 1,000 purchases that are paid and not refunded, newest first. */
  purchases: Array<Purchase>;
  /** Whether there are more records of a kind, which its list has. */
  hasMore: {
    subscriptions: boolean;
    invoices: boolean;
    paymentMethods: boolean;
    purchases: boolean;
  };
  pricingModel: PricingModelDetails;
  /** The same pricing model, under its former name. */
  catalog: PricingModelDetails;
  /** A link to the customer portal, valid for a day. Give it to this customer only. */
  billingPortalUrl: string;
}

export type SubscriptionDetails = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  startDate: Timestamp;
  /** True while the customer has the subscription. An unpaid one is current; settings decide on its access. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: Timestamp | null;
  cancelScheduledAt: Timestamp | null;
  /** The reason why it ended or will end: `upgraded_to_paid`, `non_payment`, `customer_archived`, or the one of the customer, such as `too_expensive`. */
  cancellationReason: string | null;
  /** The comment of the customer on its cancellation. Absent without one. */
  cancellationComment?: string;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: Timestamp | null;
  pausedAt: Timestamp | null;
  /** The time at which a paused subscription resumes by itself. */
  resumesAt: Timestamp | null;
  /** True if the price is 0 at any quantity. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  /** Unbilled usage is invoiced as soon as it is worth this much. 0: never. null: as the settings say. */
  billingThresholdAmount: WholeNumber | null;
  runBillingAtPeriodStart: boolean;
  /** Own terms of this customer in force, in place of those of the prices. */
  priceOverrides: Array<PriceOverride>;
  renews: true;
  status: SubscriptionStatus;
  trialEnd: Timestamp | null;
  currentBillingPeriodStart: Timestamp | null;
  /** Before the subscription starts, the same as the start. */
  currentBillingPeriodEnd: Timestamp | null;
  interval: IntervalUnit;
  intervalCount: number;
  billingCycleAnchorDate: Timestamp;
  billingAnchor: AnchorRule;
  firstPeriod: FirstPeriod;
  /** The items that are active now. */
  subscriptionItems: Array<{
    id: string;
    createdAt: Timestamp;
    updatedAt: Timestamp;
    livemode: boolean;
    pricingModelId: string;
    subscriptionId: string;
    type: 'static';
    name: string | null;
    priceId: string | null;
    /** The price of one; 0 where there is a `pricing`. */
    unitPrice: WholeNumber;
    /** How the quantity becomes money, in place of `unitPrice`. */
    pricing: PricingOutput | null;
    quantity: number;
    addedDate: Timestamp;
    expiredAt: Timestamp | null;
    externalId: string | null;
    metadata: Metadata | null;
    /** True for the item with features that were added by hand, which costs nothing. */
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
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  name: string | null;
  startDate: Timestamp;
  /** True while the customer has the subscription. An unpaid one is current; settings decide on its access. */
  current: boolean;
  defaultPaymentMethodId: string | null;
  backupPaymentMethodId: string | null;
  metadata: Metadata | null;
  canceledAt: Timestamp | null;
  cancelScheduledAt: Timestamp | null;
  /** The reason why it ended or will end: `upgraded_to_paid`, `non_payment`, `customer_archived`, or the one of the customer, such as `too_expensive`. */
  cancellationReason: string | null;
  /** The comment of the customer on its cancellation. Absent without one. */
  cancellationComment?: string;
  replacedBySubscriptionId: string | null;
  scheduledAdjustmentAt: Timestamp | null;
  pausedAt: Timestamp | null;
  /** The time at which a paused subscription resumes by itself. */
  resumesAt: Timestamp | null;
  /** True if the price is 0 at any quantity. */
  isFreePlan: boolean;
  doNotCharge: boolean;
  /** Unbilled usage is invoiced as soon as it is worth this much. 0: never. null: as the settings say. */
  billingThresholdAmount: WholeNumber | null;
  runBillingAtPeriodStart: boolean;
  /** Own terms of this customer in force, in place of those of the prices. */
  priceOverrides: Array<PriceOverride>;
  renews: false;
  status: 'active' | 'canceled';
  trialEnd: null;
  currentBillingPeriodStart: null;
  currentBillingPeriodEnd: null;
  interval: null;
  intervalCount: null;
  billingCycleAnchorDate: null;
  billingAnchor: null;
  firstPeriod: null;
  /** The items that are active now. */
  subscriptionItems: Array<{
    id: string;
    createdAt: Timestamp;
    updatedAt: Timestamp;
    livemode: boolean;
    pricingModelId: string;
    subscriptionId: string;
    type: 'static';
    name: string | null;
    priceId: string | null;
    /** The price of one; 0 where there is a `pricing`. */
    unitPrice: WholeNumber;
    /** How the quantity becomes money, in place of `unitPrice`. */
    pricing: PricingOutput | null;
    quantity: number;
    addedDate: Timestamp;
    expiredAt: Timestamp | null;
    externalId: string | null;
    metadata: Metadata | null;
    /** True for the item with features that were added by hand, which costs nothing. */
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
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  name: string | null;
  slug: string | null;
  /** The price of one; 0 where `pricing` says how units become money. */
  unitPrice: WholeNumber;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  metadata: Metadata | null;
  type: 'subscription';
  productId: string;
  usageMeterId: null;
  usageEventsPerUnit: null;
  intervalUnit: IntervalUnit;
  intervalCount: number;
  trialPeriodDays: number | null;
  overage: Overage;
  pricing: PricingOutput | null;
  /** Billed once, with the first invoice of a subscription, whatever its quantity. */
  setupFeeAmount: WholeNumber | null;
  /** The least that a billing period costs, plan and usage together, before discounts and tax, whatever the quantity. What is missing at its end is billed then. A part of a period has its share by time. */
  minimumCommitment: WholeNumber | null;
  billingTiming: BillingTiming;
  where: null;
  usageInterval: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  name: string | null;
  slug: string | null;
  /** The price of one; 0 where `pricing` says how units become money. */
  unitPrice: WholeNumber;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  metadata: Metadata | null;
  type: 'single_payment';
  productId: string;
  usageMeterId: null;
  usageEventsPerUnit: null;
  intervalUnit: null;
  intervalCount: null;
  trialPeriodDays: null;
  overage: null;
  pricing: null;
  setupFeeAmount: null;
  minimumCommitment: null;
  billingTiming: null;
  where: null;
  usageInterval: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  name: string | null;
  slug: string | null;
  /** The price of one; 0 where `pricing` says how units become money. */
  unitPrice: WholeNumber;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  metadata: Metadata | null;
  type: 'usage';
  productId: null;
  usageMeterId: string;
  usageEventsPerUnit: number;
  intervalUnit: IntervalUnit;
  intervalCount: number;
  trialPeriodDays: null;
  overage: null;
  pricing: PricingOutput | null;
  setupFeeAmount: null;
  minimumCommitment: null;
  billingTiming: null;
  /** The events that it rates; null: those that no other price rates. */
  where: Where | null;
  usageInterval: UsageInterval;
};

export type SubscriptionItemFeature = {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  expiredAt: Timestamp | null;
  detachedAt: Timestamp | null;
  type: 'toggle';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  expiredAt: Timestamp | null;
  detachedAt: Timestamp | null;
  type: 'usage_credit_grant';
  amount: WholeNumber;
  /** The usage meter. Null for credits of a pool. */
  usageMeterId: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string;
  renewalFrequency: RenewalFrequency;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval: GrantInterval | null;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  expiredAt: Timestamp | null;
  detachedAt: Timestamp | null;
  type: 'resource';
  amount: WholeNumber;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: string;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  expiredAt: Timestamp | null;
  detachedAt: Timestamp | null;
  type: 'value';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
  value: FeatureValue;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
  productFeatureId: string | null;
  /** The name of the feature. */
  name: string;
  /** The slug of the feature. */
  slug: string;
  detachedReason: string | null;
  manuallyCreated: boolean;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  expiredAt: Timestamp | null;
  detachedAt: Timestamp | null;
  type: 'spend_limit';
  amount: WholeNumber;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
  spendLimit: SpendLimitTerms;
};

export interface GrantInterval {
  unit: 'day' | 'week' | 'month' | 'year';
  count: number;
}

/** A number, a text, or a list of texts. */
export type FeatureValue = number | string | Array<string>;

export interface SpendLimitTerms {
  /** The usage meter that the limit counts. Null: all, or a credit pool. */
  usageMeterId: string | null;
  /** The credit pool of which the limit counts what usage draws, in place of a usage meter. The amount is in whole units of it. */
  creditPoolId?: string;
  /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
  period: 'day' | 'week' | 'month' | 'billing_period';
  /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
  unit: 'units' | 'money';
  /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
  action: 'block' | 'notify';
  /** Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full amount always causes `spend_limit.reached`. */
  thresholds: Array<number>;
}

export interface UsageMeterBalance {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
  recurring: boolean;
  proration: UsageMeterProration;
  /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold: WholeNumber | null;
  /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
  eventName: string | null;
  /** The events with this name that count on the meter; null: all. */
  where: Where | null;
  /** The property of such events with the units; null: their `amount`, by default 1. */
  valueProperty: string | null;
  subscriptionId: string;
  /** The usable credits, minus usage that no credit covered. May be negative. */
  availableBalance: WholeNumber;
}

export type Invoice = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  /** The number of the invoice, the next one of its series. A series has no gaps. Null until a draft is finalized. */
  invoiceNumber: string | null;
  invoiceDate: Timestamp;
  dueDate: Timestamp | null;
  status: InvoiceStatus;
  currency: CurrencyCode;
  /** The sum of the lines less the discounts, without tax. */
  subtotal: WholeNumber | null;
  taxAmount: WholeNumber | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** A decimal number as text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: WholeNumber | null;
  /** The amount that the discounts take off the sum of the lines. */
  discountAmount: WholeNumber;
  /** The sum of subtotal and tax. */
  total: WholeNumber;
  /** The amount that was paid, before refunds. */
  amountPaid: WholeNumber;
  amountRefunded: WholeNumber;
  /** The total of the credit notes that are not void. Absent without any. */
  creditedAmount?: WholeNumber;
  /** The part of it that lowers the amount due instead of going back. Absent without any. */
  offsetAmount?: WholeNumber;
  /** The part of `creditedAmount` that went to the balance of the customer. Absent if that is nothing. */
  balanceCredited?: WholeNumber;
  /** What the customer's balance paid of it when it was made. Absent where that was nothing. */
  balanceApplied?: WholeNumber;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: string | null;
  /** The receipt of its last payment as PDF, for requests with a key. Null before money has come. */
  receiptPdfURL: string | null;
  memo: string | null;
  /** Your own data, on no document. Absent if there is none. */
  metadata?: Metadata;
  /** The text below the totals. Absent without one. */
  footer?: string;
  /** The buyer's reference. Absent without one. */
  purchaseOrderNumber?: string;
  /** A page on which anyone who has the link can pay it. Present where one finalized invoice is read or sent, and not in events. */
  hostedInvoiceUrl?: string;
  /** The time at which the draft of a renewal is finalized by itself. Absent on every other invoice. */
  finalizesAt?: Timestamp;
  /** The consolidated invoice that this one is a part of, which has the number and is paid. Absent on every other invoice. */
  consolidatedInvoiceId?: string;
  /** The time at which it was sent last. Absent before. */
  sentAt?: Timestamp;
  /** The time of the next attempt to collect it. Absent where none is planned. */
  nextAttemptAt?: Timestamp;
  bankPaymentOnly: boolean | null;
  type: 'subscription';
  subscriptionId: string;
  /** Null if the subscription has no billing periods. */
  billingPeriodId: string | null;
  billingPeriodStartDate: Timestamp | null;
  billingPeriodEndDate: Timestamp | null;
  purchaseId: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  /** The number of the invoice, the next one of its series. A series has no gaps. Null until a draft is finalized. */
  invoiceNumber: string | null;
  invoiceDate: Timestamp;
  dueDate: Timestamp | null;
  status: InvoiceStatus;
  currency: CurrencyCode;
  /** The sum of the lines less the discounts, without tax. */
  subtotal: WholeNumber | null;
  taxAmount: WholeNumber | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** A decimal number as text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: WholeNumber | null;
  /** The amount that the discounts take off the sum of the lines. */
  discountAmount: WholeNumber;
  /** The sum of subtotal and tax. */
  total: WholeNumber;
  /** The amount that was paid, before refunds. */
  amountPaid: WholeNumber;
  amountRefunded: WholeNumber;
  /** The total of the credit notes that are not void. Absent without any. */
  creditedAmount?: WholeNumber;
  /** The part of it that lowers the amount due instead of going back. Absent without any. */
  offsetAmount?: WholeNumber;
  /** The part of `creditedAmount` that went to the balance of the customer. Absent if that is nothing. */
  balanceCredited?: WholeNumber;
  /** What the customer's balance paid of it when it was made. Absent where that was nothing. */
  balanceApplied?: WholeNumber;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: string | null;
  /** The receipt of its last payment as PDF, for requests with a key. Null before money has come. */
  receiptPdfURL: string | null;
  memo: string | null;
  /** Your own data, on no document. Absent if there is none. */
  metadata?: Metadata;
  /** The text below the totals. Absent without one. */
  footer?: string;
  /** The buyer's reference. Absent without one. */
  purchaseOrderNumber?: string;
  /** A page on which anyone who has the link can pay it. Present where one finalized invoice is read or sent, and not in events. */
  hostedInvoiceUrl?: string;
  /** The time at which the draft of a renewal is finalized by itself. Absent on every other invoice. */
  finalizesAt?: Timestamp;
  /** The consolidated invoice that this one is a part of, which has the number and is paid. Absent on every other invoice. */
  consolidatedInvoiceId?: string;
  /** The time at which it was sent last. Absent before. */
  sentAt?: Timestamp;
  /** The time of the next attempt to collect it. Absent where none is planned. */
  nextAttemptAt?: Timestamp;
  bankPaymentOnly: boolean | null;
  type: 'purchase';
  subscriptionId: null;
  billingPeriodId: null;
  billingPeriodStartDate: null;
  billingPeriodEndDate: null;
  purchaseId: string;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  /** The number of the invoice, the next one of its series. A series has no gaps. Null until a draft is finalized. */
  invoiceNumber: string | null;
  invoiceDate: Timestamp;
  dueDate: Timestamp | null;
  status: InvoiceStatus;
  currency: CurrencyCode;
  /** The sum of the lines less the discounts, without tax. */
  subtotal: WholeNumber | null;
  taxAmount: WholeNumber | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** A decimal number as text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: WholeNumber | null;
  /** The amount that the discounts take off the sum of the lines. */
  discountAmount: WholeNumber;
  /** The sum of subtotal and tax. */
  total: WholeNumber;
  /** The amount that was paid, before refunds. */
  amountPaid: WholeNumber;
  amountRefunded: WholeNumber;
  /** The total of the credit notes that are not void. Absent without any. */
  creditedAmount?: WholeNumber;
  /** The part of it that lowers the amount due instead of going back. Absent without any. */
  offsetAmount?: WholeNumber;
  /** The part of `creditedAmount` that went to the balance of the customer. Absent if that is nothing. */
  balanceCredited?: WholeNumber;
  /** What the customer's balance paid of it when it was made. Absent where that was nothing. */
  balanceApplied?: WholeNumber;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: string | null;
  /** The receipt of its last payment as PDF, for requests with a key. Null before money has come. */
  receiptPdfURL: string | null;
  memo: string | null;
  /** Your own data, on no document. Absent if there is none. */
  metadata?: Metadata;
  /** The text below the totals. Absent without one. */
  footer?: string;
  /** The buyer's reference. Absent without one. */
  purchaseOrderNumber?: string;
  /** A page on which anyone who has the link can pay it. Present where one finalized invoice is read or sent, and not in events. */
  hostedInvoiceUrl?: string;
  /** The time at which the draft of a renewal is finalized by itself. Absent on every other invoice. */
  finalizesAt?: Timestamp;
  /** The consolidated invoice that this one is a part of, which has the number and is paid. Absent on every other invoice. */
  consolidatedInvoiceId?: string;
  /** The time at which it was sent last. Absent before. */
  sentAt?: Timestamp;
  /** The time of the next attempt to collect it. Absent where none is planned. */
  nextAttemptAt?: Timestamp;
  bankPaymentOnly: boolean | null;
  type: 'standalone';
  subscriptionId: null;
  billingPeriodId: null;
  billingPeriodStartDate: null;
  billingPeriodEndDate: null;
  purchaseId: null;
  /** The days from its finalization to its due date. Absent: those of the settings, or a date was given. */
  netTermsDays?: number;
  /** If true, finalization charges the customer's default payment method. Absent: false. */
  autoCollect?: boolean;
  stripePaymentIntentId: string | null;
  stripeTaxCalculationId: string | null;
  stripeTaxTransactionId: string | null;
};

export type CountryCode = 'AD' | 'AE' | 'AF' | 'AG' | 'AI' | 'AL' | 'AM' | 'AO' | 'AQ' | 'AR' | 'AS' | 'AT' | 'AU' | 'AW' | 'AX' | 'AZ' | 'BA' | 'BB' | 'BD' | 'BE' | 'BF' | 'BG' | 'BH' | 'BI' | 'BJ' | 'BL' | 'BM' | 'BN' | 'BO' | 'BQ' | 'BR' | 'BS' | 'BT' | 'BV' | 'BW' | 'BY' | 'BZ' | 'CA' | 'CC' | 'CD' | 'CF' | 'CG' | 'CH' | 'CI' | 'CK' | 'CL' | 'CM' | 'CN' | 'CO' | 'CR' | 'CU' | 'CV' | 'CW' | 'CX' | 'CY' | 'CZ' | 'DE' | 'DJ' | 'DK' | 'DM' | 'DO' | 'DZ' | 'EC' | 'EE' | 'EG' | 'EH' | 'ER' | 'ES' | 'ET' | 'FI' | 'FJ' | 'FK' | 'FM' | 'FO' | 'FR' | 'GA' | 'GB' | 'GD' | 'GE' | 'GF' | 'GG' | 'GH' | 'GI' | 'GL' | 'GM' | 'GN' | 'GP' | 'GQ' | 'GR' | 'GS' | 'GT' | 'GU' | 'GW' | 'GY' | 'HK' | 'HM' | 'HN' | 'HR' | 'HT' | 'HU' | 'ID' | 'IE' | 'IL' | 'IM' | 'IN' | 'IO' | 'IQ' | 'IR' | 'IS' | 'IT' | 'JE' | 'JM' | 'JO' | 'JP' | 'KE' | 'KG' | 'KH' | 'KI' | 'KM' | 'KN' | 'KP' | 'KR' | 'KW' | 'KY' | 'KZ' | 'LA' | 'LB' | 'LC' | 'LI' | 'LK' | 'LR' | 'LS' | 'LT' | 'LU' | 'LV' | 'LY' | 'MA' | 'MC' | 'MD' | 'ME' | 'MF' | 'MG' | 'MH' | 'MK' | 'ML' | 'MM' | 'MN' | 'MO' | 'MP' | 'MQ' | 'MR' | 'MS' | 'MT' | 'MU' | 'MV' | 'MW' | 'MX' | 'MY' | 'MZ' | 'NA' | 'NC' | 'NE' | 'NF' | 'NG' | 'NI' | 'NL' | 'NO' | 'NP' | 'NR' | 'NU' | 'NZ' | 'OM' | 'PA' | 'PE' | 'PF' | 'PG' | 'PH' | 'PK' | 'PL' | 'PM' | 'PN' | 'PR' | 'PS' | 'PT' | 'PW' | 'PY' | 'QA' | 'RE' | 'RO' | 'RS' | 'RU' | 'RW' | 'SA' | 'SB' | 'SC' | 'SD' | 'SE' | 'SG' | 'SH' | 'SI' | 'SJ' | 'SK' | 'SL' | 'SM' | 'SN' | 'SO' | 'SR' | 'SS' | 'ST' | 'SV' | 'SX' | 'SY' | 'SZ' | 'TC' | 'TD' | 'TF' | 'TG' | 'TH' | 'TJ' | 'TK' | 'TL' | 'TM' | 'TN' | 'TO' | 'TR' | 'TT' | 'TV' | 'TW' | 'TZ' | 'UA' | 'UG' | 'UM' | 'US' | 'UY' | 'UZ' | 'VA' | 'VC' | 'VE' | 'VG' | 'VI' | 'VN' | 'VU' | 'WF' | 'WS' | 'XK' | 'YE' | 'YT' | 'ZA' | 'ZM' | 'ZW';

export type InvoiceLineItem = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: string;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** The price of one. */
  price: WholeNumber;
  /** The product of price and quantity. */
  amount: WholeNumber;
  /** The part of `amount` that credit notes have taken back. Absent if that is nothing. */
  creditedAmount?: WholeNumber;
  /** False: the line bears no tax. Absent: it bears the tax of the invoice. */
  taxable?: false;
  /** The subscription that a line of a consolidated invoice is of. Absent on every other line. */
  subscriptionId?: string;
  /** The time that a line of the seller's own is for. Absent without one. */
  servicePeriod?: ServicePeriod;
  type: 'static';
  ledgerAccountId: null;
  ledgerAccountCredit: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: string;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** The price of one. */
  price: WholeNumber;
  /** The product of price and quantity. */
  amount: WholeNumber;
  /** The part of `amount` that credit notes have taken back. Absent if that is nothing. */
  creditedAmount?: WholeNumber;
  /** False: the line bears no tax. Absent: it bears the tax of the invoice. */
  taxable?: false;
  /** The subscription that a line of a consolidated invoice is of. Absent on every other line. */
  subscriptionId?: string;
  /** The time that a line of the seller's own is for. Absent without one. */
  servicePeriod?: ServicePeriod;
  type: 'usage';
  /** The ledger account of the subscription and the meter. */
  ledgerAccountId: string;
  /** The units that the line bills; 0 where they are measured, and so on no balance. */
  ledgerAccountCredit: WholeNumber;
  /** The id of the invoice that billed the units. */
  billingRunId: string;
};

/** A range of time. `start` is part of it and `end` is not. */
export interface ServicePeriod {
  start: Timestamp;
  end: Timestamp;
}

export interface PaymentMethod {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  customerId: string;
  pricingModelId: string;
  billingDetails: BillingAddress;
  type: PaymentMethodType;
  /** True for the payment method that is charged unless a subscription names another. */
  default: boolean;
  paymentMethodData: Record<string, string | number>;
  metadata: Metadata | null;
}

export type Purchase = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  quantity: number;
  /** The add-ons that are bought beside `priceId`. */
  addOns: Array<{
    priceId: string;
    quantity: number;
  }>;
  name: string;
  status: PurchaseStatus;
  /** The invoice of the purchase. For a subscription, its first invoice. Null if nothing was due, and until the first payment has arrived or is on its way. */
  invoiceId: string | null;
  checkoutSessionId: string | null;
  billingCycleAnchor: Timestamp | null;
  /** The total of the first invoice, or 0 if there was none. */
  firstInvoiceValue: WholeNumber;
  bankPaymentOnly: boolean | null;
  /** The time of the first payment. */
  purchaseDate: Timestamp | null;
  endDate: Timestamp | null;
  proposal: string | null;
  archived: boolean | null;
  billingAddress: BillingAddress | null;
  metadata: Metadata | null;
  position: number;
  priceType: 'subscription';
  /** Null until the first payment has arrived or is on its way. A declined one makes no subscription. */
  subscriptionId: string | null;
  trialPeriodDays: number;
  /** The price of a whole period with the add-ons, before discount and tax. */
  pricePerBillingCycle: WholeNumber;
  intervalUnit: IntervalUnit;
  intervalCount: number;
  totalPurchaseValue: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  priceId: string;
  quantity: number;
  /** The add-ons that are bought beside `priceId`. */
  addOns: Array<{
    priceId: string;
    quantity: number;
  }>;
  name: string;
  status: PurchaseStatus;
  /** The invoice of the purchase. For a subscription, its first invoice. Null if nothing was due, and until the first payment has arrived or is on its way. */
  invoiceId: string | null;
  checkoutSessionId: string | null;
  billingCycleAnchor: Timestamp | null;
  /** The total of the first invoice, or 0 if there was none. */
  firstInvoiceValue: WholeNumber;
  bankPaymentOnly: boolean | null;
  /** The time of the first payment. */
  purchaseDate: Timestamp | null;
  endDate: Timestamp | null;
  proposal: string | null;
  archived: boolean | null;
  billingAddress: BillingAddress | null;
  metadata: Metadata | null;
  position: number;
  subscriptionId: null;
  trialPeriodDays: null;
  pricePerBillingCycle: null;
  intervalUnit: null;
  intervalCount: null;
  totalPurchaseValue: WholeNumber;
  priceType: 'single_payment';
};

export interface PricingModelDetails {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  /** True for the pricing model of customers that name none. */
  isDefault: boolean;
  name: string;
  products: Array<ProductWithPrices>;
  usageMeters: Array<UsageMeterWithPrices>;
  defaultProduct?: ProductWithPrices;
}

export interface ProductWithPrices {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  description: string | null;
  imageURL: string | null;
  singularQuantityLabel: string | null;
  pluralQuantityLabel: string | null;
  /** The least that buyers may choose. Null: the seller sets the quantity. */
  minimumQuantity: number | null;
  /** The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity. */
  maximumQuantity: number | null;
  /** The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the meter's default price. */
  usagePrices: Array<ProductUsagePrice>;
  /** True for a product that is sold beside a plan only. It cannot change. */
  addOn: boolean;
  /** True for the plan on which every customer starts. */
  default: boolean;
  active: boolean;
  metadata: Metadata | null;
  prices: Array<Price>;
  defaultPrice: Price;
  features: Array<Feature>;
}

/** The price at which a plan rates the usage of a meter. */
export interface ProductUsagePrice {
  usageMeterSlug: string;
  priceSlug: string;
  usageMeterId: string;
  priceId: string;
}

export type Feature = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
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
  grantInterval: null;
  resourceId: null;
  rolloverMaximum: null;
  rolloverPeriods: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'usage_credit_grant';
  amount: WholeNumber;
  /** The usage meter. Null for credits of a pool. */
  usageMeterId: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string;
  renewalFrequency: RenewalFrequency;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval: GrantInterval | null;
  resourceId: null;
  /** The most unused units that roll over at the end of a billing period, or grant interval, into later ones. Of a credit pool, what is left of a purchase rolls over when it is bought again before its end. Null: none. */
  rolloverMaximum: WholeNumber | null;
  /** The number of billing periods, or grant intervals, for which rolled-over units can be used. Null if there is no rollover. */
  rolloverPeriods: number | null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'resource';
  amount: WholeNumber;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: string;
  rolloverMaximum: null;
  rolloverPeriods: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'value';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
  value: FeatureValue;
  rolloverMaximum: null;
  rolloverPeriods: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  description: string;
  active: boolean;
  type: 'spend_limit';
  amount: WholeNumber;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
  spendLimit: SpendLimitTerms;
  rolloverMaximum: null;
  rolloverPeriods: null;
};

export interface UsageMeterWithPrices {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
  recurring: boolean;
  proration: UsageMeterProration;
  /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold: WholeNumber | null;
  /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
  eventName: string | null;
  /** The events with this name that count on the meter; null: all. */
  where: Where | null;
  /** The property of such events with the units; null: their `amount`, by default 1. */
  valueProperty: string | null;
  prices: Array<Price>;
  defaultPrice?: Price;
}

export interface Entitlements {
  customerId: string;
  externalId: string;
  pricingModelId: string;
  /** One feature for each slug, in order of creation. */
  features: Array<EntitledFeature>;
  /** One balance for each usage meter of each subscription, newest subscription first. */
  usageMeterBalances: Array<EntitledBalance>;
  /** One balance for each credit pool of the pricing model, oldest pool first. */
  creditPoolBalances: Array<EntitledPoolBalance>;
  /** One row for each resource that a feature of a subscription grants or has granted, newest subscription first. */
  resources: Array<EntitledResource>;
  /** The current subscriptions that grant nothing because of unpaid invoices (setting `access`), newest first. */
  unpaidSubscriptionIds: Array<string>;
}

export type EntitledFeature = {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that grant it, newest first. */
  subscriptionIds: Array<string>;
  type: 'toggle';
  amount: null;
  usageMeterId: null;
  resourceId: null;
} | {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that grant it, newest first. */
  subscriptionIds: Array<string>;
  type: 'usage_credit_grant';
  /** The sum of the grants of these subscriptions: credits in each grant, or places. */
  amount: WholeNumber;
  /** The usage meter. Null for credits of a pool. */
  usageMeterId: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string;
  resourceId: null;
} | {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that grant it, newest first. */
  subscriptionIds: Array<string>;
  type: 'resource';
  /** The sum of the grants of these subscriptions: credits in each grant, or places. */
  amount: WholeNumber;
  usageMeterId: null;
  resourceId: string;
} | {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that grant it, newest first. */
  subscriptionIds: Array<string>;
  type: 'value';
  amount: null;
  usageMeterId: null;
  resourceId: null;
  /** A value that was added by hand replaces those of products in its subscription. Of several others: the highest number, the texts of all lists, or the text of the newest subscription. */
  value: FeatureValue;
} | {
  featureId: string;
  slug: string;
  name: string;
  /** The current subscriptions that grant it, newest first. */
  subscriptionIds: Array<string>;
  type: 'spend_limit';
  /** The sum of the limits of these subscriptions. Each limits the use of its own. */
  amount: WholeNumber;
  usageMeterId: null;
  resourceId: null;
  spendLimit: SpendLimitTerms;
};

export interface EntitledBalance {
  usageMeterId: string;
  slug: string;
  subscriptionId: string;
  /** The usable credits that are not held, minus usage that no credit covered. */
  availableBalance: WholeNumber;
  /** The units reserved by open holds. They are not part of `availableBalance`. */
  held: WholeNumber;
  /** The usable credits that are not held, whatever usage is owed. */
  usableCredits: WholeNumber;
  /** The units that a credit pool pays for behind `usableCredits`: at its rate without conditions, or at the price. The same credits of the pool count for all meters and subscriptions. */
  pooledUnits: WholeNumber;
}

export interface EntitledPoolBalance {
  creditPoolId: string;
  slug: string;
  /** The credits that are not held, as a decimal text in units of the pool. */
  availableBalance: string;
  /** The amount reserved by open holds, as a decimal text. It is not part of `availableBalance`. */
  held: string;
}

export interface EntitledResource {
  resourceId: string;
  slug: string;
  subscriptionId: string;
  capacity: number;
  claimed: number;
  /** Capacity less claims. Negative if the capacity was lowered below the claims. */
  available: number;
  /** Whether the resource takes claims. */
  active: boolean;
}

export interface CreditBalance {
  slug: string;
  /** `meter`: credits of one usage meter. `pool`: credits that the usage of several meters draws from. */
  kind: 'meter' | 'pool';
  /** The unit of the amounts: `units` of the usage meter, or `credit` or the currency of the pool. */
  unit: string;
  /** granted + paid - held, less usage that neither credits nor a paid invoice covered. May be negative. Amounts of a pool are decimal texts, cut off after the twelfth decimal. */
  availableBalance: CreditAmount;
  /** The unused units that a plan or the seller granted. */
  granted: CreditAmount;
  /** The unused units that were bought. */
  paid: CreditAmount;
  /** The units that open holds set aside. */
  held: CreditAmount;
  /** The unused units that expire next. Null: none expires. */
  expiringNext: {
    amount: CreditAmount;
    expiresAt: Timestamp;
  } | null;
}

/** Units of a usage meter, or a decimal text in units of a credit pool. */
export type CreditAmount = WholeNumber | string;

export interface LedgerEntry {
  id: string;
  createdAt: Timestamp;
  /** The subscription of the account. Null: that of the customer, for a credit pool or credits that wait for a subscription. */
  subscriptionId: string | null;
  /** Null on the account of a credit pool. */
  usageMeterId: string | null;
  /** The credit pool of the account, or the one that paid for `pooled_usage`. */
  creditPoolId: string | null;
  /** `pooled_usage`: usage that a credit pool paid for. It leaves the balance of the meter as it is. */
  type: 'grant' | 'usage' | 'pooled_usage' | 'expiry' | 'take_back' | 'settlement' | 'settlement_undone';
  /** The change of the balance: credits are positive, usage is negative. */
  amount: CreditAmount;
  /** The balance after this entry: credits granted and usage settled, less units used, expired and taken back. */
  availableAfter: CreditAmount;
  /** For usage, the price at which it is counted. */
  priceId: string | null;
  billingPeriodId: string | null;
  /** The credits that were granted, expired or taken back. */
  usageCreditId: string | null;
  /** The reason of the entry: the number of a booking of usage events, a credit, or an invoice. */
  sourceId: string;
  /** For usage, the first 100 grants that paid for it, in the order of use. What none paid for is overage. */
  usageCreditApplications: Array<UsageCreditApplication>;
}

export interface UsageCreditApplication {
  usageCreditId: string;
  amount: CreditAmount;
  /** The origin of the credits. */
  source: string;
  /** The feature that granted the credits, if any. */
  featureId: string | null;
  expiresAt: Timestamp | null;
}

export interface LedgerBalance {
  /** The subscription of the account. Null: that of the customer, for a credit pool or credits that wait for a subscription. */
  subscriptionId: string | null;
  /** Null on the account of a credit pool. */
  usageMeterId: string | null;
  /** The credit pool of the account, or the one that paid for `pooled_usage`. */
  creditPoolId: string | null;
  availableBalance: CreditAmount;
}

export interface PortalSession {
  url: string;
  /** Real time in epoch milliseconds, even if the test clock is set. */
  expiresAt: Timestamp;
  returnUrl: string | null;
}

export interface SpendControls {
  limits: Array<SpendLimit>;
  autoTopUp: AutoTopUp | null;
}

export interface SpendLimit {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  /** The seller, or the customer for itself: both limits hold. Or a plan, by its features: a limit of the seller of the same use takes its place. */
  setBy: 'seller' | 'customer' | 'plan';
  /** The subscription whose plan has set the limit, which counts its use only. Else null. */
  subscriptionId: string | null;
  usageMeterId: string | null;
  /** Null: the limit counts all usage meters, or a credit pool. */
  usageMeterSlug: string | null;
  /** The credit pool, if the limit counts what is drawn from one. Its amounts are decimal texts. */
  creditPoolId?: string;
  creditPoolSlug?: string;
  /** Null: the limit counts usage with any label or none. */
  label: string | null;
  /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
  period: 'day' | 'week' | 'month' | 'billing_period';
  amount: CreditAmount;
  /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
  unit: 'units' | 'money';
  /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
  action: 'block' | 'notify';
  /** Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full amount always causes `spend_limit.reached`. */
  thresholds: Array<number>;
  /** The present periods. Without usage in one there is none. A limit counts from its creation on. */
  counters: Array<{
    /** Of a limit by billing period: the subscription. */
    subscriptionId: string | null;
    periodStart: Timestamp | null;
    /** When the limit begins again. Null: never. */
    resetsAt: Timestamp | null;
    usedAmount: CreditAmount;
    /** The rest up to the amount. Open holds reserve part of it. */
    remainingAmount: CreditAmount;
  }>;
}

export interface AutoTopUp {
  priceId: string;
  priceSlug: string | null;
  /** The usage meter whose credits the price buys. Null for those of a credit pool. */
  usageMeterId: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string;
  /** A purchase is made when the available balance falls below these units of the meter, or this amount of the credit pool. */
  below: CreditAmount;
  /** The balance that a purchase reaches, as `below`. Its quantity closes the gap. */
  upTo: CreditAmount | null;
  /** The quantity that a purchase has, in place of `upTo`. */
  quantity: number | null;
  /** The most that the purchases of a month in UTC may cost, with tax, in minor units. A purchase that does not fit is smaller, or waits for the next month. */
  maximumAmountPerMonth: WholeNumber;
  /** The cost of the purchases of this month, paid and open ones. */
  amountThisMonth: WholeNumber;
  /** The purchase whose payment is in progress. */
  openPurchaseId: string | null;
  /** The purchases that failed one after the other. */
  failures: number;
  /** When it stopped after three failures. Setting it again starts it again. */
  stoppedAt: Timestamp | null;
}

export type ResolvedAdjustmentTiming = 'immediately' | 'at_end_of_current_billing_period';

export interface AdjustmentPreview {
  canAdjust: boolean;
  previewGeneratedAt: Timestamp;
  /** The reason why the change would be refused. */
  reason?: string;
  /** The amount for the change, before discount and tax. */
  prorationAmount?: WholeNumber;
  /** Usage, commitment and setup fee that the invoice of the change bills too: of an unpaid invoice which it replaces, and with another interval or billing anchor all open usage. */
  carriedOverAmount?: WholeNumber;
  /** With another interval or billing anchor: the unused paid value of the present period that is taken off. */
  takenOffAmount?: WholeNumber;
  /** With another interval or billing anchor: the rest of that value, which is taken off later invoices. */
  keptAmount?: WholeNumber;
  /** With another interval or billing anchor: the end of the period that begins with the change. */
  newBillingPeriodEnd?: Timestamp;
  discountAmount?: WholeNumber;
  taxAmount?: WholeNumber;
  /** The amount that would be charged now or, with `dueDate`, invoiced. */
  totalDue?: WholeNumber;
  /** When the invoice would be due: under net terms and without a payment method the change is made before its payment. */
  dueDate?: Timestamp;
  /** The price of a whole period before the change. */
  currentPlanTotal?: WholeNumber;
  newPlanTotal?: WholeNumber;
  resolvedTiming?: ResolvedAdjustmentTiming;
  effectiveDate?: Timestamp;
  isUpgrade?: boolean;
  /** The elapsed part of the billing period at the effective date. */
  percentThroughBillingPeriod?: number;
  billingPeriodEnd?: Timestamp;
  /** The payment method that would be charged. */
  paymentMethod?: {
    id: string;
    type: PaymentMethodType;
    last4?: string;
    brand?: string;
  };
  currentSubscriptionItems?: Array<{
    name: string;
    unitPrice: WholeNumber;
    pricing: PricingOutput | null;
    quantity: number;
    priceId: string | null;
  }>;
  newSubscriptionItems?: Array<{
    name: string;
    unitPrice: WholeNumber;
    pricing: PricingOutput | null;
    quantity: number;
    priceId: string | null;
  }>;
}

export interface SubscriptionDiscount {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  customerId: string;
  discountId: string;
  name: string;
  code: string;
  /** A whole percentage, or money in the smallest unit. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  duration: 'once' | 'forever' | 'number_of_payments';
  numberOfPayments: number | null;
  /** The products whose lines it lowers. Absent: all lines. */
  productIds?: Array<string>;
  /** Its place: each discount is computed on what those with a lower position leave. */
  position: number;
  /** The number of paid billing periods that it has lowered. */
  paymentsMade: number;
  /** True if it lowers no further invoice, by its duration. */
  fullyRedeemed: boolean;
  /** Since when the subscription does not have it any more. */
  removedAt?: Timestamp;
}

export interface UpcomingInvoice {
  id: null;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  customerId: string;
  pricingModelId: string;
  invoiceNumber: null;
  invoiceDate: Timestamp;
  dueDate: Timestamp | null;
  status: 'draft';
  currency: CurrencyCode;
  /** The sum of the lines less the discounts, without tax. */
  subtotal: WholeNumber | null;
  taxAmount: WholeNumber | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** A decimal number as text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: WholeNumber | null;
  /** The amount that the discounts take off the sum of the lines. */
  discountAmount: WholeNumber;
  /** The sum of subtotal and tax. */
  total: WholeNumber;
  /** The amount that was paid, before refunds. */
  amountPaid: WholeNumber;
  amountRefunded: WholeNumber;
  /** The total of the credit notes that are not void. Absent without any. */
  creditedAmount?: WholeNumber;
  /** The part of it that lowers the amount due instead of going back. Absent without any. */
  offsetAmount?: WholeNumber;
  /** The part of `creditedAmount` that went to the balance of the customer. Absent if that is nothing. */
  balanceCredited?: WholeNumber;
  /** What the customer's balance paid of it when it was made. Absent where that was nothing. */
  balanceApplied?: WholeNumber;
  billingRunId: string | null;
  ownerMembershipId: string | null;
  pdfURL: null;
  /** The receipt of its last payment as PDF, for requests with a key. Null before money has come. */
  receiptPdfURL: string | null;
  memo: string | null;
  /** Your own data, on no document. Absent if there is none. */
  metadata?: Metadata;
  /** The text below the totals. Absent without one. */
  footer?: string;
  /** The buyer's reference. Absent without one. */
  purchaseOrderNumber?: string;
  /** A page on which anyone who has the link can pay it. Present where one finalized invoice is read or sent, and not in events. */
  hostedInvoiceUrl?: string;
  /** The time at which the draft of a renewal is finalized by itself. Absent on every other invoice. */
  finalizesAt?: Timestamp;
  /** The consolidated invoice that this one is a part of, which has the number and is paid. Absent on every other invoice. */
  consolidatedInvoiceId?: string;
  /** The time at which it was sent last. Absent before. */
  sentAt?: Timestamp;
  /** The time of the next attempt to collect it. Absent where none is planned. */
  nextAttemptAt?: Timestamp;
  bankPaymentOnly: boolean | null;
  type: 'subscription';
  subscriptionId: string;
  billingPeriodId: null;
  billingPeriodStartDate: Timestamp | null;
  billingPeriodEndDate: Timestamp | null;
  purchaseId: null;
}

export type UpcomingInvoiceLineItem = {
  id: null;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: null;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** The price of one. */
  price: WholeNumber;
  /** The product of price and quantity. */
  amount: WholeNumber;
  /** The part of `amount` that credit notes have taken back. Absent if that is nothing. */
  creditedAmount?: WholeNumber;
  /** False: the line bears no tax. Absent: it bears the tax of the invoice. */
  taxable?: false;
  /** The subscription that a line of a consolidated invoice is of. Absent on every other line. */
  subscriptionId?: string;
  /** The time that a line of the seller's own is for. Absent without one. */
  servicePeriod?: ServicePeriod;
  type: 'static';
  ledgerAccountId: null;
  ledgerAccountCredit: null;
} | {
  id: null;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  invoiceId: null;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** The price of one. */
  price: WholeNumber;
  /** The product of price and quantity. */
  amount: WholeNumber;
  /** The part of `amount` that credit notes have taken back. Absent if that is nothing. */
  creditedAmount?: WholeNumber;
  /** False: the line bears no tax. Absent: it bears the tax of the invoice. */
  taxable?: false;
  /** The subscription that a line of a consolidated invoice is of. Absent on every other line. */
  subscriptionId?: string;
  /** The time that a line of the seller's own is for. Absent without one. */
  servicePeriod?: ServicePeriod;
  type: 'usage';
  /** The ledger account of the subscription and the meter. */
  ledgerAccountId: string;
  /** The units that the line bills; 0 where they are measured, and so on no balance. */
  ledgerAccountCredit: WholeNumber;
  billingRunId: null;
};

export interface Payment {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  /** Null for the first payment of a purchase until the money has arrived or is on its way: a declined one has no invoice, and names its purchase. */
  invoiceId: string | null;
  subscriptionId: string | null;
  billingPeriodId: string | null;
  purchaseId: string | null;
  paymentMethodId: string | null;
  paymentMethod: PaymentMethodType;
  /** The amount in the smallest unit of the currency. */
  amount: WholeNumber;
  currency: CurrencyCode;
  /** The sum of the lines less the discounts, without tax. */
  subtotal: WholeNumber | null;
  taxAmount: WholeNumber | null;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  taxState: string | null;
  /** A decimal number as text: `19` or `8.875`. */
  taxRatePercentage: string | null;
  applicationFee: WholeNumber | null;
  status: PaymentStatus;
  chargeDate: Timestamp;
  settlementDate: Timestamp | null;
  description: string | null;
  receiptNumber: string | null;
  receiptURL: string | null;
  /** The step that the customer must take before the charge can continue, in the form of the processor. Otherwise null. */
  nextAction: unknown;
  failureCode: string | null;
  failureMessage: string | null;
  /** True if the whole payment was refunded. */
  refunded: boolean;
  /** The amount refunded so far. Null before any refund. */
  refundedAmount: WholeNumber | null;
  /** The time of the last refund. */
  refundedAt: Timestamp | null;
}

export interface PricingModel {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  /** True for the pricing model of customers that name none. */
  isDefault: boolean;
  name: string;
}

export interface PricingChange {
  operation: 'create' | 'update' | 'remove';
  record: 'pricingModel' | 'feature' | 'product' | 'price' | 'usageMeter' | 'usagePrice' | 'resource' | 'creditPool';
  /** Its slug. For a `price` the slug of its product; null for the pricing model itself. */
  slug: string | null;
  /** The usage meter of a `usagePrice`. */
  usageMeterSlug: string | null;
  /** The fields that differ, with their values; null where there is none. */
  fields: Array<{
    name: string;
    before: unknown;
    after: unknown;
  }>;
  /** The current subscriptions that have the record: by its product, by its feature, or by usage on its meter. A lower bound from 10,000 on. */
  subscriptions: number;
  /** The customers of these subscriptions. */
  customers: number;
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
      amount: WholeNumber;
      renewalFrequency: RenewalFrequency;
      grantInterval?: GrantInterval;
      usageMeterSlug?: string;
      creditPoolSlug?: string;
      rolloverMaximum?: WholeNumber;
      rolloverPeriods?: number;
    } | {
      type: 'resource';
      slug: string;
      name: string;
      description: string;
      active: boolean;
      amount: WholeNumber;
      resourceSlug: string;
    } | {
      type: 'value';
      slug: string;
      name: string;
      description: string;
      active: boolean;
      value: FeatureValue;
    } | {
      type: 'spend_limit';
      slug: string;
      name: string;
      description: string;
      active: boolean;
      amount: WholeNumber;
      spendLimit: {
        /** The usage meter that the limit counts. Null: all, or a credit pool. */
        usageMeterSlug: string | null;
        /** The credit pool of which the limit counts what usage draws, in place of a usage meter. The amount is in whole units of it. */
        creditPoolSlug?: string;
        /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
        period: 'day' | 'week' | 'month' | 'billing_period';
        /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
        unit: 'units' | 'money';
        /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
        action: 'block' | 'notify';
        /** Percents of the amount that cause the event `usage_threshold.reached` when they are reached, once in a period. The full amount always causes `spend_limit.reached`. */
        thresholds: Array<number>;
      };
    }>;
    products: Array<{
      product: {
        name: string;
        slug: string;
        description?: string;
        imageURL?: string;
        singularQuantityLabel?: string;
        pluralQuantityLabel?: string;
        minimumQuantity?: number;
        maximumQuantity?: number;
        usagePrices?: Array<{
          usageMeterSlug: string;
          priceSlug: string;
        }>;
        addOn?: boolean;
        default: boolean;
        active: boolean;
        metadata?: Metadata;
      };
      price: {
        type: 'subscription';
        name?: string;
        slug?: string;
        unitPrice: WholeNumber;
        pricing?: PricingOutput;
        metadata?: Metadata;
        isDefault: true;
        active: true;
        usageMeterId: null;
        usageEventsPerUnit: null;
        intervalUnit: IntervalUnit;
        intervalCount: number;
        trialPeriodDays: number | null;
        overage: Overage;
        setupFeeAmount?: WholeNumber;
        minimumCommitment?: WholeNumber;
        billingTiming?: BillingTiming;
      } | {
        type: 'single_payment';
        name?: string;
        slug?: string;
        unitPrice: WholeNumber;
        pricing?: PricingOutput;
        metadata?: Metadata;
        isDefault: true;
        active: true;
        usageMeterId: null;
        usageEventsPerUnit: null;
        trialPeriodDays: null;
      };
      /** The slugs of the features that the product grants, each with its value where the product has its own. */
      features: Array<string | {
        slug: string;
        value: FeatureValue;
      }>;
    }>;
    usageMeters: Array<{
      usageMeter: {
        name: string;
        slug: string;
        aggregationType: UsageMeterAggregationType;
        recurring?: boolean;
        proration?: UsageMeterProration;
        lowBalanceThreshold?: WholeNumber;
        eventName?: string;
        where?: Where;
        valueProperty?: string;
      };
      prices: Array<{
        type: 'usage';
        name?: string;
        slug?: string;
        unitPrice: WholeNumber;
        pricing?: PricingOutput;
        metadata?: Metadata;
        intervalUnit: IntervalUnit;
        intervalCount: number;
        usageInterval?: UsageInterval;
        usageEventsPerUnit: number;
        where?: Where;
        trialPeriodDays: null;
        isDefault: boolean;
        active: boolean;
      }>;
    }>;
    resources: Array<{
      slug: string;
      name: string;
      active: boolean;
    }>;
    /** Absent where there is none. */
    creditPools?: Array<{
      slug: string;
      name: string;
      unit: string;
      lowBalanceThreshold?: string;
      drawAtPrice?: true;
      rates: Array<{
        usageMeterSlug: string;
        where?: Where;
        per: number;
        cost: string;
      }>;
    }>;
  };
  /** The time of the last change of the pricing model or its contents. */
  updatedAt: Timestamp;
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
  /** The least that buyers may choose. Null: the seller sets the quantity. */
  minimumQuantity: number | null;
  /** The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity. */
  maximumQuantity: number | null;
  /** The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the meter's default price. */
  usagePrices: Array<ProductUsagePrice>;
  /** True for a product that is sold beside a plan only. It cannot change. */
  addOn: boolean;
  /** True for the plan on which every customer starts. */
  default: boolean;
  active: boolean;
  metadata: Metadata | null;
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
  unitPrice: WholeNumber;
  intervalUnit: IntervalUnit | null;
  intervalCount: number | null;
  trialPeriodDays: number | null;
  usageEventsPerUnit: number | null;
  overage: Overage | null;
  pricing: PricingOutput | null;
  currency: CurrencyCode;
  isDefault: boolean;
  active: boolean;
  metadata: Metadata | null;
  setupFeeAmount: WholeNumber | null;
  minimumCommitment: WholeNumber | null;
  usageInterval: UsageInterval | null;
  billingTiming: BillingTiming | null;
  overagePriceId: string | null;
  startsWithCreditTrial: boolean | null;
  where: Where | null;
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
  amount: WholeNumber | null;
  usageMeterId: string | null;
  renewalFrequency: RenewalFrequency | null;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval: GrantInterval | null;
  resourceId: string | null;
  /** The most unused units that roll over at the end of a billing period, or grant interval, into later ones. Of a credit pool, what is left of a purchase rolls over when it is bought again before its end. Null: none. */
  rolloverMaximum: WholeNumber | null;
  /** The number of billing periods, or grant intervals, for which rolled-over units can be used. Null if there is no rollover. */
  rolloverPeriods: number | null;
  value?: FeatureValue;
  spendLimit?: SpendLimitTerms;
}

export interface ClonedUsageMeter {
  id: string;
  livemode: boolean;
  organizationId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
  recurring: boolean;
  proration: UsageMeterProration;
  /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold: WholeNumber | null;
  /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
  eventName: string | null;
  /** The events with this name that count on the meter; null: all. */
  where: Where | null;
  /** The property of such events with the units; null: their `amount`, by default 1. */
  valueProperty: string | null;
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
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  description: string | null;
  imageURL: string | null;
  singularQuantityLabel: string | null;
  pluralQuantityLabel: string | null;
  /** The least that buyers may choose. Null: the seller sets the quantity. */
  minimumQuantity: number | null;
  /** The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity. */
  maximumQuantity: number | null;
  /** The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the meter's default price. */
  usagePrices: Array<ProductUsagePrice>;
  /** True for a product that is sold beside a plan only. It cannot change. */
  addOn: boolean;
  /** True for the plan on which every customer starts. */
  default: boolean;
  active: boolean;
  metadata: Metadata | null;
}

export interface ProductFeature {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  productId: string;
  featureId: string;
  expiredAt: Timestamp | null;
  /** The value that the product gives in place of that of the feature. Absent: that of the feature. */
  value?: FeatureValue;
}

export interface Quote {
  currency: CurrencyCode;
  lines: Array<{
    units: WholeNumber;
    amount: WholeNumber;
    /** The tiers that hold units. They add up to the amount, unless packages, events or bounds decide it. */
    tiers: Array<{
      upTo: WholeNumber | null;
      units: WholeNumber;
      unitAmount: string;
      rate: string;
      flatAmount: string;
      amount: WholeNumber;
    }>;
  }>;
  total: WholeNumber;
}

export interface UsageMeter {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  slug: string;
  aggregationType: UsageMeterAggregationType;
  /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
  recurring: boolean;
  proration: UsageMeterProration;
  /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold: WholeNumber | null;
  /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
  eventName: string | null;
  /** The events with this name that count on the meter; null: all. */
  where: Where | null;
  /** The property of such events with the units; null: their `amount`, by default 1. */
  valueProperty: string | null;
}

export interface UsageMeterSummary {
  usageMeterId: string;
  from: Timestamp;
  to: Timestamp;
  groupBy: 'hour' | 'day' | 'month' | 'customer' | 'property';
  /** The units counted. A meter of distinct properties counts the first event with each set in a period. */
  units: WholeNumber;
  events: number;
  /** The hours, days or months in order and without a gap. Customers and values are sorted by units, most first. */
  groups: Array<UsageTimeGroup | UsageCustomerGroup | UsageValueGroup>;
  /** The sum of the customers or values beyond the first 1000. Null if there are none. */
  other: {
    groups: number;
    units: WholeNumber;
    events: number;
  } | null;
  /** Present where events up to this `usageDate` are archived and not read: the answer lacks them. Sums of whole hours have them. */
  archivedUntil?: Timestamp;
}

/** An hour, day or month in UTC, limited to the range of the request. `end` is not part of it. */
export interface UsageTimeGroup {
  start: Timestamp;
  end: Timestamp;
  units: WholeNumber;
  events: number;
}

export interface UsageCustomerGroup {
  customerId: string;
  externalId: string;
  units: WholeNumber;
  events: number;
}

export interface UsageValueGroup {
  /** The property as text, its first 255 characters. Null: the event has none. */
  value: string | null;
  units: WholeNumber;
  events: number;
}

export interface CreditPool {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  slug: string;
  name: string;
  /** The unit of its amounts: `credit`, or a currency such as `USD`. It never changes. */
  unit: string;
  /** Whether use of a meter without a rate for it draws the amount of its price. For a pool whose unit is the currency of prices; a pricing model has one such pool. It never changes. Usage is drawn at a price whose first unit costs something and that has no `freeUnits`, `minimumAmount` or `maximumAmount`, and not with the models `volume` and `stairstep`: other usage is billed. Tiers and packages of what the pool pays for, and of what is billed, are counted apart. */
  drawAtPrice: boolean;
  /** A decimal text in units of the pool. A balance that falls below it causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold: string | null;
  /** The meters that draw from it, after the credits of each meter. */
  rates: Array<CreditPoolRate>;
}

export interface CreditPoolRate {
  usageMeterSlug: string;
  /** The events of the meter that it is for; null: all others. Of several, the one with the most properties applies. */
  where: Where | null;
  /** The number of units of the usage meter that cost `cost`. */
  per: number;
  /** A decimal text, in units of the pool. */
  cost: string;
}

export interface Resource {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
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
  /** The least that buyers may choose. Null: the seller sets the quantity. */
  minimumQuantity: number | null;
  /** The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity. */
  maximumQuantity: number | null;
  /** The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the meter's default price. */
  usagePrices: Array<ProductUsagePrice>;
  /** True for a product that is sold beside a plan only. It cannot change. */
  addOn: boolean;
  /** True for the plan on which every customer starts. */
  default: boolean;
  active: boolean;
  metadata: Metadata | null;
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
  /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
  recurring: boolean;
  proration: UsageMeterProration;
  /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
  lowBalanceThreshold: WholeNumber | null;
  /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
  eventName: string | null;
  /** The events with this name that count on the meter; null: all. */
  where: Where | null;
  /** The property of such events with the units; null: their `amount`, by default 1. */
  valueProperty: string | null;
  createdAt: string;
  updatedAt: string;
  createdByCommit: string | null;
  updatedByCommit: string | null;
  catalogId: string;
}

export type Discount = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** The code in upper case, unique in the pricing model. */
  code: string;
  /** A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  /** True if customers can redeem the discount. Discounts redeemed before continue to apply. */
  active: boolean;
  /** The instant from which nobody can redeem the discount. Absent: it does not expire. */
  expiresAt?: Timestamp;
  /** The number of redemptions in all that there may be. Absent: any number. */
  maximumRedemptions?: number;
  /** The number of times that one customer may redeem it. Absent: once, or as the settings allow. */
  maximumRedemptionsPerCustomer?: number;
  /** The products whose lines it lowers, and one of which an order must have. Absent: all lines. */
  productIds?: Array<string>;
  /** The least that an order must come to before discounts and tax. Absent: there is none. */
  minimumAmount?: WholeNumber;
  /** True: only customers that have never had an invoice to pay can redeem it. */
  firstPurchaseOnly?: true;
  duration: 'once';
  numberOfPayments: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** The code in upper case, unique in the pricing model. */
  code: string;
  /** A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  /** True if customers can redeem the discount. Discounts redeemed before continue to apply. */
  active: boolean;
  /** The instant from which nobody can redeem the discount. Absent: it does not expire. */
  expiresAt?: Timestamp;
  /** The number of redemptions in all that there may be. Absent: any number. */
  maximumRedemptions?: number;
  /** The number of times that one customer may redeem it. Absent: once, or as the settings allow. */
  maximumRedemptionsPerCustomer?: number;
  /** The products whose lines it lowers, and one of which an order must have. Absent: all lines. */
  productIds?: Array<string>;
  /** The least that an order must come to before discounts and tax. Absent: there is none. */
  minimumAmount?: WholeNumber;
  /** True: only customers that have never had an invoice to pay can redeem it. */
  firstPurchaseOnly?: true;
  duration: 'forever';
  numberOfPayments: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** The code in upper case, unique in the pricing model. */
  code: string;
  /** A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  /** True if customers can redeem the discount. Discounts redeemed before continue to apply. */
  active: boolean;
  /** The instant from which nobody can redeem the discount. Absent: it does not expire. */
  expiresAt?: Timestamp;
  /** The number of redemptions in all that there may be. Absent: any number. */
  maximumRedemptions?: number;
  /** The number of times that one customer may redeem it. Absent: once, or as the settings allow. */
  maximumRedemptionsPerCustomer?: number;
  /** The products whose lines it lowers, and one of which an order must have. Absent: all lines. */
  productIds?: Array<string>;
  /** The least that an order must come to before discounts and tax. Absent: there is none. */
  minimumAmount?: WholeNumber;
  /** True: only customers that have never had an invoice to pay can redeem it. */
  firstPurchaseOnly?: true;
  duration: 'number_of_payments';
  numberOfPayments: number;
};

export type RedeemedDiscount = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** The code in upper case, unique in the pricing model. */
  code: string;
  /** A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  /** True if customers can redeem the discount. Discounts redeemed before continue to apply. */
  active: boolean;
  /** The instant from which nobody can redeem the discount. Absent: it does not expire. */
  expiresAt?: Timestamp;
  /** The number of redemptions in all that there may be. Absent: any number. */
  maximumRedemptions?: number;
  /** The number of times that one customer may redeem it. Absent: once, or as the settings allow. */
  maximumRedemptionsPerCustomer?: number;
  /** The products whose lines it lowers, and one of which an order must have. Absent: all lines. */
  productIds?: Array<string>;
  /** The least that an order must come to before discounts and tax. Absent: there is none. */
  minimumAmount?: WholeNumber;
  /** True: only customers that have never had an invoice to pay can redeem it. */
  firstPurchaseOnly?: true;
  duration: 'once';
  numberOfPayments: null;
  /** The number of subscriptions and single purchases that have redeemed the discount. */
  redemptionCount: number;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** The code in upper case, unique in the pricing model. */
  code: string;
  /** A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  /** True if customers can redeem the discount. Discounts redeemed before continue to apply. */
  active: boolean;
  /** The instant from which nobody can redeem the discount. Absent: it does not expire. */
  expiresAt?: Timestamp;
  /** The number of redemptions in all that there may be. Absent: any number. */
  maximumRedemptions?: number;
  /** The number of times that one customer may redeem it. Absent: once, or as the settings allow. */
  maximumRedemptionsPerCustomer?: number;
  /** The products whose lines it lowers, and one of which an order must have. Absent: all lines. */
  productIds?: Array<string>;
  /** The least that an order must come to before discounts and tax. Absent: there is none. */
  minimumAmount?: WholeNumber;
  /** True: only customers that have never had an invoice to pay can redeem it. */
  firstPurchaseOnly?: true;
  duration: 'forever';
  numberOfPayments: null;
  /** The number of subscriptions and single purchases that have redeemed the discount. */
  redemptionCount: number;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  name: string;
  /** The code in upper case, unique in the pricing model. */
  code: string;
  /** A whole percentage, or money in the smallest unit. Above 100 percent, the whole amount is taken off. */
  amount: WholeNumber;
  amountType: DiscountAmountType;
  /** True if customers can redeem the discount. Discounts redeemed before continue to apply. */
  active: boolean;
  /** The instant from which nobody can redeem the discount. Absent: it does not expire. */
  expiresAt?: Timestamp;
  /** The number of redemptions in all that there may be. Absent: any number. */
  maximumRedemptions?: number;
  /** The number of times that one customer may redeem it. Absent: once, or as the settings allow. */
  maximumRedemptionsPerCustomer?: number;
  /** The products whose lines it lowers, and one of which an order must have. Absent: all lines. */
  productIds?: Array<string>;
  /** The least that an order must come to before discounts and tax. Absent: there is none. */
  minimumAmount?: WholeNumber;
  /** True: only customers that have never had an invoice to pay can redeem it. */
  firstPurchaseOnly?: true;
  duration: 'number_of_payments';
  numberOfPayments: number;
  /** The number of subscriptions and single purchases that have redeemed the discount. */
  redemptionCount: number;
};

export type ExpiredSubscriptionItemFeature = {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
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
  grantInterval: null;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
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
  amount: WholeNumber;
  /** The usage meter. Null for credits of a pool. */
  usageMeterId: string | null;
  /** The credit pool, in place of a usage meter. */
  creditPoolId?: string;
  renewalFrequency: RenewalFrequency;
  /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
  grantInterval: GrantInterval | null;
  resourceId: null;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
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
  amount: WholeNumber;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: string;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
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
  type: 'value';
  amount: null;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
  value: FeatureValue;
} | {
  id: string;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  subscriptionItemId: string;
  featureId: string;
  /** The product feature that it came from. Null if it was added by hand. */
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
  type: 'spend_limit';
  amount: WholeNumber;
  usageMeterId: null;
  renewalFrequency: null;
  grantInterval: null;
  resourceId: null;
  spendLimit: SpendLimitTerms;
};

export interface ResourceClaim {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  subscriptionId: string;
  resourceId: string;
  /** The oldest active feature that grants the resource. Null if there is none. */
  subscriptionItemFeatureId: string | null;
  externalId: string | null;
  claimedAt: Timestamp;
  releasedAt: Timestamp | null;
  releaseReason: string | null;
  /** The end of a temporary claim. */
  expiredAt: Timestamp | null;
  metadata: Metadata | null;
}

export interface ResourceUsage {
  resourceSlug: string;
  resourceId: string;
  capacity: number;
  claimed: number;
  /** Capacity less claims. Negative if the capacity was lowered below the claims. */
  available: number;
}

export interface TemporaryResourceClaims {
  claimIds: Array<string>;
  /** The end of these claims. */
  expiredAt: Timestamp;
  /** The change that leaves no room for these claims. */
  reason: 'scheduled_cancellation' | 'scheduled_adjustment';
}

export interface EntitlementCheckResult {
  customerExternalId: string;
  featureSlug: string;
  allowed: boolean;
  /** The reason why it is not allowed. Null if it is. */
  reason: EntitlementCheckReason | null;
  /** The type of the feature. Null if there is no such feature. */
  type: FeatureType | null;
  /** The balance of the meter in all subscriptions that grant the feature, and the units that a credit pool pays for. Of a credit pool, its whole units. Null if none grants credits. */
  availableBalance: WholeNumber | null;
  /** The places of the resource in all subscriptions that grant it. Null if none does. */
  capacity: number | null;
  /** The places of the resource that are claimed in these subscriptions. */
  claimed: number | null;
  /** The value that the customer has. Absent for other types. */
  value?: FeatureValue;
}

export type EntitlementCheckReason = 'customer_not_found' | 'feature_not_found' | 'not_granted' | 'unpaid' | 'insufficient_balance' | 'insufficient_capacity' | 'resource_inactive' | 'value_too_low' | 'value_not_included';

export interface UsageCredit {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  customerId: string;
  /** Null: the credits are of a credit pool, or wait on the customer for its next subscription. */
  subscriptionId: string | null;
  /** Null for credits of a credit pool. */
  usageMeterId: string | null;
  /** Null for credits of a usage meter. */
  creditPoolId: string | null;
  /** The feature that granted the credits. Null if they were granted by hand. */
  featureId: string | null;
  /** `billing_period_transition`: granted with a billing period. `manual_adjustment`: granted by hand or with a change of plan. `rollover`: left unused by an earlier grant. `purchase`: bought. */
  source: 'billing_period_transition' | 'manual_adjustment' | 'admin' | 'rollover' | 'purchase';
  reason: string | null;
  /** Credits with a lower number are used first, and among equals those that expire first. */
  priority: number;
  /** The units that were granted. */
  issuedAmount: CreditAmount;
  /** The units that paid for usage. */
  appliedAmount: CreditAmount;
  /** The units that expired unused. */
  expiredAmount: CreditAmount;
  /** The units that were taken back. */
  takenBackAmount: CreditAmount;
  /** The part of `takenBackAmount` that paid back units used ahead of a pause. */
  withheldAmount: CreditAmount;
  /** The units of paused time that were used or held when the subscription was paused. The next credits of its plan pay them back. */
  owedAmount: CreditAmount;
  /** The units that another subscription of the customer got: when this one ended, or when one came for which they waited. */
  transferredAmount: CreditAmount;
  /** The credit whose units these are: on an earlier subscription of the customer, or on the customer. */
  transferredFrom: string | null;
  /** The units that can still be used. */
  remainingAmount: CreditAmount;
  /** The end of their use. Null: they do not expire. */
  expiresAt: Timestamp | null;
  /** `active` while units remain. Then `expired` if some expired unused, else `taken_back` if some were taken back, else `transferred` if some were transferred, else `used`. */
  status: 'active' | 'used' | 'expired' | 'taken_back' | 'transferred';
}

export interface UsageEvent {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  customerId: string;
  subscriptionId: string;
  usageMeterId: string;
  priceId: string;
  /** The billing period that was current when the event arrived, independent of its `usageDate`. */
  billingPeriodId: string | null;
  transactionId: string;
  /** Negative only on a recurring meter, where it takes units away. */
  amount: number;
  usageDate: Timestamp;
  properties: Record<string, unknown> | null;
  /** Present at a price with the model `dynamic`: the price of the event itself, in minor units. */
  price?: string;
  /** Present if it was sent. */
  label?: string;
  /** Present if a blocking spend limit was reached. The event was stored nevertheless. */
  beyondLimit?: true;
}

export interface UsageBalance {
  subscriptionId: string;
  usageMeterId: string;
  availableBalance: WholeNumber;
}

export interface UsageHold {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  subscriptionId: string;
  usageMeterId: string;
  /** The price at which the use is counted when the hold is settled. */
  priceId: string;
  amount: number;
  /** The part of `amount` that is set aside from a credit pool of the customer. */
  pooledAmount: number;
  /** An open hold lowers the balance. An expired hold reserves nothing, and can still be settled. */
  status: 'open' | 'settled' | 'released' | 'expired';
  /** The units used, once the hold is settled. */
  settledAmount: number | null;
  expiresAt: Timestamp;
  /** Present if it was sent. */
  label?: string;
}

export interface InvoiceExplanation {
  invoiceId: string;
  /** Null until a draft is finalized. */
  invoiceNumber: string | null;
  currency: string;
  reason: InvoiceReason;
  subscriptionId: string | null;
  billingPeriodId: string | null;
  billingPeriod: ExplainedPeriod | null;
  lines: Array<ExplainedInvoiceLine>;
  sumOfLines: WholeNumber;
  /** In the order in which they lower the invoice. */
  discounts: Array<{
    discountRedemptionId: string;
    code: string;
    kind: 'percent' | 'fixed';
    /** A percentage, of which at most 100 count, or an amount in minor units. After a pause the rest of an interval gets its share. */
    amount: WholeNumber;
    /** What the discounts before it leave of the lines that it is for, without paused time, which was paid before. */
    base: WholeNumber;
    /** The amount taken off, at most the base. */
    computed: WholeNumber;
    rounding: ExplainedRounding;
  }>;
  /** The sum of the lines less their shares of the discounts, without those that bear no tax. */
  taxable: WholeNumber;
  tax: {
    type: TaxType | null;
    country: CountryCode | null;
    state: string | null;
    ratePercentage: string;
    /** If true, prices include the tax, which is taxable x rate / (100 + rate). Otherwise it is taxable x rate / 100. */
    inclusive: boolean;
    amount: WholeNumber;
    rounding: ExplainedRounding;
  } | null;
  /** The net amount: the total before tax. */
  subtotal: WholeNumber;
  taxAmount: WholeNumber;
  total: WholeNumber;
  /** The part of each subscription of a consolidated invoice, whose amounts are their sums. Tax is rounded for each. */
  parts?: Array<{
    invoiceId: string;
    subscriptionId: string | null;
    billingPeriodId: string | null;
    taxable: WholeNumber;
    tax: {
      type: TaxType | null;
      country: CountryCode | null;
      state: string | null;
      ratePercentage: string;
      /** If true, prices include the tax, which is taxable x rate / (100 + rate). Otherwise it is taxable x rate / 100. */
      inclusive: boolean;
      amount: WholeNumber;
      rounding: ExplainedRounding;
    } | null;
    total: WholeNumber;
  }>;
}

export type InvoiceReason = 'subscription_start' | 'renewal' | 'usage' | 'final_usage' | 'usage_threshold' | 'adjustment' | 'purchase' | 'one_off';

/** A range of time. `startAt` is part of it and `endAt` is not. */
export interface ExplainedPeriod {
  startAt: Timestamp;
  endAt: Timestamp;
}

export interface ExplainedInvoiceLine {
  id: string;
  type: 'static' | 'usage';
  /** The way of computing the amount. `item`: unitPrice x itemQuantity x fraction. `priced_item`: `value` x fraction, where `value` is the price of itemQuantity by `pricing`. `usage`: units x unitPrice / usageEventsPerUnit. `priced_usage`: the price of `unitsSoFar` (and `eventsSoFar`, or `eventsAmount`) by `pricing`, less `billedBefore`. `measured_usage`: the price of unitsSoFar / unitsPer units, by `pricing` or at unitPrice for usageEventsPerUnit, less `billedBefore`. Where usage has become cheaper, both are plus `discountTakenBack`. `proration`: the sum of value x fraction of the segments, less paid and waived, at least 0. `setup_fee`: unitPrice, once. `minimum_commitment`: the sum of value x fraction of the segments, less planAmount and usageAmount, at least 0. `arrears`: the sum of value x fraction of the segments, for the period that has ended. `paused_time`: the credit for paused time, at most the sum of the other lines less the discount. */
  kind: 'item' | 'priced_item' | 'usage' | 'priced_usage' | 'measured_usage' | 'proration' | 'setup_fee' | 'minimum_commitment' | 'arrears' | 'paused_time' | 'unexplained';
  description: string | null;
  /** The quantity on the invoice. The amount is the product of price and quantity. */
  quantity: number;
  price: WholeNumber;
  amount: WholeNumber;
  /** The price of one, or of `usageEventsPerUnit` units. */
  unitPrice: WholeNumber | null;
  itemQuantity: number | null;
  /** The price of all of itemQuantity for a whole interval. */
  value: WholeNumber | null;
  units: WholeNumber | null;
  usageEventsPerUnit: number | null;
  pricing: PricingOutput | null;
  /** All units of the usage period, those of the line included. */
  unitsSoFar: WholeNumber | null;
  /** Present for `measured_usage`: the units so far, and those of tiers, are so many parts of a unit. */
  unitsPer?: WholeNumber;
  /** The events that the line bills, where each of them costs something. */
  events: WholeNumber | null;
  /** All of them in the usage period. */
  eventsSoFar: WholeNumber | null;
  /** The sum of the own prices of all events of the usage period, in minor units. */
  eventsAmount: string | null;
  /** The amount that was billed for the usage period before. */
  billedBefore: WholeNumber | null;
  /** Present where the usage period has become cheaper: the part that is not paid back, because a discount had taken it off before. */
  discountTakenBack?: WholeNumber;
  /** The tiers that hold the units so far, or the quantity. Packages, free units and bounds are in no tier. */
  tiers: Array<{
    upTo: WholeNumber | null;
    units: WholeNumber;
    unitAmount: string;
    rate: string;
    flatAmount: string;
    amount: WholeNumber;
  }> | null;
  /** The time that the line bills. */
  period: ExplainedPeriod | null;
  fraction: ExplainedFraction | null;
  /** The plans of a period with changes, each with its price for the whole period and its share of the time. `items` are present where one of them has a pricing: `POST /prices/quote` tells the tiers of its quantity. */
  segments: Array<{
    value: WholeNumber;
    fraction: ExplainedFraction;
    items?: Array<ExplainedSegmentItem>;
  }> | null;
  /** The sum of the values of the segments. */
  fairValue: WholeNumber | null;
  /** The part of that value that is settled: paid, being paid, refunded, voided or written off. */
  paid: WholeNumber | null;
  /** The part of that value that changes without proration do not charge. */
  waived: WholeNumber | null;
  /** What the plan of the period costs towards its commitment. */
  planAmount: WholeNumber | null;
  /** What the usage of the period costs towards its commitment. */
  usageAmount: WholeNumber | null;
  /** The credit for paused time that was not yet taken off. */
  kept: WholeNumber | null;
  rounding: ExplainedRounding;
  discountShare: WholeNumber;
  taxShare: WholeNumber;
  /** False: the line bears no tax. Absent: it does. */
  taxable?: false;
  priceId: string | null;
  subscriptionItemId: string | null;
  ledgerAccountId: string | null;
}

/** The duration of `part` divided by the duration of `whole`, in milliseconds. */
export interface ExplainedFraction {
  part: ExplainedPeriod;
  whole: ExplainedPeriod;
}

/** A quantity of a price. `value` is its price for the whole period. */
export interface ExplainedSegmentItem {
  priceId: string | null;
  unitPrice: WholeNumber;
  quantity: number;
  value: WholeNumber;
}

/** The exact value as a fraction, and the rounded value. Halves are rounded away from zero. */
export interface ExplainedRounding {
  numerator: string;
  denominator: string;
  rounded: WholeNumber;
}

export interface CreditNote {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  invoiceId: string;
  /** The number of the credit note, the next one of its series. A series has no gaps. */
  creditNoteNumber: string;
  /** `issued` until its money is back, or its invoice is paid; then `settled`. One to a balance is settled at once. A `void` one counts for nothing. */
  status: CreditNoteStatus;
  settle: CreditNoteSettlement;
  reason: string | null;
  currency: CurrencyCode;
  /** The discount of the invoice that is taken back with its lines. */
  discountAmount: WholeNumber;
  /** The sum of the lines less the discount, without tax. */
  subtotal: WholeNumber;
  taxAmount: WholeNumber;
  /** The sum of subtotal and tax: the amount that is credited. */
  total: WholeNumber;
  /** The payment that is refunded, if one is. */
  paymentId: string | null;
  settledAt: Timestamp | null;
  voidedAt: Timestamp | null;
  pdfURL: string;
}

export interface CreditNoteLine {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  creditNoteId: string;
  invoiceLineItemId: string;
  description: string | null;
  /** The quantity that was asked for; null for an amount. */
  quantity: number | null;
  /** The part of the amount of the line, before discount and tax. */
  amount: WholeNumber;
  /** Its share of the discount. */
  discountAmount: WholeNumber;
  /** Its share of the tax. */
  taxAmount: WholeNumber;
}

export interface CreditNoteExplanation {
  creditNoteId: string;
  creditNoteNumber: string;
  invoiceId: string;
  currency: string;
  lines: Array<ExplainedCreditNoteLine>;
  sumOfLines: WholeNumber;
  discountAmount: WholeNumber;
  subtotal: WholeNumber;
  taxAmount: WholeNumber;
  total: WholeNumber;
}

export interface ExplainedCreditNoteLine {
  id: string;
  invoiceLineItemId: string;
  /** The amount of the invoice line, before discount and tax. */
  lineAmount: WholeNumber;
  creditedBefore: WholeNumber;
  amount: WholeNumber;
  discount: ExplainedCreditShare;
  tax: ExplainedCreditShare;
}

/** The share is numerator / denominator, rounded with halves away from zero to what card networks take, less `creditedBefore`. After a voided credit note, or for a refund, it may differ by its rounding, so that nothing is left over or becomes negative, and it is at most what is left of `whole`. The denominator of a tax is less than the amount of its line where other lines lowered the invoice: their share of the line bore no tax. */
export interface ExplainedCreditShare {
  whole: WholeNumber;
  creditedBefore: WholeNumber;
  numerator: string;
  denominator: string;
  share: WholeNumber;
}

export interface CustomerBalance {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  currency: CurrencyCode;
  /** What is left: `credited` less `debited`, at least 0. */
  balance: WholeNumber;
  /** All that was added, also by invoices that were voided. */
  credited: WholeNumber;
  /** All that invoices and corrections took. */
  debited: WholeNumber;
}

export interface CustomerBalanceEntry {
  id: string;
  createdAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  customerId: string;
  customerBalanceId: string;
  source: BalanceEntrySource;
  /** Positive: added to the balance. Negative: taken off it. */
  amount: WholeNumber;
  balanceAfter: WholeNumber;
  invoiceId: string | null;
  creditNoteId: string | null;
  description: string | null;
}

/** The other side of the entry. `manual`: given or taken by hand. `invoice`: paid for an invoice. `voided_invoice`: that came back. `credit_note`: returned by a credit note. `voided_credit_note`: taken off again. */
export type BalanceEntrySource = 'manual' | 'invoice' | 'voided_invoice' | 'credit_note' | 'voided_credit_note';

export interface InvoiceItem {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  pricingModelId: string;
  customerId: string;
  /** The subscription for whose next invoice it waits. Null: any of its customer. */
  subscriptionId: string | null;
  status: InvoiceItemStatus;
  invoiceId: string | null;
  priceId: string | null;
  description: string | null;
  quantity: number;
  /** The price of one. */
  price: WholeNumber;
  /** The product of price and quantity. */
  amount: WholeNumber;
  taxable: boolean;
  servicePeriod: {
    start: Timestamp;
    end: Timestamp;
  } | null;
}

export interface TaxRate {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  country: CountryCode;
  /** The state in upper case. Null: the rate of all states without their own. */
  state: string | null;
  type: TaxType;
  /** A decimal number as text: `19` or `8.875`. */
  percentage: string;
  /** True if prices include the tax. */
  inclusive: boolean;
  active: boolean;
  name: string | null;
}

export type CheckoutSession = {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddress | null;
  quantity: number;
  /** The add-ons that are sold or offered beside `priceId`. */
  addOns: Array<{
    priceId: string;
    /** Whether the buyer may leave it out. */
    optional: boolean;
    quantity: number;
    /** The least that the buyer may choose; null: it is fixed. */
    minimumQuantity: number | null;
    maximumQuantity: number | null;
    /** The quantity that the buyer took, 0 for none; null until a confirmation. */
    selectedQuantity: number | null;
  }>;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** The least that the buyer may choose; null: it is fixed. */
  minimumQuantity: number | null;
  maximumQuantity: number | null;
  /** Null: the trial of the price. */
  trialPeriodDays: number | null;
  /** Null: that of the settings. */
  billingAnchor: AnchorRule | null;
  /** Null: that of the settings. */
  firstPeriod: FirstPeriod | null;
  metadata: Metadata | null;
  /** The most recent change of plan of the session, whose customer had a plan already. */
  adjustmentId: string | null;
  /** The time from which the session can no longer be confirmed. */
  expires: Timestamp;
  type: 'product';
  priceId: string;
  /** The most recent purchase of the session. */
  purchaseId: string | null;
  invoiceId: null;
  customerId: string | null;
  preserveBillingCycleAnchor: boolean;
  targetSubscriptionId: null;
  automaticallyUpdateSubscriptions: null;
} | {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddress | null;
  quantity: number;
  /** The add-ons that are sold or offered beside `priceId`. */
  addOns: Array<{
    priceId: string;
    /** Whether the buyer may leave it out. */
    optional: boolean;
    quantity: number;
    /** The least that the buyer may choose; null: it is fixed. */
    minimumQuantity: number | null;
    maximumQuantity: number | null;
    /** The quantity that the buyer took, 0 for none; null until a confirmation. */
    selectedQuantity: number | null;
  }>;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** The least that the buyer may choose; null: it is fixed. */
  minimumQuantity: number | null;
  maximumQuantity: number | null;
  /** Null: the trial of the price. */
  trialPeriodDays: number | null;
  /** Null: that of the settings. */
  billingAnchor: AnchorRule | null;
  /** Null: that of the settings. */
  firstPeriod: FirstPeriod | null;
  metadata: Metadata | null;
  /** The most recent change of plan of the session, whose customer had a plan already. */
  adjustmentId: string | null;
  /** The time from which the session can no longer be confirmed. */
  expires: Timestamp;
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
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddress | null;
  quantity: number;
  /** The add-ons that are sold or offered beside `priceId`. */
  addOns: Array<{
    priceId: string;
    /** Whether the buyer may leave it out. */
    optional: boolean;
    quantity: number;
    /** The least that the buyer may choose; null: it is fixed. */
    minimumQuantity: number | null;
    maximumQuantity: number | null;
    /** The quantity that the buyer took, 0 for none; null until a confirmation. */
    selectedQuantity: number | null;
  }>;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** The least that the buyer may choose; null: it is fixed. */
  minimumQuantity: number | null;
  maximumQuantity: number | null;
  /** Null: the trial of the price. */
  trialPeriodDays: number | null;
  /** Null: that of the settings. */
  billingAnchor: AnchorRule | null;
  /** Null: that of the settings. */
  firstPeriod: FirstPeriod | null;
  metadata: Metadata | null;
  /** The most recent change of plan of the session, whose customer had a plan already. */
  adjustmentId: string | null;
  /** The time from which the session can no longer be confirmed. */
  expires: Timestamp;
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
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  status: CheckoutSessionStatus;
  billingAddress: BillingAddress | null;
  quantity: number;
  /** The add-ons that are sold or offered beside `priceId`. */
  addOns: Array<{
    priceId: string;
    /** Whether the buyer may leave it out. */
    optional: boolean;
    quantity: number;
    /** The least that the buyer may choose; null: it is fixed. */
    minimumQuantity: number | null;
    maximumQuantity: number | null;
    /** The quantity that the buyer took, 0 for none; null until a confirmation. */
    selectedQuantity: number | null;
  }>;
  customerName: string | null;
  customerEmail: string | null;
  paymentMethodType: PaymentMethodType | null;
  discountId: string | null;
  successUrl: string | null;
  cancelUrl: string | null;
  outputMetadata: Metadata | null;
  outputName: string | null;
  /** The least that the buyer may choose; null: it is fixed. */
  minimumQuantity: number | null;
  maximumQuantity: number | null;
  /** Null: the trial of the price. */
  trialPeriodDays: number | null;
  /** Null: that of the settings. */
  billingAnchor: AnchorRule | null;
  /** Null: that of the settings. */
  firstPeriod: FirstPeriod | null;
  metadata: Metadata | null;
  /** The most recent change of plan of the session, whose customer had a plan already. */
  adjustmentId: string | null;
  /** The time from which the session can no longer be confirmed. */
  expires: Timestamp;
  type: 'purchase';
  priceId: string;
  purchaseId: string;
  invoiceId: string | null;
  customerId: string | null;
  preserveBillingCycleAnchor: false;
  targetSubscriptionId: null;
  automaticallyUpdateSubscriptions: null;
};

export interface RefundedCredit {
  /** The usage meter. Null for credits of a pool. */
  usageMeterId: string | null;
  /** The credit pool, in place of a usage meter. Its amounts are decimal texts. */
  creditPoolId?: string;
  /** The units that the purchase bought. */
  boughtAmount: CreditAmount;
  /** The units of these that were used. They stay used. */
  usedAmount: CreditAmount;
  /** The units that this refund took back. */
  takenBackAmount: CreditAmount;
  /** The units that are left. After a refund in full, those that open holds set aside. */
  remainingAmount: CreditAmount;
}

export interface Webhook {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  /** The pricing model whose events are sent. */
  pricingModelId: string;
  name: string;
  url: string;
  /** The event types that are sent. Empty: all types but `usage_balance.low`, `usage_threshold.reached`, `spend_limit.reached`, `auto_top_up.action_required`, `auto_top_up.stopped`, `auto_top_up.limit_reached`, `customer.erased`, `attempts.limit_reached`, `credit_note.created`, `credit_note.settled`, `credit_note.voided`, `invoice.sent`, `invoice.created`, `invoice.finalized`, `invoice.paid`, `invoice.payment_failed`, `invoice.overdue`, `invoice.voided`, `invoice.uncollectible`, `refund.created`, `subscription.trial_will_end`, `payment_method.expiring`, `payment.action_required`. */
  filterTypes: Array<WebhookFilterType>;
  active: boolean;
  /** The reason why the service has disabled the webhook, or null. To enable it, set `active` to `true`. */
  disabledReason: string | null;
}

export interface WebhookDelivery {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  webhookId: string;
  /** Null for a sample, which stands for no event. */
  eventId: string | null;
  eventType: EventType;
  objectId: string;
  status: WebhookDeliveryStatus;
  /** The number of attempts. */
  attempts: number;
  nextAttemptAt: Timestamp | null;
  lastAttemptAt: Timestamp | null;
  /** The status code of the endpoint's answer. Null if there was none. */
  lastStatusCode: number | null;
  /** The reason why the last attempt failed. */
  lastError: string | null;
}

export interface WebhookAttempt {
  /** The number of the attempt, counted from 1. */
  number: number;
  startedAt: Timestamp;
  durationMs: number;
  /** The status code of the endpoint's answer. Null if there was none. */
  statusCode: number | null;
  /** The reason why the attempt failed. Null if it succeeded. */
  error: string | null;
  /** The first 2 KiB of the endpoint's answer; only its length where the address was allowed by default. */
  answer: string | null;
}

export interface Event {
  id: string;
  createdAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  type: EventType;
  object: string;
  objectId: string;
  occurredAt: Timestamp;
  payload: EventPayload;
}

export interface EventPayload {
  /** The id of the record that the event is about. */
  id: string;
  /** The type of that record. */
  object: string;
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: EventType;
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: {
    id: string;
  } | null;
}

export interface ReachedSpendLimit {
  /** The seller, or the customer for itself: both limits hold. Or a plan, by its features: a limit of the seller of the same use takes its place. */
  setBy: 'seller' | 'customer' | 'plan';
  /** The subscription whose plan has set the limit, which counts its use only. Else null. */
  subscriptionId: string | null;
  usageMeterId: string | null;
  /** The credit pool, if the limit counts what is drawn from one. Its amounts are decimal texts. */
  creditPoolId?: string;
  /** Null: the limit counts usage with any label or none. */
  label: string | null;
  /** How long the limit counts until it begins again: a day, a week from Monday or a month in UTC, or the billing period of the subscription that is used. A limit by billing period counts each subscription by itself. */
  period: 'day' | 'week' | 'month' | 'billing_period';
  /** Whether the limit is a number of units, or the money that they cost at their prices, in minor units, whether or not credits cover them. */
  unit: 'units' | 'money';
  /** `block`: consume and holds refuse what does not fit. `notify`: only events are sent. A usage event is stored in either case. */
  action: 'block' | 'notify';
  id: string;
  amount: number | string;
  /** Percent of the amount: 100 in `spend_limit.reached`. */
  threshold: number;
  usedAmount: number | string;
  /** When the limit begins again. Null: never. */
  resetsAt: Timestamp | null;
}

/** An email to a customer. Its instants are real time. */
export interface Email {
  id: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  livemode: boolean;
  organizationId: string;
  pricingModelId: string;
  customerId: string;
  /** The event that caused it. */
  eventId: string;
  /** The email that it repeats on request; otherwise null. */
  resentFrom: string | null;
  /** `invoice_issued`: an invoice was sent, with its PDF. `receipt`: a payment succeeded. `payment_failed`: a payment of an invoice failed, with a link to pay it. `payment_action_required`: the bank wants the customer to confirm one. `payment_waiting`: one that a customer began waits for its confirmation. `subscription_canceled`: a subscription ended. `credit_note_issued`: a credit note, with its PDF. `trial_ending`: a trial ends in three days. `card_expiring`: the card expires at the end of the month. `spend_limit_reached`: the amount of a spend limit is used. `top_up_action_required`: the bank wants the customer to confirm an automatic top-up. */
  template: 'invoice_issued' | 'receipt' | 'payment_failed' | 'payment_action_required' | 'payment_waiting' | 'subscription_canceled' | 'credit_note_issued' | 'trial_ending' | 'card_expiring' | 'spend_limit_reached' | 'top_up_action_required';
  status: EmailStatus;
  attempts: number;
  /** The addresses of the last attempt. Empty before the first. */
  recipients: Array<string>;
  /** The addresses among them that the mail server refused for good. Later emails are not sent to them, until the customer has another address, or an email is sent again on request and arrives. */
  bouncedRecipients: Array<string>;
  /** The subject of the last attempt. Null before the first. */
  subject: string | null;
  /** The reason why it was not sent, or not to all its recipients; otherwise null. */
  lastError: string | null;
  sentAt: Timestamp | null;
}

/** An email as it is written now, with values of an example. */
export interface EmailPreview {
  subject: string;
  text: string;
  html: string;
}

export interface TestClock {
  /** The environment's time, in epoch milliseconds. */
  now: Timestamp;
  /** True once the clock was set: time stands still until it is moved. */
  frozen: boolean;
}

/** The work done since the clock was last set. */
export interface ClockWork {
  /** The number of renewed billing periods. */
  periodsRenewed: number;
  /** The number of subscriptions that ended. */
  subscriptionsCanceled: number;
  /** The number of invoices created. */
  invoicesCreated: number;
  /** The number of successful charges. */
  paymentsSucceeded: number;
  /** The number of failed charges. */
  paymentsFailed: number;
  /** The number of credits that expired with unused units. */
  creditsExpired: number;
  /** The number of events published. */
  eventsCreated: number;
}

/** Monthly recurring revenue in the smallest unit of each currency. Contraction and churn are negative, so that the movements add up. In a group, a change between two prices is an expansion or a contraction of both. */
export interface MrrReport {
  from: Timestamp;
  to: Timestamp;
  interval: 'day' | 'week' | 'month' | 'quarter' | 'year';
  groupBy: 'product' | 'price' | 'interval' | null;
  groups: Array<{
    currency: string;
    /** The id of the product or price, or the interval such as `1 month`. Null without groups, and for those beyond the first 50 together. */
    key: string | null;
    name: string | null;
    /** The MRR at the start of the range. */
    opening: WholeNumber;
    points: Array<{
      start: Timestamp;
      end: Timestamp;
      new: WholeNumber;
      reactivation: WholeNumber;
      expansion: WholeNumber;
      contraction: WholeNumber;
      churn: WholeNumber;
      /** The MRR at the end of the point: that before it and its movements. */
      mrr: WholeNumber;
      /** Twelve times the MRR. */
      arr: WholeNumber;
      /** Customers with MRR at the end of the point. Null in a group. */
      customers: number | null;
    }>;
  }>;
}

/** Customers and MRR lost over time. Churn and contraction are negative. */
export interface ChurnReport {
  from: Timestamp;
  to: Timestamp;
  interval: 'day' | 'week' | 'month' | 'quarter' | 'year';
  groupBy: 'product' | 'price' | 'interval' | null;
  groups: Array<{
    currency: string;
    /** The id of the product or price, or the interval such as `1 month`. Null without groups, and for those beyond the first 50 together. */
    key: string | null;
    name: string | null;
    points: Array<{
      start: Timestamp;
      end: Timestamp;
      openingCustomers: number | null;
      churnedCustomers: number | null;
      /** A decimal text with six decimals. Null where nothing was there to lose. */
      customerChurnRate: string | null;
      openingMrr: WholeNumber;
      churn: WholeNumber;
      contraction: WholeNumber;
      /** Churn and contraction by the MRR at the start of the point. */
      revenueChurnRate: string | null;
    }>;
  }>;
}

/** Retention of revenue at each point, and of the customers of each point. */
export interface RetentionReport {
  from: Timestamp;
  to: Timestamp;
  interval: 'day' | 'week' | 'month' | 'quarter' | 'year';
  currency: string;
  points: Array<{
    start: Timestamp;
    end: Timestamp;
    /** The MRR of all customers at the start. */
    opening: WholeNumber;
    /** The MRR of those customers at the end, by that at the start. */
    netRetention: string | null;
    /** The same without what any of them has more than at the start. */
    grossRetention: string | null;
  }>;
  cohorts: Array<{
    start: Timestamp;
    end: Timestamp;
    /** The customers whose first MRR was in this time. */
    customers: number;
    points: Array<{
      start: Timestamp;
      end: Timestamp;
      /** Those with MRR at the end of the point. */
      customers: number;
      mrr: WholeNumber;
      /** A decimal text with six decimals. */
      customerRetention: string | null;
      /** The MRR by that at the end of the first point. */
      netRetention: string | null;
    }>;
  }>;
}

/** Revenue over time, in the smallest unit of each currency. */
export interface RevenueReport {
  from: Timestamp;
  to: Timestamp;
  interval: 'day' | 'week' | 'month' | 'quarter' | 'year';
  groupBy: 'reason' | null;
  groups: Array<{
    currency: string;
    /** The value of the grouping; null without groups. */
    key: string | null;
    points: Array<{
      start: Timestamp;
      end: Timestamp;
      /** The net amount of the invoices of this time, without tax. Drafts and void ones do not count. */
      invoiced: WholeNumber;
      tax: WholeNumber;
      /** The net amount of the credit notes of this time. Void ones do not count, nor those of void invoices. */
      credited: WholeNumber;
      creditedTax: WholeNumber;
      /** Invoiced less credited. */
      net: WholeNumber;
      /** The money of payments that arrived in this time, with tax. */
      collected: WholeNumber;
      /** The money of refunds of this time, with tax. */
      refunded: WholeNumber;
    }>;
  }>;
}

/** Payments over time, in the smallest unit of each currency. */
export interface PaymentsReport {
  from: Timestamp;
  to: Timestamp;
  interval: 'day' | 'week' | 'month' | 'quarter' | 'year';
  groupBy: 'processor' | 'paymentMethod' | null;
  groups: Array<{
    currency: string;
    /** The value of the grouping; null without groups. */
    key: string | null;
    points: Array<{
      start: Timestamp;
      end: Timestamp;
      succeeded: number;
      /** By the time at which the money arrived. */
      succeededAmount: WholeNumber;
      failed: number;
      /** By the time of the attempt. */
      failedAmount: WholeNumber;
      recovered: number;
      /** Payments that succeeded after an earlier attempt had failed. */
      recoveredAmount: WholeNumber;
    }>;
  }>;
}

/** Units and events of each usage meter by the hours of their `usageDate`. The most used meter is first. */
export interface UsageReport {
  from: Timestamp;
  to: Timestamp;
  interval: 'day' | 'week' | 'month' | 'quarter' | 'year';
  meters: Array<{
    usageMeterId: string;
    name: string;
    slug: string;
    units: WholeNumber;
    events: number;
    points: Array<{
      start: Timestamp;
      end: Timestamp;
      units: WholeNumber;
      events: number;
    }>;
  }>;
}

/** Each count is at most 1,000. */
export interface Attention {
  pastDueSubscriptions: number;
  unpaidSubscriptions: number;
  /** Invoices that `GET /invoices?pastDue=true` lists. */
  pastDueInvoices: number;
  /** Charges of the last 7 days that failed. */
  failedPayments: number;
  /** Payments that a lost dispute or a returned debit took back, changed in the last 7 days. */
  reversedPayments: number;
  draftInvoices: number;
  /** Webhooks whose attempts fail, or that the service switched off. */
  failingWebhooks: number;
  /** Subscriptions whose due work failed. It is tried again by itself. */
  stuckSubscriptions: number;
  /** Invariants of the whole service that the last check found broken. Null before the first check. */
  brokenInvariants: number | null;
}

export interface Health {
  version: string;
  database: {
    version: string;
    /** The time of one question to the database. */
    roundTripMs: number;
  };
  /** The work of the environment that is due. Each count is at most 1,000. */
  work: {
    /** Billing periods that have ended and wait for their renewal. */
    periodsDue: number;
    /** Invoices whose next attempt is due. */
    attemptsDue: number;
    stuckSubscriptions: number;
    /** Webhook messages that wait, with those between two attempts. */
    messagesPending: number;
    oldestMessageAt: Timestamp | null;
  };
  /** The last check of the whole service. Null before the first. It names no records. */
  checks: {
    checkedAt: Timestamp;
    durationMs: number;
    invariants: Array<{
      name: string;
      sentence: string;
      holds: boolean;
    }>;
  } | null;
}

export interface SearchResult {
  type: 'customer' | 'subscription' | 'invoice' | 'product' | 'price' | 'payment' | 'creditNote';
  id: string;
  /** The name, or the number of an invoice or credit note. Null for a draft and for a payment. */
  name: string | null;
  /** The e-mail address or external id of a customer, the slug of a product or price, else the customer. */
  detail: string | null;
  /** Of a customer `archived`, of a product or price `inactive`. */
  status: string | null;
  pricingModelId: string;
}

export interface ErrorBody {
  /** The reason, in a sentence for people. */
  message: string;
  /** The kind of refusal, for programs: `NOT_FOUND`. */
  code: string;
  /** The refusal itself, for programs: `capacity_exhausted`. A reason keeps its name; new ones may be added. */
  reason: string;
  /** Each fault of the request and the path of the field that has it. */
  issues?: Array<{
    message: string;
    path: Array<string | number>;
    code: string;
  }>;
  /** The same text as `message`. */
  error: string;
  /** The id of the request, as in the header `X-Request-Id`. */
  request_id: string;
}

/** A name and its value, which are printed on documents. */
export interface CustomFieldOutput {
  name: string;
  value: string;
}

/** How units become money, in each usage period. `per_unit`: each unit. `package`: whole packages, rounded up. `graduated`: each unit at the rate of its own tier. `volume`: all units at the rate of the tier of the last one. `stairstep`: one amount for each tier. `percentage` and `graduated_percentage`: units are an amount of money. `dynamic`: each event has its own price. `freeUnits` come off before tiers and packages. */
export type PricingOutput = {
  model: 'per_unit';
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  unitAmount: string;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'package';
  packageSize: number;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  packageAmount: string;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'graduated' | 'volume';
  tiers: Array<{
    /** The last unit of the tier; null in the last tier. */
    upTo: number | null;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    unitAmount: string;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    flatAmount?: string;
  }>;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'stairstep';
  tiers: Array<{
    /** The last unit of the tier; null in the last tier. */
    upTo: number | null;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    flatAmount: string;
  }>;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'percentage';
  /** A decimal text, in percent, with up to 12 decimals. */
  rate: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  fixedAmountPerEvent?: string;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'graduated_percentage';
  tiers: Array<{
    /** The last unit of the tier; null in the last tier. */
    upTo: number | null;
    /** A decimal text, in percent, with up to 12 decimals. */
    rate: string;
    /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
    flatAmount?: string;
  }>;
  freeUnits?: number;
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
} | {
  model: 'dynamic';
  /** The least that a usage period costs, from its first unit on. Without usage it costs nothing. */
  minimumAmount?: string;
  /** A decimal text, in the smallest unit of the currency, with up to 12 decimals. */
  maximumAmount?: string;
};

export interface CustomerCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'customer.created';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface CustomerUpdatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'customer.updated';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface PurchaseCompletedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'purchase';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'purchase.completed';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Purchase | null;
}

export interface PaymentFailedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'payment';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'payment.failed';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Payment | null;
}

export interface PaymentSucceededPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'payment';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'payment.succeeded';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Payment | null;
}

export interface SubscriptionCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.created';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Subscription | null;
}

export interface SubscriptionUpdatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.updated';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Subscription | null;
}

export interface SubscriptionCanceledPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.canceled';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Subscription | null;
}

export type UsageBalanceLowPayload = {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  usageMeterId: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'usage_balance.low';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Subscription | null;
} | {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  creditPool: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'usage_balance.low';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
};

export interface UsageThresholdReachedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  spendLimit: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'usage_threshold.reached';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface SpendLimitReachedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  spendLimit: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'spend_limit.reached';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface AutoTopUpActionRequiredPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'auto_top_up.action_required';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface AutoTopUpStoppedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'auto_top_up.stopped';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface AutoTopUpLimitReachedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'auto_top_up.limit_reached';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface CustomerErasedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'customer.erased';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Customer | null;
}

export interface AttemptsLimitReachedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'checkoutSession' | 'customer';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  attempts: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'attempts.limit_reached';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: CheckoutSession | Customer | null;
}

export interface CreditNoteCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'creditNote';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'credit_note.created';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: CreditNote | null;
}

export interface CreditNoteSettledPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'creditNote';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'credit_note.settled';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: CreditNote | null;
}

export interface CreditNoteVoidedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'creditNote';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'credit_note.voided';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: CreditNote | null;
}

export interface InvoiceSentPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.sent';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoiceCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.created';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoiceFinalizedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.finalized';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoicePaidPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.paid';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoicePaymentFailedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.payment_failed';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoiceOverduePayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.overdue';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoiceVoidedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.voided';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface InvoiceUncollectiblePayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'invoice';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'invoice.uncollectible';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Invoice | null;
}

export interface RefundCreatedPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'payment';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  refund: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'refund.created';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Payment | null;
}

export interface SubscriptionTrialWillEndPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'subscription';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'subscription.trial_will_end';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Subscription | null;
}

export interface PaymentMethodExpiringPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'paymentMethod';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'payment_method.expiring';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: PaymentMethod | null;
}

export interface PaymentActionRequiredPayload {
  /** The id of the record that the event is about. */
  id: string;
  object: 'payment';
  /** The usage meter, in events about a balance. */
  usageMeterId?: string;
  /** The credit pool and its balance then, a decimal text, in events about a balance of a pool. */
  creditPool?: {
    id: string;
    availableBalance: string;
  };
  /** The attempts whose limit was reached, in events about attempts. */
  attempts?: {
    kind: 'payment' | 'discount_code';
    scope: 'link' | 'customer' | 'network' | 'environment';
  };
  /** The refund of the payment, in events about a refund. */
  refund?: {
    id: string;
    amount: number;
  };
  /** The limit and its threshold that was reached, in events about a spend limit. */
  spendLimit?: ReachedSpendLimit;
  /** The customer. For a checkout session without one, both are the id of the session. */
  customer: {
    id: string;
    externalId: string;
  };
  pricingModelId: string;
  type: 'payment.action_required';
  eventId: string;
  occurredAt: Timestamp;
  livemode: boolean;
  /** The record after the change, as the API answered it then. It may have changed since. Null in samples, for a record above 256 KiB, and after the customer was erased. */
  data: Payment | null;
}

/** The body of a message to a webhook. */
export type WebhookPayload = CustomerCreatedPayload | CustomerUpdatedPayload | PurchaseCompletedPayload | PaymentFailedPayload | PaymentSucceededPayload | SubscriptionCreatedPayload | SubscriptionUpdatedPayload | SubscriptionCanceledPayload | UsageBalanceLowPayload | UsageThresholdReachedPayload | SpendLimitReachedPayload | AutoTopUpActionRequiredPayload | AutoTopUpStoppedPayload | AutoTopUpLimitReachedPayload | CustomerErasedPayload | AttemptsLimitReachedPayload | CreditNoteCreatedPayload | CreditNoteSettledPayload | CreditNoteVoidedPayload | InvoiceSentPayload | InvoiceCreatedPayload | InvoiceFinalizedPayload | InvoicePaidPayload | InvoicePaymentFailedPayload | InvoiceOverduePayload | InvoiceVoidedPayload | InvoiceUncollectiblePayload | RefundCreatedPayload | SubscriptionTrialWillEndPayload | PaymentMethodExpiringPayload | PaymentActionRequiredPayload;

export interface UtilsGetPingAnswer {
  message: 'pong';
}

export interface ApiKeysGetInput {
  id: string;
}

export interface ApiKeysGetAnswer {
  apiKey: ApiKey;
}

export interface ApiKeysUpdateInput {
  id: string;
  apiKey: {
    id?: string;
    name?: string;
    /** What the key may do: no more than the key that asks. */
    permissions?: Array<Permission>;
    /** The end of the key in real time. Null: it has none. */
    expiresAt?: TimestampInput | null;
  };
}

export interface ApiKeysUpdateAnswer {
  apiKey: ApiKey;
}

export interface ApiKeysListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  active?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface ApiKeysListAnswer {
  data: Array<ApiKey>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface ApiKeysCreateInput {
  apiKey: {
    name: string;
    /** What the key may do: no more than the key that asks. */
    permissions: Array<Permission>;
    /** The pricing model to pin the key to. By default that of the key that asks. */
    pricingModelId?: string | null;
    /** The end of the key in real time. By default that of the key that asks. */
    expiresAt?: TimestampInput | null;
  };
}

export interface ApiKeysCreateAnswer {
  apiKey: ApiKey;
  /** The key itself. It is shown only here, and stored as a hash. */
  token: string;
}

export interface ApiKeysRotateInput {
  id: string;
  /** How long the old key stays valid beside the new one, at most 30 days. */
  overlapSeconds?: number;
}

export interface ApiKeysRotateAnswer {
  apiKey: ApiKey;
  /** The key itself. It is shown only here, and stored as a hash. */
  token: string;
}

export interface ApiKeysRevokeInput {
  id: string;
}

export interface ApiKeysRevokeAnswer {
  apiKey: ApiKey;
}

export interface OrganizationsCreateInput {
  organization: {
    name: string;
  };
}

export interface OrganizationsCreateAnswer {
  organization: Organization;
  apiKeys: Array<{
    apiKey: ApiKey;
    /** The key itself. It is shown only here, and stored as a hash. */
    token: string;
  }>;
}

export interface SettingsGetAnswer {
  settings: Settings;
}

export interface SettingsUpdateInput {
  settings: {
    currency?: CurrencyCode;
    allowMultipleSubscriptions?: boolean;
    access?: {
      /** While the collection of a failed payment is still tried. */
      pastDue?: AccessLevel;
      /** After the last attempt has failed. */
      unpaid?: AccessLevel;
    };
    allowRepeatedTrials?: boolean;
    allowRepeatedDiscounts?: boolean;
    bankDebits?: boolean;
    billingAnchor?: AnchorRule;
    firstPeriod?: FirstPeriod;
    billingThresholdAmount?: number | null;
    dunning?: {
      /** The days from each failed attempt to the next, at most 10 numbers. Empty: no retry. */
      retryDays?: Array<number>;
      terminalAction?: TerminalAction;
    };
    branding?: {
      logo?: string | null;
      icon?: string | null;
      primaryColor?: string | null;
      legalFooter?: string | null;
    };
    mail?: {
      enabled?: boolean;
      replyTo?: string | null;
      testRecipients?: Array<string>;
      texts?: {
        invoice_issued?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        receipt?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        payment_failed?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        payment_action_required?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        payment_waiting?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        subscription_canceled?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        credit_note_issued?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        trial_ending?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        card_expiring?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        spend_limit_reached?: {
          subject?: string | null;
          text?: string | null;
        } | null;
        top_up_action_required?: {
          subject?: string | null;
          text?: string | null;
        } | null;
      };
    };
    netTermsDays?: number;
    numbering?: {
      invoices?: NumberSeriesChange;
      creditNotes?: NumberSeriesChange;
    };
    seller?: {
      name?: string | null;
      email?: string | null;
      addressLines?: Array<string>;
      taxId?: string | null;
    } | null;
    /** `none`: invoices carry no tax. `rates`: the tax rates apply, by the billing address of the customer. */
    taxProvider?: 'none' | 'rates';
    paymentInstructions?: string | null;
    reviewHours?: number;
    timeZone?: TimeZone;
    unknownFields?: UnknownFields;
  };
}

export interface SettingsUpdateAnswer {
  settings: Settings;
}

export interface SettingsBrandingPreviewInput {
  settings: {
    branding: {
      logo?: string | null;
      icon?: string | null;
      primaryColor?: string | null;
      legalFooter?: string | null;
    };
  };
  language?: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt';
}

export interface SettingsBrandingPreviewAnswer {
  preview: BrandingPreview;
}

export interface ArchivesListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
}

export interface ArchivesListAnswer {
  data: Array<Archive>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
  /** All events that arrived since this instant are in lists. Null: all there ever were. */
  keptSince: Timestamp | null;
  /** A `transactionId` counts once for at least so many days; null: without a limit of time. */
  deduplicationDays: number | null;
  /** Events are in lists for at least so many days; null: for ever. */
  retentionDays: number | null;
}

export interface AuditLogListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  recordId?: string;
  /** The type of the record, such as `subscriptionItem`. */
  record?: string;
  action?: string;
  apiKeyId?: string;
  userId?: string;
  requestId?: string;
  /** Changes made at this instant or later. */
  since?: string | number;
  /** Changes made before this instant. */
  until?: string | number;
}

export interface AuditLogListAnswer {
  data: Array<AuditLogEntry>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface ChangesListInput {
  /** The last id that was received. The header `Last-Event-ID` says the same. */
  after?: number;
  /** The length of the stream. Without it, the stream ends after what changed since `after`. */
  seconds?: number;
}

export interface CustomersListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  /** Ids of records, separated by commas: at most 100. */
  ids?: string;
  /** Text of at least 3 characters that the name, e-mail address or external id contains, in any case. */
  search?: string;
  email?: string;
  externalId?: string;
  pricingModelId?: string;
  archived?: boolean;
  erased?: boolean;
  /** `metadata[key]=value`, up to five times. A number or boolean of the metadata is compared as text. */
  metadata?: Record<string, string>;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CustomersListAnswer {
  data: Array<Customer>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    /** If true, the customer owes no tax. False by default. */
    taxExempt?: boolean;
    metadata?: Metadata | null;
    /** The hours for which its invoices of renewals wait as drafts. Null, the default: those of the settings. */
    reviewHours?: number | null;
    /** If true, the renewals of one day (UTC) are one invoice, which is made at the end of it. False by default. */
    consolidateInvoices?: boolean;
    /** The terms on which it is billed, replaced as a whole. Null removes them. */
    billingTerms?: BillingTermsInput | null;
    externalId: string;
    /** The default pricing model by default. */
    pricingModelId?: string | null;
    /** If true, the customer is only kept on record and gets no plan. */
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
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersGetAnswer {
  customer: Customer;
}

export interface CustomersUpdateInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
  /** If true, the customer is created if it does not exist. */
  upsert?: boolean;
  customer: {
    email?: string;
    name?: string;
    logoURL?: string | null;
    iconURL?: string | null;
    domain?: string | null;
    userId?: string | null;
    billingAddress?: BillingAddress | null;
    /** If true, the customer owes no tax. False by default. */
    taxExempt?: boolean;
    metadata?: Metadata | null;
    /** The hours for which its invoices of renewals wait as drafts. Null, the default: those of the settings. */
    reviewHours?: number | null;
    /** If true, the renewals of one day (UTC) are one invoice, which is made at the end of it. False by default. */
    consolidateInvoices?: boolean;
    /** The terms on which it is billed, replaced as a whole. Null removes them. */
    billingTerms?: BillingTermsInput | null;
    /** Another external id for the customer, from now on. */
    externalId?: string;
  };
}

export interface CustomersUpdateAnswer {
  customer: Customer;
}

export interface CustomersArchiveInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersArchiveAnswer {
  customer: Customer;
}

export interface CustomersEraseInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersEraseAnswer {
  erasure: Erasure;
}

export interface CustomersGetBillingInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
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

export interface CustomersGetCreditBalancesInput {
  externalId: string;
  pricingModelId?: string;
  /** A past instant, in epoch milliseconds or as an ISO 8601 date-time. */
  asOf?: string | number;
}

export interface CustomersGetCreditBalancesAnswer {
  creditBalances: Array<CreditBalance>;
}

export interface CustomersListLedgerInput {
  externalId: string;
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  subscriptionId?: string;
  usageMeterId?: string;
  usageMeterSlug?: string;
  pricingModelId?: string;
  /** A past instant, in epoch milliseconds or as an ISO 8601 date-time. */
  asOf?: string | number;
}

export interface CustomersListLedgerAnswer {
  data: Array<LedgerEntry>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
  balances: Array<LedgerBalance>;
}

export interface CustomersCreatePortalSessionInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
  portalSession?: {
    /** The address of the link that leads back from the portal. */
    returnUrl?: string | null;
    /** The lifetime of the link in seconds, by default 3600 and at most 604800. */
    expiresInSeconds?: number;
  };
}

export interface CustomersCreatePortalSessionAnswer {
  portalSession: PortalSession;
}

export interface CustomersDeletePortalSessionsInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersDeletePortalSessionsAnswer {
  customer: Customer;
}

export interface CustomersGetSpendControlsInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
}

export interface CustomersGetSpendControlsAnswer {
  spendControls: SpendControls;
}

export interface CustomersUpdateSpendControlsInput {
  externalId: string;
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
  spendControls: SpendControlsInput;
}

export interface CustomersUpdateSpendControlsAnswer {
  spendControls: SpendControls;
}

export interface SubscriptionsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  status?: SubscriptionStatus;
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  priceId?: string;
  pricingModelId?: string;
  billingAnchor?: 'anniversary' | 'calendar' | 'day';
  /** `metadata[key]=value`, up to five times. A number or boolean of the metadata is compared as text. */
  metadata?: Record<string, string>;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface SubscriptionsListAnswer {
  data: Array<Subscription>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface SubscriptionsCreateInput {
  /** Required only if several pricing models have this `customerExternalId`. */
  pricingModelId?: string;
  customerId?: string;
  /** Your own id of the customer, instead of `customerId`. */
  customerExternalId?: string;
  priceId?: string;
  /** The slug of an active price, instead of `priceId`. */
  priceSlug?: string;
  /** 1 by default. */
  quantity?: number;
  /** Several items at once, in place of one price and its `quantity`: one plan, and add-ons (`addOn: true`) beside it. All have the same interval. */
  items?: Array<NewSubscriptionItem>;
  /** The begin of the first period and its charge, by default now. Until then the customer keeps its present plan. If that plan is scheduled to end, the start must be at its end or later. */
  startDate?: TimestampInput | null;
  /** By default that of the price. */
  interval?: IntervalUnit | null;
  /** By default that of the price. */
  intervalCount?: number | null;
  /** The end of the trial, by default as the trial days of the price have it. It is obeyed also for a customer who already had a trial. */
  trialEnd?: TimestampInput | null;
  /** By default that of the settings. */
  billingAnchor?: AnchorRule | null;
  /** By default that of the settings. */
  firstPeriod?: FirstPeriod | null;
  metadata?: Metadata | null;
  name?: string | null;
  defaultPaymentMethodId?: string | null;
  /** The payment method for attempts after the default one has failed. */
  backupPaymentMethodId?: string | null;
  /** The code of an active discount, which this subscription redeems. Upper and lower case are the same. */
  discountCode?: string | null;
  /** If true, the subscription is free of charge. */
  doNotCharge?: boolean;
  /** Own terms of this customer for the price of an item or of usage, in place of those of the price. A setup fee, the interval and the trial stay those of the price. */
  priceOverrides?: Array<NewPriceOverride>;
  /** Unbilled usage is invoiced as soon as it is worth this much, in minor units. 0: only at the end of the period. null: as the settings say. */
  billingThresholdAmount?: number | null;
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

export interface SubscriptionsUpdateInput {
  id: string;
  subscription: {
    id?: string;
    name?: string | null;
    metadata?: Metadata | null;
    /** The payment method that is charged; null for the default one of the customer. */
    defaultPaymentMethodId?: string | null;
    /** The payment method that is charged from the third attempt on. */
    backupPaymentMethodId?: string | null;
    /** Unbilled usage is invoiced as soon as it is worth this much, in minor units. 0: only at the end of the period. null: as the settings say. */
    billingThresholdAmount?: number | null;
    /** Another end of the running trial, later than now. The first payment is due then. */
    trialEnd?: TimestampInput;
    /** The instant from which billing periods are counted: later than now, and at most one interval ahead. A period that ends there begins now, at its share of the price. The unused paid value of the present one is taken off. Sent alone, because it may be charged. */
    billingCycleAnchorDate?: TimestampInput;
  };
}

export interface SubscriptionsUpdateAnswer {
  subscription: Subscription;
  /** The move of the billing anchor, and what it costs. Absent when no period begins with it. */
  adjustment?: {
    /** The amount for the change, before discount and tax. */
    prorationAmount: WholeNumber;
    /** Usage, commitment and setup fee that the invoice of the change bills too: of an unpaid invoice which it replaces, and with another interval or billing anchor all open usage. */
    carriedOverAmount: WholeNumber;
    /** With another interval or billing anchor: the unused paid value of the present period that is taken off. */
    takenOffAmount: WholeNumber;
    /** With another interval or billing anchor: the rest of that value, which is taken off later invoices. */
    keptAmount: WholeNumber;
    /** With another interval or billing anchor: the end of the period that begins with the change. */
    newBillingPeriodEnd: Timestamp;
    discountAmount: WholeNumber;
    taxAmount: WholeNumber;
    /** The amount that would be charged now or, with `dueDate`, invoiced. */
    totalDue: WholeNumber;
    id: string;
    status: 'awaiting_payment' | 'scheduled' | 'applied' | 'canceled' | 'failed';
    invoiceId: string | null;
  };
}

export interface SubscriptionsGetDetailsInput {
  id: string;
}

export interface SubscriptionsGetDetailsAnswer {
  subscription: SubscriptionDetails;
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
  /** The present items of the plan. */
  subscriptionItems: Array<SubscriptionItem>;
  resolvedTiming: ResolvedAdjustmentTiming;
  /** True if a period costs more than before. */
  isUpgrade: boolean;
  /** The state of the change: `awaiting_payment` while its charge is in progress. */
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
  /** The number of items that the change would have added or changed. */
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

export interface SubscriptionsGetDiscountsInput {
  id: string;
}

export interface SubscriptionsGetDiscountsAnswer {
  data: Array<SubscriptionDiscount>;
}

export interface SubscriptionsCreateDiscountInput {
  id: string;
  discount: {
    /** The id of an active discount. Or send `code`. */
    discountId?: string;
    /** The code of an active discount. Upper and lower case are the same. */
    code?: string;
  };
}

export interface SubscriptionsCreateDiscountAnswer {
  subscriptionDiscount: SubscriptionDiscount;
  /** The next invoice after the change; null if none follows. */
  upcomingInvoice: {
    invoice: UpcomingInvoice;
    invoiceLineItems: Array<UpcomingInvoiceLineItem>;
  } | null;
}

export interface SubscriptionsDeleteDiscountsInput {
  id: string;
  discountId: string;
}

export interface SubscriptionsDeleteDiscountsAnswer {
  subscriptionDiscount: SubscriptionDiscount;
  /** The next invoice after the change; null if none follows. */
  upcomingInvoice: {
    invoice: UpcomingInvoice;
    invoiceLineItems: Array<UpcomingInvoiceLineItem>;
  } | null;
}

export interface SubscriptionsRetryPaymentInput {
  id: string;
  /** The payment method for this attempt, by default that of the subscription. */
  paymentMethodId?: string | null;
}

export interface SubscriptionsRetryPaymentAnswer {
  subscription: Subscription;
  payment: Payment;
}

export interface PricingModelsCreateInput {
  pricingModel: {
    name: string;
    /** If true, this becomes the default pricing model in place of the present one. */
    isDefault?: boolean;
  };
  /** The billing period of the free plan. Without it, the plan never renews. */
  defaultPlanIntervalUnit?: IntervalUnit;
}

export interface PricingModelsCreateAnswer {
  pricingModel: PricingModel;
}

export interface PricingModelsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  isDefault?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface PricingModelsListAnswer {
  data: Array<PricingModel>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    /** Absent: they stay as they are. */
    creditPools?: Array<CreditPoolStructure>;
  };
}

export interface PricingModelsUpdateAnswer {
  pricingModel: PricingModel;
}

export interface PricingModelsDeleteInput {
  id: string;
}

export interface PricingModelsDeleteAnswer {
  pricingModel: PricingModel;
  /** How many records of each kind went with it. */
  deleted: {
    products: number;
    prices: number;
    usageMeters: number;
    creditPools: number;
    features: number;
    productFeatures: number;
    resources: number;
    discounts: number;
  };
}

export interface PricingModelsSetupInput {
  name: string;
  /** If true, this becomes the default pricing model. */
  isDefault?: boolean;
  features?: Array<FeatureStructure>;
  products?: Array<ProductStructure>;
  usageMeters?: Array<UsageMeterStructure>;
  resources?: Array<ResourceStructure>;
  creditPools?: Array<CreditPoolStructure>;
}

export interface PricingModelsSetupAnswer {
  pricingModel: PricingModelDetails;
  /** The pricing model that was the default until now; null if the default did not move. */
  formerDefaultPricingModelId: string | null;
}

export interface PricingModelsApplyInput {
  name: string;
  /** If true, this becomes the default pricing model. */
  isDefault?: boolean;
  features?: Array<FeatureStructure>;
  products?: Array<ProductStructure>;
  usageMeters?: Array<UsageMeterStructure>;
  resources?: Array<ResourceStructure>;
  creditPools?: Array<CreditPoolStructure>;
}

export interface PricingModelsApplyAnswer {
  pricingModel: PricingModel;
  /** True if there was no pricing model with this name. */
  isNew: boolean;
  changes: Array<PricingChange>;
}

export interface PricingModelsApplyToInput {
  id: string;
  pricingModel: {
    name: string;
    /** If true, this becomes the default pricing model. */
    isDefault?: boolean;
    features?: Array<FeatureStructure>;
    products?: Array<ProductStructure>;
    usageMeters?: Array<UsageMeterStructure>;
    resources?: Array<ResourceStructure>;
    creditPools?: Array<CreditPoolStructure>;
  };
  /** The `pricingModel` of the export from which the changes were drawn. Without it, nothing is compared. */
  base?: {
    name: string;
    /** If true, this becomes the default pricing model. */
    isDefault?: boolean;
    features?: Array<FeatureStructure>;
    products?: Array<ProductStructure>;
    usageMeters?: Array<UsageMeterStructure>;
    resources?: Array<ResourceStructure>;
    creditPools?: Array<CreditPoolStructure>;
  };
}

export interface PricingModelsApplyToAnswer {
  pricingModel: PricingModel;
  changes: Array<PricingChange>;
}

export interface PricingModelsExportInput {
  id: string;
}

export type PricingModelsExportAnswer = PricingModelExport;

export interface PricingModelsCloneInput {
  id: string;
  name: string;
  /** The mode of the copy, by default that of the source. */
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
    /** Ignored: a new product is active. */
    active?: boolean;
    default?: boolean;
    /** True for a product that is sold beside a plan only. It cannot change. */
    addOn?: boolean;
    description?: string | null;
    imageURL?: string | null;
    singularQuantityLabel?: string | null;
    pluralQuantityLabel?: string | null;
    /** The least that buyers may choose. Null: the seller sets the quantity. By default 1 if there is a `maximumQuantity`. */
    minimumQuantity?: number | null;
    /** The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity. */
    maximumQuantity?: number | null;
    /** The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the meter's default price. An update replaces all of them. */
    usagePrices?: Array<{
      usageMeterSlug: string;
      priceSlug: string;
      usageMeterId?: string;
      priceId?: string;
    }>;
    metadata?: Metadata | null;
  };
  price: {
    name?: string | null;
    slug?: string | null;
    isDefault?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    type: 'subscription';
    intervalUnit: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: number | null;
    /** By default `none` for the default product, else `bill`. */
    overage?: Overage | null;
    setupFeeAmount?: number | null;
    minimumCommitment?: number | null;
    usageInterval?: null;
    /** By default `in_advance`. */
    billingTiming?: BillingTiming | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    where?: null;
  } | {
    name?: string | null;
    slug?: string | null;
    isDefault?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
    unitPrice: number;
    pricing?: null;
    type: 'single_payment';
    intervalUnit?: null;
    intervalCount?: null;
    trialPeriodDays?: null;
    overage?: null;
    setupFeeAmount?: null;
    minimumCommitment?: null;
    usageInterval?: null;
    billingTiming?: null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    where?: null;
  } | {
    name?: string | null;
    slug?: string | null;
    isDefault?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    type: 'usage';
    usageMeterId: string;
    usageEventsPerUnit?: number;
    intervalUnit?: IntervalUnit | null;
    intervalCount?: number | null;
    /** By default `own` where the price names an interval, else `subscription`. */
    usageInterval?: UsageInterval | null;
    trialPeriodDays?: null;
    overage?: null;
    setupFeeAmount?: null;
    minimumCommitment?: null;
    billingTiming?: null;
    /** The events that it rates. Of several prices of the usage meter that match an event, the one with the most properties rates it. The default price, which has none, rates the rest. */
    where?: Where | null;
    productId?: null;
  };
  featureIds?: Array<string>;
}

export interface ProductsCreateAnswer {
  product: Product;
}

export interface ProductsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  active?: boolean;
  default?: boolean;
  slug?: string;
  addOn?: boolean;
  /** `metadata[key]=value`, up to five times. A number or boolean of the metadata is compared as text. */
  metadata?: Record<string, string>;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface ProductsListAnswer {
  data: Array<Product>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    /** True for a product that is sold beside a plan only. It cannot change. */
    addOn?: boolean;
    description?: string | null;
    imageURL?: string | null;
    singularQuantityLabel?: string | null;
    pluralQuantityLabel?: string | null;
    /** The least that buyers may choose. Null: the seller sets the quantity. By default 1 if there is a `maximumQuantity`. */
    minimumQuantity?: number | null;
    /** The most that buyers may choose, in a checkout and in the portal. Null: the seller sets the quantity. */
    maximumQuantity?: number | null;
    /** The rates of the plan: events that name one of these usage meters are rated by its price here, in place of the meter's default price. An update replaces all of them. */
    usagePrices?: Array<{
      usageMeterSlug: string;
      priceSlug: string;
      usageMeterId?: string;
      priceId?: string;
    }>;
    metadata?: Metadata | null;
  };
  price?: {
    type?: PriceType;
    productId?: string;
    name?: string | null;
    slug?: string | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    intervalUnit?: IntervalUnit | null;
    intervalCount?: number | null;
    trialPeriodDays?: number | null;
    overage?: Overage | null;
    setupFeeAmount?: number | null;
    minimumCommitment?: number | null;
    usageInterval?: null;
    billingTiming?: BillingTiming | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    where?: null;
    metadata?: Metadata | null;
  };
  featureIds?: Array<string>;
}

export interface ProductsUpdateAnswer {
  product: Product;
}

export interface ProductsDeleteInput {
  id: string;
}

export interface ProductsDeleteAnswer {
  product: Product;
  /** How many records of each kind went with it. */
  deleted: {
    prices: number;
    productFeatures: number;
  };
}

export interface ProductFeaturesCreateInput {
  productFeature: {
    productId: string;
    featureId: string;
    /** The end of a new link. Null or absent: it does not end. */
    expiredAt?: TimestampInput | null;
    /** The value that the product gives. Null or absent: that of the feature. */
    value?: number | string | Array<string> | null;
  };
}

export interface ProductFeaturesCreateAnswer {
  productFeature: {
    id: string;
    createdAt: Timestamp;
    updatedAt: Timestamp;
    livemode: boolean;
    organizationId: string;
    pricingModelId: string;
    productId: string;
    featureId: string;
    expiredAt: Timestamp | null;
    /** The value that the product gives in place of that of the feature. Absent: that of the feature. */
    value?: FeatureValue;
    createdByCommit: string | null;
    updatedByCommit: string | null;
  };
}

export interface ProductFeaturesListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  productId?: string;
  featureId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface ProductFeaturesListAnswer {
  data: Array<ProductFeature>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    isDefault?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    type: 'subscription';
    intervalUnit: IntervalUnit;
    intervalCount?: number;
    trialPeriodDays?: number | null;
    /** By default `none` for the default product, else `bill`. */
    overage?: Overage | null;
    setupFeeAmount?: number | null;
    minimumCommitment?: number | null;
    usageInterval?: null;
    /** By default `in_advance`. */
    billingTiming?: BillingTiming | null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    where?: null;
    productId: string;
    pricingModelId?: string | null;
  } | {
    name?: string | null;
    slug?: string | null;
    isDefault?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
    unitPrice: number;
    pricing?: null;
    type: 'single_payment';
    intervalUnit?: null;
    intervalCount?: null;
    trialPeriodDays?: null;
    overage?: null;
    setupFeeAmount?: null;
    minimumCommitment?: null;
    usageInterval?: null;
    billingTiming?: null;
    usageEventsPerUnit?: null;
    usageMeterId?: null;
    where?: null;
    productId: string;
    pricingModelId?: string | null;
  } | {
    name?: string | null;
    slug?: string | null;
    isDefault?: boolean;
    active?: boolean;
    metadata?: Metadata | null;
    unitPrice?: number;
    pricing?: Pricing | null;
    type: 'usage';
    usageMeterId: string;
    usageEventsPerUnit?: number;
    intervalUnit?: IntervalUnit | null;
    intervalCount?: number | null;
    /** By default `own` where the price names an interval, else `subscription`. */
    usageInterval?: UsageInterval | null;
    trialPeriodDays?: null;
    overage?: null;
    setupFeeAmount?: null;
    minimumCommitment?: null;
    billingTiming?: null;
    /** The events that it rates. Of several prices of the usage meter that match an event, the one with the most properties rates it. The default price, which has none, rates the rest. */
    where?: Where | null;
    productId?: null;
    pricingModelId?: string | null;
  };
}

export interface PricesCreateAnswer {
  price: Price;
}

export interface PricesListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  productId?: string;
  usageMeterId?: string;
  type?: PriceType;
  active?: boolean;
  isDefault?: boolean;
  slug?: string;
  billingTiming?: BillingTiming;
  usageInterval?: UsageInterval;
  /** `metadata[key]=value`, up to five times. A number or boolean of the metadata is compared as text. */
  metadata?: Record<string, string>;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface PricesListAnswer {
  data: Array<Price>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PricesQuoteInput {
  quote: {
    /** By default the currency of the environment. */
    currency?: CurrencyCode;
    lines: Array<{
      priceId?: string;
      priceSlug?: string;
      pricing?: Pricing;
      /** Units of one usage period, or the quantity of a product. */
      units: number;
      /** The number of events, for `percentage`. By default 1, and 0 without units. */
      events?: number;
      /** The sum of the prices of the events, for `dynamic`. */
      eventsAmount?: string;
    }>;
  };
}

export interface PricesQuoteAnswer {
  quote: Quote;
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
    /** As it is, or absent: it cannot change. */
    overage?: Overage | null;
    /** As it is, or absent: it cannot change. */
    pricing?: Pricing | null;
    /** As it is, or absent: it cannot change. */
    setupFeeAmount?: number | null;
    /** As it is, or absent: it cannot change. */
    minimumCommitment?: number | null;
    /** As it is, or absent: it cannot change. */
    billingTiming?: BillingTiming | null;
    /** As it is, or absent: it cannot change. */
    where?: Where | null;
    /** As it is, or absent: it cannot change. */
    usageInterval?: UsageInterval | null;
    metadata?: Metadata | null;
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
    amount?: null;
    usageMeterId?: null;
    creditPoolId?: null;
    renewalFrequency?: null;
    grantInterval?: null;
    resourceId?: null;
    rolloverMaximum?: null;
    rolloverPeriods?: null;
    value?: null;
    spendLimit?: null;
    type: 'toggle';
  } | {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    amount: number;
    usageMeterId?: string | null;
    creditPoolId?: string | null;
    renewalFrequency: RenewalFrequency;
    /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
    grantInterval?: {
      unit: 'day' | 'week' | 'month' | 'year';
      count?: number;
    } | null;
    resourceId?: null;
    /** The most unused units that roll over at the end of a billing period, or grant interval, into later ones. Of a credit pool, what is left of a purchase rolls over when it is bought again before its end. Null: none. */
    rolloverMaximum?: number | null;
    /** The number of billing periods, or grant intervals, for which rolled-over units can be used. Null if there is no rollover. */
    rolloverPeriods?: number | null;
    value?: null;
    spendLimit?: null;
    type: 'usage_credit_grant';
  } | {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    amount: number;
    usageMeterId?: null;
    creditPoolId?: null;
    renewalFrequency?: null;
    grantInterval?: null;
    resourceId: string;
    rolloverMaximum?: null;
    rolloverPeriods?: null;
    value?: null;
    spendLimit?: null;
    type: 'resource';
  } | {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    amount?: null;
    usageMeterId?: null;
    creditPoolId?: null;
    renewalFrequency?: null;
    grantInterval?: null;
    resourceId?: null;
    rolloverMaximum?: null;
    rolloverPeriods?: null;
    /** A number, a text, or a list of at most 100 different texts. */
    value: number | string | Array<string>;
    spendLimit?: null;
    type: 'value';
  } | {
    slug: string;
    name: string;
    description?: string;
    pricingModelId?: string | null;
    active?: boolean;
    amount: number;
    usageMeterId?: null;
    creditPoolId?: null;
    renewalFrequency?: null;
    grantInterval?: null;
    resourceId?: null;
    rolloverMaximum?: null;
    rolloverPeriods?: null;
    value?: null;
    spendLimit: SpendLimitTermsInput;
    type: 'spend_limit';
  };
}

export interface FeaturesCreateAnswer {
  feature: Feature;
}

export interface FeaturesListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  type?: FeatureType;
  active?: boolean;
  slug?: string;
  usageMeterId?: string;
  resourceId?: string;
  renewalFrequency?: RenewalFrequency;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface FeaturesListAnswer {
  data: Array<Feature>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    creditPoolId?: string | null;
    renewalFrequency?: RenewalFrequency | null;
    /** For `every_interval`: how often the credits are granted, counted from the billing anchor. They expire with the interval. Bought by a single payment, they come once and expire one interval later. Null for any other frequency. */
    grantInterval?: {
      unit: 'day' | 'week' | 'month' | 'year';
      count?: number;
    } | null;
    resourceId?: string | null;
    /** The most unused units that roll over at the end of a billing period, or grant interval, into later ones. Of a credit pool, what is left of a purchase rolls over when it is bought again before its end. Null: none. */
    rolloverMaximum?: number | null;
    /** The number of billing periods, or grant intervals, for which rolled-over units can be used. Null if there is no rollover. */
    rolloverPeriods?: number | null;
    value?: number | string | Array<string> | null;
    /** The terms of a feature of type `spend_limit`. Its usage meter or credit pool, its period and its unit cannot change. */
    spendLimit?: SpendLimitTermsInput | null;
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
    /** Whether the sum of amounts is kept over billing periods. Events add to it, and take away where their amount is negative. */
    recurring?: boolean;
    proration?: UsageMeterProration;
    /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
    lowBalanceThreshold?: number | null;
    /** Events that name it, in place of a price or meter, count on every meter of the pricing model that they match. */
    eventName?: string | null;
    /** The events with this name that count on the meter; null: all. */
    where?: Where | null;
    /** The property of such events with the units; null: their `amount`, by default 1. */
    valueProperty?: string | null;
    pricingModelId?: string | null;
  };
  price?: {
    type?: 'usage';
    unitPrice?: number;
    usageEventsPerUnit?: number;
    pricing?: Pricing | null;
  };
}

export interface UsageMetersCreateAnswer {
  usageMeter: UsageMeter;
}

export interface UsageMetersListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  slug?: string;
  aggregationType?: UsageMeterAggregationType;
  eventName?: string;
  recurring?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface UsageMetersListAnswer {
  data: Array<UsageMeter>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    recurring?: boolean;
    proration?: UsageMeterProration;
    /** A balance that falls below this number of units causes the event `usage_balance.low`. Null: no event. */
    lowBalanceThreshold?: number | null;
    eventName?: string | null;
    where?: Where | null;
    valueProperty?: string | null;
  };
}

export interface UsageMetersUpdateAnswer {
  usageMeter: UsageMeter;
}

export interface UsageMetersGetSummaryInput {
  id: string;
  /** The first instant of the range, by default 30 days before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default the end of this hour. */
  to?: string | number;
  /** `day` by default. */
  groupBy?: 'hour' | 'day' | 'month' | 'customer' | 'property';
  /** The name of the property, if `groupBy` is `property`. */
  property?: string;
  customerId?: string;
  subscriptionId?: string;
}

export interface UsageMetersGetSummaryAnswer {
  usageMeterSummary: UsageMeterSummary;
}

export interface CreditPoolsCreateInput {
  creditPool: {
    slug: string;
    name: string;
    /** The unit of its amounts: `credit`, or a currency such as `USD`. It never changes. */
    unit: 'credit' | CurrencyCode;
    /** Whether use of a meter without a rate for it draws the amount of its price. For a pool whose unit is the currency of prices; a pricing model has one such pool. It never changes. Usage is drawn at a price whose first unit costs something and that has no `freeUnits`, `minimumAmount` or `maximumAmount`, and not with the models `volume` and `stairstep`: other usage is billed. Tiers and packages of what the pool pays for, and of what is billed, are counted apart. */
    drawAtPrice?: boolean;
    /** A decimal text in units of the pool. A balance that falls below it causes the event `usage_balance.low`. Null: no event. */
    lowBalanceThreshold?: string | null;
    /** At most 200, all of them: those that are missing end. */
    rates?: Array<{
      usageMeterSlug: string;
      /** The events of the meter that it is for; null: all others. Of several, the one with the most properties applies. */
      where?: Where | null;
      /** The number of units of the usage meter that cost `cost`. */
      per?: number;
      /** A decimal text, in units of the pool. */
      cost: string;
    }>;
    pricingModelId?: string | null;
  };
}

export interface CreditPoolsCreateAnswer {
  creditPool: CreditPool;
}

export interface CreditPoolsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  slug?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CreditPoolsListAnswer {
  data: Array<CreditPool>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CreditPoolsGetInput {
  id: string;
}

export interface CreditPoolsGetAnswer {
  creditPool: CreditPool;
}

export interface CreditPoolsUpdateInput {
  id: string;
  creditPool: {
    id?: string;
    slug?: string;
    name?: string;
    /** A decimal text in units of the pool. A balance that falls below it causes the event `usage_balance.low`. Null: no event. */
    lowBalanceThreshold?: string | null;
    /** At most 200, all of them: those that are missing end. */
    rates?: Array<{
      usageMeterSlug: string;
      /** The events of the meter that it is for; null: all others. Of several, the one with the most properties applies. */
      where?: Where | null;
      /** The number of units of the usage meter that cost `cost`. */
      per?: number;
      /** A decimal text, in units of the pool. */
      cost: string;
    }>;
  };
}

export interface CreditPoolsUpdateAnswer {
  creditPool: CreditPool;
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 1000, by default 1000. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
}

export interface ResourcesListAnswer {
  resources: Array<Resource>;
  /** Whether there are more rows. `nextCursor` leads to them. */
  hasMore: boolean;
  nextCursor?: string;
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  isDefault?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CatalogsListAnswer {
  data: Array<CatalogRecord>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    /** The code, with 3 to 20 characters, stored in upper case. Absent: one is generated that nobody can guess. */
    code?: string;
    /** A whole percentage, or money in the smallest unit. */
    amount: number;
    amountType: DiscountAmountType;
    active?: boolean;
    pricingModelId?: string | null;
    /** The instant from which nobody can redeem the discount. */
    expiresAt?: TimestampInput | null;
    /** The number of redemptions in all that there may be. */
    maximumRedemptions?: number | null;
    /** The number of times that one customer may redeem it, in place of the setting. */
    maximumRedemptionsPerCustomer?: number | null;
    /** The ids of 1 to 50 products of the pricing model. Usage belongs to no product. */
    productIds?: Array<string> | null;
    /** The least that an order must come to, before discounts and tax, in the smallest unit. With `productIds`, the lines of these count. */
    minimumAmount?: number | null;
    /** True: only customers that have never had an invoice to pay can redeem it. */
    firstPurchaseOnly?: boolean | null;
    duration: 'once';
    numberOfPayments?: null;
  } | {
    name: string;
    /** The code, with 3 to 20 characters, stored in upper case. Absent: one is generated that nobody can guess. */
    code?: string;
    /** A whole percentage, or money in the smallest unit. */
    amount: number;
    amountType: DiscountAmountType;
    active?: boolean;
    pricingModelId?: string | null;
    /** The instant from which nobody can redeem the discount. */
    expiresAt?: TimestampInput | null;
    /** The number of redemptions in all that there may be. */
    maximumRedemptions?: number | null;
    /** The number of times that one customer may redeem it, in place of the setting. */
    maximumRedemptionsPerCustomer?: number | null;
    /** The ids of 1 to 50 products of the pricing model. Usage belongs to no product. */
    productIds?: Array<string> | null;
    /** The least that an order must come to, before discounts and tax, in the smallest unit. With `productIds`, the lines of these count. */
    minimumAmount?: number | null;
    /** True: only customers that have never had an invoice to pay can redeem it. */
    firstPurchaseOnly?: boolean | null;
    duration: 'forever';
    numberOfPayments?: null;
  } | {
    name: string;
    /** The code, with 3 to 20 characters, stored in upper case. Absent: one is generated that nobody can guess. */
    code?: string;
    /** A whole percentage, or money in the smallest unit. */
    amount: number;
    amountType: DiscountAmountType;
    active?: boolean;
    pricingModelId?: string | null;
    /** The instant from which nobody can redeem the discount. */
    expiresAt?: TimestampInput | null;
    /** The number of redemptions in all that there may be. */
    maximumRedemptions?: number | null;
    /** The number of times that one customer may redeem it, in place of the setting. */
    maximumRedemptionsPerCustomer?: number | null;
    /** The ids of 1 to 50 products of the pricing model. Usage belongs to no product. */
    productIds?: Array<string> | null;
    /** The least that an order must come to, before discounts and tax, in the smallest unit. With `productIds`, the lines of these count. */
    minimumAmount?: number | null;
    /** True: only customers that have never had an invoice to pay can redeem it. */
    firstPurchaseOnly?: boolean | null;
    duration: 'number_of_payments';
    /** The number of paid invoices that the discount applies to. */
    numberOfPayments: number;
  };
}

export interface DiscountsCreateAnswer {
  discount: Discount;
}

export interface DiscountsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  pricingModelId?: string;
  code?: string;
  duration?: string;
  amountType?: string;
  active?: boolean;
  productId?: string;
  firstPurchaseOnly?: boolean;
  hasExpiry?: boolean;
  hasMaximum?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface DiscountsListAnswer {
  data: Array<RedeemedDiscount>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface DiscountsUpdateInput {
  id: string;
  discount: {
    id?: string;
    name?: string;
    /** The code, with 3 to 20 characters. It is stored in upper case. */
    code?: string;
    amount?: number;
    amountType?: DiscountAmountType;
    active?: boolean;
    duration?: 'once' | 'forever' | 'number_of_payments';
    numberOfPayments?: number | null;
    /** The instant from which nobody can redeem the discount. */
    expiresAt?: TimestampInput | null;
    /** The number of redemptions in all that there may be. */
    maximumRedemptions?: number | null;
    /** The number of times that one customer may redeem it, in place of the setting. */
    maximumRedemptionsPerCustomer?: number | null;
    /** The ids of 1 to 50 products of the pricing model. Usage belongs to no product. */
    productIds?: Array<string> | null;
    /** The least that an order must come to, before discounts and tax, in the smallest unit. With `productIds`, the lines of these count. */
    minimumAmount?: number | null;
    /** True: only customers that have never had an invoice to pay can redeem it. */
    firstPurchaseOnly?: boolean | null;
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
  expiredAt?: TimestampInput;
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
  /** The claims that end by themselves. */
  temporaryClaims: TemporaryResourceClaims | null;
}

export interface ResourceClaimsGetClaimsInput {
  subscriptionId: string;
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 1000, by default 1000. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  resourceSlug?: string;
}

export interface ResourceClaimsGetClaimsAnswer {
  claims: Array<ResourceClaim>;
  /** Whether there are more rows. `nextCursor` leads to them. */
  hasMore: boolean;
  nextCursor?: string;
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
  /** The oldest active claims, at most 1,000 in the answer. */
  claims: Array<ResourceClaim>;
  /** Whether there are more claims, which the list of claims has. */
  hasMore: boolean;
}

export interface ResourceClaimsGetUsagesInput {
  subscriptionId: string;
  /** Slugs, separated by commas or given as several parameters. */
  resourceSlugs?: string | Array<string>;
  /** Ids, separated in the same way. Ignored if there are slugs. */
  resourceIds?: string | Array<string>;
}

export type ResourceClaimsGetUsagesAnswer = Array<{
  usage: ResourceUsage;
  /** The oldest active claims, at most 1,000 in the answer. */
  claims: Array<ResourceClaim>;
  /** Whether there are more claims, which the list of claims has. */
  hasMore: boolean;
}>;

export interface EntitlementsCheckInput {
  checks: Array<EntitlementCheck>;
  /** The pricing model of the customers, required only if several have a customer with the same external id. */
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  subscriptionId?: string;
  usageMeterId?: string;
  creditPoolId?: string;
  source?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface UsageCreditsListAnswer {
  data: Array<UsageCredit>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface UsageCreditsTakeBackInput {
  id: string;
  /** The number of units, or the amount of a credit pool, by default all that is left. */
  amount?: number | string | null;
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
  /** Present where several usage meters count the event: the event of each, in order of the meters. */
  usageEvents?: Array<UsageEvent>;
}

export interface UsageEventsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  subscriptionId?: string;
  usageMeterId?: string;
  priceId?: string;
  billingPeriodId?: string;
  transactionId?: string;
  /** Events with this label. */
  label?: string;
  /** Events used at this instant or later. */
  usageDateFrom?: string | number;
  /** Events used before this instant. */
  usageDateTo?: string | number;
}

export interface UsageEventsListAnswer {
  data: Array<UsageEvent>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
  /** Present where events up to this `usageDate` are archived and not read: the answer lacks them. Sums of whole hours have them. */
  archivedUntil?: Timestamp;
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
  /** Present where several usage meters count the event: the event of each, in order of the meters. */
  usageEvents?: Array<UsageEvent>;
  /** Present with `usageEvents`: the balance of each meter. */
  usageBalances?: Array<UsageBalance>;
}

export interface UsageEventsGetTailInput {
  usageMeterId: string;
  /** The length of the stream. Without it, the stream ends after the events of the last ten seconds. */
  seconds?: number;
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  subscriptionId?: string;
  usageMeterId?: string;
  status?: 'open' | 'settled' | 'released' | 'expired';
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface HoldsListAnswer {
  data: Array<UsageHold>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
  /** The number of units used, 0 or more. */
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  status?: InvoiceStatus;
  type?: string;
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  subscriptionId?: string;
  purchaseId?: string;
  billingPeriodId?: string;
  /** The parts of this consolidated invoice, one for each subscription. No other list has them. */
  consolidatedInvoiceId?: string;
  invoiceNumber?: string;
  /** Invoices that are owed, and whose due date is past or of which a charge has failed; or the others. */
  pastDue?: boolean;
  /** `metadata[key]=value`, up to five times. A number or boolean of the metadata is compared as text. */
  metadata?: Record<string, string>;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface InvoicesListAnswer {
  data: Array<Invoice>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface InvoicesCreateInput {
  /** Required only if several pricing models have this `customerExternalId`. */
  pricingModelId?: string;
  invoice: {
    customerId?: string;
    customerExternalId?: string;
    lines?: Array<WrittenLine>;
    /** The date on which it is due. Not with `netTermsDays`. */
    dueDate?: TimestampInput | null;
    /** The days from its finalization to its due date. Without both, those of the settings. */
    netTermsDays?: number | null;
    memo?: string | null;
    footer?: string | null;
    purchaseOrderNumber?: string | null;
    metadata?: Metadata | null;
    /** If true, finalization charges the customer's default payment method, where there is one. It is then due at once, unless other terms are given. False by default. */
    autoCollect?: boolean;
    /** The code of an active discount. */
    discountCode?: string | null;
  };
}

export interface InvoicesCreateAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesGetInput {
  id: string;
}

export interface InvoicesGetAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesUpdateInput {
  id: string;
  invoice: {
    id?: string;
    lines?: Array<WrittenLine>;
    /** The date on which it is due. Not with `netTermsDays`. */
    dueDate?: TimestampInput | null;
    /** The days from its finalization to its due date. Without both, those of the settings. */
    netTermsDays?: number | null;
    memo?: string | null;
    footer?: string | null;
    purchaseOrderNumber?: string | null;
    metadata?: Metadata | null;
    /** If true, finalization charges the customer's default payment method, where there is one. It is then due at once, unless other terms are given. False by default. */
    autoCollect?: boolean;
    /** The code of an active discount. */
    discountCode?: string | null;
  };
}

export interface InvoicesUpdateAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesDeleteInput {
  id: string;
}

export interface InvoicesDeleteAnswer {
  invoice: Invoice;
}

export interface InvoicesCreateLineInput {
  id: string;
  lines: Array<WrittenLine>;
}

export interface InvoicesCreateLineAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesDeleteLinesInput {
  id: string;
  lineId: string;
}

export interface InvoicesDeleteLinesAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesFinalizeInput {
  id: string;
}

export interface InvoicesFinalizeAnswer {
  invoice: Invoice;
  invoiceLineItems: Array<InvoiceLineItem>;
}

export interface InvoicesSendInput {
  id: string;
}

export interface InvoicesSendAnswer {
  invoice: Invoice;
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

export interface InvoicesPayInput {
  id: string;
  /** The payment method to charge, by default the customer's. */
  paymentMethodId?: string | null;
}

export interface InvoicesPayAnswer {
  invoice: Invoice;
  payment: Payment;
}

export interface InvoicesCreateCreditNoteInput {
  id: string;
  creditNote: CreditNoteInput;
}

export interface InvoicesCreateCreditNoteAnswer {
  creditNote: CreditNote;
  creditNoteLines: Array<CreditNoteLine>;
}

export interface InvoicesGetHtmlInput {
  id: string;
}

export interface InvoicesGetPdfInput {
  id: string;
}

export interface InvoicesGetReceiptHtmlInput {
  id: string;
}

export interface InvoicesGetReceiptPdfInput {
  id: string;
}

export interface InvoiceLineItemsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  invoiceId?: string;
  type?: string;
  priceId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface InvoiceLineItemsListAnswer {
  data: Array<InvoiceLineItem>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface InvoiceLineItemsGetInput {
  id: string;
}

export type InvoiceLineItemsGetAnswer = InvoiceLineItem;

export interface CreditNotesListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  status?: CreditNoteStatus;
  settle?: CreditNoteSettlement;
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  invoiceId?: string;
  paymentId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CreditNotesListAnswer {
  data: Array<CreditNote>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CreditNotesGetInput {
  id: string;
}

export interface CreditNotesGetAnswer {
  creditNote: CreditNote;
  creditNoteLines: Array<CreditNoteLine>;
}

export interface CreditNotesExplainInput {
  id: string;
}

export type CreditNotesExplainAnswer = CreditNoteExplanation;

export interface CreditNotesVoidInput {
  id: string;
}

export interface CreditNotesVoidAnswer {
  creditNote: CreditNote;
}

export interface CreditNotesGetHtmlInput {
  id: string;
}

export interface CreditNotesGetPdfInput {
  id: string;
}

export interface CustomerBalancesAdjustInput {
  /** Required only if several pricing models have this `customerExternalId`. */
  pricingModelId?: string;
  adjustment: BalanceAdjustment;
}

export interface CustomerBalancesAdjustAnswer {
  customerBalance: CustomerBalance;
  customerBalanceEntry: CustomerBalanceEntry;
}

export interface CustomerBalancesListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CustomerBalancesListAnswer {
  data: Array<CustomerBalance>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CustomerBalancesGetInput {
  id: string;
}

export interface CustomerBalancesGetAnswer {
  customerBalance: CustomerBalance;
}

export interface CustomerBalancesListEntriesInput {
  id: string;
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  source?: string;
  invoiceId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CustomerBalancesListEntriesAnswer {
  data: Array<CustomerBalanceEntry>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface ExportsGetInput {
  file: 'customers.csv' | 'invoices.csv' | 'invoice-line-items.csv' | 'payments.csv' | 'credit-notes.csv' | 'customer-balances.csv';
  /** Records created at this instant or later. */
  from?: string | number;
  /** Records created before this instant. */
  to?: string | number;
}

export interface InvoiceItemsCreateInput {
  /** Required only if several pricing models have this `customerExternalId`. */
  pricingModelId?: string;
  invoiceItem: NewInvoiceItem;
}

export interface InvoiceItemsCreateAnswer {
  invoiceItem: InvoiceItem;
}

export interface InvoiceItemsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  status?: InvoiceItemStatus;
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  subscriptionId?: string;
  invoiceId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface InvoiceItemsListAnswer {
  data: Array<InvoiceItem>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface InvoiceItemsGetInput {
  id: string;
}

export interface InvoiceItemsGetAnswer {
  invoiceItem: InvoiceItem;
}

export interface InvoiceItemsUpdateInput {
  id: string;
  invoiceItem: InvoiceItemChange;
}

export interface InvoiceItemsUpdateAnswer {
  invoiceItem: InvoiceItem;
}

export interface InvoiceItemsDeleteInput {
  id: string;
}

export interface InvoiceItemsDeleteAnswer {
  invoiceItem: InvoiceItem;
}

export interface TaxRatesCreateInput {
  taxRate: {
    /** The ISO 3166-1 alpha-2 code, such as `DE`. */
    country: string;
    /** The state as customers write it in their billing address, in upper or lower case. */
    state?: string | null;
    type: TaxType;
    /** A number from 0 to 100 with at most six decimals: "19" or "8.875". */
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  country?: string;
  state?: string;
  type?: string;
  active?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface TaxRatesListAnswer {
  data: Array<TaxRate>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    /** The ISO 3166-1 alpha-2 code, such as `DE`. */
    country?: string;
    state?: string | null;
    type?: TaxType;
    /** A number from 0 to 100 with at most six decimals: "19" or "8.875". */
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  status?: PurchaseStatus;
  priceId?: string;
  subscriptionId?: string;
  checkoutSessionId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface PurchasesListAnswer {
  data: Array<Purchase>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PurchasesCreateInput {
  /** Required only if several pricing models have this `customerExternalId`. */
  pricingModelId?: string;
  purchase: {
    customerId?: string;
    /** Your own id of the customer, instead of `customerId`. */
    customerExternalId?: string;
    priceId?: string;
    /** The slug of an active price, instead of `priceId`. */
    priceSlug?: string;
    /** 1 by default. */
    quantity?: number;
    /** Several items at once, in place of one price and its `quantity`: one plan, and add-ons (`addOn: true`) beside it. All have the same interval. */
    items?: Array<NewSubscriptionItem>;
    /** The code of an active discount. */
    discountCode?: string | null;
    /** A payment method of the customer, by default its default one. */
    paymentMethodId?: string | null;
    /** For a subscription. By default that of the settings. */
    billingAnchor?: AnchorRule | null;
    /** For a subscription. By default that of the settings. */
    firstPeriod?: FirstPeriod | null;
    /** By default the name of the product. */
    name?: string | null;
    /** Copied to the subscription, if one is bought. */
    metadata?: Metadata | null;
  };
}

export interface PurchasesCreateAnswer {
  purchase: Purchase;
}

export interface PurchasesGetInput {
  id: string;
}

export interface PurchasesGetAnswer {
  purchase: Purchase;
}

export interface CheckoutSessionsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  priceId?: string;
  pricingModelId?: string;
  type?: 'product' | 'purchase' | 'activate_subscription' | 'add_payment_method';
  status?: CheckoutSessionStatus;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface CheckoutSessionsListAnswer {
  data: Array<CheckoutSession>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface CheckoutSessionsCreateInput {
  /** Required only if several pricing models have this external id. */
  pricingModelId?: string;
  checkoutSession: {
    /** The address to return to after success. The session id replaces `{CHECKOUT_SESSION_ID}` in it. */
    successUrl: string;
    /** The address to return to otherwise. The session id replaces `{CHECKOUT_SESSION_ID}` in it. */
    cancelUrl: string;
    /** Your own notes about the session. */
    metadata?: Metadata | null;
    /** The name of the purchase and the subscription. */
    outputName?: string | null;
    /** Copied to the purchase and the subscription. */
    outputMetadata?: Metadata | null;
    type: 'product';
    /** Your own id of the customer. Absent or null for an anonymous session. */
    customerExternalId?: string | null;
    /** If true, the buyers enter their own details, and a customer is created when they pay. */
    anonymous?: boolean;
    priceId?: string;
    /** The slug of an active price, instead of `priceId`. */
    priceSlug?: string;
    /** By default `minimumQuantity`, else 1. The buyer cannot change it without limits. */
    quantity?: number;
    /** The least that the buyer may choose. By default 1 if there is a `maximumQuantity`. */
    minimumQuantity?: number | null;
    /** The most that the buyer may choose. Without it the quantity is fixed. */
    maximumQuantity?: number | null;
    /** Several items at once, in place of one price and its quantity: one plan, and add-ons (`addOn: true`) beside it. All have the same interval. */
    items?: Array<NewCheckoutItem>;
    /** Add-ons (`addOn: true`) that the buyer may take on the page, at `quantity` or within the limits. They have the interval of the plan. */
    optionalItems?: Array<NewCheckoutItem>;
    /** The code of an active discount, which is applied unless the buyer enters another code. */
    discountCode?: string | null;
    /** The email address of an anonymous buyer, who may change it. */
    customerEmail?: string | null;
    /** The days of a free trial, in place of those of the price. 0 for no trial. */
    trialPeriodDays?: number | null;
    /** If true, a paid plan keeps the periods of the free plan, and its first period is charged in part. */
    preserveBillingCycleAnchor?: boolean;
    /** For a new subscription. By default that of the settings. */
    billingAnchor?: AnchorRule | null;
    /** For a new subscription. By default that of the settings. */
    firstPeriod?: FirstPeriod | null;
  } | {
    /** The address to return to after success. The session id replaces `{CHECKOUT_SESSION_ID}` in it. */
    successUrl: string;
    /** The address to return to otherwise. The session id replaces `{CHECKOUT_SESSION_ID}` in it. */
    cancelUrl: string;
    /** Your own notes about the session. */
    metadata?: Metadata | null;
    /** The name of the purchase and the subscription. */
    outputName?: string | null;
    /** Copied to the purchase and the subscription. */
    outputMetadata?: Metadata | null;
    type: 'activate_subscription';
    customerExternalId: string;
    targetSubscriptionId: string;
    preserveBillingCycleAnchor?: boolean;
  } | {
    /** The address to return to after success. The session id replaces `{CHECKOUT_SESSION_ID}` in it. */
    successUrl: string;
    /** The address to return to otherwise. The session id replaces `{CHECKOUT_SESSION_ID}` in it. */
    cancelUrl: string;
    /** Your own notes about the session. */
    metadata?: Metadata | null;
    /** The name of the purchase and the subscription. */
    outputName?: string | null;
    /** Copied to the purchase and the subscription. */
    outputMetadata?: Metadata | null;
    type: 'add_payment_method';
    customerExternalId: string;
    /** A subscription that is charged on the new payment method from then on. */
    targetSubscriptionId?: string | null;
    /** If true, all subscriptions of the customer are charged on the new payment method from then on. */
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  status?: PaymentStatus;
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  subscriptionId?: string;
  invoiceId?: string;
  purchaseId?: string;
  paymentMethodId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface PaymentsListAnswer {
  data: Array<Payment>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
  /** The amount in the smallest unit of the currency, at most what remains of the payment. By default all that remains. */
  partialAmount?: number | null;
}

export interface PaymentsRefundAnswer {
  payment: Payment;
  refundId: string;
  /** The credits that the refunded payment bought, by usage meter. */
  credits: Array<RefundedCredit>;
}

export interface PaymentsGetHtmlInput {
  id: string;
}

export interface PaymentsGetPdfInput {
  id: string;
}

export interface PaymentMethodsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  type?: string;
  default?: boolean;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface PaymentMethodsListAnswer {
  data: Array<PaymentMethod>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface PaymentMethodsCreateInput {
  /** Required only if several pricing models have this `customerExternalId`. */
  pricingModelId?: string;
  paymentMethod: {
    customerId?: string;
    /** Your own id of the customer, instead of `customerId`. */
    customerExternalId?: string;
    /** The type of the payment method, checked if given. */
    type?: PaymentMethodType;
    /** The id of the payment method at the processor, such as `pm_card_visa`. */
    token: string;
    /** If true, the payment method becomes the default of the customer. The first one always does. */
    default?: boolean;
    /** If true, all subscriptions of the customer are charged on this payment method from now on. */
    automaticallyUpdateSubscriptions?: boolean;
    /** By default the billing address of the customer. */
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

export interface PaymentMethodsUpdateInput {
  id: string;
  paymentMethod: {
    id?: string;
    /** If true, it becomes the default of the customer. The default cannot be given up, only to another. */
    default?: boolean;
    /** If true, all subscriptions of the customer are charged on this payment method from now on. */
    automaticallyUpdateSubscriptions?: boolean;
    billingDetails?: BillingAddress;
    metadata?: Metadata | null;
  };
}

export interface PaymentMethodsUpdateAnswer {
  paymentMethod: PaymentMethod;
}

export interface PaymentMethodsDeleteInput {
  id: string;
}

export interface PaymentMethodsDeleteAnswer {
  paymentMethod: PaymentMethod;
  /** The default payment method of the customer now; null if none is left. */
  defaultPaymentMethodId: string | null;
}

export interface WebhooksCreateInput {
  webhook: {
    name: string;
    url: string;
    /** The event types to send. Empty: all types but `usage_balance.low`, `usage_threshold.reached`, `spend_limit.reached`, `auto_top_up.action_required`, `auto_top_up.stopped`, `auto_top_up.limit_reached`, `customer.erased`, `attempts.limit_reached`, `credit_note.created`, `credit_note.settled`, `credit_note.voided`, `invoice.sent`, `invoice.created`, `invoice.finalized`, `invoice.paid`, `invoice.payment_failed`, `invoice.overdue`, `invoice.voided`, `invoice.uncollectible`, `refund.created`, `subscription.trial_will_end`, `payment_method.expiring`, `payment.action_required`. */
    filterTypes: Array<WebhookFilterType>;
    active?: boolean;
    /** By default the pricing model of the key, or else the default one. */
    pricingModelId?: string | null;
  };
}

export interface WebhooksCreateAnswer {
  webhook: Webhook;
  /** The signing secret: `whsec_` and the key in base64. */
  secret: string;
}

export interface WebhooksListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  active?: boolean;
  pricingModelId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface WebhooksListAnswer {
  data: Array<Webhook>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
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
    /** The event types to send. Empty: all types but `usage_balance.low`, `usage_threshold.reached`, `spend_limit.reached`, `auto_top_up.action_required`, `auto_top_up.stopped`, `auto_top_up.limit_reached`, `customer.erased`, `attempts.limit_reached`, `credit_note.created`, `credit_note.settled`, `credit_note.voided`, `invoice.sent`, `invoice.created`, `invoice.finalized`, `invoice.paid`, `invoice.payment_failed`, `invoice.overdue`, `invoice.voided`, `invoice.uncollectible`, `refund.created`, `subscription.trial_will_end`, `payment_method.expiring`, `payment.action_required`. */
    filterTypes?: Array<WebhookFilterType>;
    active?: boolean;
    /** Fixed: send the present value or nothing. */
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
  /** The signing secret: `whsec_` and the key in base64. */
  secret: string;
}

export interface WebhooksListDeliveriesInput {
  id: string;
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  status?: WebhookDeliveryStatus;
  eventId?: string;
  eventType?: EventType;
  objectId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface WebhooksListDeliveriesAnswer {
  data: Array<WebhookDelivery>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface WebhooksTestInput {
  id: string;
  test?: {
    /** The event type of the sample. */
    type?: EventType;
  };
}

export interface WebhooksTestAnswer {
  delivery: WebhookDelivery;
}

export interface WebhooksReplayInput {
  id: string;
  replay: {
    /** The first instant of the range, in epoch milliseconds or ISO 8601. */
    since: TimestampInput;
    /** The end of the range, which is not part of it. By default now. */
    until?: TimestampInput;
    /** The event types to send, by default those of the webhook. */
    types?: Array<EventType>;
    /** If true, only events are sent whose delivery to this webhook has failed for good. */
    onlyFailed?: boolean;
  };
}

export interface WebhooksReplayAnswer {
  replay: {
    /** The number of events that are sent. */
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
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
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
  /** The number of rows that match, counted up to 100,000. */
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

export interface EmailsListInput {
  /** The `nextCursor` of the page before; without it the list begins at the first page. */
  cursor?: string;
  /** The number of rows on a page: 1 to 100, by default 10. */
  limit?: number;
  /** `asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one. */
  order?: 'asc' | 'desc';
  customerId?: string;
  /** Your own id of the customer. Archived customers with this id count too. */
  customerExternalId?: string;
  status?: EmailStatus;
  /** `invoice_issued`: an invoice was sent, with its PDF. `receipt`: a payment succeeded. `payment_failed`: a payment of an invoice failed, with a link to pay it. `payment_action_required`: the bank wants the customer to confirm one. `payment_waiting`: one that a customer began waits for its confirmation. `subscription_canceled`: a subscription ended. `credit_note_issued`: a credit note, with its PDF. `trial_ending`: a trial ends in three days. `card_expiring`: the card expires at the end of the month. `spend_limit_reached`: the amount of a spend limit is used. `top_up_action_required`: the bank wants the customer to confirm an automatic top-up. */
  template?: 'invoice_issued' | 'receipt' | 'payment_failed' | 'payment_action_required' | 'payment_waiting' | 'subscription_canceled' | 'credit_note_issued' | 'trial_ending' | 'card_expiring' | 'spend_limit_reached' | 'top_up_action_required';
  eventId?: string;
  /** Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time. */
  createdAtFrom?: string | number;
  /** Records created before this instant. */
  createdAtTo?: string | number;
}

export interface EmailsListAnswer {
  data: Array<Email>;
  hasMore: boolean;
  /** The number of rows that match, counted up to 100,000. */
  total: number;
  currentCursor: string;
  nextCursor?: string;
}

export interface EmailsGetInput {
  id: string;
}

export interface EmailsGetAnswer {
  email: Email;
}

export interface EmailsResendInput {
  id: string;
}

export interface EmailsResendAnswer {
  email: Email;
}

export interface EmailTemplatesGetPreviewInput {
  /** `invoice_issued`: an invoice was sent, with its PDF. `receipt`: a payment succeeded. `payment_failed`: a payment of an invoice failed, with a link to pay it. `payment_action_required`: the bank wants the customer to confirm one. `payment_waiting`: one that a customer began waits for its confirmation. `subscription_canceled`: a subscription ended. `credit_note_issued`: a credit note, with its PDF. `trial_ending`: a trial ends in three days. `card_expiring`: the card expires at the end of the month. `spend_limit_reached`: the amount of a spend limit is used. `top_up_action_required`: the bank wants the customer to confirm an automatic top-up. */
  name: 'invoice_issued' | 'receipt' | 'payment_failed' | 'payment_action_required' | 'payment_waiting' | 'subscription_canceled' | 'credit_note_issued' | 'trial_ending' | 'card_expiring' | 'spend_limit_reached' | 'top_up_action_required';
  language?: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt';
}

export interface EmailTemplatesGetPreviewAnswer {
  preview: EmailPreview;
}

export interface TestClockGetAnswer {
  testClock: TestClock;
}

export interface TestClockUpdateInput {
  testClock: {
    now: TimestampInput;
  };
}

export interface TestClockUpdateAnswer {
  testClock: TestClock;
  work: ClockWork;
}

export interface AnalyticsGetMrrInput {
  /** The first instant of the range. By default that of the point twelve months before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default just after the environment's time. */
  to?: string | number;
  /** The length of a point, in UTC. `month` by default; weeks begin on Mondays. */
  interval?: 'day' | 'week' | 'month' | 'quarter' | 'year';
  /** By default there is one group for each currency. */
  groupBy?: 'product' | 'price' | 'interval';
}

export interface AnalyticsGetMrrAnswer {
  mrr: MrrReport;
}

export interface AnalyticsGetChurnInput {
  /** The first instant of the range. By default that of the point twelve months before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default just after the environment's time. */
  to?: string | number;
  /** The length of a point, in UTC. `month` by default; weeks begin on Mondays. */
  interval?: 'day' | 'week' | 'month' | 'quarter' | 'year';
  /** By default there is one group for each currency. */
  groupBy?: 'product' | 'price' | 'interval';
}

export interface AnalyticsGetChurnAnswer {
  churn: ChurnReport;
}

export interface AnalyticsGetRetentionInput {
  /** The first instant of the range. By default that of the point twelve months before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default just after the environment's time. */
  to?: string | number;
  /** The length of a point, in UTC. `month` by default; weeks begin on Mondays. */
  interval?: 'day' | 'week' | 'month' | 'quarter' | 'year';
}

export interface AnalyticsGetRetentionAnswer {
  retention: RetentionReport;
}

export interface AnalyticsGetRevenueInput {
  /** The first instant of the range. By default that of the point twelve months before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default just after the environment's time. */
  to?: string | number;
  /** The length of a point, in UTC. `month` by default; weeks begin on Mondays. */
  interval?: 'day' | 'week' | 'month' | 'quarter' | 'year';
  groupBy?: 'reason';
}

export interface AnalyticsGetRevenueAnswer {
  revenue: RevenueReport;
}

export interface AnalyticsGetPaymentsInput {
  /** The first instant of the range. By default that of the point twelve months before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default just after the environment's time. */
  to?: string | number;
  /** The length of a point, in UTC. `month` by default; weeks begin on Mondays. */
  interval?: 'day' | 'week' | 'month' | 'quarter' | 'year';
  groupBy?: 'processor' | 'paymentMethod';
}

export interface AnalyticsGetPaymentsAnswer {
  payments: PaymentsReport;
}

export interface AnalyticsGetUsageInput {
  /** The first instant of the range. By default that of the point twelve months before `to`. */
  from?: string | number;
  /** The end of the range, which is not part of it. By default just after the environment's time. */
  to?: string | number;
  /** The length of a point, in UTC. `month` by default; weeks begin on Mondays. */
  interval?: 'day' | 'week' | 'month' | 'quarter' | 'year';
}

export interface AnalyticsGetUsageAnswer {
  usage: UsageReport;
}

export interface AnalyticsGetAttentionAnswer {
  attention: Attention;
}

export interface AnalyticsGetHealthAnswer {
  health: Health;
}

export interface SearchListInput {
  /** The text, of at least 3 characters. */
  q: string;
}

export interface SearchListAnswer {
  results: Array<SearchResult>;
}

export interface UtilsMethods {
  /** Check the connection and the key. Returns `pong` if the service responds and the API key is valid. */
  getPing(input?: Record<string, never>, options?: CallOptions): Promise<UtilsGetPingAnswer>;
}

export interface ApiKeysMethods {
  /** Get an API key. Returns one API key of the environment. Its token is masked. */
  get(input: ApiKeysGetInput, options?: CallOptions): Promise<ApiKeysGetAnswer>;

  /** Update an API key. Changes the fields that are sent. What is added must be had by the key that asks. Takes effect with the next request of the changed key. */
  update(input: ApiKeysUpdateInput, options?: WriteOptions): Promise<ApiKeysUpdateAnswer>;

  /** List API keys. Returns the API keys of the environment, active and ended ones. Their tokens are masked. */
  list(input?: ApiKeysListInput, options?: CallOptions): Promise<ApiKeysListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ApiKeysListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ApiKeysListAnswer['data'][number], void, undefined>;

  /** Create an API key. Creates a key of the same environment, and returns it with its token, which is never shown again. The new key has no more than the key that asks: neither permissions, nor pricing models, nor time. */
  create(input: ApiKeysCreateInput, options?: WriteOptions): Promise<ApiKeysCreateAnswer>;

  /** Rotate an API key. Creates a key with the name, permissions, pricing model and expiry of this one, and returns it with its token, which is never shown again. The old key ends after `overlapSeconds`, by default at once. */
  rotate(input: ApiKeysRotateInput, options?: WriteOptions): Promise<ApiKeysRotateAnswer>;

  /** Revoke an API key. Ends a key: its next request is refused. A repeat changes nothing. */
  revoke(input: ApiKeysRevokeInput, options?: WriteOptions): Promise<ApiKeysRevokeAnswer>;
}

export interface OrganizationsMethods {
  /** Create an organization. Creates an organization with its test and live environment, each with a default pricing model. Returns a key of the test environment, and of the live one if a live key asks. Their tokens are never shown again. The new organization sees nothing of this one, and the other way round. */
  create(input: OrganizationsCreateInput, options?: WriteOptions): Promise<OrganizationsCreateAnswer>;
}

export interface SettingsMethods {
  /** Get the settings. Returns how the environment of the key bills. Test mode and live mode have their own settings. */
  get(input?: Record<string, never>, options?: CallOptions): Promise<SettingsGetAnswer>;

  /** Update the settings. Changes the settings that are sent and leaves the others as they are. New settings apply from the next invoice, payment attempt or check on. The currency is fixed once there are prices, discounts or invoices with an amount; a change is then refused with 409. Prices and amounts in dinars and rials of three decimals are multiples of 10, and in ariary of 100: card networks charge nothing finer. */
  update(input: SettingsUpdateInput, options?: WriteOptions): Promise<SettingsUpdateAnswer>;

  /** Preview a change of the branding. Returns an invoice and an email of an example as they would look with the change. Nothing is stored. */
  brandingPreview(input: SettingsBrandingPreviewInput, options?: WriteOptions): Promise<SettingsBrandingPreviewAnswer>;
}

export interface ArchivesMethods {
  /** List archives of usage events. Returns the archives that hold usage events of the environment, the newest first. Archived events are in every balance, bill and sum of whole hours, but not in lists. The operator of the service restores an archive. */
  list(input?: ArchivesListInput, options?: CallOptions): Promise<ArchivesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ArchivesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ArchivesListAnswer['data'][number], void, undefined>;
}

export interface AuditLogMethods {
  /** List the audit log. Returns who changed which record and how, newest first. Each record that a request, page, task or command changed has an entry. Usage and ledger entries are not repeated here. */
  list(input?: AuditLogListInput, options?: CallOptions): Promise<AuditLogListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<AuditLogListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<AuditLogListAnswer['data'][number], void, undefined>;
}

export interface ChangesMethods {
  /** Follow changes. Streams server-sent events that tell which types of records changed, within about a second of each commit. `changed` names them in `records`, as the audit log does. `refresh` says that any record may have changed. It comes each minute, for usage and other records without an audit log. The stream ends after `seconds`, and within ten seconds after the caller is signed out or the key is revoked. A reader that sends the last id as `Last-Event-ID` learns what changed meanwhile. */
  list(input?: ChangesListInput, options?: CallOptions): Promise<string>;
}

export interface CustomersMethods {
  /** List customers. Returns the customers of the environment, optionally those with an email address or external id. Archived customers are included unless `archived` is `false`. */
  list(input?: CustomersListInput, options?: CallOptions): Promise<CustomersListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CustomersListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CustomersListAnswer['data'][number], void, undefined>;

  /** Create a customer. Creates a customer under your own id, `externalId`, and starts the default plan of its pricing model, if there is one. Returns the customer and that subscription. Without `pricingModelId` the customer joins the default pricing model. If the customer exists and has all that is sent, it is returned, so creations at once are safe. An external id of a customer with other data is refused with 409. */
  create(input: CustomersCreateInput, options?: WriteOptions): Promise<CustomersCreateAnswer>;

  /** Get a customer. Returns the customer with this external id. If several pricing models have one, the request is refused until `pricingModelId` names the model. */
  get(input: CustomersGetInput, options?: CallOptions): Promise<CustomersGetAnswer>;

  /** Update a customer. Changes the fields that are sent and leaves the others as they are. `externalId` in the body gives the customer another external id. With `upsert=true` a customer that does not exist is created with its default plan. It joins the pricing model that `pricingModelId` names, or the default one. */
  update(input: CustomersUpdateInput, options?: WriteOptions): Promise<CustomersUpdateAnswer>;

  /** Archive a customer. Ends all subscriptions of the customer now and keeps its records. Its external id becomes free for another customer. */
  archive(input: CustomersArchiveInput, options?: WriteOptions): Promise<CustomersArchiveAnswer>;

  /** Erase a customer. Erases the personal data of a customer for good, archived or not, and archives it. Its external id becomes its `id`, and is free for a new customer. Amounts, invoices and usage stay. A job erases the copies in the audit log, in events and elsewhere, and deletes the customer at its payment processors: repeat the request to see whether it is done. Cancel subscriptions and settle invoices first; the default plan ends by itself. */
  erase(input: CustomersEraseInput, options?: WriteOptions): Promise<CustomersEraseAnswer>;

  /** Get the billing state of a customer. Returns the customer with its subscriptions, invoices, payment methods, purchases and pricing model in one answer. `billingPortalUrl` opens the customer portal. */
  getBilling(input: CustomersGetBillingInput, options?: CallOptions): Promise<CustomersGetBillingAnswer>;

  /** Get the entitlements of a customer. Returns the features, balances and resources that the customer may use now. They come from all current subscriptions, or from the one that `subscriptionId` names. A subscription that is paused, ended or not yet started grants nothing. A renewal or an end that is due is done first. */
  getEntitlements(input: CustomersGetEntitlementsInput, options?: CallOptions): Promise<CustomersGetEntitlementsAnswer>;

  /** Get the usage balances of a customer. Returns one row for each usage meter of each current subscription. With `subscriptionId` the rows are those of that subscription, whatever its status. */
  getUsageBalances(input: CustomersGetUsageBalancesInput, options?: CallOptions): Promise<CustomersGetUsageBalancesAnswer>;

  /** Get the credit balances of a customer. Returns the credits of the customer on each usage meter, over all subscriptions that have not ended, with those that wait for the next one. They are as of now, or of the past instant `asOf`. */
  getCreditBalances(input: CustomersGetCreditBalancesInput, options?: CallOptions): Promise<CustomersGetCreditBalancesAnswer>;

  /** List the ledger entries of a customer. Returns each change of the customer's balances, in the order of booking. A use names the credits that paid for it. `balances` are the balances of all accounts in question, now or at the past instant `asOf`. With `asOf`, later entries are left out. */
  listLedger(input: CustomersListLedgerInput, options?: CallOptions): Promise<CustomersListLedgerAnswer>;

  /** Every row that `listLedger` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAllLedger(input: Omit<CustomersListLedgerInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CustomersListLedgerAnswer['data'][number], void, undefined>;

  /** Create a link to the customer portal. Returns a `url` where the customer sees and changes its plan, invoices, usage and payment methods. Create the link when the customer asks for it: until it expires, anyone who has it acts as the customer. */
  createPortalSession(input: CustomersCreatePortalSessionInput, options?: WriteOptions): Promise<CustomersCreatePortalSessionAnswer>;

  /** Revoke the links to the customer portal. Closes all links to the portal of this customer, with the visits that began with them. A customer who signs out does the same. Links that are created afterwards work. */
  deletePortalSessions(input: CustomersDeletePortalSessionsInput, options?: WriteOptions): Promise<CustomersDeletePortalSessionsAnswer>;

  /** Get spend controls. Returns the limits of a customer, how much of each is used in the present periods, and its automatic top-up. */
  getSpendControls(input: CustomersGetSpendControlsInput, options?: CallOptions): Promise<CustomersGetSpendControlsAnswer>;

  /** Set spend controls. Sets the limits of a customer in place of those that the seller set before. Consume and holds refuse what does not fit into a blocking limit with 402, exactly under any number of parallel requests. Usage events are always stored; those beyond a blocking limit have `beyondLimit`. A new limit counts from now on. All limits hold. `autoTopUp` buys credits when the balance falls below a line: one purchase at a time, on the default payment method. The credits come with the money. After three failed purchases in a row it stops. */
  updateSpendControls(input: CustomersUpdateSpendControlsInput, options?: WriteOptions): Promise<CustomersUpdateSpendControlsAnswer>;
}

export interface SubscriptionsMethods {
  /** List subscriptions. Returns the subscriptions of the environment, optionally those of a customer, price or status. */
  list(input?: SubscriptionsListInput, options?: CallOptions): Promise<SubscriptionsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<SubscriptionsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<SubscriptionsListAnswer['data'][number], void, undefined>;

  /** Create a subscription. Subscribes a customer to a price and charges what is due now before the answer. A paid subscription replaces the free one when its first payment has arrived. If that fails, the answer is 402 with the reason and the canceled `subscription`, and the free plan goes on. A customer with another paid subscription is refused with 409, unless the settings allow several. */
  create(input: SubscriptionsCreateInput, options?: WriteOptions): Promise<SubscriptionsCreateAnswer>;

  /** Get a subscription. Returns one subscription with its status, billing period and plan. */
  get(input: SubscriptionsGetInput, options?: CallOptions): Promise<SubscriptionsGetAnswer>;

  /** Update a subscription. Changes the name, the metadata, the payment methods and the end of a running trial, as far as they are sent. The first payment is due at the new end, and no credits are granted before. `billingCycleAnchorDate` moves the billing anchor: a period begins now and ends there. What it costs is charged before the answer, and `adjustment` says it; a dry run answers the same amounts. If the charge fails, nothing changes and the answer is 402. The plan changes with `POST /subscriptions/{id}/adjust`. */
  update(input: SubscriptionsUpdateInput, options?: WriteOptions): Promise<SubscriptionsUpdateAnswer>;

  /** Get a subscription with its contents. Returns one subscription with its items and their prices, its features and its balances. */
  getDetails(input: SubscriptionsGetDetailsInput, options?: CallOptions): Promise<SubscriptionsGetDetailsAnswer>;

  /** Cancel a subscription. Ends a subscription now, with its billing period, or at `endDate`, and returns it. Until `endDate` it renews as usual: a period that has begun is billed whole and nothing is refunded. A later request replaces the date. A subscription that has ended is returned unchanged. The default plan is refused with 400. `reason` is that of the customer. */
  cancel(input: SubscriptionsCancelInput, options?: WriteOptions): Promise<SubscriptionsCancelAnswer>;

  /** Undo a scheduled cancellation. Keeps a subscription that was scheduled to end. A subscription without a scheduled cancellation is returned unchanged. A paid subscription needs a payment method, or the request is refused with 400. While the next subscription is booked, it is refused with 409. */
  uncancel(input: SubscriptionsUncancelInput, options?: WriteOptions): Promise<SubscriptionsUncancelAnswer>;

  /** Change the plan of a subscription. Replaces the items of a subscription by the complete set in `newSubscriptionItems`, now or with the end of the billing period. A change that costs something now is charged before the answer, and takes effect once it is paid. If the charge fails, nothing changes and the answer is 402. Under net terms and without a payment method the change is made now, and its invoice is due later. A change that would leave fewer places of a resource than are claimed is refused with 409. */
  adjust(input: SubscriptionsAdjustInput, options?: WriteOptions): Promise<SubscriptionsAdjustAnswer>;

  /** Preview a change of plan. Returns the amounts that `adjust` would charge or invoice for the same body now, and changes nothing. If the change would be refused, `canAdjust` is `false` and `reason` says why. */
  previewAdjust(input: SubscriptionsPreviewAdjustInput, options?: WriteOptions): Promise<SubscriptionsPreviewAdjustAnswer>;

  /** Undo a scheduled change of plan. Removes the change that is scheduled for the end of the billing period and restores the plan before it. Without a scheduled change the request is refused with 400. */
  cancelScheduledAdjustment(input: SubscriptionsCancelScheduledAdjustmentInput, options?: WriteOptions): Promise<SubscriptionsCancelScheduledAdjustmentAnswer>;

  /** Pause a subscription. Stops a subscription until `resumesAt` or a resume: it grants nothing and costs nothing. The unused part of the paid period is credited to the next invoices. Claims are kept, and usage is recorded and billed after the pause. If the subscription is already paused, `resumesAt` is replaced. */
  pause(input: SubscriptionsPauseInput, options?: WriteOptions): Promise<SubscriptionsPauseAnswer>;

  /** Resume a paused subscription. Begins a billing period now that ends at the usual boundary. Its share of the price is billed, less the credit for the time paused. A subscription that is not paused is returned unchanged. */
  resume(input: SubscriptionsResumeInput, options?: WriteOptions): Promise<SubscriptionsResumeAnswer>;

  /** Add a feature to a subscription. Grants a feature to one subscription, in addition to its plan. If it has the feature already, a toggle stays as it is, credits or capacity add up, and a value is replaced. `grantCreditsImmediately` is refused with 400 for a feature without credits. */
  addFeature(input: SubscriptionsAddFeatureInput, options?: WriteOptions): Promise<SubscriptionsAddFeatureAnswer>;

  /** List the discounts of a subscription. Returns the discounts that a subscription has, at most 20, in the order in which they lower its invoices: each is computed on what the ones before it leave. */
  getDiscounts(input: SubscriptionsGetDiscountsInput, options?: CallOptions): Promise<SubscriptionsGetDiscountsAnswer>;

  /** Put a discount on a subscription. Puts a discount on a subscription, behind those that it has, by its id or its code. The invoices from now on carry it as long as its duration says; those that are there stay as they are. The limits of the discount count, and the items of the subscription are the order. The answer shows the next invoice, and a dry run previews it. */
  createDiscount(input: SubscriptionsCreateDiscountInput, options?: WriteOptions): Promise<SubscriptionsCreateDiscountAnswer>;

  /** Take a discount off a subscription. Takes a discount off a subscription. Invoices that are there keep it, and so does a change within a period whose invoice has it. The customer may redeem it again if no invoice ever had it. The answer shows the next invoice. */
  deleteDiscounts(input: SubscriptionsDeleteDiscountsInput, options?: WriteOptions): Promise<SubscriptionsDeleteDiscountsAnswer>;

  /** Retry a failed payment. Charges the oldest unpaid invoice for a billing period of the subscription before the answer. It counts as an attempt, and a failed charge is answered with 402. A charge that takes longer is returned in its present status. If nothing is owed, the request is refused with 400. */
  retryPayment(input: SubscriptionsRetryPaymentInput, options?: WriteOptions): Promise<SubscriptionsRetryPaymentAnswer>;
}

export interface PricingModelsMethods {
  /** Create a pricing model. Creates a pricing model with a default product, the free plan, and nothing else. `isDefault` makes it the model of customers that name none. */
  create(input: PricingModelsCreateInput, options?: WriteOptions): Promise<PricingModelsCreateAnswer>;

  /** List pricing models. Returns the pricing models of the environment, without their contents. */
  list(input?: PricingModelsListInput, options?: CallOptions): Promise<PricingModelsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PricingModelsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PricingModelsListAnswer['data'][number], void, undefined>;

  /** Get the default pricing model. Returns the default pricing model with its active products, prices and usage meters. A key that is pinned to a pricing model gets that model. */
  getDefault(input?: Record<string, never>, options?: CallOptions): Promise<PricingModelsGetDefaultAnswer>;

  /** Get a pricing model. Returns a pricing model with its active products, their active prices, and its usage meters. */
  get(input: PricingModelsGetInput, options?: CallOptions): Promise<PricingModelsGetAnswer>;

  /** Update a pricing model. Changes the name of a pricing model, or makes it the default one. With `features`, `products`, `usageMeters` and `resources`, all four, it replaces the contents. New slugs are created and missing ones are deactivated. A price with other terms replaces the old one, which existing subscriptions keep. Usage meters and the default product cannot be removed. */
  update(input: PricingModelsUpdateInput, options?: WriteOptions): Promise<PricingModelsUpdateAnswer>;

  /** Delete a pricing model. Deletes a pricing model that nothing uses, with all its products, prices, usage meters, credit pools, features, resources and discounts. Returns it as it was. A model with customers, checkout sessions, webhooks or API keys is refused with 409, which names them. So is the default model. A dry run answers how much would go. */
  delete(input: PricingModelsDeleteInput, options?: WriteOptions): Promise<PricingModelsDeleteAnswer>;

  /** Set up a whole pricing model. Creates a pricing model with features, products, prices, usage meters and resources, linked by their slugs. All of it is created, or nothing. A Free Plan is added if no product is the default one, and each usage meter gets a no-charge price. A repeat creates another pricing model, and moves the default to it if `isDefault` is true: use `POST /pricing-models/apply` for what is sent more than once. */
  setup(input: PricingModelsSetupInput, options?: WriteOptions): Promise<PricingModelsSetupAnswer>;

  /** Create or update a pricing model by its name. Takes the body of a setup. Creates the pricing model if none has this name, and updates it otherwise, so a repeat changes nothing. Missing slugs are deactivated, as in an update, and never deleted. Returns each difference; with `dryRun=true` the differences that there would be. `isDefault: true` makes the model the default one, and `false` leaves the flag as it is. */
  apply(input: PricingModelsApplyInput, options?: WriteOptions): Promise<PricingModelsApplyAnswer>;

  /** Apply many changes of a pricing model. Takes the whole pricing model as its export says it, and makes all differences in one transaction, or none. Missing slugs are deactivated, as in an update. Returns each difference with the number of customers who have the record; with `dryRun=true` the differences that there would be. `base` is the export from which the changes were drawn. If the model has changed since then, the answer is 409 with the differences in `changes`. A repeat changes nothing. `isDefault: false` leaves the flag as it is. */
  applyTo(input: PricingModelsApplyToInput, options?: WriteOptions): Promise<PricingModelsApplyToAnswer>;

  /** Export a pricing model. Returns a pricing model in the form that setup and update accept. A setup with it creates the same model; an update with it changes nothing. */
  export(input: PricingModelsExportInput, options?: CallOptions): Promise<PricingModelsExportAnswer>;

  /** Clone a pricing model. Copies a pricing model and its contents, with new ids and the same slugs and codes. `destinationEnvironment` chooses test or live mode. Customers and subscriptions are not copied. A copy into a mode with another currency is refused with 400. */
  clone(input: PricingModelsCloneInput, options?: WriteOptions): Promise<PricingModelsCloneAnswer>;
}

export interface ProductsMethods {
  /** Create a product. Creates a product with its default price and, through `featureIds`, the features that it grants. A slug that another active product has is refused with 409. A price of type `usage` is added to its usage meter as the default, and subscribing to the product is free. Toggles of a product that is paid once are shown with it and are not granted by a purchase. */
  create(input: ProductsCreateInput, options?: WriteOptions): Promise<ProductsCreateAnswer>;

  /** List products. Returns the products of the environment, active and inactive ones. */
  list(input?: ProductsListInput, options?: CallOptions): Promise<ProductsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ProductsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ProductsListAnswer['data'][number], void, undefined>;

  /** Get a product. Returns a product with its active prices and its features. The answer is the product itself, without an envelope. */
  get(input: ProductsGetInput, options?: CallOptions): Promise<ProductsGetAnswer>;

  /** Update a product. Changes the fields that are sent. Other terms in `price` create a new default price and deactivate the old one. `featureIds` replaces all features of the product. Existing subscriptions keep their price and features. */
  update(input: ProductsUpdateInput, options?: WriteOptions): Promise<ProductsUpdateAnswer>;

  /** Delete a product. Deletes a product that was never used, with its prices and its links to features, and returns it as it was. A product in use is refused with 409, which names its subscriptions, purchases, checkout sessions and so on: set `active` to `false` instead. So is the default product. A dry run answers how much would go. */
  delete(input: ProductsDeleteInput, options?: WriteOptions): Promise<ProductsDeleteAnswer>;
}

export interface ProductFeaturesMethods {
  /** Add a feature to a product. Makes a product grant a feature to new subscriptions. An expired link of the two is revived under its old id, and a link that exists gets the `value`. Existing subscriptions do not change. */
  create(input: ProductFeaturesCreateInput, options?: WriteOptions): Promise<ProductFeaturesCreateAnswer>;

  /** List product features. Returns the links between products and features, expired ones included. */
  list(input?: ProductFeaturesListInput, options?: CallOptions): Promise<ProductFeaturesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<ProductFeaturesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<ProductFeaturesListAnswer['data'][number], void, undefined>;

  /** Get a product feature. Returns one link between a product and a feature, active or expired. */
  get(input: ProductFeaturesGetInput, options?: CallOptions): Promise<ProductFeaturesGetAnswer>;

  /** Remove a feature from a product. Expires the link, so that new subscriptions to the product do not get the feature. Existing subscriptions keep it. */
  expire(input: ProductFeaturesExpireInput, options?: WriteOptions): Promise<ProductFeaturesExpireAnswer>;
}

export interface PricesMethods {
  /** Create a price. Adds a price to a product or a usage meter. A price of a product becomes its default price and deactivates the others; their subscribers keep them. A usage price stands beside the other prices of its meter. */
  create(input: PricesCreateInput, options?: WriteOptions): Promise<PricesCreateAnswer>;

  /** List prices. Returns the prices of products and usage meters, active and inactive ones. */
  list(input?: PricesListInput, options?: CallOptions): Promise<PricesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PricesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PricesListAnswer['data'][number], void, undefined>;

  /** Quote prices. Computes the prices of up to 1,000 lines of units, without any customer: of prices by id or slug, or of a `pricing` that is not stored yet. Each line is rounded by itself. Nothing is stored. */
  quote(input: PricesQuoteInput, options?: WriteOptions): Promise<PricesQuoteAnswer>;

  /** Get a price. Returns one price with its amount, currency and interval. */
  get(input: PricesGetInput, options?: CallOptions): Promise<PricesGetAnswer>;

  /** Update a price. Changes the name, slug, default flag or activity of a price. Its amount and interval cannot change: create another price instead. With `isDefault: false` the newest other active price of the product becomes the default; without one the price stays the default. For a usage meter it is the no-charge price. */
  update(input: PricesUpdateInput, options?: WriteOptions): Promise<PricesUpdateAnswer>;
}

export interface FeaturesMethods {
  /** Create a feature. Creates a feature that products and subscriptions can grant. A slug that another active feature has is refused with 409. */
  create(input: FeaturesCreateInput, options?: WriteOptions): Promise<FeaturesCreateAnswer>;

  /** List features. Returns the features of the environment, active and inactive ones. */
  list(input?: FeaturesListInput, options?: CallOptions): Promise<FeaturesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<FeaturesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<FeaturesListAnswer['data'][number], void, undefined>;

  /** Get a feature. Returns one feature with its type, and the amount and the usage meter or resource that belong to it. */
  get(input: FeaturesGetInput, options?: CallOptions): Promise<FeaturesGetAnswer>;

  /** Update a feature. Changes the fields that are sent. The type cannot change, and subscriptions keep what the feature has granted them. */
  update(input: FeaturesUpdateInput, options?: WriteOptions): Promise<FeaturesUpdateAnswer>;
}

export interface UsageMetersMethods {
  /** Create a usage meter. Creates a usage meter with a no-charge price, so that usage always has a price. With `unitPrice` or `usageEventsPerUnit` it also gets a monthly price, which becomes the default. */
  create(input: UsageMetersCreateInput, options?: WriteOptions): Promise<UsageMetersCreateAnswer>;

  /** List usage meters. Returns the usage meters of the environment. */
  list(input?: UsageMetersListInput, options?: CallOptions): Promise<UsageMetersListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<UsageMetersListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<UsageMetersListAnswer['data'][number], void, undefined>;

  /** Get a usage meter. Returns one usage meter with its slug and its way of counting. */
  get(input: UsageMetersGetInput, options?: CallOptions): Promise<UsageMetersGetAnswer>;

  /** Update a usage meter. Changes the fields that are sent. A new slug renames the no-charge price too; other prices keep their slugs. */
  update(input: UsageMetersUpdateInput, options?: WriteOptions): Promise<UsageMetersUpdateAnswer>;

  /** Summarize the usage of a meter. Returns the units and the number of events with a `usageDate` in a range of time. `groupBy` splits them by hour, day or month (UTC), by customer, or by a property of the events. */
  getSummary(input: UsageMetersGetSummaryInput, options?: CallOptions): Promise<UsageMetersGetSummaryAnswer>;
}

export interface CreditPoolsMethods {
  /** Create a credit pool. Creates a pool of credits that the usage of several meters draws from. Usage is paid for by the credits of its meter first, then by the pool that has the rate that its properties match best. What neither covers is overage. */
  create(input: CreditPoolsCreateInput, options?: WriteOptions): Promise<CreditPoolsCreateAnswer>;

  /** List credit pools. Returns the credit pools of the environment, or of one pricing model, with their rates. */
  list(input?: CreditPoolsListInput, options?: CallOptions): Promise<CreditPoolsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CreditPoolsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CreditPoolsListAnswer['data'][number], void, undefined>;

  /** Get a credit pool. Returns one credit pool with its rates. */
  get(input: CreditPoolsGetInput, options?: CallOptions): Promise<CreditPoolsGetAnswer>;

  /** Update a credit pool. Changes the fields that are sent. `rates` take the place of all rates, for usage from now on: what was drawn before keeps the rate that it was drawn at. The unit cannot change. */
  update(input: CreditPoolsUpdateInput, options?: WriteOptions): Promise<CreditPoolsUpdateAnswer>;
}

export interface ResourcesMethods {
  /** Create a resource. Creates a resource that customers can claim units of. A slug that another active resource has is refused with 409. */
  create(input: ResourcesCreateInput, options?: WriteOptions): Promise<ResourcesCreateAnswer>;

  /** List resources. Returns the resources of the environment, or of one pricing model, active and inactive ones. The first page holds up to 1,000. */
  list(input?: ResourcesListInput, options?: CallOptions): Promise<ResourcesListAnswer>;

  /** Get a resource. Returns one resource and whether it is active. */
  get(input: ResourcesGetInput, options?: CallOptions): Promise<ResourcesGetAnswer>;

  /** Update a resource. Changes the fields that are sent. An inactive resource takes no new claims and keeps those that it has. */
  update(input: ResourcesUpdateInput, options?: WriteOptions): Promise<ResourcesUpdateAnswer>;
}

export interface CatalogsMethods {
  /** Create a catalog. Legacy: use `POST /pricing-models` instead. Creates a pricing model with a default product, the free plan, which never renews. Instants are ISO 8601 text. */
  create(input: CatalogsCreateInput, options?: WriteOptions): Promise<CatalogsCreateAnswer>;

  /** List catalogs. Legacy: use `GET /pricing-models` instead. Returns the pricing models with instants as ISO 8601 text. */
  list(input?: CatalogsListInput, options?: CallOptions): Promise<CatalogsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CatalogsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CatalogsListAnswer['data'][number], void, undefined>;

  /** Get the default catalog. Legacy: use `GET /pricing-models/default` instead. Returns the default pricing model, or the one that the key is pinned to, with instants as ISO 8601 text. */
  getDefault(input?: Record<string, never>, options?: CallOptions): Promise<CatalogsGetDefaultAnswer>;

  /** Get a catalog. Legacy: use `GET /pricing-models/{id}` instead. Returns a pricing model with its active products and prices and its usage meters. Instants are ISO 8601 text. */
  get(input: CatalogsGetInput, options?: CallOptions): Promise<CatalogsGetAnswer>;

  /** Update a catalog. Legacy: use `PUT /pricing-models/{id}` instead. Changes the name of a pricing model, or makes it the default one. */
  update(input: CatalogsUpdateInput, options?: WriteOptions): Promise<CatalogsUpdateAnswer>;

  /** Clone a catalog. Legacy: use `POST /pricing-models/{id}/clone` instead. Copies a pricing model within the same mode. */
  clone(input: CatalogsCloneInput, options?: WriteOptions): Promise<CatalogsCloneAnswer>;
}

export interface DiscountsMethods {
  /** Create a discount. Creates a discount that customers redeem by its code when they subscribe or buy. A code that another discount of the pricing model has is refused with 409. It may expire, and be redeemed a number of times in all or by each customer. It may be for some products, for orders of a minimum amount, or for first purchases. */
  create(input: DiscountsCreateInput, options?: WriteOptions): Promise<DiscountsCreateAnswer>;

  /** List discounts. Returns the discounts of the environment, active and inactive ones. */
  list(input?: DiscountsListInput, options?: CallOptions): Promise<DiscountsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<DiscountsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<DiscountsListAnswer['data'][number], void, undefined>;

  /** Update a discount. Changes the fields that are sent. Customers that have redeemed the discount keep its old terms. */
  update(input: DiscountsUpdateInput, options?: WriteOptions): Promise<DiscountsUpdateAnswer>;

  /** Get a discount. Returns one discount with its terms and the number of its redemptions. */
  get(input: DiscountsGetInput, options?: CallOptions): Promise<DiscountsGetAnswer>;
}

export interface SubscriptionItemFeaturesMethods {
  /** Add a feature to a subscription item. Grants a feature through one item of a subscription. Fields that are left out are copied from the feature. If the item has the feature already, the request is refused with 409. */
  create(input: SubscriptionItemFeaturesCreateInput, options?: WriteOptions): Promise<SubscriptionItemFeaturesCreateAnswer>;

  /** Get a subscription item feature. Returns one feature of a subscription item. */
  get(input: SubscriptionItemFeaturesGetInput, options?: CallOptions): Promise<SubscriptionItemFeaturesGetAnswer>;

  /** Update a subscription item feature. Changes the fields that are sent; type, feature and item are fixed. An `expiredAt` of `null` restores a feature that has ended. */
  update(input: SubscriptionItemFeaturesUpdateInput, options?: WriteOptions): Promise<SubscriptionItemFeaturesUpdateAnswer>;

  /** End a subscription item feature. Ends the feature now or at `expiredAt`. The claims and credits that it granted stay. Instants of the answer are ISO 8601 text. */
  expire(input: SubscriptionItemFeaturesExpireInput, options?: WriteOptions): Promise<SubscriptionItemFeaturesExpireAnswer>;
}

export interface ResourceClaimsMethods {
  /** Claim units of a resource. Claims units by number or by name, all of them or none. Beyond the capacity of the subscription the request is refused with 400. A name that is already claimed is returned unchanged, even at full capacity. While a cancellation or a lower capacity is scheduled, affected new claims end with it. */
  claim(input: ResourceClaimsClaimInput, options?: WriteOptions): Promise<ResourceClaimsClaimAnswer>;

  /** List the claims of a subscription. Returns the active claims of a subscription, optionally of one resource, oldest first. The first page holds up to 1,000. */
  getClaims(input: ResourceClaimsGetClaimsInput, options?: CallOptions): Promise<ResourceClaimsGetClaimsAnswer>;

  /** Release claims of a resource. Releases claims by id, name or number, all of them or none. A number takes the oldest unnamed claims. If too few are unnamed, the request is refused with 400. */
  release(input: ResourceClaimsReleaseInput, options?: WriteOptions): Promise<ResourceClaimsReleaseAnswer>;

  /** Get the usage of a resource. Returns the capacity, the claims and the free units of one resource of a subscription. */
  getUsage(input: ResourceClaimsGetUsageInput, options?: CallOptions): Promise<ResourceClaimsGetUsageAnswer>;

  /** List the usage of resources. Returns the capacity and claims of each resource that a feature of the subscription is or was about. Slugs narrow the list, or else ids. */
  getUsages(input: ResourceClaimsGetUsagesInput, options?: CallOptions): Promise<ResourceClaimsGetUsagesAnswer>;
}

export interface EntitlementsMethods {
  /** Check what customers may use. Answers each check, in the order sent. A toggle is allowed if the customer has it; credits and places are allowed if enough are left. An unknown customer or feature is an answer and no error. Nothing is reserved: to reserve, consume, hold or claim. A renewal or an end that is due is done first. */
  check(input: EntitlementsCheckInput, options?: WriteOptions): Promise<EntitlementsCheckAnswer>;
}

export interface UsageCreditsMethods {
  /** Grant usage credits. Grants credits to a subscription or a customer by hand, for use from now on. Usage before the grant stays as it is. A customer without a subscription keeps them for the next one. Credits of a pool are of a customer, and usage of any of its subscriptions draws from them. A repeat with the same `transactionId` grants nothing and returns the first grant. */
  create(input: UsageCreditsCreateInput, options?: WriteOptions): Promise<UsageCreditsCreateAnswer>;

  /** List usage credits. Returns the usage credits of the environment, optionally of one subscription, usage meter or source. */
  list(input?: UsageCreditsListInput, options?: CallOptions): Promise<UsageCreditsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<UsageCreditsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<UsageCreditsListAnswer['data'][number], void, undefined>;

  /** Take back usage credits. Takes back all unused credits of a grant, or `amount` of them. More than is left is refused with 400, and so is what open holds have reserved. */
  takeBack(input: UsageCreditsTakeBackInput, options?: WriteOptions): Promise<UsageCreditsTakeBackAnswer>;

  /** Get a usage credit. Returns one grant of usage credits and what is left of it. */
  get(input: UsageCreditsGetInput, options?: CallOptions): Promise<UsageCreditsGetAnswer>;
}

export interface UsageEventsMethods {
  /** Record a usage event. Records that a subscription has used units of a usage meter, and books them on its balance. A customer may be named in its place: the usage is then of its one current subscription that has the meter. If the meter has an event with this `transactionId`, that event is returned and nothing is counted again. */
  create(input: UsageEventsCreateInput, options?: WriteOptions): Promise<UsageEventsCreateAnswer>;

  /** List usage events. Returns the usage events of the environment in the order of arrival, optionally of one customer, subscription, meter or range of time. `total` counts archived events too. */
  list(input?: UsageEventsListInput, options?: CallOptions): Promise<UsageEventsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<UsageEventsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<UsageEventsListAnswer['data'][number], void, undefined>;

  /** Record usage events in bulk. Records up to 10,000 events, all of them or none, and returns one event for each, in order. An event with an `eventName` counts on each usage meter that it matches: one event is stored and returned for each. A stored event with the same `transactionId` is returned and not counted again. A body of `application/x-ndjson` has one event in each line. With customers in several cells, each cell stores all of its events or none. A refusal then has the indexes of events that were stored in `stored`, and a repeat of the request counts none of them again. */
  bulk(input: UsageEventsBulkInput, options?: WriteOptions): Promise<UsageEventsBulkAnswer>;

  /** Consume units of a balance. Records a usage event only if the balance covers it, exactly under any number of parallel requests. Returns the event and the remaining balance. Otherwise nothing is stored, and the answer is 402 with the balance. An event that several usage meters count is recorded only if the balance of each covers its part. A stored event with the same `transactionId` is returned and not counted again. */
  consume(input: UsageEventsConsumeInput, options?: WriteOptions): Promise<UsageEventsConsumeAnswer>;

  /** Follow usage events. Streams server-sent events with the usage events of a meter as they arrive, each within about two seconds. `arrived` has the newest first in `usageEvents`, at most 50 a second; `skipped` says that there were more. The stream begins with those of the last ten seconds. It ends after `seconds`, and when the caller is signed out or the key is revoked. After another start an event may come again: its id tells. */
  getTail(input: UsageEventsGetTailInput, options?: CallOptions): Promise<string>;

  /** Get a usage event. Returns one usage event with its amount, properties and billing period. */
  get(input: UsageEventsGetInput, options?: CallOptions): Promise<UsageEventsGetAnswer>;

  /** Get the ledger entry of a usage event. Returns the entry that booked the event, and the credits that paid for it. An entry may book several events of one request. Where a credit pool paid for some of the event, it is the entry of that part. It is `null` if the event counted nothing. */
  getLedgerEntry(input: UsageEventsGetLedgerEntryInput, options?: CallOptions): Promise<UsageEventsGetLedgerEntryAnswer>;
}

export interface HoldsMethods {
  /** Hold units. Reserves units before a long job if the balance covers them, exactly under any number of parallel requests. Otherwise the answer is 402 with the balance. The balance stays lower until the hold is settled, released or expires, also in later billing periods. Credits that expire meanwhile are not kept. A subscription has at most 1000 open holds on a meter. */
  create(input: HoldsCreateInput, options?: WriteOptions): Promise<HoldsCreateAnswer>;

  /** List holds. Returns the holds of the environment, optionally of one subscription, usage meter or status. */
  list(input?: HoldsListInput, options?: CallOptions): Promise<HoldsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<HoldsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<HoldsListAnswer['data'][number], void, undefined>;

  /** Get a hold. Returns one hold with its amount, expiry and status. */
  get(input: HoldsGetInput, options?: CallOptions): Promise<HoldsGetAnswer>;

  /** Settle a hold. Releases the hold and records the units used, with the id of the hold as `transactionId`. An amount of 0 records nothing. The amount may exceed the hold, and an expired hold can still be settled. A repeat with the same amount is answered as the first; another amount is refused with 409. Once the subscription has ended, a hold can only be released. */
  settle(input: HoldsSettleInput, options?: WriteOptions): Promise<HoldsSettleAnswer>;

  /** Release a hold. Frees the held units without recording any use. A repeat is answered as the first. A released hold cannot be settled later. */
  release(input: HoldsReleaseInput, options?: WriteOptions): Promise<HoldsReleaseAnswer>;
}

export interface InvoicesMethods {
  /** Preview the next invoice of a subscription. Returns the next invoice as it would be now: that of usage by an interval of its own, of a scheduled end, or of a renewal with the items of the next period. It has no id, number or billing period. If none will follow, the request is refused with 400. */
  getUpcoming(input: InvoicesGetUpcomingInput, options?: CallOptions): Promise<InvoicesGetUpcomingAnswer>;

  /** List invoices. Returns the invoices of the environment, optionally of one customer, subscription, purchase, type, status or number, or those that are past due. */
  list(input?: InvoicesListInput, options?: CallOptions): Promise<InvoicesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<InvoicesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<InvoicesListAnswer['data'][number], void, undefined>;

  /** Write an invoice. Writes a one-off invoice as a draft, with lines at amounts of their own or at prices. A draft has no number, and the customer does not see it. Its amounts are those of now: tax, seller and buyer are taken again when it is finalized. */
  create(input: InvoicesCreateInput, options?: WriteOptions): Promise<InvoicesCreateAnswer>;

  /** Get an invoice. Returns one invoice with its lines and, once it is finalized, `hostedInvoiceUrl`: the page on which it is paid. */
  get(input: InvoicesGetInput, options?: CallOptions): Promise<InvoicesGetAnswer>;

  /** Change a draft. Changes a draft. Absent fields keep their value, null removes one, and `lines` replaces all lines. Of a finalized invoice only `metadata` changes, if it is sent alone. */
  update(input: InvoicesUpdateInput, options?: WriteOptions): Promise<InvoicesUpdateAnswer>;

  /** Delete a draft. Deletes a draft with its lines, and returns its last values. A finalized invoice is voided instead. */
  delete(input: InvoicesDeleteInput, options?: WriteOptions): Promise<InvoicesDeleteAnswer>;

  /** Add lines to a draft. Adds lines to a draft. Discount and tax are computed again for all of it. */
  createLine(input: InvoicesCreateLineInput, options?: WriteOptions): Promise<InvoicesCreateLineAnswer>;

  /** Take a line off a draft. Deletes a line of a draft. Discount and tax are computed again for the rest. */
  deleteLines(input: InvoicesDeleteLinesInput, options?: WriteOptions): Promise<InvoicesDeleteLinesAnswer>;

  /** Finalize a draft. Gives a draft its number and its due date. The balance of its customer pays what it can, and `autoCollect` charges the rest before the answer; a declined charge leaves the invoice open. A repeat returns the invoice unchanged. */
  finalize(input: InvoicesFinalizeInput, options?: WriteOptions): Promise<InvoicesFinalizeAnswer>;

  /** Send an invoice. Marks an invoice as sent to its customer, publishes `invoice.sent`, and returns `hostedInvoiceUrl`, the page on which it is paid. Finalize a draft before. */
  send(input: InvoicesSendInput, options?: WriteOptions): Promise<InvoicesSendAnswer>;

  /** Explain an invoice. Returns the inputs of each line, the discount and the tax, with the exact value before each rounding. Every amount can be computed again from the answer. */
  explain(input: InvoicesExplainInput, options?: CallOptions): Promise<InvoicesExplainAnswer>;

  /** Void an invoice. Takes back an open invoice, and its usage is billed with the next one. An invoice that is paid in part or has a payment in progress is refused. */
  void(input: InvoicesVoidInput, options?: WriteOptions): Promise<InvoicesVoidAnswer>;

  /** Write off an invoice. Marks an open invoice as uncollectible, so that no payment is attempted. Its usage stays billed. */
  markUncollectible(input: InvoicesMarkUncollectibleInput, options?: WriteOptions): Promise<InvoicesMarkUncollectibleAnswer>;

  /** Record a payment from outside. Records money that arrived by bank transfer or in cash for an open invoice, in part or in full. Returns the invoice and the payment. Send an `Idempotency-Key`, so that a repeat is not recorded twice. */
  recordPayment(input: InvoicesRecordPaymentInput, options?: WriteOptions): Promise<InvoicesRecordPaymentAnswer>;

  /** Pay an invoice. Charges the amount due on an open invoice before the answer, also after its subscription has ended. A failed charge is answered with 402, and the invoice stays open. From the due date on it counts as an attempt. A charge that takes longer is returned in its present status. */
  pay(input: InvoicesPayInput, options?: WriteOptions): Promise<InvoicesPayAnswer>;

  /** Credit an invoice. Takes back part of an invoice by a credit note: an amount or a quantity of each named line, with its shares of discount and tax. Credit notes never exceed a line, even if requested in parallel. `settle` decides: a `refund` returns money of one payment of the invoice, an `offset` lowers the amount due. A refund that fails voids its credit note. With `dryRun=true` this is the preview. */
  createCreditNote(input: InvoicesCreateCreditNoteInput, options?: WriteOptions): Promise<InvoicesCreateCreditNoteAnswer>;

  /** Get an invoice as a page. Returns the invoice as a page of HTML for printing. */
  getHtml(input: InvoicesGetHtmlInput, options?: CallOptions): Promise<string>;

  /** Get an invoice as PDF. Returns the invoice as a PDF document. */
  getPdf(input: InvoicesGetPdfInput, options?: CallOptions): Promise<Uint8Array>;

  /** Get the receipt of an invoice as a page. Returns the receipt of the last payment of an invoice as a page of HTML for printing. */
  getReceiptHtml(input: InvoicesGetReceiptHtmlInput, options?: CallOptions): Promise<string>;

  /** Get the receipt of an invoice as PDF. Returns the receipt of the last payment of an invoice as a PDF document. */
  getReceiptPdf(input: InvoicesGetReceiptPdfInput, options?: CallOptions): Promise<Uint8Array>;
}

export interface InvoiceLineItemsMethods {
  /** List invoice lines. Returns the lines of invoices, optionally those of one invoice or customer. */
  list(input?: InvoiceLineItemsListInput, options?: CallOptions): Promise<InvoiceLineItemsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<InvoiceLineItemsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<InvoiceLineItemsListAnswer['data'][number], void, undefined>;

  /** Get an invoice line. Returns one line of an invoice with its quantity, price and amount. */
  get(input: InvoiceLineItemsGetInput, options?: CallOptions): Promise<InvoiceLineItemsGetAnswer>;
}

export interface CreditNotesMethods {
  /** List credit notes. Returns the credit notes of the environment, optionally of one customer, invoice, payment or status. */
  list(input?: CreditNotesListInput, options?: CallOptions): Promise<CreditNotesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CreditNotesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CreditNotesListAnswer['data'][number], void, undefined>;

  /** Get a credit note. Returns one credit note with its lines. */
  get(input: CreditNotesGetInput, options?: CallOptions): Promise<CreditNotesGetAnswer>;

  /** Explain a credit note. Returns the inputs of each line, with the exact shares of discount and tax before their rounding. Every amount can be computed again from the answer. */
  explain(input: CreditNotesExplainInput, options?: CallOptions): Promise<CreditNotesExplainAnswer>;

  /** Void a credit note. Takes back a credit note that is not settled: an offset of an invoice that is not yet paid. The amount is due again, its lines may be credited again, and the number stays used. */
  void(input: CreditNotesVoidInput, options?: WriteOptions): Promise<CreditNotesVoidAnswer>;

  /** Get a credit note as a page. Returns the credit note as a page of HTML for printing. */
  getHtml(input: CreditNotesGetHtmlInput, options?: CallOptions): Promise<string>;

  /** Get a credit note as PDF. Returns the credit note as a PDF document. */
  getPdf(input: CreditNotesGetPdfInput, options?: CallOptions): Promise<Uint8Array>;
}

export interface CustomerBalancesMethods {
  /** Adjust the balance of a customer. Adds money to the balance of a customer, or takes some off it, in the currency of the environment. The balance pays for the next invoices of periods and usage, oldest first, and `balanceApplied` on them says how much. Send an `Idempotency-Key`, so that a repeat is not booked twice. */
  adjust(input: CustomerBalancesAdjustInput, options?: WriteOptions): Promise<CustomerBalancesAdjustAnswer>;

  /** List the balances of customers. Returns the balances in money, optionally of one customer: one for each currency. */
  list(input?: CustomerBalancesListInput, options?: CallOptions): Promise<CustomerBalancesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CustomerBalancesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CustomerBalancesListAnswer['data'][number], void, undefined>;

  /** Get the balance of a customer. Returns one balance and what was added and taken. */
  get(input: CustomerBalancesGetInput, options?: CallOptions): Promise<CustomerBalancesGetAnswer>;

  /** List the entries of a balance. Returns the entries of a balance in the order in which they were booked. */
  listEntries(input: CustomerBalancesListEntriesInput, options?: CallOptions): Promise<CustomerBalancesListEntriesAnswer>;

  /** Every row that `listEntries` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAllEntries(input: Omit<CustomerBalancesListEntriesInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CustomerBalancesListEntriesAnswer['data'][number], void, undefined>;
}

export interface ExportsMethods {
  /** Export records as CSV. Streams the records of a kind as CSV, oldest first, with a line of column names. Amounts are in minor units, and instants in ISO 8601. A text that a spreadsheet would take for a formula has an apostrophe before it. The file is read page by page: a record that is made or changed meanwhile may be in it or not. */
  get(input: ExportsGetInput, options?: CallOptions): Promise<string>;
}

export interface InvoiceItemsMethods {
  /** Add a line to the next invoice. Stores a line that the next renewal of the customer, or of one subscription, takes onto its invoice. The last invoice of that subscription takes it too. An item is on one invoice at most; a void invoice gives it back. */
  create(input: InvoiceItemsCreateInput, options?: WriteOptions): Promise<InvoiceItemsCreateAnswer>;

  /** List invoice items. Returns pending and invoiced items of the environment, optionally of one customer or subscription. */
  list(input?: InvoiceItemsListInput, options?: CallOptions): Promise<InvoiceItemsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<InvoiceItemsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<InvoiceItemsListAnswer['data'][number], void, undefined>;

  /** Get an invoice item. Returns one invoice item. */
  get(input: InvoiceItemsGetInput, options?: CallOptions): Promise<InvoiceItemsGetAnswer>;

  /** Change an invoice item. Writes the line of a pending item again, all of it. Its customer and subscription stay. */
  update(input: InvoiceItemsUpdateInput, options?: WriteOptions): Promise<InvoiceItemsUpdateAnswer>;

  /** Delete an invoice item. Deletes a pending item, and returns its last values. */
  delete(input: InvoiceItemsDeleteInput, options?: WriteOptions): Promise<InvoiceItemsDeleteAnswer>;
}

export interface TaxRatesMethods {
  /** Create a tax rate. Creates a tax rate for a country or one of its states, which takes precedence. It applies while the setting `taxProvider` is `rates`. A second active rate for the same place is refused with 409. */
  create(input: TaxRatesCreateInput, options?: WriteOptions): Promise<TaxRatesCreateAnswer>;

  /** List tax rates. Returns the tax rates of the environment. */
  list(input?: TaxRatesListInput, options?: CallOptions): Promise<TaxRatesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<TaxRatesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<TaxRatesListAnswer['data'][number], void, undefined>;

  /** Get a tax rate. Returns one tax rate with its place and percentage. */
  get(input: TaxRatesGetInput, options?: CallOptions): Promise<TaxRatesGetAnswer>;

  /** Update a tax rate. Changes the fields that are sent. Existing invoices keep the rate with which they were created. */
  update(input: TaxRatesUpdateInput, options?: WriteOptions): Promise<TaxRatesUpdateAnswer>;

  /** Delete a tax rate. Deletes a tax rate and returns it as it was. Existing invoices keep the rate with which they were created. */
  delete(input: TaxRatesDeleteInput, options?: WriteOptions): Promise<TaxRatesDeleteAnswer>;
}

export interface PurchasesMethods {
  /** List purchases. Returns each purchase, whatever its outcome. */
  list(input?: PurchasesListInput, options?: CallOptions): Promise<PurchasesListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PurchasesListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PurchasesListAnswer['data'][number], void, undefined>;

  /** Create a purchase. Sells a product to a customer on a saved payment method, in one call and without a page. What is due is charged before the answer. A declined charge is 402 with the reason and the failed `purchase`: nothing is bought, and a free plan goes on. Another request for the same price tries that purchase again. A purchase whose payment takes time is `pending`. With net terms a customer without a payment method is sent an invoice, and the purchase is `open` until it is paid. */
  create(input: PurchasesCreateInput, options?: WriteOptions): Promise<PurchasesCreateAnswer>;

  /** Get a purchase. Returns one purchase with its status and price. */
  get(input: PurchasesGetInput, options?: CallOptions): Promise<PurchasesGetAnswer>;
}

export interface CheckoutSessionsMethods {
  /** List checkout sessions. Returns the checkout sessions of the environment, optionally of one customer, price, type or status. */
  list(input?: CheckoutSessionsListInput, options?: CallOptions): Promise<CheckoutSessionsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<CheckoutSessionsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<CheckoutSessionsListAnswer['data'][number], void, undefined>;

  /** Create a checkout session. Returns a `url` to send the buyer to: a page to pay for a product, activate a subscription, or add a payment method. The page leads on to `successUrl` or `cancelUrl`. The link is valid for 24 hours, and anyone who has it may pay. */
  create(input: CheckoutSessionsCreateInput, options?: WriteOptions): Promise<CheckoutSessionsCreateAnswer>;

  /** Get a checkout session. Returns one checkout session and its link. */
  get(input: CheckoutSessionsGetInput, options?: CallOptions): Promise<CheckoutSessionsGetAnswer>;
}

export interface PaymentsMethods {
  /** List payments. Returns the payments of the environment, optionally of one customer, invoice, subscription or status. */
  list(input?: PaymentsListInput, options?: CallOptions): Promise<PaymentsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PaymentsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PaymentsListAnswer['data'][number], void, undefined>;

  /** Get a payment. Returns one payment with its status and the amount refunded. */
  get(input: PaymentsGetInput, options?: CallOptions): Promise<PaymentsGetAnswer>;

  /** Refund a payment. Returns the money of a succeeded payment in full, or `partialAmount` of it. Refunds never exceed the payment, even if requested in parallel. A payment that is refunded already is refused with 400. Unused credits of a top-up are taken back in proportion to the refund, and `credits` says how many were used. */
  refund(input: PaymentsRefundInput, options?: WriteOptions): Promise<PaymentsRefundAnswer>;

  /** Get a receipt as a page. Returns the receipt of a payment as a page of HTML for printing. */
  getHtml(input: PaymentsGetHtmlInput, options?: CallOptions): Promise<string>;

  /** Get a receipt as PDF. Returns the receipt of a payment as a PDF document. */
  getPdf(input: PaymentsGetPdfInput, options?: CallOptions): Promise<Uint8Array>;
}

export interface PaymentMethodsMethods {
  /** List payment methods. Returns the payment methods of customers, optionally of one customer. */
  list(input?: PaymentMethodsListInput, options?: CallOptions): Promise<PaymentMethodsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<PaymentMethodsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<PaymentMethodsListAnswer['data'][number], void, undefined>;

  /** Attach a payment method. Attaches a payment method to a customer, whose first one becomes the default. A method that is declined is refused with 402. In test mode, `token` is a test token of Stripe, such as `pm_card_visa` or `pm_card_chargeCustomerFail`. With Stripe, it is the id of a payment method there. */
  create(input: PaymentMethodsCreateInput, options?: WriteOptions): Promise<PaymentMethodsCreateAnswer>;

  /** Get a payment method. Returns one payment method with its type and the details of the card or account. */
  get(input: PaymentMethodsGetInput, options?: CallOptions): Promise<PaymentMethodsGetAnswer>;

  /** Update a payment method. Changes the billing details or metadata of a payment method, or makes it the default of its customer. Number and expiry are known to the processor: attach the card again to renew them. */
  update(input: PaymentMethodsUpdateInput, options?: WriteOptions): Promise<PaymentMethodsUpdateAnswer>;

  /** Delete a payment method. Deletes a payment method, here and at the processor. The oldest other one becomes the default if it was that. One that a running subscription names is refused with 409: name another one there first. So is one with a payment in flight. */
  delete(input: PaymentMethodsDeleteInput, options?: WriteOptions): Promise<PaymentMethodsDeleteAnswer>;
}

export interface WebhooksMethods {
  /** Create a webhook. Registers an address that receives the events of a pricing model. Returns the webhook and the secret that signs its messages, which is never shown again. An empty `filterTypes` stands for all event types but `usage_balance.low`, `customer.erased`, `attempts.limit_reached` and those of credit notes. */
  create(input: WebhooksCreateInput, options?: WriteOptions): Promise<WebhooksCreateAnswer>;

  /** List webhooks. Returns the webhooks of the environment, without their secrets. */
  list(input?: WebhooksListInput, options?: CallOptions): Promise<WebhooksListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<WebhooksListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<WebhooksListAnswer['data'][number], void, undefined>;

  /** Update a webhook. Changes the fields that are sent. To enable a webhook that the service has disabled, set `active` to `true`. Events that it missed meanwhile are not sent by themselves: replay them. */
  update(input: WebhooksUpdateInput, options?: WriteOptions): Promise<WebhooksUpdateAnswer>;

  /** Get a webhook. Returns one webhook, without its secret. */
  get(input: WebhooksGetInput, options?: CallOptions): Promise<WebhooksGetAnswer>;

  /** Delete a webhook. Deletes a webhook with its deliveries, and returns it as it was. Messages that are waiting are not sent. */
  delete(input: WebhooksDeleteInput, options?: WriteOptions): Promise<WebhooksDeleteAnswer>;

  /** Rotate the secret of a webhook. Returns a new secret, which is never shown again. For 24 hours, messages are signed with the old and the new secret. Another rotation within that time ends the older of the two at once. */
  rotateSecret(input: WebhooksRotateSecretInput, options?: WriteOptions): Promise<WebhooksRotateSecretAnswer>;

  /** List the deliveries of a webhook. Returns the deliveries of a webhook, optionally of one event, event type, object, customer or status. */
  listDeliveries(input: WebhooksListDeliveriesInput, options?: CallOptions): Promise<WebhooksListDeliveriesAnswer>;

  /** Every row that `listDeliveries` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAllDeliveries(input: Omit<WebhooksListDeliveriesInput, 'cursor'>, options?: CallOptions): AsyncGenerator<WebhooksListDeliveriesAnswer['data'][number], void, undefined>;

  /** Send a sample message. Sends one message that looks like an event of the type, whatever the filter of the webhook. Its ids end in `sample` and name no records. Returns the delivery, which shows the outcome later. */
  test(input: WebhooksTestInput, options?: WriteOptions): Promise<WebhooksTestAnswer>;

  /** Replay events. Sends the events of the pricing model from `since` to `until` again, in order and with their ids. Events from before the webhook or while it was inactive are included. Deliveries that wait for their next attempt are left alone and not counted. */
  replay(input: WebhooksReplayInput, options?: WriteOptions): Promise<WebhooksReplayAnswer>;
}

export interface DeliveriesMethods {
  /** Get a delivery. Returns one delivery with its attempts of the last 30 days, newest last, at most 100. */
  get(input: DeliveriesGetInput, options?: CallOptions): Promise<DeliveriesGetAnswer>;

  /** Retry a delivery. Sends the message again now, even if it was delivered before. If the attempt fails, the message is retried like a new one. */
  retry(input: DeliveriesRetryInput, options?: WriteOptions): Promise<DeliveriesRetryAnswer>;
}

export interface EventsMethods {
  /** List events. Returns the events of the environment, optionally of one type, object or customer. */
  list(input?: EventsListInput, options?: CallOptions): Promise<EventsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<EventsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<EventsListAnswer['data'][number], void, undefined>;

  /** Get an event. Returns one event with its payload. */
  get(input: EventsGetInput, options?: CallOptions): Promise<EventsGetAnswer>;
}

export interface EmailsMethods {
  /** List emails. Returns the emails to customers, optionally of one customer, event, template or status. Settings decide whether events cause emails. */
  list(input?: EmailsListInput, options?: CallOptions): Promise<EmailsListAnswer>;

  /** Every row that `list` lists, page after page; `limit` is the size of a page, 100 when absent. */
  listAll(input?: Omit<EmailsListInput, 'cursor'>, options?: CallOptions): AsyncGenerator<EmailsListAnswer['data'][number], void, undefined>;

  /** Get an email. Returns one email to a customer. */
  get(input: EmailsGetInput, options?: CallOptions): Promise<EmailsGetAnswer>;

  /** Resend an email. Queues the same email again, to the present address of the customer and with the present texts. It is an email of its own, and names the first one in `resentFrom`. */
  resend(input: EmailsResendInput, options?: WriteOptions): Promise<EmailsResendAnswer>;
}

export interface EmailTemplatesMethods {
  /** Preview an email. Returns an email as customers would get it now, with values of an example. */
  getPreview(input: EmailTemplatesGetPreviewInput, options?: CallOptions): Promise<EmailTemplatesGetPreviewAnswer>;
}

export interface TestClockMethods {
  /** Get the test clock. Returns the time of the environment, and whether it is frozen. */
  get(input?: Record<string, never>, options?: CallOptions): Promise<TestClockGetAnswer>;

  /** Set the test clock. Freezes the time of test mode at `now`, or moves it forward, and carries out everything that falls due on the way, in order. Returns the new time and a count of the work done. Time stands still until it is moved again. With subscriptions in place, an earlier time is refused with 400. */
  update(input: TestClockUpdateInput, options?: WriteOptions): Promise<TestClockUpdateAnswer>;
}

export interface AnalyticsMethods {
  /** Report the monthly recurring revenue. Returns the monthly recurring revenue (MRR) and its movements over time, at each past instant as it was then. Trials, pauses, unpaid subscriptions, setup fees, usage and tax count nothing. */
  getMrr(input?: AnalyticsGetMrrInput, options?: CallOptions): Promise<AnalyticsGetMrrAnswer>;

  /** Report churn. Returns the customers and the recurring revenue that were lost over time, and their rates. */
  getChurn(input?: AnalyticsGetChurnInput, options?: CallOptions): Promise<AnalyticsGetChurnAnswer>;

  /** Report retention. Returns the part of the recurring revenue that was kept at each point, and that of the customers of each point since. In the currency of the environment, with at most 60 points. */
  getRetention(input?: AnalyticsGetRetentionInput, options?: CallOptions): Promise<AnalyticsGetRetentionAnswer>;

  /** Report revenue. Returns the net amounts of invoices and credit notes over time, with tax apart, and the money that was collected and refunded. */
  getRevenue(input?: AnalyticsGetRevenueInput, options?: CallOptions): Promise<AnalyticsGetRevenueAnswer>;

  /** Report payments. Returns the payments that succeeded and failed over time, and those that a later attempt recovered. */
  getPayments(input?: AnalyticsGetPaymentsInput, options?: CallOptions): Promise<AnalyticsGetPaymentsAnswer>;

  /** Report usage. Returns the units and events of every usage meter over time, from the roll-ups of whole hours. */
  getUsage(input?: AnalyticsGetUsageInput, options?: CallOptions): Promise<AnalyticsGetUsageAnswer>;

  /** Count what needs attention. Returns the numbers of records that somebody should look at, each up to 1,000. */
  getAttention(input?: Record<string, never>, options?: CallOptions): Promise<AnalyticsGetAttentionAnswer>;

  /** Report the health of the service. Returns the versions, the work of the environment that is due, and the last check of all invariants. It tells nothing about other environments. */
  getHealth(input?: Record<string, never>, options?: CallOptions): Promise<AnalyticsGetHealthAnswer>;
}

export interface SearchMethods {
  /** Search records. Finds up to 5 records of each type, the newest first. Customers are found by a part of their name, e-mail address or external id, and their subscriptions with them. Products and prices are found by a part of their name or slug, invoices by the beginning of their number. Any of these, payments and credit notes are found by their id. */
  list(input: SearchListInput, options?: CallOptions): Promise<SearchListAnswer>;
}
