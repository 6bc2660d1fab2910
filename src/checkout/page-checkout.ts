import type { PageDocument } from '../http/page.ts';
import { countryCodes } from '../kernel/country.ts';
import { type Html, html } from '../kernel/html.ts';
import { type Language, localCountry } from '../kernel/language.ts';
import { mayCost } from '../pricing/pricing.ts';
import {
  type AddressName,
  asksAddOns,
  asksAddress,
  type Details,
  isCheckBox,
  isChosen,
  isOneStep,
  rangeOf,
} from './buyer-entry.ts';
import { declinedText } from './buyer-text.ts';
import { addOnField } from './checkout.ts';
import type { CardTaker, CheckoutAddOn, CheckoutView, PaymentToConfirm, PlanChange } from './checkout-view.ts';
import { cardButtonHtml, cardHtml, cardScripts, confirmPaymentHtml, otherCard, takesCards } from './page-card.ts';
import {
  type Choice,
  checkHtml,
  choiceHtml,
  type FieldErrors,
  type FormState,
  fieldHtml,
  foldedHtml,
  hiddenHtml,
  selectHtml,
  summaryHtml,
} from './page-form.ts';
import { layout } from './page-layout.ts';
import {
  agreementText,
  type Every,
  hasOwnRhythm,
  includedHtml,
  methodSign,
  planTermsText,
  priceText,
  quantityText,
  safeAddress,
  savedText,
  setupFeeText,
  termsHtml,
  unitOf,
  usageHtml,
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

/** The step of a form that the Enter key has sent: it pays only if its amounts are those that were shown. */
export const enterStep = 'enter';

const countries = new Map<Language, readonly Choice[]>();

/** The countries in the order of their names in a language. */
function countriesIn(language: Language): readonly Choice[] {
  const known = countries.get(language);
  if (known !== undefined) return known;
  const { compare } = new Intl.Collator(language);
  const choices = countryCodes
    .map((code) => ({ value: code, label: localCountry(code, language) }))
    .sort((one, other) => compare(one.label, other.label));
  countries.set(language, choices);
  return choices;
}

/** The first page of a checkout: all of it where one step is enough, else buyer, address, quantity and code. */
export function detailsPage(step: Step): PageDocument {
  const { view, action, errors = {}, message = null } = step;
  if (isOneStep(view)) return onePage(step);
  const state = { errors, wording: view.wording };
  const content = html`${summaryHtml(state, message)}
<form method="post" action="${action}" novalidate>
${detailsHtml(step, state)}
<button class="wide-button" name="step" value="review">${view.wording.words.checkout.continue}</button>
</form>`;
  return page(step, { heading: headingOf(view), content, isWrong: isWrong(errors, message) });
}

/** The fields of a buyer and its order. */
function detailsHtml({ view, details }: Pick<Step, 'view' | 'details'>, state: FormState): Html {
  return html`${(view.mayChangeQuantity || view.mayDiscount) && orderFields(view, details, state)}
${view.addOns.some(isChosen) && addOnFields(view, details, state)}
${contactHtml(view, details, state)}
${asksAddress(view) && addressFields(details, state)}`;
}

/** The whole checkout on one page. Its forms of the order show the new amounts, and the last button pays. */
function onePage(step: Step): PageDocument {
  const { view, action, errors = {}, message = null } = step;
  const state = { errors, wording: view.wording };
  const taker = takerOf(view);
  const shown = view.failure !== null && message === null ? declinedText(view.failure, view.wording) : message;
  const content = html`${summaryHtml(state, shown)}
<form method="post" action="${action}" novalidate>
${defaultButton(taker, view)}
${hiddenHtml(shownHtml(view))}
${detailsHtml(step, state)}
${payHtml(step, state)}
</form>`;
  return page(step, {
    heading: headingOf(view),
    content,
    isWrong: isWrong(errors, shown),
    more: view.needsCard ? cardScripts(taker) : {},
  });
}

function takerOf({ processor, currency, seller }: CheckoutView): CardTaker {
  return { ...processor, currency, seller };
}

/** The button that the Enter key presses, which would else be the first one of the order. Nobody sees it. */
function defaultButton(taker: CardTaker, view: CheckoutView): Html {
  const isOfScript = view.needsCard && view.savedMethods.length === 0 && taker.name !== 'test' && takesCards(taker);
  return html`<button class="unseen" name="step" value="${enterStep}" tabindex="-1" aria-hidden="true"${isOfScript && html` data-card disabled`}></button>`;
}

/** The amounts and the plan that the page shows. */
function shownHtml(view: CheckoutView): Readonly<Record<string, string>> {
  return { shownDue: String(view.dueNow), shownPlan: view.change?.subscriptionId ?? '' };
}

function orderFields(view: CheckoutView, details: Details, state: FormState): Html {
  const { words, say } = view.wording;
  const { quantity: quantityLabel, range, update, discountCode, haveCode, apply } = words.checkout;
  const quantity = {
    name: 'quantity',
    label: unitOf(view.included) ?? quantityLabel,
    value: details.quantity,
    hint: say(range, rangeOf(view.minimumQuantity, view.maximumQuantity)),
    inputMode: 'numeric',
    maxLength: 10,
  } as const;
  const code = { name: 'discountCode', label: discountCode, value: details.discountCode, maxLength: 50 };
  const button = (label: string) =>
    html`<button class="plain" name="step" value="review" formnovalidate>${label}</button>`;
  const withButton = (field: Html, label: string) => html`<div class="with-button">${field}${button(label)}</div>`;
  const isUsed = details.discountCode !== '' || state.errors.discountCode !== undefined;
  return html`<fieldset>
<legend${!view.mayChangeQuantity && html` class="unseen"`}>${words.checkout.order}</legend>
${view.mayChangeQuantity && withButton(fieldHtml(quantity, state), update)}
${view.mayDiscount && foldedHtml(haveCode, withButton(fieldHtml({ ...code, optional: true }, state), apply), isUsed)}
</fieldset>
`;
}

/** The add-ons that the buyer may take, leave out or have another number of. */
function addOnFields(view: CheckoutView, details: Details, state: FormState): Html {
  const { words, say } = view.wording;
  const { range, rangeOrNone, addOns, update } = words.checkout;
  const field = (addOn: CheckoutAddOn, index: number) => {
    const { name: label, quantity: _, minimumQuantity: least, maximumQuantity: most, optional } = addOn;
    const name = addOnField(index);
    const price = addOnPriceText({ ...addOn, quantity: least === most ? least : 1 }, view);
    const hint = addOn.description === null ? price : `${price}. ${addOn.description}`;
    const value = details[name] ?? '';
    if (isCheckBox(addOn)) return checkHtml({ name, label, hint, value: `${least}` }, value === `${least}`, state);
    const limits = say(optional ? rangeOrNone : range, rangeOf(least, most));
    const input = { name, label, hint: `${hint}. ${limits}`, value, inputMode: 'numeric', maxLength: 10 } as const;
    return fieldHtml(input, state);
  };
  return html`<fieldset>
<legend>${addOns}</legend>
${hiddenHtml({ [asksAddOns]: 'true' })}
${view.addOns.map((addOn, index) => isChosen(addOn) && field(addOn, index))}
<div class="actions"><button class="plain" name="step" value="review" formnovalidate>${update}</button></div>
</fieldset>
`;
}

/** `$20.00 per month`, and the setup fee if there is one. */
function addOnPriceText(addOn: CheckoutAddOn, view: CheckoutView) {
  const { currency, wording } = view;
  const every = everyOf(view);
  const terms = (addOn.pricing === null ? priceText : quantityText)(addOn, currency, every, wording);
  return terms + planTermsText(addOn, currency, every, wording) + setupFeeText(addOn.setupFee, currency, wording);
}

function everyOf({
  intervalUnit: unit,
  intervalCount: count,
}: Pick<CheckoutView, 'intervalUnit' | 'intervalCount'>): Every {
  return { unit, count };
}

function contactHtml(view: CheckoutView, { name, email }: Details, state: FormState): Html {
  const { words } = view.wording;
  const { details, name: nameLabel, email: emailLabel } = words.checkout;
  if (!view.isAnonymous)
    return html`<fieldset><legend>${details}</legend><p><bdi>${name}</bdi><br><bdi>${email}</bdi></p></fieldset>`;
  return html`<fieldset>
<legend>${details}</legend>
${fieldHtml({ name: 'email', label: emailLabel, value: email, type: 'email', autocomplete: 'email', maxLength: 255 }, state)}
${fieldHtml({ name: 'name', label: nameLabel, value: name, autocomplete: 'name', maxLength: 255 }, state)}
</fieldset>
`;
}

const foldedNames = ['line1', 'line2', 'postal_code', 'city', 'state'] as const;
const companyNames = ['company', 'taxId'] as const;

/** The country, and the rest of the address, which most buyers may leave out. */
function addressFields(details: Details, state: FormState): Html {
  const { words, language } = state.wording;
  const { address, country: label, fullAddress, company, taxId } = words.checkout;
  const field = (name: (typeof companyNames)[number], text: string, autocomplete: string) =>
    fieldHtml({ name, label: text, value: details[name], autocomplete, optional: true, maxLength: 255 }, state);
  const rest = html`${field('company', company, 'organization')}
${field('taxId', taxId, 'off')}
${addressLines(details, state)}`;
  const isOpen = [...companyNames, ...foldedNames].some(
    (name) => details[name] !== '' || state.errors[name] !== undefined,
  );
  const country = { name: 'country', label, value: details.country, autocomplete: 'country' };
  return html`<fieldset>
<legend>${address}</legend>
${selectHtml(country, countriesIn(language), state)}
${foldedHtml(fullAddress, rest, isOpen)}
</fieldset>
`;
}

/** A billing address with all its lines. */
export function wholeAddress(details: Pick<Details, AddressName>, state: FormState): Html {
  const { words, language } = state.wording;
  const country = { name: 'country', label: words.checkout.country, value: details.country, autocomplete: 'country' };
  return html`<fieldset>
<legend>${words.checkout.address}</legend>
${selectHtml(country, countriesIn(language), state)}
${addressLines(details, state)}
</fieldset>
`;
}

/** The lines of an address below its country. */
function addressLines(details: Pick<Details, AddressName>, state: FormState): Html {
  const labels = state.wording.words.checkout;
  const field = (name: (typeof foldedNames)[number], label: string, autocomplete: string) =>
    fieldHtml({ name, label, value: details[name], autocomplete, optional: true, maxLength: 255 }, state);
  return html`${field('line1', labels.line1, 'address-line1')}
${field('line2', labels.line2, 'address-line2')}
<div class="pair">
${field('postal_code', labels.postalCode, 'postal-code')}
${field('city', labels.city, 'address-level2')}
</div>
${field('state', labels.state, 'address-level1')}`;
}

/** The second step: the exact total, and the card. Earlier input is carried in hidden fields. */
export function paymentPage(step: Step): PageDocument {
  const { view, details, action, errors = {}, message = null } = step;
  if (isOneStep(view)) return onePage(step);
  const { wording } = view;
  const state = { errors, wording };
  const taker = takerOf(view);
  const shown = view.failure !== null && message === null ? declinedText(view.failure, wording) : message;
  const { payment, changeOrder } = wording.words.checkout;
  const content = html`${summaryHtml(state, shown)}
<form method="post" action="${action}" novalidate>
${hiddenHtml({ ...details, ...shownHtml(view) })}
${payHtml(step, state)}
${asksAddress(view) && html`<div class="actions"><button class="plain wide-button" name="step" value="details" formnovalidate>${changeOrder}</button></div>`}
</form>`;
  return page(step, {
    heading: view.type === 'add_payment_method' ? headingOf(view) : payment,
    content,
    isWrong: isWrong(errors, shown),
    more: view.needsCard ? cardScripts(taker) : {},
  });
}

/** The payment method, the agreement to later charges, and the button that pays. */
function payHtml({ view, chosenMethod = null }: Step, state: FormState): Html {
  const taker = takerOf(view);
  const canConfirm = !view.needsCard || takesCards(taker) || view.savedMethods.length > 0;
  const agreement = agreementOf(view);
  return html`${view.needsCard ? methodHtml(view, taker, state, chosenMethod) : html`<p>${view.wording.words.checkout.nothingDue}</p>`}
${canConfirm && payButton(view, taker)}
${agreement !== null && html`<p class="soft">${agreement}</p>`}`;
}

/** The choice between the saved payment methods and another card; without saved ones just the card. */
function methodHtml(
  { savedMethods, cardToConfirm, failure, wording }: CheckoutView,
  taker: CardTaker,
  state: FormState,
  chosenMethod: string | null,
): Html {
  const submit = html` name="step" value="pay"`;
  if (savedMethods.length === 0) return cardHtml(taker, state, { toConfirm: cardToConfirm, submit });
  const { paymentMethod: label } = wording.words.checkout;
  const anotherCard = taker.takesDebits ? wording.words.card.anotherMethod : wording.words.checkout.anotherCard;
  const choices = savedMethods.map(({ id, type, data }) => ({
    value: id,
    label: savedText(type, data, wording),
    sign: methodSign(type, data),
  }));
  const other = takesCards(taker) ? [{ value: otherCard, label: anotherCard }] : [];
  const isFailed = failure !== null || cardToConfirm !== null;
  const value = chosenMethod ?? (isFailed && other.length > 0 ? otherCard : (choices[0]?.value ?? ''));
  return html`${choiceHtml({ name: 'paymentMethodId', label, value }, [...choices, ...other], state)}
${other.length > 0 && html`<div class="other-card">${cardHtml(taker, state, { toConfirm: cardToConfirm, submit })}</div>`}`;
}

function payButton(view: CheckoutView, taker: CardTaker): Html {
  const rest = html` name="step" value="pay"`;
  return view.needsCard
    ? cardButtonHtml(taker, rest, confirmText(view), { isHeld: view.savedMethods.length === 0 })
    : html`<button class="wide-button"${rest}>${confirmText(view)}</button>`;
}

/** The page during the confirmation of the charge by the buyer's bank. */
export function confirmPaymentPage(view: CheckoutView, toConfirm: PaymentToConfirm, action: string): PageDocument {
  const hidden = hiddenHtml({ step: 'confirmed', paymentId: toConfirm.id });
  const { wording } = view;
  const { bankAsks, confirmPayment } = wording.words.checkout;
  const content = html`<p role="status">${bankAsks}</p>
${confirmPaymentHtml(view.processor, toConfirm, { action, hidden, wording })}`;
  return page({ view }, { heading: confirmPayment, content, more: cardScripts(view.processor) });
}

/** The page of an open session that currently cannot be confirmed, whatever is entered. */
export function refusedPage(view: CheckoutView, refusal: string): PageDocument {
  const { notPossible } = view.wording.words.checkout;
  const content = html`<div class="notice bad" role="alert"><p>${notPossible}</p><p>${refusal}</p></div>
${cancelHtml(view)}`;
  return layout({ look: view, heading: headingOf(view), content, isWrong: true });
}

/** The page of a session that is no longer open. After the checkout itself the browser is redirected. */
export function outcomePage(view: CheckoutView, { goesOn }: { readonly goesOn: boolean }): PageDocument {
  const { heading, text } = outcomeOf(view);
  const isDone = view.status === 'succeeded' || view.status === 'pending';
  const address = safeAddress(isDone ? view.successUrl : view.cancelUrl);
  const { words, say } = view.wording;
  const label = say(isDone ? words.common.continueTo : words.common.goBackTo, { seller: view.seller });
  const content = html`<section>
${markHtml(view.status)}
<p role="status">${text}</p>
${isDone && orderHtml(view)}
${address !== null && html`<div class="actions"><a class="button" href="${address}">${label}</a></div>`}
</section>`;
  return layout({
    look: view,
    heading,
    content,
    more: { goOnTo: goesOn && view.status === 'succeeded' ? address : null },
  });
}

/** A sign of the outcome: a tick, a clock or an exclamation mark in a circle. The heading says the same. */
function markHtml(status: CheckoutView['status']): Html {
  const kind = status === 'succeeded' ? ' good' : status === 'failed' ? ' bad' : '';
  const path =
    status === 'succeeded' ? 'M7.5 12.5l3 3 6-7' : status === 'failed' ? 'M12 7v6M12 16.5v.1' : 'M12 7v5.5l3.5 2';
  return html`<svg class="mark${kind}" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5"/><path d="${path}"/></svg>`;
}

function outcomeOf(view: CheckoutView): { heading: string; text: string } {
  const { words } = view.wording;
  const { done, doneText, methodSaved, pending, pendingText, expired, failed, startAgain, open } = words.checkout;
  const { status } = view;
  switch (status) {
    case 'succeeded':
      return view.type === 'add_payment_method'
        ? { heading: methodSaved, text: words.done.added }
        : { heading: done, text: doneText };
    case 'pending':
      return { heading: pending, text: pendingText };
    case 'expired':
      return { heading: expired, text: startAgain };
    case 'failed':
      return { heading: failed, text: startAgain };
    case 'open':
      return { heading: headingOf(view), text: open };
    default:
      return status satisfies never;
  }
}

function headingOf({ type, change, intervalUnit, productName, processor, wording }: CheckoutView): string {
  const { words, say } = wording;
  const { changePlan, addCard, activate, subscribe, checkout } = words.checkout;
  if (change !== null) return changePlan;
  if (type === 'add_payment_method') return processor.takesDebits ? words.card.addMethod : addCard;
  if (type === 'activate_subscription') return activate;
  return intervalUnit === null || productName === null ? checkout : say(subscribe, { product: productName });
}

function cancelHtml({ cancelUrl, seller, wording: { words, say } }: CheckoutView): Html | null {
  const address = safeAddress(cancelUrl);
  return address === null
    ? null
    : html`<p><a href="${address}">${say(words.common.cancelAndGoBack, { seller })}</a></p>`;
}

function isWrong(errors: FieldErrors, message: string | null): boolean {
  return message !== null || Object.keys(errors).length > 0;
}

/** A page of an open session: its order beside the content. */
function page(
  { view }: Pick<Step, 'view'>,
  rest: Pick<Parameters<typeof layout>[0], 'heading' | 'content' | 'isWrong' | 'more'>,
): PageDocument {
  const side = view.productName === null ? null : html`${orderHtml(view)}\n${cancelHtml(view)}`;
  const content = side === null ? html`<section>${rest.content}</section>\n${cancelHtml(view)}` : rest.content;
  return layout({ look: view, side, ...rest, content });
}

/** The order and its total. A telephone folds what costs nothing and the lines of the total. Nothing if only a card is added. */
function orderHtml(view: CheckoutView): Html | null {
  const { productName, description, currency, lines, change, wording } = view;
  const { words, money, say } = wording;
  if (productName === null) return null;
  const isNamedAbove = headingOf(view).includes(productName);
  const { currentTotal, newTotal } = words.checkout;
  const taken = view.addOns.filter(({ quantity }) => quantity > 0);
  return html`<section aria-labelledby="order">
<h2 id="order"${isNamedAbove && html` class="unseen"`}><bdi>${productName}</bdi></h2>
${termsOf(view)}<input type="checkbox" class="unseen fold" id="order-details"><label class="fold-label" for="order-details">${words.checkout.orderDetails}</label>
<div class="foldable">
${description !== null && html`<p><bdi>${description}</bdi></p>`}
${includedHtml(view.included, view.quantity, everyOf(view), wording)}
</div>
${taken.map((addOn) => html`<p>${say(words.checkout.with, { addOn: addOnText(addOn, view) })}</p>\n`)}
${usageHtml(view, currency, everyOf(view), wording)}
${change !== null && html`<p>${changeText(change, view)}</p>`}
<dl>
${
  change !== null &&
  html`<dt>${currentTotal}</dt><dd>${money(change.currentTotal, currency)}</dd>
<dt>${newTotal}</dt><dd>${money(change.newTotal, currency)}</dd>`
}
${lines.map((line) => html`<dt class="line"><bdi>${namedWithQuantity(line)}</bdi></dt><dd class="line">${money(line.amount, currency)}</dd>\n`)}
${sumsHtml(view)}
</dl>
${nextChargeHtml(view)}
</section>
`;
}

/** `Seats: 3 × $8.00 per month`. */
function addOnText(addOn: CheckoutAddOn, view: CheckoutView): string {
  const { name, quantity, pricing } = addOn;
  const times = quantity > 1 && pricing === null ? `${view.wording.count(quantity)} × ` : '';
  return `${name}${view.wording.words.common.colon}${times}${addOnPriceText(addOn, view)}`;
}

function changeText({ currentName: plan, keepsPlan, isNow, effectiveAt }: PlanChange, { wording }: CheckoutView) {
  const { words, say, day } = wording;
  const { changesToday, changesOn, replacesToday, replacesOn } = words.checkout;
  if (keepsPlan) return say(isNow ? changesToday : changesOn, { plan, date: day(effectiveAt) });
  return say(isNow ? replacesToday : replacesOn, { plan, date: day(effectiveAt) });
}

/** The price and its terms: `3 Seats × $30.00 per month`. A free trial comes first, and its price below it. */
function termsOf(view: CheckoutView): Html {
  const { unitPrice, pricing, setupFee, quantity, currency, trialEnd, wording } = view;
  if (unitPrice === null) return html``;
  const priced = { unitPrice, pricing, quantity, unit: unitOf(view.included) };
  const every = everyOf(view);
  const amount = quantityText(priced, currency, every, wording);
  const price = amount + planTermsText(view, currency, every, wording) + setupFeeText(setupFee, currency, wording);
  if (trialEnd === null) return termsHtml(price);
  const { freeUntil, afterTrial } = wording.words.prices;
  return html`${termsHtml(wording.say(freeUntil, { date: wording.day(trialEnd) }))}<p>${wording.say(afterTrial, { price })}</p>\n`;
}

function sumsHtml(view: CheckoutView): Html {
  const { status, subtotal, discountCode, discountAmount, taxAmount, taxIncluded, total, dueNow, currency } = view;
  const { words, money } = view.wording;
  const { common } = words;
  const row = (label: string, amount: bigint, isSum = false) =>
    html`<dt${isSum && html` class="sum"`}>${label}</dt><dd${isSum && html` class="sum"`}>${money(amount, currency)}</dd>\n`;
  const discount = discountCode === null ? common.discount : `${common.discount} (${discountCode})`;
  return html`${subtotal !== total && row(common.subtotal, subtotal)}
${(discountCode !== null || discountAmount !== 0n) && row(discount, -discountAmount)}
${taxAmount !== 0n && row(taxIncluded ? common.taxIncluded : common.tax, taxAmount)}
${total !== dueNow && row(common.total, total)}
${row(status === 'succeeded' ? common.charged : common.dueToday, dueNow, true)}`;
}

/** The agreement for recurring charges. */
function agreementOf(view: CheckoutView): string | null {
  const { dueNow, nextChargeAt, seller, wording } = view;
  if (!isRecurring(view)) return null;
  const startsAt = dueNow > 0n ? null : nextChargeAt;
  return agreementText({ seller, every: everyOf(view), isOfUsage: view.usage.length > 0 }, startsAt, wording);
}

/** Whether charges follow: something of the order renews and may cost something. */
function isRecurring({ intervalUnit, unitPrice, pricing, addOns, usage }: CheckoutView): boolean {
  if (intervalUnit === null || unitPrice === null) return false;
  const taken = addOns.filter(({ quantity }) => quantity > 0);
  return usage.length > 0 || [{ unitPrice, pricing }, ...taken].some(mayCost);
}

/** The date of the next charge. The pages of a session that is done show none, because it may have passed. */
function nextChargeHtml(view: CheckoutView): Html | false {
  const { status, nextChargeAt, dueNow, trialEnd, wording } = view;
  const { words, day, say } = wording;
  if (status !== 'open' || nextChargeAt === null || !isRecurring(view)) return false;
  const { firstAfterTrial, firstCharge, firstChargePlan, nextCharge, nextChargePlan } = words.checkout;
  const isNext = dueNow > 0n || view.change !== null;
  const [all, ofPlan] = isNext ? [nextCharge, nextChargePlan] : [firstCharge, firstChargePlan];
  const usual = hasOwnRhythm(view, everyOf(view)) ? ofPlan : all;
  return html`<p class="soft">${say(trialEnd === null ? usual : firstAfterTrial, { date: day(nextChargeAt) })}</p>`;
}

/** The label of the confirm button. */
function confirmText({ type, dueNow, trialEnd, currency, change, processor, wording }: CheckoutView): string {
  const { words, money, say } = wording;
  const { saveCard, pay, payAndChange, confirm, startTrial } = words.checkout;
  const amount = money(dueNow, currency);
  if (type === 'add_payment_method') return processor.takesDebits ? words.card.saveMethod : saveCard;
  if (change !== null) return dueNow > 0n ? say(payAndChange, { amount }) : words.portal.changePlan;
  if (dueNow > 0n) return say(pay, { amount });
  return trialEnd === null ? confirm : startTrial;
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
  const named =
    quantity === 1 || description.endsWith(times) || description.includes(`${times},`)
      ? description
      : description + times;
  return named.replace(times, ` × ${quantity}`);
}
