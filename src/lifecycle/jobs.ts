import { chargeTask, createProcessors } from '../payments/actions.ts';
import { payloadEnvironment, payloadText, type Task, type TaskList } from '../platform/jobs.ts';
import { settlePayment } from './settle-payment.ts';

const chargePayment: Task = (context, payload) =>
  settlePayment(
    context,
    createProcessors(context.database),
    payloadEnvironment(payload),
    payloadText(payload, 'paymentId'),
  );

export const lifecycleTasks: TaskList = { [chargeTask]: chargePayment };
