/** What a fault, a hand-written update or a bad restore could leave behind, and the invariants that tell of it. */
export interface Corruption {
  readonly fault: string;
  readonly statements: readonly string[];
  readonly breaks: readonly string[];
}

/** The 50 calls of the invoice, billed at half a cent each less `billedBefore`. */
function halfCentCalls(billedBefore: number): string[] {
  const pricing = { model: 'per_unit', unitAmount: '0.5' };
  const explanation = { kind: 'priced_usage', pricing, periodStart: 1, units: 50, unitsSoFar: 50, billedBefore };
  return [
    `update prices set unit_price = 0, usage_events_per_unit = 1, pricing = '${JSON.stringify(pricing)}' where slug = 'call-overage'`,
    `update invoice_line_items set explanation = '${JSON.stringify(explanation)}' where type = 'usage'`,
  ];
}

/** The 50 calls of the invoice, billed for 25, as `units` that were measured in their period. */
function measuredCalls(units: number, known: number): string[] {
  const terms = { unitPrice: 50, usageEventsPerUnit: 100, pricing: null };
  const explanation = { kind: 'measured_usage', ...terms, periodStart: 1, units, per: 1, billedBefore: 0 };
  return [
    `update invoice_line_items set ledger_account_credit = 0, explanation = '${JSON.stringify(explanation)}' where type = 'usage'`,
    chargeOf(known),
    'update usage_charges set per = 1',
  ];
}

/** The line of a plan, billed at 35.00 for each seat: one seat for a whole period, of which half is to be billed. */
function seatOf(explanation: object): string[] {
  const pricing = { model: 'per_unit', unitAmount: '3500' };
  const told = { kind: 'priced_item', pricing, quantity: 1, value: 3500, period: null, whole: null, ...explanation };
  return [
    `update prices set unit_price = 0, pricing = '${JSON.stringify(pricing)}'
      where id = (select price_id from invoice_line_items where type = 'static')`,
    `update invoice_line_items set explanation = '${JSON.stringify(told)}' where type = 'static'`,
  ];
}

function segmentOf(value: number, itemValue: number): string {
  const items = `jsonb_build_array(jsonb_build_object('priceId', price_id, 'unitPrice', 0, 'quantity', 1, 'value', ${itemValue}))`;
  return `update invoice_line_items set explanation = jsonb_build_object('kind', 'proration', 'segments',
    jsonb_build_array(jsonb_build_object('start', 0, 'end', 2, 'value', ${value}, 'items', ${items}))) where type = 'static'`;
}

/** Terms in force for a price that the condition selects. */
function ownPrice(condition: string, column: 'unit_price' | 'pricing', value: string): string {
  return `insert into subscription_price_overrides (environment_id, id, pricing_model_id, subscription_id, price_id, ${column},
      start_at, created_at, updated_at)
    select i.environment_id, 'sub_price_000000000000000000000', i.pricing_model_id, i.subscription_id, p.id, ${value}, 1, 1, 1
      from subscription_items i join prices p on p.environment_id = i.environment_id
     where i.price_id is not null and i.expired_at is null and ${condition} limit 1`;
}

function chargeOf(amount: number): string {
  return `insert into usage_charges (environment_id, ledger_account_id, price_id, period_start, units, released, amount)
    select environment_id, ledger_account_id, price_id, 1, 50, 0, ${amount} from invoice_line_items where type = 'usage'`;
}

/** Of invoices, payments and refunds. */
export const moneyCorruptions: readonly Corruption[] = [
  {
    fault: 'a number was taken for an invoice that is not there',
    statements: [`update number_series set counted = 3 where stem = 'ACME-'`],
    breaks: ['numberSeriesHaveNoGap'],
  },
  ...['ACME-00003', 'ACME-00001-', 'ACME-00000'].map((number) => ({
    fault: `the second invoice is numbered ${number}`,
    statements: [`update invoices set invoice_number = '${number}' where invoice_number = 'ACME-00002'`],
    breaks: ['numberSeriesHaveNoGap'],
  })),
  {
    fault: 'an invoice that was paid is a draft again',
    statements: [
      'alter table invoices drop constraint invoices_numbered_when_finalized',
      'alter table invoices drop constraint invoices_draft_is_unpaid',
      'alter table invoices drop constraint invoices_draft_ends',
      `update invoices set status = 'draft' where invoice_number = 'ACME-00002'`,
    ],
    breaks: ['draftsMoveNoMoney', 'draftsOfRenewalsWait', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'an item is on an invoice without a line of it',
    statements: [`update invoice_items set invoice_id = (select id from invoices where invoice_number = 'ACME-00001')`],
    breaks: ['itemsAreOnTheirInvoice'],
  },
  {
    fault: 'nobody has redeemed a discount',
    statements: [
      'update discount_redemptions set subscription_id = null, payments_made = 0',
      'delete from invoice_discounts',
      'update invoices set discount_count = 0',
    ],
    breaks: ['redemptionsHaveTheirRedeemer', 'invoiceHasItsDiscounts', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'an invoice has another place and amount of its discount than its lines bear',
    statements: ['update invoice_discounts set position = 2, amount = amount + 1'],
    breaks: ['invoiceHasItsDiscounts'],
  },
  {
    fault: 'an invoice has a discount as if nobody else had redeemed it',
    statements: ['update invoice_discounts set of_invoice = true'],
    breaks: ['discountsAreOfTheirRedeemer'],
  },
  {
    fault: 'a period was billed twice',
    statements: [
      'drop index invoices_one_per_period',
      `update invoices set reason = 'renewal', billing_period_id = (select id from billing_periods where status = 'active')`,
    ],
    breaks: ['periodIsBilledOnce', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a consolidated invoice has no parts',
    statements: [`update invoices set type = 'standalone', reason = 'renewal' where invoice_number = 'ACME-00002'`],
    breaks: ['consolidatedInvoicesAreTheirParts', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a part of an invoice has a number of its own, and a whole that is none',
    statements: [
      'alter table invoices drop constraint invoices_numbered_when_finalized, drop constraint invoices_part_follows',
      `update invoices set consolidated_into = (select id from invoices where invoice_number = 'ACME-00001') where invoice_number = 'ACME-00002'`,
    ],
    breaks: ['partsAreOfConsolidatedInvoices', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a plan that bills no overage billed some',
    statements: [
      `update subscription_adjustments set status = 'canceled'`,
      `update prices set overage = 'none' where type = 'subscription'`,
    ],
    breaks: ['unbilledOverageCostsNothing'],
  },
  {
    fault:
      'a part of a usage period was billed again: 50 calls at half a cent, of which a cent was billed before, for 25',
    statements: [...halfCentCalls(1), chargeOf(25)],
    breaks: ['pricedUsageFollowsPricing'],
  },
  {
    fault: 'a payback leaves out a cent of discount that its amount has in it',
    statements: [
      ...halfCentCalls(0),
      chargeOf(24),
      `update invoice_line_items set explanation = explanation || '{"discountTakenBack": 1}' where type = 'usage'`,
    ],
    breaks: ['pricedUsageFollowsPricing'],
  },
  {
    fault: 'a seat is billed for half of its period at the price of a whole one',
    statements: seatOf({ period: { start: 1, end: 2 }, whole: { start: 0, end: 2 } }),
    breaks: ['pricedItemsFollowPricing'],
  },
  {
    fault: 'two seats are billed at the price of one',
    statements: seatOf({ quantity: 2 }),
    breaks: ['pricedItemsFollowPricing'],
  },
  ...[segmentOf(3500, 3499), segmentOf(3499, 3500)].map((statement) => ({
    fault: 'a change of seats counts a cent less than their price',
    statements: [...seatOf({}), statement],
    breaks: ['pricedItemsFollowPricing'],
  })),
  {
    fault: 'an item has other tiers than its price',
    statements: [
      `update subscription_items set unit_price = 0, pricing = '{"model": "per_unit"}' where price_id is not null`,
    ],
    breaks: ['itemsKeepTheirPricing', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'usage is billed at a unit price that neither its price nor its customer has',
    statements: [
      `update invoice_line_items set explanation = '{"kind": "usage", "unitPrice": 7777}' where type = 'usage'`,
    ],
    breaks: ['usageHasKnownTerms'],
  },
  {
    fault: 'an item has another price than the one that its customer has',
    statements: [ownPrice('p.id = i.price_id', 'unit_price', '1')],
    breaks: ['itemsHaveOwnPrices'],
  },
  {
    fault: 'usage at a unit price has own terms that count events',
    statements: [ownPrice(`p.slug = 'call-overage'`, 'pricing', `'{"model": "dynamic"}'`)],
    breaks: ['overridesFitTheirPrice'],
  },
  {
    fault: 'more is known to be billed for a usage period than its invoices bill',
    statements: [...halfCentCalls(0), chargeOf(26)],
    breaks: ['usageChargesFollowInvoices'],
  },
  {
    fault: 'measured usage is billed 25 for what costs 30',
    statements: measuredCalls(60, 25),
    breaks: ['measuredUsageFollowsPrice'],
  },
  {
    fault: 'more is known to be billed for a measured period than its invoices bill',
    statements: measuredCalls(50, 26),
    breaks: ['measuredUsageIsBilledOnce'],
  },
  {
    fault: 'a setup fee that was billed is left to bill again',
    statements: [
      `update invoice_line_items set explanation = '{"kind": "setup_fee", "unitPrice": 3000}' where type = 'static'`,
      `update subscriptions set setup_fee = 3000 where status = 'active'`,
    ],
    breaks: ['setupFeeIsBilledOnce'],
  },
  {
    fault: 'an invoice at a threshold bills a plan',
    statements: [`update invoices set reason = 'usage_threshold' where reason = 'renewal'`],
    breaks: ['redemptionCountsPaidInvoices', 'thresholdInvoicesBillUsage', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a minimum commitment is billed twice, and above what is missing to it',
    statements: [
      `update prices set minimum_commitment = 5000 where type = 'subscription' and unit_price > 0`,
      `update invoice_line_items set explanation = '{"kind": "minimum_commitment", "segments": [], "period": {"start": 0, "end": 1}, "whole": {"start": 0, "end": 1}, "commitment": 1, "plan": 0, "usage": 0}'
        where type = 'static'`,
    ],
    breaks: ['commitmentsAddUp'],
  },
  {
    fault: 'a plan in arrears is billed above its share of the time, twice and at the start of a period',
    statements: [
      `update invoice_line_items set explanation = '{"kind": "arrears", "segments": [], "period": {"start": 0, "end": 1}, "whole": {"start": 0, "end": 1}, "fairValue": 1}'
        where type = 'static'`,
    ],
    breaks: ['arrearsAddUp'],
  },
  {
    fault: 'a period that is over cost less than its minimum commitment',
    statements: [
      `update prices set minimum_commitment = 1000000000 where type = 'subscription' and unit_price > 0`,
      `update billing_periods set status = 'completed' where status = 'active'`,
      `update billing_periods set status = 'active' where status = 'upcoming'`,
    ],
    breaks: ['commitmentsAreReached'],
  },
  {
    fault: 'a pause kept what nobody paid',
    statements: [`update billing_periods set whole_end_at = end_at + 1, kept_value = 100000 where status = 'active'`],
    breaks: ['keptValueWasReallyPaid'],
  },
  {
    fault: 'a subscription keeps paused time that was refunded',
    statements: [`update subscriptions set paused_credit = 1 where status = 'active'`],
    breaks: ['pausedCreditWasKept'],
  },
  {
    fault: 'a line asks for more than its invoice',
    statements: [`update invoice_line_items set quantity = 2, amount = 7000 where type = 'static'`],
    breaks: ['invoiceSubtotalIsSumOfLines'],
  },
  {
    fault: 'a line bears more of the discount than there is',
    statements: [`update invoice_line_items set discount_amount = discount_amount + 1 where type = 'usage'`],
    breaks: ['invoiceSharesAddUp'],
  },
  {
    fault: 'one line bears what takes another below zero',
    statements: [`update invoice_line_items set discount_amount = case type when 'usage' then 26 else 474 end`],
    breaks: ['invoiceSharesAddUp'],
  },
  {
    fault: 'an invoice has a tax that its total leaves out',
    statements: [
      'alter table invoices drop constraint invoices_total',
      'update invoices set tax_amount = 1 where total = 0',
    ],
    breaks: ['invoiceSharesAddUp', 'invoiceTotalIsSubtotalAndTax', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'more was refunded than paid',
    statements: [
      'alter table invoices drop constraint invoices_money_within_bounds',
      'update invoices set amount_refunded = 3026 where amount_paid = 3025',
    ],
    breaks: ['invoiceMoneyStaysWithinTotal', 'invoiceIsPaidByItsPayments'],
  },
  {
    fault: 'an invoice is open and nothing is due',
    statements: [`update invoices set status = 'open' where total = 3025`],
    breaks: ['invoiceIsPaidWhenNothingIsDue', 'redemptionCountsPaidInvoices', 'purchaseTellsItsInvoice'],
  },
  {
    fault: 'an invoice hides its refund',
    statements: [`update invoices set status = 'paid' where total = 3025`],
    breaks: ['invoiceStatusTellsRefund', 'purchaseTellsItsInvoice'],
  },
  {
    fault: 'an invoice is paid by a payment that is still under way',
    statements: [`update payments set status = 'processing' where status = 'succeeded'`],
    breaks: ['invoiceIsPaidByItsPayments'],
  },
  {
    fault: 'an invoice is charged again after it was paid',
    statements: [
      'drop index payments_one_under_way_per_invoice',
      `update payments set status = 'processing' where status = 'failed'`,
    ],
    breaks: ['invoiceIsNotChargedTwice', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a discount counts an invoice twice',
    statements: ['update discount_redemptions set payments_made = payments_made + 1'],
    breaks: ['redemptionCountsPaidInvoices'],
  },
  {
    fault: 'a purchase forgets that some of it was given back',
    statements: [`update purchases set status = 'paid'`],
    breaks: ['purchaseTellsItsInvoice'],
  },
  {
    fault: 'credits were bought that nobody has paid for',
    statements: [
      `update usage_credits set source = 'purchase', source_id = (select id from purchases) || ':feature_x'` +
        ' where id = (select min(id) from usage_credits)',
      `update purchases set status = 'pending', purchase_date = null, invoice_id = null`,
    ],
    breaks: ['purchaseAwaitsOnePayment', 'purchaseGivesItsCreditsOnce', 'purchasesAndSessionsAgree'],
  },
  {
    fault: 'the first payment of a purchase is of another amount than its invoice will be',
    statements: [
      `update purchases set status = 'pending', purchase_date = null, invoice_id = null, first_invoice_value = 3024`,
      `update payments set status = 'processing', invoice_id = null, purchase_id = (select id from purchases)
        where status = 'failed'`,
    ],
    breaks: ['purchaseAwaitsOnePayment', 'purchasesAndSessionsAgree', 'moneyOfDaysAddsUp'],
  },
  {
    fault: 'a purchase whose first payment was declined keeps a code from its customer',
    statements: [
      `update purchases set status = 'failed', purchase_date = null, invoice_id = null`,
      'update discount_redemptions set subscription_id = null, purchase_id = (select id from purchases)',
    ],
    breaks: [
      'redemptionCountsPaidInvoices',
      'unpaidPurchasesRedeemNothing',
      'purchasesAndSessionsAgree',
      'discountsAreOfTheirRedeemer',
      'recurringRevenueFollowsState',
    ],
  },
  {
    fault: 'a subscription waits for a first payment that nobody has requested',
    statements: [`update subscriptions set status = 'incomplete' where status = 'active'`],
    breaks: ['activationsEnd', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'a payment forgets the tax in it',
    statements: [`update payments set tax_amount = 0 where status = 'failed'`],
    breaks: ['paymentIsSubtotalAndTax'],
  },
  {
    fault: 'a payment counts as refunded and keeps 20.25',
    statements: [
      'alter table payments drop constraint payments_refunded_iff_whole',
      `update payments set status = 'refunded' where status = 'succeeded'`,
    ],
    breaks: ['paymentRefundsStayWithinAmount'],
  },
  {
    fault: 'a failed refund is under way again',
    statements: [`update refunds set status = 'pending' where status = 'failed'`],
    breaks: ['paymentRefundsAreSumsOfRefunds', 'refundsHaveCreditNotes'],
  },
  {
    fault: 'a number was taken for a credit note that is not there',
    statements: [`update number_series set counted = 3 where stem = 'ACME-CN-'`],
    breaks: ['numberSeriesHaveNoGap'],
  },
  {
    fault: 'a credit note gives back a cent more of the discount than its lines',
    statements: ['update credit_notes set discount_amount = discount_amount + 1'],
    breaks: ['creditNotesAreSumsOfLines'],
  },
  {
    fault: 'a line counts less credited than its credit notes took back',
    statements: ['update invoice_line_items set credited_amount = credited_amount - 1 where credited_amount > 0'],
    breaks: ['creditedLinesAreSumsOfCreditNotes'],
  },
  {
    fault: 'a line is credited beyond its amount',
    statements: [
      'alter table invoice_line_items drop constraint invoice_line_items_credited',
      'update credit_note_lines set amount = 2336, discount_amount = 1836 where amount = 582',
      `update credit_notes set discount_amount = 1836 where status = 'issued'`,
      'update invoice_line_items set credited_amount = 3501, credited_discount = 2001 where credited_amount > 0',
    ],
    breaks: ['creditedLinesAreSumsOfCreditNotes'],
  },
  {
    fault: 'an invoice forgets its credit note',
    statements: ['update invoices set credited_amount = 0'],
    breaks: ['creditedInvoicesAreSumsOfCreditNotes'],
  },
  {
    fault: 'a credit note is settled before its refund is back',
    statements: [`update credit_notes set status = 'settled', settled_at = 1`],
    breaks: ['creditNotesFollowTheirMoney'],
  },
  {
    fault: 'a refund of 10.00 has no credit note, while the invoice has 15.25 that none took back',
    statements: [
      `update refunds set credit_note_id = null where status = 'succeeded'`,
      `update credit_notes set settle = 'balance', payment_id = null where status = 'settled'`,
    ],
    breaks: ['refundsHaveCreditNotes', 'creditNotesToBalancesAreBooked'],
  },
  {
    fault: 'a credit note that offsets a paid invoice is not settled',
    statements: [
      `update credit_notes set settle = 'offset', payment_id = null`,
      'update refunds set credit_note_id = null',
    ],
    breaks: ['creditedInvoicesAreSumsOfCreditNotes', 'creditNotesFollowTheirMoney', 'refundsHaveCreditNotes'],
  },
  {
    fault: 'a balance has a cent that no entry gave',
    statements: ['update customer_balances set credited = credited + 1'],
    breaks: ['balancesAreSumsOfEntries'],
  },
  {
    fault: 'an entry gives a balance what no credit note gave',
    statements: [
      `update customer_balance_entries set source = 'credit_note', credit_note_id = (select min(id) from credit_notes)`,
    ],
    breaks: ['creditNotesToBalancesAreBooked'],
  },
  {
    fault: 'an invoice counts a credit to a balance that no credit note made',
    statements: ['update invoices set balance_credited = 1 where credited_amount > 0'],
    breaks: ['creditNotesToBalancesAreBooked'],
  },
  {
    fault: 'an entry gives back what no balance paid of an invoice',
    statements: [
      `update customer_balance_entries set source = 'voided_invoice', invoice_id = (select min(id) from invoices)`,
    ],
    breaks: ['balanceAppliedIsBooked'],
  },
];
