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

/** Counts events of each kind, so that one line every ten seconds tells of all of them. Kinds must be few. */
export class Repeats {
  readonly #kinds = new Map<string, { saidAt: number; since: number }>();

  /** Counts an event. Returns the number since the last line if it is time for one, else null. */
  count(name: string): number | null {
    const kind = this.#kinds.get(name) ?? { saidAt: Number.NEGATIVE_INFINITY, since: 0 };
    this.#kinds.set(name, kind);
    kind.since += 1;
    const now = performance.now();
    if (now - kind.saidAt < repeatEveryMs) return null;
    const { since } = kind;
    kind.saidAt = now;
    kind.since = 0;
    return since;
  }
}

/** Logs outages that refuse many requests, with advice, each kind at most every ten seconds. */
export class TroubleLog {
  readonly #log: Log;
  readonly #repeats = new Repeats();
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
    if (problem.problem === 'serviceUnavailable' && adviceOnOutage(error) !== null) this.#watch(performance.now());
    const refused = this.#repeats.count(problem.problem);
    if (refused === null) return;
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
