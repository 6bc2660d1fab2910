// What takes long to open, and is left open for the next test file where one process runs several of them
// (scripts/test-worker.ts), which loads this module once.

const closers: (() => Promise<unknown>)[] = [];
let isShared = false;

/** From now on what is open stays open until `endProcess`. */
export function shareProcess(): void {
  isShared = true;
}

export function isProcessShared(): boolean {
  return isShared;
}

/** Closes something when no test file follows. */
export function atProcessEnd(close: () => Promise<unknown>): void {
  closers.push(close);
}

/** Closes everything, what was opened last first. */
export async function endProcess(): Promise<void> {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
}

/** To be called when a test file ends: closes everything where it was the only one. */
export async function endOnlyFile(): Promise<void> {
  if (!isShared) await endProcess();
}
