import { Worker } from 'node:worker_threads';
import { Problem } from '../kernel/problem.ts';
import type { InvoiceDocument } from './invoice-document.ts';

/** The limits of the layout of documents in one process. */
interface LayoutLimits {
  /** Documents that are laid out at a time, each by a worker thread. */
  readonly workers: number;
  /** Documents that wait for a worker. */
  readonly waiting: number;
  /** For one document, with the start of its worker. */
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

const layoutLimits: LayoutLimits = {
  // The event loop and PostgreSQL need the other processors.
  workers: 2,
  // An invoice of a page takes some 50 ms, so the last one waits for about two seconds.
  waiting: 50,
  // An invoice of 1,000 lines takes a second or two.
  timeoutMs: 10_000,
  memoryMb: 512,
};

interface Task {
  readonly document: InvoiceDocument;
  readonly resolve: (pdf: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** Worker threads that lay out documents, so that no document holds up the event loop and with it all tenants. */
export class PdfWorkers {
  readonly #limits: LayoutLimits;
  readonly #waiting: Task[] = [];
  readonly #idle: Worker[] = [];
  #workers = 0;

  constructor(limits: Partial<LayoutLimits> = {}) {
    this.#limits = { ...layoutLimits, ...limits };
  }

  /** The PDF of a document. Refuses with `overloaded` if too many wait, or if the layout takes too long. */
  render(document: InvoiceDocument): Promise<Buffer> {
    if (this.#waiting.length >= this.#limits.waiting) return Promise.reject(new Problem('overloaded'));
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    this.#waiting.push({ document, resolve, reject });
    this.#work();
    return promise;
  }

  #work(): void {
    if (this.#waiting.length === 0) return;
    const worker = this.#idle.pop() ?? (this.#workers < this.#limits.workers ? this.#start() : undefined);
    const task = worker && this.#waiting.shift();
    if (worker !== undefined && task !== undefined) this.#layOut(worker, task);
  }

  #start(): Worker {
    this.#workers += 1;
    const worker = new Worker(new URL('./actions-pdf-layout.ts', import.meta.url), {
      // Options of the process, such as its preloaded modules, are not for its workers.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
    });
    // Without a listener, an error between two documents would end the process. `exit` follows it.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      this.#workers -= 1;
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
      this.#work();
    });
    return worker;
  }

  #layOut(worker: Worker, { document, resolve, reject }: Task): void {
    worker.ref();
    const finish = () => {
      clearTimeout(timeout);
      worker.off('message', answer).off('error', fail);
    };
    const timeout = setTimeout(() => {
      finish();
      reject(new Problem('overloaded'));
      // Ends the thread in the middle of its work; `exit` starts another one.
      void worker.terminate();
    }, this.#limits.timeoutMs);
    const answer = (pdf: Uint8Array) => {
      finish();
      resolve(Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength));
      // An idle worker does not keep the process.
      worker.unref();
      this.#idle.push(worker);
      this.#work();
    };
    const fail = (error: Error) => {
      finish();
      reject(error);
    };
    worker.once('message', answer).once('error', fail);
    worker.postMessage(document);
  }
}

const workers = new PdfWorkers();

/** Renders an invoice as a PDF of A4 pages. */
export function invoicePdf(document: InvoiceDocument): Promise<Buffer> {
  return workers.render(document);
}
