import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDebtor } from '../support/debtor.ts';
import { startTestApp } from '../support/harness.ts';
import { openPortalOf } from '../support/portal-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const declines = 'pm_card_chargeCustomerFail';

test('the open invoice of a canceled subscription is declined, stays open, and is paid once with another card', async () => {
  const debtor = await newDebtor(app);
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-01');
  await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/cancel`, {
    cancellation: { timing: 'immediately' },
  });
  const before = await debtor.invoices();
  assert(before[1]?.startsWith('renewal open 3075'), before.join('; '));
  const [{ id }] = (await debtor.caller.get('/invoices?status=open&type=subscription')).data;
  const path = `/invoices/${id}/pay`;
  const declined = await debtor.send(path);
  assert.equal(declined.status, 402);
  assert.match(declined.body.message, /card_declined: Your card was declined\./);
  assert.equal((await debtor.caller.get(`/invoices/${id}`)).invoice.status, 'open');
  const paymentMethodId = await debtor.attach('pm_card_visa');
  const tried = await debtor.caller.post(`${path}?dryRun=true`, { paymentMethodId });
  assert.deepEqual([tried.invoice.status, tried.payment.status], ['paid', 'succeeded']);
  const idempotencyKey = 'pay once';
  const paid = await debtor.send(path, { paymentMethodId }, { headers: { 'idempotency-key': idempotencyKey } });
  assert.deepEqual([paid.body.invoice.status, paid.body.payment.amount], ['paid', 3075]);
  const again = await debtor.send(path, { paymentMethodId }, { headers: { 'idempotency-key': idempotencyKey } });
  assert.equal(again.body.payment.id, paid.body.payment.id);
  const repeated = await debtor.send(path, { paymentMethodId });
  assert.equal(repeated.status, 400);
  assert.match(repeated.body.message, /Only an open invoice can be paid; the status of invoice \S+ is paid/);
  assert.equal((await debtor.subscription()).status, 'canceled');
  assert.equal((await debtor.payments()).filter((each) => each === '2026-02-01 3075 succeeded').length, 1);
});

test('a card that is declined before the due date takes nothing back, and nothing is past due', async () => {
  const debtor = await newDebtor(app, { token: undefined }, { netTermsDays: 14 });
  const [{ id }] = (await debtor.caller.get('/invoices?status=open')).data;
  const refused = await debtor.send(`/invoices/${id}/pay`);
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /paymentMethodId.*who has no default/);
  await debtor.attach(declines);
  assert.equal((await debtor.send(`/invoices/${id}/pay`)).status, 402);
  assert.deepEqual(await debtor.invoices(), ['subscription_start open 3000, again on 2026-01-15']);
  assert.equal((await debtor.subscription()).status, 'active');
  const paymentMethodId = await debtor.attach('pm_card_visa');
  await debtor.caller.post(`/invoices/${id}/pay`, { paymentMethodId });
  assert.deepEqual(await debtor.invoices(), ['subscription_start paid 0']);
  assert.deepEqual(await debtor.payments(), ['2026-01-01 3000 failed', '2026-01-01 3000 succeeded']);
});

test('cards that are declined on request cancel no subscription, and the next attempt of our own does', async () => {
  const debtor = await newDebtor(app, {}, { dunning: { retryDays: [3, 5], terminalAction: 'canceled' } });
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-01');
  const paymentMethodId = await debtor.attach(declines);
  const [{ id }] = (await debtor.caller.get('/invoices?status=open')).data;
  for (let card = 1; card <= 3; card++)
    assert.equal((await debtor.send(`/invoices/${id}/pay`, { paymentMethodId })).status, 402);
  assert.equal((await debtor.subscription()).status, 'past_due');
  // When the retries after three days and five more would have been made, whenever a card is declined on request.
  assert.deepEqual((await debtor.invoices())[1], 'renewal open 3075, again on 2026-02-09');
  await debtor.moveTo('2026-02-08');
  assert.equal((await debtor.send(`/invoices/${id}/pay`, { paymentMethodId })).status, 402);
  assert.deepEqual((await debtor.invoices())[1], 'renewal open 3075, again on 2026-02-09');
  await debtor.moveTo('2026-02-09');
  assert.equal((await debtor.subscription()).status, 'canceled');
  assert.deepEqual((await debtor.invoices())[1], 'renewal open 3075');
});

test('a customer whose card is declined in the portal cancels nothing by that, however often it tries', async () => {
  const debtor = await newDebtor(app, {}, { dunning: { retryDays: [3, 5], terminalAction: 'canceled' } });
  await debtor.swapCard(declines);
  await debtor.moveTo('2026-02-01');
  const { send } = await openPortalOf(app, 'ada', debtor.caller.post);
  for (let minute = 1; minute <= 3; minute++) {
    await debtor.moveTo(`2026-02-01T00:0${minute}`);
    assert.equal((await send(`/portal/subscriptions/${debtor.subscriptionId}/pay`)).status, 409);
  }
  assert.equal((await debtor.payments()).length, 5);
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.deepEqual((await debtor.invoices())[1], 'renewal open 3075, again on 2026-02-09');
  await debtor.moveTo('2026-02-09');
  assert.equal((await debtor.subscription()).status, 'canceled');
});

test('a first invoice that nobody has paid in time is still owed after a card that is declined in the portal', async () => {
  const debtor = await newDebtor(app, { token: undefined }, { netTermsDays: 14 });
  await debtor.moveTo('2026-01-16');
  assert.equal((await debtor.subscription()).status, 'past_due');
  await debtor.attach(declines);
  const { send } = await openPortalOf(app, 'ada', debtor.caller.post);
  assert.equal((await send(`/portal/subscriptions/${debtor.subscriptionId}/pay`)).status, 409);
  assert.equal((await debtor.subscription()).status, 'past_due');
  assert.match((await debtor.invoices())[0] ?? '', /^subscription_start open 3000/);
});

test('the first invoice of a subscription that was canceled is still owed after a declined payment', async () => {
  const debtor = await newDebtor(app, { token: undefined }, { netTermsDays: 14 });
  const [{ id }] = (await debtor.caller.get('/invoices?status=open')).data;
  await debtor.caller.post(`/subscriptions/${debtor.subscriptionId}/cancel`, {
    cancellation: { timing: 'immediately' },
  });
  await debtor.moveTo('2026-01-20');
  await debtor.attach(declines);
  assert.equal((await debtor.send(`/invoices/${id}/pay`)).status, 402);
  assert.equal((await debtor.caller.get(`/invoices/${id}`)).invoice.status, 'open');
});

test('a charge that takes its time refuses a second one by name', async () => {
  const debtor = await newDebtor(app, { token: undefined }, { netTermsDays: 14 });
  const [{ id }] = (await debtor.caller.get('/invoices?status=open')).data;
  await debtor.attach('pm_card_processing');
  const { payment } = await debtor.caller.post(`/invoices/${id}/pay`);
  assert.equal(payment.status, 'processing');
  const second = await debtor.send(`/invoices/${id}/pay`);
  assert.equal(second.status, 409);
  assert.match(second.body.message, /A payment of invoice \S+ is in progress/);
  await assertSound(app);
});
