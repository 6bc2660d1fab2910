import { Readable } from 'node:stream';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';

/** A stream as its request opens it. */
export interface Opening {
  /** The person or the key that asks. */
  readonly caller: string;
  readonly organizationId: string;
  readonly openedAt: Instant;
  readonly seconds: number;
}

export function openingOf({ userId, apiKeyId, organizationId }: Work, seconds: number): Opening {
  return { caller: String(userId ?? apiKeyId), organizationId, openedAt: Date.now(), seconds };
}

/** The part of the services that streams use. */
export interface WithEventStreams {
  readonly eventStreams?: EventStreams;
}

// Load balancers and updates end connections in any case; a reader goes on where it was.
export const longestSeconds = 600;
// A person sees a change within a second.
export const lookEveryMs = 1_000;
// Proxies close a connection without traffic, many of them after 30 or 60 seconds.
const heartbeatMs = 15_000;
// Each stream holds a connection and a transaction a second at most.
const mostStreams = 200;
// Half of them: one organization does not keep the others of an installation out.
export const mostOfOrganization = 100;
// As many windows as one person looks at.
export const mostOfOneCaller = 12;
// Some hundred messages: a reader who takes none is gone.
const mostUnreadBytes = 64 * 1024;

/** One stream of server-sent events. */
export class EventStream extends Readable {
  readonly opening: Opening;
  readonly #endsAt: Instant;
  #wroteAt: Instant;

  constructor(opening: Opening) {
    super({ highWaterMark: mostUnreadBytes, read: () => undefined });
    this.opening = opening;
    this.#endsAt = opening.openedAt + opening.seconds * 1_000;
    this.#wroteAt = opening.openedAt;
  }

  /** Whether it is over, and ends it if its time has passed. */
  isOver(now: Instant): boolean {
    // Nobody reads the end of a stream whose connection was lost before its first byte.
    if (now >= this.#endsAt + heartbeatMs) this.destroy();
    else if (now >= this.#endsAt) this.end();
    return now >= this.#endsAt || this.destroyed;
  }

  write(now: Instant, message: string): void {
    if (this.readableEnded || this.destroyed) return;
    if (this.readableLength > mostUnreadBytes) return void this.destroy();
    this.push(message);
    this.#wroteAt = now;
  }

  /** Writes the message if nothing else was written for a while. */
  beat(now: Instant, message: string): void {
    if (now - this.#wroteAt >= heartbeatMs) this.write(now, message);
  }

  end(): void {
    if (!this.readableEnded && !this.destroyed) this.push(null);
  }
}

/** The open streams of one process, which have its connections and transactions to share. */
export class EventStreams {
  readonly #open = new Set<EventStream>();
  #isStopped = false;

  /** Adds a stream until it closes. Refuses more of them than the process, an organization or one caller may have. */
  add(stream: EventStream): void {
    const { caller, organizationId } = stream.opening;
    const count = (isLike: (opening: Opening) => boolean) =>
      [...this.#open].filter(({ opening }) => isLike(opening)).length;
    if (this.#isStopped || this.#open.size >= mostStreams) throw new Problem('overloaded');
    if (count((other) => other.caller === caller) >= mostOfOneCaller)
      throw new Problem('tooManyStreams', { limit: mostOfOneCaller, of: 'caller' });
    if (count((other) => other.organizationId === organizationId) >= mostOfOrganization)
      throw new Problem('tooManyStreams', { limit: mostOfOrganization, of: 'organization' });
    this.#open.add(stream);
    stream.once('close', () => this.#open.delete(stream));
  }

  /** Ends every stream, and opens no other. */
  stop(): void {
    this.#isStopped = true;
    for (const stream of this.#open) stream.end();
  }
}

// Readers of server-sent events pass over it.
const comment = ': nothing new\n\n';

/**
 * Opens a stream that asks the database once a second, each time for its caller: it ends when the caller may read no more. A
 * look that takes longer than a second delays the next one.
 */
export function openLookingStream(
  streams: EventStreams,
  opening: Opening,
  look: (now: Instant) => Promise<string | null>,
): EventStream {
  const stream = new EventStream(opening);
  streams.add(stream);
  // A stream of no seconds has one look.
  const isOnce = opening.seconds === 0;
  let isLooking = false;
  const next = async () => {
    const now = Date.now();
    if (isLooking || (!isOnce && stream.isOver(now))) return;
    isLooking = true;
    try {
      const message = await look(now);
      if (message !== null) stream.write(now, message);
    } catch (error) {
      // The database did not answer: the next look finds the same.
      if (error instanceof Problem && error.status < 500) stream.end();
    } finally {
      isLooking = false;
    }
    if (isOnce) stream.end();
    else stream.beat(now, comment);
  };
  if (!isOnce) {
    const timer = setInterval(() => void next(), lookEveryMs).unref();
    stream.once('close', () => clearInterval(timer));
  }
  // Its reader learns at once that it is open.
  stream.write(opening.openedAt, comment);
  void next();
  return stream;
}
