import type { PageDocument } from '../http/page.ts';
import { type Html, html } from '../kernel/html.ts';
import { type LimitTerms, subjectIdOf } from '../pricing/feature.ts';
import { poolAmount, poolText } from '../rating/pool-units.ts';
import { limitKey, mostAllowed, type SpendLimitInput } from '../spend-controls/spend-limit.ts';
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
  creditEntered,
  creditIn,
  creditText,
  maxAmountLength,
  moneyEntered,
  moneyIn,
  type Visited,
} from './portal-parts.ts';
import { type Frame, stepPage } from './portal-step.ts';
import type { NamedSubject, PortalControls, PortalOverview } from './portal-view.ts';

/** Spend limits in the portal: those that hold, and the form in which a customer sets its own. */

type Limit = PortalControls['limits'][number];

const periods = ['day', 'week', 'month', 'billing_period'] as const;

/** The values of the form, as text. */
export interface EnteredLimit {
  /** The id of a meter or credit pool, or nothing for all usage. */
  readonly subject: string;
  readonly unit: string;
  readonly period: string;
  readonly amount: string;
  readonly action: string;
}

const empty: EnteredLimit = { subject: '', unit: 'money', period: 'month', amount: '', action: 'block' };

/** A limit of the customer as the form shows it. */
export function knownLimit(limit: Limit, controls: PortalControls, currency: string): EnteredLimit {
  const { period, amount, action } = limit;
  const subject = subjectOf(limit, controls);
  const pool = poolIn(subject);
  const text =
    limit.unit === 'money' ? moneyEntered(BigInt(amount), currency) : creditEntered(amount, subject?.unit ?? null);
  const unit = pool === null ? limit.unit : unitOfPool(pool, currency);
  return { subject: subject?.id ?? '', unit, period, amount: text, action };
}

/** The submitted values. A field that was not sent is empty. */
export function enteredLimit({
  subject,
  unit,
  period,
  amount,
  action,
}: Readonly<Record<string, string>>): EnteredLimit {
  return {
    subject: subject ?? '',
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
): { readonly limit: SpendLimitInput; readonly key: string } | { readonly errors: FieldErrors } {
  const { words, say } = wording;
  const errors: Record<string, string> = {};
  const subject = subjects.find(({ id }) => id === entered.subject);
  if (subject === undefined && entered.subject !== '') errors.subject = words.limits.chooseOne;
  const pool = poolIn(subject);
  const unit = (['units', 'money'] as const).find((each) => each === entered.unit);
  if (unit === undefined) errors.unit = words.limits.chooseOne;
  else if (pool !== null && unit !== unitOfPool(pool, currency)) {
    const right = unit === 'units' ? say(words.limits.money, { currency }) : words.limits.units;
    errors.unit = say(words.limits.chooseUnit, { unit: right, name: pool.name });
  }
  const period = periods.find((each) => each === entered.period);
  if (period === undefined) errors.period = words.limits.chooseOne;
  const action = (['block', 'notify'] as const).find((each) => each === entered.action);
  if (action === undefined) errors.action = words.limits.chooseOne;
  const isMoney = pool === null && unit === 'money';
  const amount = isMoney ? moneyIn(entered.amount, currency) : creditIn(entered.amount, pool?.unit ?? null);
  if (amount === null)
    errors.amount =
      isMoney || pool !== null
        ? say(words.limits.enterMoney, { example: isMoney ? moneyEntered(5000n, currency) : '50' })
        : words.limits.enterUnits;
  if (unit === undefined || period === undefined || action === undefined || amount === null) return { errors };
  if (Object.keys(errors).length > 0) return { errors };
  // A limit of a pool counts its own units, which may be money.
  const use = { label: null, unit: isMoney ? 'money' : 'units', period } as const;
  const limit = {
    ...(pool === null ? { usageMeterSlug: subject?.slug ?? null } : { creditPoolSlug: pool.slug }),
    ...use,
    action,
    amount: pool === null ? amount : poolText(amount),
    thresholds: [...usualThresholds],
  };
  const counted = { ...use, usageMeterId: subject?.id ?? null };
  const present = limits.map((each) => ({
    ...each,
    usageMeterId: subjectIdOf(each),
    amount: comparable(each.amount),
  }));
  const most = mostAllowed(present, counted);
  if (most === null || amount <= most) return { limit, key: limitKey(counted) };
  const text = isMoney ? wording.money(most, currency) : creditText(most, { unit: pool?.unit ?? null }, wording);
  return { errors: { amount: say(words.limits.atMost, { most: text, seller }) } };
}

function poolIn(subject: NamedSubject | undefined): (NamedSubject & { readonly unit: string }) | null {
  return subject === undefined || subject.unit === null ? null : { ...subject, unit: subject.unit };
}

/** The choice of the form for a pool: its credits are units, and one in the currency of the page is money. */
function unitOfPool({ unit }: { readonly unit: string }, currency: string): LimitTerms['unit'] {
  return unit === currency ? 'money' : 'units';
}

// The portal does not ask for them: few customers want others.
const usualThresholds = [50, 80, 100];

function periodText(period: LimitTerms['period'], { words }: Wording): string {
  const { eachDay, eachWeek, eachMonth } = words.prices;
  return { day: eachDay, week: eachWeek, month: eachMonth, billing_period: words.limits.eachBillingPeriod }[period];
}

function subjectOf(limit: Limit, { subjects }: PortalControls): NamedSubject | undefined {
  return subjects.find(({ id }) => id === subjectIdOf(limit));
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
  if (controls.subjects.length === 0) return false;
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
    const buttons = html`<div class="actions">${limit.label === null && change}${buttonForm(visit, `/portal/limits/${limit.id}/remove`, words.portal.remove, more)}</div>`;
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
  const subjects = controls.subjects.map(({ id, name }) => ({ value: id, label: name }));
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
${selectHtml({ name: 'subject', label: limits.subject, value: entered.subject, empty: limits.all, optional: true }, subjects, state)}
${fieldHtml({ ...amount, inputMode: 'decimal' }, state)}
${selectHtml({ name: 'unit', label: limits.unit, value: entered.unit }, units, state)}
${selectHtml({ name: 'period', label: limits.period, value: entered.period }, each, state)}
</fieldset>
${choiceHtml({ name: 'action', label: limits.action, value: entered.action }, actions, state)}
`;
}
