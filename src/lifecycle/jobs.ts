import { z } from 'zod';
import { Problem } from '../kernel/problem.ts';
import { chargeTask, createProcessors } from '../payments/actions.ts';
import { lookTask } from '../payments/actions-processor-events.ts';
import { payloadEnvironment, payloadText, type Task, type TaskList } from '../platform/jobs.ts';
import { doDueWork } from './do-due-work.ts';
import { incompleteLifetimeMs } from './expire-incomplete.ts';
import { lookAtPayment } from './look-at-payment.ts';
import { moveClock, moveClockTask } from './move-clock.ts';
import { checkTask } from './run-checks.ts';
import { settlePayments } from './settle-payment.ts';
import { enqueueInDueEnvironments } from './store-due.ts';

const ChargePayload = z.object({ paymentIds: z.array(z.string()) });

const chargePayments: Task = (context, payload) => {
  const { paymentIds } = ChargePayload.parse(payload);
  const processors = createProcessors(context.database, context.outside);
  return settlePayments(context, processors, payloadEnvironment(payload), paymentIds);
};

const look: Task = (context, payload) => {
  const processors = createProcessors(context.database, context.outside);
  return lookAtPayment(context, processors, payloadEnvironment(payload), payloadText(payload, 'paymentId'));
};

const dueWorkTask = 'do_due_work';
// A job that has so much to do leaves the rest to the next one, so that a stop waits no longer.
const longestJobMs = 3 * 60_000;

/** Finds the environments in which something is due: one job each, so that one does not wait for another. */
const findDueWork: Task = ({ database }) =>
  enqueueInDueEnvironments(database, dueWorkTask, Date.now(), incompleteLifetimeMs);

const doDue: Task = async (context, payload) => {
  await doDueWork(context, payloadEnvironment(payload), { forMs: longestJobMs });
};

/** Checks all data, where another process is not at it already. */
const check: Task = async ({ outside }, payload) => {
  try {
    await outside?.checks?.run({ full: payload.full === true, waits: payload.full === true });
  } catch (error) {
    if (!(error instanceof Problem && error.problem === 'checkUnderWay')) throw error;
  }
};

export const lifecycleTasks: TaskList = {
  [chargeTask]: chargePayments,
  [lookTask]: look,
  [moveClockTask]: (context, payload) => moveClock(context, payloadEnvironment(payload)),
  [dueWorkTask]: doDue,
  find_due_work: findDueWork,
  [checkTask]: check,
};
