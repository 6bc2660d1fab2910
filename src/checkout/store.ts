import { type Selectable, sql } from 'kysely';
import type { BillingAddress } from '../customers/customer.ts';
import { ofCustomerNamed } from '../customers/store.ts';
import type { CheckoutSessions } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { CheckoutSessionRow } from './checkout.ts';

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

function toSession(row: StoredSession): CheckoutSessionRow {
  // Table constraints guarantee type and status, and only values of the declared types are written to JSON columns.
  return row as CheckoutSessionRow;
}

function select(work: Work, id: string) {
  return work.db
    .selectFrom('checkoutSessions')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id);
}

export async function insertSession(work: Work, session: CheckoutSessionRow): Promise<void> {
  const { billingAddress, billingAnchor, outputMetadata, metadata, ...row } = session;
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
}

export async function findSession(work: Work, id: string): Promise<CheckoutSessionRow | null> {
  const row = await select(work, id).executeTakeFirst();
  return row === undefined ? null : toSession(row);
}

/** Locks the session until the work ends, which serializes confirmations. */
export async function lockSession(work: Work, id: string): Promise<CheckoutSessionRow | null> {
  const row = await select(work, id).forNoKeyUpdate().executeTakeFirst();
  return row === undefined ? null : toSession(row);
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
  return { rows: rows.map(toSession), total };
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

/** The seller's name: the one on invoices, else the organization's. */
export async function readSellerName(work: Work): Promise<string> {
  const { rows } = await sql<{ name: string }>`select seller_name() as name`.execute(work.db);
  return rows[0]?.name ?? '';
}
