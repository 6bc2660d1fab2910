import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { after, test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const mebibyte = 1024 * 1024;
const server = await createApp({
  database: app.database,
  limits: { maxRequests: 100, maxBodiesBytes: 64 * mebibyte, rateLimit: 1000 },
  migrated: async () => true,
});
const { hostname, port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
after(() => server.close());

test('a large body that nobody reads does not hold up the next request on its connection', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (type: string, body: Buffer | null) =>
    new Promise<number | string>((resolve) => {
      const requested = httpRequest({
        agent,
        hostname,
        port,
        method: 'POST',
        path: '/api/v1/usage-events/bulk',
        headers: { authorization: `Bearer ${app.testKey}`, 'content-type': type, 'content-length': body?.length ?? 0 },
        signal: AbortSignal.timeout(10_000),
      });
      requested.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)));
      requested.on('error', (error) => resolve(error.message));
      requested.end(body ?? undefined);
    });
  const large = Buffer.alloc(4 * mebibyte, 'x');
  for (let round = 0; round < 3; round++) {
    assert.equal(await ask('text/plain', large), 415);
    assert.equal(await ask('application/json', Buffer.from('{}')), 400);
  }
  agent.destroy();
});
