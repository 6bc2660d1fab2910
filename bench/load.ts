import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Answer } from './connection.ts';
import { type Costs, sumOf, totalOf, withCosts } from './costs.ts';
import { connected } from './database.ts';
import type { Limit } from './limits.ts';
import type { Requests } from './requests.ts';
import type { BenchService } from './running.ts';

/** The order to the load process. */
export interface LoadOrder {
  /** The processes that share the load, by turns of connections. */
  readonly addresses: readonly string[];
  readonly key: string;
  readonly connections: number;
  readonly seconds: number;
  readonly requests: Requests;
}

/** The result of the load process. */
export interface LoadResult {
  readonly answered: number;
  readonly refused: number;
  /** The first refusal. */
  readonly refusal: Answer | null;
  /** From the first request to the last response. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly failure: string | null;
}

export interface LoadFigures {
  readonly requestsPerSecond: number;
  readonly requests: number;
  /** The measured limit, alternating with the load; null without one. */
  readonly limit: number | null;
  /** Requests answered before, during the warm-up of service, database and load. */
  readonly warmUpRequests: number;
  readonly costs: Costs;
}

// By then code is compiled, plans are cached and every account has its rows.
const warmUpSeconds = 10;

// A machine's speed varies within seconds, and load and limit should meet the same conditions.
const turns = 5;

interface Load {
  readonly connections: number;
  readonly requests: Requests;
}

/** A process that sends requests at full speed for some seconds at a time. Any response but 200 is an error. */
function openLoad(service: BenchService, load: Load) {
  const child = fork(new URL('load-process.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the load process ended with ${code}`)));
  ended.catch(() => undefined);
  const run = async (seconds: number): Promise<LoadResult> => {
    const { addresses, key } = service;
    child.send({ addresses, key, ...load, seconds } satisfies LoadOrder);
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [LoadResult];
    if (result.failure !== null) throw new Error(result.failure);
    if (result.refused > 0) throw new Error(`${result.refused} refusals: ${JSON.stringify(result.refusal)}`);
    return result;
  };
  const close = async () => {
    child.disconnect();
    await ended.catch(() => undefined);
  };
  return { run, close };
}

/** Measures a load. A limit is prepared after the warm-up, and measured in alternation with the load. */
export async function measureLoad(
  service: BenchService,
  { seconds, ...load }: Load & { readonly seconds: number },
  limitOf: (() => Promise<Limit>) | null = null,
): Promise<LoadFigures> {
  const { run, close } = openLoad(service, load);
  try {
    const warmUp = await run(warmUpSeconds);
    // Autovacuum does the same within a minute for any grown table.
    await connected(service.databaseUrl, (client) => client.query('vacuum (analyze)'));
    const runWithCosts = async (seconds: number) => {
      const { answer, costs } = await withCosts(service, () => run(seconds));
      return { ...answer, costs: { ...costs, cpu: { ...costs.cpu, load: answer.cpuSeconds } } };
    };
    const limit = limitOf === null ? null : await limitOf();
    const stretches = limit === null ? 1 : turns;
    const stretchSeconds = Math.max(1, Math.round(seconds / stretches));
    const parts: (LoadResult & { costs: Costs })[] = [];
    const limits: number[] = [];
    while (parts.length < stretches) {
      parts.push(await runWithCosts(stretchSeconds));
      if (limit !== null) limits.push(await limit(stretchSeconds));
    }
    const requests = sumOf(parts.map(({ answered }) => answered));
    return {
      requestsPerSecond: requests / sumOf(parts.map(({ seconds }) => seconds)),
      requests,
      limit: limits.length === 0 ? null : sumOf(limits) / limits.length,
      warmUpRequests: warmUp.answered,
      costs: totalOf(parts.map(({ costs }) => costs)),
    };
  } finally {
    await close();
  }
}

/** Measures a load in alternation with another one on the same service, which is its limit. */
export async function measureBeside(
  service: BenchService,
  load: Load & { readonly seconds: number },
  other: Load,
): Promise<LoadFigures & { readonly limit: number; readonly otherRequests: number }> {
  const { run, close } = openLoad(service, other);
  let otherRequests = 0;
  const rate = async (seconds: number) => {
    const { answered, seconds: taken } = await run(seconds);
    otherRequests += answered;
    return answered / taken;
  };
  try {
    await rate(warmUpSeconds);
    const { limit, ...figures } = await measureLoad(service, load, async () => rate);
    if (limit === null) throw new Error('the other load was not measured');
    return { ...figures, limit, otherRequests };
  } finally {
    await close();
  }
}
