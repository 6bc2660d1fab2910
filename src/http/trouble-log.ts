import { adviceOnOutage } from '../database/database-problem.ts';
import { Problem } from '../kernel/problem.ts';

/** The target of a trouble log. */
interface Log {
  error(details: object, message: string): void;
  warn(details: object, message: string): void;
}

// Outages affect every request, so one line every ten seconds is enough.
const repeatEveryMs = 10_000;

/** Logs outages that refuse many requests, with advice, each kind at most every ten seconds. */
export class TroubleLog {
  readonly #log: Log;
  readonly #kinds = new Map<string, { saidAt: number; since: number }>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Records the refusal of a request and the error behind it. Ignores refusals that the caller caused. */
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
