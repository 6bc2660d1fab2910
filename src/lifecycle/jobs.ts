import { chargeTask, createProcessors } from '../payments/actions.ts';
import { payloadEnvironment, payloadText, type Task, type TaskList } from '../platform/jobs.ts';
import { endDueOnce } from './end-due.ts';
import { settlePayment } from './settle-payment.ts';

const chargePayment: Task = (context, payload) =>
  settlePayment(
    context,
    createProcessors(context.database),
    payloadEnvironment(payload),
    payloadText(payload, 'paymentId'),
  );

const endDue: Task = async (context) => {
  await endDueOnce(context);
};

export const lifecycleTasks: TaskList = { [chargeTask]: chargePayment, end_due: endDue };
