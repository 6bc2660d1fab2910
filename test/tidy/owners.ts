/**
 * Who writes SQL about a table. A table has one owner; a store further right may read it, nobody else may write it.
 * Every `create table` in migrations/ stands here, and nothing else.
 */

import type { Place } from './layout.ts';

export type Owners = Readonly<Record<string, Place>>;

export const owners: Owners = {
  one_row: 'database',

  // Every slice needs these before it knows a domain word: stored answers and keys.
  idempotency_keys: 'http',
  events: 'customers',
  encryption_keys: 'jobs',

  organizations: 'organizations',
  cell: 'organizations',
  cells: 'organizations',
  slots: 'organizations',
  slots_here: 'organizations',
  slots_moving: 'organizations',
  slots_arriving: 'organizations',
  environments: 'organizations',
  api_keys: 'organizations',

  people_users: 'people',
  people_sessions: 'people',
  people_accounts: 'people',
  people_verifications: 'people',
  people_two_factors: 'people',
  people_passkeys: 'people',
  people_rate_limits: 'people',
  people_memberships: 'people',
  people_invitations: 'people',
  people_sign_in_providers: 'people',
  people_provider_subjects: 'people',

  audit_log: 'audit',

  pricing_models: 'pricing',
  usage_meters: 'pricing',
  credit_pools: 'pricing',
  credit_pool_rates: 'pricing',
  credit_subjects: 'pricing',
  resources: 'pricing',
  products: 'pricing',
  prices: 'pricing',
  features: 'pricing',
  product_features: 'pricing',
  discounts: 'pricing',

  customers: 'customers',
  customer_balances: 'customers',
  number_series: 'customers',
  customer_balance_entries: 'customers',

  subscriptions: 'subscriptions',
  subscription_items: 'subscriptions',
  billing_periods: 'subscriptions',
  subscription_item_versions: 'subscriptions',
  subscription_adjustments: 'subscriptions',
  subscription_price_overrides: 'subscriptions',

  spend_limits: 'spend-controls',
  spend_counters: 'spend-controls',

  pool_draws: 'credit-pools',

  ledger_accounts: 'usage',
  ledger_transactions: 'usage',
  ledger_entries: 'usage',
  usage_credits: 'usage',
  usage_charges: 'usage',
  usage_levels: 'usage',
  usage_measures: 'usage',
  usage_overages: 'usage',
  usage_threshold_checks: 'usage',
  usage_holds: 'usage',

  subscription_item_features: 'entitlements',
  resource_claims: 'entitlements',

  usage_series: 'usage',
  usage_events: 'usage',
  usage_partitions: 'usage',
  // The first partition of usage_events.
  usage_events_0: 'usage',
  usage_archive_sums: 'usage',
  usage_rollups: 'usage',
  usage_hours: 'usage',
  usage_months: 'usage',
  usage_event_distinct_properties: 'usage',

  invoices: 'invoicing',
  invoice_line_items: 'invoicing',
  discount_redemptions: 'invoicing',
  slots_allowances: 'invoicing',
  invoice_discounts: 'invoicing',
  tax_rates: 'invoicing',
  invoice_items: 'invoicing',

  mrr_customers: 'analytics',
  mrr_amounts: 'analytics',
  mrr_movements: 'analytics',
  mrr_balances: 'analytics',
  mrr_retention: 'analytics',
  money_days: 'analytics',

  purchases: 'purchases',
  purchase_add_ons: 'purchases',
  auto_top_ups: 'purchases',
  auto_top_up_purchases: 'purchases',
  auto_top_up_checks: 'purchases',

  payment_methods: 'payments',
  payments: 'payments',
  refunds: 'payments',
  payment_method_attachments: 'payments',
  processor_customers: 'payments',
  processor_events: 'payments',
  test_processor_operations: 'payments',

  credit_notes: 'credit-notes',
  credit_note_lines: 'credit-notes',

  checkout_sessions: 'checkout',
  checkout_session_add_ons: 'checkout',
  attempt_counts: 'payments',

  // What the checks of everything keep.
  check_runs: 'invariants',
  check_marks: 'invariants',
  check_account_sums: 'invariants',
  check_price_sums: 'invariants',
  check_credit_sums: 'invariants',
  check_series_sums: 'invariants',

  webhooks: 'webhooks',
  webhook_deliveries: 'webhooks',
  webhook_attempts: 'webhooks',
  emails: 'mail',
};
