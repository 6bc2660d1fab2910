import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from 'kysely';
import { Webhook as Verifier } from 'standardwebhooks';
import { secretContext } from '../../src/webhooks/delivery.ts';
import { startTestApp, testWebhookServices } from '../support/harness.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const webhooks = testWebhookServices();
const app = await startTestApp({ services: { webhooks } });
const dayMs = 24 * 60 * 60 * 1000;

async function setUp() {
  const receiver = await startReceiver();
  const { webhook, secret } = await app.post('/webhooks', {
    webhook: { name: 'Ours', url: receiver.url, filterTypes: ['customer.created'] },
  });
  const rotate = async (): Promise<string> => (await app.post(`/webhooks/${webhook.id}/rotate-secret`)).secret;
  /** Sends one message and answers which of the secrets its receiver may know. */
  const accepting = async (...secrets: string[]): Promise<string[]> => {
    await app.post(`/webhooks/${webhook.id}/test`, {});
    await app.sendWebhooks();
    const { headers, body } = receiver.received.splice(0).at(-1) ?? assert.fail('nothing was received');
    return secrets.filter((each) => verifies(each, body, headers as Record<string, string>));
  };
  return { id: webhook.id as string, secret: secret as string, rotate, accepting };
}

function verifies(secret: string, body: Buffer, headers: Record<string, string>): boolean {
  try {
    new Verifier(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

const storedSecrets = (id: string) =>
  app.owner
    .selectFrom('webhooks')
    .select(['environmentId', 'sealedSecret', 'sealedPreviousSecret', 'previousSecretEndsAt'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

describe('after a rotation', () => {
  test('a receiver that knows the old or the new secret accepts, for 24 hours', async () => {
    const { id, secret: first, rotate, accepting } = await setUp();
    assert.deepEqual(await accepting(first), [first]);
    const before = Date.now();
    const second = await rotate();
    assert.match(second, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(await accepting(first, second), [first, second]);

    const { previousSecretEndsAt: endsAt } = await storedSecrets(id);
    assert(endsAt !== null && endsAt >= before + dayMs && endsAt <= Date.now() + dayMs);
    await app.owner.updateTable('webhooks').set({ previousSecretEndsAt: Date.now() }).where('id', '=', id).execute();
    assert.deepEqual(await accepting(first, second), [second]);
  });

  test('after a second rotation the first secret is of no use', async () => {
    const { secret: first, rotate, accepting } = await setUp();
    const second = await rotate();
    const third = await rotate();
    assert.deepEqual(await accepting(first, second, third), [second, third]);
  });

  test('the day is one of real time, whatever the test clock says', async () => {
    const { id, rotate } = await setUp();
    await app.setClock(Date.UTC(2040, 0, 1));
    const before = Date.now();
    await rotate();
    const { previousSecretEndsAt: endsAt } = await storedSecrets(id);
    assert(endsAt !== null && endsAt >= before + dayMs && endsAt <= Date.now() + dayMs);
  });

  test('of many rotations at once the last secret is the one in use and all secrets differ', async () => {
    const { id, secret: first, rotate } = await setUp();
    const secrets = await Promise.all(Array.from({ length: 8 }, rotate));
    assert.equal(new Set([first, ...secrets]).size, 9);
    const { environmentId, sealedSecret, sealedPreviousSecret } = await storedSecrets(id);
    const open = (sealed: string | null) => webhooks.encryption.open(sealed ?? '', secretContext(environmentId, id));
    assert(secrets.includes(open(sealedSecret)));
    assert(secrets.includes(open(sealedPreviousSecret)));
    assert.notEqual(open(sealedSecret), open(sealedPreviousSecret));
  });

  test('a dry run of it changes nothing', async () => {
    const { id, secret, accepting } = await setUp();
    const before = await storedSecrets(id);
    const { secret: told } = await app.post(`/webhooks/${id}/rotate-secret?dryRun=true`);
    assert.deepEqual(await storedSecrets(id), before);
    assert.deepEqual(await accepting(secret, told), [secret]);
  });
});

describe('a secret', () => {
  /** Everything that the database holds, as text. */
  async function dump(): Promise<string> {
    const { rows: tables } = await sql<{ name: string }>`
      select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`.execute(
      app.owner,
    );
    const texts = await Promise.all(
      tables.map(({ name }) =>
        sql<{ row: string }>`select t::text as row from ${sql.table(name)} t`.execute(app.owner),
      ),
    );
    return texts.flatMap(({ rows }) => rows.map(({ row }) => row)).join('\n');
  }

  test('a secret stands nowhere in the database, not even where answers are kept for a repeat', async () => {
    const headers = { 'idempotency-key': 'made-once' };
    const body = { webhook: { name: 'Ours', url: 'https://example.com', filterTypes: [] } };
    const made = await app.request('POST', '/webhooks', body, { headers });
    const path = `/webhooks/${made.body.webhook.id}/rotate-secret`;
    const rotated = await app.request('POST', path, undefined, { headers: { 'idempotency-key': 'rotated-once' } });
    const text = await dump();
    assert(text.includes(made.body.webhook.id));
    for (const { secret } of [made.body, rotated.body]) {
      assert.match(secret, /^whsec_/);
      const key = Buffer.from(secret.slice(6), 'base64');
      for (const spelling of [secret.slice(6), key.toString('base64url'), key.toString('hex')])
        assert.equal(text.includes(spelling), false, spelling);
    }
  });

  test('a secret is told again to who repeats the request under its key, and it is not made anew', async () => {
    const headers = { 'idempotency-key': 'again' };
    const { id } = await setUp();
    const first = await app.request('POST', `/webhooks/${id}/rotate-secret`, undefined, { headers });
    const stored = await storedSecrets(id);
    const again = await app.request('POST', `/webhooks/${id}/rotate-secret`, undefined, { headers });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.body, first.body);
    assert.deepEqual(await storedSecrets(id), stored);
  });

  test('a secret is in no other answer', async () => {
    const { id, secret, rotate } = await setUp();
    const rotated = await rotate();
    const { delivery } = await app.post(`/webhooks/${id}/test`, {});
    await app.sendWebhooks();
    const answers = JSON.stringify([
      await app.get(`/webhooks/${id}`),
      await app.get('/webhooks?limit=100'),
      await app.get(`/webhooks/${id}/deliveries`),
      await app.get(`/deliveries/${delivery.id}`),
      await app.put(`/webhooks/${id}`, { webhook: { name: 'Other' } }),
      await app.post(`/webhooks/${id}/replay`, { replay: { since: 0 } }),
      (await app.request('DELETE', `/webhooks/${id}`)).body,
    ]);
    for (const each of [secret, rotated]) assert.equal(answers.includes(each.slice(6)), false);
    assert.doesNotMatch(answers, /whsec_|sealed/i);
  });

  test('that was moved to another row signs nothing', async () => {
    const mine = await setUp();
    const other = await setUp();
    const { sealedSecret } = await storedSecrets(other.id);
    await app.owner.updateTable('webhooks').set({ sealedSecret }).where('id', '=', mine.id).execute();
    const { delivery } = await app.post(`/webhooks/${mine.id}/test`, {});
    await app.sendWebhooks();
    const { attempts } = await app.get(`/deliveries/${delivery.id}`);
    assert.match(attempts[0].error, /webhook secret cannot be decrypted/);
  });
});
