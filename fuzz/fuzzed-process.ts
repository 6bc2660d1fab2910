import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, createPool, defaultSchema } from '../src/database/database.ts';
import type { Target } from './tenants.ts';

/** The service in a separate process. */
export interface FuzzedService extends Target {
  readonly pid: number;
  /** The logged errors of a request. */
  readonly logOf: (requestId: string) => string | undefined;
  readonly isRunning: () => boolean;
  readonly stop: () => Promise<void>;
}

// More log lines than anybody reads; the oldest are dropped.
const keptLines = 2000;

// Retained memory shows best after a garbage collection.
const collectOnSignal = new URL('../scripts/collect-on-signal.js', import.meta.url).href;
const collectWithinMs = 300;

/** Starts `serve` on the database, as an operator would. */
export async function startService(databaseUrl: string, dataDirectory: string): Promise<FuzzedService> {
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--expose-gc', '--import', collectOnSignal, main, 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: databaseUrl,
      TOLLKEEPER_DATA_DIR: dataDirectory,
      LOG_LEVEL: 'error',
    },
  });
  const ended = once(child, 'exit');
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>();
  child.once('exit', (code, signal) => reject(new Error(`the service ended: ${code ?? signal}`)));
  const log = new Map<string, string>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [, found] = /listens on (http\S+)/.exec(line) ?? [];
    if (found !== undefined) resolve(found);
    noteLine(log, line);
  });
  const address = await listening;
  const ownerPool = createPool({ schema: defaultSchema, url: databaseUrl, size: 3, as: 'owner' });
  const servicePool = createPool({ schema: defaultSchema, url: databaseUrl, size: 3, as: 'service' });
  return {
    address,
    owner: createDatabase(ownerPool),
    database: createDatabase(servicePool),
    pid: child.pid ?? 0,
    logOf: (requestId) => log.get(requestId),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      await Promise.all([ownerPool.end(), servicePool.end()]);
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function noteLine(log: Map<string, string>, line: string): void {
  if (!line.startsWith('{')) return;
  const { requestId, err, msg } = JSON.parse(line);
  // Background messages are recorded once, by their text.
  log.set(requestId ?? `(background) ${msg}`, err?.stack ?? msg);
  if (log.size > keptLines) log.delete(log.keys().next().value ?? '');
}

/** The resident memory and the heap of the process, in bytes. */
export interface MemorySample {
  readonly resident: number;
  readonly heap: number;
}

/** Samples the memory of the service until stopped. */
export function watchMemory({ address, pid }: FuzzedService, everyMs = 3000) {
  const samples: MemorySample[] = [];
  const look = async () => {
    process.kill(pid, 'SIGUSR2');
    await sleep(collectWithinMs);
    const metrics = await (await fetch(`${address}/metrics`)).text();
    const [, heap] = /^tollkeeper_nodejs_heap_size_used_bytes (\S+)/m.exec(metrics) ?? [];
    const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
    samples.push({ resident: Number(kilobytes) * 1024, heap: Number(heap) });
  };
  // A failed sample is skipped; liveness is checked elsewhere.
  const timer = setInterval(() => look().catch(() => undefined), everyMs);
  return {
    stop(): MemoryGrowth {
      clearInterval(timer);
      return growthOf(samples);
    },
  };
}

export interface MemoryGrowth {
  readonly samples: number;
  readonly second: MemorySample;
  readonly last: MemorySample;
  /** Whether the last quarter of the run used so much more than the second that memory leaks. */
  readonly grows: boolean;
}

// Pages kept by the allocator, and requests in flight.
const residentAllowance = 96 * 1024 * 1024;
const heapAllowance = 32 * 1024 * 1024;
// The first quarter is the warm-up: code is compiled, and caches fill.
const fewestSamples = 16;

function growthOf(samples: readonly MemorySample[]): MemoryGrowth {
  const quarter = Math.floor(samples.length / 4);
  const second = medianOf(samples.slice(quarter, 2 * quarter));
  const last = medianOf(samples.slice(3 * quarter));
  const grows =
    samples.length >= fewestSamples &&
    (last.resident > second.resident + residentAllowance || last.heap > second.heap + heapAllowance);
  return { samples: samples.length, second, last, grows };
}

function medianOf(samples: readonly MemorySample[]): MemorySample {
  const middle = (values: number[]) => values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
  return { resident: middle(samples.map((each) => each.resident)), heap: middle(samples.map((each) => each.heap)) };
}
