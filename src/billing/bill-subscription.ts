import type { Work } from '../database/work.ts';
import { createInvoices } from '../invoicing/actions.ts';
import { quoteTaxes } from '../invoicing/actions-tax.ts';
import { fitUsage } from '../invoicing/fitting-lines.ts';
import type { InvoiceDiscount, InvoiceReason } from '../invoicing/invoice.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import { draftInvoice, type InvoiceDraft, type NewInvoice } from '../invoicing/new-invoice.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import {
  listActiveRedemptions,
  listDiscountsOfInvoices,
  listPercentOfPeriods,
} from '../invoicing/store-redemptions.ts';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listChargeableMethods } from '../payments/actions.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { releaseOverage } from '../usage/actions-ledger.ts';

/** What a subscription is to be billed. */
export interface Bill {
  readonly subscription: SubscriptionRow;
  readonly period: Pick<BillingPeriodRow, 'id' | 'startAt' | 'endAt'> | null;
  readonly reason: InvoiceReason;
  readonly lines: readonly NewLine[];
  /** When what it bills came due. */
  readonly at: Instant;
  /** The unpaid invoice of the period that it takes the place of; null or absent: none. */
  readonly replacedInvoiceId?: string | null;
}

/**
 * Makes the invoices of subscriptions: with the discount that each redeemed, the tax that its customer owes and the due
 * date of the environment's terms. What there is nothing to bill for (no lines) gets null. Usage that no payment could
 * carry is left to the next bill. What follows from one that is paid from the start is the caller's to see to
 * (`recordPaid`). As many statements for a thousand bills as for one.
 */
export async function issueBills(work: Work, bills: readonly Bill[]): Promise<(InvoiceRow | null)[]> {
  const asked = bills.filter((bill) => bill.lines.length > 0);
  const fitting = (await invoicesOf(work, asked)).map(fitted);
  const invoices = await createInvoices(
    work,
    fitting.map(({ request }) => request),
  );
  await releaseOverage(
    work,
    fitting.flatMap(({ left }) => left),
  );
  const made = new Map(asked.map((bill, index) => [bill, invoices[index] ?? null]));
  return bills.map((bill) => made.get(bill) ?? null);
}

/** What `issueBills` would ask for now, reckoned and not made. What there is nothing to bill for asks for 0. */
export async function composeBills(work: Work, bills: readonly Bill[]): Promise<InvoiceDraft[]> {
  return (await invoicesOf(work, bills)).map((request) => draftInvoice(fitted(request).request));
}

/** A change of plan is somebody's wish, and is refused where it is too large; what is due has to be billed. */
function fitted(request: NewInvoice): ReturnType<typeof fitUsage> {
  return request.reason === 'adjustment' ? { request, left: [] } : fitUsage(request);
}

async function invoicesOf(work: Work, bills: readonly Bill[]): Promise<NewInvoice[]> {
  if (bills.length === 0) return [];
  const subscriptions = [...new Map(bills.map(({ subscription }) => [subscription.id, subscription])).values()];
  const settings = await readSettings(work);
  const { netTermsDays, seller } = settings;
  const discountOf = await discountsOf(work, bills);
  const taxes = await quoteTaxes(work, settings, [...new Set(subscriptions.map(({ customerId }) => customerId))]);
  // Without terms every invoice is due at once, however it is paid.
  const charged = netTermsDays === 0 ? null : await listChargeableMethods(work, subscriptions);
  return bills.map((bill) => ({
    customerId: bill.subscription.customerId,
    pricingModelId: bill.subscription.pricingModelId,
    subscriptionId: bill.subscription.id,
    billingPeriod: bill.period,
    reason: bill.reason,
    currency: work.currency as NewInvoice['currency'],
    lines: bill.lines,
    invoiceDate: bill.at,
    dueDate: charged === null || charged.has(bill.subscription.id) ? bill.at : addDays(bill.at, netTermsDays),
    discount: discountOf(bill),
    tax: taxes.get(bill.subscription.customerId) ?? null,
    seller,
  }));
}

/**
 * Which discount a bill carries. A start and a renewal carry what the subscription redeemed as long as it lasts, and so
 * does usage left over at the end where it is per cent. A change of plan gets the per cent that its period's own
 * invoice carries: a fixed amount was given there already. One that takes the place of that invoice carries what that did.
 */
async function discountsOf(work: Work, bills: readonly Bill[]): Promise<(bill: Bill) => InvoiceDiscount | null> {
  const isAdjustment = ({ reason }: Bill) => reason === 'adjustment';
  const ids = bills.flatMap((bill) => (isAdjustment(bill) ? [] : bill.subscription.id));
  const active = await listActiveRedemptions(work, ids);
  const periodIds = bills.flatMap((bill) => (isAdjustment(bill) ? (bill.period?.id ?? []) : []));
  const ofPeriods = await listPercentOfPeriods(work, periodIds);
  const replacedIds = bills.flatMap(({ replacedInvoiceId }) => replacedInvoiceId ?? []);
  const ofReplaced = await listDiscountsOfInvoices(work, replacedIds);
  return ({ reason, subscription, period, replacedInvoiceId }) => {
    if (replacedInvoiceId) return ofReplaced.get(replacedInvoiceId) ?? null;
    if (reason === 'adjustment') return (period !== null && ofPeriods.get(period.id)) || null;
    const redeemed = active.get(subscription.id) ?? null;
    return reason === 'final_usage' && redeemed?.kind !== 'percent' ? null : redeemed;
  };
}
