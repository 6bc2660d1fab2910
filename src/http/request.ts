import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { jsonIssues, weightIssue } from '../kernel/json.ts';
import { withCursorFilters } from '../kernel/pagination.ts';
import { type Issue, Problem } from '../kernel/problem.ts';
import { findUnknownFields } from './unknown-fields.ts';

/** The query of an operation without parameters. */
export const noQuery = z.object({});
/** The body of an operation without fields. */
export const noBody = z.object({});

/**
 * Parses a request body as JSON; an empty one is `{}`. Refuses invalid JSON, invalid UTF-8, values that cannot be
 * stored, and bodies that would take too long to parse.
 */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) return {};
  checkReadable(body);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new Problem('invalidJson', { reason: (error as Error).message });
  }
  const issues = jsonIssues(value);
  if (issues.length > 0) throw validationProblem(issues);
  return value;
}

/** A body of application/x-ndjson: one JSON value per line. */
class BodyLines {
  readonly values: readonly unknown[];
  constructor(values: readonly unknown[]) {
    this.values = values;
  }
}

/**
 * Parses a request body as lines of JSON; empty lines are ignored. Refuses as `parseJsonBody` does, and names the line.
 */
export function parseLinesBody(body: Buffer): BodyLines {
  checkReadable(body);
  const values = body
    .toString('utf8')
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, index + 1)]));
  const issues = jsonIssues(values);
  if (issues.length > 0) throw validationProblem(issues);
  return new BodyLines(values);
}

function checkReadable(body: Buffer): void {
  if (!isUtf8(body)) throw new Problem('invalidJson', { reason: 'it is not UTF-8' });
  const issue = weightIssue(body);
  if (issue !== null) throw validationProblem([issue]);
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Problem('invalidJson', { reason: `line ${number}: ${(error as Error).message}` });
  }
}

/** The body in the shape of the route's schema: lines become the elements of the field that takes them. */
export function bodyOf(lines: string | undefined, body: unknown): unknown {
  if (!(body instanceof BodyLines)) return body === undefined ? {} : body;
  if (lines === undefined) throw new Problem('unsupportedMediaType');
  return { [lines]: body.values };
}

/** Parses one part of a request. The issues name the field and state what is valid. */
export function parsePart(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw validationProblem(
    result.error.issues.map((issue) => ({
      path: issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key)),
      message: messageOf(issue),
      code: issue.code,
    })),
  );
}

/** Lists the values that a union allows: each of its alternatives reports its own issue. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return issue.message;
  const alternatives = issue.errors.map((errors) =>
    errors.map((error) => [...error.path, error.message].join(': ')).join('; '),
  );
  return [issue.message, ...new Set(alternatives.filter((text) => text !== ''))].join(' - ');
}

/** The parameters of a path, percent-decoded. */
export function parseParams(schema: z.ZodType | undefined, raw: unknown): unknown {
  const issues = jsonIssues(raw);
  if (issues.length > 0) throw validationProblem(issues);
  return parsePart(schema, raw);
}

/** Parses the query of a request. A list's cursor adds the filters of the first page. */
export function parseQuery(schema: z.ZodType | undefined, raw: Readonly<Record<string, unknown>>): unknown {
  if (schema === undefined) return undefined;
  const issues = jsonIssues(raw);
  if (issues.length > 0) throw validationProblem(issues);
  for (const key of ['cursor', 'limit']) {
    if (Array.isArray(raw[key]))
      throw validationProblem([{ path: [key], message: 'must be sent only once', code: 'custom' }]);
  }
  const filtered = withCursorFilters(raw);
  // A cursor of another list has filters that this one would drop.
  if (findUnknownFields('query', schema, filtered).some(({ path: [name = ''] }) => raw[name] === undefined))
    throw new Problem('invalidCursor');
  return parsePart(schema, filtered);
}

/** A problem of the request, with its issues. */
export function validationProblem(issues: readonly Issue[]): Problem {
  const reason = issues
    .map((issue) => (issue.path.length > 0 ? `${issue.path.join('.')}: ${issue.message}` : issue.message))
    .join('; ');
  return new Problem('invalidRequest', { reason: reason.slice(0, 2000) }, issues.slice(0, 100));
}
