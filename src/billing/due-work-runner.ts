import assert from 'node:assert/strict';
import { refreshStatistics } from '../database/statistics.ts';
import { type Effect, runInEnvironment, type Work } from '../database/work.ts';
import { type JobContext, runEffects } from '../jobs/queue.ts';
import { readClock } from '../organizations/store-clock.ts';

/**
 * The way to run due work: in many transactions, or within the transaction of a dry run. The work itself is the same.
 */
export interface Workplace {
  /** Whether failures are rolled back individually, so that the rest can continue. */
  readonly isolates: boolean;
  /** Runs all of it or nothing, at the environment's present time. Also returns the effects. */
  act<Answer>(act: (work: Work) => Promise<Answer>): Promise<{ answer: Answer; effects: readonly Effect[] }>;
  /** Runs a step outside the database. */
  run(effect: Effect): Promise<void>;
  /** Called between the acts. */
  rest(): Promise<void>;
}

/** Runs every act in a transaction of its own. */
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

/** Runs every act within the transaction of a dry run, which assumes that external services succeed. */
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
