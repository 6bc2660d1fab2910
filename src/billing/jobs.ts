import { z } from 'zod';
import { enqueue, payloadEnvironment, payloadText, runInJob, type Task, type TaskList } from '../jobs/queue.ts';
import { chargeTask, createProcessors } from '../payments/actions.ts';
import { syncPaymentTask } from '../payments/actions-processor-events.ts';
import { refundTask } from '../payments/actions-refund.ts';
import { scheduleInterimsTask } from '../pricing/store-prices.ts';
import { doDueWork } from './do-due-work.ts';
import { incompleteLifetimeMs } from './end-subscription.ts';
import { moveClock, moveClockTask } from './move-clock.ts';
import { scheduleInterims } from './renew.ts';
import { settlePayments, settleRefund, syncPayment } from './settle-payment.ts';
import { enqueueInDueEnvironments } from './store-due.ts';

const ChargePayload = z.object({ paymentIds: z.array(z.string()), requestedAt: z.number().optional() });

const chargePayments: Task = (context, payload) => {
  const { paymentIds, requestedAt } = ChargePayload.parse(payload);
  const processors = createProcessors(context.database, context.services);
  return settlePayments(context, processors, payloadEnvironment(payload), paymentIds, requestedAt);
};

const look: Task = (context, payload) => {
  const processors = createProcessors(context.database, context.services);
  return syncPayment(context, processors, payloadEnvironment(payload), payloadText(payload, 'paymentId'));
};

const refund: Task = (context, payload) => {
  const processors = createProcessors(context.database, context.services);
  return settleRefund(context, processors, payloadEnvironment(payload), payloadText(payload, 'refundId'));
};

/** Schedules a page of subscriptions, and asks for the next page, so that a request waits for the first one only. */
const scheduleSome: Task = async (context, payload) => {
  const [pricingModelId, after] = [payloadText(payload, 'pricingModelId'), payloadText(payload, 'after')];
  await runInJob(context, payloadEnvironment(payload), async (work) => {
    const last = await scheduleInterims(work, pricingModelId, after);
    if (last === null) return;
    const key = `${scheduleInterimsTask}:${pricingModelId}:${last}`;
    await enqueue(work, scheduleInterimsTask, { pricingModelId, after: last }, { key });
  });
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
  [scheduleInterimsTask]: scheduleSome,
  find_due_work: findDueWork,
};
