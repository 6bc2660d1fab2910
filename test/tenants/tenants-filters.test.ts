import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { routes } from '../../src/api/routes.ts';
import type { Route } from '../../src/http/route.ts';
import type { Call } from '../support/api-calls.ts';
import { databaseDigest } from '../support/digest.ts';
import type { Body } from '../support/harness.ts';
import {
  absentLike,
  answerTo,
  inTurns,
  marksOf,
  markTexts,
  refusalOf,
  shownMarks,
  shownText,
} from '../support/tenants-attack.ts';
import { callsOf } from '../support/tenants-calls.ts';
import { answeredOtherwise, emptyForAll, sharedWithPinned } from '../support/tenants-exceptions.ts';
import { filterValues } from '../support/tenants-filter-values.ts';
import { idPlacesOf } from '../support/tenants-places.ts';
import { buildTenants, endedKeys, type Tenant, type Tenants } from '../support/tenants-world.ts';

let tenants: Tenants;
let document: Body;
const marks = new Map<Tenant, readonly string[]>();
before(async () => {
  tenants = await buildTenants();
  const { app, victim, intruders } = tenants;
  await markTexts(app, victim);
  document = await (await fetch(`${app.url}/openapi.json`)).json();
  for (const intruder of intruders) marks.set(intruder, await marksOf(app, victim, intruder));
});

const operationOf = (route: Route) => `${route.method} ${route.path}`;
const readerOf = (operation: string, name: string) => filterValues[`${operation} ${name}`] ?? filterValues[name];
const filtersOf = (route: Route) =>
  idPlacesOf(document, route.method, route.path).flatMap(({ part, name }) => (part === 'query' ? [name] : []));
let count = 0;

/** The call whose meaning the filter changes: one that names its customer by the application's name. */
function callWith(route: Route, intruder: Tenant, filter: string, value: string, dryRun: boolean): Call {
  const calls = callsOf(operationOf(route)).map((make) => make(intruder.world, `f${++count}`));
  const { path, body } = calls.find((call) => JSON.stringify(call.body ?? '').includes('xternalId')) ??
    calls[0] ?? { path: '' };
  const query = new URLSearchParams({ [filter]: value, ...(dryRun ? { dryRun: 'true' } : {}) });
  return { path: `${path.split('?')[0]}?${query}`, body };
}

async function proveFilter(route: Route, intruder: Tenant, filter: string): Promise<void> {
  const operation = operationOf(route);
  const name = `${intruder.name}: ${operation} ${filter}`;
  const read = readerOf(operation, filter);
  assert(read, `say in filterValues what ${operation} is given as ${filter}`);
  const ask = ({ path, body }: Call) => answerTo(tenants.app, route.method, path, body, intruder.key);
  const own = await ask(callWith(route, intruder, filter, read(intruder.world), route.method !== 'GET'));
  assert.equal(own.status, 200, `${name}: ${JSON.stringify(own.body)}`);
  if (Array.isArray(own.body.data))
    assert.equal(own.body.data.length === 0, emptyForAll.has(`${operation} ${filter}`), `${name} finds its own`);
  if (intruder.pinnedPricingModelId !== null && sharedWithPinned.has(`${operation} ${filter}`)) return;
  const value = read(tenants.victim.world);
  const refusal = {
    answer: await ask(callWith(route, intruder, filter, value, false)),
    ofAbsent: await ask(callWith(route, intruder, filter, absentLike(value), false)),
    value,
    marks: marks.get(intruder) ?? [],
  };
  assert.deepEqual(refusalOf(refusal, [answeredOtherwise[`${operation} ${filter}`]?.status ?? 404]), [], name);
}

test('a list that is filtered by what another tenant has is as empty as by what nobody has', async () => {
  const { app, intruders } = tenants;
  const digest = await databaseDigest(app);
  const filters = routes.flatMap((route) => filtersOf(route).map((filter) => ({ route, filter })));
  assert(filters.length > 50);
  const attempts = intruders.flatMap((intruder) => filters.map((each) => ({ ...each, intruder })));
  await inTurns(attempts, ({ route, filter, intruder }) => proveFilter(route, intruder, filter));
  assert.equal(await databaseDigest(app), digest);
});

test('a list that is not filtered shows nothing of another tenant', async () => {
  const { app, intruders } = tenants;
  const lists = routes.filter(({ method, path }) => method === 'GET' && !path.includes('{'));
  for (const intruder of intruders) {
    for (const route of lists) {
      const [make] = callsOf(operationOf(route));
      assert(make);
      const answer = await answerTo(app, 'GET', make(intruder.world, 'list').path, undefined, intruder.key);
      assert.equal(answer.status, 200, operationOf(route));
      // The tax rates are the environment's.
      if (route.path === '/tax-rates' && intruder.pinnedPricingModelId !== null) continue;
      const shown = shownMarks(shownText(answer), marks.get(intruder) ?? [], '?');
      assert.deepEqual(shown, [], `${intruder.name}: ${operationOf(route)}`);
    }
  }
});

describe('with a key that has ended', () => {
  test('every call is refused in the same words and changes nothing', async () => {
    const { app, victim } = tenants;
    const keys = await endedKeys(app, victim.environmentId);
    const digest = await databaseDigest(app);
    const calls = routes.flatMap((route) =>
      callsOf(operationOf(route)).map((make) => ({ route, call: make(victim.world, `e${++count}`) })),
    );
    const attempts = keys.flatMap((ended) => calls.map((each) => ({ ...each, ended })));
    const nobody = shownText(await answerTo(app, 'GET', '/customers', undefined, 'sk_test_nobody'));
    await inTurns(attempts, async ({ route, call, ended }) => {
      const answer = await answerTo(app, route.method, call.path, call.body, ended.key);
      assert.equal(answer.status, 401, `${ended.name}: ${operationOf(route)}`);
      assert.equal(shownText(answer), nobody, `${ended.name}: ${operationOf(route)}`);
    });
    assert.equal(await databaseDigest(app), digest);
  });
});
