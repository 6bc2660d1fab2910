import { sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/page.ts';
import { newId } from '../platform/new-id.ts';
import { selectPage } from '../platform/select-page.ts';
import type { Work } from '../platform/work.ts';
import type { AttemptOutcome, WebhookDelivery } from './delivery.ts';
import { defaultEventTypes, type Event } from './event.ts';
import type { Webhook, WebhookFilterType } from './webhook.ts';

/** A record without what the environment knows. */
type Stored<Kind> = Omit<Kind, 'livemode' | 'organizationId'>;
export type WebhookRow = Stored<Webhook>;
export type EventRow = Stored<Event>;
export type WebhookDeliveryRow = Stored<WebhookDelivery>;

// The secret is not among them: it is shown when it is made, and read for signing only.
const webhookColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'name',
  'url',
  'filterTypes',
  'active',
] as const;

/** What a webhook is made with. */
export interface WebhookValues {
  readonly pricingModelId: string;
  readonly name: string;
  readonly url: string;
  readonly filterTypes: WebhookFilterType[];
  readonly active: boolean;
  readonly secret: string;
}

// Rows are cast to the record's type: the request's schema is what limits filter types, the column is plain text.

export async function insertWebhook(work: Work, values: WebhookValues): Promise<WebhookRow> {
  return work.db
    .insertInto('webhooks')
    .values({
      environmentId: work.environmentId,
      id: newId('webhook'),
      ...values,
      createdAt: work.now,
      updatedAt: work.now,
    })
    .returning(webhookColumns)
    .$castTo<WebhookRow>()
    .executeTakeFirstOrThrow();
}

export async function findWebhook(work: Work, id: string): Promise<WebhookRow | null> {
  const row = await work.db
    .selectFrom('webhooks')
    .select(webhookColumns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .$castTo<WebhookRow>()
    .executeTakeFirst();
  return row ?? null;
}

export async function pageOfWebhooks(work: Work, request: PageRequest): Promise<{ rows: WebhookRow[]; total: number }> {
  return selectPage<WebhookRow>(work, 'webhooks', webhookColumns, request, {
    active: 'active',
    pricingModelId: 'pricing_model_id',
  });
}

/** Writes what is given and answers the changed webhook, or null when there is none. */
export async function updateWebhook(
  work: Work,
  id: string,
  changes: Partial<Pick<WebhookValues, 'name' | 'url' | 'filterTypes' | 'active'>>,
): Promise<WebhookRow | null> {
  const row = await work.db
    .updateTable('webhooks')
    .set({ ...changes, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(webhookColumns)
    .$castTo<WebhookRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** Deletes a webhook with its deliveries; answers it as it was, or null when there is none. */
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

export async function pageOfEvents(work: Work, request: PageRequest): Promise<{ rows: EventRow[]; total: number }> {
  return selectPage<EventRow>(work, 'events', eventColumns, request, { type: 'type', objectId: 'object_id' });
}

const deliveryColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'webhookId',
  'eventId',
  'status',
  'attempts',
  'nextAttemptAt',
  'lastAttemptAt',
  'lastStatusCode',
  'lastError',
] as const;

export async function pageOfDeliveries(
  work: Work,
  webhookId: string,
  request: PageRequest,
): Promise<{ rows: WebhookDeliveryRow[]; total: number }> {
  const ofWebhook = { ...request, filters: { ...request.filters, webhookId } };
  return selectPage<WebhookDeliveryRow>(work, 'webhook_deliveries', deliveryColumns, ofWebhook, {
    webhookId: 'webhook_id',
    eventId: 'event_id',
    status: 'status',
  });
}

/** An event that a webhook is to receive. */
export interface Match {
  readonly eventId: string;
  readonly webhookId: string;
  readonly pricingModelId: string;
}

/**
 * Which of the events go to which webhooks: the active ones of the event's pricing model whose filter has its type; one
 * without a filter has the default types.
 * The webhooks cannot be deleted until the transaction ends.
 */
export async function matchWebhooks(work: Work, eventIds: readonly string[]): Promise<Match[]> {
  const { rows } = await sql<Match>`
    select e.id as event_id, w.id as webhook_id, e.pricing_model_id
      from events e
      join webhooks w on w.environment_id = e.environment_id and w.pricing_model_id = e.pricing_model_id
     where e.environment_id = ${work.environmentId} and e.id = any(${eventIds}::text[])
       and w.active
       and e.type = any(case when w.filter_types = '{}' then ${defaultEventTypes}::text[] else w.filter_types end)
     order by e.id, w.id
       for key share of w`.execute(work.db);
  return rows;
}

/** Writes a delivery for each match that has none yet, due at once; answers the ids of the new ones. */
export async function insertDeliveries(work: Work, matches: readonly Match[], at: Instant): Promise<string[]> {
  if (matches.length === 0) return [];
  const rows = matches.map((match) => ({ id: newId('webhookDelivery'), ...match }));
  const inserted = await sql<{ id: string }>`
    insert into webhook_deliveries (environment_id, id, pricing_model_id, webhook_id, event_id, status, next_attempt_at, created_at, updated_at)
    select ${work.environmentId}, id, "pricingModelId", "webhookId", "eventId", 'pending', ${at}, ${at}, ${at}
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as match (id text, "pricingModelId" text, "webhookId" text, "eventId" text)
    on conflict on constraint webhook_deliveries_once do nothing
    returning id`.execute(work.db);
  return inserted.rows.map((row) => row.id);
}

/** All that sending needs to know of a delivery. */
export interface DeliveryTask {
  readonly status: string;
  readonly attempts: number;
  readonly eventId: string;
  /** The bytes to send and to sign, the same at every attempt. */
  readonly body: string;
  readonly url: string;
  readonly secret: string;
  readonly active: boolean;
}

export async function findDeliveryTask(work: Work, id: string): Promise<DeliveryTask | null> {
  const { rows } = await sql<DeliveryTask>`
    select d.status, d.attempts, d.event_id, e.payload::text as body, w.url, w.secret, w.active
      from webhook_deliveries d
      join webhooks w on w.environment_id = d.environment_id and w.id = d.webhook_id
      join events e on e.environment_id = d.environment_id and e.id = d.event_id
     where d.environment_id = ${work.environmentId} and d.id = ${id}`.execute(work.db);
  return rows[0] ?? null;
}

/** Notes the end of attempt number `outcome.attempts`. Answers false when that was noted before or the delivery is gone. */
export async function saveAttempt(work: Work, id: string, outcome: AttemptOutcome): Promise<boolean> {
  const result = await work.db
    .updateTable('webhookDeliveries')
    .set({ ...outcome, updatedAt: outcome.lastAttemptAt })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('attempts', '=', outcome.attempts - 1)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Gives a delivery up without another attempt. */
export async function abandonDelivery(work: Work, id: string, reason: string, at: Instant): Promise<void> {
  await work.db
    .updateTable('webhookDeliveries')
    .set({ status: 'failed', nextAttemptAt: null, lastError: reason, updatedAt: at })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute();
}
