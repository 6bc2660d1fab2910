import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import type { LimitTerms } from '../pricing/feature.ts';
import { poolAmount } from '../rating/pool-units.ts';
import { mostAllowed, type SpendLimitInput } from '../spend-controls/spend-limit.ts';
import type { Wording } from '../wording/wording.ts';
import {
  type Choice,
  choiceHtml,
  type FieldErrors,
  fieldHtml,
  hiddenHtml,
  selectHtml,
  summaryHtml,
} from './page-form.ts';
import {
  barHtml,
  buttonForm,
  creditText,
  maxAmountLength,
  moneyEntered,
  moneyIn,
  unitsIn,
  type Visited,
} from './portal-parts.ts';
import { type Frame, stepPage } from './portal-step.ts';
import type { PortalControls, PortalOverview } from './portal-view.ts';

/** Spend limits in the portal: those that hold, and the form in which a customer sets its own. */

type Limit = PortalControls['limits'][number];

const periods = ['day', 'week', 'month', 'billing_period'] as const;

/** The values of the form, as text. */
export interface EnteredLimit {
  /** The slug of a meter, or nothing for all usage. */
  readonly meter: string;
  readonly unit: string;
  readonly period: string;
  readonly amount: string;
  readonly action: string;
}

const empty: EnteredLimit = { meter: '', unit: 'money', period: 'month', amount: '', action: 'block' };

/** A limit of the customer as the form shows it. */
export function knownLimit(limit: Limit, currency: string): EnteredLimit {
  const { usageMeterSlug, unit, period, amount, action } = limit;
  const text = unit === 'money' ? moneyEntered(BigInt(amount), currency) : String(amount);
  return { meter: usageMeterSlug ?? '', unit, period, amount: text, action };
}

/** The submitted values. A field that was not sent is empty. */
export function enteredLimit({ meter, unit, period, amount, action }: Readonly<Record<string, string>>): EnteredLimit {
  return {
    meter: meter ?? '',
    unit: unit ?? '',
    period: period ?? '',
    amount: amount?.trim() ?? '',
    action: action ?? '',
  };
}

/** A limit to set, or the errors of the form. It must not be higher than those of the seller let it be. */
export function readLimit(
  entered: EnteredLimit,
  { limits, subjects }: Pick<PortalControls, 'limits' | 'subjects'>,
  { currency, seller, wording }: Pick<Frame, 'currency' | 'seller' | 'wording'>,
): { readonly limit: SpendLimitInput } | { readonly errors: FieldErrors } {
  const { words, say } = wording;
  const errors: Record<string, string> = {};
  const meter = metersIn(subjects).find(({ slug }) => slug === entered.meter);
  if (meter === undefined && entered.meter !== '') errors.meter = words.limits.chooseOne;
  const unit = (['units', 'money'] as const).find((each) => each === entered.unit);
  if (unit === undefined) errors.unit = words.limits.chooseOne;
  const period = periods.find((each) => each === entered.period);
  if (period === undefined) errors.period = words.limits.chooseOne;
  const action = (['block', 'notify'] as const).find((each) => each === entered.action);
  if (action === undefined) errors.action = words.limits.chooseOne;
  const isMoney = unit === 'money';
  const amount = isMoney ? moneyIn(entered.amount, currency) : unitsIn(entered.amount);
  if (amount === null)
    errors.amount = isMoney
      ? say(words.limits.enterMoney, { example: moneyEntered(5000n, currency) })
      : words.limits.enterUnits;
  if (unit === undefined || period === undefined || action === undefined || amount === null || errors.meter)
    return { errors };
  const limit = {
    usageMeterSlug: meter?.slug ?? null,
    label: null,
    unit,
    period,
    action,
    amount,
    thresholds: [...usualThresholds],
  };
  const most = mostAllowed(limits.filter(isOfMeter), { usageMeterId: meter?.id ?? null, label: null, unit, period });
  if (most === null || amount <= most) return { limit };
  const text = isMoney ? wording.money(most, currency) : wording.count(most);
  return { errors: { amount: say(words.limits.atMost, { most: text, seller }) } };
}

/** Whether a limit counts usage meters. The form is for these: the seller sets limits of credit pools. */
export function isOfMeter(limit: Limit): limit is Limit & { readonly amount: bigint } {
  return limit.creditPoolId === undefined;
}

function metersIn(subjects: PortalControls['subjects']): PortalControls['subjects'] {
  return subjects.filter(({ unit }) => unit === null);
}

// The portal does not ask for them: few customers want others.
const usualThresholds = [50, 80, 100];

function periodText(period: LimitTerms['period'], { words }: Wording): string {
  const { eachDay, eachWeek, eachMonth } = words.prices;
  return { day: eachDay, week: eachWeek, month: eachMonth, billing_period: words.limits.eachBillingPeriod }[period];
}

function subjectOf({ usageMeterId, creditPoolId }: Limit, { subjects }: PortalControls) {
  return subjects.find(({ id }) => id === (creditPoolId ?? usageMeterId));
}

function subjectText(limit: Limit, controls: PortalControls, { words }: Wording): string {
  const name = subjectOf(limit, controls)?.name ?? words.limits.all;
  return limit.label === null ? name : `${name} (${limit.label})`;
}

interface Shown extends Pick<Frame, 'currency' | 'seller' | 'wording'> {
  readonly controls: PortalControls;
}

/** An amount of a limit as a whole number: that of a credit pool is a decimal text. */
function comparable(amount: bigint | string): bigint {
  return typeof amount === 'string' ? poolAmount(amount) : amount;
}

/** A limit with what is used of it: in the billing period with the most use, if there are several. */
function limitHtml(limit: Limit, { controls, currency, seller, wording }: Shown): Html {
  const { words, say, money, day } = wording;
  const unit = subjectOf(limit, controls)?.unit ?? null;
  const [fullest] = limit.counters.toSorted((one, other) =>
    Number(comparable(other.usedAmount) - comparable(one.usedAmount)),
  );
  const used = fullest?.usedAmount ?? 0n;
  const [filled, full] = [comparable(used), comparable(limit.amount)];
  const text = (amount: bigint) =>
    limit.unit === 'money' ? money(amount, currency) : creditText(amount, { unit }, wording);
  const { byYou, bySeller, byPlan, blocks, notifies, usedOf, resets } = words.limits;
  const by = { customer: byYou, seller: say(bySeller, { seller }), plan: byPlan }[limit.setBy];
  const end = fullest?.resetsAt ?? null;
  const facts = [by, limit.action === 'block' ? blocks : notifies, end !== null && say(resets, { date: day(end) })];
  return html`<div class="meter"><span><bdi>${subjectText(limit, controls, wording)}</bdi> · ${periodText(limit.period, wording)}</span><span>${say(usedOf, { used: text(filled), amount: text(full) })}</span></div>
${barHtml(filled, full, { isFull: filled >= full })}<p class="soft">${facts.filter(Boolean).join(' ')}</p>
`;
}

/** The limits on the overview. */
export function limitsHtml(view: PortalOverview): Html | false {
  const { controls, wording } = view;
  if (metersIn(controls.subjects).length === 0) return false;
  const { heading, none, manage } = wording.words.limits;
  return html`<section aria-labelledby="limits">
<h2 id="limits">${heading}</h2>
${controls.limits.length === 0 ? html`<p class="soft">${none}</p>` : controls.limits.map((limit) => limitHtml(limit, view))}
<div class="actions"><a class="button plain small" href="/portal/limits">${manage}</a></div>
</section>
`;
}

interface LimitsStep {
  readonly controls: PortalControls;
  readonly entered?: EnteredLimit;
  readonly errors?: FieldErrors;
  readonly message?: string | null;
}

/** The limits of the customer with the form that adds one or changes one. */
export function limitsPage(frame: Frame, visit: Visited, step: LimitsStep): PageDocument {
  const { controls, entered, errors = {}, message = null } = step;
  const { wording } = frame;
  const { words, say } = wording;
  const state = { errors, wording };
  const row = (limit: Limit) => {
    const name = `${subjectText(limit, controls, wording)} · ${periodText(limit.period, wording)}`;
    const more = { name: say(words.limits.removeOf, { name }), isPlain: true };
    const change = html`<a class="button plain small" href="/portal/limits?change=${limit.id}#form" aria-label="${say(words.limits.changeOf, { name })}">${words.limits.change}</a>`;
    const buttons = html`<div class="actions">${limit.label === null && isOfMeter(limit) && change}${buttonForm(visit, `/portal/limits/${limit.id}/remove`, words.portal.remove, more)}</div>`;
    return html`<li class="limit">${limitHtml(limit, { ...frame, controls })}${limit.setBy === 'customer' && buttons}</li>\n`;
  };
  const content = html`${summaryHtml(state, message)}
${controls.limits.length > 0 && html`<section><ul class="plain-list">${controls.limits.map(row)}</ul></section>`}
<section aria-labelledby="form">
<h2 id="form">${words.limits.setOne}</h2>
<p class="soft">${say(words.limits.setOneText, { seller: frame.seller })}</p>
<form method="post" action="/portal/limits" novalidate>${hiddenHtml({ formToken: visit.formToken })}
${limitFields({ ...frame, controls }, entered ?? empty, state)}
<div class="actions"><button>${words.limits.save}</button></div>
</form>
</section>`;
  return stepPage(frame, words.limits.heading, content, {
    isWrong: message !== null || Object.keys(errors).length > 0,
  });
}

function limitFields(
  { controls, currency, wording }: Shown,
  entered: EnteredLimit,
  state: Parameters<typeof fieldHtml>[1],
): Html {
  const { limits } = wording.words;
  const meters = metersIn(controls.subjects).map(({ slug, name }) => ({ value: slug, label: name }));
  const units: Choice[] = [
    { value: 'money', label: wording.say(limits.money, { currency }) },
    { value: 'units', label: limits.units },
  ];
  const actions: Choice[] = [
    { value: 'block', label: limits.block },
    { value: 'notify', label: limits.notify },
  ];
  const each = periods.map((value) => ({ value, label: periodText(value, wording) }));
  const amount = { name: 'amount', label: limits.amount, value: entered.amount, maxLength: maxAmountLength } as const;
  return html`<fieldset>
${selectHtml({ name: 'meter', label: limits.subject, value: entered.meter, empty: limits.all, optional: true }, meters, state)}
${fieldHtml({ ...amount, inputMode: 'decimal' }, state)}
${selectHtml({ name: 'unit', label: limits.unit, value: entered.unit }, units, state)}
${selectHtml({ name: 'period', label: limits.period, value: entered.period }, each, state)}
</fieldset>
${choiceHtml({ name: 'action', label: limits.action, value: entered.action }, actions, state)}
`;
}
