import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statementsOfPlaced } from './placed-migration.ts';

test('a migration is split where its statements end, and not within texts, names, comments and bodies', () => {
  const statements = [
    "-- About notes; and no more.\nalter table notes add column memo text default 'a;''b'",
    'comment on column notes."a;b" is null /* one; two */',
    'create function memo() returns trigger language plpgsql as $$ begin new.memo := $a$;$a$; return new; end $$',
    'create function one() returns bigint language sql\n  begin atomic\n    select 1;\n    select 2;\n  end',
  ];
  assert.deepEqual(statementsOfPlaced(`${statements.join(';\n')};\n-- The end;\n`), statements);
});

test('a policy calls its functions directly, and numbers come from a trigger', () => {
  assert.deepEqual(
    statementsOfPlaced(`
      create policy tenant on notes using (environment_id = (select current_environment()) or (select model()) is null);
      create table notes (id integer not null generated always as identity, at bigint);`),
    [
      'create policy tenant on notes using (environment_id = current_environment() or model() is not distinct from null)',
      'create table notes (id integer not null, at bigint)',
      "select draw_numbers('notes', 'id')",
    ],
  );
});
