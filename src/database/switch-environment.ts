import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import type { Work } from './work.ts';

interface ScopeRow {
  environmentId: number;
  livemode: boolean;
  currency: string;
  allowMultipleSubscriptions: boolean;
  clockNow: Instant | null;
}

/**
 * Acts in the same organization's environment of the given mode, in the transaction of this work, and comes back. While
 * it acts, row-level security shows the other environment only: what is needed from here is read before. The time there
 * is the time of that environment.
 *
 * A key that is pinned to a pricing model is refused. If `act` fails, the transaction is lost, so nobody comes back.
 */
export async function inOtherEnvironment<Answer>(
  work: Work,
  livemode: boolean,
  act: (there: Work) => Promise<Answer>,
): Promise<Answer> {
  const { environmentId, currency, allowMultipleSubscriptions, clockNow } = await switchEnvironment(work, livemode);
  const scope = { environmentId, livemode, currency, allowMultipleSubscriptions };
  const answer = await act({ ...work, ...scope, now: clockNow ?? Date.now() });
  await switchEnvironment(work, work.livemode);
  return answer;
}

async function switchEnvironment(work: Work, livemode: boolean): Promise<ScopeRow> {
  const { rows } = await sql<ScopeRow>`select * from switch_environment(${livemode})`.execute(work.db);
  assert(rows[0], 'an organization has an environment for each mode');
  return rows[0];
}
