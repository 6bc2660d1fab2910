import { z } from 'zod';
import type { Issue } from './problem.ts';

// Nobody nests deeper than this by intent, and a parser or printer that recurses is safe at it.
const maxDepth = 64;
const maxIssues = 20;
// Ten thousand usage events of fifty values each. A parser takes a second for a million values, and nobody else is served
// meanwhile.
const maxValues = 500_000;
// What is smaller is parsed in milliseconds whatever it holds, and need not be looked through before.
const harmlessBytes = 64 * 1024;

type Path = (string | number)[];

/**
 * What in a parsed JSON value no record may hold: NUL characters (PostgreSQL's text has none), lone surrogates (no
 * UTF-8 has them), numbers that were too large to read (1e400), the key `__proto__`, and nesting deeper than 64. Empty
 * when all is well.
 */
export function jsonIssues(value: unknown): Issue[] {
  const issues: Issue[] = [];
  visit(value, [], issues);
  return issues;
}

const [quote, comma, newLine, backslash] = [0x22, 0x2c, 0x0a, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Why JSON, or lines of it, in UTF-8 is not to be parsed at all: it would take too long, because it nests deeper than 64
 * or holds more than 500,000 values. Null when it may be. What is no JSON is left to the parser.
 */
export function weightIssue(bytes: Uint8Array): Issue | null {
  if (bytes.length <= harmlessBytes) return null;
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfText(bytes, at + 1);
    } else if (byte === comma || (byte === newLine && depth === 0)) {
      if (++values >= maxValues) return tooBig(`holds more than ${maxValues} values`);
    } else if (byte === openBracket || byte === openBrace) {
      if (++depth > maxDepth) return tooBig(`is nested deeper than ${maxDepth} levels`);
    } else if (byte === closeBracket || byte === closeBrace) {
      depth--;
    }
  }
  return null;
}

/** Where the text ends that begins at `at`: its closing quote, or the end of everything. */
function endOfText(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && bytes[end] !== quote) end += bytes[end] === backslash ? 2 : 1;
  return end;
}

function tooBig(message: string): Issue {
  return { path: [], message: `the body ${message}`, code: 'too_big' };
}

function visit(value: unknown, path: Path, issues: Issue[]): void {
  if (issues.length >= maxIssues) return;
  if (typeof value === 'string') {
    const message = textIssue(value);
    if (message) issues.push({ path: [...path], message, code: 'custom' });
    return;
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    issues.push({ path: [...path], message: 'is too large for a number', code: 'too_big' });
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= maxDepth) {
    issues.push({ path: path.slice(0, 3), message: `is nested deeper than ${maxDepth} levels`, code: 'too_big' });
    return;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) visitAt(index, value[index], path, issues);
    return;
  }
  // What was parsed inherits nothing that could be counted, and this is the quickest way through it.
  for (const key in value) {
    const message = key === '__proto__' ? 'is not a key that can be stored' : textIssue(key);
    if (message) issues.push({ path: [...path], message: `a key ${message}`, code: 'custom' });
    else visitAt(key, (value as Record<string, unknown>)[key], path, issues);
  }
}

function visitAt(key: string | number, value: unknown, path: Path, issues: Issue[]): void {
  path.push(key);
  visit(value, path, issues);
  path.pop();
}

/** What is wrong with a text, or null. */
export function textIssue(text: string): string | null {
  if (text.includes('\0')) return 'holds a NUL character';
  return text.isWellFormed() ? null : 'holds half of a surrogate pair';
}

/** The largest whole number that JSON carries exactly: 2^53-1. */
export const maxSafeInteger = 9_007_199_254_740_991;

/** An instant in an answer: epoch milliseconds. */
export const Timestamp = z
  .int()
  .min(-maxSafeInteger)
  .max(maxSafeInteger)
  .meta({ id: 'Timestamp', description: 'Epoch milliseconds.', example: 1767225600000 });

/** An instant in an answer that is typed as text: ISO 8601. */
export const TimestampText = z.string().meta({ format: 'date-time' });

// A date, or a date and a time, with or without an offset.
const isoDateTime = /^[+-]?\d{4,6}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** The instant of an ISO 8601 text, or NaN. Without an offset it is UTC, whatever the time zone of the machine. */
function parseIso(text: string): number {
  const [whole, offset] = isoDateTime.exec(text) ?? [];
  if (whole === undefined) return Number.NaN;
  return Date.parse(whole.includes(':') && offset === undefined ? `${whole}Z` : whole);
}

const instantMessage = 'must be epoch milliseconds or an ISO 8601 date-time';

/** An instant in a request: epoch milliseconds, or an ISO 8601 text, read as epoch milliseconds. */
export const TimestampInput = z
  .union(
    [
      z.int(),
      z
        .string()
        .max(64)
        .transform((text, context) => {
          const at = parseIso(text);
          if (Number.isNaN(at)) context.addIssue({ code: 'custom', message: instantMessage });
          return at;
        }),
    ],
    { error: instantMessage },
  )
  .meta({
    id: 'TimestampInput',
    description: 'Epoch milliseconds, or an ISO 8601 date-time, which is in UTC unless it names an offset.',
  });

/** An instant in a query, where everything is text: the same, read as epoch milliseconds. */
export const TimestampQuery = z
  .string()
  .max(64)
  .transform((text, context) => {
    const at = /^-?\d{1,16}$/.test(text) ? Number(text) : parseIso(text);
    if (!Number.isSafeInteger(at)) {
      context.addIssue({ code: 'custom', message: instantMessage });
    }
    return at;
  })
  .meta({ description: 'Epoch milliseconds, or an ISO 8601 date-time, which is in UTC unless it names an offset.' });

/** A whole number in an answer that is a bigint inside: money in the currency's smallest unit, or a balance. */
export const WholeNumber = z.bigint().meta({
  id: 'WholeNumber',
  description: 'A whole number. An amount of money is in the smallest unit of its currency.',
  example: 2900,
});

const numeric = (value: unknown) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value);

/** A count in a request, `min` to `max`; a text of digits is read as its number. */
export function countInput(min: number, max: number = maxSafeInteger) {
  // Not z.preprocess, which openapi.json takes for optional whatever it leads to.
  const sent = z.unknown().meta({ type: 'integer', minimum: min, maximum: max });
  const whole = z.int().min(min);
  // A bound at 2^53-1 is that of every whole number: it would be told twice.
  return sent.transform(numeric).pipe(max < maxSafeInteger ? whole.max(max) : whole);
}

/** Money or credits in a request, `min` to `max`, as a bigint; a text of digits is read as its number. */
export function amountInput(min: number, max: number = maxSafeInteger) {
  return countInput(min, max).transform((value) => BigInt(value));
}

/** Text that names something: trimmed, 1 to 255 characters. */
export const SafeString = z.string().trim().min(1).max(255);

// Free texts (names, descriptions, addresses) end somewhere, so that no row grows without bound.
export const maxTextLength = 10_000;
/** Free text. */
export const FreeText = z.string().max(maxTextLength);

// A record's own notes: enough for keys of other systems, too small for documents.
const maxMetadataKeys = 50;
/** Notes on a record: text keys; values are texts up to 500 characters, numbers or booleans. */
export const Metadata = z
  .record(z.string().max(255), z.union([z.string().max(500), z.number(), z.boolean()]))
  .refine((value) => Object.keys(value).length <= maxMetadataKeys, {
    message: `must have at most ${maxMetadataKeys} keys`,
  })
  .meta({ id: 'Metadata' });

/** "Must be absent or null": a field that this variant of a record does not use. The answer shows null. */
export const Unused = z.null().optional();
