import type { Random } from './random.ts';

/** JSON text that no parsed value can represent: inserted into a body as it is. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const maxSafe = Number.MAX_SAFE_INTEGER;
// The last instant of a Date, and of the calendar.
const lastInstant = 8_640_000_000_000_000;

export const numbers: readonly unknown[] = [
  0,
  -1,
  1,
  2,
  0.5,
  1.0000000001,
  -0.5,
  255,
  256,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  maxSafe,
  -maxSafe,
  maxSafe - 1,
  2 ** 63,
  -(2 ** 63),
  1e15,
  1e16,
  1e21,
  1e308,
  -1e308,
  5e-324,
  lastInstant,
  lastInstant + 1,
  -lastInstant,
  new RawJson('-0'),
  new RawJson('1e400'),
  new RawJson('-1e400'),
  new RawJson('1E2'),
  new RawJson('9007199254740993'),
  new RawJson('9223372036854775807'),
  new RawJson('9223372036854775808'),
  new RawJson(`1${'0'.repeat(400)}`),
  new RawJson(`0.${'0'.repeat(400)}1`),
];

export const texts: readonly string[] = [
  '',
  ' ',
  '\t\n',
  '0',
  '-1',
  '00',
  '1e3',
  '0x10',
  '9007199254740993',
  '９９',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\0',
  'a\0b',
  '\u{1F4A9}',
  '\ud800',
  '\udc00x',
  '\u202eabc\u202c',
  '\u200b\u200d\ufeff',
  'e\u0301'.repeat(50),
  '\u00e9 vs e\u0301 vs \u212b',
  'ﬃ İı ß ẞ ǅ',
  `Z${'\u0300'.repeat(500)}`,
  '日本語テキスト',
  'مرحبا',
  "'; --",
  '" or 1=1',
  '%',
  '%00',
  '%zz',
  '_%_%',
  '\\',
  '\\u0000',
  '$1',
  '{a,b}',
  '{"a":1}',
  '(1,2)',
  '\\N',
  '${',
  '{{x}}',
  '{placeholder}',
  '<script>alert(1)</script>',
  '\u001b[31m',
  '\r\nx-header: y',
  '../../etc/x',
  'a'.repeat(255),
  'a'.repeat(256),
  '\u{1F4A9}'.repeat(255),
  'ä'.repeat(256),
  'a'.repeat(4096),
  'a'.repeat(65_537),
  ' '.repeat(300),
];

/** Names that every object has from its prototype. */
export const prototypeWords: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'toJSON',
  'then',
];

/**
 * Keys that aim at the handling of keys: numbers of advisory locks, names of the service's own, and text that a log, a path
 * or a statement may misread.
 */
export const craftedKeys: readonly string[] = [
  '7002',
  '7003',
  '7004',
  '7003 0',
  'answer 1 x',
  'fuzz-1 ',
  '../../1',
  '1;select pg_advisory_lock(7003,0)',
  "'||pg_sleep(9)||'",
  '$1',
  '%00',
  '\\x00',
  '{"key":"x"}',
  'null',
  'undefined',
  '0',
  '-0',
  'NaN',
  `${'k'.repeat(200)}1`,
  ...prototypeWords,
];

/** Valid and invalid instants in a request. */
export function instants(now: number): readonly unknown[] {
  return [
    now,
    now - 1,
    now + 1,
    now + 60_000,
    now - 86_400_000,
    now + 86_400_000,
    now + 40 * 86_400_000,
    now + 400 * 86_400_000,
    now - 400 * 86_400_000,
    0,
    -1,
    new Date(now).toISOString(),
    new Date(now + 86_400_000).toISOString().slice(0, 10),
    '2024-02-29',
    '2023-02-29',
    '2026-13-01',
    '2026-12-31T23:59:60Z',
    '2026-12-31T24:00:00Z',
    '2026-06-01T00:00:00+14:00',
    '2026-06-01T00:00:00+99:99',
    '0000-01-01',
    '-000001-01-01T00:00:00Z',
    '+275760-09-13T00:00:00.000Z',
    '+275760-09-13T00:00:00.001Z',
    '9999-12-31T23:59:59.999Z',
    'tomorrow',
    lastInstant,
    lastInstant + 1,
    -lastInstant,
    maxSafe,
    now + 0.5,
  ];
}

/** Unreachable addresses: `.invalid` is not a domain, and the others are refused. */
export const addresses: readonly string[] = [
  'https://hooks.invalid/in',
  'http://hooks.invalid',
  'https://user:secret@hooks.invalid/',
  `https://hooks.invalid/${'a'.repeat(2100)}`,
  'https://hooks.invalid:0/',
  'https://hooks.invalid:65536/',
  'https://127.0.0.1/',
  'http://[::1]/',
  'https://0x7f.1/',
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///x',
  'https://',
  '//hooks.invalid',
  'https://hooks.invalid/%zz?\u0000',
  'https://ho\u00adoks.invalid/',
  'https://xn--a.invalid/',
  `https://${'a'.repeat(64)}.invalid/`,
];

/** Values that are neither text, number nor record. */
/** Created again for each use, because a body's values may be changed in place. */
export const oddities = (): readonly unknown[] => [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  { id: null },
  new RawJson('{"__proto__":{"admin":true}}'),
  new RawJson('{"constructor":{"prototype":{"admin":true}}}'),
  new RawJson('{"toString":1,"valueOf":2,"hasOwnProperty":3,"length":-1,"then":{}}'),
  new RawJson('{"toJSON":"x"}'),
  new RawJson('{"a":1,"a":2}'),
];

/** Extreme nesting and width. */
export function heavy(random: Random): RawJson {
  const depth = random.pick([60, 63, 64, 65, 66, 1000, 20_000]);
  const width = random.pick([101, 1001, 10_001]);
  return new RawJson(
    random.pick([
      () => '['.repeat(depth) + ']'.repeat(depth),
      () => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
      () => `[${'0,'.repeat(width)}0]`,
      () => `[${'{},'.repeat(width)}{}]`,
      () => `{${Array.from({ length: width }, (_, index) => `"k${index}":${index}`).join()}}`,
      () => `"${'\\u00e9'.repeat(width)}"`,
    ])(),
  );
}

/** Any value at all. */
export function anyValue(random: Random, now: number): unknown {
  const kind = random.below(20);
  if (kind < 6) return random.pick(texts);
  if (kind < 11) return random.pick(numbers);
  if (kind < 14) return random.pick(oddities());
  if (kind < 17) return random.pick(instants(now));
  if (kind < 19) return random.pick(addresses);
  return heavy(random);
}

/** JSON text of a value in which RawJson is inserted as it is. */
export function jsonText(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((each) => jsonText(each ?? null)).join()}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${jsonText(field)}`).join()}}`;
  }
  // Values without a JSON form become null, as in JSON.stringify.
  return JSON.stringify(value) ?? 'null';
}
