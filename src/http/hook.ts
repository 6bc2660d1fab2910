import type { FastifyInstance } from 'fastify';
import type { JobContext } from '../jobs/queue.ts';

/** What somebody sent of their own accord, as it came: a signature over a body holds for these bytes only. */
export interface HookMessage {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Where somebody outside tells us something. Nobody has an API key there: the message itself proves whose it is. It is
 * answered 200 when it has been taken, and sent again by its sender when it has not.
 */
export interface Hook {
  readonly path: `/${string}`;
  readonly handle: (context: JobContext, message: HookMessage) => Promise<void>;
}

// A message names what has changed; nobody sends a megabyte for that.
const maxMessageBytes = 1024 * 1024;

/** Adds the hooks to the server. They take every content type, unread. */
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
