import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiPrefix } from '../http/api.ts';
import { addressAsked } from '../http/connections.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import { validationProblem } from '../http/request.ts';
import { jsonIssues } from '../kernel/json.ts';
import { Problem } from '../kernel/problem.ts';
import type { SignIn, SignInOptions } from '../people/actions-sign-in.ts';
import { addressHeader, signInPath } from '../people/person.ts';

interface SignInContext {
  readonly signIn: SignIn;
  readonly publicUrl: string | null;
  readonly rateLimit?: RateLimit;
}

// A passkey and an answer of a provider take some kilobytes.
const maxBodyBytes = 256 * 1024;

/** The origin of the service for browsers. */
function originOf(publicUrl: string | null, request: FastifyRequest): string {
  return new URL(publicUrl ?? addressAsked(request)).origin;
}

/** The library for signing in is a seventh of all files, so the first person who signs in loads it. */
export function signInWhenAsked(options: SignInOptions): SignIn {
  let loading: Promise<SignIn> | undefined;
  const load = () => {
    loading ??= import('../people/actions-sign-in.ts').then(({ createSignIn }) => createSignIn(options));
    return loading;
  };
  return {
    handle: async (...given) => (await load()).handle(...given),
    sessionOf: async (...given) => (await load()).sessionOf(...given),
    me: async (...given) => (await load()).me(...given),
    resetToken: async (...given) => (await load()).resetToken(...given),
  };
}

/** Reads the cookies of people who are signed in. */
export function sessionsOf({ signIn, publicUrl }: SignInContext) {
  return {
    async tokenOf(request: FastifyRequest): Promise<string | null> {
      const session = await signIn.sessionOf(originOf(publicUrl, request), request.headers.cookie ?? '');
      return session?.token ?? null;
    },
  };
}

/**
 * Adds the routes of people: those of the library, and `GET /api/v1/me`. They are outside of the API, because somebody who
 * signs in is in no environment yet.
 */
export function registerSignIn(server: FastifyInstance, context: SignInContext): void {
  const { signIn, publicUrl, rateLimit } = context;
  server.get(`${apiPrefix}/me`, async (request, reply) => {
    rateLimit?.admitPage('address', request.ip);
    const session = await signIn.sessionOf(originOf(publicUrl, request), request.headers.cookie ?? '');
    if (session === null) throw new Problem('signedOut');
    reply.header('cache-control', 'no-store');
    return { me: await signIn.me(session) };
  });
  server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: maxBodyBytes },
      async (_: unknown, body: Buffer) => body,
    );
    scope.route({
      method: ['GET', 'POST'],
      url: `${signInPath}/*`,
      bodyLimit: maxBodyBytes,
      handler: async (request, reply) => {
        rateLimit?.admitPage('address', request.ip);
        refuseUnstorable(request);
        const origin = originOf(publicUrl, request);
        return answer(reply, await signIn.handle(origin, toWebRequest(origin, request)));
      },
    });
    done();
  });
}

/** Refuses texts that the database cannot store. The sign-in library would pass them on to it, and answer 500. */
function refuseUnstorable({ params, query, body }: FastifyRequest): void {
  const issues = [params, query, Buffer.isBuffer(body) ? jsonOf(body) : null].flatMap((part) => jsonIssues(part));
  if (issues.length > 0) throw validationProblem(issues);
}

/** The JSON of a body; null for another body. The library refuses that, or it is the form of an identity provider. */
function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function toWebRequest(origin: string, { method, url, headers, body, ip }: FastifyRequest): Request {
  const given = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []));
  const sent = new Headers(given as [string, string][]);
  sent.set(addressHeader, ip);
  return new Request(origin + url, {
    method,
    headers: sent,
    ...(method === 'GET' || !Buffer.isBuffer(body) ? {} : { body }),
  });
}

/** The answers are no pages: a browser shows them nowhere. */
const noPage = "default-src 'none'; frame-ancestors 'none'";

async function answer(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply
    .code(response.status)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', noPage);
  for (const [name, value] of response.headers) reply.header(name, value);
  const retryAfter = response.headers.get('x-retry-after');
  if (retryAfter !== null) reply.header('retry-after', retryAfter);
  return reply.send(Buffer.from(await response.arrayBuffer()));
}
