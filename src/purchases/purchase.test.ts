import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boughtStatuses,
  nextPurchaseStatus,
  type PurchaseStatus,
  type PurchaseTrigger,
  purchaseTransitions,
} from './purchase.ts';

/** The last status after these triggers; null where one of them is impossible. */
function lifeOf(status: PurchaseStatus, ...triggers: PurchaseTrigger[]): PurchaseStatus | null {
  return triggers.reduce<PurchaseStatus | null>((now, each) => now && nextPurchaseStatus(now, each), status);
}

test('a purchase is paid, given back in part, and then whole', () => {
  assert.equal(lifeOf('pending', 'paid', 'refunded_in_part', 'refunded_in_part', 'refunded'), 'refunded');
});

test('money that is taken back is collected again for a plan, and waited for where it is paid once', () => {
  assert.equal(lifeOf('pending', 'paid', 'owed_again'), 'pending');
  assert.equal(lifeOf('open', 'paid', 'taken_back'), 'failed');
  assert.equal(lifeOf('open', 'paid', 'taken_back', 'paid'), 'paid');
});

test('what was paid does not fail, and what is refunded whole ends there', () => {
  assert.equal(lifeOf('paid', 'failed'), null);
  assert.equal(lifeOf('failed', 'refunded'), null);
  assert.deepEqual([purchaseTransitions.refunded, purchaseTransitions.fraudulent], [{}, {}]);
});

test('only what is paid for and not given back was bought', () => {
  assert.deepEqual(boughtStatuses, ['paid', 'partial_refund']);
});
