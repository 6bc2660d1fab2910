import { useEffect } from 'react';
import { currentEnvironment, fetchWithSession, queries } from './api.ts';

// A busy environment changes all the time, and a person reads no faster.
const gatherMs = 1_000;
// Two heartbeats of the service.
const silentMs = 40_000;
const firstWaitMs = 1_000;
// The longest stream that the service keeps.
export const streamSeconds = 600;
const longestWaitMs = 60_000;

/** The families of queries of the catalog. They depend on nothing else, and no other family but these depends on them alone. */
const catalogFamilies: ReadonlySet<unknown> = new Set([
  'pricingModels',
  'products',
  'prices',
  'features',
  'productFeatures',
  'usageMeters',
  'resources',
  'catalogs',
  'discounts',
]);
const catalogRecords: ReadonlySet<string> = new Set([
  'pricingModel',
  'product',
  'price',
  'feature',
  'productFeature',
  'usageMeter',
  'resource',
  'discount',
]);
/** The reports of a busy seller would be computed all the time, so the refresh of each minute suffices for them. */
const reports = 'analytics';
/** Except for what needs somebody, which is a few short counts. */
const urgent = 'getAttention';

interface Message {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: string;
}

/** The messages of a stream of server-sent events. An EventSource sends no header, and the service wants to know the environment. */
async function* messagesOf(body: ReadableStream<BufferSource>, heard: () => void): AsyncGenerator<Message> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    heard();
    const blocks = (unread + part.value).split('\n\n');
    unread = blocks.pop() ?? '';
    for (const block of blocks) yield messageIn(block);
  }
}

function messageIn(block: string): Message {
  const fieldOf = (name: string) =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2) ?? null;
  return { id: fieldOf('id'), event: fieldOf('event'), data: fieldOf('data') ?? '{}' };
}

/** Reads again the queries that are shown and that changes of these types of records may concern; all with null. */
function readAgain(environment: string, records: ReadonlySet<string> | null): void {
  const isOfCatalog = records !== null && [...records].some((record) => catalogRecords.has(record));
  const isOfOthers = records !== null && [...records].some((record) => !catalogRecords.has(record));
  void queries.invalidateQueries({
    predicate: ({ queryKey: [of, family, method] }) => {
      if (of !== environment) return false;
      if (records === null) return true;
      if (family === reports) return method === urgent && isOfOthers;
      return catalogFamilies.has(family) ? isOfCatalog : isOfOthers || family === 'auditLog';
    },
  });
}

/** The last message that a window has received, from which its next stream goes on. */
interface Place {
  last: string | null;
}

interface Reading {
  readonly headers?: () => Record<string, string>;
  readonly on: (message: Message) => void;
  /** Called when a stream begins, and when it is lost. */
  readonly onState?: (isOpen: boolean) => void;
}

/**
 * Reads a stream of the service until `signal` ends it, and opens it again when it was lost. Returns the status of an answer
 * that another request would get as well.
 */
export async function readStream(
  path: string,
  signal: AbortSignal,
  { headers = () => ({}), on, onState = () => undefined }: Reading,
): Promise<number | null> {
  let waitMs = firstWaitMs;
  while (!signal.aborted) {
    const silent = new AbortController();
    let alarm = 0;
    const heard = () => {
      window.clearTimeout(alarm);
      alarm = window.setTimeout(() => silent.abort(), silentMs);
    };
    heard();
    try {
      const response = await fetchWithSession(path, {
        headers: headers(),
        signal: AbortSignal.any([signal, silent.signal]),
      });
      // Signed out, not allowed, or nothing to follow.
      if (response.status === 204 || (response.status >= 400 && response.status < 500 && response.status !== 429))
        return response.status;
      if (response.ok && response.body !== null) {
        onState(true);
        for await (const message of messagesOf(response.body, heard)) {
          waitMs = firstWaitMs;
          on(message);
        }
      }
    } catch {
      // The service or the network is away for a while.
    } finally {
      window.clearTimeout(alarm);
    }
    if (!signal.aborted) onState(false);
    await pause(waitMs, signal);
    waitMs = Math.min(longestWaitMs, waitMs * 2);
  }
  return null;
}

/** Follows the changes of one environment until `signal` ends it. */
async function follow(environment: string, place: Place, signal: AbortSignal): Promise<void> {
  let gathered: Set<string> | null = new Set();
  let timer: number | undefined;
  const note = (records: readonly string[] | null) => {
    gathered = records === null || gathered === null ? null : new Set([...gathered, ...records]);
    timer ??= window.setTimeout(() => {
      timer = undefined;
      readAgain(environment, gathered);
      gathered = new Set();
    }, gatherMs);
  };
  signal.addEventListener('abort', () => window.clearTimeout(timer));
  await readStream(`/api/v1/changes?seconds=${streamSeconds}`, signal, {
    headers: (): Record<string, string> => (place.last === null ? {} : { 'last-event-id': place.last }),
    on({ id, event, data }) {
      place.last = id ?? place.last;
      if (event === 'refresh') note(null);
      if (event === 'changed') note((JSON.parse(data) as { readonly records: readonly string[] }).records);
    },
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = window.setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      window.clearTimeout(timer);
      resolve();
    });
  });
}

/** Follows while the window is looked at. A hidden one takes no connection of its browser. Returns how to end it. */
export function followWhileVisible(start: (signal: AbortSignal) => void): () => void {
  let following: AbortController | null = null;
  const adapt = () => {
    if (document.visibilityState === 'hidden') {
      following?.abort();
      following = null;
    } else if (following === null) {
      following = new AbortController();
      start(following.signal);
    }
  };
  adapt();
  document.addEventListener('visibilitychange', adapt);
  return () => {
    document.removeEventListener('visibilitychange', adapt);
    following?.abort();
  };
}

/** Keeps what is shown up to date. */
export function useLive(environment: string | null): void {
  useEffect(() => {
    if (environment === null) return undefined;
    const place: Place = { last: null };
    return followWhileVisible((signal) => {
      if (environment === currentEnvironment()) void follow(environment, place, signal);
    });
  }, [environment]);
}
