import { sql } from 'kysely';
import { type IdKind, idPrefixes } from '../kernel/id.ts';
import { permissions } from '../kernel/permission.ts';
import { terminalStatuses } from '../subscriptions/subscription.ts';
import type { Invariant } from './store-invariants.ts';
import { entriesSince, eventsSince, type Since } from './store-invariants-sums.ts';

/** Whether the invoice `i` is a consolidated one, whose lines and discounts are those of its parts. */
export const isWhole = sql`(i.type = 'standalone' and i.reason = 'renewal')`;

/** The kind of record in each table, which determines its ids. */
const kinds: Readonly<Record<string, IdKind>> = {
  organizations: 'organization',
  api_keys: 'apiKey',
  pricing_models: 'pricingModel',
  products: 'product',
  prices: 'price',
  features: 'feature',
  product_features: 'productFeature',
  usage_meters: 'usageMeter',
  credit_pools: 'creditPool',
  credit_pool_rates: 'creditPoolRate',
  resources: 'resource',
  customers: 'customer',
  subscriptions: 'subscription',
  subscription_items: 'subscriptionItem',
  subscription_item_features: 'subscriptionItemFeature',
  subscription_item_versions: 'subscriptionItemVersion',
  subscription_adjustments: 'subscriptionAdjustment',
  subscription_price_overrides: 'subscriptionPriceOverride',
  billing_periods: 'billingPeriod',
  resource_claims: 'resourceClaim',
  usage_holds: 'usageHold',
  spend_limits: 'spendLimit',
  usage_credits: 'usageCredit',
  ledger_accounts: 'ledgerAccount',
  ledger_entries: 'ledgerEntry',
  invoices: 'invoice',
  invoice_line_items: 'invoiceLineItem',
  payments: 'payment',
  payment_methods: 'paymentMethod',
  refunds: 'refund',
  purchases: 'purchase',
  discounts: 'discount',
  discount_redemptions: 'discountRedemption',
  tax_rates: 'taxRate',
  checkout_sessions: 'checkoutSession',
  webhooks: 'webhook',
  events: 'event',
};

/** The pattern of an id with this prefix. */
function wellFormed(prefix: string): string {
  return `^${prefix}_[0-9A-Za-z]{21}$`;
}

/** A table and its malformed ids; usage events are stored without their prefix. */
function malformed(table: string, prefix: string, since: Since) {
  const rows = table === 'ledger_entries' ? entriesSince(since) : sql.table(table);
  const environment = table === 'organizations' ? sql`null::bigint` : sql`r.environment_id`;
  return sql`
    select ${environment} as environment_id, ${sql.lit(table)} as record, r.id from ${rows} r
     where r.id !~ ${sql.lit(wellFormed(prefix))}`;
}

/** The tables with the usual timestamps, of which updated_at is never the earlier one. */
const stamped = Object.keys(kinds).filter(
  (table) => !['events', 'ledger_entries', 'subscription_item_versions'].includes(table),
);

/** Invariants of single records, and of records that reference each other without a foreign key. */
export const recordInvariants: readonly Invariant[] = [
  {
    name: 'idsSayTheirKind',
    sentence: 'An id is the prefix of its kind followed by 21 letters and digits.',
    query: (since) => sql`
      ${sql.join(
        Object.entries(kinds).map(([table, kind]) => malformed(table, idPrefixes[kind], since)),
        sql` union all `,
      )}
      union all
      select r.environment_id, 'usage_events', r.id from ${eventsSince(since)} r where r.id !~ '^[0-9A-Za-z]{21}$'`,
  },
  {
    name: 'recordsChangeAfterTheyAreMade',
    sentence: 'The update time of a record is never before its creation time.',
    query: sql.join(
      stamped.map(
        (table) => sql`
      select ${table === 'organizations' ? sql`null::bigint` : sql`r.environment_id`} as environment_id,
             ${sql.lit(table)} as record, r.id, r.created_at, r.updated_at
        from ${sql.table(table)} r
       where r.updated_at < r.created_at`,
      ),
      sql` union all `,
    ),
  },
  {
    name: 'pricingModelsExist',
    // Most tables copy it from their parent record, and have no foreign key of their own.
    sentence: 'A record belongs to an existing pricing model.',
    query: (since) =>
      sql.join(
        [
          'api_keys',
          'events',
          'subscriptions',
          'subscription_items',
          'billing_periods',
          'resource_claims',
          'ledger_accounts',
          'ledger_entries',
          'ledger_transactions',
          'usage_credits',
          'usage_holds',
          'spend_limits',
          'usage_series',
          'invoices',
          'invoice_line_items',
          'payments',
          'payment_methods',
          'refunds',
          'purchases',
          'discount_redemptions',
          'webhook_deliveries',
        ].map(
          (table) => sql`
      select r.environment_id, ${sql.lit(table)} as record, r.pricing_model_id, r.records
        from (select environment_id, pricing_model_id, count(*) as records
                from ${table === 'ledger_entries' ? entriesSince(since) : sql.table(table)} named group by 1, 2) r
        left join pricing_models m on m.environment_id = r.environment_id and m.id = r.pricing_model_id
       where m.id is null and r.pricing_model_id is not null`,
        ),
        sql` union all `,
      ),
  },
  {
    name: 'keysHaveKnownPermissions',
    sentence: 'An API key has permissions that the service knows, each of them once.',
    query: sql`
      select k.environment_id, k.id, k.permissions
        from api_keys k
       where not k.permissions <@ array[${sql.join(permissions.map((each) => sql.lit(each)))}]
          or cardinality(k.permissions) <> (select count(distinct each) from unnest(k.permissions) each)`,
  },
  {
    name: 'valuesHaveTheKindOfTheirFeature',
    sentence:
      'A value that a product or a subscription gives is a number, a text or a list, as that of its feature is.',
    query: sql`
      select g.environment_id, g.id, g.value, f.id as feature_id, f.value as of_feature
        from (select environment_id, id, feature_id, value from product_features where value is not null
              union all
              select environment_id, id, feature_id, value from subscription_item_features where value is not null) g
        join features f on f.environment_id = g.environment_id and f.id = g.feature_id
       where feature_value_kind(f.value) is distinct from feature_value_kind(g.value)`,
  },
  {
    name: 'topUpsFollowTheirPurchases',
    sentence: 'An open purchase of an automatic top-up awaits its money, and a paid one was paid.',
    query: sql`
      select t.environment_id, t.purchase_id as id, t.status, p.status as purchase_status, p.purchase_date
        from auto_top_up_purchases t
        join purchases p on p.environment_id = t.environment_id and p.id = t.purchase_id
       where (t.status = 'open' and p.status not in ('open', 'pending')) or (t.status = 'paid' and p.purchase_date is null)
          or t.customer_id <> p.customer_id`,
  },
  {
    name: 'paidTopUpsGiveTheirCredits',
    // A unique key allows the credits of a purchase once.
    sentence: 'A paid automatic top-up has granted credits of its usage meter or credit pool.',
    query: sql`
      select t.environment_id, t.purchase_id as id, t.usage_meter_id
        from auto_top_up_purchases t
       where t.status = 'paid'
         and not exists (
           select from usage_credits c
             join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
            where c.environment_id = t.environment_id and c.source = 'purchase'
              and c.source_id > t.purchase_id || ':' and c.source_id < t.purchase_id || ';'
              and a.usage_meter_id = t.usage_meter_id)`,
  },
  {
    name: 'organizationsHaveBothModes',
    sentence: 'An organization has one test mode and one live mode environment.',
    query: sql`
      select null::bigint as environment_id, o.id, count(e.id) as environments
        from organizations o left join environments e on e.organization_id = o.id
       group by o.id having count(*) filter (where e.livemode) <> 1 or count(*) filter (where not e.livemode) <> 1`,
  },
  {
    name: 'purchasesAndSessionsAgree',
    // There is no foreign key in either direction: a session is created first, and its purchase later.
    sentence:
      'A purchase names a checkout session of its customer and price, and a successful selling session names a paid purchase.',
    query: sql`
      select p.environment_id, p.id, p.status, p.checkout_session_id, s.status as session_status, s.purchase_id
        from purchases p
        left join checkout_sessions s on s.environment_id = p.environment_id and s.id = p.checkout_session_id
       where p.checkout_session_id ~ ${sql.lit(wellFormed(idPrefixes.checkoutSession))}
         and (s.id is null or s.pricing_model_id <> p.pricing_model_id or s.customer_id is distinct from p.customer_id
              or (p.status = 'paid' and s.status <> 'succeeded') or s.purchase_id is null)
      union all
      select s.environment_id, s.id, s.status, s.id, s.status, s.purchase_id
        from checkout_sessions s
        left join purchases p on p.environment_id = s.environment_id and p.id = s.purchase_id
       where (s.purchase_id is not null and p.id is null)
          or (s.status = 'succeeded' and s.type in ('product', 'purchase') and p.purchase_date is null
              and s.adjustment_id is null)
          or (s.status = 'pending' and s.type = 'product' and s.purchase_id is null and s.adjustment_id is null)`,
  },
  {
    name: 'addOnsAreSoldBesidePlans',
    sentence:
      'An add-on of a purchase or a checkout session has the price of an add-on of its pricing model, at the interval of the plan.',
    query: sql`
      select a.environment_id, a.id, a.price_id, d.add_on, r.interval_unit, r.interval_count
        from (select p.environment_id, p.id, p.pricing_model_id, p.price_id as plan_price_id, o.price_id, o.pricing_model_id as own_model_id
                from purchase_add_ons o
                join purchases p on p.environment_id = o.environment_id and p.id = o.purchase_id
              union all
              select s.environment_id, s.id, s.pricing_model_id, s.price_id, o.price_id, o.pricing_model_id
                from checkout_session_add_ons o
                join checkout_sessions s on s.environment_id = o.environment_id and s.id = o.checkout_session_id) a
        join prices r on r.environment_id = a.environment_id and r.id = a.price_id
        left join prices plan on plan.environment_id = a.environment_id and plan.id = a.plan_price_id
        left join products d on d.environment_id = r.environment_id and d.id = r.product_id
       where d.add_on is not true or r.pricing_model_id <> a.pricing_model_id or a.own_model_id <> a.pricing_model_id
          or (r.interval_unit, r.interval_count) is distinct from (plan.interval_unit, plan.interval_count)`,
  },
  {
    name: 'adjustmentsAndSessionsAgree',
    sentence:
      'A checkout session that changes a plan changes one of its customer, is pending while the change awaits its payment, and open or closed after it failed.',
    query: sql`
      select s.environment_id, s.id, s.status, s.adjustment_id, a.status as adjustment_status
        from checkout_sessions s
        left join subscription_adjustments a on a.environment_id = s.environment_id and a.id = s.adjustment_id
        left join subscriptions b on b.environment_id = a.environment_id and b.id = a.subscription_id
       where s.adjustment_id is not null
         and (b.customer_id is distinct from s.customer_id
              or (a.status = 'awaiting_payment') <> (s.status = 'pending')
              or (a.status = 'failed' and s.status not in ('open', 'failed')))`,
  },
  {
    name: 'processorCustomersAreApart',
    sentence: 'A customer reference of a processor belongs to one customer of the environment.',
    query: sql`
      select environment_id, processor, reference, count(*) as customers
        from processor_customers group by environment_id, processor, reference having count(*) > 1`,
  },
  {
    name: 'chargesAreOnePayment',
    sentence: 'A charge reference of a processor belongs to one payment of the environment.',
    query: sql`
      select environment_id, processor, processor_reference, count(*) as payments
        from payments where processor_reference is not null and processor <> 'manual'
       group by environment_id, processor, processor_reference having count(*) > 1`,
  },
  {
    name: 'testProcessorAgrees',
    sentence: 'The test processor performed each payment and refund once and in the recorded amount.',
    query: sql`
      select p.environment_id, p.id, p.status, p.amount, o.amount as done
        from payments p left join test_processor_operations o on o.idempotency_key = p.id and o.kind = 'charge'
       where p.processor = 'test' and p.status in ('succeeded', 'refunded') and o.amount is distinct from p.amount
      union all
      select r.environment_id, r.id, r.status, r.amount, o.amount
        from refunds r
        join payments p on p.environment_id = r.environment_id and p.id = r.payment_id
        left join test_processor_operations o on o.idempotency_key = r.id and o.kind = 'refund'
       where p.processor = 'test' and r.status = 'succeeded' and o.amount is distinct from r.amount`,
  },
  {
    name: 'consolidatedInvoicesAreTheirParts',
    sentence:
      'A consolidated invoice is the sum of its parts, which are renewals of several subscriptions of its customer. They have its status, and their amounts add up to its money.',
    query: sql`
      select i.environment_id, i.id, i.total, i.status, i.amount_paid, i.balance_applied, p.parts, p.total as parts_total, p.amount_paid as parts_paid
        from invoices i
       cross join lateral (
         select count(distinct p.subscription_id) as parts, sum(p.total) as total, sum(p.subtotal) as subtotal, sum(p.tax_amount) as tax,
                sum(p.discount_amount) as discount, sum(p.amount_paid) as amount_paid, sum(p.amount_refunded) as refunded,
                sum(p.credited_amount) as credited, sum(p.offset_amount) as offset_amount, sum(p.balance_credited) as balance_credited,
                bool_and(p.status = i.status and p.attempt_count = i.attempt_count and p.customer_id = i.customer_id
                         and p.reason = 'renewal' and p.currency = i.currency) as follow
           from invoices p where p.environment_id = i.environment_id and p.consolidated_into = i.id) p
       where ${isWhole}
         and (p.parts < 2 or not p.follow
              or (i.total, i.subtotal, i.tax_amount, i.discount_amount) <> (p.total, p.subtotal, p.tax, p.discount)
              or (i.amount_paid + i.balance_applied, i.amount_refunded, i.credited_amount, i.offset_amount, i.balance_credited)
                 is distinct from (p.amount_paid, p.refunded, p.credited, p.offset_amount, p.balance_credited))`,
  },
  {
    name: 'partsAreOfConsolidatedInvoices',
    sentence:
      'A part of an invoice is of a consolidated one, and has no number, payment, credit note or attempt of its own.',
    query: sql`
      select p.environment_id, p.id, p.consolidated_into, p.invoice_number, p.next_attempt_at
        from invoices p
       where p.consolidated_into is not null
         and (p.invoice_number is not null or p.next_attempt_at is not null or p.notice_at is not null
              or not exists (select from invoices i where i.environment_id = p.environment_id and i.id = p.consolidated_into and ${isWhole})
              or exists (select from payments y where y.environment_id = p.environment_id and y.invoice_id = p.id)
              or exists (select from credit_notes n where n.environment_id = p.environment_id and n.invoice_id = p.id))`,
  },
  {
    name: 'paymentsAreOfTheirInvoices',
    sentence:
      'A payment has the currency, the purchase and the billing period of its invoice, which is that of the plan change it pays first for.',
    query: sql`
      select p.environment_id, p.id, p.currency, p.purchase_id, p.billing_period_id, i.id as invoice_id,
             i.currency as invoice_currency, i.purchase_id as invoice_purchase_id, i.billing_period_id as invoice_billing_period_id,
             a.invoice_id as change_invoice_id
        from payments p
        join invoices i on i.environment_id = p.environment_id and i.id = p.invoice_id
        left join subscription_adjustments a on a.environment_id = p.environment_id and a.id = p.adjustment_id
       where (p.currency, p.purchase_id, p.billing_period_id) is distinct from (i.currency, i.purchase_id, i.billing_period_id)
          or (a.id is not null and a.invoice_id is distinct from p.invoice_id)`,
  },
  {
    name: 'redemptionsStayWithinDuration',
    sentence: 'A discount redemption has a positive amount and applies as often as its duration allows.',
    query: sql`
      select environment_id, id, duration, number_of_payments, payments_made, amount_type, amount
        from discount_redemptions
       where payments_made < 0 or amount <= 0
          or amount_type not in ('percent', 'fixed')
          or not case duration when 'once' then number_of_payments is null and payments_made <= 1
                               when 'forever' then number_of_payments is null
                               when 'number_of_payments' then payments_made <= number_of_payments
                               else false end`,
  },
  {
    name: 'discountsComeOnce',
    // Instants may be equal while the clock of an environment stands still, so only what is surely earlier counts.
    sentence: 'A customer redeemed a discount after fewer redemptions that were used than it might have.',
    query: sql`
      select r.environment_id, r.id, r.customer_id, r.discount_id, r.uses_allowed, count(*) as earlier_redemptions
        from discount_redemptions r
        join discount_redemptions e on e.environment_id = r.environment_id and e.customer_id = r.customer_id
         and e.discount_id = r.discount_id and e.created_at < r.created_at
        left join subscriptions s on s.environment_id = e.environment_id and s.id = e.subscription_id
       where r.use_of_customer is not null
         and ((coalesce(e.removed_at >= r.created_at, true)
                and s.status not in (${sql.join(terminalStatuses.map((status) => sql.lit(status)))}))
              or exists (
                select from invoices i
                  join invoice_discounts o on o.environment_id = i.environment_id and o.invoice_id = i.id
                 where i.environment_id = e.environment_id and i.customer_id = e.customer_id
                   and o.discount_redemption_id = e.id and i.status <> 'void' and i.created_at < r.created_at))
       group by r.environment_id, r.id, r.customer_id, r.discount_id, r.uses_allowed
      having count(*) >= r.uses_allowed`,
  },
  {
    name: 'discountsKeepTheirMaximum',
    sentence:
      'A discount with a maximum has been redeemed at most that often, and in another cell as often as its slots are allowed.',
    query: sql`
      select d.environment_id, d.id, d.maximum_redemptions as allowed, null as slot, r.redemptions, a.elsewhere
        from discounts d
       cross join lateral (
         select count(*) as redemptions from discount_redemptions r
          where r.environment_id = d.environment_id and r.discount_id = d.id) r
       cross join lateral (
         select coalesce(sum(a.allowed), 0) as elsewhere from slots_allowances a
          where a.environment_id = d.environment_id and a.discount_id = d.id) a
       where d.maximum_redemptions is not null and d.maximum_redemptions < r.redemptions + a.elsewhere
         and (select is_home from cell)
      union all
      select r.environment_id, r.discount_id, a.allowed, r.slot, r.redemptions, null
        from (select environment_id, discount_id, right(customer_id, 2) as slot, count(*) as redemptions
                from discount_redemptions group by 1, 2, 3) r
        join discounts d on d.environment_id = r.environment_id and d.id = r.discount_id and d.is_counted
        left join slots_allowances a
          on a.environment_id = r.environment_id and a.discount_id = r.discount_id and a.slot = r.slot
       where r.redemptions > coalesce(a.allowed, 0) and not (select is_home from cell)`,
  },
  {
    name: 'invoiceHasItsDiscounts',
    sentence:
      'The discount of an invoice is the sum of its discounts, which are counted and stand in an order without a gap.',
    query: sql`
      select i.environment_id, i.id, i.discount_count, i.discount_amount, o.discounts, o.last, o.amount
        from invoices i
        left join (select environment_id, invoice_id, count(*) as discounts, max(position) as last, sum(amount) as amount
                     from invoice_discounts group by environment_id, invoice_id) o
          on o.environment_id = i.environment_id and o.invoice_id = i.id
       where i.discount_count <> coalesce(o.discounts, 0) or i.discount_count <> coalesce(o.last, 0)
          or (i.discount_amount <> coalesce(o.amount, 0) and not ${isWhole})`,
  },
  {
    name: 'discountsAreOfTheirRedeemer',
    sentence: 'An invoice has discounts of its customer only: of its subscription or purchase, or of its own.',
    query: sql`
      select o.environment_id, o.invoice_id, o.discount_redemption_id, i.customer_id, r.customer_id as redeemed_by
        from invoice_discounts o
        join invoices i on i.environment_id = o.environment_id and i.id = o.invoice_id
        join discount_redemptions r on r.environment_id = o.environment_id and r.id = o.discount_redemption_id
       where i.customer_id <> r.customer_id or o.pricing_model_id <> i.pricing_model_id or i.subscription_id is distinct from r.subscription_id
          or i.purchase_id is distinct from r.purchase_id
          or o.of_invoice <> (r.subscription_id is null and r.purchase_id is null)`,
  },
  {
    name: 'discountsAreForProductsOfTheirModel',
    sentence: 'The products that a discount is for are of its pricing model.',
    query: sql`
      select d.environment_id, d.id, product_id
        from discounts d
       cross join lateral unnest(d.product_ids) as product_id
       where not exists (
         select from products p
          where p.environment_id = d.environment_id and p.id = product_id and p.pricing_model_id = d.pricing_model_id)`,
  },
  {
    name: 'ratesAreOfTheirMeters',
    sentence:
      'A product rates the usage of a meter by a price of that meter, without conditions, in its own pricing model.',
    query: sql`
      select p.environment_id, p.id, rate.usage_meter_id, rate.price_id
        from products p
       cross join lateral jsonb_each_text(p.usage_prices) as rate (usage_meter_id, price_id)
        left join prices r on r.environment_id = p.environment_id and r.id = rate.price_id
         and r.usage_meter_id = rate.usage_meter_id and r.pricing_model_id = p.pricing_model_id and r.where is null
       where p.usage_prices <> '{}' and r.id is null`,
  },
  {
    name: 'pricesTellEventsApart',
    sentence: 'No event meets the conditions of two active prices of a usage meter, with as many conditions.',
    query: sql`
      select p.environment_id, p.id, other.id as other_id, p.where, other.where as other_where
        from prices p
        join prices other on other.environment_id = p.environment_id and other.usage_meter_id = p.usage_meter_id and other.id > p.id
         and other.active and other.where is not null
       where p.active and p.where is not null and conditions_tie(p.where, other.where)`,
  },
  {
    name: 'customersAreInTheirCell',
    sentence: 'A customer is in the cell that has its slot.',
    query: sql`
      select c.environment_id, 'customers' as record, c.id
        from customers c, cell
       where case when cell.is_home then exists (select from slots s where s.code = right(c.id, 2))
               else not exists (select from slots_here s where s.code = right(c.id, 2)) end`,
  },
  {
    name: 'guardsAreInForce',
    sentence: 'The triggers and row-level security that protect the data exist and are enabled.',
    query: sql`
      select null::bigint as environment_id, t.tgrelid::regclass::text as record, t.tgname as name, t.tgenabled::text as state
        from pg_trigger t
       where not t.tgisinternal and (select c.relnamespace from pg_class c where c.oid = t.tgrelid) = current_schema()::regnamespace and t.tgenabled not in ('O', 'A')
      union all
      select null, wanted.record, wanted.name, 'missing'
        from (values ('events', 'events_addressed'), ('usage_events', 'usage_events_series'),
                     ('subscriptions', 'subscriptions_end_for_good'), ('invoices', 'invoices_end_for_good'),
                     ('invoices', 'invoices_shared'), ('invoices', 'invoices_consolidated'),
                     ('payments', 'payments_end_for_good'), ('payments', 'payments_refunds_only_grow'),
                     ('refunds', 'refunds_end_for_good'), ('purchases', 'purchases_end_for_good'),
                     ('checkout_sessions', 'checkout_sessions_end_for_good'), ('usage_holds', 'usage_holds_end_for_good'),
                     ('resource_claims', 'resource_claims_end_for_good'), ('webhooks', 'webhooks_wanted_since'),
                     ('customers', 'customers_in_slots'))
             as wanted (record, name)
       where not exists (select from pg_trigger t where t.tgname = wanted.name and t.tgrelid = to_regclass(wanted.record))
      union all
      select null, c.relname, 'row-level security', case when c.relrowsecurity then 'no policy' else 'off' end
        from pg_class c
       where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind in ('r', 'p')
         and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' and not a.attisdropped)
         and not (c.relrowsecurity and exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant'))`,
  },
];
