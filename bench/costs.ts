import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';
import { connected, readNumber } from './database.ts';
import type { BenchService } from './running.ts';

/** The costs of an action. Processor times in seconds are null where the system does not provide them. */
export interface Costs {
  readonly cpu: { readonly service: number | null; readonly database: number | null; readonly load: number | null };
  readonly walBytes: number;
}

/** Runs `act` and measures its costs in the service and its database. */
export async function withCosts<Answer>(service: BenchService, act: () => Promise<Answer>) {
  return connected(service.databaseUrl, async (client) => {
    const postmaster = await parentOf(await readNumber(client, 'select pg_backend_pid()'));
    const walPosition = () => readNumber(client, `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn`);
    const read = async () => ({
      service: await secondsOfAll(service.pids),
      database: postmaster === null ? null : await secondsOfTree(postmaster),
      wal: await walPosition(),
    });
    const before = await read();
    const answer = await act();
    const after = await read();
    const cpu = {
      service: difference(after.service, before.service),
      database: difference(after.database, before.database),
      load: null,
    };
    const costs: Costs = { cpu, walBytes: after.wal - before.wal };
    return { answer, costs };
  });
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The costs of all parts. */
export function totalOf(parts: readonly Costs[]): Costs {
  const cpu = (key: keyof Costs['cpu']) => {
    const seconds = parts.map((part) => part.cpu[key]);
    return seconds.every((each) => each !== null) ? sumOf(seconds) : null;
  };
  return {
    cpu: { service: cpu('service'), database: cpu('database'), load: cpu('load') },
    walBytes: sumOf(parts.map(({ walBytes }) => walBytes)),
  };
}

function difference(after: number | null, before: number | null): number | null {
  return after === null || before === null ? null : after - before;
}

// The kernel's unit of these times is 1/100 s on every Linux.
const ticksPerSecond = 100;

interface ProcessTimes {
  readonly parent: number;
  readonly own: number;
  /** Ended children. */
  readonly ended: number;
}

/** The processor time of a process from /proc/<pid>/stat; null without procfs, and for a process that has ended. */
async function timesOf(pid: number | string): Promise<ProcessTimes | null> {
  if (process.platform !== 'linux') return null;
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The program name may contain anything and ends at the last parenthesis. The fields after it are state, parent, ...
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (index: number) => Number(fields[index]);
  return {
    parent: field(1),
    own: (field(11) + field(12)) / ticksPerSecond,
    ended: (field(13) + field(14)) / ticksPerSecond,
  };
}

async function parentOf(pid: number): Promise<number | null> {
  return (await timesOf(pid))?.parent ?? null;
}

async function secondsOf(pid: number): Promise<number | null> {
  return (await timesOf(pid))?.own ?? null;
}

async function secondsOfAll(pids: readonly number[]): Promise<number | null> {
  const all = await Promise.all(pids.map(secondsOf));
  return all.reduce((sum, each) => (sum === null || each === null ? null : sum + each), 0);
}

/** A server and its processes, also those that have ended. */
async function secondsOfTree(pid: number): Promise<number | null> {
  const server = await timesOf(pid);
  if (server === null) return null;
  const names = await readdir('/proc');
  const all = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(timesOf));
  return all.reduce((sum, times) => sum + (times?.parent === pid ? times.own : 0), server.own + server.ended);
}
