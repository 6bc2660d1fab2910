import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { after } from 'node:test';
import axe from 'axe-core';
import type { Page, Request } from 'playwright-core';
import { buildDashboard } from '../../scripts/build-dashboard.ts';
import { createApp } from '../../src/app.ts';
import { readDashboard } from '../../src/http/dashboard.ts';
import type { Role } from '../../src/kernel/permission.ts';
import { isWiderThanWindow, openWindow } from './browser.ts';
import type { TestApp } from './harness.ts';
import { personWith } from './people-fixture.ts';

const folder = resolve(import.meta.dirname, '../../dashboard/dist');
const pictures = process.env.TOLLKEEPER_TEST_PICTURES;
const narrow = 360;

/** The service of an app with the dashboard in front, on an address of its own. */
export async function serveDashboard(app: TestApp): Promise<string> {
  await buildDashboard();
  const dashboard = await readDashboard(folder);
  assert(dashboard !== null, 'the dashboard was just built');
  const { database, owner, services } = app;
  const server = await createApp({ database, people: owner, services, dashboard, migrated: async () => true });
  after(() => server.close());
  await server.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
}

/**
 * A window that runs scripts, and the errors of its console. The network of one that is live is never idle: it follows
 * changes.
 */
export async function openBrowser({ isLive = false } = {}): Promise<{ page: Page; errors: string[] }> {
  const page = await openWindow({ width: 1280, javaScript: true });
  // As the service answers where there is nothing to follow.
  if (!isLive) await page.route('**/api/v1/changes?*', (route) => route.fulfill({ status: 204 }));
  const requests = new Set<Request>();
  underWay.set(page, requests);
  page.on('request', (request) => requests.add(request));
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  return { page, errors };
}

const underWay = new WeakMap<Page, Set<Request>>();
const pollMs = 10;
const patienceMs = 30_000;

/**
 * Waits until the page has what it asked for: no request is under way, nothing stands in for what is still to come, and
 * both are so after the browser has drawn twice.
 */
export async function settled(page: Page): Promise<void> {
  const requests = underWay.get(page) ?? new Set();
  const until = Date.now() + patienceMs;
  for (let calm = 0; calm < 2; ) {
    assert(Date.now() < until, `${page.url()} still waits for ${[...requests].map((request) => request.url())}`);
    const isComplete = await page.evaluate(
      `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(document.querySelector('${standIns}') === null))))`,
    );
    calm = isComplete && requests.size === 0 ? calm + 1 : 0;
    if (calm === 0) await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

const standIns = '[data-visible].mantine-Skeleton-root, [aria-busy=true]';

/**
 * Goes to a page inside of the application, as a link does: nothing is loaded again that is there. A page of another kind
 * has a heading of its own.
 */
export async function visit(page: Page, path: string): Promise<void> {
  const kindOf = (address: string) => {
    const [, first, ...rest] = new URL(address, page.url()).pathname.split('/');
    return `${first} ${rest.length}`;
  };
  const isOther = kindOf(page.url()) !== kindOf(path);
  if (isOther) await page.evaluate("for (const left of document.querySelectorAll('h1')) left.dataset.left = ''");
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`);
  await page
    .locator(isOther ? 'h1:not([data-left])' : 'h1')
    .first()
    .waitFor();
  await settled(page);
}

/** A page has to be good to everybody: in both colour schemes, and on a small telephone. */
export async function assertGoodPage(page: Page, name: string): Promise<void> {
  await settled(page);
  const found: string[] = [];
  let checked: unknown;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const elements = await page.evaluate('document.body.innerHTML');
    // The same elements differ by their colours alone, which take a fraction of all rules.
    for (const violation of await seriousIn(page, elements === checked ? rulesOfColors : null))
      found.push(`${name}, ${colorScheme}: ${violation}`);
    checked = elements;
    if (pictures) await takePictures(page, `${name}-${colorScheme}`);
  }
  assert.deepEqual(found, []);
  const size = page.viewportSize() ?? { width: 1280, height: 800 };
  await page.setViewportSize({ ...size, width: narrow });
  assert.equal(await isWiderThanWindow(page), false, `${name} is wider than a small telephone`);
  await page.setViewportSize(size);
}

const rulesOfColors = ['color-contrast', 'link-in-text-block'];

/** The violations of these rules, or of all. */
async function seriousIn(page: Page, rules: readonly string[] | null): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const options = {
    resultTypes: ['violations'],
    ...(rules === null ? {} : { runOnly: { type: 'rule', values: rules } }),
  };
  const results: unknown = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  return (results as axe.AxeResults).violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

async function takePictures(page: Page, name: string): Promise<void> {
  const size = page.viewportSize() ?? { width: 1280, height: 800 };
  for (const width of [narrow, 1280, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(150);
    await page.screenshot({ path: `${pictures}/${name}-${width}.png` });
  }
  await page.setViewportSize(size);
}

/** Signs a new person with this role in, in place of the one before. Drops the errors of the console until then. */
export async function signIn(
  app: TestApp,
  { page, errors, address }: { readonly page: Page; readonly errors: string[]; readonly address: string },
  role: Role,
) {
  const { browser } = await personWith(app, role);
  await page.context().clearCookies();
  await page
    .context()
    .addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url: address, httpOnly: true })));
  errors.length = 0;
  await page.goto(`${address}/api-keys`);
  await page.getByRole('button', { name: /^Signed in as/ }).waitFor();
  return browser;
}
