import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { Timestamp } from '../kernel/json.ts';
import { instantFilter, instantRange, type PageRequest, textFilter } from '../kernel/pagination.ts';

const operations = ['insert', 'update', 'delete'] as const;
const actorTypes = ['api_key', 'user', 'customer', 'operator', 'system'] as const;

const Columns = z.record(z.string(), z.unknown()).nullable().meta({
  description:
    'The fields by their names in the database, in camelCase. Secrets read `(secret)`, and addresses have no path. Integers beyond 2^53-1 are text.',
});

/** One change of one record: who, what and when, with its values before and after. */
export const AuditLogEntry = z
  .object({
    id: z.string(),
    occurredAt: Timestamp.meta({ description: 'Real time in epoch milliseconds, even if the test clock is set.' }),
    pricingModelId: z.string().nullable(),
    actor: z.object({
      type: z.enum(actorTypes).meta({
        description:
          '`user`: a person who was signed in. `customer`: a page of the checkout or portal. `operator`: the command ' +
          'line. `system`: background work.',
      }),
      apiKeyId: z.string().nullable(),
      userId: z.string().nullable(),
    }),
    action: z
      .string()
      .nullable()
      .meta({ description: 'The operation, such as `POST /products`, or the name of the task or command.' }),
    requestId: z.string().nullable().meta({ description: 'The `X-Request-Id` of the answer.' }),
    record: z.object({ type: z.string(), id: z.string() }),
    operation: z.enum(operations),
    before: Columns,
    after: Columns,
  })
  .meta({ id: 'AuditLogEntry' });
export type AuditLogEntry = z.infer<typeof AuditLogEntry>;

/** The filters of the log. */
export const auditFilters = {
  recordId: textFilter,
  record: textFilter.meta({ description: 'The type of the record, such as `subscriptionItem`.' }),
  action: textFilter,
  apiKeyId: textFilter,
  userId: textFilter,
  requestId: textFilter,
  since: instantFilter.meta({ description: 'Changes made at this instant or later.' }),
  until: instantFilter.meta({ description: 'Changes made before this instant.' }),
};

/** A row of the log. `before` and `after` are JSON text with column names as keys. */
export interface AuditLogRow {
  readonly id: string;
  readonly pricingModelId: string | null;
  readonly occurredAt: Instant;
  readonly actorType: string;
  readonly apiKeyId: string | null;
  readonly userId: string | null;
  readonly action: string | null;
  readonly requestId: string | null;
  readonly record: string;
  readonly recordId: string;
  readonly operation: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Converts a row to an entry. */
export function toEntry(row: AuditLogRow): AuditLogEntry {
  const { id, pricingModelId, occurredAt, action, requestId } = row;
  return {
    id,
    occurredAt,
    pricingModelId,
    // The database allows no other value.
    actor: { type: row.actorType as (typeof actorTypes)[number], apiKeyId: row.apiKeyId, userId: row.userId },
    action,
    requestId,
    record: { type: row.record, id: row.recordId },
    operation: row.operation as (typeof operations)[number],
    before: row.before === null ? null : columnsOf(row.before),
    after: row.after === null ? null : columnsOf(row.after),
  };
}

/** JSON.parse passes the source text of a number; TypeScript's library does not declare it yet. */
const parseJson = JSON.parse as (
  text: string,
  revive: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/** Columns as they are returned. JSON columns keep their keys. */
function columnsOf(text: string): Record<string, unknown> {
  const columns = parseJson(text, (_key, value, { source }) => (isTooLarge(value, source) ? source : value));
  return Object.fromEntries(
    Object.entries(columns as Record<string, unknown>).map(([column, value]) => [
      column.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

function isTooLarge(value: unknown, source: string | undefined): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '');
}

/** A range of ids: from the first (in it) to the last (not in it); null is an open end. */
export interface IdRange {
  readonly from: string | null;
  readonly to: string | null;
}

// An id begins with the microseconds of its change, so a time range is an id range, which every index supports.
const timeDigits = 14;
const lastMicrosecond = 16n ** BigInt(timeDigits) - 1n;

/** The lowest id that a change at this instant can have. */
export function firstIdAt(at: Instant): string {
  const microseconds = BigInt(at) * 1000n;
  const bounded = microseconds < 0n ? 0n : microseconds > lastMicrosecond ? lastMicrosecond : microseconds;
  return `audit_${bounded.toString(16).padStart(timeDigits, '0')}`;
}

/** The id range of the filters `since` and `until`. Refuses an empty range. */
export function toIdRange(filters: PageRequest['filters']): IdRange {
  const { from, to } = instantRange(filters, 'since', 'until') ?? { from: null, to: null };
  return { from: from === null ? null : firstIdAt(from), to: to === null ? null : firstIdAt(to) };
}
