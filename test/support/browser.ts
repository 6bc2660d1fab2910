import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import bundled, { inflate } from '@sparticuz/chromium';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { atProcessEnd } from './process-end.ts';

/**
 * A real browser. On Linux x64 it is the one that a package of the registry carries, so that a machine without any can
 * test; elsewhere an installed Chrome or Chromium. A machine without one fails the test and is told what is missing.
 */
async function launch(): Promise<Browser> {
  const given = process.env.TOLLKEEPER_TEST_CHROME;
  if (given || !isBundled) return start(given || installed());
  const place = await unpacked();
  const executablePath = join(place, 'chromium');
  try {
    return await start(executablePath);
  } catch (error) {
    if (!String(error).includes('error while loading shared libraries')) throw error;
    // A machine without NSS, such as a small container: the package has that too.
    return start(executablePath, { LD_LIBRARY_PATH: join(place, 'al2023', 'lib') });
  }
}

function start(executablePath: string, variables: Readonly<Record<string, string>> = {}): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'];
  return chromium.launch({ executablePath, args, env: { ...process.env, ...variables } });
}

const isBundled = process.platform === 'linux' && process.arch === 'x64';

/**
 * Where the browser of the package is. The package unpacks into the folder for temporary files, where several test files
 * may meet: each makes its own copy first.
 */
async function unpacked(): Promise<string> {
  const bundle = new URL('../../node_modules/@sparticuz/chromium/', import.meta.url);
  const { version } = JSON.parse(await readFile(new URL('package.json', bundle), 'utf8')) as { version: string };
  const place = join(tmpdir(), `tollkeeper-chromium-${version}-${userInfo().uid}`);
  if (existsSync(place)) return place;
  const made = await mkdtemp(`${place}-`);
  const usual = process.env.TMPDIR;
  process.env.TMPDIR = made;
  await Promise.all([bundled.executablePath(), inflate(fileURLToPath(new URL('bin/al2023.tar.br', bundle)))]);
  if (usual === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = usual;
  // Whoever comes first wins; the copies are the same.
  await rename(made, place).catch(() => rm(made, { recursive: true, force: true }));
  return place;
}

const installedPaths = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

function installed(): string {
  const found = installedPaths.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(
      'The pages are tested in a browser: install Chrome or Chromium, or name one in TOLLKEEPER_TEST_CHROME.',
    );
  return found;
}

let browser: Promise<Browser> | null = null;

function open(): Promise<Browser> {
  const opening = launch();
  // What kept it from starting has failed the tests already.
  atProcessEnd(() =>
    opening.then(
      (opened) => opened.close(),
      () => undefined,
    ),
  );
  return opening;
}

export interface WindowOptions {
  /** Wide enough for nothing but a small telephone, when absent. */
  readonly width?: number;
  readonly javaScript?: boolean;
  /** The language that the browser asks for. */
  readonly locale?: string;
}

/** A window with cookies of its own. Its pages work without script, so there is none unless a test asks for it. */
export async function openWindow({
  width = 360,
  javaScript = false,
  locale = 'en-US',
}: WindowOptions = {}): Promise<Page> {
  browser ??= open();
  const context = await (await browser).newContext({
    viewport: { width, height: 800 },
    javaScriptEnabled: javaScript,
    // Each frame of a motion is painted by the processor.
    reducedMotion: 'reduce',
    locale,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  return page;
}

let auditor: Promise<Page> | null = null;

/** A window with the program that looks. It stays when another page is written into the window. */
async function openAuditor(): Promise<Page> {
  const page = await openWindow({ javaScript: true });
  await page.evaluate(axe.source);
  return page;
}

/**
 * What is seriously wrong with the page for who cannot see or point: empty when all is well. A copy is looked at, in a
 * window that runs scripts, because whoever looks is one.
 */
export async function seriousViolations(page: Page, colorScheme: 'light' | 'dark' = 'light'): Promise<string[]> {
  auditor ??= openAuditor();
  const copy = await auditor;
  await copy.emulateMedia({ colorScheme });
  await copy.setContent(await page.content());
  const results: unknown = await copy.evaluate("axe.run(document, { resultTypes: ['violations'] })");
  return (results as axe.AxeResults).violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Whether anything stands out of the window to the right. */
export function isWiderThanWindow(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}
