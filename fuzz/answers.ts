import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { createValidator } from '../test/support/document.ts';
import type { OpenApi, Operation } from './operations.ts';
import type { FuzzRequest } from './requests.ts';

/** A response. */
export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A problem with a response, or a missing response. */
export interface Finding {
  readonly kind: string;
  readonly detail: string;
}

/** Returns the problem with the response to a request; null if it is acceptable. */
export type Judge = (request: FuzzRequest, answer: FuzzAnswer) => Finding | null;

// Statuses that any operation may return, documented once in openapi.json.
const everywhere: ReadonlySet<number> = new Set([408, 413, 415, 429, 431, 503]);
// Internal text that no caller should see: file paths, SQL, PostgreSQL messages.
const inside =
  /node_modules|\.ts:\d+|\n\s+at |file:\/\/\/|select .{1,80} from |insert into |violates |SQLSTATE|relation "|syntax error at or|invalid input syntax|out of range for type|deadlock|ECONN|properties of undefined|cannot read prop/i;

/** Judges responses by openapi.json and by general rules. */
export function createJudge(document: OpenApi): Judge {
  const ajv = createValidator(document);
  // URLs follow the browser's rules: they may contain unescaped non-ASCII letters.
  ajv.addFormat('uri', (text: string) => URL.canParse(text));
  // Years beyond 9999 and before 0 have a sign, which the standard format does not allow.
  ajv.addFormat('date-time', /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  return (request, answer) => {
    if (request.method === 'HEAD') return answer.status >= 500 ? { kind: 'failed', detail: 'HEAD' } : null;
    return answer.status < 400 ? judgeSuccess(ajv, request, answer) : judgeRefusal(ajv, request, answer);
  };
}

function judgeSuccess(ajv: Ajv2020, { operation }: FuzzRequest, { status, headers, body }: FuzzAnswer): Finding | null {
  if (operation === null || status === 304) return null;
  const mediaType = mediaTypeOf(String(headers['content-type']), operation.responses[status]?.content);
  const schema = operation.responses[status]?.content?.[mediaType];
  if (schema === undefined) return { kind: 'undocumented', detail: `${status} ${mediaType}` };
  if (mediaType !== 'application/json') return null;
  return differs(documented(ajv, operation, status), parsed(body));
}

/** The documented media type that matches the response, or its own if none does. */
function mediaTypeOf(contentType: string, documented: Readonly<Record<string, unknown>> = {}): string {
  const [first = ''] = contentType.split(';');
  return contentType in documented ? contentType : first;
}

function judgeRefusal(ajv: Ajv2020, request: FuzzRequest, { status, headers, body }: FuzzAnswer): Finding | null {
  const text = body.toString('utf8');
  if (status >= 500 && status !== 503) return { kind: 'failed', detail: text.slice(0, 300) };
  if ((status === 503 || status === 429) && headers['retry-after'] === undefined)
    return { kind: 'no Retry-After', detail: text.slice(0, 300) };
  const value = parsed(body);
  if (value === undefined) return { kind: 'not JSON', detail: text.slice(0, 300) };
  const { operation } = request;
  const isDocumented = operation?.responses[status] !== undefined;
  const error = differs(ajv.getSchema('openapi.json#/components/schemas/Error'), value);
  if (error !== null) return error;
  const leak = inside.exec(text);
  // Quoting the caller's own input is not a leak.
  if (leak && !`${request.path}${request.body?.toString('utf8') ?? ''}`.includes(leak[0]))
    return { kind: 'tells internals', detail: text.slice(0, 300) };
  if (operation === null || isDocumented || everywhere.has(status)) return null;
  return { kind: 'undocumented', detail: `${status} ${text.slice(0, 200)}` };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function documented(ajv: Ajv2020, { method, path }: Operation, status: number): ValidateFunction | undefined {
  const pointer = `/api/v1${path}`.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
  return ajv.getSchema(
    `openapi.json#/paths/${pointer}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`,
  );
}

function differs(validate: ValidateFunction | undefined, value: unknown): Finding | null {
  if (validate === undefined) return { kind: 'undocumented', detail: 'no schema' };
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return {
    kind: 'not as documented',
    detail: `${first?.instancePath} ${first?.message} ${JSON.stringify(first?.params)}`,
  };
}
