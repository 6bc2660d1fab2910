import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { requests, requestsOf } from '../../examples/requests.ts';
import { makeOpenApi } from '../../scripts/openapi.ts';
import { tags } from '../../scripts/openapi-tags.ts';
import { routes } from '../../src/api/routes.ts';
import { resolved } from '../support/document.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const served: Body = await (await fetch(`${app.url}/openapi.json`)).json();

/** Every operation of the document, by method and path below /api/v1. */
const operations = Object.entries<Body>(served.paths).flatMap(([path, item]) =>
  Object.entries<Body>(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path.slice('/api/v1'.length)}`,
    operation,
  })),
);

describe('the document that is served', () => {
  test('is the document of the routes', async () => {
    assert.deepEqual(served, JSON.parse(JSON.stringify(await makeOpenApi())), 'run npm run generate');
  });

  test('is part of a container image', async () => {
    const ignored = await readFile(new URL('../../.dockerignore', import.meta.url), 'utf8');
    assert(ignored.split('\n').includes('!openapi.json'));
  });

  test('has a heading with a description for each operation, and none without operations', () => {
    assert.deepEqual(new Set(routes.map(({ tag }) => tag)), new Set(tags.map(({ name }) => name)));
    assert(tags.every(({ description }) => description.endsWith('.')));
  });

  test('describes each operation in sentences of at most 25 words', () => {
    for (const { name, operation } of operations) {
      assert.match(operation.description ?? '', /^[A-Z`].*[.]$/, name);
      for (const sentence of operation.description.split(/(?<=[.:])\s/))
        assert(sentence.split(/\s+/).length <= 25, `${name}: ${sentence}`);
    }
  });

  test('has an example of each body, as JSON and as lines', () => {
    assert.deepEqual(Object.keys(requestsOf).sort(), operations.map(({ name }) => name).sort());
    for (const { name, operation } of operations) {
      const contents = Object.values<Body>(operation.requestBody?.content ?? {});
      // Where a body may be left out, the shortest request has none.
      if (operation.requestBody?.required)
        assert(
          contents.every(({ example }) => example !== undefined),
          name,
        );
    }
  });

  test('has no value filled in for an optional parameter', () => {
    for (const { name, operation } of operations) {
      for (const given of operation.parameters ?? []) {
        const parameter = resolved(served, given);
        const schema = resolved(served, parameter.schema);
        // One of several that has to be given is in the example.
        if (parameter.required || requests[name]?.path.includes(`${parameter.name}=`)) continue;
        const filledIn = [parameter.example, schema.example, schema.default, schema.examples].filter(Boolean);
        const isOff = Object.values<Body>(parameter.examples ?? {}).every((each) => each['x-disabled']);
        assert(filledIn.length === 0 && isOff, `${name} ${parameter.name}`);
        assert(schema.enum === undefined || parameter.examples, `${name} ${parameter.name}`);
      }
    }
  });
});
