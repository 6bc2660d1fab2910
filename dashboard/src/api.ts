import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import {
  type CallOptions,
  ConnectionError,
  Tollkeeper,
  TollkeeperError,
  type WriteOptions,
} from '../../client/src/generated-entry.ts';

const environmentKey = 'tollkeeper.environment';
const unauthorizedStatus = 401;
const freshMs = 15_000;
const attempts = 2;

/** The environment that requests are for. A tab keeps its own; a new tab begins with the last one that was chosen. */
export function currentEnvironment(): string | null {
  return sessionStorage.getItem(environmentKey) ?? localStorage.getItem(environmentKey);
}

export function chooseEnvironment(id: string): void {
  sessionStorage.setItem(environmentKey, id);
  localStorage.setItem(environmentKey, id);
}

/** Forgets the environment, for the next person in this browser. */
export function leaveEnvironment(): void {
  sessionStorage.removeItem(environmentKey);
  localStorage.removeItem(environmentKey);
}

/** Sends requests with the session's cookie. The header proves that a page of ours sent a mutation. */
export function fetchWithSession(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete('authorization');
  const environment = currentEnvironment();
  if (environment !== null) headers.set('x-tollkeeper-environment', environment);
  headers.set('x-tollkeeper-request', 'dashboard');
  // Somebody who has changed a record looks at it next. Reports may be a moment old.
  if (!/\/analytics\//.test(String(input instanceof Request ? input.url : input)))
    headers.set('tollkeeper-read', 'primary');
  const startedAt = performance.now();
  return fetch(input, { ...init, headers, credentials: 'same-origin' }).then((response) => {
    times.push(performance.now() - startedAt);
    if (times.length > keptTimes) times.shift();
    return response;
  });
}

const keptTimes = 200;
const times: number[] = [];

/** How long the last requests of this tab took until their answer began, in milliseconds; null before the first. */
export function requestTimes(): { readonly count: number; readonly median: number; readonly p95: number } | null {
  if (times.length === 0) return null;
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => Math.ceil(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { count: sorted.length, median: at(0.5), p95: at(0.95) };
}

/** The API, as the person who is signed in. */
export const api = new Tollkeeper({
  key: 'session',
  baseUrl: location.origin,
  fetch: fetchWithSession,
  maxRetries: 1,
  timeoutMs: 30_000,
});

/** Asks again who is signed in: somebody who no longer is goes to the sign-in. */
function lookWhoAsks(error: unknown): void {
  if (isSignedOut(error)) void queries.invalidateQueries({ queryKey: ['me'] });
}

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { queryKey: [first] }) => {
      if (first !== 'me') lookWhoAsks(error);
    },
  }),
  mutationCache: new MutationCache({ onError: lookWhoAsks }),
  defaultOptions: {
    // A page that waits for the network says so, and does not look as if it were loading.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      refetchOnReconnect: true,
      staleTime: freshMs,
      retry: (failures, error) =>
        failures < attempts && navigator.onLine && !(error instanceof TollkeeperError && error.status !== null),
    },
  },
});

type Family = Exclude<keyof Tollkeeper, 'entitlementReader'>;
type Call<Input, Answer> = (input: Input, options?: CallOptions) => Promise<Answer>;
type InputOf<Method> = Method extends (input: infer Input, ...rest: never[]) => unknown ? Input : never;
type AnswerOf<Method> = Method extends (...input: never[]) => Promise<infer Answer> ? Answer : never;

/** A question to the service, as `useQuery` takes it. */
export interface Question<Answer> {
  readonly queryKey: readonly unknown[];
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Answer>;
}

/** A query of an operation that reads. Its key is environment, family, operation and input. */
export function read<F extends Family, M extends keyof Tollkeeper[F] & string>(
  family: F,
  method: M,
  input: InputOf<Tollkeeper[F][M]>,
): Question<AnswerOf<Tollkeeper[F][M]>> {
  type Answer = AnswerOf<Tollkeeper[F][M]>;
  return {
    queryKey: [currentEnvironment(), family, method, input],
    queryFn: ({ signal }) => (api[family][method] as Call<typeof input, Answer>)(input, { signal }),
  };
}

type Listed = { [F in Family]: Tollkeeper[F] extends { readonly listAll: unknown } ? F : never }[Family];
type Walk<F extends Listed> = Tollkeeper[F]['listAll'];
type RowOf<F extends Listed> = ReturnType<Walk<F>> extends AsyncGenerator<infer Row> ? Row : never;

/** A query of all pages of a list, for choices that may not end with the first page. */
export function readAll<F extends Listed>(
  family: F,
  input: NonNullable<Parameters<Walk<F>>[0]>,
): Question<readonly RowOf<F>[]> {
  return {
    queryKey: [currentEnvironment(), family, 'listAll', input],
    queryFn: async ({ signal }) => {
      const walk = api[family].listAll as (all: typeof input, options: CallOptions) => AsyncGenerator<RowOf<F>>;
      const rows: RowOf<F>[] = [];
      for await (const row of walk(input, { signal })) rows.push(row);
      return rows;
    },
  };
}

/** Reads again everything that is shown: a change of one record has effects on others. */
export function refreshAll(): Promise<void> {
  return queries.invalidateQueries({ queryKey: [currentEnvironment()] });
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof TollkeeperError && error.status === unauthorizedStatus;
}

/** A request to a path of the service that is not an operation of the API, such as the sign-in. */
export async function send<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  { dryRun = false, idempotencyKey, signal }: WriteOptions = {},
): Promise<Answer> {
  const sent = fetchWithSession(dryRun ? `${path}?dryRun=true` : path, {
    method,
    ...(signal && { signal }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const response = await sent.catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ConnectionError('There was no answer.', { cause: error });
  });
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer as Answer;
  const { message, code } = (answer ?? {}) as { message?: string; code?: string };
  throw new TollkeeperError(message ?? `The service answered ${response.status}.`, code ?? 'UNKNOWN', {
    status: response.status,
    headers: response.headers,
    body: answer,
  });
}
