import type { Instant } from '../kernel/calendar.ts';
import { type CurrencyCode, chargedStep } from '../kernel/currency.ts';
import type { Metadata } from '../kernel/json.ts';
import type { Seller } from '../organizations/setting.ts';
import { invoiceAmounts } from '../rating/invoice-amounts.ts';
import {
  type AppliedDiscount,
  decideNewInvoice,
  type InvoiceDiscount,
  type InvoiceMoney,
  type InvoiceReason,
  type TaxQuote,
} from './invoice.ts';
import {
  type DraftLine,
  discountable,
  moneyOfExplanations,
  type NewLine,
  parseMoney,
  priceLine,
} from './invoice-line-item.ts';

/** A request for an invoice. */
export interface NewInvoice {
  readonly customerId: string;
  readonly pricingModelId: string;
  /** Null for an invoice without a subscription. */
  readonly subscriptionId: string | null;
  /** The purchase that is paid once; null or absent: none. */
  readonly purchaseId?: string | null;
  /** Its id is null while the period has not begun. */
  readonly billingPeriod: { readonly id: string | null; readonly startAt: Instant; readonly endAt: Instant } | null;
  readonly reason: InvoiceReason;
  readonly currency: CurrencyCode;
  readonly lines: readonly NewLine[];
  /** The date on which the billed items came due, which may be in the past. */
  readonly invoiceDate: Instant;
  /** Null while a draft has none. */
  readonly dueDate: Instant | null;
  /** In the order in which they lower it: each is computed on what the ones before it have left. */
  readonly discounts: readonly InvoiceDiscount[];
  readonly tax: TaxQuote | null;
  readonly seller: Seller | null;
  /** The time at which its draft is finalized. Null or absent: it is an invoice at once. */
  readonly finalizesAt?: Instant | null;
  /** Only of an invoice that somebody wrote or reviewed. */
  readonly written?: WrittenTerms;
}

/** The terms and texts of an invoice that somebody wrote. */
export interface WrittenTerms {
  readonly memo: string | null;
  readonly footer: string | null;
  readonly purchaseOrderNumber: string | null;
  readonly metadata: Metadata | null;
  readonly netTermsDays: number | null;
  /** Whether its finalization charges the customer. */
  readonly autoCollect: boolean;
}

const moneyOfRequests = new Set([...moneyOfExplanations, 'price', 'amount']);

/** Parses a request that waits for the first payment of its invoice. */
export function readNewInvoice(text: string): NewInvoice {
  // Only requests are ever written.
  return parseMoney(text, moneyOfRequests) as NewInvoice;
}

/** The amounts of an invoice without a number, in minor units. */
interface DraftMoney extends InvoiceMoney {
  readonly subtotal: bigint;
  readonly taxAmount: bigint;
  readonly discountAmount: bigint;
}

/** A fully computed invoice, before it has an id and a number. */
export interface InvoiceDraft extends DraftMoney {
  readonly request: NewInvoice;
  /** The discounts on the invoice, in order. */
  readonly discounts: readonly AppliedDiscount[];
  readonly lines: readonly DraftLine[];
}

/**
 * Computes an invoice. Its lines add up to zero or more. A discount without effect is left off, so that it is not used
 * up. Refuses with `invoiceTooLarge`.
 */
export function draftInvoice(request: NewInvoice): InvoiceDraft {
  const lines = request.lines.map(priceLine);
  const lineAmounts = lines.map((line) => line.amount);
  const { discounts, subtotal, taxAmount, discountAmount, shares, total } = invoiceAmounts(
    lineAmounts,
    request.discounts,
    request.tax,
    chargedStep(request.currency),
    lines.map(({ taxable }) => !taxable),
    lines.map(discountable),
  );
  return {
    ...decideNewInvoice(total),
    request,
    subtotal,
    taxAmount,
    discountAmount,
    discounts: request.discounts.flatMap((discount, index) => {
      const { base = 0n, amount: takenOff = 0n } = discounts[index] ?? {};
      return base > 0n ? { ...discount, takenOff } : [];
    }),
    lines: lines.map((line, index) => ({ ...line, ...(shares[index] ?? { discountAmount: 0n, taxAmount: 0n }) })),
  };
}
