import { ConnectionError, errorOf, TimeoutError, type TollkeeperError } from './errors.ts';
import { mayRetry, wait, waitBefore } from './retry.ts';
import { webCrypto } from './web-crypto.ts';

/** An operation of the API: its request and its response. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With parameters in braces. */
  readonly path: string;
  readonly params: readonly string[];
  readonly query: readonly string[];
  readonly pages?: true;
  /** The type of a response that is not JSON. */
  readonly answers?: 'text' | 'bytes';
  /** Idempotent, so it needs no Idempotency-Key. */
  readonly safe?: true;
}

/** Options of a call, besides its input. */
export interface CallOptions {
  /** Aborts the call, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** The timeout of one attempt in ms; the client's when absent. */
  readonly timeoutMs?: number;
  /** The number of retries; the client's when absent. */
  readonly maxRetries?: number;
}

/** Options of a call that changes data, besides its input. */
export interface WriteOptions extends CallOptions {
  /** Runs the request, returns the response, and rolls everything back. */
  readonly dryRun?: boolean;
  /**
   * Makes the request idempotent: the service runs it once, however often it is sent within 24 hours. Generated for
   * each call when absent.
   */
  readonly idempotencyKey?: string;
}

/** Path, query and body in one object. */
export type Input = Readonly<Record<string, unknown>>;

/** A complete response. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Carries out operations. */
export interface Caller {
  call(operation: Operation, input?: Input, options?: WriteOptions): Promise<unknown>;
}

export interface TransportOptions {
  readonly key: string;
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  readonly maxRetries: number;
  readonly timeoutMs: number;
}

interface Request {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | null;
  readonly answers: 'json' | 'text' | 'bytes';
}

/** Sends requests and retries them where useful. */
export class Transport implements Caller {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** The body of the answer. */
  async call(operation: Operation, input: Input = {}, options: WriteOptions = {}): Promise<unknown> {
    return (await this.exchange(operation, input, options)).body;
  }

  /** The complete response, or null if it still matches `etag`. */
  async exchange(operation: Operation, input: Input, options: WriteOptions, etag?: string): Promise<Answer> {
    const request = await this.#requestOf(operation, input, options);
    if (etag !== undefined) request.headers['if-none-match'] = etag;
    const maxRetries = options.maxRetries ?? this.#options.maxRetries;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request, options);
      if ('answer' in outcome) return outcome.answer;
      const { error, headers } = outcome;
      // The key of a call is its own, so what is in progress is an attempt of which the response was lost.
      const isOwn = attempt > 0 && error.reason === 'idempotency_key_in_use';
      const again = isOwn || error.status === null || mayRetry(error.status, headers ?? new Headers());
      const ms = again && attempt < maxRetries ? waitBefore(attempt, headers, Date.now(), Math.random()) : null;
      if (ms === null) throw error;
      await wait(ms, options.signal);
    }
  }

  async #requestOf(operation: Operation, input: Input, options: WriteOptions): Promise<Request> {
    const { method, params, query, answers = 'json' } = operation;
    const url = this.#options.baseUrl + pathOf(operation, input) + searchOf(query, input, options.dryRun);
    const headers: Record<string, string> = { authorization: `Bearer ${this.#options.key}` };
    if (method === 'GET') return { url, method, headers, body: null, answers };
    const key = options.idempotencyKey ?? (operation.safe || options.dryRun ? undefined : await newKey());
    if (key !== undefined) headers['idempotency-key'] = key;
    const fields = Object.entries(input).filter(([name]) => !params.includes(name) && !query.includes(name));
    if (method === 'DELETE' && fields.length === 0) return { url, method, headers, body: null, answers };
    headers['content-type'] = 'application/json';
    return { url, method, headers, body: JSON.stringify(Object.fromEntries(fields)), answers };
  }

  /** Makes one attempt and returns its response, or its error. */
  async #attempt(
    request: Request,
    { signal, timeoutMs = this.#options.timeoutMs }: CallOptions,
  ): Promise<{ answer: Answer } | { error: TollkeeperError; headers: Headers | null }> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener('abort', abort, { once: true });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      abort();
    }, timeoutMs);
    try {
      const { url, method, headers, body, answers } = request;
      const response = await this.#options.fetch(url, { method, headers, body, signal: controller.signal });
      const isGood = response.ok || response.status === 304;
      const answer = {
        status: response.status,
        headers: response.headers,
        body: await readBody(response, isGood ? answers : 'any'),
      };
      return isGood ? { answer } : { error: errorOf(answer), headers: response.headers };
    } catch (cause) {
      signal?.throwIfAborted();
      const error = late
        ? new TimeoutError(timeoutMs)
        : new ConnectionError(`There was no answer that could be read: ${wordsOf(cause)}`, { cause });
      return { error, headers: null };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

async function readBody(response: Response, as: Request['answers'] | 'any'): Promise<unknown> {
  if (as === 'bytes') return new Uint8Array(await response.arrayBuffer());
  const text = await response.text();
  if (as === 'text' || text === '') return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    // A proxy may refuse with a body of its own.
    if (as === 'any') return text;
    throw error;
  }
}

/** The message with its cause: `fetch failed` alone is uninformative. */
function wordsOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? `${cause.message} (${cause.cause.message})` : cause.message;
}

function pathOf({ path, params }: Operation, input: Input): string {
  return params.reduce(
    (filled, name) => filled.replace(`{${name}}`, encodeURIComponent(segmentOf(name, input[name]))),
    path,
  );
}

/** A valid path segment: URLs cannot contain empty ones, and dots change the path. */
function segmentOf(name: string, value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || ['', '.', '..'].includes(text)) {
    throw new TypeError(`${name} must be a text that is not empty, "." or "..": ${JSON.stringify(value)}`);
  }
  return text;
}

function searchOf(query: readonly string[], input: Input, dryRun: boolean | undefined): string {
  const search = new URLSearchParams();
  for (const name of query) {
    const value = input[name];
    if (value === undefined || value === null) continue;
    if (typeof value === 'object' && !Array.isArray(value)) {
      for (const [key, each] of Object.entries(value)) search.append(`${name}[${key}]`, String(each));
      continue;
    }
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  if (dryRun) search.set('dryRun', 'true');
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

async function newKey(): Promise<string> {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
