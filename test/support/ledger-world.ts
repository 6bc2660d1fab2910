import { expireCredits, grantCredits } from '../../src/usage/actions-ledger.ts';
import { anyId } from './any-id.ts';
import { insertFixture } from './fixtures.ts';
import type { Body, TestApp } from './harness.ts';

/** Customers with ledgers of their own, whose time goes on in seconds. The instant that each begins at is its second 0. */
export async function ledgerWorlds(app: TestApp) {
  let clock = Date.parse('2026-04-10T12:00:00Z');
  await app.setClock(clock);
  return async () => {
    clock += 1_000_000;
    await app.setClock(clock);
    const start = clock;
    const world = await insertFixture(app, { now: start });
    const { pricingModelId, subscriptionId, meterId } = world;
    const at = (second: number) => start + second * 1000;
    const query = (given: object) => new URLSearchParams({ pricingModelId, ...given });
    let uses = 0;
    return {
      ...world,
      at,
      async goTo(second: number) {
        clock = at(second);
        await app.setClock(clock);
      },
      async grant(amount: bigint, endsAt: number | null = null): Promise<string> {
        const sourceId = anyId('usageCredit');
        const expiresAt = endsAt === null ? null : at(endsAt);
        const shared = { subscriptionId, pricingModelId, featureId: null, billingPeriodId: null };
        await app.inEnvironment((work) =>
          grantCredits(work, [
            { ...shared, usageMeterId: meterId, amount, expiresAt, source: 'manual_adjustment', sourceId },
          ]),
        );
        const credit = app.owner.selectFrom('usageCredits').select('id').where('sourceId', '=', sourceId);
        return (await credit.executeTakeFirstOrThrow()).id;
      },
      async use(amount: number): Promise<Body> {
        uses += 1;
        const usageEvent = { subscriptionId, usageMeterId: meterId, transactionId: `use ${uses}`, amount };
        return (await app.post('/usage-events', { usageEvent })).usageEvent;
      },
      bookExpiries: () => app.inEnvironment((work) => expireCredits(work, [{ subscriptionId, at: work.now }])),
      read: (given: object = {}, externalId = 'acme'): Promise<Body> =>
        app.get(`/customers/${externalId}/ledger?${query(given)}`),
      ask: (given: object) => app.request('GET', `/customers/acme/ledger?${query(given)}`),
      async balanceNow(): Promise<number> {
        const { usageMeterBalances } = await app.get(`/customers/acme/usage-balances?${query({})}`);
        return usageMeterBalances.find((row: Body) => row.id === meterId).availableBalance;
      },
      /** The balance of the meter as of a second. */
      async balanceAt(second: number): Promise<number | undefined> {
        const { balances } = await this.read({ usageMeterId: meterId, asOf: at(second) });
        return balances[0]?.availableBalance;
      },
    };
  };
}
