import assert from 'node:assert/strict';
import { refreshStatistics } from '../database/statistics.ts';
import { type Effect, runInEnvironment, type Work } from '../database/work.ts';
import { type JobContext, runEffects } from '../jobs/queue.ts';
import { readClock } from '../organizations/store-clock.ts';

/** Where due work is done: in many transactions, or inside of the one of a dry run. The work itself is the same. */
export interface Workplace {
  /** Whether what fails is undone alone, so that the rest can go on. */
  readonly isolates: boolean;
  /** Does all of it or nothing, at the environment's present instant. Answers what is to be done outside, too. */
  act<Answer>(act: (work: Work) => Promise<Answer>): Promise<{ answer: Answer; effects: readonly Effect[] }>;
  /** Does a step outside of the database. */
  run(effect: Effect): Promise<void>;
  /** Is called between the acts. */
  rest(): Promise<void>;
}

/** Every act is a transaction of its own. */
export function inTransactions(context: JobContext, environmentId: number): Workplace {
  return {
    isolates: true,
    async act(act) {
      const outcome = await runInEnvironment(context.database, { environmentId }, act, { doing: context.doing });
      assert(outcome, `environment ${environmentId} exists`);
      return outcome;
    },
    run: (effect) => runEffects(context, [effect]),
    rest: () => refreshStatistics(context.database),
  };
}

/** Every act is a part of the one transaction of a dry run, in which the outside is taken to agree. */
export function insideDryRun(work: Work): Workplace {
  assert(work.dryRun);
  return {
    isolates: false,
    async act(act) {
      const { now } = await readClock(work);
      return { answer: await act({ ...work, now: now ?? work.now }), effects: [] };
    },
    run: () => assert.fail('a dry run asks for nothing outside'),
    rest: async () => undefined,
  };
}
