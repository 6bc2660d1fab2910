import { type Selectable, sql } from 'kysely';
import type { BillingAddress } from '../customers/customer.ts';
import { ofCustomerNamed } from '../customers/store.ts';
import type { CheckoutSessions } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { PaymentRow } from '../payments/store.ts';
import type { AddOnChoice, CheckoutSessionRow, SessionAddOn } from './checkout.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'type',
  'status',
  'customerId',
  'anonymous',
  'customerName',
  'customerEmail',
  'billingAddress',
  'priceId',
  'quantity',
  'minimumQuantity',
  'maximumQuantity',
  'trialPeriodDays',
  'discountId',
  'purchaseId',
  'adjustmentId',
  'paymentMethodId',
  'paymentMethodType',
  'paymentToken',
  'preserveBillingCycleAnchor',
  'billingAnchor',
  'firstPeriod',
  'targetSubscriptionId',
  'automaticallyUpdateSubscriptions',
  'outputName',
  'outputMetadata',
  'metadata',
  'successUrl',
  'cancelUrl',
  'expiresAt',
] as const;

type StoredSession = Pick<Selectable<CheckoutSessions>, (typeof columns)[number]>;

/** The sessions with their add-ons, in one more statement if any of them sells something. */
async function toSessions(work: Work, rows: readonly StoredSession[]): Promise<CheckoutSessionRow[]> {
  const selling = rows.flatMap(({ id, type }) => (type === 'product' ? id : []));
  const addOns = Map.groupBy(selling.length === 0 ? [] : await listAddOns(work, selling), (row) => row.sessionId);
  return rows.map((row) => {
    const own = (addOns.get(row.id) ?? []).map(({ sessionId: _, ...addOn }): SessionAddOn => addOn);
    // Table constraints guarantee type and status, and only values of the declared types are written to JSON columns.
    return { ...row, addOns: own } as unknown as CheckoutSessionRow;
  });
}

async function toSession(work: Work, row: StoredSession | undefined): Promise<CheckoutSessionRow | null> {
  const [session] = row === undefined ? [] : await toSessions(work, [row]);
  return session ?? null;
}

const addOnColumns = [
  'priceId',
  'optional',
  'quantity',
  'minimumQuantity',
  'maximumQuantity',
  'selectedQuantity',
] as const;

function listAddOns(work: Work, sessionIds: readonly string[]) {
  return work.db
    .selectFrom('checkoutSessionAddOns')
    .select(['checkoutSessionId as sessionId', ...addOnColumns])
    .where('environmentId', '=', work.environmentId)
    .where('checkoutSessionId', '=', sql<string>`any(${sessionIds}::text[])`)
    .orderBy('checkoutSessionId')
    .orderBy('position')
    .execute();
}

function select(work: Work, id: string) {
  return work.db
    .selectFrom('checkoutSessions')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id);
}

export async function insertSession(work: Work, session: CheckoutSessionRow): Promise<void> {
  const { billingAddress, billingAnchor, outputMetadata, metadata, addOns, ...row } = session;
  await work.db
    .insertInto('checkoutSessions')
    .values({
      ...row,
      environmentId: work.environmentId,
      billingAddress: jsonb(billingAddress),
      billingAnchor: jsonb(billingAnchor),
      outputMetadata: jsonb(outputMetadata),
      metadata: jsonb(metadata),
    })
    .execute();
  if (addOns.length === 0) return;
  const { id: checkoutSessionId, pricingModelId } = session;
  const known = { environmentId: work.environmentId, checkoutSessionId, pricingModelId };
  await work.db
    .insertInto('checkoutSessionAddOns')
    .values(addOns.map((addOn, position) => ({ ...known, ...addOn, position })))
    .execute();
}

export async function findSession(work: Work, id: string): Promise<CheckoutSessionRow | null> {
  const row = await select(work, id).executeTakeFirst();
  return toSession(work, row);
}

/** The session whose purchase or change a payment is for, while that is pending; null without one. */
export async function findSessionOfPayment(
  work: Work,
  { customerId, purchaseId, adjustmentId }: Pick<PaymentRow, 'customerId' | 'purchaseId' | 'adjustmentId'>,
): Promise<string | null> {
  const row = await work.db
    .selectFrom('checkoutSessions')
    .select('id')
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .where((of) => of.or([of('purchaseId', '=', purchaseId), of('adjustmentId', '=', adjustmentId)]))
    .where('status', '=', 'pending')
    .executeTakeFirst();
  return row?.id ?? null;
}

/** Locks the session until the work ends, which serializes confirmations. */
export async function lockSession(work: Work, id: string): Promise<CheckoutSessionRow | null> {
  const row = await select(work, id).forNoKeyUpdate().executeTakeFirst();
  return toSession(work, row);
}

export async function pageOfSessions(
  work: Work,
  request: PageRequest,
): Promise<{ rows: CheckoutSessionRow[]; total: number }> {
  // Compares the stored status, which has an index: a session that has expired is stored as open.
  const hasStatus = (status: string) => {
    if (status === 'expired') return sql`status = 'open' and expires_at <= ${work.now}`;
    return status === 'open' ? sql`status = 'open' and expires_at > ${work.now}` : sql`status = ${status}`;
  };
  const { rows, total } = await selectPage<StoredSession>(work, 'checkout_sessions', columns, request, {
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    priceId: 'price_id',
    pricingModelId: 'pricing_model_id',
    type: 'type',
    status: hasStatus,
  });
  return { rows: await toSessions(work, rows), total };
}

/** A change of a session by its buyer. */
interface SessionChange {
  readonly status?: CheckoutSessionRow['status'];
  readonly customerId?: string;
  readonly customerName?: string;
  readonly customerEmail?: string;
  readonly billingAddress?: BillingAddress | null;
  readonly quantity?: number;
  readonly discountId?: string | null;
  readonly adjustmentId?: string | null;
  readonly paymentMethodId?: string | null;
  readonly paymentMethodType?: CheckoutSessionRow['paymentMethodType'];
  readonly paymentToken?: string | null;
}

export async function saveSession(work: Work, id: string, { billingAddress, ...change }: SessionChange): Promise<void> {
  await work.db
    .updateTable('checkoutSessions')
    .set({
      ...change,
      ...(billingAddress === undefined ? {} : { billingAddress: jsonb(billingAddress) }),
      updatedAt: work.now,
    })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Saves the quantities of add-ons that the buyer confirms. The caller has locked the session. */
export async function saveSelection(work: Work, sessionId: string, chosen: readonly AddOnChoice[]): Promise<void> {
  if (chosen.length === 0) return;
  const [priceIds, quantities] = [chosen.map(({ priceId }) => priceId), chosen.map(({ quantity }) => quantity)];
  await sql`
    update checkout_session_add_ons a set selected_quantity = c.quantity
      from unnest(${priceIds}::text[], ${quantities}::bigint[]) as c (price_id, quantity)
     where a.environment_id = ${work.environmentId} and a.checkout_session_id = ${sessionId} and a.price_id = c.price_id
       and a.selected_quantity is distinct from c.quantity`.execute(work.db);
}

/** Closes an open session for good. */
export async function closeSession(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('checkoutSessions')
    .set({ status: 'failed', updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('status', '=', 'open')
    .execute();
}
