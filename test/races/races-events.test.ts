import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Webhook as Verifier } from 'standardwebhooks';
import { publish } from '../../src/customers/store-events.ts';
import { createDatabase, createPool, type Database } from '../../src/database/database.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { Dispatcher } from '../../src/webhooks/jobs-sending.ts';
import { anyId } from '../support/any-id.ts';
import { testSchema } from '../support/databases.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Answer, startTestApp, testWebhookServices } from '../support/harness.ts';
import { assertStatuses, meet, rounds } from '../support/race.ts';
import { seededRandom } from '../support/seed.ts';
import { atOnce } from '../support/spending.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const webhooks = testWebhookServices();
const app = await startTestApp({ services: { webhooks } });
const { pricingModelId } = await insertFixture(app);

async function newEndpoint() {
  const receiver = await startReceiver();
  const { webhook, secret } = await app.post('/webhooks', {
    webhook: { name: 'Ours', url: receiver.url, filterTypes: ['customer.updated'], pricingModelId },
  });
  /** The objects that were told of, in the order of arrival. */
  const objects = () => receiver.received.map(({ body }) => JSON.parse(body.toString()).id as string);
  return { ...receiver, id: webhook.id as string, secret: secret as string, objects };
}

/** A transaction that has told of these objects and is open until it is let go. */
async function tellSlowly(database: Database, objectIds: readonly string[]) {
  const { promise: mayEnd, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: told, resolve: isTold } = Promise.withResolvers<void>();
  const customer = { id: anyId('customer'), externalId: 'acme' };
  const ended = runInEnvironment(database, { environmentId: app.testEnvironmentId }, async (work) => {
    const triggers = objectIds.map((objectId) => {
      return {
        type: 'customer.updated',
        object: 'customer',
        objectId,
        pricingModelId,
        customer,
        data: { id: objectId },
      };
    });
    await publish(work, triggers);
    isTold();
    await mayEnd;
  });
  await told;
  return {
    async commit() {
      letGo();
      await ended;
    },
  };
}

describe('race: event relay skipping rows by commit order', () => {
  test('what was written first and committed last is sent, and listed, and replayed', async () => {
    const endpoint = await newEndpoint();
    const first = await tellSlowly(app.database, ['cust_first']);
    const second = await tellSlowly(app.database, ['cust_second']);
    await second.commit();
    await app.sendWebhooks();
    assert.deepEqual(endpoint.objects(), ['cust_second']);
    await first.commit();
    await app.sendWebhooks();
    assert.deepEqual(endpoint.objects(), ['cust_second', 'cust_first']);
    const { data } = await app.get('/events?type=customer.updated&limit=100');
    assert.deepEqual(
      data.map(({ objectId }: { objectId: string }) => objectId),
      ['cust_first', 'cust_second'],
    );
    await app.post(`/webhooks/${endpoint.id}/replay`, { replay: { since: 0 } });
    await app.sendWebhooks();
    assert.deepEqual(endpoint.objects().slice(2).sort(), ['cust_first', 'cust_second']);
  });

  test('32 transactions that commit in any order, while a sender looks all the while: each event arrives, once', async () => {
    const random = seededRandom();
    const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 32, as: 'service' });
    const database = createDatabase(pool);
    const onError = (error: unknown) => {
      throw error;
    };
    const sender = new Dispatcher({ database: app.owner, services: webhooks, onError });
    try {
      for (let round = 0; round < rounds; round++) {
        const endpoint = await newEndpoint();
        const named = (index: number) => Array.from({ length: 3 }, (_, each) => `cust_${round}_${index}_${each}`);
        const open = await atOnce(32, (index) => tellSlowly(database, named(index)));
        let isOver = false;
        const sending = (async () => {
          while (!isOver) {
            await sender.drain();
            await nextTurn();
          }
          await sender.drain();
        })();
        for (const each of open.map((one) => ({ one, at: random() })).sort((a, b) => a.at - b.at))
          await each.one.commit();
        isOver = true;
        await sending;
        const wanted = Array.from({ length: 32 }, (_, index) => named(index)).flat();
        assert.deepEqual(endpoint.objects().sort(), wanted.sort());
      }
    } finally {
      await sender.stop();
      await pool.end();
    }
  });

  test('32 requests over HTTP beside a sender: each change is told once, each customer in order', async () => {
    const endpoint = await newEndpoint();
    const customers = await atOnce(8, async (index) => {
      const customer = { externalId: `relay-${index}`, email: `${index}@acme.test`, name: 'Acme', pricingModelId };
      return (await app.post('/customers', { customer })).data.customer;
    });
    const change = (index: number) => {
      const { externalId } = customers[index % 8] ?? assert.fail('eight customers');
      const customer = { externalId, name: `Name ${index}` };
      return app.request('PUT', `/customers/${externalId}?pricingModelId=${pricingModelId}`, { customer });
    };
    let answered = false;
    const changing = atOnce(32, change).finally(() => {
      answered = true;
    });
    while (!answered) await app.sendWebhooks();
    assertStatuses(await changing, [200]);
    await app.sendWebhooks();
    assert.equal(endpoint.received.length, 32);
    for (const { id } of customers) {
      const sent = endpoint.received.map(({ body }) => JSON.parse(body.toString())).filter((each) => each.id === id);
      const told = await app.get(`/events?type=customer.updated&objectId=${id}&limit=100`);
      assert.deepEqual(
        sent.map(({ eventId }) => eventId),
        told.data.map((event: { id: string }) => event.id),
      );
    }
  });
});

describe('race: secret rotated while messages are sent', () => {
  const verifies = (secret: string, body: Buffer, headers: object): boolean => {
    try {
      new Verifier(secret).verify(body, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  const rotating = { table: 'webhooks', on: 'update', when: 'new.sealed_secret <> old.sealed_secret' } as const;
  const rotate = (id: string): Promise<Answer> => app.request('POST', `/webhooks/${id}/rotate-secret`);
  const tell = async (objectId: string) => (await tellSlowly(app.database, [objectId])).commit();

  test('a message that is sent while the secret is being changed is signed with the one before it', async () => {
    const endpoint = await newEndpoint();
    await tell('cust_signed');
    const [rotated] = await meet<Answer, unknown>(
      app,
      rotating,
      () => rotate(endpoint.id),
      () => app.sendWebhooks(),
    );
    assert.equal(rotated.status, 200);
    const { body, headers } = endpoint.only();
    assert(verifies(endpoint.secret, body, headers));
  });

  test('of two rotations at once both secrets that were handed out count, and the one before them no longer', async () => {
    const endpoint = await newEndpoint();
    const answers = await meet(
      app,
      rotating,
      () => rotate(endpoint.id),
      () => rotate(endpoint.id),
    );
    assertStatuses(answers, [200]);
    await tell('cust_twice');
    await app.sendWebhooks();
    const { body, headers } = endpoint.only();
    const secrets = [endpoint.secret, ...answers.map((answer) => answer.body.secret as string)];
    assert.deepEqual(
      secrets.map((secret) => verifies(secret, body, headers)),
      [false, true, true],
    );
  });

  test('8 rotations beside 32 messages: each message is signed with a secret that was handed out', async () => {
    const endpoint = await newEndpoint();
    const objects = Array.from({ length: 32 }, (_, index) => `cust_rotated_${index}`);
    const changing = atOnce(8, () => app.post(`/webhooks/${endpoint.id}/rotate-secret`));
    const telling = atOnce(32, (index) => tell(objects[index] ?? ''));
    const [rotated] = await Promise.all([changing, telling, app.sendWebhooks()]);
    const secrets = [endpoint.secret, ...rotated.map(({ secret }) => secret)];
    await app.sendWebhooks();
    assert.deepEqual([...new Set(endpoint.objects())].sort(), objects.sort());
    for (const { body, headers } of endpoint.received)
      assert(secrets.some((secret) => verifies(secret, body, headers)));
  });
});
