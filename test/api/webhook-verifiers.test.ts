import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { verifyWebhook } from '@flowglad/server';
import { Webhook as StandardVerifier } from 'standardwebhooks';
import { startTestApp } from '../support/harness.ts';
import { type Received, startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();
const receiver = await startReceiver();
const { webhook, secret } = await app.post('/webhooks', {
  webhook: { name: 'Ours', url: receiver.url, filterTypes: ['customer.created'] },
});

/** Makes a customer whose name needs every kind of escape, and answers the message that told of it. */
async function receive(externalId: string): Promise<Received> {
  const customer = { externalId, email: 'z@acme.test', name: 'Zoë "O\'Søn" \\ 🧮' };
  await app.post('/customers', { customer });
  await app.sendWebhooks();
  const message = receiver.received.at(-1);
  assert(message);
  return message;
}

type Verify = (message: Received, key: string) => unknown;
const verifiers: Readonly<Record<string, Verify>> = {
  standardwebhooks: ({ body, headers }, key) =>
    new StandardVerifier(key).verify(body, headers as Record<string, string>),
  '@flowglad/server': ({ body, headers }, key) => verifyWebhook(body, headers, key),
};

const first = await receive('Zoë & Søn');

for (const [name, verify] of Object.entries(verifiers)) {
  describe(`the verifier of ${name}`, () => {
    test(`the verifier of ${name} accepts a message in the bytes in which it came`, async () => {
      const [event] = (await app.get('/events?type=customer.created')).data;
      assert.equal(event.payload.customer.externalId, 'Zoë & Søn');
      assert.deepEqual(verify(first, secret), event.payload);
    });

    test(`the verifier of ${name} refuses it with any byte of the body changed, one more, or one less`, () => {
      const altered = Array.from(first.body, (byte, index) => {
        const body = Buffer.from(first.body);
        body[index] = byte ^ 1;
        return body;
      });
      for (const body of [...altered, Buffer.concat([first.body, Buffer.from(' ')]), first.body.subarray(0, -1)])
        assert.throws(() => verify({ ...first, body }, secret), /signature/i, body.toString());
    });

    test(`the verifier of ${name} refuses it with another id, time, signature or secret`, async () => {
      const change = (part: string, value: string) => ({
        ...first,
        headers: { ...first.headers, [`webhook-${part}`]: value, [`svix-${part}`]: value },
      });
      const later = String(Number(first.headers['webhook-timestamp']) + 1);
      const second = await receive(`second-${name}`);
      const wrong: [string, Received, string][] = [
        ['id', change('id', 'event_2'), secret],
        ['time', change('timestamp', later), secret],
        ['time that is long ago', change('timestamp', '1700000000'), secret],
        ['signature of another message', change('signature', String(second.headers['webhook-signature'])), secret],
        ['secret', first, `whsec_${Buffer.alloc(32).toString('base64')}`],
      ];
      for (const [claim, message, key] of wrong) assert.throws(() => verify(message, key), claim);
    });
  });
}

describe('a rotated secret', () => {
  test('a rotated secret and the one before it are both good for 24 hours, then the new one alone', async () => {
    const rotated = await app.post(`/webhooks/${webhook.id}/rotate-secret`);
    assert.notEqual(rotated.secret, secret);
    const between = await receive('between');
    assert.equal(String(between.headers['webhook-signature']).split(' ').length, 2);
    for (const verify of Object.values(verifiers))
      for (const key of [secret, rotated.secret]) assert.deepEqual(verify(between, key), JSON.parse(`${between.body}`));

    const { previousSecretEndsAt } = await app.owner
      .selectFrom('webhooks')
      .select('previousSecretEndsAt')
      .where('id', '=', webhook.id)
      .executeTakeFirstOrThrow();
    const hoursLeft = (Number(previousSecretEndsAt) - Date.now()) / 3_600_000;
    assert(hoursLeft > 23.9 && hoursLeft <= 24, `${hoursLeft}`);

    // A day later, as far as the secret knows.
    await app.owner
      .updateTable('webhooks')
      .set({ previousSecretEndsAt: Date.now() - 1 })
      .execute();
    const after = await receive('after');
    for (const verify of Object.values(verifiers)) {
      assert.deepEqual(verify(after, rotated.secret), JSON.parse(`${after.body}`));
      assert.throws(() => verify(after, secret), /signature/i);
    }
  });
});
