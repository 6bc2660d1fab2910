import {
  type Adjusted,
  type AdjustmentPreview,
  adjustSubscription,
  readAdjusted,
  readPreview,
  requirePreview,
} from '../billing/adjust.ts';
import type { Page, PageAnswer, PageRequest } from '../http/page.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { Wording } from '../wording/wording.ts';
import { wordingFor } from './actions.ts';
import { findOffered, listPlans, listTopUps, requireOffered, type Visitor, viewPortal } from './actions-portal-view.ts';
import { createCheckoutSession } from './actions-sessions.ts';
import { rangeOf } from './buyer-entry.ts';
import { countedIn, inVisit, portalPage, refusalText, type Visit } from './jobs-visit.ts';
import { type ChangeStep, changePage, plansPage } from './portal-step.ts';
import {
  isChoosable,
  mayChange,
  type PortalPlan,
  type PortalSubscription,
  type QuantityRange,
  quantitiesOf,
} from './portal-view.ts';

const changePath = '/portal/subscriptions/:id/change';

function own({ work, customer }: Visitor, { request, isForm }: Visit): Promise<PortalSubscription> {
  return (isForm ? requireOffered : findOffered)(work, customer, request.params.id ?? '', mayChange);
}

const plans = portalPage('GET', '/portal/subscriptions/:id/plans', (visit) =>
  inVisit(visit, async (at) => {
    const subscription = await own(at, visit);
    const frame = await viewPortal(at);
    const plans = await listPlans(at.work, at.customer, subscription);
    const { interval } = visit.request.query;
    return { show: plansPage(frame, visit, { subscription, plans, interval }) };
  }),
);

/** A requested change: an offered plan, at the present quantity unless the seller lets customers choose it. */
interface Asked {
  readonly subscription: PortalSubscription;
  readonly plan: PortalPlan;
  readonly quantity: number;
  readonly range: QuantityRange;
  /** Whether an add-on is to be removed. */
  readonly removes: boolean;
  /** Whether the form has a quantity that may not be chosen. The nearest to the present one is shown instead. */
  readonly isRefused: boolean;
}

async function readAsked(at: Visitor, visit: Visit, texts: PageRequest['form']): Promise<Asked> {
  const subscription = await own(at, visit);
  const offered = await listPlans(at.work, at.customer, subscription);
  const plan = offered.find(({ priceId }) => priceId === texts.priceId);
  if (plan === undefined) throw new Problem('priceNotFound', { id: texts.priceId ?? '' });
  const range = quantitiesOf(subscription, plan);
  if (texts.remove === 'true' && plan.addOn)
    return { subscription, plan, range, removes: true, isRefused: false, quantity: 0 };
  const usual = Math.max(range.least, Math.min(range.most, range.present));
  const { quantity: text = String(usual) } = texts;
  const quantity = /^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0;
  const isRefused = quantity < range.least || quantity > range.most;
  return { subscription, plan, range, removes: false, isRefused, quantity: isRefused ? usual : quantity };
}

/** Whether the customer has the plan at the quantity, or an add-on no more. */
function isPresent({ plan, quantity, range, removes }: Asked): boolean {
  return removes ? !plan.isOwn : plan.isOwn && quantity === range.present;
}

/** A plan takes the place of the plan, and leaves the add-ons; an add-on leaves everything else. */
function adjustmentTo({ subscription, plan, quantity, removes }: Asked) {
  const { items } = subscription;
  const others = items.filter(({ priceId, addOn }) => (plan.addOn ? priceId !== plan.priceId : addOn));
  // The same item at another quantity keeps its own terms.
  const own = items.find(({ priceId }) => priceId === plan.priceId);
  const kept = own === undefined ? {} : { id: own.id };
  const wanted = removes ? [] : [{ ...kept, priceId: plan.priceId, quantity }];
  return { timing: 'auto' as const, newSubscriptionItems: [...others.map(({ id }) => ({ id })), ...wanted] };
}

async function previewFor(
  { work, customer, language }: Visitor,
  { isForm }: Visit,
  requested: Asked,
): Promise<AdjustmentPreview> {
  try {
    return await (isForm ? requirePreview : readPreview)(work, requested.subscription.id, adjustmentTo(requested));
  } catch (error) {
    return {
      canAdjust: false,
      previewGeneratedAt: work.now,
      reason: refusalText(error, wordingFor(customer, language)),
    };
  }
}

/** The change with its current preview. */
async function previewed(at: Visitor, visit: Visit, requested: Asked): Promise<ChangeStep> {
  return { ...requested, preview: isPresent(requested) ? null : await previewFor(at, visit, requested) };
}

/** A message in the language of the customer. */
type Say = (wording: Wording) => string;

function rangeText({ least, most }: QuantityRange, { words, say }: Wording): string {
  return say(words.errors.quantity, rangeOf(least, most));
}

function showChange(
  visit: Visit,
  texts: PageRequest['form'],
  { message = null, status = 200 }: { readonly message?: Say | null; readonly status?: number } = {},
): Promise<PageAnswer> {
  return inVisit(visit, async (at) => {
    const requested = await readAsked(at, visit, texts);
    const { subscription, plan, range, removes, isRefused } = requested;
    if (removes ? !plan.isOwn : !isChoosable(subscription, plan))
      throw new Problem('notOfferedInPortal', { id: subscription.id });
    const frame = await viewPortal(at);
    const { wording } = frame;
    const step = await previewed(at, visit, requested);
    if (message === null && isRefused && range.least < range.most)
      return { show: changePage(frame, visit, { ...step, message: rangeText(range, wording) }), status: 422 };
    return { show: changePage(frame, visit, { ...step, message: message?.(wording) ?? null }), status };
  });
}

const preview = portalPage('GET', changePath, (visit) => showChange(visit, visit.request.query));

const change = portalPage('POST', changePath, async (visit) => {
  const { form } = visit.request;
  try {
    const result = await countedIn(visit, async () => {
      const changed = await inVisit(visit, async (at) => changeTo(at, visit, await readAsked(at, visit, form)));
      return 'adjusted' in changed ? inVisit(visit, ({ work }) => readAdjusted(work, changed.adjusted)) : changed;
    });
    if ('goTo' in result) return result;
    if ('message' in result) return await showChange(visit, form, { ...result, status: 409 });
    const { adjustment } = result;
    const words: Readonly<Record<string, string>> = { scheduled: 'scheduled', awaiting_payment: 'waiting' };
    return { goTo: `/portal?done=${words[adjustment.status] ?? 'changed'}` };
  } catch (error) {
    // The same form was sent before, and its charge is still pending.
    if (error instanceof Problem && error.problem === 'adjustmentAwaitsPayment')
      return { goTo: '/portal?done=waiting' };
    const status = error instanceof Problem ? error.status : 500;
    return showChange(visit, form, { message: (wording) => refusalText(error, wording), status });
  }
});

type Outcome = { readonly goTo: string } | { readonly message: Say } | { readonly adjusted: Adjusted };

/**
 * Changes the plan if its quantity is the shown one and it costs no more than shown. On the default plan, starts a
 * purchase instead.
 */
async function changeTo(at: Visitor, visit: Visit, requested: Asked): Promise<Outcome> {
  const { subscription, plan, quantity, range, isRefused } = requested;
  const { shownDue: shown = '' } = visit.request.form;
  if (subscription.isDefaultPlan) return buy(at, visit, plan);
  if (isRefused && range.least === range.most)
    throw invalid(['quantity'], `must be ${quantity}: the seller has set it`);
  if (isRefused) throw invalid(['quantity'], `must be from ${range.least} to ${range.most}`);
  // The same form was sent before, and its change is made.
  if (isPresent(requested)) return { goTo: '/portal?done=changed' };
  const now = await previewFor(at, visit, requested);
  const isMore = !/^\d{1,20}$/.test(shown) || (now.totalDue ?? 0n) > BigInt(shown);
  if (now.canAdjust && isMore) return { message: ({ words }) => words.portal.amountChanged };
  return {
    adjusted: await adjustSubscription(at.work, subscription.id, adjustmentTo(requested), { byCustomer: true }),
  };
}

async function buy({ work, customer }: Visitor, { context, request }: Visit, { priceId }: Pick<PortalPlan, 'priceId'>) {
  const back = `${request.publicUrl}/portal`;
  const { url } = await createCheckoutSession(
    work,
    encryptionOf(context.services),
    { type: 'product', customerExternalId: customer.externalId, priceId, successUrl: back, cancelUrl: back },
    customer.pricingModelId,
  );
  return { goTo: url };
}

/** Leads to a checkout of the product. Nothing is charged here, and each checkout buys once. */
const topUp = portalPage('POST', '/portal/top-ups', (visit) =>
  countedIn(visit, () =>
    inVisit(visit, async (at) => {
      const { priceId = '' } = visit.request.form;
      const offered = (await listTopUps(at)).find((each) => each.priceId === priceId);
      if (offered === undefined) throw new Problem('priceNotFound', { id: priceId });
      return buy(at, visit, offered);
    }),
  ),
);

/** The pages of a plan change and of top-ups. */
export const portalPlanPages: readonly Page[] = [plans, preview, change, topUp];
