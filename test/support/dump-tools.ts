import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import process from 'node:process';

// The embedded server brings no pg_dump. A machine that has PostgreSQL 15 has a server that fits its tools; one with newer
// tools in its PATH dumps the embedded server with them.
const embeddedMajor = 18;
const installed = ['/usr/lib/postgresql/15/bin', '/opt/homebrew/opt/postgresql@15/bin'].find((path) =>
  existsSync(path),
);

/** The server that tests dump, the PATH with its tools, and why there are none. */
export const dumpTools = {
  skip: installed === undefined && majorInPath() < embeddedMajor ? 'there is no pg_dump here' : false,
  server: installed === undefined ? {} : { binaries: installed },
  path: [installed, process.env.PATH].filter(Boolean).join(delimiter),
} as const;

function majorInPath(): number {
  try {
    return Number(/(\d+)\./.exec(execFileSync('pg_dump', ['--version'], { encoding: 'utf8' }))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
