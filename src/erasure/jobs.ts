import { z } from 'zod';
import { archivesOf, eraseFromArchives } from '../archives/actions.ts';
import {
  enqueue,
  type JobContext,
  payloadEnvironment,
  payloadText,
  runInJob,
  type Task,
  type TaskList,
} from '../jobs/queue.ts';
import { createProcessors } from '../payments/actions.ts';
import { deleteCustomerReference, listReferencesOfCustomer } from '../payments/store-processors.ts';
import { eraseNextCopies, erasureTask, finishErasure, firstProgress, type Progress } from './actions.ts';

// Written by this file into the payload of the next job.
const ProgressPayload = z.object({ progress: z.custom<Progress>().nullable() });

// A long job leaves the rest to the next one, so that stopping the worker takes no longer.
const longestJobMs = 60_000;

/** Erases the copies of a customer's data, batch by batch, and then the customer at its processors. */
const erase: Task = async (context, payload) => {
  const environmentId = payloadEnvironment(payload);
  const customerId = payloadText(payload, 'customerId');
  let progress = ProgressPayload.parse(payload).progress ?? firstProgress;
  const endsAt = Date.now() + longestJobMs;
  while (progress.stage !== 'processors') {
    const current = progress;
    if (Date.now() > endsAt) {
      await runInJob(context, environmentId, (work) => enqueue(work, erasureTask, { customerId, progress: current }));
      return;
    }
    const next = await runInJob(context, environmentId, (work) => eraseNextCopies(work, customerId, current));
    if (next === null) return;
    progress = next;
  }
  await leaveArchives(context, environmentId, customerId);
  await leaveProcessors(context, environmentId, customerId);
  await runInJob(context, environmentId, (work) => finishErasure(work, customerId));
};

/** Erases the customer's data from the archives of usage events. May be repeated. */
async function leaveArchives({ services }: JobContext, environmentId: number, customerId: string): Promise<void> {
  const archives = archivesOf(services);
  if (archives !== undefined) await eraseFromArchives(archives, environmentId, customerId);
}

/** Deletes the customer at its processors. May be repeated. */
async function leaveProcessors(context: JobContext, environmentId: number, customerId: string): Promise<void> {
  const references = await runInJob(context, environmentId, (work) => listReferencesOfCustomer(work, customerId));
  for (const { processor, reference } of references ?? []) {
    await createProcessors(context.database, context.services).named(processor).deleteCustomer?.(reference);
    await runInJob(context, environmentId, (work) => deleteCustomerReference(work, customerId, processor));
  }
}

export const erasureTasks: TaskList = { [erasureTask]: erase };
