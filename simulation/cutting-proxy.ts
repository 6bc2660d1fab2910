import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The place of a cut:
 * - `request`: after half of the next request;
 * - `answer`: at the start of the next response, so the request was processed;
 * - `before_commit`: at the next commit;
 * - `after_commit`: at the response to it.
 */
export type Cut = 'request' | 'answer' | 'before_commit' | 'after_commit';

/** A local TCP proxy that cuts one connection on demand, at a given place. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #upstreamPort: number;
  #armed: Cut | null = null;
  /** Commits to pass before the one that is cut. */
  #skips = 0;
  /** The number of cuts. */
  cuts = 0;

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
    this.#server = createServer((client) => this.#carry(client));
  }

  static async start(upstreamPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(upstreamPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sets the target of new connections. */
  leadTo(port: number): void {
    this.#upstreamPort = port;
  }

  /** Cuts the next connection at this place, once; for commits, after `skips` others. */
  arm(cut: Cut, skips = 0): void {
    [this.#armed, this.#skips] = [cut, skips];
  }

  disarm(): void {
    this.#armed = null;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #carry(client: Socket): void {
    const upstream = connect(this.#upstreamPort, '127.0.0.1');
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    let cutsAnswer = false;
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    const cut = () => {
      this.cuts += 1;
      end();
    };
    client.on('data', (chunk: Buffer) => {
      const armed = this.#fires(chunk);
      if (armed === 'request') {
        // The other side gets half of a request, and nobody waits for the response.
        upstream.end(chunk.subarray(0, chunk.length / 2));
        this.cuts += 1;
        client.destroy();
      } else if (armed === 'before_commit') cut();
      else {
        if (armed !== null) cutsAnswer = true;
        upstream.write(chunk);
      }
    });
    upstream.on('data', (chunk: Buffer) => {
      if (cutsAnswer) cut();
      else client.write(chunk);
    });
  }

  /** The cut that this chunk triggers, if any; it triggers once. */
  #fires(chunk: Buffer): Cut | null {
    const armed = this.#armed;
    if (armed === null) return null;
    if (armed === 'before_commit' || armed === 'after_commit') {
      // The driver sends it as a separate message, with the query builder's text.
      if (!/\bcommit\0/i.test(chunk.toString('latin1'))) return null;
      this.#skips -= 1;
      if (this.#skips >= 0) return null;
    }
    this.#armed = null;
    return armed;
  }
}
