import type { TaskList } from '../platform/jobs.ts';
import { forgetAttemptsOnce } from './actions-deliveries.ts';

export const webhookTasks: TaskList = {
  async forget_webhook_attempts({ database }) {
    await forgetAttemptsOnce(database);
  },
};
