import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { type Params, type StripeObject, StripeObjects, StripeRefusal } from '../test/stripe-objects.ts';
import type { Random } from './random.ts';

export const networkKey = 'sk_test_simulated';
export const networkSecret = 'whsec_simulated';

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** What goes wrong with a request that writes: before anything is done, or when it was done. */
const troubles = ['slow', 'server_error', 'rate_limit', 'cut_before', 'cut_after'] as const;
type Trouble = (typeof troubles)[number] | 'none';

const longestDelayMs = 150;

/**
 * The payment network at its edge: Stripe's shapes over HTTP. It remembers what it did under each idempotency key, and
 * may answer late, wrongly or not at all, once for each key: who asks again is served.
 */
export class PaymentNetwork {
  readonly #objects = new StripeObjects();
  readonly #server: Server;
  readonly #answered = new Map<string, Answer>();
  readonly #troubled = new Set<string>();
  readonly #notices: string[] = [];
  readonly #random: Random;
  /** Who has no money at the moment, by the name in its mail address. */
  readonly broke = new Set<string>();
  /** How likely it is that something goes wrong. */
  troubleRate = 0;
  troubles = 0;

  private constructor(random: Random) {
    this.#random = random;
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

  /** What it took from each customer and gave back, by name, in minor units. */
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

  /** Tells the service of what happened, as far as it was not told: some of it twice, late, or in another order. */
  async sendNotices(to: string): Promise<number> {
    const waiting = this.#notices.splice(0);
    let sent = 0;
    while (waiting.length > 0) {
      const [payload = ''] = waiting.splice(this.#random.below(waiting.length), 1);
      if (this.#random.chance(0.2)) this.#notices.push(payload);
      for (let times = this.#random.chance(0.3) ? 2 : 1; times > 0; times--) sent += await this.#send(to, payload);
    }
    return sent;
  }

  async #send(to: string, payload: string): Promise<number> {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: networkSecret, timestamp });
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature };
    try {
      const answer = await fetch(`${to}/processor-events/stripe`, { method: 'POST', headers, body: payload });
      await answer.arrayBuffer();
      if (answer.ok) return 1;
    } catch {
      // Nobody took it: it is told again.
    }
    this.#notices.push(payload);
    return 0;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part);
    } catch {
      // Whoever asked was killed. What was asked for did not come in whole.
      return;
    }
    const { method = 'GET', url = '/' } = request;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const said = Buffer.concat(parts).toString();
    const key = request.headers['idempotency-key'];
    const trouble = method === 'POST' ? this.#troubleOf(`${key ?? pathname}`) : 'none';
    if (trouble === 'slow') await sleep(this.#random.between(1, longestDelayMs));
    if (trouble === 'cut_before') return void request.socket.destroy();
    if (trouble === 'server_error') return reply(response, refusal(500, { type: 'api_error', message: 'Wrong.' }));
    if (trouble === 'rate_limit')
      return reply(response, refusal(429, { type: 'invalid_request_error', code: 'rate_limit', message: 'Slower.' }));
    const params = paramsOf(method === 'GET' ? searchParams : new URLSearchParams(said));
    const answer = this.#once(key === undefined ? null : `${key}`, () => this.#answer(method, pathname, params));
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

  #answer(method: string, path: string, params: Params): Answer {
    try {
      return { status: 200, body: JSON.stringify(this.#perform(method, path.split('/').slice(2), params)) };
    } catch (error) {
      if (error instanceof StripeRefusal) return refusal(error.status, error.error);
      throw error;
    }
  }

  #perform(method: string, [kind, id = '', verb]: string[], params: Params): unknown {
    const objects = this.#objects;
    switch (`${method} ${kind}`) {
      case 'POST customers':
        return objects.createCustomer(params);
      case 'POST setup_intents':
        return objects.createSetupIntent(params);
      case 'POST payment_intents':
        if (verb !== 'cancel') return this.#charge(params);
        objects.cancel(id);
        return objects.expanded(id);
      case 'POST refunds':
        return objects.createRefund(params);
      case 'GET payment_methods':
        return objects.retrieveMethod(id);
      case 'GET payment_intents':
        return id === '' ? listOf(objects.listIntents(String(params.customer))) : objects.expanded(id);
      case 'GET refunds':
        return listOf(objects.refunds.filter((refund) => refund.payment_intent === params.payment_intent));
      case 'GET disputes':
        return listOf([]);
      default:
        throw new StripeRefusal(404, { type: 'invalid_request_error', message: `No ${method} ${path(kind, id)}.` });
    }
  }

  /** Whoever is broke pays with a card of the same holder that is declined. */
  #charge(params: Params): unknown {
    const customer = String(params.customer);
    const isBroke = this.broke.has(this.#nameOf(customer));
    const declined = isBroke
      ? { payment_method: this.#objects.createMethod('pm_card_chargeCustomerFail', customer).id }
      : {};
    const before = new Set(this.#objects.intents.keys());
    try {
      return this.#objects.createIntent({ ...params, ...declined });
    } finally {
      for (const [id, intent] of this.#objects.intents) if (!before.has(id)) this.#notice(intent);
    }
  }

  #notice(intent: StripeObject & { readonly status: string }): void {
    const type = intent.status === 'succeeded' ? 'payment_intent.succeeded' : 'payment_intent.payment_failed';
    const created = Math.floor(Date.now() / 1000);
    const data = { object: structuredClone(intent) };
    const event = { id: `evt_${intent.id}`, object: 'event', type, created, livemode: false, api_version: null, data };
    this.#notices.push(JSON.stringify(event));
  }

  #nameOf(customerId: string): string {
    return (this.#objects.customers.get(customerId)?.email ?? '').split('@')[0] ?? '';
  }
}

function path(kind: string | undefined, id: string): string {
  return `/v1/${kind}/${id}`;
}

function listOf(data: readonly unknown[]) {
  return { object: 'list', data, has_more: false, url: '/' };
}

function reply(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_simulated' }).end(body);
}

function refusal(status: number, error: Readonly<Record<string, unknown>>): Answer {
  return { status, body: JSON.stringify({ error }) };
}

/** `metadata[a]=1&expand[0]=b` is `{ metadata: { a: '1' }, expand: { 0: 'b' } }`. */
function paramsOf(encoded: URLSearchParams): Params {
  const params: Record<string, unknown> = {};
  for (const [name, value] of encoded) {
    const names = name.split(/\[|\]\[?/).filter((part) => part !== '');
    let at = params;
    for (const part of names.slice(0, -1)) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[names.at(-1) ?? ''] = value;
  }
  return params as Params;
}
