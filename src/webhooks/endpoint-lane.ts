import type { Instant } from '../kernel/calendar.ts';
import { type Circuit, circuitAfter, closedCircuit, slotsOf } from './circuit.ts';

/** What a lane needs to know of a message. */
export interface LaneMessage {
  readonly id: string;
  readonly objectId: string;
  /** Attempts that failed before. */
  readonly failures: number;
}

/** Messages under way to one endpoint at the most: enough for one that is far away, no burden for one that is small. */
export const mostAtOnce = 16;
// Read ahead, so that a slot that becomes free is filled without asking the database.
const mostAhead = 64;

/**
 * What waits for one endpoint and what is under way to it. Messages about one object go one after the other; after one
 * that failed, those behind it are let go, to be found again when they may be sent.
 */
export class EndpointLane<Message extends LaneMessage> {
  #waiting: Message[] = [];
  /** Sent, or being sent, and not written down yet. */
  readonly #underWay = new Map<string, Message>();
  readonly #busyObjects = new Set<string>();
  #sending = 0;
  #circuit: Circuit = closedCircuit;
  #mayHaveMore = true;
  /** Something was let go since looking began. */
  #hasLetGo = false;

  /** Something may be there to be sent that was not before. */
  announce(): void {
    this.#mayHaveMore = true;
  }

  /** The endpoint was changed: what it did before says nothing of it any more, and what waits is looked for again. */
  beginAnew(): void {
    this.#circuit = closedCircuit;
    this.#letGo(() => true);
  }

  /** The messages that need not be looked for: they are here. */
  get known(): string[] {
    return [...this.#underWay.keys(), ...this.#waiting.map(({ id }) => id)];
  }

  /** How many messages to look for at `now`: none while enough are here, none may be there, or the endpoint is left in peace. */
  wanted(now: Instant): number {
    if (!this.#mayHaveMore || slotsOf(this.#circuit, now, mostAtOnce) === 0) return 0;
    return this.#waiting.length > mostAtOnce ? 0 : mostAhead - this.#waiting.length;
  }

  /** Looking begins: what is announced from here on needs another look. */
  look(): void {
    this.#mayHaveMore = false;
    this.#hasLetGo = false;
  }

  /** What was found of `wanted`, in the order in which it is to be sent. */
  add(messages: readonly Message[], wanted: number): void {
    // What was let go meanwhile may belong before them.
    if (this.#hasLetGo) return;
    this.#waiting.push(...messages);
    if (messages.length >= wanted) this.#mayHaveMore = true;
  }

  /** The next message to send at `now` where fewer than `most` are being sent; it is under way from then on. Null when there is none. */
  next(now: Instant, most = mostAtOnce): Message | null {
    if (this.#sending >= slotsOf(this.#circuit, now, Math.min(most, mostAtOnce))) return null;
    const index = this.#waiting.findIndex(({ objectId }) => !this.#busyObjects.has(objectId));
    const [message] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (message === undefined) return null;
    this.#sending += 1;
    this.#underWay.set(message.id, message);
    this.#busyObjects.add(message.objectId);
    return message;
  }

  /**
   * An attempt has ended. Those behind it may go when it succeeded; else it is written down before they are looked at. The
   * endpoint may have asked to be left alone for `askedMs`.
   */
  ended({ objectId }: Message, succeeded: boolean, at: Instant, askedMs = 0): void {
    this.#sending -= 1;
    this.#circuit = circuitAfter(this.#circuit, succeeded, at, askedMs);
    if (succeeded) this.#busyObjects.delete(objectId);
    else if (slotsOf(this.#circuit, at, mostAtOnce) === 0) this.#letGo(() => true);
  }

  /** How an attempt ended is written down: what is found of the message from here on is another attempt. */
  saved({ id, objectId, failures }: Message, succeeded: boolean): void {
    this.#underWay.delete(id);
    // Behind one that had failed before, others may wait that nobody announces.
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

  /** Nothing is here, and nothing is remembered of it. */
  get isIdle(): boolean {
    const isEmpty = this.#waiting.length === 0 && this.#underWay.size === 0 && !this.#mayHaveMore;
    return isEmpty && this.#circuit.failuresInARow === 0;
  }
}
