import { z } from 'zod';
import { maxDepth } from './json-weight.ts';
import type { Issue } from './problem.ts';
import { metadataKeys, type TextUse, textLimits } from './text-limits.ts';

const maxIssues = 20;

type Path = (string | number)[];

/**
 * Finds values that no record may hold:
 * - NUL characters, which PostgreSQL's text cannot store;
 * - lone surrogates, which UTF-8 cannot encode;
 * - numbers too large to read, such as 1e400;
 * - the key `__proto__`;
 * - nesting deeper than 64.
 *
 * `path` leads to the value. Returns an empty list when there are none.
 */
export function jsonIssues(value: unknown, path: readonly (string | number)[] = []): Issue[] {
  const issues: Issue[] = [];
  visit(value, [...path], issues);
  return issues;
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
  // Parsed values inherit nothing enumerable, and for-in is the fastest loop over them.
  for (const key in value) {
    const message = key === '__proto__' ? 'is reserved and cannot be stored' : textIssue(key);
    if (message) issues.push({ path: [...path], message: `a key ${message}`, code: 'custom' });
    else visitAt(key, (value as Record<string, unknown>)[key], path, issues);
  }
}

function visitAt(key: string | number, value: unknown, path: Path, issues: Issue[]): void {
  path.push(key);
  visit(value, path, issues);
  path.pop();
}

/** The problem with a text, or null. */
function textIssue(text: string): string | null {
  if (text.includes('\0')) return 'contains a NUL character';
  return text.isWellFormed() ? null : 'contains an unpaired surrogate';
}

/** The largest whole number that JSON carries exactly: 2^53-1. */
export const maxSafeInteger = 9_007_199_254_740_991;

/** An instant in an answer: epoch milliseconds. */
export const Timestamp = z
  .int()
  .min(-maxSafeInteger)
  .max(maxSafeInteger)
  .meta({ id: 'Timestamp', description: 'Epoch milliseconds.', example: 1767225600000 });

/** An instant in a response that has the type text: ISO 8601. */
export const TimestampText = z.string().meta({ format: 'date-time' });

// A date, or a date and a time, with or without an offset.
const isoDateTime = /^[+-]?\d{4,6}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** The instant of an ISO 8601 text, or NaN. A text without an offset is UTC, whatever the time zone of the machine. */
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

/**
 * An instant in a query, where everything is text. Accepts the same forms as `TimestampInput` and returns epoch
 * milliseconds.
 */
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

/** A count in a request, `min` to `max`. A text of digits is accepted too. */
export function countInput(min: number, max: number = maxSafeInteger) {
  // Avoids z.preprocess: openapi.json would mark the field as optional.
  const sent = z.unknown().meta({ type: 'integer', minimum: min, maximum: max });
  const whole = z.int().min(min);
  // A maximum of 2^53-1 applies to every whole number; `max` would report it twice.
  return sent.transform(numeric).pipe(max < maxSafeInteger ? whole.max(max) : whole);
}

/** Money or credits in a request, `min` to `max`, as a bigint. A text of digits is accepted too. */
export function amountInput(min: number, max: number = maxSafeInteger) {
  return countInput(min, max).transform((value) => BigInt(value));
}

/** A text in a request, at most as long as its use allows. */
export function freeText(use: TextUse) {
  return z.string().max(textLimits[use], `must have at most ${textLimits[use]} characters`);
}

/** A name: trimmed text of 1 to 255 characters. */
export const SafeString = freeText('name').trim().min(1);

function isTimeZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== null;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** The name of a time zone of the IANA database, such as `Europe/Vienna`. */
export const TimeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be the name of an IANA time zone, such as Europe/Vienna or UTC')
  .meta({ id: 'TimeZone', description: 'The name of a time zone of the IANA database, such as `Europe/Vienna`.' });

export const MetadataKey = freeText('metadataKey').min(1);
export const MetadataText = freeText('metadataValue');
/** Metadata of a record: keys of up to 40 characters, and values that are texts, numbers or booleans. */
export const Metadata = z
  .record(MetadataKey, z.union([MetadataText, z.number(), z.boolean()]))
  .refine((value) => Object.keys(value).length <= metadataKeys, {
    message: `must have at most ${metadataKeys} keys`,
  })
  .refine((value) => JSON.stringify(value).length <= textLimits.metadata, {
    message: `must have at most ${textLimits.metadata} characters as JSON`,
  })
  .meta({
    id: 'Metadata',
    description:
      'Your own data: up to 50 keys of 1 to 40 characters. A value is a text of up to 500 characters, a number or a boolean.',
  });
export type Metadata = z.infer<typeof Metadata>;

/** Metadata in a change: the whole of it is replaced, and null removes it. */
export const MetadataInput = Metadata.nullish();

/** Whether two JSON values are equal; the order of an object's keys does not matter. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return (a ?? null) === (b ?? null);
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return [...new Set([...left.keys(), ...right.keys()])].every((key) => isSameJson(left.get(key), right.get(key)));
}

/** A field that this variant of a record does not use: must be absent or null, and is null in responses. */
export const Unused = z.null().optional();
