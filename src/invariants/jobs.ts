import type { Task, TaskList } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { checkTask } from './run-checks.ts';

/** Checks all data unless another process is already checking. */
const check: Task = async ({ outside }, payload) => {
  try {
    await outside?.checks?.run({ full: payload.full === true, waits: payload.full === true });
  } catch (error) {
    if (!(error instanceof Problem && error.problem === 'checkUnderWay')) throw error;
  }
};

export const invariantTasks: TaskList = { [checkTask]: check };
