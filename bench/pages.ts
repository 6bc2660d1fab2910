import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { type Costs, totalOf, withCosts } from './costs.ts';
import { makePopulation } from './customers.ts';
import type { Measured, Row } from './measured.ts';
import { meterPlan, month } from './plans.ts';
import { ask, type BenchService } from './running.ts';

/** The order to the attacking process. */
export interface Attack {
  readonly kind: 'reset' | 'ask';
  readonly address: string;
  readonly seconds: number;
  /** Requests for pages, as they go over the wire. */
  readonly requests: readonly string[];
}

export interface AttackResult {
  readonly requests: number;
  /** The number of responses of each status. */
  readonly answered: Readonly<Record<string, number>>;
}

const links = 60;
const turns = 3;
const seconds = 5;
// One client that asks all the time would measure the machine's speed only; a pause leaves room for the attack.
const pauseMs = 5;

/** Makes a paid plan and a checkout session of it for each customer. Answers the requests for their pages. */
async function makeLinks(service: BenchService, externalIds: readonly string[]): Promise<string[]> {
  const { pricingModel } = await ask<{ pricingModel: { id: string } }>(service, 'GET', '/pricing-models/default');
  await ask(service, 'POST', '/products', {
    product: { name: 'Pro', slug: 'pro', pricingModelId: pricingModel.id },
    price: { type: 'subscription', slug: 'pro-monthly', ...month, unitPrice: 3000 },
  });
  const requests: string[] = [];
  for (const customerExternalId of externalIds) {
    const returns = { successUrl: 'https://shop.test/paid', cancelUrl: 'https://shop.test/cart' };
    const checkoutSession = { type: 'product', customerExternalId, priceSlug: 'pro-monthly', ...returns };
    const { url } = await ask<{ url: string }>(service, 'POST', '/checkout-sessions', { checkoutSession });
    const { pathname, search } = new URL(url);
    requests.push(`GET ${pathname}${search} HTTP/1.1\r\nhost: tollkeeper.bench\r\n\r\n`);
  }
  return requests;
}

/** Asks the API until `isOver`, and answers the duration of each request in milliseconds. */
async function timeApi(connection: Connection, requests: readonly string[], isOver: () => boolean): Promise<number[]> {
  const taken: number[] = [];
  while (!isOver()) {
    const begunAt = performance.now();
    const { status, text } = await connection.ask(requests[taken.length % requests.length] ?? '');
    if (status !== 200) throw new Error(`the API answered ${status}: ${text}`);
    taken.push(performance.now() - begunAt);
    await sleep(pauseMs);
  }
  return taken;
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
}

async function pagesUnderAttack(service: BenchService): Promise<Measured> {
  const { address, key } = service;
  const { externalIds } = await makePopulation(service, meterPlan, links);
  const requests = await makeLinks(service, externalIds);
  const head = `HTTP/1.1\r\nhost: tollkeeper.bench\r\nauthorization: ${key}\r\n\r\n`;
  const api = externalIds.map((externalId) => `GET /api/v1/customers/${externalId}/usage-balances ${head}`);
  const connection = await Connection.open(address);
  const child = fork(new URL('attack-process.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit');
  const during = async (work: Promise<unknown>) => {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    return (await Promise.all([timeApi(connection, api, () => isOver), over]))[0];
  };
  const taken: Record<'quiet' | Attack['kind'], number[]> = { quiet: [], reset: [], ask: [] };
  const spent: Record<keyof typeof taken, Costs[]> = { quiet: [], reset: [], ask: [] };
  let attacked = 0;
  const answered: Record<string, number> = {};
  const attack = async (kind: Attack['kind']) => {
    child.send({ kind, address, seconds, requests } satisfies Attack);
    const [result] = (await once(child, 'message')) as [AttackResult];
    attacked += result.requests;
    for (const [status, count] of Object.entries(result.answered)) answered[status] = (answered[status] ?? 0) + count;
  };
  try {
    await during(sleep(seconds * 1000));
    const measure = async (kind: keyof typeof taken, work: () => Promise<unknown>) => {
      const { answer, costs } = await withCosts(service, () => during(work()));
      taken[kind].push(...answer);
      spent[kind].push(costs);
    };
    for (let turn = 0; turn < turns; turn++) {
      await measure('quiet', () => sleep(seconds * 1000));
      await measure('reset', () => attack('reset'));
      await measure('ask', () => attack('ask'));
    }
    const [quiet, reset, asked] = [p95(taken.quiet), p95(taken.reset), p95(taken.ask)];
    const worst = (values: readonly number[]) => Math.max(...values).toFixed(0);
    return {
      value: Math.max(reset, asked),
      unit: 'ms',
      limit: quiet,
      note:
        `p95 of the API beside 980 resets in ${seconds} s: ${reset.toFixed(1)} ms, worst ${worst(taken.reset)}; beside 60 ` +
        `connections: ${asked.toFixed(1)} ms, worst ${worst(taken.ask)}, answered ${JSON.stringify(answered)}; limit: p95 ` +
        'without an attack; processor time of the service without, and beside each: ' +
        [spent.quiet, spent.reset, spent.ask].map((parts) => totalOf(parts).cpu.service?.toFixed(1)).join(', '),
      costs: totalOf([...spent.reset, ...spent.ask]),
      each: 'request of an attack',
      count: attacked,
    };
  } finally {
    connection.close();
    child.disconnect();
    await ended;
  }
}

const looksPerSecond = 50;
const firstAnswerMs = 30;
const maxPageBytes = 60_000;

/**
 * A look at a page as a browser begins it: a connection of its own, until the whole document has come. A look that a busy
 * machine refuses waits for ever.
 */
async function firstAnswer(url: URL): Promise<number> {
  const begunAt = performance.now();
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: false }, resolve).on('error', reject);
  });
  await text(answer);
  const { statusCode = 0 } = answer;
  if (statusCode === 429 || statusCode === 503) return Number.POSITIVE_INFINITY;
  if (statusCode !== 200) throw new Error(`the page answered ${statusCode}`);
  return performance.now() - begunAt;
}

/** The bytes of a page and of the files that its style names. */
async function weighPage(url: URL): Promise<{ page: number; files: number }> {
  const page = await (await fetch(url)).text();
  const named = [...new Set([...page.matchAll(/url\((\/[^)]+)\)/g)].map(([, path = '']) => path))];
  const files = await Promise.all(named.map(async (path) => (await fetch(new URL(path, url))).arrayBuffer()));
  const sum = files.reduce((total, file) => total + file.byteLength, 0);
  return { page: Buffer.byteLength(page), files: sum };
}

/** The checkout page, which buyers open at a constant rate, however slow the answers are. */
async function checkoutPage(service: BenchService): Promise<Measured> {
  const { externalIds } = await makePopulation(service, meterPlan, links);
  const pages = (await makeLinks(service, externalIds)).map((request) => {
    const [, path = ''] = request.split(' ');
    return new URL(path, service.address);
  });
  const [first] = pages;
  if (first === undefined) throw new Error('there is no page');
  const weight = await weighPage(first);
  const look = (at: number) => firstAnswer(pages[at % pages.length] ?? first);
  const during = async (count: number) => {
    const begun: Promise<number>[] = [];
    for (let at = 0; at < count; at++) {
      const begins = look(at);
      // A failure is reported after the last look, when the service can be stopped.
      begins.catch(() => undefined);
      begun.push(begins);
      await sleep(1000 / looksPerSecond);
    }
    const looks = await Promise.allSettled(begun);
    const failed = looks.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return looks.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  };
  await during(looksPerSecond * seconds);
  const { answer, costs } = await withCosts(service, () => during(looksPerSecond * seconds * 2));
  const total = weight.page + weight.files;
  const refused = answer.filter((ms) => !Number.isFinite(ms)).length;
  return {
    value: p95(answer),
    unit: 'ms',
    limit: firstAnswerMs,
    note:
      `p95 of the whole document on a new connection, ${looksPerSecond} a second; median ` +
      `${(answer.toSorted((a, b) => a - b)[Math.floor(answer.length / 2)] ?? 0).toFixed(1)} ms; ${refused} refused; ${(total / 1000).toFixed(1)} kB in ` +
      `all of ${maxPageBytes / 1000}: ${(weight.page / 1000).toFixed(1)} of the page, ${(weight.files / 1000).toFixed(1)} of typefaces`,
    costs,
    each: 'look',
    count: answer.length,
  };
}

export const pageRows: Readonly<Record<string, Row>> = {
  'pages-under-attack': pagesUnderAttack,
  'checkout-page': checkoutPage,
};
