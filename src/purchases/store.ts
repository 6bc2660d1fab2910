import assert from 'node:assert/strict';
import { type Selectable, sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import type { Purchases } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { boughtStatuses, type PurchaseRow, type PurchaseStatus } from './purchase.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'priceId',
  'priceType',
  'quantity',
  'subscriptionId',
  'invoiceId',
  'checkoutSessionId',
  'name',
  'status',
  'trialPeriodDays',
  'pricePerBillingCycle',
  'intervalUnit',
  'intervalCount',
  'billingCycleAnchor',
  'billingAnchor',
  'firstPeriod',
  'firstInvoiceValue',
  'totalPurchaseValue',
  'purchaseDate',
  'billingAddress',
  'metadata',
  'subscriptionName',
  'exclusive',
  'taxInclusive',
] as const;

type StoredPurchase = Pick<Selectable<Purchases>, (typeof columns)[number]>;

/** The purchases with their add-ons, in one more statement if any of them may have some. */
async function toRows(work: Work, rows: readonly StoredPurchase[]): Promise<PurchaseRow[]> {
  const plans = rows.flatMap(({ id, priceType }) => (priceType === 'subscription' ? id : []));
  const addOns = Map.groupBy(plans.length === 0 ? [] : await listAddOns(work, plans), (row) => row.purchaseId);
  return rows.map((row) => {
    const own = (addOns.get(row.id) ?? []).map(({ priceId, quantity }) => ({ priceId, quantity }));
    // Table constraints limit the statuses and types, and only parsed addresses, anchors and metadata are written.
    return { ...row, addOns: own } as unknown as PurchaseRow;
  });
}

async function toRow(work: Work, row: StoredPurchase | undefined): Promise<PurchaseRow | null> {
  const [purchase] = row === undefined ? [] : await toRows(work, [row]);
  return purchase ?? null;
}

function listAddOns(work: Work, purchaseIds: readonly string[]) {
  return work.db
    .selectFrom('purchaseAddOns')
    .select(['purchaseId', 'priceId', 'quantity'])
    .where('environmentId', '=', work.environmentId)
    .where('purchaseId', '=', sql<string>`any(${purchaseIds}::text[])`)
    .orderBy('purchaseId')
    .orderBy('position')
    .execute();
}

async function insertAddOns(work: Work, { id, pricingModelId, addOns }: PurchaseRow): Promise<void> {
  if (addOns.length === 0) return;
  const known = { environmentId: work.environmentId, purchaseId: id, pricingModelId };
  await work.db
    .insertInto('purchaseAddOns')
    .values(addOns.map((addOn, position) => ({ ...known, ...addOn, position })))
    .execute();
}

function select(work: Work) {
  return work.db.selectFrom('purchases').select(columns).where('environmentId', '=', work.environmentId);
}

/** A checkout session has at most one purchase that has not failed: a second one is rejected. */
export async function insertPurchase(work: Work, purchase: PurchaseRow): Promise<void> {
  const { billingAddress, billingAnchor, metadata, addOns: _, ...row } = purchase;
  await work.db
    .insertInto('purchases')
    .values({
      ...row,
      environmentId: work.environmentId,
      billingAddress: jsonb(billingAddress),
      billingAnchor: jsonb(billingAnchor),
      metadata: jsonb(metadata),
    })
    .execute();
  await insertAddOns(work, purchase);
}

/** Writes another attempt of a purchase over the one that failed. */
export async function replacePurchase(work: Work, purchase: PurchaseRow): Promise<void> {
  const { id, billingAddress, billingAnchor, metadata, addOns: _, ...row } = purchase;
  const records = {
    billingAddress: jsonb(billingAddress),
    billingAnchor: jsonb(billingAnchor),
    metadata: jsonb(metadata),
  };
  await work.db
    .updateTable('purchases')
    .set({ ...row, ...records })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
  await work.db
    .deleteFrom('purchaseAddOns')
    .where('environmentId', '=', work.environmentId)
    .where('purchaseId', '=', id)
    .execute();
  await insertAddOns(work, purchase);
}

/**
 * The purchase whose first payment was declined, and of which this is another attempt: that of the same session or,
 * without one, of the same price. The caller has locked the customer.
 */
export async function findPurchaseToTryAgain(
  work: Work,
  { customerId, priceId, checkoutSessionId }: Pick<PurchaseRow, 'customerId' | 'priceId' | 'checkoutSessionId'>,
): Promise<PurchaseRow | null> {
  const row = await select(work)
    .where('customerId', '=', customerId)
    .where('priceId', '=', priceId)
    .where('status', '=', 'failed')
    .where('invoiceId', 'is', null)
    .where('checkoutSessionId', checkoutSessionId === null ? 'is' : '=', checkoutSessionId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return toRow(work, row);
}

/** Whether the first payment of a plan is in flight that is to be the customer's only one. */
export async function awaitsOnlyPlan(work: Work, customerId: string): Promise<boolean> {
  const row = await work.db
    .selectFrom('purchases')
    .select('id')
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .where('exclusive', '=', true)
    .where('status', '=', 'pending')
    .where('invoiceId', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** Marks purchases as failed whose first payment was declined. Their invoices were never made. */
export async function failUnmade(work: Work, ids: readonly string[]): Promise<void> {
  const status: PurchaseStatus = 'failed';
  await work.db
    .updateTable('purchases')
    .set({ status, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .where('status', '=', 'pending')
    .where('invoiceId', 'is', null)
    .execute();
}

export async function findPurchase(work: Work, id: string): Promise<PurchaseRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return toRow(work, row);
}

/** The purchases of these invoices; most invoices have none. */
export async function findPurchasesOfInvoices(work: Work, invoiceIds: readonly string[]): Promise<PurchaseRow[]> {
  if (invoiceIds.length === 0) return [];
  const rows = await select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .orderBy('id')
    .execute();
  return toRows(work, rows);
}

/** The pending or successful purchase of the session. */
export async function findPurchaseOfSession(work: Work, checkoutSessionId: string): Promise<PurchaseRow | null> {
  const row = await select(work)
    .where('checkoutSessionId', '=', checkoutSessionId)
    .where('status', '!=', 'failed')
    .executeTakeFirst();
  return toRow(work, row);
}

/** The customer's completed purchases, newest first. */
export async function listBought(work: Work, customerId: string, limit: number): Promise<PurchaseRow[]> {
  const rows = await select(work)
    .where('customerId', '=', customerId)
    .where('status', 'in', boughtStatuses)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return toRows(work, rows);
}

/**
 * Marks purchases as paid, dated now if they never were, and returns them in order of id. A failed purchase that is
 * paid late loses its checkout session if that has a new purchase.
 */
export async function savePaidPurchases(work: Work, ids: readonly string[]): Promise<PurchaseRow[]> {
  if (ids.length === 0) return [];
  const status: PurchaseStatus = 'paid';
  const rows = await work.db
    .updateTable('purchases')
    .set((update) => ({
      status,
      checkoutSessionId: sql<string | null>`case when not exists (
        select from purchases other
         where other.environment_id = purchases.environment_id and other.checkout_session_id = purchases.checkout_session_id
           and other.id <> purchases.id
           and (other.status <> 'failed' or (other.id = any(${ids}::text[]) and other.id < purchases.id)))
        then checkout_session_id end`,
      purchaseDate: update.fn.coalesce('purchaseDate', sql<number>`${work.now}::bigint`),
      updatedAt: work.now,
    }))
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .returning(columns)
    .execute();
  return (await toRows(work, rows)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Saves the change of a purchase and returns it. */
export async function savePurchase(
  work: Work,
  id: string,
  change: Partial<
    Pick<PurchaseRow, 'invoiceId' | 'subscriptionId' | 'status' | 'firstInvoiceValue' | 'totalPurchaseValue'>
  >,
): Promise<PurchaseRow> {
  const row = await work.db
    .updateTable('purchases')
    .set({ ...change, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
  const saved = await toRow(work, row);
  assert(saved, `no purchase ${id}`);
  return saved;
}

export async function pageOfPurchases(
  work: Work,
  request: PageRequest,
): Promise<{ rows: PurchaseRow[]; total: number }> {
  const { rows, total } = await selectPage<StoredPurchase>(work, 'purchases', columns, request, {
    status: 'status',
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    priceId: 'price_id',
    subscriptionId: 'subscription_id',
    checkoutSessionId: 'checkout_session_id',
  });
  return { rows: await toRows(work, rows), total };
}
