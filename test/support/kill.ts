import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCluster, readServer } from '../../src/embedded-postgres/cluster.ts';
import { birthOf } from '../../src/embedded-postgres/process-lock.ts';

/** The process of the PostgreSQL that keeps its files there; null when it does not run. */
export async function postmasterOf(dataDirectory: string): Promise<number | null> {
  const cluster = await findCluster(dataDirectory);
  return cluster === null ? null : ((await readServer(cluster))?.pid ?? null);
}

/** kill -9 of all of them, in this order, and waits until none is left. */
export async function killAndWait(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  for (const pid of pids) while ((await birthOf(pid)) !== null) await sleep(5);
}
