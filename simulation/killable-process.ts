import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { program } from '../test/support/program.ts';

// Not a performance limit: a process that has not started by then will not start.
const longestStartMs = 60_000;
const keptOutput = 20_000;

/** One process of the service, started like an operator would: `serve` or `work`. It may be killed and restarted. */
export class ServiceProcess {
  readonly command: 'serve' | 'work';
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcessByStdio<null, Readable, Readable> | null = null;
  #output = '';
  /** Its current or last port. */
  port = 0;

  constructor(command: 'serve' | 'work', environment: Readonly<Record<string, string>>) {
    this.command = command;
    this.#environment = environment;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The end of its output. */
  get output(): string {
    return this.#output;
  }

  /** Starts it and waits until it serves or works. Throws if it exits instead. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [program, this.command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#environment },
    });
    this.#child = child;
    const begun = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => begun.reject(new Error(`${this.command} does not start: ${this.#output}`)),
      longestStartMs,
    );
    child.once('close', () => begun.reject(new Error(`${this.command} ended: ${this.#output}`)));
    let printed = '';
    const read = (chunk: Buffer) => {
      printed += printed.length < keptOutput ? chunk : '';
      this.#output = `${this.#output}${chunk}`.slice(-keptOutput);
      const [, port] = /listens on http:\/\/[^:]+:(\d+)/.exec(printed) ?? [];
      if (port !== undefined) this.port = Number(port);
      if (port !== undefined || /is running jobs/.test(printed)) begun.resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    try {
      await begun.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** kill -9. Resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
