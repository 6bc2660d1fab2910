import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { Seller } from '../organizations/setting.ts';
import {
  decideNewInvoice,
  type InvoiceDiscount,
  type InvoiceMoney,
  type InvoiceReason,
  type TaxQuote,
} from './invoice.ts';
import { invoiceAmounts } from './invoice-amounts.ts';
import { type DraftLine, type NewLine, priceLine } from './invoice-line-item.ts';

/** An invoice to be made. */
export interface NewInvoice {
  readonly customerId: string;
  readonly pricingModelId: string;
  /** Null for an invoice that belongs to no subscription. */
  readonly subscriptionId: string | null;
  /** Of what is paid once; null or absent: none. */
  readonly purchaseId?: string | null;
  readonly billingPeriod: { readonly id: string; readonly startAt: Instant; readonly endAt: Instant } | null;
  readonly reason: InvoiceReason;
  readonly currency: CurrencyCode;
  readonly lines: readonly NewLine[];
  /** When what it bills came due, which may be earlier than now. */
  readonly invoiceDate: Instant;
  readonly dueDate: Instant;
  readonly discount: InvoiceDiscount | null;
  readonly tax: TaxQuote | null;
  readonly seller: Seller | null;
}

/** The money of an invoice that is not numbered yet, in minor units. */
interface DraftMoney extends InvoiceMoney {
  readonly subtotal: bigint;
  readonly taxAmount: bigint;
  readonly discountAmount: bigint;
}

/** An invoice with everything reckoned, before it has an id and a number. */
export interface InvoiceDraft extends DraftMoney {
  readonly request: NewInvoice;
  /** The discount that the invoice carries. */
  readonly discount: InvoiceDiscount | null;
  readonly lines: readonly DraftLine[];
}

/**
 * Reckons an invoice. Its lines add up to zero or more. A discount that has nothing to be taken off is not carried, so
 * it is not used up. Refuses with `invoiceTooLarge`.
 */
export function draftInvoice(request: NewInvoice): InvoiceDraft {
  const lines = request.lines.map(priceLine);
  const lineAmounts = lines.map((line) => line.amount);
  const { sum, subtotal, taxAmount, discountAmount, shares, total } = invoiceAmounts(
    lineAmounts,
    request.discount,
    request.tax,
  );
  return {
    ...decideNewInvoice(total),
    request,
    subtotal,
    taxAmount,
    discountAmount,
    discount: sum > 0n ? request.discount : null,
    lines: lines.map((line, index) => ({ ...line, ...(shares[index] ?? { discountAmount: 0n, taxAmount: 0n }) })),
  };
}
