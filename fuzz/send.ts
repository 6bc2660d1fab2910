import { Agent, request as httpRequest } from 'node:http';
import type { FuzzAnswer } from './answers.ts';
import type { FuzzRequest } from './requests.ts';

/** Sends a request unchanged, and returns the response. Throws on a timeout. */
export type Send = (request: FuzzRequest) => Promise<FuzzAnswer>;

// Anything slower hangs: no statement of a request may take a minute. Moving the clock performs work meanwhile.
const answerWithinMs = 60_000;
const clockAnswerWithinMs = 120_000;

/** A client with as many keep-alive connections as it needs. */
export function createSend(address: string): { readonly send: Send; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(address);
  const send: Send = ({ method, path, headers, body }) => {
    const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>();
    const withinMs = path.includes('test-clock') ? clockAnswerWithinMs : answerWithinMs;
    const request = httpRequest({
      agent,
      hostname,
      port,
      method,
      path,
      headers: { ...headers, ...(body === null ? {} : { 'content-length': body.length }) },
      signal: AbortSignal.timeout(withinMs),
    });
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject);
    request.end(body ?? undefined);
    return promise;
  };
  return { send, close: () => agent.destroy() };
}
