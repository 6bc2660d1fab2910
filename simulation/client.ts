import { request } from 'node:http';

// biome-ignore lint/suspicious/noExplicitAny: answers have every shape.
export type Body = any;

export interface Ask {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** A body of NDJSON lines instead. */
  readonly lines?: readonly unknown[];
  /** Its Idempotency-Key. */
  readonly key?: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Body;
}

// Not a performance limit: a connection without any data by then is dead.
const longestWaitMs = 60_000;

/** Sends one request on a new connection. Returns null if it breaks. */
export function sendOnce(port: number, token: string, { method, path, body, lines, key }: Ask): Promise<Answer | null> {
  const text =
    lines?.map((line) => `${JSON.stringify(line)}\n`).join('') ?? (body === undefined ? null : JSON.stringify(body));
  const type = lines === undefined ? 'application/json' : 'application/x-ndjson';
  return new Promise((resolve) => {
    const requested = request({
      host: '127.0.0.1',
      port,
      method,
      path: `/api/v1${path}`,
      agent: false,
      timeout: longestWaitMs,
      headers: {
        authorization: `Bearer ${token}`,
        ...(text === null ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
    });
    const fail = () => resolve(null);
    requested.on('error', fail);
    requested.on('timeout', () => requested.destroy());
    requested.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', fail);
      response.on('end', () => {
        if (!response.complete) return fail();
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(parts).toString()) });
      });
    });
    requested.end(text ?? undefined);
  });
}

function parsed(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
