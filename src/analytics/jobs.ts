import type { TaskList } from '../jobs/queue.ts';
import { takeBalancesOnce } from './actions.ts';

export const analyticsTasks: TaskList = {
  /** Takes the balances of months that are over. */
  async take_mrr_balances({ database }) {
    await takeBalancesOnce(database);
  },
};
