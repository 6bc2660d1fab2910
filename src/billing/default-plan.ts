import type { CustomerRow } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { anchorSettings } from '../organizations/setting.ts';
import { findDefaultProduct } from '../pricing/store-products.ts';
import { billingAnchor } from '../subscriptions/billing-period.ts';
import { findReplacedDefaultPlan, hasUsedTrial } from '../subscriptions/store.ts';
import { decideStart, defaultPlanName } from '../subscriptions/subscription-start.ts';
import { type Opened, type Opening, openSubscription } from './open-subscription.ts';

/**
 * Subscribes the customer to the default product of its pricing model from `startDate`, with an optional `anchor` for
 * its periods. Returns null if the pricing model has none for sale.
 */
export async function startDefaultPlan(
  work: Work,
  customer: CustomerRow,
  startDate: Instant,
  anchor: Instant | null = null,
): Promise<Opened | null> {
  const hadTrial = await hasUsedTrial(work, customer.id);
  const opening = await decideDefaultPlan(work, customer, { startDate, anchor, hadTrial });
  return opening === null ? null : openSubscription(work, opening);
}

interface DefaultStart {
  readonly startDate: Instant;
  readonly anchor: Instant | null;
  readonly hadTrial: boolean;
}

/** The default plan that the customer would get; null if the pricing model has none for sale. */
export async function decideDefaultPlan(
  work: Work,
  customer: CustomerRow,
  { startDate, anchor, hadTrial }: DefaultStart,
): Promise<Opening | null> {
  const plan = await findDefaultProduct(work, customer.pricingModelId);
  if (plan === null || !plan.price.active) return null;
  const { product, price } = plan;
  const terms = {
    price,
    product,
    startDate,
    now: work.now,
    quantity: 1,
    trialEnd: null,
    intervalUnit: null,
    intervalCount: null,
    doNotCharge: false,
    hadTrial,
    givenPaymentMethodId: null,
    storedPaymentMethodId: null,
    hasNetTerms: false,
    anchor,
    anchorSettings: anchorSettings(work),
  };
  return {
    customer,
    product,
    price,
    discount: null,
    startDate,
    start: decideStart(terms),
    quantity: 1,
    name: defaultPlanName(product),
    doNotCharge: false,
    defaultPaymentMethodId: null,
    backupPaymentMethodId: null,
    billingThresholdAmount: null,
    metadata: null,
  };
}

/**
 * Restores the customer's default plan with its earlier periods, because the paid subscription that replaced it was
 * never paid.
 */
export async function restoreDefaultPlan(work: Work, customer: CustomerRow, subscriptionId: string): Promise<void> {
  const replaced = await findReplacedDefaultPlan(work, subscriptionId);
  const anchor = replaced === null || !replaced.renews ? null : billingAnchor(replaced);
  await startDefaultPlan(work, customer, work.now, anchor);
}
