import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { settleCharges } from '../../src/billing/settle-payment.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import type { ChargeOutcome } from '../../src/payments/processor.ts';
import { type Debtor, newDebtor } from '../support/debtor.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { assertStatuses, countOf, meet, moneyMoved, rounds } from '../support/race.ts';
import { credits, firstBalance, meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';

const app = await startTestApp();

/** A customer who has paid 90.00 for a quarter, and its payment. */
async function payer(): Promise<Debtor & { readonly paymentId: string }> {
  const debtor = await newDebtor(app, { plan: 'quarter' });
  const { data } = await debtor.caller.get(`/payments?customerId=${debtor.customerId}`);
  return { ...debtor, paymentId: data[0].id };
}

function refund(debtor: Debtor, paymentId: string, partialAmount: number): Promise<Answer> {
  return debtor.send(`/payments/${paymentId}/refund`, { partialAmount });
}

/** What was refunded of a payment and of its invoice, and how they stand. */
async function stateOf({ caller }: Debtor, paymentId: string) {
  const { payment } = await caller.get(`/payments/${paymentId}`);
  const { invoice } = await caller.get(`/invoices/${payment.invoiceId}`);
  return [payment.refundedAmount, payment.status, invoice.amountRefunded, invoice.status];
}

describe('race: counter lost in refunds', () => {
  test('5000 and 2000 that are asked back at the same moment are 7000', async () => {
    const debtor = await payer();
    const { paymentId } = debtor;
    const answers = await meet(
      app,
      { table: 'refunds', on: 'insert' },
      () => refund(debtor, paymentId, 5000),
      () => refund(debtor, paymentId, 2000),
      // 2000 remain, whoever of the others comes first.
      () => refund(debtor, paymentId, 4001),
    );
    assertStatuses(answers, [200, 400]);
    assert.deepEqual(await stateOf(debtor, paymentId), [7000, 'succeeded', 7000, 'partially_refunded']);
  });

  test('5000 and 4000 that have gone back at the same moment are 9000', async () => {
    const debtor = await payer();
    const { paymentId } = debtor;
    const place = {
      table: 'payments',
      on: 'update',
      when: 'new.refunded_amount > old.refunded_amount',
    } as const;
    const answers = await meet(
      app,
      place,
      () => refund(debtor, paymentId, 5000),
      () => refund(debtor, paymentId, 4000),
    );
    assertStatuses(answers, [200]);
    assert.deepEqual(await stateOf(debtor, paymentId), [9000, 'refunded', 9000, 'refunded']);
  });

  test('two payments of one invoice that go back at the same moment are both counted on it', async () => {
    const debtor = await newDebtor(app);
    await debtor.swapCard('pm_card_chargeCustomerFail');
    await debtor.moveTo('2026-02-01');
    await debtor.swapCard('pm_card_visa');
    const { data } = await debtor.caller.get(`/invoices?status=open&subscriptionId=${debtor.subscriptionId}`);
    const [{ id }] = data;
    // 20.00 by bank transfer, and the other 10.75 on the card.
    const { payment: byHand } = await debtor.caller.post(`/invoices/${id}/record-payment`, {
      payment: { amount: 2000 },
    });
    const { payment: byCard } = await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/retry-payment`);
    const place = { table: 'invoices', on: 'update', when: 'new.amount_refunded > old.amount_refunded' } as const;
    const answers = await meet(
      app,
      place,
      () => refund(debtor, byHand.id, 700),
      () => refund(debtor, byCard.id, 800),
    );
    assertStatuses(answers, [200]);
    const { invoice } = await debtor.caller.get(`/invoices/${id}`);
    assert.deepEqual([invoice.amountPaid, invoice.amountRefunded], [3075, 1500]);
  });

  test('of 32 refunds of 700 out of 9000 at once 12 succeed, and each is counted', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await payer();
      const answers = await atOnce(32, () => refund(debtor, debtor.paymentId, 700));
      assertStatuses(answers, [200, 400]);
      assert.equal(countOf(answers, 200), 12);
      assert.deepEqual(await stateOf(debtor, debtor.paymentId), [8400, 'succeeded', 8400, 'partially_refunded']);
      const { refunds, refunded } = await moneyMoved(app, debtor.customerId);
      assert.deepEqual([refunds, refunded], [12, 8400n]);
      const { data } = await debtor.caller.get('/credit-notes?limit=50');
      assert.deepEqual(
        [data.length, new Set(data.map(({ creditNoteNumber }: Body) => creditNoteNumber)).size],
        [12, 12],
      );
      assert.ok(data.every(({ status, total }: Body) => status === 'settled' && total === 700));
    }
    await assertSound(app);
  });
});

describe('race: refund against the completion of a top-up', () => {
  const amounts = [600, 400] as const;

  /** A customer who has paid 6.00 of a top-up of 500 messages for 10.00. */
  async function payingInParts(name: string) {
    await app.put('/settings', { settings: { netTermsDays: 30 } });
    const { customerId, externalId, freeId } = await newCustomer(app, name);
    const { purchase } = await app.post('/purchases', { purchase: { customerId, priceSlug: 'pack-monthly' } });
    const pay = (amount: number) =>
      app.request('POST', `/invoices/${purchase.invoiceId}/record-payment`, { payment: { amount } });
    const { payment } = (await pay(amounts[0])).body;
    const giveBack = () => app.request('POST', `/payments/${payment.id}/refund`, { partialAmount: 500 });
    return { freeId, externalId, pay: () => pay(amounts[1]), giveBack };
  }

  test('half of the money that goes back while the rest arrives leaves 250 of 500 messages, whoever is first', async () => {
    await app.post('/pricing-models/setup', {
      name: 'Packs',
      isDefault: true,
      features: [credits('pack', 500, 'messages', { renewalFrequency: 'once' })],
      products: [
        plan('free', 0),
        plan('pack', 1000, ['pack'], { type: 'single_payment', intervalUnit: undefined, intervalCount: undefined }),
      ],
      usageMeters: [meter('messages', 'Messages', { slug: 'message', unitPrice: 1, usageEventsPerUnit: 1 })],
    });
    const refunding = { table: 'invoices', on: 'update', when: 'new.amount_refunded > old.amount_refunded' } as const;
    const completing = { table: 'invoices', on: 'update', when: 'new.amount_paid > old.amount_paid' } as const;
    const asking = { table: 'refunds', on: 'insert' } as const;
    for (const [name, place] of Object.entries({ refunding, completing, asking })) {
      const { externalId, freeId, pay, giveBack } = await payingInParts(name);
      const [first, second] = name === 'completing' ? [pay, giveBack] : [giveBack, pay];
      assertStatuses(await meet(app, place, first, second), [200]);
      await app.runJobs({ all: true });
      assert.equal(await firstBalance(app, externalId, freeId), 250, name);
    }
    await assertSound(app);
  });
});

describe('race: refund against dispute', () => {
  /** The bank takes the money back. Answers as a request would. */
  async function reverse({ environmentId }: Debtor, paymentId: string): Promise<{ status: number; body?: Body }> {
    const outcome: ChargeOutcome = { result: 'reversed', code: 'dispute_lost', message: 'Taken back.' };
    try {
      await runInEnvironment(app.database, { environmentId }, (work) => settleCharges(work, [{ paymentId, outcome }]));
      return { status: 200 };
    } catch (error) {
      return { status: (error as { status?: number }).status ?? 500, body: String(error) };
    }
  }

  test('while a refund is under way the dispute is told to come again, and then all of it is owed', async () => {
    const debtor = await payer();
    const { paymentId } = debtor;
    const place = { table: 'payments', on: 'update', when: 'new.refunded_amount > old.refunded_amount' } as const;
    const answers = await meet<{ status: number }, { status: number }>(
      app,
      place,
      () => refund(debtor, paymentId, 1000),
      () => reverse(debtor, paymentId),
    );
    assertStatuses(answers, [200, 409]);
    await reverse(debtor, paymentId);
    assert.deepEqual(await stateOf(debtor, paymentId), [1000, 'failed', 0, 'open']);
  });

  test('money that the bank takes back is refunded by nobody any more, however many ask', async () => {
    for (let round = 0; round < rounds; round++) {
      const debtor = await payer();
      const { paymentId } = debtor;
      const answers = await atOnce<{ status: number }>(32, (index) =>
        index % 4 === 3 ? reverse(debtor, paymentId) : refund(debtor, paymentId, 200),
      );
      assertStatuses(answers, [200, 400, 409]);
      assert.equal((await reverse(debtor, paymentId)).status, 200);
      const [refundedAmount, ...state] = await stateOf(debtor, paymentId);
      // All of it is owed again: what was refunded before is not owed twice.
      assert.deepEqual(state, ['failed', 0, 'open']);
      assert.equal((await moneyMoved(app, debtor.customerId)).refunded, BigInt(refundedAmount ?? 0));
      assert.equal((await refund(debtor, paymentId, 1)).status, 400);
    }
    await assertSound(app);
  });
});
