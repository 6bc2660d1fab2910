import { Piscina } from 'piscina';
import { Problem } from '../kernel/problem.ts';

/** The limits of the worker threads of one process. */
interface ThreadLimits {
  /** Tasks at a time, each in a thread of its own. */
  readonly threads: number;
  /** Tasks that wait for a thread. */
  readonly waiting: number;
  /** For one task, from the time at which it is asked for. */
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

const threadLimits: ThreadLimits = {
  // The event loop and PostgreSQL need the other processors.
  threads: 2,
  // A PDF of a page takes some 25 ms, so the last one waits for less than a second.
  waiting: 50,
  // An invoice of 1,000 lines takes a second or two.
  timeoutMs: 10_000,
  memoryMb: 512,
};

/** A function that a thread runs: its name, and the file that exports it. The service does not load the file. */
interface Program {
  readonly file: URL;
  readonly name: string;
}

/** A function of values that a thread can be sent. */
type Run = (input: never) => unknown;

/** Worker threads for work that takes long, such as a layout: no such work holds up the event loop, and with it all tenants. */
export class Threads {
  readonly #limits: ThreadLimits;
  #pool: Piscina | null = null;

  constructor(limits: Partial<ThreadLimits> = {}) {
    this.#limits = { ...threadLimits, ...limits };
  }

  /** The result of the function. Refuses with `overloaded` if too many tasks wait, or if this one takes too long. */
  async run<Wanted extends Run>(program: Program, input: Parameters<Wanted>[0]): Promise<Awaited<ReturnType<Wanted>>> {
    this.#pool ??= this.#start();
    if (this.#pool.queueSize >= this.#limits.waiting) throw new Problem('overloaded');
    const signal = AbortSignal.timeout(this.#limits.timeoutMs);
    try {
      return await this.#pool.run(input, { filename: program.file.href, name: program.name, signal });
    } catch (error) {
      // The thread was ended in the middle of the task, and another one has started.
      throw signal.aborted ? new Problem('overloaded') : error;
    }
  }

  #start(): Piscina {
    const { threads, memoryMb } = this.#limits;
    const pool = new Piscina({
      // As many at all times: a thread that is ended is replaced at once, and takes a task that waits.
      minThreads: threads,
      maxThreads: threads,
      // Options of the process, such as its preloaded modules, are not for its threads.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    // A thread that fails between two tasks is replaced. Without a listener it would end the process.
    pool.on('error', () => undefined);
    return pool;
  }
}

/** The threads of this process. */
export const threads = new Threads();
