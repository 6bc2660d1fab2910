import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Flowglad } from '@flowglad/node';
import { Catalogs } from '@flowglad/node/resources/catalogs';
import { FlowgladServer, FlowgladServerAdmin, hybridRouteToHandlerMap, routeToHandlerMap } from '@flowglad/server';
import { routes } from '../../src/api/routes.ts';
import { rawCalls } from '../support/official-calls-raw.ts';
import { methodsOf } from '../support/official-client.ts';

const page = await readFile(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');

interface Row {
  readonly name: string;
  readonly verdict: string;
  readonly between: string;
}

/** The rows of the table under a heading: the first cell, the last, and what stands between. */
function tableOf(heading: string): Row[] {
  const [, rest = ''] = page.split(`\n${heading}\n`);
  const [section = ''] = rest.split(/\n##/);
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((line) => {
    const [name = '', ...others] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', ''));
    return { name, verdict: others.at(-1) ?? '', between: others.slice(0, -1).join('|') };
  });
}

const named = (heading: string) => tableOf(heading).map(({ name }) => name);
const sorted = (names: Iterable<string>) => [...names].sort();

test('docs/compatibility.md has every operation, and says of each by which method it is reached', () => {
  const rows = tableOf('## Operations');
  const methods = rows.map(({ between }) => between);
  assert.equal(rows.length, 82);
  assert.deepEqual(
    sorted(methods.filter((method) => method !== 'by path')),
    sorted(methodsOf(new Flowglad({ apiKey: 'none', baseURL: 'http://localhost' }))),
  );
  const byPath = rows.filter(({ between }) => between === 'by path').map(({ name }) => name);
  assert.deepEqual(sorted(byPath), sorted(Object.keys(rawCalls)));
});

test('every operation is in the list of routes', () => {
  const served = new Set(routes.map(({ method, path }) => `${method} ${path}`));
  const names = [...named('## Operations'), ...named('### Catalogs')];
  assert.deepEqual(
    names.filter((name) => !served.has(name)),
    [],
  );
});

test('it has every method of the classes, and every action of the handler', () => {
  const server = new FlowgladServer({
    apiKey: 'none',
    baseURL: 'http://localhost',
    customerExternalId: 'none',
    getCustomerDetails: async () => ({ name: '', email: '' }),
  });
  const internal = new Set(['deriveSubscriptionId', 'constructor']);
  const methods = (of: object) => Object.getOwnPropertyNames(of).filter((name) => !internal.has(name));
  const functions = Object.entries(server).filter(([, value]) => typeof value === 'function');
  assert.deepEqual(
    sorted(named('## `FlowgladServer`')),
    sorted(functions.map(([name]) => name).filter((name) => !internal.has(name))),
  );
  assert.deepEqual(sorted(named('## `FlowgladServerAdmin`')), sorted(methods(FlowgladServerAdmin.prototype)));
  const catalogMethods = tableOf('### Catalogs').map(({ between }) => between);
  assert.deepEqual(sorted(catalogMethods), sorted(methods(Catalogs.prototype)));
  const actions = Object.keys({ ...routeToHandlerMap, ...hybridRouteToHandlerMap });
  assert.deepEqual(sorted(named('## The route handler')), sorted(actions));
});

test('every row has a verdict', () => {
  const headings = ['## Operations', '### Catalogs', '## `FlowgladServer`', '## What `getBilling` answers'];
  headings.push('## `FlowgladServerAdmin`', '## The route handler');
  for (const heading of headings) {
    for (const { name, verdict } of tableOf(heading))
      assert.match(verdict, /^(works|differs: |does not apply: )/, `${heading} ${name}`);
  }
});
