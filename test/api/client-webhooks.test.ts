import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook as Signer } from 'standardwebhooks';
import { Tollkeeper } from '../../client/src/client.ts';
import { verifyWebhook, WebhookVerificationError } from '../../client/src/webhook.ts';
import { startTestApp } from '../support/harness.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const client = new Tollkeeper({ key: app.testKey, baseUrl: app.url });
const receiver = await startReceiver();
const created = await client.webhooks.create({
  webhook: { name: 'Ours', url: receiver.url, filterTypes: ['customer.created'] },
});
const { secret } = created;
const customer = { externalId: 'zoë', email: 'z@acme.test', name: 'Zoë "O\'Søn" 🧮' };
await client.customers.create({ customer });
await app.sendWebhooks();
const { headers, body } = receiver.only();

const otherSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
const refused = (message: RegExp) => (error: unknown) => {
  assert(error instanceof WebhookVerificationError);
  assert.match(error.message, message);
  return true;
};

/** What a sender of this secret would send now, or `ageSeconds` ago. */
function signed(text: string, by: string, ageSeconds = 0) {
  const at = new Date(Date.now() - ageSeconds * 1000);
  const timestamp = String(Math.floor(at.getTime() / 1000));
  return {
    'webhook-id': 'event_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': new Signer(by).sign('event_1', at, text),
  };
}

describe('a message that the service sent', () => {
  test('a message that the service sent is accepted and told as it is, however its body and headers are at hand', async () => {
    const { data } = await client.events.list({ type: 'customer.created' });
    const [event] = data;
    assert.equal(event?.payload.customer.externalId, 'zoë');
    const text = body.toString();
    const asHeaders = new Headers(
      Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const capitals = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [String(value)]]),
    );
    for (const each of [headers, asHeaders, capitals]) {
      for (const payload of [text, body, new Uint8Array(body), new Uint8Array(body).buffer])
        assert.deepEqual(await verifyWebhook(payload, each, secret), event.payload);
    }
  });

  for (const prefix of ['webhook-', 'svix-']) {
    test(`a message that the service sent is accepted by its ${prefix} headers alone`, async () => {
      const only = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(prefix)));
      assert.equal(Object.keys(only).length, 3);
      assert.equal((await verifyWebhook(body, only, secret)).type, 'customer.created');
    });
  }

  test('a message that the service sent is refused with any byte of the body changed, one more, or one less', async () => {
    const altered = Array.from(body, (byte, index) => Buffer.from(body).fill(byte ^ 1, index, index + 1));
    for (const other of [...altered, Buffer.concat([body, Buffer.from(' ')]), body.subarray(0, -1), Buffer.alloc(0)])
      await assert.rejects(verifyWebhook(other, headers, secret), refused(/No signature of the message is right/));
  });

  test('a message that the service sent is refused with another id, time or secret', async () => {
    const later = String(Number(headers['webhook-timestamp']) + 1);
    const wrong = /No signature of the message is right/;
    await assert.rejects(verifyWebhook(body, { ...headers, 'webhook-id': 'event_2' }, secret), refused(wrong));
    await assert.rejects(verifyWebhook(body, { ...headers, 'webhook-timestamp': later }, secret), refused(wrong));
    await assert.rejects(verifyWebhook(body, headers, otherSecret), refused(wrong));
  });

  test('a message that the service sent is refused without any one of its headers', async () => {
    for (const part of ['id', 'timestamp', 'signature']) {
      const names = [`webhook-${part}`, `svix-${part}`];
      const without = Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
      await assert.rejects(verifyWebhook(body, without, secret), refused(/is missing/));
    }
  });
});

describe('signatures', () => {
  const text = '{"type":"customer.created"}';

  test('of several signatures one that is right will do, wherever it stands', async () => {
    const good = signed(text, secret)['webhook-signature'];
    const other = signed(text, otherSecret)['webhook-signature'];
    const [first, second] = [signed(text, secret), signed(text, secret)];
    for (const signatures of [`${good} ${other}`, `${other} ${good}`, `v2,AAAA v1,%%% v1, nonsense ${good}`]) {
      assert.deepEqual(
        await verifyWebhook(text, { ...first, 'webhook-signature': signatures }, secret),
        JSON.parse(text),
      );
    }
    for (const signatures of [other, `${other} ${other}`, good.replace('v1,', 'v2,'), good.slice(0, -4), '', 'v1,'])
      await assert.rejects(
        verifyWebhook(text, { ...second, 'webhook-signature': signatures }, secret),
        refused(/No signature/),
      );
  });

  test('signatures from too long ago, or ahead of time, are refused by what is allowed', async () => {
    const ages: [number, { toleranceSeconds?: number }, boolean][] = [
      [290, {}, true],
      [-290, {}, true],
      [310, {}, false],
      [-310, {}, false],
      [310, { toleranceSeconds: 600 }, true],
      [30, { toleranceSeconds: 10 }, false],
    ];
    for (const [age, options, isAccepted] of ages) {
      const verified = verifyWebhook(text, signed(text, secret, age), secret, options);
      if (isAccepted) assert.deepEqual(await verified, JSON.parse(text), `${age} seconds ago`);
      else await assert.rejects(verified, refused(/seconds ago/));
    }
    for (const timestamp of ['', 'soon', '1e3', '-1', 'NaN'])
      await assert.rejects(
        verifyWebhook(text, { ...signed(text, secret), 'webhook-timestamp': timestamp }, secret),
        refused(/timestamp/),
      );
  });

  test('a secret that is none is the mistake of the caller', async () => {
    for (const none of ['', 'whsec_', 'whsec_%%%'])
      await assert.rejects(verifyWebhook(text, signed(text, secret), none), TypeError);
  });
});

test('Node 18, where cryptography is not global, verifies as well', async () => {
  const headersNow = signed('{"type":"x"}', secret);
  const script = `
    delete globalThis.crypto;
    if (globalThis.crypto !== undefined) throw new Error('it is still there');
    const { verifyWebhook } = await import(${JSON.stringify(new URL('../../client/src/webhook.ts', import.meta.url).href)});
    console.log(JSON.stringify(await verifyWebhook('{"type":"x"}', ${JSON.stringify(headersNow)}, '${secret}')));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.deepEqual(JSON.parse(stdout), { type: 'x' });
});
