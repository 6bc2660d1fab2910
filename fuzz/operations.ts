import type { Random } from './random.ts';
import { addresses, anyValue, instants, numbers, RawJson, texts } from './values.ts';

/** The part of openapi.json's schemas that requests are generated from. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
  readonly pattern?: string;
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly [mediaType: string]: { readonly schema: Schema };
}

interface Response {
  readonly content?: Content;
}

interface Reference {
  readonly $ref: string;
}

interface DocumentedOperation {
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

/** An operation of openapi.json. */
export interface Operation {
  /** The name used by test/support/api-calls.ts: `POST /customers`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  readonly takesLines: boolean;
  readonly responses: Readonly<Record<string, Response>>;
}

const prefix = '/api/v1';

/** Every operation of the document under /api/v1. */
export function readOperations({ paths, components }: OpenApi): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => ({
      name: `${method.toUpperCase()} ${path.slice(prefix.length)}`,
      method: method.toUpperCase(),
      path: path.slice(prefix.length),
      parameters: parameters.map((each) => resolve(components.parameters, each)),
      body: requestBody?.content['application/json']?.schema ?? null,
      takesLines: requestBody?.content['application/x-ndjson'] !== undefined,
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, each]) => [status, resolve(components.responses, each)]),
      ),
    })),
  );
}

/** The part itself, or the component that it refers to. */
function resolve<Part extends object>(components: Readonly<Record<string, Part>>, given: Part | Reference): Part {
  if (!('$ref' in given)) return given;
  const named = components[given.$ref.split('/').at(-1) ?? ''];
  if (named === undefined) throw new Error(`there is no ${given.$ref}`);
  return named;
}

/** Ids and slugs that exist, by the name of the field that carries one. */
export type KnownIds = Readonly<Record<string, readonly string[]>>;

/** Generates values by schema. Most are valid; `wildness` is the share that is not. */
export class ValueMaker {
  readonly #random: Random;
  readonly #schemas: OpenApi['components']['schemas'];
  readonly #known: KnownIds;
  readonly #now: number;
  readonly #wildness: number;
  /** Whether texts and numbers are the longest and largest that are legal. */
  readonly #isLongest: boolean;

  constructor(
    random: Random,
    {
      document,
      known,
      now,
      wildness,
      isLongest = false,
    }: { document: OpenApi; known: KnownIds; now: number; wildness: number; isLongest?: boolean },
  ) {
    this.#random = random;
    this.#isLongest = isLongest;
    this.#schemas = document.components.schemas;
    this.#known = known;
    this.#now = now;
    this.#wildness = wildness;
  }

  /** A value of the schema; `name` is its field. */
  make(given: Schema, name = '', depth = 0): unknown {
    const random = this.#random;
    if (random.chance(this.#wildness)) return anyValue(random, this.#now);
    const schema = this.#resolve(given);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return this.make(random.pick(choices), name, depth);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return random.pick(schema.enum);
    const type = typeof schema.type === 'object' ? random.pick(schema.type) : schema.type;
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, name, depth);
      case 'boolean':
        return random.chance(0.5);
      case 'integer':
      case 'number':
        return this.#number(schema, name);
      case 'string':
        return this.#text(schema, name);
      case 'null':
        return null;
      default:
        return anyValue(random, this.#now);
    }
  }

  #resolve(schema: Schema): Schema {
    const name = schema.$ref?.split('/').at(-1);
    return name === undefined ? schema : this.#resolve(this.#schemas[name] ?? {});
  }

  #object({ properties = {}, required = [] }: Schema, depth: number): Record<string, unknown> {
    const optional = depth > 6 ? 0 : this.#isLongest ? 1 : this.#random.pick([0.1, 0.4, 0.9]);
    const made: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(properties)) {
      const isRequired = required.includes(name) && !this.#random.chance(this.#wildness);
      if (isRequired || this.#random.chance(optional)) made[name] = this.make(schema, name, depth + 1);
    }
    if (this.#random.chance(this.#wildness)) made[this.#random.pick(texts)] = anyValue(this.#random, this.#now);
    return made;
  }

  #array({ items = {}, minItems = 0, maxItems = 20 }: Schema, name: string, depth: number): unknown {
    const most = Math.min(maxItems, minItems + 3);
    const length = minItems + this.#random.below(most - minItems + 1);
    const singular = name.replace(/s$/, '');
    const made = Array.from({ length }, () => this.make(items, singular, depth + 1));
    if (!this.#random.chance(this.#wildness / 4)) return made;
    // One more than allowed: the same item repeated as text, which is fast to generate.
    const each = JSON.stringify(made[0] ?? null);
    return new RawJson(`[${`${each},`.repeat(Math.min(maxItems, 10_000))}${each}]`);
  }

  #number({ minimum, maximum, description = '' }: Schema, name: string): unknown {
    const random = this.#random;
    if (isInstant(name, description) && random.chance(0.8)) return random.pick(instants(this.#now));
    if (this.#isLongest && maximum !== undefined && !isInstant(name, description)) return maximum;
    const bounds = [minimum, maximum].flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound, bound + 1]));
    if (bounds.length > 0 && random.chance(0.2)) return random.pick(bounds);
    if (random.chance(0.15)) return random.pick(numbers);
    return Math.max(minimum ?? 0, random.below(random.pick([3, 20, 1000])));
  }

  #text(schema: Schema, name: string): unknown {
    const random = this.#random;
    const { minLength = 0, maxLength, format, pattern, description = '' } = schema;
    const known = this.#known[name];
    if (known && random.chance(0.85)) return random.pick(known);
    if (format === 'uri' || /url$/i.test(name)) return random.pick(addresses);
    if (isInstant(name, description) || format === 'date-time') return random.pick(instants(this.#now));
    if (/email$/i.test(name) && random.chance(0.8)) return `f${random.below(1e9)}@fuzz.invalid`;
    if (pattern && random.chance(0.8)) return String(random.below(random.pick([10, 150, 1e9])));
    if (maxLength !== undefined && this.#isLongest)
      return random.pick(['x', 'é', '\u{1F600}', 'W ']).repeat(maxLength).slice(0, maxLength);
    if (maxLength !== undefined && random.chance(0.15))
      return random.pick(['x', 'é', '\u{1F600}']).repeat(maxLength + random.pick([-1, 0, 1]));
    if (minLength > 0 && random.chance(0.1)) return 'x'.repeat(minLength - 1);
    return random.chance(0.3) ? random.pick(texts) : `fuzz-${random.below(1e9)}`;
  }
}

/** Whether a field is an instant, judging by its name and description. */
export function isInstant(name: string, description = ''): boolean {
  return /(At|Date|End|Start|since|until|from|to|now|asOf)$/.test(name) || description.includes('ISO 8601');
}
