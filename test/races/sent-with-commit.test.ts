import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { sentWithCommit } from '../../src/database/work.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();

async function newCustomer(externalId: string) {
  await app.post('/customers', { customer: { externalId, email: `${externalId}@acme.test`, name: 'before' } });
  return {
    /** A statement that calls the customer something else. */
    renamed: (name: string) => sql`update customers set name = ${name} where external_id = ${externalId}`,
    name: async () => (await app.request('GET', `/customers/${externalId}`)).body.customer.name,
  };
}

/** Sends statements with the commit of one unit of work. */
function send(...statements: readonly RawBuilder<unknown>[]): Promise<unknown> {
  return app.inEnvironment(async (work) => {
    for (const statement of statements) sentWithCommit(work, statement);
  });
}

test('what is sent with the commit is there once that is answered', async () => {
  const customer = await newCustomer('sent');
  await send(customer.renamed('between'), customer.renamed('after'));
  assert.equal(await customer.name(), 'after');
});

test('what fails in the database undoes what was sent before and after it, and is what the unit of work fails with', async () => {
  const customer = await newCustomer('failed');
  const failing = sql`select 1 / ${0}::integer`;
  await assert.rejects(send(customer.renamed('between'), failing, customer.renamed('after')), { code: '22012' });
  assert.equal(await customer.name(), 'before');
});

test('what cannot even be sent undoes the rest as well', async () => {
  const customer = await newCustomer('unsendable');
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const unsendable = sql`select ${circular}::json`;
  await assert.rejects(send(customer.renamed('between'), unsendable, customer.renamed('after')), /circular/);
  assert.equal(await customer.name(), 'before');
});
