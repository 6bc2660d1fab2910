import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calls } from '../support/api-calls.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { buildWorld } from '../support/world.ts';

const app = await startTestApp();
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const world = await buildWorld(app);

const words = ['__proto__', 'constructor', 'hasOwnProperty'];

test('a word that every object knows is a value or a name like any other, in every query', async () => {
  for (const [operation, callOf] of Object.entries(calls)) {
    const [method, route = ''] = operation.split(' ');
    if (method !== 'GET') continue;
    const { path } = callOf(world, '1');
    const { parameters = [] } = document.paths[`/api/v1${route}`].get;
    const named = parameters.filter((each: Body) => each.in === 'query').map(({ name }: Body) => name);
    const queries = [...named, 'metadata[__proto__]'].map((name) => `${name}=__proto__`);
    for (const query of [...queries, ...words.map((word) => `${word}=1`)]) {
      const { status } = await app.request('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
      assert(status < 500, `${path}?${query}: ${status}`);
    }
  }
});
