import { type RawBuilder, sql } from 'kysely';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { Event } from './event.ts';
import type { Webhook, WebhookFilterType } from './webhook.ts';

/** A record without the fields of its environment. */
export type WebhookRow = Omit<Webhook, 'livemode' | 'organizationId'>;

// Excludes the secrets, which are read for signing only.
const webhookColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'name',
  'url',
  'filterTypes',
  'active',
  'disabledReason',
] as const;

/** The columns of a new webhook. */
interface WebhookValues {
  readonly id: string;
  readonly pricingModelId: string;
  readonly name: string;
  readonly url: string;
  readonly filterTypes: WebhookFilterType[];
  readonly active: boolean;
  readonly sealedSecret: string;
}

// Rows are cast to the record's type: the request's schema limits the filter types, and the column is plain text.

export async function insertWebhook(work: Work, values: WebhookValues): Promise<WebhookRow> {
  return work.db
    .insertInto('webhooks')
    .values({ environmentId: work.environmentId, ...values, createdAt: work.now, updatedAt: work.now })
    .returning(webhookColumns)
    .$castTo<WebhookRow>()
    .executeTakeFirstOrThrow();
}

/** The number of webhooks in the pricing model, inactive ones included. */
export async function countWebhooks(work: Work, pricingModelId: string): Promise<number> {
  const { count } = await work.db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('environmentId', '=', work.environmentId)
    .where('pricingModelId', '=', pricingModelId)
    .executeTakeFirstOrThrow();
  return count;
}

function selectWebhook(work: Work, id: string) {
  return work.db
    .selectFrom('webhooks')
    .select(webhookColumns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .$castTo<WebhookRow>();
}

export async function findWebhook(work: Work, id: string): Promise<WebhookRow | null> {
  return (await selectWebhook(work, id).executeTakeFirst()) ?? null;
}

/** The webhook, protected from deletion until the transaction ends. */
export async function lockWebhookAgainstDeletion(work: Work, id: string): Promise<WebhookRow | null> {
  return (await selectWebhook(work, id).forKeyShare().executeTakeFirst()) ?? null;
}

/** The webhook, locked against deletion, changes and other locks until the transaction ends. */
export async function lockWebhook(work: Work, id: string): Promise<WebhookRow | null> {
  return (await selectWebhook(work, id).forNoKeyUpdate().executeTakeFirst()) ?? null;
}

export async function pageOfWebhooks(work: Work, request: PageRequest): Promise<{ rows: WebhookRow[]; total: number }> {
  return selectPage<WebhookRow>(work, 'webhooks', webhookColumns, request, {
    active: 'active',
    pricingModelId: 'pricing_model_id',
  });
}

/** The changeable columns of a webhook. */
type WebhookChanges = Partial<Pick<WebhookValues, 'name' | 'url' | 'filterTypes' | 'active'>> & {
  readonly disabledReason?: null;
  readonly failingSince?: null;
};

/** Saves the given fields and returns the webhook, or null if it does not exist. */
export async function updateWebhook(work: Work, id: string, changes: WebhookChanges): Promise<WebhookRow | null> {
  const row = await work.db
    .updateTable('webhooks')
    .set((eb) => ({ ...changes, revision: eb('revision', '+', 1), updatedAt: work.now }))
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(webhookColumns)
    .$castTo<WebhookRow>()
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Replaces the secret, and keeps the current one as the previous. One statement, so that concurrent rotations chain.
 * Returns the webhook, or null if it does not exist.
 */
export async function rotateSecret(
  work: Work,
  id: string,
  sealedSecret: string,
  previousSecretEndsAt: Instant,
): Promise<WebhookRow | null> {
  const row = await work.db
    .updateTable('webhooks')
    .set((eb) => ({
      sealedPreviousSecret: eb.ref('sealedSecret'),
      sealedSecret,
      previousSecretEndsAt,
      revision: eb('revision', '+', 1),
      updatedAt: work.now,
    }))
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(webhookColumns)
    .$castTo<WebhookRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** Notifies the sender, in this commit, that the webhook was changed. */
export async function announceChange(work: Work, id: string): Promise<void> {
  await sql`select announce_deliveries(${work.environmentId}, ${`${id} changed`})`.execute(work.db);
}

/** Deletes a webhook with its deliveries. Returns its last values, or null if it does not exist. */
export async function deleteWebhook(work: Work, id: string): Promise<WebhookRow | null> {
  const row = await work.db
    .deleteFrom('webhooks')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(webhookColumns)
    .$castTo<WebhookRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** An event without the fields of its environment. */
export type EventRow = Omit<Event, 'livemode' | 'organizationId'>;

const eventColumns = [
  'id',
  'createdAt',
  'pricingModelId',
  'type',
  'object',
  'objectId',
  'occurredAt',
  'payload',
] as const;

export async function findEvent(work: Work, id: string): Promise<EventRow | null> {
  const row = await work.db
    .selectFrom('events')
    .select(eventColumns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .$castTo<EventRow>()
    .executeTakeFirst();
  return row ?? null;
}

// With customers, every kind of `EventObject` is here.
const tablesOfCustomers = [
  'subscriptions',
  'purchases',
  'payments',
  'checkout_sessions',
  'invoices',
  'credit_notes',
  'payment_methods',
] as const;

/** The filters of events and deliveries by the customer that their object is, or belongs to. */
export function aboutCustomer(work: Work) {
  const records = tablesOfCustomers.map(
    (table) => sql`
    union all select r.id from ${sql.table(table)} r join named on named.id = r.customer_id
               where r.environment_id = ${work.environmentId}`,
  );
  const objectOf = (customer: RawBuilder<unknown>) => sql`object_id in (
    with named as (select c.id from customers c where c.environment_id = ${work.environmentId} and ${customer})
    select id from named ${sql.join(records, sql``)})`;
  return {
    customerId: (id: string) => objectOf(sql`c.id = ${id}`),
    customerExternalId: (externalId: string) => objectOf(sql`c.external_id = ${externalId}`),
  };
}

/** A page of events in order of creation, plus one if there are more, and the total number of matches. */
export function pageOfEvents(work: Work, request: PageRequest): Promise<{ rows: EventRow[]; total: number }> {
  return selectPage<EventRow>(work, 'events', eventColumns, request, {
    type: 'type',
    object: 'object',
    objectId: 'object_id',
    ...aboutCustomer(work),
  });
}
