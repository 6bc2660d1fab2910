import { on, once } from 'node:events';
import { connect } from 'node:net';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import type { Attack, AttackResult } from './pages.ts';

// The process that attacks, separate so that it does not delay the requests that are measured.

const resets = 980;
const resetAfterMs = 3;
const connections = 60;

/** Requests of one link, each on a connection that is reset at once. */
async function resetAll({ address, requests, seconds }: Attack): Promise<AttackResult> {
  const { hostname, port } = new URL(address);
  const startedAt = performance.now();
  const begin = async () => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(requests[0] ?? '');
    await sleep(resetAfterMs);
    socket.resetAndDestroy();
  };
  const begun: Promise<void>[] = [];
  for (let sent = 0; sent < resets; sent++) {
    const dueAt = startedAt + (sent / resets) * seconds * 1000;
    await sleep(Math.max(0, dueAt - performance.now()));
    begun.push(begin().catch(() => undefined));
  }
  await Promise.all(begun);
  return { requests: resets, answered: {} };
}

/** Connections that ask for page after page, without a pause. */
async function askAll({ address, requests, seconds }: Attack): Promise<AttackResult> {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(address)));
  const until = performance.now() + seconds * 1000;
  const answered: Record<string, number> = {};
  let sent = 0;
  await Promise.all(
    opened.map(async (connection) => {
      while (performance.now() < until) {
        const { status } = await connection.ask(requests[sent++ % requests.length] ?? '');
        answered[status] = (answered[status] ?? 0) + 1;
      }
    }),
  );
  for (const connection of opened) connection.close();
  return { requests: sent, answered };
}

// Each message is an attack to run, in sequence, until the parent disconnects.
for await (const [attack] of on(process, 'message', { close: ['disconnect'] }))
  process.send?.(await (attack.kind === 'reset' ? resetAll : askAll)(attack));
