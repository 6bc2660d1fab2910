import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Instant } from '../kernel/calendar.ts';

// A cell is a whole schema. The home cell has the list of the others.

/** The installation of a schema. */
interface Identity {
  readonly installation: string;
  readonly isHome: boolean;
}

/** A cell besides the home cell. */
export interface Cell {
  /** The name of its schema. */
  readonly name: string;
  /** The server and the database, without user and password; null for those of the home cell. */
  readonly address: string | null;
}

export async function findIdentity(worker: Database): Promise<Identity> {
  const { rows } = await sql<Identity>`select installation, is_home from cell`.execute(worker);
  const [row] = rows;
  if (row === undefined) throw new Error('The table cell has no row.');
  return row;
}

/**
 * Whether the schema of these connections may become a cell of an installation: it is one, or nobody has used it. Migrations that
 * were interrupted are no use.
 */
export async function mayJoin(owner: Database, schema: string, installation: string): Promise<boolean> {
  const { rows } = await sql<{ isMigrated: boolean; isEmpty: boolean }>`
    select to_regclass('cell') is not null as is_migrated,
           not exists (select from pg_class where relnamespace = to_regnamespace(quote_ident(${schema}))
                          and relkind in ('r', 'p', 'v', 'm', 'f') and relname !~ '^kysely_migration') as is_empty`.execute(
    owner,
  );
  const [found] = rows;
  if (!found?.isMigrated) return found?.isEmpty === true;
  const { rows: cells } = await sql<{ may: boolean }>`
    select case when is_home then not exists (select from organizations) else installation = ${installation} end as may
      from cell`.execute(owner);
  return cells[0]?.may === true;
}

/** Makes a migrated schema a cell of an installation. A repeat changes nothing. */
export async function joinInstallation(owner: Database, installation: string): Promise<void> {
  await sql`
    update cell set installation = ${installation}, is_home = false
     where is_home and not exists (select from organizations)`.execute(owner);
}

/** Puts a cell into the list. False if another of its name is there. */
export async function insertCell(worker: Database, { name, address }: Cell, now: Instant): Promise<boolean> {
  await sql`
    insert into cells (name, address, created_at) values (${name}, ${address}, ${now}) on conflict do nothing`.execute(
    worker,
  );
  return (await listCells(worker)).some((cell) => cell.name === name && cell.address === address);
}

/** Stores the address of a cell that has moved. */
export async function changeAddress(worker: Database, { name, address }: Cell): Promise<void> {
  await sql`update cells set address = ${address} where name = ${name}`.execute(worker);
}

/** The cells besides the home cell, in the order of their names. */
export async function listCells(worker: Database): Promise<Cell[]> {
  const { rows } = await sql<Cell>`select name, address from cells order by name`.execute(worker);
  return rows;
}
