import autocannon from 'autocannon';
import type { BenchService } from './running.ts';

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  /** The path and body of the next request. */
  readonly next: () => { readonly path: string; readonly method: 'GET' | 'POST'; readonly body?: string };
}

/** Sends requests as fast as they are answered; answers how many a second. Any answer but 200 is an error. */
export async function requestsPerSecond(service: BenchService, { connections, seconds, next }: Load): Promise<number> {
  const result = await autocannon({
    url: service.address,
    connections,
    duration: seconds,
    headers: { authorization: service.key, 'content-type': 'application/json' },
    requests: [
      {
        setupRequest: (request) => {
          const { path, method, body } = next();
          return { ...request, path: `/api/v1${path}`, method, ...(body === undefined ? {} : { body }) };
        },
      },
    ],
  });
  if (result.errors > 0 || result.non2xx > 0) throw new Error(`${result.errors} errors, ${result.non2xx} refusals`);
  return result['2xx'] / result.duration;
}
