import { runInEnvironment } from '../database/work.ts';
import type { Page, PageAnswer, PageContext, PageRequest } from '../http/page.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { Problem } from '../kernel/problem.ts';
import { createProcessors } from '../payments/actions.ts';
import type { AttemptOutcome } from '../payments/actions-attempts.ts';
import { normalizeCode } from '../pricing/discount.ts';
import { viewSession } from './actions.ts';
import { requireSession } from './actions-sessions.ts';
import { type Details, detailErrors, draftOf, enteredDetails, knownDetails } from './buyer-entry.ts';
import { buyerText, issueText } from './buyer-text.ts';
import { readCard } from './card-entry.ts';
import { readCheckoutKey } from './checkout.ts';
import type { CheckoutConfirmation, CheckoutDraft, CheckoutView, PaymentToConfirm } from './checkout-view.ts';
import { performCheckout, performConfirmed } from './jobs.ts';
import { requireAttempts, sessionLink, withAttempt } from './jobs-attempts.ts';
import { otherCard, stripeScript, stripeScriptPath } from './page-card.ts';
import {
  confirmCardText,
  confirmPaymentPage,
  declinedText,
  detailsPage,
  outcomePage,
  paymentPage,
  refusedPage,
  type Step,
} from './page-checkout.ts';
import type { FieldErrors } from './page-form.ts';

/** The session of the request's link. */
interface Opened {
  readonly context: PageContext;
  readonly environmentId: number;
  readonly sessionId: string;
  readonly publicUrl: string;
  readonly network: string | null;
  /** The target of its forms. */
  readonly action: string;
}

function open(context: PageContext, page: string, { params, query, publicUrl, network }: PageRequest): Opened {
  const { id: sessionId = '' } = params;
  const key = query.key ?? '';
  const environmentId = readCheckoutKey(encryptionOf(context.services), sessionId, key);
  if (environmentId === null) throw new Problem('linkInvalid');
  context.admit('link', sessionId);
  return {
    context,
    environmentId,
    sessionId,
    publicUrl,
    network,
    action: `/${page}/${sessionId}?key=${encodeURIComponent(key)}`,
  };
}

async function look({ context, environmentId, sessionId, publicUrl }: Opened, draft: CheckoutDraft = {}) {
  const outcome = await runInEnvironment(
    context.database,
    { environmentId },
    async (work) => {
      const session = await requireSession(work, sessionId);
      if (session.customerId !== null) context.admit('visitor', session.customerId);
      return viewSession(work, createProcessors(work.db, context.services), session, draft);
    },
    { publicUrl, readOnly: true },
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
    message: view.failure === null ? null : declinedText(view.failure),
  };
  return { show: view.type === 'add_payment_method' ? paymentPage(step) : detailsPage(step) };
}

/** Handles a form of the checkout. Only the last step changes anything. */
async function takeForm(opened: Opened, form: PageRequest['form']): Promise<PageAnswer> {
  const { action, context } = opened;
  if (form.step === 'pay') await requireAttempts(context, sessionLink(opened, 'payment'));
  if (form.discountCode) await requireAttempts(context, sessionLink(opened, 'discount_code'));
  const view = await look(opened);
  if (form.step === 'confirmed' && view.paymentToConfirm !== null) return takeConfirmed(opened, view.paymentToConfirm);
  if (view.status !== 'open') return { goTo: action };
  const details = enteredDetails(view, form);
  if (form.step === 'details') return { show: detailsPage({ view, details, action }) };
  const errors = detailErrors(view, details);
  if (hasAny(errors)) return { show: detailsPage({ view, details, action, errors }), status: 422 };
  const quoted = await lookWithDraft(opened, view, details);
  if ('refused' in quoted) return quoted.refused;
  if (quoted.view.status !== 'open') return { goTo: action };
  if (quoted.view.refusal !== null) return { show: refusedPage(quoted.view, quoted.view.refusal), status: 409 };
  return form.step === 'pay'
    ? pay(opened, { view: quoted.view, details, action }, form)
    : { show: paymentPage({ view: quoted.view, details, action }) };
}

/** The processor knows the outcome of the buyer's confirmation with the bank. */
async function takeConfirmed(
  { context, environmentId, action }: Opened,
  { id }: PaymentToConfirm,
): Promise<PageAnswer> {
  await performConfirmed(context, environmentId, id);
  return { goTo: `${action}&to=success` };
}

/** The view with the buyer's input; refused input is shown beside its field. */
async function lookWithDraft(
  opened: Opened,
  view: CheckoutView,
  details: Details,
): Promise<{ view: CheckoutView } | { refused: PageAnswer }> {
  const draft = draftOf(view, details);
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
    const step = { view, details, action: opened.action, ...refusalOf(error) };
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
const amountChanged = 'The amount has changed. Please review it before you continue.';
const planChanged = 'Your plan has changed since this page was opened. Please review your order before you continue.';

async function pay(opened: Opened, entered: Step, form: PageRequest['form']): Promise<PageAnswer> {
  const step = { ...entered, chosenMethod: form.paymentMethodId ?? null };
  const { view, details, action } = step;
  const shownDue = /^\d{1,20}$/.test(form.shownDue ?? '') ? BigInt(form.shownDue ?? '') : 0n;
  const changedPlanId = form.shownPlan ? form.shownPlan : null;
  const isOther = changedPlanId !== (view.change?.subscriptionId ?? null);
  if (isOther || view.dueNow > shownDue)
    return { show: paymentPage({ ...step, message: isOther ? planChanged : amountChanged }), status: 409 };
  const card = cardOf(view, form);
  if ('errors' in card) return { show: paymentPage({ ...step, errors: card.errors }), status: 422 };
  const { environmentId, publicUrl, sessionId, network } = opened;
  const { name, email } = details;
  try {
    const confirmation = { ...draftOf(view, details), name, email, ...card, dueNow: shownDue, changedPlanId };
    const after = await performCheckout(opened.context, { environmentId, publicUrl, sessionId, network }, confirmation);
    if (after.refusal !== null) return { show: refusedPage(after, after.refusal), status: 409 };
    if (after.status !== 'open') return { goTo: `${action}&to=success` };
    const { cardToConfirm } = after;
    if (cardToConfirm !== null)
      return { show: paymentPage({ ...step, view: { ...view, cardToConfirm }, message: confirmCardText }) };
    return { show: paymentPage({ ...step, message: declinedText(after.failure ?? '') }), status: 402 };
  } catch (error) {
    const stale = staleText(error);
    if (stale === null) return refusedPayment(step, error);
    const again = await lookWithDraft(opened, view, details);
    if ('refused' in again) return again.refused;
    return { show: paymentPage({ ...step, view: again.view, message: stale }), status: 409 };
  }
}

/** The message if the order is no longer the one that was shown; null for any other refusal. */
function staleText(error: unknown): string | null {
  const fields = error instanceof Problem ? error.issues.map(({ path }) => path[0]) : [];
  if (fields.includes('changedPlanId')) return planChanged;
  return fields.includes('dueNow') ? amountChanged : null;
}

/** Shows a failure on the step that it belongs to. */
function refusedPayment(step: Step, error: unknown): PageAnswer {
  const { errors, message } = refusalOf(error);
  const status = error instanceof Problem ? error.status : 500;
  const isOfDetails = Object.keys(errors).some((name) => name in step.details);
  const isOfCard = error instanceof Problem && error.problem === 'paymentMethodDeclined';
  const said = isOfCard ? declinedText(error.message) : message;
  return { show: (isOfDetails ? detailsPage : paymentPage)({ ...step, errors, message: said }), status };
}

type Card = Pick<CheckoutConfirmation, 'token' | 'paymentMethodId'>;

/** The chosen payment method or the token of the card; neither if none is required. */
function cardOf(view: CheckoutView, { paymentMethodId, ...form }: PageRequest['form']): Card | { errors: FieldErrors } {
  if (!view.needsCard) return { token: null };
  if (paymentMethodId !== undefined && paymentMethodId !== otherCard) return { token: null, paymentMethodId };
  if (view.processor.name === 'test') return readCard(form, Date.now());
  const token = form.token?.trim() ?? '';
  return token === '' ? { errors: { token: 'Enter your card.' } } : { token };
}

// The form fields for issues of a whole record.
const fieldOf = new Map([
  ['billingAddress', 'country'],
  ['token', 'cardNumber'],
]);

/** A refusal as form errors: beside its field, or above the form. Other errors are thrown on. */
function refusalOf(error: unknown): { errors: FieldErrors; message: string | null } {
  if (!(error instanceof Problem)) throw error;
  if (error.problem === 'checkoutSessionNotFound' || error.problem === 'linkInvalid') throw error;
  if (error.issues.length === 0) return { errors: {}, message: buyerText(error) };
  const errors = Object.fromEntries(
    error.issues.map(({ path, message }) => {
      const names = path.map(String).filter((name) => name !== 'checkoutSession');
      const last = names.at(-1) ?? '';
      return [last === names[0] ? (fieldOf.get(last) ?? last) : last, issueText(names[0] ?? '', message)];
    }),
  );
  return { errors, message: hasAny(errors) ? null : buyerText(error) };
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
        const opened = open(context, name, request);
        return firstPage(await look(opened), opened.action, request.query.to === 'success');
      },
    },
    {
      method: 'POST',
      path,
      handle: (context, request) => takeForm(open(context, name, request), request.form),
    },
  ];
}

const stripeAsset: Page = {
  method: 'GET',
  path: stripeScriptPath,
  handle: async () => ({ file: stripeScript, contentType: 'text/javascript; charset=utf-8' }),
};

/** The pages behind the link of a checkout session. */
export const checkoutPages: readonly Page[] = [...pagesOf('checkout'), ...pagesOf('add-payment-method'), stripeAsset];
