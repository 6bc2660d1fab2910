import type { TaskList } from '../jobs/queue.ts';
import { forgetAttemptsOnce } from './actions-deliveries.ts';

export const webhookTasks: TaskList = {
  async forget_webhook_attempts({ database }) {
    await forgetAttemptsOnce(database);
  },
};
