import type { Task, TaskList } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { checksOf, checkTask } from './run-checks.ts';

/** Checks all data, where another process is not at it already. */
const check: Task = async ({ services }, payload) => {
  try {
    await checksOf(services)?.run({ full: payload.full === true, waits: payload.full === true });
  } catch (error) {
    if (!(error instanceof Problem && error.problem === 'checkRunning')) throw error;
  }
};

export const invariantTasks: TaskList = { [checkTask]: check };
