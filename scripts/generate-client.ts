import {
  type ApiDocument,
  type ApiOperation,
  type NamedOperation,
  nameOperations,
  type Schema,
} from './client-names.ts';
import { documented, parameterSchema, typeName, typeOf } from './client-types.ts';

/** The generated files of the client by path. */
export function clientFiles(document: ApiDocument): Map<string, string> {
  const operations = nameOperations(document);
  const types = [...schemaTypes(document), webhookPayload(document), ...operations.flatMap(typesOfOperation)];
  const groups = Map.groupBy(operations, ({ group }) => group);
  const names = types.map(({ name }) => name).concat([...groups.keys()].map(methodsName));
  return new Map([
    ['client/src/generated-types.ts', typesFile(types, groups)],
    ['client/src/generated-operations.ts', operationsFile(groups)],
    ['client/src/generated-entry.ts', entryFile(names)],
    ['client/src/generated-values.ts', valuesFile(document)],
  ]);
}

const notice = '// Made from openapi.json by scripts/generate-client.ts: change the API instead.\n\n';

interface NamedType {
  readonly name: string;
  readonly text: string;
}
type Groups = ReadonlyMap<string, readonly NamedOperation[]>;

const methodsName = (group: string) => `${capitalized(group)}Methods`;
const capitalized = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);

function declaration(name: string, schema: Schema): NamedType {
  const type = typeOf(schema, '');
  const text = type.startsWith('{\n') && type.endsWith('\n}') && !type.includes('\n} | {\n');
  const declared = text ? `export interface ${name} ${type}\n` : `export type ${name} = ${type};\n`;
  return { name, text: documented(schema.description, '', declared) };
}

function schemaTypes(document: ApiDocument): NamedType[] {
  return Object.entries(document.components.schemas).map(([name, schema]) => declaration(typeName(name), schema));
}

/** The type of a webhook message: one of the document's payloads. */
function webhookPayload({ webhooks = {} }: ApiDocument): NamedType {
  const schemas = Object.values(webhooks).map(({ post }) => bodyOf(post));
  const union = [...new Set(schemas.map((schema) => (schema ? typeOf(schema, '') : 'unknown')))].join(' | ');
  const text = documented(
    'The body of a message to a webhook.',
    '',
    `export type WebhookPayload = ${union || 'unknown'};\n`,
  );
  return { name: 'WebhookPayload', text };
}

function bodyOf(operation: ApiOperation): Schema | undefined {
  return operation.requestBody?.content['application/json']?.schema;
}

const inputName = ({ group, method }: NamedOperation) => `${capitalized(group)}${capitalized(method)}Input`;
const answerName = ({ group, method }: NamedOperation) => `${capitalized(group)}${capitalized(method)}Answer`;

function typesOfOperation(operation: NamedOperation): NamedType[] {
  const input = hasInput(operation) ? [inputType(operation)] : [];
  const answer = operation.answers === undefined ? [declaration(answerName(operation), operation.answer)] : [];
  return [...input, ...answer];
}

function hasInput({ params, query, body }: NamedOperation): boolean {
  return params.length + query.length > 0 || body !== undefined;
}

/** Path, query and body in one plain object. */
function inputType(operation: NamedOperation): NamedType {
  const { params, query, body } = operation;
  const parameters: Schema = {
    type: 'object',
    properties: Object.fromEntries([...params, ...query].map(({ name, schema }) => [name, parameterSchema(schema)])),
    required: [...params, ...query].filter(({ required }) => required).map(({ name }) => name),
  };
  const name = inputName(operation);
  if (body === undefined) return declaration(name, parameters);
  const isPlain = body.properties !== undefined && body.anyOf === undefined && body.oneOf === undefined;
  if (isPlain) {
    const properties = { ...parameters.properties, ...body.properties };
    return declaration(name, {
      ...body,
      properties,
      required: [...(parameters.required ?? []), ...(body.required ?? [])],
    });
  }
  if (params.length + query.length === 0) return declaration(name, body);
  return { name, text: `export type ${name} = ${typeOf(parameters, '')} & (${typeOf(body, '')});\n` };
}

/** The values of each named choice, for pages that offer them. */
function valuesFile(document: ApiDocument): string {
  const choices = Object.entries(document.components.schemas).flatMap(([name, { enum: values }]) => {
    if (values === undefined || !values.every((value) => typeof value === 'string')) return [];
    return `  ${typeName(name)}: ${JSON.stringify(values)},\n`;
  });
  return `${notice}/** The values of each choice that the API names. */\nexport const values = {\n${choices.join('')}} as const;\n`;
}

function typesFile(types: readonly NamedType[], groups: Groups): string {
  const imports = "import type { CallOptions, WriteOptions } from './transport.ts';\n\n";
  const methods = [...groups].map(([group, operations]) => methodsInterface(group, operations));
  return notice + imports + [...types.map(({ text }) => text), ...methods].join('\n');
}

function methodsInterface(group: string, operations: readonly NamedOperation[]): string {
  const members = operations.flatMap((operation) => [member(operation), ...(operation.pages ? [walk(operation)] : [])]);
  return `export interface ${methodsName(group)} {\n${members.join('\n')}}\n`;
}

function member(operation: NamedOperation): string {
  const { method, httpMethod, answers, summary, description } = operation;
  const options = httpMethod === 'GET' ? 'CallOptions' : 'WriteOptions';
  const answer = answers === undefined ? answerName(operation) : { text: 'string', bytes: 'Uint8Array' }[answers];
  const words = [`${summary}.`, description].filter((each) => each !== undefined).join(' ');
  return documented(
    words,
    '  ',
    `  ${method}(${inputParameter(operation)}, options?: ${options}): Promise<${answer}>;\n`,
  );
}

function inputParameter(operation: NamedOperation): string {
  if (!hasInput(operation)) return 'input?: Record<string, never>';
  const { params, query, bodyRequired } = operation;
  const isRequired = params.length > 0 || query.some(({ required }) => required) || bodyRequired;
  return `input${isRequired ? '' : '?'}: ${inputName(operation)}`;
}

/** The method that iterates over all pages. */
function walk(operation: NamedOperation): string {
  const { method, params } = operation;
  const name = walkName(method);
  const input = `input${params.length > 0 ? '' : '?'}: Omit<${inputName(operation)}, 'cursor'>`;
  const row = `${answerName(operation)}['data'][number]`;
  const words = `Every row that \`${method}\` lists, page after page; \`limit\` is the size of a page, 100 when absent.`;
  return documented(
    words,
    '  ',
    `  ${name}(${input}, options?: CallOptions): AsyncGenerator<${row}, void, undefined>;\n`,
  );
}

/** `list` -> `listAll`, `listDeliveries` -> `listAllDeliveries`. */
const walkName = (method: string) => method.replace(/^list/, 'listAll');

function operationsFile(groups: Groups): string {
  const names = [...groups.keys()];
  const imports = names.map((group) => `  ${methodsName(group)},\n`).join('');
  const tables = [...groups].map(([group, operations]) => `  ${group}: {\n${operations.map(tableRow).join('')}  },\n`);
  const fields = names.map((group) => `  readonly ${group}: ${methodsName(group)};\n`).join('');
  const bindings = names.map((group) => `    this.${group} = methodsOf(caller, operations.${group});\n`).join('');
  return `${notice}import { methodsOf } from './methods.ts';
import type { Caller, Operation } from './transport.ts';
import type {
${imports}} from './generated-types.ts';

/** Every operation of the API, by family and name. */
export const operations = {
${tables.join('')}} as const satisfies Record<string, Record<string, Operation>>;

/** The families of the API's operations. */
export abstract class Families {
${fields}
  constructor(caller: Caller) {
${bindings}  }
}
`;
}

function tableRow({ method, httpMethod, path, params, query, pages, answers, safe }: NamedOperation): string {
  const list = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`;
  const parts = [
    `method: '${httpMethod}'`,
    `path: '${path}'`,
    `params: ${list(params.map(({ name }) => name))}`,
    `query: ${list(query.map(({ name }) => name))}`,
    ...(pages ? ['pages: true'] : []),
    ...(answers === undefined ? [] : [`answers: '${answers}'`]),
    ...(safe ? ['safe: true'] : []),
  ];
  return `    ${method}: { ${parts.join(', ')} },\n`;
}

/** The hand-written exports of the package, by file. */
const offered: Readonly<Record<string, readonly string[]>> = {
  client: ['Tollkeeper', 'type TollkeeperOptions'],
  'entitlement-reader': ['type EntitlementReader', 'type EntitlementReaderOptions'],
  errors: [
    'ConflictError',
    'ConnectionError',
    'InvalidRequestError',
    'type Issue',
    'NotFoundError',
    'PaymentRequiredError',
    'RateLimitedError',
    'TimeoutError',
    'TollkeeperError',
    'UnauthorizedError',
  ],
  transport: ['type CallOptions', 'type WriteOptions'],
  webhook: ['verifyWebhook', 'type VerifyOptions', 'type WebhookHeaders', 'WebhookVerificationError'],
};

function entryFile(types: readonly string[]): string {
  const files = Object.entries(offered).map(([file, names]) => `export { ${names.join(', ')} } from './${file}.ts';\n`);
  const list = types.toSorted().map((name) => `  ${name},\n`);
  return `${notice}${files.join('')}export type {\n${list.join('')}} from './generated-types.ts';\n`;
}
