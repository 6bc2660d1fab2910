import pg from 'pg';
import { problemOfOutage } from './database-problem.ts';

// graphile-worker does not wait until the end of a job is stored, and an error that it does not know to be transient
// would end the process. It knows this code and retries for hours.
const cannotConnectNow = '57P03';

function passing(error: unknown): never {
  if (error instanceof Error && problemOfOutage(error) !== null) Object.assign(error, { code: cannotConnectNow });
  throw error;
}

/** A connection of the queue that reports any outage of the database as "cannot connect now". */
export class QueueClient extends pg.Client {
  // The signature of pg's own method has a dozen overloads.
  // biome-ignore lint/suspicious/noExplicitAny: whatever it is given, the parent's method is given too.
  override query(...parameters: any[]): any {
    const answer = (super.query as (...all: unknown[]) => unknown).apply(this, parameters);
    return answer instanceof Promise ? answer.catch(passing) : answer;
  }
}

/** Reports the same error when no connection is available. */
export function waitOutOutages(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (callback?: unknown) => Promise<pg.PoolClient>;
  Object.assign(pool, {
    connect: (callback?: unknown) => (callback === undefined ? connect().catch(passing) : connect(callback)),
  });
}
