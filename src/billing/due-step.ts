import type { Work } from '../database/work.ts';

/**
 * One kind of work that becomes due by the environment's time. Selected by state, so that an outage is caught up;
 * locked rows are skipped by other workers, so each piece is done once.
 */
export interface DueStep {
  readonly name: string;
  /**
   * Locks up to `limit` pieces due at `work.now`, longest due first, skipping locked ones, and returns their ids.
   * `only` limits them, and waits for their locks.
   */
  claim(work: Work, limit: number, only?: readonly string[]): Promise<string[]>;
  /** Performs the locked pieces as sets, each as of its due date. */
  perform(work: Work, ids: readonly string[]): Promise<void>;
}
