import { documentTexts } from '../documents/document-text.ts';
import type { PageDocument } from '../http/page.ts';
import type { LinesOfPage } from '../invoicing/actions-document.ts';
import type { InvoiceStatus } from '../invoicing/invoice.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type Html, html } from '../kernel/html.ts';
import type { PageLook, PageProcessor, PaymentToConfirm } from './checkout-view.ts';
import { cardButtonHtml, cardHtml, cardScripts, confirmPaymentHtml, takesCards } from './page-card.ts';
import { type FieldErrors, hiddenHtml, summaryHtml } from './page-form.ts';
import { layout } from './page-layout.ts';

/** An invoice as its page shows it. Amounts are minor units of `currency`. */
export interface InvoiceView extends PageLook, LinesOfPage {
  readonly currency: string;
  readonly customerId: string;
  readonly number: string;
  readonly status: InvoiceStatus;
  readonly dueDate: Instant | null;
  readonly total: bigint;
  readonly due: bigint;
  /** How to pay without a card, as the seller wrote it. */
  readonly instructions: string | null;
  readonly processor: PageProcessor;
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
  const { wording } = view;
  const { words, say } = wording;
  const isAsked = view.status === 'open' && view.due > 0n;
  const isPending = view.status === 'awaiting_payment_confirmation' && view.paymentToConfirm === null;
  const notices = html`${isPending && html`<p class="notice" role="status">${words.done.paying}</p>`}
${isDone && view.due === 0n && html`<p class="notice" role="status">${words.invoice.received}</p>`}
${summaryHtml({ errors, wording }, message)}`;
  const ways = html`${view.paymentToConfirm !== null && confirmHtml(view, view.paymentToConfirm, step)}
${isAsked && view.paymentToConfirm === null && payHtml(view, step)}
${isAsked && view.instructions !== null && instructionsHtml(view, view.instructions)}`;
  const isPayable = isAsked || view.paymentToConfirm !== null;
  const parts = isPayable
    ? { side: amountsHtml(view, step), content: html`${notices}\n${ways}` }
    : { content: html`${notices}\n${amountsHtml(view, step)}` };
  return layout({
    look: view,
    heading: say(words.invoice.invoice, { number: view.number }),
    ...parts,
    isWrong: message !== null || Object.keys(errors).length > 0,
    more: isPayable ? cardScripts(view.processor) : {},
  });
}

function actionOf({ path, key }: InvoiceStep, more = ''): string {
  return `${path}${more}?key=${encodeURIComponent(key)}`;
}

function amountsHtml(view: InvoiceView, step: InvoiceStep): Html {
  const { total, sums, due, currency, dueDate, status, wording } = view;
  const { words, language, money, day, say } = wording;
  const kind = status === 'paid' ? ' good' : '';
  return html`<section>
<p class="terms">${money(due > 0n ? due : total, currency)}</p>
<p><span class="tag${kind}">${documentTexts[language].statuses[status]}</span></p>
${linesHtml(view)}
<dl>${sumsOf(sums).map(({ label, amount, strong }) => html`<dt class="${strong ? 'sum' : 'line'}"><bdi>${label}</bdi></dt><dd class="${strong ? 'sum' : 'line'}">${amount}</dd>\n`)}</dl>
${due > 0n && dueDate !== null && html`<p class="soft">${say(words.common.dueOn, { date: day(dueDate) })}</p>`}
<div class="actions"><a class="button plain" href="${actionOf(step, '/pdf')}">${words.invoice.download}</a></div>
</section>`;
}

/** The rows of the total that say something new: no subtotal or amount due that is the total itself. */
function sumsOf(sums: InvoiceView['sums']): InvoiceView['sums'] {
  return sums.filter((row, index) => {
    const next = sums[index + 1];
    if (!row.strong) return !(index === 0 && next?.strong && next.amount === row.amount);
    const before = sums[index - 1];
    return !(before?.strong && before.amount === row.amount);
  });
}

/** The lines with their quantities and the parts of their prices. A telephone folds them. */
function linesHtml({ lines, others, wording }: InvoiceView): Html {
  const { words, count, say } = wording;
  const line = ({ description, quantity, price, amount, details }: InvoiceView['lines'][number]) => {
    const parts = details.map(({ text, amount: part }) => html`<br><bdi>${text}</bdi> · ${part}`);
    // One of something costs the amount beside it.
    const times = quantity !== '' && price !== '' && price !== amount && html`${quantity} × ${price}`;
    const more = (times !== false || parts.length > 0) && html`<p class="soft">${times}${parts}</p>`;
    return html`<li><div><bdi>${description}</bdi>${more}</div><span>${amount}</span></li>\n`;
  };
  return html`<input type="checkbox" class="unseen fold" id="invoice-details"><label class="fold-label" for="invoice-details">${words.invoice.details}</label>
<div class="foldable"><ul class="rows bill" aria-label="${words.invoice.details}">${lines.map(line)}</ul>
${others > 0 && html`<p class="soft">${say(words.portal.andMore, { count: count(others) })}</p>`}</div>
`;
}

function payHtml(view: InvoiceView, step: InvoiceStep): Html {
  const taker = { ...view.processor, currency: view.currency, seller: view.seller };
  const { errors = {} } = step;
  const { wording } = view;
  const { words, money, say } = wording;
  const label = say(words.checkout.pay, { amount: money(view.due, view.currency) });
  return html`<form method="post" action="${actionOf(step)}" novalidate>
${hiddenHtml({ step: 'pay', shownDue: String(view.due) })}
<h2>${view.processor.takesDebits ? words.card.payOnline : words.invoice.byCard}</h2>
${cardHtml(taker, { errors, wording })}
${takesCards(taker) && cardButtonHtml(taker, null, label)}
<p class="soft">${words.invoice.methodKept}</p>
</form>`;
}

function confirmHtml({ processor, wording }: InvoiceView, toConfirm: PaymentToConfirm, step: InvoiceStep): Html {
  const hidden = hiddenHtml({ step: 'confirmed' });
  return html`<section>
<h2>${wording.words.invoice.bankAsks}</h2>
${confirmPaymentHtml(processor, toConfirm, { action: actionOf(step), hidden, wording })}
</section>`;
}

function instructionsHtml({ number, wording }: InvoiceView, instructions: string): Html {
  const lines = instructions.split('\n').map((line) => html`<bdi>${line}</bdi><br>`);
  const { words, say } = wording;
  return html`<section>
<h2>${words.invoice.byTransfer}</h2>
<p>${lines}</p>
<p class="soft">${say(words.invoice.reference, { number })}</p>
</section>`;
}
