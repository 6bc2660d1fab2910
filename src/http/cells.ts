import { LRUCache } from 'lru-cache';
import { nameOfHash } from '../database/api-key.ts';
import type { Cells, Parts, WithCells } from '../database/cells.ts';
import type { Database } from '../database/database.ts';
import { problemOfOutage } from '../database/database-problem.ts';
import { runInEnvironment, type Work } from '../database/work.ts';
import type { Task, TaskList } from '../jobs/queue.ts';
import { decodeCursor, defaultPageLimit, encodeCursor, mostCounted } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import type { CallerEntry } from './caller.ts';
import type { Gathered, Route, RouteInput } from './route.ts';

/** Reads in which environment a caller asks. Refuses with `unauthorized`. */
export type EnvironmentOf = (entry: CallerEntry) => Promise<number>;

// Their environments are a small part of what a process keeps.
const mostKeys = 10_000;

/** The environment of a key never changes, so it is read once. */
export function environmentReader(home: Database): EnvironmentOf {
  const known = new LRUCache<string, number>({ max: mostKeys });
  return async (entry) => {
    if ('sessionToken' in entry) return entry.environmentId;
    const name = nameOfHash(entry.apiKeyHash);
    const found = known.get(name);
    if (found !== undefined) return found;
    const read = await runInEnvironment(home, { ...entry, sufficient: null }, async (work) => work.environmentId);
    if (read === null) throw new Problem('unauthorized');
    known.set(name, read.answer);
    return read.answer;
  };
}

/** The cells whose answers are the answer of a request, by their names (null is home), and the slots that it names. */
interface CellsOfRequest {
  readonly found: readonly (string | null)[];
  readonly slots: readonly string[];
}

export async function cellsOfRequest(
  cells: Cells,
  { cell }: Route,
  input: RouteInput<never, never, never>,
  readEnvironment: () => Promise<number>,
): Promise<CellsOfRequest> {
  const slots: readonly string[] = [];
  if (cells.others() === null) await cells.refresh();
  const others = cells.others() ?? [];
  if (others.length === 0) return { found: [null], slots };
  const environmentId = await readEnvironment();
  switch (cell) {
    case 'home':
      return { found: [null], slots };
    case 'all':
      return { found: [null, ...others], slots };
    case 'customer':
    case 'id': {
      const named = cells.slotsOf(input, environmentId);
      const [only = null] = named.map((slot) => cells.cellOf(slot));
      // A record of another cell belongs to another customer: in this one it is not found.
      return { found: [only], slots: named.filter((slot) => cells.cellOf(slot) === only) };
    }
    default:
      return cell satisfies never;
  }
}

interface ListedRow {
  readonly id: string;
  readonly createdAt?: number;
  /** The instant of an entry of the audit log. */
  readonly occurredAt?: number;
}

interface Page<Row extends ListedRow> {
  readonly data: Row[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly currentCursor: string;
  /** Rows before this instant are in archives. */
  readonly archivedUntil?: number;
}

/** How a route of all cells is answered. The rows of lists are merged. */
export function gatheredOf({ gathered, merged = 'asc', handle }: Route): Gathered {
  const mergeLists: Gathered['join'] = (pages, { query }) => {
    const { order = merged, limit } = (query ?? {}) as { order?: 'asc' | 'desc'; limit?: number };
    return mergePages(pages as Parts<Page<ListedRow>>, { order, limit });
  };
  return gathered ?? { read: (work, input, context) => handle(work, input, context, []), join: mergeLists };
}

/** The page that one cell with the rows of all would answer. Its rows are in order of their ids, as those of each page are. */
export function mergePages<Row extends ListedRow>(
  pages: Parts<Page<Row>>,
  { order, limit = defaultPageLimit }: { readonly order: 'asc' | 'desc'; readonly limit?: number | undefined },
): Page<Row> & { readonly nextCursor?: string } {
  const [first] = pages;
  const { parameters, direction } = decodeCursor(first.currentCursor);
  const upwards = (order === 'asc') === (direction === 'forward');
  // The numbers of archives are ids too, and those of records begin with a word.
  const compare = (a: Row, b: Row) => Number.parseInt(a.id, 10) - Number.parseInt(b.id, 10) || (a.id < b.id ? -1 : 1);
  const rows = pages.flatMap(({ data }) => data).sort((a, b) => (upwards ? compare(a, b) : compare(b, a)));
  const hasMore = rows.length > limit || pages.some((page) => page.hasMore);
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  if (direction === 'backward') data.reverse();
  const createdAt = last?.createdAt ?? last?.occurredAt ?? 0;
  const nextCursor =
    hasMore && last ? { nextCursor: encodeCursor({ parameters, direction, id: last.id, createdAt }) } : {};
  const total = Math.min(
    mostCounted,
    pages.reduce((sum, page) => sum + page.total, 0),
  );
  const ends = pages.flatMap(({ archivedUntil }) => archivedUntil ?? []);
  const archivedUntil = ends.length > 0 ? { archivedUntil: Math.max(...ends) } : {};
  const { currentCursor } = first;
  return { data, hasMore, total, currentCursor, ...nextCursor, ...archivedUntil };
}

const copyTask = 'copy_catalog';

/**
 * Has a change of organizations, keys or catalogs reach the other cells before it is answered. The database has enqueued the job
 * already (migrations/0025-cells.sql).
 */
export function requestCopies({ dryRun, effects, environmentId }: Work): void {
  if (!dryRun) effects.push({ task: copyTask, payload: { environmentId } });
}

/** A request does not wait for a cell that does not respond: the queue copies to it later. */
const copyCatalogs: Task = async ({ services, auditContext }, { environmentId }) => {
  const { cells } = (services ?? {}) as WithCells;
  try {
    await cells?.copyCatalogs(typeof environmentId === 'number' ? environmentId : null);
  } catch (error) {
    const isOfRequest = (auditContext?.requestId ?? null) !== null;
    if (!isOfRequest || problemOfOutage(error) === null) throw error;
  }
};

export const copyTasks: TaskList = { [copyTask]: copyCatalogs };
