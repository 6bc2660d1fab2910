import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { slotOfNumber, slots } from '../kernel/id.ts';
import { Problem } from '../kernel/problem.ts';

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

/** Stores the address of a cell that has moved. Processes read it with the slots. */
export async function changeAddress(owner: Database, { name, address }: Cell): Promise<void> {
  await sql`
    with moved as (update cells set address = ${address} where name = ${name})
    update cell set slots_version = slots_version + 1`.execute(owner);
}

/** The cells besides the home cell, in the order of their names. */
export async function listCells(worker: Database): Promise<Cell[]> {
  const { rows } = await sql<Cell>`select name, address from cells order by name`.execute(worker);
  return rows;
}

/** The cells besides home that have slots or are to get some, and the cell of each slot that is not at home. */
export interface Slots {
  readonly version: number;
  /** Whether a slot is moving between two cells. */
  readonly isMoving: boolean;
  readonly cells: readonly Cell[];
  readonly cellOf: ReadonlyMap<string, string>;
}

/** The slots, read at home. Null: those of `known` are the present ones. */
export async function readSlots(worker: Database, known: number): Promise<Slots | null> {
  const { rows } = await sql<{ version: number }>`select slots_version as version from cell`.execute(worker);
  const version = rows[0]?.version ?? 0;
  if (version === known) return null;
  const { rows: slots } = await sql<{ code: string } & Cell>`
    select s.code, c.name, c.address from slots s join cells c on c.name = s.cell order by c.name`.execute(worker);
  const { rows: moving } = await sql<{ name: string | null; address: string | null }>`
    select c.name, c.address from slots_moving m left join cells c on c.name in (m.source, m.target)`.execute(worker);
  const cells = new Map<string, Cell>();
  for (const { name, address } of [...slots, ...moving]) if (name !== null) cells.set(name, { name, address });
  return {
    version,
    isMoving: moving.length > 0,
    cells: [...cells.values()],
    cellOf: new Map(slots.map(({ code, name }) => [code, name])),
  };
}

/** Gives a cell slots of home until it has so many. Returns how many it lacks, because the others have customers. */
export async function giveSlots(worker: Database, cell: string, wanted: number): Promise<number> {
  const { rows } = await sql<{ lacking: number }>`select give_slots(${cell}, ${wanted}) as lacking`.execute(worker);
  return rows[0]?.lacking ?? 0;
}

/** How many slots each cell besides home has. */
export async function countSlots(worker: Database): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ cell: string; count: number }>`
    select cell, count(*) as count from slots group by cell`.execute(worker);
  return new Map(rows.map(({ cell, count }) => [cell, count]));
}

/** Lets a cell have the customers of the slots that it has at home. */
export async function openSlots(worker: Database, there: Database, cell: string): Promise<void> {
  const { rows } = await sql<{ codes: string[] }>`
    select coalesce(array_agg(code), '{}') as codes from slots where cell = ${cell}`.execute(worker);
  await sql`
    insert into slots_here (code) select code from one_row, unnest(${rows[0]?.codes ?? []}::text[]) code
    on conflict do nothing`.execute(there);
}

/** Gives a cell its number, which no other has. */
export async function numberCell(worker: Database, there: Database, cell: string): Promise<void> {
  const { rows } = await sql<{ number: number }>`select number from cells where name = ${cell}`.execute(worker);
  await sql`select number_cell(${rows[0]?.number}::integer)`.execute(there);
}

// Requests of the cell lock records in another order.
const [deadlock, mostCopies] = ['40P01', 4];

/** Makes the copy of an organization's catalog in a cell equal to that of home. A repeat changes nothing. */
export async function copyCatalog(worker: Database, there: Database, organizationId: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyOnce(worker, there, organizationId);
    } catch (error) {
      if (attempt === mostCopies || (error as { code?: unknown }).code !== deadlock) throw error;
    }
  }
}

async function copyOnce(worker: Database, there: Database, organizationId: string): Promise<void> {
  await there.transaction().execute(async (db) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(current_schema() || ' catalog ' || ${organizationId}, 0)),
      set_config('tollkeeper.action', 'copy_catalog', true)`.execute(db);
    const { rows } = await sql<{ catalog: string }>`select read_catalog(${organizationId})::text as catalog`.execute(
      worker,
    );
    await sql`select write_catalog(${organizationId}, ${rows[0]?.catalog}::jsonb)`.execute(db);
  });
}

/** The organization, and those that it has made. Null: all. */
export async function listOrganizationsToCopy(worker: Database, environmentId: number | null): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select o.id from organizations o
     where ${environmentId}::bigint is null
        or o.id = (select organization_id from environments where id = ${environmentId})
        or o.made_by_environment_id in (
             select e.id from environments e join environments own on own.organization_id = e.organization_id
              where own.id = ${environmentId})
     order by o.id`.execute(worker);
  return rows.map(({ id }) => id);
}

/** Whether other cells have customers. */
export async function isOneOfCells({ db }: Work): Promise<boolean> {
  const { rows } = await sql<{ isOne: boolean }>`select is_one_of_cells() as is_one`.execute(db);
  return rows[0]?.isOne === true;
}

/** Whether a unit of work is in the home cell. */
export async function isAtHome({ db }: Work): Promise<boolean> {
  const { rows } = await sql<{ isHome: boolean }>`select is_home from cell`.execute(db);
  return rows[0]?.isHome === true;
}

// Enough to find one of a cell that has few.
const slotsTried = 200;

/**
 * A slot of this cell, which neither moves nor is given to another cell before the work ends. Refuses with `notOverCells` where it
 * has hardly any.
 */
export async function findSlotHere({ db }: Work): Promise<string> {
  // As those who make customers do: give_slots() sees no record that is still to be committed.
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(current_schema() || ' slots', 0))`.execute(db);
  const codes = Array.from({ length: slotsTried }, () => slotOfNumber(randomInt(slots)));
  const { rows } = await sql<{ code: string }>`
    select code, enter_slots(array[code])
      from (select code from unnest(${codes}::text[]) as tried (code) where holds_slot(code) limit 1) found`.execute(
    db,
  );
  if (rows[0] === undefined) throw new Problem('notOverCells');
  return rows[0].code;
}
