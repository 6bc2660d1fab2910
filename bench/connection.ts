import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';

/** An answer. `text` is the beginning of it, for who wants to say what was wrong. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

const headEnd = '\r\n\r\n';

/**
 * A connection with one request under way at a time. Reads of HTTP what the service answers with: a status, a
 * content-length and a body, which it counts and does not keep. A client that knows all of HTTP would take the processor
 * time that is to be measured.
 */
export class Connection {
  readonly #socket: Socket;
  #waiting: PromiseWithResolvers<Answer> | null = null;
  #answer: Answer = { status: 0, text: '' };
  #head = '';
  #missingBytes = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      assert(typeof chunk !== 'string', 'no encoding is set');
      this.#read(chunk);
    });
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the service closed the connection')));
  }

  static open(address: string): Promise<Connection> {
    const { hostname, port } = new URL(address);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  /** False when the service has closed it, as it does with one that has been idle for long. */
  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Sends a whole request, of ASCII only, and waits for its answer. */
  ask(request: string): Promise<Answer> {
    this.#waiting = Promise.withResolvers<Answer>();
    this.#socket.write(request, 'latin1');
    return this.#waiting.promise;
  }

  close(): void {
    this.#waiting = null;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#missingBytes > 0) this.#missingBytes -= chunk.length;
    else if (!this.#readHead(chunk)) return;
    if (this.#missingBytes === 0) this.#waiting?.resolve(this.#answer);
  }

  #readHead(chunk: Buffer): boolean {
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf(headEnd);
    if (end < 0) return false;
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(this.#head) ?? [];
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#head.slice(0, end)) ?? [];
    if (status === undefined || length === undefined) {
      this.#waiting?.reject(new Error(`not an answer as the service gives them: ${this.#head.slice(0, end)}`));
      return false;
    }
    this.#missingBytes = Number(length) - (this.#head.length - end - headEnd.length);
    this.#answer = { status: Number(status), text: status === '200' ? '' : this.#head.slice(end, end + 1000).trim() };
    this.#head = '';
    return true;
  }
}
