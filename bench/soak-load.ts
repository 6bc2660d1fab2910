import { Connection } from './connection.ts';
import { priceSlugs } from './plans.ts';
import { type EventSources, requestMaker } from './requests.ts';
import type { BenchService } from './running.ts';
import { Lives } from './soak-lives.ts';

/** The load mix in percent, and the usage events stored per request. */
const mix = {
  event: { share: 60, events: 1 },
  bulk: { share: 5, events: 100 },
  consume: { share: 10, events: 1 },
  check: { share: 10, events: 0 },
  balances: { share: 10, events: 0 },
  life: { share: 5, events: 0 },
} as const;
type Kind = keyof typeof mix;
const kinds = Object.entries(mix).flatMap(([kind, { share }]) => Array<Kind>(share).fill(kind as Kind));

// Latencies are counted in classes a tenth apart, so that half an hour of them needs little memory.
const classes = 160;
const classOf = (ms: number) => Math.min(classes - 1, Math.max(0, Math.ceil(Math.log(ms / 0.05) / Math.log(1.1))));
const upperEnd = (index: number) => 0.05 * 1.1 ** index;

/** Responses counted over a period. */
export class Tally {
  readonly counts = new Uint32Array(classes);
  answered = 0;
  refused = 0;
  events = 0;
  refusal: string | null = null;

  add(kind: Kind, status: number, text: string, ms: number): void {
    this.counts[classOf(ms)] = (this.counts[classOf(ms)] ?? 0) + 1;
    this.answered += 1;
    if (status === 200) this.events += mix[kind].events;
    else {
      this.refused += 1;
      this.refusal ??= `${kind}: ${status} ${text}`;
    }
  }

  /** Adds the counts of another tally. */
  addAll(other: Tally): void {
    for (const [index, count] of other.counts.entries()) this.counts[index] = (this.counts[index] ?? 0) + count;
    this.answered += other.answered;
    this.refused += other.refused;
    this.events += other.events;
    this.refusal ??= other.refusal;
  }

  /** The latency in milliseconds below which this share of the responses came, with an accuracy of a tenth. */
  percentile(share: number): number {
    let left = this.answered * share;
    for (const [index, count] of this.counts.entries()) {
      left -= count;
      if (left <= 0) return upperEnd(index);
    }
    return 0;
  }
}

export interface Population {
  readonly externalIds: readonly string[];
  readonly subscriptionIds: readonly string[];
  readonly featureSlugs: readonly string[];
}

const closedConnections = 64;
// More than a service that keeps up ever uses; otherwise requests queue here, and their waiting counts.
const openConnections = 256;

/** Sends the mix, drawing each request at random. */
export class Load {
  readonly #make: Readonly<Record<Exclude<Kind, 'life'>, () => string>>;
  readonly #lives: Lives;
  readonly #address: string;
  /** The current tally; replace it to measure another period. */
  tally = new Tally();

  constructor(service: BenchService, population: Population) {
    const sources: EventSources = { subscriptionIds: population.subscriptionIds, priceSlugs };
    const checks = population.externalIds
      .slice(0, 100)
      .map((customerExternalId) =>
        JSON.stringify({ checks: population.featureSlugs.map((featureSlug) => ({ customerExternalId, featureSlug })) }),
      );
    const paths = population.externalIds.map((externalId) => `/customers/${externalId}/usage-balances`);
    this.#make = {
      event: requestMaker({ kind: 'event', path: '/usage-events', sources }, service.key),
      bulk: requestMaker({ kind: 'events', size: mix.bulk.events, asLines: false, sources }, service.key),
      consume: requestMaker({ kind: 'event', path: '/usage-events/consume', sources }, service.key),
      check: requestMaker({ kind: 'post', path: '/entitlements/check', bodies: checks }, service.key),
      balances: requestMaker({ kind: 'get', paths }, service.key),
    };
    this.#lives = new Lives(service);
    this.#address = service.address;
  }

  /** Sends at full speed on a fixed number of connections; returns requests per second. */
  async closed(seconds: number): Promise<number> {
    const connections = await this.#open(closedConnections);
    const startedAt = performance.now();
    const until = startedAt + seconds * 1000;
    const before = this.tally.answered;
    await Promise.all(
      connections.map(async (connection) => {
        while (performance.now() < until) await this.#one(connection, performance.now());
      }),
    );
    for (const connection of connections) connection.close();
    return (this.tally.answered - before) / ((performance.now() - startedAt) / 1000);
  }

  /**
   * Sends at a fixed rate, independent of responses, until `isOver`. A latency counts from the scheduled time of the
   * request, so that a stalled service shows.
   */
  async open(perSecond: number, isOver: () => boolean): Promise<void> {
    const idle = await this.#open(openConnections);
    const due: number[] = [];
    const inFlight = new Set<Promise<void>>();
    let failure: unknown = null;
    const send = (given: Connection, dueAt: number): void => {
      let connection = given;
      const ask = async () => {
        if (!connection.isOpen) connection = await Connection.open(this.#address);
        await this.#one(connection, dueAt);
      };
      const sent = ask().then(
        () => {
          inFlight.delete(sent);
          const next = due.shift();
          if (next === undefined) idle.push(connection);
          else send(connection, next);
        },
        (error: unknown) => {
          inFlight.delete(sent);
          failure ??= error;
        },
      );
      inFlight.add(sent);
    };
    const startedAt = performance.now();
    for (let made = 0; !isOver() && failure === null; ) {
      for (const target = ((performance.now() - startedAt) / 1000) * perSecond; made < target; made += 1) {
        const dueAt = startedAt + (made * 1000) / perSecond;
        // Round-robin, so that no connection is idle long enough to be closed.
        const connection = idle.shift();
        if (connection === undefined) due.push(dueAt);
        else send(connection, dueAt);
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    while (inFlight.size > 0 && failure === null) await Promise.race(inFlight);
    for (const connection of idle) connection.close();
    if (failure !== null) throw failure;
  }

  #open(count: number): Promise<Connection[]> {
    return Promise.all(Array.from({ length: count }, () => Connection.open(this.#address)));
  }

  async #one(connection: Connection, dueAt: number): Promise<void> {
    const kind = kinds[Math.floor(Math.random() * kinds.length)] ?? 'event';
    const { status, text } = kind === 'life' ? await this.#lives.goOn() : await connection.ask(this.#make[kind]());
    this.tally.add(kind, status, text, performance.now() - dueAt);
  }
}
