import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { slotOf } from '../../src/kernel/id.ts';
import { forgetAttemptsOnce } from '../../src/webhooks/actions-deliveries.ts';
import { EventPayload, eventTypes } from '../../src/webhooks/event.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { type ReceiverAnswer, startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();

/** A webhook of a pricing model of its own. */
async function setUp({ answers = [], ...changes }: { answers?: ReceiverAnswer[]; [field: string]: unknown } = {}) {
  const receiver = await startReceiver(answers);
  const { pricingModelId } = await insertFixture(app);
  const given = { name: 'Ours', url: receiver.url, filterTypes: [], pricingModelId };
  const { webhook } = await app.post('/webhooks', { webhook: { ...given, ...changes } });
  const addCustomer = async (externalId: string): Promise<Body> =>
    (
      await app.post('/customers', {
        customer: { externalId: `${externalId} of ${webhook.id}`, email: 'a@acme.test', name: 'Ada', pricingModelId },
      })
    ).data.customer;
  const deliveries = async (query = ''): Promise<Body[]> =>
    (await app.get(`/webhooks/${webhook.id}/deliveries?limit=100&${query}`)).data;
  return { receiver, pricingModelId, id: webhook.id as string, webhook, addCustomer, deliveries };
}

const deliveryOf = async (id: string) => app.get(`/deliveries/${id}`);

/** The answer of a receiver on this machine, as a test key sees it. */
const hidden = (bytes: number) =>
  `Not shown: ${bytes} bytes from an address of this machine. With TOLLKEEPER_WEBHOOK_ALLOW they are.`;

describe('a sample', () => {
  test('a sample of each type is a payload of that type about records that do not exist', async () => {
    const { receiver, pricingModelId, id } = await setUp();
    for (const type of eventTypes) {
      await app.post(`/webhooks/${id}/test`, { test: { type } });
      await app.sendWebhooks();
      const { headers, body } = receiver.received.splice(0).at(-1) ?? assert.fail(type);
      const payload = EventPayload.parse(JSON.parse(body.toString()));
      assert.equal(payload.type, type);
      assert.equal(payload.pricingModelId, pricingModelId);
      assert.equal(payload.livemode, false);
      assert.match(payload.id, /_sample$/);
      assert.match(payload.eventId, /^event_sample_[0-9A-Za-z]{21}$/);
      assert.equal(headers['webhook-id'], payload.eventId);
      assert.equal((await app.request('GET', `/events/${payload.eventId}`)).status, 404);
    }
  });

  test('a sample is of a created customer where no type is named, and passes by the filter', async () => {
    const { receiver, id } = await setUp({ filterTypes: ['payment.failed'] });
    const { delivery } = await app.post(`/webhooks/${id}/test`, {});
    assert.deepEqual(delivery, {
      id: delivery.id,
      createdAt: delivery.createdAt,
      updatedAt: delivery.createdAt,
      livemode: false,
      organizationId: app.id,
      pricingModelId: delivery.pricingModelId,
      webhookId: id,
      eventId: null,
      eventType: 'customer.created',
      objectId: 'cust_sample',
      status: 'pending',
      attempts: 0,
      nextAttemptAt: delivery.createdAt,
      lastAttemptAt: null,
      lastStatusCode: null,
      lastError: null,
    });
    await app.post(`/webhooks/${id}/test`, { test: {} });
    await app.sendWebhooks();
    assert.deepEqual(receiver.types(), ['customer.created', 'customer.created']);
  });

  test('that fails is not sent again', async () => {
    const { receiver, id } = await setUp({ answers: [{ status: 500, body: 'no' }] });
    const { delivery } = await app.post(`/webhooks/${id}/test`, {});
    await app.sendWebhooks({ all: true });
    receiver.only();
    const after = await deliveryOf(delivery.id);
    assert.equal(after.delivery.status, 'failed');
    assert.equal(after.delivery.lastError, 'The endpoint responded with 500.');
    assert.equal(after.attempts[0].answer, hidden(2));
  });

  test('a sample goes to an active webhook only, and is of a type that there is', async () => {
    const { id, deliveries } = await setUp({ active: false });
    const refused = await app.request('POST', `/webhooks/${id}/test`, {});
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /is inactive, so nothing is sent to it: set active to true first/);
    const unknown = await app.request('POST', `/webhooks/${id}/test`, { test: { type: 'customer.deleted' } });
    assert.equal(unknown.status, 400);
    assert.deepEqual(unknown.body.issues[0].path, ['test', 'type']);
    assert.deepEqual(await deliveries(), []);
  });

  test('a sample carries the time of the test clock, and is sent now', async () => {
    await app.setClock(Date.UTC(2031, 5, 1));
    const { receiver, id } = await setUp();
    const { delivery } = await app.post(`/webhooks/${id}/test`, {});
    await app.sendWebhooks();
    assert.equal(JSON.parse(receiver.only().body.toString()).occurredAt, Date.UTC(2031, 5, 1));
    assert(Math.abs(delivery.nextAttemptAt - Date.now()) < 60_000);
  });
});

describe('a delivery', () => {
  test('a delivery is read with its attempts, as they went', async () => {
    const { addCustomer, deliveries } = await setUp({
      answers: [
        { status: 503, body: 'later\0' },
        { status: 200, body: 'thanks' },
      ],
      filterTypes: ['customer.created'],
    });
    const customer = await addCustomer('ada');
    await app.sendWebhooks({ all: true });
    const [listed] = await deliveries();
    const { delivery, attempts } = await deliveryOf(listed.id);
    assert.deepEqual(delivery, listed);
    assert.equal(delivery.objectId, customer.id);
    assert.equal(delivery.eventType, 'customer.created');
    const [first, second] = attempts;
    assert.deepEqual(attempts, [
      { ...first, number: 1, statusCode: 503, error: 'The endpoint responded with 503.', answer: hidden(5) },
      { ...second, number: 2, statusCode: 200, error: null, answer: hidden(6) },
    ]);
    assert(first.startedAt <= second.startedAt && second.startedAt <= delivery.lastAttemptAt);
    assert(first.durationMs >= 0);
  });

  test('a delivery is found by status, event, type and object', async () => {
    const { addCustomer, deliveries } = await setUp({ answers: [{ status: 500 }], filterTypes: ['customer.created'] });
    const ada = await addCustomer('ada');
    await app.sendWebhooks();
    const ben = await addCustomer('ben');
    await app.sendWebhooks();
    const [ofAda, ofBen] = await deliveries();
    assert.equal(ofAda.objectId, ada.id);
    assert.deepEqual(await deliveries('status=pending'), [ofAda]);
    assert.deepEqual(await deliveries('status=succeeded'), [ofBen]);
    assert.deepEqual(await deliveries(`eventId=${ofAda.eventId}`), [ofAda]);
    assert.deepEqual(await deliveries(`objectId=${ben.id}`), [ofBen]);
    assert.deepEqual(await deliveries('eventType=customer.created'), [ofAda, ofBen]);
    assert.deepEqual(await deliveries('eventType=customer.updated'), []);
    for (const query of ['status=lost', 'eventType=customer.deleted'])
      assert.equal((await app.request('GET', `/webhooks/${ofAda.webhookId}/deliveries?${query}`)).status, 400);
  });

  test('that was given up is sent once more with the same id, at once and then by the schedule', async () => {
    const answers = Array.from({ length: 11 }, () => ({ status: 500 }));
    const { receiver, addCustomer, deliveries } = await setUp({ answers, filterTypes: ['customer.created'] });
    await addCustomer('ada');
    await app.sendWebhooks({ all: true });
    const [failed] = await deliveries();
    assert.deepEqual([failed.status, failed.attempts], ['failed', 10]);

    const { delivery } = await app.post(`/deliveries/${failed.id}/retry`);
    assert.equal(delivery.status, 'pending');
    assert(delivery.nextAttemptAt <= Date.now());
    await app.sendWebhooks();
    const [waiting] = await deliveries();
    assert.deepEqual([waiting.status, waiting.attempts], ['pending', 11]);
    const waitMs = waiting.nextAttemptAt - waiting.lastAttemptAt;
    assert(waitMs >= 5000 && waitMs <= 5500, `${waitMs}`);
    await app.sendWebhooks({ all: true });
    const { delivery: done, attempts } = await deliveryOf(failed.id);
    assert.deepEqual([done.status, done.attempts], ['succeeded', 12]);
    assert.deepEqual(
      attempts.map((attempt: Body) => attempt.number),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    );
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  });

  test('that succeeded is sent once more too', async () => {
    const { receiver, addCustomer, deliveries } = await setUp({ filterTypes: ['customer.created'] });
    await addCustomer('ada');
    await app.sendWebhooks();
    const [done] = await deliveries();
    await app.post(`/deliveries/${done.id}/retry`);
    await app.sendWebhooks();
    const [first, second, ...others] = receiver.received;
    assert.deepEqual(others, []);
    assert.deepEqual(second?.body, first?.body);
    assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id']);
  });

  test('a delivery of a webhook that is not active is not sent again', async () => {
    const { id, addCustomer, deliveries } = await setUp({ filterTypes: ['customer.created'] });
    await addCustomer('ada');
    await app.sendWebhooks();
    await app.put(`/webhooks/${id}`, { webhook: { active: false } });
    const [before] = await deliveries();
    assert.equal((await app.request('POST', `/deliveries/${before.id}/retry`)).status, 400);
    assert.deepEqual(await deliveries(), [before]);
  });

  test('that there is not is not found', async () => {
    assert.equal((await app.request('GET', '/deliveries/webhook_delivery_x')).status, 404);
    const { status, body } = await app.request('POST', '/deliveries/webhook_delivery_x/retry');
    assert.equal(status, 404);
    assert.equal(body.message, 'No webhook delivery with id webhook_delivery_x.');
  });

  test('a delivery forgets its attempts after thirty days, and stays', async () => {
    const { id, deliveries } = await setUp();
    await app.post(`/webhooks/${id}/test`, {});
    await app.post(`/webhooks/${id}/test`, {});
    await app.sendWebhooks();
    const [old, young] = await deliveries();
    const dayMs = 24 * 60 * 60 * 1000;
    const age = (deliveryId: string, days: number) =>
      app.owner
        .updateTable('webhookAttempts')
        .set({ startedAt: Date.now() - days * dayMs })
        .where('deliveryId', '=', deliveryId)
        .execute();
    await age(old.id, 30);
    await age(young.id, 29);
    const cell = app.databaseOf(slotOf(old.id));
    assert.equal(await forgetAttemptsOnce(cell), 1);
    assert.deepEqual(await deliveryOf(old.id), { delivery: old, attempts: [] });
    assert.equal((await deliveryOf(young.id)).attempts.length, 1);
    assert.equal(await forgetAttemptsOnce(cell), 0);
  });
});
