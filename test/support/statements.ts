import type { KyselyPlugin } from 'kysely';
import type { Work } from '../../src/database/work.ts';

/** What `act` answers, and how many statements it sends to the database. */
export async function countStatements<Answer>(
  work: Work,
  act: (work: Work) => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly count: number }> {
  let count = 0;
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => {
      count += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  const db = work.db.withPlugin(counter);
  // Those of which no name is turned into ours count too.
  Object.assign(db, { withoutPlugins: () => work.db.withoutPlugins().withPlugin(counter) });
  const answer = await act({ ...work, db });
  return { answer, count };
}
