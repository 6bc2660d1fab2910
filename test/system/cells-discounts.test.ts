import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { advisoryLocks } from '../../src/database/advisory-locks.ts';
import { check } from '../../src/main-check.ts';
import { moveSlots } from '../../src/main-moves.ts';
import type { Answer, Body } from '../support/harness.ts';
import { OverCells } from '../support/over-cells.ts';
import { until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';

// Discounts with a maximum of redemptions, and a series of numbers, whose customers are in a home cell and in two others.
const cells = await OverCells.start();
const ok = cells.ok.bind(cells);
const places = [null, 'cell_a', 'cell_b'] as const;

before(async () => {
  const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const price = { type: 'subscription', name: 'Monthly', slug: 'monthly', unitPrice: 1000, ...term };
  await ok('POST', '/products', { product: { name: 'Plan', slug: 'plan' }, price });
});

after(() => cells.stop());

let codes = 0;
async function newDiscount(limits: object = {}): Promise<Body> {
  codes += 1;
  const terms = { name: 'Ten', code: `TEN${codes}`, amountType: 'percent', amount: 10, duration: 'once', ...limits };
  return (await ok('POST', '/discounts', { discount: terms })).discount;
}

async function order({ code }: Body, cell: string | null): Promise<Body> {
  return {
    customerExternalId: await cells.newCustomer(cell),
    priceSlug: 'monthly',
    discountCode: code,
    doNotCharge: true,
  };
}

/** An order of a customer in each of these cells. */
async function ordersIn(discount: Body, named: readonly (string | null)[]): Promise<Body[]> {
  const orders: Body[] = [];
  for (const cell of named) orders.push(await order(discount, cell));
  return orders;
}

async function redeem(discount: Body, cell: string | null): Promise<Answer> {
  return cells.ask('POST', '/subscriptions', await order(discount, cell));
}

async function redeemedIn({ id }: Body): Promise<number> {
  return (await ok('GET', `/discounts/${id}`)).discount.redemptionCount;
}

async function assertUsedUp(discount: Body, count: number): Promise<void> {
  for (const cell of places) {
    const { status, body } = await redeem(discount, cell);
    assert.deepEqual([status, body.reason], [409, 'discount_not_applicable'], JSON.stringify(body));
    assert.match(JSON.stringify(body), /"discountCode".*redeemed as often as it may be/);
  }
  assert.equal(await redeemedIn(discount), count);
}

async function assertSound(): Promise<void> {
  const report = await printed(async () =>
    assert.equal(await check(readConfig(cells.settings), { json: true, full: true }), true),
  );
  assert.deepEqual(report.broken, []);
}

test('customers of all cells redeem a discount as often as it may be', async () => {
  const discount = await newDiscount({ maximumRedemptions: 5 });
  for (const cell of [...places, 'cell_a', 'cell_b']) assert.equal((await redeem(discount, cell)).status, 200);
  await assertUsedUp(discount, 5);
  assert.equal((await ok('GET', `/discounts?code=${discount.code}`)).data[0].redemptionCount, 5);
});

test('of many who want the last one in all cells, one gets it', async () => {
  for (const maximumRedemptions of [1, 2]) {
    const discount = await newDiscount({ maximumRedemptions });
    const orders = await ordersIn(discount, [...places, ...places, ...places]);
    const answers = await Promise.all(orders.map((body) => cells.ask('POST', '/subscriptions', body)));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(maximumRedemptions).fill(200), ...Array(9 - maximumRedemptions).fill(409)]);
    await assertUsedUp(discount, maximumRedemptions);
  }
});

test('a dry run redeems nothing, and leaves the last one to others', async () => {
  for (const [asking, redeeming] of [
    ['cell_a', 'cell_b'],
    ['cell_b', null],
    [null, 'cell_a'],
  ] as const) {
    const discount = await newDiscount({ maximumRedemptions: 1 });
    const dryRun = '/subscriptions?dryRun=true';
    for (let n = 0; n < 2; n++) await ok('POST', dryRun, await order(discount, asking));
    assert.equal(await redeemedIn(discount), 0);
    assert.equal((await redeem(discount, redeeming)).status, 200);
    const late = await cells.ask('POST', dryRun, await order(discount, asking));
    assert.deepEqual([late.status, late.body.reason], [409, 'discount_not_applicable']);
    await assertUsedUp(discount, 1);
  }
});

test('a redemption that a kill interrupts is redeemed by the next customer of any cell, and once', async () => {
  // The request waits for the first table when home has given it one more, and for the second when its cell knows.
  for (const [table, next] of [
    ['slots_allowances', 'cell_a'],
    ['slots_allowances', 'cell_b'],
    ['discount_redemptions', null],
  ] as const) {
    const discount = await newDiscount({ maximumRedemptions: 1 });
    const body = await order(discount, 'cell_a');
    await cells.admin.query(`begin; lock table cell_a.${table} in share mode`);
    const asked = cells.ask('POST', '/subscriptions', body).catch(() => null);
    await until('home has given it', async () => {
      const { rows } = await cells.admin.query('select allowed from home.slots_allowances where discount_id = $1', [
        discount.id,
      ]);
      return rows[0]?.allowed === '1';
    });
    await cells.startAgain();
    await cells.admin.query('rollback');
    assert.equal(await asked, null);
    assert.equal(await redeemedIn(discount), 0);
    assert.equal((await redeem(discount, next)).status, 200, `${table}, ${next}`);
    await assertUsedUp(discount, 1);
  }
  await assertSound();
});

test('a maximum that a discount gets counts what all cells have redeemed, and is not below it', async () => {
  const discount = await newDiscount();
  const change = (maximumRedemptions: number | null) =>
    cells.ask('PUT', `/discounts/${discount.id}`, { discount: { maximumRedemptions } });
  for (const cell of places) assert.equal((await redeem(discount, cell)).status, 200);
  const lower = await change(2);
  assert.deepEqual([lower.status, lower.body.reason], [409, 'discount_maximum_too_low']);
  assert.equal((await redeem(discount, 'cell_a')).status, 200);
  assert.equal((await change(3)).status, 409);
  assert.equal((await change(4)).status, 200);
  await assertUsedUp(discount, 4);
  assert.equal((await change(5)).status, 200);
  assert.equal((await redeem(discount, 'cell_b')).status, 200);
  await assertUsedUp(discount, 5);
  assert.equal((await change(null)).status, 200);
  for (const cell of places) assert.equal((await redeem(discount, cell)).status, 200);
  assert.equal((await change(7)).status, 409);
  assert.equal((await change(8)).status, 200);
  await assertUsedUp(discount, 8);
});

test('a maximum that meets redemptions in other cells is not below them', async () => {
  for (let round = 0; round < 3; round++) {
    const discount = await newDiscount();
    const orders = await ordersIn(discount, [...places, ...places]);
    const [changed, ...answers] = await Promise.all([
      cells.ask('PUT', `/discounts/${discount.id}`, { discount: { maximumRedemptions: 3 } }),
      ...orders.map((body) => cells.ask('POST', '/subscriptions', body)),
    ]);
    const redeemed = answers.filter(({ status }) => status === 200).length;
    for (const { status, body } of answers) assert([200, 409].includes(status), JSON.stringify(body));
    assert.equal(await redeemedIn(discount), redeemed);
    assert(
      changed?.status === 200 ? redeemed === 3 : changed?.status === 409 && redeemed === 6,
      `${redeemed} redeemed, and ${JSON.stringify(changed)}`,
    );
  }
  await assertSound();
});

test('other terms of a discount are those of each cell when they have changed', async () => {
  const discount = await newDiscount();
  await ok('PUT', `/discounts/${discount.id}`, { discount: { amount: 20 } });
  for (const cell of places) {
    const { body } = await redeem(discount, cell);
    const { data } = await ok('GET', `/subscriptions/${body.subscription.id}/discounts`);
    assert.equal(data[0].amount, 20);
  }
  await ok('PUT', `/discounts/${discount.id}`, { discount: { active: false } });
  for (const cell of places) assert.equal((await redeem(discount, cell)).status, 400);
});

test('a discount with a maximum and the invoices of a series move with their customers', async () => {
  await ok('PUT', '/settings', { settings: { numbering: { invoices: { per: 'environment' } } } });
  const full = await newDiscount({ maximumRedemptions: 3 });
  const open = await newDiscount({ maximumRedemptions: 4 });
  // Slots move in the order of their codes.
  for (const cell of places) {
    const { rows } = await cells.admin.query(
      `select min(home.slot_code(n)) as slot from generate_series(1, 3843) n left join home.slots s on s.code = home.slot_code(n)
        where s.cell is not distinct from $1`,
      [cell],
    );
    for (const discount of [full, open]) {
      const customerExternalId = await cells.newCustomer(cell, rows[0].slot);
      const body = { customerExternalId, priceSlug: 'monthly', discountCode: discount.code, doNotCharge: true };
      assert.equal((await cells.ask('POST', '/subscriptions', body)).status, 200);
      const lines = [{ description: 'Work', unitAmount: 1000 }];
      const { invoice } = await ok('POST', '/invoices', { invoice: { customerExternalId, lines } });
      await ok('POST', `/invoices/${invoice.id}/finalize`);
    }
  }
  const moves: [from: string, to: string, slots: number][] = [
    ['cell_a', 'cell_b', 1281],
    ['home', 'cell_a', 1280],
    ['cell_b', 'home', 1284],
  ];
  for (const [from, to, slots] of moves) {
    const args = { slots: String(slots), json: true };
    const { moved, staying } = await printed(() => moveSlots(readConfig(cells.settings), from, to, args));
    assert.deepEqual([moved > 0, staying], [true, []]);
  }
  await assertUsedUp(full, 3);
  assert.equal((await redeem(open, 'cell_a')).status, 200);
  await assertUsedUp(open, 4);
  await assertSound();
  // A document that moves would be missed or met twice.
  const isMoving = `insert into home.slots_moving (code, source, target) values ('zz', null, 'cell_a')`;
  await cells.admin.query(`select pg_advisory_lock(${advisoryLocks.mover}, hashtext('home')); ${isMoving}`);
  const { invariants } = await printed(async () =>
    assert.equal(await check(readConfig(cells.settings), { json: true }), true),
  );
  assert(!invariants.some(({ name }: Body) => name === 'seriesOfCellsHaveNoGap'));
  await cells.admin.query('delete from home.slots_moving; select pg_advisory_unlock_all()');
  for (const [corruption, name, cell] of [
    ['update home.number_series set counted = 3', 'seriesOfCellsHaveNoGap', undefined],
    [
      'update home.number_series set counted = 2; update cell_a.slots_allowances set allowed = 0',
      'discountsKeepTheirMaximum',
      'cell_a',
    ],
    ['update cell_a.slots_allowances set allowed = 1000', 'homeCountsAllowances', 'cell_a'],
  ] as const) {
    await cells.admin.query(corruption);
    const report = await printed(async () =>
      assert.equal(await check(readConfig(cells.settings), { json: true }), false),
    );
    assert.deepEqual(
      report.broken.map((broken: Body) => [broken.name, broken.cell]),
      [[name, cell]],
    );
  }
});
