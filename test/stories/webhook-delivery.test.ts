import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { publish } from '../../src/customers/store-events.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { version } from '../../src/http/version.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { type ReceiverAnswer, startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const fixture = await insertFixture(app);

/** Each test has a pricing model of its own, so that it receives its own events only. */
async function newPricingModel(environmentId = app.testEnvironmentId): Promise<string> {
  return (await insertFixture(app, { environmentId })).pricingModelId;
}

async function setUp(changes: object = {}, answers: ReceiverAnswer[] = []) {
  const receiver = await startReceiver(answers);
  const pricingModelId = await newPricingModel();
  const body = { webhook: { name: 'Ours', url: receiver.url, filterTypes: [], pricingModelId, ...changes } };
  const { webhook, secret } = await app.post('/webhooks', body);
  const deliveries = async () => (await app.get(`/webhooks/${webhook.id}/deliveries`)).data;
  return { receiver, pricingModelId, webhook, secret, deliveries };
}

const happened = (type: string, pricingModelId: string) => ({
  type,
  object: 'customer',
  objectId: fixture.customerId,
  pricingModelId,
  customer: { id: fixture.customerId, externalId: 'Zoë & Søn' },
  data: { id: fixture.customerId },
});
const tell = (work: Work, pricingModelId: string, ...types: string[]) =>
  publish(
    work,
    types.map((type) => happened(type, pricingModelId)),
  );
const tellHere = (pricingModelId: string, ...types: string[]) =>
  app.inEnvironment((work) => tell(work, pricingModelId, ...types));

describe('a message', () => {
  test('a message is the payload, signed so that the public verifier accepts the bytes as received', async () => {
    const { receiver, pricingModelId, secret } = await setUp();
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks();
    const { method, path, headers, body } = receiver.only();
    assert.equal(`${method} ${path}`, 'POST /hook');
    const payload = new Verifier(secret).verify(body, headers as Record<string, string>);
    const [event] = (await app.get('/events?limit=100')).data.slice(-1);
    assert.deepEqual(payload, event.payload);
    assert.equal(headers['webhook-id'], event.id);
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['user-agent'], `Tollkeeper/${version}`);
    for (const part of ['id', 'timestamp', 'signature'])
      assert.equal(headers[`svix-${part}`], headers[`webhook-${part}`]);
  });

  test('that was accepted is noted as such, and not sent again', async () => {
    const { receiver, pricingModelId, webhook, deliveries } = await setUp({}, [{ status: 204 }]);
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks({ all: true });
    const { headers } = receiver.only();
    const [delivery, ...others] = await deliveries();
    assert.deepEqual(others, []);
    assert.deepEqual(delivery, {
      id: delivery.id,
      createdAt: delivery.createdAt,
      updatedAt: delivery.lastAttemptAt,
      livemode: false,
      organizationId: app.id,
      pricingModelId,
      webhookId: webhook.id,
      eventId: headers['webhook-id'],
      eventType: 'customer.created',
      objectId: fixture.customerId,
      status: 'succeeded',
      attempts: 1,
      nextAttemptAt: null,
      lastAttemptAt: delivery.lastAttemptAt,
      lastStatusCode: 204,
      lastError: null,
    });
  });

  test('that was refused is sent again five seconds later, or a little more, with the same id and bytes', async () => {
    const { receiver, pricingModelId, secret, deliveries } = await setUp({}, [
      { status: 500, body: 'x'.repeat(100_000) },
    ]);
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks();
    const [waiting] = await deliveries();
    assert.equal(waiting.status, 'pending');
    assert.equal(waiting.attempts, 1);
    assert.equal(waiting.lastStatusCode, 500);
    assert.equal(waiting.lastError, 'The endpoint responded with 500.');
    const waitMs = waiting.nextAttemptAt - waiting.lastAttemptAt;
    assert(waitMs >= 5000 && waitMs <= 5500, `${waitMs}`);
    assert.equal(receiver.received.length, 1);

    await app.sendWebhooks({ all: true });
    const [first, second, ...others] = receiver.received;
    assert(first && second);
    assert.deepEqual(others, []);
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers['webhook-id'], first.headers['webhook-id']);
    new Verifier(secret).verify(second.body, second.headers as Record<string, string>);
    const [done] = await deliveries();
    assert.equal(done.status, 'succeeded');
    assert.equal(done.attempts, 2);
    assert.equal(done.lastError, null);
  });

  test('a message is not kept waiting by a clock that is ahead, and a repetition never comes too soon', async () => {
    const { receiver, pricingModelId, webhook } = await setUp({}, [{ status: 500 }]);
    await tellHere(pricingModelId, 'customer.created');
    // As a database writes it whose clock is three seconds ahead of ours.
    const own = app.owner.updateTable('webhookDeliveries').where('webhookId', '=', webhook.id);
    await own.set({ nextAttemptAt: Date.now() + 3_000 }).execute();
    await app.sendWebhooks();
    assert.equal(receiver.received.length, 1);
    await own.set({ nextAttemptAt: Date.now() + 3_000 }).execute();
    await app.sendWebhooks();
    assert.equal(receiver.received.length, 1);
  });

  test('that is refused ten times is given up', async () => {
    const answers = Array.from({ length: 20 }, () => ({ status: 503 }));
    const { receiver, pricingModelId, deliveries } = await setUp({}, answers);
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks({ all: true });
    assert.equal(receiver.received.length, 10);
    const [delivery] = await deliveries();
    assert.equal(delivery.status, 'failed');
    assert.equal(delivery.attempts, 10);
    assert.equal(delivery.nextAttemptAt, null);
  });

  test('a message does not follow a redirect', async () => {
    const elsewhere = await startReceiver();
    const { receiver, pricingModelId, deliveries } = await setUp({}, [
      { status: 301, headers: { location: elsewhere.url } },
    ]);
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks();
    receiver.only();
    assert.deepEqual(elsewhere.received, []);
    const [delivery] = await deliveries();
    assert.equal(delivery.status, 'pending');
    assert.equal(delivery.lastStatusCode, 301);
  });

  test('that nobody takes keeps the reason', async () => {
    const { receiver, pricingModelId, deliveries } = await setUp();
    await receiver.stop();
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks();
    const [delivery] = await deliveries();
    assert.equal(delivery.status, 'pending');
    assert.equal(delivery.lastStatusCode, null);
    assert.equal(delivery.lastError, 'No response: ECONNREFUSED');
  });
});

describe('an event', () => {
  test('an event goes to the webhooks whose filter has its type, and to those without a filter', async () => {
    const filtered = await setUp({ filterTypes: ['payment.failed', 'customer.created'] });
    const all = await startReceiver();
    const { pricingModelId } = filtered;
    await app.post('/webhooks', { webhook: { name: 'All', url: all.url, filterTypes: [], pricingModelId } });
    await tellHere(pricingModelId, 'customer.created', 'customer.updated', 'payment.failed');
    await app.sendWebhooks();
    assert.deepEqual(filtered.receiver.types().sort(), ['customer.created', 'payment.failed']);
    assert.deepEqual(all.types().sort(), ['customer.created', 'customer.updated', 'payment.failed']);
  });

  test('an event follows a changed filter at once', async () => {
    const { receiver, pricingModelId, webhook } = await setUp({ filterTypes: ['customer.created'] });
    await app.put(`/webhooks/${webhook.id}`, { webhook: { filterTypes: ['customer.updated'] } });
    await tellHere(pricingModelId, 'customer.created', 'customer.updated');
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), ['customer.updated']);
  });

  test('an event of another pricing model or environment is not delivered', async () => {
    const { receiver, pricingModelId } = await setUp();
    const liveModelId = await newPricingModel(app.liveEnvironmentId);
    await tellHere(fixture.pricingModelId, 'customer.created');
    await runInEnvironment(app.database, { environmentId: app.liveEnvironmentId }, async (work) => {
      await tell(work, liveModelId, 'customer.created');
      // Not even an event that names the pricing model of another environment.
      await tell(work, pricingModelId, 'customer.created');
    });
    await app.sendWebhooks({ all: true });
    assert.deepEqual(receiver.received, []);
  });

  test('an event of a change that was rolled back is never delivered', async () => {
    const { receiver, pricingModelId } = await setUp();
    const changed = app.inEnvironment(async (work) => {
      await tell(work, pricingModelId, 'customer.created');
      throw new Error('changed my mind');
    });
    await assert.rejects(changed, /changed my mind/);
    await app.sendWebhooks({ all: true });
    assert.deepEqual(receiver.received, []);
  });

  test('an event is not delivered to a webhook that is switched off', async () => {
    const { receiver, pricingModelId, deliveries } = await setUp({ active: false });
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks({ all: true });
    assert.deepEqual(receiver.received, []);
    assert.deepEqual(await deliveries(), []);
  });
});

describe('a delivery', () => {
  const failing: ReceiverAnswer[] = [{ status: 500 }];

  test('a delivery ends when its webhook is switched off before the next attempt', async () => {
    const { receiver, pricingModelId, webhook, deliveries } = await setUp({}, [...failing]);
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks();
    await app.put(`/webhooks/${webhook.id}`, { webhook: { active: false } });
    await app.sendWebhooks({ all: true });
    receiver.only();
    const [delivery] = await deliveries();
    assert.equal(delivery.status, 'failed');
    assert.equal(delivery.attempts, 1);
    assert.equal(delivery.lastError, 'The webhook is not active.');
  });

  test('a delivery goes with its webhook', async () => {
    const { receiver, pricingModelId, webhook } = await setUp({}, [...failing]);
    await tellHere(pricingModelId, 'customer.created');
    await app.sendWebhooks();
    await app.request('DELETE', `/webhooks/${webhook.id}`);
    await app.sendWebhooks({ all: true });
    receiver.only();
    const left = app.owner.selectFrom('webhookDeliveries').select('id').where('webhookId', '=', webhook.id);
    assert.deepEqual(await left.execute(), []);
  });
});
