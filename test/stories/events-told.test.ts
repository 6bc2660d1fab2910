import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dayOf } from '../support/debtor.ts';
import { createValidator } from '../support/document.ts';
import { paths } from '../support/events-told-paths.ts';
import { newWorld, perform, type World } from '../support/events-told-world.ts';
import { startWitness } from '../support/events-witness.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const ajv = createValidator(document);

/** Throws if a payload is not as openapi.json documents it: its record has the schema of answers. */
function assertDocumented(type: string, payload: unknown): void {
  const check = ajv.getSchema(`openapi.json#/webhooks/${type}/post/requestBody/content/application~1json/schema`);
  assert(check, `${type} is not documented`);
  assert(check(payload), `${type}: ${ajv.errorsText(check.errors)}`);
}

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
      // The witness knows by a plain rule what is told of invoices.
      const ofOthers = told.filter(({ object }) => object !== 'invoice');
      const found = ofOthers.map(({ occurredAt, type }) => `${dayOf(occurredAt)} ${type}`);
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
  const [family = ''] = type.split('.');
  const objects: Record<string, string> = { refund: 'payment', credit_note: 'creditNote' };
  assert.equal(object, objects[family] ?? family);
  const { customer, data, refund, ...rest } = payload;
  assert.equal(refund !== undefined, type === 'refund.created');
  assertDocumented(type, payload);
  assert.equal(data.id, objectId);
  assert.deepEqual(rest, { id: objectId, object, pricingModelId, type, eventId: id, occurredAt, livemode });
  if (object === 'customer') assert.equal(objectId, customer.id);
  else if (object === 'invoice') {
    // Amounts that are nothing are absent, so its keys are those of the moment.
    const { invoice } = await caller.get(`/invoices/${objectId}`);
    assert.deepEqual([invoice.customerId, invoice.total], [customer.id, data.total]);
  } else {
    const path = object === 'creditNote' ? 'credit-notes' : `${object}s`;
    const record = (await caller.get(`/${path}/${objectId}`))[object];
    assert.equal(record.customerId, customer.id);
    // The values are those of the moment.
    assert.deepEqual(Object.keys(data).toSorted(), Object.keys(record).toSorted());
  }
  const named = customer.id === customerId ? 'ada' : 'bob';
  assert.equal(customer.externalId, typeof data.erasedAt === 'number' ? customer.id : named);
}
