import pg from 'pg';
import { problemOfOutage } from './database-problem.ts';

// The queue does not wait for the end of a job to be written down, and a failure of that which it does not know to be
// passing would end the process. Of this code it knows, and it tries again for hours.
const cannotConnectNow = '57P03';

function passing(error: unknown): never {
  if (error instanceof Error && problemOfOutage(error) !== null) Object.assign(error, { code: cannotConnectNow });
  throw error;
}

/** A connection of the queue: whatever is wrong with the database, it says that it cannot be connected to now. */
export class QueueClient extends pg.Client {
  // The signature of pg's own method has a dozen forms.
  // biome-ignore lint/suspicious/noExplicitAny: whatever it is given, the parent's method is given too.
  override query(...parameters: any[]): any {
    const answer = (super.query as (...all: unknown[]) => unknown).apply(this, parameters);
    return answer instanceof Promise ? answer.catch(passing) : answer;
  }
}

/** Says the same where there is no connection to be had. */
export function waitOutOutages(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (callback?: unknown) => Promise<pg.PoolClient>;
  Object.assign(pool, {
    connect: (callback?: unknown) => (callback === undefined ? connect().catch(passing) : connect(callback)),
  });
}
