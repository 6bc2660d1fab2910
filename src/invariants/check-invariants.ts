import assert from 'node:assert/strict';
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

/** Whether an invariant adds kept sums of the rows before a mark to the rows after it. */
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
  // Invariants that read sums share a snapshot, because another check may advance the mark and its sums.
  await checkTogether(invariants.filter(readsSums));
  // The others have one each. A long snapshot keeps former rows from being cleaned up, and due work reads past their index entries.
  for (const invariant of invariants) if (!readsSums(invariant)) await checkTogether([invariant]);
  return invariants.map(({ name, sentence }) => {
    const violations = found.get(name);
    assert(violations, 'every invariant was checked');
    return { name, sentence, violations };
  });
}
