import cluster from 'node:cluster';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import type { Log } from './http/log.ts';
import type { MetricsOfAll } from './http/metrics.ts';

// Several processes of one service on one machine. The first one has the embedded database and starts the others: those that
// answer requests share a port, and one runs jobs. All that they need of each other is in the database.

type Command = 'serve' | 'work';

const main = join(import.meta.dirname, 'main.ts');

/** The messages of a process to the one that started it. */
type Message = { readonly ready: string } | { readonly wantsMetrics: number };

/** Whether this process was started by another one of the service. */
export const isOneOfSeveral = cluster.isWorker;

// The platforms that spread connections over the sockets of one port (https://nodejs.org/api/net.html#serverlistenoptions-callback).
// There a connection is never lost with a process that was to get it. Elsewhere the first process hands connections on.
const spreading = new Set<NodeJS.Platform>(['linux', 'freebsd', 'sunos', 'aix']);

/** The options of `listen` with which several processes share a port. */
export const sharedPort = { reusePort: isOneOfSeveral && spreading.has(process.platform) };

interface Several {
  /** Processes that answer requests. */
  readonly answering: number;
  /** Whether one more runs jobs. */
  readonly works: boolean;
  readonly log: Pick<Log, 'warn'>;
  /** Called when processes end again and again. */
  readonly fail: (error: Error) => void;
}

// Longer than it takes to tell a stop of all from the end of one.
const restartAfterMs = 1_000;
// A process that ends so often has a defect, which a supervisor should see.
const mostEnds = { count: 5, withinMs: 60_000 } as const;

/** Starts the processes, waits until they are ready, and restarts each that ends. Throws when one cannot start. */
export async function startProcesses(several: Several): Promise<{ address: string; stop: () => Promise<void> }> {
  const processes = new Processes(several);
  try {
    // The others listen on the port of the first one, which may be any free one.
    const address = await processes.start('serve');
    const others: Command[] = Array.from({ length: several.answering - 1 }, () => 'serve');
    await Promise.all([...others, ...(several.works ? (['work'] as const) : [])].map((each) => processes.start(each)));
    return { address, stop: () => processes.stop() };
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

class Processes {
  readonly #several: Several;
  readonly #metrics = new AggregatorRegistry();
  readonly #running = new Set<Promise<unknown>>();
  readonly #ends: number[] = [];
  #port: string | null = null;
  #isStopping = false;

  constructor(several: Several) {
    this.#several = several;
  }

  /** Starts a process and returns what it says when it is ready: the address of one that answers requests. */
  start(command: Command): Promise<string> {
    // `npm start` is another program, which adds the command by itself.
    cluster.setupPrimary({ exec: main, args: [command] });
    const child = cluster.fork(this.#port === null ? {} : { PORT: this.#port });
    let isReady = false;
    return new Promise((resolve, reject) => {
      const ended = new Promise<void>((end) => {
        child.once('exit', (code, signal) => {
          end();
          this.#running.delete(ended);
          reject(new Error(`A process ended with ${signal ?? code} during its start.`));
          if (isReady) void this.#replace(command, signal ?? String(code));
        });
      });
      this.#running.add(ended);
      child.on('message', (message: Message) => {
        if ('ready' in message) {
          isReady = true;
          if (command === 'serve') this.#port = new URL(message.ready).port;
          resolve(message.ready);
        } else if ('wantsMetrics' in message) {
          const answer = (text: string | null) =>
            child.isConnected() && child.send({ metrics: text, of: message.wantsMetrics });
          this.#metrics.clusterMetrics().then(answer, () => answer(null));
        }
      });
    });
  }

  async #replace(command: Command, code: string): Promise<void> {
    await sleep(restartAfterMs);
    if (this.#isStopping) return;
    const now = performance.now();
    this.#ends.push(now);
    const recent = this.#ends.filter((at) => now - at < mostEnds.withinMs);
    if (recent.length > mostEnds.count) {
      this.#several.fail(
        new Error(`${recent.length} processes have ended within a minute, the last one with ${code}.`),
      );
      return;
    }
    this.#several.log.warn(`The process "${command}" has ended with ${code}. It is started again.`);
    await this.start(command).catch((error: Error) => {
      if (!this.#isStopping) this.#several.fail(error);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const child of Object.values(cluster.workers ?? {})) child?.process.kill('SIGTERM');
    await Promise.all(this.#running);
  }
}

function tell(message: Message): void {
  process.send?.(message);
}

/** Tells the process that started this one that it is ready, with the address that it listens on. */
export function tellReady(address = ''): void {
  if (isOneOfSeveral) tell({ ready: address });
}

/** Lets this process end: its connection to the one that started it would keep it alive. */
export function leaveProcesses(): void {
  cluster.worker?.disconnect();
}

// A scrape that takes longer is given up by its client.
const metricsTimeoutMs = 5_000;
let asked = 0;

/** The metrics of all processes of the service; null for a process of its own. */
export const metricsOfAll: MetricsOfAll | null = isOneOfSeveral
  ? {
      share(registries) {
        // The first one of a process makes it answer when the others are asked.
        new AggregatorRegistry();
        AggregatorRegistry.setRegistries([...registries]);
      },
      read: askForMetrics,
    }
  : null;

function askForMetrics(): Promise<string> {
  const question = ++asked;
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      process.off('message', hear);
    };
    const hear = (message: { readonly metrics?: string | null; readonly of?: number }) => {
      if (message.of !== question) return;
      end();
      if (message.metrics) resolve(message.metrics);
      else reject(new Error('a process did not tell its metrics'));
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error('the metrics of all processes took too long'));
    }, metricsTimeoutMs);
    process.on('message', hear);
    tell({ wantsMetrics: question });
  });
}
