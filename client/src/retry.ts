// The first wait, doubled with each attempt up to the longest: a restart of the service is bridged, and nobody waits for long.
const firstWaitMs = 500;
const longestWaitMs = 8_000;
// Who is told to wait for longer than this had better decide for themselves.
const longestToldWaitMs = 60_000;

/** Whether a request that was answered so may be sent again: the service says so, or it did not get to it. */
export function mayRetry(status: number, headers: Headers): boolean {
  const told = headers.get('x-should-retry');
  if (told === 'true' || told === 'false') return told === 'true';
  return status === 408 || status === 429 || status >= 500;
}

/**
 * How long to wait before the next attempt, when `attempt` (0 is the first) failed, in ms; null when the service asks
 * for more patience than we have. `luck` is from 0 to 1, so that those who failed together do not come back together.
 */
export function waitBefore(attempt: number, headers: Headers | null, now: number, luck: number): number | null {
  const told = toldWait(headers?.get('retry-after') ?? null, now);
  if (told !== null && told > longestToldWaitMs) return null;
  const longest = Math.min(firstWaitMs * 2 ** attempt, longestWaitMs);
  return Math.max(told ?? 0, longest * (0.5 + luck / 2));
}

/** `Retry-After` in ms: a number of seconds or a date. */
function toldWait(retryAfter: string | null, now: number): number | null {
  if (retryAfter === null) return null;
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - now : seconds * 1000;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** Waits, or throws the reason of the signal as soon as it is aborted. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
