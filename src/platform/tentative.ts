import { sql } from 'kysely';
import type { Work } from './work.ts';

/**
 * What `act` answers when it has done what it does, and all of that undone again: to tell what something would come to
 * by doing it. Effects that it asks for are not carried out.
 */
export async function tentatively<Answer>(work: Work, act: (work: Work) => Promise<Answer>): Promise<Answer> {
  await sql`savepoint tentative`.execute(work.db);
  const answer = await act({ ...work, effects: [] });
  // A failure needs no undoing here: it ends the whole transaction.
  await sql`rollback to savepoint tentative`.execute(work.db);
  return answer;
}
