import { resolved } from './document.ts';
import type { Body } from './harness.ts';

/** Where a request may name a record. In a body, `[]` stands for each element of an array. */
export interface IdPlace {
  readonly part: 'path' | 'query' | 'body';
  readonly name: string;
}

const naming = /(^id|Ids?(\[\])?|(^|[a-z])[sS]lugs?(\[\])?|(^|[a-z])[cC]ode|^meter|^eventName|^token|^key|Key)$/;

/** Whether a field of this name may name a record. */
export function isNaming(name: string): boolean {
  return naming.test(name);
}

/** Filters that are no ids and still say that there is such a record. */
const tellingFilters = new Set(['email', 'search']);

/** Every place of an operation of openapi.json that may name a record, found by the names of parameters and fields. */
export function idPlacesOf(document: Body, method: string, path: string): IdPlace[] {
  const operation = document.paths[`/api/v1${path}`][method.toLowerCase()];
  const parameters: Body[] = (operation.parameters ?? []).map((each: Body) => resolved(document, each));
  const places: IdPlace[] = [];
  for (const parameter of parameters) {
    if (parameter.in === 'path') places.push({ part: 'path', name: parameter.name });
    if (parameter.in === 'query' && (isNaming(parameter.name) || tellingFilters.has(parameter.name)))
      places.push({ part: 'query', name: parameter.name });
  }
  const content: Body[] = Object.values(operation.requestBody?.content ?? {});
  const fields = new Set(content.flatMap(({ schema }) => [...leavesOf(document, schema, '')]));
  for (const field of fields) {
    if (isNaming(field.split('.').at(-1) ?? '')) places.push({ part: 'body', name: field });
  }
  return places;
}

/** The fields of a schema that hold text, by their paths: `checks[].customerExternalId`. */
function* leavesOf(document: Body, given: Body, path: string): Generator<string> {
  const schema = resolved(document, given);
  const alternatives: Body[] = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  for (const each of alternatives) yield* leavesOf(document, each, path);
  if (schema.items !== undefined) yield* leavesOf(document, schema.items, `${path}[]`);
  for (const [name, field] of Object.entries<Body>(schema.properties ?? {}))
    yield* leavesOf(document, field, path === '' ? name : `${path}.${name}`);
  if ([schema.type].flat().includes('string')) yield path;
}

/** A text in a body, and where it stands. */
export interface Leaf {
  /** As an `IdPlace` names it. */
  readonly place: string;
  readonly steps: readonly (string | number)[];
  readonly value: string;
}

/** The texts of a body that may name records. */
export function* namingLeaves(body: unknown, place = '', steps: readonly (string | number)[] = []): Generator<Leaf> {
  if (Array.isArray(body)) {
    for (const [index, element] of body.entries()) yield* namingLeaves(element, `${place}[]`, [...steps, index]);
  } else if (typeof body === 'object' && body !== null) {
    for (const [key, value] of Object.entries(body))
      yield* namingLeaves(value, place === '' ? key : `${place}.${key}`, [...steps, key]);
  } else if (typeof body === 'string' && isNaming(place.split('.').at(-1) ?? '')) {
    yield { place, steps, value: body };
  }
}

/** The body with another text in one place. */
export function withLeaf(body: unknown, [step, ...rest]: readonly (string | number)[], value: string): unknown {
  if (step === undefined) return value;
  if (Array.isArray(body)) return body.map((each, index) => (index === step ? withLeaf(each, rest, value) : each));
  const record = body as Readonly<Record<string, unknown>>;
  return { ...record, [step]: withLeaf(record[step], rest, value) };
}
