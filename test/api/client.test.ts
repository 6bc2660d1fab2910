import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Tollkeeper } from '../../client/src/client.ts';
import {
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  PaymentRequiredError,
  TollkeeperError,
  UnauthorizedError,
} from '../../client/src/errors.ts';
import { operations } from '../../client/src/generated-operations.ts';
import type { Operation } from '../../client/src/transport.ts';
import { calls } from '../support/api-calls.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { buildWorld, type World } from '../support/world.ts';

const app = await startTestApp();
const client = new Tollkeeper({ key: app.testKey, baseUrl: app.url });

/** Every operation of the client, by method and path, with its names. */
const named = Object.entries(operations).flatMap(([family, table]) =>
  Object.entries<Operation>(table).map(([name, operation]) => ({ family, name, operation })),
);
const keyOf = ({ method, path }: Operation) => `${method} ${path.slice('/api/v1'.length)}`;

let world: World;
before(async () => {
  world = await buildWorld(app);
});

describe('every operation', () => {
  test('every operation of openapi.json is a method of the client, and every method is one of these', async () => {
    const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
    const documented = Object.entries<Body>(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual(named.map(({ operation: { method, path } }) => `${method} ${path}`).sort(), documented.sort());
  });

  for (const { family, name, operation } of named) {
    test(`${family}.${name} reaches ${keyOf(operation)}`, async () => {
      const call = calls[keyOf(operation)];
      assert(call, 'a call of each route stands in test/support/api-calls.ts');
      // Subscribing needs a customer who stands on the default plan only.
      const isSubscribing = keyOf(operation) === 'POST /subscriptions';
      const { path, body } = call(isSubscribing ? await freeWorld() : world, 'client');
      const url = new URL(path, app.url);
      const input = {
        ...pathInput(operation.path, url.pathname),
        ...Object.fromEntries(url.searchParams),
        ...(body as object),
      };
      const wire = new Wire();
      const watched = new Tollkeeper({ key: app.testKey, baseUrl: app.url, fetch: wire.fetch });
      const method = (watched as unknown as Record<string, Record<string, Method>>)[family]?.[name];
      const answer = await method?.(input, operation.method === 'GET' ? {} : { dryRun: true });
      const sent = new URL(wire.url);
      sent.searchParams.delete('dryRun');
      assert.equal(sent.href, `${app.url}/api/v1${path}`);
      if (operation.answers === undefined) assert.deepEqual(answer, JSON.parse(wire.answer));
      else assert.equal(Buffer.from(answer as string | Uint8Array).toString(), wire.answer);
    });
  }
});

/** Writes down where the last request went and what was answered. */
class Wire {
  url = '';
  answer = '';
  readonly fetch: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    this.url = String(url);
    this.answer = Buffer.from(await response.clone().arrayBuffer()).toString();
    return response;
  };
}

type Method = (input: object, options: object) => Promise<unknown>;

/** ('/api/v1/holds/{id}', '/holds/hold_1') -> { id: 'hold_1' } */
function pathInput(template: string, pathname: string): Record<string, string> {
  const values = pathname.split('/');
  const names = template.slice('/api/v1'.length).split('/');
  const pairs = names.map((name, index): [string, string] => [
    name.slice(1, -1),
    decodeURIComponent(values[index] ?? ''),
  ]);
  return Object.fromEntries(pairs.filter((_, index) => names[index]?.startsWith('{')));
}

async function freeWorld(): Promise<World> {
  const free = await buildWorld(app, app, 'free');
  await client.subscriptions.cancel({ id: free.subscriptionId, cancellation: { timing: 'immediately' } });
  return free;
}

describe('input and answers', () => {
  test('an external id may hold anything but what a path cannot say', async () => {
    for (const externalId of ['a/b', 'ä & ö?#%', '100%', '...', ' ']) {
      const { data } = await client.customers.create({ customer: { externalId, email: 'a@acme.test', name: 'A' } });
      const { customer } = await client.customers.get({ externalId });
      assert.equal(customer.id, data.customer.id, externalId);
    }
    for (const externalId of ['', '.', '..', undefined as unknown as string])
      await assert.rejects(client.customers.get({ externalId }), TypeError);
  });

  test('filters are numbers and truth values, and lists of texts', async () => {
    const { data } = await client.prices.list({ isDefault: true, limit: 1, productId: world.productId });
    assert.deepEqual([data.length, data[0]?.isDefault], [1, true]);
    const { subscriptionId } = world;
    const usages = await client.resourceClaims.getUsages({ subscriptionId, resourceSlugs: ['seat', 'none'] });
    assert.deepEqual(
      usages.map(({ usage }) => usage.resourceSlug),
      ['seat'],
    );
    const soon = Date.now() + 1000;
    assert.equal((await client.usageEvents.list({ subscriptionId, usageDateTo: soon })).total, 1);
  });

  test('a document is text, and a PDF its bytes', async () => {
    const html = await client.invoices.getHtml({ id: world.invoiceId });
    assert.match(html, /^<!doctype html>/i);
    const pdf = await client.invoices.getPdf({ id: world.invoiceId });
    assert.equal(new TextDecoder().decode(pdf.subarray(0, 5)), '%PDF-');
  });

  test('a dry run answers and leaves nothing behind', async () => {
    const customer = { externalId: 'dry', email: 'a@acme.test', name: 'Dry' };
    const { data } = await client.customers.create({ customer }, { dryRun: true });
    assert.equal(data.customer.externalId, 'dry');
    await assert.rejects(client.customers.get({ externalId: 'dry' }), NotFoundError);
  });

  test('an address with a path and a slash at its end is one too', async () => {
    const below: string[] = [];
    const toList: typeof fetch = async (url) => {
      below.push(String(url));
      return Response.json({ settings: {} });
    };
    await new Tollkeeper({ key: 'sk', baseUrl: 'https://a.test/billing//', fetch: toList }).settings.get();
    assert.deepEqual(below, ['https://a.test/billing/api/v1/settings']);
  });

  test('a client without a key, or without an address, is refused', () => {
    for (const key of ['', 'two words', 'line\n'])
      assert.throws(() => new Tollkeeper({ key, baseUrl: app.url }), { message: 'key must be a key of the API' });
    assert.throws(() => new Tollkeeper({ key: 'sk', baseUrl: 'billing' }), TypeError);
  });
});

describe('paging', () => {
  const externalIds = Array.from({ length: 7 }, (_, index) => `page-${index}`);
  before(async () => {
    for (const externalId of externalIds)
      await client.customers.create({ customer: { externalId, email: 'page@acme.test', name: 'P' } });
  });

  test('paging walks every page once and in order', async () => {
    for (const limit of [1, 3, 7, 100]) {
      const found: string[] = [];
      for await (const customer of client.customers.listAll({ email: 'page@acme.test', limit }))
        found.push(customer.externalId);
      assert.deepEqual(found, externalIds, `pages of ${limit}`);
    }
  });

  test('paging asks for a page only when it is needed', async () => {
    let requests = 0;
    const counting: typeof fetch = (...request) => {
      requests += 1;
      return fetch(...request);
    };
    const counted = new Tollkeeper({ key: app.testKey, baseUrl: app.url, fetch: counting });
    let found = 0;
    for await (const _ of counted.customers.listAll({ email: 'page@acme.test', limit: 2 })) if (++found === 3) break;
    assert.equal(requests, 2);
  });

  test('paging walks the lists below a record, and one without rows', async () => {
    const entries: string[] = [];
    for await (const entry of client.customers.listAllLedger({ externalId: world.externalId, limit: 1 }))
      entries.push(entry.id);
    const { total } = await client.customers.listLedger({ externalId: world.externalId });
    assert.deepEqual([entries.length, new Set(entries).size], [total, total]);
    for await (const _ of client.customers.listAll({ email: 'nobody@acme.test' })) assert.fail('there is nobody');
  });
});

describe('errors', () => {
  const of = (promise: Promise<unknown>): Promise<TollkeeperError> =>
    promise.then(
      () => assert.fail('it was not refused'),
      (error) => error,
    );

  test('each code that people catch has a class', async () => {
    const { externalId, pricingModelId } = world;
    const customer = { externalId, pricingModelId, email: 'a@acme.test', name: 'A' };
    const usageEvent = {
      subscriptionId: world.subscriptionId,
      usageMeterSlug: 'api-calls',
      transactionId: 'much',
      amount: 10 ** 9,
    };
    const stranger = new Tollkeeper({ key: 'sk_test_nobody', baseUrl: app.url });
    const refusals = [
      [() => client.customers.get({ externalId: 'nobody' }), NotFoundError, 404, 'NOT_FOUND'],
      [() => client.customers.create({ customer }), ConflictError, 409, 'CONFLICT'],
      [() => client.usageEvents.consume({ usageEvent }), PaymentRequiredError, 402, 'PAYMENT_REQUIRED'],
      [() => client.customers.list({ limit: 0 }), InvalidRequestError, 400, 'BAD_REQUEST'],
      [() => stranger.settings.get(), UnauthorizedError, 401, 'UNAUTHORIZED'],
    ] as const;
    for (const [call, ErrorClass, status, code] of refusals) {
      const error = await of(call());
      assert(error instanceof ErrorClass && error instanceof TollkeeperError, String(error));
      assert.deepEqual([error.status, error.code, error.name], [status, code, ErrorClass.name]);
      assert.match(error.requestId ?? '', /^[0-9a-f]{8}$/);
    }
  });

  test('they tell what is wrong, where, and all that was answered', async () => {
    const nameless = { customer: { externalId: 'x', email: 'a@acme.test' } } as Parameters<
      typeof client.customers.create
    >[0];
    const invalid = await of(client.customers.create(nameless));
    assert.deepEqual(
      invalid.issues.map(({ path }) => path),
      [['customer', 'name']],
    );
    assert.match(invalid.message, /customer\.name/);
    const usageEvent = {
      subscriptionId: world.subscriptionId,
      usageMeterSlug: 'api-calls',
      transactionId: 'more',
      amount: 10 ** 9,
    };
    const short = await of(client.usageEvents.consume({ usageEvent }));
    assert.equal(short.reason, 'insufficient_balance');
    const { code, request_id } = short.body as Record<string, unknown>;
    assert.deepEqual([code, request_id], ['PAYMENT_REQUIRED', short.requestId]);
  });
});
