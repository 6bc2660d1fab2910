import { sql } from 'kysely';
import type { Work } from './work.ts';

/**
 * What `act` answers when it has done what it does, and all of that undone again: to tell what something would come to
 * by doing it. Effects that it asks for are not carried out. When it refuses, what it did until then is undone as well,
 * so that the work may go on.
 */
export async function tentatively<Answer>(work: Work, act: (work: Work) => Promise<Answer>): Promise<Answer> {
  await sql`savepoint tentative`.execute(work.db);
  const tentative: Work = { ...work, effects: [] };
  try {
    return await act(tentative);
  } finally {
    // Released too: one inside of another has the same name, and the outer one is to be found again.
    await sql`rollback to savepoint tentative`.execute(work.db);
    await sql`release savepoint tentative`.execute(work.db);
  }
}
