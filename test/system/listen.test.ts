import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSmtp } from '../../src/jobs/smtp.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { program } from '../support/program.ts';

const app = await startTestApp();
const children = new Set<ChildProcessByStdio<null, Readable, Readable>>();
after(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** `tollkeeper listen` in a process of its own. */
function listen(args: readonly string[], key: string | null = app.testKey) {
  return run(['listen', ...args], key);
}

/** A command of `tollkeeper` in a process of its own, and what it says. */
function run(args: readonly string[], key: string | null) {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TOLLKEEPER_TEST_KEY: key ?? '', PORT: '' },
  });
  children.add(child);
  const said = { output: '', notes: '' };
  child.stdout.on('data', (chunk) => {
    said.output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.notes += chunk;
  });
  const ended = once(child, 'close').then(([code]) => {
    children.delete(child);
    return { code: code as number | null, ...said };
  });
  return { child, said, ended };
}

/** Starts a listener and waits until it says its address. */
async function startListener(...args: string[]) {
  const listener = listen(['--url', app.url, ...args]);
  await until(() => / Press Ctrl-C to stop\.\n/.test(listener.said.notes), listener.said);
  const [, address = ''] = /Listening at (http\S+)/.exec(listener.said.notes) ?? [];
  const stop = async (signal: NodeJS.Signals = 'SIGINT') => {
    listener.child.kill(signal);
    return listener.ended;
  };
  return { ...listener, address, stop };
}

async function until(holds: () => boolean, shown: object): Promise<void> {
  for (const deadline = Date.now() + 10_000; !holds(); await sleep(10))
    assert(Date.now() < deadline, JSON.stringify(shown));
}

const newCustomer = async (externalId: string): Promise<Body> =>
  (await app.post('/customers', { customer: { externalId, email: 'a@acme.test', name: 'Acme' } })).data;
const linesOf = (output: string) => output.split('\n').filter((line) => line !== '');
const webhooks = async (): Promise<Body[]> => (await app.get('/webhooks')).data;

describe('tollkeeper listen', () => {
  test('tollkeeper listen prints time, type, record and id of each event, and deletes its webhook when it is told to stop', async () => {
    for (const [signal, externalId] of [
      ['SIGINT', 'one'],
      ['SIGTERM', 'two'],
    ] as const) {
      const listener = await startListener();
      assert.deepEqual(
        (await webhooks()).map(({ name, url }) => ({ name, url })),
        [{ name: 'tollkeeper listen', url: listener.address }],
      );
      const { customer } = await newCustomer(externalId);
      await app.sendWebhooks();
      await until(() => linesOf(listener.said.output).length >= 2, listener.said);
      const { code, output } = await listener.stop(signal);
      const events: Body[] = (await app.get('/events?limit=100')).data.filter(
        (event: Body) => event.payload.customer.id === customer.id,
      );
      assert.deepEqual(events.map(({ type }) => type).sort(), ['customer.created', 'subscription.created']);
      const expected = events.map(
        ({ occurredAt, type, objectId, id }) => `${new Date(occurredAt).toISOString()}  ${type}  ${objectId}  ${id}`,
      );
      assert.deepEqual(linesOf(output).sort(), expected.sort());
      assert.equal(code, 0);
      assert.deepEqual(await webhooks(), []);
    }
  });

  test('tollkeeper listen with --json and --types prints the payloads of these types, one a line, and nothing else', async () => {
    const listener = await startListener('--json', '--types', 'customer.created, customer.updated');
    const { customer } = await newCustomer('three');
    await app.put('/customers/three', { customer: { name: 'Acme Ltd' } });
    await app.sendWebhooks();
    await until(() => linesOf(listener.said.output).length >= 2, listener.said);
    const { output } = await listener.stop();
    const events = (await app.get(`/events?objectId=${customer.id}`)).data;
    assert.deepEqual(
      linesOf(output).map((line) => JSON.parse(line)),
      events.map((event: Body) => event.payload).sort((a: Body, b: Body) => a.occurredAt - b.occurredAt),
    );
  });

  test('tollkeeper listen answers 400 to what is not signed with its secret, says so, and does not print it', async () => {
    const listener = await startListener();
    const signature = `v1,${Buffer.alloc(32).toString('base64')}`;
    const now = String(Math.floor(Date.now() / 1000));
    const headers = { 'webhook-id': 'event_1', 'webhook-timestamp': now, 'webhook-signature': signature };
    for (const [sent, reason] of [
      [headers, 'No matching signature found'],
      [{ ...headers, 'webhook-timestamp': '1700000000' }, 'Message timestamp too old'],
      [{}, 'Missing required headers'],
    ] as const) {
      const response = await fetch(listener.address, { method: 'POST', headers: sent, body: '{"type":"forged"}' });
      assert.equal(response.status, 400);
      const words = `NOT VERIFIED: the signature does not verify (${reason}).`;
      await until(() => listener.said.notes.includes(words), listener.said);
    }
    const { output, notes } = await listener.stop();
    assert.equal(output, '');
    assert.doesNotMatch(notes, /forged/);
  });

  test('that was killed leaves a webhook, which the next one on its port ends', async () => {
    const killed = await startListener();
    await killed.stop('SIGKILL');
    const [left] = await webhooks();
    const next = await startListener('--port', new URL(killed.address).port);
    await newCustomer('four');
    await app.sendWebhooks();
    await until(() => linesOf(next.said.output).length >= 2, next.said);
    const { webhook } = await app.get(`/webhooks/${left.id}`);
    assert.equal(webhook.active, false);
    assert.match(webhook.disabledReason, /410/);
    const { output, notes } = await next.stop();
    assert.equal(linesOf(output).length, 2);
    assert.match(notes, /is not for this listener/);
    await app.request('DELETE', `/webhooks/${left.id}`);
  });

  test('tollkeeper listen ends when nobody reads any more what it prints', async () => {
    const listener = await startListener();
    listener.child.stdout.destroy();
    await newCustomer('five');
    await app.sendWebhooks();
    assert.equal((await listener.ended).code, 0);
    assert.deepEqual(await webhooks(), []);
  });

  test('that outlives its service says which webhook it leaves', async () => {
    const gone = await startTestApp();
    const listener = listen(['--url', gone.url, '--key', gone.testKey]);
    await until(() => listener.said.notes.includes('Listening'), listener.said);
    const [{ id }] = (await gone.get('/webhooks')).data;
    await gone.close();
    listener.child.kill('SIGINT');
    const { code, notes } = await listener.ended;
    assert.equal(code, 1);
    assert.match(notes, new RegExp(`The webhook ${id} could not be deleted: No service responds at http`));
  });
});

describe('tollkeeper listen says in words', () => {
  const refusals: readonly [string, () => Promise<readonly string[]> | readonly string[], RegExp, (string | null)?][] =
    [
      [
        'that no service answers',
        async () => ['--url', `http://127.0.0.1:${await closedPort()}`],
        /^No service responds at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Start it with npm start, or give its/,
      ],
      ['that a key is needed', () => ['--url', app.url], /^An API key is required: .* TOLLKEEPER_KEY\.$/, null],
      ['that the key is not known', () => ['--url', app.url, '--key', 'sk_test_wrong'], /does not know this key/],
      [
        'that live mode sends to no http address',
        () => ['--url', app.url, '--key', app.liveKey],
        /refused the webhook: .*webhook\.url.*https[\s\S]*Use a test mode key/,
      ],
      [
        'which types there are',
        () => ['--url', app.url, '--types', 'customer.made'],
        /refused the webhook: .*filterTypes/,
      ],
      [
        'which pricing model is not there',
        () => ['--url', app.url, '--pricing-model', 'none'],
        /refused the webhook: /,
      ],
      ['that --port is no port', () => ['--port', '65536'], /^--port: 65536 is not a number from 0 to 65535$/],
      ['that --url is no address', () => ['--url', 'localhost:3000'], /^--url: localhost:3000 is not a URL/],
      ['that the port is in use', async () => ['--port', await strangerPort()], /^--port: \d+ is in use/],
      [
        'that another program answers',
        async () => ['--url', `http://127.0.0.1:${await strangerPort()}`],
        /does not respond like Tollkeeper \(200\)\.$/,
      ],
    ];
  for (const [claim, args, words, key] of refusals) {
    test(claim, async () => {
      const { code, output, notes } = await listen(await args(), key).ended;
      assert.match(notes.trim(), words);
      assert.equal(code, 1);
      assert.equal(output, '');
      assert.doesNotMatch(notes, /\n\s+at /, 'no stack trace');
    });
  }

  test('tollkeeper listen that was refused has made nothing', async () => {
    assert.deepEqual(await webhooks(), []);
  });
});

/** The port of a server that is not ours. */
async function strangerPort(): Promise<string> {
  const { port, close } = await openStranger();
  after(close);
  return port;
}

/** A port at which a server was, and is no more. */
async function closedPort(): Promise<string> {
  const { port, close } = await openStranger();
  await close();
  return port;
}

async function openStranger() {
  const server = createServer((_request, response) => response.end('<p>Hello</p>'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: String((server.address() as AddressInfo).port),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

test('tollkeeper listen --mail prints the emails that it receives', async () => {
  const { child, said, ended } = run(['listen', '--mail'], null);
  await until(() => said.notes.includes('Press Ctrl-C'), said);
  const smtp = openSmtp({ url: /smtp:\S+\d/.exec(said.notes)?.[0] ?? '', from: 'billing@acme.test' });
  const content = { subject: 'Hello', text: 'Your invoice\u001b[31m', html: '<p>Your invoice</p>' };
  const head = { id: 'email_1', senderName: 'Acme', replyTo: null, recipients: ['ada@acme.test'] };
  const email = { ...head, ...content, attachments: [], images: [] };
  assert.deepEqual(await smtp.send(email), { kind: 'sent', refusedRecipients: [] });
  smtp.close();
  await until(() => said.output.includes('Your invoice'), said);
  assert.match(
    said.output,
    /^From: "Acme" <billing@acme\.test>\nTo: ada@acme\.test\nSubject: Hello\n\nYour invoice\?\[31m/,
  );
  child.kill('SIGINT');
  assert.equal((await ended).code, 0);
});
