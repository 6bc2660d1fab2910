import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// The service as a few files, for tests that start it as a process of its own. Node takes about half of the processor time
// of a start to find and load the files of the service and its packages.

const root = resolve(import.meta.dirname, '..');
const source = join(root, 'src');
const cache = join(root, 'node_modules/.cache/tollkeeper');
const prefix = 'program-';
const main = 'main.js';
// Another run may still use the program of former sources.
const keptMs = 24 * 3600 * 1000;

/** The packages of a start with many files. Others are loaded from their place: some read files beside their own. */
const bundled =
  /^(@oxc-project|csv-stringify|fastify|graphile-worker|kysely|pg|prom-client|undici|zod|zod-openapi)(\/|$)/;

/** The path of the program, which is made when the sources have changed. */
export async function programForTests(): Promise<string> {
  const files = await sourceFiles();
  const place = join(
    cache,
    `${prefix}${await hashOf([...files, join(root, 'package-lock.json'), import.meta.filename])}`,
  );
  if (!existsSync(place)) {
    await mkdir(cache, { recursive: true });
    await removeFormer();
    const made = await mkdtemp(join(cache, 'making-program-'));
    await bundle(made);
    // The first of several processes wins; the programs are the same.
    await rename(made, place).catch(() => rm(made, { recursive: true, force: true }));
  }
  return join(place, main);
}

async function bundle(place: string): Promise<void> {
  const { rolldown } = await import('rolldown');
  const made = await rolldown({
    input: join(source, 'main.ts'),
    platform: 'node',
    external: (id, importer) =>
      id.startsWith('node:') || (importer?.startsWith(source) === true && !/^[./]/.test(id) && !bundled.test(id)),
    // Modules find files beside them as they do at their own place.
    plugins: [{ name: 'places', transform: (code, id) => (id.startsWith(source) ? atItsPlace(code, id) : null) }],
    treeshake: false,
    logLevel: 'silent',
  });
  await made.write({ dir: place, format: 'esm', entryFileNames: main });
  await made.close();
}

function atItsPlace(code: string, file: string): string {
  return code
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
    .replaceAll('import.meta.dirname', JSON.stringify(resolve(file, '..')));
}

async function sourceFiles(): Promise<string[]> {
  const names = await readdir(source, { recursive: true });
  return names
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .sort()
    .map((name) => join(source, name));
}

async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

async function removeFormer(): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.includes(prefix)) continue;
    const place = join(cache, name);
    if (Date.now() - (await stat(place)).mtimeMs > keptMs) await rm(place, { recursive: true, force: true });
  }
}
