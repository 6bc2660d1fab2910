// The first delay, doubled with each attempt up to the longest: bridges a restart of the service without long waits.
const firstWaitMs = 500;
const longestWaitMs = 8_000;
// A longer requested delay is left to the caller.
const longestToldWaitMs = 60_000;

/** Whether a request with this response may be retried: the service says so, or did not process it. */
export function mayRetry(status: number, headers: Headers): boolean {
  const told = headers.get('x-should-retry');
  if (told === 'true' || told === 'false') return told === 'true';
  return status === 408 || status === 429 || status >= 500;
}

/**
 * The delay in ms before the next attempt, when `attempt` (0 is the first) failed. Null if the service requests too
 * long a delay. The `luck` from 0 to 1 adds jitter, so that clients that failed together do not retry together.
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

/** Waits, or rejects with the signal's reason as soon as it is aborted. */
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
