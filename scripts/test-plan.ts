/** Whether a test file has a process to itself, because it looks at what others leave in theirs. */
export function runsAlone(file: string): boolean {
  return isInBrowser(file) || loud.has(file);
}

/** The files that run alone, those that share a browser as one. */
export function processesOf(files: readonly string[]): string[][] {
  const inBrowser = files.filter(isInBrowser);
  const others = files.filter((file) => loud.has(file)).map((file) => [file]);
  return inBrowser.length > 0 ? [inBrowser, ...others] : others;
}

function isInBrowser(file: string): boolean {
  return file.startsWith('test/system/pages-') || file.startsWith('test/system/dashboard');
}

const loud: ReadonlySet<string> = new Set([
  // The metrics of a process count all requests that it answered.
  'test/api/operations.test.ts',
  // New connections plan their statements, and a database that was emptied has other pages than a new one.
  'test/races/renewals-parallel.test.ts',
  'test/races/usage-first-load.test.ts',
]);
