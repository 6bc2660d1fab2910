import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { type Doing, type Effect, runInEnvironment, type Work } from '../database/work.ts';

/** What a task is given besides its payload. Its own transactions run as the restricted role. */
export interface JobContext {
  readonly database: Database;
  /** Every task there is, by its name: what a commit may ask for. */
  readonly tasks: TaskList;
  /** The `ExternalServices` of app.ts. They are handed on unread; each slice takes the part that it declares. */
  readonly services?: object;
  /** What is under way, for the audit log: hand it to each transaction. */
  readonly doing?: Doing | undefined;
}

/** A task: bounded, and safe to run twice, because the queue delivers at least once. */
export type Task = (context: JobContext, payload: Readonly<Record<string, unknown>>) => Promise<void>;
export type TaskList = Readonly<Record<string, Task>>;

// graphile-worker waits e^attempt seconds between attempts: 25 of them reach over three days.
const defaultMaxAttempts = 25;
// An effect is run by the request itself right after its commit. Its job is there for the case that the request dies.
const effectFallbackDelayMs = 60_000;

export interface JobOptions {
  /** Two jobs with one key are one job. */
  readonly key?: string;
  /** Real time, not the environment's. */
  readonly runAt?: Date;
  readonly maxAttempts?: number;
}

/** Adds a job to the commit of this work. It runs after the commit, or never when the work is rolled back. */
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

export interface RequestedEffect extends Effect {
  /** Two effects with one key are one. */
  readonly key: string;
  /** What a dry run takes for granted in place of the step: the outside world agrees. */
  readonly assume: (work: Work) => Promise<void>;
}

/**
 * Asks for a step outside of the database: a job in this commit, which the request runs itself right after it and
 * waits for. In a dry run the step is assumed to succeed instead.
 */
export async function requestEffect(work: Work, effect: RequestedEffect): Promise<void> {
  if (work.dryRun) return effect.assume(work);
  await enqueue(work, effect.task, effect.payload, {
    key: effect.key,
    runAt: new Date(Date.now() + effectFallbackDelayMs),
  });
  work.effects.push({ task: effect.task, payload: { environmentId: work.environmentId, ...effect.payload } });
}

/** Runs the effects of a committed transaction, one after the other. */
export async function runEffects(context: JobContext, effects: readonly Effect[]): Promise<void> {
  for (const { task, payload } of effects) await runTask(context, task, payload);
}

/** Runs a task by its name. What a request has caused names the request in the audit log. */
export async function runTask(context: JobContext, name: string, payload: Effect['payload']): Promise<void> {
  const run = context.tasks[name];
  assert(run, `no task ${name}`);
  await run({ ...context, doing: { action: name, requestId: context.doing?.requestId ?? null } }, payload);
}

/**
 * One transaction of a job, and right after its commit what it asked for outside of the database: so that a charge that
 * a job causes does not wait for its fallback. Answers null when there is no such environment.
 */
export async function runInJob<Answer>(
  context: JobContext,
  environmentId: number,
  act: (work: Work) => Promise<Answer>,
): Promise<Answer | null> {
  const outcome = await runInEnvironment(context.database, { environmentId }, act, { doing: context.doing });
  if (outcome === null) return null;
  await runEffects(context, outcome.effects);
  return outcome.answer;
}

/** The environment that a job's payload names. */
export function payloadEnvironment(payload: Readonly<Record<string, unknown>>): number {
  assert(typeof payload.environmentId === 'number');
  return payload.environmentId;
}

/** A text of a job's payload. */
export function payloadText(payload: Readonly<Record<string, unknown>>, key: string): string {
  const value = payload[key];
  assert(typeof value === 'string', `job payload lacks ${key}`);
  return value;
}
