import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import { type Role, rolesWith } from '../kernel/permission.ts';
import { Problem, permissionMissing } from '../kernel/problem.ts';
import type { Cells, CellsTogether } from './cells.ts';
import type { Database, DatabaseTransaction } from './database.ts';

/** The tenant that a transaction is bound to, as the database's own functions answer it. */
interface Scope {
  readonly environmentId: number;
  readonly organizationId: string;
  readonly livemode: boolean;
  readonly currency: string;
  /** The settings of the environment that several folders need, by name. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The key that asked, or null for a person or work of our own. */
  readonly apiKeyId: string | null;
  /** The person who asked, or null for a key or work of our own. */
  readonly userId: string | null;
  /** The role of that person in the organization. */
  readonly role: Role | null;
  /** The id of the one record to which the key is pinned, or null if it may see all of the environment. */
  readonly pinnedTo: string | null;
}

/** A step outside of the database that the commit asks for, and that the request waits for when it can. */
export interface Effect {
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** One unit of work: one transaction in one environment, at one instant. */
export interface Work extends Scope {
  readonly db: DatabaseTransaction;
  /** The environment's time, read once: the test clock where one is set, else real time. */
  readonly now: Instant;
  /**
   * The instants up to `now` as of which due work is done in this transaction, by customer and subscription, while a test
   * clock passes them all at once. Absent: everything is done at `now`.
   */
  readonly instants?: ReadonlyMap<string, Instant>;
  /** Answers of other cells, by the ids of the records about which they were asked just before this transaction. */
  readonly told: ReadonlyMap<string, number>;
  /** The address of the service for others, without a path. */
  readonly publicUrl: string;
  readonly dryRun: boolean;
  /** Whether a person waits at a browser, who can confirm what is charged. */
  readonly attended: boolean;
  readonly effects: Effect[];
}

/** The instant as of which a record of this customer or subscription is written. */
export function instantOf({ instants, now }: Pick<Work, 'instants' | 'now'>, id: string): Instant {
  return instants?.get(id) ?? now;
}

/** The same in SQL, for the id in a column. */
export function instantOfColumn({ instants, now }: Work, column: string): RawBuilder<Instant> {
  if (instants === undefined) return sql`${now}::bigint`;
  const known = JSON.stringify(Object.fromEntries(instants));
  return sql`coalesce((${known}::jsonb ->> ${sql.ref(column)})::bigint, ${now}::bigint)`;
}

interface ScopeRow {
  environmentId: number | null;
  organizationId: string;
  livemode: boolean;
  currency: string;
  settings: Readonly<Record<string, unknown>>;
  clockNow: number | null;
  apiKeyId: string | null;
  pinnedTo: string | null;
  userId: string | null;
  role: Role | null;
}

/** An API key that asks for something. */
export interface KeyEntry {
  readonly apiKeyHash: Buffer;
  /** The permissions of which it must have one. Null: any key may do it. */
  readonly sufficient: readonly string[] | null;
}

/** A person who is signed in, and asks for something in one of the environments of their organizations. */
export interface SessionEntry {
  readonly sessionToken: string;
  readonly environmentId: number;
  readonly sufficient: readonly string[] | null;
}

/** A person who asks in another cell, which knows no sessions. Home has permitted it. */
export interface PersonEntry {
  readonly environmentId: number;
  readonly userId: string | null;
  readonly role: Role | null;
}

/** How a transaction finds its environment: by an API key, by a person, or by its number for work of our own. */
type Entry = KeyEntry | SessionEntry | PersonEntry | { readonly environmentId: number };

/** The context of a change in the audit log, besides its API key or person. */
export interface AuditContext {
  /** The operation, the page or the task. */
  readonly action: string;
  readonly requestId?: string | null;
  /** Without a key it is work of the service itself, unless a customer acts on a page. */
  readonly actor?: 'customer' | undefined;
}

// One for all: to note where each was thrown takes longer than to throw it.
const rollBack = new Error('rolled back on purpose');

/** Undoes the unit of work and runs it again, because a record that it has read is out of date. */
export class RunAgain extends Error {
  readonly code = '40001';
}

/** Undoes the unit of work, asks the other cells about a record, and runs it again with their answer; null: there is nothing to tell. */
export class AskCells extends Error {
  readonly id: string;
  readonly ask: (cells: CellsTogether) => Promise<number | null>;

  constructor(id: string, ask: (cells: CellsTogether) => Promise<number | null>) {
    super('the other cells have to be asked');
    this.id = id;
    this.ask = ask;
  }
}

interface RunOptions {
  /** Everything is done and answered, then rolled back. */
  readonly dryRun?: boolean;
  /** Nothing can be written, and all that is read is of one instant. */
  readonly readOnly?: boolean;
  /** The address of the service for others. Work without a request shows it to nobody. */
  readonly publicUrl?: string;
  readonly attended?: boolean;
  /** The slots that it is about, where customers live in several cells. Refused where this one does not have them. */
  readonly slots?: readonly string[];
  /** The cells, where it may have to ask them. */
  readonly cells?: Cells | undefined;
  readonly told?: ReadonlyMap<string, number>;
  /** Needed by what changes something. */
  readonly auditContext?: AuditContext | undefined;
}

// A deadlock or a serialization failure undoes the whole transaction, so it can be run again from its start. So does a foreign
// key whose record was deleted after it was read: the next attempt does not find the record, and says so.
const maxAttempts = 4;
// Another redemption took the last one that a cell knew of.
export const allowanceTaken = 'TK189';
const retryableStates = new Set(['40P01', '40001', '23503', allowanceTaken]);
// Others may take what was found, so it is looked for again.
const mostQuestions = 10;

/**
 * Runs `act` in one transaction of the environment that `entry` names; answers null when it names none. Refuses a key
 * without the permission.
 * Nothing outside of the database may be called in `act`: add an effect instead.
 */
export async function runInEnvironment<Answer>(
  database: Database,
  entry: Entry,
  act: (work: Work) => Promise<Answer>,
  options: RunOptions = {},
): Promise<{ answer: Answer; effects: readonly Effect[] } | null> {
  const told = new Map<string, number>();
  for (let attempt = 1, asked = 0; ; attempt++) {
    try {
      return await runOnce(database, entry, act, { ...options, told });
    } catch (error) {
      if (error instanceof AskCells && options.cells) {
        if (asked++ === mostQuestions) throw new Problem('cellNotReady');
        const answer = await error.ask(options.cells.together);
        if (answer !== null) told.set(error.id, answer);
        attempt = 0;
        continue;
      }
      const state = (error as { code?: unknown }).code;
      if (attempt >= maxAttempts || typeof state !== 'string' || !retryableStates.has(state)) throw error;
    }
  }
}

async function runOnce<Answer>(
  database: Database,
  entry: Entry,
  act: (work: Work) => Promise<Answer>,
  options: RunOptions,
) {
  let answer: Answer | undefined;
  try {
    return await beginOf(database, options).execute(async (db) => {
      const work = await enter(db, entry, options);
      if (work === null) return null;
      answer = await act(work);
      if (options.dryRun) throw rollBack;
      return { answer, effects: work.effects };
    });
  } catch (error) {
    if (error === rollBack) return { answer: answer as Answer, effects: [] };
    throw error;
  }
}

function beginOf(database: Database, { readOnly = false }: RunOptions) {
  const begin = database.transaction();
  return readOnly ? begin.setIsolationLevel('repeatable read').setAccessMode('read only') : begin;
}

/** Puts a transaction that is open into an environment; answers null when there is none. Its effects are the caller's to run. */
export async function enter(db: DatabaseTransaction, entry: Entry, options: RunOptions = {}): Promise<Work | null> {
  const realNow = Date.now();
  const scope = scopeOf(entry, realNow);
  const said = options.auditContext === undefined ? sql`` : setAuditContext(options.auditContext);
  const person = 'userId' in entry ? { userId: entry.userId, role: entry.role } : null;
  // The audit log names the person.
  const named = person === null ? sql`` : sql`, set_config('tollkeeper.user_id', ${person.userId}, true) as named`;
  const { slots = [] } = options;
  const entered = slots.length === 0 ? sql`` : sql`, ${enterSlots(slots)}`;
  const { rows } = await sql<ScopeRow>`select scope.* ${said} ${named} ${entered} from ${scope} as scope`.execute(db);
  const [found] = rows;
  if (found === undefined) return null;
  const row = person === null ? found : { ...found, ...person };
  if (row.environmentId !== null) return workIn(db, row, realNow, options);
  if ((row.apiKeyId ?? row.userId) === null || !('sufficient' in entry)) return null;
  throw permissionMissing(entry.sufficient ?? []);
}

/** Refuses the transaction where the cell does not have these slots, and lets it finish before they move. */
export function enterSlots(slots: readonly string[]): RawBuilder<unknown> {
  return sql`enter_slots(${slots}::text[])`;
}

function scopeOf(entry: Entry, realNow: Instant) {
  if ('apiKeyHash' in entry) return sql`authenticate(${entry.apiKeyHash}, ${realNow}, ${entry.sufficient}::text[])`;
  if ('sessionToken' in entry) {
    const roles = entry.sufficient && rolesWith(entry.sufficient);
    return sql`authenticate_session(${entry.sessionToken}, ${entry.environmentId}, ${realNow}, ${roles}::text[])`;
  }
  return sql`enter_environment(${entry.environmentId})`;
}

const nothing: ReadonlyMap<string, number> = new Map();

function workIn(
  db: DatabaseTransaction,
  row: ScopeRow,
  realNow: Instant,
  { told = nothing, dryRun = false, publicUrl = 'http://localhost', attended = false }: RunOptions,
): Work {
  assert(row.environmentId !== null, 'a scope has its environment');
  return {
    db,
    now: row.clockNow ?? realNow,
    told,
    publicUrl,
    dryRun,
    attended,
    effects: [],
    environmentId: row.environmentId,
    organizationId: row.organizationId,
    livemode: row.livemode,
    currency: row.currency,
    settings: row.settings,
    apiKeyId: row.apiKeyId,
    userId: row.userId,
    role: row.role,
    pinnedTo: row.pinnedTo,
  };
}

/** Tells the transaction what is being done, for the triggers that write the audit log: a part of the statement that opens it. */
function setAuditContext({ action, requestId = null, actor }: AuditContext) {
  const byWhom = actor === undefined ? sql`` : sql`, set_config('tollkeeper.actor_type', ${actor}, true) as said_actor`;
  return sql`, set_config('tollkeeper.action', ${action}, true) as said_action,
    set_config('tollkeeper.request_id', ${requestId}, true) as said_request ${byWhom}`;
}
