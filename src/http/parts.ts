import assert from 'node:assert/strict';
import { type Cells, refusedSlots } from '../database/cells.ts';
import { problemOfOutage } from '../database/database-problem.ts';
import type { Work } from '../database/work.ts';
import { answerAlone } from '../jobs/batcher.ts';
import type { JobContext } from '../jobs/queue.ts';
import { Turns } from '../jobs/turns.ts';
import { homeSlot } from '../kernel/id.ts';
import { Problem } from '../kernel/problem.ts';
import { beginIdempotent, type IdempotentRequest, storeAnswer } from './idempotency.ts';
import type { Divided, Route, RouteInput } from './route.ts';

type Input = RouteInput<never, never, never>;

/** The elements of a list that one cell answers, by their places in the list. Null is home. */
export interface Part {
  readonly cell: string | null;
  readonly places: readonly number[];
  readonly slots: readonly string[];
}

function elementsIn({ field }: Divided, { body }: Input): readonly unknown[] {
  // The schema of the route has this list.
  return (body as Readonly<Record<string, readonly unknown[]>>)[field] ?? [];
}

/** Divides a request by the cells of the customers that its elements name, in the order of the first element of each. */
export async function divide(
  cells: Cells,
  divided: Divided,
  input: Input,
  readEnvironment: () => Promise<number>,
): Promise<readonly Part[]> {
  if (cells.others() === null) await cells.refresh();
  const environmentId = await readEnvironment();
  const ofCells = new Map<string | null, { readonly places: number[]; readonly slots: Set<string> }>();
  const turns = new Turns();
  for (const [place, element] of elementsIn(divided, input).entries()) {
    if (turns.isOver()) await turns.pause();
    const named = { params: undefined, query: undefined, body: element };
    const [slot = homeSlot, ...others] = cells.slotsOf(named, environmentId);
    assert(others.length === 0, 'an element names one customer');
    const cell = cells.cellOf(slot);
    const part = ofCells.get(cell) ?? { places: [], slots: new Set<string>() };
    ofCells.set(cell, part);
    part.places.push(place);
    part.slots.add(slot);
  }
  return Array.from(ofCells, ([cell, { places, slots }]) => ({ cell, places, slots: [...slots] }));
}

/** The request of some elements alone. */
export function inputOfPart(divided: Divided, input: Input, places: readonly number[]): Input {
  const elements = elementsIn(divided, input);
  const body = { ...(input.body as object), [divided.field]: places.map((place) => elements[place]) };
  return { ...input, body: body as never, places };
}

/** The JSON of the answers of each element, by its place. */
export type Texts = Map<number, string>;

export async function textsOf(divided: Divided, places: readonly number[], answer: unknown): Promise<Texts> {
  const ofEach = divided.answersOf(answer);
  assert.equal(ofEach.length, places.length, 'each element is answered');
  const texts = await new Turns().map(ofEach, (answers) => JSON.stringify(answers).slice(1, -1));
  return new Map(texts.map((text, index) => [places[index] ?? 0, text]));
}

interface PartOfRequest {
  readonly route: Route;
  readonly divided: Divided;
  readonly input: Input;
  readonly places: readonly number[];
  readonly idempotency: IdempotentRequest | null;
}

/**
 * Answers the elements of a cell in its transaction. With an Idempotency-Key, those that an earlier request has stored here are
 * answered as they were. The others are new here: their cell did not respond, or their customers have moved.
 */
export async function performPart(
  work: Work,
  { route, divided, input, places, idempotency }: PartOfRequest,
  context: JobContext,
): Promise<{ readonly texts: Texts; readonly replayed: boolean }> {
  const stored = idempotency && (await beginIdempotent(work, idempotency));
  if (stored) work.effects.push(...stored.effects);
  const texts = stored === null ? new Map<number, string>() : readTexts(stored.text);
  const missing = places.filter((place) => !texts.has(place));
  if (missing.length === 0) return { texts, replayed: stored !== null };
  const part = inputOfPart(divided, input, missing) as never;
  const request = route.batched?.request(part) ?? null;
  const answer =
    route.batched && request !== null
      ? await answerAlone(route.batched.operation, work, request)
      : await route.handle(work, part, context, []);
  for (const [place, text] of await textsOf(divided, missing, answer)) texts.set(place, text);
  // It moves with no slot: where a customer has moved, its elements are known.
  if (idempotency) await storeAnswer(work, idempotency, writeTexts(texts), null);
  return { texts, replayed: false };
}

// JSON has no line break, so a line has a place and its text.
export function writeTexts(texts: Texts): string {
  return Array.from(texts, ([place, text]) => `${place} ${text}`).join('\n');
}

function readTexts(lines: string): Texts {
  return new Map(
    lines.split('\n').map((line) => {
      const space = line.indexOf(' ');
      return [Number(line.slice(0, space)), line.slice(space + 1)];
    }),
  );
}

/** The JSON of the whole answer, in the order of the list. */
export function joinTexts({ answers }: Divided, parts: readonly { readonly texts: Texts }[]): string {
  const ordered: string[] = [];
  for (const { texts } of parts) for (const [place, text] of texts) ordered[place] = text;
  return `{${JSON.stringify(answers)}:[${ordered.join(',')}]}`;
}

/** The refusal of a request of which some parts failed. It names the elements that other cells have stored. */
export function refusalOfParts(
  parts: readonly Part[],
  settled: readonly PromiseSettledResult<unknown>[],
  { stores }: { readonly stores: boolean },
): unknown {
  const failures = settled.flatMap((each) => {
    if (each.status === 'fulfilled') return [];
    const error = each.reason as unknown;
    return [{ error, problem: error instanceof Problem ? error : problemOfOutage(error) }];
  });
  // A slot that was given away: the request is answered as a whole. Or a bug.
  const unknown = failures.filter(({ problem }) => problem === null).map(({ error }) => error);
  if (unknown.length > 0) return unknown.find((error) => refusedSlots(error) !== null) ?? unknown[0];
  // A repeat gets past an outage, and not past a refusal.
  const first = failures.find(({ problem }) => problem !== null && problem.status < 500) ?? failures[0];
  const stored = parts.flatMap(({ places }, index) => (settled[index]?.status === 'fulfilled' ? places : []));
  if (!stores || stored.length === 0 || !first?.problem) return first?.error;
  const all = parts.reduce((sum, { places }) => sum + places.length, 0);
  const sentence = `${stored.length} of ${all} elements were stored, which a repeat does not count again. The rest was refused:`;
  const { problem, message, issues, data } = first.problem;
  const named = new Problem(problem, {}, issues, { ...data, stored: stored.sort((a, b) => a - b) });
  // The cause of an outage is for the log.
  const cause = first.error === first.problem ? first.problem.cause : first.error;
  return Object.assign(named, { message: `${sentence} ${message}`, cause });
}
