import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

// The time that each test file took in the last run. The longest begin first, so that no core waits for one at the end.

const cache = new URL('../node_modules/.cache/tollkeeper/test-durations.json', import.meta.url);

/** The longest in seconds, as measured on two cores. They count where nothing was measured yet. */
const longest: Readonly<Record<string, number>> = {};

// Between the longest and the many that take a second or two.
const unknownSeconds = 3;

export type Durations = Readonly<Record<string, number>>;

export async function readDurations(): Promise<Durations> {
  try {
    return { ...longest, ...JSON.parse(await readFile(cache, 'utf8')) };
  } catch {
    return longest;
  }
}

export async function saveDurations(durations: Durations): Promise<void> {
  await mkdir(dirname(cache.pathname), { recursive: true });
  await writeFile(cache, `${JSON.stringify(durations, null, 2)}\n`);
}

/** The time that they take one after the other. */
export function secondsOf(durations: Durations, titles: readonly string[]): number {
  return titles.reduce((sum, title) => sum + (durations[title] ?? unknownSeconds), 0);
}

/** The titles, the one that takes longest first. */
export function longestFirst(durations: Durations, titles: readonly string[]): string[] {
  return [...titles].sort((one, other) => secondsOf(durations, [other]) - secondsOf(durations, [one]));
}
