import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { slotsOfRequest } from './customers/actions-slots.ts';
import type { Cells, CellsTogether } from './database/cells.ts';
import type { Database, Patience } from './database/database.ts';
import type { Log } from './http/log.ts';
import { Problem } from './kernel/problem.ts';
import { connectWorker, type OpenedCell, openServicePool, runUndo, schemaOf, type Undo } from './main-database.ts';
import {
  type Cell,
  copyCatalog,
  findIdentity,
  listOrganizationsToCopy,
  readSlots,
  type Slots,
} from './organizations/store-cells.ts';
import { endOldRemovals } from './pricing/store-structure.ts';

// How often the slots are read, and how long they count. So every process knows them after `slotsKnownAfterMs`.
const readEveryMs = 1_000;
const validMs = 5_000;
/** A process that does not know by then that a slot was given away answers no request with what it knew before. */
export const slotsKnownAfterMs = 2 * validMs;

// A move of one slot takes a fraction of a second.
const settledWithinMs = 10_000;
const lookAgainMs = 20;

interface ProcessCells extends Cells {
  readonly stop: () => Promise<void>;
}

/** A cell to which this process has connections. */
interface Connected {
  readonly address: string | null;
  readonly worker: Database;
  readonly database: Database;
  readonly pool: pg.Pool;
  readonly undo: Undo;
}

interface Options {
  /** The most connections of requests to each cell. */
  readonly size: number;
  readonly patience: Patience;
  readonly log: Log;
}

async function connect(home: OpenedCell, cell: Cell, { size, patience, log }: Options): Promise<Connected> {
  const undo: Undo = [];
  try {
    const { installation } = await findIdentity(home.access.worker);
    const there = schemaOf(home.server, cell);
    const auditContext = { actor: 'system', action: 'copy_catalog' } as const;
    const { worker, workerPool } = await connectWorker(there, { access: 'read', cellOf: installation, auditContext });
    undo.push(() => workerPool.end());
    const { database, pool } = openServicePool(there, { size, patience }, undo);
    return { address: cell.address, worker, database, pool, undo };
  } catch (error) {
    await runUndo(undo, log);
    throw error;
  }
}

/** Acts for each cell, and then throws the first failure. */
async function forEach(names: readonly string[], act: (name: string) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  await Promise.all(names.map((name) => act(name).catch((error: unknown) => failures.push(error))));
  if (failures.length > 0) throw failures[0];
}

async function copyToAll({ home, others, open }: CellsTogether, environmentId: number | null): Promise<void> {
  await endOldRemovals(home);
  const organizations = await listOrganizationsToCopy(home, environmentId);
  await forEach(others(), async (name) => {
    const there = await open(name);
    for (const organization of organizations) await copyCatalog(home, there, organization);
  });
}

async function untilSettled(refresh: () => Promise<void>, known: () => Slots): Promise<number> {
  for (const endsAt = performance.now() + settledWithinMs; ; await sleep(lookAgainMs)) {
    await refresh();
    const { isMoving, version } = known();
    if (!isMoving) return version;
    if (performance.now() > endsAt) throw new Problem('cellNotReady');
  }
}

/** Reads the slots now and every second, and connects to a cell for the first request that it has to answer. */
export async function startCellsOfRequests({ server, access }: OpenedCell, options: Options): Promise<ProcessCells> {
  const { worker } = access;
  const { log } = options;
  let slots: Slots = { version: 0, isMoving: false, cells: [], cellOf: new Map() };
  let names: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  const connected = new Map<string, Promise<Connected>>();

  const disconnect = async (name: string, cell: Promise<Connected>) => {
    if (connected.get(name) === cell) connected.delete(name);
    const { undo } = await cell;
    await runUndo(undo, log);
  };
  const refresh = async () => {
    const begunAt = performance.now();
    const read = await readSlots(worker, slots.version);
    // One that began later has been faster.
    if (begunAt < readAt) return;
    readAt = begunAt;
    if (read === null) return;
    slots = read;
    names = read.cells.map(({ name }) => name);
  };
  const connectionTo = async (name: string): Promise<Connected> => {
    const cell = slots.cells.find((each) => each.name === name);
    // It has just given its last slot away.
    if (cell === undefined) throw new Problem('cellNotReady');
    const known = connected.get(name);
    if (known !== undefined) {
      const { address } = await known;
      if (address === cell.address) return known;
      // Another request has seen the new address first.
      if (connected.get(name) !== known) return connectionTo(name);
      disconnect(name, known).catch((error: unknown) => log.warn({ err: error }, `Cell ${name}: its former address`));
    }
    const connecting = connect({ server, access }, cell, options);
    connected.set(name, connecting);
    // The next request tries again.
    connecting.catch(() => connected.get(name) === connecting && connected.delete(name));
    return connecting;
  };

  const together: CellsTogether = {
    ...{ home: worker, others: () => names, cellOf: (slot) => slots.cellOf.get(slot) ?? null },
    settled: () => untilSettled(refresh, () => slots),
    open: async (name) => (await connectionTo(name)).worker,
    async copyCatalogs(environmentId) {
      await refresh();
      if (names.length > 0) await copyToAll(together, environmentId);
    },
  };

  await refresh();
  // An outage of the home cell has log lines of its own, and requests read again.
  const timer = setInterval(() => refresh().catch(() => undefined), readEveryMs);
  return {
    ...together,
    others: () => (performance.now() - readAt > validMs ? null : names),
    slotsOf: slotsOfRequest,
    refresh,
    together,
    open: async (name) => (await connectionTo(name)).database,
    poolOf: async (name) => (await connectionTo(name)).pool,
    async stop() {
      clearInterval(timer);
      await Promise.all([...connected].map(([name, cell]) => disconnect(name, cell).catch(() => undefined)));
    },
  };
}
