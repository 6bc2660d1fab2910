import { sql } from 'kysely';
import type { Work } from './work.ts';

/**
 * Runs `act`, returns its result and rolls all of it back: a preview computed by doing it. Effects that it requests are
 * not carried out. If `act` refuses, its changes are rolled back too, and the transaction remains usable.
 */
export async function tentatively<Answer>(work: Work, act: (work: Work) => Promise<Answer>): Promise<Answer> {
  await sql`savepoint tentative`.execute(work.db);
  const tentative: Work = { ...work, effects: [] };
  try {
    return await act(tentative);
  } finally {
    // Released too: a nested savepoint has the same name, and the outer one must be found again.
    await sql`rollback to savepoint tentative`.execute(work.db);
    await sql`release savepoint tentative`.execute(work.db);
  }
}
