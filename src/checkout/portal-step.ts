import type { AdjustmentPreview } from '../billing/adjust.ts';
import { maxInvoiceEmails } from '../customers/billing-terms.ts';
import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { dayText } from '../kernel/iso-text.ts';
import { moneyText } from '../kernel/money-text.ts';
import { textLimits } from '../kernel/text-limits.ts';
import type { CardConfirmation } from '../payments/processor.ts';
import { type CardTaker, cardButtonHtml, cardHtml, cardScripts, takesCards } from './page-card.ts';
import { addressFields } from './page-checkout.ts';
import { type FieldErrors, fieldHtml, hiddenHtml, summaryHtml } from './page-form.ts';
import { layout } from './page-layout.ts';
import { includedHtml, methodText, planTermsText, priceText, quantityText, usageHtml } from './page-text.ts';
import type { EnteredDetails, Known, TextName } from './portal-details.ts';
import type { Visited } from './portal-page.ts';
import {
  isChoosable,
  type PortalPlan,
  type PortalSubscription,
  type PortalView,
  type QuantityRange,
} from './portal-view.ts';

type Frame = Pick<PortalView, 'seller' | 'livemode' | 'currency' | 'processor'>;

const back = html`<p><a href="/portal">Back to the overview</a></p>`;

function page(frame: Frame, heading: string, content: Html, more: Partial<Parameters<typeof layout>[0]> = {}) {
  const { seller, livemode } = frame;
  return layout({ heading, seller, livemode, content: html`${content}\n${back}`, ...more });
}

/** The page of available plans. */
export function plansPage(
  frame: Frame,
  visit: Visited,
  subscription: PortalSubscription,
  plans: readonly PortalPlan[],
): PageDocument {
  const { id, isDefaultPlan } = subscription;
  const remove = ({ priceId, name }: PortalPlan) =>
    html`<form method="get" action="/portal/subscriptions/${id}/change">${hiddenHtml({ priceId, remove: 'true' })}
<button class="plain" aria-label="Remove ${name}">Remove</button></form>`;
  const choose = ({ priceId, name, isOwn, addOn }: PortalPlan) =>
    html`<form ${isDefaultPlan ? html`method="post"` : html`method="get"`} action="/portal/subscriptions/${id}/change">
${hiddenHtml(isDefaultPlan ? { formToken: visit.formToken, priceId } : { priceId })}
${isOwn ? html`<button class="plain">Change quantity</button>` : html`<button class="plain" aria-label="${addOn ? 'Add' : 'Choose'} ${name}">${addOn ? 'Add' : 'Choose'}</button>`}</form>`;
  const row = (plan: PortalPlan) => html`<li>
<span><strong>${plan.name}</strong><br>${priceText(plan, frame.currency, { unit: plan.intervalUnit, count: plan.intervalCount })}${planTermsText(plan, frame.currency, everyOf(plan))}${plan.description !== null && html`<br>${plan.description}`}</span>
${isChoosable(subscription, plan) && choose(plan)}
${plan.addOn && plan.isOwn && remove(plan)}
</li>\n`;
  const [others, addOns] = [plans.filter((plan) => !plan.addOn), plans.filter((plan) => plan.addOn)];
  const content = html`<section>
<p>Current plan: <strong>${subscription.name}</strong></p>
${others.length === 0 ? html`<p>No other plans are available at the moment.</p>` : html`<ul class="rows">${others.map(row)}</ul>`}
</section>
${
  addOns.length > 0 &&
  html`<section aria-labelledby="add-ons">
<h2 id="add-ons">Add-ons</h2>
<ul class="rows">${addOns.map(row)}</ul>
</section>`
}`;
  return page(frame, isDefaultPlan ? 'Choose a plan' : 'Change plan', content);
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
  const [heading, verb] = headingOf(step);
  const action = `/portal/subscriptions/${subscription.id}/change`;
  const due = preview?.totalDue ?? 0n;
  const payText = `Pay ${moneyText(due, frame.currency)} and ${verb.toLowerCase()}`;
  const paysNow = due > 0n && preview?.dueDate === undefined;
  const confirm = html`<form method="post" action="${action}">
${hiddenHtml({ formToken: visit.formToken, priceId: plan.priceId, quantity: String(quantity), shownDue: String(due), ...(removes ? { remove: 'true' } : {}) })}
<div class="actions"><button class="wide">${paysNow ? payText : verb}</button></div>
</form>`;
  const content = html`${summaryHtml({}, message)}
<section>
<h2>${heading}</h2>
${!removes && html`<p>${quantityText({ ...plan, quantity }, frame.currency, { unit: plan.intervalUnit, count: plan.intervalCount })}${planTermsText(plan, frame.currency, everyOf(plan))}</p>`}
${!removes && includedHtml(plan.included, quantity, everyOf(plan))}
${!removes && usageHtml(plan, frame.currency, everyOf(plan))}
</section>
${!removes && range.least < range.most && quantityHtml(action, step)}
${preview !== null && (preview.canAdjust ? previewHtml(preview, frame) : html`<p class="notice bad" role="alert">This change is not possible right now. ${preview.reason}</p>`)}
${preview?.canAdjust === true && confirm}`;
  return page(frame, 'Change plan', content, { isWrong: message !== null });
}

function everyOf({ intervalUnit: unit, intervalCount: count }: PortalPlan) {
  return { unit, count };
}

/** The heading of the change, and the text of its button. */
function headingOf({ subscription, plan, removes }: ChangeStep): readonly [string, string] {
  if (!plan.addOn) return [`${subscription.name} to ${plan.name}`, 'Change plan'];
  if (removes) return [`${subscription.name} without ${plan.name}`, 'Remove add-on'];
  return [`${subscription.name} with ${plan.name}`, plan.isOwn ? 'Change add-on' : 'Add to plan'];
}

/** The form that shows the change at another quantity. */
function quantityHtml(action: string, { plan, quantity, range: { least, most } }: ChangeStep): Html {
  const hint = `From ${least} to ${most}`;
  const field = { name: 'quantity', label: 'Quantity', value: String(quantity), hint, maxLength: 7 } as const;
  return html`<form method="get" action="${action}" novalidate>${hiddenHtml({ priceId: plan.priceId })}
<section>${fieldHtml({ ...field, inputMode: 'numeric' }, {})}</section>
<div class="actions"><button class="plain">Update quantity</button></div></form>`;
}

function previewHtml(preview: AdjustmentPreview, { currency }: Frame): Html {
  const { prorationAmount = 0n, carriedOverAmount = 0n, discountAmount = 0n, taxAmount = 0n, totalDue = 0n } = preview;
  const { currentPlanTotal = 0n, newPlanTotal = 0n, resolvedTiming, effectiveDate, paymentMethod, dueDate } = preview;
  const row = (label: string, amount: bigint, isSum = false) =>
    html`<dt${isSum && html` class="sum"`}>${label}</dt><dd${isSum && html` class="sum"`}>${moneyText(amount, currency)}</dd>\n`;
  const isNow = resolvedTiming === 'immediately';
  const nextChargeAt = preview.newBillingPeriodEnd ?? preview.billingPeriodEnd;
  return html`<section aria-labelledby="preview">
<h2 id="preview">Summary</h2>
<p>${isNow ? 'Your plan changes immediately.' : `Your plan changes on ${dayText(effectiveDate ?? 0)}. Until then, you keep your current plan.`}</p>
<dl>
${row('Current plan, full period', currentPlanTotal)}
${row('New plan, full period', newPlanTotal)}
${row('Difference for the rest of this period', prorationAmount)}
${carriedOverAmount !== 0n && row('Unpaid before', carriedOverAmount)}
${discountAmount !== 0n && row('Discount', -discountAmount)}
${taxAmount !== 0n && row('Tax', taxAmount)}
${row(dueDate === undefined ? 'Due today' : `Due on ${dayText(dueDate)}`, totalDue, true)}
</dl>
${nextChargeAt !== undefined && newPlanTotal > 0n && html`<p class="soft">Your next charge is on ${dayText(nextChargeAt)}.</p>`}
${totalDue > 0n && paymentMethod !== undefined && html`<p class="soft">Charged to ${methodText(paymentMethod.type, { ...(paymentMethod.brand === undefined ? {} : { brand: paymentMethod.brand }), ...(paymentMethod.last4 === undefined ? {} : { last4: paymentMethod.last4 }) })}.</p>`}
</section>
`;
}

/** The confirmation page before a cancellation. */
export function cancelPage(frame: Frame, visit: Visited, subscription: PortalSubscription): PageDocument {
  const { id, name, periodEnd } = subscription;
  const until = periodEnd === null ? '' : ` It stays active until ${dayText(periodEnd)}.`;
  const content = html`<section>
<p>Do you want to cancel <strong>${name}</strong>?${until}</p>
<p>You will not be charged for it after that. You can undo the cancellation until then.</p>
<form method="post" action="/portal/subscriptions/${id}/cancel">${hiddenHtml({ formToken: visit.formToken })}
<div class="actions"><button>Cancel subscription</button><a class="button plain" href="/portal">Keep subscription</a></div></form>
</section>`;
  return page(frame, 'Cancel subscription', content);
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
  const taker: CardTaker = { ...frame.processor, currency: frame.currency };
  const content = html`${summaryHtml(errors, message)}
<form method="post" action="/portal/payment-methods" novalidate>
${hiddenHtml({ formToken: visit.formToken })}
<section>
${cardHtml(taker, errors, toConfirm)}
<p class="soft">Future charges will go to this card.</p>
</section>
${takesCards(taker) && html`<div class="actions">${cardButtonHtml(taker, null, 'Save card')}</div>`}
</form>`;
  const isWrong = message !== null || Object.keys(errors).length > 0;
  return page(frame, 'Add a card', content, { isWrong, more: cardScripts(taker) });
}

interface DetailsStep {
  readonly customer: Known;
  readonly entered: EnteredDetails;
  readonly errors?: FieldErrors;
}

/** The form of the billing details. */
export function detailsPage(
  frame: Frame,
  visit: Visited,
  { customer, entered, errors = {} }: DetailsStep,
): PageDocument {
  const text = (name: TextName, label: string, more: { hint?: string; autocomplete?: string } = {}) =>
    fieldHtml({ name, label, value: entered[name], optional: true, maxLength: textLimits.name, ...more }, errors);
  const emails = {
    name: 'invoiceEmails',
    label: 'Email addresses for invoices',
    value: entered.invoiceEmails,
    hint: `Apart by commas. If there is none, invoices go to ${customer.email}.`,
    maxLength: maxInvoiceEmails * (textLimits.email + ', '.length),
  };
  const content = html`${summaryHtml(errors, null)}
<form method="post" action="/portal/details" novalidate>
${hiddenHtml({ formToken: visit.formToken })}
<section>
${text('name', 'Name on invoices', { autocomplete: 'organization' })}
${text('taxId', 'Tax or VAT number')}
${text('purchaseOrderNumber', 'Purchase order number', { hint: 'Printed on your next invoices.' })}
${fieldHtml({ ...emails, optional: true }, errors)}
${addressFields(entered, errors)}
</section>
<div class="actions"><button>Save details</button></div>
</form>`;
  return page(frame, 'Billing details', content, { isWrong: Object.keys(errors).length > 0 });
}

/** The page after signing out. */
export function leftPage(): PageDocument {
  return layout({
    heading: 'You have signed out',
    seller: 'Billing',
    livemode: true,
    content: html`<section><p>Links to this page no longer work. To sign in again, ask the seller for a new one.</p></section>`,
  });
}
