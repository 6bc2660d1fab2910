import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem, type ProblemName } from '../kernel/problem.ts';
import { isForOperator } from './operator.ts';

/** The load that one process accepts at a time. */
export interface LoadLimits {
  /** Requests in flight, whether they are being received, queued or processed. */
  readonly maxRequests: number;
  /** Bytes of request bodies in flight. */
  readonly maxBodiesBytes: number;
}

// Bodies up to this size are bounded well enough by the number of requests.
const smallBodyBytes = 64 * 1024;

/** Load shedding: refuses with `overloaded` requests beyond capacity, before any of the body is read. */
export function registerLoadShedding(server: FastifyInstance, { maxRequests, maxBodiesBytes }: LoadLimits): void {
  let inFlight = 0;
  let bodiesBytes = 0;
  server.addHook('onRequest', (request, reply, done) => {
    const isTooLarge = isLarge(request) && bodiesBytes + (announcedBytes(request) ?? 0) > maxBodiesBytes;
    const isTooMuch = inFlight >= maxRequests || isTooLarge;
    if (isTooMuch && !isForOperator(request)) return done(new Problem('overloaded'));
    inFlight += 1;
    reply.raw.once('close', () => {
      inFlight -= 1;
    });
    done();
  });
  server.addHook('preParsing', (request, reply, payload, done) => {
    if (!isLarge(request)) return done(null, payload);
    let own = 0;
    const counted = new CountedBody((bytes) => {
      own += bytes;
      bodiesBytes += bytes;
      return bodiesBytes <= maxBodiesBytes;
    });
    // The parsed body is kept in memory until the response is sent.
    reply.raw.once('close', () => {
      bodiesBytes -= own;
      own = 0;
      counted.destroy();
    });
    done(null, counted.receive(payload as IncomingMessage));
  });
}

// Recovery needs action by the operator, which takes longer than a moment.
const retryAfterSeconds: Partial<Record<ProblemName, number>> = { databaseFull: 30, databaseReadOnly: 30 };

/** Adds `Retry-After` to the refusal of a request that may succeed later. */
export function sayWhenToRetry(reply: FastifyReply, problem: Problem | null): void {
  if (problem?.code === 'TOO_MANY_REQUESTS' || problem?.code === 'SERVICE_UNAVAILABLE')
    reply.header('retry-after', String(problem.data.retryAfterSeconds ?? retryAfterSeconds[problem.problem] ?? 1));
}

function announcedBytes({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Whether the body is large or has no declared length. */
function isLarge(request: FastifyRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || (announcedBytes(request) ?? 0) > smallBodyBytes;
}

/** An incoming body whose bytes are counted by `take`, which may refuse them. */
class CountedBody extends Transform {
  readonly #take: (bytes: number) => boolean;

  constructor(take: (bytes: number) => boolean) {
    super();
    this.#take = take;
  }

  receive(source: IncomingMessage): this {
    source.pipe(this);
    source.once('error', (error) => this.destroy(error));
    // Drains the rest of the body, so that the client reads the response and can reuse the connection.
    this.once('close', () => {
      source.unpipe(this);
      source.resume();
    });
    return this;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#take(chunk.length)) done(null, chunk);
    else done(new Problem('overloaded'));
  }
}
