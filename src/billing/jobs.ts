import { z } from 'zod';
import { payloadEnvironment, payloadText, type Task, type TaskList } from '../jobs/queue.ts';
import { chargeTask, createProcessors } from '../payments/actions.ts';
import { syncPaymentTask } from '../payments/actions-processor-events.ts';
import { refundTask } from '../payments/actions-refund.ts';
import { doDueWork } from './do-due-work.ts';
import { incompleteLifetimeMs } from './end-subscription.ts';
import { moveClock, moveClockTask } from './move-clock.ts';
import { settlePayments, settleRefund, syncPayment } from './settle-payment.ts';
import { enqueueInDueEnvironments } from './store-due.ts';

const ChargePayload = z.object({ paymentIds: z.array(z.string()) });

const chargePayments: Task = (context, payload) => {
  const { paymentIds } = ChargePayload.parse(payload);
  const processors = createProcessors(context.database, context.services);
  return settlePayments(context, processors, payloadEnvironment(payload), paymentIds);
};

const look: Task = (context, payload) => {
  const processors = createProcessors(context.database, context.services);
  return syncPayment(context, processors, payloadEnvironment(payload), payloadText(payload, 'paymentId'));
};

const refund: Task = (context, payload) => {
  const processors = createProcessors(context.database, context.services);
  return settleRefund(context, processors, payloadEnvironment(payload), payloadText(payload, 'refundId'));
};

const dueWorkTask = 'do_due_work';
// A long job leaves the rest to the next one, so that stopping the worker takes no longer.
const longestJobMs = 3 * 60_000;

/** Finds the environments with due work and enqueues one job for each, so that they are independent. */
const findDueWork: Task = ({ database }) =>
  enqueueInDueEnvironments(database, dueWorkTask, Date.now(), incompleteLifetimeMs);

const doDue: Task = async (context, payload) => {
  await doDueWork(context, payloadEnvironment(payload), { forMs: longestJobMs });
};

export const billingTasks: TaskList = {
  [chargeTask]: chargePayments,
  [syncPaymentTask]: look,
  [refundTask]: refund,
  [moveClockTask]: (context, payload) => moveClock(context, payloadEnvironment(payload)),
  [dueWorkTask]: doDue,
  find_due_work: findDueWork,
};
