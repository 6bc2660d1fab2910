import { type Html, html } from '../kernel/html.ts';
import { moneyText } from '../kernel/money-text.ts';
import type { CheckoutView } from './checkout-view.ts';
import { dayText, priceText } from './page-text.ts';

/** The order and its total. Nothing if only a card is added. */
export function orderHtml(view: CheckoutView): Html | null {
  const { productName, description, currency, lines } = view;
  if (productName === null) return null;
  return html`<section aria-labelledby="order">
<h2 id="order">${productName}</h2>
${description !== null && html`<p>${description}</p>`}
<p>${termsText(view)}</p>
<dl>
${lines.map((line) => html`<dt>${namedWithQuantity(line)}</dt><dd>${moneyText(line.amount, currency)}</dd>\n`)}
${sumsHtml(view)}
</dl>
</section>
`;
}

/** The unit price and its terms: `USD 30.00 per month, after a free trial until 5 December 2026`. */
function termsText({ unitPrice, currency, intervalUnit, intervalCount, trialEnd }: CheckoutView): string {
  if (unitPrice === null) return '';
  const price = priceText(unitPrice, currency, { unit: intervalUnit, count: intervalCount });
  return trialEnd === null ? price : `${price}, after a free trial until ${dayText(trialEnd)}`;
}

function sumsHtml(view: CheckoutView): Html {
  const { status, subtotal, discountCode, discountAmount, taxAmount, taxIncluded, total, dueNow, currency } = view;
  const row = (label: string, amount: bigint, isSum = false) =>
    html`<dt${isSum && html` class="sum"`}>${label}</dt><dd${isSum && html` class="sum"`}>${moneyText(amount, currency)}</dd>\n`;
  return html`${row('Subtotal', subtotal)}
${(discountCode !== null || discountAmount !== 0n) && row(discountCode === null ? 'Discount' : `Discount (${discountCode})`, -discountAmount)}
${taxAmount !== 0n && row(taxIncluded ? 'Tax (included)' : 'Tax', taxAmount)}
${total !== dueNow && row('Total', total)}
${row(status === 'succeeded' ? 'Charged' : 'Due today', dueNow, true)}`;
}

/** The agreement for recurring charges. */
export function agreementText({ intervalUnit, unitPrice, trialEnd, seller }: CheckoutView): string | null {
  if (intervalUnit === null || unitPrice === null || unitPrice === 0n) return null;
  const start = trialEnd === null ? '' : ` from ${dayText(trialEnd)}`;
  return `By confirming, you allow ${seller} to charge you for each billing period${start}, until you cancel.`;
}

/** The label of the confirm button. */
export function confirmText({ type, dueNow, trialEnd, currency }: CheckoutView): string {
  if (type === 'add_payment_method') return 'Save card';
  if (dueNow > 0n) return `Pay ${moneyText(dueNow, currency)}`;
  return trialEnd === null ? 'Confirm' : 'Start free trial';
}

/** Descriptions of plan items already contain their quantity. */
function namedWithQuantity({
  description,
  quantity,
}: {
  readonly description: string;
  readonly quantity: number;
}): string {
  const times = ` x ${quantity}`;
  return quantity === 1 || description.endsWith(times) ? description : description + times;
}
