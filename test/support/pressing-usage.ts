import assert from 'node:assert/strict';
import type { Answer, Body, RequestOptions } from './harness.ts';
import { meter, plan } from './shop.ts';

type Request = (method: string, path: string, body?: unknown, options?: RequestOptions) => Promise<Answer>;

/** A customer with a usage meter, whose events are then sent. */
export async function setUpUsage(request: Request, key: string): Promise<string> {
  const post = async (path: string, body: unknown): Promise<Body> => {
    const answer = await request('POST', path, body, { key });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  await post('/pricing-models/setup', {
    name: 'Metered',
    isDefault: true,
    usageMeters: [meter('calls', 'Calls', { slug: 'calls-overage', unitPrice: 1, usageEventsPerUnit: 100 })],
    features: [],
    products: [plan('free', 0)],
  });
  const { data } = await post('/customers', { customer: { externalId: 'ann', email: 'ann@acme.test', name: 'Ann' } });
  return data.subscription.id;
}

// What clients without a connection wait before they try again.
const pauseMs = 50;

/** Clients who send events, one after the other each, whatever they are answered, until they are told to stop. */
export class PressingUsage {
  readonly #request: Request;
  readonly #key: string;
  readonly #subscriptionId: string;
  #names = 0;
  #isStopped = false;
  #clients: Promise<unknown> = Promise.resolve();
  /** The transaction ids that were answered 200, and all that were sent. */
  readonly acknowledged = new Set<string>();
  readonly sent = new Set<string>();
  /** How often each status was answered; 0 for connections that broke. */
  readonly statuses = new Map<number, number>();
  /** What was said to those who were not answered 200. */
  readonly refusals = new Set<string>();

  constructor(options: { request: Request; key: string; subscriptionId: string }) {
    this.#request = options.request;
    this.#key = options.key;
    this.#subscriptionId = options.subscriptionId;
  }

  start(clients: number): void {
    this.#isStopped = false;
    this.#clients = Promise.all(Array.from({ length: clients }, () => this.#work()));
    this.#clients.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#clients;
  }

  count(status: number): number {
    return this.statuses.get(status) ?? 0;
  }

  /** Asserts that every event that was acknowledged is stored, and no event twice or unsent. */
  assertStored(rows: readonly Record<string, unknown>[]): void {
    const stored = rows.map((row) => String(row.transaction_id));
    const names = new Set(stored);
    assert.equal(names.size, stored.length, 'no event is stored twice');
    assert.deepEqual([...this.acknowledged.difference(names)], [], 'every event that was acknowledged is stored');
    assert.deepEqual([...names.difference(this.sent)], [], 'no event is stored that was not sent');
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      const transactionId = `use ${this.#names++}`;
      this.sent.add(transactionId);
      const usageEvent = { subscriptionId: this.#subscriptionId, usageMeterSlug: 'calls', amount: 1, transactionId };
      const answer = await this.#request('POST', '/usage-events', { usageEvent }, { key: this.#key }).catch(() => null);
      const status = answer?.status ?? 0;
      this.statuses.set(status, this.count(status) + 1);
      if (status === 200) this.acknowledged.add(transactionId);
      else {
        this.refusals.add(String(answer?.body.message ?? 'no answer'));
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

/** The transaction ids of all events. */
export const storedEvents = 'select transaction_id from usage_events';
