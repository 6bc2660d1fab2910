import type { AdjustmentPreview } from '../billing/adjust.ts';
import { maxInvoiceEmails } from '../customers/billing-terms.ts';
import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { localPercent } from '../kernel/language.ts';
import { textLimits } from '../kernel/text-limits.ts';
import type { CardConfirmation } from '../payments/processor.ts';
import { type CustomerReason, customerReasons } from '../subscriptions/cancellation.ts';
import type { Wording } from '../wording/wording.ts';
import type { PageLook } from './checkout-view.ts';
import { cardButtonHtml, cardHtml, cardScripts, takesCards } from './page-card.ts';
import { wholeAddress } from './page-checkout.ts';
import {
  type Choice,
  choiceHtml,
  type FieldErrors,
  fieldHtml,
  hiddenHtml,
  summaryHtml,
  textAreaHtml,
} from './page-form.ts';
import { layout } from './page-layout.ts';
import {
  includedHtml,
  intervalText,
  methodText,
  planTermsText,
  priceText,
  quantityText,
  termsHtml,
  unitOf,
  usageHtml,
} from './page-text.ts';
import type { EnteredDetails, Known, TextName } from './portal-details.ts';
import { savingIn, type Visited } from './portal-parts.ts';
import {
  isChoosable,
  type PortalPlan,
  type PortalSubscription,
  type PortalView,
  type QuantityRange,
} from './portal-view.ts';

export type Frame = PageLook & Pick<PortalView, 'currency' | 'processor'>;

/** A page with the way back to the overview. */
export function stepPage(
  frame: Frame,
  heading: string,
  content: Html,
  more: Partial<Parameters<typeof layout>[0]> = {},
) {
  const back = html`<p><a href="/portal">${frame.wording.words.common.overview}</a></p>`;
  return layout({ look: frame, heading, content: html`${content}\n${back}`, ...more });
}

/** The interval of a plan in an address: `month-1`. */
function intervalOf({ intervalUnit, intervalCount }: PortalPlan): string {
  return `${intervalUnit}-${intervalCount}`;
}

interface Offer {
  readonly subscription: PortalSubscription;
  /** The plans and add-ons to choose, with the plan that the customer has. */
  readonly plans: readonly PortalPlan[];
  /** The interval whose plans are asked for. */
  readonly interval: string | undefined;
}

/** The page of available plans: those of one interval beside each other. */
export function plansPage(frame: Frame, visit: Visited, { subscription, plans, interval }: Offer): PageDocument {
  const { words, say } = frame.wording;
  const { portal } = words;
  const offered = plans.filter((plan) => !plan.addOn);
  const addOns = plans.filter((plan) => plan.addOn);
  const intervals = new Set(offered.map(intervalOf));
  const own = offered.find(({ isOwn }) => isOwn) ?? offered[0];
  const shown = interval !== undefined && intervals.has(interval) ? interval : own && intervalOf(own);
  const others = offered.filter((plan) => intervalOf(plan) === shown);
  const content = html`<p>${say(portal.currentPlan, { plan: subscription.name })}</p>
${intervals.size > 1 && switchHtml(frame, subscription, offered, shown)}
${offered.length === 0 ? html`<section><p>${portal.noPlans}</p></section>` : html`<ul class="plans">${others.map((plan) => planHtml(frame, visit, subscription, plan))}</ul>`}
${
  addOns.length > 0 &&
  html`<h2 id="add-ons" class="apart">${words.checkout.addOns}</h2>
<ul class="plans" aria-labelledby="add-ons">${addOns.map((plan) => planHtml(frame, visit, subscription, plan))}</ul>`
}`;
  const heading = subscription.isDefaultPlan ? portal.choosePlan : portal.changePlan;
  return stepPage(frame, heading, content, { isWide: true });
}

/** Links to the plans of each interval. */
function switchHtml(
  { wording }: Frame,
  { id }: PortalSubscription,
  offered: readonly PortalPlan[],
  shown: string | undefined,
): Html {
  const { words, say } = wording;
  const intervals = Map.groupBy(offered, intervalOf);
  const savingOf = (plans: readonly PortalPlan[]) => {
    const savings = plans.map((plan) => savingIn(offered, plan));
    const found = savings.filter((percent) => percent !== null);
    if (found.length === 0) return false;
    const most = found.reduce((one, other) => (one > other ? one : other));
    const text = savings.every((percent) => percent === most) ? words.portal.save : words.portal.saveUpTo;
    return html` <span class="tag good">${say(text, { percent: percentText(most, wording) })}</span>`;
  };
  const link = ([interval, plans]: readonly [string, readonly PortalPlan[]]) =>
    html`<a href="/portal/subscriptions/${id}/plans?interval=${interval}"${interval === shown && html` aria-current="true"`}>${plans[0] && rhythmText(plans[0], wording)}${savingOf(plans)}</a>\n`;
  return html`<nav class="switch" aria-label="${wording.words.portal.choosePlan}">${[...intervals].map(link)}</nav>`;
}

function percentText(percent: bigint, { language }: Wording): string {
  return localPercent(String(percent), language);
}

/** The rhythm of a plan in the switch: `Monthly`, or `every 3 months`. */
function rhythmText(plan: PortalPlan, wording: Wording): string {
  const { daily, weekly, monthly, yearly } = wording.words.portal;
  const { unit, count } = everyOf(plan);
  return unit === null || (count ?? 1) > 1
    ? intervalText({ unit, count }, wording)
    : { day: daily, week: weekly, month: monthly, year: yearly }[unit];
}

/** A plan or an add-on, with what it includes. */
function planHtml(frame: Frame, visit: Visited, subscription: PortalSubscription, plan: PortalPlan): Html {
  const { currency, wording } = frame;
  const { portal } = wording.words;
  const every = everyOf(plan);
  const price = priceText(plan, currency, every, wording) + planTermsText(plan, currency, every, wording);
  return html`<li${plan.isOwn && html` class="own"`}>
<strong><bdi>${plan.name}</bdi></strong>
${termsHtml(price)}${plan.description !== null && html`<span class="soft"><bdi>${plan.description}</bdi></span>`}
${includedHtml(plan.included, 1, every, wording)}
${plan.isOwn && !plan.addOn && html`<span class="own-tag"><span class="tag">${portal.current}</span></span>`}
${isChoosable(subscription, plan) && chooseHtml(frame, visit, subscription, plan)}
${plan.addOn && plan.isOwn && removeHtml(frame, subscription, plan)}
</li>\n`;
}

function chooseHtml({ wording }: Frame, visit: Visited, { id, isDefaultPlan }: PortalSubscription, plan: PortalPlan) {
  const { words, say } = wording;
  const { choose, chooseOf, add, addOf, changeQuantity } = words.portal;
  const { priceId, name, isOwn, addOn } = plan;
  const label = addOn ? add : choose;
  const button = isOwn
    ? html`<button class="plain">${changeQuantity}</button>`
    : html`<button aria-label="${say(addOn ? addOf : chooseOf, { name })}">${label}</button>`;
  return html`<form method="${isDefaultPlan ? 'post' : 'get'}" action="/portal/subscriptions/${id}/change">
${hiddenHtml(isDefaultPlan ? { formToken: visit.formToken, priceId } : { priceId })}
${button}</form>`;
}

function removeHtml({ wording }: Frame, { id }: PortalSubscription, { priceId, name }: PortalPlan): Html {
  const { words, say } = wording;
  const label = say(words.portal.removeAddOnOf, { name });
  return html`<form method="get" action="/portal/subscriptions/${id}/change">${hiddenHtml({ priceId, remove: 'true' })}
<button class="plain" aria-label="${label}">${words.portal.remove}</button></form>`;
}

export interface ChangeStep {
  readonly subscription: PortalSubscription;
  readonly plan: PortalPlan;
  readonly quantity: number;
  readonly range: QuantityRange;
  /** Whether an add-on is to be removed. */
  readonly removes: boolean;
  /** Null: the customer has the plan at the quantity. */
  readonly preview: AdjustmentPreview | null;
  readonly message?: string | null;
}

/** The preview of a plan change, with exact amounts. */
export function changePage(frame: Frame, visit: Visited, step: ChangeStep): PageDocument {
  const { subscription, plan, quantity, range, removes, preview, message = null } = step;
  const { currency, wording } = frame;
  const { words, money, say } = wording;
  const [heading, verb] = headingOf(step, frame);
  const action = `/portal/subscriptions/${subscription.id}/change`;
  const due = preview?.totalDue ?? 0n;
  const every = everyOf(plan);
  const paysNow = due > 0n && preview?.dueDate === undefined;
  const isChange = verb === words.portal.changePlan;
  const payText = isChange ? words.checkout.payAndChange : words.portal.payAnd;
  const label = say(payText, { amount: money(due, currency), action: inSentence(verb, frame) });
  const hidden = { formToken: visit.formToken, priceId: plan.priceId, quantity: String(quantity) };
  const confirm = html`<form method="post" action="${action}">
${hiddenHtml({ ...hidden, shownDue: String(due), ...(removes ? { remove: 'true' } : {}) })}
<div class="actions"><button class="wide-button">${paysNow ? label : verb}</button></div>
</form>`;
  const priced = { ...plan, quantity, unit: plan.addOn ? null : unitOf(plan.included) };
  const terms = html`<p>${quantityText(priced, currency, every, wording)}${planTermsText(plan, currency, every, wording)}</p>
${includedHtml(plan.included, quantity, every, wording)}
${usageHtml(plan, currency, every, wording)}`;
  const content = html`${summaryHtml({ errors: {}, wording }, message)}
<section>
<h2><bdi>${heading}</bdi></h2>
${!removes && terms}
</section>
${!removes && range.least < range.most && quantityHtml(action, step, frame)}
${preview !== null && (preview.canAdjust ? previewHtml(preview, frame) : html`<p class="notice bad" role="alert">${say(words.portal.notPossible, { reason: preview.reason ?? '' })}</p>`)}
${preview?.canAdjust === true && confirm}`;
  return stepPage(frame, words.portal.changePlan, content, { isWrong: message !== null });
}

/** The text of a button within another one. */
function inSentence(text: string, { wording }: Frame): string {
  return wording.language === 'en' ? text.toLowerCase() : text;
}

function everyOf({ intervalUnit: unit, intervalCount: count }: PortalPlan) {
  return { unit, count };
}

/** The heading of the change, and the text of its button. */
function headingOf({ subscription, plan, removes }: ChangeStep, { wording }: Frame): readonly [string, string] {
  const { words, say } = wording;
  const { from, without, withAddOn, changePlan, removeAddOn, changeAddOn, addToPlan } = words.portal;
  const names = { plan: subscription.name, other: plan.name };
  if (!plan.addOn) return [say(from, names), changePlan];
  if (removes) return [say(without, names), removeAddOn];
  return [say(withAddOn, names), plan.isOwn ? changeAddOn : addToPlan];
}

/** The form that shows the change at another quantity. */
function quantityHtml(action: string, { plan, quantity, range }: ChangeStep, { wording }: Frame): Html {
  const { words, say } = wording;
  const hint = say(words.checkout.range, { least: String(range.least), most: String(range.most) });
  const label = words.checkout.quantity;
  const field = { name: 'quantity', label, value: String(quantity), hint, maxLength: 7, inputMode: 'numeric' } as const;
  return html`<form method="get" action="${action}" novalidate>${hiddenHtml({ priceId: plan.priceId })}
<section><div class="with-button">${fieldHtml(field, { errors: {}, wording })}<button class="plain">${words.portal.updateQuantity}</button></div></section></form>`;
}

function previewHtml(preview: AdjustmentPreview, { currency, wording }: Frame): Html {
  const { words, money, day, say } = wording;
  const { prorationAmount = 0n, carriedOverAmount = 0n, discountAmount = 0n, taxAmount = 0n, totalDue = 0n } = preview;
  const { currentPlanTotal = 0n, newPlanTotal = 0n, resolvedTiming, effectiveDate, paymentMethod, dueDate } = preview;
  const row = (label: string, amount: bigint, isSum = false) =>
    html`<dt${isSum && html` class="sum"`}>${label}</dt><dd${isSum && html` class="sum"`}>${money(amount, currency)}</dd>\n`;
  const { summary, changesNow, keepsUntil, difference, unpaid, chargedTo } = words.portal;
  const isNow = resolvedTiming === 'immediately';
  const nextChargeAt = preview.newBillingPeriodEnd ?? preview.billingPeriodEnd;
  const { common, checkout } = words;
  return html`<section aria-labelledby="preview">
<h2 id="preview">${summary}</h2>
<p>${isNow ? changesNow : say(keepsUntil, { date: day(effectiveDate ?? 0) })}</p>
<dl>
${row(checkout.currentTotal, currentPlanTotal)}
${row(checkout.newTotal, newPlanTotal)}
${row(difference, prorationAmount)}
${carriedOverAmount !== 0n && row(unpaid, carriedOverAmount)}
${discountAmount !== 0n && row(common.discount, -discountAmount)}
${taxAmount !== 0n && row(common.tax, taxAmount)}
${row(dueDate === undefined ? common.dueToday : say(common.dueOn, { date: day(dueDate) }), totalDue, true)}
</dl>
${nextChargeAt !== undefined && newPlanTotal > 0n && html`<p class="soft">${say(checkout.nextCharge, { date: day(nextChargeAt) })}</p>`}
${totalDue > 0n && paymentMethod !== undefined && html`<p class="soft">${say(chargedTo, { card: methodText(paymentMethod.type, dataOf(paymentMethod), wording) })}</p>`}
</section>
`;
}

function dataOf({ brand, last4 }: NonNullable<AdjustmentPreview['paymentMethod']>) {
  return { ...(brand === undefined ? {} : { brand }), ...(last4 === undefined ? {} : { last4 }) };
}

function reasonsIn({ wording }: Frame): Choice[] {
  const { portal } = wording.words;
  const labels: Readonly<Record<CustomerReason, string>> = {
    too_expensive: portal.tooExpensive,
    missing_features: portal.missingFeatures,
    switched_service: portal.switchedService,
    unused: portal.unused,
    low_quality: portal.lowQuality,
    too_complex: portal.tooComplex,
    customer_service: portal.customerService,
    other: portal.otherReason,
  };
  return customerReasons.map((value) => ({ value, label: labels[value] }));
}

/** The customer's words about its cancellation, as it was entered. */
export interface EnteredCancellation {
  readonly reason: string;
  readonly comment: string;
}

/** The confirmation page before a cancellation. Reason and comment may be left out. */
export function cancelPage(
  frame: Frame,
  visit: Visited,
  subscription: PortalSubscription,
  { reason, comment }: EnteredCancellation = { reason: '', comment: '' },
): PageDocument {
  const { id, name, periodEnd } = subscription;
  const { words, day, say } = frame.wording;
  const { cancelQuestion, activeUntil, cancelText, cancel, keepSubscription } = words.portal;
  const { reason: reasonLabel, comment: label } = words.portal;
  const isTooLong = comment.length > textLimits.description;
  const tooLong = say(words.errors.tooLong, { count: String(textLimits.description) });
  const state = { errors: isTooLong ? { comment: tooLong } : {}, wording: frame.wording };
  const field = { name: 'comment', label, value: comment, optional: true, maxLength: textLimits.description };
  const content = html`${summaryHtml(state, null)}
<section>
<p>${say(cancelQuestion, { plan: name })}${periodEnd !== null && ` ${say(activeUntil, { date: day(periodEnd) })}`}</p>
<p>${cancelText}</p>
<form method="post" action="/portal/subscriptions/${id}/cancel">${hiddenHtml({ formToken: visit.formToken })}
${choiceHtml({ name: 'reason', label: reasonLabel, value: reason }, reasonsIn(frame), state)}
${textAreaHtml(field, state)}
<div class="actions"><button class="danger">${cancel}</button><a class="button plain" href="/portal">${keepSubscription}</a></div></form>
</section>`;
  return stepPage(frame, cancel, content, { isWrong: isTooLong });
}

export interface CardStep {
  readonly errors?: FieldErrors;
  readonly message?: string | null;
  /** A confirmation that the customer's bank requires first. */
  readonly toConfirm?: CardConfirmation | null;
}

/** The form to add a card, which becomes the default. */
export function newCardPage(
  frame: Frame,
  visit: Visited,
  { errors = {}, message = null, toConfirm = null }: CardStep = {},
): PageDocument {
  const taker = { ...frame.processor, currency: frame.currency, seller: frame.seller };
  const { wording } = frame;
  const state = { errors, wording };
  const { futureCharges } = wording.words.portal;
  const { card, checkout } = wording.words;
  const addCard = taker.takesDebits ? card.addMethod : checkout.addCard;
  const saveCard = taker.takesDebits ? card.saveMethod : checkout.saveCard;
  const content = html`${summaryHtml(state, message)}
<section>
<form method="post" action="/portal/payment-methods" novalidate>
${hiddenHtml({ formToken: visit.formToken })}
${cardHtml(taker, state, { toConfirm })}
${takesCards(taker) && cardButtonHtml(taker, null, saveCard)}
<p class="soft">${futureCharges}</p>
</form>
</section>`;
  const isWrong = message !== null || Object.keys(errors).length > 0;
  return stepPage(frame, addCard, content, { isWrong, more: cardScripts(taker) });
}

interface DetailsStep {
  readonly customer: Known;
  readonly entered: EnteredDetails;
  readonly errors?: FieldErrors;
}

/** The form of the billing details. */
export function billingPage(
  frame: Frame,
  visit: Visited,
  { customer, entered, errors = {} }: DetailsStep,
): PageDocument {
  const { wording } = frame;
  const { words, say } = wording;
  const { portal, checkout } = words;
  const state = { errors, wording };
  const text = (name: TextName, label: string, more: { hint?: string; autocomplete?: string } = {}) =>
    fieldHtml({ name, label, value: entered[name], optional: true, maxLength: textLimits.name, ...more }, state);
  const emails = {
    name: 'invoiceEmails',
    label: portal.invoiceEmails,
    value: entered.invoiceEmails,
    hint: say(portal.invoiceEmailsHint, { email: customer.email }),
    maxLength: maxInvoiceEmails * (textLimits.email + ', '.length),
  };
  const content = html`${summaryHtml(state, null)}
<section>
<form method="post" action="/portal/details" novalidate>
${hiddenHtml({ formToken: visit.formToken })}
<fieldset>
${text('name', portal.nameOnInvoices, { autocomplete: 'organization' })}
${text('taxId', checkout.taxId)}
${text('purchaseOrderNumber', portal.orderNumber, { hint: portal.orderNumberHint })}
${fieldHtml({ ...emails, optional: true }, state)}
</fieldset>
${wholeAddress(entered, state)}
<button>${portal.saveDetails}</button>
</form>
</section>`;
  return stepPage(frame, portal.details, content, { isWrong: Object.keys(errors).length > 0 });
}
