import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { routes } from '../../src/api/routes.ts';
import type { Route } from '../../src/http/route.ts';
import { createApiKey, revokeApiKey } from '../../src/organizations/actions.ts';
import { type Call, calls, type Part, remake, spoils } from '../support/api-calls.ts';
import { databaseDigest } from '../support/digest.ts';
import { answerPointer, createValidator } from '../support/document.ts';
import { type Body, startTestApp, type TestOrganization } from '../support/harness.ts';
import { buildWorld, type World } from '../support/world.ts';

const app = await startTestApp();
const stranger = await app.newOrganization();
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const ajv = createValidator(document);

const nameOf = (route: Route) => `${route.method} ${route.path}`;
/** The body must be what openapi.json says of this route and status. */
function assertDocumented(route: Route, status: number, body: unknown): void {
  const mediaType = (status === 200 ? route.file?.contentType : undefined) ?? 'application/json';
  const pointer = answerPointer(document, { method: route.method, path: `/api/v1${route.path}`, status }, mediaType);
  const validate = pointer && ajv.getSchema(pointer);
  assert(validate, `${nameOf(route)} does not document ${status}`);
  assert(
    validate(body),
    `${nameOf(route)} ${status}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body).slice(0, 500)}`,
  );
}

/** A preview tells why something would be refused, and is not refused itself; its own tests say so. */
const answersRefusals: ReadonlySet<string> = new Set([
  'POST /subscriptions/{id}/preview-adjust',
  // Its path names a kind of records.
  'GET /exports/{file}',
  // Its path names a kind of email.
  'GET /email-templates/{name}/preview',
]);

let world: World;
/** A world whose parts are used up one by one. */
interface Spoiled {
  world: World;
  /** Whether its customer stands on the default plan only, as subscribing needs. */
  readonly subscribes: boolean;
  readonly used: Set<Part>;
}
const spoiled: Spoiled[] = [];
let count = 0;
const unique = () => `${++count}`;
/** A world that still has what this route's call uses up. What is refused or tried out leaves it to the next. */
async function worldFor(route: Route, isCarriedOut: boolean): Promise<World> {
  const subscribes = nameOf(route) === 'POST /subscriptions';
  const part = subscribes ? 'everything' : spoils.get(nameOf(route));
  if (part === undefined) return world;
  const usable = spoiled.filter((each) => each.subscribes === subscribes && !each.used.has('everything'));
  const found = usable.find(({ used }) => !used.has(part)) ??
    (await remadeIn(usable[0], part)) ?? { world: await freshWorld(subscribes), subscribes, used: new Set() };
  if (!spoiled.includes(found)) spoiled.push(found);
  if (isCarriedOut) found.used.add(part);
  return found.world;
}

/** The world with that part made again; undefined where that is not known, or there is no world. */
async function remadeIn(found: Spoiled | undefined, part: Part): Promise<Spoiled | undefined> {
  const make = remake[part];
  if (found === undefined || make === undefined) return undefined;
  found.world = { ...found.world, ...(await make(app, found.world, `w${unique()}`)) };
  found.used.delete(part);
  return found;
}

async function freshWorld(subscribes: boolean): Promise<World> {
  const fresh = await buildWorld(app, app, `w${unique()}`);
  // Subscribing needs a customer who stands on the default plan only.
  if (subscribes)
    await app.post(`/subscriptions/${fresh.subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });
  return fresh;
}

/** A call that succeeds when it is carried out. */
async function callOf(route: Route, isCarriedOut = false): Promise<Call> {
  const make = calls[nameOf(route)];
  assert(make, `add a call of ${nameOf(route)} to test/support/api-calls.ts`);
  return make(await worldFor(route, isCarriedOut), unique());
}

before(async () => {
  world = await buildWorld(app);
  await buildWorld(app, stranger, 'stranger');
});

test('every route has a call, and every call a route', () => {
  assert.deepEqual(Object.keys(calls).sort(), routes.map(nameOf).sort());
});

test('the document is public, also where existing clients look for it', async () => {
  assert.deepEqual(await (await fetch(`${app.url}/api/openapi`)).json(), document);
});

for (const route of routes) {
  describe(nameOf(route), () => {
    // The calls after the first store nothing, so they share one.
    let call: Call;
    let digest: string;
    const storeNoMore = async () => {
      call = await callOf(route);
      await badKeys();
      digest = await databaseDigest(app);
    };

    test('a valid call succeeds and its answer is as documented', async () => {
      const { path, body } = await callOf(route, true);
      const answer = await app.request(route.method, path, body);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assertDocumented(route, 200, answer.body);
      assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f]{8}$/);
      if (route.method === 'GET') await storeNoMore();
    });

    if (route.method !== 'GET') {
      test('a repeat under the same Idempotency-Key is answered from the first', async () => {
        const { path, body } = await callOf(route, true);
        const headers = { 'idempotency-key': `key-${unique()}` };
        const first = await app.request(route.method, path, body, { headers });
        assert.equal(first.status, 200, JSON.stringify(first.body));
        await storeNoMore();
        const again = await app.request(route.method, path, body, { headers });
        assert.equal(again.status, 200);
        assert.equal(again.headers.get('idempotent-replayed'), 'true');
        assert.deepEqual(again.body, first.body);
      });

      test('a dry run answers as the real call does', async () => {
        const dry = await app.request(route.method, `${call.path}?dryRun=true`, call.body);
        assert.equal(dry.status, 200, JSON.stringify(dry.body));
        assert.equal(dry.headers.get('dry-run'), 'true');
        assertDocumented(route, 200, dry.body);
      });

      if (route.body !== undefined) {
        test('what is not JSON, or holds what cannot be stored, is refused', async () => {
          for (const text of unreadable) {
            const answer = await app.request(route.method, call.path, text);
            assert.equal(answer.status, 400, `${text}: ${JSON.stringify(answer.body)}`);
            assertDocumented(route, 400, answer.body);
          }
          const wrongType = await app.request(route.method, call.path, 'a=1', {
            headers: { 'content-type': 'text/plain' },
          });
          assert.equal(wrongType.status, 415);
        });
      }
    }

    test('without a valid key it is refused', async () => {
      for (const key of await badKeys()) {
        const answer = await app.request(route.method, call.path, call.body, { key });
        assert.equal(answer.status, 401);
        assertDocumented(route, 401, answer.body);
      }
    });

    if (route.path.includes('{') && !answersRefusals.has(nameOf(route))) {
      test('a record that does not exist, or is of another environment, is not found', async () => {
        for (const key of [stranger.testKey, stranger.liveKey, app.liveKey]) {
          const answer = await app.request(route.method, call.path, call.body, { key });
          assert.equal(answer.status, 404, JSON.stringify(answer.body));
          assert.equal(answer.body.code, 'NOT_FOUND');
          assertDocumented(route, 404, answer.body);
        }
        const absentPath = route.path.replaceAll(/\{\w+\}/g, 'absent') + new URL(call.path, app.url).search;
        const absent = await app.request(route.method, absentPath, stripIds(call.body));
        assert.equal(absent.status, 404, JSON.stringify(absent.body));
      });
    }

    test('nothing is stored by a repeat, a dry run or a refused call', async () => {
      assert.equal(await databaseDigest(app), digest);
    });
  });
}

const unreadable = ['{', '[1,', '{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"__proto__":{}}', 'null', '"text"', '[]'];

/** The body without ids of records, so that it does not contradict another id in the path. */
function stripIds(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  return JSON.parse(JSON.stringify(body, (key, value) => (key === 'id' ? undefined : value)));
}

let made: Promise<(string | null)[]> | undefined;

function badKeys(): Promise<(string | null)[]> {
  made ??= makeBadKeys(app);
  return made;
}

/** No key, a wrong one, one that has expired and one that was revoked. */
async function makeBadKeys({ testEnvironmentId: environmentId }: TestOrganization): Promise<(string | null)[]> {
  const request = { environmentId, livemode: false, name: 'bad' };
  const expired = await createApiKey(app.owner, { ...request, expiresAt: Date.now() - 1 }, Date.now());
  const revoked = await createApiKey(app.owner, request, Date.now());
  await revokeApiKey(app.owner, revoked.id, Date.now());
  return [null, 'sk_test_wrong', expired.token, revoked.token];
}
