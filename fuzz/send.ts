import { Agent, request as httpRequest } from 'node:http';
import type { FuzzAnswer } from './answers.ts';
import type { FuzzRequest } from './requests.ts';

/** Sends a request unchanged, and returns the response; null if the client has reset first. Throws on a timeout. */
export type Send = (request: FuzzRequest) => Promise<FuzzAnswer | null>;

// Anything slower hangs: no statement of a request may take a minute. Moving the clock performs work meanwhile.
const answerWithinMs = 60_000;
const clockAnswerWithinMs = 120_000;

/** A client with as many keep-alive connections as it needs. */
export function createSend(address: string): { readonly send: Send; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(address);
  const send: Send = ({ method, path, headers, body, resetAfterMs }) => {
    const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer | null>();
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
      const answer = () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      response.on('error', reject);
      response.on('end', answer);
      // A stream of events stays open for as long as its request says: up to ten minutes.
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        answer();
        response.destroy();
      }
    });
    let isReset = false;
    request.on('error', (error) => (isReset ? resolve(null) : reject(error)));
    request.end(body ?? undefined);
    if (resetAfterMs !== null) {
      const reset = () => {
        isReset = true;
        // A connection that is kept alive and was just used: the peer gets RST and not FIN.
        request.socket?.resetAndDestroy();
        request.destroy();
        resolve(null);
      };
      const timer = setTimeout(reset, resetAfterMs);
      request.on('close', () => clearTimeout(timer));
    }
    return promise;
  };
  return { send, close: () => agent.destroy() };
}
