import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Customers } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { hasValue, selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Metadata } from '../kernel/json.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { Settings } from '../organizations/setting.ts';
import type { BillingTerms } from './billing-terms.ts';
import type { BillingAddress, CustomerRow } from './customer.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'externalId',
  'email',
  'name',
  'archived',
  'erasedAt',
  'logoUrl',
  'iconUrl',
  'domain',
  'userId',
  'billingAddress',
  'invoiceNumberBase',
  'taxExempt',
  'portalVersion',
  'metadata',
  'reviewHours',
  'consolidateInvoices',
  'billingTerms',
] as const;

type StoredCustomer = Pick<Selectable<Customers>, (typeof columns)[number]>;

function toCustomer({ logoUrl, iconUrl, ...stored }: StoredCustomer): CustomerRow {
  const { billingAddress, metadata, billingTerms, ...row } = stored;
  // Only parsed values are ever written.
  const parsed = {
    billingAddress: billingAddress as BillingAddress | null,
    metadata: metadata as Metadata | null,
    billingTerms: billingTerms as BillingTerms | null,
  };
  return { ...row, logoURL: logoUrl, iconURL: iconUrl, ...parsed };
}

function select(work: Work) {
  return work.db.selectFrom('customers').select(columns).where('environmentId', '=', work.environmentId);
}

export async function findCustomer(work: Work, id: string): Promise<CustomerRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toCustomer(row);
}

/** The external ids of these customers, by id. */
export async function listExternalIds(work: Work, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await work.db
    .selectFrom('customers')
    .select(['id', 'externalId'])
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row.externalId]));
}

/** The customers with these ids, in no particular order. */
export async function listCustomersById(work: Work, ids: readonly string[]): Promise<CustomerRow[]> {
  const rows = await select(work).where('id', '=', sql<string>`any(${ids})`).execute();
  return rows.map(toCustomer);
}

/** The terms of a customer that take the place of the settings; null: those of the settings. */
interface OwnTerms {
  readonly reviewHours?: number | null | undefined;
  readonly netTermsDays?: number | null | undefined;
  /** Whether the renewals of one day are one invoice. */
  readonly consolidateInvoices?: boolean;
}

/** The terms of these customers; those without terms of their own are missing. */
export async function listOwnTerms(work: Work, ids: readonly string[]): Promise<Map<string, OwnTerms>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<OwnTerms & { id: string }>`
    select id, review_hours, consolidate_invoices, (billing_terms ->> 'netTermsDays')::integer as net_terms_days
      from customers
     where environment_id = ${work.environmentId} and id = any(${ids}::text[])
       and (review_hours is not null or billing_terms is not null or consolidate_invoices)`.execute(work.db);
  return new Map(rows.map(({ id, ...terms }) => [id, terms]));
}

/** The terms of invoices of one customer. */
export interface CustomerTerms extends Pick<Settings, 'reviewHours' | 'netTermsDays'> {
  readonly consolidateInvoices: boolean;
}

/** The terms of a customer: its own, else those of the settings. */
export function termsOf(
  own: OwnTerms | null | undefined,
  { reviewHours, netTermsDays }: Pick<Settings, 'reviewHours' | 'netTermsDays'>,
): CustomerTerms {
  return {
    reviewHours: own?.reviewHours ?? reviewHours,
    netTermsDays: own?.netTermsDays ?? netTermsDays,
    consolidateInvoices: own?.consolidateInvoices ?? false,
  };
}

/**
 * Locks the customer until the work ends. Every change of its subscriptions takes this lock first, which serializes
 * them.
 */
export async function lockCustomer(work: Work, id: string): Promise<CustomerRow | null> {
  const row = await select(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  return row === undefined ? null : toCustomer(row);
}

/** Locks the customers until the work ends, in order of id. */
export async function lockCustomers(work: Work, ids: readonly string[]): Promise<void> {
  await sql`
    select from customers where environment_id = ${work.environmentId} and id = any(${ids}::text[])
     order by id for no key update`.execute(work.db);
}

/**
 * The active customer with this external id, within the pricing model if one is given. Refuses with
 * `externalIdAmbiguous` when several pricing models have one.
 */
export async function findCustomerByExternalId(
  work: Work,
  externalId: string,
  pricingModelId?: string,
): Promise<CustomerRow | null> {
  const rows = await selectByExternalId(work, externalId, pricingModelId)
    .where('archived', '=', false)
    .limit(2)
    .execute();
  return single(rows, externalId);
}

/** The same, or else the most recently archived customer with this external id. */
export async function findCustomerEvenArchived(
  work: Work,
  externalId: string,
  pricingModelId?: string,
): Promise<CustomerRow | null> {
  const active = await findCustomerByExternalId(work, externalId, pricingModelId);
  if (active !== null) return active;
  const rows = await selectByExternalId(work, externalId, pricingModelId)
    .orderBy('updatedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .execute();
  return single(rows, externalId);
}

function selectByExternalId(work: Work, externalId: string, pricingModelId: string | undefined) {
  const query = select(work).where('externalId', '=', externalId);
  return pricingModelId === undefined ? query : query.where('pricingModelId', '=', pricingModelId);
}

function single(rows: readonly StoredCustomer[], externalId: string): CustomerRow | null {
  const [row, other] = rows;
  if (other !== undefined) throw new Problem('externalIdAmbiguous', { externalId });
  return row === undefined ? null : toCustomer(row);
}

export async function pageOfCustomers(
  work: Work,
  request: PageRequest,
): Promise<{ rows: CustomerRow[]; total: number }> {
  const { rows, total } = await selectPage<StoredCustomer>(work, 'customers', columns, request, {
    ids: (text) => sql`id = any (string_to_array(${text}, ','))`,
    email: 'email',
    externalId: 'external_id',
    pricingModelId: 'pricing_model_id',
    archived: 'archived',
    erased: hasValue('erased_at'),
    // An array keeps the order of the index, so a page reads its own rows alone.
    search: (text) => sql`id = any (array(select customers_by_search(${text})))`,
  });
  return { rows: rows.map(toCustomer), total };
}

/** Returns false when another customer has the same external id or `invoiceNumberBase`. */
export async function insertCustomer(work: Work, customer: CustomerRow): Promise<boolean> {
  const { logoURL, iconURL, billingAddress, metadata, billingTerms, ...row } = customer;
  const result = await work.db
    .insertInto('customers')
    .values({
      ...row,
      environmentId: work.environmentId,
      logoUrl: logoURL,
      iconUrl: iconURL,
      billingAddress: jsonb(billingAddress),
      metadata: jsonb(metadata),
      billingTerms: jsonb(billingTerms),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Saves the changeable fields of a customer. */
export async function saveCustomer(work: Work, customer: CustomerRow): Promise<void> {
  await work.db
    .updateTable('customers')
    .set({
      externalId: customer.externalId,
      email: customer.email,
      name: customer.name,
      archived: customer.archived,
      logoUrl: customer.logoURL,
      iconUrl: customer.iconURL,
      domain: customer.domain,
      userId: customer.userId,
      billingAddress: jsonb(customer.billingAddress),
      taxExempt: customer.taxExempt,
      metadata: jsonb(customer.metadata),
      reviewHours: customer.reviewHours,
      consolidateInvoices: customer.consolidateInvoices,
      billingTerms: jsonb(customer.billingTerms),
      updatedAt: customer.updatedAt,
    })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', customer.id)
    .execute();
}

/** Closes every link to the customer's portal, and every visit that began with one. */
export async function advancePortalVersion(work: Work, id: string): Promise<void> {
  await sql`
    update customers set portal_version = portal_version + 1
     where environment_id = ${work.environmentId} and id = ${id}`.execute(work.db);
}

/** The erased customer whose former external id has this MAC: the last one, if there were several. */
export async function findErasedCustomer(
  work: Work,
  externalIdMac: string,
  pricingModelId: string | undefined,
): Promise<CustomerRow | null> {
  const query = select(work).where('erasedExternalIdMac', '=', externalIdMac).where('erasedAt', 'is not', null);
  const row = await (pricingModelId === undefined ? query : query.where('pricingModelId', '=', pricingModelId))
    .orderBy('erasedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? null : toCustomer(row);
}

/** The time at which an erasure was completed; null before. */
export async function findErasureCompletion(work: Work, id: string): Promise<Instant | null> {
  const query = work.db.selectFrom('customers').select('erasureCompletedAt').where('id', '=', id);
  return (await query.where('environmentId', '=', work.environmentId).executeTakeFirst())?.erasureCompletedAt ?? null;
}

/** Records that nothing of an erased customer is left. */
export async function completeErasure(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('customers')
    .set({ erasureCompletedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('erasedAt', 'is not', null)
    .where('erasureCompletedAt', 'is', null)
    .execute();
}

/** Whether `customerId` is that of a customer with this external id, archived ones included. */
export function ofCustomerNamed(work: Work, customerId: RawBuilder<unknown>, externalId: string): RawBuilder<unknown> {
  return sql`${customerId} in (
    select named.id from customers named
     where named.environment_id = ${work.environmentId} and named.external_id = ${externalId})`;
}
