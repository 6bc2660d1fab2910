import assert from 'node:assert/strict';
import { RunAgain, type Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import {
  countedOf,
  digestOf,
  isTaken,
  storeNew,
  takenProblem,
  toUsageEvent,
  transactionText,
} from './actions-store.ts';
import * as store from './store.ts';
import { balanceOf, type LockedAccount } from './usage-booking.ts';
import { countsDistinct, type Draft, type Drafted, insufficientBalance, type UsageAnswer } from './usage-draft.ts';
import type { UsageEvent } from './usage-event.ts';

/** What became of the asks of a group that want to consume. */
export interface Consumed {
  /** The events that are accepted and to be stored. */
  readonly added: readonly Draft[];
  readonly counted: ReadonlySet<Draft>;
  readonly answerOf: (index: number) => UsageAnswer | Problem;
}

/** What decides about consumption, besides what is asked. */
export interface Situation {
  /** The events that its transactions have already, as `findConsumed` tells. */
  readonly stored: ReadonlyMap<string, UsageEvent>;
  readonly accounts: ReadonlyMap<string, LockedAccount>;
  /** Usage of the same group that needs no leave, and is used up first. */
  readonly counted: ReadonlySet<Draft>;
}

function consumptions(drafted: readonly Drafted[]): { index: number; draft: Draft }[] {
  return drafted.flatMap(({ ask, drafts }, index) =>
    ask.kind === 'record' || drafts instanceof Problem ? [] : drafts.map((draft) => ({ index, draft })),
  );
}

/** The events that the transactions of a group's consumptions have already. */
export async function findConsumed(work: Work, drafted: readonly Drafted[]): Promise<ReadonlyMap<string, UsageEvent>> {
  const keys = consumptions(drafted).map(({ draft }) => draft.transactionKey);
  const rows = keys.length === 0 ? [] : await store.listByTransactionKey(work, keys);
  return new Map(rows.map((row) => [transactionText(row), toUsageEvent(work, row)]));
}

/**
 * Decides one consumption after the other, in the order in which they came, over locked accounts: each is accepted only
 * if what the balance then is covers it.
 */
export async function decideConsumption(
  work: Work,
  drafted: readonly Drafted[],
  { stored, accounts, counted }: Situation,
): Promise<Consumed> {
  const answers = new Map<number, UsageAnswer | Problem>();
  const answerOf = (index: number): UsageAnswer | Problem => {
    const answer = answers.get(index);
    assert(answer !== undefined, 'each consumption was decided');
    return answer;
  };
  const asked = consumptions(drafted);
  const seen = await findSeen(
    work,
    asked.map(({ draft }) => draft),
  );
  const soFar = { stored: new Map(stored), seen, balances: balancesAfter(accounts, counted) };
  const added: Draft[] = [];
  const counting = new Set<Draft>();
  for (const { index, draft } of asked) {
    const decision = decide(draft, soFar);
    answers.set(index, decision.answer);
    if (!decision.accepted) continue;
    added.push(draft);
    if (decision.counts) counting.add(draft);
  }
  return { added, counted: counting, answerOf };
}

/** The consumptions that are refused and were the first of their series, by the index of their asks: that was opened for them. */
export function refusedFirsts(drafted: readonly Drafted[], { answerOf }: Consumed): ReadonlyMap<number, Problem> {
  const refused = new Map<number, Problem>();
  for (const { index, draft } of consumptions(drafted)) {
    const answer = answerOf(index);
    if (draft.isFirst && answer instanceof Problem) refused.set(index, answer);
  }
  return refused;
}

/** Stores what was accepted. Where another process was quicker with a transaction, all of the work is done anew. */
export async function storeConsumed(work: Work, { added, counted }: Consumed): Promise<void> {
  storeNew(work, added);
  if (!added.some(countsDistinct)) return;
  const counting = await countedOf(work, added);
  if (counting.size !== counted.size) throw new RunAgain();
}

/** What has been decided so far; `decide` notes what it accepts. */
interface SoFar {
  /** The events of transactions. */
  readonly stored: Map<string, UsageEvent>;
  /** The properties that count no more. */
  readonly seen: Set<string>;
  readonly balances: Map<string, bigint>;
}

function decide(
  draft: Draft,
  { stored, seen, balances }: SoFar,
): { answer: UsageAnswer | Problem; accepted: boolean; counts: boolean } {
  const balance = balances.get(draft.ledgerAccountId) ?? 0n;
  const first = stored.get(transactionText(draft.event));
  if (first !== undefined) {
    const answer = isTaken(draft, first) ? takenProblem(draft) : { events: [first], balance };
    return { answer, accepted: false, counts: false };
  }
  const digest = countsDistinct(draft) ? digestOf(draft) : null;
  const counts = digest === null || !seen.has(digest);
  const units = counts ? BigInt(draft.event.amount) : 0n;
  // What counts nothing needs no balance, also where that is negative.
  if (units > 0n && units > balance)
    return { answer: insufficientBalance(draft, balance), accepted: false, counts: false };
  balances.set(draft.ledgerAccountId, balance - units);
  stored.set(transactionText(draft.event), draft.event);
  if (digest !== null) seen.add(digest);
  return { answer: { events: [draft.event], balance: balance - units }, accepted: true, counts };
}

async function findSeen(work: Work, drafts: readonly Draft[]): Promise<Set<string>> {
  const digests = drafts.filter(countsDistinct).map(digestOf);
  return digests.length === 0 ? new Set() : new Set(await store.listSeenProperties(work, digests));
}

function balancesAfter(accounts: ReadonlyMap<string, LockedAccount>, counted: ReadonlySet<Draft>): Map<string, bigint> {
  const balances = new Map(Array.from(accounts.values(), (account) => [account.id, balanceOf(account)]));
  for (const { ledgerAccountId, event } of counted)
    balances.set(ledgerAccountId, (balances.get(ledgerAccountId) ?? 0n) - BigInt(event.amount));
  return balances;
}
