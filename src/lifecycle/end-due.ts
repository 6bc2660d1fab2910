import type { JobContext } from '../platform/jobs.ts';
import { runInEnvironment } from '../platform/work.ts';
import { listCancelDue, listEnvironmentsWithEndingsDue } from '../subscriptions/store-due.ts';
import { cancelIfDue } from './cancel.ts';
import { expireIncompleteOnce, incompleteLifetimeMs } from './expire-incomplete.ts';

// What one run takes of an environment; the next run, a minute later, goes on where it ended.
const endingsAtOnce = 500;

/**
 * Ends what is due to end in every environment: scheduled cancellations whose date has come, and subscriptions that
 * waited too long for a first payment. Due and not done, so an outage is caught up; each cancellation is a transaction
 * of its own, so one that fails holds up no other.
 */
export async function endDueOnce({ database }: JobContext): Promise<{ canceled: number; expired: number }> {
  let canceled = 0;
  let expired = 0;
  for (const environmentId of await listEnvironmentsWithEndingsDue(database, Date.now(), incompleteLifetimeMs)) {
    const entry = { environmentId };
    const due = await runInEnvironment(database, entry, (work) => listCancelDue(work, endingsAtOnce));
    for (const id of due?.answer ?? []) {
      const done = await runInEnvironment(database, entry, (work) => cancelIfDue(work, id));
      if (done?.answer) canceled += 1;
    }
    const ended = await runInEnvironment(database, entry, (work) =>
      expireIncompleteOnce(work, { limit: endingsAtOnce }),
    );
    expired += ended?.answer.expired ?? 0;
  }
  return { canceled, expired };
}
