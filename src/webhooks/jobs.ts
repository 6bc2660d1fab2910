import { z } from 'zod';
import type { WithCells } from '../database/cells.ts';
import { payloadEnvironment, runInJob, type Task, type TaskList } from '../jobs/queue.ts';
import { forgetAttemptsOnce, replayElsewhereTask, replayHere } from './actions-deliveries.ts';
import { ReplayRequest } from './delivery.ts';

const ReplayPayload = z.object({ webhookId: z.string(), replay: ReplayRequest, requestedAt: z.number() });

const replayElsewhere: Task = async (context, payload) => {
  const { cells } = (context.services ?? {}) as WithCells;
  await cells?.refresh();
  const { webhookId, replay, requestedAt } = ReplayPayload.parse(payload);
  for (const name of cells?.others() ?? []) {
    const database = await cells?.open(name);
    if (database !== undefined)
      await runInJob({ ...context, database }, payloadEnvironment(payload), (work) =>
        replayHere(work, webhookId, replay, requestedAt),
      );
  }
};

export const webhookTasks: TaskList = {
  async forget_webhook_attempts({ database }) {
    await forgetAttemptsOnce(database);
  },
  [replayElsewhereTask]: replayElsewhere,
};
