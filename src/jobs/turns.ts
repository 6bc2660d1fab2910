import { setImmediate as turnOfOthers } from 'node:timers/promises';

// Long enough for a pause to cost little beside it.
const turnMs = 10;

/** Ends a turn of the event loop between two steps that each take long. */
export async function endTurn(): Promise<void> {
  await turnOfOthers();
}

/**
 * The turns of work that takes long: after each, the event loop serves others. The steps of the work are short, and
 * between them it asks whether its turn is over.
 */
export class Turns {
  #began = performance.now();

  isOver(): boolean {
    return performance.now() - this.#began > turnMs;
  }

  /** Lets others have their turn. */
  async pause(): Promise<void> {
    await endTurn();
    this.#began = performance.now();
  }

  /** Goes on in this turn, or in the next one. */
  async next(): Promise<void> {
    if (this.isOver()) await this.pause();
  }

  /** Runs the steps to their end. */
  async run<Result>(steps: Generator<void, Result>): Promise<Result> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (this.isOver()) await this.pause();
    }
  }

  /** Maps the values by `act`, in order. */
  async map<Value, Made>(values: readonly Value[], act: (value: Value) => Made): Promise<Made[]> {
    const made: Made[] = [];
    for (const value of values) {
      if (this.isOver()) await this.pause();
      made.push(act(value));
    }
    return made;
  }
}
