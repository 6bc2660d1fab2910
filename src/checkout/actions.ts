import assert from 'node:assert/strict';
import { z } from 'zod';
import { type Billed, type Quote, quoteOf } from '../billing/quote.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { findCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { localDescription } from '../invoicing/line-text.ts';
import type { Language } from '../kernel/language.ts';
import { Problem } from '../kernel/problem.ts';
import { type BillingSettings, takesBankDebits } from '../organizations/setting.ts';
import { readLook, readSettings } from '../organizations/store-settings.ts';
import type { PaymentProcessor, Processors } from '../payments/processor.ts';
import { findLastPaymentOf, pageOfPayments } from '../payments/store.ts';
import { listPaymentMethodsOfCustomer } from '../payments/store-payment-methods.ts';
import { currencyOf } from '../pricing/actions.ts';
import type { DiscountRow } from '../pricing/discount.ts';
import { firstAmountAt } from '../pricing/price.ts';
import { mayCost } from '../pricing/pricing.ts';
import { type Included, listIncluded } from '../pricing/store-features.ts';
import { listUsagePrices } from '../pricing/store-prices.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchase } from '../purchases/store.ts';
import { ownTermsOf, type PriceOverride, withOverride } from '../subscriptions/price-override.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { findAdjustment } from '../subscriptions/store-adjustments.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { AddOn } from '../subscriptions/subscription-start.ts';
import { type Wording, wordingOf } from '../wording/wording.ts';
import {
  addOnsOf,
  chosenDiscount,
  findBuyer,
  findPlanToChange,
  findSold,
  itemsOf,
  type Offer,
  quoteOrder,
  type Sold,
} from './actions-order.ts';
import { requireSession } from './actions-sessions.ts';
import { buyerText } from './buyer-text.ts';
import {
  type CheckoutSessionRow,
  decideAddOns,
  decideQuantity,
  inTrial,
  isAdjustable,
  type SessionAddOn,
  statusAt,
} from './checkout.ts';
import { checkDraft } from './checkout-input.ts';
import {
  type CheckoutAddOn,
  type CheckoutDraft,
  type CheckoutView,
  maxIncluded,
  maxUsageTerms,
  type PageLook,
  type PageProcessor,
  type PaymentToConfirm,
  type PlanChange,
  type SavedMethod,
  type UsageBilling,
} from './checkout-view.ts';
import { takesCards } from './page-card.ts';

type Bill = Pick<
  CheckoutView,
  'subtotal' | 'discountAmount' | 'taxAmount' | 'taxIncluded' | 'total' | 'dueNow' | 'trialEnd' | 'nextChargeAt'
> &
  Pick<Quote, 'lines'>;

const noBill: Bill = {
  lines: [],
  subtotal: 0n,
  discountAmount: 0n,
  taxAmount: 0n,
  taxIncluded: false,
  total: 0n,
  dueNow: 0n,
  trialEnd: null,
  nextChargeAt: null,
};

/** The page data of the session with this id. Refuses with `checkoutSessionNotFound`, and like `viewSession`. */
export async function viewCheckout(
  work: Work,
  processors: Processors,
  sessionId: string,
  draft?: CheckoutDraft,
  asked?: Language,
): Promise<CheckoutView> {
  return viewSession(work, processors, await requireSession(work, sessionId), draft, asked);
}

/** The wording for somebody who may be a customer: its own language, else that of the browser. */
export function wordingFor(customer: Pick<CustomerRow, 'billingTerms'> | null, asked: Language): Wording {
  return wordingOf(customer?.billingTerms?.language ?? asked);
}

/** The look of a page for somebody who may be a customer. */
export async function readPageLook(
  work: Work,
  customer: Pick<CustomerRow, 'billingTerms'> | null,
  asked: Language,
): Promise<PageLook> {
  return { ...(await readLook(work)), livemode: work.livemode, wording: wordingFor(customer, asked) };
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
  asked: Language = 'en',
): Promise<CheckoutView> {
  checkDraft(draft);
  const { customerId } = session;
  const customer = customerId === null ? null : await findCustomer(work, customerId);
  const look = await readPageLook(work, customer, asked);
  const { wording } = look;
  const settings = await readSettings(work);
  const status = statusAt(session, work.now);
  const entered = status === 'open' ? draft : {};
  const processor = processors.defaultIn(work);
  const terms = await findTerms(work, session);
  const { sold, plan } = terms;
  const attempt = await findAttempt(work, session);
  const discount = await chosenDiscount(work, session, sold, entered);
  const quoted =
    status === 'open' && sold !== null
      ? await tryQuote(work, { session, sold, plan, discount, draft: entered })
      : { bill: attempt === null ? noBill : await readBill(work, attempt), change: null, refusal: null };
  const { bill, change, refusal } = quoted;
  const items = sold === null ? [] : itemsOf(session, sold, entered);
  const needsCard = status === 'open' && asksForCard(session, items, quoted);
  const savedMethods = needsCard ? await listSavedMethods(work, session, processor) : [];
  const isCardless = needsCard && processor.name === 'manual' && savedMethods.length === 0;
  // The customer has the plan, so that no invoice of it bills a setup fee any more.
  const isChange = status === 'open' ? plan !== null : session.adjustmentId !== null;
  const known = { customer, settings, terms, isChange };
  return {
    ...bill,
    lines: linesOf(bill, look, currencyOf(work)),
    ...(await describe(work, bill.trialEnd === null ? session : inTrial(session), known, entered)),
    ...look,
    status,
    change,
    setupFee: isChange ? null : (sold?.price.setupFeeAmount ?? null),
    minimumCommitment: sold?.price.minimumCommitment ?? null,
    billingTiming: sold?.price.billingTiming ?? null,
    mayDiscount: session.type === 'product' && plan === null && items.some(({ price }) => mayCost(price)),
    discountCode: discount?.code ?? null,
    needsCard,
    savedMethods,
    processor: pageProcessor(work, processor),
    failure: status === 'open' ? await lastFailure(work, attempt) : null,
    cardToConfirm: null,
    paymentToConfirm:
      status === 'pending' && attempt !== null
        ? await findPaymentToConfirm(work, processor, paymentsOfAttempt(attempt))
        : null,
    refusal: refusal === null ? (isCardless ? wording.words.card.notTakenYet : null) : buyerText(refusal, wording),
  };
}

/** The lines of a bill, in the language of the page. */
function linesOf({ lines }: Pick<Bill, 'lines'>, { wording: { language } }: PageLook, currency: string) {
  return lines.map(({ description, quantity, amount, explanation }) => ({
    description: localDescription(description ?? '', { explanation, service: null, currency, language }),
    quantity,
    amount,
  }));
}

/** The price, product and add-ons of a session, at the terms that its buyer has, and the plan that it would change. */
async function findTerms(work: Work, session: CheckoutSessionRow): Promise<Terms> {
  const sold = await findSold(work, session);
  const { targetSubscriptionId: id, status } = session;
  const plan = status === 'open' ? await findPlanToChange(work, session, sold) : null;
  const own = plan ?? (id === null ? null : await findSubscription(work, id));
  if (sold === null || own === null || own.priceOverrides.length === 0) return { sold, plan, own, overrides: [] };
  const { priceOverrides: overrides } = own;
  const atOwn = (offer: Offer): Offer => ({ ...offer, price: withOverride(offer.price, overrides) });
  return { sold: { ...atOwn(sold), addOns: sold.addOns.map(atOwn) }, plan, own, overrides };
}

interface Terms {
  readonly sold: Sold | null;
  readonly plan: SubscriptionRow | null;
  /** The subscription that the session changes or activates. */
  readonly own: SubscriptionRow | null;
  /** Own prices of the buyer. */
  readonly overrides: readonly PriceOverride[];
}

/** The last attempt to buy, or to change the plan. */
type LastAttempt = Billed &
  (
    | { readonly purchase: PurchaseRow; readonly purchaseId: string }
    | { readonly purchase: null; readonly adjustmentId: string }
  );

/** The last attempt; null without one. */
async function findAttempt(work: Work, { purchaseId, adjustmentId }: CheckoutSessionRow): Promise<LastAttempt | null> {
  if (adjustmentId !== null) {
    const adjustment = await findAdjustment(work, adjustmentId);
    return adjustment && { ...adjustment, adjustmentId, purchase: null };
  }
  const purchase = purchaseId === null ? null : await findPurchase(work, purchaseId);
  return purchase && { ...purchase, purchaseId: purchase.id, purchase };
}

type PaymentFilters = { readonly [field: string]: string };

/** A purchase or a change has payments of its own until its invoice is made. */
function paymentsOfAttempt({ invoiceId, ...attempt }: LastAttempt): PaymentFilters {
  if (invoiceId !== null) return { invoiceId };
  return attempt.purchase === null ? { adjustmentId: attempt.adjustmentId } : { purchaseId: attempt.purchaseId };
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

/** The records that a view is made from. */
interface Known {
  readonly customer: CustomerRow | null;
  readonly settings: BillingSettings;
  readonly terms: Terms;
  /** Whether it is a change of plan. */
  readonly isChange: boolean;
}

async function describe(
  work: Work,
  session: CheckoutSessionRow,
  { customer, settings, terms, isChange }: Known,
  draft: CheckoutDraft,
) {
  const { anonymous, customerName, customerEmail, type } = session;
  const { sold } = terms;
  return {
    id: session.id,
    type,
    purchaseId: session.purchaseId,
    expiresAt: session.expiresAt,
    isTaxed: settings.taxProvider !== 'none' && customer?.taxExempt !== true,
    productName: sold === null ? null : (session.outputName ?? sold.product.name),
    description: sold?.product.description ?? null,
    unitPrice: sold?.price.unitPrice ?? null,
    pricing: sold?.price.pricing ?? null,
    ...(await describeUsage(work, terms, settings)),
    intervalUnit: sold?.price.intervalUnit ?? null,
    intervalCount: sold?.price.intervalCount ?? null,
    quantity: decideQuantity(session, draft.quantity),
    included: sold === null ? [] : await describeIncluded(work, sold),
    addOns: sold === null ? [] : describeAddOns(session, sold, { draft, isChange }),
    mayChangeQuantity: isAdjustable(session),
    minimumQuantity: session.minimumQuantity,
    maximumQuantity: session.maximumQuantity,
    currency: currencyOf(work),
    customer: {
      name: customer?.name ?? customerName,
      email: customer?.email ?? customerEmail,
      billingAddress: draft.billingAddress ?? customer?.billingAddress ?? session.billingAddress,
      taxId: customer?.billingTerms?.taxId ?? null,
    },
    isAnonymous: anonymous,
    successUrl: session.successUrl,
    cancelUrl: session.cancelUrl,
  };
}

/** The prices of usage of a plan, at the terms that its buyer has. */
async function describeUsage(
  work: Work,
  { sold, overrides, own }: Terms,
  settings: BillingSettings,
): Promise<UsageBilling> {
  if (sold?.price.overage !== 'bill') return { usage: [], usageThreshold: null };
  const prices = await listUsagePrices(work, [sold.product.id], maxUsageTerms);
  const usage = prices.map((price) => ({ ...price, ...ownTermsOf(price.priceId, overrides) }));
  const threshold = own?.billingThresholdAmount ?? settings.billingThresholdAmount;
  return { usage, usageThreshold: threshold || null };
}

async function describeIncluded(work: Work, { product }: Sold): Promise<readonly Included[]> {
  return (await listIncluded(work, [product.id], maxIncluded)).get(product.id) ?? [];
}

function describeAddOns(
  session: CheckoutSessionRow,
  sold: Sold,
  { draft, isChange }: Pick<Known, 'isChange'> & { readonly draft: CheckoutDraft },
): CheckoutAddOn[] {
  const chosen = decideAddOns(session, draft.addOns);
  return session.addOns.map(({ priceId, optional, quantity: set, minimumQuantity, maximumQuantity }, index) => {
    const offer = sold.addOns[index];
    assert(offer, 'each add-on has its price and product');
    const { price, product } = offer;
    return {
      priceId,
      name: product.name,
      description: product.description,
      unitPrice: price.unitPrice,
      pricing: price.pricing,
      setupFee: isChange ? null : price.setupFeeAmount,
      minimumCommitment: price.minimumCommitment,
      billingTiming: price.billingTiming,
      quantity: chosen[index]?.quantity ?? 0,
      minimumQuantity: minimumQuantity ?? set,
      maximumQuantity: maximumQuantity ?? set,
      optional,
    };
  });
}

/** A card is required whenever anything will be owed: a plan may be free only today. A change asks for what is due. */
function asksForCard(
  { type }: CheckoutSessionRow,
  items: readonly Pick<AddOn, 'price' | 'quantity'>[],
  { bill: { total }, change }: Pick<Quoted, 'bill' | 'change'>,
): boolean {
  if (change !== null) return total > 0n;
  if (items.length === 0 || type === 'activate_subscription') return true;
  const costs = items.some(({ price, quantity }) => firstAmountAt(price, quantity) > 0n);
  return costs && (items.some(({ price }) => price.type === 'subscription') || total > 0n);
}

interface Asked {
  readonly session: CheckoutSessionRow;
  readonly sold: Sold;
  readonly plan: SubscriptionRow | null;
  readonly discount: DiscountRow | null;
  readonly draft: CheckoutDraft;
}

const draftFields: ReadonlySet<unknown> = new Set(['quantity', 'addOns', 'discountCode', 'billingAddress']);

function isOfDraft(field: unknown): boolean {
  return draftFields.has(field) || /^addOn\d+$/.test(String(field));
}

/** The bill, or the reason why there is none. */
interface Quoted {
  readonly bill: Bill;
  readonly change: PlanChange | null;
  readonly refusal: Problem | null;
}

/** The quote, or the reason why there is none. Invalid input is refused instead, because the buyer can correct it. */
async function tryQuote(work: Work, requested: Asked): Promise<Quoted> {
  try {
    return { ...(await quoteSession(work, requested)), refusal: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [issue] = error.issues;
    const isFirstLook = Object.keys(requested.draft).length === 0;
    if (isOfDraft(issue?.path[0]) && !isFirstLook) throw error;
    // The customer has the plan, and the page may offer something beside it.
    if (
      error.problem === 'currentSubscriptionExists' &&
      isFirstLook &&
      requested.plan !== null &&
      offersMore(requested)
    )
      return { bill: noBill, change: null, refusal: null };
    return { bill: noBill, change: null, refusal: error };
  }
}

/** Whether the buyer may choose something else than the seller's order. */
function offersMore({ session }: Asked): boolean {
  const isOpen = (addOn: SessionAddOn) => addOn.optional || addOn.minimumQuantity !== addOn.maximumQuantity;
  return isAdjustable(session) || session.addOns.some(isOpen);
}

/** The amounts that confirming would bill now, also for the customer that an anonymous session would create. */
async function quoteSession(work: Work, requested: Asked): Promise<Omit<Quoted, 'refusal'>> {
  const { session, sold, plan, discount, draft } = requested;
  const quantity = decideQuantity(session, draft.quantity);
  const addOns = addOnsOf(sold, decideAddOns(session, draft.addOns));
  const customer = await findBuyer(work, session, draft);
  const { quoted, change } = await quoteOrder(work, { session, sold, customer, quantity, addOns, discount, plan });
  return { bill: toBill(work, quoted), change };
}

// Nothing of it was billed before its payment.
const unexplained = { kind: 'unexplained' } as const;

/** The amounts billed for a purchase or a change, or to be billed when the first payment of the purchase has arrived. */
async function readBill(work: Work, attempt: LastAttempt): Promise<Bill> {
  const { purchase, invoiceId } = attempt;
  const payment = purchase !== null && invoiceId === null ? await findLastPaymentOf(work, attempt) : null;
  if (purchase === null || payment === null) return toBill(work, await quoteOf(work, attempt));
  const { amount: total, subtotal, taxAmount } = payment;
  const { name: description, quantity } = purchase;
  const line = { description, quantity, price: subtotal, amount: subtotal, explanation: unexplained };
  const amounts = { lines: [line], subtotal, discountAmount: 0n, taxAmount, total, dueNow: total };
  return toBill(work, { ...amounts, trialEnd: null, nextChargeAt: null, currency: payment.currency });
}

function toBill({ now }: Work, quoted: Quote): Bill {
  const { lines, discountAmount, taxAmount, total, dueNow, trialEnd, nextChargeAt } = quoted;
  const subtotal = lines.reduce((sum, { amount }) => sum + amount, 0n);
  return {
    lines,
    subtotal,
    discountAmount,
    taxAmount,
    taxIncluded: taxAmount > 0n && subtotal - discountAmount === total,
    total,
    dueNow,
    trialEnd: trialEnd !== null && trialEnd > now ? trialEnd : null,
    nextChargeAt: nextChargeAt !== null && nextChargeAt > now ? nextChargeAt : null,
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
  const payment = await findLastPaymentOf(work, attempt, 'failed');
  return payment?.failureMessage ?? null;
}

/** The processor as the pages of the environment show it. */
export function pageProcessor(work: Work, { name, publishableKey = null }: PaymentProcessor): PageProcessor {
  return { name, publishableKey, takesDebits: takesBankDebits(work) };
}

const Confirmable = z.object({ clientSecret: z.string() });

/**
 * The oldest charge of an invoice or customer that awaits confirmation by the bank; null without one, or if our pages
 * cannot request it.
 */
export async function findPaymentToConfirm(
  work: Work,
  processor: PaymentProcessor,
  filters: PaymentFilters,
): Promise<PaymentToConfirm | null> {
  if (!takesCards(pageProcessor(work, processor))) return null;
  const { rows } = await paymentsOf(work, { ...filters, status: 'requires_action' });
  for (const { id, nextAction } of rows) {
    const confirmable = Confirmable.safeParse(nextAction);
    if (confirmable.success) return { id, clientSecret: confirmable.data.clientSecret };
  }
  return null;
}
