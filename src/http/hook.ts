import type { FastifyInstance } from 'fastify';
import type { JobContext } from '../jobs/queue.ts';

/** An incoming message as raw bytes: a signature over a body is valid for exactly these bytes. */
interface HookMessage {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * An endpoint for messages of external services. There is no API key: the message itself proves its sender. A 200
 * acknowledges the message; otherwise the sender retries it.
 */
export interface Hook {
  readonly path: `/${string}`;
  readonly handle: (context: JobContext, message: HookMessage) => Promise<void>;
}

// A message names the changed object; a megabyte is more than enough.
const maxMessageBytes = 1024 * 1024;

/** Adds the hooks to the server. They accept every content type as raw bytes. */
export function registerHooks(server: FastifyInstance, context: JobContext, hooks: readonly Hook[]): void {
  server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: maxMessageBytes },
      async (_: unknown, body: Buffer) => body,
    );
    for (const hook of hooks) {
      scope.post(hook.path, { bodyLimit: maxMessageBytes }, async (request) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        await hook.handle(context, { body, headers: request.headers });
        return { received: true };
      });
    }
    done();
  });
}
