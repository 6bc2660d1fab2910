import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Parts } from '../database/cells.ts';
import type { Work } from '../database/work.ts';
import { answerAlone, type BatchedOperation } from '../jobs/batcher.ts';
import type { Encryption } from '../jobs/encryption.ts';
import type { JobContext } from '../jobs/queue.ts';
import type { BodyLimits } from '../kernel/json-weight.ts';
import type { GroupPermission } from '../kernel/permission.ts';
import type { Problem, ProblemName } from '../kernel/problem.ts';

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** The input of a handler: each part parsed by the route's schema. */
export interface RouteInput<Params, Query, Body> {
  readonly params: Parsed<Params>;
  readonly query: Parsed<Query>;
  readonly body: Parsed<Body>;
  /** The places of the elements in the list of the caller, where this is a part of a request (`Divided`). */
  readonly places?: readonly number[];
}

/** A response that is a document, rendered from the handler's result after the transaction. */
interface FileAnswer<Answer> {
  readonly contentType: string;
  /** A stream is sent as it is read, so it holds no more than its reader takes. */
  readonly render: (answer: Answer, readMore: ReadMore) => string | Readable | Promise<string | Buffer>;
  /** Whether it breaks off when customers have moved between cells, because a row could be missing or come twice. */
  readonly isWhole?: boolean;
  /** The name of a file to be stored. */
  readonly name?: (answer: Answer) => string;
}

/** Reads in another transaction of the same caller, whose key may have been revoked meanwhile. */
export type ReadMore = <Read>(
  read: (work: Work) => Promise<Read>,
  /** The position of the cell among those of the request. */
  cell?: number,
) => Promise<Read>;

/** The field of a body whose list may be long. Its elements may also be sent as lines of application/x-ndjson. */
interface LongList {
  readonly field: string;
  readonly element: z.ZodType;
  readonly atMost: number;
}

/**
 * A list in the body whose elements name customers. Elements of several cells are divided: each cell answers its part in one
 * transaction, and the answers come in the order of the list.
 */
export interface Divided<Answer = unknown> {
  readonly field: string;
  /** The list in the answer. */
  readonly answers: string;
  /** The answers of each element. */
  readonly answersOf: (answer: Answer) => readonly (readonly unknown[])[];
  /** Whether parts are stored. A repeat of one that was stored changes nothing. */
  readonly stores: boolean;
}

/**
 * The cell that answers a request. With `customer` and `id` it is that of the customers or the record in the request. With `home` it
 * is the home cell, which has organizations and catalogs. With `all` it is every cell.
 */
type CellOfRoute = 'customer' | 'id' | 'home' | 'all';

/** An operation of the API as a value: the server, openapi.json and the contract test use the same list. */
interface RouteDefinition<
  Params extends z.ZodType | undefined,
  Query extends z.ZodType | undefined,
  Body extends z.ZodType | undefined,
  Returns extends z.ZodType,
  Part = never,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below /api/v1, with parameters in braces. */
  readonly path: `/${string}`;
  readonly cell: CellOfRoute;
  /** The usual order of a list whose rows in all cells are merged by id. */
  readonly merged?: 'asc' | 'desc';
  readonly divided?: Divided<z.output<Returns>>;
  /** The permission that a caller must have. Null: every valid key may ask. */
  readonly needs: GroupPermission | null;
  readonly summary: string;
  readonly description: string;
  /** The family it belongs to: a heading of the reference page. */
  readonly tag: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly returns: Returns;
  readonly refuses: readonly ProblemName[];
  /** Asked in each other cell before `handle`, and before `afterEffects`, of a change at home. All that it does there is undone. */
  readonly asks?: (
    work: Work,
    input: RouteInput<Params, Query, Body>,
    request: { readonly dryRun: boolean },
  ) => Promise<Part>;
  /** Returns the answer. A problem that is returned, and not thrown, refuses the request and keeps the stored changes. */
  readonly handle: (
    work: Work,
    input: RouteInput<Params, Query, Body>,
    /**
     * The context of the effects after the commit. In the transaction, use it only to check which services are
     * configured.
     */
    context: JobContext,
    /** The answers of other cells. */
    elsewhere: readonly Part[],
  ) => Promise<z.output<Returns> | Problem>;
  /**
   * Reads the response again in a separate transaction after the effects of the commit (a charge, a refund), so that
   * the caller sees their result. A refusal that is returned, and not thrown, commits.
   */
  readonly afterEffects?: (
    work: Work,
    answer: z.output<Returns>,
    context: JobContext,
    elsewhere: readonly Part[],
  ) => Promise<z.output<Returns> | Problem>;
  /** A response that is not JSON. Only for a GET. */
  readonly file?: FileAnswer<z.output<Returns>>;
  /** A read whose response carries an ETag. A matching `If-None-Match` gets 304 without a body. */
  readonly etag?: boolean;
  /** Whether the header `Last-Event-ID` gives the query's `after`: readers of server-sent events send it by themselves. */
  readonly resumes?: boolean;
  /** A list that is read in turns. */
  readonly list?: LongList;
  /** More than a body may usually hold. */
  readonly bodyLimits?: BodyLimits;
  /** The JSON of an answer, where it is too long to be made at once or there is a quicker way to it. */
  readonly text?: (answer: z.output<Returns>) => string | Promise<string>;
  /** The encryption of the stored response, when it contains a secret. Not with `afterEffects`. */
  readonly sealedWith?: (context: JobContext) => Encryption;
}

/** How a read of all cells is answered: each has a part, as of the instant of home. */
export interface Gathered {
  readonly read: (
    work: Work,
    input: RouteInput<z.ZodType, z.ZodType, z.ZodType>,
    context: JobContext,
  ) => Promise<unknown>;
  readonly join: (parts: Parts<unknown>, input: RouteInput<z.ZodType, z.ZodType, z.ZodType>) => unknown;
}

/** How the requests of a route are answered in batches. */
interface Batched {
  readonly operation: BatchedOperation<unknown, unknown, unknown>;
  /** Null: the request has a transaction of its own. */
  readonly request: (input: RouteInput<z.ZodType, z.ZodType, z.ZodType>) => unknown;
  readonly text: (answer: unknown) => string | Promise<string>;
}

/** A route whose types have been checked and are no longer needed. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: `/${string}`;
  readonly cell: CellOfRoute;
  readonly merged?: 'asc' | 'desc';
  readonly gathered?: Gathered;
  readonly divided?: Divided;
  readonly needs: GroupPermission | null;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly params?: z.ZodType | undefined;
  readonly query?: z.ZodType | undefined;
  readonly body?: z.ZodType | undefined;
  /** Unknown fields that are ignored for the clients of the reference: `customer.archived`, `?pricingModelId`. */
  readonly ignores?: readonly string[];
  readonly returns: z.ZodType;
  readonly refuses: readonly ProblemName[];
  readonly asks?: (
    work: Work,
    input: RouteInput<z.ZodType, z.ZodType, z.ZodType>,
    request: { readonly dryRun: boolean },
  ) => Promise<unknown>;
  readonly handle: (
    work: Work,
    input: RouteInput<z.ZodType, z.ZodType, z.ZodType>,
    context: JobContext,
    elsewhere: readonly unknown[],
  ) => Promise<unknown>;
  readonly afterEffects?: (
    work: Work,
    answer: unknown,
    context: JobContext,
    elsewhere: readonly unknown[],
  ) => Promise<unknown>;
  readonly file?: FileAnswer<unknown>;
  readonly etag?: boolean;
  readonly resumes?: boolean;
  readonly list?: LongList;
  readonly bodyLimits?: BodyLimits;
  readonly text?: (answer: unknown) => string | Promise<string>;
  readonly sealedWith?: (context: JobContext) => Encryption;
  readonly batched?: Batched;
  /** Whether a read replica may answer, whose state is a moment old. */
  readonly mayLag?: boolean;
}

/** Declares a route. The compiler checks the handler against the schemas here, once. */
export function route<
  Returns extends z.ZodType,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  Part = never,
>(definition: RouteDefinition<Params, Query, Body, Returns, Part>): Route {
  // The server parses each part with the definition's own schema before it calls the handler, so the wider type holds.
  return definition as unknown as Route;
}

/** Declares a read of all cells. The answer of one cell is made of its part alone. */
export function gatheredRoute<
  Part,
  Returns extends z.ZodType,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
>({
  read,
  join,
  ...definition
}: Omit<RouteDefinition<Params, Query, undefined, Returns>, 'method' | 'cell' | 'handle'> & {
  readonly read: (work: Work, input: RouteInput<Params, Query, undefined>, context: JobContext) => Promise<Part>;
  readonly join: (parts: Parts<Part>, input: RouteInput<Params, Query, undefined>) => z.output<Returns>;
}): Route {
  return {
    ...route({
      ...definition,
      method: 'GET',
      cell: 'all',
      handle: async (work, input, context) => join([await read(work, input, context)], input),
    } as RouteDefinition<Params, Query, undefined, Returns>),
    // As above: each part is one that `read` returned.
    gathered: { read, join } as unknown as Gathered,
  };
}

/**
 * Declares a route whose requests are answered in batches. A dry run, and a request with an Idempotency-Key, has a
 * transaction of its own.
 */
export function batchedRoute<
  Request,
  Answer,
  Cache,
  Returns extends z.ZodType,
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>({
  operation,
  request,
  answer,
  batchText,
  handleAlone,
  divided,
  ...definition
}: Omit<RouteDefinition<Params, Query, Body, Returns>, 'handle' | 'afterEffects' | 'file' | 'divided'> & {
  readonly divided?: Divided<Answer>;
  readonly operation: BatchedOperation<Request, Answer, Cache>;
  readonly request: (input: RouteInput<Params, Query, Body>) => Request | null;
  readonly answer: (answer: Answer) => z.output<Returns>;
  /** Answers what no batch takes: an input for which `request` returns null. */
  readonly handleAlone?: RouteDefinition<Params, Query, Body, Returns>['handle'];
  /** The JSON of `answer`, where there is a quicker way to it. */
  readonly batchText?: (answer: Answer) => string;
}): Route {
  const { text: textOf = JSON.stringify } = definition;
  const text = batchText ?? ((answered: Answer) => textOf(answer(answered)));
  return {
    ...route({
      ...definition,
      handle: async (work, input, context, elsewhere) => {
        const requested = request(input);
        if (requested !== null) return answer(await answerAlone(operation, work, requested));
        assert(handleAlone !== undefined, 'a route without it has batches for all input');
        return handleAlone(work, input, context, elsewhere);
      },
    } as RouteDefinition<Params, Query, Body, Returns>),
    // As above: requests and answers have the types that the definition says.
    ...(divided && { divided: divided as unknown as Divided }),
    batched: { operation, request, text } as unknown as Batched,
  };
}
