import type { Work } from '../database/work.ts';

/**
 * One kind of work that comes due by the environment's time. Due and not done, so an outage is caught up; claimed under
 * a lock that other workers step over, so each piece is done once.
 */
export interface DueStep {
  readonly name: string;
  /**
   * Holds up to `limit` pieces that are due at `work.now`, the longest due first, stepping over those that somebody else
   * holds, and answers their ids. `only` narrows it to some, and waits for their locks.
   */
  claim(work: Work, limit: number, only?: readonly string[]): Promise<string[]>;
  /** Does the claimed pieces, set by set, each as of the instant at which it was due. */
  perform(work: Work, ids: readonly string[]): Promise<void>;
}
