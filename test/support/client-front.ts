import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

/**
 * What becomes of a request: it is passed on; passed on and its answer lost; passed on and its answer broken off; not
 * passed on and the connection cut; never answered; passed on and its answer held back for a while; or answered here.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | 'break off'
  | 'cut'
  | 'hang'
  | { readonly until: Promise<unknown> }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** When it came, by the clock of `performance`. */
  readonly at: number;
  /** What the service answered, where it was asked. */
  status?: number;
}

/** A real server in front of the service that does to each request what the test says, and writes down what it saw. */
export async function startFront(target = '') {
  const seen: Seen[] = [];
  const fates: Fate[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url: path = '', headers } = request;
    const each: Seen = { method, path, headers, body: Buffer.concat(chunks).toString(), at: performance.now() };
    seen.push(each);
    await meet(fates.shift() ?? 'pass', each, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  async function meet(fate: Fate, each: Seen, response: ServerResponse): Promise<void> {
    if (fate === 'hang') return;
    if (fate === 'cut') return void response.destroy();
    if (typeof fate === 'object' && 'status' in fate)
      return void response.writeHead(fate.status, fate.headers).end(fate.body);
    const { status, headers, body } = await passOn(target, each);
    each.status = status;
    if (fate === 'lose') return void response.destroy();
    response.writeHead(status, { ...headers, 'content-length': body.length });
    if (typeof fate === 'object') await fate.until;
    if (fate !== 'break off') return void response.end(body);
    response.write(body.subarray(0, body.length - 1), () => response.destroy());
  }

  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  after(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, fates, stop };
}

async function passOn(target: string, { method, path, headers, body }: Seen) {
  const { host, connection, 'content-length': length, ...rest } = headers;
  const response = await fetch(target + path, {
    method,
    headers: rest as Record<string, string>,
    ...(body === '' ? {} : { body }),
  });
  const kept = ['content-type', 'etag', 'x-request-id', 'x-should-retry', 'retry-after', 'idempotent-replayed'];
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => kept.includes(name))),
    body: Buffer.from(await response.arrayBuffer()),
  };
}
