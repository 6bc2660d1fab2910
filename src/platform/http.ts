import { randomUUID } from 'node:crypto';
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { Problem, problemOfConstraint } from '../kernel/problem.ts';
import type { ApiContext } from './api.ts';
import { registerApi } from './api.ts';
import { type Hook, registerHooks } from './hook.ts';
import { type Pages, registerPages } from './page.ts';
import { parseJsonBody, parseLinesBody } from './request.ts';

/** The largest body a request may carry: 10,000 usage events with properties fit. */
export const maxBodyBytes = 16 * 1024 * 1024;
// External ids of 255 characters, each of up to twelve once percent-encoded.
const maxParameterLength = 255 * 12;
// Room for a slow link, too short for a body that is dripped to hold a connection.
const requestTimeoutMs = 60_000;

export interface HttpOptions extends ApiContext {
  readonly hooks: readonly Hook[];
  readonly pages?: Pages;
  readonly logLevel: string;
}

/** The HTTP server: every route under /api/v1, problems as JSON, a request id in each answer and log line. */
export function createHttp(options: HttpOptions): FastifyInstance {
  const server = Fastify({
    logger: {
      level: options.logLevel,
      redact: ['req.headers.authorization'],
      serializers: { req: ({ method, url, host, ip }) => ({ method, url: withoutKey(url), host, remoteAddress: ip }) },
    },
    logController: new LogController({ requestIdLogLabel: 'requestId' }),
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    genReqId: newRequestId,
    routerOptions: { maxParamLength: maxParameterLength, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => sendError(error, request, reply),
    clientErrorHandler: refuseUnreadable,
    forceCloseConnections: true,
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(/^application\/(?:.+\+)?json\b/, { parseAs: 'buffer' }, parserOf(parseJsonBody));
  server.addContentTypeParser(/^application\/x-ndjson\b/, { parseAs: 'buffer' }, parserOf(parseLinesBody));
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  server.setErrorHandler(sendError);
  server.setNotFoundHandler((request, reply) =>
    sendError(
      new Problem('routeNotFound', { method: request.method, path: request.url.split('?')[0] ?? '' }),
      request,
      reply,
    ),
  );
  registerApi(server, options);
  registerHooks(server, options, options.hooks);
  if (options.pages !== undefined) registerPages(server, options, options.pages, problemOf);
  return server;
}

/** An address as it may stand in the log: a key in it would open the page to whoever reads. */
function withoutKey(url: string): string {
  return url.replace(/([?&]key=)[^&]*/g, '$1...');
}

/** A body parser as the server takes it, without a promise for each request. */
function parserOf(parse: (body: Buffer) => unknown) {
  return (_request: FastifyRequest, body: Buffer, done: (error: Error | null, value?: unknown) => void) => {
    let value: unknown;
    try {
      value = parse(body);
    } catch (error) {
      return done(error as Error);
    }
    done(null, value);
  };
}

function newRequestId(): string {
  return randomUUID().slice(0, 8);
}

/** Answers an error as the one error body. Anything that is not the caller's doing is a 500 without detail. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = problemOf(error);
  if (problem === null) request.log.error({ err: error }, 'request failed');
  if (problem?.code === 'CONFLICT') reply.header('x-should-retry', 'false');
  if (problem?.code === 'TOO_MANY_REQUESTS' || problem?.code === 'SERVICE_UNAVAILABLE')
    reply.header('retry-after', '1');
  // Set here too: a path that the router refuses never comes by the hook.
  reply.header('x-request-id', request.id);
  return reply.code(problem?.status ?? 500).send(errorBody(problem, request.id));
}

function errorBody(problem: Problem | null, requestId: string) {
  const message = problem?.message ?? 'Internal server error';
  return {
    message,
    code: problem?.code ?? 'INTERNAL_SERVER_ERROR',
    ...(problem && problem.issues.length > 0 ? { issues: problem.issues } : {}),
    ...problem?.data,
    error: message,
    request_id: requestId,
  };
}

/** Answers what Node could not read as a request: no route, hook or log line ever sees it. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (socket.writable) {
    const requestId = newRequestId();
    const problem = problemOfUnreadable(error.code);
    const body = JSON.stringify(errorBody(problem, requestId));
    socket.write(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  socket.destroy(error);
}

function problemOfUnreadable(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headersTooLarge', { limit: maxHeaderSize });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('requestTimeout', { seconds: requestTimeoutMs / 1000 });
  return new Problem('invalidRequest', { reason: 'The request is not HTTP/1.1.' });
}

interface DatabaseError {
  code?: string;
  constraint?: string;
}

/** The refusal that an error stands for, or null when it is a bug or an outage of ours. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  const { code, constraint } = error as DatabaseError;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('bodyTooLarge', { limit: maxBodyBytes });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupportedMediaType');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('invalidRequest', {
        reason: `A part of the path is longer than ${maxParameterLength} characters.`,
      });
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalidRequest', { reason: (error as Error).message });
    case '23503':
    case '23505':
      return problemOfKey(constraint ?? '');
    case '42501':
      return new Problem('outsidePinnedPricingModel');
    case 'ECONNREFUSED':
    case 'ECONNRESET':
    case '53300':
    case '57P01':
    case '57P03':
      return new Problem('serviceUnavailable');
    default:
      return null;
  }
}

function problemOfKey(constraint: string): Problem | null {
  const known = problemOfConstraint[constraint];
  return known === undefined ? null : new Problem(known.problem, known.details);
}
