import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, SchemaName } from './config.ts';
import { createDatabase } from './database/database.ts';
import { migrate } from './database/migrate.ts';
import { slots } from './kernel/id.ts';
import { type Output, print } from './main-admin.ts';
import { type SchemaOfServer, schemaOf, withOwner, withWorker } from './main-database.ts';
import { asOnlyMover } from './main-mover.ts';
import { slotsKnownAfterMs } from './main-slots.ts';
import {
  copyCatalog,
  countSlots,
  findIdentity,
  giveSlots,
  insertCell,
  joinInstallation,
  listCells,
  listOrganizationsToCopy,
  mayJoin,
  numberCell,
  openSlots,
} from './organizations/store-cells.ts';

interface AddOptions extends Output {
  readonly url?: string;
}

const auditContext = { actor: 'operator', action: 'cells add' } as const;

/**
 * Adds a cell: makes and migrates its schema, binds it to the installation, and puts it into the list. Each step is safe to repeat, so
 * an interrupted call is made again.
 */
export async function addCell(config: Config, name: string, { url, ...output }: AddOptions): Promise<void> {
  refuseName(name);
  const address = url === undefined ? null : addressOf(url);
  if (address !== null && config.databaseUrl === null)
    throw new Error('--url: requires DATABASE_URL, because the server of a cell has the same logins.');
  await withWorker(
    config,
    async ({ worker }, home) => {
      if (name === home.schema) throw new Error(`${name} is the home cell.`);
      const { installation } = await findIdentity(worker);
      const known = (await listCells(worker)).find((cell) => cell.name === name);
      if (known !== undefined && known.address !== address) throw elsewhere(name);
      await buildCell(schemaOf(home, { name, address }), installation);
      if (!(await insertCell(worker, { name, address }, Date.now()))) throw elsewhere(name);
    },
    { access: 'change', auditContext },
  );
  print(output, { name, address }, `Cell ${name} is ready.`);
}

function refuseName(name: string): void {
  const { error } = SchemaName.safeParse(name);
  if (error) throw new Error(`${name} is no name of a cell, which is that of its schema: ${error.issues[0]?.message}`);
}

/** The address of `--url`. Logins are no part of it, so that the list holds no secret. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '' || url.pathname.length < 2)
    throw new Error(`--url: ${text} is no address such as postgres://host:5432/database`);
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    throw new Error('--url: must have no user and password. The server of a cell has the logins of DATABASE_URL.');
  return text;
}

function elsewhere(name: string): Error {
  return new Error(`There is a cell ${name} at another address. List them with: tollkeeper cells list`);
}

async function buildCell(server: SchemaOfServer, installation: string): Promise<void> {
  await withOwner(server, async (pool, login) => {
    const owner = createDatabase(pool);
    if (!(await mayJoin(owner, server.schema, installation)))
      throw new Error(`The schema ${server.schema} is in use. Choose another name.`);
    await migrate(pool, server.schema, login);
    await joinInstallation(owner, installation);
  });
}

interface AssignOptions extends Output {
  /** How many slots the cell has afterwards. */
  readonly slots: string;
}

/** The number of slots that `--slots` asks for. */
export function readSlotCount(text: string): number {
  const wanted = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (wanted < 1 || wanted > slots) throw new Error(`--slots: must be a whole number from 1 to ${slots}`);
  return wanted;
}

/**
 * Gives a cell slots that have no customers, so that new customers of these slots live there. Between the steps nobody can make
 * one: home refuses it at once, and the cell until every process knows the slots and the catalogs are copied. Safe to repeat.
 */
export async function assignSlots(
  config: Config,
  name: string,
  { slots: text, ...output }: AssignOptions,
): Promise<void> {
  const wanted = readSlotCount(text);
  const lacking = await asOnlyMover(config, 'cells assign', async ({ home, open }) => {
    const { worker: there } = await open(name);
    await numberCell(home, there, name);
    const missing = await giveSlots(home, name, wanted);
    await sleep(slotsKnownAfterMs);
    for (const organization of await listOrganizationsToCopy(home, null)) await copyCatalog(home, there, organization);
    // This is the only mover, so none of these slots has left the cell meanwhile.
    await openSlots(home, there, name);
    return missing;
  });
  const has = wanted - lacking;
  const line = `Cell ${name} has ${has} of ${slots} slots.`;
  print(
    output,
    { name, slots: has },
    lacking > 0 ? `${line} The others have customers, or belong to another cell.` : line,
  );
}

/** Prints the cells, the home cell first. */
export async function showCells(config: Config, output: Output): Promise<void> {
  const cells = await withWorker(
    config,
    async ({ worker }, { schema }) => {
      const counts = await countSlots(worker);
      const given = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return [
        { name: schema, address: null, isHome: true, slots: slots - given },
        ...(await listCells(worker)).map((cell) => ({ ...cell, isHome: false, slots: counts.get(cell.name) ?? 0 })),
      ];
    },
    { access: 'read' },
  );
  const line = ({ name, address, isHome, slots: count }: (typeof cells)[number]) =>
    [name, address ?? (isHome ? 'home' : 'in the database of the home cell'), `${count} slots`].join('  ');
  print(output, { cells }, cells.map(line).join('\n'));
}
