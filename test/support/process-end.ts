// One process runs many test files (scripts/test-worker.ts). Some of what they open is closed when the file ends; what takes
// long to open is left open for the next one.

type Close = () => Promise<unknown>;

const ofFile: Close[] = [];
const ofProcess: Close[] = [];

/** Closes something when the test file has ended. */
export function atFileEnd(close: Close): void {
  ofFile.push(close);
}

/** Closes something when no test file follows. */
export function atProcessEnd(close: Close): void {
  ofProcess.push(close);
}

/** Closes what the test file left open, what was opened last first. */
export async function endFile(): Promise<void> {
  for (let close = ofFile.pop(); close !== undefined; close = ofFile.pop()) await close();
}

/** Closes everything, what was opened last first. */
export async function endProcess(): Promise<void> {
  await endFile();
  for (let close = ofProcess.pop(); close !== undefined; close = ofProcess.pop()) await close();
}
