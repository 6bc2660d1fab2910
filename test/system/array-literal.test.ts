import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { idArray, textArray } from '../../src/database/array-literal.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();

/** The texts as PostgreSQL reads them. */
async function readTexts(values: readonly (string | null)[]): Promise<unknown> {
  const { rows } = await sql<{ values: unknown }>`select ${textArray(values)}::text[] as values`.execute(app.database);
  return rows[0]?.values;
}

for (const [what, values] of [
  ['none at all', []],
  ['an empty text', ['']],
  ['null, and the word', [null, 'null', 'NULL', 'Null', 'nullable']],
  ['quotes', ['"', '""', "'", 'say "x"', '"quoted"']],
  ['backslashes', ['\\', '\\\\', '\\"', 'a\\', '\\n']],
  ['braces and commas', ['{', '}', '{}', ',', '{a,b}', 'a,b']],
  ['white space', [' ', '  a ', '\n', '\t', 'a b', 'a\r\n']],
  ['letters of the world', ['é', '日本', '👩‍👩‍👧', 'ß', '\u2028', 'a\u0301', '\uffff']],
  ['what casts look like', ['1::int', '$1', "'); drop table x; --", '--', '/*']],
  ['JSON', ['{"a":"b\\"c"}', 'null', '{}']],
] as const) {
  test(`texts arrive as they are: ${what}`, async () => {
    assert.deepEqual(await readTexts(values), values);
  });
}

// What the service lets through: no NUL, and no half of a surrogate pair.
const text = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom('"', '\\', '{', '}', ',', ' ', "'"),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
  })
  .filter((each) => !each.includes('\0') && each.isWellFormed());

test('any texts arrive as they are, in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { maxLength: 20 }), async (values) => {
      assert.deepEqual(await readTexts(values), values);
    }),
    { numRuns: 200 },
  );
});

test('ids and numbers arrive as they are, and null stays null', async () => {
  const ids = ['sub_0A', 'usage_event_zz', null, '00'];
  const numbers = [0, -1, Number.MAX_SAFE_INTEGER, null];
  const amounts = [10n ** 30n, -(10n ** 30n), null];
  const { rows } = await sql<{ ids: unknown; numbers: unknown; amounts: unknown }>`
    select ${idArray(ids)}::text[] as ids, to_json(${idArray(numbers)}::bigint[]) as numbers,
           ${idArray(amounts)}::numeric[]::text[] as amounts`.execute(app.database);
  assert.deepEqual(rows, [{ ids, numbers, amounts: amounts.map((each) => each && String(each)) }]);
});

test('texts that hold JSON become JSON: null is no value, and the word is one', async () => {
  const values = [null, 'null', '{"a":[1,"x,\\"y\\""]}'];
  const { rows } = await sql<{ kind: string | null }>`
    select json_typeof(value) as kind from unnest(${textArray(values)}::json[]) with ordinality as each (value, position)
     order by position`.execute(app.database);
  assert.deepEqual(
    rows.map(({ kind }) => kind),
    [null, 'null', 'object'],
  );
});
