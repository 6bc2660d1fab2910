import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import { enter, type Work } from './work.ts';

interface ScopeRow {
  environmentId: number;
  livemode: boolean;
  currency: string;
  settings: Readonly<Record<string, unknown>>;
  clockNow: Instant | null;
}

/**
 * Acts in the same organization's environment of the given mode within this transaction, then switches back. Row-level
 * security shows only the other environment meanwhile, so read everything needed from this one before. The time is that
 * of the other environment.
 *
 * Refuses a key that is pinned to a pricing model. If `act` fails, the transaction is lost and nothing is switched
 * back.
 */
export async function inOtherEnvironment<Answer>(
  work: Work,
  livemode: boolean,
  act: (there: Work) => Promise<Answer>,
): Promise<Answer> {
  const { environmentId, currency, settings, clockNow } = await switchEnvironment(work, livemode);
  const scope = { environmentId, livemode, currency, settings };
  const answer = await act({ ...work, ...scope, now: clockNow ?? Date.now() });
  await switchEnvironment(work, work.livemode);
  return answer;
}

async function switchEnvironment(work: Work, livemode: boolean): Promise<ScopeRow> {
  const { rows } = await sql<ScopeRow>`select * from switch_environment(${livemode})`.execute(work.db);
  assert(rows[0], 'an organization has an environment for each mode');
  return rows[0];
}

/** Acts in an environment of another organization, which this transaction has made, and then returns to its own. */
export async function inNewEnvironment<Answer>(
  work: Work,
  environmentId: number,
  act: (there: Work) => Promise<Answer>,
): Promise<Answer> {
  const there = await enter(work.db, { environmentId }, work);
  assert(there, 'the environment was just made');
  const answer = await act(there);
  const { apiKeyId, userId } = work;
  await sql`select return_to_environment(${work.environmentId}, ${apiKeyId ?? ''}, ${userId ?? ''})`.execute(work.db);
  return answer;
}
