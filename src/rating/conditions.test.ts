import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  bestMatch,
  type Conditions,
  conditionsText,
  findTie,
  indexConditions,
  type Properties,
  unmetCondition,
} from './conditions.ts';

const models = [
  { name: 'gpt-5', where: { model: ['gpt-5', 'gpt-5-2026'] } },
  { name: 'mini', where: { model: ['gpt-5-mini'] } },
  { name: 'gpt-5 eu', where: { model: ['gpt-5'], region: ['eu'] } },
];
const nameFor = (properties: Properties) => bestMatch(indexConditions(models), properties)?.name;

test('an event is rated by the match with the most conditions', () => {
  assert.equal(nameFor({ model: 'gpt-5' }), 'gpt-5');
  assert.equal(nameFor({ model: 'gpt-5-2026', region: 'eu' }), 'gpt-5');
  assert.equal(nameFor({ model: 'gpt-5', region: 'us' }), 'gpt-5');
  assert.equal(nameFor({ model: 'gpt-5', region: 'eu', user: 'ada' }), 'gpt-5 eu');
  assert.equal(nameFor({ model: 'gpt-5-mini', region: 'eu' }), 'mini');
});

test('an event without a match has none', () => {
  for (const properties of [
    null,
    undefined,
    {},
    { model: 'gpt-4' },
    { region: 'eu' },
    { model: ['gpt-5'] },
    { model: null },
  ])
    assert.equal(nameFor(properties), undefined);
});

test('values are compared as texts', () => {
  const index = indexConditions([{ where: { tier: ['2', 'true', '1e+21'] } }]);
  for (const tier of [2, '2', 2.0, true, 'true', 1e21]) assert.ok(bestMatch(index, { tier }), String(tier));
  for (const tier of ['2.0', 'TRUE', ' 2', {}, [2]]) assert.equal(bestMatch(index, { tier }), undefined);
});

test('an inherited property is none', () => {
  const index = indexConditions([{ where: { constructor: ['x'], toString: ['y'] } }]);
  assert.equal(bestMatch(index, {}), undefined);
  assert.ok(bestMatch(index, { constructor: 'x', toString: 'y' }));
});

test('two prices tie where as many conditions of both may be met by one event', () => {
  const tie = (one: Conditions, other: Conditions) => findTie([{ where: one }, { where: other }]) !== null;
  assert.ok(tie({ model: ['a', 'b'] }, { model: ['b', 'c'] }));
  assert.ok(!tie({ model: ['a'] }, { model: ['b'] }));
  // An event of model a in the region eu meets both.
  assert.ok(tie({ model: ['a'] }, { region: ['eu'] }));
  assert.ok(tie({ model: ['a'], region: ['eu'] }, { model: ['a'], size: ['big'] }));
  assert.ok(!tie({ model: ['a'], region: ['eu'] }, { model: ['b'], size: ['big'] }));
  assert.ok(!tie({ model: ['a'], region: ['eu'] }, { model: ['a'], region: ['us'] }));
  // More conditions decide.
  assert.ok(!tie({ model: ['a'] }, { model: ['a'], region: ['eu'] }));
});

test('the later one of two that tie is named first', () => {
  const [one, two, three] = [{ where: { a: ['1'] } }, { where: { a: ['2'], b: ['1'] } }, { where: { a: ['1', '3'] } }];
  assert.deepEqual(findTie([one, two, three]), [three, one]);
  assert.deepEqual(findTie([three, two, one]), [one, three]);
});

const names = ['a', 'b', 'c'];
const values = ['1', '2', '3'];
const where = fc.dictionary(fc.constantFrom(...names), fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 }), {
  minKeys: 1,
  noNullPrototype: true,
});
const records = fc.array(fc.record({ where }), { maxLength: 6 });

/** All events that differ for these conditions. */
const events = names.reduce<Record<string, string>[]>(
  (so, name) => so.flatMap((event) => [event, ...values.map((value) => ({ ...event, [name]: value }))]),
  [{}],
);

function bestOf<Rated extends { where: Conditions }>(rated: readonly Rated[], properties: Properties): Rated[] {
  const met = rated.filter((each) => unmetCondition(each.where, properties) === null);
  const most = Math.max(...met.map((each) => Object.keys(each.where).length));
  return met.filter((each) => Object.keys(each.where).length === most);
}

test('conditions read as words, of a limited length', () => {
  assert.equal(conditionsText({ model: ['gpt-5', 'gpt-5-mini'], region: ['eu'] }), 'gpt-5 or gpt-5-mini, eu');
  assert.equal(conditionsText({ model: ['a', 'b', 'c', 'd', 'e'] }), 'a or b or c or 2 others');
  assert.equal(conditionsText({ model: ['x'.repeat(300)] }), `${'x'.repeat(200)} ...`);
});

test('the index finds what a look at each record finds', () => {
  fc.assert(
    fc.property(records, (rated) => {
      const index = indexConditions(rated);
      for (const event of events) {
        const best = bestOf(rated, event);
        const found = bestMatch(index, event);
        assert.ok(found === undefined ? best.length === 0 : best.includes(found));
      }
    }),
  );
});

test('two records tie exactly if some event meets both of them', () => {
  fc.assert(
    fc.property(where, where, (one, other) => {
      const rated = [{ where: one }, { where: other }];
      const isTied =
        Object.keys(one).length === Object.keys(other).length &&
        events.some((event) => rated.every((each) => unmetCondition(each.where, event) === null));
      assert.equal(findTie(rated) !== null, isTied);
    }),
  );
});

test('without ties each event has one best match', () => {
  fc.assert(
    fc.property(records, (rated) => {
      fc.pre(findTie(rated) === null);
      for (const event of events) assert.ok(bestOf(rated, event).length <= 1);
    }),
  );
});
