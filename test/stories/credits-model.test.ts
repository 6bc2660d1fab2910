import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { instant } from '../../src/kernel/calendar.ts';
import {
  type Account,
  CreditsOracle,
  dayMs,
  keyOfLimit,
  type Limit,
  lowBelow,
  type Pack,
  packs,
  partsOfUnit,
  type TopUp,
  type Use,
} from '../support/credits-oracle.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCard, newCustomer, plan, toggle } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

// Pools, meters, plans, grants, purchases, holds, limits and top-ups of one customer in any order, beside plain sums.

const app = await startTestApp();
const start = instant('2026-06-01T09:00');

const ofPool = (slug: string, amount: number, more: object = {}) => {
  const { usageMeterSlug: _, ...grant } = credits(slug, amount, '');
  return { ...grant, creditPoolSlug: 'ai', ...more };
};
const eachWeek = { renewalFrequency: 'every_interval', grantInterval: { unit: 'week', count: 1 } };
const once = { renewalFrequency: 'once' };
const oncePaid = { type: 'single_payment', intervalUnit: undefined, intervalCount: undefined };
const cap = { ...toggle('cap'), type: 'spend_limit', amount: 90 };
const setup = {
  name: 'AI',
  isDefault: true,
  features: [
    ofPool('free-ai', 10),
    credits('free-tokens', 20, 'tokens'),
    ofPool('start-ai', 60, { rolloverMaximum: 20, rolloverPeriods: 1 }),
    credits('start-tokens', 40, 'tokens'),
    { ...cap, spendLimit: { usageMeterSlug: 'tokens', period: 'month' } },
    ofPool('pack', 50, once),
    ofPool('weekly', 20, { ...eachWeek, rolloverMaximum: 8, rolloverPeriods: 1 }),
    credits('calls', 40, 'tokens', once),
    { ...ofPool('prepaid', 80, once), creditPoolSlug: 'cash', amount: 2 },
  ],
  products: [
    plan('free', 0, ['free-ai', 'free-tokens']),
    plan('start', 2000, ['start-ai', 'start-tokens', 'cap']),
    ...Object.entries(packs).map(([slug, { cents }]) => plan(slug, cents, [slug], { ...oncePaid, slug })),
  ],
  usageMeters: [
    meter(
      'tokens',
      'Tokens',
      { slug: 'token', unitPrice: 50, usageEventsPerUnit: 100 },
      { lowBalanceThreshold: lowBelow.tokens },
    ),
    meter('images', 'Images', { slug: 'image', unitPrice: 3, usageEventsPerUnit: 1 }),
    meter('minutes', 'Minutes', {
      slug: 'minute',
      unitPrice: 0,
      pricing: {
        model: 'graduated',
        tiers: [
          { upTo: 10, unitAmount: '3' },
          { upTo: null, unitAmount: '2' },
        ],
      },
    }),
  ],
  creditPools: [
    {
      slug: 'ai',
      name: 'AI credits',
      unit: 'credit',
      lowBalanceThreshold: String(lowBelow.ai / partsOfUnit.ai),
      rates: [
        { usageMeterSlug: 'tokens', per: 3, cost: '1' },
        { usageMeterSlug: 'images', per: 1, cost: '0.7' },
      ],
    },
    {
      slug: 'cash',
      name: 'Prepaid',
      unit: 'USD',
      drawAtPrice: true,
      lowBalanceThreshold: String(lowBelow.cash / partsOfUnit.cash),
    },
  ],
};

const label = fc.constantFrom(null, null, 'agent');
const use = fc.record({
  meter: fc.constantFrom('tokens' as const, 'tokens' as const, 'images' as const, 'minutes' as const),
  units: fc.integer({ min: 1, max: 60 }),
  label,
});
const limit = fc.record({
  subject: fc.constantFrom(null, 'tokens' as const, 'images' as const, 'ai' as const, 'cash' as const),
  label,
  period: fc.constantFrom('day' as const, 'month' as const, 'billing_period' as const),
  unit: fc.constantFrom('units' as const, 'money' as const),
  amount: fc.integer({ min: 1, max: 120 }),
  action: fc.constantFrom('block' as const, 'block' as const, 'notify' as const),
});
// What is drawn from a pool has no other unit.
const limits = fc
  .array(limit, { maxLength: 3 })
  .map((all) => all.map((each) => (isPool(each.subject) ? { ...each, unit: 'units' as const } : each)))
  .map((all) => [...new Map(all.map((each) => [keyOfLimit(each), each])).values()]);
const topUp = fc.record({
  pack: fc.constantFrom('pack' as const, 'pack' as const, 'calls' as const, 'prepaid' as const),
  below: fc.integer({ min: 1, max: 30 }),
  above: fc.integer({ min: 0, max: 90 }),
  quantity: fc.option(fc.integer({ min: 1, max: 2 })),
  mostCents: fc.constantFrom(700, 2500, 100_000),
});
const card = fc.constantFrom('pm_card_visa', 'pm_card_chargeCustomerFail', 'pm_card_authenticationRequired');
const chosen = fc.nat({ max: 20 });
const act = <Name extends string>(name: Name) => fc.constant(name);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ act: act('consume'), use }) },
  { weight: 5, arbitrary: fc.record({ act: act('useUp'), use, more: fc.constantFrom(0, 0, 1) }) },
  { weight: 4, arbitrary: fc.record({ act: act('record'), use }) },
  { weight: 4, arbitrary: fc.record({ act: act('hold'), use, days: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 2, arbitrary: fc.record({ act: act('settle'), part: fc.integer({ min: 0, max: 100 }) }) },
  { weight: 1, arbitrary: fc.record({ act: act('release') }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: act('give'),
      account: fc.constantFrom('ai' as const, 'cash' as const, 'tokens' as const),
      amount: fc.integer({ min: 1, max: 30 }),
      priority: fc.constantFrom(50, 100, 100, 150),
      days: fc.option(fc.integer({ min: 1, max: 20 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      act: act('buy'),
      pack: fc.constantFrom<Pack>('pack', 'weekly', 'weekly', 'calls', 'prepaid'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('refund' as const, 'takeBack' as const), chosen }) },
  { weight: 1, arbitrary: fc.record({ act: act('change') }) },
  { weight: 3, arbitrary: fc.record({ act: act('wait'), hours: fc.integer({ min: 1, max: 500 }) }) },
  { weight: 3, arbitrary: fc.record({ act: act('limit'), limits }) },
  { weight: 3, arbitrary: fc.record({ act: act('topUp'), topUp: fc.option(topUp, { freq: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ act: act('card'), card }) },
);
type Step = typeof step extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const isPool = (subject: Limit['subject'] | Account) => subject === 'ai' || subject === 'cash';
const parts = (account: Account, amount: string | number) => Math.round(Number(amount) * partsOfUnit[account]);

const tokens = (units: number) => ({ meter: 'tokens' as const, units, label: null });
const minutes = (units: number) => ({ meter: 'minutes' as const, units, label: null });

/** Steps that each run takes. */
const endsByTime: Step[] = [
  { act: 'topUp', topUp: { pack: 'pack', below: 12, above: 8, quantity: null, mostCents: 100_000 } },
  { act: 'give', account: 'tokens', amount: 5, priority: 50, days: 3 },
  { act: 'give', account: 'ai', amount: 25, priority: 150, days: 2 },
  { act: 'useUp', use: tokens(1), more: 1 },
  { act: 'record', use: { meter: 'images', units: 40, label: null } },
  { act: 'wait', hours: 80 },
  { act: 'give', account: 'ai', amount: 9, priority: 150, days: 1 },
  { act: 'refund', chosen: 0 },
  { act: 'wait', hours: 30 },
  { act: 'record', use: tokens(3) },
  { act: 'topUp', topUp: { pack: 'calls', below: 30, above: 20, quantity: null, mostCents: 100_000 } },
  { act: 'give', account: 'tokens', amount: 30, priority: 50, days: 2 },
  { act: 'record', use: tokens(20) },
  { act: 'wait', hours: 50 },
  { act: 'change' },
  { act: 'change' },
];

const holdsAndRefills: Step[] = [
  { act: 'hold', use: tokens(25), days: 2 },
  { act: 'release' },
  { act: 'hold', use: tokens(30), days: 2 },
  { act: 'settle', part: 50 },
  { act: 'limit', limits: [{ subject: 'ai', label: null, period: 'day', unit: 'units', amount: 2, action: 'block' }] },
  { act: 'useUp', use: tokens(1), more: 1 },
  { act: 'useUp', use: tokens(1), more: 0 },
  { act: 'limit', limits: [] },
  { act: 'topUp', topUp: { pack: 'pack', below: 3, above: 60, quantity: null, mostCents: 2500 } },
  { act: 'useUp', use: tokens(1), more: 0 },
  { act: 'change' },
];

const drawsAtThePrice: Step[] = [
  { act: 'buy', pack: 'prepaid' },
  { act: 'record', use: minutes(4) },
  { act: 'hold', use: minutes(9), days: 2 },
  { act: 'consume', use: minutes(7) },
  { act: 'settle', part: 60 },
  {
    act: 'limit',
    limits: [{ subject: 'cash', label: null, period: 'day', unit: 'units', amount: 1, action: 'block' }],
  },
  { act: 'useUp', use: minutes(1), more: 1 },
  { act: 'useUp', use: minutes(1), more: 0 },
  { act: 'limit', limits: [] },
  { act: 'topUp', topUp: { pack: 'prepaid', below: 1, above: 1, quantity: null, mostCents: 700 } },
  { act: 'change' },
  { act: 'record', use: minutes(55) },
  { act: 'refund', chosen: 0 },
  { act: 'record', use: minutes(60) },
  { act: 'wait', hours: 800 },
  { act: 'record', use: minutes(30) },
];

/** A customer of a new seller, and what it does in the service and in the oracle at once. */
async function newRun() {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  await caller.moveTo(start);
  await caller.post('/pricing-models/setup', setup);
  const { externalId, customerId } = await newCustomer(caller, 'ada', { token: 'pm_card_visa' });
  const { data: pools } = await caller.get('/credit-pools');
  const poolIds = new Map<string, string>(pools.map(({ slug, id }: Body) => [slug, id]));
  const oracle = new CreditsOracle(start);
  let made = 0;
  const request = (method: string, path: string, body: object) =>
    app.request(method, path, body, { key: organization.testKey });
  const sent = ({ meter: usageMeterSlug, units: amount, label: of }: Use) => {
    made += 1;
    return { customerExternalId: externalId, usageMeterSlug, amount, label: of, transactionId: `t${made}` };
  };
  const path = `/customers/${externalId}/spend-controls`;
  const paidId = async () => (await caller.get(`/customers/${externalId}/billing`)).currentSubscription.id;
  async function work(): Promise<void> {
    await app.runJobs({ all: true });
    oracle.lookAtBalance();
  }
  async function useCard(token: string): Promise<void> {
    await newCard(caller, customerId, token, { default: true });
    oracle.hasGoodCard = token === 'pm_card_visa';
  }
  /** Plans are paid. */
  const useGoodCard = async () => {
    if (!oracle.hasGoodCard) await useCard('pm_card_visa');
  };
  async function setTopUp(wanted: (Omit<TopUp, 'upTo'> & { readonly above: number }) | null): Promise<void> {
    if (wanted === null) {
      await caller.put(path, { spendControls: { autoTopUp: null } });
      oracle.setTopUp(null);
      return;
    }
    const { pack: priceSlug, below, above, quantity, mostCents } = wanted;
    const size = quantity === null ? { upTo: below + above } : { quantity };
    const autoTopUp = { priceSlug, below, ...size, maximumAmountPerMonth: mostCents };
    await caller.put(path, { spendControls: { autoTopUp } });
    const per = partsOfUnit[packs[priceSlug].account];
    const upTo = quantity === null ? (below + above) * per : null;
    oracle.setTopUp({ pack: priceSlug, below: below * per, upTo, quantity, mostCents });
  }
  async function take(each: Step): Promise<void> {
    switch (each.act) {
      case 'useUp': {
        // As much as limits and credits leave, or one more.
        let units = 1;
        while (oracle.canUse({ ...each.use, units: units + 1 })) units += 1;
        return take({ act: 'consume', use: { ...each.use, units: units + each.more } });
      }
      case 'consume': {
        const isAllowed = oracle.canUse(each.use);
        const { status } = await request('POST', '/usage-events/consume', { usageEvent: sent(each.use) });
        assert.equal(status, isAllowed ? 200 : 402);
        if (isAllowed) oracle.use(each.use);
        return;
      }
      case 'record': {
        const { usageEvent } = await caller.post('/usage-events', { usageEvent: sent(each.use) });
        assert.equal(usageEvent.beyondLimit ?? false, oracle.use(each.use));
        return;
      }
      case 'hold': {
        const isAllowed = oracle.canUse(each.use);
        const expiresAt = oracle.now + each.days * dayMs;
        const { transactionId: _, ...hold } = sent(each.use);
        const { status, body } = await request('POST', '/holds', { hold: { ...hold, expiresAt } });
        assert.equal(status, isAllowed ? 200 : 402);
        if (isAllowed) oracle.hold(body.hold.id, each.use, expiresAt);
        return;
      }
      case 'settle':
      case 'release': {
        const [held] = oracle.holds;
        if (held === undefined) return;
        const [id, { units, until }] = held;
        if (each.act === 'release' || until <= oracle.now) {
          await caller.post(`/holds/${id}/release`);
          oracle.holds.delete(id);
          return;
        }
        const amount = Math.max(1, Math.round((units * each.part) / 100));
        const { status, body } = await request('POST', `/holds/${id}/settle`, { amount });
        const isBeyond = oracle.settle(id, amount);
        assert.deepEqual([status < 300, body.usageEvent?.beyondLimit ?? false], [isBeyond !== null, isBeyond ?? false]);
        return;
      }
      case 'give': {
        const { account, amount, priority } = each;
        const expiresAt = each.days === null ? null : oracle.now + each.days * dayMs;
        const subject = account === 'tokens' ? { usageMeterSlug: account } : { creditPoolSlug: account };
        const usageCredit = { customerExternalId: externalId, ...subject, amount, priority, expiresAt };
        await caller.post('/usage-credits', { usageCredit });
        oracle.give(account, { kind: 'gift', priority, expiresAt }, amount * partsOfUnit[account]);
        return;
      }
      case 'buy': {
        const purchase = { customerId, priceSlug: each.pack, quantity: 1 };
        const { status } = await request('POST', '/purchases', { purchase });
        assert.equal(status < 300, oracle.buy(each.pack, 1));
        return;
      }
      case 'refund': {
        const paid = oracle.purchases.filter(({ status }) => status === 'paid');
        const purchase = paid[each.chosen % paid.length];
        if (purchase === undefined) return;
        const { data } = await caller.get(`/payments?customerId=${customerId}&limit=100`);
        const ofPacks = data.filter(({ purchaseId, status }: Body) => purchaseId !== null && status === 'succeeded');
        const payment = ofPacks[paid.indexOf(purchase)];
        await caller.post(`/payments/${payment.id}/refund`);
        oracle.refund(purchase);
        return;
      }
      case 'change':
        await useGoodCard();
        if (oracle.plan === 'free') await caller.post('/subscriptions', { customerId, priceSlug: 'start-monthly' });
        else await caller.post(`/subscriptions/${await paidId()}/cancel`, { cancellation: { timing: 'immediately' } });
        oracle.changePlan();
        return;
      case 'wait': {
        const target = oracle.now + each.hours * 3_600_000;
        while (oracle.now < target) {
          const stop = oracle.nextStop(target);
          if (stop === oracle.periodEnd) await useGoodCard();
          await caller.moveTo(stop);
          oracle.moveTo(stop);
          await work();
        }
        return;
      }
      case 'limit': {
        const body = each.limits.map(({ subject, ...terms }) => ({
          ...terms,
          thresholds: [50],
          ...(subject === null ? {} : isPool(subject) ? { creditPoolSlug: subject } : { usageMeterSlug: subject }),
        }));
        await caller.put(path, { spendControls: { limits: body } });
        oracle.setLimits(
          each.limits.map((one) => ({
            ...one,
            amount: one.amount * (isPool(one.subject) ? partsOfUnit[one.subject] : 1),
          })),
        );
        return;
      }
      case 'topUp':
        return setTopUp(each.topUp);
      case 'card':
        return useCard(each.card);
      case 'takeBack': {
        const { data } = await caller.get(`/usage-credits?customerExternalId=${externalId}&limit=100`);
        const left = data.filter(
          ({ creditPoolId, remainingAmount }: Body) => creditPoolId && Number(remainingAmount) > 0,
        );
        const credit = left[each.chosen % left.length];
        if (credit === undefined) return;
        const { status } = await request('POST', `/usage-credits/${credit.id}/take-back`, {});
        const pool = credit.creditPoolId === poolIds.get('ai') ? 'ai' : 'cash';
        assert.equal(status < 300, oracle.takeBack(pool, parts(pool, credit.remainingAmount), credit.expiresAt));
        return;
      }
    }
  }
  async function compare(): Promise<void> {
    const [{ creditBalances }, asOfNow, { spendControls }] = await Promise.all([
      caller.get(`/customers/${externalId}/credit-balances`),
      caller.get(`/customers/${externalId}/credit-balances?asOf=${oracle.now}`),
      caller.get(path),
    ]);
    assert.deepEqual(creditBalances, asOfNow.creditBalances, 'read in another way, the balances are the same');
    const shown = Object.fromEntries(
      creditBalances.map(({ slug, availableBalance, granted, paid, held }: Body) => {
        const of = (amount: string | number) => (isPool(slug) ? parts(slug, amount) : Number(amount));
        return [slug, { available: of(availableBalance), granted: of(granted), paid: of(paid), held: of(held) }];
      }),
    );
    assert.deepEqual(shown, {
      ai: oracle.shown('ai'),
      cash: oracle.shown('cash'),
      tokens: oracle.shown('tokens'),
      images: { available: 0 - oracle.owed.images, granted: 0, paid: 0, held: 0 },
      minutes: { available: 0 - oracle.owed.minutes, granted: 0, paid: 0, held: 0 },
    });
    const { limits: counted, autoTopUp } = spendControls;
    const used = counted.map((each: Body) => {
      const subject: Limit['subject'] = each.creditPoolSlug ?? each.usageMeterSlug ?? null;
      const amount = each.counters[0]?.usedAmount ?? 0;
      return [keyOfLimit({ ...each, subject } as Limit), isPool(subject) ? parts(subject, amount) : amount];
    });
    const expected = oracle.acting().map((each) => [keyOfLimit(each), oracle.usedOf(each)]);
    assert.deepEqual(Object.fromEntries(used), Object.fromEntries(expected));
    assert.deepEqual(
      autoTopUp && [autoTopUp.failures, autoTopUp.stoppedAt !== null, autoTopUp.amountThisMonth],
      oracle.topUp && [oracle.failures, oracle.isStopped, oracle.monthSpent],
    );
  }
  async function end(): Promise<void> {
    const { data } = await caller.get(`/purchases?customerId=${customerId}&limit=100`);
    const bought = data
      .filter(({ priceId }: Body) => priceId !== null)
      .map(({ status, quantity }: Body) => `${status} ${quantity}`);
    assert.deepEqual(
      bought.toSorted(),
      oracle.purchases.map(({ status, quantity }) => `${status} ${quantity}`).toSorted(),
    );
    const { total } = await caller.get('/events?type=usage_balance.low&limit=1');
    assert.equal(total, oracle.timesLow);
  }
  return {
    async do(each: Step): Promise<void> {
      await take(each);
      await work();
      await compare();
    },
    end,
  };
}

test('whatever is granted, bought, held, used, limited and topped up on whichever plan, plain sums say the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 14, maxLength: 30 }), async (steps) => {
      const run = await newRun();
      for (const each of steps) await run.do(each);
      await run.end();
    }),
    { numRuns: 4, endOnFailure: true, examples: [[holdsAndRefills], [endsByTime], [drawsAtThePrice]] },
  );
  await assertSound(app);
});
