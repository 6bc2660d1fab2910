import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type FuzzedService, startService } from '../fuzz/fuzzed-process.ts';
import { makeTenant } from '../fuzz/tenants.ts';
import { withScratchPostgres } from '../scripts/scratch-postgres.ts';
import { routes } from '../src/api/routes.ts';
import { calls } from '../test/support/api-calls.ts';
import { copyRows } from '../test/support/many-rows.ts';

// node scripts/run.js bench/full-lists.ts [--rows 1000000]: fills each table with so many rows of one customer, and sends each
// operation that reads. Beside it another caller asks for something small, and waits as long as the event loop is held up.

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const rows = Number(values.rows);
const tries = 3;

/** The figures of an operation: the least of its tries, because others use the machine too. */
interface Figures {
  readonly operation: string;
  readonly status: number;
  readonly ms: number;
  readonly bytes: number;
  /** The longest wait of another caller meanwhile. */
  readonly othersMs: number;
  readonly residentMb: number;
}

/** The longest wait of a caller of `/health`, until it is stopped. */
function askBeside(address: string): () => Promise<number> {
  let isStopped = false;
  let longest = 0;
  const asking = (async () => {
    while (!isStopped) {
      const from = performance.now();
      await (await fetch(`${address}/health`)).arrayBuffer();
      longest = Math.max(longest, performance.now() - from);
      await sleep(2);
    }
  })();
  return async () => {
    isStopped = true;
    await asking;
    return longest;
  };
}

async function residentMb(pid: number): Promise<number> {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

async function measure(service: FuzzedService, operation: string, send: () => Promise<Response>): Promise<Figures> {
  const all: Figures[] = [];
  while (all.length < tries) {
    const stop = askBeside(service.address);
    const from = performance.now();
    const answer = await send();
    const bytes = (await answer.arrayBuffer()).byteLength;
    const ms = performance.now() - from;
    const status = answer.status;
    all.push({ operation, status, ms, bytes, othersMs: await stop(), residentMb: await residentMb(service.pid) });
  }
  const least = (read: (figures: Figures) => number) => Math.min(...all.map(read));
  const [first] = all;
  if (first === undefined) throw new Error('nothing was measured');
  return { ...first, ms: least(({ ms }) => ms), othersMs: least(({ othersMs }) => othersMs) };
}

async function fill(url: string, environmentId: number, chosen: Readonly<Record<string, string>>): Promise<void> {
  const owner = new pg.Pool({ connectionString: url, max: 2 });
  const from = performance.now();
  const made = await copyRows(owner, environmentId, rows, chosen).finally(() => owner.end());
  const limited = [...made].filter(([, count]) => count < rows).map(([name, count]) => `${count} ${name}`);
  console.log(
    `${made.size} tables of ${rows} rows (as many as there may be: ${limited.join(', ')}), made in ${Math.round((performance.now() - from) / 1000)} s`,
  );
}

const reads = new Set(['POST /entitlements/check', 'POST /prices/quote', 'POST /subscriptions/{id}/preview-adjust']);
const names = routes.map(({ method, path }) => `${method} ${path}`);
const walked = names.filter((name) => name.startsWith('GET ') || reads.has(name));

async function walk(url: string, service: FuzzedService): Promise<void> {
  const { key, world } = await makeTenant(service, 'full');
  const { id } = await service.owner
    .selectFrom('environments')
    .select('id')
    .where('id', '=', (select) =>
      select.selectFrom('customers').select('environmentId').where('id', '=', world.customerId),
    )
    .executeTakeFirstOrThrow();
  await fill(url, id, {
    customers: world.customerId,
    subscriptions: world.subscriptionId,
    invoices: world.invoiceId,
  });
  console.log('     ms  others ms      bytes  resident MB');
  for (const name of walked) {
    const [method = ''] = name.split(' ');
    const { path, body } = calls[name]?.(world, 'walk') ?? { path: '' };
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const found = await measure(service, name, () =>
      fetch(`${service.address}/api/v1${path}`, { method, headers, ...sent }),
    );
    const { ms, othersMs, bytes, residentMb: resident } = found;
    const columns = [ms.toFixed(1).padStart(7), othersMs.toFixed(1).padStart(10), String(bytes).padStart(10)];
    console.log(`${columns.join(' ')} ${resident.toFixed(0).padStart(12)}  ${found.status} ${name}`);
  }
}

await withScratchPostgres(async (url) => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-lists-'));
  try {
    const service = await startService(url, dataDirectory);
    try {
      await walk(url, service);
    } finally {
      await service.stop();
    }
  } finally {
    await rm(dataDirectory, { recursive: true, force: true });
  }
});
