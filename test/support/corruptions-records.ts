import type { Corruption } from './corruptions-money.ts';
import { idOfAnHourAgo } from './healthy-records.ts';

/** An hour ago, as SQL. */
const longAgo = '(extract(epoch from now()) * 1000)::bigint - 3600000';

const idOfFeature = `(select max(overlay(id placing 'zzzz' from length(id) - 5)) from subscription_item_features)`;
/** A feature that granted credits each 30 days, and has ended. */
const intervalFeature = `
  insert into subscription_item_features
  select (jsonb_populate_record(f, jsonb_build_object('id', ${idOfFeature}, 'type', 'usage_credit_grant', 'amount', 10,
            'renewal_frequency', 'every_interval', 'grant_interval', '{"unit": "day", "count": 30}'::jsonb, 'resource_id', null,
            'usage_meter_id', (select min(id) from usage_meters), 'expired_at', f.created_at))).*
    from subscription_item_features f`;

/** A number of a feature that is a resource, and has ended. */
const valueOfNoFeature = `
  insert into subscription_item_features
  select (jsonb_populate_record(f, jsonb_build_object('id', ${idOfFeature}, 'type', 'value', 'amount', null, 'value', 5,
            'resource_id', null, 'expired_at', f.created_at))).*
    from subscription_item_features f`;

/** Of records by themselves, and of those that name each other. */
export const recordCorruptions: readonly Corruption[] = [
  {
    fault: 'a refund has the id of a payment',
    statements: [`update refunds set id = '${idOfAnHourAgo('payment')}' where status = 'failed'`],
    breaks: ['idsSayTheirKind', 'refundsAreTold'],
  },
  {
    fault: 'a usage event has a prefix in its id',
    statements: [`update usage_events set id = 'usage_event_' || id where amount = 70`],
    breaks: ['idsSayTheirKind'],
  },
  {
    fault: 'a key was changed before it was made',
    statements: [
      'update api_keys set updated_at = created_at - 1 where environment_id = (select id from environments where livemode)',
    ],
    breaks: ['recordsChangeAfterTheyAreMade'],
  },
  {
    fault: 'a key has a permission that there is not',
    statements: [`update api_keys set permissions = '{payroll:money}' where name = 'Live key'`],
    breaks: ['keysHaveKnownPermissions'],
  },
  {
    fault: 'a key has a permission twice',
    statements: [`update api_keys set permissions = '{read,read}' where name = 'Live key'`],
    breaks: ['keysHaveKnownPermissions'],
  },
  {
    fault: 'a top-up waits for a purchase that has ended',
    statements: [
      `insert into auto_top_up_purchases
       select p.environment_id, p.id, p.customer_id, p.pricing_model_id, 'usage_meter', 0, 0, 'open', p.created_at, p.created_at
         from purchases p where p.status not in ('open', 'pending') limit 1`,
    ],
    breaks: ['topUpsFollowTheirPurchases'],
  },
  {
    fault: 'a paid top-up has given no credits',
    statements: [
      `insert into auto_top_up_purchases
       select p.environment_id, p.id, p.customer_id, p.pricing_model_id, 'usage_meter', 0, 0, 'paid', p.created_at, p.created_at
         from purchases p where p.purchase_date is not null limit 1`,
    ],
    breaks: ['paidTopUpsGiveTheirCredits'],
  },
  {
    fault: 'a subscription has a value of a feature that has none',
    statements: [valueOfNoFeature],
    breaks: ['valuesHaveTheKindOfTheirFeature'],
  },
  {
    fault: 'a plan rates usage by a price that is of no meter',
    statements: [
      'alter table products disable trigger products_usage_prices_of_meters',
      `update products set usage_prices = jsonb_build_object('usage_meter_gone', (select min(id) from prices))`,
      'alter table products enable trigger products_usage_prices_of_meters',
    ],
    breaks: ['ratesAreOfTheirMeters'],
  },
  {
    fault: 'two prices of a usage meter rate the same events',
    statements: [
      'alter table prices disable trigger prices_kept_apart_inserted',
      `insert into prices select twin.*
         from prices p cross join (values ('A', 'C'), ('B', 'D')) as t (letter, other),
              jsonb_populate_record(p, jsonb_build_object('slug', null, 'is_default', false,
                'id', overlay(p.id placing case substr(p.id, length(p.id) - 5, 1) when letter then other else letter end
                        from length(p.id) - 5 for 1),
                'where', '{"model": ["gone"]}'::jsonb)) twin
        where p.id = (select min(id) from prices where type = 'usage')`,
      'alter table prices enable trigger prices_kept_apart_inserted',
    ],
    breaks: ['pricesTellEventsApart'],
  },
  {
    fault: 'usage events are at a price for other events',
    statements: [
      'alter table prices drop constraint prices_where',
      `update prices set "where" = '{"model": ["gone"]}' where slug = 'call-overage'`,
    ],
    breaks: ['eventsMatchTheirPrice'],
  },
  {
    fault: 'a ledger transaction is of a pricing model that is gone',
    statements: [`update ledger_transactions set pricing_model_id = 'gone'`],
    breaks: ['pricingModelsExist'],
  },
  {
    fault: 'an organization has lost its live mode',
    statements: ['delete from environments where livemode'],
    breaks: ['organizationsHaveBothModes'],
  },
  {
    fault: 'a purchase names a session of somebody else',
    statements: ['update checkout_sessions set customer_id = null'],
    breaks: ['purchasesAndSessionsAgree'],
  },
  {
    fault: 'a session sold something, and its purchase is gone',
    statements: ['delete from purchases'],
    breaks: ['purchasesAndSessionsAgree'],
  },
  {
    fault: 'a session was paid for, and is open',
    statements: [`update checkout_sessions set status = 'open'`, `update purchases set status = 'paid'`],
    breaks: ['purchaseTellsItsInvoice', 'purchasesAndSessionsAgree'],
  },
  {
    fault: 'a purchase has a plan as its own add-on',
    statements: [
      `insert into purchase_add_ons (environment_id, purchase_id, price_id, pricing_model_id, position, quantity)
        select environment_id, id, price_id, pricing_model_id, 0, 1 from purchases limit 1`,
    ],
    breaks: ['addOnsAreSoldBesidePlans'],
  },
  {
    fault: 'a session waits for a change that was made long ago',
    statements: [
      `update checkout_sessions set status = 'pending',
        adjustment_id = (select id from subscription_adjustments where status <> 'awaiting_payment' limit 1)`,
    ],
    breaks: ['adjustmentsAndSessionsAgree'],
  },
  {
    fault: 'a link has reached its limit of declined cards, and nobody was told',
    statements: [
      `insert into attempt_counts
        select environment_id, 'payment link ' || id, 'payment', 'link', 10, 10, 0, 0, 0, 0 from customers limit 1`,
    ],
    breaks: ['reachedLimitsAreTold'],
  },
  {
    fault: 'two customers are one at the processor',
    statements: [
      `insert into processor_customers select environment_id, 'cust_other', processor, reference, created_at from processor_customers`,
    ],
    breaks: ['processorCustomersAreApart'],
  },
  {
    fault: 'two payments are one charge',
    statements: [`update payments set processor_reference = 'ch_1'`],
    breaks: ['chargesAreOnePayment'],
  },
  {
    fault: 'a payment succeeded that its processor knows nothing of',
    statements: [`delete from test_processor_operations where kind = 'charge'`],
    breaks: ['testProcessorAgrees'],
  },
  {
    fault: 'the processor gave back more than was asked for',
    statements: [`update test_processor_operations set amount = amount + 1 where kind = 'refund'`],
    breaks: ['testProcessorAgrees'],
  },
  {
    fault: 'a payment is in another currency than its invoice',
    statements: [`update payments set currency = 'EUR' where status = 'failed'`],
    breaks: ['paymentsAreOfTheirInvoices', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a payment is of a change that has another invoice',
    statements: [
      `update payments set adjustment_id = (select id from subscription_adjustments) where status = 'failed'`,
    ],
    breaks: ['paymentsAreOfTheirInvoices'],
  },
  {
    fault: 'a discount for two invoices took something off a third',
    statements: [
      `update discount_redemptions set duration = 'number_of_payments', number_of_payments = 2, payments_made = 3`,
    ],
    breaks: ['redemptionCountsPaidInvoices', 'redemptionsStayWithinDuration'],
  },
  {
    fault: 'a customer used a discount twice that comes once',
    statements: [
      `insert into discount_redemptions (environment_id, id, pricing_model_id, discount_id, customer_id, purchase_id, use_of_customer, uses_allowed,
         name, code, amount_type, amount, duration, created_at, updated_at)
         select environment_id, overlay(id placing 'Z' from length('discount_redemption_') + 1), pricing_model_id, discount_id, customer_id,
                (select min(id) from purchases), 1, 1, name, code, amount_type, amount, duration, created_at + 1, updated_at + 1
           from discount_redemptions`,
    ],
    breaks: ['discountsComeOnce'],
  },
  {
    fault: 'a discount for one redemption was redeemed twice',
    statements: [
      `insert into discount_redemptions (environment_id, id, pricing_model_id, discount_id, customer_id, purchase_id,
         name, code, amount_type, amount, duration, created_at, updated_at)
         select environment_id, overlay(id placing 'Z' from length('discount_redemption_') + 1), pricing_model_id, discount_id, customer_id,
                (select min(id) from purchases), name, code, amount_type, amount, duration, created_at, updated_at
           from discount_redemptions`,
      'alter table discounts disable trigger user',
      'update discounts set maximum_redemptions = 1, is_counted = true',
      'alter table discounts enable trigger user',
    ],
    breaks: ['discountsKeepTheirMaximum'],
  },
  {
    fault: 'a discount is for a product that is not there',
    statements: [`update discounts set product_ids = array['product_gone']`],
    breaks: ['discountsAreForProductsOfTheirModel'],
  },
  ...[
    ['events no longer find their webhooks', 'alter table events disable trigger events_addressed'],
    ['what is canceled may live again', 'drop trigger subscriptions_end_for_good on subscriptions'],
    ['everybody sees everybody', 'alter table invoices disable row level security'],
    ['nobody says who sees what', 'drop policy tenant on customers'],
  ].map(([fault = '', statement = '']) => ({ fault, statements: [statement], breaks: ['guardsAreInForce'] })),
];

/** A second customer, whose erasure is complete. */
const erased = `
  insert into customers (environment_id, id, pricing_model_id, external_id, email, name, archived, invoice_number_base, erased_at,
         erasure_completed_at, erased_external_id_mac, created_at, updated_at)
  select environment_id, 'cust_' || repeat('1', 21), pricing_model_id, 'cust_' || repeat('1', 21), '', 'Erased customer', true, '1',
         0, 0, '', 0, 0 from customers`;

/** Of the terms of subscriptions, and what they hold. */
export const termCorruptions: readonly Corruption[] = [
  {
    fault: 'the next plan is booked, and the plan before it has no end',
    statements: [
      'alter table subscriptions drop constraint subscriptions_one_at_a_time',
      `insert into subscriptions select (jsonb_populate_record(s, jsonb_build_object(
         'id', overlay(id placing 'Z' from length('sub_') + 1), 'exclusive', true, 'start_date', s.current_billing_period_end,
         'current_billing_period_start', s.current_billing_period_end))).*
         from subscriptions s where status = 'active'`,
      'update subscriptions set exclusive = true',
    ],
    breaks: ['subscriptionsDoNotOverlap'],
  },
  {
    fault: 'Bob holds a second seat of one',
    statements: [
      `insert into resource_claims select (jsonb_populate_record(c, jsonb_build_object(
         'id', overlay(id placing 'Z' from length('res_claim_') + 1), 'external_id', 'bob'))).*
         from resource_claims c where released_at is null`,
    ],
    breaks: ['claimsAreWithinCapacity'],
  },
  {
    fault: 'a seat is held that no feature grants',
    statements: [
      'update subscription_item_features set expired_at = (select min(claimed_at) - 60001 from resource_claims)',
    ],
    breaks: ['claimsAreWithinCapacity'],
  },
  {
    fault: 'a period that awaits its payment has granted its credits',
    statements: [
      `update billing_periods set credits_await_payment = true where status = 'active'`,
      `update usage_credits set source = 'billing_period_transition',
              source_id = (select id from billing_periods where status = 'active') || ':feature' where issued = 10`,
    ],
    breaks: ['noGrantsWhileUnpaid', 'paidPeriodsGrantTheirCredits'],
  },
  {
    fault: 'a period that nobody owes anything for keeps its credits waiting',
    statements: [`update billing_periods set credits_await_payment = true where status = 'active'`],
    breaks: ['paidPeriodsGrantTheirCredits'],
  },
  {
    fault: 'a trial has another end, and its credits have the old one',
    statements: [
      `update usage_credits c
          set source = 'billing_period_transition', source_id = p.id || ':calls', billing_period_id = p.id, expires_at = p.end_at - 1
         from billing_periods p where p.status = 'active' and c.issued = 10`,
    ],
    breaks: ['planCreditsEndWithTheirPeriod'],
  },
  {
    fault: 'credits of thirty days end a day before them',
    statements: [
      intervalFeature,
      `update usage_credits c
          set source = 'billing_period_transition', billing_period_id = p.id, interval_start_at = p.start_at,
              expires_at = p.end_at - 86400000, source_id = p.id || ':' || ${idOfFeature} || ':1'
         from billing_periods p where p.status = 'active' and c.issued = 10`,
    ],
    breaks: ['intervalCreditsEndWithTheirInterval'],
  },
  {
    fault: 'the credits of thirty days were granted again within them',
    statements: [
      intervalFeature,
      `update usage_credits c
          set source = 'billing_period_transition', billing_period_id = p.id, interval_start_at = p.start_at + (c.issued = 20)::integer,
              expires_at = p.end_at, source_id = p.id || ':' || ${idOfFeature} || ':' || c.issued
         from billing_periods p where p.status = 'active' and c.issued in (20, 100)`,
    ],
    breaks: ['intervalsAreGrantedOnce'],
  },
  {
    fault: 'a subscription has ended, and a change of its plan waits',
    statements: [
      `update subscription_adjustments set status = 'scheduled', effective_at = effective_at + 86400000,
              subscription_id = (select id from subscriptions where status = 'canceled')`,
    ],
    breaks: ['endedSubscriptionIsAtRest', 'scheduledChangeIsTold'],
  },
  {
    fault: 'a subscription has ended, and its next period is to come',
    statements: [
      `update billing_periods set subscription_id = (select id from subscriptions where status = 'canceled')
        where status = 'upcoming'`,
    ],
    breaks: ['endedSubscriptionIsAtRest'],
  },
  {
    fault: 'a trial is in a period that is none',
    statements: [
      `update subscriptions set status = 'trialing', trial_end = current_billing_period_end, notice_at = current_billing_period_end where status = 'active'`,
    ],
    breaks: ['trialIsATrialPeriod', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'the periods of a subscription have left its anchor',
    statements: ['update subscriptions set billing_cycle_anchor_date = billing_cycle_anchor_date + 1 where renews'],
    breaks: ['periodsEndOnTheirAnchor'],
  },
  {
    fault: 'a subscription by the calendar is counted from another day',
    statements: [
      `update subscriptions set billing_anchor = '"calendar"', billing_cycle_anchor_date = billing_cycle_anchor_date + 1 where renews`,
    ],
    breaks: ['calendarAnchorsLieInTheCalendar'],
  },
  {
    fault: 'a period of a month ends a day after the month',
    statements: [`update subscriptions set interval_unit = 'month', interval_count = 1 where renews`],
    breaks: ['periodsEndOnTheirAnchor', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'a change is scheduled that its subscription does not tell',
    statements: [`update subscription_adjustments set status = 'scheduled', effective_at = effective_at + 86400000`],
    breaks: ['scheduledChangeIsTold'],
  },
  {
    fault: 'a change waits for an invoice that was paid',
    statements: [
      `update subscription_adjustments set status = 'awaiting_payment', invoice_id = (select id from invoices where total = 0)`,
    ],
    breaks: ['changeWaitsForOwedMoney'],
  },
  {
    fault: 'a change waits for a first payment that nobody makes',
    statements: [
      `update subscription_adjustments set status = 'awaiting_payment', invoice_id = null, bill = '{"lines": []}'`,
    ],
    breaks: ['changeWaitsForOwedMoney'],
  },
  {
    fault: 'a change to another interval has been made, and no period began with it',
    statements: [`update subscription_adjustments set billing_anchor = 'now', effective_at = effective_at + 1`],
    breaks: ['intervalChangeBeginsItsPeriod'],
  },
  {
    fault: 'a billing anchor has moved, and its period ends later',
    statements: [
      `update subscription_adjustments a set billing_cycle_anchor_date = p.end_at - 1, effective_at = p.start_at, invoice_id = null
         from billing_periods p where p.subscription_id = a.subscription_id and p.status = 'active'`,
    ],
    breaks: ['intervalChangeBeginsItsPeriod'],
  },
  {
    fault: 'a period carries on the discount of no interval',
    statements: [
      `update billing_periods set discount_start_at = start_at - 1, discount_end_at = end_at where status = 'active'`,
    ],
    breaks: ['carriedDiscountIsOfItsInterval'],
  },
  {
    fault: 'two quantities of an item hold at a time',
    statements: ['update subscription_item_versions set end_at = end_at + 1'],
    breaks: ['itemVersionsDoNotOverlap'],
  },
  {
    fault: 'a customer was archived with a subscription',
    statements: ['update customers set archived = true'],
    breaks: ['archivedCustomerHasNothing'],
  },
  {
    fault: 'an erased customer has a payment method',
    statements: [
      erased,
      `insert into payment_methods (environment_id, id, pricing_model_id, customer_id, type, is_default, billing_details,
              payment_method_data, processor, processor_token, detached_at, created_at, updated_at)
       select environment_id, 'pm_' || repeat('1', 21), pricing_model_id, id, 'card', false, '{"name": "Ada"}', '{}', 'test', '', 0, 0, 0
         from customers where erased_at is not null`,
    ],
    breaks: ['erasedCustomersLeaveNothing'],
  },
  {
    fault: 'the audit log tells the name of an erased customer',
    statements: [
      erased,
      `insert into audit_log (environment_id, id, occurred_at, actor_type, record, record_id, operation, after)
       select environment_id, 'audit_1', 0, 'operator', 'customer', id, 'insert', '{"name": "Ada"}'
         from customers where erased_at is not null`,
    ],
    breaks: ['erasedCustomersLeaveNothing'],
  },
  {
    fault: 'an event tells of a customer as it was before the erasure',
    statements: [
      erased,
      `insert into events (environment_id, id, pricing_model_id, type, object, object_id, occurred_at, created_at, payload)
       select environment_id, 'event_' || repeat('0', 21), pricing_model_id, 'customer.created', 'customer', id, 0, 0,
              jsonb_build_object('id', id, 'object', 'customer', 'type', 'customer.created', 'occurredAt', 0,
                'eventId', 'event_' || repeat('0', 21), 'customer', '{"externalId": "ada"}'::jsonb)
         from customers where erased_at is not null`,
    ],
    breaks: ['erasedCustomersLeaveNothing'],
  },
  {
    fault: 'one card stands twice with a customer',
    statements: [
      `insert into payment_methods (environment_id, id, pricing_model_id, customer_id, type, is_default, billing_details,
              payment_method_data, processor, processor_token, created_at, updated_at)
       select environment_id, 'pm_' || repeat(n::text, 21), pricing_model_id, id, 'card', false, '{}', '{}', 'stripe', 'pm_1', 0, 0
         from customers, generate_series(1, 2) n`,
    ],
    breaks: ['paymentMethodsAreApart'],
  },
];

/** Of events and their deliveries. */
export const toldCorruptions: readonly Corruption[] = [
  {
    fault: 'the delivery of an event is gone',
    statements: ['delete from webhook_attempts', 'delete from webhook_deliveries'],
    breaks: ['eventsHaveTheirDeliveries'],
  },
  {
    fault: 'an email is of another kind than its event',
    statements: [`update emails set template = 'receipt'`],
    breaks: ['emailsAreOfTheirEvents'],
  },
  {
    fault: 'a queued email has lost its job',
    statements: [`delete from _private_jobs where key like 'email:%'`],
    breaks: ['queuedEmailsHaveAJob'],
  },
  {
    fault: 'an event was written past its trigger',
    statements: [
      `insert into events select environment_id, 'event_' || id_time(${longAgo} + 1800000) || '0000000000000', pricing_model_id, type,
              object, object_id, payload || jsonb_build_object('eventId', 'event_' || id_time(${longAgo} + 1800000) || '0000000000000'),
              occurred_at, created_at from events where type = 'subscription.created'`,
    ],
    breaks: ['eventsHaveTheirDeliveries'],
  },
  {
    fault: 'a delivery names another object than its event',
    statements: [`update webhook_deliveries set object_id = 'sub_other'`],
    breaks: ['deliveriesAreOfTheirEvents'],
  },
  {
    fault: 'a delivery was forgotten by its attempts',
    statements: ['update webhook_deliveries set attempts = 1'],
    breaks: ['deliveriesTellTheirAttempts'],
  },
  {
    fault: 'a delivery succeeded and waits for an attempt',
    statements: [
      'alter table webhook_deliveries drop constraint webhook_deliveries_pending_has_time',
      'update webhook_deliveries set next_attempt_at = 9000000000000',
    ],
    breaks: ['deliveriesTellTheirAttempts'],
  },
  {
    fault: 'an event is about a subscription that is gone',
    statements: [
      `update events set object_id = 'sub_gone', payload = payload || '{"id": "sub_gone"}' where object = 'subscription'`,
      `update webhook_deliveries set object_id = 'sub_gone'`,
    ],
    breaks: ['eventsTellOfRecords'],
  },
  {
    fault: 'nobody was told that an invoice is paid',
    statements: [`delete from events where type = 'invoice.paid'`],
    breaks: ['invoicesAreTold'],
  },
  {
    fault: 'nobody was told of a refund',
    statements: [`delete from events where type = 'refund.created' and cause = (select max(id) from refunds)`],
    breaks: ['refundsAreTold'],
  },
  {
    fault: 'an open invoice is overdue, and its date is gone without an event',
    statements: ['update invoices set due_date = invoice_date + 1, notice_at = null'],
    breaks: ['noticesWereTold'],
  },
  {
    fault: 'the body of an event tells of another instant',
    statements: ['update events set occurred_at = occurred_at + 1'],
    breaks: ['eventsSayWhatTheyAre'],
  },
  {
    fault: 'a cell has customers of slots that it does not have',
    statements: ['update cell set is_home = false', 'delete from slots_here'],
    breaks: ['customersAreInTheirCell'],
  },
];
