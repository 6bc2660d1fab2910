/** Whether a test file has a process to itself: it starts other processes, or changes what is shared within its own. */
export function runsAlone(file: string): boolean {
  return file.startsWith('test/system/') ? !quiet.has(file) : loud.has(file);
}

/** The files that run alone, those that share a browser as one. */
export function processesOf(files: readonly string[]): string[][] {
  const alone = files.filter(runsAlone);
  const inBrowser = alone.filter((file) => file.startsWith('test/system/pages-'));
  const others = alone.filter((file) => !inBrowser.includes(file)).map((file) => [file]);
  return inBrowser.length > 0 ? [inBrowser, ...others] : others;
}

/** Tests of the whole system that leave the process as it was. */
const quiet: ReadonlySet<string> = new Set([
  'test/system/array-literal.test.ts',
  'test/system/encryption.test.ts',
  'test/system/hostile-patterns.test.ts',
  'test/system/outbound-addresses.test.ts',
  'test/system/outbound-answers.test.ts',
  'test/system/outbound-hostile.test.ts',
  'test/system/security-document.test.ts',
]);

/** Other tests that need a process to themselves. */
const loud: ReadonlySet<string> = new Set([
  'test/api/client-webhooks.test.ts',
  'test/api/operations.test.ts',
  'test/races/due-work-parallel.test.ts',
  'test/races/renewals-parallel.test.ts',
  'test/races/rollback.test.ts',
  'test/races/usage-first-load.test.ts',
  'test/stories/audit-log.test.ts',
]);
