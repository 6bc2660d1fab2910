import type { z } from 'zod';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { JobContext } from '../jobs/queue.ts';
import { answerAlone, type Together } from '../jobs/together.ts';
import type { ProblemName } from '../kernel/problem.ts';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** What a handler is given: each part parsed by the route's own schema. */
export interface RouteInput<Params, Query, Body> {
  readonly params: Parsed<Params>;
  readonly query: Parsed<Query>;
  readonly body: Parsed<Body>;
}

/** An answer that is a document to look at, made of what the handler answers, after the transaction has ended. */
export interface FileAnswer<Answer> {
  readonly contentType: string;
  readonly render: (answer: Answer) => string | Promise<string | Buffer>;
}

/** An operation of the API as a value: the server, openapi.json and the contract test come from the same list. */
export interface RouteDefinition<
  Params extends z.ZodType | undefined,
  Query extends z.ZodType | undefined,
  Body extends z.ZodType | undefined,
  Returns extends z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below /api/v1, with parameters in braces. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly description: string;
  /** The family it belongs to: a heading of the reference page. */
  readonly tag: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly returns: Returns;
  readonly refuses: readonly ProblemName[];
  readonly handle: (
    work: Work,
    input: RouteInput<Params, Query, Body>,
    /** What the effects of the commit will be given. None of it may be used in the transaction but to see what is there. */
    context: JobContext,
  ) => Promise<z.output<Returns>>;
  /**
   * Reads the answer again after the effects of the commit have run (a charge, a refund), in a transaction of its
   * own, so that the caller sees how it ended.
   */
  readonly afterEffects?: (work: Work, answer: z.output<Returns>) => Promise<z.output<Returns>>;
  /** Where the answer is not JSON. Only for a GET. */
  readonly file?: FileAnswer<z.output<Returns>>;
  /** A read whose answer carries an ETag: who has it already, as `If-None-Match` says, is answered 304 without it. */
  readonly etag?: boolean;
  /** The field of the body that the lines of an application/x-ndjson body are the elements of, where one may be sent. */
  readonly lines?: string;
  /** Where the answer tells a secret: what it is encrypted with while it is kept for a repeat. Not with `afterEffects`. */
  readonly sealedWith?: (context: JobContext) => Encryption;
}

/** How a route's callers who wait at the same time are answered together. */
interface Gathered {
  readonly together: Together<unknown, unknown>;
  readonly ask: (input: RouteInput<z.ZodType, z.ZodType, z.ZodType>) => unknown;
  readonly text: (answer: unknown) => string;
}

/** A route whose types have been checked and are no longer needed. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/${string}`;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly params?: z.ZodType | undefined;
  readonly query?: z.ZodType | undefined;
  readonly body?: z.ZodType | undefined;
  readonly returns: z.ZodType;
  readonly refuses: readonly ProblemName[];
  readonly handle: (
    work: Work,
    input: RouteInput<z.ZodType, z.ZodType, z.ZodType>,
    context: JobContext,
  ) => Promise<unknown>;
  readonly afterEffects?: (work: Work, answer: unknown) => Promise<unknown>;
  readonly file?: FileAnswer<unknown>;
  readonly etag?: boolean;
  readonly lines?: string;
  readonly sealedWith?: (context: JobContext) => Encryption;
  readonly gathered?: Gathered;
}

/** Declares a route. The compiler checks the handler against the schemas here, once. */
export function route<
  Returns extends z.ZodType,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(definition: RouteDefinition<Params, Query, Body, Returns>): Route {
  // The server parses each part with the definition's own schema before it calls the handler, so the wider type holds.
  return definition as unknown as Route;
}

/**
 * Declares a route whose callers who wait at the same time are answered together. A dry run, and a request with an
 * Idempotency-Key, is a transaction of its own.
 */
export function gatheredRoute<
  Ask,
  Answer,
  Returns extends z.ZodType,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>({
  together,
  ask,
  tell,
  text = (answer) => JSON.stringify(tell(answer)),
  ...definition
}: Omit<RouteDefinition<Params, Query, Body, Returns>, 'handle' | 'afterEffects' | 'file'> & {
  readonly together: Together<Ask, Answer>;
  readonly ask: (input: RouteInput<Params, Query, Body>) => Ask;
  readonly tell: (answer: Answer) => z.output<Returns>;
  /** What `tell` tells as JSON, where a quicker way leads there than by JSON.stringify. */
  readonly text?: (answer: Answer) => string;
}): Route {
  return {
    ...route({
      ...definition,
      handle: async (work, input) => tell(await answerAlone(together, work, ask(input))),
    } as RouteDefinition<Params, Query, Body, Returns>),
    // As above: what is asked and answered is of the types that the definition says.
    gathered: { together, ask, text } as unknown as Gathered,
  };
}
