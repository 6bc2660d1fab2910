import type { JobContext } from '../platform/jobs.ts';
import { runInEnvironment, type Work } from '../platform/work.ts';
import { listCancelDue, listEnvironmentsWithEndingsDue } from '../subscriptions/store-due.ts';
import { cancelIfDue } from './cancel.ts';
import { expireIncompleteOnce, incompleteLifetimeMs } from './expire-incomplete.ts';

// What one run takes of an environment; the next run, a minute later, goes on where it ended.
const endingsAtOnce = 500;

/**
 * Ends what is due to end in every environment: scheduled cancellations whose date has come, and subscriptions that
 * waited too long for a first payment. Due and not done, so an outage is caught up. Each cancellation is a transaction
 * of its own, and so are the expiries of an environment: one that fails holds up no other, and is told at the end.
 */
export async function endDueOnce({ database }: JobContext): Promise<{ canceled: number; expired: number }> {
  const failures: unknown[] = [];
  let tried = 0;
  const attempt = async <Answer>(environmentId: number, act: (work: Work) => Promise<Answer>) => {
    tried += 1;
    try {
      return (await runInEnvironment(database, { environmentId }, act))?.answer;
    } catch (error) {
      failures.push(error);
      return undefined;
    }
  };
  let canceled = 0;
  let expired = 0;
  for (const environmentId of await listEnvironmentsWithEndingsDue(database, Date.now(), incompleteLifetimeMs)) {
    const due = await attempt(environmentId, (work) => listCancelDue(work, endingsAtOnce));
    for (const id of due ?? []) if (await attempt(environmentId, (work) => cancelIfDue(work, id))) canceled += 1;
    const ended = await attempt(environmentId, (work) => expireIncompleteOnce(work, { limit: endingsAtOnce }));
    expired += ended?.expired ?? 0;
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} of ${tried} steps failed: ${failures[0]}`);
  return { canceled, expired };
}
