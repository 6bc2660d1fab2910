/** Names the operations of openapi.json in the client. */

/** The part of JSON Schema that openapi.json uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly description?: string;
}

interface Reference {
  readonly $ref: string;
}

interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;

export interface ApiOperation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content } | Reference>>;
}

/** The parts of an OpenAPI document that the client is generated from. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly webhooks?: Readonly<Record<string, { readonly post: ApiOperation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
}

/** An operation with its group and method names, its input and its response. */
export interface NamedOperation {
  readonly group: string;
  readonly method: string;
  readonly httpMethod: string;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly params: readonly Parameter[];
  readonly query: readonly Parameter[];
  readonly body?: Schema;
  readonly bodyRequired: boolean;
  readonly answer: Schema;
  /** The type of a response that is not JSON. */
  readonly answers?: 'text' | 'bytes';
  /** Whether it is a paginated list. */
  readonly pages: boolean;
  /** Whether it may be retried without an Idempotency-Key. */
  readonly safe: boolean;
}

// Reads, and usage, which is idempotent by its transactionId: with a key each event would be a separate transaction.
const safeWithoutKey = new Set([
  'POST /entitlements/check',
  'POST /subscriptions/{id}/preview-adjust',
  'POST /usage-events',
  'POST /usage-events/bulk',
  'POST /usage-events/consume',
]);

const prefix = '/api/v1';

/**
 * Names every operation, in document order. Refuses duplicate names, and a body field that is also in the path or
 * query.
 */
export function nameOperations(document: ApiDocument): NamedOperation[] {
  const named = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => nameOperation(document, path, verb.toUpperCase(), operation)),
  );
  const seen = new Set<string>();
  for (const { group, method, params, query, body, path } of named) {
    const name = `${group}.${method}`;
    if (seen.has(name)) throw new Error(`${path}: another operation is called ${name} already`);
    seen.add(name);
    const both = [...params, ...query].filter((parameter) => Object.hasOwn(fieldsOf(document, body), parameter.name));
    if (both.length > 0) throw new Error(`${name}: ${both.map((each) => each.name)} is in the body and outside of it`);
  }
  return named;
}

function nameOperation(
  document: ApiDocument,
  path: string,
  httpMethod: string,
  operation: ApiOperation,
): NamedOperation {
  const parameters = (operation.parameters ?? []).map((each) => parameterOf(document, each));
  const success = operation.responses['200'] ?? {};
  const content = 'content' in success ? success.content : {};
  const [mediaType, { schema: answer }] = Object.entries(content ?? {})[0] ?? ['', { schema: {} }];
  const body = operation.requestBody?.content['application/json']?.schema;
  const query = parameters.filter((each) => each.in === 'query' && each.name !== 'dryRun' && !each.name.endsWith('[]'));
  // The lists that answer their rows under a name of their own are read page by page.
  const pages = query.some(({ name }) => name === 'cursor') && Object.hasOwn(fieldsOf(document, answer), 'data');
  const { description } = operation;
  return {
    ...nameOf(document, path, httpMethod, pages),
    httpMethod,
    path,
    summary: operation.summary ?? '',
    ...(description === undefined ? {} : { description }),
    params: parameters.filter((each) => each.in === 'path'),
    query,
    ...(body === undefined ? {} : { body }),
    bodyRequired: operation.requestBody?.required ?? false,
    answer,
    ...(mediaType.startsWith('application/json') ? {} : { answers: mediaType.startsWith('text/') ? 'text' : 'bytes' }),
    pages,
    safe: safeWithoutKey.has(`${httpMethod} ${path.slice(prefix.length)}`),
  };
}

/** The parameter, also where it is named only; its description is that of its type. */
function parameterOf({ components }: ApiDocument, given: Parameter | Reference): Parameter {
  const parameter = '$ref' in given ? components.parameters[given.$ref.split('/').at(-1) ?? ''] : given;
  if (parameter === undefined) throw new Error(`no parameter for ${JSON.stringify(given)}`);
  const { description, schema } = parameter;
  return description === undefined ? parameter : { ...parameter, schema: { ...schema, description } };
}

/** `POST /subscriptions/{id}/cancel` -> `subscriptions.cancel`, `GET /webhooks/{id}/deliveries` -> `webhooks.listDeliveries`. */
function nameOf(document: ApiDocument, path: string, httpMethod: string, pages: boolean) {
  const [family = '', ...rest] = path.slice(prefix.length + 1).split('/');
  const words = rest.filter((part) => !part.startsWith('{')).join('-');
  const group = camelCase(family);
  // The same verb for the family and for one record of it: `apply`, and `applyTo` a record.
  const ofOne = rest.length > 1 && document.paths[`${prefix}/${family}/${words}`]?.post !== undefined ? 'To' : '';
  if (words !== '') return { group, method: nameWithin(words, httpMethod, pages) + ofOne };
  if (httpMethod !== 'GET') return { group, method: verbs[httpMethod] ?? httpMethod.toLowerCase() };
  // A path with a PUT is a single record, not a list.
  const isOne = rest.length > 0 || document.paths[path]?.put !== undefined;
  return { group, method: isOne ? 'get' : 'list' };
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', DELETE: 'delete' };
const readingVerbs = new Set(['explain', 'export']);

function nameWithin(words: string, httpMethod: string, pages: boolean): string {
  if (httpMethod === 'GET') return readingVerbs.has(words) ? words : camelCase(`${pages ? 'list' : 'get'}-${words}`);
  if (httpMethod !== 'POST') return camelCase(`${verbs[httpMethod]}-${words}`);
  // A plural is a list to add to; everything else is a verb.
  return words.endsWith('s') ? camelCase(`create-${words.slice(0, -1)}`) : camelCase(words);
}

function fieldsOf(document: ApiDocument, body: Schema | undefined): Readonly<Record<string, Schema>> {
  const named = body?.$ref === undefined ? body : document.components.schemas[body.$ref.split('/').at(-1) ?? ''];
  return named?.properties ?? {};
}

export function camelCase(words: string): string {
  return words.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
