import { z } from 'zod';
import type { Instant } from './calendar.ts';
import { jsonIssues, MetadataKey, MetadataText, TimestampQuery } from './json.ts';
import { invalid, Problem } from './problem.ts';

/** The default page size, and the largest one that a request may ask for. */
export const defaultPageLimit = 10;
const maxPageLimit = 100;

/** The most rows of a list that clients of the reference read whole: about half a megabyte. */
export const maxLongPageLimit = 1000;

// Another list's page of ids is the longest filter.
const mostIds = 100;
const longestId = 64;
const longestIds = mostIds * (longestId + 1) - 1;

const Cursor = z.strictObject({
  parameters: z.record(z.string(), z.string().max(longestIds)),
  createdAt: z.int(),
  id: z.string().max(255),
  direction: z.enum(['forward', 'backward']),
  check: z.string().optional(),
});
/**
 * The start of a page: after (or before) the row `id`. `parameters` are the equality filters of the list's first page.
 */
type Cursor = Omit<z.infer<typeof Cursor>, 'check'>;

/** FNV-1a detects cursors that were altered. It need not be secret, because a cursor grants no access. */
function checkOf({ parameters, createdAt, id, direction }: Cursor): string {
  let hash = 0x811c9dc5;
  for (const character of JSON.stringify([parameters, createdAt, id, direction])) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

/** The cursor as clients carry it: opaque, base64 of JSON. */
export function encodeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify({ ...cursor, check: checkOf(cursor) })).toString('base64');
}

/** Decodes a cursor. Refuses with `invalidCursor` a cursor that no list has returned, or that was altered. */
export function decodeCursor(text: string): Cursor {
  try {
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) throw new Error('not base64');
    const { check, ...cursor } = Cursor.parse(JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
    if (check !== undefined && check !== checkOf(cursor)) throw new Error('altered');
    if (jsonIssues(cursor).length > 0) throw new Error('no text that a record may hold');
    return cursor;
  } catch {
    throw new Problem('invalidCursor');
  }
}

const cursorFilter = z
  .string()
  // Holds the filters of the list, so it is as long as the longest query.
  .max(12_000)
  .optional()
  .meta({
    description: 'The `nextCursor` of the page before; without it the list begins at the first page.',
    param: { id: 'cursor' },
  });
function limitFilterOf(id: string, most: number, usual: number) {
  return z
    .string()
    .regex(/^\d{1,4}$/, `limit must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .optional()
    .meta({
      description: `The number of rows on a page: 1 to ${most}, by default ${usual}.`,
      param: { id },
      // Documented as the number that the text contains.
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: most });
      },
    });
}
const limitFilter = limitFilterOf('limit', maxPageLimit, defaultPageLimit);
const longLimitFilter = limitFilterOf('longLimit', maxLongPageLimit, maxLongPageLimit);

const Order = z.enum(['asc', 'desc']);
type Order = z.infer<typeof Order>;

const orderFilter = Order.optional().meta({
  description:
    '`asc`: the oldest first. `desc`: the newest first. A cursor keeps its order, and is refused for the other one.',
  param: { id: 'order' },
});

/** The query of every list: `cursor`, `limit`, `order` and the list's own filters. */
export function pageQuery<Filters extends z.ZodRawShape>(filters: Filters) {
  return z.object({ cursor: cursorFilter, limit: limitFilter, order: orderFilter, ...filters });
}

/**
 * The query of a list that clients of the reference read whole: the first page holds as many rows as an answer may.
 */
export function longPageQuery<Filters extends z.ZodRawShape>(filters: Filters) {
  return z.object({ cursor: cursorFilter, limit: longLimitFilter, order: orderFilter, ...filters });
}

/** The fields of such an answer beside its rows. */
export const longPageFields = {
  hasMore: z.boolean().meta({ description: 'Whether there are more rows. `nextCursor` leads to them.' }),
  nextCursor: z.string().optional(),
};

/** The most rows that a list counts: all of millions would cost more than the page. */
export const mostCounted = 100_000;

/** The envelope of every list. */
export function pageOf<Row extends z.ZodType>(row: Row) {
  return z.object({
    data: z.array(row),
    hasMore: z.boolean(),
    total: z.number().meta({ description: 'The number of rows that match, counted up to 100,000.' }),
    currentCursor: z.string(),
    nextCursor: z.string().optional(),
  });
}

/** The request of a list, as the store takes it. */
export interface PageRequest {
  /** The cursor as it was sent, to be echoed; null for the first page. */
  readonly cursor: string | null;
  readonly after: string | null;
  /** The creation time of the row `after`, from the cursor. */
  readonly afterAt: Instant | null;
  readonly direction: 'forward' | 'backward';
  readonly order: Order;
  readonly limit: number;
  readonly filters: Readonly<Record<string, string | boolean>>;
  /** Whether all rows are read page after page. Nothing is counted then, because each count reads all of them. */
  readonly isExport?: boolean;
}

/** A query filter on a boolean column. */
export const booleanFilter = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional();
/** A query filter on a text column. */
export const textFilter = z.string().min(1).max(255).optional();
/** A query filter by ids: up to a page of them, separated by commas. */
export const idsFilter = z
  .string()
  .max(longestIds)
  .regex(
    new RegExp(`^[\\w-]{1,${longestId}}(,[\\w-]{1,${longestId}}){0,${mostIds - 1}}$`),
    `must be 1 to ${mostIds} ids, separated by commas`,
  )
  .optional()
  .meta({ description: 'Ids of records, separated by commas: at most 100.' });
/**
 * A query filter that is an instant. It remains the text that was sent, as cursors carry it; `TimestampQuery` parses
 * it.
 */
export const instantFilter = z
  .string()
  .max(64)
  .superRefine((text, context) => {
    const { error } = TimestampQuery.safeParse(text);
    for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
  })
  .optional();

// Each one is another search of an index.
const maxMetadataFilters = 5;
/** The query filters `metadata[key]=value`: rows whose metadata has each of these values. */
export const metadataFilter = z
  .record(MetadataKey, MetadataText)
  .refine((filters) => Object.keys(filters).length <= maxMetadataFilters, {
    message: `must name at most ${maxMetadataFilters} keys`,
  })
  .optional()
  .meta({
    description: '`metadata[key]=value`, up to five times. A number or boolean of the metadata is compared as text.',
    param: { id: 'metadata', style: 'deepObject', explode: true },
  });

const metadataName = /^metadata\[(.*)\]$/s;

/** The key of a parameter `metadata[key]`; null for any other parameter. */
export function metadataKeyOf(name: string): string | null {
  return metadataName.exec(name)?.[1] ?? null;
}

/** Gathers the parameters `metadata[key]` in one object under `metadata`, where the schema of the query expects them. */
export function gatherMetadata(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(query).map(([name, value]) => ({ key: metadataKeyOf(name), name, value }));
  const { metadata = {} } = query;
  // A plain `metadata` stays, and is refused as one.
  if (typeof metadata !== 'object' || entries.every(({ key }) => key === null)) return { ...query };
  const others = entries.filter(({ key }) => key === null).map(({ name, value }) => [name, value]);
  const filters = entries.flatMap(({ key, value }) => (key === null ? [] : [[key, value]]));
  return { ...Object.fromEntries(others), metadata: { ...metadata, ...Object.fromEntries(filters) } };
}

/** The filters of a list by the time of creation. */
export const createdFilters = {
  createdAtFrom: instantFilter.meta({
    description: 'Records created at this instant or later, in epoch milliseconds or as an ISO 8601 date-time.',
    param: { id: 'createdAtFrom' },
  }),
  createdAtTo: instantFilter.meta({
    description: 'Records created before this instant.',
    param: { id: 'createdAtTo' },
  }),
};

// A trigram index finds nothing shorter.
const minSearchLength = 3;
/** Text that is searched for within names, e-mail addresses and external ids. */
export const searchFilter = z.string().trim().min(minSearchLength).max(255).optional().meta({
  description: 'Text of at least 3 characters that the name, e-mail address or external id contains, in any case.',
});

/** The filters of a list by the customer. */
export const customerFilters = {
  customerId: textFilter,
  customerExternalId: textFilter.meta({
    description: 'Your own id of the customer. Archived customers with this id count too.',
  }),
};

/** From `from` (in it) to `to` (not in it); null is an open end. */
export interface InstantRange {
  readonly from: Instant | null;
  readonly to: Instant | null;
}

/** The range of two `instantFilter`s of a page request; null when neither is set. Refuses an empty range. */
export function instantRange(filters: PageRequest['filters'], fromName: string, toName: string): InstantRange | null {
  const [from, to] = [instantOf(filters[fromName]), instantOf(filters[toName])];
  if (from !== null && to !== null && from >= to) throw invalid([toName], `must be after ${fromName}`);
  return from === null && to === null ? null : { from, to };
}

function instantOf(value: string | boolean | undefined): Instant | null {
  return typeof value === 'string' ? TimestampQuery.parse(value) : null;
}

/** A filter of the raw query by the name that it has in a cursor. */
function sentFilter({ metadata, ...query }: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = metadataKeyOf(name);
  return key === null ? query[name] : (metadata as Readonly<Record<string, unknown>> | undefined)?.[key];
}

/**
 * Adds the cursor's filters to the raw query, so that they are validated like the others. Refuses with `invalidCursor`
 * when the query has another value for one of them.
 */
export function withCursorFilters(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (typeof query.cursor !== 'string') return { ...query };
  const { parameters } = decodeCursor(query.cursor);
  for (const [key, value] of Object.entries(parameters)) {
    const sent = sentFilter(query, key);
    // The cursor has a search as it was read: without the spaces around it.
    const isSame = sent === undefined || sent === value || (typeof sent === 'string' && sent.trim() === value);
    if (key === 'cursor' || key === 'limit' || !isSame) throw new Problem('invalidCursor');
  }
  return gatherMetadata({ ...parameters, ...query });
}

type Query = {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly order?: Order | undefined;
  readonly [filter: string]: unknown;
};

/** The page request of a parsed query. Parameters other than cursor, limit and order are filters. */
export function pageRequest(
  { cursor: cursorText, limit = defaultPageLimit, order: sentOrder, ...given }: Query,
  defaultOrder: Order = 'asc',
): PageRequest {
  const order = sentOrder ?? defaultOrder;
  const filters: Record<string, string | boolean> = {};
  for (const [key, value] of Object.entries(given)) {
    if (typeof value === 'string' || typeof value === 'boolean') filters[key] = value;
    else if (key === 'metadata') {
      for (const [name, text] of Object.entries(value ?? {})) filters[`metadata[${name}]`] = text;
    }
  }
  // A cursor carries the order like a filter, unless it is the usual one.
  if (order !== defaultOrder) filters.order = order;
  const cursor = cursorText === undefined ? null : decodeCursor(cursorText);
  if (cursor !== null && (cursor.parameters.order ?? defaultOrder) !== order) throw new Problem('invalidCursor');
  return {
    cursor: cursorText ?? null,
    after: cursor?.id || null,
    afterAt: cursor?.id ? cursor.createdAt : null,
    direction: cursor?.direction ?? 'forward',
    order,
    limit,
    filters,
  };
}

/** Whether the rows of a page are read from the oldest to the newest. */
export function isAscending({ order, direction }: Pick<PageRequest, 'order' | 'direction'>): boolean {
  return (order === 'asc') === (direction === 'forward');
}

/** The envelope around rows. `rows` may hold one row more than the limit, which means that there is another page. */
export function page<Row extends { id: string; createdAt: number }>(
  request: PageRequest,
  rows: readonly Row[],
  total: number,
) {
  const hasMore = rows.length > request.limit;
  const data = rows.slice(0, request.limit);
  if (request.direction === 'backward') data.reverse();
  const last = request.direction === 'backward' ? data.at(0) : data.at(-1);
  const parameters = Object.fromEntries(Object.entries(request.filters).map(([key, value]) => [key, String(value)]));
  const cursorAt = (id: string, createdAt: number) =>
    encodeCursor({ parameters, createdAt, id, direction: request.direction });
  return {
    data,
    hasMore,
    total,
    currentCursor: request.cursor ?? cursorAt('', 0),
    ...(hasMore && last ? { nextCursor: cursorAt(last.id, last.createdAt) } : {}),
  };
}
