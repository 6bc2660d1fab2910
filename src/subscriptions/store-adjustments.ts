import { type Selectable, sql } from 'kysely';
import type { SubscriptionAdjustments } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { AdjustmentRow, AdjustmentStatus, PlanItem } from './adjustment.ts';
import type { OverrideChange } from './price-override.ts';
import { holdsItsStart } from './store-billing-periods.ts';
import { withAmounts } from './store-price-overrides.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'subscriptionId',
  'status',
  'effectiveAt',
  'items',
  'priceOverrides',
  'capacities',
  'invoiceId',
  'replacedInvoiceId',
  'replacedNextAttemptAt',
  'billingAnchor',
  'billingCycleAnchorDate',
  'prorationWaived',
  'failureCode',
  'failureMessage',
] as const;

const pendingStatuses = ['awaiting_payment', 'scheduled'] as const satisfies readonly AdjustmentStatus[];
// Matches the predicate of the partial index of pending changes; literals, because a prepared plan could not match
// parameters.
const isPending = sql<boolean>`status in (${sql.join(pendingStatuses.map((status) => sql.lit(status)))})`;
const isScheduled = sql<boolean>`status = ${sql.lit('scheduled' satisfies AdjustmentStatus)}`;

/**
 * The lines of usage that changes of plan hold as invoiced until their invoices are made. A change that takes the place
 * of an unpaid invoice holds none: that has it.
 */
export const heldUsageLines = sql`(
  select a.environment_id, a.subscription_id, a.effective_at, line."ledgerAccountId" as ledger_account_id,
         line."priceId" as price_id, line.units, line.amount, line.explanation
    from subscription_adjustments a
   cross join lateral jsonb_to_recordset(a.bill -> 'lines')
      as line (type text, "ledgerAccountId" text, "priceId" text, units numeric, amount numeric, explanation jsonb)
   where a.bill is not null and a.replaced_invoice_id is null and line.type = 'usage') held`;

type StoredAdjustment = Pick<Selectable<SubscriptionAdjustments>, (typeof columns)[number]> & {
  readonly bill: string | null;
};
/** JSON has no bigint: an amount is read as a number, and every one is a safe integer. */
type StoredItem = Omit<PlanItem, 'unitPrice'> & { readonly unitPrice: number };
type StoredChange = Omit<OverrideChange, 'unitPrice'> & { readonly unitPrice: number | null };

function toRow({ items, priceOverrides, ...row }: StoredAdjustment): AdjustmentRow {
  // Only plan items and capacities are ever written to these columns, and a constraint limits the statuses.
  const planItems = (items as unknown as StoredItem[]).map((item) => ({ ...item, unitPrice: BigInt(item.unitPrice) }));
  const overrides = withAmounts<OverrideChange>(priceOverrides as unknown as StoredChange[]);
  return { ...row, items: planItems, priceOverrides: overrides } as AdjustmentRow;
}

// The text, because amounts in it are exact at any size.
const billText = sql<string | null>`bill::text`.as('bill');

function select(work: Work) {
  return work.db
    .selectFrom('subscriptionAdjustments')
    .select([...columns, billText])
    .where('environmentId', '=', work.environmentId);
}

export async function findAdjustment(work: Work, id: string): Promise<AdjustmentRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The pending change of the subscription; there is at most one. */
export async function findPendingAdjustment(work: Work, subscriptionId: string): Promise<AdjustmentRow | null> {
  const row = await select(work).where('subscriptionId', '=', subscriptionId).where(isPending).executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** Changes that await the payment of these invoices. */
export async function listAdjustmentsAwaiting(work: Work, invoiceIds: readonly string[]): Promise<AdjustmentRow[]> {
  const rows = await select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where('status', '=', 'awaiting_payment')
    .orderBy('id')
    .execute();
  return rows.map(toRow);
}

/** Canceled changes of these invoices, whose subscriptions have ended. */
export async function listAdjustmentsCalledOff(work: Work, invoiceIds: readonly string[]): Promise<AdjustmentRow[]> {
  const rows = await select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where('status', '=', 'canceled')
    .orderBy('id')
    .execute();
  return rows.map(toRow);
}

/** The changes of these invoices that have not been applied, by invoice. */
export async function listInvoicesOfUnmade(
  work: Work,
  invoiceIds: readonly string[],
): Promise<ReadonlyMap<string, AdjustmentRow>> {
  const rows = await select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where('status', '!=', 'applied')
    .execute();
  return new Map(rows.flatMap((row) => (row.invoiceId === null ? [] : [[row.invoiceId, toRow(row)]])));
}

/** The scheduled changes of these subscriptions. */
export async function listAdjustmentsScheduled(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<AdjustmentRow[]> {
  const rows = await select(work)
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds}::text[])`)
    .where(isScheduled)
    .orderBy('id')
    .execute();
  return rows.map(toRow);
}

export async function insertAdjustment(work: Work, adjustment: AdjustmentRow): Promise<void> {
  await work.db
    .insertInto('subscriptionAdjustments')
    .values({ environmentId: work.environmentId, ...stored(adjustment) })
    .execute();
}

function stored({ items, capacities, priceOverrides, bill, ...row }: AdjustmentRow) {
  const text = bill === null ? null : sql<never>`${bill}::jsonb`;
  const json = { items: jsonb(items), priceOverrides: jsonb(priceOverrides), capacities: jsonb(capacities) };
  return { ...row, ...json, bill: text };
}

/** The declined change of the subscription that the next one takes the place of; null: none. */
export async function findAdjustmentToTryAgain(work: Work, subscriptionId: string): Promise<AdjustmentRow | null> {
  const row = await select(work)
    .where('subscriptionId', '=', subscriptionId)
    .where('status', '=', sql.lit('failed' satisfies AdjustmentStatus))
    .where('invoiceId', 'is', null)
    .executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** Stores another attempt in the place of a declined one. */
export async function replaceAdjustment(work: Work, { id, ...adjustment }: AdjustmentRow): Promise<void> {
  const { id: _, ...change } = stored({ id, ...adjustment });
  await work.db
    .updateTable('subscriptionAdjustments')
    .set(change)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** The invoice of a change is made, and is what is owed from then on. */
export async function invoiceAdjustment(work: Work, id: string, invoiceId: string): Promise<void> {
  await work.db
    .updateTable('subscriptionAdjustments')
    .set({ invoiceId, bill: null, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Saves the capacities after a pending change. */
export async function saveCapacities(
  work: Work,
  { id, capacities }: Pick<AdjustmentRow, 'id' | 'capacities'>,
): Promise<void> {
  await work.db
    .updateTable('subscriptionAdjustments')
    .set({ capacities: jsonb(capacities), updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Marks changes as applied. */
export async function markAdjustmentsApplied(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await work.db
    .updateTable('subscriptionAdjustments')
    .set({ status: 'applied', updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/** Drops the bill of a change that was called off while its payment was in flight, which has brought no money. */
export async function dropBill(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('subscriptionAdjustments')
    .set({ bill: null, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Marks a change as failed, with the reason of the failed payment. */
export async function markAdjustmentFailed(
  work: Work,
  id: string,
  { code, message }: { readonly code: string | null; readonly message: string | null },
): Promise<void> {
  await work.db
    .updateTable('subscriptionAdjustments')
    .set({ status: 'failed', bill: null, failureCode: code, failureMessage: message, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Cancels the pending changes of these subscriptions. */
export async function cancelPendingAdjustments(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  await work.db
    .updateTable('subscriptionAdjustments')
    .set({ status: 'canceled', updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds}::text[])`)
    .where(isPending)
    .execute();
}

/** Adds the list value of changes without proration to the current periods of their subscriptions. */
export async function addProrationWaived(
  work: Work,
  waived: readonly { readonly subscriptionId: string; readonly startAt: Instant; readonly amount: bigint }[],
): Promise<void> {
  const real = waived.filter(({ amount }) => amount > 0n);
  if (real.length === 0) return;
  await sql`
    update billing_periods p set proration_waived = p.proration_waived + waived.amount, updated_at = ${work.now}
      from unnest(
             ${real.map(({ subscriptionId }) => subscriptionId)}::text[], ${real.map(({ startAt }) => startAt)}::bigint[],
             ${real.map(({ amount }) => amount)}::numeric[]) as waived (subscription_id, start_at, amount)
     where p.environment_id = ${work.environmentId} and p.subscription_id = waived.subscription_id
       and p.start_at = waived.start_at and ${holdsItsStart('p')}`.execute(work.db);
}
