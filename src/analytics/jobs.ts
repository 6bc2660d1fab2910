import type { TaskList } from '../jobs/queue.ts';
import { mergeSumsOnce, takeBalancesOnce } from './actions.ts';

export const analyticsTasks: TaskList = {
  /** Takes the balances of months that are over. */
  async take_mrr_balances({ database }) {
    await takeBalancesOnce(database);
  },
  /** Merges the sums of days, adds to those of months, and closes idle roll-ups. */
  async merge_daily_sums({ database }) {
    await mergeSumsOnce(database);
  },
};
