import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What is cut. `request`: when half of the next request has gone through. `answer`: when the next answer begins, so what was
 * asked has been done. `before_commit`: when the next commit is asked for. `after_commit`: when its answer comes.
 */
export type Cut = 'request' | 'answer' | 'before_commit' | 'after_commit';

/** A TCP proxy on this machine that cuts one connection when it is told to, at a place that is told. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #upstreamPort: number;
  #armed: Cut | null = null;
  /** Commits that go by before the one that is cut. */
  #skips = 0;
  /** How often something was cut. */
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

  /** Where new connections lead from now on. */
  leadTo(port: number): void {
    this.#upstreamPort = port;
  }

  /** Cuts the next connection on which that happens, once; of commits, the one after `skips` others. */
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
        // The other side gets half of a request, and nobody who waits for an answer.
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

  /** What this chunk sets off, if anything; it is set off once. */
  #fires(chunk: Buffer): Cut | null {
    const armed = this.#armed;
    if (armed === null) return null;
    if (armed === 'before_commit' || armed === 'after_commit') {
      // As the driver sends it: a message of its own, in the words of the query builder.
      if (!/\bcommit\0/i.test(chunk.toString('latin1'))) return null;
      this.#skips -= 1;
      if (this.#skips >= 0) return null;
    }
    this.#armed = null;
    return armed;
  }
}
