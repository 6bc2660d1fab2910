import { idPrefixes } from '../src/kernel/id.ts';
import { isInstant } from './operations.ts';
import type { Random } from './random.ts';
import { addresses, anyValue, instants, jsonText, numbers, RawJson, texts } from './values.ts';

/** Existing ids by prefix: `cust` -> [`cust_...`]. */
export type IdPool = Map<string, string[]>;

const idPattern = /^([a-z_]+)_[0-9A-Za-z]{21}$/;
// Enough to choose from; the oldest are dropped.
const idsOfKind = 40;

/** Stores the id of a record, so that later requests can use it. */
export function remember(pool: IdPool, text: string): void {
  const prefix = idPattern.exec(text)?.[1];
  // The key that asks must not be found: it would revoke itself.
  if (prefix === undefined || prefix === idPrefixes.apiKey) return;
  const ids = pool.get(prefix) ?? [];
  pool.set(prefix, ids);
  if (ids.includes(text)) return;
  ids.push(text);
  if (ids.length > idsOfKind) ids.shift();
}

/** Stores every id in a response. */
export function rememberAll(pool: IdPool, value: unknown, depth = 0): void {
  if (typeof value === 'string') remember(pool, value);
  if (typeof value !== 'object' || value === null || depth > 4) return;
  for (const each of Object.values(value).slice(0, 30)) rememberAll(pool, each, depth + 1);
}

/** The known ids of the same kind. */
export function idsLike(pool: IdPool, id: string): readonly string[] {
  return pool.get(idPattern.exec(id)?.[1] ?? '') ?? [];
}

/** Another id: usually of the same kind, sometimes of another kind or nearly valid. */
export function otherId(random: Random, pool: IdPool, id: string): string {
  const prefix = idPattern.exec(id)?.[1] ?? '';
  const same = idsLike(pool, id);
  if (same.length > 0 && random.chance(0.6)) return random.pick(same);
  const others = pool.get(random.pick([...pool.keys()])) ?? [id];
  return random.pick([random.pick(others), `${id}x`, id.slice(0, -1), id.toUpperCase(), ` ${id}`, `${prefix}_`]);
}

/** Whether a text looks like the id of a record. */
export function isId(text: string): boolean {
  return idPattern.test(text);
}

interface Place {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
}

/** Mutates one place anywhere in a body, in place. */
export function mutate(random: Random, body: unknown, pool: IdPool, now: number): void {
  const places = placesOf(body);
  const place = places.length > 0 ? random.pick(places) : null;
  if (place === null) return;
  const holder = place.holder as Record<string | number, unknown>;
  const value = holder[place.key];
  switch (random.below(10)) {
    case 0:
      if (Array.isArray(place.holder)) place.holder.splice(Number(place.key), 1);
      else delete holder[place.key];
      return;
    case 1:
      holder[place.key] = null;
      return;
    case 2:
      addField(random, place.holder, now);
      return;
    case 3:
      holder[place.key] = anyValue(random, now);
      return;
    default:
      holder[place.key] = likeValue(random, value, { name: String(place.key), pool, now });
  }
}

/** A value of the same kind, at its limits or beyond. */
function likeValue(
  random: Random,
  value: unknown,
  { name, pool, now }: { name: string; pool: IdPool; now: number },
): unknown {
  if (typeof value === 'number') return random.pick(isInstant(name) ? instants(now) : numbers);
  if (typeof value === 'string') {
    if (isId(value) && random.chance(0.8)) return otherId(random, pool, value);
    if (/url$/i.test(name)) return random.pick(addresses);
    if (isInstant(name)) return random.pick(instants(now));
    return random.pick([random.pick(texts), `${value}${random.pick(texts)}`, value.toUpperCase(), value.repeat(2)]);
  }
  if (typeof value === 'boolean') return random.pick([!value, String(value), Number(value), null]);
  if (Array.isArray(value)) return likeList(random, value);
  if (typeof value === 'object' && value !== null)
    return random.pick([{}, [value], JSON.stringify(value), { ...value, [random.pick(texts)]: 1 }]);
  return anyValue(random, now);
}

function likeList(random: Random, value: readonly unknown[]): unknown {
  const first = value[0] ?? 0;
  const many = random.pick([50, 501, 5001, 10_001]);
  return random.pick([
    () => [],
    () => [...value, first],
    () => [first, first, first],
    () => value[0] ?? null,
    () => ({ ...value }),
    () => new RawJson(`[${`${jsonText(first)},`.repeat(many)}${jsonText(first)}]`),
  ])();
}

function addField(random: Random, holder: Record<string, unknown> | unknown[], now: number): void {
  const value = anyValue(random, now);
  if (Array.isArray(holder)) holder.push(value);
  else holder[random.pick(['id', 'livemode', 'environmentId', 'pricingModelId', 'createdAt', ...texts])] = value;
}

function placesOf(value: unknown, places: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null || value instanceof RawJson) return places;
  const holder = value as Record<string, unknown> | unknown[];
  for (const [key, child] of Object.entries(holder)) {
    places.push({ holder, key: Array.isArray(holder) ? Number(key) : key });
    placesOf(child, places);
  }
  return places;
}

/** Corrupts the text of a body in ways that no object can express. */
export function spoilText(random: Random, text: string): Buffer {
  const brace = text.indexOf('{') + 1;
  const quote = text.indexOf('"');
  return random.pick([
    () => Buffer.from(text.slice(0, random.below(text.length + 1))),
    () => Buffer.from(`\ufeff${text}`),
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.from(`${text}${text}`),
    () => Buffer.from(`${text},`),
    () => Buffer.from(` \n${text}\t `),
    () => Buffer.from(`${text.slice(0, brace)}"__proto__":{"a":1},${text.slice(brace)}`),
    () => Buffer.from(`${text.slice(0, brace)}"constructor":null,${text.slice(brace)}`),
    // Every key twice: the last one counts.
    () => Buffer.from(`${text.slice(0, -1)},${text.slice(1)}`),
    () =>
      Buffer.concat([
        Buffer.from(text.slice(0, quote + 1)),
        Buffer.from([0xff, 0xc0, 0x80]),
        Buffer.from(text.slice(quote + 1)),
      ]),
    () => Buffer.from(text.replaceAll('"', "'")),
    () => Buffer.from(`/* */${text}`),
    () => Buffer.from(`[${text}]`),
    () => Buffer.alloc(0),
    () => Buffer.alloc(1000),
  ])();
}
