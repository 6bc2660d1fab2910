import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AccountUsage, balanceOf, coverUsages, type LockedAccount, type RollUp } from './usage-booking.ts';

const account = (change: Partial<LockedAccount> = {}): LockedAccount => ({
  id: 'account',
  pricingModelId: 'model',
  available: 0n,
  held: 0n,
  bookedAt: 0,
  credits: [],
  lapsed: 0n,
  drawn: null,
  open: null,
  ...change,
});

const credit = (id: string, remaining: bigint, expiresAt: number | null = null) => ({
  id,
  remaining,
  priority: 100,
  expiresAt,
});

const use = (units: bigint, { ledgerAccountId = 'account', priceId = 'price' } = {}): AccountUsage => ({
  ledgerAccountId,
  priceId,
  billingPeriodId: 'period',
  units,
});

const rollUp = (seriesId: number, units: bigint): RollUp => ({ seriesId, hour: 0, units, events: 1 });

const cover = (accounts: ReadonlyMap<string, LockedAccount>, usages: readonly AccountUsage[]) =>
  coverUsages(accounts, usages, { now: 0, open: new Map() });

const byId = (...accounts: LockedAccount[]) => new Map(accounts.map((each) => [each.id, each]));

test('of 100 available, 30 that have ended and 25 that are held leave 45', () => {
  assert.equal(balanceOf(account({ available: 100n, lapsed: 30n, held: 25n })), 45n);
});

test('what is held or has ended can leave less than nothing', () => {
  assert.equal(balanceOf(account({ available: 10n, lapsed: 10n, held: 5n })), -5n);
  assert.equal(balanceOf(account({ available: -7n })), -7n);
});

test('worked example L1: usage of 80, 40 and 25 with credits of 100 and 30 leaves 15 uncovered', () => {
  const start = account({ available: 130n, credits: [credit('recurring', 100n, 1), credit('once', 30n)] });
  const { booked, accounts } = cover(byId(start), [use(80n), use(40n), use(25n)]);
  assert.deepEqual(
    booked.map(({ applications, uncovered, availableAfter }) => ({ applications, uncovered, availableAfter })),
    [
      { applications: [{ id: 'recurring', amount: 80n }], uncovered: 0n, availableAfter: 50n },
      {
        applications: [
          { id: 'recurring', amount: 20n },
          { id: 'once', amount: 20n },
        ],
        uncovered: 0n,
        availableAfter: 10n,
      },
      { applications: [{ id: 'once', amount: 10n }], uncovered: 15n, availableAfter: -15n },
    ],
  );
  const [after] = accounts;
  const applied = [
    { id: 'recurring', amount: 100n },
    { id: 'once', amount: 30n },
  ];
  assert.deepEqual(accounts, [
    { account: { ...start, available: -15n, credits: [] }, used: 145n, covered: 130n, applied },
  ]);
  assert(after);
  assert.equal(balanceOf(after.account), -15n);
});

test('a credit that is used in part stays with its rest', () => {
  const { accounts } = cover(byId(account({ available: 10n, credits: [credit('ten', 10n)] })), [use(4n)]);
  assert.deepEqual(accounts[0]?.account.credits, [credit('ten', 6n)]);
});

/** Uses one amount after the other, and answers what is drawn after each and what was written with it. */
function draw(start: LockedAccount, ...amounts: bigint[]) {
  let now = start;
  return amounts.map((units) => {
    const [after] = cover(byId(now), [use(units)]).accounts;
    assert(after);
    now = after.account;
    return { drawn: now.drawn, applied: after.applied };
  });
}

test('worked example: of a credit of 10, 4 and 5 are drawn; with the next 3, of which it pays 1, 10 are written', () => {
  const ten = { creditId: 'ten', drawable: 10n };
  assert.deepEqual(draw(account({ available: 10n, credits: [credit('ten', 10n)] }), 4n, 5n, 3n, 1n), [
    { drawn: { ...ten, amount: 4n }, applied: [] },
    { drawn: { ...ten, amount: 9n }, applied: [] },
    { drawn: null, applied: [{ id: 'ten', amount: 10n }] },
    { drawn: null, applied: [] },
  ]);
});

test('a credit that is used up at once is written at once', () => {
  const start = account({ available: 10n, credits: [credit('ten', 10n)] });
  assert.deepEqual(draw(start, 10n), [{ drawn: null, applied: [{ id: 'ten', amount: 10n }] }]);
});

test('what is drawn from a credit is written when another one pays', () => {
  // A grant that ends earlier came after 4 were drawn from the one that never ends.
  const drawn = { creditId: 'for ever', amount: 4n, drawable: 10n };
  const start = account({ available: 11n, credits: [credit('ends', 5n, 1), credit('for ever', 6n)], drawn });
  assert.deepEqual(draw(start, 2n, 2n), [
    {
      drawn: null,
      applied: [
        { id: 'for ever', amount: 4n },
        { id: 'ends', amount: 2n },
      ],
    },
    { drawn: { creditId: 'ends', amount: 2n, drawable: 3n }, applied: [] },
  ]);
});

test('usage is covered by credits that are held for somebody, and not by those that have ended', () => {
  // 12 are available: 2 of a credit that can be used, and 10 of one that has ended; 2 are held.
  const start = account({ available: 12n, lapsed: 10n, held: 2n, credits: [credit('two', 2n)] });
  const { booked, accounts } = cover(byId(start), [use(3n)]);
  assert.deepEqual(booked[0]?.applications, [{ id: 'two', amount: 2n }]);
  assert.equal(booked[0]?.uncovered, 1n);
  const [after] = accounts;
  assert(after);
  assert.equal(balanceOf(after.account), -3n);
});

test('each account is used by its own usages, and one that is not used is not there', () => {
  const first = account({ id: 'first', available: 5n, credits: [credit('a', 5n)] });
  const second = account({ id: 'second', available: 5n, credits: [credit('b', 5n)] });
  const third = account({ id: 'third' });
  const usages = ['second', 'first', 'second'].map((ledgerAccountId) => use(3n, { ledgerAccountId }));
  const { booked, accounts } = cover(byId(first, second, third), usages);
  assert.deepEqual(
    booked.map(({ uncovered }) => uncovered),
    [0n, 0n, 1n],
  );
  assert.deepEqual(
    accounts.map(({ account: { id, available }, used, covered }) => [id, available, used, covered]),
    [
      ['second', -1n, 6n, 5n],
      ['first', 2n, 3n, 3n],
    ],
  );
});

test('usage of an account that is not locked is a bug', () => {
  assert.throws(() => cover(new Map(), [use(1n)]), /account account is not locked/);
});

const amount = fc.bigInt({ min: 1n, max: 50n });

test('the account was booked on then, at the earliest when it was last, and keeps its roll-up or has the new one open', () => {
  const [old, other] = [rollUp(1, 2n), rollUp(2, 3n)];
  const after = (now: number, open: ReadonlyMap<string, RollUp>) => {
    const [used] = coverUsages(byId(account({ bookedAt: 5, open: old })), [use(1n)], { now, open }).accounts;
    return [used?.account.bookedAt, used?.account.open];
  };
  assert.deepEqual(after(7, new Map()), [7, old]);
  assert.deepEqual(after(3, new Map([['account', other]])), [5, other]);
});

test('what is used is covered or uncovered, and what covers it is what the credits lose', () => {
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 6 }), fc.array(amount, { maxLength: 6 }), (rests, amounts) => {
      const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n);
      const credits = rests.map((rest, index) => credit(`credit ${index}`, rest));
      const start = account({ available: sum(rests), credits });
      const { booked, accounts } = cover(
        byId(start),
        amounts.map((units) => use(units)),
      );
      const { account: after, used, covered } = accounts[0] ?? { account: start, used: 0n, covered: 0n };
      assert.equal(used, sum(amounts));
      assert.equal(used - covered, sum(booked.map(({ uncovered }) => uncovered)));
      assert.equal(covered, sum(rests) - sum(after.credits.map(({ remaining }) => remaining)));
      assert.equal(after.available, start.available - used);
      assert.equal(booked.at(-1)?.availableAfter ?? start.available, after.available);
    }),
  );
});

test('usage in two groups is covered as usage in one', () => {
  fc.assert(
    fc.property(
      fc.array(amount, { maxLength: 6 }),
      fc.array(amount, { maxLength: 6 }),
      fc.nat(6),
      (rests, amounts, cut) => {
        const credits = rests.map((rest, index) => credit(`credit ${index}`, rest));
        const start = byId(account({ available: 0n, credits }));
        const usages = amounts.map((units) => use(units));
        const whole = cover(start, usages);
        const first = cover(start, usages.slice(0, cut));
        const second = cover(
          new Map([...start, ...first.accounts.map((each) => [each.account.id, each.account] as const)]),
          usages.slice(cut),
        );
        assert.deepEqual([...first.booked, ...second.booked], whole.booked);
      },
    ),
  );
});

test('what is written and what is drawn is what was applied, and less is drawn than was left', () => {
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 6 }), fc.array(amount, { maxLength: 9 }), (rests, amounts) => {
      const left = new Map(rests.map((rest, index) => [`credit ${index}`, rest]));
      let now = account({ credits: Array.from(left, ([id, rest]) => credit(id, rest)) });
      for (const units of amounts) {
        const [after] = cover(byId(now), [use(units)]).accounts;
        assert(after);
        now = after.account;
        for (const { id, amount: written } of after.applied) left.set(id, (left.get(id) ?? 0n) - written);
        const { creditId, amount: drawn, drawable } = now.drawn ?? { creditId: '', amount: 0n, drawable: 1n };
        assert(drawn < drawable && drawable === (left.get(creditId) ?? 1n));
        const usable = [...left].map(([id, rest]) => credit(id, id === creditId ? rest - drawn : rest));
        assert.deepEqual(
          now.credits,
          usable.filter(({ remaining }) => remaining > 0n),
        );
      }
    }),
  );
});
