import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Rolldown } from 'vite';

// node scripts/run.js scripts/build-dashboard.ts
// Builds dashboard/ into dashboard/dist, unless it was built from the present sources.

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'dashboard/dist');
const sources = ['dashboard', 'client/src', 'examples', 'scripts/build-dashboard.ts', 'package-lock.json'];
const stampName = 'built-from';
// The script of a first load, before charts: about a second on a slow telephone line.
const maxFirstLoad = 250_000;
const compressible = /\.(js|css|html|svg)$/;

/** Whether the sources changed since the last build. */
export async function isDashboardStale(): Promise<boolean> {
  return (await readStamp()) !== (await hashSources());
}

/** Builds the dashboard where its sources changed. Several processes may do so at once: the last one wins. */
export async function buildDashboard(): Promise<void> {
  const stamp = await hashSources();
  if ((await readStamp()) === stamp) return;
  const place = join(root, 'node_modules/.cache/tollkeeper', `dashboard-${process.pid}`);
  await mkdir(place, { recursive: true });
  try {
    const { firstLoad } = await bundle(place);
    if (firstLoad > maxFirstLoad)
      throw new Error(`The first load of the dashboard is ${firstLoad} bytes of script, ${maxFirstLoad} at most.`);
    await compressAll(place);
    await writeFile(join(place, stampName), stamp);
    await replace(place, stamp);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function bundle(place: string): Promise<{ readonly firstLoad: number }> {
  const [{ build }, { default: react }] = await Promise.all([import('vite'), import('@vitejs/plugin-react')]);
  const output = await build({
    configFile: false,
    root: join(root, 'dashboard'),
    base: '/',
    logLevel: 'warn',
    plugins: [react()],
    // The server replaces it in each answer.
    html: { cspNonce: 'NONCE' },
    build: {
      outDir: place,
      emptyOutDir: true,
      // A data: address is one more source to allow.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // Browsers that have light-dark(), so that it stays as it was written.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
      chunkSizeWarningLimit: 1000,
      rolldownOptions: { input: join(root, 'dashboard/page.html') },
    },
  });
  const { output: files } = (Array.isArray(output) ? output[0] : output) as Rolldown.RolldownOutput;
  return { firstLoad: largestFirstLoad(files.filter((file) => file.type === 'chunk')) };
}

/** The compressed script that the page with the most of it loads: the application, and the page without what comes later. */
function largestFirstLoad(chunks: readonly Rolldown.OutputChunk[]): number {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const sizes = new Map(chunks.map(({ fileName, code }) => [fileName, gzipSync(code).byteLength]));
  const reach = (name: string, reached: Set<string>): Set<string> => {
    if (reached.has(name)) return reached;
    reached.add(name);
    for (const next of byName.get(name)?.imports ?? []) reach(next, reached);
    return reached;
  };
  const entry = chunks.find(({ isEntry }) => isEntry);
  if (entry === undefined) throw new Error('The dashboard has no entry.');
  const pages = chunks.filter(({ facadeModuleId }) => facadeModuleId?.includes('/dashboard/src/pages/'));
  const loads = [entry, ...pages].map(({ fileName }) => {
    const loaded = reach(fileName, reach(entry.fileName, new Set()));
    return [...loaded].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
  });
  return Math.max(...loads);
}

async function compressAll(place: string): Promise<void> {
  for (const name of await readdir(place, { recursive: true })) {
    if (!compressible.test(name) || name === 'page.html') continue;
    const bytes = await readFile(join(place, name));
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
    await writeFile(join(place, `${name}.br`), brotliCompressSync(bytes, quality));
    await writeFile(join(place, `${name}.gz`), gzipSync(bytes));
  }
}

async function replace(place: string, stamp: string): Promise<void> {
  const old = `${place}-old`;
  if (existsSync(target)) await rename(target, old).catch(() => undefined);
  await rename(place, target).catch(async (error: unknown) => {
    // Another process was faster.
    if ((await readStamp()) !== stamp) throw error;
  });
  await rm(old, { recursive: true, force: true });
}

async function readStamp(): Promise<string | null> {
  return readFile(join(target, stampName), 'utf8').catch(() => null);
}

async function hashSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of sources) {
    for (const path of await filesOf(source)) hash.update(`${path}\0`).update(await readFile(join(root, path)));
  }
  return hash.digest('hex');
}

async function filesOf(source: string): Promise<string[]> {
  if (/\.[a-z]+$/.test(source)) return [source];
  const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return files
    .map((path) => path.slice(root.length + 1).replaceAll('\\', '/'))
    .filter((path) => !path.startsWith('dashboard/dist/') && !path.endsWith('.md'))
    .sort();
}

if (import.meta.main) await buildDashboard();
