import { type Call, calls } from '../test/support/api-calls.ts';
import type { World } from '../test/support/world.ts';
import { type IdPool, idsLike, isId, mutate, otherId, spoilText } from './mutations.ts';
import { type KnownIds, type OpenApi, type Operation, ValueMaker } from './operations.ts';
import type { Random } from './random.ts';
import { craftedKeys, instants, jsonText, prototypeWords, texts } from './values.ts';

/** The records that requests use. */
export interface Tenant {
  readonly key: string;
  readonly liveKey: string;
  /** The key of an organization without customers, whose clock may be set to any time. */
  readonly bareKey: string;
  /** The key of another organization. */
  readonly strangerKey: string;
  readonly world: World;
  readonly pool: IdPool;
}

/** A request to send. */
export interface FuzzRequest {
  readonly number: number;
  /** The intended operation, or null if method or path may lead elsewhere. */
  readonly operation: Operation | null;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** The time after which the client resets its connection; null: it waits for the answer. */
  readonly resetAfterMs: number | null;
}

/** The amount and kind of mutation. */
export interface Wildness {
  /** No response may then change anything: every mutation is a dry run. */
  readonly dryRun: boolean;
}

const prefix = '/api/v1';
const mutatesAtMost = 4;
// A longer move would do years of work, as requested.
const longestMoveDays = 40;
const dayMs = 86_400_000;
const cursors = ['', 'x', 'bnVsbA==', 'e30=', '////', `${'A'.repeat(4097)}`, 'eyJwYXJhbWV0ZXJzIjp7fX0=', '-_-_'];
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'];
const contentTypes = [
  'application/json; charset=utf-8',
  'application/json;charset=latin1',
  'application/vnd.api+json',
  'application/x-ndjson',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/octet-stream',
  'application/json, text/plain',
  ';',
  '',
];

/** Generates request `number`: an operation's valid call, or a body by its schema, with up to four mutations. */
export function makeRequest(
  random: Random,
  number: number,
  {
    document,
    operations,
    tenant,
    now,
    dryRun,
  }: { document: OpenApi; operations: readonly Operation[]; tenant: Tenant; now: number } & Wildness,
): FuzzRequest {
  const operation = random.pick(operations);
  const call = callOf(operation, tenant.world, `${number}-${now.toString(36)}`);
  if (operation.name === 'PUT /test-clock') return clockRequest(random, { number, operation, tenant, now, dryRun });
  const maker = new ValueMaker(random, {
    document,
    known: knownIds(tenant),
    now,
    wildness: random.pick([0, 0, 0.01, 0.05]),
    isLongest: random.chance(0.08),
  });
  const body = bodyOf(random, { operation, call, maker, tenant, now });
  const [path, query] = pathOf(random, { operation, call, maker, tenant, now, dryRun });
  // A dry run of a read says nothing of it in its path, which another method would change for good.
  const isElsewhere = random.chance(0.03) && !dryRun;
  return {
    number,
    operation: isElsewhere || !isPlain(path, operation) ? null : operation,
    method: isElsewhere ? random.pick(methods) : operation.method,
    path: `${prefix}${path}${query}`,
    headers: headersOf(random, { tenant, operation, hasBody: body !== null }),
    body,
    // At once, while it is read, and while it is answered. Without a lone run: what it changed is not known then.
    resetAfterMs: !dryRun && random.chance(0.03) ? random.pick([0, 1, 3, 10, 30]) : null,
  };
}

function callOf(operation: Operation, world: World, unique: string): Call {
  const make = calls[operation.name];
  return make ? make(world, unique) : { path: operation.path };
}

/** The ids for fields of each name: those of the world, and of records created since. */
function knownIds({ world, pool }: Tenant): KnownIds {
  const known: Record<string, readonly string[]> = {};
  for (const [name, id] of Object.entries(world)) {
    // Most records depend on the world's own id, so it is used every other time.
    const others = idsLike(pool, id);
    known[name] = [...others, ...others.map(() => id), id];
  }
  return {
    ...known,
    customerExternalId: [world.externalId],
    priceSlug: [world.usagePriceSlug, 'team-monthly'],
    usageMeterSlug: ['api-calls'],
    meter: ['api-calls'],
    // A change of a usage meter may give it this name, and an event may then have it.
    eventName: ['answer'],
    resourceSlug: ['seat'],
    featureSlug: ['sso', 'calls', 'seats'],
    featureId: [world.featureId, world.spareFeatureId],
    targetSubscriptionId: [world.subscriptionId],
    defaultPaymentMethodId: [world.paymentMethodId],
    backupPaymentMethodId: [world.paymentMethodId],
    discountCode: ['LAUNCH'],
    token: ['pm_card_visa', 'pm_card_chargeDeclined', 'pm_card_authenticationRequired', 'pm_card_processing'],
    country: ['DE', 'US', 'XX'],
    currency: ['USD', 'EUR', 'JPY', 'XXX'],
    cursor: cursors,
  };
}

interface Making {
  readonly operation: Operation;
  readonly call: Call;
  readonly maker: ValueMaker;
  readonly tenant: Tenant;
  readonly now: number;
}

function bodyOf(random: Random, { operation, call, maker, tenant, now }: Making): Buffer | null {
  if (call.body === undefined && operation.body === null) return random.chance(0.03) ? Buffer.from('{}') : null;
  const isMade = operation.body !== null && random.chance(0.4);
  const body = isMade
    ? maker.make(operation.body ?? {})
    : withOtherIds(random, structuredClone(call.body ?? {}), tenant);
  const holder = { body };
  for (let left = random.below(isMade ? 2 : mutatesAtMost); left > 0; left--)
    mutate(random, holder.body, tenant.pool, now);
  const text = jsonText(holder.body);
  return random.chance(0.04) ? spoilText(random, text) : Buffer.from(text);
}

/** Sometimes the valid call with other records of the same kinds, for which the same operation may succeed. */
function withOtherIds(random: Random, body: unknown, { pool }: Tenant): unknown {
  if (!random.chance(0.3)) return body;
  const swapped = (_key: string, value: unknown) =>
    typeof value === 'string' && isId(value) ? random.pick([...idsLike(pool, value), value]) : value;
  return JSON.parse(JSON.stringify(body), swapped);
}

function pathOf(
  random: Random,
  { operation, call, maker, tenant, now, dryRun }: Making & Wildness,
): [path: string, query: string] {
  const [valid = '', given = ''] = call.path.split('?');
  const parts = valid.split('/').map((part) => pathPart(random, part, tenant));
  const query = new URLSearchParams(given);
  for (const { in: where, name, schema } of operation.parameters) {
    if (where !== 'query' || name === 'dryRun' || !random.chance(0.15)) continue;
    const value = name === 'cursor' ? random.pick(cursors) : maker.make(schema, name);
    query.append(name, textOf(value));
    if (random.chance(0.1)) query.append(name, random.pick(texts).slice(0, 300));
  }
  // Each parameter of each operation meets them, and so does each name.
  if (random.chance(0.05)) {
    const names = operation.parameters.flatMap(({ in: where, name }) => (where === 'query' ? name : []));
    query.set(random.pick([...names, ...names, ...prototypeWords]), random.pick(prototypeWords));
  }
  if (random.chance(0.03))
    query.append(random.pick(['a[b]', '__proto__', 'constructor', '', 'x']), random.pick(texts).slice(0, 300));
  if (operation.method !== 'GET' && (dryRun || random.chance(0.1))) query.set('dryRun', 'true');
  else if (random.chance(0.02))
    query.append('dryRun', random.pick(['', 'TRUE', '1', 'false', random.pick(instants(now)) as string]));
  // A stream answers until its time is over, and the run waits for each answer.
  if (operation.name === 'GET /changes' && Number(query.get('seconds')) > 1) query.set('seconds', '1');
  const text = query.toString().replaceAll('%00', random.pick(['%00', '%', '%c0%80', '%ff', '+']));
  return [parts.join('/'), text === '' ? '' : `?${text.slice(0, 6000)}`];
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : jsonText(value);
  return text.toWellFormed().slice(0, 5000);
}

function pathPart(random: Random, part: string, { pool, world }: Tenant): string {
  const isParameter = isId(part) || part === world.externalId;
  if (!isParameter || !random.chance(0.15)) return part;
  if (isId(part) && random.chance(0.6)) return encodeURIComponent(otherId(random, pool, part));
  const text = encodeURIComponent(random.pick(texts).toWellFormed().slice(0, 500));
  return random.pick([text, `${part}%00`, '%2e%2e', '%zz', `${part}%2F..`, '..', `${part};a=b`, 'default', 'setup']);
}

/** Whether the path certainly leads to its operation. */
function isPlain(path: string, operation: Operation): boolean {
  const plain = operation.path.replaceAll(/\{\w+\}/g, '[A-Za-z0-9_-]+');
  return new RegExp(`^${plain}$`).test(path) && !/\/(default|setup|upcoming)$/.test(path);
}

function headersOf(
  random: Random,
  { tenant, operation, hasBody }: { tenant: Tenant; operation: Operation; hasBody: boolean },
): Record<string, string> {
  const headers: Record<string, string> = { authorization: `Bearer ${keyOf(random, tenant, operation)}` };
  if (hasBody) headers['content-type'] = random.chance(0.03) ? random.pick(contentTypes) : 'application/json';
  if (operation.takesLines && hasBody && random.chance(0.2)) headers['content-type'] = 'application/x-ndjson';
  if (random.chance(0.12)) headers['idempotency-key'] = `fuzz-${random.below(12)}`;
  if (random.chance(0.02)) headers['idempotency-key'] = random.pick(craftedKeys);
  if (random.chance(0.02))
    headers['idempotency-key'] = random.pick(['', ' ', 'k'.repeat(255), 'k'.repeat(256), 'é', '\t', '__proto__', '"']);
  if (random.chance(0.02)) headers['if-none-match'] = random.pick(['*', 'W/"x"', '"', ',', `"${'x'.repeat(5000)}"`]);
  if (random.chance(0.01)) headers['accept-encoding'] = random.pick(['gzip;q=0', 'br', '*', 'identity;q=0']);
  if (random.chance(0.01)) headers.host = random.pick(['', 'a.invalid', 'x:99999', '[::1', 'a@b', 'é']);
  if (random.chance(0.01)) headers['x-forwarded-for'] = random.pick(['127.0.0.1', '::::', ',,,,']);
  if (random.chance(0.01)) headers['content-encoding'] = random.pick(['gzip', 'br', 'deflate', 'identity', 'x']);
  if (random.chance(0.005)) headers[`x-${'n'.repeat(random.below(2000))}`] = 'v'.repeat(random.below(8000));
  return headers;
}

function keyOf(random: Random, tenant: Tenant, operation: Operation): string {
  if (random.chance(0.01))
    return random.pick(['', 'sk_test_wrong', 'é', 'x'.repeat(300), `${tenant.key} `, ...craftedKeys]);
  if (random.chance(0.03)) return tenant.liveKey;
  if (random.chance(0.03)) return tenant.strangerKey;
  // Its clock may be at the end of the calendar, where nothing should be sold.
  const isHarmless = !/customers|subscriptions/.test(operation.path) || operation.method === 'GET';
  return isHarmless && random.chance(0.03) ? tenant.bareKey : tenant.key;
}

/** Moves the world's clock a little, or sets the bare organization's clock to anything. */
function clockRequest(
  random: Random,
  {
    number,
    operation,
    tenant,
    now,
    dryRun,
  }: { number: number; operation: Operation; tenant: Tenant; now: number } & Wildness,
): FuzzRequest {
  const isBare = random.chance(0.7);
  const to = isBare ? random.pick([...instants(now), ...texts]) : now + random.below(longestMoveDays * dayMs);
  const key = isBare ? tenant.bareKey : tenant.key;
  return {
    number,
    operation,
    method: operation.method,
    path: `${prefix}${operation.path}${dryRun ? '?dryRun=true' : ''}`,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: Buffer.from(jsonText({ testClock: { now: to } })),
    resetAfterMs: null,
  };
}

/** The request as a curl command. */
export function asCurl(address: string, { method, path, headers, body }: FuzzRequest): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const given = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value.slice(0, 300)}`)}`);
  const text = body?.toString('utf8') ?? '';
  const data = body === null ? [] : [`--data-binary ${quote(text.slice(0, 3000))}`];
  const cut = text.length > 3000 ? ` # the body has ${text.length} characters` : '';
  return `curl --globoff -X ${method} ${quote(address + path)} ${[...given, ...data].join(' ')}${cut}`;
}
