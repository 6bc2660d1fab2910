import assert from 'node:assert/strict';
import type { Work } from '../../src/database/work.ts';
import { createInvoices } from '../../src/invoicing/actions.ts';
import type { InvoiceDiscount } from '../../src/invoicing/invoice.ts';
import { itemLine, type NewLine } from '../../src/invoicing/invoice-line-item.ts';
import type { NewInvoice } from '../../src/invoicing/new-invoice.ts';
import type { InvoiceRow } from '../../src/invoicing/store.ts';
import { anyId } from './any-id.ts';
import type { TestApp } from './harness.ts';

/** Who is billed. */
export interface Billed {
  readonly pricingModelId: string;
  readonly customerId: string;
}

/** A line of so many at a price, of no item in particular. */
export function staticLine(quantity: number, price: bigint, description: string | null = null): NewLine {
  const item = { id: 'none', priceId: null, name: description, unitPrice: price, pricing: null, quantity };
  return { ...itemLine(item, null), type: 'static', quantity, price, subscriptionItemId: null };
}

/** What an invoice is of that belongs to no subscription and is due now. */
export function standalone(work: Work, payer: Billed, lines: readonly NewLine[]): NewInvoice {
  return {
    customerId: payer.customerId,
    pricingModelId: payer.pricingModelId,
    subscriptionId: null,
    billingPeriod: null,
    reason: 'adjustment',
    currency: 'USD',
    lines,
    invoiceDate: work.now,
    dueDate: work.now,
    discounts: [],
    tax: null,
    seller: null,
  };
}

/** One invoice. */
export async function createInvoice(work: Work, request: NewInvoice): Promise<InvoiceRow> {
  const [invoice] = await createInvoices(work, [request]);
  assert(invoice);
  return invoice;
}

/** A discount that the fixture's subscription redeemed, as its invoices carry it. Null: one invoice redeems it for itself. */
export async function insertRedemption(
  app: TestApp,
  { pricingModelId, customerId, subscriptionId }: Billed & { readonly subscriptionId: string | null },
  terms: {
    readonly amountType: InvoiceDiscount['kind'];
    readonly amount: bigint;
    readonly duration?: 'forever' | 'once';
    readonly position?: number;
  },
): Promise<InvoiceDiscount> {
  const [discountId, redemptionId] = [anyId('discount'), anyId('discountRedemption')];
  const code = discountId.slice(-12).toUpperCase();
  const { position = 1, ...ofDiscount } = terms;
  const discount = {
    ...{ environmentId: app.testEnvironmentId, createdAt: 0, updatedAt: 0, pricingModelId, name: 'Less', code },
    ...{ duration: 'forever', ...ofDiscount },
  };
  await app.owner
    .insertInto('discounts')
    .values({ ...discount, id: discountId, active: true })
    .execute();
  await app.copyCatalogs();
  await app.owner
    .insertInto('discountRedemptions')
    .values({ ...discount, id: redemptionId, discountId, customerId, subscriptionId, position })
    .execute();
  return { redemptionId, code, kind: terms.amountType, amount: terms.amount };
}

/** An open invoice of one line. */
export function newInvoice(app: TestApp, payer: Billed, price: bigint): Promise<InvoiceRow> {
  return app.inEnvironment((work) => createInvoice(work, standalone(work, payer, [staticLine(1, price, 'Once')])));
}

/** A ledger account for usage lines to name. */
export async function newLedgerAccount(
  app: TestApp,
  fixture: { pricingModelId: string; subscriptionId: string; meterId: string },
): Promise<string> {
  const id = anyId('ledgerAccount');
  await app.owner
    .insertInto('ledgerAccounts')
    .values({
      environmentId: app.testEnvironmentId,
      id,
      pricingModelId: fixture.pricingModelId,
      subscriptionId: fixture.subscriptionId,
      subscriptionRevision: 0,
      usageMeterId: fixture.meterId,
      createdAt: 0,
      updatedAt: 0,
    })
    .execute();
  return id;
}
