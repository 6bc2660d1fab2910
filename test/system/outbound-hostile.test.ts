import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, test } from 'node:test';
import { loopback, parseNetworks } from '../../src/jobs/address-guard.ts';
import { createOutbound, type Outbound, type OutboundAnswer, type OutboundPolicy } from '../../src/jobs/outbound.ts';
import { startDnsServer, type Zone } from '../support/dns-server.ts';
import { hostileUrls, hostileZone } from '../support/hostile-urls.ts';

function open(policy: Partial<OutboundPolicy>): Outbound {
  const outbound = createOutbound({ allow: [], allowInTestMode: [], timeoutMs: 5000, ...policy });
  after(() => outbound.close());
  return outbound;
}

/** A server at every address of this machine, which notes which one it was reached at, and keeps no connection. */
async function startTrap() {
  const reachedAt: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    reachedAt.push(request.socket.localAddress?.replace('::ffff:', '') ?? '');
    response.writeHead(200, { connection: 'close' }).end('caught');
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  after(() => server.close());
  return { port: (server.address() as AddressInfo).port, reachedAt, connections: () => connections };
}

const trap = await startTrap();
const corpusNames = await startDnsServer(hostileZone);
const urls = hostileUrls(trap.port);
const message = { headers: { 'content-type': 'application/json' }, body: '{}' };

describe('an address that leads to what is not public', () => {
  const outbound = open({ lookup: corpusNames.lookup });

  for (const { url, refusedAt } of urls)
    test(`${JSON.stringify(url.slice(0, 80))} is refused at ${refusedAt}`, async () => {
      const issue = outbound.issueOf(url, false);
      assert.equal(issue === null, refusedAt === 'connection', String(issue));
      assert.notEqual(outbound.issueOf(url, true), null, 'live mode wants https besides');
      const secure = url.replace(/^http:/, 'https:');
      for (const attempt of [
        { url, livemode: false },
        { url: secure, livemode: true },
      ]) {
        const before = trap.connections();
        const answer = await outbound.post({ ...message, ...attempt });
        assert('failure' in answer, JSON.stringify(answer));
        assert.match(
          answer.failure,
          refusedAt === 'connection' ? /^The address \S+ of \S+ is not public\.$/ : /^Not sent: /,
        );
        assert.equal(trap.connections(), before);
      }
    });

  test('an address that leads to what is not public is in one of at least sixty forms', () => {
    assert.ok(new Set(urls.map(({ url }) => url)).size >= 60);
    assert.equal(new Set(urls.map(({ url }) => url)).size, urls.length);
  });
});

test('the same addresses do lead to this machine where it is allowed, so the trap is one', async () => {
  const outbound = open({
    lookup: corpusNames.lookup,
    allow: [...loopback, ...parseNetworks('0.0.0.0, ::')],
  });
  const leads = ['2130706433', '0x7f.1', '127。0。0。1', '[::1]', '[::ffff:7f00:1]', '0', '[::]', 'localhost'];
  const names = ['127.0.0.1.names', 'six', 'six-mapped', '0.0.0.0.names'].map((name) => `${name}.example.test`);
  const hosts = [...leads, ...names];
  for (const host of hosts) {
    const url = `http://${host}:${trap.port}/hook`;
    assert.ok(
      urls.some((each) => each.url === url),
      `${url} is not of the corpus`,
    );
    const answer = await outbound.post({ ...message, url, livemode: false });
    assert('statusCode' in answer, `${url}: ${JSON.stringify(answer)}`);
    assert.equal(answer.body, 'caught');
  }
  assert.equal(trap.reachedAt.length, hosts.length);
});

/** A way out that may reach 127.0.0.1 and not 127.0.0.2, and names that the zone answers. */
async function startRebinding(zone: Zone) {
  const names = await startDnsServer(zone);
  const receiver = await startTrap();
  const outbound = open({ lookup: names.lookup, allow: parseNetworks('127.0.0.1') });
  const url = `http://rebind.example.test:${receiver.port}/hook`;
  return { names, receiver, post: () => outbound.post({ ...message, url, livemode: false }) };
}

describe('a name whose address changes', () => {
  test('a name whose address changes is looked up once for a connection, which goes to what was judged', async () => {
    // Good the first time it is asked for, and never again.
    let requested = 0;
    const { names, receiver, post } = await startRebinding((_, type) => {
      if (type === 'A') requested += 1;
      return [requested <= 1 ? '127.0.0.1' : '127.0.0.2'];
    });
    const first = await post();
    assert.equal('statusCode' in first && first.statusCode, 200);
    assert.deepEqual(receiver.reachedAt, ['127.0.0.1']);
    assert.deepEqual(names.requested.sort(), ['A rebind.example.test', 'AAAA rebind.example.test']);

    const second = await post();
    assert('failure' in second);
    assert.equal(second.failure, 'The address 127.0.0.2 of rebind.example.test is not public.');
    assert.equal(receiver.connections(), 1);
  });

  test('never leads astray, however often and however many at once', async () => {
    let requested = 0;
    const { receiver, post } = await startRebinding((_, type) => {
      if (type === 'A') requested += 1;
      return [['127.0.0.1', '127.0.0.2'][requested % 2] ?? '', '::1'].slice(0, requested % 5 === 0 ? 2 : 1);
    });
    const answers: OutboundAnswer[] = [];
    for (let round = 0; round < 15; round += 1) answers.push(...(await Promise.all([post(), post(), post()])));
    const arrived = answers.filter((answer) => 'statusCode' in answer).length;
    assert.ok(arrived > 0 && arrived < answers.length, `${arrived} of ${answers.length}`);
    assert.deepEqual(receiver.reachedAt, Array(arrived).fill('127.0.0.1'));
    assert.equal(receiver.connections(), arrived);
  });

  for (const addresses of [
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.2', '127.0.0.1'],
    ['127.0.0.1', '::1'],
  ])
    test(`a name whose address changes is refused while one of its addresses is not allowed: ${addresses.join(' and ')}`, async () => {
      const { receiver, post } = await startRebinding(() => addresses);
      const answer = await post();
      assert('failure' in answer);
      assert.match(answer.failure, /^The address (127\.0\.0\.2|::1) of rebind\.example\.test is not public\.$/);
      assert.equal(receiver.connections(), 0);
    });

  test('a name whose address changes is tried at its other addresses when one does not answer', async () => {
    const receiver = createServer((_, response) => response.end('here'));
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    after(() => receiver.close());
    const { lookup } = await startDnsServer(() => ['::1', '127.0.0.1']);
    const outbound = open({ allow: loopback, lookup: async (host) => (await lookup(host)).toReversed() });
    const url = `http://both.example.test:${(receiver.address() as AddressInfo).port}/`;
    const answer = await outbound.post({ ...message, url, livemode: false });
    assert.equal('body' in answer && answer.body, 'here');
  });
});

test('a lookup that answers no address is a failure', async () => {
  const table: readonly (readonly [found: readonly string[], failure: string])[] = [
    [[], 'The host name hooks.example.test has no address.'],
    [['localhost'], 'The address localhost of hooks.example.test is not public.'],
    [[''], 'The address  of hooks.example.test is not public.'],
  ];
  for (const [found, failure] of table) {
    const outbound = open({ lookup: async () => found.map((address) => ({ address, family: 4 })) });
    const answer = await outbound.post({ ...message, url: 'https://hooks.example.test/', livemode: true });
    assert.equal('failure' in answer && answer.failure, failure);
  }
});
