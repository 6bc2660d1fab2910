// What takes long to open is left open for the next test file of the process (scripts/test-worker.ts).

const closers: (() => Promise<unknown>)[] = [];

/** Closes something when no test file follows. */
export function atProcessEnd(close: () => Promise<unknown>): void {
  closers.push(close);
}

/** Closes everything, what was opened last first. */
export async function endProcess(): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}
