import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

// The time that each test file took in the last run. The longest begin first, so that no core waits for one at the end.

const cache = new URL('../node_modules/.cache/tollkeeper/test-durations.json', import.meta.url);

/** The longest in seconds, as measured on two cores. They count where nothing was measured yet. */
const longest: Readonly<Record<string, number>> = {
  'test/system/usage-crash.test.ts': 105,
  'test/system/simulation.test.ts': 92,
  'test/system/command-line.test.ts': 75,
  'test/stories/clock-jumps.test.ts': 70,
  'test/system/backup-point-in-time.test.ts': 43,
  'test/system/webhook-crash.test.ts': 40,
  'test/system/pressure-restart.test.ts': 35,
  'test/api/api.test.ts on PostgreSQL 15': 32,
  'test/system/embedded-postgres.test.ts': 31,
  'test/api/api.test.ts': 30,
  'test/system/pages-stripe.test.ts': 29,
  'test/races/races-billing.test.ts': 28,
  'test/tenants/tenants-routes.test.ts': 25,
  'test/stories/usage-model.test.ts': 24,
  'test/races/races-changes.test.ts': 23,
  'test/system/backup-dump.test.ts': 20,
  'test/system/launcher.test.ts': 19,
  'test/system/listen.test.ts': 18,
  'test/system/pages-portal.test.ts': 18,
  'test/system/pages-checkout.test.ts': 16,
  'test/races/holds-parallel.test.ts': 16,
  'test/races/races-checkout.test.ts': 16,
  'test/system/fuzz.test.ts': 14,
  'test/stories/collecting.test.ts': 14,
};

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
