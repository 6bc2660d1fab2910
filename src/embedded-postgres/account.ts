import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { isMissing } from './data-directory.ts';

/** The system account of PostgreSQL's processes. */
export type Account = { uid: number; gid: number };

// Created by PostgreSQL's packages (the first on Linux, the second on macOS), or by an earlier start of Tollkeeper.
const accountNames = ['postgres', '_postgres', 'tollkeeper'];
const createdAccount = 'tollkeeper';

/**
 * The account to run PostgreSQL as, or null for the current user. Only root needs another one, because PostgreSQL
 * refuses to run as root. Existing data keeps its owner; otherwise the machine's PostgreSQL account is used, or one is
 * created (see `log`).
 */
export async function postgresAccount(
  clusterDirectory: string | null,
  log: (message: string) => void,
): Promise<Account | null> {
  if (process.getuid?.() !== 0) {
    if (clusterDirectory === null) requireName();
    return null;
  }
  const owner = clusterDirectory === null ? null : await ownerOf(clusterDirectory);
  if (owner !== null && owner.uid !== 0) return owner;
  for (const name of accountNames) {
    const account = await findAccount(name);
    if (account !== null) return account;
  }
  log(`Creating the system account "${createdAccount}", because PostgreSQL refuses to run as root`);
  return createAccount();
}

/**
 * The outermost directory on the way to `path`, or the path itself, that the account cannot traverse; null when it can
 * reach the path. Ignores ACLs.
 */
export async function closedOnTheWay(path: string, account: Account): Promise<string | null> {
  const parent = dirname(path);
  const closed = parent === path ? null : await closedOnTheWay(parent, account);
  if (closed !== null) return closed;
  const { uid, gid, mode } = await stat(path);
  const searchBit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
  return (mode & searchBit) === 0 ? path : null;
}

/** initdb requires a user name; a container started with a numeric user has none. */
function requireName(): void {
  try {
    userInfo();
  } catch (error) {
    throw new Error(
      `PostgreSQL's data cannot be created by user ${process.getuid?.()}, who has no user name on this machine. ` +
        'Add one to /etc/passwd, start Tollkeeper as another user, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

async function ownerOf(path: string): Promise<Account | null> {
  try {
    const { uid, gid } = await stat(path);
    return { uid, gid };
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function findAccount(name: string): Promise<Account | null> {
  try {
    const [user, group] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(user.stdout), gid: Number(group.stdout) };
  } catch {
    // id fails if the account does not exist.
    return null;
  }
}

async function createAccount(): Promise<Account> {
  const advice =
    'PostgreSQL refuses to run as root, and no other account could be created for it. Start Tollkeeper as a normal user, ' +
    'create a user named "postgres", or set DATABASE_URL to a PostgreSQL of your own.';
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', createdAccount]);
  } catch (error) {
    throw new Error(advice, { cause: error });
  }
  const account = await findAccount(createdAccount);
  if (account === null) throw new Error(advice);
  return account;
}

const run = promisify(execFile);
