import { randomBytes } from 'node:crypto';
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { slotIsClosed, slotIsElsewhere } from '../database/cells.ts';
import { canStore } from '../database/database.ts';
import { constraintOf, problemOfOutage } from '../database/database-problem.ts';
import type { PageShare } from '../database/page-share.ts';
import { allowanceTaken } from '../database/work.ts';
import { problemOfConstraint } from '../kernel/constraint-problems.ts';
import { ordinaryLimits } from '../kernel/json-weight.ts';
import { Problem } from '../kernel/problem.ts';
import type { ApiContext } from './api.ts';
import { registerApi } from './api.ts';
import { type BodyReading, parseJsonBody, parseLinesBody } from './body.ts';
import { guardConnections } from './connection-guard.ts';
import { type ConnectionLimits, connectionLimits, connectionOptions, hostProblem } from './connections.ts';
import { answerDeepLink, type Dashboard, registerDashboard } from './dashboard.ts';
import { type Hook, registerHooks } from './hook.ts';
import { type LoadLimits, registerLoadShedding, sayWhenToRetry } from './load-shedding.ts';
import type { Log } from './log.ts';
import { type Pages, registerPages } from './page.ts';
import { RequestLines } from './request-lines.ts';
import { TroubleLog } from './trouble-log.ts';

// External ids of 255 characters, each of up to twelve once percent-encoded.
const maxParameterLength = 255 * 12;

interface HttpOptions extends ApiContext {
  readonly hooks: readonly Hook[];
  readonly pages?: Pages;
  /** The part of the database connections that pages use; all when absent. */
  readonly pageShare?: PageShare;
  readonly log: Log;
  /** The load that is accepted at a time; unlimited when absent. */
  readonly loadLimits?: LoadLimits;
  /** Connection limits that differ from the defaults. */
  readonly connections?: ConnectionLimits;
  /** The built dashboard; null where there is none. */
  readonly dashboard?: Dashboard | null;
}

/** The HTTP server: every route under /api/v1, problems as JSON, and a request id in each response and log line. */
export function createHttp(options: HttpOptions): FastifyInstance {
  const limits = options.connections ?? connectionLimits;
  const server = Fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new RequestLines(options.database),
    bodyLimit: ordinaryLimits.bytes,
    ...connectionOptions(limits),
    genReqId: newRequestId,
    routerOptions: { maxParamLength: maxParameterLength, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, limits),
    forceCloseConnections: true,
  });
  const taken = new Set<string>();
  server.addHook('onRoute', ({ url }) => {
    taken.add(url.split('/')[1] ?? '');
  });
  const { dashboard = null } = options;
  const trouble = new TroubleLog(server.log, () => canStore(options.database));
  const notedProblemOf = (error: unknown, bodyLimit?: number) => {
    const problem = problemOf(error, bodyLimit);
    trouble.note(problem, error);
    return problem;
  };
  const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendError(error, notedProblemOf(error, request.routeOptions?.bodyLimit), request, reply);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(/^application\/(?:.+\+)?json\b/, { parseAs: 'buffer' }, parserOf(parseJsonBody));
  server.addContentTypeParser(/^application\/x-ndjson\b/, { parseAs: 'buffer' }, parserOf(parseLinesBody));
  server.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done(hostProblem(request) ?? encodingProblem(request));
  });
  guardConnections(server, limits);
  if (options.loadLimits !== undefined) registerLoadShedding(server, options.loadLimits);
  server.setErrorHandler(answerError);
  server.setNotFoundHandler((request, reply) => {
    const page = dashboard === null ? null : answerDeepLink({ dashboard, taken }, request, reply);
    if (page !== null) return page;
    const [path = ''] = request.url.split('?');
    return answerError(new Problem('routeNotFound', { method: request.method, path }), request, reply);
  });
  registerApi(server, options);
  registerHooks(server, options, options.hooks);
  if (dashboard !== null) registerDashboard(server, dashboard);
  if (options.pages !== undefined) registerPages(server, options, options.pages, notedProblemOf);
  return server;
}

const usualReading: BodyReading = { limits: ordinaryLimits, listIn: null };

/** A body parser in callback style, without a promise for a short body. */
function parserOf(parse: (body: Buffer, reading: BodyReading) => unknown) {
  return (request: FastifyRequest, body: Buffer, done: (error: Error | null, value?: unknown) => void) => {
    let value: unknown;
    try {
      const reading = request.routeOptions.config as Partial<BodyReading>;
      value = parse(body, { ...usualReading, ...reading });
    } catch (error) {
      return done(error as Error);
    }
    if (value instanceof Promise) value.then((read) => done(null, read), done);
    else done(null, value);
  };
}

/** Refuses a compressed body unread: its decompressed size is unknown. */
function encodingProblem({ headers }: FastifyRequest): Problem | undefined {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === '' || encoding === 'identity') return undefined;
  return new Problem('contentEncodingRefused', { encoding: encoding.slice(0, 100) });
}

let lastRequest = randomBytes(4).readUInt32BE();
// An odd step visits all ids before any repeats; a large one makes consecutive ids look different.
const step = 0x9e3779b1;

function newRequestId(): string {
  lastRequest = (lastRequest + step) >>> 0;
  return lastRequest.toString(16).padStart(8, '0');
}

// Node reads the rest of a refused body and throws it away, which costs little below this size.
const longestUnreadBody = 64 * 2 ** 20;

/** Sends an error as the error body. An error that the caller did not cause is a 500 without details. */
function sendError(error: unknown, problem: Problem | null, request: FastifyRequest, reply: FastifyReply) {
  if (problem === null) request.log.error({ err: error }, 'request failed');
  if (problem?.code === 'CONFLICT') reply.header('x-should-retry', 'false');
  sayWhenToRetry(reply, problem);
  // Closing the connection would reset it while the client still sends, and the client would never read the refusal.
  if (problem?.status === 413 && Number(request.headers['content-length']) <= longestUnreadBody)
    reply.removeHeader('connection');
  // Set here too: paths that the router refuses skip the hook.
  reply.header('x-request-id', request.id);
  return reply.code(problem?.status ?? 500).send(errorBody(problem, request.id));
}

function errorBody(problem: Problem | null, requestId: string) {
  const message = problem?.message ?? 'Internal server error';
  return {
    message,
    code: problem?.code ?? 'INTERNAL_SERVER_ERROR',
    reason: problem?.reason ?? 'internal_server_error',
    ...(problem && problem.issues.length > 0 ? { issues: problem.issues } : {}),
    ...problem?.data,
    error: message,
    request_id: requestId,
  };
}

/** Responds to input that Node could not parse as a request. Routes, hooks and logs never see it. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket, limits: ConnectionLimits): void {
  if (socket.writable) {
    const requestId = newRequestId();
    const problem = problemOfUnreadable(error.code, limits);
    const body = JSON.stringify(errorBody(problem, requestId));
    socket.write(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  socket.destroy(error);
}

function problemOfUnreadable(code: string | undefined, { requestMs }: ConnectionLimits): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headersTooLarge', { limit: maxHeaderSize });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('requestTimeout', { seconds: requestMs / 1000 });
  return new Problem('invalidRequest', { reason: 'The request is not valid HTTP/1.1.' });
}

interface KnownError {
  code?: string;
  table?: string;
  detail?: string;
  statusCode?: number;
}

/** The refusal for an error, or null when it is a bug. */
export function problemOf(error: unknown, bodyLimit: number = ordinaryLimits.bytes): Problem | null {
  if (error instanceof Problem) return error;
  const { code, table, detail, statusCode } = error as KnownError;
  // The client closed the connection during the body. Fastify sets a status, which database connection errors do not
  // have.
  if (code === 'ECONNRESET' && statusCode === 400)
    return new Problem('invalidRequest', { reason: 'The request ended early.' });
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('bodyTooLarge', { limit: bodyLimit });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupportedMediaType');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('invalidRequest', {
        reason: `A path segment is longer than ${maxParameterLength} characters.`,
      });
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalidRequest', { reason: (error as Error).message });
    case '23503':
    case '23505':
    case '23P01':
    case '23514':
      return problemOfKey(constraintOf(error) ?? '');
    // The limit of a table (migrations/0018-row-limits.sql), which is the detail.
    case '54000':
      return new Problem('tooManyRecords', { records: (table ?? 'rows').replaceAll('_', ' '), limit: detail ?? '' });
    // Other requests changed the same records each time that it was tried.
    case '40001':
    case '40P01':
    case allowanceTaken:
      return new Problem('serviceUnavailable');
    case slotIsElsewhere:
      return new Problem('notOverCells');
    case slotIsClosed:
      return new Problem('cellNotReady');
    case '42501':
      return new Problem('outsidePinnedPricingModel');
    default:
      return problemOfOutage(error);
  }
}

function problemOfKey(constraint: string): Problem | null {
  const known = problemOfConstraint[constraint];
  return known === undefined ? null : new Problem(known.problem, known.details);
}
