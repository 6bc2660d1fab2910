import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../kernel/problem.ts';

/** How much one process takes on at a time. */
export interface AdmissionLimits {
  /** Requests under way, whether they are received, wait or are carried out. */
  readonly maxRequests: number;
  /** Bytes of bodies that were received for requests under way. */
  readonly maxBodiesBytes: number;
}

// What asks how the service is gets an answer also when it takes on nothing more.
const alwaysAdmitted = new Set(['/health', '/ready', '/metrics']);
// Bodies up to this size are bounded well enough by the number of requests.
const smallBodyBytes = 64 * 1024;

/** Refuses with `overloaded` what is more than the process can take on, before any of it is read. */
export function registerAdmission(server: FastifyInstance, { maxRequests, maxBodiesBytes }: AdmissionLimits): void {
  let underWay = 0;
  let bodiesBytes = 0;
  server.addHook('onRequest', (request, reply, done) => {
    const isTooLarge = isLarge(request) && bodiesBytes + (announcedBytes(request) ?? 0) > maxBodiesBytes;
    const isTooMuch = underWay >= maxRequests || isTooLarge;
    if (isTooMuch && !alwaysAdmitted.has(request.url)) return done(new Problem('overloaded'));
    underWay += 1;
    reply.raw.once('close', () => {
      underWay -= 1;
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
    // What was parsed of it is there until the answer is.
    reply.raw.once('close', () => {
      bodiesBytes -= own;
      own = 0;
      counted.destroy();
    });
    done(null, counted.receive(payload as IncomingMessage));
  });
}

function announcedBytes({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Whether the body is large, or of a length that nobody has said. */
function isLarge(request: FastifyRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || (announcedBytes(request) ?? 0) > smallBodyBytes;
}

/** A body on its way in, which `take` counts and may refuse. */
class CountedBody extends Transform {
  readonly #take: (bytes: number) => boolean;

  constructor(take: (bytes: number) => boolean) {
    super();
    this.#take = take;
  }

  receive(source: IncomingMessage): this {
    source.pipe(this);
    source.once('error', (error) => this.destroy(error));
    // What is left of it is read and forgotten, so that the sender gets to reading the answer, and the next request on this
    // connection to us.
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
