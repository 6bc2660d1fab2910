import { adviceOnOutage } from '../database/database-problem.ts';
import { Problem } from '../kernel/problem.ts';

/** What a trouble log writes to. */
export interface Log {
  error(details: object, message: string): void;
  warn(details: object, message: string): void;
}

// Trouble comes with every request: a line now and then says the same.
const repeatEveryMs = 10_000;

/** Says in the log what refuses many requests and what to do about it, each kind of trouble at most every ten seconds. */
export class TroubleLog {
  readonly #log: Log;
  readonly #kinds = new Map<string, { saidAt: number; since: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Notes what a request was refused with, and the error behind it. Passes over what is the caller's own doing. */
  note(problem: Problem | null, error: unknown): void {
    if (problem === null || !(problem.status === 503 || problem.status === 429)) return;
    const kind = this.#kinds.get(problem.problem) ?? { saidAt: Number.NEGATIVE_INFINITY, since: 0 };
    this.#kinds.set(problem.problem, kind);
    kind.since += 1;
    const now = performance.now();
    if (now - kind.saidAt < repeatEveryMs) return;
    const refused = kind.since;
    kind.saidAt = now;
    kind.since = 0;
    const advice = adviceOnOutage(error);
    if (advice === null) {
      this.#log.warn({ refused, problem: problem.problem }, `requests are refused: ${problem.message}`);
    } else {
      const err = error instanceof Problem ? error.cause : error;
      this.#log.error({ refused, problem: problem.problem, err }, advice);
    }
  }
}
