import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Ask } from './client.ts';
import type { Cut } from './cutting-proxy.ts';
import type { Random } from './random.ts';
import type { Expected } from './step.ts';
import type { Crash, World } from './world.ts';

/** A fault during a step. */
export type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'cut'; readonly cut: Cut; readonly skips: number }
  | { readonly kind: 'crash'; readonly crash: Crash; readonly afterMs: number }
  /** The same request twice concurrently, with one Idempotency-Key. */
  | { readonly kind: 'twice' }
  /** Several requests, with the first sent last, after the others were answered. */
  | { readonly kind: 'reordered' };

const weights = {
  none: 10,
  client_cut: 4,
  commit_cut: 5,
  serve: 2,
  work: 2,
  backend: 1.2,
  postgres: 0.8,
  twice: 3,
  reordered: 5,
};
const calm = { none: 10, twice: 3, reordered: 5 };
// About the duration of a request.
const longestDelayMs = 40;
const mostSkips = 3;

export function drawFault(random: Random, crashes: boolean): Fault {
  const kind = random.weighted<keyof typeof weights>(crashes ? weights : { ...zero, ...calm });
  const skips = random.below(mostSkips);
  const afterMs = random.below(longestDelayMs);
  const isEarly = random.chance(0.5);
  switch (kind) {
    case 'none':
    case 'twice':
    case 'reordered':
      return { kind };
    case 'client_cut':
      return { kind: 'cut', cut: isEarly ? 'request' : 'answer', skips: 0 };
    case 'commit_cut':
      return { kind: 'cut', cut: isEarly ? 'before_commit' : 'after_commit', skips };
    default:
      return { kind: 'crash', crash: kind, afterMs };
  }
}

const zero = {
  none: 0,
  client_cut: 0,
  commit_cut: 0,
  serve: 0,
  work: 0,
  backend: 0,
  postgres: 0,
  twice: 0,
  reordered: 0,
};

/** The fault, unless it would invalidate the expectation: a request that tries again on repetition is sent once. */
export function bearable(fault: Fault, expected: readonly Expected[]): Fault {
  if (fault.kind === 'reordered') return expected.length > 1 ? fault : { kind: 'none' };
  return expected.includes('refused_late') ? { kind: 'none' } : fault;
}

export function faultText(fault: Fault): string {
  if (fault.kind === 'cut') return `, cut at ${fault.cut}${fault.skips > 0 ? ` ${fault.skips}` : ''}`;
  if (fault.kind === 'crash') return `, kill -9 of ${fault.crash} after ${fault.afterMs} ms`;
  if (fault.kind === 'reordered') return ', in the other order';
  return fault.kind === 'twice' ? ', sent twice at once' : '';
}

/** Sends in sequence, the last one first. Returns responses in the order of the requests. */
async function askInTurn(asks: readonly Ask[], send: (ask: Ask) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const ask of asks.toReversed()) answers.unshift(await send(ask));
  return answers;
}

/** Sends requests concurrently during the fault, until each is answered. */
export async function askWith(world: World, asks: readonly Ask[], fault: Fault, isCalm: boolean): Promise<Answer[]> {
  const sent = fault.kind === 'twice' ? asks.flatMap((ask) => [ask, ask]) : asks;
  if (fault.kind === 'cut') {
    const isOfDatabase = fault.cut === 'before_commit' || fault.cut === 'after_commit';
    (isOfDatabase ? world.databaseProxy : world.nextProxy).arm(fault.cut, fault.skips);
  }
  const breaks = fault.kind !== 'none' && fault.kind !== 'reordered';
  const send = (ask: Ask) => world.ask(ask, { isCalm: isCalm && !breaks });
  const answered = fault.kind === 'reordered' ? askInTurn(sent, send) : Promise.all(sent.map(send));
  // The caller that awaits the responses gets the error.
  answered.catch(() => undefined);
  if (fault.kind === 'crash') {
    await sleep(fault.afterMs);
    await world.crash(fault.crash);
    await world.raise();
  }
  const answers = await answered;
  world.databaseProxy.disarm();
  world.nextProxy.disarm();
  return answers;
}
