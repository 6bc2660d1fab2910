import type { z } from 'zod';
import type { Work } from '../database/work.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { JobContext } from '../jobs/queue.ts';
import { answerAlone, type Together } from '../jobs/together.ts';
import type { ProblemName } from '../kernel/problem.ts';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** The input of a handler: each part parsed by the route's schema. */
export interface RouteInput<Params, Query, Body> {
  readonly params: Parsed<Params>;
  readonly query: Parsed<Query>;
  readonly body: Parsed<Body>;
}

/** A response that is a document, rendered from the handler's result after the transaction. */
export interface FileAnswer<Answer> {
  readonly contentType: string;
  readonly render: (answer: Answer) => string | Promise<string | Buffer>;
}

/** An operation of the API as a value: the server, openapi.json and the contract test use the same list. */
export interface RouteDefinition<
  Params extends z.ZodType | undefined,
  Query extends z.ZodType | undefined,
  Body extends z.ZodType | undefined,
  Returns extends z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below /api/v1, with parameters in braces. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly description?: string;
  /** The family of the route: a heading of the reference page. */
  readonly tag: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly returns: Returns;
  readonly refuses: readonly ProblemName[];
  readonly handle: (
    work: Work,
    input: RouteInput<Params, Query, Body>,
    /**
     * The context of the effects after the commit. In the transaction, use it only to check which services are
     * configured.
     */
    context: JobContext,
  ) => Promise<z.output<Returns>>;
  /**
   * Reads the response again in a separate transaction after the effects of the commit (a charge, a refund), so that
   * the caller sees their result.
   */
  readonly afterEffects?: (work: Work, answer: z.output<Returns>) => Promise<z.output<Returns>>;
  /** A response that is not JSON. Only for a GET. */
  readonly file?: FileAnswer<z.output<Returns>>;
  /** A read whose response carries an ETag. A matching `If-None-Match` gets 304 without a body. */
  readonly etag?: boolean;
  /** The field of the body whose elements may be sent as lines of application/x-ndjson. */
  readonly lines?: string;
  /** The encryption of the stored response, when it contains a secret. Not with `afterEffects`. */
  readonly sealedWith?: (context: JobContext) => Encryption;
}

/** The batched execution of a route. */
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
  readonly description?: string;
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
 * Declares a route whose concurrent requests are processed in batches. A dry run, and a request with an
 * Idempotency-Key, gets a transaction of its own.
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
  /** The result of `tell` as JSON text, when there is a faster way than JSON.stringify. */
  readonly text?: (answer: Answer) => string;
}): Route {
  return {
    ...route({
      ...definition,
      handle: async (work, input) => tell(await answerAlone(together, work, ask(input))),
    } as RouteDefinition<Params, Query, Body, Returns>),
    // As above: the types of request and response match the definition.
    gathered: { together, ask, text } as unknown as Gathered,
  };
}
