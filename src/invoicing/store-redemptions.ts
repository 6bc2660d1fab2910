import { type RawBuilder, sql } from 'kysely';
import { insertRecords } from '../database/json-records.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { terminalStatuses } from '../subscriptions/subscription.ts';
import type { AppliedDiscount, InvoiceDiscount } from './invoice.ts';
import type { InvoiceRow } from './store.ts';

/** A discount at the time of its redemption by a subscription or purchase. Money in minor units, percentages whole. */
interface NewRedemption {
  readonly id: string;
  readonly pricingModelId: string;
  readonly discountId: string;
  readonly customerId: string;
  /** Its number among those of the customer; null: there is no limit. */
  readonly useOfCustomer: number | null;
  /** The redemptions that the customer may have; null: any number. */
  readonly usesAllowed: number | null;
  /** The products whose lines it is for; null: all. */
  readonly productIds: readonly string[] | null;
  /** A subscription, a purchase or, where both are null, an invoice that names it. */
  readonly subscriptionId: string | null;
  readonly purchaseId: string | null;
  /** Its place among the discounts of a subscription. */
  readonly position: number;
  readonly name: string;
  readonly code: string;
  readonly amountType: 'percent' | 'fixed';
  readonly amount: bigint;
  readonly duration: 'once' | 'forever' | 'number_of_payments';
  readonly numberOfPayments: number | null;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

/** Records the redemption of a discount. */
export async function insertRedemption(work: Work, redemption: NewRedemption): Promise<void> {
  await work.db
    .insertInto('discountRedemptions')
    .values({
      ...redemption,
      productIds: redemption.productIds === null ? null : [...redemption.productIds],
      environmentId: work.environmentId,
    })
    .execute();
}

/** A customer and a discount that it redeems. */
interface CustomerDiscount {
  readonly customerId: string;
  readonly discountId: string;
}

/** The discount that a purchase has redeemed; null: none. */
export async function findRedemptionOfPurchase(work: Work, purchaseId: string): Promise<InvoiceDiscount | null> {
  const { rows } = await sql<FoundDiscount>`
    select ${columns} from discount_redemptions r
     where r.environment_id = ${work.environmentId} and r.purchase_id = ${purchaseId}`.execute(work.db);
  return rows[0] === undefined ? null : toDiscount(rows[0]);
}

/** Makes a redemption of a purchase that of its subscription. */
export async function giveRedemption(work: Work, id: string, subscriptionId: string): Promise<void> {
  await work.db
    .updateTable('discountRedemptions')
    .set({ subscriptionId, purchaseId: null, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** A redemption of a subscription. */
export interface RedemptionRow
  extends Omit<NewRedemption, 'useOfCustomer' | 'usesAllowed' | 'purchaseId' | 'productIds'> {
  readonly subscriptionId: string;
  readonly productIds: string[] | null;
  readonly paymentsMade: number;
  readonly fullyRedeemed: boolean;
  readonly removedAt: Instant | null;
}

/** The discounts that a subscription has, in order: at most as many as it may have. */
export async function listRedemptionsOn(work: Work, subscriptionId: string): Promise<RedemptionRow[]> {
  return work.db
    .selectFrom('discountRedemptions')
    .select([
      'id',
      'createdAt',
      'updatedAt',
      'pricingModelId',
      'subscriptionId',
      'customerId',
      'discountId',
      'name',
      'code',
    ])
    .select(['amount', 'amountType', 'duration', 'numberOfPayments', 'productIds', 'position'])
    .select(['paymentsMade', 'fullyRedeemed', 'removedAt'])
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscriptionId)
    .where('removedAt', 'is', null)
    .orderBy('position')
    .$castTo<RedemptionRow>()
    .execute();
}

/** Takes a redemption off its subscription. */
export async function removeRedemption(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('discountRedemptions')
    .set({ removedAt: work.now, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('removedAt', 'is', null)
    .execute();
}

/** Deletes redemptions that no invoice names any more. */
export async function deleteRedemptions(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await work.db
    .deleteFrom('discountRedemptions')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/** Deletes the redemptions of purchases whose first payment was declined, before any invoice had them. */
export async function deleteRedemptionsOfPurchases(work: Work, purchaseIds: readonly string[]): Promise<void> {
  await work.db
    .deleteFrom('discountRedemptions')
    .where('environmentId', '=', work.environmentId)
    .where('purchaseId', '=', sql<string>`any(${purchaseIds}::text[])`)
    .execute();
}

// A redemption is unused if no valid invoice has it, its subscription has ended or has it no more, and its purchase has its
// invoice. A purchase without one has its first payment in flight.
const isUsed = sql`(
  (r.removed_at is null and exists (select from subscriptions s
           where s.environment_id = r.environment_id and s.id = r.subscription_id and s.status not in (${literals(terminalStatuses)})))
  or (r.purchase_id is not null and not exists (
        select from invoices i where i.environment_id = r.environment_id and i.purchase_id = r.purchase_id))
  or exists (select from invoice_discounts o
              join invoices i on i.environment_id = o.environment_id and i.id = o.invoice_id
             where o.environment_id = r.environment_id and o.discount_redemption_id = r.id and i.status <> 'void'))`;

/**
 * The number of times that the customer has redeemed the discount. An earlier redemption counts unless it ended before
 * any valid invoice with the discount. The caller has locked the customer if it is going to redeem.
 */
export async function countUsesOfCustomer(work: Work, { customerId, discountId }: CustomerDiscount): Promise<number> {
  const { rows } = await sql<{ uses: number }>`
    select count(*) as uses from discount_redemptions r
     where r.environment_id = ${work.environmentId} and r.customer_id = ${customerId} and r.discount_id = ${discountId}
       and ${isUsed}`.execute(work.db);
  return rows[0]?.uses ?? 0;
}

/**
 * The lowest number that no redemption of the customer has. A redemption that ended unused makes room. The unique index refuses
 * the number to a second redemption.
 */
export async function nextUseOfCustomer(work: Work, { customerId, discountId }: CustomerDiscount): Promise<number> {
  const isOf = sql`r.environment_id = ${work.environmentId} and r.customer_id = ${customerId} and r.discount_id = ${discountId}`;
  await sql`
    update discount_redemptions r set use_of_customer = null, updated_at = ${work.now}
     where ${isOf} and r.use_of_customer is not null and not ${isUsed}`.execute(work.db);
  const { rows } = await sql<{ use: number }>`
    select min(free.use) as use
      from (select 1::bigint as use union all select r.use_of_customer + 1 from discount_redemptions r where ${isOf}) free
     where not exists (select from discount_redemptions r where ${isOf} and r.use_of_customer = free.use)`.execute(
    work.db,
  );
  return rows[0]?.use ?? 1;
}

/** Whether the customer has had an invoice to pay, or has the first payment of another purchase with a discount in flight. */
export async function hasBought(work: Work, customerId: string, purchaseId: string | null): Promise<boolean> {
  const { rows } = await sql`
    select from invoices i
     where i.environment_id = ${work.environmentId} and i.customer_id = ${customerId}
       and i.status not in ('draft', 'void') and i.total > 0
     union all
    select from discount_redemptions r
     where r.environment_id = ${work.environmentId} and r.customer_id = ${customerId}
       and r.purchase_id is not null and r.purchase_id is distinct from ${purchaseId}
       and not exists (select from invoices i where i.environment_id = r.environment_id and i.purchase_id = r.purchase_id)
     limit 1`.execute(work.db);
  return rows.length > 0;
}

/** The prices of these products; null: of all. */
export async function listPricesOfProducts(
  work: Work,
  productIds: readonly string[] | null,
): Promise<readonly string[] | null> {
  if (productIds === null) return null;
  const { rows } = await sql<{ id: string }>`
    select id from prices where environment_id = ${work.environmentId} and product_id = any(${productIds}::text[])
     order by id`.execute(work.db);
  return rows.map(({ id }) => id);
}

interface FoundDiscount extends InvoiceDiscount {
  readonly subscriptionId: string;
}

const columns = sql`r.id as redemption_id, r.subscription_id, r.code, r.amount_type as kind, r.amount,
  case when r.product_ids is not null then array(
    select p.id from prices p where p.environment_id = r.environment_id and p.product_id = any(r.product_ids) order by p.id) end as price_ids`;

function toDiscount({ redemptionId, code, kind, amount, priceIds = null }: FoundDiscount): InvoiceDiscount {
  return { redemptionId, code, kind, amount, priceIds };
}

/**
 * The number of uses of redemption `r` by invoices with these statuses. Invoices of a start or a renewal count, and those
 * of a plan change that replaced one. All invoices of one interval are one use, however often a pause or a move of the
 * billing anchor has split it. A month and the rest of a year are two, even if both began at one instant: an interval is
 * its start and its end.
 */
function usesOf(statuses: readonly string[]): RawBuilder<number> {
  return sql`(
    select count(distinct coalesce(coalesce(p.discount_start_at, least(p.whole_start_at, p.start_at)) || ' '
                                     || coalesce(p.discount_end_at, i.billing_period_end_date), i.id))
      from invoice_discounts o
      join invoices i on i.environment_id = o.environment_id and i.id = o.invoice_id and i.subscription_id = r.subscription_id
      left join billing_periods p on p.environment_id = i.environment_id and p.id = i.billing_period_id
     where o.environment_id = r.environment_id and o.discount_redemption_id = r.id and i.status in (${literals(statuses)})
       and (i.reason in ('subscription_start', 'renewal')
            or exists (
              select from subscription_adjustments a
               where a.environment_id = i.environment_id and a.invoice_id = i.id
                 and (a.replaced_invoice_id is not null
                      -- A change to another interval is to begin a period.
                      or (a.billing_anchor is not null and a.status = 'awaiting_payment')))))`;
}

/** In the text of a query, because an invariant has no parameters. */
function literals(statuses: readonly string[]): RawBuilder<unknown> {
  return sql.join(statuses.map((status) => sql.lit(status)));
}

const paidStatuses = ['paid', 'partially_refunded', 'refunded'];

/** The number of uses of redemption `r` by paid invoices of its subscription. */
export const paidUses = usesOf(paidStatuses);

/**
 * The discounts of each subscription's next invoice, in order. Excludes those taken off, used-up ones, and those that will be used up when the
 * drafts and open invoices with them are paid. A discount with `once` applies to one invoice, not to every invoice until one is
 * paid. A void invoice frees its use.
 */
export function listActiveRedemptions(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<Map<string, InvoiceDiscount[]>> {
  const uses = usesOf([...paidStatuses, 'draft', 'open', 'awaiting_payment_confirmation']);
  return listRedemptions(
    work,
    subscriptionIds,
    sql`not r.fully_redeemed and (r.duration = 'forever' or ${uses} < coalesce(r.number_of_payments, 1))`,
  );
}

/** The percentage discounts that lower each subscription for ever, in order. Subscriptions without one are missing. */
export function listLastingPercents(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<Map<string, InvoiceDiscount[]>> {
  return listRedemptions(work, subscriptionIds, sql`r.duration = 'forever' and r.amount_type = 'percent'`);
}

/** The redemptions `r` of each subscription that were not taken off and meet a condition, in order. */
async function listRedemptions(
  work: Work,
  subscriptionIds: readonly string[],
  condition: RawBuilder<unknown>,
): Promise<Map<string, InvoiceDiscount[]>> {
  if (subscriptionIds.length === 0) return new Map();
  const { rows } = await sql<FoundDiscount>`
    select ${columns}
      from discount_redemptions r
     where r.environment_id = ${work.environmentId} and r.subscription_id = any(${subscriptionIds}::text[])
       and r.removed_at is null and ${condition}
     order by r.position, r.id`.execute(work.db);
  return groupedBy(rows, ({ subscriptionId }) => subscriptionId);
}

/** The discounts of each invoice or other record, in the order of the rows and each once. */
function groupedBy<Row extends FoundDiscount>(rows: readonly Row[], keyOf: (row: Row) => string) {
  const onceEach = (found: readonly Row[]) => [...new Map(found.map((row) => [row.redemptionId, row])).values()];
  return new Map([...Map.groupBy(rows, keyOf)].map(([key, found]) => [key, onceEach(found).map(toDiscount)]));
}

/**
 * The percentage discounts on the invoice that each billing period got at its start or renewal, by period id. Periods
 * without one are missing.
 */
export async function listPercentOfPeriods(
  work: Work,
  billingPeriodIds: readonly string[],
): Promise<Map<string, InvoiceDiscount[]>> {
  if (billingPeriodIds.length === 0) return new Map();
  const { rows } = await sql<FoundDiscount & { billingPeriodId: string }>`
    select ${columns}, i.billing_period_id
      from invoices i
      join invoice_discounts o on o.environment_id = i.environment_id and o.invoice_id = i.id
      join discount_redemptions r on r.environment_id = o.environment_id and r.id = o.discount_redemption_id
     where i.environment_id = ${work.environmentId} and i.billing_period_id = any(${billingPeriodIds})
       and i.reason in ('subscription_start', 'renewal') and r.amount_type = 'percent'
     order by r.position, r.id`.execute(work.db);
  return groupedBy(rows, ({ billingPeriodId }) => billingPeriodId);
}

/** The billing periods among these with an invoice of their start or renewal, also one without a discount. */
export async function listBilledPeriods(work: Work, billingPeriodIds: readonly string[]): Promise<Set<string>> {
  if (billingPeriodIds.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    select distinct billing_period_id as id from invoices
     where environment_id = ${work.environmentId} and billing_period_id = any(${billingPeriodIds}::text[])
       and reason in ('subscription_start', 'renewal')`.execute(work.db);
  return new Set(rows.map(({ id }) => id));
}

/** The discounts on the period invoices of these billing periods, by period id. Periods without one are missing. */
export async function listDiscountsOfPeriods(
  work: Work,
  billingPeriodIds: readonly string[],
): Promise<Map<string, InvoiceDiscount[]>> {
  if (billingPeriodIds.length === 0) return new Map();
  const { rows } = await sql<FoundDiscount & { billingPeriodId: string }>`
    select ${columns}, i.billing_period_id
      from invoices i
      join invoice_discounts o on o.environment_id = i.environment_id and o.invoice_id = i.id
      join discount_redemptions r on r.environment_id = o.environment_id and r.id = o.discount_redemption_id
     where i.environment_id = ${work.environmentId} and i.billing_period_id = any(${billingPeriodIds}::text[])
       and i.reason not in ('final_usage', 'usage_threshold') and i.status <> 'void'
     order by r.position, r.id`.execute(work.db);
  return groupedBy(rows, ({ billingPeriodId }) => billingPeriodId);
}

/** The discounts on these invoices, in order and with what each takes off, by invoice id. Invoices without one are missing. */
export async function listDiscountsOfInvoices(
  work: Work,
  invoiceIds: readonly string[],
): Promise<Map<string, AppliedDiscount[]>> {
  if (invoiceIds.length === 0) return new Map();
  const { rows } = await sql<FoundDiscount & { invoiceId: string; takenOff: bigint }>`
    select ${columns}, o.invoice_id, o.amount as taken_off
      from invoice_discounts o
      join discount_redemptions r on r.environment_id = o.environment_id and r.id = o.discount_redemption_id
     where o.environment_id = ${work.environmentId} and o.invoice_id = any(${invoiceIds}::text[])
     order by o.position`.execute(work.db);
  const applied = rows.map(({ invoiceId, takenOff, ...row }) => ({
    invoiceId,
    discount: { ...toDiscount(row), takenOff },
  }));
  return new Map(
    [...Map.groupBy(applied, ({ invoiceId }) => invoiceId)].map(([id, found]) => [
      id,
      found.map((each) => each.discount),
    ]),
  );
}

/** Saves the discounts of new invoices. */
export async function insertInvoiceDiscounts(work: Work, discounted: readonly Discounted[]): Promise<void> {
  const rows = discounted.flatMap(({ invoice, discounts }) =>
    discounts.map(({ redemptionId, takenOff }, index) => ({
      invoiceId: invoice.id,
      position: index + 1,
      pricingModelId: invoice.pricingModelId,
      discountRedemptionId: redemptionId,
      amount: takenOff,
      ofInvoice: invoice.type === 'standalone',
    })),
  );
  if (rows.length === 0) return;
  await insertRecords(
    work,
    'invoiceDiscounts',
    ['invoiceId', 'position', 'pricingModelId', 'discountRedemptionId', 'amount', 'ofInvoice'],
    rows,
  );
}

/** Makes these the discounts of drafts, finalized or not. */
export async function saveInvoiceDiscounts(work: Work, discounted: readonly Discounted[]): Promise<void> {
  await sql`
    delete from invoice_discounts
     where environment_id = ${work.environmentId} and invoice_id = any(${discounted.map(({ invoice }) => invoice.id)}::text[])`.execute(
    work.db,
  );
  await insertInvoiceDiscounts(work, discounted);
}

/** An invoice with its discounts, in order. */
interface Discounted {
  readonly invoice: Pick<InvoiceRow, 'id' | 'type' | 'pricingModelId'>;
  readonly discounts: readonly AppliedDiscount[];
}

/**
 * Recounts the uses of the discounts of these invoices by paid invoices, so that it is idempotent and handles reversed payments. For
 * a single-payment purchase or an invoice of its own, that one invoice counts.
 */
export async function countRedemptions(work: Work, invoiceIds: readonly string[]): Promise<void> {
  if (invoiceIds.length === 0) return;
  await sql`
    update discount_redemptions r
       set payments_made = case when r.subscription_id is null then (
             select count(*) from invoice_discounts o join invoices i on i.environment_id = o.environment_id and i.id = o.invoice_id
              where o.environment_id = r.environment_id and o.discount_redemption_id = r.id
                and i.status in (${sql.join(paidStatuses)})
           ) else ${paidUses} end, updated_at = ${instantOfColumn(work, 'r.customer_id')}
     where r.environment_id = ${work.environmentId}
       and r.id in (select named.discount_redemption_id from invoice_discounts named
                     where named.environment_id = ${work.environmentId} and named.invoice_id = any(${invoiceIds}::text[]))`.execute(
    work.db,
  );
}

/** The number of redemptions of each discount; discounts without any are missing. */
export async function countRedemptionsOfDiscounts(
  work: Work,
  discountIds: readonly string[],
): Promise<Map<string, number>> {
  if (discountIds.length === 0) return new Map();
  const { rows } = await sql<{ discountId: string; redemptions: number }>`
    select discount_id, count(*) as redemptions from discount_redemptions
     where environment_id = ${work.environmentId} and discount_id = any(${discountIds})
     group by discount_id`.execute(work.db);
  return new Map(rows.map((row) => [row.discountId, row.redemptions]));
}
