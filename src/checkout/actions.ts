import { z } from 'zod';
import { type Billed, type Quote, quoteOf } from '../billing/quote.ts';
import { findCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import type { PaymentProcessor, Processors } from '../payments/processor.ts';
import { findLastPaymentOf, pageOfPayments } from '../payments/store.ts';
import { listPaymentMethodsOfCustomer } from '../payments/store-payment-methods.ts';
import { currencyOf } from '../pricing/actions.ts';
import type { DiscountRow } from '../pricing/discount.ts';
import { firstAmountAt } from '../pricing/price.ts';
import { mayCost } from '../pricing/pricing.ts';
import { listUsagePrices } from '../pricing/store-prices.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchase } from '../purchases/store.ts';
import { findAdjustment } from '../subscriptions/store-adjustments.ts';
import { chosenDiscount, findBuyer, findPlanToChange, findSold, quoteOrder, type Sold } from './actions-order.ts';
import { requireSession } from './actions-sessions.ts';
import { buyerText } from './buyer-text.ts';
import { type CheckoutSessionRow, decideQuantity, inTrial, isAdjustable, statusAt } from './checkout.ts';
import { checkDraft } from './checkout-input.ts';
import {
  type CheckoutDraft,
  type CheckoutView,
  maxUsageTerms,
  type PaymentToConfirm,
  type PlanChange,
  type SavedMethod,
} from './checkout-view.ts';
import { readSellerName } from './store.ts';

type Bill = Pick<
  CheckoutView,
  'lines' | 'subtotal' | 'discountAmount' | 'taxAmount' | 'taxIncluded' | 'total' | 'dueNow' | 'trialEnd'
>;

const noBill: Bill = {
  lines: [],
  subtotal: 0n,
  discountAmount: 0n,
  taxAmount: 0n,
  taxIncluded: false,
  total: 0n,
  dueNow: 0n,
  trialEnd: null,
};

/** The page data of the session with this id. Refuses with `checkoutSessionNotFound`, and like `viewSession`. */
export async function viewCheckout(
  work: Work,
  processors: Processors,
  sessionId: string,
  draft?: CheckoutDraft,
): Promise<CheckoutView> {
  return viewSession(work, processors, await requireSession(work, sessionId), draft);
}

/**
 * The page data of a session, with amounts for the buyer's input so far. It only reads, so a page that is loaded often
 * costs little. Refuses with `invalidRequest` invalid input, naming the field (`discountCode`, `quantity`,
 * `billingAddress`): call again without it.
 */
export async function viewSession(
  work: Work,
  processors: Processors,
  session: CheckoutSessionRow,
  draft: CheckoutDraft = {},
): Promise<CheckoutView> {
  checkDraft(draft);
  const status = statusAt(session, work.now);
  const entered = status === 'open' ? draft : {};
  const processor = processors.defaultIn(work);
  const sold = await findSold(work, session);
  const attempt = await findAttempt(work, session);
  const discount = await chosenDiscount(work, session, entered);
  const quoted =
    status === 'open' && sold !== null
      ? await tryQuote(work, { session, sold, discount, draft: entered })
      : { bill: attempt === null ? noBill : await readBill(work, attempt), change: null, refusal: null };
  const { bill, change, refusal } = quoted;
  const quantity = decideQuantity(session, entered.quantity);
  const needsCard = status === 'open' && asksForCard(session, sold, quantity, quoted);
  const savedMethods = needsCard ? await listSavedMethods(work, session, processor) : [];
  const isCardless = needsCard && processor.name === 'manual' && savedMethods.length === 0;
  return {
    ...bill,
    ...(await describe(work, bill.trialEnd === null ? session : inTrial(session), sold, entered)),
    status,
    change,
    // A change of plan bills none.
    setupFee: change === null ? (sold?.price.setupFeeAmount ?? null) : null,
    minimumCommitment: sold?.price.minimumCommitment ?? null,
    billingTiming: sold?.price.billingTiming ?? null,
    mayDiscount: session.type === 'product' && change === null && sold !== null && mayCost(sold.price),
    discountCode: discount?.code ?? null,
    needsCard,
    savedMethods,
    processor: { name: processor.name, publishableKey: processor.publishableKey ?? null },
    failure: status === 'open' ? await lastFailure(work, attempt) : null,
    cardToConfirm: null,
    paymentToConfirm:
      status === 'pending' && attempt !== null
        ? await findPaymentToConfirm(work, processor, paymentsOfAttempt(attempt))
        : null,
    refusal: refusal ?? (isCardless ? noCardsTaken : null),
  };
}

/** The last attempt to buy, with its purchase, or to change the plan. */
type LastAttempt = Billed & { readonly purchase: PurchaseRow | null };

/** The last attempt; null without one. */
async function findAttempt(work: Work, { purchaseId, adjustmentId }: CheckoutSessionRow): Promise<LastAttempt | null> {
  if (adjustmentId !== null) {
    const adjustment = await findAdjustment(work, adjustmentId);
    return adjustment && { ...adjustment, purchase: null };
  }
  const purchase = purchaseId === null ? null : await findPurchase(work, purchaseId);
  return purchase && { ...purchase, purchase };
}

type PaymentFilters = { readonly [field: string]: string };

/** A purchase has payments of its own until its invoice is made. */
function paymentsOfAttempt({ invoiceId, purchase }: LastAttempt): PaymentFilters {
  return invoiceId === null ? { purchaseId: purchase?.id ?? '' } : { invoiceId };
}

// As many as fit on a page; the default one is the first.
const maxSavedMethods = 10;

/** The payment methods that the buyer may choose. The link of an anonymous session shows none. */
async function listSavedMethods(
  work: Work,
  { type, customerId, anonymous }: CheckoutSessionRow,
  processor: PaymentProcessor,
): Promise<SavedMethod[]> {
  if (type === 'add_payment_method' || customerId === null || anonymous) return [];
  const methods = await listPaymentMethodsOfCustomer(work, customerId, maxSavedMethods);
  const chargeable = methods.filter((method) => method.processor === processor.name);
  return chargeable.map(({ id, type: kind, paymentMethodData: data }) => ({ id, type: kind, data }));
}

const noCardsTaken = 'This seller does not accept cards here yet. Please ask the seller how to pay.';

async function describe(work: Work, session: CheckoutSessionRow, sold: Sold | null, draft: CheckoutDraft) {
  const { customerId, anonymous, customerName, customerEmail, type } = session;
  const customer = customerId === null ? null : await findCustomer(work, customerId);
  return {
    id: session.id,
    type,
    livemode: work.livemode,
    purchaseId: session.purchaseId,
    expiresAt: session.expiresAt,
    seller: await readSellerName(work),
    productName: sold === null ? null : (session.outputName ?? sold.product.name),
    description: sold?.product.description ?? null,
    unitPrice: sold?.price.unitPrice ?? null,
    pricing: sold?.price.pricing ?? null,
    usage: sold?.price.overage === 'bill' ? await listUsagePrices(work, sold.product.id, maxUsageTerms) : [],
    intervalUnit: sold?.price.intervalUnit ?? null,
    intervalCount: sold?.price.intervalCount ?? null,
    quantity: decideQuantity(session, draft.quantity),
    mayChangeQuantity: isAdjustable(session),
    minimumQuantity: session.minimumQuantity,
    maximumQuantity: session.maximumQuantity,
    currency: currencyOf(work),
    customer: {
      name: customer?.name ?? customerName,
      email: customer?.email ?? customerEmail,
      billingAddress: draft.billingAddress ?? customer?.billingAddress ?? session.billingAddress,
    },
    isAnonymous: anonymous,
    successUrl: session.successUrl,
    cancelUrl: session.cancelUrl,
  };
}

/** A card is required whenever anything will be owed: a plan may be free only today. A change asks for what is due. */
function asksForCard(
  { type }: CheckoutSessionRow,
  sold: Sold | null,
  quantity: number,
  { bill: { total }, change }: Pick<Quoted, 'bill' | 'change'>,
): boolean {
  if (change !== null) return total > 0n;
  if (sold === null || type === 'activate_subscription') return true;
  return firstAmountAt(sold.price, quantity) > 0n && (sold.price.type === 'subscription' || total > 0n);
}

interface Asked {
  readonly session: CheckoutSessionRow;
  readonly sold: Sold;
  readonly discount: DiscountRow | null;
  readonly draft: CheckoutDraft;
}

const draftFields: ReadonlySet<unknown> = new Set(['quantity', 'discountCode', 'billingAddress']);

/** The bill, or the reason why there is none. */
interface Quoted {
  readonly bill: Bill;
  readonly change: PlanChange | null;
  readonly refusal: string | null;
}

/** The quote, or the reason why there is none. Invalid input is refused instead, because the buyer can correct it. */
async function tryQuote(work: Work, requested: Asked): Promise<Quoted> {
  try {
    return { ...(await quoteSession(work, requested)), refusal: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [issue] = error.issues;
    if (draftFields.has(issue?.path[0]) && Object.keys(requested.draft).length > 0) throw error;
    return { bill: noBill, change: null, refusal: buyerText(error) };
  }
}

/** The amounts that confirming would bill now, also for the customer that an anonymous session would create. */
async function quoteSession(work: Work, { session, sold, discount, draft }: Asked): Promise<Omit<Quoted, 'refusal'>> {
  const quantity = decideQuantity(session, draft.quantity);
  const customer = await findBuyer(work, session, draft);
  const plan = await findPlanToChange(work, session, sold);
  const { quoted, change } = await quoteOrder(work, { session, sold, customer, quantity, discount, plan });
  return { bill: toBill(work, quoted), change };
}

/** The amounts billed for a purchase or a change, or to be billed when the first payment of the purchase has arrived. */
async function readBill(work: Work, attempt: LastAttempt): Promise<Bill> {
  const { purchase, invoiceId } = attempt;
  const payment = purchase !== null && invoiceId === null ? await findLastPaymentOf(work, purchase) : null;
  if (purchase === null || payment === null) return toBill(work, await quoteOf(work, attempt));
  const { amount: total, subtotal, taxAmount } = payment;
  const line = { description: purchase.name, quantity: purchase.quantity, price: subtotal, amount: subtotal };
  const amounts = { lines: [line], subtotal, discountAmount: 0n, taxAmount, total, dueNow: total };
  return toBill(work, { ...amounts, trialEnd: null, currency: payment.currency });
}

function toBill({ now }: Work, quoted: Quote): Bill {
  const { lines, discountAmount, taxAmount, total, dueNow, trialEnd } = quoted;
  const subtotal = lines.reduce((sum, { amount }) => sum + amount, 0n);
  return {
    lines: lines.map(({ description, quantity, amount }) => ({ description: description ?? '', quantity, amount })),
    subtotal,
    discountAmount,
    taxAmount,
    taxIncluded: taxAmount > 0n && subtotal - discountAmount === total,
    total,
    dueNow,
    trialEnd: trialEnd !== null && trialEnd > now ? trialEnd : null,
  };
}

// An invoice of a checkout is charged once, plus any manual retries.
const maxPayments = 100;

function paymentsOf(work: Work, filters: PaymentFilters) {
  return pageOfPayments(work, {
    cursor: null,
    after: null,
    afterAt: null,
    direction: 'forward',
    order: 'asc',
    limit: maxPayments,
    filters,
  });
}

/** The processor's reason why the payment of the attempt failed; null without a failed payment. */
async function lastFailure(work: Work, attempt: LastAttempt | null): Promise<string | null> {
  if (attempt === null) return null;
  const id = attempt.purchase?.id ?? '';
  const payment = await findLastPaymentOf(work, { id, invoiceId: attempt.invoiceId }, 'failed');
  return payment?.failureMessage ?? null;
}

const Confirmable = z.object({ clientSecret: z.string() });

/**
 * The oldest charge of an invoice or customer that awaits confirmation by the bank; null without one, or if our pages
 * cannot request it.
 */
export async function findPaymentToConfirm(
  work: Work,
  { publishableKey }: PaymentProcessor,
  filters: PaymentFilters,
): Promise<PaymentToConfirm | null> {
  if (!publishableKey) return null;
  const { rows } = await paymentsOf(work, { ...filters, status: 'requires_action' });
  for (const { id, nextAction } of rows) {
    const confirmable = Confirmable.safeParse(nextAction);
    if (confirmable.success) return { id, clientSecret: confirmable.data.clientSecret };
  }
  return null;
}
