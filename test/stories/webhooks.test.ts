import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { publish } from '../../src/customers/store-events.ts';
import { createApiKey } from '../../src/organizations/actions.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const { customerId } = await insertFixture(app);
const pricingModelId: string = (await app.get('/pricing-models/default')).pricingModel.id;

const valid = { name: 'Ours', url: 'https://example.com/hook', filterTypes: ['customer.created'] };
const live = { key: app.liveKey };
const create = async (changes: object = {}) => app.post('/webhooks', { webhook: { ...valid, ...changes } });

describe('a webhook', () => {
  test('a webhook is answered whole when it is made, with a secret of 32 bytes in standard base64', async () => {
    const { webhook, secret } = await create({ pricingModelId });
    assert.match(webhook.id, /^webhook_[0-9A-Za-z]{21}$/);
    assert.deepEqual(webhook, {
      id: webhook.id,
      createdAt: webhook.createdAt,
      updatedAt: webhook.createdAt,
      pricingModelId,
      ...valid,
      active: true,
      disabledReason: null,
      livemode: false,
      organizationId: app.id,
    });
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32);
  });

  test('a webhook tells its secret once', async () => {
    const { webhook, secret } = await create();
    const later = [
      await app.get(`/webhooks/${webhook.id}`),
      await app.get('/webhooks?limit=100'),
      await app.put(`/webhooks/${webhook.id}`, { webhook: { name: 'Other' } }),
      await app.request('DELETE', `/webhooks/${webhook.id}`),
    ];
    for (const answer of later) assert.equal(JSON.stringify(answer).includes(secret.slice(6)), false);
    assert.notEqual((await create()).secret, secret);
  });

  test('a webhook belongs to the default pricing model when it names none', async () => {
    assert.equal((await create()).webhook.pricingModelId, pricingModelId);
    assert.equal((await create({ pricingModelId: null })).webhook.pricingModelId, pricingModelId);
  });

  test('a webhook takes each type of event, folds repetitions, and may be made switched off', async () => {
    const all = [
      'customer.created',
      'customer.updated',
      'purchase.completed',
      'payment.failed',
      'payment.succeeded',
      'subscription.created',
      'subscription.updated',
      'subscription.canceled',
      'sync.events_available',
    ];
    const { webhook } = await create({ filterTypes: [...all, ...all], active: false });
    assert.deepEqual(webhook.filterTypes, all);
    assert.equal(webhook.active, false);
    assert.deepEqual((await create({ filterTypes: [] })).webhook.filterTypes, []);
  });

  test('a webhook is not made from what it cannot be', async () => {
    const wrong: [string, object][] = [
      ['webhook.name', { name: '' }],
      ['webhook.name', { name: 'x'.repeat(256) }],
      ['webhook.name', { name: undefined }],
      ['webhook.url', { url: undefined }],
      ['webhook.url', { url: 'example.com/hook' }],
      ['webhook.url', { url: 'ftp://example.com' }],
      ['webhook.url', { url: 'https://me:secret@example.com' }],
      ['webhook.url', { url: 'http://10.0.0.7/hook' }],
      ['webhook.url', { url: 'http://metadata.google.internal/' }],
      ['webhook.url', { url: `https://example.com/${'x'.repeat(2029)}` }],
      ['webhook.filterTypes', { filterTypes: undefined }],
      ['webhook.filterTypes.0', { filterTypes: ['customer.deleted'] }],
      ['webhook.active', { active: 'yes' }],
    ];
    for (const [path, changes] of wrong) {
      const { status, body } = await app.request('POST', '/webhooks', { webhook: { ...valid, ...changes } });
      assert.equal(status, 400, JSON.stringify(changes));
      assert.equal(body.issues[0].path.join('.'), path);
    }
    assert.equal((await app.request('POST', '/webhooks', {})).status, 400);
  });

  test('a webhook of the longest address and name is made', async () => {
    const url = `https://example.com/${'x'.repeat(2028)}`;
    assert.equal(url.length, 2048);
    assert.equal((await create({ url, name: 'x'.repeat(255) })).webhook.url, url);
  });

  test('a webhook of an unknown pricing model is not found', async () => {
    const { status } = await app.request('POST', '/webhooks', {
      webhook: { ...valid, pricingModelId: 'pricing_model_x' },
    });
    assert.equal(status, 404);
  });

  test('a webhook of live mode has an https address, and none on this machine', async () => {
    for (const url of ['http://example.com/hook', 'https://127.0.0.1/hook']) {
      const { status, body } = await app.request('POST', '/webhooks', { webhook: { ...valid, url } }, live);
      assert.equal(status, 400, url);
      assert.deepEqual(body.issues[0].path, ['webhook', 'url']);
    }
    const { webhook } = await app.post('/webhooks', { webhook: valid }, live);
    const worse = { webhook: { url: 'http://example.com/hook' } };
    assert.equal((await app.request('PUT', `/webhooks/${webhook.id}`, worse, live)).status, 400);
    assert.equal((await app.get(`/webhooks/${webhook.id}`, live)).webhook.url, valid.url);
    await app.request('DELETE', `/webhooks/${webhook.id}`, undefined, live);
  });

  test('a webhook is one of a hundred of its pricing model at most, however many are made at once', async () => {
    const { pricingModelId: crowded } = await insertFixture(app);
    const body = { webhook: { ...valid, pricingModelId: crowded } };
    for (let made = 0; made < 95; made++) await app.post('/webhooks', body);
    const answers = await Promise.all(Array.from({ length: 12 }, () => app.request('POST', '/webhooks', body)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(5).fill(200), ...Array(7).fill(409)]);
    const refused = answers.find(({ status }) => status === 409);
    assert.equal(refused?.body.message, `Pricing model ${crowded} already has 100 webhooks: delete one first.`);
    const [first] = (await app.get(`/webhooks?pricingModelId=${crowded}&limit=1`)).data;
    await app.request('DELETE', `/webhooks/${first.id}`);
    assert.equal((await app.post('/webhooks', body)).webhook.pricingModelId, crowded);
  });

  test('that the service switched off is switched on again without a memory of why', async () => {
    const { webhook } = await create();
    const failing = { failingSince: 1_750_000_000_000 };
    const disable = (values: object) =>
      app.owner.updateTable('webhooks').set(values).where('id', '=', webhook.id).execute();
    const read = () =>
      app.owner.selectFrom('webhooks').select(['failingSince']).where('id', '=', webhook.id).executeTakeFirst();
    await disable({ ...failing, active: false, disabledReason: 'It is gone.' });
    assert.equal((await app.get(`/webhooks/${webhook.id}`)).webhook.disabledReason, 'It is gone.');

    const renamed = (await app.put(`/webhooks/${webhook.id}`, { webhook: { name: 'Gone' } })).webhook;
    assert.equal(renamed.disabledReason, 'It is gone.');
    assert.deepEqual(await read(), failing);
    const back = (await app.put(`/webhooks/${webhook.id}`, { webhook: { active: true } })).webhook;
    assert.deepEqual(back, { ...renamed, active: true, disabledReason: null, updatedAt: back.updatedAt });
    assert.deepEqual(await read(), { failingSince: null });
  });

  test('that moves to another address begins anew, and one that stays does not', async () => {
    const { webhook } = await create();
    const failingSince = async () => {
      const query = app.owner.selectFrom('webhooks').select('failingSince').where('id', '=', webhook.id);
      return (await query.executeTakeFirstOrThrow()).failingSince;
    };
    await app.owner.updateTable('webhooks').set({ failingSince: 7 }).where('id', '=', webhook.id).execute();
    await app.put(`/webhooks/${webhook.id}`, { webhook: { url: valid.url } });
    assert.equal(await failingSince(), 7);
    await app.put(`/webhooks/${webhook.id}`, { webhook: { url: 'https://example.com/moved' } });
    assert.equal(await failingSince(), null);
  });

  test('a webhook changes in what is sent only', async () => {
    const { webhook } = await create();
    const changed = (await app.put(`/webhooks/${webhook.id}`, { webhook: { id: webhook.id, active: false } })).webhook;
    assert.deepEqual(changed, { ...webhook, active: false, updatedAt: changed.updatedAt });
    const rest = { name: 'Theirs', url: 'https://example.com/other', filterTypes: [] };
    const again = (await app.put(`/webhooks/${webhook.id}`, { webhook: { ...rest, pricingModelId } })).webhook;
    assert.deepEqual(again, { ...changed, ...rest, updatedAt: again.updatedAt });
    assert.deepEqual((await app.get(`/webhooks/${webhook.id}`)).webhook, again);
  });

  test('a webhook keeps its pricing model, and its id is the one in the path', async () => {
    const { webhook } = await create();
    for (const change of [
      { pricingModelId: 'pricing_model_x' },
      { id: 'webhook_x' },
      { url: 'nowhere' },
      { name: '' },
    ]) {
      assert.equal((await app.request('PUT', `/webhooks/${webhook.id}`, { webhook: change })).status, 400);
    }
    assert.deepEqual((await app.get(`/webhooks/${webhook.id}`)).webhook, webhook);
  });

  test('a webhook is gone when it was deleted, and answered once more as it was', async () => {
    const { webhook } = await create();
    const { status, body } = await app.request('DELETE', `/webhooks/${webhook.id}`);
    assert.equal(status, 200);
    assert.deepEqual(body, { webhook });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
    ] as const)
      assert.equal((await app.request(method, `/webhooks/${webhook.id}${path}`)).status, 404);
    assert.equal((await app.request('PUT', `/webhooks/${webhook.id}`, { webhook: { name: 'x' } })).status, 404);
  });

  test('a webhook of another environment or organization is not found', async () => {
    const { webhook } = await create();
    const other = await app.newOrganization();
    for (const key of [app.liveKey, other.testKey]) {
      assert.equal((await app.request('GET', `/webhooks/${webhook.id}`, undefined, { key })).status, 404);
      assert.equal(
        (await app.request('PUT', `/webhooks/${webhook.id}`, { webhook: { name: 'x' } }, { key })).status,
        404,
      );
      assert.equal((await app.request('DELETE', `/webhooks/${webhook.id}`, undefined, { key })).status, 404);
      assert.equal((await app.get('/webhooks', { key })).total, 0);
    }
  });

  test('a webhook of another pricing model is not there for a key that is pinned to one', async () => {
    const { webhook } = await create();
    const other = await insertFixture(app);
    const pinned = { environmentId: app.testEnvironmentId, livemode: false, name: 'Pinned' };
    const { token: key } = await createApiKey(
      app.owner,
      { ...pinned, pricingModelId: other.pricingModelId },
      Date.now(),
    );
    assert.equal((await app.request('GET', `/webhooks/${webhook.id}`, undefined, { key })).status, 404);
    const elsewhere = { webhook: { ...valid, pricingModelId } };
    assert.equal((await app.request('POST', '/webhooks', elsewhere, { key })).status, 404);
    const made = (await app.post('/webhooks', { webhook: valid }, { key })).webhook;
    assert.equal(made.pricingModelId, other.pricingModelId);
    assert.deepEqual((await app.get('/webhooks', { key })).data, [made]);
  });

  test('a webhook is listed in order of creation, page by page, by activity', async () => {
    const before = (await app.get('/webhooks?active=false')).total;
    const first = (await create({ name: 'First', active: false })).webhook;
    const second = (await create({ name: 'Second', active: false })).webhook;
    const third = (await create({ name: 'Third', active: false })).webhook;
    const list = await app.get('/webhooks?active=false&limit=100');
    assert.equal(list.total, before + 3);
    assert.deepEqual(list.data.slice(-3), [first, second, third]);
    const page = await app.get(`/webhooks?active=false&limit=${before + 2}`);
    const rest = await app.get(`/webhooks?limit=${before + 2}&cursor=${encodeURIComponent(page.nextCursor)}`);
    assert.deepEqual(rest.data, [third]);
    assert.equal(rest.hasMore, false);
  });
});

describe('an event', () => {
  const trigger = {
    object: 'customer',
    objectId: customerId,
    pricingModelId,
    customer: { id: customerId, externalId: 'acme' },
    data: { id: customerId },
  };

  test('an event is read with its payload, by itself and in the list', async () => {
    await app.setClock(1_750_000_000_000);
    await app.inEnvironment((work) => publish(work, [{ ...trigger, type: 'customer.created' }]));
    await app.inEnvironment((work) => publish(work, [{ ...trigger, type: 'customer.updated' }]));
    const { data, total } = await app.get(`/events?objectId=${customerId}&type=customer.updated`);
    assert.equal(total, 1);
    const [event] = data;
    assert.deepEqual(event, {
      id: event.id,
      createdAt: 1_750_000_000_000,
      livemode: false,
      organizationId: app.id,
      pricingModelId,
      type: 'customer.updated',
      object: 'customer',
      objectId: customerId,
      occurredAt: 1_750_000_000_000,
      payload: {
        id: customerId,
        object: 'customer',
        customer: { id: customerId, externalId: 'acme' },
        pricingModelId,
        type: 'customer.updated',
        eventId: event.id,
        occurredAt: 1_750_000_000_000,
        livemode: false,
        data: { id: customerId },
      },
    });
    assert.deepEqual((await app.get(`/events/${event.id}`)).event, event);
    assert.equal((await app.get('/events')).total, 2);
    assert.equal((await app.get('/events?objectId=nobody')).total, 0);
  });

  test('that is unknown, or of another environment, is not found', async () => {
    const [event] = (await app.get('/events')).data;
    assert.equal((await app.request('GET', '/events/event_x')).status, 404);
    assert.equal((await app.request('GET', `/events/${event.id}`, undefined, { key: app.liveKey })).status, 404);
    assert.equal((await app.request('GET', '/events?type=customer.deleted')).status, 400);
  });
});
