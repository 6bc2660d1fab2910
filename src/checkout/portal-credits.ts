import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { amountOf } from '../pricing/credit-pool.ts';
import { maxQuantity } from '../pricing/product.ts';
import type { AutoTopUp, AutoTopUpInput } from '../purchases/auto-top-up.ts';
import type { Wording } from '../wording/wording.ts';
import { type FieldErrors, fieldHtml, hiddenHtml, selectHtml, summaryHtml } from './page-form.ts';
import { includedHtml, methodText, priceText } from './page-text.ts';
import {
  barHtml,
  buttonForm,
  creditEntered,
  creditIn,
  creditText,
  ledgerUnitsOf,
  maxAmountLength,
  moneyEntered,
  moneyIn,
  unitsIn,
  type Visited,
} from './portal-parts.ts';
import { type Frame, stepPage } from './portal-step.ts';
import {
  type AutomaticChoice,
  type CreditSubject,
  chartDays,
  type PortalControls,
  type PortalOverview,
  type PortalUsage,
  type PortalView,
} from './portal-view.ts';

/** Credits in the portal: balances, their use by day, and more to buy by hand or of itself. */

/** The balance of each meter and pool as a bar: solid as far as it is available, and faint where holds set it aside. */
export function balancesHtml({ credits, wording }: PortalOverview): Html | false {
  if (credits.length === 0) return false;
  const { words, say, day } = wording;
  const row = (each: PortalOverview['credits'][number]) => {
    const { available, held, granted, paid, whole, expiring } = each;
    const text = (amount: bigint) => creditText(amount, each, wording);
    const left = available > 0n ? available : 0n;
    const facts = [
      paid > 0n && granted > 0n && say(words.credits.included, { amount: text(granted) }),
      paid > 0n && say(words.credits.bought, { amount: text(paid) }),
      held > 0n && say(words.credits.held, { amount: text(held) }),
      available < 0n && say(words.credits.beyond, { amount: text(-available) }),
      expiring !== null && say(words.credits.expire, { amount: text(expiring.amount), date: day(expiring.at) }),
    ].filter(Boolean);
    return html`<div class="meter"><span><bdi>${each.name}</bdi></span><span>${say(words.portal.remainingOf, { available: text(left), granted: text(whole) })}</span></div>
${barHtml(left, whole, { faint: held })}${facts.length > 0 && html`<p class="soft">${facts.join(' · ')}</p>`}
`;
  };
  return html`<section aria-labelledby="balances"><h2 id="balances">${words.portal.remaining}</h2>${credits.map(row)}</section>\n`;
}

/** The use of each meter and pool by day, as bars. Its text and the days that it unfolds say the same. */
export function chartsHtml({ usage, days, wording }: PortalOverview): Html | false {
  if (usage.length === 0) return false;
  const { words, say } = wording;
  const link = (count: number) => {
    const isShown = count === days;
    const text = say(words.portal.days, { count: String(count) });
    return html`<a href="/portal?days=${count}#usage"${isShown && html` aria-current="true"`}>${text}</a>\n`;
  };
  const heading = say(words.portal.usage, { count: String(days) });
  return html`<section aria-labelledby="usage">
<div class="headed"><h2 id="usage">${heading}</h2><nav class="switch" aria-label="${words.portal.usageDays}">${chartDays.map(link)}</nav></div>
${usage.map((each) => chartHtml(each, wording))}
</section>
`;
}

function chartHtml({ name, days, unit }: PortalUsage, wording: Wording): Html {
  const { words, day, say } = wording;
  const text = (amount: bigint) => creditText(amount, { unit }, wording);
  const used = days.filter(({ units }) => units > 0n);
  const most = used.toSorted((one, other) => Number(other.units - one.units))[0];
  const count = String(days.length);
  if (most === undefined) return html`<p class="soft"><bdi>${say(words.portal.usageNone, { name, count })}</bdi></p>\n`;
  const total = used.reduce((sum, { units }) => sum + units, 0n);
  const values = { name, count, total: text(total), date: day(most.start), most: text(most.units) };
  const row = ({ start, units, parts }: PortalUsage['days'][number]) => {
    const meters = parts.map((part) => part.name + words.common.colon + text(part.units));
    const of = meters.length > 0 && html`<br><small class="soft"><bdi>${meters.join(' · ')}</bdi></small>`;
    return html`<li><span>${day(start)}${of}</span><span>${text(units)}</span></li>\n`;
  };
  const [first = most] = days;
  const last = days.at(-1) ?? most;
  const bars = days.map((each) => dayHtml(each, most.units, `${day(each.start)} · ${text(each.units)}`));
  return html`<div class="graph">
<div class="meter"><span><bdi>${name}</bdi></span><span>${text(total)}</span></div>
<div class="plot"><span class="soft" aria-hidden="true">${text(most.units)}</span><ol class="chart">${bars}</ol><p class="soft axis" aria-hidden="true"><span>${day(first.start)}</span><span>${day(last.start)}</span></p></div>
<details><summary><bdi>${say(words.portal.usageText, values)}</bdi></summary>
<ul class="rows">${used.toReversed().map(row)}</ul></details>
</div>
`;
}

/**
 * The bar of a day, as high as the chart where it has the most. A day with usage has at least a trace of it, and tells its
 * value under the pointer and at the focus.
 */
function dayHtml({ units }: PortalUsage['days'][number], most: bigint, text: string): Html {
  const height = units === 0n ? 3n : (units * 100n + most - 1n) / most;
  const bar = html`<svg viewBox="0 0 8 100" preserveAspectRatio="none" aria-hidden="true"><rect y="${100n - height}" width="8" height="${height}"/></svg>`;
  return units === 0n
    ? html`<li class="none">${bar}<span>${text}</span></li>`
    : html`<li tabindex="0">${bar}<span>${text}</span></li>`;
}

/** Products that are paid once and give credits. A button leads to the checkout, which charges once. */
export function topUpsHtml({ topUps, currency, wording }: PortalOverview, visit: Visited): Html | false {
  if (topUps.length === 0) return false;
  const { words, say } = wording;
  const once = { unit: null, count: null };
  const row = (topUp: PortalOverview['topUps'][number]) => {
    const { priceId, name, description, included } = topUp;
    const buy = { name: say(words.portal.buyOf, { name }), isPlain: true, more: { priceId } };
    return html`<li><div><strong><bdi>${name}</bdi></strong> ${priceText(topUp, currency, once, wording)}
${description !== null && html`<p class="soft"><bdi>${description}</bdi></p>`}
${includedHtml(included, 1, once, wording)}</div>
${buttonForm(visit, '/portal/top-ups', words.portal.buy, buy)}</li>
`;
  };
  return html`<section aria-labelledby="top-ups">
<h2 id="top-ups">${words.portal.topUps}</h2>
<ul class="rows">${topUps.map(row)}</ul>
</section>
`;
}

const automaticPath = '/portal/automatic-top-up';

/** The automatic top-up with its state, or the way to turn it on. */
export function automaticHtml(view: PortalOverview, visit: Visited): Html | false {
  const { controls, currency, wording } = view;
  const { topUp, automatic } = controls;
  const { words, say, money } = wording;
  if (topUp === null && automatic.length === 0) return false;
  const { heading, off, turnOn, turnOff, change, spent, on, stopped, paying } = words.topUp;
  const tag = topUp === null ? null : topUp.stoppedAt !== null ? 'bad' : 'good';
  const state = tag !== null && html` <span class="tag ${tag}">${tag === 'bad' ? stopped : on}</span>`;
  const edit = html`<a class="button plain small" href="${automaticPath}">${topUp === null ? turnOn : change}</a>`;
  const end = topUp !== null && buttonForm(visit, `${automaticPath}/off`, turnOff, { isPlain: true });
  const amounts = topUp && {
    amount: money(topUp.amountThisMonth, currency),
    maximum: money(topUp.maximumAmountPerMonth, currency),
  };
  return html`<section aria-labelledby="automatic">
<h2 id="automatic">${heading}${state}</h2>
${
  topUp === null || amounts === null
    ? html`<p class="soft">${off}</p>`
    : html`<p>${ruleText(topUp, view)}</p>
${barHtml(topUp.amountThisMonth, topUp.maximumAmountPerMonth)}<p class="soft">${say(spent, amounts)}${topUp.openPurchaseId !== null && ` ${paying}`}</p>
${troubleHtml(topUp, view, visit)}`
}
<div class="actions">${edit}${end}</div>
</section>
`;
}

/** The rule of a top-up as a sentence. */
function ruleText(topUp: AutoTopUp, { controls, wording }: PortalOverview): string {
  const { words, say, count } = wording;
  const { below, upTo, quantity } = topUp;
  const choice = controls.automatic.find(({ priceId }) => priceId === topUp.priceId);
  const subject = subjectOf(topUp, controls);
  const text = (amount: bigint | string) => creditText(ledgerUnitsOf(amount, subject), subject, wording);
  const values = { meter: subject.name, product: choice?.name ?? topUp.priceSlug ?? '', below: text(below) };
  return upTo === null
    ? say(words.topUp.ruleQuantity, { ...values, quantity: count(quantity ?? 0) })
    : say(words.topUp.rule, { ...values, upTo: text(upTo) });
}

/** The meter or pool of a top-up: it cannot be deleted while the top-up is set. */
function subjectOf({ usageMeterId, creditPoolId }: AutoTopUp, { subjects }: PortalControls): CreditSubject {
  const id = creditPoolId ?? usageMeterId;
  return subjects.find((subject) => subject.id === id) ?? { name: '', unit: null };
}

/** The way on after payments that failed: buying once lets a bank ask its customer. */
function troubleHtml({ failures, stoppedAt, priceId }: AutoTopUp, view: PortalOverview, visit: Visited): Html | false {
  if (failures === 0) return false;
  const { words } = view.wording;
  const { stoppedText, retried, turnOnAgain, buyOnce } = words.topUp;
  const isForSale = view.topUps.some((each) => each.priceId === priceId);
  return html`<div class="notice bad"><p>${stoppedAt === null ? retried : stoppedText}</p>
<div class="actions">${stoppedAt !== null && buttonForm(visit, `${automaticPath}/on`, turnOnAgain)}${isForSale && buttonForm(visit, '/portal/top-ups', buyOnce, { isPlain: true, more: { priceId } })}</div></div>
`;
}

/** The values of the form of the automatic top-up, as text. */
export interface EnteredTopUp {
  readonly priceId: string;
  readonly below: string;
  /** The balance to reach, or the quantity to buy: the present kind stays. */
  readonly upTo: string;
  readonly quantity: string;
  readonly maximum: string;
}

/** The present top-up as the form shows it, or one to begin with. */
export function knownTopUp(controls: PortalControls, currency: string): EnteredTopUp {
  const { topUp, automatic } = controls;
  if (topUp === null) return { priceId: automatic[0]?.priceId ?? '', below: '', upTo: '', quantity: '', maximum: '' };
  const { priceId, below, upTo, quantity, maximumAmountPerMonth } = topUp;
  const { unit } = subjectOf(topUp, controls);
  return {
    priceId,
    below: creditEntered(below, unit),
    upTo: upTo === null ? '' : creditEntered(upTo, unit),
    quantity: String(quantity ?? ''),
    maximum: moneyEntered(maximumAmountPerMonth, currency),
  };
}

/** The submitted values. A field that was not sent is empty. */
export function enteredTopUp(form: Readonly<Record<string, string>>): EnteredTopUp {
  const text = (name: string) => form[name]?.trim() ?? '';
  return {
    priceId: text('priceId'),
    below: text('below'),
    upTo: text('upTo'),
    quantity: text('quantity'),
    maximum: text('maximum'),
  };
}

/** The top-up to set, or the errors of the form. */
export function readTopUp(
  entered: EnteredTopUp,
  { topUp, automatic }: PortalControls,
  { currency, wording }: Pick<Frame, 'currency' | 'wording'>,
): { readonly topUp: AutoTopUpInput } | { readonly errors: FieldErrors } {
  const { words, say, money } = wording;
  const errors: Record<string, string> = {};
  const choice = automatic.find(({ priceId }) => priceId === entered.priceId);
  if (choice === undefined) errors.priceId = words.limits.chooseOne;
  const unit = choice?.subject.unit ?? null;
  const enterAmount = unit === null ? words.limits.enterUnits : say(words.limits.enterMoney, { example: '50' });
  const below = creditIn(entered.below, unit);
  if (below === null) errors.below = enterAmount;
  const byQuantity = isByQuantity(topUp);
  const upTo = byQuantity ? null : creditIn(entered.upTo, unit);
  if (!byQuantity && (upTo === null || (below !== null && upTo < below)))
    errors.upTo =
      below === null ? enterAmount : say(words.topUp.enterUpTo, { below: creditText(below, { unit }, wording) });
  const quantity = byQuantity ? unitsIn(entered.quantity) : null;
  if (byQuantity && (quantity === null || quantity > maxQuantity)) errors.quantity = words.limits.enterUnits;
  const maximum = moneyIn(entered.maximum, currency);
  const least = choice?.unitPrice ?? 0n;
  if (maximum === null) errors.maximum = say(words.limits.enterMoney, { example: moneyEntered(5000n, currency) });
  else if (maximum < least) errors.maximum = say(words.topUp.enterMaximum, { amount: money(least, currency) });
  if (choice === undefined || below === null || maximum === null || Object.keys(errors).length > 0) return { errors };
  const amount = (units: bigint) => amountOf(choice.subject.id, units);
  const size = { upTo: upTo === null ? null : amount(upTo), quantity: quantity === null ? null : Number(quantity) };
  return { topUp: { priceSlug: choice.slug, below: amount(below), ...size, maximumAmountPerMonth: maximum } };
}

function isByQuantity(topUp: AutoTopUp | null): boolean {
  return topUp !== null && topUp.quantity !== null;
}

interface TopUpStep {
  readonly controls: PortalControls;
  readonly paymentMethods: PortalView['paymentMethods'];
  readonly entered: EnteredTopUp;
  readonly errors?: FieldErrors;
  readonly message?: string | null;
}

/** The form of the automatic top-up. It names the payment method that will be charged. */
export function topUpPage(frame: Frame, visit: Visited, step: TopUpStep): PageDocument {
  const { paymentMethods, errors = {}, message = null } = step;
  const { currency, seller, wording } = frame;
  const { words, say } = wording;
  const state = { errors, wording };
  const method = paymentMethods.find((each) => each.default) ?? paymentMethods[0];
  const card = method && methodText(method.type, method.paymentMethodData, wording);
  const form = html`<form method="post" action="${automaticPath}" novalidate>${hiddenHtml({ formToken: visit.formToken })}
${topUpFields(step, currency, state)}
<p class="soft">${say(words.topUp.agreement, { seller, card: card ?? '' })}</p>
<div class="actions"><button>${words.topUp.save}</button></div>
</form>`;
  const noMethod = html`<p>${words.refusals.methodNeeded}</p>
<div class="actions"><a class="button" href="/portal/payment-methods">${words.card.addMethod}</a></div>`;
  const content = html`${summaryHtml(state, message)}
<section>
${card === undefined ? noMethod : form}
</section>`;
  return stepPage(frame, words.topUp.heading, content, { isWrong: message !== null || Object.keys(errors).length > 0 });
}

function topUpFields({ controls, entered }: TopUpStep, currency: string, state: Parameters<typeof fieldHtml>[1]): Html {
  const { words, money, say } = state.wording;
  const { topUp } = words;
  const [only, ...others] = controls.automatic;
  const label = ({ name, unitPrice, subject }: AutomaticChoice) =>
    `${name} · ${subject.name} · ${money(unitPrice, currency)}`;
  const choices = controls.automatic.map((each) => ({ value: each.priceId, label: label(each) }));
  const units = { inputMode: 'decimal', maxLength: maxAmountLength } as const;
  const size = isByQuantity(controls.topUp)
    ? { name: 'quantity', label: topUp.quantity, value: entered.quantity }
    : { name: 'upTo', label: topUp.upTo, value: entered.upTo };
  const maximum = { name: 'maximum', label: say(topUp.maximum, { currency }), value: entered.maximum };
  return html`<fieldset>
${
  only !== undefined && others.length === 0 && state.errors.priceId === undefined
    ? html`${hiddenHtml({ priceId: only.priceId })}<p><bdi>${label(only)}</bdi></p>`
    : selectHtml({ name: 'priceId', label: topUp.product, value: entered.priceId }, choices, state)
}
${fieldHtml({ name: 'below', label: topUp.below, value: entered.below, ...units }, state)}
${fieldHtml({ ...size, ...units }, state)}
${fieldHtml({ ...maximum, inputMode: 'decimal', maxLength: maxAmountLength }, state)}
</fieldset>
`;
}
