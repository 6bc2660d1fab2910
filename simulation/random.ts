/**
 * A seeded random number generator: the same seed and calls give the same results. Uses no clock and no other
 * randomness.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    // The first numbers of neighboring seeds would otherwise be similar.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
  }

  /** From 0 to below 1: mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** A whole number from the first to the last, both in it. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A random element, or undefined if there is none. */
  pick<Choice>(choices: readonly Choice[]): Choice | undefined {
    return choices[this.below(choices.length)];
  }

  /** One of the kinds, by weight. */
  weighted<Kind extends string>(weights: Readonly<Record<Kind, number>>): Kind {
    const kinds = Object.entries<number>(weights) as [Kind, number][];
    let left = this.next() * kinds.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [kind, weight] of kinds) {
      left -= weight;
      if (left < 0) return kind;
    }
    const [last] = kinds.at(-1) ?? [];
    if (last === undefined) throw new Error('there is nothing to choose from');
    return last;
  }

  /** An independent generator, unaffected by how many values this one generates. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 31));
  }
}
