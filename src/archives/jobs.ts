import type { TaskList } from '../jobs/queue.ts';
import { archivesOf, keepPartitions } from './actions.ts';

export const archiveTasks: TaskList = {
  /** Opens the next partition of usage events when it is time, and archives old ones. */
  async keep_usage_partitions({ services }) {
    const archives = archivesOf(services);
    if (archives !== undefined) await keepPartitions(archives, Date.now());
  },
};
