import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Answer } from './connection.ts';
import { type Costs, withCosts } from './costs.ts';
import { connected } from './database.ts';
import type { Requests } from './requests.ts';
import type { BenchService } from './running.ts';

/** What the load process is sent. */
export interface LoadOrder {
  readonly address: string;
  readonly key: string;
  readonly connections: number;
  readonly seconds: number;
  readonly requests: Requests;
}

/** What the load process answers. */
export interface LoadResult {
  readonly answered: number;
  readonly refused: number;
  /** The first of them. */
  readonly refusal: Answer | null;
  /** From the first request to the last answer. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly failure: string | null;
}

export interface LoadFigures {
  readonly requestsPerSecond: number;
  readonly requests: number;
  /** Requests that were answered before, while service, database and load were warming up. */
  readonly warmUpRequests: number;
  readonly costs: Costs;
}

// By then the code is compiled, the plans are made and every account has its rows.
const warmUpSeconds = 10;

/** Sends requests as fast as they are answered, from a process of its own. Any answer but 200 is an error. */
export async function measureLoad(
  service: BenchService,
  load: { connections: number; seconds: number; requests: Requests },
): Promise<LoadFigures> {
  const child = fork(new URL('load-process.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const run = async (seconds: number): Promise<LoadResult> => {
    const { address, key } = service;
    child.send({ address, key, ...load, seconds } satisfies LoadOrder);
    const [result] = (await Promise.race([once(child, 'message'), ended])) as [LoadResult];
    if (result.failure !== null) throw new Error(result.failure);
    if (result.refused > 0) throw new Error(`${result.refused} refusals: ${JSON.stringify(result.refusal)}`);
    return result;
  };
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the load process ended with ${code}`)));
  ended.catch(() => undefined);
  try {
    const warmUp = await run(warmUpSeconds);
    // What autovacuum does within its minute of any table that has grown.
    await connected(service.databaseUrl, (client) => client.query('vacuum (analyze)'));
    const { answer, costs } = await withCosts(service, () => run(load.seconds));
    return {
      requestsPerSecond: answer.answered / answer.seconds,
      requests: answer.answered,
      warmUpRequests: warmUp.answered,
      costs: { ...costs, cpu: { ...costs.cpu, load: answer.cpuSeconds } },
    };
  } finally {
    child.disconnect();
    await ended.catch(() => undefined);
  }
}
