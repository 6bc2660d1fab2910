import type { Issue } from './problem.ts';

/** No real document nests deeper, and recursive parsers and printers are safe at this depth. */
export const maxDepth = 64;
/** Smaller bodies are parsed within a millisecond, whatever they contain, and need no scan before. */
export const harmlessBytes = 16 * 1024;
// Enough for the properties of a usage event, however they are written.
const maxElementBytes = 256 * 1024;
// So many bytes are parsed within a few milliseconds, and many more are weighed.
const pieceBytes = 64 * 1024;
const stepBytes = 1024 * 1024;

/** The most that a body may hold. */
export interface BodyLimits {
  readonly bytes: number;
  /** Values of any kind, nested ones too. */
  readonly values: number;
}

/** Validation takes some 50 milliseconds where each of so many values is wrong. */
export const ordinaryLimits: BodyLimits = { bytes: 1024 * 1024, values: 20_000 };
/** The fullest pricing model as it is exported, or thousands of long names. */
export const largeLimits: BodyLimits = { bytes: 16 * 1024 * 1024, values: 150_000 };
/** Ten thousand usage events of fifty values each. Such a list is parsed and validated in pieces. */
export const listLimits: BodyLimits = { bytes: 16 * 1024 * 1024, values: 500_000 };

/** The form of a body: lines, an object with a long list in this field, or anything else. */
export type BodyForm = 'lines' | { readonly listIn: string } | null;

/** The bounds of a list in a body, and the separators at which it is cut into pieces. */
export interface FoundList {
  readonly begin: number;
  readonly end: number;
  readonly cuts: readonly number[];
}

const [quote, comma, newLine, backslash] = [0x22, 0x2c, 0x0a, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Weighs UTF-8 JSON, or lines of it, before it is parsed. Answers the reason not to parse it, such as nesting deeper than
 * 64, or its long list, or null. Invalid JSON is left to the parser. A step takes a few milliseconds.
 */
export function* weigh(
  bytes: Uint8Array,
  limits: BodyLimits,
  form: BodyForm = null,
): Generator<void, Issue | FoundList | null> {
  const list = new ListFinder(bytes, form);
  let depth = 0;
  let values = 0;
  let stepEnd = stepBytes;
  for (let at = 0; at < bytes.length; at++) {
    if (at >= stepEnd) {
      stepEnd = at + stepBytes;
      yield;
    }
    const byte = bytes[at];
    if (byte === quote) {
      const begin = at;
      at = endOfText(bytes, at + 1);
      if (depth === 1) list.text(begin, at);
    } else if (byte === comma || (byte === newLine && depth === 0)) {
      if (++values >= limits.values) return tooBig([], `the body contains more than ${limits.values} values`);
      if (depth === list.depth && !list.separate(byte, at)) return list.tooLong();
    } else if (byte === openBracket || byte === openBrace) {
      if (++depth > maxDepth) return tooBig([], `the body is nested deeper than ${maxDepth} levels`);
      if (depth === 2) list.open(byte, at, values);
    } else if (byte === closeBracket || byte === closeBrace) {
      if (depth === 2 && !list.close(at, values)) return list.tooLong();
      depth--;
    }
  }
  return form === null ? null : list.found(values);
}

/** Finds the long list of a body while its bytes are scanned. */
class ListFinder {
  /** The depth of its separators. */
  readonly depth: number;
  readonly #bytes: Uint8Array;
  readonly #name: Uint8Array;
  readonly #form: BodyForm;
  readonly #cuts: number[] = [];
  /** The fields of this name. */
  #fields = 0;
  #begin = 0;
  #end = 0;
  #isOpen: boolean;
  /** The last text of the object, which is a name where a list follows. */
  #text = [0, 0] as [number, number];
  /** The beginnings of the present element and piece, and the elements before. */
  #element = 0;
  #piece = 0;
  #elements = 0;
  #valuesBefore = 0;
  #values = 0;

  constructor(bytes: Uint8Array, form: BodyForm) {
    this.#bytes = bytes;
    this.#form = form;
    this.#isOpen = form === 'lines';
    this.depth = form === 'lines' ? 0 : 2;
    this.#name = new TextEncoder().encode(form === null || form === 'lines' ? '' : `"${form.listIn}"`);
  }

  text(begin: number, end: number): void {
    this.#text = [begin, end];
  }

  open(byte: number, at: number, values: number): void {
    if (byte !== openBracket || !this.#isNamed()) return;
    this.#fields += 1;
    // The parser says which of several counts.
    if (this.#fields > 1) return;
    this.#isOpen = true;
    this.#begin = at + 1;
    this.#element = at + 1;
    this.#piece = at + 1;
    this.#valuesBefore = values;
  }

  #isNamed(): boolean {
    const [begin, end] = this.#text;
    const name = this.#name;
    return (
      name.length > 0 && end - begin + 1 === name.length && name.every((byte, at) => this.#bytes[begin + at] === byte)
    );
  }

  /** Ends an element. False if it was too long. */
  separate(byte: number, at: number): boolean {
    if (!this.#isOpen || byte !== (this.depth === 0 ? newLine : comma)) return true;
    if (at - this.#element > maxElementBytes) return false;
    this.#element = at + 1;
    this.#elements += 1;
    if (at - this.#piece >= pieceBytes) {
      this.#cuts.push(at);
      this.#piece = at + 1;
    }
    return true;
  }

  /** Ends the list, if it is that. False if its last element was too long. */
  close(at: number, values: number): boolean {
    if (!this.#isOpen || this.depth === 0) return true;
    this.#isOpen = false;
    this.#end = at;
    this.#values = values - this.#valuesBefore;
    return at - this.#element <= maxElementBytes;
  }

  tooLong(): Issue {
    const message = `longer than ${maxElementBytes} bytes`;
    if (this.#form === null || this.#form === 'lines') return tooBig([], `line ${this.#elements + 1} is ${message}`);
    return tooBig([this.#form.listIn, this.#elements], `is ${message}`);
  }

  /** The list, or null if there is no such one. The issue, if more than usual stands beside it. */
  found(values: number): Issue | FoundList | null {
    const { length } = this.#bytes;
    if (this.depth === 0) {
      const isTooLong = length - this.#element > maxElementBytes;
      return isTooLong ? this.tooLong() : { begin: 0, end: length, cuts: this.#cuts };
    }
    const isList = this.#fields === 1 && !this.#isOpen;
    const [begin, end, inside] = isList ? [this.#begin, this.#end, this.#values] : [0, 0, 0];
    if (length - (end - begin) > ordinaryLimits.bytes)
      return tooBig([], `the body contains more than ${ordinaryLimits.bytes} bytes beside its list`);
    if (values - inside >= ordinaryLimits.values)
      return tooBig([], `the body contains more than ${ordinaryLimits.values} values beside its list`);
    return isList ? { begin, end, cuts: this.#cuts } : null;
  }
}

/** The position where the string that begins at `at` ends: its closing quote, or the end of the input. */
function endOfText(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && bytes[end] !== quote) end += bytes[end] === backslash ? 2 : 1;
  return end;
}

function tooBig(path: readonly (string | number)[], message: string): Issue {
  return { path, message, code: 'too_big' };
}
