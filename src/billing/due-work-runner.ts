import assert from 'node:assert/strict';
import { refreshStatistics } from '../database/statistics.ts';
import { type Effect, runInEnvironment, type Work } from '../database/work.ts';
import { type JobContext, runEffects } from '../jobs/queue.ts';
import { readClock } from '../organizations/store-clock.ts';

/**
 * The way to run due work: in many transactions, or within the transaction of a dry run. The work itself is the same.
 */
export interface DueWorkRunner {
  /** Whether failures are rolled back individually, so that the rest can continue. */
  readonly isolates: boolean;
  /** Runs all of it or nothing, at the environment's present time. Also returns the effects. */
  act<Answer>(act: (work: Work) => Promise<Answer>): Promise<{ answer: Answer; effects: readonly Effect[] }>;
  /** Runs a handler outside the database. */
  run(effect: Effect): Promise<void>;
  /** Called between the acts. */
  pause(): Promise<void>;
}

/** Runs every act in a transaction of its own. */
export function inTransactions(context: JobContext, environmentId: number): DueWorkRunner {
  return {
    isolates: true,
    async act(act) {
      const outcome = await runInEnvironment(context.database, { environmentId }, act, {
        auditContext: context.auditContext,
      });
      assert(outcome, `environment ${environmentId} exists`);
      return outcome;
    },
    run: (effect) => runEffects(context, [effect]),
    pause: () => refreshStatistics(context.database),
  };
}

/** Runs every act within the transaction of a dry run, which assumes that external services succeed. */
export function insideDryRun(work: Work): DueWorkRunner {
  assert(work.dryRun);
  return {
    isolates: false,
    async act(act) {
      const { now } = await readClock(work);
      return { answer: await act({ ...work, now: now ?? work.now }), effects: [] };
    },
    run: () => assert.fail('a dry run asks for nothing outside'),
    pause: async () => undefined,
  };
}

/**
 * One kind of work that becomes due by the environment's time. Selected by state, so that an outage is caught up;
 * locked rows are skipped by other workers, so each piece is done once.
 */
export interface DueWorkHandler {
  readonly name: string;
  /**
   * Locks up to `limit` pieces due at `work.now`, longest due first, skipping locked ones, and returns their ids.
   * `only` limits them, and waits for their locks.
   */
  take(work: Work, limit: number, only?: readonly string[]): Promise<string[]>;
  /** Performs the locked pieces as sets, each as of its due date. */
  perform(work: Work, ids: readonly string[]): Promise<void>;
}
