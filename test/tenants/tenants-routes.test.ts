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
} from '../support/tenants-attack.ts';
import { callsOf } from '../support/tenants-calls.ts';
import {
  answeredOtherwise,
  closedToLive,
  closedToPinned,
  coined,
  namesNoRecord,
  sharedWithPinned,
} from '../support/tenants-exceptions.ts';
import { idPlacesOf, type Leaf, namingLeaves, withLeaf } from '../support/tenants-places.ts';
import { buildTenants, type Tenant, type Tenants } from '../support/tenants-world.ts';

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
