import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { keepEventsInPlace } from '../usage/store-read.ts';
import {
  findViolations,
  type Invariant,
  ownershipInvariants,
  pricingInvariants,
  subscriptionInvariants,
  type Violations,
} from './store-invariants.ts';
import { analyticsInvariants } from './store-invariants-analytics.ts';
import { creditNoteInvariants } from './store-invariants-credit-notes.ts';
import { creditInvariants } from './store-invariants-credits.ts';
import { dueInvariants } from './store-invariants-due.ts';
import { eventInvariants } from './store-invariants-events.ts';
import { ledgerInvariants } from './store-invariants-ledger.ts';
import { moneyInvariants } from './store-invariants-money.ts';
import { recordInvariants } from './store-invariants-records.ts';
import { spendingInvariants } from './store-invariants-spending.ts';
import type { Since } from './store-invariants-sums.ts';
import { termInvariants } from './store-invariants-terms.ts';
import { usageInvariants } from './store-invariants-usage.ts';

/** All invariants of the data. */
export const invariants: readonly Invariant[] = [
  ...ownershipInvariants,
  ...pricingInvariants,
  ...subscriptionInvariants,
  ...termInvariants,
  ...ledgerInvariants,
  ...creditInvariants,
  ...usageInvariants,
  ...spendingInvariants,
  ...moneyInvariants,
  ...creditNoteInvariants,
  ...recordInvariants,
  ...eventInvariants,
  ...dueInvariants,
  ...analyticsInvariants,
];

/** An invariant and its violations. */
export interface CheckedInvariant {
  readonly name: string;
  readonly sentence: string;
  readonly violations: Violations;
}

// The memory for sums over ten million rows: on disk they would take several times as long.
const memory = '256MB';

/** Whether an invariant adds up what is after a mark, and kept sums of what is before it. */
export function readsSums({ query }: Invariant): boolean {
  return typeof query === 'function';
}

/**
 * Checks every invariant over all environments, while the service runs undisturbed. Reads only usage and ledger rows after the mark,
 * or (null) everything. The worker's connection.
 */
export async function checkInvariants(worker: Database, since: Since = null): Promise<CheckedInvariant[]> {
  const found = new Map<string, Violations>();
  const checkTogether = async (those: readonly Invariant[]) => {
    const reading = worker.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
    await reading.execute(async (db) => {
      // Before the snapshot.
      await keepEventsInPlace(db);
      await sql`select set_config('work_mem', ${memory}, true), set_config('jit', 'off', true),
        set_config('statement_timeout', '0', true)`.execute(db);
      for (const invariant of those) found.set(invariant.name, await findViolations(db, invariant, since));
    });
  };
  // Another check may advance the mark and its sums, so all of these read the same ones.
  await checkTogether(invariants.filter(readsSums));
  // Each of the others by itself: while a snapshot is kept, indexes keep the entries of former rows, which due work then passes.
  for (const invariant of invariants) if (!readsSums(invariant)) await checkTogether([invariant]);
  return invariants.map(({ name, sentence }) => ({ name, sentence, violations: found.get(name) ?? none }));
}

const none: Violations = { count: 0, rows: [] };
