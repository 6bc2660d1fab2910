import { payloadEnvironment, payloadText, type Task, type TaskList } from '../platform/jobs.ts';
import { runInEnvironment } from '../platform/work.ts';
import { createProcessors } from './actions.ts';
import { applyRefundOutcome, findPendingRefund, performRefund, refundTask } from './actions-refund.ts';

/** Takes one refund to its end: read, tell the processor, write down. Each part may be repeated. */
const settleRefund: Task = async ({ database }, payload) => {
  const entry = { environmentId: payloadEnvironment(payload) };
  const refundId = payloadText(payload, 'refundId');
  const pending = await runInEnvironment(database, entry, (work) => findPendingRefund(work, refundId));
  if (pending === null || pending.answer === null) return;
  const outcome = await performRefund(createProcessors(database), pending.answer);
  await runInEnvironment(database, entry, (work) => applyRefundOutcome(work, refundId, outcome));
};

export const paymentTasks: TaskList = { [refundTask]: settleRefund };
