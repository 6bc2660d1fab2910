import type { Database } from '../database/database.ts';
import { version } from '../http/version.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { OutboundAnswer } from '../jobs/outbound.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { WebhookServices } from './actions.ts';
import {
  decideAfterAttempt,
  disablingReason,
  errorOf,
  pauseAskedMs,
  secretContext,
  signedHeaders,
} from './delivery.ts';
import { EndpointQueue } from './endpoint-queue.ts';
import {
  abandonInactive,
  type DueDelivery,
  type EndpointHealth,
  type EndpointKey,
  listDue,
  listEndpointsWithDue,
  type MadeAttempt,
  saveAttempts,
} from './store-sending.ts';

/** An attempt, for the log and the metrics of the process. */
export interface AttemptReport {
  readonly organizationId: string;
  readonly webhookId: string;
  /** The host of the endpoint; the rest of its address may be secret. */
  readonly host: string;
  /** `retried`: another attempt follows; `failed`: none does. */
  readonly result: 'succeeded' | 'retried' | 'failed';
  readonly error: string | null;
  /** The change of the endpoint that the attempt made. */
  readonly change: 'failing' | 'recovered' | 'disabled' | null;
}

interface DispatcherOptions {
  /** The worker's connection, which sees every environment. */
  readonly database: Database;
  readonly services: WebhookServices;
  readonly onError: (error: unknown) => void;
  readonly onAttempt?: ((report: AttemptReport) => void) | undefined;
  /** The clock for due times, in real time. */
  readonly now?: () => Instant;
}

// Bounds sockets and memory of the process, over all endpoints.
const maxInFlight = 256;
// An endpoint may use a quarter of the free slots. However many slow or dead endpoints hold theirs for long, some stay
// free for the others.
const shareOfFree = 1 / 4;
const patienceAtStopMs = 5_000;
const pauseAfterErrorMs = 1_000;

interface EndpointState extends EndpointKey {
  readonly messages: EndpointQueue<DueDelivery>;
  /** The start of uninterrupted failure. */
  failingSince: Instant | null;
  /** The number of changes to the endpoint while it was in memory. */
  changes: number;
}

function keyOf({ environmentId, webhookId }: EndpointKey): string {
  return `${environmentId} ${webhookId}`;
}

/**
 * Sends due messages in parallel across endpoints, and records the results, many attempts per transaction. Only one may
 * run per database: two would send the same messages.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #now: () => Instant;
  readonly #endpoints = new Map<string, EndpointState>();
  /** Finished attempts that are not yet recorded. */
  #made: MadeAttempt[] = [];
  readonly #health = new Map<string, EndpointHealth>();
  readonly #inFlight = new Set<Promise<void>>();
  #attempts = 0;
  #isStopping = false;
  #isWanted = false;
  #working: Promise<void> | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Signals that the endpoint has messages. */
  announce(endpoint: EndpointKey): void {
    this.#stateOf(endpoint).messages.announce();
    this.#wake();
  }

  /** Signals that the endpoint was changed: its history no longer counts, and it is tried immediately. */
  announceChange(endpoint: EndpointKey): void {
    const state = this.#stateOf(endpoint);
    state.changes += 1;
    state.messages.reset();
    const key = keyOf(endpoint);
    if (this.#health.get(key)?.failingSince !== null) this.#health.delete(key);
    this.announce(endpoint);
  }

  #stateOf({ environmentId, webhookId }: EndpointKey): EndpointState {
    const key = keyOf({ environmentId, webhookId });
    const known = this.#endpoints.get(key);
    if (known) return known;
    const state = {
      environmentId,
      webhookId,
      messages: new EndpointQueue<DueDelivery>(),
      failingSince: null,
      changes: 0,
    };
    this.#endpoints.set(key, state);
    return state;
  }

  /** Finds endpoints with due messages, and ends deliveries to inactive ones. */
  async sweep(): Promise<void> {
    const { database } = this.#options;
    await abandonInactive(database, Date.now());
    for (const endpoint of await listEndpointsWithDue(database, this.#now())) this.announce(endpoint);
  }

  /** Sends until nothing is due, and returns the number of attempts. For tests and commands. */
  async drain(): Promise<number> {
    const before = this.#attempts;
    for (let last = -1; last !== this.#attempts; ) {
      last = this.#attempts;
      await this.sweep();
      while (this.#working !== null || this.#inFlight.size > 0)
        await (this.#working ?? Promise.race(this.#inFlight.values()));
    }
    return this.#attempts - before;
  }

  /** Stops starting attempts, and waits briefly for those in flight. Unfinished ones are sent again later. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const { promise: outOfPatience, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, patienceAtStopMs);
    await Promise.race([Promise.all(this.#inFlight.values()), outOfPatience]);
    clearTimeout(timer);
    await this.#working;
    await this.#save().catch(this.#options.onError);
  }

  #wake(): void {
    // Attempts that end from here on are recorded by `stop`, or sent again later.
    if (this.#isStopping) return;
    this.#isWanted = true;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
      if (this.#isWanted) this.#wake();
    });
  }

  /** Alternates between recording and querying: each query runs after all finished attempts have been recorded. */
  async #work(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.#save();
        if (this.#isStopping) return;
        await this.#look();
      } catch (error) {
        this.#options.onError(error);
        // Results that could not be recorded are kept and retried.
        setTimeout(() => this.#wake(), pauseAfterErrorMs).unref();
        return;
      }
      this.#pump();
    }
  }

  async #save(): Promise<void> {
    if (this.#made.length === 0 && this.#health.size === 0) return;
    const attempts = this.#made;
    const health = [...this.#health.values()];
    this.#made = [];
    this.#health.clear();
    try {
      await saveAttempts(this.#options.database, attempts, health);
    } catch (error) {
      this.#made = [...attempts, ...this.#made];
      for (const each of health) if (!this.#health.has(keyOf(each))) this.#health.set(keyOf(each), each);
      throw error;
    }
    for (const { delivery, outcome } of attempts)
      this.#endpoints.get(keyOf(delivery))?.messages.saved(delivery, outcome.status === 'succeeded');
  }

  async #look(): Promise<void> {
    const at = this.#now();
    const requested = [...this.#endpoints.values()].flatMap((state) => {
      const { environmentId, webhookId, messages } = state;
      const wanted = messages.wanted(at);
      return wanted === 0 ? [] : [{ state, request: { environmentId, webhookId, wanted, known: messages.known } }];
    });
    if (requested.length === 0) return;
    for (const { state } of requested) state.messages.look();
    const requests = requested.map(({ request }) => request);
    const due = await listDue(this.#options.database, requests, at).catch((error: unknown) => {
      for (const { state } of requested) state.messages.announce();
      throw error;
    });
    const found = Map.groupBy(due, keyOf);
    for (const { state, request } of requested) {
      const key = keyOf(state);
      const deliveries = found.get(key) ?? [];
      // An unrecorded state is newer than the one read.
      if (deliveries[0] && !this.#health.has(key)) state.failingSince = deliveries[0].failingSince;
      state.messages.add(deliveries, request.wanted);
      if (state.messages.isIdle) this.#endpoints.delete(key);
    }
  }

  /** Fills free slots round-robin over the endpoints, least recently served first. */
  #pump(): void {
    // A served endpoint moves to the end of the map, where this loop reaches it again.
    for (const [key, state] of this.#endpoints) {
      const free = maxInFlight - this.#inFlight.size;
      if (free <= 0 || this.#isStopping) return;
      const delivery = state.messages.next(this.#now(), Math.ceil(free * shareOfFree));
      if (delivery === null) continue;
      this.#endpoints.delete(key);
      this.#endpoints.set(key, state);
      const attempt = this.#attempt(state, delivery).finally(() => this.#inFlight.delete(attempt));
      this.#inFlight.add(attempt);
    }
  }

  async #attempt(state: EndpointState, delivery: DueDelivery): Promise<void> {
    this.#attempts += 1;
    const { changes } = state;
    const startedAt = Date.now();
    const answer = await send(this.#options.services, delivery, startedAt);
    const at = Date.now();
    state.messages.ended(delivery, errorOf(answer) === null, at, pauseAskedMs(answer, at));
    const outcome = decideAfterAttempt(delivery, answer, at, Math.random());
    this.#made.push({
      delivery,
      outcome,
      startedAt,
      durationMs: answer.durationMs,
      answer: 'body' in answer ? answer.body : null,
    });
    // A failure of an endpoint that was changed meanwhile does not deactivate it.
    const isCurrent = errorOf(answer) === null || state.changes === changes;
    const change = isCurrent ? this.#note(state, answer, { startedAt, at, revision: delivery.revision }) : null;
    this.#options.onAttempt?.({
      organizationId: delivery.organizationId,
      webhookId: delivery.webhookId,
      host: new URL(delivery.url).host,
      result: outcome.status === 'pending' ? 'retried' : outcome.status,
      error: outcome.lastError,
      change,
    });
    this.#pump();
    this.#wake();
  }

  /** Notes a change in the endpoint's health, and returns it. */
  #note(
    state: EndpointState,
    answer: OutboundAnswer,
    { startedAt, at, revision }: { startedAt: Instant; at: Instant; revision: number },
  ): AttemptReport['change'] {
    const failingSince = errorOf(answer) === null ? null : (state.failingSince ?? startedAt);
    const disabledReason = failingSince === null ? null : disablingReason(answer, failingSince, at);
    if (failingSince === state.failingSince && disabledReason === null) return null;
    const { environmentId, webhookId } = state;
    this.#health.set(keyOf(state), { environmentId, webhookId, revision, failingSince, disabledReason, at });
    state.failingSince = failingSince;
    if (disabledReason !== null) return 'disabled';
    return failingSince === null ? 'recovered' : 'failing';
  }
}

/** Makes one attempt outside any transaction. Never throws. */
async function send(
  { encryption, outbound }: WebhookServices,
  delivery: DueDelivery,
  at: Instant,
): Promise<OutboundAnswer> {
  const { messageId, body, url, livemode } = delivery;
  const [secret, ...previous] = openSecrets(encryption, delivery, at);
  if (secret === null || secret === undefined) {
    const failure = 'The webhook secret cannot be decrypted with the encryption keys of this process.';
    return { failure, durationMs: 0 };
  }
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Tollkeeper/${version}`,
    // An unreadable previous secret does not prevent signing with the current one.
    ...signedHeaders([secret, ...previous.filter((each) => each !== null)], messageId, body, at),
  };
  return outbound.post({ url, livemode, headers, body });
}

/** The secret, and the previous one while it is valid; null for one that no available key can decrypt. */
function openSecrets(encryption: Encryption, delivery: DueDelivery, at: Instant): (string | null)[] {
  const { environmentId, webhookId, sealedSecret, sealedPreviousSecret, previousSecretEndsAt } = delivery;
  const sealed = [sealedSecret, (previousSecretEndsAt ?? 0) > at ? sealedPreviousSecret : null];
  return sealed.flatMap((text) => {
    if (text === null) return [];
    try {
      return encryption.open(text, secretContext(environmentId, webhookId));
    } catch {
      return null;
    }
  });
}
