import { execFileSync } from 'node:child_process';
import { delimiter } from 'node:path';
import process from 'node:process';
import { oldestPostgres } from '../../scripts/scratch-postgres.ts';

// The embedded server brings no pg_dump. A machine that has PostgreSQL 15 has a server that fits its tools; one with newer
// tools in its PATH dumps the embedded server with them.
const embeddedMajor = 18;

/** The server that tests dump, the PATH with its tools, and why there are none. */
export const dumpTools = {
  skip: oldestPostgres === undefined && majorInPath() < embeddedMajor ? 'there is no pg_dump here' : false,
  server: oldestPostgres === undefined ? {} : { binaries: oldestPostgres },
  path: [oldestPostgres, process.env.PATH].filter(Boolean).join(delimiter),
} as const;

function majorInPath(): number {
  try {
    return Number(/(\d+)\./.exec(execFileSync('pg_dump', ['--version'], { encoding: 'utf8' }))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
