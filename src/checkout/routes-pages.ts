import { readFile } from 'node:fs/promises';
import { cellsOf } from '../database/cells.ts';
import { runInEnvironment } from '../database/work.ts';
import { fontFiles } from '../documents/document-page.ts';
import type { Page, PageAnswer, PageContext, PageRequest } from '../http/page.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import type { Language } from '../kernel/language.ts';
import { Problem } from '../kernel/problem.ts';
import { createProcessors } from '../payments/actions.ts';
import type { AttemptOutcome } from '../payments/actions-attempts.ts';
import { normalizeCode } from '../pricing/discount.ts';
import type { Wording } from '../wording/wording.ts';
import { viewSession } from './actions.ts';
import { requireSession } from './actions-sessions.ts';
import { detailErrors, draftOf, enteredDetails, isOneStep, knownDetails, orderErrors } from './buyer-entry.ts';
import { buyerText, declinedText, issueText } from './buyer-text.ts';
import { type MethodEntry, readMethod } from './card-entry.ts';
import { readCheckoutKey } from './checkout.ts';
import type { CheckoutConfirmation, CheckoutDraft, CheckoutView, PaymentToConfirm } from './checkout-view.ts';
import { performCheckout, performConfirmed } from './jobs.ts';
import { requireAttempts, sessionLink, withAttempt } from './jobs-attempts.ts';
import { otherCard, stripeScript, stripeScriptPath } from './page-card.ts';
import {
  confirmPaymentPage,
  detailsPage,
  enterStep,
  outcomePage,
  paymentPage,
  refusedPage,
  type Step,
} from './page-checkout.ts';
import type { FieldErrors } from './page-form.ts';
import { fontPath, fontVersion } from './page-layout.ts';

/** The session of the request's link. */
interface Opened {
  readonly context: PageContext;
  readonly environmentId: number;
  readonly sessionId: string;
  readonly publicUrl: string;
  readonly network: string | null;
  readonly browser: PageRequest['browser'];
  readonly language: Language;
  /** The target of its forms. */
  readonly action: string;
}

async function open(received: PageContext, page: string, request: PageRequest): Promise<Opened> {
  const { params, query, publicUrl, network, browser, language } = request;
  const { id: sessionId = '' } = params;
  const key = query.key ?? '';
  const environmentId = readCheckoutKey(encryptionOf(received.services), sessionId, key);
  if (environmentId === null) throw new Problem('linkInvalid');
  const context = await received.inCellOf(sessionId);
  context.admit('link', sessionId);
  return {
    context,
    environmentId,
    sessionId,
    publicUrl,
    network,
    browser,
    language,
    action: `/${page}/${sessionId}?key=${encodeURIComponent(key)}`,
  };
}

async function look(opened: Opened, draft: CheckoutDraft = {}) {
  const { context, environmentId, sessionId, publicUrl, language } = opened;
  const outcome = await runInEnvironment(
    context.database,
    { environmentId },
    async (work) => {
      const session = await requireSession(work, sessionId);
      if (session.customerId !== null) context.admit('visitor', session.customerId);
      return viewSession(work, createProcessors(work.db, context.services), session, draft, language);
    },
    { publicUrl, readOnly: true, slots: context.slots, cells: cellsOf(context.services) },
  );
  if (outcome === null) throw new Problem('linkInvalid');
  return outcome.answer;
}

function firstPage(view: CheckoutView, action: string, goesOn: boolean): PageAnswer {
  if (view.paymentToConfirm !== null) return { show: confirmPaymentPage(view, view.paymentToConfirm, action) };
  if (view.status !== 'open') return { show: outcomePage(view, { goesOn }) };
  if (view.refusal !== null) return { show: refusedPage(view, view.refusal) };
  const step = {
    view,
    details: knownDetails(view),
    action,
    message: view.failure === null ? null : declinedText(view.failure, view.wording),
  };
  return { show: view.type === 'add_payment_method' ? paymentPage(step) : detailsPage(step) };
}

/** Handles a form of the checkout. Only the last step changes anything. */
async function takeForm(opened: Opened, form: PageRequest['form']): Promise<PageAnswer> {
  const { action, context } = opened;
  const pays = form.step === 'pay' || form.step === enterStep || form.wallet !== undefined;
  if (pays) await requireAttempts(context, sessionLink(opened, 'payment'));
  if (form.discountCode) await requireAttempts(context, sessionLink(opened, 'discount_code'));
  const view = await look(opened);
  if (form.step === 'confirmed' && view.paymentToConfirm !== null)
    return takeConfirmed(opened, view.paymentToConfirm, form.bankAnswer);
  if (view.status !== 'open') return { goTo: action };
  const details = enteredDetails(view, form);
  if (form.step === 'details') return { show: detailsPage({ view, details, action }) };
  const errors = detailErrors(view, details);
  // The new amounts are shown before the buyer has filled in the rest of the page.
  const isOfOrder = isOneStep(view) && (form.step === 'review' || form.step === enterStep);
  const early = isOfOrder ? orderErrors(errors) : errors;
  if (hasAny(early)) return { show: detailsPage({ view, details, action, errors: early }), status: 422 };
  const draft = draftOf(view, details);
  const quoted = await lookWithDraft(opened, { view, details, draft });
  if ('refused' in quoted) return quoted.refused;
  if (quoted.view.status !== 'open') return { goTo: action };
  if (quoted.view.refusal !== null) return { show: refusedPage(quoted.view, quoted.view.refusal), status: 409 };
  const discountCode = details.discountCode || (quoted.view.discountCode ?? '');
  const step = { view: quoted.view, details: { ...details, discountCode }, action };
  if (!pays || isOther(quoted.view, form)) return { show: paymentPage(step) };
  if (hasAny(errors)) return { show: detailsPage({ ...step, errors }), status: 422 };
  return pay(opened, { ...step, draft }, form);
}

/** Whether the Enter key has sent an order that differs from the one that was shown. It is shown first. */
function isOther({ dueNow }: CheckoutView, { step, shownDue }: PageRequest['form']): boolean {
  return step === enterStep && shownDue !== String(dueNow);
}

/** The processor knows the outcome of the buyer's confirmation with the bank. */
async function takeConfirmed(
  { context, environmentId, action }: Opened,
  { id: paymentId }: PaymentToConfirm,
  answer: string | undefined,
): Promise<PageAnswer> {
  await performConfirmed(context, environmentId, { paymentId, answer });
  return { goTo: `${action}&to=success` };
}

/** A step with the buyer's input that changes amounts. */
interface Entered extends Step {
  readonly draft: CheckoutDraft;
}

/** The view with the buyer's input; refused input is shown beside its field. */
async function lookWithDraft(
  opened: Opened,
  { view, details, draft }: Pick<Entered, 'view' | 'details' | 'draft'>,
): Promise<{ view: CheckoutView } | { refused: PageAnswer }> {
  const seen = () => look(opened, draft);
  try {
    // A code that the session has already is no guess.
    const isGuess = draft.discountCode != null && normalizeCode(draft.discountCode) !== view.discountCode;
    return {
      view: isGuess
        ? await withAttempt(opened.context, sessionLink(opened, 'discount_code'), seen, outcomeOfCode)
        : await seen(),
    };
  } catch (error) {
    const step = { view, details, action: opened.action, ...refusalOf(error, view.wording) };
    return {
      refused: { show: detailsPage(step), status: error instanceof Problem && error.status === 429 ? 429 : 422 },
    };
  }
}

/** Any refusal of a code counts, whatever its reason tells. */
function outcomeOfCode(result: { readonly answer: CheckoutView } | { readonly error: unknown }): AttemptOutcome {
  if ('answer' in result) return 'passed';
  const issues = result.error instanceof Problem ? result.error.issues : [];
  return issues.some(({ path }) => path[0] === 'discountCode') ? 'failed' : 'untried';
}

// A buyer is never charged more than was shown. Less is possible, because the rest of a period shrinks.
async function pay(opened: Opened, { draft, ...entered }: Entered, form: PageRequest['form']): Promise<PageAnswer> {
  const step = { ...entered, chosenMethod: form.paymentMethodId ?? null };
  const { view, details, action } = step;
  const shownDue = /^\d{1,20}$/.test(form.shownDue ?? '') ? BigInt(form.shownDue ?? '') : 0n;
  const changedPlanId = form.shownPlan ? form.shownPlan : null;
  const { amountChanged, planChanged, bankAsksCard } = view.wording.words.checkout;
  const isOtherPlan = changedPlanId !== (view.change?.subscriptionId ?? null);
  if (isOtherPlan || view.dueNow > shownDue)
    return { show: paymentPage({ ...step, message: isOtherPlan ? planChanged : amountChanged }), status: 409 };
  const card = cardOf(view, { form, browser: opened.browser });
  if ('errors' in card) return { show: paymentPage({ ...step, errors: card.errors }), status: 422 };
  const { environmentId, publicUrl, sessionId, network, language } = opened;
  const place = { environmentId, publicUrl, sessionId, network, language, slots: opened.context.slots };
  const { name, email } = details;
  try {
    const confirmation = { ...draft, name, email, ...card, dueNow: shownDue, changedPlanId };
    const after = await performCheckout(opened.context, place, confirmation);
    if (after.refusal !== null) return { show: refusedPage(after, after.refusal), status: 409 };
    if (after.status !== 'open') return { goTo: `${action}&to=success` };
    const { cardToConfirm } = after;
    if (cardToConfirm !== null)
      return { show: paymentPage({ ...step, view: { ...view, cardToConfirm }, message: bankAsksCard }) };
    return { show: paymentPage({ ...step, message: declinedText(after.failure ?? '', view.wording) }), status: 402 };
  } catch (error) {
    const stale = staleText(error, view.wording);
    if (stale === null) return refusedPayment(step, error);
    const again = await lookWithDraft(opened, { view, details, draft });
    if ('refused' in again) return again.refused;
    return { show: paymentPage({ ...step, view: again.view, message: stale }), status: 409 };
  }
}

/** The message if the order is no longer the one that was shown; null for any other refusal. */
function staleText(error: unknown, { words }: Wording): string | null {
  const { amountChanged, planChanged } = words.checkout;
  const fields = error instanceof Problem ? error.issues.map(({ path }) => path[0]) : [];
  if (fields.includes('changedPlanId')) return planChanged;
  return fields.includes('dueNow') ? amountChanged : null;
}

/** Shows a failure on the step that it belongs to. */
function refusedPayment(step: Step, error: unknown): PageAnswer {
  const { wording } = step.view;
  const { errors, message } = refusalOf(error, wording);
  const status = error instanceof Problem ? error.status : 500;
  const isOfDetails = Object.keys(errors).some((name) => name in step.details);
  const isOfCard = error instanceof Problem && error.problem === 'paymentMethodDeclined';
  const said = isOfCard ? declinedText(error.message, wording) : message;
  return { show: (isOfDetails ? detailsPage : paymentPage)({ ...step, errors, message: said }), status };
}

type Card = Pick<CheckoutConfirmation, 'token' | 'acceptance' | 'paymentMethodId'>;

/** The chosen payment method or the token of the card; neither if none is required. */
function cardOf(
  { needsCard, processor, currency, wording }: CheckoutView,
  request: Pick<PageRequest, 'form' | 'browser'>,
): Card | MethodEntry {
  if (!needsCard) return { token: null };
  const { paymentMethodId, wallet } = request.form;
  if (paymentMethodId !== undefined && paymentMethodId !== otherCard && wallet === undefined)
    return { token: null, paymentMethodId };
  return readMethod(request, { ...processor, currency }, { now: Date.now(), wording });
}

// The form fields for issues of a whole record.
const fieldOf = new Map([
  ['billingAddress', 'country'],
  ['token', 'cardNumber'],
]);

/** A refusal as form errors: beside its field, or above the form. Other errors are thrown on. */
function refusalOf(error: unknown, wording: Wording): { errors: FieldErrors; message: string | null } {
  if (!(error instanceof Problem)) throw error;
  if (error.problem === 'checkoutSessionNotFound' || error.problem === 'linkInvalid') throw error;
  if (error.issues.length === 0) return { errors: {}, message: buyerText(error, wording) };
  const errors = Object.fromEntries(
    error.issues.map(({ path, message }) => {
      const names = path.map(String).filter((name) => name !== 'checkoutSession');
      const last = names.at(-1) ?? '';
      return [last === names[0] ? (fieldOf.get(last) ?? last) : last, issueText(names[0] ?? '', message, wording)];
    }),
  );
  return { errors, message: hasAny(errors) ? null : buyerText(error, wording) };
}

function hasAny(errors: FieldErrors): boolean {
  return Object.keys(errors).length > 0;
}

function pagesOf(name: 'checkout' | 'add-payment-method'): Page[] {
  const path = `/${name}/:id` as const;
  return [
    {
      method: 'GET',
      path,
      async handle(context, request) {
        const opened = await open(context, name, request);
        return firstPage(await look(opened), opened.action, request.query.to === 'success');
      },
    },
    {
      method: 'POST',
      path,
      handle: async (context, request) => takeForm(await open(context, name, request), request.form),
    },
  ];
}

const stripeAsset: Page = {
  method: 'GET',
  path: stripeScriptPath,
  handle: async () => ({ file: stripeScript, contentType: 'text/javascript; charset=utf-8' }),
};

/** The typefaces of the pages. Each is read once. */
const fontAssets = Object.values(fontFiles).map((name): Page => {
  const file = readFile(new URL(`../http/${name}`, import.meta.url));
  return {
    method: 'GET',
    path: `${fontPath}/${fontVersion}/${name}`,
    handle: async () => ({ file: await file, contentType: 'font/woff2', isPublic: true }),
  };
});

/** The pages behind the link of a checkout session. */
export const checkoutPages: readonly Page[] = [
  ...pagesOf('checkout'),
  ...pagesOf('add-payment-method'),
  stripeAsset,
  ...fontAssets,
];
