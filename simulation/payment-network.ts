import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { type Answer, answerOf, errorAnswer, paramsOf, reply } from '../test/support/stripe-api.ts';
import { type Params, type StripeObject, StripeObjects } from '../test/support/stripe-objects.ts';
import type { Random } from './random.ts';

export const networkKey = 'sk_test_simulated';
export const networkSecret = 'whsec_simulated';

/** Faults of a write request: before it is processed, or after. */
const troubles = ['slow', 'server_error', 'rate_limit', 'cut_before', 'cut_after'] as const;
type Trouble = (typeof troubles)[number] | 'none';

const longestDelayMs = 150;

type Intent = StripeObject & { readonly status: string };

interface Outcomes {
  readonly isBroke: (customerId: string) => boolean;
  /** Called for each charge made or attempted. */
  readonly tell: (intent: Intent) => void;
}

/** A broke customer pays with a declined card of the same holder. */
class NetworkObjects extends StripeObjects {
  readonly #outcomes: Outcomes;

  constructor(outcomes: Outcomes) {
    super();
    this.#outcomes = outcomes;
  }

  override createIntent(params: Params) {
    const customer = String(params.customer);
    const declined = this.#outcomes.isBroke(customer)
      ? { payment_method: this.createMethod('pm_card_chargeCustomerFail', customer).id }
      : {};
    const before = new Set(this.intents.keys());
    try {
      return super.createIntent({ ...params, ...declined });
    } finally {
      for (const [id, intent] of this.intents) if (!before.has(id)) this.#outcomes.tell(intent);
    }
  }
}

/**
 * The payment network at its boundary: Stripe's API over HTTP. It stores its operations by idempotency key, and may
 * respond late, wrongly or not at all, once per key: a repeat succeeds.
 */
export class PaymentNetwork {
  readonly #objects: StripeObjects;
  readonly #server: Server;
  readonly #answered = new Map<string, Answer>();
  readonly #troubled = new Set<string>();
  readonly #notices: string[] = [];
  readonly #random: Random;
  /** Customers without money at the moment, by the name in their email address. */
  readonly broke = new Set<string>();
  /** The probability of a fault. */
  troubleRate = 0;
  troubles = 0;

  private constructor(random: Random) {
    this.#random = random;
    this.#objects = new NetworkObjects({
      isBroke: (customerId) => this.broke.has(this.#nameOf(customerId)),
      tell: (intent) => this.#notice(intent),
    });
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(random: Random): Promise<PaymentNetwork> {
    const network = new PaymentNetwork(random);
    await new Promise<void>((resolve) => network.#server.listen(0, '127.0.0.1', resolve));
    return network;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** The amounts charged and refunded by customer name, in minor units. */
  totals(): Map<string, { taken: number; returned: number }> {
    const totals = new Map<string, { taken: number; returned: number }>();
    for (const intent of this.#objects.intents.values()) {
      if (intent.status !== 'succeeded') continue;
      const name = this.#nameOf(String(intent.customer));
      const total = totals.get(name) ?? { taken: 0, returned: 0 };
      total.taken += intent.amount;
      total.returned += this.#objects.charge(intent.id).amount_refunded;
      totals.set(name, total);
    }
    return totals;
  }

  /** Reports, after days, a bank's outcome of a payment. */
  conclude(paymentId: string, takes: boolean): void {
    for (const intent of this.#objects.intents.values()) {
      if (intent.metadata.payment_id !== paymentId || intent.status !== 'processing') continue;
      if (takes) this.#objects.succeed(intent.id);
      else this.#objects.fail(intent.id, { code: 'card_declined', message: 'The bank returned the debit.' });
      this.#notice(intent);
    }
  }

  /**
   * Sends the service the events not sent yet: some of them twice, late, or in another order. Returns the numbers of
   * accepted and lost ones.
   */
  async sendNotices(to: string): Promise<{ sent: number; lost: number }> {
    const waiting = this.#notices.splice(0);
    let [sent, lost] = [0, 0];
    while (waiting.length > 0) {
      const [payload = ''] = waiting.splice(this.#random.below(waiting.length), 1);
      if (this.#random.chance(0.2)) this.#notices.push(payload);
      for (let times = this.#random.chance(0.3) ? 2 : 1; times > 0; times--) {
        if (await this.#send(to, payload)) sent += 1;
        else lost += 1;
      }
    }
    return { sent, lost };
  }

  async #send(to: string, payload: string): Promise<boolean> {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: networkSecret, timestamp });
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
    try {
      const answer = await fetch(`${to}/processor-events/stripe`, { method: 'POST', headers, body: payload });
      await answer.arrayBuffer();
      if (answer.ok) return true;
    } catch {
      // Not accepted: it is sent again.
    }
    this.#notices.push(payload);
    return false;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part);
    } catch {
      // The caller was killed, and the request did not arrive in full.
      return;
    }
    const { method = 'GET', url = '/' } = request;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const said = Buffer.concat(parts).toString();
    const key = request.headers['idempotency-key'];
    const trouble = method === 'POST' ? this.#troubleOf(`${key ?? pathname}`) : 'none';
    if (trouble === 'slow') await sleep(this.#random.between(1, longestDelayMs));
    if (trouble === 'cut_before') return void request.socket.destroy();
    if (trouble === 'server_error') return reply(response, errorAnswer(500, { type: 'api_error', message: 'Wrong.' }));
    if (trouble === 'rate_limit')
      return reply(
        response,
        errorAnswer(429, { type: 'invalid_request_error', code: 'rate_limit', message: 'Slower.' }),
      );
    const params = paramsOf(method === 'GET' ? searchParams : new URLSearchParams(said));
    const answer = this.#once(key === undefined ? null : `${key}`, () =>
      answerOf(this.#objects, method, pathname, params),
    );
    if (trouble === 'cut_after') return void request.socket.destroy();
    reply(response, answer);
  }

  #troubleOf(key: string): Trouble {
    if (this.#troubled.has(key) || !this.#random.chance(this.troubleRate)) return 'none';
    this.#troubled.add(key);
    this.troubles += 1;
    return this.#random.pick(troubles) ?? 'none';
  }

  #once(key: string | null, perform: () => Answer): Answer {
    const known = key === null ? undefined : this.#answered.get(key);
    if (known !== undefined) return known;
    const answer = perform();
    if (key !== null) this.#answered.set(key, answer);
    return answer;
  }

  #notice(intent: Intent): void {
    const types = { succeeded: 'succeeded', processing: 'processing' } as const;
    const type = `payment_intent.${types[intent.status as keyof typeof types] ?? 'payment_failed'}`;
    const created = Math.floor(Date.now() / 1000);
    const data = { object: structuredClone(intent) };
    const event = {
      id: `evt_${intent.id}_${intent.status}`,
      object: 'event',
      type,
      created,
      livemode: false,
      api_version: null,
      data,
    };
    this.#notices.push(JSON.stringify(event));
  }

  #nameOf(customerId: string): string {
    return (this.#objects.customers.get(customerId)?.email ?? '').split('@')[0] ?? '';
  }
}
