import { adviceOnOutage } from '../database/database-problem.ts';
import { Problem } from '../kernel/problem.ts';

/** The target of a trouble log. */
interface Log {
  error(details: object, message: string): void;
  warn(details: object, message: string): void;
}

// Outages affect every request, so one line every ten seconds is enough.
const repeatEveryMs = 10_000;
// The interval at which a database that did not respond is asked again.
const askAgainMs = 1_000;

/** Logs outages that refuse many requests, with advice, each kind at most every ten seconds. */
export class TroubleLog {
  readonly #log: Log;
  readonly #kinds = new Map<string, { saidAt: number; since: number }>();

  readonly #isBack: (() => Promise<boolean>) | null;
  #outage: { readonly since: number; refused: number } | null = null;

  /** `isBack` tells whether the database responds again; without it, the end of an outage is not logged. */
  constructor(log: Log, isBack: (() => Promise<boolean>) | null = null) {
    this.#log = log;
    this.#isBack = isBack;
  }

  /** Records the refusal of a request and the error behind it. Ignores refusals that the caller caused. */
  note(problem: Problem | null, error: unknown): void {
    if (problem === null || !(problem.status === 503 || problem.status === 429)) return;
    const kind = this.#kinds.get(problem.problem) ?? { saidAt: Number.NEGATIVE_INFINITY, since: 0 };
    this.#kinds.set(problem.problem, kind);
    kind.since += 1;
    const now = performance.now();
    if (problem.problem === 'serviceUnavailable' && adviceOnOutage(error) !== null) this.#watch(now);
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

  /** Counts the refusals of an outage, and waits for its end. */
  #watch(now: number): void {
    if (this.#isBack === null) return;
    if (this.#outage === null) {
      this.#outage = { since: now, refused: 0 };
      this.#askAgain(this.#isBack);
    }
    this.#outage.refused += 1;
  }

  #askAgain(isBack: () => Promise<boolean>): void {
    const ask = async () => {
      if (!(await isBack())) return this.#askAgain(isBack);
      const { since, refused } = this.#outage ?? { since: performance.now(), refused: 0 };
      this.#outage = null;
      const seconds = Math.round((performance.now() - since) / 1000);
      this.#log.warn({ refused, seconds }, `The database is back after ${seconds} s.`);
    };
    setTimeout(() => void ask(), askAgainMs).unref();
  }
}
