import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Config } from './config.ts';
import { advisoryLocks } from './database/advisory-locks.ts';
import { refusedSlots } from './database/cells.ts';
import type { Database } from './database/database.ts';
import { slots } from './kernel/id.ts';
import { type Output, print } from './main-admin.ts';
import { readSlotCount } from './main-cells.ts';
import { connectWorker, runUndo, type SchemaOfServer, schemaOf, type Undo, withWorker } from './main-database.ts';
import { slotsKnownAfterMs } from './main-slots.ts';
import {
  type Cell,
  copyCatalog,
  countSlots,
  findIdentity,
  listCells,
  listOrganizationsToCopy,
  numberCell,
} from './organizations/store-cells.ts';
import {
  addArriving,
  beginMove,
  closeSlots,
  deleteCell,
  discardDeparture,
  endMove,
  findDeparture,
  findMove,
  findOutcome,
  followBookings,
  hasCustomers,
  hasSlots,
  limitWait,
  listLinkedSlots,
  listSlots,
  listTransactionsInSlots,
  reopenSlots,
  type SlotMove,
  storeDeparture,
  takeSlots,
} from './organizations/store-moves.ts';

/*
 * A slot moves whole: it is closed, its rows leave by one transaction of the source, and arrive by one of the target. They are stored in
 * the target before they are gone in the source, so an interrupted move is finished by the next call.
 */

// Requests and jobs that have begun end within this, or the slot stays for now.
const patienceMs = 10_000;
const lookAgainMs = 20;
// Lists of all cells are read while nothing moves.
const pauseMs = 100;

/** The cells of an installation for a command that moves slots. Null is the home cell. */
interface Mover {
  readonly home: Database;
  readonly cells: readonly Cell[];
  readonly open: (cell: string | null) => Promise<Database>;
  /** The name of the home cell. */
  readonly homeName: string;
}

/** The slots that a call has moved, and those that stay, by the reason. */
interface Outcome {
  readonly moved: Set<string>;
  readonly stay: Map<string, string>;
}

/** Opens the cells, finishes a move that was interrupted, and runs `act` while no other command moves slots. */
async function withMover<Answer>(
  config: Config,
  action: string,
  act: (mover: Mover, outcome: Outcome) => Promise<Answer>,
): Promise<Answer> {
  const auditContext = { actor: 'operator', action } as const;
  return withWorker(
    config,
    ({ worker }, server) =>
      worker.connection().execute(async (connection) => {
        const { rows } = await sql<{ taken: boolean }>`
          select pg_try_advisory_lock(${advisoryLocks.mover}, hashtext(current_schema())) as taken`.execute(connection);
        if (!rows[0]?.taken) throw new Error('Another command is moving slots. Wait for its end.');
        const undo: Undo = [];
        try {
          const mover = await openMover(worker, server, auditContext, undo);
          const outcome: Outcome = { moved: new Set(), stay: new Map() };
          const interrupted = await findMove(worker);
          if (interrupted !== null) note(outcome, await finishMove(mover, interrupted));
          return await act(mover, outcome);
        } finally {
          await runUndo(undo, { error: () => undefined });
          await sql`select pg_advisory_unlock(${advisoryLocks.mover}, hashtext(current_schema()))`.execute(connection);
        }
      }),
    { access: 'change', auditContext },
  );
}

async function openMover(
  home: Database,
  server: SchemaOfServer,
  auditContext: { readonly actor: 'operator'; readonly action: string },
  undo: Undo,
): Promise<Mover> {
  const { installation } = await findIdentity(home);
  const cells = await listCells(home);
  const opened = new Map<string | null, Database>([[null, home]]);
  return {
    home,
    cells,
    homeName: server.schema,
    async open(name) {
      const known = opened.get(name);
      if (known !== undefined) return known;
      const cell = cells.find((each) => each.name === name);
      if (cell === undefined) throw new Error(`There is no cell ${name}. List them with: tollkeeper cells list`);
      const there = await connectWorker(schemaOf(server, cell), { access: 'read', cellOf: installation, auditContext });
      undo.push(() => there.workerPool.end());
      opened.set(name, there.worker);
      return there.worker;
    },
  };
}

// Slots that move together are closed together. Many of a small cell have few rows.
const mostSlots = 256;
const [fastMs, slowMs] = [200, 1_000];

interface Moving {
  readonly source: string | null;
  /** The cell of the next slots. */
  readonly targetOf: () => string | null;
  /** How many slots are still to be moved. */
  readonly lacking: () => number;
}

/** Moves slots of a cell, as many at once as move within a moment. Notes those that cannot move. */
async function moveAll(mover: Mover, { source, targetOf, lacking }: Moving, outcome: Outcome): Promise<void> {
  const waiting = await listSlots(mover.home, source);
  for (let size = 1; waiting.length > 0 && lacking() > 0; ) {
    const next = waiting.splice(0, Math.min(size, lacking()));
    const codes = next.filter((code) => !outcome.moved.has(code) && !outcome.stay.has(code));
    if (codes.length === 0) continue;
    const move = { codes, source, target: targetOf() };
    const begunAt = performance.now();
    await beginMove(mover.home, move);
    const moved = await finishMove(mover, move);
    const tookMs = performance.now() - begunAt;
    if (moved.reason !== null && codes.length > 1) {
      // Each by itself shows which one has to stay.
      waiting.unshift(...codes);
      size = 1;
      continue;
    }
    note(outcome, moved);
    if (tookMs < fastMs) size = Math.min(2 * size, mostSlots);
    else if (tookMs > slowMs) size = Math.ceil(size / 2);
    await sleep(pauseMs);
  }
}

/** Slots that moved, or stay for a reason. */
interface Moved {
  readonly codes: readonly string[];
  readonly reason: string | null;
}

function note({ moved, stay }: Outcome, { codes, reason }: Moved): void {
  for (const code of codes)
    if (reason === null) moved.add(code);
    else stay.set(code, reason);
}

/** Finishes a move from whatever step it has reached. */
async function finishMove(mover: Mover, move: SlotMove): Promise<Moved> {
  const { home } = mover;
  const { source, target } = move;
  const [from, to] = [await mover.open(source), await mover.open(target)];
  let { codes } = move;
  if (await hasLeft(from, to)) {
    await to.transaction().execute((arrival) => addArriving(arrival, codes));
  } else if (target === null || !(await hasSlots(to, codes))) {
    let hasDeparted = false;
    if (target !== null) await prepareTarget(home, to, target);
    try {
      codes = await closeGroup(home, from, move);
      await followBookings(from, to);
      await to.transaction().execute(async (arrival) => {
        await limitWait(arrival, patienceMs);
        await from.transaction().execute(async (departure) => {
          await limitWait(departure, patienceMs);
          await storeDeparture(to, await takeSlots(departure, codes));
          await addArriving(arrival, codes);
          hasDeparted = true;
        });
      });
    } catch (error) {
      if (hasDeparted) throw error;
      await discardDeparture(to);
      // A repeat may have joined more of them.
      codes = (await findMove(home))?.codes ?? codes;
      if (source !== null) await reopenSlots(from, codes);
      await endMove(home, codes, source);
      const reason = reasonToStay(error);
      if (reason === null) throw error;
      return { codes, reason };
    }
  }
  if (target !== null) await endMove(home, codes, target);
  return { codes, reason: null };
}

/** Makes a cell that has no slots yet ready for the first one. */
async function prepareTarget(home: Database, to: Database, target: string): Promise<void> {
  if ((await countSlots(home)).has(target)) return;
  await numberCell(home, to, target);
  // By then each process knows the cell, so it copies changes of catalogs, and looks which cell a request enters.
  await sleep(slotsKnownAfterMs);
  for (const organization of await listOrganizationsToCopy(home, null)) await copyCatalog(home, to, organization);
}

/** Whether the source has committed that it has the rows no more. Rows of a transaction that was rolled back are deleted. */
async function hasLeft(from: Database, to: Database): Promise<boolean> {
  const transaction = await findDeparture(to);
  if (transaction === null) return false;
  for (; ; await sleep(lookAgainMs)) {
    const state = await findOutcome(from, transaction);
    if (state === 'committed') return true;
    if (state === null) throw new Error('A move was interrupted so long ago that its outcome is unknown.');
    if (state === 'aborted') break;
  }
  await discardDeparture(to);
  return false;
}

/** Closes the slots, and those linked with them, and waits until nobody is in them. */
async function closeGroup(home: Database, from: Database, { codes, source, target }: SlotMove): Promise<string[]> {
  const closed = [...codes];
  for (let closing = [...codes]; closing.length > 0; ) {
    if (source !== null) await closeSlots(from, closing);
    await untilLeft(from);
    closing = await listLinkedSlots(from, closed);
    if (closing.length > 0) await beginMove(home, { codes: closing, source, target });
    closed.push(...closing);
  }
  return closed;
}

/** Waits until the transactions that have entered slots by now have ended. */
async function untilLeft(from: Database): Promise<void> {
  const inside = new Set(await listTransactionsInSlots(from));
  for (const endsAt = performance.now() + patienceMs; ; await sleep(lookAgainMs)) {
    const still = await listTransactionsInSlots(from);
    if (!still.some((transaction) => inside.has(transaction))) return;
    if (performance.now() > endsAt) throw new BusySlots();
  }
}

class BusySlots extends Error {
  override readonly message = 'a request to the cell takes too long';
}

const [lockTimeout, uniqueViolation, cannotMove] = ['55P03', '23505', 'TK178'];
// The sender of webhooks and others who work without looking at moves.
const changedMeanwhile = new Set(['23503', '40001', '40P01']);

/** The reason for which a slot cannot move now; null for a failure. */
function reasonToStay(error: unknown): string | null {
  if (error instanceof BusySlots) return error.message;
  const { code, message, constraint } = error as { code?: string; message?: string; constraint?: string };
  if (code === lockTimeout) return 'a job or a check of the cell takes too long';
  if (code !== undefined && changedMeanwhile.has(code)) return 'its rows were changed meanwhile';
  if (code === uniqueViolation) return `the other cell has a record of the same name (${constraint})`;
  return code === cannotMove || refusedSlots(error) !== null ? (message ?? null) : null;
}

interface MoveOptions extends Output {
  /** How many slots the target has afterwards. */
  readonly slots: string;
}

/** Moves slots from one cell to another until that one has so many. Safe to repeat. */
export async function moveSlots(
  config: Config,
  from: string,
  to: string,
  { slots: text, ...output }: MoveOptions,
): Promise<void> {
  const wanted = readSlotCount(text);
  if (from === to) throw new Error('<to>: must be another cell than <from>');
  await withMover(config, 'cells move', async (mover, outcome) => {
    const [source, target] = [placeOf(mover, from), placeOf(mover, to)];
    await Promise.all([mover.open(source), mover.open(target)]);
    const lackingAtFirst = wanted - ((await slotsOfPlaces(mover.home)).get(target) ?? 0) + outcome.moved.size;
    const moving = { source, targetOf: () => target, lacking: () => lackingAtFirst - outcome.moved.size };
    await moveAll(mover, moving, outcome);
    await report(mover, target, outcome, output);
  });
}

/** Moves all slots of a cell to the others that have slots, and to the home cell. Safe to repeat. */
export async function drainCell(config: Config, name: string, output: Output): Promise<void> {
  await withMover(config, 'cells drain', async (mover, outcome) => {
    const source = placeOf(mover, name);
    if (source === null) throw new Error(`${name} is the home cell, which has the slots that no other cell has.`);
    await mover.open(source);
    const places = await slotsOfPlaces(mover.home);
    places.delete(source);
    // In turn, so that each gets as many.
    const targets = [...places].toSorted((a, b) => a[1] - b[1]).map(([target]) => target);
    let turn = 0;
    const targetOf = () => targets[turn++ % targets.length] ?? null;
    await moveAll(mover, { source, targetOf, lacking: () => slots }, outcome);
    await report(mover, source, outcome, output);
  });
}

function placeOf({ homeName }: Mover, name: string): string | null {
  return name === homeName ? null : name;
}

/** The slots of the home cell, and of the others that have any. */
async function slotsOfPlaces(home: Database): Promise<Map<string | null, number>> {
  const counts = await countSlots(home);
  const given = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return new Map<string | null, number>([[null, slots - given], ...counts]);
}

async function report(mover: Mover, cell: string | null, { moved, stay }: Outcome, output: Output): Promise<void> {
  const has = (await slotsOfPlaces(mover.home)).get(cell) ?? 0;
  const name = cell ?? mover.homeName;
  const reasons = new Map<string, number>();
  for (const reason of stay.values()) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const staying = [...reasons].map(([reason, count]) => ({ reason, slots: count }));
  const lines = [
    `${moved.size} slots moved. Cell ${name} has ${has} of ${slots} slots.`,
    ...staying.map(({ reason, slots: count }) => `${count} slots stay: ${reason}.`),
  ];
  print(output, { name, slots: has, moved: moved.size, staying }, lines.join('\n'));
}

/** Takes a cell without slots and customers out of the list. Its schema stays. */
export async function removeCell(config: Config, name: string, output: Output): Promise<void> {
  await withMover(config, 'cells remove', async (mover) => {
    const there = await mover.open(name);
    if ((await hasCustomers(there)) || !(await deleteCell(mover.home, name)))
      throw new Error(`Cell ${name} has slots or customers. Run first: tollkeeper cells drain ${name}`);
  });
  print(output, { name }, `Cell ${name} is no part of the installation any more.`);
}
