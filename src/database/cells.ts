import type pg from 'pg';
import { slotOf } from '../kernel/id.ts';
import type { Database } from './database.ts';

/** The parts of a request that name records. */
export interface NamesOfRequest {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** The cells of an installation, as a process knows them: docs/decisions/0176-customers-live-in-cells.md. */
export interface Cells {
  /** The names of the cells besides home that have slots. Null: they were not read within the last seconds. */
  others(): readonly string[] | null;
  /** The cell of a slot; null for home. */
  cellOf(slot: string): string | null;
  /** The slots of the records that a request names. */
  slotsOf(names: NamesOfRequest, environmentId: number): readonly string[];
  /** Reads the slots again. */
  refresh(): Promise<void>;
  /** Reads the slots again, until none is moving. Returns their version: while it stays, each row is in one cell. */
  settled(): Promise<number>;
  /** The connections of requests to a cell. */
  open(cell: string): Promise<Database>;
  /** Their pool. */
  poolOf(cell: string): Promise<pg.Pool>;
  /** Copies the catalogs that this environment may change to each cell, or all of them. */
  copyCatalogs(environmentId: number | null): Promise<void>;
  /** The cells for a step outside of a transaction in which several have a part. */
  readonly together: CellsTogether;
}

/** Cells by connections that see every environment. */
export interface CellsTogether extends Pick<Cells, 'cellOf' | 'settled' | 'copyCatalogs'> {
  readonly home: Database;
  /** The names of the others that have slots, as they were read last. */
  readonly others: () => readonly string[];
  readonly open: (cell: string) => Promise<Database>;
}

/** The part of a context with the cells. Absent: there is only the home cell. */
export interface WithCells {
  /** The cells of this process. */
  readonly cells?: Cells | undefined;
}

/** The cells that the services of a job or a page have. */
export function cellsOf(services: object | undefined): Cells | undefined {
  return (services as WithCells | undefined)?.cells;
}

/** The parts of an answer: one of each cell, and home's first. */
export type Parts<Part> = readonly [Part, ...Part[]];

// Codes of the migration 0025: another cell has the slot, or this one does not have it yet.
export const slotIsElsewhere = 'TK176';
export const slotIsClosed = 'TK177';

/** The slots for which a transaction was refused; null if it was not refused for slots. */
export function refusedSlots(error: unknown): ReadonlySet<string> | null {
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  if (code !== slotIsElsewhere && code !== slotIsClosed) return null;
  return new Set(typeof detail === 'string' ? detail.split(',') : []);
}

/** The cell of a record, by its id; null for home. */
export async function cellOfRecord({ cells }: WithCells = {}, id: string): Promise<string | null> {
  if (cells === undefined) return null;
  if (cells.others() === null) await cells.refresh();
  return cells.cellOf(slotOf(id));
}

/** The database of a record: that of its cell. */
export async function databaseOfRecord(home: Database, services: WithCells | undefined, id: string): Promise<Database> {
  const cell = await cellOfRecord(services, id);
  return cell === null || services?.cells === undefined ? home : services.cells.open(cell);
}
