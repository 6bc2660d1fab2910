import { Problem, type ProblemName } from '../kernel/problem.ts';

/** An outage of the database: the refusal for the caller, and the advice for the operator. */
interface Outage {
  readonly problem: ProblemName;
  readonly advice: string;
}

const unreachable: Outage = {
  problem: 'serviceUnavailable',
  advice: 'PostgreSQL is not responding. Check that it is running and reachable; the service then recovers by itself.',
};
const tooLong: Outage = {
  problem: 'databaseTookTooLong',
  advice:
    'PostgreSQL canceled a statement that ran or waited too long. See pg_stat_activity and pg_locks for the cause, or raise TOLLKEEPER_STATEMENT_TIMEOUT_MS.',
};
const full: Outage = {
  problem: 'databaseFull',
  advice: 'PostgreSQL is out of disk space. Free some space; the service then recovers by itself.',
};
const readOnly: Outage = {
  problem: 'databaseReadOnly',
  advice:
    'PostgreSQL is read-only: a standby, or default_transaction_read_only is on. Point DATABASE_URL at the primary, or turn that setting off.',
};
const failing: Outage = {
  problem: 'databaseFailing',
  advice: 'PostgreSQL is out of memory or its disk is failing. See its log for which.',
};
const tooMany: Outage = {
  problem: 'serviceUnavailable',
  advice:
    'PostgreSQL is out of connections. Raise its max_connections, or lower TOLLKEEPER_CONNECTIONS of the processes that share it.',
};

/** Keyed by PostgreSQL error codes (its manual, appendix A) and operating system error codes. */
const outages: Readonly<Record<string, Outage>> = {
  '25006': readOnly,
  '25P03': tooLong,
  '25P04': tooLong,
  '53000': failing,
  '53100': full,
  '53200': failing,
  '53300': tooMany,
  '53400': failing,
  '55P03': tooLong,
  '57014': tooLong,
  '57P01': unreachable,
  '57P02': unreachable,
  '57P03': unreachable,
  '57P04': unreachable,
  '57P05': unreachable,
  '58000': failing,
  '58030': failing,
  '58P01': failing,
  ECONNABORTED: unreachable,
  ECONNREFUSED: unreachable,
  ECONNRESET: unreachable,
  EAI_AGAIN: unreachable,
  EHOSTDOWN: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ENOTFOUND: unreachable,
  EPIPE: unreachable,
  ETIMEDOUT: unreachable,
};

// Driver errors about lost connections have no code.
const brokenConnection =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|Cannot use a pool after calling end)/;

/** The problem when no connection could be obtained; the driver's error is its `cause`. */
export function noConnection(error: unknown): Problem {
  const problem = new Problem(outageOf(error)?.problem ?? 'serviceUnavailable');
  problem.cause = error;
  return problem;
}

function outageOf(error: unknown): Outage | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return brokenConnection.test(error.message) ? unreachable : null;
  // Class 08: connection exceptions.
  return outages[code] ?? (/^08\w{3}$/.test(code) ? unreachable : null);
}

/** The constraint that refuses a row, by the name that the migrations gave it; null for another error. Citus adds the number of a shard. */
export function constraintOf(error: unknown): string | null {
  const { constraint } = error as { constraint?: unknown };
  return typeof constraint === 'string' ? constraint.replace(/_\d{6,}$/, '') : null;
}

/** The refusal for an outage of the database, or null when the error is something else. */
export function problemOfOutage(error: unknown): Problem | null {
  const outage = outageOf(error);
  return outage === null ? null : new Problem(outage.problem);
}

/** The advice for the log about the outage behind an error, or null when it is something else. */
export function adviceOnOutage(error: unknown): string | null {
  if (error instanceof Problem) {
    // A connection failure always has a cause, even if PostgreSQL only rejects new connections.
    return error.cause === undefined ? null : (outageOf(error.cause) ?? unreachable).advice;
  }
  return outageOf(error)?.advice ?? null;
}

/** Whether a later attempt to connect may succeed: the server is starting, restarting, or not there yet. */
export function mayComeBack(error: unknown): boolean {
  return ['serviceUnavailable'].includes(outageOf(error)?.problem ?? '');
}
