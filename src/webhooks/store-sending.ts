import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { AttemptOutcome } from './delivery.ts';

/*
 * Queries of the sender over all environments, with the worker's connections; every row is identified with its
 * environment.
 */

/** An endpoint in an environment. */
export interface EndpointKey {
  readonly environmentId: number;
  readonly webhookId: string;
}

// A first attempt is due immediately, by the clock of the database or another process. If that clock is ahead by up to
// a minute, the attempt does not wait.
const clockToleranceMs = 60_000;

/** Whether the delivery `d` is due at `now`. The first condition matches the index. */
function isDue(d: 'd' | 'due', now: Instant): RawBuilder<boolean> {
  const [failures, nextAttemptAt] = [sql.ref(`${d}.failures`), sql.ref(`${d}.nextAttemptAt`)];
  return sql`${nextAttemptAt} <= ${now + clockToleranceMs}::bigint
    and (${nextAttemptAt} <= ${now}::bigint or ${failures} = 0)`;
}

/** The endpoints with due messages at `now`. One index lookup per endpoint. */
export async function listEndpointsWithDue(db: Database, now: Instant): Promise<EndpointKey[]> {
  const { rows } = await sql<EndpointKey>`
    select w.environment_id, w.id as webhook_id from webhooks w
     where w.active and exists (
       select from webhook_deliveries d
        where d.environment_id = w.environment_id and d.webhook_id = w.id and d.status = 'pending'
          and ${isDue('d', now)})`.execute(db);
  return rows;
}

/** The deliveries of active endpoints that are due, and the time of the first; null without any. */
export async function readDueDeliveries(
  db: Database,
  now: Instant,
): Promise<{ readonly due: number; readonly firstDueAt: Instant | null }> {
  const { rows } = await sql<{ due: number; firstDueAt: Instant | null }>`
    select coalesce(sum(d.due), 0)::bigint as due, min(d.first_due_at) as first_due_at from webhooks w
     cross join lateral (
       select count(*) as due, min(d.next_attempt_at) as first_due_at from webhook_deliveries d
        where d.environment_id = w.environment_id and d.webhook_id = w.id and d.status = 'pending'
          and d.next_attempt_at <= ${now}::bigint) as d
     where w.active`.execute(db);
  return rows[0] ?? { due: 0, firstDueAt: null };
}

/** The data of a delivery and its endpoint that sending needs. */
export interface DueDelivery extends EndpointKey {
  readonly organizationId: string;
  readonly id: string;
  readonly pricingModelId: string;
  readonly objectId: string;
  readonly attempts: number;
  readonly failures: number;
  readonly isSample: boolean;
  /** The id of the message for the receiver, the same at each attempt. */
  readonly messageId: string;
  /** The bytes to send and to sign, the same at each attempt. */
  readonly body: string;
  readonly livemode: boolean;
  readonly url: string;
  readonly sealedSecret: string;
  readonly sealedPreviousSecret: string | null;
  readonly previousSecretEndsAt: Instant | null;
  readonly failingSince: Instant | null;
  /** The revision of the webhook, which each change of a caller increments. */
  readonly revision: number;
}

/** The number of deliveries to read for an endpoint, excluding `known` ones. */
interface DueRequest extends EndpointKey {
  readonly wanted: number;
  readonly known: readonly string[];
}

// After this many failures, an event no longer blocks later events of the same object.
const failuresToBePassed = 3;

/**
 * The next deliveries of each endpoint, oldest first. Excludes events of an object behind one that waits for its retry.
 */
export async function listDue(db: Database, requests: readonly DueRequest[], now: Instant): Promise<DueDelivery[]> {
  const column = <Key extends keyof DueRequest>(key: Key) => requests.map((each) => each[key]);
  const { rows } = await sql<DueDelivery>`
    select d.environment_id, d.webhook_id, d.id, d.pricing_model_id, d.object_id, d.attempts, d.failures,
           d.event_id is null as is_sample, coalesce(d.event_id, d.sample ->> 'eventId') as message_id,
           coalesce(e.payload, d.sample)::text as body, n.organization_id, n.livemode, w.url, w.sealed_secret, w.sealed_previous_secret,
           w.previous_secret_ends_at, w.failing_since, w.revision
      from unnest(${column('environmentId')}::bigint[], ${column('webhookId')}::text[], ${column('wanted')}::integer[])
             as asked (environment_id, webhook_id, wanted)
      join webhooks w on w.environment_id = asked.environment_id and w.id = asked.webhook_id and w.active
      join environments n on n.id = asked.environment_id
     cross join lateral (
       select due.* from webhook_deliveries due
        where due.environment_id = asked.environment_id and due.webhook_id = asked.webhook_id and due.status = 'pending'
          and ${isDue('due', now)} and due.id <> all(${requests.flatMap(({ known }) => known)}::text[])
          and not exists (
            select from webhook_deliveries earlier
             where earlier.environment_id = due.environment_id and earlier.webhook_id = due.webhook_id
               and earlier.object_id = due.object_id and earlier.sequence < due.sequence and earlier.status = 'pending'
               and earlier.failures > 0 and earlier.failures < ${failuresToBePassed})
        order by due.next_attempt_at, due.sequence
        limit asked.wanted) as d
      left join events e on e.environment_id = d.environment_id and e.id = d.event_id
     order by d.next_attempt_at, d.sequence`.execute(db);
  return rows;
}

/** A finished attempt and its outcome. */
export interface MadeAttempt {
  readonly delivery: DueDelivery;
  readonly outcome: AttemptOutcome;
  readonly startedAt: Instant;
  readonly durationMs: number;
  readonly answer: string | null;
}

/** The health of an endpoint, as seen by attempts. */
export interface EndpointHealth extends EndpointKey {
  /** The revision of the webhook that the attempts were sent to. */
  readonly revision: number;
  readonly failingSince: Instant | null;
  /** The reason to deactivate it now, or null. */
  readonly disabledReason: string | null;
  readonly at: Instant;
}

/**
 * Records attempts, delivery states and endpoint health, all or nothing. An attempt of a restarted or deleted delivery
 * does not change its state.
 */
export async function saveAttempts(
  db: Database,
  attempts: readonly MadeAttempt[],
  endpoints: readonly EndpointHealth[],
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (attempts.length > 0) await writeAttempts(transaction, attempts);
    if (endpoints.length > 0) await writeHealth(transaction, endpoints);
  });
}

async function writeAttempts(db: Database, attempts: readonly MadeAttempt[]): Promise<void> {
  const of = <Value>(read: (attempt: MadeAttempt) => Value): Value[] => attempts.map(read);
  await sql`
    with made as (
      select * from unnest(
        ${of(({ delivery }) => delivery.environmentId)}::bigint[], ${of(({ delivery }) => delivery.id)}::text[],
        ${of(({ outcome }) => outcome.status)}::text[], ${of(({ outcome }) => outcome.attempts)}::integer[],
        ${of(({ outcome }) => outcome.failures)}::integer[], ${of(({ outcome }) => outcome.nextAttemptAt)}::bigint[],
        ${of(({ outcome }) => outcome.lastAttemptAt)}::bigint[], ${of(({ outcome }) => outcome.lastStatusCode)}::integer[],
        ${of(({ outcome }) => outcome.lastError)}::text[], ${of(({ startedAt }) => startedAt)}::bigint[],
        ${of(({ durationMs }) => durationMs)}::integer[], ${of(({ answer }) => answer)}::text[],
        ${of(({ delivery }) => delivery.failures)}::integer[], ${of(({ delivery }) => delivery.messageId)}::text[]
      ) as made (environment_id, id, status, attempts, failures, next_attempt_at, at, status_code, error, started_at,
                 duration_ms, answer, failures_before, event_id)
    ), erased as (
      -- A receiver may answer with a message that was erased while it was in flight. An erasure that comes now waits.
      select told.environment_id, told.id
        from (select e.environment_id, e.id, e.payload from events e
               where (e.environment_id, e.id) in (select environment_id, event_id from made where answer <> '')
                 for share of e) told
       where told.payload -> 'data' = 'null' and told.payload -> 'customer' -> 'externalId' = told.payload -> 'customer' -> 'id'
    ), ended as (
      update webhook_deliveries d
         set status = made.status, attempts = made.attempts, failures = made.failures, next_attempt_at = made.next_attempt_at,
             last_attempt_at = made.at, last_status_code = made.status_code, last_error = made.error, updated_at = made.at
        from made
       where d.environment_id = made.environment_id and d.id = made.id and d.attempts = made.attempts - 1
         and d.failures = made.failures_before and d.status = 'pending'
      returning d.environment_id, d.id, d.pricing_model_id
    )
    insert into webhook_attempts (environment_id, delivery_id, number, pricing_model_id, started_at, duration_ms, status_code,
           error, answer)
    select made.environment_id, made.id, made.attempts, ended.pricing_model_id, made.started_at, made.duration_ms,
           made.status_code, made.error, case when erased.id is null then made.answer end
      from one_row cross join made join ended on ended.environment_id = made.environment_id and ended.id = made.id
      left join erased on erased.environment_id = made.environment_id and erased.id = made.event_id
    on conflict do nothing`.execute(db);
}

/**
 * A failure does not count for a webhook that a caller changed meanwhile: its health is that of attempts after the change. A success
 * counts all the same, because most changes do not reset the health.
 */
async function writeHealth(db: Database, endpoints: readonly EndpointHealth[]): Promise<void> {
  const of = <Value>(read: (endpoint: EndpointHealth) => Value): Value[] => endpoints.map(read);
  await sql`
    update webhooks w
       set failing_since = seen.failing_since, active = w.active and seen.reason is null,
           disabled_reason = case when w.active then seen.reason else w.disabled_reason end,
           updated_at = case when w.active and seen.reason is not null then seen.at else w.updated_at end,
           -- Copies follow the home cell. One that was switched off by itself stays so until a caller changes the webhook.
           revision = w.revision + (w.active and seen.reason is not null and (select is_home from cell))::integer
      from unnest(${of((each) => each.environmentId)}::bigint[], ${of((each) => each.webhookId)}::text[],
                  ${of((each) => each.failingSince)}::bigint[], ${of((each) => each.disabledReason)}::text[],
                  ${of((each) => each.at)}::bigint[], ${of((each) => each.revision)}::bigint[])
             as seen (environment_id, id, failing_since, reason, at, revision)
     where w.environment_id = seen.environment_id and w.id = seen.id
       and (w.revision = seen.revision or seen.failing_since is null)`.execute(db);
}

// The batch size of one statement; the next round continues.
const mostAbandoned = 1_000;

/** Ends deliveries to inactive endpoints, so that a deactivated one has no backlog. Returns their number. */
export async function abandonInactive(db: Database, now: Instant): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update webhook_deliveries set status = 'failed', next_attempt_at = null, last_error = 'The webhook is not active.', updated_at = ${now}
     where (environment_id, id) in (
       select d.environment_id, d.id from webhooks w
         join webhook_deliveries d on d.environment_id = w.environment_id and d.webhook_id = w.id and d.status = 'pending'
        where not w.active
        order by d.environment_id, d.id limit ${mostAbandoned} for update of d skip locked)`.execute(db);
  return Number(numAffectedRows);
}
