import { documentTexts } from '../documents/document-text.ts';
import type { PageDocument } from '../http/page.ts';
import type { InvoiceStatus } from '../invoicing/invoice.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type Html, html } from '../kernel/html.ts';
import { dayText } from '../kernel/iso-text.ts';
import { moneyText } from '../kernel/money-text.ts';
import type { PaymentToConfirm } from './checkout-view.ts';
import { cardButtonHtml, cardHtml, cardScripts, confirmPaymentHtml, takesCards } from './page-card.ts';
import { type FieldErrors, hiddenHtml, summaryHtml } from './page-form.ts';
import { layout } from './page-layout.ts';

/** An invoice as its page shows it. Amounts are minor units of `currency`. */
export interface InvoiceView {
  readonly seller: string;
  readonly livemode: boolean;
  readonly currency: string;
  readonly customerId: string;
  readonly number: string;
  readonly status: InvoiceStatus;
  readonly dueDate: Instant | null;
  readonly total: bigint;
  /** The part of the total that is paid, credited or covered by a balance. */
  readonly settled: bigint;
  readonly due: bigint;
  /** How to pay without a card, as the seller wrote it. */
  readonly instructions: string | null;
  readonly processor: { readonly name: string; readonly publishableKey: string | null };
  /** The charge that the bank wants to have confirmed; null without one. */
  readonly paymentToConfirm: PaymentToConfirm | null;
}

interface InvoiceStep {
  /** The address of the page with its key, as `path` and `key`. */
  readonly path: string;
  readonly key: string;
  readonly errors?: FieldErrors;
  readonly message?: string | null;
  /** Whether a payment has just been made. */
  readonly isDone?: boolean;
}

/** The page of an invoice: its amounts, its document and, while it is open, the ways to pay it. */
export function invoicePayPage(view: InvoiceView, step: InvoiceStep): PageDocument {
  const { errors = {}, message = null, isDone = false } = step;
  const isAsked = view.status === 'open' && view.due > 0n;
  const content = html`${isDone && html`<p class="notice" role="status">Thank you. Your payment has been received.</p>`}
${summaryHtml(errors, message)}
${amountsHtml(view, step)}
${view.paymentToConfirm !== null && confirmHtml(view, view.paymentToConfirm, step)}
${isAsked && view.paymentToConfirm === null && payHtml(view, step)}
${isAsked && view.instructions !== null && instructionsHtml(view.instructions, view.number)}`;
  return layout({
    heading: `Invoice ${view.number}`,
    seller: view.seller,
    livemode: view.livemode,
    content,
    isWrong: message !== null || Object.keys(errors).length > 0,
    more: isAsked || view.paymentToConfirm !== null ? cardScripts(view.processor) : {},
  });
}

function actionOf({ path, key }: InvoiceStep, more = ''): string {
  return `${path}${more}?key=${encodeURIComponent(key)}`;
}

function amountsHtml(view: InvoiceView, step: InvoiceStep): Html {
  const { total, settled, due, currency, dueDate, status } = view;
  return html`<section>
<p><span class="tag">${documentTexts.en.statuses[status]}</span></p>
<dl>
<dt>Total</dt><dd>${moneyText(total, currency)}</dd>
${settled > 0n && html`<dt>Already paid or credited</dt><dd>${moneyText(-settled, currency)}</dd>`}
<dt class="sum">Amount due</dt><dd class="sum">${moneyText(due, currency)}</dd>
</dl>
${due > 0n && dueDate !== null && html`<p class="soft">Due on ${dayText(dueDate)}.</p>`}
<div class="actions"><a class="button plain" href="${actionOf(step, '/pdf')}">Download the invoice as PDF</a></div>
</section>`;
}

function payHtml(view: InvoiceView, step: InvoiceStep): Html {
  const taker = { ...view.processor, currency: view.currency };
  const { errors = {} } = step;
  return html`<form method="post" action="${actionOf(step)}" novalidate>
${hiddenHtml({ step: 'pay', shownDue: String(view.due) })}
<section>
<h2>Pay by card</h2>
${cardHtml(taker, errors)}
<p class="soft">The seller keeps the card with the account of the customer.</p>
</section>
${takesCards(taker) && html`<div class="actions">${cardButtonHtml(taker, null, `Pay ${moneyText(view.due, view.currency)}`)}</div>`}
</form>`;
}

function confirmHtml({ processor }: InvoiceView, toConfirm: PaymentToConfirm, step: InvoiceStep): Html {
  const hidden = hiddenHtml({ step: 'confirmed' });
  return html`<section>
<h2>Your bank asks you to confirm the payment</h2>
${confirmPaymentHtml(processor, toConfirm, { action: actionOf(step), hidden })}
</section>`;
}

function instructionsHtml(instructions: string, number: string): Html {
  const lines = instructions.split('\n').map((line) => html`${line}<br>`);
  return html`<section>
<h2>Pay by bank transfer</h2>
<p>${lines}</p>
<p class="soft">Please give the invoice number ${number} as the reference.</p>
</section>`;
}
