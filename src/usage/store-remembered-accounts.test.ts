import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Work } from '../database/work.ts';
import { recallAccounts, rememberAccount, rememberUsed } from './store-remembered-accounts.ts';
import { coverUsages, type LockedAccount } from './usage-booking.ts';

const work = { environmentId: 1, now: 1_000 } as Work;
const revisions = new Map([['la_1', 5]]);

function remembered(): LockedAccount {
  const account = {
    id: 'la_1',
    pricingModelId: 'pricing_model_1',
    available: 10n,
    held: 0n,
    bookedAt: 0,
    credits: [{ id: 'usage_credit_1', remaining: 10n, priority: 100, expiresAt: null }],
    lapsed: 0n,
    drawn: null,
    open: null,
  };
  const sums = { granted: 10n, used: 0n, covered: 0n, applied: 0n, expired: 0n, settled: 0n, takenBack: 0n };
  const lockedBy = { subscriptionId: 'sub_1', usageMeterId: 'usage_meter_1' };
  rememberAccount(work, { account, sums, subscriptionRevision: 5, lockedBy });
  return account;
}

function use(account: LockedAccount, units: bigint): LockedAccount {
  const before = new Map([[account.id, account]]);
  const usage = { ledgerAccountId: account.id, priceId: 'price_1', billingPeriodId: null, units };
  const { accounts } = coverUsages(before, [usage], { now: work.now, open: new Map() });
  rememberUsed(work, before, accounts);
  return accounts[0]?.account ?? assert.fail('one account was used');
}

const recalled = () => recallAccounts(work, revisions)?.get('la_1') ?? null;

test('what is used of an account goes on from what was used of it before', () => {
  const after = use(use(remembered(), 4n), 3n);
  assert.equal(recalled()?.account, after);
  assert.deepEqual([after.available, recalled()?.sums.used, recalled()?.sums.covered], [3n, 7n, 7n]);
});

test('an account on which somebody else has booked meanwhile is forgotten', () => {
  const account = remembered();
  use(account, 4n);
  use(account, 3n);
  assert.equal(recalled(), null);
});
