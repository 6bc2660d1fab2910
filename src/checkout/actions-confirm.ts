import assert from 'node:assert/strict';
import type { Quote } from '../billing/quote.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import {
  attachPaymentMethod,
  attachTask,
  findPendingAttachment,
  reportAttachment,
} from '../payments/actions-attach.ts';
import type { PaymentProcessor, Processors } from '../payments/processor.ts';
import { findPaymentMethod, type PaymentMethodRow } from '../payments/store-payment-methods.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import { lockSubscription, saveSubscription } from '../subscriptions/store.ts';
import { isTerminal } from '../subscriptions/subscription.ts';
import { viewCheckout } from './actions.ts';
import {
  addOnsOf,
  carryOut,
  catchUpBuyer,
  chosenDiscount,
  findPlanToChange,
  findSold,
  prepareBuyer,
  type Sold,
} from './actions-order.ts';
import { type CheckoutSessionRow, decideAddOns, decideQuantity, statusAt } from './checkout.ts';
import { checkDraft, readBuyer } from './checkout-input.ts';
import type { CheckoutConfirmation, CheckoutDraft, CheckoutView } from './checkout-view.ts';
import { lockSession, saveSelection, saveSession } from './store.ts';

/** The progress of a confirmation. */
interface Confirmed {
  /** The payment method that an external processor must check first: confirm again with it afterwards. */
  readonly awaits: string | null;
}

/**
 * Confirms a session: stores the card, buys, and requests the charge after the commit. Confirmations of a session are
 * serialized, and a session that is no longer open stays as it is, so repeated confirmations buy once. A session that
 * currently cannot be confirmed (`refusal`) stays open.
 *
 * An external processor checks the card after the commit, and then this is called again with `attachedId`. Refuses like
 * `performCheckout`, and with `paymentMethodDeclined` a declined card.
 */
export async function confirmCheckout(
  work: Work,
  processors: Processors,
  sessionId: string,
  given: CheckoutConfirmation,
  attachedId: string | null = null,
): Promise<Confirmed> {
  const draft = draftOf(given);
  checkDraft(draft);
  const session = await lockSession(work, sessionId);
  if (session === null) throw new Problem('checkoutSessionNotFound', { id: sessionId });
  if (statusAt(session, work.now) !== 'open') return { awaits: null };
  const buyer = session.anonymous ? readBuyer(given) : {};
  // The customer lock keeps the view valid until the end: no concurrent purchase.
  if (session.customerId !== null) await lockCustomer(work, session.customerId);
  const sold = await findSold(work, session);
  await catchUpBuyer(work, session, sold);
  const view = await viewCheckout(work, processors, sessionId, draft);
  if (view.refusal !== null) return { awaits: null };
  refuseOtherThanShown(view, given);
  const customer = await prepareBuyer(work, session, {
    ...buyer,
    ...(given.taxId === undefined ? {} : { taxId: given.taxId }),
    billingAddress: given.billingAddress ?? null,
  });
  const card = view.needsCard
    ? await keepCard(work, processors.defaultIn(work), { session, customer, given, attachedId })
    : { paymentMethodId: null, isPending: false };
  await saveDecision(work, session, { sold, customer, view, draft, given, card });
  if (card.isPending) return { awaits: card.paymentMethodId };
  const billed = await complete(work, { session, sold, customer, draft }, card.paymentMethodId);
  // Usage may have arrived since the view, and a plan change may bill it.
  if (billed !== null) refuseMoreThanShown(billed, given);
  return { awaits: null };
}

/** The fields of a confirmation that change amounts. */
export function draftOf({
  quantity,
  addOns,
  discountCode,
  billingAddress,
  taxId,
}: CheckoutConfirmation): CheckoutDraft {
  return {
    ...(quantity === undefined ? {} : { quantity }),
    ...(addOns === undefined ? {} : { addOns }),
    ...(discountCode === undefined ? {} : { discountCode }),
    ...(billingAddress === undefined ? {} : { billingAddress }),
    ...(taxId === undefined ? {} : { taxId }),
  };
}

/** The amount may be less than shown, because the rest of a period shrinks while the buyer types. */
function refuseOtherThanShown({ dueNow, change }: CheckoutView, given: CheckoutConfirmation): void {
  // The customer may have got a plan, or lost it, since the page was shown.
  if (given.changedPlanId !== undefined && given.changedPlanId !== (change?.subscriptionId ?? null))
    throw invalid(['changedPlanId'], 'is another one now: show the buyer the order first');
  refuseMoreThanShown({ dueNow }, given);
}

function refuseMoreThanShown({ dueNow }: Pick<Quote, 'dueNow'>, given: CheckoutConfirmation): void {
  if (given.dueNow !== undefined && dueNow > given.dueNow)
    throw invalid(['dueNow'], `is now ${dueNow}: show the buyer this amount first`);
}

interface Card {
  readonly paymentMethodId: string | null;
  /** Whether its processor has yet to be called. */
  readonly isPending: boolean;
}

interface Attaching {
  readonly session: CheckoutSessionRow;
  readonly customer: CustomerRow;
  readonly given: CheckoutConfirmation;
  readonly attachedId: string | null;
}

async function keepCard(work: Work, processor: PaymentProcessor, attaching: Attaching): Promise<Card> {
  const { session, customer, given, attachedId } = attaching;
  if (attachedId !== null) {
    const { id } = await reportAttachment(work, { id: attachedId });
    return { paymentMethodId: id, isPending: false };
  }
  const { token, acceptance, paymentMethodId = null } = given;
  if (paymentMethodId !== null) return chooseSaved(work, attaching, paymentMethodId);
  if (token === null) throw invalid(['token'], 'is required: enter a card');
  const known = await cardOfBefore(work, session, token);
  if (known !== null) return known;
  const method = await attachPaymentMethod(work, processor, {
    customerId: customer.id,
    token,
    ...(acceptance === undefined ? {} : { acceptance }),
    ...(session.automaticallyUpdateSubscriptions === true
      ? { automaticallyUpdateSubscriptions: true, default: true }
      : {}),
  });
  return { paymentMethodId: method.id, isPending: processor.identifyCustomer !== undefined };
}

/** A payment method that the customer has already. */
async function chooseSaved(work: Work, { session, customer }: Attaching, id: string): Promise<Card> {
  const method = await findPaymentMethod(work, id);
  const isOffered = session.type !== 'add_payment_method' && !session.anonymous;
  if (isOffered && method?.customerId === customer.id) return { paymentMethodId: id, isPending: false };
  throw invalid(['paymentMethodId'], 'must be a payment method of the customer');
}

/** The same token is the same card: a form sent twice, or another attempt with it. */
async function cardOfBefore(
  work: Work,
  { paymentToken, paymentMethodId }: CheckoutSessionRow,
  token: string,
): Promise<Card | null> {
  if (paymentToken !== token || paymentMethodId === null) return null;
  if ((await findPaymentMethod(work, paymentMethodId)) !== null) return { paymentMethodId, isPending: false };
  if ((await findPendingAttachment(work, paymentMethodId)) === null) return null;
  // The first request may be about to call the processor. Calling twice is safe, and this request must await the result
  // too.
  work.effects.push({ task: attachTask, payload: { environmentId: work.environmentId, paymentMethodId } });
  return { paymentMethodId, isPending: true };
}

interface Decision {
  readonly sold: Sold | null;
  readonly customer: CustomerRow;
  readonly view: CheckoutView;
  readonly draft: CheckoutDraft;
  readonly given: CheckoutConfirmation;
  readonly card: Card;
}

/** Stores the buyer's input, before the outcome updates the session. */
async function saveDecision(
  work: Work,
  session: CheckoutSessionRow,
  { sold, customer, view, draft, given, card }: Decision,
): Promise<void> {
  const method: PaymentMethodRow | null =
    card.paymentMethodId === null ? null : await findPaymentMethod(work, card.paymentMethodId);
  const discount = await chosenDiscount(work, session, sold, draft);
  await saveSelection(work, session.id, decideAddOns(session, draft.addOns));
  await saveSession(work, session.id, {
    status: card.isPending ? 'open' : 'pending',
    customerId: customer.id,
    customerName: customer.name,
    customerEmail: customer.email,
    billingAddress: customer.billingAddress,
    quantity: view.quantity,
    discountId: discount?.id ?? null,
    adjustmentId: null,
    paymentMethodId: card.paymentMethodId,
    paymentMethodType: method?.type ?? null,
    paymentToken: card.paymentMethodId === null || given.paymentMethodId ? null : given.token,
  });
}

interface Completion {
  readonly session: CheckoutSessionRow;
  readonly sold: Sold | null;
  readonly customer: CustomerRow;
  readonly draft: CheckoutDraft;
}

/**
 * Completes the session, and returns the amounts that were billed. For a purchase a database trigger updates the session
 * in the same commit.
 */
async function complete(
  work: Work,
  { session, sold, customer, draft }: Completion,
  paymentMethodId: string | null,
): Promise<Quote | null> {
  if (sold === null) {
    assert(paymentMethodId !== null, 'what adds a card asks for it');
    await chargeTargetOn(work, session, paymentMethodId);
    await saveSession(work, session.id, { status: 'succeeded' });
    return null;
  }
  const discount = await chosenDiscount(work, session, sold, draft);
  const quantity = decideQuantity(session, draft.quantity);
  const addOns = addOnsOf(sold, decideAddOns(session, draft.addOns));
  const plan = await findPlanToChange(work, session, sold);
  return carryOut(work, { session, sold, customer, quantity, addOns, discount, plan }, paymentMethodId);
}

/** Makes the card the payment method of the session's subscription. The caller has locked the customer. */
async function chargeTargetOn(
  work: Work,
  { targetSubscriptionId }: CheckoutSessionRow,
  paymentMethodId: string,
): Promise<void> {
  if (targetSubscriptionId === null) return;
  const target = await lockSubscription(work, targetSubscriptionId);
  // It may have ended since the link was created; the card is added anyway.
  if (target === null || isTerminal(target.status) || target.defaultPaymentMethodId === paymentMethodId) return;
  const changed = await saveSubscription(work, target.id, { defaultPaymentMethodId: paymentMethodId });
  await publishSubscriptions(work, 'subscription.updated', [changed]);
}
