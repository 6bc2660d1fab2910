import { test } from 'node:test';
import fc from 'fast-check';
import { startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';
import { assertCountedOnce } from '../support/usage-model-books.ts';
import { compare, compareInvoices } from '../support/usage-model-compare.ts';
import { type Known, take } from '../support/usage-model-run.ts';
import { step } from '../support/usage-model-steps.ts';
import { newModelWorld } from '../support/usage-model-world.ts';

const app = await startTestApp();
// More runs go deeper.
const runs = Number(process.env.MODEL_RUNS ?? 6);

async function newRun(): Promise<Known> {
  const world = await newModelWorld(app);
  const ids = { holdIds: new Map(), creditIds: new Map(), periodIds: new Map() };
  return { ...world, ...ids, told: new Map(), freeTransactions: [] };
}

test('whatever happens to usage, credits and holds, the service tells after each step what the plain rules say', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
      const known = await newRun();
      await compare(known, 0);
      for (const { act, back } of steps) {
        await take(app, known, act);
        await compare(known, back);
      }
      await compareInvoices(known);
      await assertSound(app);
      await assertCountedOnce(app);
    }),
    // Biased towards short sequences, most would end before the first period does. The runs share a database, so a
    // shorter sequence would also find what the failed one has left there: nothing is shrunk.
    { numRuns: runs, unbiased: true, endOnFailure: true },
  );
});
