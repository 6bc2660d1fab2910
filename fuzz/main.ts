import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { withScratchPostgres } from '../scripts/scratch-postgres.ts';
import { checkInvariants } from '../src/invariants/check-invariants.ts';
import { type FuzzedService, type MemoryGrowth, startService, watchMemory } from './fuzzed-process.ts';
import { type FuzzReport, runFuzz, tellFailures } from './run.ts';

// npm run fuzz -- [--requests 50000] [--seed N] [--connections 16] [--only "POST /customers"] [--from N] [--seconds N]
// Sends hostile requests to the real service on a temporary PostgreSQL, and exits with 1 if anything was wrong.

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    connections: { type: 'string', default: '16' },
    only: { type: 'string' },
    from: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '86400' },
  },
});

function numberOf(name: 'requests' | 'seed' | 'connections' | 'from' | 'seconds', least: number): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`--${name} must be a whole number from ${least} on`);
  return value;
}

const seed = numberOf('seed', 0);
const connections = numberOf('connections', 1);
const endAt = Date.now() + numberOf('seconds', 1) * 1000;

interface Outcome {
  readonly report: FuzzReport;
  readonly memory: MemoryGrowth;
  /** The problems after the run, in words. */
  readonly problems: readonly string[];
}

async function fuzz(service: FuzzedService): Promise<Outcome> {
  const memory = watchMemory(service);
  const report = await runFuzz(service, {
    seed,
    requests: numberOf('requests', 1),
    connections,
    tenants: Math.ceil(connections / 4),
    requestsPerTenant: 500,
    only: values.only === undefined ? undefined : new RegExp(values.only),
    from: numberOf('from', 0),
    until: () => Date.now() >= endAt || !service.isRunning(),
  });
  const growth = memory.stop();
  return { report, memory: growth, problems: [...(await problemsAfter(service)), ...tellGrowth(growth)] };
}

/** Checks that must hold after the last response. */
async function problemsAfter({ address, owner, isRunning }: FuzzedService): Promise<string[]> {
  if (!isRunning()) return ['the service has ended'];
  const problems: string[] = [];
  const health = await fetch(`${address}/health`, { signal: AbortSignal.timeout(5000) });
  if (health.status !== 200) problems.push(`/health answers ${health.status}`);
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
     where state like 'idle in transaction%' and state_change < now() - interval '1 second'`.execute(owner);
  if (rows[0]?.count !== 0) problems.push(`${rows[0]?.count} connections are idle in a transaction`);
  for (const { name, violations } of await checkInvariants(owner)) {
    if (violations.count > 0)
      problems.push(`invariant ${name}: ${violations.count} ${JSON.stringify(violations.rows.slice(0, 3))}`);
  }
  return problems;
}

function tellGrowth({ grows, second, last }: MemoryGrowth): string[] {
  return grows ? [`memory grows: ${JSON.stringify({ second, last })}`] : [];
}

function tell({ report, memory, problems }: Outcome, service: FuzzedService): void {
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  const counted = (statuses: ReadonlyMap<number, number>) =>
    [...statuses].sort(([one], [other]) => one - other).map(([status, count]) => `${status} x ${count}`);
  console.log(`${report.sent} answers: ${counted(report.statuses).join(', ')}; ${report.resets} connections reset`);
  const never = [...report.reached].filter(([, statuses]) => !statuses.has(200));
  console.log(`${report.reached.size - never.length} of ${report.reached.size} operations succeeded at least once`);
  for (const [name, statuses] of never) console.log(`  not ${name}: ${counted(statuses).join(', ')}`);
  console.log(
    `memory, second and last quarter: resident ${mebibytes(memory.second.resident)} and ${mebibytes(memory.last.resident)}, ` +
      `heap ${mebibytes(memory.second.heap)} and ${mebibytes(memory.last.heap)} (${memory.samples} samples)`,
  );
  for (const failure of report.failures) {
    console.log(`\n${tellFailures(seed, [failure])}`);
    const logged = service.logOf(failure.requestId);
    if (logged !== undefined) console.log(`  ${logged.slice(0, 1500)}`);
  }
  for (const problem of problems) console.log(`\n${problem}`);
}

console.log(`seed ${seed}, ${values.requests} requests on ${connections} connections`);
await withScratchPostgres(async (url) => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-fuzz-'));
  try {
    const service = await startService(url, dataDirectory);
    try {
      const outcome = await fuzz(service);
      tell(outcome, service);
      if (outcome.report.failures.length + outcome.problems.length > 0) process.exitCode = 1;
    } finally {
      await service.stop();
    }
  } finally {
    await rm(dataDirectory, { recursive: true, force: true });
  }
});
