import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertEventsAddUp, assertLedgerAddsUp } from '../support/ledger-invariants.ts';

/*
 * What references of events lead to is remembered. Each of these tests looks a reference up, changes what it leads to,
 * and looks again.
 */

const app = await startTestApp();

type World = Awaited<ReturnType<typeof insertFixture>>;

let count = 0;
/** The stored event, or the status and code of its refusal. */
async function send({ subscriptionId }: World, reference: object): Promise<Body> {
  count += 1;
  const usageEvent = { subscriptionId, transactionId: `transaction ${count}`, amount: 1, ...reference };
  const { status, body } = await app.request('POST', '/usage-events', { usageEvent });
  return status === 200 ? body.usageEvent : [status, body.code];
}
const priceOf = async (world: World, reference: object): Promise<Body> => (await send(world, reference)).priceId;

const perCall = { type: 'usage', unitPrice: 50, usageEventsPerUnit: 100 };
const newPrice = async ({ meterId }: World, change: object): Promise<Body> =>
  (await app.post('/prices', { price: { ...perCall, usageMeterId: meterId, ...change } })).price;
const notFound = [404, 'NOT_FOUND'];

test('a price that is deactivated is found by its slug no more, and again when it is active again', async () => {
  const world = await insertFixture(app);
  const { id } = await newPrice(world, { slug: 'second' });
  const bySlug = { priceSlug: 'second' };
  assert.equal(await priceOf(world, bySlug), id);
  await app.put(`/prices/${id}`, { price: { active: false } });
  assert.deepEqual(await send(world, bySlug), notFound);
  assert.equal(await priceOf(world, { priceId: id }), id);
  await app.put(`/prices/${id}`, { price: { active: true } });
  assert.equal(await priceOf(world, bySlug), id);
});

test('the same when somebody else changes it in the database', async () => {
  const world = await insertFixture(app);
  const { id } = await newPrice(world, { slug: 'second' });
  const bySlug = { priceSlug: 'second' };
  const set = (change: object) => app.owner.updateTable('prices').set(change).where('id', '=', id).execute();
  assert.equal(await priceOf(world, bySlug), id);
  await set({ active: false });
  assert.deepEqual(await send(world, bySlug), notFound);
  await set({ active: true, slug: 'renamed' });
  assert.deepEqual(await send(world, bySlug), notFound);
  assert.equal(await priceOf(world, { priceSlug: 'renamed' }), id);
});

test('a slug that nothing had is found as soon as something has it', async () => {
  const world = await insertFixture(app);
  for (const reference of [{ priceSlug: 'later' }, { usageMeterSlug: 'later' }]) {
    assert.deepEqual(await send(world, reference), notFound);
  }
  const price = await newPrice(world, { slug: 'later' });
  assert.equal(await priceOf(world, { priceSlug: 'later' }), price.id);
  const { usageMeter } = await app.post('/usage-meters', {
    usageMeter: { pricingModelId: world.pricingModelId, name: 'Later', slug: 'later' },
  });
  assert.equal((await send(world, { usageMeterSlug: 'later' })).usageMeterId, usageMeter.id);
});

test('a usage meter is counted at the price that is its default now', async () => {
  const world = await insertFixture(app);
  const byMeter = { usageMeterSlug: 'api-calls' };
  assert.equal(await priceOf(world, byMeter), world.usagePriceId);
  const next = await newPrice(world, { slug: 'next', isDefault: true });
  assert.equal(await priceOf(world, byMeter), next.id);
  assert.equal(await priceOf(world, { usageMeterId: world.meterId }), next.id);
  await app.put(`/prices/${world.usagePriceId}`, { price: { isDefault: true } });
  assert.equal(await priceOf(world, byMeter), world.usagePriceId);
});

test('a usage meter that counts distinct properties from now on refuses events without, and one that sums takes them', async () => {
  const world = await insertFixture(app);
  const bySlug = { priceSlug: 'call-overage' };
  const count = (aggregationType: string) =>
    app.owner.updateTable('usageMeters').set({ aggregationType }).where('id', '=', world.meterId).execute();
  assert.equal(await priceOf(world, bySlug), world.usagePriceId);
  await count('count_distinct_properties');
  assert.deepEqual(await send(world, bySlug), [400, 'BAD_REQUEST']);
  await count('sum');
  assert.equal(await priceOf(world, bySlug), world.usagePriceId);
});

test('a change that is undone, or only tried, leaves what was; what comes after it is seen', async () => {
  const world = await insertFixture(app);
  const { id } = await newPrice(world, { slug: 'second' });
  const bySlug = { priceSlug: 'second' };
  assert.equal(await priceOf(world, bySlug), id);
  await app.put(`/prices/${id}?dryRun=true`, { price: { active: false } });
  assert.equal(await priceOf(world, bySlug), id);
  const undone = app.owner.transaction().execute(async (db) => {
    await db.updateTable('prices').set({ active: false }).where('id', '=', id).execute();
    assert.equal(await priceOf(world, bySlug), id);
    throw new Error('undone');
  });
  await assert.rejects(undone, /undone/);
  assert.equal(await priceOf(world, bySlug), id);
  await app.put(`/prices/${id}`, { price: { active: false } });
  assert.deepEqual(await send(world, bySlug), notFound);
});

test('each change of a price or a usage meter is a version of its pricing model that was never there, and of no other', async () => {
  const world = await insertFixture(app);
  const other = await insertFixture(app);
  const versionOf = async ({ pricingModelId }: World) =>
    (
      await app.owner
        .selectFrom('pricingModels')
        .select('catalogVersion')
        .where('id', '=', pricingModelId)
        .executeTakeFirstOrThrow()
    ).catalogVersion;
  const untouched = await versionOf(other);
  const id = anyId('price');
  const versions = [await versionOf(world)];
  for (const change of [
    sql`insert into prices select (jsonb_populate_record(p, jsonb_build_object('id', ${id}::text, 'slug', 'copy', 'is_default', false))).*
          from prices p where id = ${world.usagePriceId}`,
    sql`update prices set unit_price = unit_price + 1 where id = ${id}`,
    sql`delete from prices where id = ${id}`,
    sql`update usage_meters set name = 'Renamed' where id = ${world.meterId}`,
  ]) {
    await change.execute(app.owner);
    versions.push(await versionOf(world));
  }
  assert.deepEqual(
    versions,
    [...new Set(versions)].sort((a, b) => a - b),
  );
  assert.equal(await versionOf(other), untouched);
});

test('balances show a usage meter as it is now: a new name, and a new meter', async () => {
  const world = await insertFixture(app);
  const names = async () => {
    const { usageMeterBalances } = await app.get(
      `/customers/acme/usage-balances?pricingModelId=${world.pricingModelId}`,
    );
    return usageMeterBalances.map((row: Body) => row.name);
  };
  assert.deepEqual(await names(), ['API calls', 'Users']);
  await app.put(`/usage-meters/${world.meterId}`, { usageMeter: { name: 'Calls' } });
  assert.deepEqual(await names(), ['Calls', 'Users']);
  const usageMeter = { pricingModelId: world.pricingModelId, name: 'Bytes', slug: 'bytes' };
  await app.post('/usage-meters', { usageMeter });
  assert.deepEqual(await names(), ['Calls', 'Users', 'Bytes']);
});

test('after all of it, each account is the sum of its entries, and of its events', async () => {
  await assertLedgerAddsUp(app);
  await assertEventsAddUp(app);
});
