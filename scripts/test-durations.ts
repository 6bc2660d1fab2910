import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

// The time that each test file took in the last run. The longest begin first, so that no core waits for one at the end.

const cache = new URL('../node_modules/.cache/tollkeeper/test-durations.json', import.meta.url);

/** The longest in seconds, as measured on two cores. They count where nothing was measured yet. */
const longest: Readonly<Record<string, number>> = {
  'test/system/command-line.test.ts': 127,
  'test/system/simulation.test.ts': 118,
  'test/system/usage-crash.test.ts': 108,
  'test/stories/clock-jumps.test.ts': 107,
  'test/system/backup-point-in-time.test.ts': 74,
  'test/system/pressure-restart.test.ts': 63,
  'test/system/embedded-postgres.test.ts': 61,
  'test/stories/usage-model.test.ts': 58,
  'test/api/api.test.ts': 57,
  'test/tenants/tenants-routes.test.ts': 49,
  'test/api/api.test.ts on PostgreSQL 15': 43,
  'test/system/pages-checkout.test.ts': 42,
  'test/system/backup-dump.test.ts': 40,
  'test/api/text-limits.test.ts': 40,
  'test/system/pages-stripe.test.ts': 37,
  'test/system/launcher.test.ts': 37,
  'test/system/listen.test.ts': 35,
  'test/races/races-billing.test.ts': 35,
  'test/system/webhook-crash.test.ts': 32,
  'test/system/effects-crash.test.ts': 30,
  'test/system/pages-portal.test.ts': 29,
  'test/system/fuzz.test.ts': 28,
  'test/races/due-work-parallel.test.ts': 27,
  'test/races/holds-parallel.test.ts': 24,
  'test/races/races-changes.test.ts': 24,
  'test/stories/adjust-interval.test.ts': 24,
  'test/stories/attempts.test.ts': 24,
  'test/races/renewals-parallel.test.ts': 24,
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
