import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { createInvoices } from '../invoicing/actions.ts';
import { quoteTaxes } from '../invoicing/actions-tax.ts';
import type { InvoiceDiscount } from '../invoicing/invoice.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import type { NewInvoice } from '../invoicing/new-invoice.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { addDays } from '../kernel/calendar.ts';
import { readSettings } from '../organizations/store-settings.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { itemName } from '../subscriptions/subscription-item.ts';

/** A single-payment purchase to bill. */
export interface PurchaseBill {
  readonly purchase: PurchaseRow;
  readonly price: Price;
  readonly product: Product;
  readonly discount: InvoiceDiscount | null;
  /** Whether it is charged immediately, so that net terms do not apply. */
  readonly isCharged: boolean;
}

/** Creates the invoice of a single-payment purchase, with discount, tax and due date. */
export async function issuePurchaseInvoice(
  work: Work,
  { purchase, price, product, discount, isCharged }: PurchaseBill,
): Promise<InvoiceRow> {
  const { id, customerId, pricingModelId, quantity } = purchase;
  const settings = await readSettings(work);
  const taxes = await quoteTaxes(work, settings, [customerId]);
  const [invoice] = await createInvoices(work, [
    {
      customerId,
      pricingModelId,
      subscriptionId: null,
      purchaseId: id,
      billingPeriod: null,
      reason: 'purchase',
      currency: work.currency as NewInvoice['currency'],
      lines: [lineOf(price, product, quantity)],
      invoiceDate: work.now,
      dueDate: isCharged ? work.now : addDays(work.now, settings.netTermsDays),
      discount,
      tax: taxes.get(customerId) ?? null,
      seller: settings.seller,
    },
  ]);
  assert(invoice, 'each request has its invoice');
  return invoice;
}

function lineOf({ id, unitPrice, name }: Price, product: Product, quantity: number): NewLine {
  return {
    type: 'static',
    quantity,
    price: unitPrice,
    priceId: id,
    subscriptionItemId: null,
    description: itemName(name ?? product.name, quantity),
    explanation: { kind: 'item', unitPrice, quantity, period: null, whole: null },
  };
}
