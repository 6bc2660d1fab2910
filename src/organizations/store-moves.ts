import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { slots } from '../kernel/id.ts';

// Slots move between cells by the functions of migrations/0027-moves.sql. A cell here is its connections; the name of the home cell is
// null.

/** Slots that move from one cell to another. */
export interface SlotMove {
  readonly codes: readonly string[];
  readonly source: string | null;
  readonly target: string | null;
}

/** The move in progress; null if there is none. There is one at a time. */
export async function findMove(home: Database): Promise<SlotMove | null> {
  const { rows } = await sql<SlotMove>`
    select array_agg(code order by code) as codes, source, target from slots_moving group by source, target`.execute(
    home,
  );
  return rows[0] ?? null;
}

/** The slots of a cell that are not moving. */
export async function listSlots(home: Database, cell: string | null): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select code from (select slot_code(n) as code from generate_series(1, ${slots}) n) every
      left join slots s using (code)
     where s.cell is not distinct from ${cell}::text and not exists (select from slots_moving m where m.code = every.code)
     order by code`.execute(home);
  return rows.map(({ code }) => code);
}

/** Closes slots of the home cell, or notes that those of another cell are to be closed. */
export async function beginMove(home: Database, { codes, source, target }: SlotMove): Promise<void> {
  await sql`select begin_slot_move(${codes}::text[], ${source}::text, ${target}::text)`.execute(home);
}

/** Leads the slots to the cell that has their rows. */
export async function endMove(home: Database, codes: readonly string[], holder: string | null): Promise<void> {
  await sql`select end_slot_move(${codes}::text[], ${holder}::text)`.execute(home);
}

/** Closes slots of a cell besides home. */
export async function closeSlots(source: Database, codes: readonly string[]): Promise<void> {
  await sql`update slots_here set is_closing = true where code = any(${codes}::text[])`.execute(source);
}

/** Opens slots of a cell besides home again. False: some of them have left. */
export async function reopenSlots(source: Database, codes: readonly string[]): Promise<boolean> {
  await sql`update slots_here set is_closing = false where code = any(${codes}::text[])`.execute(source);
  return hasSlots(source, codes);
}

/** Whether a cell besides home has all of these slots. */
export async function hasSlots(cell: Database, codes: readonly string[]): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from slots_here where code = any(${codes}::text[]) and not is_closing`.execute(cell);
  return rows[0]?.count === codes.length;
}

/** Whether customers may live in a cell besides home. */
export async function hasOpenSlots(cell: Database): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from slots_here where not is_closing) as has`.execute(cell);
  return rows[0]?.has === true;
}

/** The transactions that have entered slots of the cell, and run. */
export async function listTransactionsInSlots(cell: Database): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select transactions_in_slots() as id`.execute(cell);
  return rows.map(({ id }) => id);
}

/** The other slots that have to be in one cell with these, because a customer was renamed from one to the other. */
export async function listLinkedSlots(cell: Database, codes: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`select linked_slots(${codes}::text[]) as code`.execute(cell);
  return rows.map(({ code }) => code);
}

/** Rows of one table, as text. */
interface Part {
  readonly place: number;
  readonly tableName: string;
  readonly packed: readonly string[];
}

/** The rows of closed slots that a transaction took out of a cell. */
interface Departure {
  readonly transaction: string;
  readonly parts: readonly Part[];
}

/** Takes all rows of closed slots out of a cell, in an open transaction. Refuses if another mover has opened or taken them. */
export async function takeSlots(source: Database, codes: readonly string[]): Promise<Departure> {
  const { rows: parts } = await sql<Part>`select place, table_name, packed from take_slots(${codes}::text[])`.execute(
    source,
  );
  return departure(source, parts);
}

/** Takes the rows that were stored in a target out of it again, in an open transaction. */
export async function takeStored(target: Database): Promise<Departure> {
  const { rows: parts } = await sql<Part>`delete from slots_arriving returning place, table_name, packed`.execute(
    target,
  );
  if (parts.length === 0) throw new Error('Another process has moved these slots.');
  return departure(target, parts);
}

async function departure(db: Database, parts: readonly Part[]): Promise<Departure> {
  const { rows } = await sql<{ id: string }>`select pg_current_xact_id()::text as id`.execute(db);
  if (rows[0] === undefined) throw new Error('A transaction has an id.');
  return { transaction: rows[0].id, parts: parts.toSorted((a, b) => a.place - b.place) };
}

/** Stores the rows of a departure in the target, before the source commits. */
export async function storeDeparture(target: Database, { transaction, parts }: Departure): Promise<void> {
  await target.transaction().execute(async (db) => {
    for (const [place, { tableName, packed }] of parts.entries()) {
      await sql`
        insert into slots_arriving (place, source_transaction, table_name, packed)
        values (${place}, ${transaction}, ${tableName}, ${packed}::text[])`.execute(db);
    }
  });
}

/** The transaction of the source whose rows are stored in this target; null if none are. */
export async function findDeparture(target: Database): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`select source_transaction as id from slots_arriving limit 1`.execute(
    target,
  );
  return rows[0]?.id ?? null;
}

/** Forgets rows whose transaction in the source was rolled back. */
export async function discardDeparture(target: Database, transaction: string): Promise<void> {
  await sql`delete from slots_arriving where source_transaction = ${transaction}`.execute(target);
}

/** The outcome of a transaction of the source; null if it was so long ago that the server does not know it any more. */
export async function findOutcome(
  source: Database,
  transaction: string,
): Promise<'committed' | 'aborted' | 'in progress' | null> {
  const { rows } = await sql<{ outcome: 'committed' | 'aborted' | 'in progress' | null }>`
    select pg_xact_status(${transaction}::text::xid8) as outcome`.execute(source);
  return rows[0]?.outcome ?? null;
}

/** Adds the stored rows to the tables of the target and opens their slots, in an open transaction. */
export async function addArriving(target: Database): Promise<void> {
  await sql`select add_arriving_slots()`.execute(target);
}

/** Waits no longer than this for a lock, in an open transaction. */
export async function limitWait(db: Database, ms: number): Promise<void> {
  await sql`select set_config('lock_timeout', ${String(ms)}, true)`.execute(db);
}

/** Whether a cell has customers. */
export async function hasCustomers(cell: Database): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`select has_customers() as has`.execute(cell);
  return rows[0]?.has === true;
}

/** Takes a cell without slots out of the list. False if it has slots, or gets some. */
export async function deleteCell(home: Database, name: string): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`
    delete from cells c where name = ${name}
       and not exists (select from slots s where s.cell = c.name)
       and not exists (select from slots_moving m where c.name in (m.source, m.target)) returning name`.execute(home);
  return rows.length > 0;
}
