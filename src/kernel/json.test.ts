import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { amountInput, countInput, jsonIssues, Metadata, maxSafeInteger, SafeString, TimestampInput } from './json.ts';
import { type BodyForm, listLimits, ordinaryLimits, weigh } from './json-weight.ts';

const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;

test('what no record can hold is named with the path that leads to it', () => {
  assert.deepEqual(jsonIssues({ a: [1, 'x\0y'] }), [
    { path: ['a', 1], message: 'contains a NUL character', code: 'custom' },
  ]);
  assert.deepEqual(jsonIssues(['\ud800']), [{ path: [0], message: 'contains an unpaired surrogate', code: 'custom' }]);
  assert.deepEqual(jsonIssues({ 'k\0': 1 }), [{ path: [], message: 'a key contains a NUL character', code: 'custom' }]);
  assert.equal(jsonIssues(JSON.parse('{"a":{"__proto__":1}}'))[0]?.path[0], 'a');
  assert.deepEqual(jsonIssues(JSON.parse('{"a":[1e308,1e400]}')), [
    { path: ['a', 1], message: 'is too large for a number', code: 'too_big' },
  ]);
  assert.deepEqual(jsonIssues({ emoji: '😀', nothing: null, list: [true, 1.5] }), []);
});

test('nesting ends at 64 levels', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  assert.deepEqual(jsonIssues(nested(64)), []);
  assert.match(jsonIssues(nested(65))[0]?.message ?? '', /deeper than 64/);
});

/** The answer of weighing a body, after all steps. */
function weighed(text: string, limits = listLimits, form: BodyForm = null) {
  const steps = weigh(Buffer.from(text), limits, form);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

const event = (n: number) => `{"a":[${n},{"b":"],[\\""}]}`;
const manyEvents = Array.from({ length: 5_000 }, (_, n) => event(n));

test('a long list is found in its body, and each piece of it is a whole number of elements', () => {
  const text = `{"more":[1,2],"events":[${manyEvents}],"last":1}`;
  const found = weighed(text, listLimits, { listIn: 'events' });
  assert(found !== null && 'cuts' in found && found.cuts.length === Math.floor(manyEvents.join().length / 66_000));
  const pieces = [...found.cuts, found.end].map((end, at) =>
    text.slice((found.cuts[at - 1] ?? found.begin - 1) + 1, end),
  );
  assert.deepEqual(
    pieces.flatMap((piece) => JSON.parse(`[${piece}]`)),
    manyEvents.map((each) => JSON.parse(each)),
  );
  assert.equal(text.slice(0, found.begin) + text.slice(found.end), '{"more":[1,2],"events":[],"last":1}');
});

test('no list is found where its field stands twice or not at all, or holds something else', () => {
  for (const text of ['{"events":[1],"events":[2]}', '{"more":[1]}', '{"events":{"a":[1]}}', '{"events":[1', '[[1]]'])
    assert.equal(weighed(text, listLimits, { listIn: 'events' }), null, text);
});

test('beside a long list a body has the usual limits, and so has one without it', () => {
  const messageOf = (text: string) => {
    const found = weighed(text, listLimits, { listIn: 'events' });
    return found !== null && 'message' in found ? found.message : '';
  };
  const zeros = `[0${',0'.repeat(ordinaryLimits.values)}]`;
  assert.equal(messageOf(`{"events":${zeros}}`), '');
  assert.match(messageOf(`{"more":${zeros}}`), /more than 20000 values beside/);
  assert.match(messageOf(`{"events":[1],"more":${zeros}}`), /more than 20000 values beside/);
  assert.match(
    messageOf(`{"events":[1],"more":"${'x'.repeat(ordinaryLimits.bytes)}"}`),
    /more than 1048576 bytes beside/,
  );
  assert.equal(messageOf(`{"events":[1,"${'x'.repeat(300_000)}",2]}`), 'is longer than 262144 bytes');
  assert.equal(messageOf(`{"events":[1,"${'x'.repeat(300_000)}"]}`), 'is longer than 262144 bytes');
});

test('a body is weighed before it is parsed: what texts hold counts for nothing', () => {
  const issueOf = (text: string) => {
    const found = weighed(text);
    return found !== null && 'message' in found ? found.message : undefined;
  };
  assert.equal(issueOf('['.repeat(64)), undefined);
  assert.equal(issueOf('['.repeat(65)), 'the body is nested deeper than 64 levels');
  assert.equal(issueOf('{"a":'.repeat(65)), 'the body is nested deeper than 64 levels');
  assert.equal(issueOf('[]'.repeat(1000)), undefined);
  assert.equal(issueOf(`["${'['.repeat(65)}","\\"${'[]'.repeat(65)}]`), undefined);
  assert.equal(issueOf(`["\\"${'['.repeat(65)}"]`), undefined);
  assert.equal(issueOf(`["${','.repeat(600_000)}"]`), undefined);
  assert.equal(issueOf(`[0${',0'.repeat(499_999)}]`), undefined);
  assert.equal(issueOf(`[0${',0'.repeat(500_000)}]`), 'the body contains more than 500000 values');
  assert.equal(issueOf('\n'.repeat(500_000)), 'the body contains more than 500000 values');
  assert.equal(issueOf(`[${'\n'.repeat(500_000)}]`), undefined);
  assert.equal(issueOf('"'), undefined);
});

test('a count is a whole number within its bounds, or a text of one', () => {
  const count = countInput(1, 10);
  for (const good of [1, 10, '5']) assert(accepts(count, good), String(good));
  for (const bad of [0, 11, 1.5, '1.5', '', ' 5', null, true, Number.NaN]) assert(!accepts(count, bad), String(bad));
  assert(accepts(countInput(0), maxSafeInteger));
  assert.equal(countInput(0).safeParse(maxSafeInteger + 1).error?.issues.length, 1);
});

test('an amount comes in as a bigint', () => {
  assert.equal(amountInput(0).parse(0), 0n);
  assert.equal(amountInput(0).parse('2900'), 2900n);
  assert.equal(amountInput(0).parse(maxSafeInteger), 9_007_199_254_740_991n);
});

test('a document names counts and amounts as whole numbers that are required', () => {
  const body = z.object({ count: countInput(1, 10), amount: amountInput(0), spare: countInput(1).optional() });
  const { properties, required } = z.toJSONSchema(body, { io: 'input' });
  assert.deepEqual(required, ['count', 'amount']);
  assert.deepEqual(properties?.count, { type: 'integer', minimum: 1, maximum: 10 });
  assert.deepEqual(body.safeParse({}).error?.issues[0]?.path, ['count']);
});

test('an instant is epoch milliseconds, or ISO text of one', () => {
  assert.equal(TimestampInput.parse(0), 0);
  assert.equal(TimestampInput.parse('2026-01-01T00:00:00Z'), Date.UTC(2026, 0, 1));
  for (const text of [
    '2026-01-01',
    '2026-01-01T00:00',
    '2026-01-01T00:00:00',
    '2026-01-01T01:00:00+01:00',
    '2026-01-01T00:00:00.000Z',
  ]) {
    assert.equal(TimestampInput.parse(text), Date.UTC(2026, 0, 1), text);
  }
  for (const bound of [maxSafeInteger, -maxSafeInteger]) assert.equal(TimestampInput.parse(bound), bound);
  for (const bad of [maxSafeInteger + 1, -maxSafeInteger - 1, 0.5, 'yesterday', '', '2026', 'Jan 1 2026', '2026-13-01'])
    assert(!accepts(TimestampInput, bad), String(bad));
});

test('a name is trimmed and has 1 to 255 characters', () => {
  assert.equal(SafeString.parse('  Pro '), 'Pro');
  assert(accepts(SafeString, 'x'.repeat(255)));
  for (const bad of ['', '   ', 'x'.repeat(256), 5]) assert(!accepts(SafeString, bad));
});

test('metadata is flat: at most 50 keys of 1 to 40 characters; texts up to 500 characters, numbers and booleans', () => {
  assert(accepts(Metadata, { team: 'core', seats: 5, beta: true, long: 'x'.repeat(500) }));
  assert(accepts(Metadata, { ['k'.repeat(40)]: 'x' }));
  for (const bad of [
    { ['k'.repeat(41)]: 'x' },
    { '': 'x' },
    { a: 'x'.repeat(501) },
    { a: null },
    { a: {} },
    { a: [1] },
    'text',
    [],
  ])
    assert(!accepts(Metadata, bad), JSON.stringify(bad));
  const keys = (size: number) => Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, 1]));
  assert(accepts(Metadata, keys(50)));
  assert(!accepts(Metadata, keys(51)));
});

test('an instant that is missing, or is none, is told what would be one', () => {
  for (const bad of [undefined, {}, 1.5, 'x', 'x'.repeat(65)]) {
    const { error } = TimestampInput.safeParse(bad);
    assert.deepEqual(
      error?.issues.map(({ message }) => message),
      ['must be epoch milliseconds or an ISO 8601 date-time'],
      String(bad),
    );
  }
});
