import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolved } from './document.ts';
import type { Body } from './harness.ts';

type Path = readonly (string | number)[];

/** A text of a request: its place, and the most characters that the document names. */
export interface LimitedText {
  readonly path: Path;
  readonly longest: number | undefined;
  readonly schema: Body;
}

// Their length is a matter of their form: an address of the web begins so, and a code is one of few.
const beginnings: Readonly<Record<string, string>> = {
  url: 'https://hooks.example.com/',
  successUrl: 'https://shop.example.com/',
  cancelUrl: 'https://shop.example.com/',
  returnUrl: 'https://shop.example.com/',
};
/** Free texts by the name of their field: any text is legal. Others refer to something, are referred to, or have a form. */
const freeTexts = new Set([
  ...Object.keys(beginnings),
  ...['name', 'description', 'email', 'phone', 'line1', 'line2', 'city', 'state', 'postal_code', 'firstName'],
  ...['lastName', 'reason', 'logoURL', 'iconURL', 'imageURL', 'domain', 'userId', 'taxId', 'addressLines', 'reference'],
  ...['singularQuantityLabel', 'pluralQuantityLabel', 'outputName', 'transactionId'],
]);

export const longestMetadata = Object.fromEntries(
  Array.from({ length: 50 }, (_, n) => [`${n}`.padEnd(40, 'k'), 'x'.repeat(500)]),
);
const wholeObjects: Readonly<Record<string, Body>> = {
  metadata: longestMetadata,
  outputMetadata: longestMetadata,
  billingAddress: { address: { country: 'AT' } },
  billingDetails: { address: { country: 'AT' } },
};

/** The schemas that a value may have: the variants of a union whose fixed fields are the value's. */
function variantsOf(document: Body, schema: Body, value: unknown): Body[] {
  const found = resolved(document, schema);
  const parts = [...(found?.anyOf ?? []), ...(found?.oneOf ?? []), ...(found?.allOf ?? [])];
  if (parts.length > 0) return parts.flatMap((part: Body) => variantsOf(document, part, value));
  return found === undefined || !fits(document, found, value) ? [] : [found];
}

function fits(document: Body, schema: Body, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true;
  return Object.entries<Body>(schema.properties ?? {}).every(([name, property]) => {
    const fixed = resolved(document, property);
    const known = fixed?.const === undefined ? fixed?.enum : [fixed.const];
    const given = (value as Body)[name];
    return known === undefined || given === undefined || known.includes(given);
  });
}

/** Every text that a request may have. Items of a list stand at 0. */
export function textsOf(document: Body, schema: Body, path: Path = [], seen: readonly Body[] = []): LimitedText[] {
  const found = resolved(document, schema);
  if (found === undefined || seen.includes(found)) return [];
  const inside = (part: Body, ...names: Path) => textsOf(document, part, [...path, ...names], [...seen, found]);
  const isText = [found.type].flat().includes('string') && found.enum === undefined && found.const === undefined;
  return [
    ...(isText ? [{ path, longest: found.maxLength, schema: found }] : []),
    ...['anyOf', 'oneOf', 'allOf'].flatMap((name) => (found[name] ?? []).flatMap((part: Body) => inside(part))),
    ...Object.entries<Body>(found.properties ?? {}).flatMap(([name, part]) => inside(part, name)),
    ...(found.items === undefined ? [] : inside(found.items, 0)),
    ...(typeof found.additionalProperties === 'object' ? inside(found.additionalProperties, '*') : []),
  ];
}

/**
 * A legal body with each of its free texts, and the places of these texts. They are as long as the document allows, unless
 * others are made.
 */
export function lengthened(
  document: Body,
  schema: Body,
  body: Body,
  makeText: (name: string, longest: number, path: Path) => string = textOf,
): { body: Body; texts: LimitedText[] } {
  const texts: LimitedText[] = [];
  const lengthen = (part: Body, value: Body, path: Path): Body => {
    const name = path.findLast((each) => typeof each === 'string') as string | undefined;
    const variants = variantsOf(document, part, value);
    if (Array.isArray(value)) {
      const { items } = variants.find((variant) => variant.items !== undefined) ?? {};
      return value.map((each, at) => lengthen(items, each, [...path, at]));
    }
    if (typeof value === 'object' && value !== null) {
      const { properties = {} } = variants.find((variant) => variant.properties !== undefined) ?? {};
      const absent = Object.keys(properties).filter((field) => value[field] === undefined);
      const added = absent.flatMap((field): [string, Body][] => {
        if (field in wholeObjects) return [[field, wholeObjects[field]]];
        return freeTexts.has(field) ? [[field, '']] : [];
      });
      const whole = { ...value, ...Object.fromEntries(added) };
      return Object.fromEntries(
        Object.entries(whole).map(([field, each]) => [
          field,
          properties[field] === undefined ? each : lengthen(properties[field], each, [...path, field]),
        ]),
      );
    }
    const schemaOfText = variants.find((variant) => variant.type === 'string' && variant.maxLength !== undefined);
    if (typeof value !== 'string' || name === undefined || !freeTexts.has(name) || schemaOfText === undefined)
      return value;
    texts.push({ path, longest: schemaOfText.maxLength, schema: schemaOfText });
    return makeText(name, schemaOfText.maxLength, path);
  };
  return { body: lengthen(schema, body, []), texts };
}

/** A text of so many characters, another one for each place. */
export function textOf(name: string, length: number, path: Path): string {
  return `${beginnings[name] ?? ''}${path.join('-')}-`.padEnd(length, 'x').slice(0, length);
}

/** The body with another text at the place. */
export function withText(body: Body, [name, ...rest]: Path, text: string): Body {
  if (name === undefined) return text;
  if (Array.isArray(body)) return body.map((each, at) => (at === name ? withText(each, rest, text) : each));
  return { ...body, [name]: withText(body[name], rest, text) };
}

const longestBlockMs = 100;
// The first time takes longer, because the code is compiled.
const tries = 4;

/** The processor time of this thread, in milliseconds. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1e3;
}

/**
 * The longest time for which the act holds up the event loop, in processor time of its thread. A clock, and so
 * `monitorEventLoopDelay`, would count what other programs take from a busy machine.
 */
async function longestBlockOf(act: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let before = usedMs();
  const timer = setInterval(() => {
    const now = usedMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, 1);
  try {
    await act();
    await sleep(3);
  } finally {
    clearInterval(timer);
  }
  return longest;
}

/** Fails if the act holds up the event loop for 100 ms each time that it is tried. What prepares it does not count. */
export async function assertBrief(
  name: string,
  act: () => Promise<unknown>,
  prepare: () => void = () => undefined,
): Promise<void> {
  const blocked: number[] = [];
  while (blocked.length < tries) {
    prepare();
    const block = await longestBlockOf(act);
    blocked.push(block);
    if (block < longestBlockMs) return;
  }
  assert.fail(`${name} held up the event loop for ${blocked.map(Math.round)} ms`);
}
