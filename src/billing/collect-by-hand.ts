import assert from 'node:assert/strict';
import {
  draftCreditNote,
  getCreditNote,
  issueCreditNote,
  lockCreditNote,
  requireCreditNote,
  settleCreditNote,
  takeBackCreditNote,
  voidWithCreditNotes,
} from '../credit-notes/actions.ts';
import type { CreditNoteInput, CreditNoteWithLines } from '../credit-notes/credit-note.ts';
import type { CreditNoteRow } from '../credit-notes/store.ts';
import { creditToBalance, takeOffBalance } from '../customers/actions-balances.ts';
import { findCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { getInvoice, giveUpInvoice, type InvoiceWithLines } from '../invoicing/actions.ts';
import { finalizeDrafts } from '../invoicing/actions-drafts.ts';
import { refusePart } from '../invoicing/consolidation.ts';
import { amountDue, returnable } from '../invoicing/invoice.ts';
import { findInvoice, type InvoiceRow, lockInvoice, withParts } from '../invoicing/store.ts';
import { findOldestOwed, listBilledUsage } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { defaultPaymentMethod, findPayment, findPaymentMethod, listChargeableMethods } from '../payments/actions.ts';
import { insertManualPayment } from '../payments/actions-charge.ts';
import { refundPayment } from '../payments/actions-refund.ts';
import { refundable } from '../payments/payment.ts';
import type { PaymentMethodType } from '../payments/payment-method.ts';
import { listInvoicesBeingPaid, listPaymentsKept, type PaymentRow, refundingOf } from '../payments/store.ts';
import { findRefundOfCreditNote } from '../payments/store-refunds.ts';
import { listInvoicesOfUnmade } from '../subscriptions/store-adjustments.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { releaseOverage, undoSettlements } from '../usage/actions-ledger.ts';
import { failAdjustments } from './apply-adjustment.ts';
import { lockCurrent } from './catch-up.ts';
import { finalizeAndCollect } from './collect-invoices.ts';
import { finalBy } from './finalize-renewals.ts';
import { giveBackPausedTime, recountKeptValue } from './paused-time.ts';
import { giveUpPurchases } from './record-failed.ts';
import { chargeInvoice, completePeriods, recordPaid, recoverSubscriptions } from './record-paid.ts';
import { lockPayers, recordRefund, settleCharges } from './settle-payment.ts';
import { reread } from './subscribe.ts';

/**
 * The invoice, locked until the work ends, after its customer and subscription. Refuses with `invoiceNotFound`, and an
 * invoice with a payment in flight: its outcome decides the next state.
 */
async function lockUnpaidInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const found = await findInvoice(work, id);
  if (found === null) throw new Problem('invoiceNotFound', { id });
  await lockPayers(work, [found]);
  const invoice = await lockInvoice(work, id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id });
  refusePart(invoice);
  if ((await listInvoicesBeingPaid(work, [id])).has(id))
    throw new Problem('invoiceAlreadyBeingPaid', { invoiceId: id });
  return invoice;
}

/**
 * Voids an open invoice, as if it had never been created. Its usage is billed again, its credit for paused time is
 * available again, its plan change is not applied, and a subscription without other debts recovers. Refuses one with
 * unreturned payments.
 */
export async function takeBackInvoice(work: Work, id: string): Promise<InvoiceRow> {
  const invoice = await lockUnpaidInvoice(work, id);
  const kept = invoice.amountPaid - invoice.amountRefunded;
  if (invoice.balanceCredited > 0n) throw new Problem('invoicePartlyPaid', { id, amount: invoice.balanceCredited });
  if (invoice.status === 'open' && kept > 0n) throw new Problem('invoicePartlyPaid', { id, amount: kept });
  const voided = await voidWithCreditNotes(work, id);
  const ids = (await withParts(work, [voided])).map((each) => each.id);
  const billed = await listBilledUsage(work, ids);
  await undoSettlements(work, billed);
  await releaseOverage(work, billed);
  // A change of interval that was not made has taken nothing of the kept value.
  if (!(await listInvoicesOfUnmade(work, [id])).has(id)) await giveBackPausedTime(work, ids);
  await recountKeptValue(work, voided);
  if (invoice.reason === 'adjustment') await failAdjustments(work, [{ invoice: voided, code: null, message: null }]);
  await giveUpPurchases(work, id);
  await recover(work, voided);
  return voided;
}

/**
 * Writes off an open invoice: its items stay billed, payment is no longer expected, and a subscription without other
 * debts recovers.
 */
export async function writeOffInvoice(work: Work, id: string): Promise<InvoiceRow> {
  await lockUnpaidInvoice(work, id);
  const writtenOff = await giveUpInvoice(work, id);
  await recountKeptValue(work, writtenOff);
  await giveUpPurchases(work, id);
  await recover(work, writtenOff);
  return writtenOff;
}

async function recover(work: Work, invoice: InvoiceRow): Promise<void> {
  const invoices = await withParts(work, [invoice]);
  await completePeriods(work, invoices);
  const subscriptionIds = invoices.flatMap(({ subscriptionId }) => subscriptionId ?? []);
  if (subscriptionIds.length > 0) await recoverSubscriptions(work, subscriptionIds);
}

/**
 * Credits part of an invoice by a credit note: returns money of a payment after the commit, or lowers the amount due. An
 * offset of all that is due pays the invoice, with all consequences. The lock of the invoice makes parallel credit notes
 * wait for each other, and the update of its lines never exceeds them.
 */
export async function creditInvoice(work: Work, id: string, input: CreditNoteInput): Promise<CreditNoteWithLines> {
  const found = await findInvoice(work, id);
  if (found === null) throw new Problem('invoiceNotFound', { id });
  await lockPayers(work, [found]);
  const locked = await lockInvoice(work, id);
  if (locked === null) throw new Problem('invoiceNotFound', { id });
  refusePart(locked);
  const { status } = locked;
  if (status === 'void' || status === 'draft')
    throw new Problem('invoiceNotCreditable', { id, reason: `it is ${status}` });
  const { settle, reason } = input;
  // An erased customer takes no personal data again.
  if (reason && (await findCustomer(work, locked.customerId))?.erasedAt != null)
    throw invalid(['creditNote', 'reason'], 'must be absent, because the personal data of the customer was erased');
  if (settle === 'offset') await requireOffsettable(work, locked);
  const draft = await draftCreditNote(work, locked, input);
  const { total } = draft;
  if (settle === 'offset' && total > amountDue(locked))
    throw invalid(['creditNote', 'lines'], `must be worth at most ${amountDue(locked)}, the amount due, not ${total}`);
  if (settle === 'balance' || (settle === 'refund' && locked.balanceCredited > 0n))
    await requireReturnable(work, locked, total);
  const paymentId = settle === 'refund' ? await findPaymentToRefund(work, id, total) : null;
  const { note, invoice } = await issueCreditNote(work, locked, { draft, settle, reason, paymentId });
  if (settle === 'balance') {
    await creditToBalance(work, note);
    await settleCreditNote(work, note.id);
    await recountKeptValue(work, invoice);
  } else if (paymentId === null) {
    // A reversed payment leaves the kept value of a pause, which an offset does not pay for.
    await recountKeptValue(work, invoice);
    await recordPaid(work, [{ invoice, paymentMethodId: null }]);
  } else {
    const assume = recordRefund;
    await refundPayment(work, paymentId, { partialAmount: Number(total), assume, credit: async () => note.id });
  }
  return getCreditNote(work, note.id);
}

async function requireOffsettable(work: Work, { id, status }: InvoiceRow): Promise<void> {
  if (status !== 'open' && status !== 'awaiting_payment_confirmation') {
    const reason = `it is ${status}, and only an open invoice has something to offset`;
    throw new Problem('invoiceNotCreditable', { id, reason });
  }
  if (status !== 'open' || (await listInvoicesBeingPaid(work, [id])).has(id))
    throw new Problem('invoiceAlreadyBeingPaid', { invoiceId: id });
}

/** Refuses to give back more than was paid of an invoice, less refunds and what went to the balance of the customer. */
async function requireReturnable(work: Work, invoice: InvoiceRow, amount: bigint): Promise<void> {
  const left = returnable(invoice, await refundingOf(work, invoice.id));
  if (amount <= left) return;
  const reason = `${left} of what was paid of it is left to give back, not ${amount}`;
  throw new Problem('invoiceNotCreditable', { id: invoice.id, reason });
}

/** The newest payment of the invoice that has this much left to refund. */
async function findPaymentToRefund(work: Work, invoiceId: string, amount: bigint): Promise<string> {
  const payments = await listPaymentsKept(work, [invoiceId]);
  const payment = payments.findLast((each) => refundable(each) >= amount);
  if (payment !== undefined) return payment.id;
  const most = payments.map(refundable).reduce((largest, each) => (each > largest ? each : largest), 0n);
  const reason = `none of its payments has ${amount} left to refund, at most ${most}`;
  throw new Problem('invoiceNotCreditable', { id: invoiceId, reason });
}

/** The credit note after its refund, for the original request. Refuses with the reason of a failed refund. */
export async function reportCreditNote(
  work: Work,
  { creditNote: { id } }: { readonly creditNote: { readonly id: string } },
): Promise<CreditNoteWithLines> {
  const refund = await findRefundOfCreditNote(work, id);
  if (refund?.status === 'failed') throw new Problem('refundFailed', { reason: refund.failureMessage ?? '' });
  return getCreditNote(work, id);
}

/**
 * Voids a credit note that is not settled, or one to a balance that still holds it. The amount that it took off the invoice
 * is due again.
 */
export async function voidCreditNote(work: Work, id: string): Promise<CreditNoteRow> {
  const found = await findInvoice(work, (await requireCreditNote(work, id)).invoiceId);
  if (found === null) throw new Problem('creditNoteNotFound', { id });
  await lockPayers(work, [found]);
  const { note, invoice } = await lockCreditNote(work, id);
  if (note.settle === 'balance') return takeBackFromBalance(work, { note, invoice });
  if (note.status !== 'issued') throw new Problem('creditNoteNotVoidable', { id, reason: `it is ${note.status}` });
  if (note.settle === 'refund') throw new Problem('creditNoteNotVoidable', { id, reason: 'its refund is in flight' });
  if ((await listInvoicesBeingPaid(work, [invoice.id])).has(invoice.id))
    throw new Problem('invoiceAlreadyBeingPaid', { invoiceId: invoice.id });
  return takeBackCreditNote(work, { note, invoice });
}

/**
 * Finalizes a draft: it gets its number and its due date, and the balance of its customer pays what it can. The rest is
 * charged after the commit where the draft says so, or as any invoice of a renewal; a declined charge leaves it open. A repeat changes nothing.
 */
export async function finalizeInvoice(work: Work, id: string): Promise<InvoiceWithLines> {
  const found = await findInvoice(work, id);
  if (found === null) throw new Problem('invoiceNotFound', { id });
  await lockPayers(work, [found]);
  const draft = await lockInvoice(work, id);
  if (draft === null) throw new Problem('invoiceNotFound', { id });
  if (draft.status !== 'draft') return getInvoice(work, id);
  if (draft.subscriptionId !== null) {
    await finalizeAndCollect(work, [finalBy(draft, work.now)]);
    return getInvoice(work, id);
  }
  const [invoice] = (await finalizeDrafts(work, [{ draft, at: work.now }])).invoices;
  assert(invoice, 'a draft that is finalized is an invoice');
  await recordPaid(work, [{ invoice, paymentMethodId: null }]);
  const method = draft.autoCollect ? await defaultPaymentMethod(work, invoice.customerId) : null;
  if (invoice.status === 'open' && method) await chargeInvoice(work, invoice, method.id);
  return getInvoice(work, id);
}

async function takeBackFromBalance(
  work: Work,
  { note, invoice }: { readonly note: CreditNoteRow; readonly invoice: InvoiceRow },
): Promise<CreditNoteRow> {
  const { id, status, total } = note;
  if (status !== 'settled') throw new Problem('creditNoteNotVoidable', { id, reason: `it is ${status}` });
  const left = await takeOffBalance(work, note);
  if (left !== null) {
    const reason = `${total} went to the balance of the customer, which has ${left} left`;
    throw new Problem('creditNoteNotVoidable', { id, reason });
  }
  const voided = await takeBackCreditNote(work, { note, invoice });
  await recountKeptValue(work, (await findInvoice(work, invoice.id)) ?? invoice);
  return voided;
}

/** A payment received by bank transfer, in cash or in any other way outside the processors. */
interface MoneyReceived {
  /** In minor units; the whole amount due when absent. */
  readonly amount?: bigint | null | undefined;
  /** Now when absent. */
  readonly paidAt?: Instant | null | undefined;
  readonly paymentMethodType?: PaymentMethodType | null | undefined;
  readonly description?: string | null | undefined;
  /** The payer's or bank's reference. */
  readonly reference?: string | null | undefined;
}

/** An invoice and a payment of it. */
export interface RecordedPayment {
  readonly payment: PaymentRow;
  readonly invoice: InvoiceRow;
}

// Most payments outside a processor are bank transfers.
const usualMethod: PaymentMethodType = 'us_bank_account';

/**
 * Records a full or partial payment of an open invoice, with all consequences of a payment. Worked example I7: of 5000
 * due, 2000 are recorded, so 3000 are charged next.
 */
export async function recordPayment(work: Work, invoiceId: string, received: MoneyReceived): Promise<RecordedPayment> {
  const invoice = await lockUnpaidInvoice(work, invoiceId);
  if (invoice.status !== 'open') throw new Problem('invoiceNotOpen', { id: invoiceId, status: invoice.status });
  const due = amountDue(invoice);
  const { description, reference } = received;
  const amount = received.amount ?? due;
  const paidAt = received.paidAt ?? work.now;
  if (amount > due) throw invalid(['payment', 'amount'], `must be at most ${due}, the amount due`);
  refuseFineAmount(['payment', 'amount'], amount, invoice.currency);
  if (paidAt > work.now) throw invalid(['payment', 'paidAt'], `must not be in the future: it is now ${work.now}`);
  const { id } = await insertManualPayment(work, invoice, {
    amount,
    paidAt,
    paymentMethod: received.paymentMethodType ?? usualMethod,
    description: description ?? null,
  });
  await settleCharges(work, [
    {
      paymentId: id,
      outcome: {
        result: 'succeeded',
        reference: reference ?? `manual_${id}`,
        settledAt: paidAt,
        receiptNumber: null,
      },
    },
  ]);
  const payment = await findPayment(work, id);
  const paid = await findInvoice(work, invoiceId);
  if (payment === null || paid === null) throw new Problem('paymentNotFound', { id });
  return { payment, invoice: paid };
}

/**
 * Charges the amount due on an open invoice after the commit: to the given payment method, else to the customer's
 * default. The subscription may have ended. A decline leaves the invoice open.
 */
export async function payInvoice(work: Work, id: string, paymentMethodId: string | null): Promise<RecordedPayment> {
  const invoice = await lockUnpaidInvoice(work, id);
  if (invoice.status !== 'open') throw new Problem('invoiceNotOpen', { id, status: invoice.status });
  const { customerId } = invoice;
  const method =
    paymentMethodId === null
      ? await defaultPaymentMethod(work, customerId)
      : await findPaymentMethod(work, paymentMethodId);
  if (method?.customerId !== customerId) {
    const wanted = `must be a payment method of customer ${customerId}`;
    throw invalid(['paymentMethodId'], paymentMethodId === null ? `${wanted}, who has no default` : wanted);
  }
  const payment = await chargeInvoice(work, invoice, method.id, { onRequest: true });
  return { payment, invoice: (await findInvoice(work, id)) ?? invoice };
}

/** The outcome of the charge. Refuses with `paymentFailed` if it failed. */
export async function reportPaid(
  work: Work,
  requested: { readonly invoice: { readonly id: string }; readonly payment: { readonly id: string } },
): Promise<RecordedPayment> {
  const payment = await requireNotFailed(work, requested.payment.id);
  const invoice = await findInvoice(work, requested.invoice.id);
  if (invoice === null) throw new Problem('invoiceNotFound', { id: requested.invoice.id });
  return { payment, invoice };
}

/** A subscription and the payment requested for it. */
export interface RetriedPayment {
  readonly subscription: SubscriptionRow;
  readonly payment: PaymentRow;
}

/**
 * Charges the oldest unpaid dunned invoice of the subscription after the commit: to the given payment method, else to the
 * subscription's. A decline counts as an attempt of dunning. `onRequest` of the customer, it ends nothing. Refuses a
 * subscription that owes nothing, has ended or is not charged, and one without a payment method.
 */
export async function retryPayment(
  work: Work,
  id: string,
  paymentMethodId: string | null,
  { onRequest = false }: { readonly onRequest?: boolean } = {},
): Promise<RetriedPayment> {
  const { subscription } = await lockCurrent(work, id);
  const { status, doNotCharge } = subscription;
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  if (doNotCharge) throw new Problem('subscriptionNotCharged', { id });
  const invoice = await findOldestOwed(work, id);
  if (invoice === null) throw new Problem('nothingOwed', { id });
  const methodId = await methodFor(work, subscription, paymentMethodId);
  const payment = await chargeInvoice(work, invoice, methodId, { onRequest });
  return { subscription: await reread(work, subscription), payment };
}

async function methodFor(work: Work, subscription: SubscriptionRow, given: string | null): Promise<string> {
  const { id, customerId } = subscription;
  if (given !== null) {
    if ((await findPaymentMethod(work, given))?.customerId === customerId) return given;
    throw invalid(['paymentMethodId'], `must be a payment method of customer ${customerId}`);
  }
  const stored = (await listChargeableMethods(work, [subscription])).get(id);
  if (stored === undefined) throw new Problem('paymentMethodRequired', { id });
  return stored;
}

/** The outcome of the charge. Refuses with `paymentFailed` if it failed. */
export async function reportRetry(
  work: Work,
  requested: { readonly subscription: { readonly id: string }; readonly payment: { readonly id: string } },
): Promise<RetriedPayment> {
  const payment = await requireNotFailed(work, requested.payment.id);
  return { subscription: await reread(work, requested.subscription), payment };
}

async function requireNotFailed(work: Work, id: string): Promise<PaymentRow> {
  const payment = await findPayment(work, id);
  if (payment === null) throw new Problem('paymentNotFound', { id });
  const { status, failureCode, failureMessage } = payment;
  if (status === 'failed' || status === 'canceled')
    throw new Problem('paymentFailed', { code: failureCode ?? status, reason: failureMessage ?? 'No money moved.' });
  return payment;
}
