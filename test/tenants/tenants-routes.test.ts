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
  type Refusal,
  refusalOf,
  shownMarks,
  shownText,
} from '../support/tenants-attack.ts';
import { callsOf } from '../support/tenants-calls.ts';
import {
  answeredOtherwise,
  closedToLive,
  closedToPinned,
  coined,
  emptyForAll,
  namesNoRecord,
  sharedWithPinned,
} from '../support/tenants-exceptions.ts';
import { filterValues } from '../support/tenants-filter-values.ts';
import { idPlacesOf, type Leaf, namingLeaves, withLeaf } from '../support/tenants-places.ts';
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
const bodyPlacesOf = (route: Route) =>
  idPlacesOf(document, route.method, route.path).flatMap(({ part, name }) => (part === 'body' ? [name] : []));
const dry = (path: string) => `${path}${path.includes('?') ? '&' : '?'}dryRun=true`;
const isClosed = (route: Route, { pinnedPricingModelId, name }: Tenant) =>
  (pinnedPricingModelId !== null && closedToPinned.has(operationOf(route))) ||
  (name.endsWith('live') && closedToLive.has(operationOf(route)));

let count = 0;

/** The same call as each of the two would make it about its own. */
interface Pair {
  readonly route: Route;
  readonly intruder: Tenant;
  /** What makes the call's new names unique. */
  readonly n: string;
  readonly own: Call;
  readonly victims: Call;
}

function pairsOf(route: Route): Pair[] {
  return tenants.intruders.flatMap((intruder) =>
    callsOf(operationOf(route)).map((make) => {
      const n = `t${++count}`;
      return { route, intruder, n, own: make(intruder.world, n), victims: make(tenants.victim.world, n) };
    }),
  );
}

/** The id in a path, where the route has one. */
function pathIdOf(route: Route, { path }: Call): string | null {
  const at = route.path.split('/').findIndex((part) => part.startsWith('{'));
  return at < 0 ? null : (path.split('?')[0]?.split('/')[at] ?? null);
}

async function proveOpen({ route, intruder, own }: Pair): Promise<void> {
  const path = route.method === 'GET' ? own.path : dry(own.path);
  const { status, body } = await tenants.app.request(route.method, path, own.body, { key: intruder.key });
  const expected = isClosed(route, intruder) ? 403 : 200;
  assert.equal(status, expected, `${intruder.name} ${operationOf(route)}: ${JSON.stringify(body)}`);
}

/** Asks for something of the victim's, then for nothing, and finds both answered in the same words. */
async function refuse(pair: Pair, place: string, value: string, callWith: (value: string) => Call): Promise<void> {
  const { route, intruder } = pair;
  const name = `${operationOf(route)} ${place.replaceAll(/\.\d+/g, '[]')}`;
  if (intruder.pinnedPricingModelId !== null && sharedWithPinned.has(name)) return;
  const ask = (call: Call) => answerTo(tenants.app, route.method, call.path, call.body, intruder.key);
  const refusal: Refusal = {
    answer: await ask(callWith(value)),
    ofAbsent: await ask(callWith(absentLike(value))),
    value,
    marks: marks.get(intruder) ?? [],
  };
  const isRepeat = place !== pathPlaceOf(route) && pathIdOf(route, pair.victims) === value;
  const expected = isRepeat ? 400 : (answeredOtherwise[name]?.status ?? 404);
  const allowed = isClosed(route, intruder) ? [403, 404] : [answeredOtherwise[name]?.status ?? expected];
  assert.deepEqual(refusalOf(refusal, allowed), [], `${intruder.name}: ${name} ${value}`);
}

const pathPlaceOf = (route: Route) => /\{(\w+)\}/.exec(route.path)?.[1];

function pathAttack(pair: Pair): Promise<void>[] {
  const own = pathIdOf(pair.route, pair.own);
  const value = pathIdOf(pair.route, pair.victims);
  // A path that names a kind of records names none of the victim's.
  if (own === null || value === null || own === value) return [];
  // A body that repeats the id repeats the one that is asked for.
  const callWith = (requested: string): Call => JSON.parse(JSON.stringify(pair.own).replaceAll(own, requested));
  return [refuse(pair, pathPlaceOf(pair.route) ?? '', value, callWith)];
}

function bodyAttacks(pair: Pair): Promise<void>[] {
  const own = ownLeavesOf(pair);
  return [...namingLeaves(pair.victims.body)].flatMap((leaf) => {
    const place = `${operationOf(pair.route)} ${leaf.place}`;
    if (reasonOf(leaf.place) !== undefined) return [];
    const coin = coined[place];
    // What has its name already keeps it: others in the same body call it by it.
    if (coin !== undefined)
      return leaf.value.includes(pair.n) ? [giveName(pair, leaf, coin(tenants.victim.world))] : [];
    if (isShared(own, leaf)) return [];
    const callWith = (requested: string): Call => ({
      ...pair.own,
      body: withLeaf(pair.own.body, leaf.steps, requested),
    });
    return [refuse(pair, leaf.steps.join('.'), leaf.value, callWith)];
  });
}

const ownLeavesOf = ({ own }: Pair) => new Map([...namingLeaves(own.body)].map((leaf) => [leaf.steps.join('.'), leaf]));

/** Both call something of theirs the same. */
function isShared(own: ReadonlyMap<string, Leaf>, { steps, value }: Leaf): boolean {
  return own.get(steps.join('.'))?.value === value;
}

function reasonOf(place: string): string | undefined {
  return Object.entries(namesNoRecord).find(([end]) => place.endsWith(end))?.[1];
}

// One name at once on different paths is a race, and not the matter of this test: each waits for the one before it.
let lastName: Promise<unknown> = Promise.resolve();

/** A name that the victim has given is free to everybody else. */
function giveName(pair: Pair, leaf: Leaf, name: string): Promise<void> {
  const given = lastName.catch(() => null).then(() => proveFree(pair, leaf, name));
  lastName = given;
  return given;
}

async function proveFree({ route, intruder, own }: Pair, leaf: Leaf, name: string): Promise<void> {
  const body = withLeaf(own.body, leaf.steps, name);
  const answer = await answerTo(tenants.app, route.method, dry(own.path), body, intruder.key);
  const refusal: Refusal = { answer, ofAbsent: null, value: name, marks: marks.get(intruder) ?? [] };
  const allowed = [isClosed(route, intruder) ? 403 : 200];
  assert.deepEqual(
    refusalOf(refusal, allowed),
    [],
    `${intruder.name}: ${operationOf(route)} ${leaf.place} ${JSON.stringify(answer.body)}`,
  );
}

test('every field that may name a record stands in a call, or names none for a reason', () => {
  const missing: string[] = [];
  for (const route of routes) {
    const operation = operationOf(route);
    assert(callsOf(operation).length > 0, `${operation} has a call`);
    const called = new Set(Object.keys(coined));
    for (const pair of pairsOf(route)) {
      const own = ownLeavesOf(pair);
      for (const leaf of namingLeaves(pair.victims.body)) {
        if (!isShared(own, leaf)) called.add(`${operation} ${leaf.place}`);
      }
    }
    for (const place of bodyPlacesOf(route).map((name) => `${operation} ${name}`)) {
      const isCalled = called.has(place) || called.has(`${place}[]`);
      if (!isCalled && reasonOf(place) === undefined) missing.push(place);
    }
  }
  assert.deepEqual(missing, []);
});

const slices = Map.groupBy(routes, (route) => route.path.split('/')[1] ?? '');

describe('a record of another tenant is to an intruder as if it were not there', () => {
  for (const [slice, members] of slices) {
    test(`/${slice}`, async () => {
      const { app } = tenants;
      const pairs = members.flatMap(pairsOf);
      const digest = await databaseDigest(app);
      await inTurns(pairs, (pair) => proveOpen(pair));
      await inTurns(pairs, async (pair) => {
        await Promise.all([...pathAttack(pair), ...bodyAttacks(pair)]);
      });
      assert.equal(await databaseDigest(app), digest, 'what was refused has changed nothing');
    });
  }
});

const readerOf = (operation: string, name: string) => filterValues[`${operation} ${name}`] ?? filterValues[name];
const filtersOf = (route: Route) =>
  idPlacesOf(document, route.method, route.path).flatMap(({ part, name }) => (part === 'query' ? [name] : []));

/** The call whose meaning the filter changes: one that names its customer by the application's name. */
function filteredCall(route: Route, intruder: Tenant, filter: string, value: string, dryRun: boolean): Call {
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
  const own = await ask(filteredCall(route, intruder, filter, read(intruder.world), route.method !== 'GET'));
  assert.equal(own.status, 200, `${name}: ${JSON.stringify(own.body)}`);
  if (Array.isArray(own.body.data))
    assert.equal(own.body.data.length === 0, emptyForAll.has(`${operation} ${filter}`), `${name} finds its own`);
  if (intruder.pinnedPricingModelId !== null && sharedWithPinned.has(`${operation} ${filter}`)) return;
  const value = read(tenants.victim.world);
  const refusal = {
    answer: await ask(filteredCall(route, intruder, filter, value, false)),
    ofAbsent: await ask(filteredCall(route, intruder, filter, absentLike(value), false)),
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

test('no exception is unused', () => {
  const places = new Set(
    routes.flatMap((route) =>
      idPlacesOf(document, route.method, route.path).map(({ name }) => `${operationOf(route)} ${name}`),
    ),
  );
  const listed = [...Object.keys(coined), ...Object.keys(answeredOtherwise), ...sharedWithPinned];
  assert.deepEqual(
    listed.filter((place) => !places.has(place)),
    [],
  );
});
