import process from 'node:process';
import type { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { exceptionsOf } from '../test/support/cells-exceptions.ts';
import { holder } from './test-queue.ts';

// Several processes run test files at the same time. Node's own reporter shows their events file by file, with one summary
// at the end.

/** An event of Node's test runner, as far as it is read here. */
interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly nesting?: number;
    readonly message?: string;
    readonly skip?: string | boolean;
    readonly todo?: string | boolean;
    readonly details?: {
      readonly type?: string;
      readonly duration_ms?: number;
      readonly error?: { failureType?: string };
    };
  };
}

const worker = new URL('test-worker.ts', import.meta.url).pathname;
// Each process ends with these; the report has one sum instead.
const processSummary = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /;
/** Events in the order of execution, which the reporter does not read. */
const unordered = new Set(['test:enqueue', 'test:dequeue', 'test:complete', 'test:plan', 'test:summary']);

export class Report {
  readonly #spec = new spec();
  readonly #startedAt = performance.now();
  readonly #seconds = new Map<string, number>();
  readonly #counts = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };

  constructor() {
    this.#spec.pipe(process.stdout, { end: false });
  }

  /** How long each file took, of those that were run to their end. */
  get seconds(): ReadonlyMap<string, number> {
    return this.#seconds;
  }

  get passed(): number {
    return this.#counts.pass;
  }

  get failed(): number {
    return this.#counts.fail + this.#counts.cancelled;
  }

  /** Runs a worker on those files, or on those of its queue, and shows each file when it is through. */
  async runWorker(files: readonly string[], variables: Record<string, string>, signal: AbortSignal): Promise<void> {
    const env = { ...process.env, ...variables };
    const events = run({ files: [worker], argv: [...files], env, signal, concurrency: 1 }) as Readable;
    let ofFile: TestEvent[] = [];
    for await (const event of events as AsyncIterable<TestEvent>) {
      if (unordered.has(event.type) || isProcessSummary(event) || isHolder(event)) continue;
      const { nesting = 0 } = event.data;
      // The file itself stands outermost.
      const shown = nesting === 0 ? event : { ...event, data: { ...event.data, nesting: nesting - 1 } };
      ofFile.push(shown);
      if (!isEndOfFile(shown)) continue;
      this.#show(judgeExceptions(ofFile, exceptionsOf(String(shown.data.name))));
      ofFile = [];
    }
    this.#show(ofFile);
  }

  #show(events: readonly TestEvent[]): void {
    for (const event of events) {
      this.#count(event);
      this.#spec.write(event);
    }
  }

  /** Reports a file that was not run to its end, whatever the reason. */
  lose(title: string): void {
    const error = new Error(`${title} was not run to its end`);
    const data = { name: title, nesting: 0, testNumber: 0, details: { duration_ms: 0, error } };
    this.#counts.fail++;
    this.#spec.write({ type: 'test:fail', data });
  }

  /** The sums, and once more what failed. */
  async end(): Promise<void> {
    const durationMs = performance.now() - this.#startedAt;
    for (const [name, value] of Object.entries({ ...this.#counts, duration_ms: durationMs })) {
      this.#spec.write({ type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${value}`, level: 'info' } });
    }
    await new Promise<void>((ended) => {
      this.#spec.once('end', ended);
      this.#spec.end();
    });
  }

  #count({ type, data }: TestEvent): void {
    if (type !== 'test:pass' && type !== 'test:fail') return;
    const { details, skip, todo } = data;
    if (isEndOfFile({ type, data })) this.#seconds.set(String(data.name), (details?.duration_ms ?? 0) / 1000);
    if (details?.type === 'suite') {
      this.#counts.suites++;
      // A suite fails with its tests, which are counted, or by itself.
      if (type === 'test:fail' && details.error?.failureType !== 'subtestsFailed') this.#counts.fail++;
      return;
    }
    this.#counts.tests++;
    if (skip !== undefined && skip !== false) this.#counts.skipped++;
    else if (todo !== undefined && todo !== false) this.#counts.todo++;
    else if (type === 'test:pass') this.#counts.pass++;
    else if (details?.error?.failureType === 'cancelledByParent') this.#counts.cancelled++;
    else this.#counts.fail++;
  }
}

/** The events of a file in which an exception that fails is no failure, and one that passes is. */
function judgeExceptions(events: readonly TestEvent[], exceptions: Readonly<Record<string, string>>): TestEvent[] {
  const failsAt: boolean[] = [];
  return events.map((event) => {
    const { type, data } = event;
    const { name = '', nesting = 0, details } = data;
    if (type !== 'test:pass' && type !== 'test:fail') return event;
    const isOfParts = type === 'test:fail' && details?.error?.failureType === 'subtestsFailed';
    const isFailure = type === 'test:fail' && (!isOfParts || failsAt[nesting + 1] === true);
    failsAt[nesting + 1] = false;
    const reason = exceptions[name];
    if (reason === undefined) {
      failsAt[nesting] ||= isFailure;
      return isFailure === (type === 'test:fail') ? event : { type: 'test:pass', data };
    }
    if (type === 'test:fail') return { type: 'test:pass', data: { ...data, todo: reason } };
    failsAt[nesting] = true;
    const error = Object.assign(new Error(`${name} passes: it is no exception (test/support/cells-exceptions.ts)`), {
      failureType: 'testCodeFailure',
    });
    return { type: 'test:fail', data: { ...data, details: { ...details, error } } };
  });
}

function isProcessSummary({ type, data }: TestEvent): boolean {
  return type === 'test:diagnostic' && data.nesting === 0 && processSummary.test(data.message ?? '');
}

/** The events about all files of a worker together, unless something else failed than a test. */
function isHolder({ type, data }: TestEvent): boolean {
  if (data.name !== holder || data.nesting !== 0) return false;
  return type !== 'test:fail' || data.details?.error?.failureType === 'subtestsFailed';
}

/** A worker reports each file as a suite. */
function isEndOfFile({ type, data }: TestEvent): boolean {
  return (type === 'test:pass' || type === 'test:fail') && data.nesting === 0;
}
