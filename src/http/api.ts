import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { keyHashOf } from '../database/api-key.ts';
import { type Cells, type Parts, refusedSlots } from '../database/cells.ts';
import type { ReadReplica } from '../database/read-replica.ts';
import { refreshStatistics } from '../database/statistics.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import { createRequestBatcher, type RequestBatcher } from '../jobs/batcher.ts';
import { type JobContext, runEffects } from '../jobs/queue.ts';
import { documentPolicy } from '../kernel/html.ts';
import { listLimits, ordinaryLimits } from '../kernel/json-weight.ts';
import { gatherMetadata } from '../kernel/pagination.ts';
import { sufficientFor } from '../kernel/permission.ts';
import { Problem } from '../kernel/problem.ts';
import {
  attempt,
  type BodyReading,
  jsonInTurns,
  ListBody,
  LongBody,
  type ReadBody,
  readBody,
  readBodyInTurns,
} from './body.ts';
import { type CallerEntry, callerOf, type EntryOfCell, type Sessions } from './caller.ts';
import { cellsOfRequest, type EnvironmentOf, environmentReader, gatheredOf } from './cells.ts';
import { addressAsked } from './connections.ts';
import { hasIdempotencyKey, readIdempotencyKey, renewAnswer, storedInParts } from './idempotency.ts';
import type { KeyUse } from './key-use.ts';
import {
  divide,
  inputOfPart,
  joinTexts,
  type Part,
  performPart,
  refusalOfParts,
  type Texts,
  textsOf,
  writeTexts,
} from './parts.ts';
import { type Asked, type AskOthers, finish, perform } from './perform.ts';
import type { Caller, RateLimit } from './rate-limit.ts';
import { noQuery, parseParams, parseQuery, validationProblem } from './request.ts';
import type { Divided, ReadMore, Route, RouteInput } from './route.ts';
import { findUnknownFields, ignoredHeader, issuesOfUnknown, placeOf, type UnknownField } from './unknown-fields.ts';

export interface ApiContext extends JobContext {
  readonly routes: readonly Route[];
  readonly keyUse: KeyUse;
  /** The limit on requests per key; unlimited when absent. */
  readonly rateLimit?: RateLimit;
  /** The public address of the service; when absent, the address that the request was sent to. */
  readonly publicUrl?: string | null;
  /** A copy of the database for reads that may be a moment old. */
  readonly replica?: ReadReplica | null;
  /** The cells of the customers; when absent, all are in `database`. */
  readonly cells?: Cells | undefined;
  /** The ones who are signed in; when absent, only keys are accepted. */
  readonly sessions?: Sessions | null;
}

/** State that the routes of one server share. */
interface Serving extends ApiContext {
  readonly batcher: RequestBatcher;
  readonly environmentOf: EnvironmentOf;
  /** The name of the cell; null for home. */
  readonly cell: string | null;
  /** The same in another cell, whose database has versions of its own for what a batcher caches. */
  readonly inCell: (cell: string) => Promise<Serving>;
}

/** The state for the requests of the home cell, and of each other cell once one has asked. */
function servingOf(options: ApiContext, onError: (error: unknown) => void): Serving {
  const others = new Map<string, Serving>();
  const home: Serving = {
    ...options,
    batcher: createRequestBatcher(options, onError),
    environmentOf: environmentReader(options.database),
    cell: null,
    async inCell(cell) {
      const database = await options.cells?.open(cell);
      if (database === undefined) throw new Problem('serviceUnavailable');
      const known = others.get(cell);
      if (known?.database === database) return known;
      const context = { ...home, cell, database, replica: null };
      const serving = { ...context, batcher: createRequestBatcher(context, onError) };
      others.set(cell, serving);
      return serving;
    },
  };
  return home;
}

/** The path prefix of all API routes. */
export const apiPrefix = '/api/v1';

/** Adds every route to the server. */
export function registerApi(server: FastifyInstance, options: ApiContext): void {
  const context = servingOf(options, (error) => server.log.error({ err: error }, 'an effect failed'));
  const { rateLimit } = options;
  if (rateLimit) server.decorateRequest('caller', null);
  for (const route of context.routes) {
    const limits = route.bodyLimits ?? (route.list === undefined ? ordinaryLimits : listLimits);
    server.route({
      method: route.method,
      bodyLimit: limits.bytes,
      config: { limits, listIn: route.list?.field ?? null } satisfies BodyReading,
      url: apiPrefix + route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(rateLimit
        ? {
            onRequest: admitBy(rateLimit),
            handler: (request, reply) => noteKey(rateLimit, request, answer(context, route, request, reply)),
          }
        : { handler: (request, reply) => answer(context, route, request, reply) }),
    });
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, if the key has a rate limit. */
    caller: Caller | null;
  }
}

/** Enforces the rate limit before a body is read. */
function admitBy(rateLimit: RateLimit) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => {
    const apiKeyHash = keyHashOf(request.headers.authorization);
    if (apiKeyHash === null) return done();
    try {
      request.caller = rateLimit.admit(apiKeyHash, request.ip);
    } catch (error) {
      if (error instanceof Problem && error.problem === 'rateLimited') {
        // Sent only with refusals: these headers would be a tenth of every response.
        reply.headers({ 'ratelimit-limit': rateLimit.perKey, 'ratelimit-remaining': 0, 'ratelimit-reset': 1 });
      }
      return done(error as Error);
    }
    done();
  };
}

/** Reports to the rate limit whether the key was valid, judging by the response. */
async function noteKey(rateLimit: RateLimit, request: FastifyRequest, answered: Promise<Payload>) {
  try {
    const answer = await answered;
    const { caller } = request;
    if (caller) rateLimit.accept(caller);
    return answer;
  } catch (error) {
    const { caller } = request;
    if (caller) {
      const problem = error instanceof Problem ? error : null;
      if (problem?.problem === 'unauthorized') rateLimit.reject(caller);
      // The refusal came after the key lookup, unless the lookup itself was not possible.
      else if (problem !== null && problem.status < 500 && problem.status !== 429) rateLimit.accept(caller);
      else rateLimit.forget(caller);
    }
    throw error;
  }
}

/** A request as it was read. */
interface Requested {
  /** The parsed request, or its problem. */
  readonly asked: Asked | Problem;
  /** Unknown fields that the operation always ignores. */
  readonly ignored: readonly UnknownField[];
  /** Unknown fields that are refused, unless the settings of the environment ignore them. */
  readonly unknown: readonly UnknownField[];
}

/** The payload to send; the headers are set. */
async function answer(context: Serving, route: Route, request: FastifyRequest, reply: FastifyReply): Promise<Payload> {
  const sufficient = route.needs && sufficientFor(route.needs);
  const entry = await callerOf(context, request, sufficient);
  // Parse problems are reported to holders of a valid key only, so they wait for the transaction.
  const { body = {} } = request;
  const read =
    body instanceof ListBody || body instanceof LongBody
      ? await readBodyInTurns(route, body, hasIdempotencyKey(request))
      : readBody(route, body);
  const requested = readRequest(route, request, read);
  const { cells } = context;
  const received = { route, request, reply, requested, entry, slots: [] };
  if (cells === undefined || requested.asked instanceof Problem || cells.others()?.length === 0)
    return answerIn(context, received);
  try {
    return await answerInCells(context, cells, received);
  } catch (error) {
    // The slot may have been given away a moment ago. Nothing was changed.
    if (refusedSlots(error) === null) throw error;
    await cells.refresh();
    return answerInCells(context, cells, received);
  }
}

interface Received {
  readonly route: Route;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly requested: Requested;
  readonly entry: CallerEntry;
  /** The slots that it names, where customers live in several cells. */
  readonly slots: readonly string[];
}

/** Answers in the cell of the request, or with the lists of all. */
async function answerInCells(home: Serving, cells: Cells, received: Received): Promise<Payload> {
  const { route, requested, entry } = received;
  const { asked } = requested;
  if (asked instanceof Problem) throw asked;
  const readEnvironment = () => home.environmentOf(entry);
  const { divided } = route;
  const parts = divided ? await divide(cells, divided, asked.input, readEnvironment) : [];
  const { found, slots } = divided
    ? { found: parts.map(({ cell }) => cell), slots: parts.flatMap((part) => part.slots) }
    : await cellsOfRequest(cells, route, asked.input, readEnvironment);
  // An answer is stored in parts, because its customers may be in several cells when the request is repeated.
  if (divided && (parts.length > 1 || (parts.length === 1 && asked.idempotency !== null)))
    return answerInParts(home, received, { asked, divided, parts });
  const [cell = null] = found;
  if (found.length > 1) return answerOfAll(home, cells, received);
  const ask = cell === null && route.asks ? () => askOthers(home, cells, received) : undefined;
  return enterCell(home, cell, entry, (serving, entered) =>
    answerIn(serving, { ...received, entry: entered, slots }, ask),
  );
}

/** Runs a transaction of a request in one cell. */
async function actIn<Answer>(
  serving: Serving,
  { request }: Received,
  { entry, dryRun = false }: { readonly entry: EntryOfCell; readonly dryRun?: boolean },
  act: (work: Work) => Promise<Answer>,
): Promise<Answer> {
  const publicUrl = serving.publicUrl ?? addressAsked(request);
  const outcome = await runInEnvironment(serving.database, entry, act, { publicUrl, dryRun });
  // Home has permitted it before another cell is asked.
  if (outcome === null) throw new Problem(serving.cell === null ? 'unauthorized' : 'cellNotReady');
  return outcome.answer;
}

/** Asks the other cells what a change at home has to know, once home permits it. */
async function askOthers(home: Serving, cells: Cells, received: Received): Promise<readonly unknown[]> {
  const { route, requested, reply, entry } = received;
  const request = await actIn(home, received, { entry }, async (work) => admitted(requested, work, reply));
  const caller = { entry: await entryOfCell(home, entry), dryRun: true };
  const ask = async (name: string) =>
    actIn(await home.inCell(name), received, caller, async (work) => route.asks?.(work, request.input, request));
  return Promise.all((cells.others() ?? []).map(ask));
}

/** Answers with what all cells have, as of the instant of home, which permits the read first. */
async function answerOfAll(home: Serving, cells: Cells, received: Received): Promise<Payload> {
  const { route, request, reply, requested, entry } = received;
  const { read, join } = gatheredOf(route);
  const caller = await entryOfCell(home, entry);
  const readAll = async () => {
    const { now, input, part } = await actIn(home, received, { entry }, async (work) => {
      const { input } = admitted(requested, work, reply);
      return { now: work.now, input, part: await read(work, input, home) };
    });
    const others = cells.others() ?? [];
    const readThere = async (name: string) => {
      const serving = await home.inCell(name);
      return actIn(serving, received, { entry: caller }, (work) => read({ ...work, now }, input, serving));
    };
    const parts: Parts<unknown> = [part, ...(await Promise.all(others.map(readThere)))];
    return { input, others, parts };
  };
  const { version, answer } = await readSettled(cells, readAll);
  const { input, others, parts } = answer;
  if ('apiKeyHash' in entry) home.keyUse.note(entry.apiKeyHash);
  const answered = join(parts, input);
  if (route.file) {
    const readIn = async <Read>(name: string | undefined, readNext: (work: Work) => Promise<Read>) => {
      if (name === undefined) return actIn(home, received, { entry }, readNext);
      // Home permits each of the reads.
      await actIn(home, received, { entry }, async () => true);
      return actIn(await home.inCell(name), received, { entry: caller }, readNext);
    };
    const readMore: ReadMore = async (readNext, position = 0) => {
      const more = await readIn(others[position - 1], readNext);
      if (route.file?.isWhole && (await cells.settled()) !== version) throw new Problem('cellNotReady');
      return more;
    };
    return fileAnswer(route.file, reply, answered, readMore);
  }
  return jsonPayload(route, request, reply, await (route.text ?? jsonInTurns)(answered));
}

// A move lasts a fraction of a second, and so does the pause after it.
const mostReads = 5;

/** Reads in all cells while no slot moves between them, so that no row is missing or comes twice. */
async function readSettled<Answer>(cells: Cells, read: () => Promise<Answer>) {
  for (let n = 0; n < mostReads; n++) {
    const version = await cells.settled();
    const answer = await read();
    if ((await cells.settled()) === version) return { version, answer };
  }
  throw new Problem('cellNotReady');
}

async function fileAnswer(
  { name, render, contentType }: NonNullable<Route['file']>,
  reply: FastifyReply,
  answered: unknown,
  readMore: ReadMore,
): Promise<Payload> {
  const called = name?.(answered);
  if (called !== undefined) reply.header('content-disposition', `attachment; filename="${called}"`);
  return filePayload(reply, await render(answered, readMore), contentType);
}

/** Acts in a cell for a caller that home or the cell admits. */
async function enterCell<Answer>(
  home: Serving,
  cell: string | null,
  entry: CallerEntry,
  act: (serving: Serving, entry: EntryOfCell) => Promise<Answer>,
): Promise<Answer> {
  if (cell === null) return act(home, entry);
  const entered = await entryOfCell(home, entry);
  return act(await home.inCell(cell), entered).catch(async (error: unknown) => {
    const isUnknown = error instanceof Problem && error.problem === 'unauthorized';
    // A key that home knows may not have reached the cell.
    throw isUnknown && (await runInEnvironment(home.database, entry, async () => true))
      ? new Problem('cellNotReady')
      : error;
  });
}

interface InParts {
  readonly asked: Asked;
  readonly divided: Divided;
  readonly parts: readonly Part[];
}

/** Answers in the cells of its parts at once, when all have committed. */
async function answerInParts(home: Serving, received: Received, { asked, divided, parts }: InParts): Promise<Payload> {
  const { route, request, reply, requested, entry } = received;
  if (requested.unknown.length > 0)
    await runInEnvironment(home.database, entry, async (work) => admitted(requested, work, reply));
  nameIgnored(reply, requested.ignored);
  const settled = await Promise.allSettled(
    parts.map(({ cell, places, slots }) =>
      enterCell(home, cell, entry, (serving, entered) =>
        answerPart(serving, { ...received, entry: entered, slots }, { asked, divided, places }),
      ),
    ),
  );
  const answered = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  if (answered.length < parts.length) throw refusalOfParts(parts, settled, { stores: divided.stores && !asked.dryRun });
  if ('apiKeyHash' in entry) home.keyUse.note(entry.apiKeyHash);
  if (asked.dryRun) reply.header('dry-run', 'true');
  if (answered.every(({ replayed }) => replayed)) reply.header('idempotent-replayed', 'true');
  return jsonPayload(route, request, reply, joinTexts(divided, answered));
}

interface PartAsked {
  readonly asked: Asked;
  readonly divided: Divided;
  readonly places: readonly number[];
}

/** Answers the elements of one cell there. */
async function answerPart(
  context: Serving,
  { route, request, reply, requested, entry, slots }: Omit<Received, 'entry'> & { readonly entry: EntryOfCell },
  { asked, divided, places }: PartAsked,
): Promise<{ readonly texts: Texts; readonly replayed: boolean }> {
  const { batched } = route;
  if (batched && isBatchable(requested) && 'apiKeyHash' in entry) {
    const batchable = batched.request(inputOfPart(divided, asked.input, places) as never);
    if (batchable !== null) {
      const answered = await context.batcher.submit(batched.operation, entry, batchable, actionOf(route), slots);
      return { texts: await textsOf(divided, places, answered), replayed: false };
    }
  }
  const idempotency = asked.idempotency && storedInParts(asked.idempotency);
  const auditContext = { action: actionOf(route), requestId: request.id };
  const publicUrl = context.publicUrl ?? addressAsked(request);
  const act = async (work: Work) => {
    const { input } = admitted(requested, work, reply);
    return performPart(work, { route, divided, input, places, idempotency }, context);
  };
  const { dryRun } = asked;
  const outcome = await runInEnvironment(context.database, entry, act, { auditContext, dryRun, publicUrl, slots });
  if (outcome === null) throw new Problem('unauthorized');
  const { effects, answer: performed } = outcome;
  refreshStatistics(context.database).catch((error) => request.log.warn(error));
  if (effects.length === 0) return performed;
  await runEffects({ ...context, auditContext }, effects);
  if (idempotency) {
    const done = (work: Work) => renewAnswer(work, idempotency, writeTexts(performed.texts));
    await runInEnvironment(context.database, { ...entry, sufficient: null }, done, { publicUrl });
  }
  return performed;
}

async function entryOfCell(home: Serving, entry: CallerEntry): Promise<EntryOfCell> {
  if ('apiKeyHash' in entry) return entry;
  const permitted = await runInEnvironment(home.database, entry, async ({ environmentId, userId, role }) => {
    return { environmentId, userId, role };
  });
  if (permitted === null) throw new Problem('unauthorized');
  return permitted.answer;
}

/** Answers in one cell. */
async function answerIn(
  context: Serving,
  { route, request, reply, requested, entry, slots }: Omit<Received, 'entry'> & { readonly entry: EntryOfCell },
  askOthers?: AskOthers,
): Promise<Payload> {
  const { asked } = requested;
  const batchable = isBatchable(requested) ? (route.batched?.request(requested.asked.input as never) ?? null) : null;
  if (route.batched && batchable !== null && 'apiKeyHash' in entry) {
    const { operation, text } = route.batched;
    const action = route.method === 'GET' ? null : actionOf(route);
    const answered = await context.batcher.submit(operation, entry, batchable, action, slots);
    nameIgnored(reply, requested.ignored);
    context.keyUse.note(entry.apiKeyHash);
    return jsonPayload(route, request, reply, await text(answered));
  }
  // A read leaves an audit log entry only where it does overdue work first.
  const auditContext = { action: actionOf(route), requestId: request.id };
  const publicUrl = context.publicUrl ?? addressAsked(request);
  const elsewhere = (await askOthers?.()) ?? [];
  const act = (work: Work) => perform(context, work, admitted(requested, work, reply), elsewhere);
  const dryRun = !(asked instanceof Problem) && asked.dryRun;
  const options = { auditContext, dryRun, publicUrl, slots, cells: context.cells };
  const fromReplica = await readFromReplica(context, route, request, { entry, act, publicUrl, slots });
  if (fromReplica !== null) reply.header('tollkeeper-replica-lag-ms', Math.ceil(context.replica?.lagMs ?? 0));
  const outcome = fromReplica ?? (await runInEnvironment(context.database, entry, act, options));
  if (outcome === null || asked instanceof Problem) throw new Problem('unauthorized');
  if ('apiKeyHash' in entry) context.keyUse.note(entry.apiKeyHash);
  const performed = outcome.answer;
  if (performed instanceof Problem) throw performed;
  if (route.method !== 'GET') refreshStatistics(context.database).catch((error) => request.log.warn(error));
  if (asked.dryRun) reply.header('dry-run', 'true');
  if (performed.replayed) reply.header('idempotent-replayed', 'true');
  if (route.file) {
    const { isWhole = false } = route.file;
    const readMore: ReadMore = async (read) => {
      const more = { entry, act: read, publicUrl, slots };
      const again =
        (await readFromReplica(context, route, request, more)) ??
        (await runInEnvironment(context.database, entry, read, { publicUrl, slots }));
      if (again === null) throw new Problem('unauthorized');
      // The file began when no other cell had slots. Customers move to a cell once every process knows it.
      if (isWhole && (await hasOthers(context))) throw new Problem('cellNotReady');
      return again.answer;
    };
    return fileAnswer(route.file, reply, performed.answer, readMore);
  }
  const finishing = { ...context, auditContext, publicUrl, askOthers, slots };
  const text = await finish(finishing, asked, entry, performed, outcome.effects);
  return jsonPayload(route, request, reply, text);
}

/** Whether other cells have slots by now. */
async function hasOthers({ cells }: Pick<ApiContext, 'cells'>): Promise<boolean> {
  if (cells?.others() === null) await cells.refresh();
  return cells !== undefined && cells.others()?.length !== 0;
}

/** A read, as it is done in a transaction. */
interface Reading<Answer> {
  readonly entry: EntryOfCell;
  readonly act: (work: Work) => Promise<Answer>;
  readonly publicUrl: string;
  readonly slots: readonly string[];
}

/**
 * Reads from the replica, if the read may be a moment old. The primary decides who may read: a key that was revoked there reads
 * nothing here. Returns null when the primary should answer, because the sender asks for that, or because the replica is too
 * old, does not answer, or does not know the caller yet.
 */
async function readFromReplica<Answer>(
  { database: primary, replica }: ApiContext,
  { mayLag = false }: Route,
  request: FastifyRequest,
  { entry, act, publicUrl, slots }: Reading<Answer>,
) {
  const isForPrimary = request.headers['tollkeeper-read'] === 'primary';
  const database = mayLag && !isForPrimary ? replica?.database : null;
  if (database == null) return null;
  if ((await runInEnvironment(primary, entry, async () => true)) === null) throw new Problem('unauthorized');
  try {
    return await runInEnvironment(database, entry, act, { publicUrl, slots });
  } catch (error) {
    if (error instanceof Problem && error.status < 500) throw error;
    request.log.warn({ err: error }, 'The read replica did not answer a request, so the primary does.');
    return null;
  }
}

/** Whether a request may share a transaction. One with unknown fields needs the settings before it is judged. */
function isBatchable(requested: Requested): requested is Requested & { readonly asked: Asked } {
  const { asked, unknown } = requested;
  return !(asked instanceof Problem) && !asked.dryRun && asked.idempotency === null && unknown.length === 0;
}

/** The request, if it is valid in the environment. Otherwise throws its problem, with each unknown field. */
function admitted({ asked, ignored, unknown }: Requested, work: Work, reply: FastifyReply): Asked {
  if (unknown.length > 0 && work.settings.unknownFields !== 'ignore') {
    const others = asked instanceof Problem ? asked.issues : [];
    throw validationProblem([...issuesOfUnknown(unknown), ...others]);
  }
  if (asked instanceof Problem) throw asked;
  // A refusal that follows names them too.
  nameIgnored(reply, [...ignored, ...unknown]);
  return asked;
}

function nameIgnored(reply: FastifyReply, fields: readonly UnknownField[]): void {
  if (fields.length > 0) reply.header('tollkeeper-ignored', ignoredHeader(fields));
}

/** The name of a route in the audit log and the documentation. */
function actionOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

// Returned to the server instead of sent here: Fastify awaits a returned reply like a promise, several times.
type Payload = string | Buffer | Readable | undefined;

function jsonPayload(route: Route, request: FastifyRequest, reply: FastifyReply, text: string): Payload {
  if (route.etag) {
    const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
    reply.header('etag', etag);
    if (hasAlready(request.headers['if-none-match'], etag)) {
      reply.code(304);
      return undefined;
    }
  }
  reply.type('application/json; charset=utf-8');
  return text;
}

/**
 * Whether `If-None-Match` names the response. Proxies weaken an ETag, so `W/` makes no difference (RFC 9110, 13.1.2).
 */
function hasAlready(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.split(',').some((each) => [etag, '*'].includes(each.trim().replace(/^W\//, ''))) ?? false;
}

function filePayload(reply: FastifyReply, file: string | Buffer | Readable, contentType: string): Payload {
  reply.header('content-security-policy', documentPolicy).header('x-content-type-options', 'nosniff');
  // A proxy that stored or gathered the messages would hold them back.
  if (contentType === 'text/event-stream') reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
  reply.type(contentType);
  return file;
}

function readRequest(route: Route, request: FastifyRequest, body: ReadBody): Requested {
  const lastEventId = request.headers['last-event-id'];
  const resumed = route.resumes && lastEventId !== undefined ? { after: lastEventId } : {};
  const rawQuery = gatherMetadata({ ...resumed, ...(request.query as Record<string, unknown>) });
  const mutates = route.method !== 'GET';
  const asked = attempt(() => {
    const dryRun = mutates ? readDryRun(rawQuery.dryRun) : false;
    const params = parseParams(route.params, request.params);
    const query = parseQuery(route.query, rawQuery);
    if (body.parsed instanceof Problem) throw body.parsed;
    return {
      route,
      input: { params, query, body: body.parsed } as RouteInput<never, never, never>,
      dryRun,
      // A dry run stores nothing, so there is nothing to replay.
      idempotency: mutates && !dryRun ? readIdempotencyKey(request, body.identity) : null,
    };
  });
  const unknown = [
    ...findUnknownFields('query', route.query ?? noQuery, rawQuery).filter(
      ({ path }) => !(mutates && path[0] === 'dryRun'),
    ),
    ...body.unknown,
  ];
  const isIgnored = (field: UnknownField) => route.ignores?.includes(placeOf(field)) ?? false;
  return { asked, ignored: unknown.filter(isIgnored), unknown: unknown.filter((field) => !isIgnored(field)) };
}

function readDryRun(value: unknown): boolean {
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw new Problem('invalidRequest', { reason: 'dryRun: must be true or false' }, [
    { path: ['dryRun'], message: 'must be true or false', code: 'custom' },
  ]);
}
