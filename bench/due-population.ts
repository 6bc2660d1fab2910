/** The first periods of a population: those of all begin and end within `spreadMs`, one after another. */
export interface Schedule {
  readonly start: number;
  readonly end: number;
  readonly spreadMs: number;
}

/** The start of the population's first period, and its end. */
export const monthStart = Date.UTC(2027, 0, 1);
export const nextMonth = Date.UTC(2027, 1, 1);
/** All are due at once. */
export const atOnce: Schedule = { start: monthStart, end: nextMonth, spreadMs: 0 };
/** Each is due at an instant of its own. April has 30 days, so all have the same time of the month. */
export const spreadOver = (spreadMs: number): Schedule => {
  return { start: Date.UTC(2027, 3, 1), end: Date.UTC(2027, 4, 1), spreadMs };
};

/** Usage at 0.50 per 100. */
export const plainUsage = { unitPrice: 50, usageEventsPerUnit: 100 };
/** Usage in three tiers, of which 250 units reach the last. */
export const tieredUsage = {
  pricing: {
    model: 'graduated',
    tiers: [
      { upTo: 100, unitAmount: '0' },
      { upTo: 200, unitAmount: '1' },
      { upTo: null, unitAmount: '0.5' },
    ],
  },
};

/** A plan of two items, 10.00 and 5.00 a month, and a meter. */
export const duePlan = (usagePrice: object) => ({
  name: 'Renewals',
  isDefault: true,
  features: [],
  products: ['base', 'extra'].map((slug, index) => ({
    product: { name: slug, slug, active: true },
    price: {
      type: 'subscription',
      slug: `${slug}-monthly`,
      name: slug,
      intervalUnit: 'month',
      intervalCount: 1,
      unitPrice: index === 0 ? 1000 : 500,
      isDefault: true,
    },
    features: [],
  })),
  usageMeters: [
    {
      usageMeter: { name: 'Calls', slug: 'calls' },
      prices: [
        {
          type: 'usage',
          slug: 'calls-overage',
          intervalUnit: 'month',
          intervalCount: 1,
          ...usagePrice,
          isDefault: true,
        },
      ],
    },
  ],
});

/**
 * SQL that creates customers in the environment of `duePlan`. Each has a card of the test processor, a monthly
 * subscription of two items, and 250 units of uncovered usage. The subscription began with its first period and has paid
 * for it. Writes directly to the tables as their owner.
 */
export function duePopulation(size: number, { start, end, spreadMs }: Schedule = atOnce): string {
  return `
    create temporary table plan as
      select m.environment_id, m.id as model, base.id as base, extra.id as extra, meter.id as meter, overage.id as overage
        from pricing_models m
        join prices base on base.pricing_model_id = m.id and base.slug = 'base-monthly'
        join prices extra on extra.pricing_model_id = m.id and extra.slug = 'extra-monthly'
        join usage_meters meter on meter.pricing_model_id = m.id and meter.slug = 'calls'
        join prices overage on overage.pricing_model_id = m.id and overage.slug = 'calls-overage'
       where m.name = 'Renewals';
    create temporary table numbers as
      select n, lpad(n::text, 21, '0') as id, ${start} + n.late as begun, ${end} + n.late as until
        from (select n, (n - 1) * ${spreadMs}::bigint / ${size} as late from generate_series(1, ${size}) n) n;
    insert into customers (environment_id, id, pricing_model_id, external_id, email, name, invoice_number_base,
           created_at, updated_at)
    select environment_id, 'cust_' || n.id, model, 'customer-' || n, n || '@bench.test', 'Customer ' || n, 'B' || n, n.begun, n.begun
      from plan, numbers n;
    insert into number_series (environment_id, stem, counted) select environment_id, 'B' || n || '-', 1 from plan, numbers n;
    insert into payment_methods (environment_id, id, pricing_model_id, customer_id, type, is_default, billing_details,
           payment_method_data, processor, processor_token, created_at, updated_at)
    select environment_id, 'pm_' || n.id, model, 'cust_' || n.id, 'card', true, '{"name": null, "email": null}',
           '{"brand": "visa", "last4": "4242"}', 'test', 'pm_card_visa', n.begun, n.begun from plan, numbers n;
    insert into subscriptions (environment_id, id, pricing_model_id, customer_id, price_id, name, status, renews, is_free_plan,
           is_default_plan, do_not_charge, run_billing_at_period_start, exclusive, start_date, interval_unit, interval_count,
           billing_cycle_anchor_date, current_billing_period_start, current_billing_period_end, default_payment_method_id,
           created_at, updated_at)
    select environment_id, 'sub_' || n.id, model, 'cust_' || n.id, base, 'Base', 'active', true, false, false, false, true, true,
           n.begun, 'month', 1, n.begun, n.begun, n.until, 'pm_' || n.id, n.begun, n.begun
      from plan, numbers n;
    insert into subscription_items (environment_id, id, pricing_model_id, subscription_id, price_id, name, unit_price, quantity,
           added_date, effective_from, created_at, updated_at)
    select environment_id, 'si_' || item.kind || n.id, model, 'sub_' || n.id, case item.kind when 'b' then base else extra end,
           item.name, item.price, 1, n.begun, n.begun, n.begun, n.begun
      from plan, numbers n, (values ('b', 'base', 1000), ('e', 'extra', 500)) as item (kind, name, price);
    insert into billing_periods (environment_id, id, pricing_model_id, subscription_id, start_at, end_at, status, trial_period,
           created_at, updated_at)
    select environment_id, 'billing_period_' || n.id, model, 'sub_' || n.id, n.begun, n.until, 'active', false,
           n.begun, n.begun from plan, numbers n;
    insert into invoices (environment_id, id, pricing_model_id, customer_id, subscription_id, billing_period_id, type, reason,
           status, invoice_number, invoice_date, due_date, billing_period_start_date, billing_period_end_date, currency,
           subtotal, total, amount_paid, created_at, updated_at)
    select environment_id, 'inv_' || n.id, model, 'cust_' || n.id, 'sub_' || n.id, 'billing_period_' || n.id, 'subscription',
           'subscription_start', 'paid', 'B' || n || '-00001', n.begun, n.begun, n.begun, n.until, 'USD',
           1500, 1500, 1500, n.begun, n.begun from plan, numbers n;
    insert into invoice_line_items (environment_id, id, pricing_model_id, invoice_id, type, quantity, price, amount, price_id,
           subscription_item_id, description, explanation, created_at, updated_at)
    select environment_id, 'inv_li_' || item.kind || n.id, model, 'inv_' || n.id, 'static', 1, item.price, item.price,
           case item.kind when 'b' then base else extra end, 'si_' || item.kind || n.id, item.name,
           json_build_object('kind', 'item', 'unitPrice', item.price, 'quantity', 1, 'period', null, 'whole', null),
           n.begun, n.begun
      from plan, numbers n, (values ('b', 'base', 1000), ('e', 'extra', 500)) as item (kind, name, price);
    insert into payments (environment_id, id, pricing_model_id, customer_id, invoice_id, subscription_id, billing_period_id,
           payment_method_id, payment_method, processor, processor_token, processor_reference, amount, subtotal, currency,
           status, charge_date, settlement_date, description, created_at, updated_at)
    select environment_id, 'pym_' || n.id, model, 'cust_' || n.id, 'inv_' || n.id, 'sub_' || n.id, 'billing_period_' || n.id,
           'pm_' || n.id, 'card', 'test', 'pm_card_visa', 'january_' || n, 1500, 1500, 'USD', 'succeeded', n.begun,
           n.begun, 'Invoice B' || n || '-00001', n.begun, n.begun from plan, numbers n;
    insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_id, subscription_revision,
           usage_meter_id, used, created_at, updated_at)
    select environment_id, 'la_' || n.id, model, 'sub_' || n.id, 0, meter, 250, n.begun, n.begun from plan, numbers n;
    insert into usage_overages (environment_id, ledger_account_id, price_id, uncovered)
    select environment_id, 'la_' || n.id, overage, 250 from plan, numbers n;
    drop table plan, numbers`;
}
