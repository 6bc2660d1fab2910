import type { PageDocument } from '../http/page.ts';
import { countryCodes } from '../kernel/country.ts';
import { type Html, html } from '../kernel/html.ts';
import { dayText } from '../kernel/iso-text.ts';
import { moneyText } from '../kernel/money-text.ts';
import { mayCost } from '../pricing/pricing.ts';
import { type AddressName, asksAddOns, asksAddress, type Details, isCheckBox, isChosen } from './buyer-entry.ts';
import { addOnField } from './checkout.ts';
import type { CheckoutAddOn, CheckoutView, PaymentToConfirm, PlanChange } from './checkout-view.ts';
import {
  type CardTaker,
  cardButtonHtml,
  cardHtml,
  cardScripts,
  confirmPaymentHtml,
  otherCard,
  takesCards,
} from './page-card.ts';
import {
  type Choice,
  checkHtml,
  choiceHtml,
  type FieldErrors,
  fieldHtml,
  hiddenHtml,
  selectHtml,
  summaryHtml,
} from './page-form.ts';
import { layout } from './page-layout.ts';
import {
  hasOwnRhythm,
  includedHtml,
  planTermsText,
  priceText,
  quantityText,
  recurringText,
  safeAddress,
  savedText,
  setupFeeText,
  usageHtml,
  withoutCode,
} from './page-text.ts';

/** A step of the checkout to render. */
export interface Step {
  readonly view: CheckoutView;
  readonly details: Details;
  /** The target of the form. */
  readonly action: string;
  readonly errors?: FieldErrors;
  /** A message about the whole step. */
  readonly message?: string | null;
  /** The chosen payment method: the id of a saved one, or `otherCard`. */
  readonly chosenMethod?: string | null;
}

const regionNames = new Intl.DisplayNames('en', { type: 'region' });
const countries: readonly Choice[] = countryCodes
  .map((code) => ({ value: code, label: regionNames.of(code) ?? code }))
  .sort((a, b) => a.label.localeCompare(b.label, 'en'));

/** The first step: buyer, quantity and code. Submitting it shows the exact total. */
export function detailsPage({ view, details, action, errors = {}, message = null }: Step): PageDocument {
  const content = html`${summaryHtml(errors, message)}
${orderHtml(view)}
<form method="post" action="${action}" novalidate>
<section>
${(view.mayChangeQuantity || view.mayDiscount) && orderFields(view, details, errors)}
${view.addOns.some(isChosen) && addOnFields(view, details, errors)}
${contactHtml(view, details, errors)}
${asksAddress(view) && addressFields(details, errors)}
</section>
<div class="actions"><button class="wide" name="step" value="review">Continue to payment</button></div>
</form>
${cancelHtml(view)}`;
  return page(view, { heading: headingOf(view), content, isWrong: isWrong(errors, message) });
}

function orderFields(view: CheckoutView, details: Details, errors: FieldErrors): Html {
  const quantity = {
    name: 'quantity',
    label: 'Quantity',
    value: details.quantity,
    hint: `From ${view.minimumQuantity} to ${view.maximumQuantity}`,
    inputMode: 'numeric',
    maxLength: 10,
  } as const;
  const code = {
    name: 'discountCode',
    label: 'Discount code',
    value: details.discountCode,
    optional: true,
    maxLength: 50,
  };
  return html`<fieldset>
<legend>Your order</legend>
<div class="pair">
${view.mayChangeQuantity && fieldHtml(quantity, errors)}
${view.mayDiscount && fieldHtml(code, errors)}
</div>
</fieldset>
`;
}

/** The add-ons that the buyer may take, leave out or have another number of. */
function addOnFields(view: CheckoutView, details: Details, errors: FieldErrors): Html {
  const field = (addOn: CheckoutAddOn, index: number) => {
    const { name: label, quantity: _, minimumQuantity: least, maximumQuantity: most, optional } = addOn;
    const name = addOnField(index);
    const price = addOnPriceText({ ...addOn, quantity: least === most ? least : 1 }, view);
    const hint = addOn.description === null ? price : `${price}. ${addOn.description}`;
    const value = details[name] ?? '';
    if (isCheckBox(addOn)) return checkHtml({ name, label, hint, value: `${least}` }, value === `${least}`, errors);
    const range = `From ${least} to ${most}${optional ? ', or 0 for none' : ''}`;
    const input = { name, label, hint: `${hint}. ${range}`, value, inputMode: 'numeric', maxLength: 10 } as const;
    return fieldHtml(input, errors);
  };
  return html`<fieldset>
<legend>Add-ons</legend>
${hiddenHtml({ [asksAddOns]: 'true' })}
${view.addOns.map((addOn, index) => isChosen(addOn) && field(addOn, index))}
</fieldset>
`;
}

/** `USD 20.00 per month`, and the setup fee if there is one. */
function addOnPriceText(addOn: CheckoutAddOn, view: Pick<CheckoutView, 'currency' | 'intervalUnit' | 'intervalCount'>) {
  const { currency, intervalUnit: unit, intervalCount: count } = view;
  const terms =
    addOn.pricing === null
      ? priceText(addOn, currency, { unit, count })
      : quantityText(addOn, currency, { unit, count });
  const every = { unit, count };
  return `${terms}${planTermsText(addOn, currency, every)}${setupFeeText(addOn.setupFee, currency)}`;
}

function contactHtml(view: CheckoutView, { name, email }: Details, errors: FieldErrors): Html {
  if (!view.isAnonymous) return html`<h2>Your details</h2><p>${name}<br>${email}</p>`;
  return html`<fieldset>
<legend>Your details</legend>
${fieldHtml({ name: 'name', label: 'Name', value: name, autocomplete: 'name', maxLength: 255 }, errors)}
${fieldHtml({ name: 'email', label: 'Email', value: email, type: 'email', autocomplete: 'email', maxLength: 255 }, errors)}
</fieldset>
`;
}

/** The fields of a billing address. */
export function addressFields(details: Pick<Details, AddressName>, errors: FieldErrors): Html {
  const field = (name: 'line1' | 'line2' | 'city' | 'state' | 'postal_code', label: string, autocomplete: string) =>
    fieldHtml({ name, label, value: details[name], autocomplete, optional: true, maxLength: 255 }, errors);
  return html`<fieldset>
<legend>Billing address</legend>
${selectHtml({ name: 'country', label: 'Country', value: details.country, autocomplete: 'country' }, countries, errors)}
${field('line1', 'Address', 'address-line1')}
${field('line2', 'Address line 2', 'address-line2')}
<div class="pair">
${field('postal_code', 'Postal code', 'postal-code')}
${field('city', 'City', 'address-level2')}
</div>
${field('state', 'State or region', 'address-level1')}
</fieldset>
`;
}

/** The second step: the exact total, and the card. Earlier input is carried in hidden fields. */
export function paymentPage({ view, details, action, errors = {}, message = null, ...step }: Step): PageDocument {
  const taker: CardTaker = { ...view.processor, currency: view.currency };
  const canConfirm = !view.needsCard || takesCards(taker) || view.savedMethods.length > 0;
  const shown = view.failure !== null && message === null ? declinedText(view.failure) : message;
  const agreement = agreementText(view);
  const content = html`${summaryHtml(errors, shown)}
${orderHtml(view)}
<form method="post" action="${action}" novalidate>
${hiddenHtml({ ...details, shownDue: String(view.dueNow), shownPlan: view.change?.subscriptionId ?? '' })}
<section>
${!view.needsCard && html`<p>Nothing is due today, so no card is needed.</p>`}
${view.needsCard && methodHtml(view, taker, errors, step.chosenMethod ?? null)}
${agreement !== null && html`<p class="soft">${agreement}</p>`}
</section>
${canConfirm && html`<div class="actions">${payButton(view, taker)}</div>`}
${asksAddress(view) && html`<div class="actions"><button class="plain wide" name="step" value="details" formnovalidate>Change order or address</button></div>`}
</form>
${cancelHtml(view)}`;
  return page(view, {
    heading: view.type === 'add_payment_method' ? headingOf(view) : 'Payment',
    content,
    isWrong: isWrong(errors, shown),
    more: view.needsCard ? cardScripts(taker) : {},
  });
}

/** The choice between the saved payment methods and another card; without saved ones just the card. */
function methodHtml(
  { savedMethods, cardToConfirm, failure }: CheckoutView,
  taker: CardTaker,
  errors: FieldErrors,
  chosenMethod: string | null,
): Html {
  if (savedMethods.length === 0) return cardHtml(taker, errors, cardToConfirm);
  const choices = savedMethods.map(({ id, type, data }) => ({ value: id, label: savedText(type, data) }));
  const other = takesCards(taker) ? [{ value: otherCard, label: 'Another card' }] : [];
  const isFailed = failure !== null || cardToConfirm !== null;
  const value = chosenMethod ?? (isFailed && other.length > 0 ? otherCard : (choices[0]?.value ?? ''));
  const field = { name: 'paymentMethodId', label: 'Payment method', value };
  return html`${choiceHtml(field, [...choices, ...other], errors)}
${other.length > 0 && html`<div class="other-card">${cardHtml(taker, errors, cardToConfirm)}</div>`}`;
}

function payButton(view: CheckoutView, taker: CardTaker): Html {
  const rest = html` name="step" value="pay"`;
  return view.needsCard
    ? cardButtonHtml(taker, rest, confirmText(view), { isHeld: view.savedMethods.length === 0 })
    : html`<button class="wide"${rest}>${confirmText(view)}</button>`;
}

/** The page during the confirmation of the charge by the buyer's bank. */
export function confirmPaymentPage(view: CheckoutView, toConfirm: PaymentToConfirm, action: string): PageDocument {
  const hidden = hiddenHtml({ step: 'confirmed', paymentId: toConfirm.id });
  const content = html`<p role="status">Your bank asks you to confirm this payment. You will not be charged until you do.</p>
${orderHtml(view)}
${confirmPaymentHtml(view.processor, toConfirm, { action, hidden })}`;
  return page(view, { heading: 'Confirm your payment', content, more: cardScripts(view.processor) });
}

/** The message during the confirmation of the card by the bank. */
export const confirmCardText = 'Your bank asks you to confirm this card. Nothing has been charged yet.';

/** The message after a declined card. */
export function declinedText(reason: string): string {
  const words = withoutCode(reason).replace(/ Use another payment method\.$/, '');
  return `The payment failed and you were not charged. ${words} Try another card.`;
}

/** The page of an open session that currently cannot be confirmed, whatever is entered. */
export function refusedPage(view: CheckoutView, refusal: string): PageDocument {
  const content = html`<div class="notice bad" role="alert"><p>This order cannot be completed right now. You were not charged.</p><p>${refusal}</p></div>
${cancelHtml(view)}`;
  return page(view, { heading: headingOf(view), content, isWrong: true });
}

/** The page of a session that is no longer open. After the checkout itself the browser is redirected. */
export function outcomePage(view: CheckoutView, { goesOn }: { readonly goesOn: boolean }): PageDocument {
  const { heading, text } = outcomeOf(view);
  const isDone = view.status === 'succeeded' || view.status === 'pending';
  const address = safeAddress(isDone ? view.successUrl : view.cancelUrl);
  const content = html`<section>
<p role="status">${text}</p>
${isDone && orderHtml(view)}
${address !== null && html`<div class="actions"><a class="button" href="${address}">${isDone ? 'Continue' : 'Go back'} to ${view.seller}</a></div>`}
</section>`;
  return page(view, { heading, content, more: { goOnTo: goesOn && view.status === 'succeeded' ? address : null } });
}

function outcomeOf({ status, type, change }: CheckoutView): { heading: string; text: string } {
  switch (status) {
    case 'succeeded':
      return type === 'add_payment_method'
        ? { heading: 'Card saved', text: 'Your card has been saved.' }
        : { heading: 'Thank you', text: 'This checkout is complete.' };
    case 'pending':
      return {
        heading: 'Your payment is being processed',
        text: 'It can take a while for the money to arrive. There is nothing more to do here. Open this page again later to see the result.',
      };
    case 'expired':
      return {
        heading: 'This checkout has expired',
        text: 'You were not charged. Please go back to the seller and start again.',
      };
    case 'failed':
      return {
        heading: 'This checkout failed',
        text: 'You were not charged. Please go back to the seller and start again.',
      };
    case 'open':
      return { heading: headingOf({ type, change }), text: 'This checkout is open.' };
    default:
      return status satisfies never;
  }
}

function headingOf({ type, change }: Pick<CheckoutView, 'type' | 'change'>): string {
  if (change !== null) return 'Change your plan';
  if (type === 'add_payment_method') return 'Add a card';
  return type === 'activate_subscription' ? 'Activate your subscription' : 'Checkout';
}

function cancelHtml({ cancelUrl, seller }: CheckoutView): Html | null {
  const address = safeAddress(cancelUrl);
  return address === null ? null : html`<p><a href="${address}">Cancel and go back to ${seller}</a></p>`;
}

function isWrong(errors: FieldErrors, message: string | null): boolean {
  return message !== null || Object.keys(errors).length > 0;
}

function page(
  { seller, livemode }: CheckoutView,
  rest: Pick<Parameters<typeof layout>[0], 'heading' | 'content' | 'isWrong' | 'more'>,
): PageDocument {
  return layout({ seller, livemode, ...rest });
}

/** The order and its total. Nothing if only a card is added. */
function orderHtml(view: CheckoutView): Html | null {
  const { productName, description, currency, lines, change } = view;
  if (productName === null) return null;
  return html`<section aria-labelledby="order">
<h2 id="order">${productName}</h2>
${description !== null && html`<p>${description}</p>`}
<p>${termsText(view)}</p>
${view.addOns
  .filter(({ quantity }) => quantity > 0)
  .map(
    (addOn) => html`<p>With ${addOnText(addOn, view)}</p>
`,
  )}
${includedHtml(view.included, view.quantity, { unit: view.intervalUnit, count: view.intervalCount })}
${usageHtml(view, currency, { unit: view.intervalUnit, count: view.intervalCount })}
${change !== null && html`<p>${changeText(change)}</p>`}
<dl>
${
  change !== null &&
  html`<dt>Current plan, full period</dt><dd>${moneyText(change.currentTotal, currency)}</dd>
<dt>New plan, full period</dt><dd>${moneyText(change.newTotal, currency)}</dd>`
}
${lines.map((line) => html`<dt>${namedWithQuantity(line)}</dt><dd>${moneyText(line.amount, currency)}</dd>\n`)}
${sumsHtml(view)}
</dl>
${nextChargeHtml(view)}
</section>
`;
}

/** `Seats: 3 x USD 8.00 per month`. */
function addOnText(addOn: CheckoutAddOn, view: CheckoutView): string {
  const { name, quantity, pricing } = addOn;
  const times = quantity > 1 && pricing === null ? `${quantity} x ` : '';
  return `${name}: ${times}${addOnPriceText(addOn, view)}`;
}

function changeText({ currentName, keepsPlan, isNow, effectiveAt }: PlanChange): string {
  if (keepsPlan)
    return `This changes your current plan, ${currentName}, ${isNow ? 'today' : `on ${dayText(effectiveAt)}`}.`;
  return isNow
    ? `This replaces your current plan, ${currentName}, today.`
    : `Your plan changes on ${dayText(effectiveAt)}. Until then, you keep ${currentName}.`;
}

/** The unit price and its terms: `USD 30.00 per month, after a free trial until 5 December 2026`. */
function termsText(view: CheckoutView): string {
  const { unitPrice, pricing, setupFee, quantity, currency, trialEnd } = view;
  const { intervalUnit: unit, intervalCount: count } = view;
  if (unitPrice === null) return '';
  const priced = { unitPrice, pricing, quantity };
  const amount = (pricing === null ? priceText : quantityText)(priced, currency, { unit, count });
  const price = amount + planTermsText(view, currency, { unit, count }) + setupFeeText(setupFee, currency);
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
function agreementText(view: CheckoutView): string | null {
  const { intervalUnit: unit, intervalCount: count, dueNow, nextChargeAt, seller } = view;
  if (!isRecurring(view)) return null;
  const startsAt = dueNow > 0n ? null : nextChargeAt;
  const forUsage = view.usage.length > 0 ? ', and for usage as described above' : '';
  return `By confirming, you allow ${seller} ${recurringText({ unit, count }, startsAt)}${forUsage}, until you cancel.`;
}

/** Whether charges follow: something of the order renews and may cost something. */
function isRecurring({ intervalUnit, unitPrice, pricing, addOns, usage }: CheckoutView): boolean {
  if (intervalUnit === null || unitPrice === null) return false;
  const taken = addOns.filter(({ quantity }) => quantity > 0);
  return usage.length > 0 || [{ unitPrice, pricing }, ...taken].some(mayCost);
}

/** The date of the next charge. The pages of a session that is done show none, because it may have passed. */
function nextChargeHtml(view: CheckoutView): Html | false {
  const { status, nextChargeAt, dueNow, trialEnd } = view;
  if (status !== 'open' || nextChargeAt === null || !isRecurring(view)) return false;
  const every = { unit: view.intervalUnit, count: view.intervalCount };
  if (trialEnd !== null)
    return html`<p class="soft">Your first charge is on ${dayText(nextChargeAt)}, when your free trial ends.</p>`;
  const which = dueNow > 0n || view.change !== null ? 'next' : 'first';
  const charge = hasOwnRhythm(view, every) ? `${which} charge for the plan` : `${which} charge`;
  return html`<p class="soft">Your ${charge} is on ${dayText(nextChargeAt)}.</p>`;
}

/** The label of the confirm button. */
function confirmText({ type, dueNow, trialEnd, currency, change }: CheckoutView): string {
  if (type === 'add_payment_method') return 'Save card';
  if (change !== null) return dueNow > 0n ? `Pay ${moneyText(dueNow, currency)} and change plan` : 'Change plan';
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
  return quantity === 1 || description.endsWith(times) || description.includes(`${times},`)
    ? description
    : description + times;
}
