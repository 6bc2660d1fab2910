import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { letEventsArrive } from './archives/actions.ts';
import type { Config } from './config.ts';
import { advisoryLocks, releaseLock } from './database/advisory-locks.ts';
import { refusedSlots } from './database/cells.ts';
import type { Database } from './database/database.ts';
import type { Log } from './http/log.ts';
import {
  connectCell,
  type OpenedCell,
  reasonOf,
  runUndo,
  type Undo,
  type WorkerAccess,
  withWorker,
} from './main-database.ts';
import { slotsKnownAfterMs } from './main-slots.ts';
import { copyCatalog, listOrganizationsToCopy, numberCell } from './organizations/store-cells.ts';
import {
  addArriving,
  beginMove,
  closeSlots,
  discardDeparture,
  endMove,
  findDeparture,
  findMove,
  findOutcome,
  hasOpenSlots,
  hasSlots,
  limitWait,
  listLinkedSlots,
  listTransactionsInSlots,
  reopenSlots,
  type SlotMove,
  storeDeparture,
  takeSlots,
  takeStored,
} from './organizations/store-moves.ts';

/*
 * A slot moves whole: it is closed, its rows leave by one transaction of the source, and arrive by one of the target. They are stored in
 * the target before they are gone in the source, so an interrupted move is finished by the service, or by the next command.
 */

// Requests and jobs that have begun end within this, or the slot stays for now.
const patienceMs = 10_000;
const lookAgainMs = 20;

/** The cells of an installation for a process that moves slots. Null is the home cell. */
export interface Mover {
  readonly config: Config;
  readonly home: Database;
  readonly open: (cell: string | null) => Promise<WorkerAccess>;
  /** The name of the home cell. */
  readonly homeName: string;
}

interface MoverOptions {
  readonly config: Config;
  readonly auditContext: { readonly actor: 'operator' | 'system'; readonly action: string };
}

/**
 * Acts while no other process moves slots. Null: another one does. The lock ends with its connection, so a process that is killed
 * leaves none.
 */
export function tryMoving<Answer>(
  { server, access }: OpenedCell,
  { config, auditContext }: MoverOptions,
  act: (mover: Mover) => Promise<Answer>,
): Promise<Answer | null> {
  const { worker } = access;
  return worker.connection().execute(async (connection) => {
    const { rows } = await sql<{ taken: boolean }>`
      select pg_try_advisory_lock(${advisoryLocks.mover}, hashtext(current_schema())) as taken`.execute(connection);
    if (!rows[0]?.taken) return null;
    const undo: Undo = [];
    const opened = new Map<string | null, WorkerAccess>([[null, access]]);
    const open = async (name: string | null): Promise<WorkerAccess> => {
      const known = opened.get(name);
      if (name === null || known !== undefined) return known ?? access;
      const there = await connectCell(worker, server, name, { auditContext });
      undo.push(() => there.workerPool.end());
      opened.set(name, there);
      return there;
    };
    try {
      return await act({ config, home: worker, homeName: server.schema, open });
    } finally {
      await runUndo(undo, { error: () => undefined });
      await releaseLock(connection, advisoryLocks.mover);
    }
  });
}

/** Slots that moved, or stay for a reason. */
export interface Moved {
  readonly codes: readonly string[];
  readonly reason: string | null;
}

/** Finishes the move that was interrupted; null if there is none. */
export async function finishInterrupted(mover: Mover): Promise<Moved | null> {
  const move = await findMove(mover.home);
  return move === null ? null : finishMove(mover, move);
}

// A service that finishes an interrupted move takes less time.
const otherMoverMs = 30_000;

/** Finishes a move that was interrupted, and runs `act` while nobody else moves slots. */
export async function asOnlyMover<Answer>(
  config: Config,
  action: string,
  act: (mover: Mover, interrupted: Moved | null) => Promise<Answer>,
): Promise<Answer> {
  const auditContext = { actor: 'operator', action } as const;
  return withWorker(
    config,
    async (access, server) => {
      for (const endsAt = performance.now() + otherMoverMs; ; await sleep(lookAgainMs)) {
        const done = await tryMoving({ server, access }, { config, auditContext }, async (mover) => {
          const interrupted = await finishInterrupted(mover);
          return { answer: await act(mover, interrupted) };
        });
        if (done !== null) return done.answer;
        if (performance.now() > endsAt) throw new Error('Another command is moving slots. Wait for its end.');
      }
    },
    { access: 'change', auditContext },
  );
}

// The time for which the slots of a killed command stay closed.
const lookForMovesEveryMs = 5_000;

/** Finishes moves whose command was killed, in each process that runs jobs: the first one does it. */
export function startFinishingMoves(home: OpenedCell, config: Config, log: Log) {
  const stopped = new AbortController();
  const { signal } = stopped;
  const auditContext = { actor: 'system', action: 'finish_move' } as const;
  let failure: string | null = null;
  const look = async () => {
    if ((await findMove(home.access.worker)) === null) return;
    const moved = await tryMoving(home, { config, auditContext }, finishInterrupted);
    if (moved === null) return;
    failure = null;
    const outcome = moved.reason === null ? 'is finished' : `is undone: ${moved.reason}`;
    log.warn(`An interrupted move of ${moved.codes.length} slots ${outcome}.`);
  };
  const run = async () => {
    for (; !signal.aborted; await sleep(lookForMovesEveryMs, undefined, { signal }).catch(() => undefined)) {
      try {
        await look();
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== failure) log.warn(`An interrupted move of slots waits: ${reason}`);
        failure = reason;
      }
    }
  };
  const looking = run();
  return {
    async stop() {
      stopped.abort();
      await looking;
    },
  };
}

/** Finishes a move from whatever step it has reached. */
export async function finishMove(mover: Mover, move: SlotMove): Promise<Moved> {
  const { codes, source, target } = move;
  const between = { from: (await mover.open(source)).worker, to: (await mover.open(target)).worker };
  const { from, to } = between;
  if (await hasLeft(to, from)) {
    await from.transaction().execute((returning) => addArriving(returning));
    return end(mover, codes, source, 'its rows came back');
  }
  if (await hasLeft(from, to)) return arriveOrReturn(mover, move, between);
  if (target !== null && (await hasSlots(to, codes))) return end(mover, codes, target);
  return carry(mover, move, between);
}

/** The cells of a move. */
interface Between {
  readonly from: Database;
  readonly to: Database;
}

/** Notes at home where the slots are. */
async function end(
  { home }: Mover,
  codes: readonly string[],
  holder: string | null,
  reason: string | null = null,
): Promise<Moved> {
  // Home has noted it with the rows that arrived.
  if (holder !== null) await endMove(home, codes, holder);
  return { codes, reason };
}

/** Adds rows that have left their cell. If the target has records of their names by now, they go back. */
async function arriveOrReturn(
  mover: Mover,
  { codes, source, target }: SlotMove,
  { from, to }: Between,
): Promise<Moved> {
  try {
    await to.transaction().execute((arrival) => addArriving(arrival));
    return end(mover, codes, target);
  } catch (error) {
    const reason = reasonToStay(error);
    if (reason === null) throw error;
    await from.transaction().execute((returning) =>
      to.transaction().execute(async (departure) => {
        await storeDeparture(from, await takeStored(departure));
        await addArriving(returning);
      }),
    );
    return end(mover, codes, source, reason);
  }
}

/** Takes closed slots out of the source and adds them to the target, or opens them again. */
async function carry(mover: Mover, move: SlotMove, { from, to }: Between): Promise<Moved> {
  const { home, config } = mover;
  const { source, target } = move;
  let { codes } = move;
  let departed: string | null = null;
  let mayHaveLeft = false;
  if (target !== null) await prepareTarget(home, to, target);
  try {
    codes = await closeGroup(home, from, move);
    const { workerPool: pool } = await mover.open(target);
    const arrivals = { settings: config.events, worker: to, pool, storage: null };
    if (!(await letEventsArrive(arrivals, from, { now: Date.now(), patienceMs }))) throw new BusySlots();
    await to.transaction().execute(async (arrival) => {
      await limitWait(arrival, patienceMs);
      await from.transaction().execute(async (departure) => {
        await limitWait(departure, patienceMs);
        const taken = await takeSlots(departure, codes);
        departed = taken.transaction;
        await storeDeparture(to, taken);
        await addArriving(arrival);
        mayHaveLeft = true;
      });
    });
    return await end(mover, codes, target);
  } catch (error) {
    if (mayHaveLeft) throw error;
    if (departed !== null) await discardDeparture(to, departed);
    // A repeat may have joined more of them.
    codes = (await findMove(home))?.codes ?? codes;
    if (source !== null && !(await reopenSlots(from, codes))) throw error;
    await endMove(home, codes, source);
    const reason = reasonToStay(error);
    if (reason === null) throw error;
    return { codes, reason };
  }
}

/** Makes a cell that has opened no slots yet ready for the first one. Slots of an interrupted `cells assign` are not open. */
async function prepareTarget(home: Database, to: Database, target: string): Promise<void> {
  if (await hasOpenSlots(to)) return;
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
  await discardDeparture(to, transaction);
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
