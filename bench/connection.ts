import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A response. `text` is its beginning, for error messages. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

const headEnd = '\r\n\r\n';
const readBuffer = Buffer.alloc(64 * 1024);

/**
 * A connection with one request in flight at a time. Parses only the HTTP that the service sends: a status, a
 * content-length and a body, which is counted and not kept. A full HTTP client would use the processor time that is to
 * be measured.
 */
export class Connection {
  readonly #socket: Socket;
  #waiting: PromiseWithResolvers<Answer> | null = null;
  #answer: Answer = { status: 0, text: '' };
  #head = '';
  #missingBytes = 0;

  private constructor(address: string) {
    const { hostname, port } = new URL(address);
    // All connections read into one buffer, because none keeps the data.
    const callback = (length: number, buffer: Uint8Array) => {
      this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    };
    this.#socket = connect({
      port: Number(port),
      host: hostname,
      noDelay: true,
      onread: { buffer: readBuffer, callback },
    });
    this.#socket.on('error', (error) => this.#waiting?.reject(error));
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the service closed the connection')));
  }

  static async open(address: string): Promise<Connection> {
    const connection = new Connection(address);
    await once(connection.#socket, 'connect');
    return connection;
  }

  /** False if the service has closed it, as it does with connections idle for long. */
  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Sends a complete ASCII request and waits for its response. */
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
