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

/** Sends a request once and waits so long. Answers null where the client does not learn what became of it. */
export type Send = (ask: Ask, patienceMs: number) => Promise<Body | null>;

// Enough that several requests share a transaction and several transactions are under way.
const connections = 12;
const eventsOfBulk = 40;
const users = 300;
// A client that got no answer waits a moment before it asks again.
const pauseMs = 100;
// Some do not wait for the first answer: what they sent is carried out while they send it again.
const impatientClients = 0.1;
const impatientMs = 20;
// Some leave it to others to ask again.
const clientsThatGiveUp = 0.1;
const holdMs = 3_600_000;
/** Not a measure of speed: what has not come by then will not come, and is a defect. */
export const longestWaitMs = 120_000;

/**
 * Clients who record, consume, hold and settle at the same time. A request is with one client at a time, who sends it until
 * it is answered or gives up; another takes it up again, sooner or later.
 */
export class MixedUsage {
  /** Everything that was ever sent. */
  readonly asks = new Set<Ask>();
  readonly #send: Send;
  readonly #subscriptionIds: readonly string[];
  readonly #random: () => number;
  readonly #holdsUntil = Date.now() + holdMs;
  readonly #unanswered: Ask[] = [];
  readonly #settlements: Ask[] = [];
  readonly #answered: Ask[] = [];
  #names = 0;
  #answers = 0;
  #awaited: { readonly answers: number; readonly resolve: () => void } | null = null;
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

  /** Ends at the instant at which so many more requests are answered. Throws when that takes longer than anything should. */
  async answered(count: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#awaited = { answers: this.#answers + count, resolve };
    const late = () => reject(new Error(`no ${count} answers within ${longestWaitMs} ms`));
    const timer = setTimeout(late, longestWaitMs);
    // A client that has failed tells no one else.
    this.#clients.catch(reject);
    await promise.finally(() => clearTimeout(timer));
  }

  /** Ends when no request is under way any more. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#clients;
  }

  /** Sends everything that was ever sent once more, and settles what is held. Every request is answered. */
  async sendAllAgain(): Promise<void> {
    const left = [...this.asks];
    const work = async () => {
      for (;;) {
        const ask = this.#settlements.pop() ?? left.pop();
        if (ask === undefined) return;
        assert(await this.#ask(ask), `${ask.path} is answered`);
      }
    };
    await Promise.all(Array.from({ length: connections }, work));
  }

  async #work(): Promise<void> {
    try {
      while (this.#running) {
        const ask = this.#next();
        const known = await this.#persist(ask);
        (known ? this.#answered : this.#unanswered).push(ask);
      }
    } finally {
      this.#running = false;
    }
  }

  /** Sends a request until it is answered, or the client gives up. Nothing of it is under way any more then. */
  async #persist(ask: Ask): Promise<boolean> {
    // A repeat of a request with an Idempotency-Key that is under way would be refused.
    const isImpatient = ask.key === undefined && this.#random() < impatientClients;
    let isAnswered = isImpatient && (await this.#ask(ask, this.#random() * impatientMs));
    while (!isAnswered) {
      isAnswered = await this.#ask(ask);
      if (!isAnswered && (!this.#running || this.#random() < clientsThatGiveUp)) return false;
      if (!isAnswered) await sleep(pauseMs);
    }
    this.#answers += 1;
    if (this.#answers === this.#awaited?.answers) this.#awaited.resolve();
    return true;
  }

  async #ask(ask: Ask, patienceMs = longestWaitMs): Promise<boolean> {
    this.asks.add(ask);
    const answer = await this.#send(ask, patienceMs);
    if (answer === null) return false;
    if (ask.answer !== null)
      assert.deepEqual(whatStays(answer), whatStays(ask.answer), 'a repeat is answered as the first');
    else if (ask.settleWith !== undefined) this.#settlements.push(settlementOf(ask, answer, ask.settleWith));
    ask.answer ??= answer;
    return true;
  }

  /** What a client sends next: now and then something that was not answered, or that was answered already. */
  #next(): Ask {
    const choice = this.#random();
    if (choice < 0.4) return this.#unanswered.shift() ?? this.#fresh();
    if (choice < 0.6) return this.#settlements.shift() ?? this.#fresh();
    if (choice < 0.9) return this.#fresh();
    return this.#answered.splice(this.#below(this.#answered.length), 1)[0] ?? this.#fresh();
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
    return {
      subscriptionId,
      usageMeterSlug: 'users',
      transactionId,
      amount: 1,
      properties: { user: this.#below(users) },
    };
  }

  #subscriptionId(): string {
    return this.#subscriptionIds[this.#below(this.#subscriptionIds.length)] ?? '';
  }

  #newName(): string {
    this.#names += 1;
    return `use ${this.#names}`;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

function settlementOf({ body }: Ask, { hold }: Body, amount: number): Ask {
  const { subscriptionId, usageMeterSlug } = body.hold;
  const event = { subscriptionId, usageMeterSlug, transactionId: hold.id, amount };
  return { path: `/holds/${hold.id}/settle`, body: { amount }, events: [event], answer: null };
}

/** The part of an answer that every repeat has too. Balances go on. */
function whatStays({ usageBalance: _, ...rest }: Body): Body {
  return rest;
}
