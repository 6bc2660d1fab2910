import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dayOf } from '../support/debtor.ts';
import { paths } from '../support/events-told-paths.ts';
import { newWorld, perform, type World } from '../support/events-told-world.ts';
import { startWitness } from '../support/events-witness.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const witness = await startWitness(app);

/** The types of what is told, or that nothing is. */
function inWords(tells: readonly string[]): string {
  return tells.length === 0 ? 'nothing' : tells.map((text) => text.split(' ')[1]).join(', ');
}

// Each path has an organization of its own, so they need not wait for each other.
describe('what is told when', { concurrency: 4 }, () => {
  for (const { path, tells, ...rest } of paths) {
    test(`${path}: ${inWords(tells)}`, async () => {
      const world = await newWorld(app, rest);
      const told = await perform(world, await rest.does(world));
      const found = told.map(({ occurredAt, type }) => `${dayOf(occurredAt)} ${type}`);
      assert.deepEqual(found, tells);
      for (const event of told) await assertAboutRecord(world, event);
    });
  }
});

test('all the while each commit told what it changed, and nothing else', async () => {
  assert((await witness.assertTold()) > paths.length);
});

/** Its object is a record that the caller can read, and its payload says the same as it does. */
async function assertAboutRecord({ caller, customerId }: World, event: Body): Promise<void> {
  const { id, type, object, objectId, occurredAt, livemode, pricingModelId, payload } = event;
  assert.equal(object, type.split('.')[0]);
  const { customer, ...rest } = payload;
  assert.deepEqual(rest, { id: objectId, object, pricingModelId, type, eventId: id, occurredAt, livemode });
  if (object === 'customer') assert.equal(objectId, customer.id);
  else assert.equal((await caller.get(`/${object}s/${objectId}`))[object].customerId, customer.id);
  assert.equal(customer.externalId, customer.id === customerId ? 'ada' : 'bob');
}
