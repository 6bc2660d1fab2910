import { type Selectable, sql } from 'kysely';
import type { BillingAddress } from '../customers/customer.ts';
import { ofCustomerNamed } from '../customers/store.ts';
import type { PaymentMethods } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { hasValue, selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import {
  expiryNoticeAt,
  type PaymentMethod,
  type PaymentMethodData,
  type PaymentMethodType,
} from './payment-method.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'type',
  'isDefault',
  'billingDetails',
  'paymentMethodData',
  'metadata',
  'processor',
  'processorToken',
  'fingerprint',
] as const;

/** A stored payment method. Only values of the declared types are ever written. */
export interface PaymentMethodRow
  extends Omit<
    Pick<Selectable<PaymentMethods>, (typeof columns)[number]>,
    'billingDetails' | 'paymentMethodData' | 'metadata'
  > {
  type: PaymentMethodType;
  billingDetails: BillingAddress;
  paymentMethodData: PaymentMethodData;
  metadata: PaymentMethod['metadata'];
}

/** The attached payment methods: a deleted one is found by nobody. */
function select(work: Work) {
  return work.db
    .selectFrom('paymentMethods')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('detachedAt', 'is', null)
    .$castTo<PaymentMethodRow>();
}

export async function findPaymentMethod(work: Work, id: string): Promise<PaymentMethodRow | null> {
  return (await select(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** The customer's payment method that is this very card or account. */
export async function findSamePaymentMethod(
  work: Work,
  { customerId, processor, fingerprint }: Pick<PaymentMethodRow, 'customerId' | 'processor' | 'fingerprint'>,
): Promise<PaymentMethodRow | null> {
  if (fingerprint === null) return null;
  const same = select(work).where('customerId', '=', customerId).where('processor', '=', processor);
  return (await same.where('fingerprint', '=', fingerprint).executeTakeFirst()) ?? null;
}

/** The payment methods with these ids, in no particular order. */
export async function findPaymentMethods(work: Work, ids: readonly string[]): Promise<PaymentMethodRow[]> {
  return select(work).where('id', '=', sql<string>`any(${ids}::text[])`).execute();
}

/** The customer's payment methods: the default first, then in the order in which they were attached. */
export async function listPaymentMethodsOfCustomer(
  work: Work,
  customerId: string,
  limit: number,
): Promise<PaymentMethodRow[]> {
  return select(work)
    .where('customerId', '=', customerId)
    .orderBy('isDefault', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** The id of each customer's default payment method, else of its first, by customer id. */
export async function listDefaultMethods(work: Work, customerIds: readonly string[]): Promise<Map<string, string>> {
  if (customerIds.length === 0) return new Map();
  const { rows } = await sql<{ customerId: string; id: string }>`
    select distinct on (customer_id) customer_id, id from payment_methods
     where environment_id = ${work.environmentId} and customer_id = any(${customerIds}::text[])
       and detached_at is null
     order by customer_id, is_default desc, id`.execute(work.db);
  return new Map(rows.map((row) => [row.customerId, row.id]));
}

/** Clears the flag of the customer's default payment method, if there is one. */
export async function clearDefault(work: Work, customerId: string): Promise<void> {
  await work.db
    .updateTable('paymentMethods')
    .set({ isDefault: false, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .where('isDefault', '=', true)
    .execute();
}

/** Makes it the customer's default; the caller has cleared the previous one. */
export async function markDefault(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('paymentMethods')
    .set({ isDefault: true, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

export async function insertPaymentMethod(work: Work, method: PaymentMethodRow): Promise<void> {
  await work.db
    .insertInto('paymentMethods')
    .values({
      ...method,
      environmentId: work.environmentId,
      noticeAt: expiryNoticeAt(method.paymentMethodData, work.now),
      billingDetails: jsonb(method.billingDetails),
      paymentMethodData: jsonb(method.paymentMethodData),
      metadata: method.metadata === null ? null : jsonb(method.metadata),
    })
    .execute();
}

/** Stores newer facts about a payment method that was added again. */
export async function renewPaymentMethod(work: Work, method: PaymentMethodRow): Promise<void> {
  const { id, isDefault, updatedAt, processorToken, billingDetails, paymentMethodData, metadata } = method;
  await work.db
    .updateTable('paymentMethods')
    .set({
      isDefault,
      updatedAt,
      noticeAt: expiryNoticeAt(paymentMethodData, work.now),
      processorToken,
      billingDetails: jsonb(billingDetails),
      paymentMethodData: jsonb(paymentMethodData),
      metadata: metadata === null ? null : jsonb(metadata),
    })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Notes that the expiry of these cards was published. The caller has locked them. */
export async function endExpiryNotices(work: Work, ids: readonly string[]): Promise<void> {
  await work.db
    .updateTable('paymentMethods')
    .set({ noticeAt: null })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/** Detaches payment methods: they are charged no more and found no more. */
export async function detachPaymentMethods(work: Work, ids: readonly string[]): Promise<void> {
  await work.db
    .updateTable('paymentMethods')
    .set({ isDefault: false, detachedAt: work.now, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/** The processor of a detached payment method and its token there. */
export async function findDetached(
  work: Work,
  id: string,
): Promise<Pick<PaymentMethodRow, 'processor' | 'processorToken'> | null> {
  const row = await work.db
    .selectFrom('paymentMethods')
    .select(['processor', 'processorToken'])
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('detachedAt', 'is not', null)
    // The token of an erased customer is gone: its processor deletes the customer.
    .where('processorToken', '<>', '')
    .executeTakeFirst();
  return row ?? null;
}

export function pageOfPaymentMethods(
  work: Work,
  request: PageRequest,
): Promise<{ rows: PaymentMethodRow[]; total: number }> {
  const attached = { ...request, filters: { ...request.filters, detached: false } };
  return selectPage<PaymentMethodRow>(work, 'payment_methods', columns, attached, {
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    type: 'type',
    default: 'is_default',
    detached: hasValue('detached_at'),
  });
}
