import { type Connection, DatabaseError } from 'pg';
import { problemOfOutage } from './database-problem.ts';

/** What statements behind one that failed are told, as the database tells it where each is answered by itself. */
const skipped = {
  message: 'current transaction is aborted, commands ignored until end of transaction block',
  code: '25P02',
  severity: 'ERROR',
};

/** A connection whose statements of one turn are answered together. */
export interface SyncPerTurn {
  /** Asks the database for the answers to all that was sent since it was last asked. */
  ask(): void;
}

/**
 * Ends the statements of one turn with one Sync in place of one each. The database sends its answers at a Sync, so each of
 * them is a write, a wake-up of this process and a read. Behind a statement that fails the database skips what comes before
 * the Sync, and says nothing of it: those are told here that they were skipped. Where it was an outage, it is told of all of
 * them: nobody may be looking at the one that it came to first, such as a begin.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export function syncPerTurn(connection: Connection): SyncPerTurn {
  const sync = connection.sync.bind(connection);
  const query = connection.query.bind(connection);
  const emit = connection.emit.bind(connection);
  // How many statements are still to be answered before each ReadyForQuery that is to come.
  const batches: number[] = [];
  let unasked = 0;
  const ask = () => {
    if (unasked === 0) return;
    batches.push(unasked);
    unasked = 0;
    sync();
  };
  /** The next of the batch is answered now. The driver goes on at a ReadyForQuery, of which there is one for all. */
  const goOn = (): boolean => {
    const [left] = batches;
    if (left === undefined || left === 1) return false;
    batches[0] = left - 1;
    emit('readyForQuery', { name: 'readyForQuery', status: 'T' });
    return true;
  };
  connection.sync = () => {
    unasked += 1;
  };
  // A statement of the simple protocol is answered by itself.
  connection.query = (text) => {
    ask();
    batches.push(1);
    query(text);
  };
  connection.emit = (event, ...parameters) => {
    const heard = emit(event, ...parameters);
    switch (event) {
      case 'commandComplete':
      case 'emptyQuery':
      case 'closeComplete':
        goOn();
        break;
      case 'errorMessage':
        while (goOn()) emit('errorMessage', skippedBehind(parameters[0] as DatabaseError));
        break;
      case 'readyForQuery':
        batches.shift();
        break;
    }
    return heard;
  };
  return { ask };
}

/** An error of its own for each statement: who hears it writes into it where it was called from. */
function skippedBehind(failure: DatabaseError): DatabaseError {
  const { message, code, severity } = problemOfOutage(failure) === null ? skipped : failure;
  return Object.assign(new DatabaseError(message, message.length, 'error'), { code, severity });
}
