import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

// The test files that wait for a worker, as a directory that the workers share: the list, and a file for each that is taken.

/** The name of the test in which a worker runs its files. */
export const holder = 'files';

const list = 'files.json';
const directoryVariable = 'TOLLKEEPER_TEST_QUEUE';
const serverVariable = 'TOLLKEEPER_TEST_SERVER';

/** Runs `act` with the variables that lead workers to the queue. */
export async function withQueue<Answer>(
  files: readonly string[],
  act: (variables: Record<string, string>) => Promise<Answer>,
): Promise<Answer> {
  const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-queue-'));
  try {
    await writeFile(join(directory, list), JSON.stringify(files));
    return await act({ [directoryVariable]: directory });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The next file that nobody has taken, or null when none is left. */
export async function takeFile(): Promise<string | null> {
  const directory = process.env[directoryVariable];
  if (directory === undefined) throw new Error(`${directoryVariable} does not lead to a queue`);
  const files: string[] = JSON.parse(await readFile(join(directory, list), 'utf8'));
  for (const [index, file] of files.entries()) if (await take(join(directory, String(index)))) return file;
  return null;
}

/** Takes a place; only one of several processes gets it. */
async function take(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx')).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The variables of a worker whose database server is not the usual one, but of that name. */
export function serverVariables(name: string): Record<string, string> {
  return { [serverVariable]: name };
}

/** The name of databases with several cells. */
export function cellsName(cells: number): string {
  return `${cells} cells`;
}

/** The variables of a worker whose databases have several cells. */
export function cellsVariables(cells: number): Record<string, string> {
  return { ...serverVariables(cellsName(cells)), TEST_CELLS: String(cells) };
}

/** The name under which the tests of a file are reported. */
export function titleOf(file: string, server = process.env[serverVariable]): string {
  return server === undefined ? file : `${file} on ${server}`;
}
