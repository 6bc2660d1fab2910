import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import '../src/http/json-bigint.ts';
import { createDatabase, createPool, defaultSchema } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { type ProblemName, reasonOf, registry, statusOfCode } from '../src/kernel/problem.ts';
import { clientFiles } from './generate-client.ts';
import { makeOpenApi } from './openapi.ts';
import { describeSchema } from './schema.ts';
import { withScratchPostgres } from './scratch-postgres.ts';

const root = new URL('../', import.meta.url);
const run = promisify(execFile);

/** The generated files by path. Migrates the empty database at `url` for it. */
async function makeFiles(url: string): Promise<Map<string, string>> {
  const pool = createPool({ schema: defaultSchema, url, size: 3, as: 'owner' });
  await migrate(pool, defaultSchema);
  const database = createDatabase(pool);
  const schema = await describeSchema(database);
  await pool.end();
  const types = await databaseTypes(url);
  const openApi = `${JSON.stringify(await makeOpenApi(), null, 2)}\n`;
  return new Map([
    ['schema.sql', schema],
    ['openapi.json', openApi],
    ['docs/problems.md', problemsPage()],
    ['src/database/database-types.ts', types],
    ...clientFiles(JSON.parse(openApi)),
  ]);
}

/** The page of every refusal, by its reason. */
function problemsPage(): string {
  const rows = Object.entries(registry).map(([name, [code, sentence]]) => {
    const text =
      name === 'invalidRequest' ? '`issues` names each field and its fault.' : sentence.replaceAll('<', '\\<');
    return `| \`${reasonOf(name as ProblemName)}\` | ${statusOfCode[code]} | ${text} |`;
  });
  return [
    '# Problems',
    '',
    'Every refusal of the API by its `reason`, in the order of `src/kernel/problem.ts`. Words in braces are filled in.',
    '`internal_server_error` (500) is a failure of the service. This page is generated.',
    '',
    '| `reason` | Status | Message |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

async function databaseTypes(url: string): Promise<string> {
  const mapping = JSON.stringify({ int8: 'number', numeric: 'bigint' });
  const cli = new URL('node_modules/kysely-codegen/dist/cli/bin.js', root).pathname;
  const { stdout } = await run(process.execPath, [
    cli,
    '--url',
    url,
    '--dialect',
    'postgres',
    '--camel-case',
    '--type-mapping',
    mapping,
    '--exclude-pattern',
    '(graphile_worker.*|*test_processor_*|*people_*|*usage_events_0)',
    '--log-level',
    'silent',
    '--print',
  ]);
  return stdout;
}

/** Writes the generated files. */
export async function generateFiles(): Promise<void> {
  for (const [path, text] of await withScratchPostgres(makeFiles)) await writeFile(new URL(path, root), text);
}

/** The generated files that are out of date. Migrates the empty database. */
export async function staleFiles(emptyDatabaseUrl: string): Promise<string[]> {
  const stale: string[] = [];
  for (const [path, text] of await makeFiles(emptyDatabaseUrl)) {
    const current = await readFile(new URL(path, root), 'utf8').catch(() => '');
    if (current !== text) stale.push(path);
  }
  return stale;
}
