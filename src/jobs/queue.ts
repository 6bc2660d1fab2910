import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { type AuditContext, type Effect, runInEnvironment, type Work } from '../database/work.ts';

/** The context of a task, besides its payload. Its own transactions run as the restricted role. */
export interface JobContext {
  readonly database: Database;
  /** All tasks by name: the jobs that a commit may enqueue. */
  readonly tasks: TaskList;
  /** The `ExternalServices` of app.ts. They are handed on unread; each slice takes the part that it declares. */
  readonly services?: object;
  /** The audit context of the task: hand it to each transaction. */
  readonly auditContext?: AuditContext | undefined;
}

/** A task: bounded, and safe to run twice, because the queue delivers at least once. */
export type Task = (context: JobContext, payload: Readonly<Record<string, unknown>>) => Promise<void>;
export type TaskList = Readonly<Record<string, Task>>;

// graphile-worker waits e^attempt seconds between attempts: 25 of them span more than three days.
export const defaultMaxAttempts = 25;
// The request runs an effect right after its commit. The delayed job covers the case that the request dies.
const effectFallbackDelayMs = 60_000;

interface JobOptions {
  /** Jobs with the same key are one job. */
  readonly key?: string;
  /** Real time, not the environment's. */
  readonly runAt?: Date;
  readonly maxAttempts?: number;
}

/** Enqueues a job in the commit of this work. It runs after the commit, or never if the work is rolled back. */
export async function enqueue(
  work: Work,
  task: string,
  payload: Readonly<Record<string, unknown>>,
  options: JobOptions = {},
): Promise<void> {
  const body = JSON.stringify({ environmentId: work.environmentId, ...payload });
  const runAt = options.runAt?.toISOString() ?? null;
  await sql`select enqueue_job(${task}, ${body}::json, ${options.key ?? null}, ${runAt}::timestamptz,
    ${options.maxAttempts ?? defaultMaxAttempts}::integer)`.execute(work.db);
}

interface RequestedEffect extends Effect {
  /** Effects with the same key are one effect. */
  readonly key: string;
  /** The assumed result in a dry run: the external service succeeds. */
  readonly assume: (work: Work) => Promise<void>;
}

/**
 * Requests a step outside the database: a job in this commit, which the request itself runs right after the commit and
 * awaits. In a dry run the step is assumed to succeed.
 */
export async function requestEffect(work: Work, effect: RequestedEffect): Promise<void> {
  if (work.dryRun) return effect.assume(work);
  await enqueue(work, effect.task, effect.payload, {
    key: effect.key,
    runAt: new Date(Date.now() + effectFallbackDelayMs),
  });
  work.effects.push({ task: effect.task, payload: { environmentId: work.environmentId, ...effect.payload } });
}

/** Runs the effects of a committed transaction in sequence. */
export async function runEffects(context: JobContext, effects: readonly Effect[]): Promise<void> {
  for (const { task, payload } of effects) await runTask(context, task, payload);
}

/** Runs a task by name. Effects of a request carry its id in the audit log. */
export async function runTask(context: JobContext, name: string, payload: Effect['payload']): Promise<void> {
  const run = context.tasks[name];
  assert(run, `no task ${name}`);
  await run(
    { ...context, auditContext: { action: name, requestId: context.auditContext?.requestId ?? null } },
    payload,
  );
}

/**
 * Runs one transaction of a job, then the effects that it requested, so that a charge does not wait for its fallback
 * job. Returns null when the environment does not exist.
 */
export async function runInJob<Answer>(
  context: JobContext,
  environmentId: number,
  act: (work: Work) => Promise<Answer>,
): Promise<Answer | null> {
  const outcome = await runInEnvironment(context.database, { environmentId }, act, {
    auditContext: context.auditContext,
  });
  if (outcome === null) return null;
  await runEffects(context, outcome.effects);
  return outcome.answer;
}

/** The environment in a job's payload. */
export function payloadEnvironment(payload: Readonly<Record<string, unknown>>): number {
  assert(typeof payload.environmentId === 'number');
  return payload.environmentId;
}

/** A text field of a job's payload. */
export function payloadText(payload: Readonly<Record<string, unknown>>, key: string): string {
  const value = payload[key];
  assert(typeof value === 'string', `job payload lacks ${key}`);
  return value;
}

/** The state of the queue. */
export interface QueueDepth {
  /** Jobs whose time has come and that no worker has. */
  readonly ready: number;
  /** The time at which the first of them was to run; null without any. */
  readonly firstReadyAt: number | null;
  /** Jobs that failed for good: their attempts have run out. */
  readonly failed: number;
}

/** Reads the state of the queue, with the worker's connection. */
export async function readQueueDepth(worker: Database): Promise<QueueDepth> {
  const { rows } = await sql<QueueDepth>`
    select count(*) filter (where is_ready) as ready, count(*) filter (where attempts >= max_attempts) as failed,
           (extract(epoch from min(run_at) filter (where is_ready)) * 1000)::bigint as first_ready_at
      from (select attempts, max_attempts, run_at,
                   run_at <= now() and locked_at is null and attempts < max_attempts as is_ready
              from _private_jobs) j`.execute(worker);
  assert(rows[0]);
  return rows[0];
}
