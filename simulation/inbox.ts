import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from './random.ts';

/** A message received by the endpoint. */
export interface Taken {
  readonly eventId: string;
  readonly objectId: string;
}

/** The seller's endpoint: it records messages, and fails occasionally. */
export class Inbox {
  readonly #server: Server;
  readonly #random: Random;
  readonly taken: Taken[] = [];
  readonly #failed = new Set<string>();
  failureRate = 0;

  private constructor(random: Random) {
    this.#random = random;
    this.#server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      try {
        for await (const part of request) parts.push(part);
      } catch {
        // The sender was killed.
        return;
      }
      const { eventId, id } = JSON.parse(Buffer.concat(parts).toString());
      // After three failures of an event later ones need not wait for it, so none fails that often.
      if (!this.#failed.has(eventId) && this.#random.chance(this.failureRate)) {
        this.#failed.add(eventId);
        if (this.#random.chance(0.5)) request.socket.destroy();
        else response.writeHead(500).end();
        return;
      }
      this.taken.push({ eventId, objectId: id });
      response.writeHead(204).end();
    });
  }

  static async start(random: Random): Promise<Inbox> {
    const inbox = new Inbox(random);
    await new Promise<void>((resolve) => inbox.#server.listen(0, '127.0.0.1', resolve));
    return inbox;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
