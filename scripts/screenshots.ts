import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { openWindow } from '../test/support/browser.ts';
import { buildDashboard } from './build-dashboard.ts';

// npm run screenshots: draws docs/images for the README, from the company of npm run demo in a service of its own.

const root = resolve(import.meta.dirname, '..');
const key = 'sk_test_screenshots';
const size = { width: 1280, height: 800 };
const maxBytes = 150_000;

interface Started {
  readonly service: ChildProcess;
  readonly address: string;
  /** The link that makes the first owner. */
  readonly link: string;
}

/** Starts the service with a database of its own, and reads what it prints. */
async function start(dataDirectory: string): Promise<Started> {
  const env = {
    ...process.env,
    PORT: '0',
    DATABASE_URL: '',
    TOLLKEEPER_DATA_DIR: dataDirectory,
    TOLLKEEPER_TEST_KEY: key,
  };
  const service = spawn(process.execPath, [join(root, 'src/main.ts'), 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  let link = '';
  for await (const line of createInterface({ input: service.stdout })) {
    link = /(\/join\/[\w-]+)/.exec(line)?.[1] ?? link;
    const address = /listens on (http[^ ]+)/.exec(line)?.[1];
    if (address !== undefined) return { service, address, link: address + link };
  }
  throw new Error('The service ended before it listened.');
}

async function fillWithDemo(address: string): Promise<void> {
  const env = { ...process.env, TOLLKEEPER_URL: address, TOLLKEEPER_TEST_KEY: key };
  const demo = fork(join(root, 'examples/demo.ts'), { env });
  const [code] = await once(demo, 'exit');
  if (code !== 0) throw new Error(`The demo ended with ${code}.`);
}

async function signUp(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('E-mail address').fill('ada@northwind.example');
  await page.getByRole('textbox', { name: 'Password' }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByRole('button', { name: 'Signed in as Ada' }).waitFor();
}

async function draw(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle');
  // Charts draw themselves in a moment.
  await page.waitForTimeout(1_000);
  const path = join(root, 'docs/images', `${name}.png`);
  await page.screenshot({ path });
  const { size: bytes } = await stat(path);
  if (bytes > maxBytes) throw new Error(`${path} has ${bytes} bytes, ${maxBytes} at most.`);
  console.log(`${path}: ${bytes} bytes`);
}

async function drawAll(address: string, link: string): Promise<void> {
  const page = await openWindow({ width: size.width, javaScript: true });
  await page.setViewportSize(size);
  // A stream of changes would keep the network from being idle.
  await page.route('**/api/v1/changes?*', (route) => route.fulfill({ status: 204 }));
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await signUp(page, link);
  await page.goto(`${address}/`);
  await draw(page, 'home');
  await page.goto(`${address}/customers`);
  await page.getByRole('table').getByRole('link').nth(9).click();
  await page.getByRole('heading').nth(1).waitFor();
  await draw(page, 'customer');
  await page.goto(`${address}/invoices?status=paid`);
  await page.getByRole('table').getByRole('link').first().click();
  await page.getByRole('button', { name: /\$/ }).first().click();
  await page.getByRole('dialog').waitFor();
  await draw(page, 'invoice');
}

await buildDashboard();
const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-screenshots-'));
try {
  const { service, address, link } = await start(dataDirectory);
  try {
    await fillWithDemo(address);
    await drawAll(address, link);
  } finally {
    const ended = once(service, 'exit');
    service.kill('SIGTERM');
    await ended;
  }
} finally {
  await rm(dataDirectory, { recursive: true, force: true });
}
process.exit();
