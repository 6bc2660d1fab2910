import { payloadEnvironment, payloadText, runInJob, type Task, type TaskList } from '../jobs/queue.ts';
import { createProcessors } from './actions.ts';
import { applyAttachOutcome, attachTask, findPendingAttachment, recordCustomerReference } from './actions-attach.ts';
import { forgetAttemptsOnce } from './actions-attempts.ts';
import { detachTask } from './actions-change-method.ts';
import { forgetProcessorEventsOnce } from './actions-processor-events.ts';
import { findDetached } from './store-payment-methods.ts';

/**
 * Attaches one payment method at an external processor: identifies the customer, which is stored at once so that it is
 * created once, then attaches the payment method. Each step may be repeated.
 */
const attach: Task = async (context, payload) => {
  const environmentId = payloadEnvironment(payload);
  const id = payloadText(payload, 'paymentMethodId');
  const pending = await runInJob(context, environmentId, (work) => findPendingAttachment(work, id));
  if (pending === null) return;
  const processor = createProcessors(context.database, context.services).named(pending.processor);
  let { request } = pending;
  if (request.customerReference === null && processor.identifyCustomer !== undefined) {
    const reported = await processor.identifyCustomer(request);
    const customerReference = await runInJob(context, environmentId, (work) =>
      recordCustomerReference(work, request.customer.id, processor.name, reported),
    );
    request = { ...request, customerReference };
  }
  const outcome = await processor.attachPaymentMethod(request);
  await runInJob(context, environmentId, (work) => applyAttachOutcome(work, id, outcome));
};

/** Removes one payment method at an external processor. May be repeated. */
const detach: Task = async (context, payload) => {
  const id = payloadText(payload, 'paymentMethodId');
  const method = await runInJob(context, payloadEnvironment(payload), (work) => findDetached(work, id));
  if (method === null) return;
  const processor = createProcessors(context.database, context.services).named(method.processor);
  await processor.detachPaymentMethod?.(method.processorToken);
};

export const paymentTasks: TaskList = {
  [detachTask]: detach,
  [attachTask]: attach,
  async forget_processor_events({ database }) {
    await forgetProcessorEventsOnce(database);
  },
  async forget_attempts({ database }) {
    await forgetAttemptsOnce(database);
  },
};
