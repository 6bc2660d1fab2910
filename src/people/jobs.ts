import type { TaskList } from '../jobs/queue.ts';
import { forgetSignIns } from './store-providers.ts';

// A batch that is deleted at once without holding locks for long.
const forgetAtOnce = 10_000;

export const peopleTasks: TaskList = {
  async forget_sign_ins({ database }) {
    await forgetSignIns(database, Date.now(), forgetAtOnce);
  },
};
