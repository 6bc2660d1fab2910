import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { doDueWorkOfCells } from '../support/renewing.ts';
import { meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));

// The first 1,000 calls cost 0.10 each, and more of them 0.05. So 1,000 are worth 100.00.
const pricing = {
  model: 'graduated',
  tiers: [
    { upTo: 1000, unitAmount: '10' },
    { upTo: null, unitAmount: '5' },
  ],
};
const worth = (calls: number) => Math.min(calls, 1000) * 10 + Math.max(calls - 1000, 0) * 5;
const threshold = { billingThresholdAmount: 10_000 };

/** An organization with a plan of 30.00 a month whose usage is billed, on 1 April. */
async function openShop() {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  await by.moveTo(instant('2026-04-01'));
  const least = { minimumCommitment: 20_000 };
  await by.post('/pricing-models/setup', {
    name: 'Calls',
    isDefault: true,
    features: [],
    products: [
      plan('free', 0),
      plan('pro', 3000),
      plan('least', 3000, [], least),
      plan('later', 3000, [], { billingTiming: 'in_arrears' }),
      plan('trial', 3000, [], { trialPeriodDays: 14 }),
    ],
    usageMeters: [meter('calls', 'Calls', { slug: 'calls', unitPrice: 0, pricing })],
    resources: [],
  });
  let count = 0;
  const join = async (more: Body = {}, token: string | null = 'pm_card_visa') => {
    count += 1;
    const { customerId } = await newCustomer(by, `caller ${count}`, { token });
    const given = { customerId, priceSlug: 'pro-monthly', ...more };
    const id = (await by.post('/subscriptions', { ...given })).subscription.id as string;
    const use = (amount: number) => {
      count += 1;
      const usageEvent = { subscriptionId: id, priceSlug: 'calls', amount, transactionId: `use ${count}` };
      return by.post('/usage-events', { usageEvent });
    };
    /** Status and amount of usage of each invoice that bills some, oldest first. */
    const bills = async (): Promise<[string, number][]> => {
      const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
      const { data: lines } = await by.get('/invoice-line-items?type=usage&limit=100');
      return data
        .toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1))
        .flatMap((invoice: Body) => {
          const own = lines.filter(({ invoiceId }: Body) => invoiceId === invoice.id);
          return own.length === 0
            ? []
            : [[invoice.status, own.reduce((sum: number, { amount }: Body) => sum + amount, 0)]];
        });
    };
    const status = async () => (await by.get(`/subscriptions/${id}`)).subscription.status;
    return { id, customerId, use, bills, status };
  };
  const work = () => doDueWorkOfCells(app, seller.testEnvironmentId, { forMs: 60_000 });
  return { by, seller, join, work, day: (at: string) => by.moveTo(instant(at)) };
}

test('a billing threshold', async (t) => {
  const { by, seller, join, work, day } = await openShop();

  await t.test(
    'is tried again where the first charge of a plan in arrears fails, because the usage was used',
    async () => {
      const terms = { ...threshold, priceSlug: 'later-monthly' };
      const { use, bills, status } = await join(terms, 'pm_card_chargeCustomerFail');
      await use(1000);
      await work();
      assert.deepEqual([await status(), await bills()], ['past_due', [['open', 10_000]]]);
    },
  );

  await t.test('invoices usage when it is worth 100.00, and all parts add up to billing it at once', async () => {
    const [{ id, use, bills }, whole] = [await join(threshold), await join()];
    await use(900);
    await work();
    assert.deepEqual(await bills(), []);
    await use(200);
    await work();
    assert.deepEqual(await bills(), [['paid', worth(1100)]]);
    await use(1000);
    await whole.use(2100);
    await work();
    const { invoiceLineItems } = await by.get(`/invoices/upcoming?subscriptionId=${id}`);
    assert.deepEqual(
      invoiceLineItems.map(({ amount }: Body) => amount),
      [3000, 5000],
    );
    await day('2026-05-01');
    assert.deepEqual(await bills(), [
      ['paid', 10_500],
      ['paid', 5000],
    ]);
    assert.deepEqual(await whole.bills(), [['paid', worth(2100)]]);
    assert.equal(worth(2100), 10_500 + 5000);
    // The next period begins with the first tier.
    await use(1000);
    await work();
    assert.deepEqual((await bills()).at(-1), ['paid', 10_000]);
  });

  await t.test('is a setting that a subscription has its own value for, and shows', async () => {
    const [plain, never, small] = [
      await join(),
      await join({ billingThresholdAmount: 0 }),
      await join({ billingThresholdAmount: 1000 }),
    ];
    for (const { use } of [plain, never, small]) await use(1000);
    await work();
    assert.deepEqual([await plain.bills(), await never.bills(), await small.bills()], [[], [], [['paid', 10_000]]]);
    await by.put('/settings', { settings: threshold });
    assert.equal((await by.get('/settings')).settings.billingThresholdAmount, 10_000);
    await work();
    assert.deepEqual([await plain.bills(), await never.bills()], [[['paid', 10_000]], []]);
    // Usage is known to be watched at once, although it was recorded before the setting.
    await plain.use(2000);
    await never.use(2000);
    await work();
    assert.equal((await plain.bills()).length, 2);
    const { subscription } = await by.put(`/subscriptions/${never.id}`, {
      subscription: { billingThresholdAmount: null },
    });
    assert.equal(subscription.billingThresholdAmount, null);
    await work();
    assert.deepEqual(await never.bills(), [['paid', worth(3000)]]);
    await by.put('/settings', { settings: { billingThresholdAmount: null } });
    await plain.use(3000);
    await work();
    assert.equal((await plain.bills()).length, 2);
    for (const [path, body, field] of [
      ['/settings', { settings: { billingThresholdAmount: 0 } }, 'settings.billingThresholdAmount'],
      [
        `/subscriptions/${never.id}`,
        { subscription: { billingThresholdAmount: -1 } },
        'subscription.billingThresholdAmount',
      ],
    ] as const) {
      const answer = await app.request('PUT', path, body, { key: seller.testKey });
      assert.deepEqual([answer.status, answer.body.issues?.[0]?.path.join('.')], [400, field]);
    }
  });

  await t.test('waits for the payment of its last invoice, which is collected as any other', async () => {
    const { id, customerId, use, bills, status } = await join(threshold);
    const bad = await newCard(by, customerId, 'pm_card_chargeCustomerFail');
    await by.put(`/subscriptions/${id}`, { subscription: { defaultPaymentMethodId: bad } });
    await use(1000);
    await work();
    assert.deepEqual([await bills(), await status()], [[['open', 10_000]], 'past_due']);
    await use(4000);
    await work();
    await day('2026-05-05');
    assert.deepEqual([await bills(), await status()], [[['open', 10_000]], 'past_due']);
    const good = await newCard(by, customerId, 'pm_card_visa');
    await by.put(`/subscriptions/${id}`, { subscription: { defaultPaymentMethodId: good } });
    await by.post(`/subscriptions/${id}/retry-payment`);
    await work();
    assert.deepEqual(
      [await bills(), await status()],
      [
        [
          ['paid', 10_000],
          ['paid', 20_000],
        ],
        'active',
      ],
    );
  });

  await t.test('leaves a trial, a pause and an uncharged subscription alone', async () => {
    const [trial, free] = [
      await join({ priceSlug: 'trial-monthly', ...threshold }),
      await join({ doNotCharge: true, ...threshold }),
    ];
    const paused = await join(threshold);
    await day('2026-05-06');
    await by.post(`/subscriptions/${paused.id}/pause`);
    for (const { use } of [trial, free, paused]) await use(1000);
    await work();
    assert.deepEqual([await trial.bills(), await free.bills(), await paused.bills()], [[], [], []]);
    await day('2026-05-07');
    await by.post(`/subscriptions/${paused.id}/resume`);
    assert.deepEqual(await paused.bills(), [['paid', 10_000]]);
    await paused.use(1000);
    await by.post(`/subscriptions/${paused.id}/cancel`, { cancellation: { timing: 'immediately' } });
    await work();
    assert.equal((await paused.bills()).length, 2);
  });

  await t.test('has an invoice under net terms too, whose voided usage is invoiced again', async () => {
    await by.put('/settings', { settings: { netTermsDays: 30 } });
    const { id, use, bills, status } = await join(threshold, null);
    await use(1000);
    await work();
    await use(2000);
    await work();
    assert.deepEqual([await bills(), await status()], [[['open', 10_000]], 'active']);
    const { data } = await by.get(`/invoices?subscriptionId=${id}&status=open`);
    const own = data.find(({ total }: Body) => total === 10_000);
    await by.post(`/invoices/${own.id}/void`);
    await work();
    assert.deepEqual(await bills(), [
      ['void', 10_000],
      ['open', worth(3000)],
    ]);
    await by.put('/settings', { settings: { netTermsDays: 0 } });
  });

  await t.test('counts towards a commitment of 200.00: of 30.00, 100.00 and 25.00, 45.00 are missing', async () => {
    const { id, use } = await join({ priceSlug: 'least-monthly', ...threshold });
    await use(1000);
    await work();
    await use(500);
    const { invoiceLineItems } = await by.get(`/invoices/upcoming?subscriptionId=${id}`);
    assert.deepEqual(
      invoiceLineItems.map(({ amount }: Body) => amount),
      [3000, 2500, 4500],
    );
  });
});

test('usage that waits is invoiced as of its instant, whether the clock goes step by step or jumps', async () => {
  const { join, work, day } = await openShop();
  const [stepped, jumped] = [await join(threshold), await join(threshold)];
  await day('2026-04-10');
  await stepped.use(1200);
  await work();
  await jumped.use(1200);
  for (const at of ['2026-05-01', '2026-06-01']) await day(at);
  const dated = async ({ id }: { id: string }) =>
    app.owner
      .selectFrom('invoices')
      .select(['reason', 'invoiceDate', 'total', 'status'])
      .where('subscriptionId', '=', id)
      .orderBy('id')
      .execute();
  assert.deepEqual(await dated(jumped), await dated(stepped));
  assert.deepEqual(
    (await dated(jumped)).map(({ reason, total }) => [reason, total]),
    [
      ['subscription_start', 3000n],
      ['usage_threshold', 11_000n],
      ['renewal', 3000n],
      ['renewal', 3000n],
    ],
  );
});

test('events that cross the line at once make one invoice, and with several workers at work every call is billed once', async () => {
  const { join, work, day } = await openShop();
  const crossing = await join(threshold);
  await crossing.use(900);
  await Promise.all(Array.from({ length: 10 }, () => crossing.use(50)));
  await Promise.all([work(), work(), work()]);
  assert.deepEqual(await crossing.bills(), [['paid', worth(1400)]]);
  const busy = await join({ billingThresholdAmount: 1000 });
  await Promise.all([
    ...Array.from({ length: 40 }, () => busy.use(50)),
    ...Array.from({ length: 6 }, async (_, index) => {
      for (let round = 0; round < 3 + index; round++) await work();
    }),
  ]);
  await work();
  const open = await app.owner
    .selectFrom('invoices')
    .select('id')
    .where('subscriptionId', '=', busy.id)
    .where('isOpenThreshold', '=', true)
    .execute();
  assert.deepEqual(open, []);
  await day('2026-05-01');
  const bills = await busy.bills();
  assert.equal(
    bills.reduce((sum, [, amount]) => sum + amount, 0),
    worth(2000),
  );
});
