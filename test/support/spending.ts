import assert from 'node:assert/strict';
import { findViolations } from '../../src/invariants/store-invariants.ts';
import { ledgerInvariants } from '../../src/invariants/store-invariants-ledger.ts';
import { spendingInvariants } from '../../src/invariants/store-invariants-spending.ts';
import { usageInvariants } from '../../src/invariants/store-invariants-usage.ts';
import { grantCredits } from '../../src/usage/actions-ledger.ts';
import { anyId } from './any-id.ts';
import { insertFixture } from './fixtures.ts';
import type { Answer, Body, TestApp } from './harness.ts';

let count = 0;

/** A subscription that can use credits of the meter `api-calls`, and what is asked about it. */
export async function insertSpender(app: TestApp, { credits = 0, now = Date.now() } = {}) {
  const world = await insertFixture(app, { now });
  const { subscriptionId, pricingModelId } = world;
  const grant = (amount: number, change: { expiresAt?: number; usageMeterId?: string } = {}) =>
    app.inEnvironment((work) =>
      grantCredits(work, [
        {
          subscriptionId,
          pricingModelId,
          usageMeterId: world.meterId,
          featureId: null,
          billingPeriodId: null,
          amount: BigInt(amount),
          expiresAt: null,
          source: 'admin',
          sourceId: anyId('usageCredit'),
          ...change,
        },
      ]),
    );
  await grant(credits);
  const usage = (change: Body): Body => {
    count += 1;
    return { subscriptionId, priceSlug: 'call-overage', transactionId: `transaction ${count}`, amount: 1, ...change };
  };
  const balances = async (usageMeterId = world.meterId): Promise<number> => {
    const path = `/customers/${world.externalId}/usage-balances?subscriptionId=${subscriptionId}&pricingModelId=${pricingModelId}`;
    const { usageMeterBalances } = await app.get(path);
    return usageMeterBalances.find((meter: Body) => meter.id === usageMeterId).availableBalance;
  };
  return {
    ...world,
    grant,
    usage,
    balance: balances,
    use: (change: Body = {}): Promise<Answer> => app.request('POST', '/usage-events', { usageEvent: usage(change) }),
    consume: (change: Body = {}): Promise<Answer> =>
      app.request('POST', '/usage-events/consume', { usageEvent: usage(change) }),
    /** Units of calls that are held until an hour has gone by. */
    hold: (amount: number, change: Body = {}): Promise<Answer> =>
      app.request('POST', '/holds', {
        hold: { subscriptionId, meter: 'api-calls', amount, expiresAt: now + 3_600_000, ...change },
      }),
    settle: (id: string, amount: number): Promise<Answer> => app.request('POST', `/holds/${id}/settle`, { amount }),
    /** Sets the spend limits of the customer in place of those before. */
    async limit(limits: readonly Body[]): Promise<readonly Body[]> {
      const { spendControls } = await app.put(
        `/customers/${world.externalId}/spend-controls?pricingModelId=${pricingModelId}`,
        { spendControls: { limits } },
      );
      return spendControls.limits;
    },
    /** The amounts that its limits have used, in the order of the limits. */
    async spent(): Promise<number[]> {
      const path = `/customers/${world.externalId}/spend-controls?pricingModelId=${pricingModelId}`;
      const { limits } = (await app.get(path)).spendControls;
      return limits.map(({ counters }: Body) =>
        counters.reduce((sum: number, counter: Body) => sum + counter.usedAmount, 0),
      );
    },
    release: (id: string): Promise<Answer> => app.request('POST', `/holds/${id}/release`, {}),
    /** Another subscription to the same plan of the same customer. */
    async insertSibling(): Promise<string> {
      const first = await app.owner
        .selectFrom('subscriptions')
        .selectAll()
        .where('id', '=', subscriptionId)
        .executeTakeFirstOrThrow();
      const id = anyId('subscription');
      await app.owner
        .insertInto('subscriptions')
        .values({ ...first, id, exclusive: false, billingAnchor: JSON.stringify('anniversary') })
        .execute();
      return id;
    },
  };
}

export type Spender = Awaited<ReturnType<typeof insertSpender>>;

/** As many calls at once as said. */
export function atOnce<Answered>(times: number, act: (index: number) => Promise<Answered>): Promise<Answered[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => act(index)));
}

/** How many of the answers have each status: {200: 40, 402: 24}. */
export function statusCounts(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Asserts every invariant of usage, of the ledger and of spend limits. */
export async function assertBooksAreRight(app: TestApp): Promise<void> {
  for (const invariant of [...ledgerInvariants, ...usageInvariants, ...spendingInvariants])
    assert.deepEqual(await findViolations(app.owner, invariant), { count: 0, rows: [] }, invariant.sentence);
}
