import { type RawBuilder, sql } from 'kysely';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { InstantRange, PageRequest } from '../kernel/pagination.ts';
import type { Event } from './event.ts';

/** An event without the fields of its environment. */
export type EventRow = Omit<Event, 'livemode' | 'organizationId'>;

const eventColumns = [
  'id',
  'createdAt',
  'pricingModelId',
  'type',
  'object',
  'objectId',
  'occurredAt',
  'payload',
] as const;

export async function findEvent(work: Work, id: string): Promise<EventRow | null> {
  const row = await work.db
    .selectFrom('events')
    .select(eventColumns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .$castTo<EventRow>()
    .executeTakeFirst();
  return row ?? null;
}

const filterColumns = { type: 'type', object: 'object', objectId: 'object_id' } as const;

/**
 * A page of events in order of creation, plus one if there are more, and the total number of matches. A time range
 * (`range`) uses its index.
 */
export async function pageOfEvents(
  work: Work,
  request: PageRequest,
  range: InstantRange | null,
): Promise<{ rows: EventRow[]; total: number }> {
  if (range === null) return selectPage<EventRow>(work, 'events', eventColumns, request, filterColumns);
  const matches = sql`environment_id = ${work.environmentId} and ${within(range)} and ${filtersOf(request)}`;
  const forward = request.direction === 'forward';
  const beyond = request.after === null ? sql`true` : sql`id ${forward ? sql`>` : sql`<`} ${request.after}`;
  // Reads the whole range, as the total needs it anyway: scanning ids in order would begin with the oldest.
  const { rows } = await sql<EventRow>`
    select ${sql.join(eventColumns.map((column) => sql.ref(column)))}
      from (select * from events where ${matches} offset 0) in_range
     where ${beyond} order by id ${forward ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  const counted = await sql<{ total: number }>`select count(*) as total from events where ${matches}`.execute(work.db);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

function within({ from, to }: InstantRange): RawBuilder<unknown> {
  const since = from === null ? sql`true` : sql`occurred_at >= ${from}::bigint`;
  return to === null ? since : sql`${since} and occurred_at < ${to}::bigint`;
}

function filtersOf({ filters }: PageRequest): RawBuilder<unknown> {
  const equal = Object.entries(filterColumns).flatMap(([filter, column]) =>
    filters[filter] === undefined ? [] : sql`${sql.ref(column)} = ${filters[filter]}`,
  );
  return sql.join([sql`true`, ...equal], sql` and `);
}
