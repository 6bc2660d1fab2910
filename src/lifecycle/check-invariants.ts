import type { Database } from '../platform/database.ts';
import {
  findViolations,
  type Invariant,
  ownershipInvariants,
  pricingInvariants,
  subscriptionInvariants,
  type Violations,
} from './store-invariants.ts';
import { ledgerInvariants } from './store-invariants-ledger.ts';
import { moneyInvariants } from './store-invariants-money.ts';
import { usageInvariants } from './store-invariants-usage.ts';

/** Everything that is true of the data at any time. */
export const invariants: readonly Invariant[] = [
  ...ownershipInvariants,
  ...pricingInvariants,
  ...subscriptionInvariants,
  ...ledgerInvariants,
  ...usageInvariants,
  ...moneyInvariants,
];

/** An invariant and what breaks it. */
export interface CheckedInvariant {
  readonly name: string;
  readonly sentence: string;
  readonly violations: Violations;
}

/**
 * Checks every invariant over all environments, on one unchanging view of the data: the service may run meanwhile, and
 * is neither stopped nor written to. Owner's connection.
 */
export async function checkInvariants(owner: Database): Promise<CheckedInvariant[]> {
  const reading = owner.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
  return reading.execute(async (db) => {
    const checked: CheckedInvariant[] = [];
    for (const invariant of invariants) {
      const { name, sentence } = invariant;
      checked.push({ name, sentence, violations: await findViolations(db, invariant) });
    }
    return checked;
  });
}
