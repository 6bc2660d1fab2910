import { z } from 'zod';
import type { TaskList } from '../jobs/queue.ts';
import { forgetAuditLogOnce } from './actions.ts';

const ForgetPayload = z.object({ days: z.int() });

export const auditTasks: TaskList = {
  async forget_audit_log({ database }, payload) {
    await forgetAuditLogOnce(database, ForgetPayload.parse(payload).days);
  },
};

/** When entries older than so many days go: a line in cron's notation. Without a number they stay for ever. */
export function auditCrontab(days: number | null): string {
  return days === null ? '' : `23 * * * * forget_audit_log {"days":${days}}\n`;
}
