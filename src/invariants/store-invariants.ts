import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { entriesSince, type Since } from './store-invariants-sums.ts';

/** A row that breaks an invariant: its environment, its id, and the contradictory values. */
type Violation = Readonly<Record<string, unknown>>;

/** A statement that is true of the data at any time, after any sequence of operations. */
export interface Invariant {
  readonly name: string;
  /** The invariant as a sentence. */
  readonly sentence: string;
  /** Selects violations over all environments; for entries or events, only among the newer ones. */
  readonly query: RawBuilder<Violation> | ((since: Since) => RawBuilder<Violation>);
}

/** The number of rows that break an invariant, and examples. */
export interface Violations {
  readonly count: number;
  readonly rows: readonly Violation[];
}

// Enough to see a pattern; the count shows the extent.
export const maxRows = 20;

/**
 * Finds the violations of an invariant: their number, and at most 20 rows; after the mark, or (null) everywhere.
 * The worker's connection.
 */
export async function findViolations(worker: Database, { query }: Invariant, since: Since = null): Promise<Violations> {
  const requested = typeof query === 'function' ? query(since) : query;
  const { rows } = await sql<Violation & { violationCount: number }>`
    select violation.*, count(*) over () as violation_count from (${requested}) as violation limit ${maxRows}`.execute(
    worker,
  );
  return { count: rows[0]?.violationCount ?? 0, rows: rows.map(({ violationCount: _, ...row }) => row) };
}

/** A table, the target of one of its columns, and that column. */
type Link = readonly [table: string, target: string, column: string];

/** The rows whose `column` differs from the referenced row. */
function disagreements(column: string, links: readonly Link[], since: Since = null): RawBuilder<Violation> {
  const selects = links.map(
    ([table, target, reference]) => sql<Violation>`
      select a.environment_id, ${sql.lit(table)} as record, a.id::text, a.${sql.ref(column)} as has,
             ${sql.lit(target)} as points_to, b.id as pointed_id, b.${sql.ref(column)} as pointed_has
        from ${table === 'ledger_entries' ? entriesSince(since) : sql.table(table)} a join ${sql.table(target)} b on b.environment_id = a.environment_id and b.id = a.${sql.ref(reference)}
       where a.${sql.ref(column)} is distinct from b.${sql.ref(column)}`,
  );
  return sql<Violation>`${sql.join(selects, sql` union all `)}`;
}

const linksWithinPricingModel: readonly Link[] = [
  ['prices', 'products', 'product_id'],
  ['prices', 'usage_meters', 'usage_meter_id'],
  ['features', 'credit_subjects', 'usage_meter_id'],
  ['features', 'resources', 'resource_id'],
  ['product_features', 'products', 'product_id'],
  ['product_features', 'features', 'feature_id'],
  ['payment_methods', 'customers', 'customer_id'],
  ['subscriptions', 'customers', 'customer_id'],
  ['subscriptions', 'prices', 'price_id'],
  ['subscription_items', 'subscriptions', 'subscription_id'],
  ['subscription_items', 'prices', 'price_id'],
  ['billing_periods', 'subscriptions', 'subscription_id'],
  ['subscription_item_features', 'subscription_items', 'subscription_item_id'],
  ['subscription_item_features', 'features', 'feature_id'],
  ['resource_claims', 'subscriptions', 'subscription_id'],
  ['resource_claims', 'resources', 'resource_id'],
  ['ledger_accounts', 'subscriptions', 'subscription_id'],
  ['ledger_accounts', 'credit_subjects', 'usage_meter_id'],
  ['ledger_accounts', 'customers', 'customer_id'],
  ['ledger_entries', 'ledger_accounts', 'ledger_account_id'],
  ['usage_credits', 'ledger_accounts', 'ledger_account_id'],
  ['usage_credits', 'subscriptions', 'subscription_id'],
  ['spend_limits', 'customers', 'customer_id'],
  ['spend_limits', 'credit_subjects', 'usage_meter_id'],
  ['usage_holds', 'ledger_accounts', 'ledger_account_id'],
  ['usage_holds', 'prices', 'price_id'],
  ['usage_series', 'subscriptions', 'subscription_id'],
  ['usage_series', 'usage_meters', 'usage_meter_id'],
  ['usage_series', 'prices', 'price_id'],
  ['usage_series', 'ledger_accounts', 'ledger_account_id'],
  ['invoices', 'customers', 'customer_id'],
  ['invoices', 'subscriptions', 'subscription_id'],
  ['invoice_line_items', 'invoices', 'invoice_id'],
  ['purchases', 'customers', 'customer_id'],
  ['purchases', 'prices', 'price_id'],
  ['purchases', 'subscriptions', 'subscription_id'],
  ['purchases', 'invoices', 'invoice_id'],
  ['payments', 'invoices', 'invoice_id'],
  ['payments', 'purchases', 'purchase_id'],
  ['payments', 'subscription_adjustments', 'adjustment_id'],
  ['payments', 'customers', 'customer_id'],
  ['refunds', 'payments', 'payment_id'],
  ['refunds', 'credit_notes', 'credit_note_id'],
  ['customer_balances', 'customers', 'customer_id'],
  ['customer_balance_entries', 'customer_balances', 'customer_balance_id'],
  ['credit_notes', 'customers', 'customer_id'],
  ['credit_notes', 'invoices', 'invoice_id'],
  ['credit_notes', 'payments', 'payment_id'],
  ['credit_note_lines', 'credit_notes', 'credit_note_id'],
  ['credit_note_lines', 'invoice_line_items', 'invoice_line_item_id'],
  ['discount_redemptions', 'discounts', 'discount_id'],
  ['discount_redemptions', 'customers', 'customer_id'],
  ['discount_redemptions', 'subscriptions', 'subscription_id'],
  ['discount_redemptions', 'purchases', 'purchase_id'],
  ['subscription_adjustments', 'subscriptions', 'subscription_id'],
  ['subscription_price_overrides', 'subscriptions', 'subscription_id'],
  ['subscription_price_overrides', 'prices', 'price_id'],
  ['subscription_item_versions', 'subscription_items', 'subscription_item_id'],
  ['payment_method_attachments', 'customers', 'customer_id'],
  ['checkout_sessions', 'prices', 'price_id'],
  ['checkout_sessions', 'customers', 'customer_id'],
  ['checkout_sessions', 'subscription_adjustments', 'adjustment_id'],
];

const linksWithinCustomer: readonly Link[] = [
  ['subscriptions', 'subscriptions', 'replaced_by_subscription_id'],
  ['subscriptions', 'payment_methods', 'default_payment_method_id'],
  ['subscriptions', 'payment_methods', 'backup_payment_method_id'],
  ['usage_series', 'subscriptions', 'subscription_id'],
  ['invoices', 'subscriptions', 'subscription_id'],
  ['purchases', 'subscriptions', 'subscription_id'],
  ['purchases', 'invoices', 'invoice_id'],
  ['discount_redemptions', 'subscriptions', 'subscription_id'],
  ['discount_redemptions', 'purchases', 'purchase_id'],
  ['customer_balance_entries', 'customer_balances', 'customer_balance_id'],
  ['customer_balance_entries', 'invoices', 'invoice_id'],
  ['credit_notes', 'invoices', 'invoice_id'],
  ['credit_notes', 'payments', 'payment_id'],
  ['payments', 'invoices', 'invoice_id'],
  ['payments', 'purchases', 'purchase_id'],
  ['payments', 'subscriptions', 'subscription_id'],
  ['payments', 'payment_methods', 'payment_method_id'],
  ['checkout_sessions', 'subscriptions', 'target_subscription_id'],
  ['checkout_sessions', 'payment_methods', 'payment_method_id'],
];

const linksWithinSubscription: readonly Link[] = [
  ['subscription_item_features', 'subscription_items', 'subscription_item_id'],
  ['usage_series', 'billing_periods', 'billing_period_id'],
  ['usage_series', 'ledger_accounts', 'ledger_account_id'],
  ['invoices', 'billing_periods', 'billing_period_id'],
  ['payments', 'invoices', 'invoice_id'],
  ['payments', 'subscription_adjustments', 'adjustment_id'],
  ['subscription_item_versions', 'subscription_items', 'subscription_item_id'],
  ['subscription_adjustments', 'invoices', 'invoice_id'],
];

/** Related records belong to the same owner. */
export const ownershipInvariants: readonly Invariant[] = [
  {
    name: 'pricingModelsAgree',
    sentence: 'A record belongs to the same pricing model as the records it references.',
    query: (since) => disagreements('pricing_model_id', linksWithinPricingModel, since),
  },
  {
    name: 'customersAgree',
    sentence: 'A record belongs to the same customer as the records it references.',
    query: disagreements('customer_id', linksWithinCustomer),
  },
  {
    name: 'subscriptionsAgree',
    sentence: 'A record belongs to the same subscription as the records it references.',
    query: disagreements('subscription_id', linksWithinSubscription),
  },
];

/** Required records of a pricing model, so that a customer can start and usage has a price. */
export const pricingInvariants: readonly Invariant[] = [
  {
    name: 'oneDefaultPricingModel',
    sentence: 'An environment has at most one default pricing model.',
    query: sql`
      select environment_id, count(*) as default_pricing_models
        from pricing_models where is_default group by environment_id having count(*) > 1`,
  },
  {
    name: 'oneDefaultProduct',
    sentence: 'A pricing model has exactly one default product, which is active.',
    query: sql`
      select m.environment_id, m.id, count(p.id) as default_products
        from pricing_models m
        left join products p on p.environment_id = m.environment_id and p.pricing_model_id = m.id and p.is_default and p.active
       group by m.environment_id, m.id having count(p.id) <> 1`,
  },
  {
    name: 'oneDefaultPricePerProduct',
    sentence: 'A product has exactly one default price, which is active if any price of the product is.',
    query: sql`
      select p.environment_id, p.id, count(r.id) filter (where r.is_default) as default_prices
        from products p
        left join prices r on r.environment_id = p.environment_id and r.product_id = p.id
       group by p.environment_id, p.id
      having count(r.id) filter (where r.is_default) <> 1
          or (coalesce(bool_or(r.active), false) and not coalesce(bool_or(r.active) filter (where r.is_default), false))`,
  },
  {
    name: 'oneDefaultPricePerUsageMeter',
    sentence: 'A usage meter has exactly one default price, which is active.',
    query: sql`
      select m.environment_id, m.id, count(d.id) as default_prices, count(d.id) filter (where d.active) as active_default_prices
        from usage_meters m
        left join prices d on d.environment_id = m.environment_id and d.usage_meter_id = m.id and d.is_default
       group by m.environment_id, m.id having count(d.id) <> 1 or count(d.id) filter (where d.active) <> 1`,
  },
];

/** Invariants of subscriptions' times, statuses and claims. */
export const subscriptionInvariants: readonly Invariant[] = [
  {
    name: 'billingPeriodsTile',
    sentence:
      'A billing period starts when the previous one ends, or later after a pause, unless one of the two was canceled.',
    query: sql`
      select environment_id, id, subscription_id, previous_end_at, start_at
        from (select environment_id, id, subscription_id, status, start_at,
                     lag(end_at) over subscription as previous_end_at, lag(status) over subscription as previous_status,
                     lag(whole_end_at is not null) over subscription as after_pause
                from billing_periods
              window subscription as (partition by environment_id, subscription_id order by start_at)) period
       where status <> 'canceled' and previous_status <> 'canceled' and start_at <> previous_end_at
         and not (after_pause and start_at > previous_end_at)`,
  },
  {
    name: 'currentBillingPeriodExists',
    sentence: 'The current billing period of a subscription is one of its billing periods and is not canceled.',
    query: sql`
      select s.environment_id, s.id, s.status, s.current_billing_period_start, s.current_billing_period_end
        from subscriptions s
       where s.status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled')
         and s.current_billing_period_start < s.current_billing_period_end
         and not exists (
           select from billing_periods p
            where p.environment_id = s.environment_id and p.subscription_id = s.id and p.status <> 'canceled'
              and p.start_at = s.current_billing_period_start and p.end_at = s.current_billing_period_end)`,
  },
  {
    name: 'canceledAtTellsCanceled',
    sentence: 'A subscription has canceledAt if and only if it is canceled.',
    query: sql`
      select environment_id, id, status, canceled_at
        from subscriptions where (status = 'canceled') <> (canceled_at is not null)`,
  },
  {
    name: 'scheduledCancelHasDate',
    sentence: 'A running subscription has a cancellation date if and only if its cancellation is scheduled.',
    query: sql`
      select environment_id, id, status, cancel_scheduled_at
        from subscriptions
       where status <> 'canceled' and (status = 'cancellation_scheduled') <> (cancel_scheduled_at is not null)`,
  },
  {
    name: 'replacedSubscriptionIsCanceled',
    sentence: 'A replaced subscription is canceled.',
    query: sql`
      select environment_id, id, status, replaced_by_subscription_id
        from subscriptions where replaced_by_subscription_id is not null and status <> 'canceled'`,
  },
  {
    name: 'activeClaimsHaveOneHolder',
    sentence: 'An external id holds at most one active claim on a resource of a subscription.',
    query: sql`
      select environment_id, subscription_id, resource_id, external_id, count(*) as active_claims
        from resource_claims where released_at is null and external_id is not null
       group by environment_id, subscription_id, resource_id, external_id having count(*) > 1`,
  },
  {
    name: 'endedSubscriptionHoldsNoClaims',
    sentence: 'An ended subscription holds no claims.',
    query: sql`
      select c.environment_id, c.id, c.subscription_id, s.status
        from resource_claims c
        join subscriptions s on s.environment_id = c.environment_id and s.id = c.subscription_id
       where c.released_at is null and s.status in ('canceled', 'incomplete_expired')`,
  },
];
