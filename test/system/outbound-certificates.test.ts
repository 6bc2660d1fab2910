import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createOutbound } from '../../src/jobs/outbound.ts';
import { certificate } from '../support/outbound-certificate.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

let arrived = 0;
let connections = 0;
const names: unknown[] = [];
const server = createServer(certificate, (request, response) => {
  arrived += 1;
  names.push((request.socket as TLSSocket & { servername: unknown }).servername);
  response.end('safe');
});
server.on('connection', () => {
  connections += 1;
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const { port } = server.address() as AddressInfo;

const lookup = async () => [{ address: '127.0.0.1', family: 4 }];

function open() {
  const outbound = createOutbound({ allow: [], allowInTestMode: loopback, lookup, timeoutMs: 5000 });
  after(() => outbound.close());
  return outbound;
}

async function failureOf(url: string): Promise<string> {
  const answer = await open().post({ url, livemode: false, headers: {}, body: '{}' });
  return 'failure' in answer ? answer.failure : `was answered ${answer.statusCode}`;
}

/** Does something while the processes of this machine trust the certificate. */
async function trusting<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate.cert]);
  try {
    return await act();
  } finally {
    setDefaultCACertificates(before);
  }
}

const url = `https://hooks.example.test:${port}/`;

test('a certificate that nobody has vouched for is refused, before anything is sent', async () => {
  const refusal =
    'The certificate of hooks.example.test was rejected: self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT).';
  assert.equal(await failureOf(url), refusal);
  // The setting that turns such checks off in a whole process does not turn off this one.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    assert.equal(await failureOf(url), refusal);
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
  assert.equal(arrived, 0);
});

test('a certificate of another name is refused, and of a bare address too', async () => {
  const [other, bare] = await trusting(() =>
    Promise.all([failureOf(`https://other.example.test:${port}/`), failureOf(`https://127.0.0.1:${port}/`)]),
  );
  assert.match(other, /^The certificate of other\.example\.test was rejected: .+\(ERR_TLS_CERT_ALTNAME_INVALID\)\.$/);
  assert.match(bare, /^The certificate of 127\.0\.0\.1 was rejected: .+\(ERR_TLS_CERT_ALTNAME_INVALID\)\.$/);
  assert.equal(arrived, 0);
});

test('a server that speaks in clear is no secure one', async () => {
  const clear = await startReceiver();
  const failure = await failureOf(clear.url.replace('http:', 'https:'));
  assert.match(failure, /^No secure connection: /);
  assert.equal(clear.received.length, 0);
});

test('the name stays what was asked for, and a connection of test mode is none of live mode', async () => {
  const outbound = open();
  const message = { url, headers: {}, body: '{}' };
  const answer = await trusting(() => outbound.post({ ...message, livemode: false }));
  assert.match('body' in answer ? answer.body : '', /^Not shown: 4 bytes /);
  assert.deepEqual(names, ['hooks.example.test']);

  const connected = connections;
  const live = await outbound.post({ ...message, livemode: true });
  assert.equal('failure' in live && live.failure, 'The address 127.0.0.1 of hooks.example.test is not public.');
  assert.deepEqual([arrived, connections], [1, connected]);
});
