import { on } from 'node:events';
import process from 'node:process';
import { type Answer, Connection } from './connection.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import { requestMaker } from './requests.ts';

// The process that generates the load, separate so that its processor time is measured separately.

/** Asks on every connection until the time is up, then waits for the requests in flight: each one is answered and counted. */
async function run({ addresses, key, connections, seconds, requests }: LoadOrder): Promise<LoadResult> {
  const next = requestMaker(requests, key);
  const opened = await Promise.all(
    Array.from({ length: connections }, (_, index) => Connection.open(addresses[index % addresses.length] ?? '')),
  );
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const until = startedAt + seconds * 1000;
  let answered = 0;
  let refused = 0;
  let refusal: Answer | null = null;
  const drive = async (connection: Connection) => {
    while (performance.now() < until) {
      const answer = await connection.ask(next());
      if (answer.status === 200) answered += 1;
      else {
        refused += 1;
        refusal ??= answer;
      }
    }
  };
  try {
    await Promise.all(opened.map(drive));
    const { user, system } = process.cpuUsage(cpuBefore);
    const taken = (performance.now() - startedAt) / 1000;
    return { answered, refused, refusal, seconds: taken, cpuSeconds: (user + system) / 1_000_000, failure: null };
  } catch (error) {
    return { answered, refused, refusal, seconds: 0, cpuSeconds: 0, failure: (error as Error).message };
  } finally {
    for (const connection of opened) connection.close();
  }
}

// Each message is a load to run, in sequence, until the parent disconnects.
for await (const [order] of on(process, 'message', { close: ['disconnect'] })) process.send?.(await run(order));
