import process from 'node:process';
import fc from 'fast-check';

// Random cases of tests come from one seed, so that a failure has to do with the change and comes again.
// `npm test -- --seed random` draws others.

/** The variable that leads a seed to the processes of the tests. */
export const seedVariable = 'TOLLKEEPER_TEST_SEED';

const usual = 1;

/** The seed of all random cases. */
export const testSeed = Number(process.env[seedVariable] ?? usual);

/** Lets all properties of this process draw their cases from the seed. */
export function drawFromSeed(): void {
  fc.configureGlobal({ seed: testSeed });
}

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
export function seededRandom(): () => number {
  let state = testSeed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
