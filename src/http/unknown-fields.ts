import assert from 'node:assert/strict';
import type { z } from 'zod';
import type { Issue } from '../kernel/problem.ts';

type Path = (string | number)[];

/** A field of a body, or a parameter of a query, that the operation does not have. */
export interface UnknownField {
  readonly part: 'query' | 'body';
  readonly path: readonly (string | number)[];
  /** The names that the operation has at this place. */
  readonly known: readonly string[];
}

/** Adds the unknown fields of a value; `path` leads to the value. */
type Walk = (value: unknown, path: Path, found: { path: Path; known: readonly string[] }[]) => void;

// A problem lists no more.
export const maxUnknownFields = 100;

/**
 * Finds the fields of a value that its schema would drop, nested ones too. The schema is read once, so the cost is one
 * look-up for each field. `path` leads to the value.
 */
export function findUnknownFields(
  part: UnknownField['part'],
  schema: z.core.$ZodType,
  value: unknown,
  path: Readonly<Path> = [],
): UnknownField[] {
  const found: { path: Path; known: readonly string[] }[] = [];
  walkOf(schema)?.(value, [...path], found);
  return found.map((each) => ({ part, ...each }));
}

const walks = new WeakMap<z.core.$ZodType, Walk | null>();

/** The walk through the values of a schema; null where no object can be. */
function walkOf(schema: z.core.$ZodType): Walk | null {
  const made = walks.get(schema);
  if (made !== undefined) return made;
  const walk = makeWalk(schema);
  walks.set(schema, walk);
  return walk;
}

function makeWalk(schema: z.core.$ZodType): Walk | null {
  const { def } = schema._zod as unknown as { def: z.core.$ZodTypes['_zod']['def'] };
  switch (def.type) {
    case 'object':
      return walkOfObject(def.shape, def.catchall !== undefined && def.catchall._zod.def.type !== 'never');
    case 'array':
      return walkOfArray(walkOf(def.element));
    case 'record':
      // The keys of a record are the caller's own.
      assert(walkOf(def.valueType) === null, 'a record of objects has fields that are not checked');
      return null;
    case 'union':
      return walkOfUnion(def.options, 'discriminator' in def ? String(def.discriminator) : null);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
      return walkOf(def.innerType);
    case 'pipe':
      // A preprocessed value is a text or a list of texts.
      if (def.in._zod.def.type === 'transform') return walkOf(def.out);
      return walkOf(def.in);
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'literal':
    case 'enum':
    case 'null':
    case 'never':
    case 'unknown':
      return null;
    default:
      return assert.fail(`a request has a field of the type ${def.type}: say how unknown fields are found in it`);
  }
}

function walkOfObject(shape: Readonly<Record<string, z.core.$ZodType>>, open: boolean): Walk {
  const known = Object.keys(shape);
  const fields = new Map(Object.entries(shape).map(([name, field]) => [name, walkOf(field)]));
  return (value, path, found) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    // Parsed values inherit nothing enumerable.
    for (const name in value) {
      const walk = fields.get(name);
      if (walk === null || (walk === undefined && open)) continue;
      if (walk === undefined) {
        if (found.length < maxUnknownFields) found.push({ path: [...path, name], known });
        continue;
      }
      path.push(name);
      walk((value as Readonly<Record<string, unknown>>)[name], path, found);
      path.pop();
    }
  };
}

function walkOfArray(walk: Walk | null): Walk | null {
  if (walk === null) return null;
  return (value, path, found) => {
    if (!Array.isArray(value)) return;
    for (let index = 0; index < value.length && found.length < maxUnknownFields; index++) {
      path.push(index);
      walk(value[index], path, found);
      path.pop();
    }
  };
}

/** Follows the alternative that the discriminator names, otherwise the first one that is valid. */
function walkOfUnion(options: readonly z.core.$ZodType[], discriminator: string | null): Walk | null {
  const walkable = options.map((option) => ({ option: option as z.ZodType, walk: walkOf(option) }));
  if (walkable.every(({ walk }) => walk === null)) return null;
  return (value, path, found) => {
    const chosen = walkable.find(({ option }) =>
      discriminator === null ? option.safeParse(value).success : isNamed(option, discriminator, value),
    );
    chosen?.walk?.(value, path, found);
  };
}

function isNamed(option: z.core.$ZodType, discriminator: string, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const name = (value as Readonly<Record<string, unknown>>)[discriminator];
  return option._zod.propValues?.[discriminator]?.has(name as string) ?? false;
}

/** `['usageEvents', 3, 'amuont']` -> `usageEvents.*.amuont`; a parameter of a query begins with `?`. */
export function placeOf({ part, path }: UnknownField): string {
  const names = path.map((step) => (typeof step === 'number' ? '*' : step));
  return `${part === 'query' ? '?' : ''}${names.join('.')}`;
}

const maxNamed = 20;

/** The unknown fields as issues of a problem. Each names the nearest known field, or the known ones. */
export function issuesOfUnknown(fields: readonly UnknownField[]): Issue[] {
  return fields.map(({ part, path, known }) => {
    const kind = part === 'query' ? 'parameter' : 'field';
    const nearest = nearestOf(String(path.at(-1)), known);
    const hint = nearest === null ? knownText(kind, known) : `: did you mean ${nearest}?`;
    return { path, message: `is not a ${kind} of this operation${hint}`, code: 'unrecognized_keys' };
  });
}

function knownText(kind: string, known: readonly string[]): string {
  if (known.length === 0) return `, which has no ${kind}s here`;
  const more = known.length > maxNamed ? `, and ${known.length - maxNamed} more` : '';
  return `: known here are ${known.slice(0, maxNamed).join(', ')}${more}`;
}

/** The header that names ignored fields. Names are percent-encoded, because a header carries ASCII only. */
export function ignoredHeader(fields: readonly UnknownField[]): string {
  const names = fields.slice(0, maxNamed).map(({ path }) => encodeURIComponent(path.join('.').slice(0, 100)));
  return [...names, ...(fields.length > maxNamed ? ['...'] : [])].join(', ');
}

/** The known name that was probably meant, or null when none resembles the given one. */
export function nearestOf(given: string, known: readonly string[]): string | null {
  // Nothing longer is a slip of the keyboard, and the comparison takes time with the length.
  if (given.length > 64) return null;
  const name = given.toLowerCase();
  const rated = known.map((each) => ({ each, distance: distanceOf(name, each.toLowerCase()) }));
  const nearest = rated.reduce<(typeof rated)[number] | null>(
    (best, next) => (best === null || next.distance < best.distance ? next : best),
    null,
  );
  return nearest !== null && nearest.distance <= Math.max(1, name.length * 0.4) ? nearest.each : null;
}

/** The edits from one text to the other. A text that contains the other is one edit away: `externalId`, `customerExternalId`. */
function distanceOf(a: string, b: string): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (short.length > 3 && long.includes(short)) return short === long ? 0 : 1;
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
