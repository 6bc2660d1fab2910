import type { PrintedDocument } from '../documents/document.ts';
import { documentTexts, fillIn } from '../documents/document-text.ts';
import type { Instant } from '../kernel/calendar.ts';
import { localDay, localMoney } from '../kernel/language.ts';
import type { PaymentMethodData } from './payment-method.ts';

/** The data of a printed receipt. Money in minor units. */
interface ReceiptToPrint {
  readonly receiptNumber: string | null;
  readonly paidAt: Instant;
  readonly amount: bigint;
  readonly refundedAmount: bigint;
  readonly currency: string;
  /** Null where no payment method is stored, as for a bank transfer. */
  readonly method: PaymentMethodData | null;
}

/** Formats the receipt of a payment: the document of its invoice, with the payment in place of the amount due. */
export function receiptDocument(
  payment: ReceiptToPrint,
  invoice: PrintedDocument,
  {
    invoiceNumber,
    total,
    timeZone,
  }: { readonly invoiceNumber: string; readonly total: bigint; readonly timeZone: string },
): PrintedDocument {
  const { language } = invoice;
  const texts = documentTexts[language];
  const money = (amount: bigint) => localMoney(amount, payment.currency, language);
  const { receiptNumber, amount, refundedAmount, method } = payment;
  const date = localDay(payment.paidAt, language, timeZone);
  const fact = (label: string, value: string | null) => (value === null ? [] : [{ label, value }]);
  const row = (label: string, of: bigint, strong: boolean) => ({ label, amount: money(of), strong });
  // The rows up to the total derive it. The later ones tell what is due of the invoice now.
  const isTotal = ({ label, amount: shown }: PrintedDocument['sums'][number]) =>
    label === texts.total && shown === money(total);
  const derivation = invoice.sums.slice(0, invoice.sums.findIndex(isTotal) + 1);
  return {
    ...invoice,
    title: texts.receipt,
    number: receiptNumber,
    status:
      texts.statuses[refundedAmount === 0n ? 'paid' : refundedAmount < amount ? 'partially_refunded' : 'refunded'],
    facts: [
      ...fact(texts.receiptNumber, receiptNumber),
      ...fact(texts.paymentDate, date),
      ...fact(texts.paymentMethod, methodName(method)),
      ...fact(texts.invoiceNumber, invoiceNumber),
    ],
    headline: fillIn(texts.paidOn, { amount: money(amount), date }),
    sums: [
      ...derivation,
      row(texts.amountPaid, amount, true),
      ...(refundedAmount > 0n ? [row(texts.refunded, -refundedAmount, false)] : []),
    ],
    ...{ payment: null, annex: [] },
  };
}

/** For example `Visa •••• 4242`. */
function methodName(method: PaymentMethodData | null): string | null {
  const { brand, bankName, last4 } = method ?? {};
  const name = String(brand ?? bankName ?? '').replace(/^./, (first) => first.toUpperCase());
  const text = [name, last4 === undefined ? '' : `•••• ${last4}`].filter((part) => part !== '').join(' ');
  return text === '' ? null : text;
}
