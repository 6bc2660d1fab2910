import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { publish } from '../../src/customers/store-events.ts';
import { defaultEventTypes, type EventType, eventTypes } from '../../src/webhooks/event.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const models = [(await insertFixture(app)).pricingModelId, (await insertFixture(app)).pricingModelId];

/** What a step does; numbers choose one of what there is. */
type Step =
  | { readonly does: 'add'; readonly model: number; readonly filter: readonly string[]; readonly active: boolean }
  | { readonly does: 'switch'; readonly webhook: number }
  | { readonly does: 'filter'; readonly webhook: number; readonly filter: readonly string[] }
  | { readonly does: 'delete'; readonly webhook: number }
  | { readonly does: 'publish' | 'give up'; readonly told: readonly { type: EventType; model: number }[] };

interface Endpoint {
  readonly id: string;
  readonly model: number;
  filter: readonly string[];
  active: boolean;
}

const number = fc.nat({ max: 9 });
const filter = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  { weight: 3, arbitrary: fc.uniqueArray(fc.constantFrom(...eventTypes, 'sync.events_available'), { maxLength: 4 }) },
);
const model = fc.nat({ max: models.length - 1 });
const told = fc.array(fc.record({ type: fc.constantFrom(...eventTypes), model }), { minLength: 1, maxLength: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('add' as const), model, filter, active: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('switch' as const), webhook: number }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('filter' as const), webhook: number, filter }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), webhook: number }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constantFrom('publish' as const, 'give up' as const), told }) },
);

/** The plain rule: nothing named is all that there were at first. */
function wants({ filter: types, active }: Endpoint, type: EventType): boolean {
  const first: readonly string[] = defaultEventTypes;
  return active && (types.length === 0 ? first.includes(type) : types.includes(type));
}

/** The environment as it should be: who is there now, and who was to get what. */
class World {
  readonly endpoints: Endpoint[] = [];
  readonly eventIds: string[] = [];
  readonly #due: { readonly eventId: string; readonly webhookId: string }[] = [];

  async run(steps: readonly Step[]): Promise<void> {
    for (const each of steps) await this.#perform(each);
  }

  /** Of each event one delivery for each endpoint that is still there and wanted it when it was told, as `event to webhook`. */
  wanted(): string[] {
    const there = new Set(this.endpoints.map(({ id }) => id));
    const due = this.#due.filter(({ webhookId }) => there.has(webhookId));
    return due.map(({ eventId, webhookId }) => `${eventId} to ${webhookId}`).toSorted();
  }

  async #perform(each: Step): Promise<void> {
    switch (each.does) {
      case 'add':
        return this.#add({ id: anyId('webhook'), model: each.model, filter: each.filter, active: each.active });
      case 'switch':
        return this.#change(each.webhook, (endpoint) => ({ active: !endpoint.active }));
      case 'filter':
        return this.#change(each.webhook, () => ({ filter: each.filter }));
      case 'delete':
        return this.#delete(each.webhook);
      case 'publish':
        return this.#tell(each.told);
      case 'give up':
        return assert.rejects(() => publishAll(each.told, true), /given up/);
      default:
        each satisfies never;
    }
  }

  async #add(endpoint: Endpoint): Promise<void> {
    await insertEndpoint(endpoint);
    this.endpoints.push(endpoint);
  }

  async #change(
    which: number,
    changeOf: (endpoint: Endpoint) => Partial<Pick<Endpoint, 'filter' | 'active'>>,
  ): Promise<void> {
    const endpoint = this.endpoints[which % this.endpoints.length];
    if (endpoint === undefined) return;
    Object.assign(endpoint, changeOf(endpoint));
    const { id, filter: filterTypes, active } = endpoint;
    const change = app.owner.updateTable('webhooks').set((eb) => {
      return { filterTypes: [...filterTypes], active, revision: eb('revision', '+', 1) };
    });
    await change.where('id', '=', id).execute();
  }

  async #delete(which: number): Promise<void> {
    const [endpoint] = this.endpoints.splice(which % Math.max(this.endpoints.length, 1), 1);
    if (endpoint !== undefined) await app.owner.deleteFrom('webhooks').where('id', '=', endpoint.id).execute();
  }

  async #tell(happened: readonly { type: EventType; model: number }[]): Promise<void> {
    const eventIds = await publishAll(happened, false);
    this.eventIds.push(...eventIds);
    for (const [index, eventId] of eventIds.entries()) {
      const { type, model: number } = happened[index] ?? assert.fail('one for one');
      const wanting = this.endpoints.filter((endpoint) => endpoint.model === number && wants(endpoint, type));
      this.#due.push(...wanting.map(({ id: webhookId }) => ({ eventId, webhookId })));
    }
  }
}

function modelId(number: number): string {
  return models[number] ?? assert.fail('there are two');
}

async function insertEndpoint({ id, model: number, filter: filterTypes, active }: Endpoint): Promise<void> {
  const known = { environmentId: app.testEnvironmentId, createdAt: 0, updatedAt: 0, sealedSecret: '' };
  const row = { id, pricingModelId: modelId(number), name: 'W', url: 'https://hooks.example.com/', active };
  await app.owner
    .insertInto('webhooks')
    .values({ ...known, ...row, filterTypes: [...filterTypes] })
    .execute();
}

/** An endpoint of the second pricing model that wants what there was at first. Answers its id. */
async function newEndpoint(): Promise<string> {
  const id = anyId('webhook');
  await insertEndpoint({ id, model: 1, filter: [], active: true });
  return id;
}

/** Tells all of it in one unit of work, which is given up after that where it is to be. Answers the events' ids, in order. */
function publishAll(happened: readonly { type: EventType; model: number }[], isGivenUp: boolean): Promise<string[]> {
  return app.inEnvironment(async (work) => {
    const objectId = anyId('customer');
    const customer = { id: objectId, externalId: 'acme' };
    await publish(
      work,
      happened.map((each) => {
        const data = { id: objectId };
        return { type: each.type, object: 'customer', objectId, pricingModelId: modelId(each.model), customer, data };
      }),
    );
    if (isGivenUp) throw new Error('given up');
    const rows = await work.db
      .selectFrom('events')
      .select('id')
      .where('objectId', '=', objectId)
      .orderBy('id')
      .execute();
    return rows.map(({ id }) => id);
  });
}

test('every event has one delivery for each endpoint that wants it as it is told, and what is given up has none', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const world = new World();
      await world.run(steps);
      // Cells follow a deletion.
      await app.copyCatalogs();
      const events = await app.owner.selectFrom('events').select('id').orderBy('id').execute();
      assert.deepEqual(
        events.map(({ id }) => id),
        world.eventIds,
      );
      const deliveries = await app.owner.selectFrom('webhookDeliveries').selectAll().execute();
      assert.deepEqual(
        deliveries.map(({ eventId, webhookId }) => `${eventId} to ${webhookId}`).toSorted(),
        world.wanted(),
      );
      for (const { status, attempts, sample } of deliveries)
        assert.deepEqual([status, attempts, sample], ['pending', 0, null]);
      await app.owner.deleteFrom('webhooks').execute();
      await app.copyCatalogs();
      await app.owner.deleteFrom('events').execute();
    }),
    { numRuns: 100 },
  );
});

test('a dry run leaves neither event nor delivery', async () => {
  const webhook = { name: 'W', url: 'https://hooks.example.com/in', filterTypes: [], pricingModelId: models[0] };
  await app.post('/webhooks', { webhook });
  const body = { customer: { externalId: 'dry', email: 'd@acme.test', name: 'Dry', pricingModelId: models[0] } };
  assert.equal((await app.request('POST', '/customers?dryRun=true', body)).status, 200);
  const countsNow = async () => [
    (await app.owner.selectFrom('events').select('id').execute()).length,
    (await app.owner.selectFrom('webhookDeliveries').select('id').execute()).length,
  ];
  assert.deepEqual(await countsNow(), [0, 0]);
  // The same for good, so that the zeros above mean something: there is no default plan in this pricing model.
  await app.post('/customers', body);
  assert.deepEqual(await countsNow(), [1, 1]);
});

/** Waits, ten seconds at most, until somebody waits for a lock in this database. */
async function someoneWaits(): Promise<void> {
  for (const until = Date.now() + 10_000; Date.now() < until; ) {
    const { rows } =
      await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
        app.owner,
      );
    if (rows.length > 0) return;
  }
  assert.fail('nobody waits');
}

test('an endpoint that is being deleted is waited for: the event is told, and goes nowhere', async () => {
  const webhookId = await newEndpoint();
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const { promise: deleted, resolve: isDeleted } = Promise.withResolvers<void>();
  const deleting = app.owner.transaction().execute(async (db) => {
    await db.deleteFrom('webhooks').where('id', '=', webhookId).execute();
    isDeleted();
    await mayEnd;
  });
  await deleted;
  const telling = publishAll([{ type: 'customer.created', model: 1 }], false);
  await someoneWaits();
  end();
  await deleting;
  const [eventId] = await telling;
  assert(eventId);
  const deliveries = app.owner.selectFrom('webhookDeliveries').select('id');
  assert.deepEqual(await deliveries.where('eventId', '=', eventId).execute(), []);
});

test('deliveries of an object have the order in which its events were told, also within a commit', async () => {
  const webhookId = await newEndpoint();
  const types: EventType[] = ['customer.created', 'customer.updated', 'customer.updated', 'subscription.canceled'];
  const first = await publishAll(
    types.map((type) => ({ type, model: 1 })),
    false,
  );
  const second = await publishAll([{ type: 'payment.failed', model: 1 }], false);
  const rows = await app.owner
    .selectFrom('webhookDeliveries')
    .select('eventId')
    .where('webhookId', '=', webhookId)
    .orderBy('sequence')
    .execute();
  assert.deepEqual(
    rows.map(({ eventId }) => eventId),
    [...first, ...second],
  );
});
