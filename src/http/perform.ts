import { refusedSlots, type WithCells } from '../database/cells.ts';
import type { Database } from '../database/database.ts';
import { type Effect, runInEnvironment, type Work } from '../database/work.ts';
import { type JobContext, runEffects } from '../jobs/queue.ts';
import { Problem } from '../kernel/problem.ts';
import { jsonInTurns } from './body.ts';
import type { EntryOfCell } from './caller.ts';
import { requestCopies } from './cells.ts';
import {
  beginIdempotent,
  forgetAnswer,
  type IdempotentRequest,
  lockFinalAnswer,
  renewAnswer,
  storeAnswer,
  withKey,
} from './idempotency.ts';
import type { Route, RouteInput } from './route.ts';

/** A request that is valid. */
export interface Asked {
  readonly route: Route;
  readonly input: RouteInput<never, never, never>;
  readonly dryRun: boolean;
  readonly idempotency: IdempotentRequest | null;
}

/** Asks the other cells before a change at home, and before its answer is read again. Absent: there are none to ask. */
export type AskOthers = (() => Promise<readonly unknown[]>) | undefined;

/** A request that was answered in its transaction. */
interface Performed {
  readonly replayed: boolean;
  /** Null where only its JSON is there. */
  readonly answer: unknown;
  readonly text: string;
}

/** Answers a request in its transaction, or as it was answered before. */
export async function perform(
  context: JobContext & WithCells,
  work: Work,
  { route, input, idempotency: asked }: Asked,
  elsewhere: readonly unknown[],
): Promise<Performed | Problem> {
  const encryption = route.sealedWith?.(context);
  // An answer with a secret is repeated only to the key that got it.
  const idempotency = asked && encryption ? withKey(work, asked) : asked;
  const sealedFor = `answer ${work.environmentId} ${idempotency?.key}`;
  if (idempotency) {
    const stored = await beginIdempotent(work, idempotency);
    if (stored !== null) {
      // The original request died before its effects finished, or they are still in progress: run them here too.
      work.effects.push(...stored.effects);
      const text = encryption ? encryption.open(stored.text, sealedFor) : stored.text;
      return { replayed: true, answer: null, text };
    }
  }
  const result = await route.handle(work, input as never, context, elsewhere);
  // Nothing is stored for the key: a repeat may try again.
  if (result instanceof Problem) return result;
  const mayBeCopied = route.cell === 'home' && route.method !== 'GET' && context.cells !== undefined;
  if (mayBeCopied && context.cells.others()?.length !== 0) requestCopies(work);
  const text = await (route.text ?? jsonInTurns)(result);
  if (idempotency) {
    const isOfSlot = route.cell === 'customer' || route.cell === 'id';
    const [slot = null] = isOfSlot ? (context.cells?.slotsOf(input, work.environmentId) ?? []) : [];
    await storeAnswer(work, idempotency, encryption ? encryption.seal(text, sealedFor) : text, slot);
  }
  return { replayed: false, answer: result, text };
}

interface Finishing extends JobContext {
  readonly publicUrl: string;
  readonly askOthers: AskOthers;
  readonly slots: readonly string[];
}

/** Runs the effects that the commit requested outside the database, then reads the response again. */
export async function finish(
  context: Finishing,
  requested: Asked,
  caller: EntryOfCell,
  performed: Performed,
  effects: readonly Effect[],
): Promise<string> {
  const { idempotency, route } = requested;
  if (effects.length === 0) return performed.text;
  // A request that was permitted is finished, whatever its key may do now.
  const entry = { ...caller, sufficient: null };
  const { publicUrl, slots } = context;
  try {
    await runEffects(context, effects);
  } catch (error) {
    await refuseMoved(context.database, entry, slots);
    throw error;
  }
  const elsewhere = (await context.askOthers?.()) ?? [];
  try {
    const readAgain = async (work: Work) => {
      const final = idempotency && route.afterEffects ? await lockFinalAnswer(work, idempotency) : null;
      if (final !== null) return final;
      const original = performed.answer ?? JSON.parse(performed.text);
      const answer = await route.afterEffects?.(work, original, context, elsewhere);
      if (answer instanceof Problem) return answer;
      const text = route.afterEffects ? await jsonInTurns(answer) : performed.text;
      // A sealed answer stays as it is, with its effects: a repeat runs them again.
      if (idempotency && !route.sealedWith) await renewAnswer(work, idempotency, text);
      return text;
    };
    const outcome = await runInEnvironment(context.database, entry, readAgain, { publicUrl, slots });
    if (outcome?.answer instanceof Problem) throw outcome.answer;
    return outcome?.answer ?? performed.text;
  } catch (error) {
    // The external service refused, so a repeat may try again. After an internal failure or an outage the stored response stays:
    // its effect may have happened, and a repeat must find it instead of redoing it.
    if (idempotency && error instanceof Problem && error.status < 500)
      await runInEnvironment(context.database, entry, (work) => forgetAnswer(work, idempotency));
    await refuseMoved(context.database, entry, slots);
    throw error;
  }
}

/** Refuses a request whose records moved to another cell after its commit. A repeat with its key finds the answer there. */
async function refuseMoved(database: Database, entry: EntryOfCell, slots: readonly string[]): Promise<void> {
  if (slots.length === 0) return;
  try {
    await runInEnvironment(database, entry, async () => true, { slots });
  } catch (error) {
    throw refusedSlots(error) === null ? error : new Problem('serviceUnavailable');
  }
}
