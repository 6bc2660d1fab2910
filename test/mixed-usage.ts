import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Body } from './harness.ts';

/** An event as it was sent, which must be found stored once. */
export interface SentEvent {
  readonly subscriptionId: string;
  readonly usageMeterSlug: string;
  readonly transactionId: string;
  readonly amount: number;
  readonly properties?: { readonly user: number };
}

/** A request that may be sent any number of times and counts once. */
export interface Ask {
  readonly path: string;
  readonly body: Body;
  /** Its Idempotency-Key, where nothing in the body makes it safe to send again. */
  readonly key?: string;
  readonly events: readonly SentEvent[];
  /** Of a hold: what it is to be settled with. */
  readonly settleWith?: number;
  /** The first answer. Null as long as nobody has told the client what became of the request. */
  answer: Body | null;
}

/** Sends a request once. Answers null where the client does not learn what became of it. */
export type Send = (ask: Ask) => Promise<Body | null>;

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Enough that several requests share a transaction and several transactions are under way.
const connections = 12;
const eventsOfBulk = 40;
const users = 300;
// A client that got no answer waits a moment before it asks again.
const pauseMs = 50;
const holdMs = 3_600_000;

/** Clients who record, consume, hold and settle at the same time, and send again what was not answered. */
export class MixedUsage {
  /** Everything that was ever sent. */
  readonly asks: Ask[] = [];
  /** How often a client was left without an answer. */
  unansweredCount = 0;
  readonly #send: Send;
  readonly #subscriptionIds: readonly string[];
  readonly #random: () => number;
  readonly #holdsUntil = Date.now() + holdMs;
  #unanswered: Ask[] = [];
  #settlements: Ask[] = [];
  #answers = 0;
  #running = false;
  #clients: Promise<unknown> = Promise.resolve();

  constructor(options: { send: Send; subscriptionIds: readonly string[]; random: () => number }) {
    this.#send = options.send;
    this.#subscriptionIds = options.subscriptionIds;
    this.#random = options.random;
  }

  start(): void {
    this.#running = true;
    this.#clients = Promise.all(Array.from({ length: connections }, () => this.#work()));
    // Whoever waits for the clients is told.
    this.#clients.catch(() => undefined);
  }

  /** Waits until so many more requests were answered. */
  async answered(count: number): Promise<void> {
    const until = this.#answers + count;
    const failed = this.#clients.then(() => assert.fail('the clients have stopped'));
    while (this.#answers < until) await Promise.race([sleep(5), failed]);
    failed.catch(() => undefined);
  }

  /** Ends when every request that is under way has been answered, or never will be. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#clients;
  }

  /** Sends everything that was ever sent once more, and settles what is held. Every request is answered. */
  async sendAllAgain(): Promise<void> {
    const left = [...this.asks];
    const work = async () => {
      for (let ask = left.pop(); ask !== undefined; ask = left.pop()) {
        const known = ask.answer !== null;
        assert(await this.#ask(ask), `no answer to ${ask.path}`);
        if (!known) left.push(...this.#settlements.splice(0));
      }
    };
    left.push(...this.#settlements.splice(0));
    await Promise.all(Array.from({ length: connections }, work));
  }

  async #work(): Promise<void> {
    while (this.#running) {
      const ask = this.#next();
      if (await this.#ask(ask)) this.#answers += 1;
      else {
        this.#unanswered.push(ask);
        this.unansweredCount += 1;
        await sleep(pauseMs);
      }
    }
  }

  async #ask(ask: Ask): Promise<boolean> {
    if (!this.asks.includes(ask)) this.asks.push(ask);
    const answer = await this.#send(ask);
    if (answer === null) return false;
    if (ask.answer !== null) {
      assert.deepEqual(whatCounts(answer), whatCounts(ask.answer), 'a repeat is answered as the first');
      return true;
    }
    ask.answer = answer;
    if (ask.settleWith !== undefined) this.#settlements.push(settlementOf(ask, ask.settleWith));
    return true;
  }

  /** What a client sends next: now and then something that was not answered, or was answered already. */
  #next(): Ask {
    const choice = this.#random();
    const again = choice < 0.4 ? this.#unanswered.shift() : choice < 0.6 ? this.#settlements.shift() : undefined;
    if (again !== undefined) return again;
    const answered = choice > 0.9 ? this.asks[this.#below(this.asks.length)] : undefined;
    return answered !== undefined && answered.answer !== null ? answered : this.#fresh();
  }

  #fresh(): Ask {
    const kind = this.#below(4);
    if (kind === 3) return this.#hold();
    if (kind === 0) {
      const usageEvents = Array.from({ length: 1 + this.#below(eventsOfBulk) }, () => this.#event());
      return { path: '/usage-events/bulk', body: { usageEvents }, events: usageEvents, answer: null };
    }
    const usageEvent = this.#event();
    const path = kind === 1 ? '/usage-events' : '/usage-events/consume';
    return { path, body: { usageEvent }, events: [usageEvent], answer: null };
  }

  #hold(): Ask {
    const settleWith = 1 + this.#below(9);
    const [subscriptionId, expiresAt] = [this.#subscriptionId(), this.#holdsUntil];
    const hold = { subscriptionId, usageMeterSlug: 'api-calls', amount: 1 + this.#below(9), expiresAt };
    return { path: '/holds', body: { hold }, key: this.#newName(), events: [], settleWith, answer: null };
  }

  #event(): SentEvent {
    const [subscriptionId, transactionId] = [this.#subscriptionId(), this.#newName()];
    if (this.#below(3) > 0)
      return { subscriptionId, usageMeterSlug: 'api-calls', transactionId, amount: 1 + this.#below(9) };
    // Who of several counts is a matter of luck, so all count the same.
    return { subscriptionId, usageMeterSlug: 'users', transactionId, amount: 1, properties: { user: this.#below(users) } };
  }

  #subscriptionId(): string {
    return this.#subscriptionIds[this.#below(this.#subscriptionIds.length)] ?? '';
  }

  #newName(): string {
    this.#named += 1;
    return `use ${this.#named}`;
  }
  #named = 0;

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

function settlementOf({ body, answer }: Ask, amount: number): Ask {
  const { id } = answer.hold;
  const { subscriptionId, usageMeterSlug } = body.hold;
  const event = { subscriptionId, usageMeterSlug, transactionId: id, amount };
  return { path: `/holds/${id}/settle`, body: { amount }, events: [event], answer: null };
}

/** The part of an answer that every repeat has too: balances go on. */
function whatCounts({ usageBalance: _, ...rest }: Body): Body {
  return rest;
}
