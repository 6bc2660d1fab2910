import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChargeState, decideCharge, nextPaymentStatus, PaymentStatus, paymentTransitions } from './payment.ts';
import type { ChargeOutcome } from './processor.ts';

const now = 1_000_000;
const minute = 60_000;

/** Everything that a processor can say. */
const outcomes: readonly ChargeOutcome[] = [
  { result: 'processing', reference: 'ch_1', checkAt: now + 5 * minute },
  { result: 'requires_action', reference: 'ch_1', nextAction: { type: 'redirect' }, checkAt: now + 5 * minute },
  { result: 'awaiting' },
  { result: 'succeeded', reference: 'ch_1', settledAt: now, receiptNumber: '1234-5678' },
  { result: 'failed', reference: 'ch_1', code: 'card_declined', message: 'Declined.' },
  { result: 'canceled', reference: 'ch_1' },
  { result: 'reversed', code: 'debit_returned', message: 'The bank took it back.' },
];

const inFlight = {
  processing: 'processing',
  requires_action: 'requires_action',
  awaiting: 'requires_confirmation',
  succeeded: 'succeeded',
  failed: 'failed',
  canceled: 'canceled',
} as const;
const { awaiting: _, ...requested } = inFlight;

/** Which outcome leads where, by status; what does not stand here changes nothing. */
const table: Readonly<Record<PaymentStatus, Partial<Record<ChargeOutcome['result'], PaymentStatus>>>> = {
  processing: inFlight,
  requires_confirmation: inFlight,
  requires_action: requested,
  succeeded: { reversed: 'failed' },
  failed: {},
  canceled: {},
  refunded: {},
};

function payment(status: PaymentStatus): ChargeState {
  return {
    id: 'pym_1',
    status,
    processorReference: 'ch_0',
    checkAt: null,
    settlementDate: status === 'succeeded' ? now - minute : null,
    receiptNumber: null,
    receiptUrl: null,
    nextAction: null,
    failureCode: null,
    failureMessage: null,
    refundingAmount: 0n,
  };
}

for (const status of PaymentStatus.options) {
  for (const outcome of outcomes) {
    const next = table[status][outcome.result] ?? null;
    test(`a payment that is ${status}, of which ${outcome.result} is told, ${next === null ? 'stays as it is' : `is ${next}`}`, () => {
      const changed = decideCharge(payment(status), outcome, now);
      assert.equal(changed?.status ?? null, next);
    });
  }
}

test('only a payment that has succeeded is refunded', () => {
  for (const status of PaymentStatus.options) {
    const isPaid = status === 'succeeded';
    assert.equal(nextPaymentStatus(status, 'refunded_in_part'), isPaid ? 'succeeded' : null);
    assert.equal(nextPaymentStatus(status, 'refunded'), isPaid ? 'refunded' : null);
  }
  assert.deepEqual(Object.keys(paymentTransitions).sort(), [...PaymentStatus.options].sort());
});

test('what is under way is asked for again when the processor says, and a minute from now at the earliest', () => {
  const told = (checkAt: number) =>
    decideCharge(payment('processing'), { result: 'processing', reference: 'ch_1', checkAt }, now)?.checkAt;
  assert.equal(told(now + 5 * minute), now + 5 * minute);
  for (const early of [now + minute - 1, now, now - minute]) assert.equal(told(early), now + minute);
});

test('what the customer has to do stands there until it was done', () => {
  const [, requiresAction, , succeeded] = outcomes;
  assert(requiresAction && succeeded);
  const waiting = decideCharge(payment('processing'), requiresAction, now);
  assert(waiting);
  assert.deepEqual([waiting.nextAction, waiting.checkAt], [{ type: 'redirect' }, now + 5 * minute]);
  const paid = decideCharge(waiting, succeeded, now);
  assert.deepEqual([paid?.nextAction, paid?.checkAt, paid?.settlementDate], [null, null, now]);
});

test('a payment whose money was taken back has failed, and keeps when it had settled', () => {
  const reversed = decideCharge(
    payment('succeeded'),
    { result: 'reversed', code: 'debit_returned', message: 'Gone.' },
    now,
  );
  assert.deepEqual(
    [reversed?.status, reversed?.failureCode, reversed?.failureMessage, reversed?.settlementDate],
    ['failed', 'debit_returned', 'Gone.', now - minute],
  );
});

test('money is not taken back while some of it is being refunded', () => {
  const refunding = { ...payment('succeeded'), refundingAmount: 1n };
  assert.throws(() => decideCharge(refunding, { result: 'reversed', code: 'c', message: 'm' }, now), {
    problem: 'refundInFlight',
  });
});
