import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { WebhookAttempt, WebhookDelivery } from './delivery.ts';
import { aboutCustomer } from './store.ts';

/** A record without the fields of its environment. */
export type DeliveryRow = Omit<WebhookDelivery, 'livemode' | 'organizationId'>;

const deliveryColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'webhookId',
  'eventId',
  'eventType',
  'objectId',
  'status',
  'attempts',
  'nextAttemptAt',
  'lastAttemptAt',
  'lastStatusCode',
  'lastError',
] as const;

// Rows are cast to the record's type: a check constraint limits the status, and events are only written with existing
// types.

export async function pageOfDeliveries(
  work: Work,
  webhookId: string,
  request: PageRequest,
): Promise<{ rows: DeliveryRow[]; total: number }> {
  const ofWebhook = { ...request, filters: { ...request.filters, webhookId } };
  return selectPage<DeliveryRow>(work, 'webhook_deliveries', deliveryColumns, ofWebhook, {
    webhookId: 'webhook_id',
    status: 'status',
    eventId: 'event_id',
    eventType: 'event_type',
    objectId: 'object_id',
    ...aboutCustomer(work),
  });
}

export async function findDelivery(work: Work, id: string): Promise<DeliveryRow | null> {
  const row = await work.db
    .selectFrom('webhookDeliveries')
    .select(deliveryColumns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .$castTo<DeliveryRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** The last `limit` stored attempts at a delivery, newest last. */
export async function listAttempts(work: Work, deliveryId: string, limit: number): Promise<WebhookAttempt[]> {
  const rows = await work.db
    .selectFrom('webhookAttempts')
    .select(['number', 'startedAt', 'durationMs', 'statusCode', 'error', 'answer'])
    .where('environmentId', '=', work.environmentId)
    .where('deliveryId', '=', deliveryId)
    .orderBy('number', 'desc')
    .limit(limit)
    .execute();
  return rows.reverse();
}

/** Deletes up to `limit` attempts that started by the instant, in real time, over all environments. */
export async function forgetAttempts(database: Database, before: Instant, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select forget_webhook_attempts(${before}, ${limit}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}

/** Notifies the sender, in this commit, that the webhook has messages. */
export async function announceDeliveries(work: Work, webhookId: string): Promise<void> {
  await sql`select announce_deliveries(${work.environmentId}, ${webhookId})`.execute(work.db);
}

/** A sample message. */
interface SampleValues {
  readonly id: string;
  readonly pricingModelId: string;
  readonly webhookId: string;
  readonly sample: { readonly id: string; readonly type: string };
}

/** Inserts the delivery of a sample, due at `at`. */
export async function insertSample(
  work: Work,
  { id, pricingModelId, webhookId, sample }: SampleValues,
  at: Instant,
): Promise<DeliveryRow> {
  return work.db
    .insertInto('webhookDeliveries')
    .values({
      environmentId: work.environmentId,
      id,
      pricingModelId,
      webhookId,
      sample: JSON.stringify(sample),
      eventType: sample.type,
      objectId: sample.id,
      status: 'pending',
      nextAttemptAt: at,
      createdAt: at,
      updatedAt: at,
    })
    .returning(deliveryColumns)
    .$castTo<DeliveryRow>()
    .executeTakeFirstOrThrow();
}

/** Restarts a delivery, due at `at`. Returns it, or null if it does not exist. Its attempts stay. */
export async function beginDelivery(work: Work, id: string, at: Instant): Promise<DeliveryRow | null> {
  const row = await work.db
    .updateTable('webhookDeliveries')
    .set({ status: 'pending', failures: 0, nextAttemptAt: at, updatedAt: at })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(deliveryColumns)
    .$castTo<DeliveryRow>()
    .executeTakeFirst();
  return row ?? null;
}

/** The selection of a webhook's events to send again. */
interface Replay {
  readonly webhookId: string;
  readonly since: Instant;
  /** Null for an open end. */
  readonly until: Instant | null;
  /** Null for all types in the webhook's filter. */
  readonly types: readonly string[] | null;
  /** Only failed deliveries. */
  readonly onlyFailed: boolean;
  /** Only deliveries that have not changed since; null: all. So a repeat does nothing once more. */
  readonly unchangedSince: Instant | null;
  /** The maximum number of events. */
  readonly limit: number;
}

/**
 * Sends the events again, due at `at`, in order of publication: existing deliveries restart, missing ones are inserted,
 * and pending ones are left alone. Returns the number of events; if it exceeds the limit, nothing was done.
 */
export async function beginDeliveries(work: Work, replay: Replay, at: Instant): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with chosen as materialized (${chosenEvents(work, replay)}),
         few as (select 1 having (select count(*) from chosen) <= ${replay.limit}),
         sent as (${replay.onlyFailed ? restarted(work, at) : createdOrRestarted(work, replay, at)})
    select count(*) as count from chosen`.execute(work.db);
  return rows[0]?.count ?? 0;
}

/** The events of a replay with their existing deliveries, plus one if there are more than the limit. */
function chosenEvents(
  work: Work,
  { webhookId, since, until, types, onlyFailed, unchangedSince, limit }: Replay,
): RawBuilder<unknown> {
  return sql`
    select e.id, e.pricing_model_id, e.type, e.object_id, d.id as delivery_id
      from webhooks w
      join events e on e.environment_id = w.environment_id and e.pricing_model_id = w.pricing_model_id
      left join webhook_deliveries d on d.environment_id = w.environment_id and d.event_id = e.id and d.webhook_id = w.id
     where w.environment_id = ${work.environmentId} and w.id = ${webhookId}
       and e.occurred_at >= ${since} and e.occurred_at < ${until ?? Number.MAX_SAFE_INTEGER}
       and case when ${types}::text[] is null then webhook_wants(w.filter_types, e.type) else e.type = any(${types}::text[]) end
       and ${onlyFailed ? sql`d.status = 'failed'` : sql`d.status is distinct from 'pending'`}
       ${unchangedSince === null ? sql`` : sql`and coalesce(d.updated_at < ${unchangedSince}, true)`}
     order by e.occurred_at
     limit ${limit + 1}`;
}

/** A restarted delivery keeps its position in the order of its object: later events wait for it again. */
function restarted(work: Work, at: Instant): RawBuilder<unknown> {
  return sql`
    update webhook_deliveries d
       set status = 'pending', failures = 0, next_attempt_at = ${at}, updated_at = ${at}
      from chosen, few
     where d.environment_id = ${work.environmentId} and d.id = chosen.delivery_id and d.status = 'failed'`;
}

/**
 * Assigns new positions to all, so that inserted deliveries are ordered among existing ones. The ids match those of
 * `address_events`.
 */
function createdOrRestarted(work: Work, { webhookId }: Replay, at: Instant): RawBuilder<unknown> {
  return sql`
    insert into webhook_deliveries as d (environment_id, id, pricing_model_id, webhook_id, event_id, event_type, object_id,
           status, next_attempt_at, created_at, updated_at)
    select ${work.environmentId}, 'webhook_delivery_' || substr(chosen.id, 7, 19) || substr(${webhookId}, 9) || right(chosen.id, 2),
           chosen.pricing_model_id, ${webhookId}, chosen.id, chosen.type, chosen.object_id, 'pending', ${at}::bigint,
           ${at}::bigint, ${at}::bigint
      from chosen, few
     order by chosen.id
    on conflict on constraint webhook_deliveries_once do update
       set sequence = default, status = 'pending', failures = 0, next_attempt_at = ${at}, updated_at = ${at}
     where d.status <> 'pending'`;
}

/** Webhooks that fail, and messages that wait. */
interface Undelivered {
  readonly failingWebhooks: readonly string[];
  readonly messagesPending: number;
  readonly oldestMessageAt: Instant | null;
}

/** Finds what was not delivered in this environment, each up to `most`. */
export async function findUndelivered({ db, environmentId }: Work, most: number): Promise<Undelivered> {
  const { rows } = await sql<Undelivered>`
    select array(select id from webhooks where environment_id = ${environmentId}
                    and (active and failing_since is not null or disabled_reason is not null) limit ${most}) as failing_webhooks,
           count(*)::integer as messages_pending, min(created_at) as oldest_message_at
      from (select created_at from webhook_deliveries
             where environment_id = ${environmentId} and status = 'pending' limit ${most}) as found`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate has a row');
  return row;
}
