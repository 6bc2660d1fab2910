import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attemptBegun,
  attemptFailed,
  attemptInFlight,
  type Collection,
  earlyAttemptFailed,
  isDunned,
  isEarly,
  moneyArrived,
  moneyTakenBack,
  nextAttempt,
} from './collection.ts';
import { InvoiceStatus, type InvoiceTrigger, invoiceTransitions, nextInvoiceStatus } from './invoice.ts';

const day = 86_400_000;

/** An invoice of 5000. */
function invoice(status: InvoiceStatus, more: Partial<Collection> = {}): Collection {
  return {
    status,
    total: 5000n,
    amountPaid: 0n,
    amountRefunded: 0n,
    creditedAmount: 0n,
    offsetAmount: 0n,
    balanceApplied: 0n,
    balanceCredited: 0n,
    attemptCount: 0,
    nextAttemptAt: null,
    ...more,
  };
}

const triggers: readonly InvoiceTrigger[] = [
  'finalized',
  'payment_begun',
  'payment_failed',
  'paid',
  'payment_reversed',
  'voided',
  'given_up',
  'refunded_in_part',
  'refunded',
];

const paid = { refunded_in_part: 'partially_refunded', refunded: 'refunded', payment_reversed: 'open' } as const;

/** The next status by status and trigger. Combinations that are not listed are impossible. */
const table: Readonly<Record<InvoiceStatus, Partial<Record<InvoiceTrigger, InvoiceStatus>>>> = {
  draft: { finalized: 'open', voided: 'void' },
  open: { payment_begun: 'awaiting_payment_confirmation', paid: 'paid', voided: 'void', given_up: 'uncollectible' },
  awaiting_payment_confirmation: { payment_failed: 'open', paid: 'paid' },
  paid,
  partially_refunded: paid,
  refunded: {},
  void: {},
  uncollectible: {},
};

for (const status of InvoiceStatus.options) {
  for (const trigger of triggers) {
    const next = table[status][trigger] ?? null;
    test(`an invoice that is ${status} ${next === null ? 'cannot be' : `is ${next} when it is`} ${trigger}`, () => {
      assert.equal(nextInvoiceStatus(status, trigger), next);
    });
  }
}

test('no trigger and no status is missing above', () => {
  assert.deepEqual(Object.keys(invoiceTransitions).sort(), [...InvoiceStatus.options].sort());
  const known = new Set(Object.values(invoiceTransitions).flatMap((moves) => Object.keys(moves)));
  assert.deepEqual([...known].sort(), [...triggers].sort());
});

test('attempts that fail at once are made at 0, +3, +8 and +13 days, and no more', () => {
  const at: number[] = [];
  for (let now: number | null = 0; now !== null; now = nextAttempt(at.length, [3, 5, 5], now)) at.push(now / day);
  assert.deepEqual(at, [0, 3, 8, 13]);
  assert.equal(nextAttempt(1, [], 0), null);
});

test('the invoices of periods are tried again, and that of a change which is due after its date', () => {
  const reasons = ['subscription_start', 'renewal', 'adjustment', 'final_usage', 'purchase'] as const;
  const dunned = (dueDate: number | null) => reasons.filter((reason) => isDunned({ reason, invoiceDate: 5, dueDate }));
  assert.deepEqual(dunned(5), ['subscription_start', 'renewal']);
  assert.deepEqual(dunned(null), ['subscription_start', 'renewal']);
  assert.deepEqual(dunned(6), ['subscription_start', 'renewal', 'adjustment']);
});

test('I7: of 5000, 2000 arrive and the invoice stays open; the other 3000 pay it, and it is not tried again', () => {
  const part = moneyArrived(invoice('open', { nextAttemptAt: 9, attemptCount: 1 }), 2000n);
  assert.deepEqual([part.status, part.amountPaid, part.nextAttemptAt], ['open', 2000n, 9]);
  const whole = moneyArrived(part, 3000n);
  assert.deepEqual([whole.status, whole.amountPaid, whole.nextAttemptAt], ['paid', 5000n, null]);
});

test('an invoice whose part payment was refunded is partially refunded once it is paid', () => {
  const part = invoice('open', { amountPaid: 2000n, amountRefunded: 2000n });
  assert.equal(moneyArrived(part, 3000n).status, 'partially_refunded');
});

test('an attempt takes the place of the next one; when it fails it is counted and the invoice open', () => {
  const begun = attemptInFlight(attemptBegun(invoice('open', { nextAttemptAt: 9 })));
  assert.deepEqual([begun.status, begun.nextAttemptAt], ['awaiting_payment_confirmation', null]);
  const failed = attemptFailed(begun);
  assert.deepEqual([failed.status, failed.attemptCount], ['open', 1]);
});

test('what ended while the attempt was under way stays so, also when the money comes', () => {
  for (const status of ['void', 'uncollectible'] as const) {
    assert.deepEqual(attemptFailed(invoice(status)), invoice(status));
    assert.deepEqual(moneyArrived(invoice(status), 5000n), invoice(status, { amountPaid: 5000n }));
    const back = { amount: 5000n, refundedAmount: 0n };
    assert.deepEqual(moneyTakenBack(invoice(status, { amountPaid: 5000n }), back), invoice(status));
  }
});

test('money that is taken back is due again: all of the payment, as though it had failed', () => {
  const paidInTwo = invoice('partially_refunded', { amountPaid: 5000n, amountRefunded: 500n });
  const back = moneyTakenBack(paidInTwo, { amount: 3000n, refundedAmount: 500n });
  assert.deepEqual(back, invoice('open', { amountPaid: 2000n, attemptCount: 1 }));
});

test('collection begins later until the due date comes, or an attempt has been counted', () => {
  assert.equal(isEarly({ attemptCount: 0, dueDate: 10 * day }, 9 * day), true);
  assert.equal(isEarly({ attemptCount: 0, dueDate: 10 * day }, 10 * day), false);
  assert.equal(isEarly({ attemptCount: 1, dueDate: 10 * day }, 9 * day), false);
  assert.equal(isEarly({ attemptCount: 0, dueDate: null }, 9 * day), false);
});

test('a payment on request that is declined early does not count, and a dunned invoice is collected on its due date', () => {
  const dates = { invoiceDate: 0, dueDate: 10 * day } as const;
  const renewal = { ...invoice('awaiting_payment_confirmation'), ...dates, reason: 'renewal' } as const;
  const state = ({ status, attemptCount, nextAttemptAt }: Collection) => [status, attemptCount, nextAttemptAt];
  assert.deepEqual(state(earlyAttemptFailed(renewal)), ['open', 0, 10 * day]);
  assert.deepEqual(state(earlyAttemptFailed({ ...renewal, reason: 'purchase' })), ['open', 0, null]);
  const voided = { ...renewal, status: 'void' } as const;
  assert.equal(earlyAttemptFailed(voided), voided);
});
