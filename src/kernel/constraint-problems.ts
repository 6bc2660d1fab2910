import type { Details, ProblemName } from './problem.ts';

/**
 * Database constraints that a caller can violate, and the refusal for each. The unique key closes the race; this table
 * names it. Under row-level security PostgreSQL does not report the conflicting values.
 */
export const problemOfConstraint: Readonly<Record<string, { problem: ProblemName; details: Details }>> = {
  memberships_keep_an_owner: { problem: 'lastOwner', details: {} },
  products_active_slug_unique: { problem: 'slugTaken', details: { slug: 'you sent', record: 'product' } },
  prices_active_slug_unique: { problem: 'slugTaken', details: { slug: 'you sent', record: 'price' } },
  features_active_slug_unique: { problem: 'slugTaken', details: { slug: 'you sent', record: 'feature' } },
  resources_active_slug_unique: { problem: 'slugTaken', details: { slug: 'you sent', record: 'resource' } },
  usage_meters_slug_unique: { problem: 'slugTaken', details: { slug: 'you sent', record: 'usage meter' } },
  pricing_models_one_default: { problem: 'conflictingRow', details: { constraint: 'pricing_models_one_default' } },
  products_one_default: { problem: 'conflictingRow', details: { constraint: 'products_one_default' } },
  prices_one_default_per_product: {
    problem: 'conflictingRow',
    details: { constraint: 'prices_one_default_per_product' },
  },
  prices_one_default_per_usage_meter: {
    problem: 'conflictingRow',
    details: { constraint: 'prices_one_default_per_usage_meter' },
  },
  prices_conditions_apart: { problem: 'conflictingRow', details: { constraint: 'prices_conditions_apart' } },
  product_features_pair_unique: { problem: 'conflictingRow', details: { constraint: 'product_features_pair_unique' } },
  prices_currency_of_environment: {
    problem: 'conflictingRow',
    details: { constraint: 'prices_currency_of_environment' },
  },
  discounts_code_unique: { problem: 'discountCodeTaken', details: { code: 'you sent' } },
  discounts_maximum_redemptions: { problem: 'discountMaximumTooLow', details: {} },
  discount_redemptions_maximum: {
    problem: 'discountNotApplicable',
    details: { code: 'you sent', reason: 'has been redeemed as often as it may be' },
  },
  discount_redemptions_once_at_a_time: {
    problem: 'discountNotApplicable',
    details: { code: 'you sent', reason: 'is on this subscription already' },
  },
  discount_redemptions_ordered: { problem: 'conflictingRow', details: { constraint: 'discount_redemptions_ordered' } },
  discount_redemptions_one_per_customer: { problem: 'discountAlreadyUsed', details: { code: 'you sent' } },
  tax_rates_one_active: { problem: 'taxRateExists', details: {} },
  customers_external_id_unique: { problem: 'externalIdTaken', details: { externalId: 'you sent' } },
  subscription_item_features_pair_unique: { problem: 'itemFeatureExists', details: {} },
  subscription_adjustments_one_pending: {
    problem: 'conflictingRow',
    details: { constraint: 'subscription_adjustments_one_pending' },
  },
  subscriptions_one_at_a_time: { problem: 'currentSubscriptionExists', details: {} },
  payments_one_under_way_per_invoice: { problem: 'invoiceAlreadyBeingPaid', details: {} },
  purchases_one_plan_awaited: { problem: 'currentSubscriptionExists', details: {} },
  purchases_one_per_session: { problem: 'conflictingRow', details: { constraint: 'purchases_one_per_session' } },
  invoices_one_per_period: { problem: 'periodAlreadyInvoiced', details: {} },
  subscriptions_one_trial_per_customer: {
    problem: 'conflictingRow',
    details: { constraint: 'subscriptions_one_trial_per_customer' },
  },
};
