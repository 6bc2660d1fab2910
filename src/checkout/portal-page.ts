import { documentTexts } from '../documents/document-text.ts';
import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { dayText } from '../kernel/iso-text.ts';
import { moneyText } from '../kernel/money-text.ts';
import { mayCost } from '../pricing/pricing.ts';
import type { PaymentToConfirm } from './checkout-view.ts';
import { cardScripts, confirmPaymentHtml } from './page-card.ts';
import { hiddenHtml, summaryHtml } from './page-form.ts';
import { layout } from './page-layout.ts';
import { methodText, planTermsText, quantityText, safeAddress, savedText, usageHtml } from './page-text.ts';
import { type Known, knownBilling } from './portal-details.ts';
import {
  mayCancel,
  mayChange,
  mayKeep,
  mayPay,
  mayUncancel,
  type PortalInvoice,
  type PortalSubscription,
  type PortalView,
} from './portal-view.ts';

/** The common data of the pages of one visit. */
export interface Visited {
  /** Proves that a form comes from a page of this visit. */
  readonly formToken: string;
  readonly returnUrl: string | null;
}

/** Success messages by the word in the address. Other words show none. */
const doneTexts = new Map<string, string>(
  Object.entries({
    canceled: 'Your cancellation is scheduled. Your plan stays active until then.',
    uncanceled: 'Your subscription will continue as before.',
    kept: 'The scheduled change was canceled. You keep your current plan.',
    changed: 'Your plan has been changed.',
    scheduled: 'Your plan will change at the end of the current period.',
    waiting: 'Your payment is being processed. Your plan will change when it has arrived.',
    added: 'Your card has been saved.',
    paid: 'Thank you. Your payment was successful.',
    paying: 'Your payment is being processed.',
    details: 'Your billing details have been saved.',
    default: 'This payment method will be used for future charges.',
  }),
);

const statusTexts: Readonly<Record<PortalSubscription['status'], string>> = {
  trialing: 'Free trial',
  active: 'Active',
  past_due: 'Payment failed',
  unpaid: 'Unpaid',
  cancellation_scheduled: 'Ends soon',
  incomplete: 'Waiting for payment',
  incomplete_expired: 'Ended',
  canceled: 'Ended',
  paused: 'Paused',
};

// To a customer, a written-off invoice is not paid.
const invoiceTexts: typeof documentTexts.en.statuses = { ...documentTexts.en.statuses, uncollectible: 'Not paid' };

/** A form that consists of a button. */
function buttonForm(
  visit: Visited,
  action: string,
  label: string,
  { plain = false, more = {} }: { readonly plain?: boolean; readonly more?: Readonly<Record<string, string>> } = {},
): Html {
  return html`<form method="post" action="${action}">${hiddenHtml({ formToken: visit.formToken, ...more })}
<button${plain && html` class="plain"`}>${label}</button></form>`;
}

/** The overview: plans, payment methods and invoices. */
export function overviewPage(view: PortalView, visit: Visited, done: string, problem: string | null): PageDocument {
  const address = safeAddress(visit.returnUrl);
  const doneText = doneTexts.get(done);
  const content = html`${doneText !== undefined && html`<p class="notice" role="status">${doneText}</p>`}
${summaryHtml({}, problem)}
${view.paymentToConfirm !== null && paymentHtml(view, view.paymentToConfirm, visit)}
${view.subscriptions.length === 0 && html`<section><h2>Your plan</h2><p>You currently have no plan.</p></section>`}
${view.subscriptions.map((subscription) => subscriptionHtml(subscription, view, visit))}
${methodsHtml(view, visit)}
${billingHtml(view.customer)}
${invoicesHtml(view, visit)}
<div class="actions">
${address !== null && html`<a href="${address}">Back to ${view.seller}</a>`}
${buttonForm(visit, '/portal/leave', 'Sign out', { plain: true })}
</div>`;
  return layout({
    heading: `Billing for ${view.customer.name}`,
    seller: view.seller,
    livemode: view.livemode,
    content,
    isWrong: problem !== null,
    more: view.paymentToConfirm === null ? {} : cardScripts(view.processor),
  });
}

function paymentHtml({ processor }: PortalView, toConfirm: PaymentToConfirm, { formToken }: Visited): Html {
  const hidden = hiddenHtml({ formToken });
  return html`<section aria-labelledby="confirm">
<h2 id="confirm">Your bank asks you to confirm a payment</h2>
<p>You will not be charged until you do.</p>
${confirmPaymentHtml(processor, toConfirm, { action: `/portal/payments/${toConfirm.id}/confirmed`, hidden })}
</section>
`;
}

function subscriptionHtml(subscription: PortalSubscription, { currency }: PortalView, visit: Visited): Html {
  const { id, name, status, items, intervalUnit: unit, intervalCount: count, balances, startsAt } = subscription;
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${name} <span class="tag">${startsAt === null ? statusTexts[status] : 'Starts soon'}</span></h2>
${items.map((item) => html`<p>${item.addOn && `${nameOf(item)}: `}${quantityText(item, currency, { unit, count })}${!item.addOn && planTermsText(subscription, currency, { unit, count })}</p>\n`)}
${usageHtml(subscription, currency, { unit, count })}
${datesOf(subscription).map((text) => html`<p class="soft">${text}</p>\n`)}
${balances.length > 0 && html`<h3>Remaining usage</h3><dl>${balances.map((each) => html`<dt>${each.name}</dt><dd>${each.available.toLocaleString('en-US')}</dd>\n`)}</dl>`}
<div class="actions">
${mayPay(subscription) && buttonForm(visit, `/portal/subscriptions/${id}/pay`, 'Pay now')}
${mayChange(subscription) && html`<a class="button" href="/portal/subscriptions/${id}/plans">${subscription.isDefaultPlan ? 'Choose a plan' : 'Change plan'}</a>`}
${mayUncancel(subscription) && buttonForm(visit, `/portal/subscriptions/${id}/uncancel`, 'Keep subscription')}
${mayKeep(subscription) && buttonForm(visit, `/portal/subscriptions/${id}/keep`, 'Keep current plan', { plain: true })}
${mayCancel(subscription) && html`<a class="button plain" href="/portal/subscriptions/${id}/cancel">Cancel subscription</a>`}
</div>
</section>
`;
}

/** The dates of a subscription in the customer's terms. */
function datesOf(subscription: PortalSubscription): string[] {
  const {
    status,
    trialEnd,
    startsAt,
    periodEnd,
    nextUsageAt,
    cancelScheduledAt,
    scheduledAdjustmentAt,
    isDefaultPlan,
  } = subscription;
  if (startsAt !== null) return [`Starts on ${dayText(startsAt)}.`];
  if (cancelScheduledAt !== null) return [`Ends on ${dayText(cancelScheduledAt)}.`];
  const texts: string[] = [];
  const part = nextUsageAt === null ? '' : ' for the plan';
  const charge = (which: string) => (isCharged(subscription) ? ` Your ${which} charge${part} is on that day.` : '');
  if (status === 'trialing' && trialEnd !== null) texts.push(`Free until ${dayText(trialEnd)}.${charge('first')}`);
  else if (periodEnd !== null && !isDefaultPlan && status !== 'paused')
    texts.push(`Renews on ${dayText(periodEnd)}.${charge('next')}`);
  if (nextUsageAt !== null && status !== 'paused') texts.push(`Usage is next billed on ${dayText(nextUsageAt)}.`);
  if (scheduledAdjustmentAt !== null) texts.push(`Your plan changes on ${dayText(scheduledAdjustmentAt)}.`);
  return texts;
}

/** The name of an item without its quantity, which stands before its price. */
function nameOf({ name, quantity }: PortalSubscription['items'][number]): string {
  const times = ` x ${quantity}`;
  return name.endsWith(times) ? name.slice(0, -times.length) : name;
}

/** Whether its renewal costs something. */
function isCharged({ items, doNotCharge, minimumCommitment, renews }: PortalSubscription): boolean {
  return renews && !doNotCharge && ((minimumCommitment ?? 0n) > 0n || items.some(mayCost));
}

function methodsHtml({ paymentMethods }: PortalView, visit: Visited): Html {
  const row = ({ id, type, paymentMethodData: data, default: isDefault }: PortalView['paymentMethods'][number]) => {
    const text = methodText(type, data);
    const use = html`<form method="post" action="/portal/payment-methods/${id}/default">${hiddenHtml({ formToken: visit.formToken })}
<button class="plain" aria-label="Make default: ${text}">Make default</button></form>`;
    return html`<li><span>${savedText(type, data)}</span>${isDefault ? html`<span class="tag">Default</span>` : use}</li>\n`;
  };
  return html`<section aria-labelledby="methods">
<h2 id="methods">Payment methods</h2>
${paymentMethods.length === 0 ? html`<p>No payment methods yet.</p>` : html`<ul class="rows">${paymentMethods.map(row)}</ul>`}
<div class="actions"><a class="button plain" href="/portal/payment-methods">Add a card</a></div>
</section>
`;
}

/** The details on the overview, with the way to change them. */
function billingHtml(customer: Known): Html {
  const { name, taxId, purchaseOrderNumber, invoiceEmails, ...address } = knownBilling(customer);
  const { line1, line2, postal_code: code, city, state, country } = address;
  const lines = [name, line1, line2, `${code} ${city}`.trim(), state, country].filter((line) => line !== '');
  const facts = [
    ['Tax or VAT number', taxId],
    ['Purchase order number', purchaseOrderNumber],
    ['Invoices go to', invoiceEmails || customer.email],
  ].filter(([, value]) => value !== '');
  return html`<section aria-labelledby="details">
<h2 id="details">Billing details</h2>
<p>${lines.map((line) => html`${line}<br>`)}</p>
${facts.map(([label, value]) => html`<p class="soft">${label}: ${value}</p>\n`)}
<div class="actions"><a class="button plain" href="/portal/details">Change details</a></div>
</section>
`;
}

function invoicesHtml({ invoices }: PortalView, { formToken }: Visited): Html {
  const payForm = ({ id, number, due, currency }: PortalInvoice) => {
    const text = `Pay ${moneyText(due, currency)}`;
    return html`<form method="post" action="/portal/invoices/${id}/pay">${hiddenHtml({ formToken })}
<button class="plain" aria-label="${text} of invoice ${number}">${text}</button></form>`;
  };
  const row = (invoice: PortalInvoice) => {
    const { id, number, date, status, total, currency } = invoice;
    return html`<li>
<span>${dayText(date)} <span class="tag">${invoiceTexts[status]}</span></span>
<span>${moneyText(total, currency)}</span>
<span><a href="/portal/invoices/${id}" aria-label="Invoice ${number}">${number}</a> <a href="/portal/invoices/${id}/pdf" aria-label="Invoice ${number} as PDF">PDF</a></span>
${status === 'open' && payForm(invoice)}
</li>\n`;
  };
  return html`<section aria-labelledby="invoices">
<h2 id="invoices">Invoices</h2>
${invoices.length === 0 ? html`<p>No invoices yet.</p>` : html`<ul class="rows">${invoices.map(row)}</ul>`}
</section>
`;
}
