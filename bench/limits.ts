import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { from, to } from 'pg-copy-streams';

const run = promisify(execFile);

async function connected<Answer>(url: string, act: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

/** Prepared selects of one row by its key, a second: what PostgreSQL answers when nothing stands before it. */
export async function selectsPerSecond(
  url: string,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-pgbench-'));
  try {
    await connected(url, (client) =>
      client.query(
        'create table bench_rows as select n::bigint as id, md5(n::text) as text from generate_series(1, 10000) n; alter table bench_rows add primary key (id)',
      ),
    );
    const script = join(directory, 'select.sql');
    await writeFile(script, '\\set id random(1, 10000)\nselect id, text from bench_rows where id = :id;\n');
    const { stdout } = await run('pgbench', [
      '-n',
      '-M',
      'prepared',
      '-c',
      String(connections),
      '-j',
      '2',
      '-T',
      String(seconds),
      '-f',
      script,
      url,
    ]);
    const [, rate] = /tps = ([\d.]+)/.exec(stdout) ?? [];
    if (rate === undefined) throw new Error(`pgbench printed no rate: ${stdout}`);
    return Number(rate);
  } finally {
    await connected(url, (client) => client.query('drop table if exists bench_rows'));
    await rm(directory, { recursive: true, force: true });
  }
}

/** Rows a second that COPY puts back into the usage events table, with its indexes and foreign keys. Empties it first. */
export async function copiedEventsPerSecond(url: string): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-copy-'));
  try {
    return await connected(url, async (client) => {
      const { rows } = await client.query<{ count: string }>('select count(*) from usage_events');
      const chunks: Buffer[] = [];
      await pipeline(client.query(to('copy usage_events to stdout')), async (source) => {
        for await (const chunk of source) chunks.push(chunk as Buffer);
      });
      await client.query('truncate usage_events cascade');
      const startedAt = performance.now();
      await pipeline(chunks, client.query(from('copy usage_events from stdin')));
      return Number(rows[0]?.count) / ((performance.now() - startedAt) / 1000);
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
