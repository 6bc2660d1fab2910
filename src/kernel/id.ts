import assert from 'node:assert/strict';
import { z } from 'zod';

/** Every kind of record and the prefix that its ids carry. */
export const idPrefixes = {
  organization: 'org',
  apiKey: 'apikey',
  user: 'user',
  session: 'session',
  account: 'account',
  invitation: 'invitation',
  signInProvider: 'sign_in_provider',
  pricingModel: 'pricing_model',
  product: 'prod',
  price: 'price',
  feature: 'feature',
  productFeature: 'product_feature',
  usageMeter: 'usage_meter',
  creditPool: 'credit_pool',
  creditPoolRate: 'pool_rate',
  resource: 'resource',
  customer: 'cust',
  subscription: 'sub',
  subscriptionItem: 'si',
  subscriptionItemFeature: 'sub_feature',
  subscriptionItemVersion: 'si_version',
  subscriptionAdjustment: 'sub_adjustment',
  subscriptionPriceOverride: 'sub_price',
  billingPeriod: 'billing_period',
  resourceClaim: 'res_claim',
  usageEvent: 'usage_event',
  usageHold: 'hold',
  usageCredit: 'usage_credit',
  spendLimit: 'spend_limit',
  ledgerAccount: 'la',
  ledgerTransaction: 'ledger_transaction',
  ledgerEntry: 'ledger_entry',
  invoice: 'inv',
  invoiceLineItem: 'inv_li',
  invoiceItem: 'inv_item',
  customerBalance: 'cust_balance',
  customerBalanceEntry: 'balance_entry',
  creditNote: 'cn',
  creditNoteLine: 'cn_line',
  payment: 'pym',
  paymentMethod: 'pm',
  refund: 'refund',
  purchase: 'prch',
  discount: 'discount',
  discountRedemption: 'discount_redemption',
  taxRate: 'tax_rate',
  checkoutSession: 'chckt_session',
  webhook: 'webhook',
  webhookDelivery: 'webhook_delivery',
  event: 'event',
  email: 'email',
} as const;

export type IdKind = keyof typeof idPrefixes;

/** The kinds of records that belong to one customer. */
export type SlotIdKind =
  | 'customer'
  | 'subscription'
  | 'subscriptionItem'
  | 'subscriptionItemFeature'
  | 'subscriptionItemVersion'
  | 'subscriptionAdjustment'
  | 'subscriptionPriceOverride'
  | 'billingPeriod'
  | 'resourceClaim'
  | 'usageEvent'
  | 'usageHold'
  | 'usageCredit'
  | 'spendLimit'
  | 'ledgerAccount'
  | 'ledgerEntry'
  | 'invoice'
  | 'invoiceLineItem'
  | 'invoiceItem'
  | 'customerBalance'
  | 'customerBalanceEntry'
  | 'creditNote'
  | 'creditNoteLine'
  | 'payment'
  | 'paymentMethod'
  | 'refund'
  | 'purchase'
  | 'discountRedemption'
  | 'checkoutSession'
  | 'event'
  | 'email';

/** The kinds of records that customers share. */
export type SharedIdKind = Exclude<IdKind, SlotIdKind>;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const timeLength = 8;
const randomLength = 5;
const counterLength = 6;
const slotLength = 2;
/** The number of ids that one process can create in a millisecond before it borrows the next one: 62^6. */
export const idsPerMillisecond = 62 ** counterLength;

/** `value` in base 62 with `length` digits. The digits are in byte order, so text order is number order. */
export function base62(value: number, length: number): string {
  assert(Number.isSafeInteger(value) && value >= 0);
  let text = '';
  let rest = value;
  for (let position = 0; position < length; position++) {
    const next = Math.floor(rest / 62);
    text = digits.charAt(rest - next * 62) + text;
    rest = next;
  }
  assert(rest === 0, `${value} does not fit into ${length} digits`);
  return text;
}

/**
 * An id: `<prefix>_` and 21 characters of 0-9A-Za-z, namely 8 of time, 5 of randomness, 6 of a counter and 2 of the slot. Ids sort
 * by creation, so indexes grow at one end.
 */
export function formatId(kind: IdKind, timeMs: number, random: number, counter: number): string {
  return continueId(kind, idStart(timeMs, random), counter, homeSlot);
}

/** The slot of records that belong to no customer. */
export const homeSlot = '00';

/** The number of slots besides that of home. */
export const slots = 62 ** slotLength - 1;

/** The slot to which any whole number leads. */
export function slotOfNumber(number: number): string {
  return base62(1 + (number % slots), slotLength);
}

/** The id of a record of another kind that is made together with this one, at most one of each. Both kinds sort alike. */
export function idBeside(kind: SlotIdKind, id: string): string {
  return `${idPrefixes[kind]}_${id.slice(id.lastIndexOf('_') + 1)}`;
}

/** The number of a slot, from 0 on. */
export function numberOfSlot(slot: string): number {
  return digits.indexOf(slot.charAt(0)) * 62 + digits.indexOf(slot.charAt(1)) - 1;
}

/** The slot of a record, by its id. */
export function slotOf(id: string): string {
  return id.slice(-slotLength);
}

/** The part that all ids of a process share within one millisecond. */
export function idStart(timeMs: number, random: number): string {
  return base62(timeMs, timeLength) + base62(random, randomLength);
}

/** An id from a start that was computed once for many ids. */
export function continueId(kind: IdKind, start: string, counter: number, slot: string): string {
  return `${idPrefixes[kind]}_${start}${base62(counter, counterLength)}${slot}`;
}

/** The largest random part plus one: 62^5. */
export const idRandomRange = 62 ** randomLength;

/** The schema of a record's id as clients see it: opaque text. Clients compare ids and never take them apart. */
export function idSchema<Kind extends IdKind>(kind: Kind) {
  return z
    .string()
    .min(1)
    .max(255)
    .meta({ example: `${idPrefixes[kind]}_0Bq3xZ9kQ2mW7vT1nR5yP` });
}
