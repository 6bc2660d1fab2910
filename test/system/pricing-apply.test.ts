import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { refused } from '../support/pricing-fixture.ts';
import { acme } from '../support/pricing-models.ts';
import { program } from '../support/program.ts';

const app = await startTestApp();
const folder = await mkdtemp(join(tmpdir(), 'pricing-'));
after(() => rm(folder, { recursive: true }));

const named = (name: string, more: object = {}): Body => ({ ...acme(), name, ...more });
const apply = (body: object, query = '') => app.post(`/pricing-models/apply${query}`, body);
const modelsNamed = async (name: string) =>
  (await app.get('/pricing-models?limit=100')).data.filter((model: Body) => model.name === name);
const said = ({ changes }: Body) =>
  changes.map(({ operation, record, slug }: Body) => [operation, record, slug].join(' '));

test('an apply creates the pricing model, and the same again changes nothing', async () => {
  const made = await apply(named('Twice', { isDefault: true }));
  assert.deepEqual([made.isNew, made.pricingModel.isDefault], [true, true]);
  assert.deepEqual(said(made).slice(0, 4), [
    'create pricingModel ',
    'create feature sso',
    'create feature calls-10k',
    'create feature seats-5',
  ]);
  for (const isDefault of [true, false]) {
    const again = await apply(named('Twice', { isDefault }));
    assert.deepEqual([again.isNew, again.changes, again.pricingModel], [false, [], made.pricingModel]);
  }
  assert.equal((await modelsNamed('Twice')).length, 1);
});

test('an apply names each difference, and a dry run names the same and stores nothing', async () => {
  await apply(named('Different'));
  const next = named('Different');
  next.products[0].price.unitPrice = 3900;
  next.products[0].features = ['sso', 'calls-10k'];
  next.features = next.features.filter(({ slug }: Body) => slug !== 'seats-5');
  next.resources.push({ slug: 'project', name: 'Project' });
  const dry = await apply(next, '?dryRun=true');
  assert.deepEqual((await apply(next, '?dryRun=true')).changes, dry.changes);
  const applied = await apply(next);
  assert.deepEqual(applied.changes, dry.changes);
  const change = (record: string, slug: string, fields: object[], operation = 'update') => ({
    operation,
    record,
    slug,
    usageMeterSlug: null,
    fields,
    subscriptions: 0,
    customers: 0,
  });
  assert.deepEqual(applied.changes, [
    change('feature', 'seats-5', [{ name: 'active', before: true, after: false }]),
    change(
      'resource',
      'project',
      [
        { name: 'slug', before: null, after: 'project' },
        { name: 'name', before: null, after: 'Project' },
        { name: 'active', before: null, after: true },
      ],
      'create',
    ),
    change('product', 'team', [
      { name: 'features', before: ['calls-10k', 'seats-5', 'sso'], after: ['calls-10k', 'sso'] },
    ]),
    change('price', 'team', [{ name: 'unitPrice', before: 2900, after: 3900 }]),
  ]);
  assert.deepEqual((await apply(next)).changes, []);
});

test('six first deploys at once make one pricing model', async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => apply(named('Rush', { isDefault: true }))));
  assert.equal(answers.filter(({ isNew }) => isNew).length, 1);
  assert.equal((await modelsNamed('Rush')).length, 1);
});

test('a field of the default product that cannot change is refused by name, and so is a name that two models have', async () => {
  const free = {
    product: { name: 'Free', slug: 'start', default: true },
    price: { type: 'subscription', unitPrice: 0, intervalUnit: 'month' },
  };
  const body = (price: object) => ({ name: 'Fixed', products: [{ ...free, price: { ...free.price, ...price } }] });
  await apply(body({}));
  assert.deepEqual((await apply(body({}))).changes, []);
  const dearer = await app.request('POST', '/pricing-models/apply', body({ unitPrice: 100 }));
  refused(dearer, 400, /products\.0\.price\.unitPrice: must be 0/);
  await app.post('/pricing-models/setup', { name: 'Fixed' });
  refused(await app.request('POST', '/pricing-models/apply', body({})), 409, /Several pricing models are named Fixed/);
});

test('a setup names the pricing model from which it took the default', async () => {
  const first = await app.post('/pricing-models/setup', { name: 'First', isDefault: true });
  const second = await app.post('/pricing-models/setup', { name: 'Second', isDefault: true });
  const third = await app.post('/pricing-models/setup', { name: 'Third' });
  assert.equal(second.formerDefaultPricingModelId, first.pricingModel.id);
  assert.equal(third.formerDefaultPricingModelId, null);
});

/** Runs `tollkeeper pricing apply` with a file that holds `body`. */
async function command(body: unknown, args: readonly string[] = [], env: Record<string, string> = {}) {
  const file = join(folder, 'pricing.json');
  await writeFile(file, typeof body === 'string' ? body : JSON.stringify(body));
  return new Promise<{ code: number; out: string }>((resolve) => {
    execFile(
      process.execPath,
      [program, 'pricing', 'apply', file, ...args],
      { env: { ...process.env, TOLLKEEPER_URL: app.url, TOLLKEEPER_KEY: app.testKey, ...env } },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : 1, out: (stdout + stderr).trim() }),
    );
  });
}

test('tollkeeper pricing apply prints what it does, and a repeat says that there is nothing to change', async () => {
  const body = { name: 'By hand', resources: [{ slug: 'seat', name: 'Seat' }] };
  const dry = await command(body, ['--dry-run']);
  assert.deepEqual([dry.code, (await modelsNamed('By hand')).length], [0, 0]);
  assert.match(dry.out, /^\+ resource seat: name "Seat", active true$/m);
  assert.match(dry.out, /By hand in test mode: new, 4 changes\. Dry run: nothing was stored\.$/);
  assert.match((await command(body)).out, /By hand \(pricing_model_\w+\) in test mode: new, 4 changes applied\.$/);
  assert.match((await command(body)).out, /^By hand \(pricing_model_\w+\) in test mode: nothing to change\.$/);
  // An export is a file to apply.
  const [{ id }] = await modelsNamed('By hand');
  assert.match((await command(await app.get(`/pricing-models/${id}/export`))).out, /nothing to change\.$/);
  body.resources = [{ slug: 'seat', name: 'Place' }];
  assert.match((await command(body)).out, /^~ resource seat: name "Seat" -> "Place"\n/);

  for (const [given, env, expected] of [
    ['{', {}, /cannot be read as JSON/],
    [{ name: '' }, {}, /was refused: .*name/],
    [body, { TOLLKEEPER_KEY: 'sk_test_unknown' }, /does not know this key/],
    [body, { TOLLKEEPER_URL: 'http://127.0.0.1:1' }, /No service responds at http:\/\/127\.0\.0\.1:1/],
  ] as const) {
    const { code, out } = await command(given, [], env);
    assert.equal(code, 1);
    assert.match(out, expected);
  }
});
