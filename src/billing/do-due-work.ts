import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect, Work } from '../database/work.ts';
import { publishOverdue } from '../invoicing/actions.ts';
import type { JobContext } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type IdKind, idPrefixes } from '../kernel/id.ts';
import { advanceClock, endClockMove } from '../organizations/store-clock.ts';
import { chargeTask, publishExpiring } from '../payments/actions.ts';
import { publishTrialsEnding } from '../subscriptions/actions.ts';
import { setAside } from '../subscriptions/store-due.ts';
import { endCreditsOf } from '../usage/actions-low-balance.ts';
import { takeEndedCredits } from '../usage/store-accounts.ts';
import { thresholdHandler } from './bill-threshold.ts';
import { topUpHandler } from './buy.ts';
import { dunHandler, finalizeHandler } from './collect-invoices.ts';
import { type DueWorkHandler, type DueWorkRunner, inTransactions } from './due-work-runner.ts';
import { cancelHandler, expireHandler, incompleteLifetimeMs } from './end-subscription.ts';
import { interimHandler, renewHandler } from './renew.ts';
import { resumeHandler } from './resume-paused.ts';
import { checkHandler } from './settle-payment.ts';
import {
  type DueKind,
  findStretchEnd,
  findSubscriptionOfPiece,
  listStretchPieces,
  readAgenda,
  takeNotices,
} from './store-due.ts';

// Long enough for an outage to be fixed, short enough that a customer hardly notices.
const setAsideMs = 5 * 60_000;
// External calls are slow, so charges run concurrently.
const effectsAtOnce = 8;
// Concurrent batches of a handler with many pieces: one computes while another writes.
const concurrency = 2;
// The clock passes at most this much time at once. Consequences that fall due within a stretch are done after it, as of their own
// instants.
const stretchMs = 24 * 3_600_000;
// The interval for checking work that another process has locked. It doubles up to the longest one, because each look slows that
// process. A lock that is held longer counts as a bug.
const lookAgainMs = 25;
const longestLookAgainMs = 800;
const longestHoldMs = 30_000;
// A charge pending for this long belongs to a process that died or is slow: requesting it again does no harm.
const unsentPatienceMs = 2_000;
// The log names a few failures and the total number.
const failuresReported = 20;

/** The bounds of a run. */
interface DueWorkBounds {
  /** No work starts after this many milliseconds of real time. */
  readonly forMs: number;
  /** The maximum number of pieces per transaction. */
  readonly portion?: number;
}

/** The result of a run: pieces by kind, and whether all due work was done. */
export interface DueWorkDone {
  readonly done: Readonly<Record<DueKind, number>>;
  readonly finished: boolean;
}

interface Run {
  readonly runner: DueWorkRunner;
  readonly environmentId: number;
  readonly until: number;
  readonly portion: number;
  readonly done: Record<DueKind, number>;
  readonly failures: unknown[];
  /** Pieces that failed on their own, and payments that could not be charged or queried. */
  readonly failed: Set<string>;
  /** Payments requested again in this run: the clock no longer waits for them. */
  readonly askedAgain: Set<string>;
  /** Kinds that this run cannot do more of. */
  readonly leftAlone: Set<DueKind>;
}

/**
 * Performs all due work of an environment by its own time, kind by kind. While the test clock moves, it advances from
 * one due instant to the next, and all work due at one, including charges, is done before it advances. A stretch of plain
 * renewals or interims of different customers is one stop, at which each is done as of its own instant. The clock ends at
 * its target.
 *
 * Safe with concurrent runs: each piece is done once, and the clock never passes work of another run. A failed piece is
 * deferred and blocks no other; the failures are thrown together at the end. `finished` says whether all due work was
 * done.
 */
export function doDueWork(context: JobContext, environmentId: number, bounds: DueWorkBounds): Promise<DueWorkDone> {
  return doDueWorkAt(inTransactions(context, environmentId), environmentId, bounds);
}

/** The same with any runner. */
export async function doDueWorkAt(
  runner: DueWorkRunner,
  environmentId: number,
  { forMs, portion = Number.POSITIVE_INFINITY }: DueWorkBounds,
): Promise<DueWorkDone> {
  const run: Run = {
    runner,
    environmentId,
    until: Date.now() + forMs,
    portion,
    done: {
      check: 0,
      cancel: 0,
      expire: 0,
      resume: 0,
      finalize: 0,
      threshold: 0,
      creditsEnd: 0,
      topUp: 0,
      interim: 0,
      renew: 0,
      dun: 0,
      notice: 0,
    },
    failures: [],
    failed: new Set(),
    askedAgain: new Set(),
    leftAlone: new Set(),
  };
  const finished = await doAll(run);
  const { failures, done } = run;
  if (failures.length > 0)
    throw new AggregateError(
      failures.slice(0, failuresReported),
      `${failures.length} steps of due work failed in environment ${environmentId}, the first: ${failures[0]}`,
    );
  return { done, finished };
}

/** The instants that a moving clock passes at once: one, or a stretch of them. */
interface Stop {
  readonly from: Instant;
  readonly to: Instant;
}

/** The next work. */
interface Next {
  readonly kinds: readonly DueKind[];
  /** The instants that the moving clock passes, as of which the work is done; null: it is done as of the present. */
  readonly stop: Stop | null;
  /** While the clock moves: charges that other processes must make before it may advance. */
  readonly unsent: readonly string[];
  readonly isMoving: boolean;
}

async function doAll(run: Run): Promise<boolean> {
  for (let idleSince: number | null = null, idleLooks = 0; ; ) {
    await run.runner.pause();
    const { answer: next } = await run.runner.act((work) => lookAhead(work, run));
    if (next === null) return true;
    if (Date.now() >= run.until) return false;
    if ((await doKinds(run, next)) > 0) {
      [idleSince, idleLooks] = [null, 0];
      continue;
    }
    // Another process has locked the rest. In real time that is fine; a moving clock must wait for it.
    if (!next.isMoving) return true;
    idleSince ??= Date.now();
    const idleMs = Date.now() - idleSince;
    if (next.unsent.length > 0 && idleMs > unsentPatienceMs) {
      await runAll(run, [{ task: chargeTask, payload: { environmentId: run.environmentId, paymentIds: next.unsent } }]);
      for (const paymentId of next.unsent) run.askedAgain.add(paymentId);
      idleSince = null;
    } else if (idleMs > longestHoldMs) {
      throw new Error(`another transaction has locked the due work (${next.kinds.join(', ')}) for ${idleMs} ms`);
    } else await sleep(Math.min(lookAgainMs * 2 ** idleLooks++, longestLookAgainMs));
  }
}

interface DueAt {
  readonly kind: DueKind;
  readonly at: Instant;
}

/** The next due work, after advancing a moving clock to its next stop; null: none. */
async function lookAhead(work: Work, run: Run): Promise<Next | null> {
  const { dueAt, move, unsent } = await readAgenda(work, incompleteLifetimeMs, [...run.failed, ...run.askedAgain]);
  const due = dueHandlers.flatMap(({ kind }): DueAt[] => {
    const at = dueAt[kind];
    return at === null || run.leftAlone.has(kind) ? [] : [{ kind, at }];
  });
  if (move === null) {
    const kinds = kindsDueBy(due, work.now);
    return kinds.length === 0 ? null : { kinds, stop: null, unsent: [], isMoving: false };
  }
  const stop = await nextStop(work, due, move);
  const isPassed = stop !== null && stop.to <= work.now;
  if (!isPassed && unsent.length > 0) return { kinds: [], stop: null, unsent, isMoving: true };
  if (stop === null)
    return (await endClockMove(work, move.target)) ? null : { kinds: [], stop, unsent: [], isMoving: true };
  await advanceClock(work, stop.to);
  return { kinds: kindsDueBy(due, stop.to), stop, unsent: [], isMoving: true };
}

function kindsDueBy(due: readonly DueAt[], now: Instant): DueKind[] {
  return due.filter(({ at }) => at <= now).map(({ kind }) => kind);
}

/**
 * The clock's next stop: the earliest due instant, but none before the move. If nothing but renewals is due there, or nothing
 * but interims, the stop is the stretch of them up to the next instant of anything else. Null: nothing is due up to the target.
 */
async function nextStop(
  work: Work,
  due: readonly DueAt[],
  { from, target }: { readonly from: Instant; readonly target: Instant },
): Promise<Stop | null> {
  const first = Math.max(from, Math.min(...due.map(({ at }) => at)));
  if (first > target) return null;
  const [kind, ...others] = kindsDueBy(due, first);
  if ((kind !== 'renew' && kind !== 'interim') || others.length > 0) return { from: first, to: first };
  const nextOther = Math.min(...due.filter((each) => each.kind !== kind).map(({ at }) => at));
  const upTo = Math.min(target, first + stretchMs, nextOther - 1);
  return { from: first, to: Math.max(first, (await findStretchEnd(work, kind, upTo)) ?? first) };
}

/** Performs due work of these kinds, and returns the number of pieces. */
async function doKinds(run: Run, { kinds, stop }: Next): Promise<number> {
  let count = 0;
  for (const { kind, handler, atOnce } of dueHandlers.filter((each) => kinds.includes(each.kind))) {
    const ordered = { kind, handler, atOnce: Math.min(atOnce, run.portion), stop };
    const first = await doPortion(run, ordered);
    count += first;
    if (first < ordered.atOnce) continue;
    const workers = Array.from({ length: run.runner.isolates ? concurrency : 1 }, () => doPortions(run, ordered));
    for (const taken of await Promise.all(workers)) count += taken;
  }
  return count;
}

async function doPortions(run: Run, ordered: HandlerAtStop): Promise<number> {
  let count = 0;
  for (let taken = ordered.atOnce; taken >= ordered.atOnce && Date.now() < run.until; count += taken)
    taken = await doPortion(run, ordered);
  return count;
}

/** Performs one batch of a handler in one transaction; if it fails, its pieces individually. */
async function doPortion(run: Run, ordered: HandlerAtStop): Promise<number> {
  const { kind, handler, atOnce } = ordered;
  let ids: string[] = [];
  try {
    await actAt(run, ordered, async (work) => {
      ids = await handler.take(work, atOnce);
      // Only pieces that failed in this run and could not even be deferred.
      if (ids.length > 0 && ids.every((id) => run.failed.has(id))) {
        run.leftAlone.add(kind);
        ids = [];
      }
      await perform(work, ordered, ids);
    });
    run.done[kind] += ids.length;
  } catch (error) {
    if (!run.runner.isolates) throw error;
    if (ids.length === 0) {
      run.leftAlone.add(kind);
      run.failures.push(error);
    }
    for (const id of ids) await doAlone(run, ordered, id);
  }
  return ids.length;
}

async function doAlone(run: Run, ordered: HandlerAtStop, id: string): Promise<void> {
  try {
    run.done[ordered.kind] += await actAt(run, ordered, async (work) => {
      const ids = await ordered.handler.take(work, 1, [id]);
      await perform(work, ordered, ids);
      return ids.length;
    });
  } catch (error) {
    run.failures.push(error);
    run.failed.add(id);
    await actAndRun(run, async (work) => {
      const subscriptionId = await findSubscriptionOfPiece(work, id);
      if (subscriptionId !== null) await setAside(work, subscriptionId, Date.now() + setAsideMs);
    }).catch((failure: unknown) => run.failures.push(failure));
  }
}

/** Runs one transaction as of the end of the stop, then its effects outside the database. */
function actAt<Answer>(run: Run, { stop }: HandlerAtStop, act: (work: Work) => Promise<Answer>): Promise<Answer> {
  return actAndRun(run, (work) => act(stop === null ? work : { ...work, now: stop.to }));
}

/**
 * Performs locked pieces, those of a stretch each as of its own instant: plain ones of different customers together, others one
 * instant after another.
 */
async function perform(work: Work, { kind, handler, stop }: HandlerAtStop, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const isStretch = stop !== null && stop.from < stop.to && (kind === 'renew' || kind === 'interim');
  if (!isStretch) return handler.perform(work, ids);
  const pieces = (await listStretchPieces(work, kind, ids)).map((piece) => {
    return { ...piece, at: Math.max(piece.at, stop.from) };
  });
  const customers = new Set(pieces.map(({ customerId }) => customerId));
  if (customers.size === pieces.length && pieces.every(({ isPlain }) => isPlain)) {
    const instants = pieces.flatMap(({ id, customerId, at }) => [[id, at] as const, [customerId, at] as const]);
    return handler.perform({ ...work, instants: new Map(instants) }, ids);
  }
  for (const [now, due] of Map.groupBy(pieces, ({ at }) => at))
    await handler.perform(
      { ...work, now },
      due.map(({ id }) => id),
    );
}

/** Runs one transaction, then its effects outside the database. */
async function actAndRun<Answer>(run: Run, act: (work: Work) => Promise<Answer>): Promise<Answer> {
  const { answer, effects } = await run.runner.act(act);
  await runAll(run, effects);
  return answer;
}

/** Runs effects concurrently. A failure is reported at the end; its job retries it. */
async function runAll(run: Run, effects: readonly Effect[]): Promise<void> {
  const waiting = [...effects];
  const takeTurns = async () => {
    for (let effect = waiting.shift(); effect !== undefined; effect = waiting.shift()) {
      try {
        await run.runner.run(effect);
      } catch (error) {
        run.failures.push(error);
        for (const paymentId of paymentsOf(effect)) run.failed.add(paymentId);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(effectsAtOnce, waiting.length) }, takeTurns));
}

function paymentsOf({ task, payload }: Effect): string[] {
  return task === chargeTask && Array.isArray(payload.paymentIds) ? payload.paymentIds : [];
}

/** A handler with its batch size: large if it works in sets, small if not. */
interface OrderedHandler {
  readonly kind: DueKind;
  readonly handler: DueWorkHandler;
  readonly atOnce: number;
}

interface HandlerAtStop extends OrderedHandler {
  readonly stop: Stop | null;
}

/** Publishes that invoices are overdue, that trials will end and that cards expire. Before a late renewal ends the trial. */
const noticeHandler: DueWorkHandler = {
  name: 'notice',
  take: takeNotices,
  async perform(work, ids) {
    const ofKind = (kind: IdKind) => ids.filter((id) => id.startsWith(`${idPrefixes[kind]}_`));
    await publishOverdue(work, ofKind('invoice'));
    await publishTrialsEnding(work, ofKind('subscription'));
    await publishExpiring(work, ofKind('paymentMethod'));
  },
};

/** Books the end of credits that end by themselves. */
const creditsEndHandler: DueWorkHandler = { name: 'creditsEnd', take: takeEndedCredits, perform: endCreditsOf };

/** All kinds of due work, in order of execution at one instant. */
const dueHandlers: readonly OrderedHandler[] = [
  { kind: 'notice', handler: noticeHandler, atOnce: 500 },
  { kind: 'check', handler: checkHandler, atOnce: 500 },
  { kind: 'cancel', handler: cancelHandler, atOnce: 50 },
  { kind: 'expire', handler: expireHandler, atOnce: 50 },
  { kind: 'resume', handler: resumeHandler, atOnce: 500 },
  { kind: 'finalize', handler: finalizeHandler, atOnce: 500 },
  { kind: 'threshold', handler: thresholdHandler, atOnce: 500 },
  { kind: 'interim', handler: interimHandler, atOnce: 500 },
  { kind: 'renew', handler: renewHandler, atOnce: 500 },
  { kind: 'dun', handler: dunHandler, atOnce: 200 },
  // After renewals, whose credits may be enough.
  { kind: 'creditsEnd', handler: creditsEndHandler, atOnce: 500 },
  { kind: 'topUp', handler: topUpHandler, atOnce: 50 },
];
