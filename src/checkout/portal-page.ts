import { documentTexts } from '../documents/document-text.ts';
import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { localCountry } from '../kernel/language.ts';
import { mayCost } from '../pricing/pricing.ts';
import type { Wording } from '../wording/wording.ts';
import type { PaymentToConfirm } from './checkout-view.ts';
import { cardScripts, confirmPaymentHtml } from './page-card.ts';
import { hiddenHtml, summaryHtml } from './page-form.ts';
import { layout } from './page-layout.ts';
import {
  methodSign,
  methodText,
  planTermsText,
  quantityText,
  safeAddress,
  savedText,
  termsHtml,
  unitOf,
  usageHtml,
} from './page-text.ts';
import { automaticHtml, balancesHtml, chartsHtml, topUpsHtml } from './portal-credits.ts';
import { knownBilling } from './portal-details.ts';
import { limitsHtml } from './portal-limits.ts';
import { barHtml, buttonForm, type Visited } from './portal-parts.ts';
import {
  mayCancel,
  mayChange,
  mayKeep,
  mayPay,
  mayUncancel,
  type PortalInvoice,
  type PortalOverview,
  type PortalSubscription,
  type PortalView,
} from './portal-view.ts';

/** The message of success for the word in the address. Other words show none. */
function doneText(word: string, { words }: Wording): string | undefined {
  return Object.hasOwn(words.done, word) ? words.done[word as keyof typeof words.done] : undefined;
}

/** The overview: plans, usage, top-ups, payment methods and invoices. */
export function overviewPage(view: PortalOverview, visit: Visited, done: string, problem: string | null): PageDocument {
  const { wording, seller } = view;
  const { words, say } = wording;
  const address = safeAddress(visit.returnUrl);
  const message = doneText(done, wording);
  const content = html`${message !== undefined && html`<p class="notice" role="status">${message}</p>`}
${summaryHtml({ errors: {}, wording }, problem)}
${owedHtml(view)}
${view.paymentToConfirm !== null && paymentHtml(view, view.paymentToConfirm, visit)}
<div class="columns">
<div>
${view.subscriptions.length === 0 && html`<section><h2>${words.portal.yourPlan}</h2><p>${words.portal.noPlan}</p></section>`}
${view.subscriptions.map((subscription) => subscriptionHtml(subscription, view, visit))}
${balancesHtml(view)}
${chartsHtml(view)}
${invoicesHtml(view, visit)}
</div>
<div>
${methodsHtml(view, visit)}
${billingHtml(view)}
${topUpsHtml(view, visit)}
${automaticHtml(view, visit)}
${limitsHtml(view)}
</div>
</div>`;
  const tools = html`<div class="tools">${address !== null && html`<a href="${address}">${say(words.common.backTo, { seller })}</a>`}
${buttonForm(visit, '/portal/leave', words.portal.signOut, { isPlain: true })}</div>`;
  return layout({
    look: view,
    heading: say(words.portal.heading, { customer: view.customer.name }),
    content,
    tools,
    isWide: true,
    isWrong: problem !== null,
    more: view.paymentToConfirm === null ? {} : cardScripts(view.processor),
  });
}

/** The sum that should have been paid by now, with the page that takes the oldest part of it. */
function owedHtml({ invoices, currency, wording }: PortalView): Html | null {
  const { words, money, say } = wording;
  const overdue = invoices.filter((invoice) => invoice.url !== null && invoice.currency === currency);
  const oldest = overdue.at(-1);
  if (!oldest?.url) return null;
  const amount = overdue.reduce((sum, { due }) => sum + due, 0n);
  const label = say(words.checkout.pay, { amount: money(oldest.due, currency) });
  return html`<div class="notice owed"><p><strong>${say(words.portal.owed, { amount: money(amount, currency) })}</strong><br>${words.portal.owedText}</p>
<a class="button" href="${oldest.url}">${label}</a></div>
`;
}

function paymentHtml({ processor, wording }: PortalView, toConfirm: PaymentToConfirm, { formToken }: Visited): Html {
  const hidden = hiddenHtml({ formToken });
  const { bankAsks, notCharged } = wording.words.portal;
  return html`<section aria-labelledby="confirm">
<h2 id="confirm">${bankAsks}</h2>
<p>${notCharged}</p>
${confirmPaymentHtml(processor, toConfirm, { action: `/portal/payments/${toConfirm.id}/confirmed`, hidden, wording })}
</section>
`;
}

const goodStatuses: ReadonlySet<PortalSubscription['status']> = new Set(['active', 'trialing']);
const badStatuses: ReadonlySet<PortalSubscription['status']> = new Set(['past_due', 'unpaid', 'incomplete']);

function statusHtml({ status, startsAt }: PortalSubscription, { words }: Wording): Html {
  if (startsAt !== null) return html`<span class="tag">${words.statuses.starting}</span>`;
  const kind = goodStatuses.has(status) ? ' good' : badStatuses.has(status) ? ' bad' : '';
  return html`<span class="tag${kind}">${words.statuses[status]}</span>`;
}

function subscriptionHtml(subscription: PortalSubscription, { currency, wording }: PortalView, visit: Visited): Html {
  const { id, name, items, intervalUnit: unit, intervalCount: count, isDefaultPlan } = subscription;
  const { portal } = wording.words;
  const every = { unit, count };
  const path = `/portal/subscriptions/${id}`;
  const item = (each: PortalSubscription['items'][number]) => {
    const priced = { ...each, unit: each.addOn ? null : unitOf(subscription.included) };
    const text = quantityText(priced, currency, every, wording);
    const terms = planTermsText(subscription, currency, every, wording);
    if (!each.addOn) return termsHtml(text + terms);
    return html`<p><bdi>${nameOf(each)}</bdi>${wording.words.common.colon}${text}</p>\n`;
  };
  return html`<section aria-labelledby="${id}">
<h2 id="${id}"><bdi>${name}</bdi> ${statusHtml(subscription, wording)}</h2>
${items.map(item)}
${datesOf(subscription, wording).map((text) => html`<p>${text}</p>\n`)}
${usageHtml(subscription, currency, every, wording)}
${seatsHtml(subscription, wording, visit)}
<div class="actions">
${mayPay(subscription) && buttonForm(visit, `${path}/pay`, portal.payNow)}
${mayChange(subscription) && html`<a class="button" href="${path}/plans">${isDefaultPlan ? portal.choosePlan : portal.changePlan}</a>`}
${mayUncancel(subscription) && buttonForm(visit, `${path}/uncancel`, portal.keepSubscription)}
${mayKeep(subscription) && buttonForm(visit, `${path}/keep`, portal.keepPlan, { isPlain: true })}
${mayCancel(subscription) && html`<a class="button plain" href="${path}/cancel">${portal.cancel}</a>`}
</div>
</section>
`;
}

/** The holders of each resource, who can be taken off. */
function seatsHtml(subscription: PortalSubscription, { words, count, say }: Wording, visit: Visited): Html[] {
  const { seatUnnamed, release, releaseName, inUse, andMore } = words.portal;
  return subscription.seats.map(({ slug, name: resource, claimed, capacity, holders }) => {
    const row = ({ id, externalId }: PortalSubscription['seats'][number]['holders'][number]) => {
      const name = externalId ?? seatUnnamed;
      const more = { resourceSlug: slug, claimId: id };
      const label = say(releaseName, { name });
      const form = buttonForm(visit, `/portal/subscriptions/${subscription.id}/release`, release, {
        isPlain: true,
        name: label,
        more,
      });
      return html`<li><span><bdi>${name}</bdi></span>${mayCancel(subscription) && form}</li>\n`;
    };
    const rest = claimed - holders.length;
    return html`<div class="meter"><strong><bdi>${resource}</bdi></strong><span>${say(inUse, { claimed: count(claimed), capacity: count(capacity) })}</span></div>
${barHtml(BigInt(claimed), BigInt(capacity))}
${holders.length > 0 && html`<ul class="rows">${holders.map(row)}</ul>`}
${rest > 0 && html`<p class="soft">${say(andMore, { count: count(rest) })}</p>`}`;
  });
}

/** The dates of a subscription in the customer's terms. */
function datesOf(subscription: PortalSubscription, { words, language, day, say }: Wording): string[] {
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
  const { portal } = words;
  const on = (text: string, at: number) => say(text, { date: day(at) });
  // Sentences of Japanese follow each other without a space.
  const gap = language === 'ja' ? '' : ' ';
  if (startsAt !== null) return [on(portal.startsOn, startsAt)];
  if (cancelScheduledAt !== null) return [on(portal.endsOn, cancelScheduledAt)];
  const texts: string[] = [];
  const charged = (all: string, ofPlan: string) =>
    isCharged(subscription) ? [nextUsageAt === null ? all : ofPlan] : [];
  if (status === 'trialing' && trialEnd !== null)
    texts.push(
      [on(portal.freeUntil, trialEnd), ...charged(portal.firstChargeThen, portal.firstPlanChargeThen)].join(gap),
    );
  else if (periodEnd !== null && !isDefaultPlan && status !== 'paused')
    texts.push(
      [on(portal.renewsOn, periodEnd), ...charged(portal.nextChargeThen, portal.nextPlanChargeThen)].join(gap),
    );
  if (nextUsageAt !== null && status !== 'paused') texts.push(on(portal.usageOn, nextUsageAt));
  if (scheduledAdjustmentAt !== null) texts.push(on(portal.changesOn, scheduledAdjustmentAt));
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

function methodsHtml({ paymentMethods, processor, wording }: PortalView, visit: Visited): Html {
  const { words, say } = wording;
  const { methods, noMethods, default: defaultText, makeDefault, makeDefaultOf, remove, removeOf } = words.portal;
  const row = ({ id, type, paymentMethodData: data, default: isDefault }: PortalView['paymentMethods'][number]) => {
    const card = methodText(type, data, wording);
    const name = say(makeDefaultOf, { card });
    const path = `/portal/payment-methods/${id}`;
    const use = buttonForm(visit, `${path}/default`, makeDefault, { isPlain: true, name });
    const away = buttonForm(visit, `${path}/remove`, remove, { isPlain: true, name: say(removeOf, { card }) });
    return html`<li><span>${methodSign(type, data)} ${savedText(type, data, wording)}</span>${isDefault ? html`<span class="tag">${defaultText}</span>` : use}${away}</li>\n`;
  };
  return html`<section aria-labelledby="methods">
<h2 id="methods">${methods}</h2>
${paymentMethods.length === 0 ? html`<p>${noMethods}</p>` : html`<ul class="rows">${paymentMethods.map(row)}</ul>`}
<div class="actions"><a class="button plain small" href="/portal/payment-methods">${processor.takesDebits ? words.card.addMethod : words.portal.addCard}</a></div>
</section>
`;
}

/** The details on the overview, with the way to change them. */
function billingHtml({ customer, wording }: PortalView): Html {
  const { name, taxId, purchaseOrderNumber, invoiceEmails, ...address } = knownBilling(customer);
  const { line1, line2, postal_code: code, city, state, country } = address;
  const { common, portal, checkout } = wording.words;
  const where = country === '' ? '' : localCountry(country, wording.language);
  const lines = [name, line1, line2, `${code} ${city}`.trim(), state, where].filter((line) => line !== '');
  const facts = [
    [checkout.taxId, taxId],
    [portal.orderNumber, purchaseOrderNumber],
    [portal.invoicesGoTo, invoiceEmails || customer.email],
  ].filter(([, value]) => value !== '');
  return html`<section aria-labelledby="details">
<h2 id="details">${portal.details}</h2>
<p>${lines.map((line) => html`<bdi>${line}</bdi><br>`)}</p>
${facts.map(([label, value]) => html`<p class="soft">${label}${common.colon}<bdi>${value}</bdi></p>\n`)}
<div class="actions"><a class="button plain small" href="/portal/details">${portal.changeDetails}</a></div>
</section>
`;
}

function invoicesHtml({ invoices, wording }: PortalView, visit: Visited): Html {
  const { words, language, money, day, say } = wording;
  // To a customer, a written-off invoice is not paid.
  const statuses = { ...documentTexts[language].statuses, uncollectible: words.portal.notPaid };
  const payForm = ({ id, number, due, currency }: PortalInvoice) => {
    const amount = money(due, currency);
    const name = say(words.portal.payInvoice, { amount, number });
    const label = say(words.checkout.pay, { amount });
    const more = { shownDue: String(due) };
    return buttonForm(visit, `/portal/invoices/${id}/pay`, label, { isPlain: true, name, more });
  };
  const row = (invoice: PortalInvoice) => {
    const { id, number, date, status, total, currency, url } = invoice;
    const kind = status === 'paid' ? ' good' : url !== null ? ' bad' : '';
    const name = say(words.invoice.invoice, { number });
    return html`<li>
<span>${day(date)}</span>
<a href="/portal/invoices/${id}" aria-label="${name}">${number}</a>
<span class="paper"><span class="tag${kind}">${statuses[status]}</span> <a href="/portal/invoices/${id}/pdf" aria-label="${say(words.portal.invoicePdf, { number })}">PDF</a></span>
<span class="sum-paid">${money(total, currency)}</span>
${status === 'open' && payForm(invoice)}
</li>\n`;
  };
  return html`<section aria-labelledby="invoices">
<h2 id="invoices">${words.portal.invoices}</h2>
${invoices.length === 0 ? html`<p>${words.portal.noInvoices}</p>` : html`<ul class="rows invoices">${invoices.map(row)}</ul>`}
</section>
`;
}
