import { requireCustomerByExternalId } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { invoiceUrl, portalUrl } from '../customers/portal-link.ts';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { listHoldings, listOldestClaims } from '../entitlements/store-claims.ts';
import { amountDue } from '../invoicing/invoice.ts';
import { type InvoiceRow, listInvoicesOfCustomer } from '../invoicing/store.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Language } from '../kernel/language.ts';
import { Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listPaymentMethodsOfCustomer } from '../payments/actions.ts';
import type { Processors } from '../payments/processor.ts';
import type { Price } from '../pricing/price.ts';
import { mayCost } from '../pricing/pricing.ts';
import type { Product } from '../pricing/product.ts';
import { listIncluded } from '../pricing/store-features.ts';
import { findAddOnPrices, listPricesByIds, listTopUpPrices, listUsagePrices } from '../pricing/store-prices.ts';
import { loadPricingModelDetails } from '../pricing/store-pricing-models.ts';
import { ownTermsOf } from '../subscriptions/price-override.ts';
import { findSubscription, listLivingSubscriptions } from '../subscriptions/store.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isWaitingForStart, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { holdsCredits } from '../usage/actions-transfer.ts';
import { findPaymentToConfirm, pageProcessor, readPageLook } from './actions.ts';
import { listSubjects, readControls, readCredits } from './actions-portal-credits.ts';
import { type NewPortalSession, type PortalSession, portalSessionSeconds } from './checkout-input.ts';
import { maxIncluded, maxUsageTerms, type PlanTerms, type UsageBilling, type UsageTerms } from './checkout-view.ts';
import type {
  ChartDays,
  PortalInvoice,
  PortalOverview,
  PortalPlan,
  PortalSubscription,
  PortalTopUp,
  PortalView,
} from './portal-view.ts';

// Four years of monthly invoices; the seller has older ones.
const maxInvoices = 48;

/** A customer in its portal. */
export interface Visitor {
  readonly work: Work;
  readonly customer: CustomerRow;
  readonly processors: Processors;
  readonly encryption: Encryption;
  /** The language of its browser. */
  readonly language: Language;
}

/** The portal data of the customer. */
export async function viewPortal({ work, processors, customer, encryption, language }: Visitor): Promise<PortalView> {
  const processor = processors.defaultIn(work);
  const rows = await listLivingSubscriptions(work, customer.id);
  const invoices = await listInvoicesOfCustomer(work, customer.id, maxInvoices);
  return {
    ...(await readPageLook(work, customer, language)),
    currency: work.currency,
    customer,
    subscriptions: await withSeats(work, rows, await describe(work, rows)),
    paymentMethods: await listPaymentMethodsOfCustomer(work, customer.id),
    invoices: invoices.flatMap((invoice) => {
      const { environmentId, publicUrl } = work;
      const pass = { environmentId, invoiceId: invoice.id, version: customer.portalVersion };
      return describeInvoice(invoice, work.now, () => invoiceUrl(publicUrl, encryption, pass));
    }),
    processor: pageProcessor(work, processor),
    paymentToConfirm: await findPaymentToConfirm(work, processor, { customerId: customer.id }),
  };
}

// More do not fit on a page.
const maxTopUps = 12;

/** The portal data with what only its overview shows. */
export async function viewOverview(visitor: Visitor, days: ChartDays): Promise<PortalOverview> {
  const { work, customer } = visitor;
  const view = await viewPortal(visitor);
  const topUps = await listTopUps(visitor);
  const subjects = await listSubjects(work, customer);
  return {
    ...view,
    topUps,
    days,
    ...(await readCredits(work, customer, { subscriptions: view.subscriptions, subjects, days })),
    controls: await readControls(work, customer, { topUps, subjects }),
  };
}

/** The products that give the customer more credits, which something of it must hold. */
export async function listTopUps({ work, customer }: Visitor): Promise<PortalTopUp[]> {
  if (!(await listLivingSubscriptions(work, customer.id)).some(holdsCredits)) return [];
  const prices = await listTopUpPrices(work, customer.pricingModelId, maxTopUps);
  const productIds = [...new Set(prices.map(({ productId }) => productId))];
  const included = await listIncluded(work, productIds, maxIncluded);
  return prices.map(({ productId, product, name, ...price }) => {
    const isOnly = prices.filter((each) => each.productId === productId).length === 1;
    const text = isOnly || name === null ? product : `${product}, ${name}`;
    return { ...price, pricing: null, name: text, included: included.get(productId) ?? [] };
  });
}

function describeInvoice(invoice: InvoiceRow, now: Instant, urlOf: () => string): PortalInvoice[] {
  const { id, invoiceNumber: number, invoiceDate: date, status, total, currency, dueDate } = invoice;
  if (number === null) return [];
  const due = amountDue(invoice);
  const isOverdue = status === 'open' && due > 0n && (dueDate === null || dueDate <= now);
  return [{ id, number, date, status, total, due, currency, url: isOverdue ? urlOf() : null }];
}

async function describe(work: Work, rows: readonly SubscriptionRow[]): Promise<PortalSubscription[]> {
  const at = work.now;
  const items = Map.groupBy(
    await listActiveItems(
      work,
      rows.map((row) => ({ subscriptionId: row.id, at: isWaitingForStart(row) ? row.startDate : at })),
    ),
    (item) => item.subscriptionId,
  );
  const addOns = await findAddOnPrices(
    work,
    [...items.values()].flat().flatMap(({ priceId }) => priceId ?? []),
  );
  const termsOf = await findTerms(work, rows);
  return rows.map((row) => ({
    id: row.id,
    name: row.name ?? 'Subscription',
    status: row.status,
    items: (items.get(row.id) ?? []).flatMap(({ id, manuallyCreated, priceId, name, unitPrice, pricing, quantity }) =>
      manuallyCreated
        ? []
        : [
            {
              id,
              priceId,
              addOn: addOns.has(priceId ?? ''),
              name: name ?? row.name ?? '',
              unitPrice,
              pricing,
              quantity,
            },
          ],
    ),
    intervalUnit: row.intervalUnit,
    intervalCount: row.intervalCount,
    renews: row.renews,
    doNotCharge: row.doNotCharge,
    priceOverrides: row.priceOverrides,
    ...termsOf(row),
    isDefaultPlan: row.isDefaultPlan,
    trialEnd: row.trialEnd,
    startsAt: isWaitingForStart(row) ? row.startDate : null,
    hasNext: rows.some((each) => each.id !== row.id && isWaitingForStart(each) && each.isFreePlan === row.isFreePlan),
    periodEnd: row.currentBillingPeriodEnd,
    nextUsageAt: row.interimAt,
    cancelScheduledAt: row.cancelScheduledAt,
    scheduledAdjustmentAt: row.scheduledAdjustmentAt,
    scheduledByCustomer: row.scheduledByCustomer,
    quantity: quantityOf(items.get(row.id) ?? [], row.priceId),
    seats: [],
  }));
}

// More do not fit on a page; the seller has them all.
const maxHolders = 20;

/** The subscriptions with the holders of their resources, for those whose plan includes any. */
async function withSeats(
  work: Work,
  rows: readonly SubscriptionRow[],
  described: readonly PortalSubscription[],
): Promise<PortalSubscription[]> {
  const seated = new Set(
    described.flatMap(({ id, included }) => (included.some(({ type }) => type === 'resource') ? id : [])),
  );
  const holders = rows.filter(({ id }) => seated.has(id));
  const found = holders.length === 0 ? [] : await listHoldings(work, holders);
  const holdings = found.filter(({ capacity, claimed }) => capacity > 0 || claimed > 0);
  const keyOf = ({ subscriptionId, resourceId }: { readonly subscriptionId: string; readonly resourceId: string }) =>
    `${subscriptionId} ${resourceId}`;
  const claims = Map.groupBy(holdings.length === 0 ? [] : await listOldestClaims(work, holdings, maxHolders), keyOf);
  const seatsOf = Map.groupBy(holdings, ({ subscriptionId }) => subscriptionId);
  return described.map((subscription) => ({
    ...subscription,
    seats: (seatsOf.get(subscription.id) ?? []).map((holding) => {
      const { resourceId, resourceSlug: slug, capacity, claimed } = holding;
      const name = subscription.included.find((feature) => feature.resourceId === resourceId)?.name ?? slug;
      const holders = (claims.get(keyOf(holding)) ?? []).map(({ id, externalId }) => ({ id, externalId }));
      return { slug, name, capacity, claimed, holders };
    }),
  }));
}

function quantityOf(items: readonly { readonly priceId: string | null; readonly quantity: number }[], priceId: string) {
  return items.find((item) => item.priceId === priceId)?.quantity ?? 1;
}

/** The terms of each plan and of its usage, in a number of statements that does not depend on that of the subscriptions. */
async function findTerms(
  work: Work,
  rows: readonly SubscriptionRow[],
): Promise<(row: SubscriptionRow) => PlanTerms & UsageBilling & Pick<PortalSubscription, 'included'>> {
  const priceIds = [...new Set(rows.map((row) => row.priceId))];
  const prices = new Map((await listPricesByIds(work, priceIds)).map((each) => [each.id, each]));
  const billing = [...prices.values()].filter(({ overage }) => overage === 'bill');
  const productIds = [...new Set(billing.flatMap(({ productId }) => productId ?? []))];
  const usage = Map.groupBy(await listUsagePrices(work, productIds, maxUsageTerms), ({ productId }) => productId);
  const ownIds = [...prices.values()].flatMap(({ productId }) => productId ?? []);
  const included = await listIncluded(work, ownIds, maxIncluded);
  const settings = await readSettings(work);
  return ({ priceId, priceOverrides, billingThresholdAmount, doNotCharge }) => {
    const price = prices.get(priceId);
    const isBilled = price?.overage === 'bill' && !doNotCharge;
    const terms = isBilled ? (usage.get(price.productId) ?? []) : [];
    return {
      minimumCommitment: price?.minimumCommitment ?? null,
      billingTiming: price?.billingTiming ?? null,
      usage: terms.map((each) => ({ ...each, ...ownTermsOf(each.priceId, priceOverrides) })),
      included: included.get(price?.productId ?? '') ?? [],
      usageThreshold: (billingThresholdAmount ?? settings.billingThresholdAmount) || null,
    };
  };
}

/** The same as `findOffered`, for a form. No change of the seller comes between the look and the deed. */
export async function requireOffered(
  work: Work,
  customer: CustomerRow,
  id: string,
  may: (subscription: PortalSubscription) => boolean,
): Promise<PortalSubscription> {
  await lockCustomer(work, customer.id);
  return findOffered(work, customer, id, may);
}

/** A subscription of the customer with which it may do this. One of another customer is reported as not found. */
export async function findOffered(
  work: Work,
  customer: CustomerRow,
  id: string,
  may: (subscription: PortalSubscription) => boolean,
): Promise<PortalSubscription> {
  const row = await findSubscription(work, id);
  const [described] = row?.customerId === customer.id ? await describe(work, [row]) : [];
  if (described === undefined) throw new Problem('subscriptionNotFound', { id });
  if (!may(described)) throw new Problem('notOfferedInPortal', { id });
  return described;
}

/**
 * The plans that a subscription could change to: all that are for sale in the customer's pricing model, its own first.
 * So are the add-ons of its interval. A trial gives no others than it has, because nothing is paid for them.
 */
export async function listPlans(
  work: Work,
  customer: CustomerRow,
  {
    items,
    status,
    isDefaultPlan,
    intervalUnit: unit,
    intervalCount: count,
    priceOverrides,
    usageThreshold,
  }: PortalSubscription,
): Promise<PortalPlan[]> {
  const [model] = await loadPricingModelDetails(work, [customer.pricingModelId]);
  const own = new Set(items.map((item) => item.priceId));
  const usageOf = ({ usagePrices }: Pick<Product, 'usagePrices'>): UsageTerms[] =>
    (model?.usageMeters ?? []).flatMap(({ id, name: meterName, prices, defaultPrice }) => {
      const rate = usagePrices.find(({ usageMeterId }) => usageMeterId === id);
      const rest = rate === undefined ? defaultPrice : prices.find((each) => each.id === rate.priceId);
      return [...prices.filter((price) => price.where !== null), rest].flatMap((price) => {
        if (price?.type !== 'usage' || !mayCost(price)) return [];
        const { id: priceId, unitPrice, usageEventsPerUnit, pricing, where, usageInterval } = price;
        const own = ownTermsOf(priceId, priceOverrides);
        const interval = { unit: price.intervalUnit, count: price.intervalCount };
        const ownInterval = usageInterval === 'own' ? interval : null;
        return [{ priceId, meterName, unitPrice, usageEventsPerUnit, pricing, where, ownInterval, ...own }];
      });
    });
  const productIds = (model?.products ?? []).map(({ id }) => id);
  const included = await listIncluded(work, productIds, maxIncluded);
  const plans = (model?.products ?? []).flatMap((product) => {
    const isOffered = ({ id, type, intervalUnit, intervalCount }: Price) =>
      type === 'subscription' &&
      !product.default &&
      (!product.addOn ||
        (intervalUnit === unit && intervalCount === count && !isDefaultPlan && (own.has(id) || status !== 'trialing')));
    const prices = product.prices.filter(isOffered);
    return prices.map(({ id, name, unitPrice, pricing, intervalUnit, intervalCount, overage, ...terms }) => ({
      priceId: id,
      name: name === null || prices.length === 1 ? product.name : `${product.name}, ${name}`,
      description: product.description,
      unitPrice,
      pricing,
      ...ownTermsOf(id, priceOverrides),
      intervalUnit,
      intervalCount,
      minimumCommitment: terms.minimumCommitment,
      billingTiming: terms.billingTiming,
      usage: overage === 'bill' ? usageOf(product).slice(0, maxUsageTerms) : [],
      usageThreshold,
      minimumQuantity: product.minimumQuantity,
      maximumQuantity: product.maximumQuantity,
      included: included.get(product.id) ?? [],
      addOn: product.addOn,
      isOwn: own.has(id),
    }));
  });
  return plans.toSorted((a, b) => Number(b.isOwn) - Number(a.isOwn));
}

/**
 * A link to the customer's portal. It expires by real time: with a frozen test clock it would never expire. Refuses
 * with `customerNotFound`.
 */
export async function createPortalSession(
  work: Work,
  encryption: Encryption,
  externalId: string,
  { returnUrl = null, expiresInSeconds = portalSessionSeconds }: NewPortalSession,
  pricingModelId?: string,
): Promise<PortalSession> {
  const { id: customerId, portalVersion: version } = await requireCustomerByExternalId(
    work,
    externalId,
    pricingModelId,
  );
  const expiresAt = Date.now() + expiresInSeconds * 1000;
  const pass = { environmentId: work.environmentId, customerId, version, expiresAt, returnUrl };
  return { url: portalUrl(work.publicUrl, encryption, pass), expiresAt, returnUrl };
}
