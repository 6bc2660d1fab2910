import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { settleReported } from '../../src/billing/settle-payment.ts';
import { instant } from '../../src/kernel/calendar.ts';
import type { ChargeOutcome } from '../../src/payments/processor.ts';
import { type Debtor, newDebtor } from '../support/debtor.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import {
  assertStatuses,
  countOf,
  meet,
  moneyMoved,
  paidInAll,
  rounds,
  setClockOf,
  workTogether,
} from '../support/race.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';

const app = await startTestApp();

/** A customer who owes 30.75 for February, of which 0.75 are for 150 calls in January: its card is mended since. */
async function indebted(): Promise<Debtor & { readonly invoiceId: string }> {
  const debtor = await newDebtor(app);
  await debtor.swapCard('pm_card_chargeCustomerFail');
  await debtor.moveTo('2026-02-01');
  await debtor.swapCard('pm_card_visa');
  const { data } = await debtor.caller.get(`/invoices?status=open&subscriptionId=${debtor.subscriptionId}`);
  return { ...debtor, invoiceId: data[0].id };
}

const pay = (debtor: Debtor) => debtor.send(`/subscriptions/${debtor.subscriptionId}/retry-payment`);
const close = (debtor: Debtor & { invoiceId: string }, verb: 'void' | 'mark-uncollectible') =>
  debtor.send(`/invoices/${debtor.invoiceId}/${verb}`);
const payByHand = (debtor: Debtor & { invoiceId: string }) =>
  debtor.send(`/invoices/${debtor.invoiceId}/record-payment`);

describe('race: void against pay', () => {
  test('while a charge is being asked for, the invoice is not made void', async () => {
    const debtor = await indebted();
    const place = { table: 'payments', on: 'insert' } as const;
    const [paid, voided] = await meet<Answer, Answer>(
      app,
      place,
      () => pay(debtor),
      () => close(debtor, 'void'),
    );
    assert.equal(paid.status, 200);
    assertStatuses([voided ?? assert.fail()], [400, 409]);
    assert.deepEqual((await debtor.invoices()).slice(1), ['renewal paid 0']);
    assert.equal((await debtor.subscription()).status, 'active');
    assert.equal((await moneyMoved(app, debtor.customerId)).charged, 3000n + 3075n);
  });

  test('while an invoice is being made void, nobody charges it, neither by hand nor a worker', async () => {
    const debtor = await indebted();
    // The next attempt of the schedule is due, too.
    await setClockOf(app, debtor.environmentId, instant('2026-02-05'));
    const place = { table: 'invoices', on: 'update', when: "new.status = 'void'" } as const;
    const [voided, paid, recorded] = await meet<Answer, Answer>(
      app,
      place,
      () => close(debtor, 'void'),
      () => pay(debtor),
      () => payByHand(debtor),
      async () => {
        await workTogether(app, debtor.environmentId, 2);
        return { status: 200, headers: new Headers(), body: null };
      },
    );
    assert.equal(voided.status, 200);
    assert.deepEqual([paid?.status, recorded?.status], [400, 400]);
    assert.deepEqual((await debtor.invoices()).slice(1), ['renewal void 3075']);
    assert.equal((await moneyMoved(app, debtor.customerId)).charged, 3000n);
    // What it billed of usage is billed again, once: 75 of January beside 3000 of March.
    await debtor.moveTo('2026-03-01');
    assert.equal(await paidInAll(app, debtor.customerId), 3000n + 3075n);
  });

  test('of 32 who pay, record money, make void or write off at once, one decides', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await indebted();
      await setClockOf(app, debtor.environmentId, instant('2026-02-05'));
      const acts = [pay, payByHand, (it: typeof debtor) => close(it, 'void')];
      const both = await Promise.all([
        atOnce(32, (index) =>
          index % 8 === 7 ? close(debtor, 'mark-uncollectible') : (acts[index % 3] ?? pay)(debtor),
        ),
        workTogether(app, debtor.environmentId),
      ]);
      assertStatuses(both[0], [200, 400, 409]);
      const tried = both[1].reduce((sum, { done }) => sum + done.dun, 0);
      assert.equal(countOf(both[0], 200) + tried, 1, 'one decides');
      const [, february = ''] = await debtor.invoices();
      const status = february.split(' ')[1] ?? '';
      const expected: Record<string, bigint> = { paid: 3075n, void: 0n, uncollectible: 0n };
      assert.equal(await paidInAll(app, debtor.customerId), 3000n + (expected[status] ?? assert.fail(status)));
      await debtor.moveTo('2026-03-01');
      const march: Record<string, bigint> = { paid: 3000n, void: 3075n, uncollectible: 3000n };
      assert.equal(
        await paidInAll(app, debtor.customerId),
        3000n + (expected[status] ?? 0n) + (march[status] ?? 0n),
        status,
      );
    }
    await assertSound(app);
  });
});

describe('race: double finalize', () => {
  const cancelNow = (debtor: Debtor) =>
    debtor.send(`/subscriptions/${debtor.subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });

  test('a cancel that meets another one leaves one last invoice, charged once', async () => {
    const debtor = await newDebtor(app);
    const place = { table: 'invoices', on: 'insert', when: "new.reason = 'final_usage'" } as const;
    const answers = await meet<Answer, Answer>(
      app,
      place,
      () => cancelNow(debtor),
      () => cancelNow(debtor),
      () => cancelNow(debtor),
    );
    assertStatuses(answers, [200]);
    assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'final_usage paid 0']);
    const { charges, charged } = await moneyMoved(app, debtor.customerId);
    assert.deepEqual([charges, charged], [2, 3000n + 75n]);
  });

  test('32 cancels at once leave one last invoice, one end and one event of it; numbers have no gap', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await newDebtor(app);
      assertStatuses(await atOnce(32, () => cancelNow(debtor)), [200]);
      assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0', 'final_usage paid 0']);
      assert.deepEqual(await debtor.payments(), ['2026-01-01 3000 succeeded', '2026-01-01 75 succeeded']);
      assert.equal((await debtor.events()).filter((type) => type === 'subscription.canceled').length, 1);
      const { data } = await debtor.caller.get(`/invoices?customerId=${debtor.customerId}&limit=100`);
      assert.deepEqual(
        data.map(({ invoiceNumber }: Body) => Number(invoiceNumber.split('-').at(-1))),
        [1, 2],
      );
    }
    await assertSound(app);
  });

  test('a payment that its processor tells 16 times while workers ask for it, ends once', async () => {
    const debtor = await newDebtor(app, { token: 'pm_card_processing' });
    const { data } = await debtor.caller.get(`/payments?customerId=${debtor.customerId}`);
    const [{ id: paymentId }] = data;
    const settledAt = instant('2026-01-01T01:00');
    const succeeded: ChargeOutcome = {
      result: 'succeeded',
      reference: `test_charge_${paymentId}`,
      settledAt,
      receiptNumber: null,
    };
    const told = [{ paymentId, outcome: succeeded }];
    const tell = () => settleReported(app, debtor.environmentId, told);
    await setClockOf(app, debtor.environmentId, settledAt);
    const place = { table: 'payments', on: 'update', when: "new.status = 'succeeded'" } as const;
    await meet<unknown, unknown>(app, place, tell, tell, tell, () => workTogether(app, debtor.environmentId, 2));
    await Promise.all([atOnce(16, tell), workTogether(app, debtor.environmentId)]);
    assert.deepEqual(await debtor.payments(), ['2026-01-01 3000 succeeded']);
    assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0']);
    assert.equal((await debtor.events()).filter((type) => type === 'payment.succeeded').length, 1);
    // The first period's credits came once.
    const accounts = app.owner.selectFrom('ledgerAccounts').select('granted');
    assert.deepEqual(await accounts.where('subscriptionId', '=', debtor.subscriptionId).execute(), [{ granted: 100n }]);
    await assertSound(app);
  });
});

describe('race: the end of a draft', () => {
  async function newDraft() {
    const debtor = await newDebtor(app);
    const lines = [{ description: 'Workshop', unitAmount: 5000 }];
    const { invoice } = await debtor.caller.post('/invoices', {
      invoice: { customerExternalId: 'ada', lines, autoCollect: true },
    });
    return { ...debtor, path: `/invoices/${invoice.id}` };
  }

  test('twelve finalize a draft at once: one number, one charge, and each answers the same invoice', async () => {
    const { send, path, caller, customerId } = await newDraft();
    const answers = await atOnce(12, () => send(`${path}/finalize`));
    assertStatuses(answers, [200]);
    const numbers = new Set(answers.map(({ body }) => body.invoice.invoiceNumber));
    assert.deepEqual(
      [...numbers].map((number) => number.slice(-5)),
      ['00002'],
    );
    const { invoice } = await caller.get(path);
    assert.deepEqual([invoice.status, invoice.amountPaid], ['paid', 5000]);
    assert.equal((await moneyMoved(app, customerId)).charged, 3000n + 5000n);
    await assertSound(app);
  });

  test('while a draft is finalized, it is not changed, and whoever waited is refused', async () => {
    const { send, path, caller } = await newDraft();
    const place = { table: 'invoices', on: 'update', when: "old.status = 'draft'" } as const;
    const [finalized, ...others] = await meet<Answer, Answer>(
      app,
      place,
      () => send(`${path}/finalize`),
      () => send(`${path}/lines`, { lines: [{ description: 'More', unitAmount: 1 }] }),
      () => send(`${path}/lines`, { lines: [{ description: 'Most', unitAmount: 2 }] }),
    );
    assert.equal(finalized.status, 200);
    assertStatuses(others, [400]);
    assert.equal((await caller.get(path)).invoice.total, 5000);
  });
});
