import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { problemCode, statusOfCode } from '../kernel/problem.ts';
import { apiPrefix } from './api.ts';
import type { Route } from './route.ts';

// Some refusals have more fields, such as the insufficient balance.
const ErrorBody = z
  .looseObject({
    message: z.string(),
    code: z.string(),
    issues: z
      .array(z.object({ message: z.string(), path: z.array(z.union([z.string(), z.number()])), code: z.string() }))
      .optional()
      .meta({ description: 'What is wrong with the request, one by one.' }),
    error: z.string().meta({ description: 'The same as message.' }),
    request_id: z.string(),
  })
  .meta({ id: 'Error' });

const dryRun = z
  .enum(['true', 'false'])
  .optional()
  .meta({ description: 'true: do everything, answer it, and roll it back.' });
const idempotencyKey = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({ description: 'A request that is sent again under the same key is answered from the first, for 24 hours.' });

/** A message that the service sends to addresses registered by users. */
export interface OutgoingMessage {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  readonly headers: z.ZodObject;
  readonly body: z.ZodType;
  /** The meaning of the receiver's responses, by status: `200`, `3XX`, `default`. */
  readonly answers: readonly { readonly status: MessageStatus; readonly description: string }[];
}
type MessageStatus = keyof ZodOpenApiResponsesObject & (`${1 | 2 | 3 | 4 | 5}${string}` | 'default');

export interface ApiParts {
  readonly routes: readonly Route[];
  readonly messages: readonly OutgoingMessage[];
  readonly version: string;
}

/**
 * The OpenAPI 3.1 document of the routes and the outgoing messages. Deterministic: the same input gives the same
 * document.
 */
export function createOpenApi({ routes, messages, version }: ApiParts) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    const path = apiPrefix + route.path;
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route);
  }
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Tollkeeper',
      version,
      description: 'Billing and entitlements, self-hosted.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ apiKey: [] }],
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The key, bare or as `Bearer <key>`.',
        },
      },
    },
    paths,
    webhooks: Object.fromEntries(messages.map((message) => [message.name, { post: sending(message) }])),
  };
  return createDocument(document, {
    override: ({ zodSchema, jsonSchema }) => {
      // Money is a bigint internally and an integer on the wire.
      if (zodSchema._zod.def.type === 'bigint') Object.assign(jsonSchema, { type: 'integer' });
    },
    allowEmptySchema: { bigint: true, transform: true, unknown: true, any: true, custom: true },
  });
}

function operation(route: Route): ZodOpenApiOperationObject {
  const mutates = route.method !== 'GET';
  const query = (route.query as z.ZodObject | undefined) ?? z.object({});
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    requestParams: {
      ...(route.params === undefined ? {} : { path: route.params as z.ZodObject }),
      query: mutates ? query.extend({ dryRun }) : query,
      ...(mutates ? { header: z.object({ 'Idempotency-Key': idempotencyKey }) } : {}),
    },
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body, route.lines) }),
    responses: {
      '200': {
        description: 'The request was carried out.',
        content: route.file
          ? { [route.file.contentType]: { schema: { type: 'string' as const } } }
          : { 'application/json': { schema: route.returns } },
      },
      ...(route.etag ? { '304': { description: 'The answer is still the one whose ETag If-None-Match names.' } } : {}),
      ...refusals(route),
    },
  };
}

/** An outgoing message as an operation of the receiver. */
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
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: Object.fromEntries(answers.map(({ status, description }) => [status, { description }])),
  };
}

/** An absent body is parsed as an empty object, so the body is required if an empty object is invalid. */
function requestBody(schema: z.ZodType, lines: string | undefined) {
  const asLines =
    lines === undefined
      ? {}
      : {
          'application/x-ndjson': {
            schema: { type: 'string' as const, description: `An element of ${lines} in each line.` },
          },
        };
  return { required: !schema.safeParse({}).success, content: { 'application/json': { schema }, ...asLines } };
}

function refusals(route: Route) {
  const byStatus = new Map<number, string[]>([
    [400, ['invalidRequest']],
    [401, ['unauthorized']],
  ]);
  if (route.method !== 'GET') byStatus.set(409, ['idempotencyKeyReused', 'idempotencyKeyInUse']);
  const refuses = route.batched ? [...route.refuses, 'tooBusy' as const] : route.refuses;
  for (const problem of refuses) {
    const status = statusOfCode[problemCode(problem)];
    byStatus.set(status, [...new Set([...(byStatus.get(status) ?? []), problem])]);
  }
  const sorted = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    sorted.map(([status, names]) => [
      String(status),
      { description: names.join(', '), content: { 'application/json': { schema: ErrorBody } } },
    ]),
  );
}

function operationId({ method, path }: Route): string {
  const words = path.split('/').filter((part) => part !== '');
  return [method.toLowerCase(), ...words.map((word) => word.replaceAll(/[{}]/g, ''))].join('-');
}
