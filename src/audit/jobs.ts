import { z } from 'zod';
import type { TaskList } from '../jobs/queue.ts';
import { forgetAuditLogOnce } from './actions.ts';

const ForgetPayload = z.object({ days: z.int() });

export const auditTasks: TaskList = {
  async forget_audit_log({ database }, payload) {
    await forgetAuditLogOnce(database, ForgetPayload.parse(payload).days);
  },
};

/**
 * The crontab line that deletes entries older than `days` days. Without a number there is none, and entries stay
 * forever.
 */
export function auditCrontab(days: number | null): string {
  return days === null ? '' : `23 * * * * forget_audit_log {"days":${days}}\n`;
}
