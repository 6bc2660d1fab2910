import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const directory = new URL('../../examples/', import.meta.url);
const models = (await readdir(directory)).filter((file) => file.endsWith('.json'));

test('docs/modelling.md shows each pricing model that it describes as it stands in examples/', async () => {
  const guide = await readFile(new URL('../docs/modelling.md', directory), 'utf8');
  const shown = [...guide.matchAll(/^```json (\S+)\n([\s\S]*?)^```$/gm)];
  assert.equal(shown.length, 9);
  for (const [, file = '', body = ''] of shown) {
    assert.deepEqual(JSON.parse(body), JSON.parse(await readFile(new URL(file, directory), 'utf8')), file);
  }
});

for (const file of models) {
  test(`${file} sets up, exports what was set up, and puts a new customer on its free plan`, async () => {
    const model: Body = JSON.parse(await readFile(new URL(file, directory), 'utf8'));
    const { pricingModel } = await app.post('/pricing-models/setup', model);
    const exported = (await app.get(`/pricing-models/${pricingModel.id}/export`)).pricingModel;
    const slugsOf = (of: Body) => ({
      features: (of.features ?? []).map((row: Body) => row.slug).sort(),
      products: of.products
        .map((row: Body) => [row.product.slug, row.price.unitPrice, (row.features ?? []).toSorted()])
        .sort(),
      usageMeters: (of.usageMeters ?? []).map((row: Body) => [row.usageMeter.slug, row.prices?.length ?? 0]).sort(),
      resources: (of.resources ?? []).map((row: Body) => row.slug).sort(),
    });
    assert.deepEqual(slugsOf(exported), slugsOf(model));
    const customer = { externalId: file, email: 'a@acme.test', name: file };
    const { data } = await app.post('/customers', { customer });
    assert.deepEqual([data.subscription.isFreePlan, data.subscription.status], [true, 'active']);
    assert.equal(data.subscription.pricingModelId, pricingModel.id);
  });
}

test('the tour walks from the first customer to a refund', async () => {
  const tour = new URL('tour.ts', directory).pathname;
  const env = { ...process.env, TOLLKEEPER_URL: app.url, TOLLKEEPER_TEST_KEY: app.testKey };
  const { stdout } = await promisify(execFile)(process.execPath, [tour], { env });
  for (const line of [
    'input-tokens: 8,750,000 left',
    'output-tokens: 2,160,000 left',
    '2 of 3 seats taken, 1 left',
    'refunded $9.00 of $49.00, succeeded',
  ]) {
    assert(stdout.includes(`\n  ${line}\n`), `${line} is missing in\n${stdout}`);
  }
});
