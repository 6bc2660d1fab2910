import assert from 'node:assert/strict';
import { z } from 'zod';
import {
  createDocument,
  createSchema,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { maxSafeInteger } from '../kernel/json.ts';
import { apiPrefix } from './api.ts';
import { ErrorBody, responsesOfRefusals } from './openapi-refusals.ts';
import type { Route } from './route.ts';

const dryRun = z
  .boolean()
  .optional()
  .meta({
    description:
      'With `true` the request is carried out and answered as usual, and then rolled back: nothing is stored, charged or sent.',
    param: { id: 'dryRun' },
  });
const idempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({
    description:
      'A unique key of your choice. For 24 hours, a repeat with the same key is not carried out and gets the answer of the first request.',
    param: { id: 'Idempotency-Key' },
  });

/** A message that the service sends to addresses registered by users. */
export interface OutgoingMessage {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly headers: z.ZodObject;
  readonly body: z.ZodType;
  readonly answers: readonly MessageAnswer[];
}
/** A receiver's answer and its effect. Messages with the same answer share its name. */
interface MessageAnswer {
  /** `200`, `3XX`, `default`. */
  readonly status: MessageStatus;
  readonly name: string;
  readonly description: string;
}
type MessageStatus = keyof ZodOpenApiResponsesObject & (`${1 | 2 | 3 | 4 | 5}${string}` | 'default');

/** A valid request of an operation: its path and query below /api/v1, and its body. */
interface ExampleRequest {
  readonly path: string;
  readonly body?: unknown;
}

interface ApiParts {
  readonly routes: readonly Route[];
  readonly messages: readonly OutgoingMessage[];
  readonly version: string;
  /** The text before the operations, in Markdown. */
  readonly introduction: string;
  /** The headings of the operations, in their order. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** By method and path, as in `POST /customers`. */
  readonly examples: Readonly<Record<string, ExampleRequest>>;
}

/** The OpenAPI 3.1 document of the routes and messages. Deterministic: the same parts give the same document. */
export function createOpenApi({ routes, messages, version, introduction, tags, examples }: ApiParts) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  const { responsesOf, components } = responsesOfRefusals(routes);
  const answers = messages.flatMap((message) => message.answers);
  const responses = {
    ...components,
    ...Object.fromEntries(answers.map(({ name, description }) => [name, { description }])),
  };
  for (const route of routes) {
    const path = apiPrefix + route.path;
    paths[path] ??= {};
    const example = examples[`${route.method} ${route.path}`];
    paths[path][route.method.toLowerCase()] = operation(route, responsesOf(route), example);
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Tollkeeper',
        version,
        summary: 'Billing and entitlements, self-hosted.',
        description: introduction,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // The paths begin with /api/v1, so the server is the root of the service that the document comes from.
      servers: [{ url: '/', description: 'This service' }],
      tags: [...tags],
      security: [{ bearer: [] }, { apiKey: [] }],
      components: { securitySchemes, responses, schemas: { Error: ErrorBody } },
      paths,
      webhooks: Object.fromEntries(messages.map((message) => [message.name, { post: sending(message) }])),
    },
    schemaOptions,
  );
  assert(document.components, 'there are schemas');
  document.components.schemas = { ...document.components.schemas, ...schemasOfBodies(messages) };
  // The types of zod-openapi allow references in places where this document has none.
  tidyParameters(document as unknown as ParameterPlaces);
  return document;
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, such as `sk_test_...` or `sk_live_...`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'The same API key without `Bearer`.' },
} as const;

const schemaOptions = {
  override,
  allowEmptySchema: { bigint: true, transform: true, unknown: true, any: true, custom: true },
} as const;

function override({
  zodSchema,
  jsonSchema,
  io,
}: {
  zodSchema: z.core.$ZodType;
  jsonSchema: z.core.JSONSchema.BaseSchema;
  io: 'input' | 'output';
}) {
  // Unknown fields of a request are refused.
  if (io === 'input' && jsonSchema.type === 'object') jsonSchema.additionalProperties ??= false;
  // Money is a bigint inside and an integer on the wire.
  if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { type: 'integer' });
  // These bounds hold for every integer, and the introduction names them.
  if (jsonSchema.minimum === -maxSafeInteger) delete jsonSchema.minimum;
  if (jsonSchema.maximum === maxSafeInteger) delete jsonSchema.maximum;
  // A flag in a query, where everything is text.
  if (jsonSchema.enum?.join() === 'true,false') {
    delete jsonSchema.enum;
    jsonSchema.type = 'boolean';
  }
}

interface DocumentedParameter {
  description?: string;
  required?: boolean;
  examples?: Record<string, object>;
  readonly schema?: DocumentedSchema;
}
interface DocumentedSchema {
  readonly $ref?: string;
  description?: string;
  readonly enum?: readonly unknown[];
}
interface ParameterPlaces {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters?: DocumentedParameter[] }>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, DocumentedParameter>>;
    readonly schemas: Readonly<Record<string, DocumentedSchema>>;
  };
}

/** Describes each parameter once, and has the reference page leave the optional ones empty. */
function tidyParameters({ paths, components }: ParameterPlaces): void {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const parameters = operations.flatMap((operation) => operation.parameters ?? []);
  for (const parameter of [...parameters, ...Object.values(components.parameters)]) {
    const { schema, description } = parameter;
    if (schema === undefined) continue;
    if (schema.description === description) delete schema.description;
    const named = schema.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    // Scalar fills in the first value of an enum, unless an example is disabled.
    if (named?.enum && !parameter.required) parameter.examples = { any: { value: named.enum[0], 'x-disabled': true } };
  }
}

function operation(
  route: Route,
  refusals: ZodOpenApiResponsesObject,
  example: ExampleRequest | undefined,
): ZodOpenApiOperationObject {
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: route.description,
    tags: [route.tag],
    // OpenAPI 3.1 lets a scheme without scopes name the roles that the operation needs.
    security: Object.keys(securitySchemes).map((scheme) => ({ [scheme]: route.needs === null ? [] : [route.needs] })),
    requestParams: requestParams(route, example),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body, route.list?.field, example?.body) }),
    responses: {
      '200': {
        description: 'The request succeeded.',
        content: route.file
          ? { [route.file.contentType]: { schema: { type: 'string' as const } } }
          : { 'application/json': { schema: route.returns } },
      },
      ...(route.etag ? { '304': { description: 'The answer still has the ETag that `If-None-Match` names.' } } : {}),
      ...refusals,
    },
  };
}

function requestParams(route: Route, example: ExampleRequest | undefined) {
  const mutates = route.method !== 'GET';
  const given = example === undefined ? {} : valuesOf(route.path, example.path);
  const path = withExamples((route.params as z.ZodObject | undefined) ?? z.object({}), given);
  const query = withExamples((route.query as z.ZodObject | undefined) ?? z.object({}), given);
  return {
    ...(route.params === undefined ? {} : { path }),
    query: mutates ? query.extend({ dryRun }) : query,
    ...(mutates ? { header: z.object({ 'Idempotency-Key': idempotencyKey }) } : {}),
  };
}

/** ('/holds/{id}', '/holds/hold_1?limit=5') -> { id: 'hold_1', limit: '5' } */
function valuesOf(template: string, path: string): Record<string, string> {
  const [filled = '', query = ''] = path.split('?');
  const parts = filled.split('/').map(decodeURIComponent);
  const named = template.split('/').map((part, index): [string, string] => [part, parts[index] ?? '']);
  const inPath = named.filter(([part]) => part.startsWith('{')).map(([part, value]) => [part.slice(1, -1), value]);
  return { ...Object.fromEntries(inPath), ...Object.fromEntries(new URLSearchParams(query)) };
}

function withExamples(parameters: z.ZodObject, values: Readonly<Record<string, string>>): z.ZodObject {
  const shape = Object.entries(parameters.shape).map(([name, schema]): [string, z.ZodType] => {
    const value = values[name];
    return [name, value === undefined ? schema : schema.meta({ ...schema.meta(), example: value })];
  });
  return z.object(Object.fromEntries(shape));
}

/**
 * The bodies of messages, and the schemas in them. A body is not a request to us: a receiver accepts fields that are
 * added later, so it is documented as an answer is. The document alone would take it for a request.
 */
function schemasOfBodies(messages: readonly OutgoingMessage[]) {
  const bodies = z.object(Object.fromEntries(messages.map(({ body }) => [nameOf(body), body])));
  return createSchema(bodies, { io: 'output', openapiVersion: '3.1.0', opts: schemaOptions }).components;
}

function nameOf(body: z.ZodType): string {
  const { id } = body.meta() ?? {};
  assert(id !== undefined, 'the body of a message has a name');
  return id;
}

/** A message to a receiver, as an operation of the receiver. */
function sending({
  name,
  summary,
  description,
  tag,
  headers,
  body,
  answers,
}: OutgoingMessage): ZodOpenApiOperationObject {
  return {
    operationId: `receive-${name.replaceAll(/[._]/g, '-')}`,
    summary,
    description,
    tags: [tag],
    // The receiver authenticates the message by its signature, not by an API key.
    security: [],
    requestParams: { header: headers },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${nameOf(body)}` } } },
    },
    responses: Object.fromEntries(
      answers.map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
    ),
  };
}

/** An absent body is read as an empty object, so it is required where an empty object is refused. */
function requestBody(schema: z.ZodType, lines: string | undefined, example: unknown) {
  const asLines =
    lines === undefined
      ? {}
      : { 'application/x-ndjson': { schema: linesSchema(lines), ...exampleLines(lines, example) } };
  const asJson = { schema, ...(example === undefined ? {} : { example }) };
  return { required: !schema.safeParse({}).success, content: { 'application/json': asJson, ...asLines } };
}

function linesSchema(lines: string) {
  return { type: 'string' as const, description: `One element of \`${lines}\` in each line.` };
}

function exampleLines(lines: string, example: unknown) {
  const elements = (example as Readonly<Record<string, readonly unknown[]>> | undefined)?.[lines];
  return elements === undefined ? {} : { example: elements.map((each) => `${JSON.stringify(each)}\n`).join('') };
}

function operationId({ method, path }: Route): string {
  const words = path.split('/').filter((part) => part !== '');
  return [method.toLowerCase(), ...words.map((word) => word.replaceAll(/[{}]/g, ''))].join('-');
}
