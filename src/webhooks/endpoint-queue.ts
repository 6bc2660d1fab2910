import type { Instant } from '../kernel/calendar.ts';
import { type Circuit, circuitAfter, closedCircuit, slotsOf } from './circuit.ts';

/** The fields of a message that an endpoint queue needs. */
interface QueuedMessage {
  readonly id: string;
  readonly objectId: string;
  /** Failed attempts so far. */
  readonly failures: number;
}

/** The maximum number of messages in flight to one endpoint: enough for high latency, bearable for a small server. */
export const mostAtOnce = 16;
// Prefetched messages, so that a free slot needs no query.
const mostAhead = 64;

/**
 * The queue of one endpoint and its messages in flight. Messages about one object are sent in order; after a failure
 * the ones behind it are dropped from memory, to be read again when they may be sent.
 */
export class EndpointQueue<Message extends QueuedMessage> {
  #waiting: Message[] = [];
  /** Sent, or being sent, and not yet recorded. */
  readonly #inFlight = new Map<string, Message>();
  readonly #busyObjects = new Set<string>();
  #sending = 0;
  #circuit: Circuit = closedCircuit;
  #mayHaveMore = true;
  /** Messages were dropped since the last query began. */
  #hasLetGo = false;

  /** Signals that there may be new messages. */
  announce(): void {
    this.#mayHaveMore = true;
  }

  /**
   * Resets the queue after the endpoint was changed: its history no longer counts, and waiting messages are read again.
   */
  reset(): void {
    this.#circuit = closedCircuit;
    this.#letGo(() => true);
  }

  /** The ids of messages in memory, which queries exclude. */
  get known(): string[] {
    return [...this.#inFlight.keys(), ...this.#waiting.map(({ id }) => id)];
  }

  /**
   * The number of messages to query at `now`: 0 while enough are in memory, none may be there, or the circuit is open.
   */
  wanted(now: Instant): number {
    if (!this.#mayHaveMore || slotsOf(this.#circuit, now, mostAtOnce) === 0) return 0;
    return this.#waiting.length > mostAtOnce ? 0 : mostAhead - this.#waiting.length;
  }

  /** Marks the start of a query: later announcements need another one. */
  look(): void {
    this.#mayHaveMore = false;
    this.#hasLetGo = false;
  }

  /** Adds the messages found for `wanted`, in sending order. */
  add(messages: readonly Message[], wanted: number): void {
    // Messages dropped meanwhile may belong before them.
    if (this.#hasLetGo) return;
    this.#waiting.push(...messages);
    if (messages.length >= wanted) this.#mayHaveMore = true;
  }

  /**
   * The next message to send at `now` if fewer than `most` are being sent; it is then in flight. Null if there is none.
   */
  next(now: Instant, most = mostAtOnce): Message | null {
    if (this.#sending >= slotsOf(this.#circuit, now, Math.min(most, mostAtOnce))) return null;
    const index = this.#waiting.findIndex(({ objectId }) => !this.#busyObjects.has(objectId));
    const [message] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (message === undefined) return null;
    this.#sending += 1;
    this.#inFlight.set(message.id, message);
    this.#busyObjects.add(message.objectId);
    return message;
  }

  /**
   * Records the end of an attempt. After a success the object's next message may go; after a failure it waits for
   * `saved`. `askedMs` is a pause requested by the endpoint.
   */
  ended({ objectId }: Message, succeeded: boolean, at: Instant, askedMs = 0): void {
    this.#sending -= 1;
    this.#circuit = circuitAfter(this.#circuit, succeeded, at, askedMs);
    if (succeeded) this.#busyObjects.delete(objectId);
    else if (slotsOf(this.#circuit, at, mostAtOnce) === 0) this.#letGo(() => true);
  }

  /** Marks the attempt as recorded: the message, if found again, is another attempt. */
  saved({ id, objectId, failures }: Message, succeeded: boolean): void {
    this.#inFlight.delete(id);
    // Messages behind one that had failed before are not announced.
    if (succeeded && failures > 0) this.#mayHaveMore = true;
    if (succeeded) return;
    this.#busyObjects.delete(objectId);
    this.#letGo((each) => each.objectId === objectId);
  }

  #letGo(which: (message: Message) => boolean): void {
    const kept = this.#waiting.filter((message) => !which(message));
    if (kept.length < this.#waiting.length) {
      this.#mayHaveMore = true;
      this.#hasLetGo = true;
    }
    this.#waiting = kept;
  }

  /** Whether the queue is empty and has no history. */
  get isIdle(): boolean {
    const isEmpty = this.#waiting.length === 0 && this.#inFlight.size === 0 && !this.#mayHaveMore;
    return isEmpty && this.#circuit.failuresInARow === 0;
  }
}
