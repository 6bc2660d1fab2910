import assert from 'node:assert/strict';
import { after } from 'node:test';
import { Flowglad } from '@flowglad/node';
import { z } from 'zod';
import { answerPointer, createValidator } from './document.ts';
import type { Body, TestApp } from './harness.ts';

/** A request of an official client, as it came out of it, and what it was answered. */
export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Headers;
  readonly status: number;
  readonly answer: Body;
}

type Fetch = typeof globalThis.fetch;

export interface Watch {
  /** Sends as `fetch` does; every answer must be what openapi.json says of its operation and status. */
  readonly fetch: Fetch;
  /** What went to the service so far, oldest first. */
  readonly exchanges: Exchange[];
}

const plainFetch = globalThis.fetch;

/** Watches what official clients ask of the API; other requests pass. */
export async function watch(app: TestApp): Promise<Watch> {
  const document: Body = await (await plainFetch(`${app.url}/openapi.json`)).json();
  const ajv = createValidator(document);
  const paths = Object.keys(document.paths).map((path) => ({ path, pattern: patternOf(path) }));
  // A path without parameters comes before one whose parameter would match it.
  paths.sort((one, other) => one.path.split('{').length - other.path.split('{').length);
  const exchanges: Exchange[] = [];
  const assertDocumented = ({ method, path, status, answer }: Exchange) => {
    const operation = paths.find(({ pattern }) => pattern.test(path.replace(/\?.*/, '')));
    if (operation === undefined) return assert.equal(status, 404, `${path} is not documented`);
    const pointer = answerPointer(document, { method, path: operation.path, status });
    const validate = pointer && ajv.getSchema(pointer);
    assert(validate, `${method} ${operation.path} does not document ${status}: ${JSON.stringify(answer)}`);
    assert(validate(answer), `${method} ${operation.path} ${status}: ${ajv.errorsText(validate.errors)}`);
  };
  const fetch: Fetch = async (input, init) => {
    const response = await plainFetch(input, init);
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== app.url || !url.pathname.startsWith('/api/')) return response;
    const exchange = {
      method: (init?.method ?? 'GET').toUpperCase(),
      path: url.pathname + url.search,
      headers: new Headers(init?.headers),
      status: response.status,
      answer: await response.clone().json(),
    };
    exchanges.push(exchange);
    assertDocumented(exchange);
    return response;
  };
  return { fetch, exchanges };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** The official client as an application makes it: a key and an address. */
export function officialClient(app: TestApp, { fetch }: Watch, apiKey = app.testKey): Flowglad {
  return new Flowglad({ apiKey, baseURL: app.url, fetch });
}

/** Every method of the official client, as `resource.method`. */
export function methodsOf(client: Flowglad): string[] {
  return Object.entries(client).flatMap(([resource, value]) =>
    typeof value === 'object' && value !== null && '_client' in value
      ? Object.getOwnPropertyNames(Object.getPrototypeOf(value))
          .filter((method) => method !== 'constructor')
          .map((method) => `${resource}.${method}`)
      : [],
  );
}

/** The envelope of every list. */
export function pageOf<Row extends z.ZodType>(row: Row) {
  return z.object({
    data: z.array(row).min(1),
    hasMore: z.boolean(),
    total: z.int(),
    currentCursor: z.string().optional(),
    nextCursor: z.string().optional(),
  });
}

/** Checks that an answer has every key that clients read, each of its type. */
export function assertShape(schema: z.ZodType, answer: unknown): void {
  const { error } = schema.safeParse(answer);
  if (error) assert.fail(`${z.prettifyError(error)}\n${JSON.stringify(answer).slice(0, 800)}`);
}

/** Watches every client of this process, also those that an official package makes by itself. Until the file ends. */
export async function watchAll(app: TestApp): Promise<Watch> {
  const watched = await watch(app);
  globalThis.fetch = watched.fetch;
  after(() => {
    globalThis.fetch = plainFetch;
  });
  return watched;
}

/** The same object, which notes the name of each method that is called on it. */
export function noting<Target extends object>(target: Target, called: Set<string>): Target {
  return new Proxy(target, {
    get(of, name, receiver) {
      const value = Reflect.get(of, name, receiver);
      if (typeof value === 'function') called.add(String(name));
      return value;
    },
  });
}
