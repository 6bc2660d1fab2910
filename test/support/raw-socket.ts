import { connect, type Socket } from 'node:net';

/** What came back over a connection until it was closed. */
export interface RawAnswer {
  readonly text: string;
  /** The status of each answer, in order. */
  readonly statuses: readonly number[];
}

/** A connection on which anything may be said. */
export class RawSocket {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #closed: Promise<void>;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    // A reset is an end as good as any.
    socket.on('error', () => undefined);
    this.#closed = new Promise((resolve) =>
      socket.once('close', () => {
        this.#isClosed = true;
        resolve();
      }),
    );
  }

  /**
   * Connects to the host of an address, from an address of this machine. `allowHalfOpen`: it stays open for us when the
   * other side has ended.
   */
  static async open(
    address: string,
    { allowHalfOpen = false, from }: { allowHalfOpen?: boolean; from?: string } = {},
  ): Promise<RawSocket> {
    const { hostname, port } = new URL(address);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen, ...(from && { localAddress: from }) });
    const raw = new RawSocket(socket);
    await new Promise((resolve) => {
      socket.once('connect', resolve);
      socket.once('close', resolve);
    });
    return raw;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  send(bytes: string | Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Says that nothing more will be sent. */
  end(): void {
    this.#socket.end();
  }

  /** Leaves what arrives unread, so that the sender has to wait. */
  stopReading(): void {
    this.#socket.pause();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Waits until the other side has closed it, and answers what came. Throws when it is still open after `withinMs`. */
  async untilClosed(withinMs = 10_000): Promise<RawAnswer> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`still open, after ${this.text.slice(0, 200)}`)), withinMs);
    try {
      await Promise.race([this.#closed, late]);
    } finally {
      clearTimeout(timer);
      this.destroy();
    }
    return { text: this.text, statuses: statusesIn(this.text) };
  }
}

/** The statuses of the answers in what came over a connection. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Sends the bytes and waits until the other side has closed the connection. */
export async function exchange(address: string, bytes: string | Uint8Array): Promise<RawAnswer> {
  const socket = await RawSocket.open(address);
  socket.send(bytes);
  return socket.untilClosed();
}
