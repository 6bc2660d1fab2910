import { z } from 'zod';
import { type Quote, quoteOf } from '../billing/quote.ts';
import { findCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import { tentatively } from '../database/tentative.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import type { PaymentProcessor, Processors } from '../payments/processor.ts';
import { pageOfPayments } from '../payments/store.ts';
import { currencyOf } from '../pricing/actions.ts';
import type { DiscountRow } from '../pricing/discount.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchase } from '../purchases/store.ts';
import { chosenDiscount, findSold, prepareBuyer, quoteOrder, type Sold } from './actions-order.ts';
import { requireSession } from './actions-sessions.ts';
import { type CheckoutSessionRow, statusAt } from './checkout.ts';
import { checkDraft } from './checkout-input.ts';
import type { CheckoutDraft, CheckoutView, PaymentToConfirm } from './checkout-view.ts';
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

/**
 * The page data of a session, with amounts for the buyer's input so far. Refuses with `checkoutSessionNotFound`, and
 * with `invalidRequest` invalid input, naming the field (`discountCode`, `quantity`, `billingAddress`): call again
 * without it.
 */
export async function viewCheckout(
  work: Work,
  processors: Processors,
  sessionId: string,
  draft: CheckoutDraft = {},
): Promise<CheckoutView> {
  checkDraft(draft);
  const view = await viewAsRead(work, processors, sessionId, draft);
  if (view.refusal === null) return view;
  // The refusal may stem from a purchase that the same form, sent twice, made since the session was read.
  return viewAsRead(work, processors, sessionId, draft);
}

async function viewAsRead(
  work: Work,
  processors: Processors,
  sessionId: string,
  draft: CheckoutDraft,
): Promise<CheckoutView> {
  const session = await requireSession(work, sessionId);
  const status = statusAt(session, work.now);
  const entered = status === 'open' ? draft : {};
  const processor = processors.defaultIn(work);
  const sold = await findSold(work, session);
  const purchase = session.purchaseId === null ? null : await findPurchase(work, session.purchaseId);
  const discount = await chosenDiscount(work, session, entered);
  const { bill, refusal } =
    status === 'open' && sold !== null
      ? await tryQuote(work, { session, sold, discount, draft: entered })
      : { bill: purchase === null ? noBill : await readBill(work, purchase), refusal: null };
  const needsCard = status === 'open' && asksForCard(session, sold, bill);
  return {
    ...bill,
    ...(await describe(work, session, sold, entered)),
    status,
    discountCode: discount?.code ?? null,
    needsCard,
    processor: { name: processor.name, publishableKey: processor.publishableKey ?? null },
    failure: status === 'open' ? await lastFailure(work, purchase) : null,
    cardToConfirm: null,
    paymentToConfirm:
      status === 'pending' && purchase?.invoiceId
        ? await findPaymentToConfirm(work, processor, { invoiceId: purchase.invoiceId })
        : null,
    refusal: refusal ?? (needsCard && processor.name === 'manual' ? noCardsTaken : null),
  };
}

const noCardsTaken = 'Cards are not accepted: no payment processor is configured.';

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
    intervalUnit: sold?.price.intervalUnit ?? null,
    intervalCount: sold?.price.intervalCount ?? null,
    quantity: draft.quantity ?? session.quantity,
    mayChangeQuantity: type === 'product',
    mayDiscount: type === 'product' && sold !== null && sold.price.unitPrice > 0n,
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

/** A card is required whenever anything will be owed: a plan may be free only today. */
function asksForCard({ type }: CheckoutSessionRow, sold: Sold | null, { total }: Bill): boolean {
  if (sold === null || type === 'activate_subscription') return true;
  return sold.price.unitPrice > 0n && (sold.price.type === 'subscription' || total > 0n);
}

interface Asked {
  readonly session: CheckoutSessionRow;
  readonly sold: Sold;
  readonly discount: DiscountRow | null;
  readonly draft: CheckoutDraft;
}

const draftFields: ReadonlySet<unknown> = new Set(['quantity', 'discountCode', 'billingAddress']);

/** The quote, or the reason why there is none. Invalid input is refused instead, because the buyer can correct it. */
async function tryQuote(work: Work, requested: Asked): Promise<{ bill: Bill; refusal: string | null }> {
  try {
    return { bill: await quoteSession(work, requested), refusal: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [issue] = error.issues;
    if (draftFields.has(issue?.path[0]) && Object.keys(requested.draft).length > 0) throw error;
    return { bill: noBill, refusal: error.message };
  }
}

/**
 * The amounts that confirming would bill now, computed by doing it and rolling back, including the customer of an
 * anonymous session.
 */
async function quoteSession(work: Work, { session, sold, discount, draft }: Asked): Promise<Bill> {
  const quoted = await tentatively(work, async (tentative) => {
    const said = { name: 'Buyer', email: 'buyer@example.com', billingAddress: draft.billingAddress ?? null };
    // Uses another id, because a concurrent confirmation creates the customer with the session's id.
    const viewed = { ...session, id: newId('checkoutSession'), anonymous: session.customerId === null };
    const customer = await prepareBuyer(tentative, viewed, said);
    const quantity = draft.quantity ?? session.quantity;
    return quoteOrder(tentative, { session, sold, customer, quantity, discount });
  });
  return toBill(work, quoted);
}

/** The amounts billed for a purchase. */
async function readBill(work: Work, purchase: PurchaseRow): Promise<Bill> {
  return toBill(work, await quoteOf(work, { purchase, subscriptionId: purchase.subscriptionId }));
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

function paymentsOf(work: Work, filters: { readonly [field: string]: string }) {
  return pageOfPayments(work, {
    cursor: null,
    after: null,
    afterAt: null,
    direction: 'forward',
    limit: maxPayments,
    filters,
  });
}

/** The processor's reason why the payment for the purchase failed; null without a failed payment. */
async function lastFailure(work: Work, purchase: PurchaseRow | null): Promise<string | null> {
  const invoiceId = purchase?.invoiceId ?? null;
  if (invoiceId === null) return null;
  const { rows } = await paymentsOf(work, { invoiceId, status: 'failed' });
  return rows.at(-1)?.failureMessage ?? null;
}

const Confirmable = z.object({ clientSecret: z.string() });

/**
 * The oldest charge of an invoice or customer that awaits confirmation by the bank; null without one, or if our pages
 * cannot request it.
 */
export async function findPaymentToConfirm(
  work: Work,
  { publishableKey }: PaymentProcessor,
  filters: { readonly invoiceId: string } | { readonly customerId: string },
): Promise<PaymentToConfirm | null> {
  if (!publishableKey) return null;
  const { rows } = await paymentsOf(work, { ...filters, status: 'requires_action' });
  for (const { id, nextAction } of rows) {
    const confirmable = Confirmable.safeParse(nextAction);
    if (confirmable.success) return { id, clientSecret: confirmable.data.clientSecret };
  }
  return null;
}
