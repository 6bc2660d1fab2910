import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { Turns } from '../jobs/turns.ts';
import { jsonIssues } from '../kernel/json.ts';
import { type BodyForm, type BodyLimits, type FoundList, harmlessBytes, weigh } from '../kernel/json-weight.ts';
import { type Issue, Problem } from '../kernel/problem.ts';
import { issuesOf, maxIssues, noBody, parsePart, validationProblem } from './request.ts';
import type { Route } from './route.ts';
import { findUnknownFields, maxUnknownFields, type UnknownField } from './unknown-fields.ts';

/** How the body of a route is parsed. */
export interface BodyReading {
  readonly limits: BodyLimits;
  /** The field whose list may be long, and whose elements may be sent as lines. */
  readonly listIn: string | null;
}

/** A body other than a short one. */
export class LongBody {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

/** A body with a list, which may be long. */
export class ListBody {
  /** The body without the elements of its list. */
  readonly beside: Readonly<Record<string, unknown>>;
  readonly elements: readonly unknown[];
  constructor(beside: Readonly<Record<string, unknown>>, elements: readonly unknown[]) {
    this.beside = beside;
    this.elements = elements;
  }
}

/**
 * Parses a request body as JSON; an empty one is `{}`. Refuses invalid JSON, invalid UTF-8, values that cannot be
 * stored, and bodies that would take too long to parse. A body with a long list is parsed in turns.
 */
export function parseJsonBody(body: Buffer, reading: BodyReading): unknown {
  if (body.length === 0) return {};
  return body.length <= harmlessBytes ? parseWhole(body) : parseLongJson(body, reading);
}

function parseWhole(body: Buffer): unknown {
  if (!isUtf8(body)) throw new Problem('invalidJson', { reason: 'it is not UTF-8' });
  const value = parseText(body.toString('utf8'));
  refuse(jsonIssues(value));
  return value;
}

async function parseLongJson(body: Buffer, { limits, listIn }: BodyReading): Promise<unknown> {
  const list = await checkReadable(body, limits, listIn === null ? null : { listIn });
  return list === null || listIn === null ? new LongBody(parseWhole(body)) : parseListIn(listIn, body, list);
}

/**
 * Parses a request body as lines of JSON; empty lines are ignored. Refuses as `parseJsonBody` does, and names the line.
 */
export async function parseLinesBody(body: Buffer, { limits, listIn }: BodyReading): Promise<ListBody> {
  if (listIn === null) throw new Problem('unsupportedMediaType');
  const list = await checkReadable(body, limits, 'lines');
  assert(list !== null, 'lines are a list');
  return new ListBody({}, await elementsOf(listIn, body, list, linesParser()));
}

/** The long list of a body, if there is one. */
async function checkReadable(body: Buffer, limits: BodyLimits, form: BodyForm): Promise<FoundList | null> {
  if (!isUtf8(body)) throw new Problem('invalidJson', { reason: 'it is not UTF-8' });
  const weighed = await new Turns().run(weigh(body, limits, form));
  if (weighed !== null && 'message' in weighed) throw validationProblem([weighed]);
  return weighed;
}

function refuse(issues: readonly Issue[]): void {
  if (issues.length > 0) throw validationProblem(issues);
}

function parseText(text: string, place = ''): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem('invalidJson', { reason: place + (error as Error).message });
  }
}

/** Parses pieces of lines, one after the other. */
function linesParser(): (piece: string) => unknown[] {
  let number = 0;
  return (piece) =>
    piece.split('\n').flatMap((line) => {
      number += 1;
      return line.trim() === '' ? [] : [parseText(line, `line ${number}: `)];
    });
}

async function parseListIn(field: string, body: Buffer, list: FoundList): Promise<unknown> {
  const beside = parseText(body.toString('utf8', 0, list.begin) + body.toString('utf8', list.end));
  refuse(jsonIssues(beside));
  const isPiece = list.cuts.length > 0;
  const elements = await elementsOf(field, body, list, (piece) => {
    const values = parseText(`[${piece}]`, `${field}: `) as unknown[];
    if (isPiece && values.length === 0) throw new Problem('invalidJson', { reason: `${field}: an element is missing` });
    return values;
  });
  // The last one of several fields of this name counts, and in a list there is no field.
  const isThere = typeof beside === 'object' && beside !== null && !Array.isArray(beside);
  const empty = isThere ? (beside as Readonly<Record<string, unknown>>)[field] : null;
  if (!Array.isArray(empty) || empty.length > 0) return new LongBody(beside);
  return new ListBody(beside as Readonly<Record<string, unknown>>, elements);
}

/** The elements of a list, parsed piece by piece. */
async function elementsOf(
  field: string,
  body: Buffer,
  { begin, end, cuts }: FoundList,
  parse: (piece: string) => readonly unknown[],
): Promise<unknown[]> {
  const turns = new Turns();
  const elements: unknown[] = [];
  let from = begin;
  for (const to of [...cuts, end]) {
    await turns.next();
    for (const value of parse(body.toString('utf8', from, to))) {
      refuse(jsonIssues(value, [field, elements.length]));
      elements.push(value);
    }
    from = to + 1;
  }
  await turns.next();
  return elements;
}

/** The answer of `read`, or its refusal. */
export function attempt<Value>(read: () => Value): Value | Problem {
  try {
    return read();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The body of a request as its route takes it. */
export interface ReadBody {
  /** The parsed body, or its problem. */
  readonly parsed: unknown;
  readonly unknown: readonly UnknownField[];
  /** A text that a repeat of the request shares, and no other request. */
  readonly identity: () => string;
}

/** Reads a body by the schema of the route. */
export function readBody(route: Route, body: unknown): ReadBody {
  return {
    parsed: attempt(() => parsePart(route.body, body)),
    unknown: findUnknownFields('body', route.body ?? noBody, body),
    identity: () => JSON.stringify(body),
  };
}

/** Reads a body in turns, each list in it first. Stops when the problems fill an answer. */
async function readLongBody(route: Route, { value }: LongBody): Promise<ReadBody> {
  const turns = new Turns();
  const issues: Issue[] = [];
  for (const { element, values, path } of listsIn(route.body ?? noBody, value)) {
    for (const [index, each] of values.entries()) {
      if (turns.isOver()) await turns.pause();
      if (issues.length >= maxIssues) break;
      const { error } = (element as z.ZodType).safeParse(each);
      if (error !== undefined) issues.push(...issuesOf(error, [...path, index]));
    }
  }
  await turns.next();
  const unknown = findUnknownFields('body', route.body ?? noBody, value);
  const identity = () => JSON.stringify(value);
  // Problems elsewhere are named when these are repaired: to validate all of a body full of them takes too long.
  if (issues.length > 0) return { parsed: validationProblem(issues), unknown, identity };
  return { parsed: attempt(() => parsePart(route.body, value)), unknown, identity };
}

/** The lists in a value that are not part of another list, with the schemas of their elements. */
function* listsIn(
  schema: z.core.$ZodType,
  value: unknown,
  path: Issue['path'] = [],
): Generator<{ element: z.core.$ZodType; values: readonly unknown[]; path: Issue['path'] }> {
  const { def } = schema._zod as unknown as { def: z.core.$ZodTypes['_zod']['def'] };
  if (def.type === 'pipe') yield* listsIn(def.in, value, path);
  else if ('innerType' in def) yield* listsIn(def.innerType, value, path);
  else if (def.type === 'array') {
    if (Array.isArray(value)) yield { element: def.element, values: value, path };
  } else if (def.type === 'object' && typeof value === 'object' && value !== null)
    for (const [name, field] of Object.entries(def.shape))
      yield* listsIn(field, (value as Readonly<Record<string, unknown>>)[name], [...path, name]);
}

/** Reads the body of a request, in turns unless it is short. */
export async function readBodyInTurns(
  route: Route,
  body: ListBody | LongBody,
  isIdentified: boolean,
): Promise<ReadBody> {
  return body instanceof LongBody ? readLongBody(route, body) : readListBody(route, body, isIdentified);
}

/** Reads a long list in turns. Stops when the problems fill an answer. */
async function readListBody(route: Route, body: ListBody, isIdentified: boolean): Promise<ReadBody> {
  const { list } = route;
  assert(list !== undefined, 'only such a route has a long list');
  const { field, element, atMost } = list;
  const { beside, elements } = body;
  const issues: Issue[] = [];
  const unknown = findUnknownFields('body', route.body ?? noBody, beside);
  const hash = isIdentified ? createHash('sha256').update(JSON.stringify(beside)) : null;
  if (elements.length > atMost)
    issues.push({ path: [field], message: `must have at most ${atMost} elements`, code: 'too_big' });
  const parsed: unknown[] = [];
  const turns = new Turns();
  for (const [index, value] of elements.entries()) {
    if (turns.isOver()) await turns.pause();
    if (issues.length >= maxIssues || elements.length > atMost) break;
    const result = element.safeParse(value);
    if (result.success) parsed.push(result.data);
    else issues.push(...issuesOf(result.error, [field, index]));
    if (unknown.length < maxUnknownFields) unknown.push(...findUnknownFields('body', element, value, [field, index]));
    hash?.update(`\n${JSON.stringify(value)}`);
  }
  await turns.next();
  return {
    parsed: attempt(() => {
      const rest = parsePart(route.body, { ...beside, [field]: [] }) as Readonly<Record<string, unknown>>;
      refuse(issues);
      return { ...rest, [field]: parsed };
    }),
    unknown,
    identity: () => hash?.digest('hex') ?? '',
  };
}

/** The JSON of an answer, which may have long lists. It is made in turns. */
export async function jsonInTurns(answer: unknown): Promise<string> {
  const turns = new Turns();
  const text = await textOf(answer, turns, 0);
  await turns.next();
  return text;
}

const elementsAtOnce = 50;
// Lists stand in the record that an answer names, or beside it.
const deepestList = 2;

function textOf(value: unknown, turns: Turns, depth: number): string | Promise<string> {
  if (Array.isArray(value) && value.length > elementsAtOnce) return listText(value, turns);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && depth < deepestList ? objectText(value, turns, depth) : JSON.stringify(value);
}

async function objectText(value: object, turns: Turns, depth: number): Promise<string> {
  const parts: string[] = [];
  for (const [name, each] of Object.entries(value))
    if (each !== undefined) parts.push(`${JSON.stringify(name)}:${await textOf(each, turns, depth + 1)}`);
  return `{${parts.join(',')}}`;
}

async function listText(elements: readonly unknown[], turns: Turns): Promise<string> {
  const parts: string[] = [];
  for (let from = 0; from < elements.length; from += elementsAtOnce) {
    await turns.next();
    parts.push(JSON.stringify(elements.slice(from, from + elementsAtOnce)).slice(1, -1));
  }
  return `[${parts.join(',')}]`;
}
