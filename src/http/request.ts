import { z } from 'zod';
import { jsonIssues } from '../kernel/json.ts';
import { withCursorFilters } from '../kernel/pagination.ts';
import { type Issue, Problem } from '../kernel/problem.ts';
import { noAlternative, plainMessage } from './plain-issues.ts';
import { findUnknownFields } from './unknown-fields.ts';

z.config({ localeError: plainMessage });

/** A problem names no more. */
export const maxIssues = 100;
/** The query of an operation without parameters. */
export const noQuery = z.object({});
/** The body of an operation without fields. */
export const noBody = z.object({});

/** Parses one part of a request. The issues name the field and state what is valid. */
export function parsePart(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw validationProblem(issuesOf(result.error));
}

/** The issues of a part of a request to which `path` leads. */
export function issuesOf({ issues }: z.ZodError, path: Issue['path'] = []): Issue[] {
  return issues.slice(0, maxIssues).map((issue) => ({
    path: [...path, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))],
    message: messageOf(issue),
    code: issue.code,
  }));
}

/** Lists the values that a union allows: each of its alternatives reports its own issue. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union' || issue.message !== noAlternative) return issue.message;
  const alternatives = issue.errors.map((errors) =>
    errors.map((error) => [...error.path, error.message].join(': ')).join('; '),
  );
  const texts = new Set(alternatives.filter((text) => text !== ''));
  return texts.size === 0 ? noAlternative : [...texts].join(', or ');
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
  return new Problem('invalidRequest', { reason: reason.slice(0, 2000) }, issues.slice(0, maxIssues));
}
