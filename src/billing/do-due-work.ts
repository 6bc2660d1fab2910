import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect, Work } from '../database/work.ts';
import type { JobContext } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { advanceClock, endClockMove } from '../organizations/store-clock.ts';
import { chargeTask } from '../payments/actions.ts';
import { setAside } from '../subscriptions/store-due.ts';
import { dueSteps, type OrderedStep } from './due-steps.ts';
import { inTransactions, type Workplace } from './due-work-runner.ts';
import { incompleteLifetimeMs } from './expire-incomplete.ts';
import { type DueKind, findLastRenewal, findSubscriptionOfPiece, readAgenda } from './store-due.ts';

// Long enough that a processor or a person may have mended it, short enough that a customer hardly notices.
const setAsideMs = 5 * 60_000;
// The outside is slow, the database is not: charges wait beside each other.
const effectsAtOnce = 8;
// Of what takes many portions, so many are done beside each other: one is reckoned here while another is written there.
const lanesOfOne = 2;
// Renewals of one minute are done together, as they are in real time. A minute of the calendar, so that a clock that is
// moved to whole minutes has the same portions wherever it stops on the way.
const togetherMs = 60_000;
// How often to look whether somebody else has done what he holds, and how long before it is taken for a mistake of ours.
const lookAgainMs = 25;
const longestHoldMs = 30_000;
// A charge that is not made by then was asked for by a process that died, or is slow: it does no harm to ask again.
const unsentPatienceMs = 2_000;
// A log that is read by people names some failures and the number of all.
const failuresTold = 20;

/** How far a run goes. */
export interface DueWorkBounds {
  /** It begins nothing after so many milliseconds of real time. */
  readonly forMs: number;
  /** One transaction takes no more pieces than this, where it would take more. */
  readonly portion?: number;
}

/** What a run has done: pieces by kind, and whether it came to the end of what was due. */
export interface DueWorkDone {
  readonly done: Readonly<Record<DueKind, number>>;
  readonly finished: boolean;
}

interface Run {
  readonly place: Workplace;
  readonly environmentId: number;
  readonly until: number;
  readonly portion: number;
  readonly done: Record<DueKind, number>;
  readonly failures: unknown[];
  /** Pieces that failed alone, and payments that could not be charged or asked about. */
  readonly failed: Set<string>;
  /** Payments that were asked for again in this run: the clock does not wait for them any longer. */
  readonly askedAgain: Set<string>;
  /** Kinds that this run can do no more of. */
  readonly leftAlone: Set<DueKind>;
}

/**
 * Does everything that is due in an environment and not done, kind by kind, until nothing is due: by its own time. Where
 * the test clock is being moved, the clock goes from one due instant to the next, and everything due at one is done,
 * charges included, before it goes on; in the end it stands where it was moved to.
 *
 * Safe beside others that do the same: each piece is done once, and the clock never passes what another one is doing.
 * A piece that fails is set aside for a while and holds up no other; the failures are thrown together at the end.
 * `finished` says whether it came to the end.
 */
export function doDueWork(context: JobContext, environmentId: number, bounds: DueWorkBounds): Promise<DueWorkDone> {
  return doDueWorkAt(inTransactions(context, environmentId), environmentId, bounds);
}

/** The same wherever it is done. */
export async function doDueWorkAt(
  place: Workplace,
  environmentId: number,
  { forMs, portion = Number.POSITIVE_INFINITY }: DueWorkBounds,
): Promise<DueWorkDone> {
  const run: Run = {
    place,
    environmentId,
    until: Date.now() + forMs,
    portion,
    done: { check: 0, cancel: 0, expire: 0, resume: 0, renew: 0, dun: 0 },
    failures: [],
    failed: new Set(),
    askedAgain: new Set(),
    leftAlone: new Set(),
  };
  const finished = await doAll(run);
  const { failures, done } = run;
  if (failures.length > 0)
    throw new AggregateError(
      failures.slice(0, failuresTold),
      `${failures.length} steps of due work failed in environment ${environmentId}, the first: ${failures[0]}`,
    );
  return { done, finished };
}

/** What is to be done next. */
interface Next {
  readonly kinds: readonly DueKind[];
  /** While the clock is being moved: what others have to charge before it may go on. */
  readonly unsent: readonly string[];
  readonly isMoving: boolean;
}

async function doAll(run: Run): Promise<boolean> {
  for (let idleSince: number | null = null; ; ) {
    await run.place.rest();
    const { answer: next } = await run.place.act((work) => lookAhead(work, run));
    if (next === null) return true;
    if (Date.now() >= run.until) return false;
    if ((await doSteps(run, next.kinds)) > 0) {
      idleSince = null;
      continue;
    }
    // Somebody else holds the rest. In real time it is theirs; a clock that is being moved has to wait for it.
    if (!next.isMoving) return true;
    idleSince ??= Date.now();
    const idleMs = Date.now() - idleSince;
    if (next.unsent.length > 0 && idleMs > unsentPatienceMs) {
      await runAll(run, [{ task: chargeTask, payload: { environmentId: run.environmentId, paymentIds: next.unsent } }]);
      for (const paymentId of next.unsent) run.askedAgain.add(paymentId);
      idleSince = null;
    } else if (idleMs > longestHoldMs) {
      throw new Error(`another transaction has locked the due work (${next.kinds.join(', ')}) for ${idleMs} ms`);
    } else await sleep(lookAgainMs);
  }
}

interface DueAt {
  readonly kind: DueKind;
  readonly at: Instant;
}

/** What is due, after the clock has been taken to the next due instant where it is being moved; null: nothing more. */
async function lookAhead(work: Work, run: Run): Promise<Next | null> {
  const { dueAt, target, unsent } = await readAgenda(work, incompleteLifetimeMs, [...run.failed, ...run.askedAgain]);
  const due = dueSteps.flatMap(({ kind }): DueAt[] => {
    const at = dueAt[kind];
    return at === null || run.leftAlone.has(kind) ? [] : [{ kind, at }];
  });
  const kinds = kindsDueBy(due, work.now);
  const isMoving = target !== null;
  if (kinds.length > 0) return { kinds, unsent: [], isMoving };
  if (!isMoving) return null;
  if (unsent.length > 0) return { kinds, unsent, isMoving };
  const next = await nextInstant(work, due, target);
  if (next === null) return (await endClockMove(work, target)) ? null : { kinds, unsent, isMoving };
  await advanceClock(work, next);
  return { kinds: kindsDueBy(due, next), unsent, isMoving };
}

function kindsDueBy(due: readonly DueAt[], now: Instant): DueKind[] {
  return due.filter(({ at }) => at <= now).map(({ kind }) => kind);
}

/**
 * Where the clock goes next: to the earliest due instant. From renewals that are due in the same minute, and nothing
 * else between them, to the last: subscriptions that were made one after the other would cost a round each.
 */
async function nextInstant(work: Work, due: readonly DueAt[], target: Instant): Promise<Instant | null> {
  const next = Math.min(...due.map(({ at }) => at));
  if (next > target) return null;
  const others = due.filter(({ kind }) => kind !== 'renew').map(({ at }) => at);
  const upTo = Math.min(target, (Math.floor(next / togetherMs) + 1) * togetherMs - 1, Math.min(...others) - 1);
  return upTo > next ? ((await findLastRenewal(work, upTo)) ?? next) : next;
}

/** Does what is due of these kinds, and answers how many pieces were taken up. */
async function doSteps(run: Run, kinds: readonly DueKind[]): Promise<number> {
  let count = 0;
  for (const { kind, step, atOnce } of dueSteps.filter((each) => kinds.includes(each.kind))) {
    const ordered = { kind, step, atOnce: Math.min(atOnce, run.portion) };
    const first = await doPortion(run, ordered);
    count += first;
    if (first < ordered.atOnce) continue;
    const lanes = Array.from({ length: run.place.isolates ? lanesOfOne : 1 }, () => doPortions(run, ordered));
    for (const taken of await Promise.all(lanes)) count += taken;
  }
  return count;
}

async function doPortions(run: Run, ordered: OrderedStep): Promise<number> {
  let count = 0;
  for (let taken = ordered.atOnce; taken >= ordered.atOnce && Date.now() < run.until; count += taken)
    taken = await doPortion(run, ordered);
  return count;
}

/** Does one portion of a step in one transaction; when it fails, its pieces one by one. */
async function doPortion(run: Run, { kind, step, atOnce }: OrderedStep): Promise<number> {
  let ids: string[] = [];
  try {
    await actAndRun(run, async (work) => {
      ids = await step.claim(work, atOnce);
      // Nothing but what has failed in this run and could not even be set aside.
      if (ids.length > 0 && ids.every((id) => run.failed.has(id))) {
        run.leftAlone.add(kind);
        ids = [];
      }
      if (ids.length > 0) await step.perform(work, ids);
    });
    run.done[kind] += ids.length;
  } catch (error) {
    if (!run.place.isolates) throw error;
    if (ids.length === 0) {
      run.leftAlone.add(kind);
      run.failures.push(error);
    }
    for (const id of ids) await doAlone(run, { kind, step }, id);
  }
  return ids.length;
}

async function doAlone(run: Run, { kind, step }: Omit<OrderedStep, 'atOnce'>, id: string): Promise<void> {
  try {
    run.done[kind] += await actAndRun(run, async (work) => {
      const ids = await step.claim(work, 1, [id]);
      if (ids.length > 0) await step.perform(work, ids);
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

/** One transaction, and right after it what it asked for outside of the database. */
async function actAndRun<Answer>(run: Run, act: (work: Work) => Promise<Answer>): Promise<Answer> {
  const { answer, effects } = await run.place.act(act);
  await runAll(run, effects);
  return answer;
}

/** Runs effects beside each other. One that fails is told at the end; its job tries it again. */
async function runAll(run: Run, effects: readonly Effect[]): Promise<void> {
  const waiting = [...effects];
  const takeTurns = async () => {
    for (let effect = waiting.shift(); effect !== undefined; effect = waiting.shift()) {
      try {
        await run.place.run(effect);
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
