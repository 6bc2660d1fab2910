/** How those who wait in a lane are put together to groups. */
export interface Gathering<Ask> {
  /** About how much one transaction takes, as asks are weighed. One that weighs more is alone in its own. */
  readonly most: number;
  /**
   * How many asks must wait for a transaction to begin while another one of the lane is still being answered. Without it,
   * the next begins once what answered the one before is on its way to the disk, or half of `most` waits.
   */
  readonly enoughBeside?: number;
  /** What an ask waits for in the database while another one has it. Nothing where it is left out. */
  readonly subjectOf?: (ask: Ask) => string;
  /** Groups that weigh no more follow one another in the database (`createLine`). None where it is left out. */
  readonly mostInLine?: number;
}

/** What a group is told when it begins, and says of itself. */
export interface Turn {
  /** Whether it follows the one before in the database. */
  readonly isInLine: boolean;
  /** What answers the group is on its way. */
  readonly answered: () => void;
}

/** An ask in line, and whom to tell. */
export interface Waiting {
  readonly ask: unknown;
  readonly action: string | null;
  readonly weight: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

// One that is answered and one that is on its way to the disk, so that neither this process nor the database waits.
const mostRunning = 2;
const mostWaitMs = 3;
const fewCallers = 8;
// All but the slowest: a group of half as many costs nearly as much.
const mostOf = 0.9;
// Smaller groups cost more than is won by one being answered while another is written.
const smallestShare = 32;
// One in line that takes longer waits for something itself, as who holds its accounts takes long: others begin meanwhile.
const lateMs = 100;
const mostLate = 4;
// How long it is remembered how many asked.
const rememberedMs = 1_000;

/**
 * Those who wait for transactions of one kind and key. Whoever comes while nothing is under way is served at once, and
 * groups are as large as the load makes them: who was just answered is likely to ask again, so a group begins when nearly
 * all are back who may be in it. While one is written the next is answered, each with half of those who ask again and again.
 */
export class Lane {
  readonly #rules: Gathering<never>;
  readonly #run: (group: readonly Waiting[], turn: Turn) => Promise<void>;
  readonly #forget: () => void;
  readonly #waiting: Waiting[] = [];
  #weight = 0;
  /** Transactions that are under way. */
  #running = 0;
  /** Those of them that are not answered yet. The others are on their way to the disk. */
  #answering = 0;
  /** Asks in those that are under way. */
  #asked = 0;
  /** About how many ask again and again: as many as waited or were under way at once of late. */
  #callers = 0;
  /** Whether most of those who waited last had to do with the same. */
  #isCrowded = false;
  /** When the first of those who wait came, or somebody was answered or taken who may not be the last. */
  #waitsSince = 0;
  #isLookedAt = false;
  /** Transactions that have taken so long that they count as under way no more. */
  #late = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `run` answers a group in its turn; `forget` is told when nobody comes any more. */
  constructor(
    rules: Gathering<never>,
    run: (group: readonly Waiting[], turn: Turn) => Promise<void>,
    forget: () => void,
  ) {
    this.#rules = rules;
    this.#run = run;
    this.#forget = forget;
  }

  add(waiting: Waiting): void {
    if (this.#waiting.length === 0) this.#waitsSince = performance.now();
    this.#waiting.push(waiting);
    this.#weight += waiting.weight;
    // A group that is complete does not wait until others are read, unless they would go into the same transaction.
    const isComplete = this.#callers > smallestShare && this.#waiting.length >= this.#share() && !this.#isHeavy();
    if (isComplete && this.#isReady()) this.#begin();
    if (this.#isLookedAt) return;
    this.#isLookedAt = true;
    // After what has already arrived on other connections was read.
    setImmediate(() => {
      this.#isLookedAt = false;
      this.#begin();
    });
  }

  /** Begins what can begin now, and looks again when the time of the others is up. */
  #begin(): void {
    this.#callers = Math.max(this.#callers, this.#waiting.length + this.#asked);
    while (this.#isReady()) void this.#runGroup(this.#takeGroup());
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) {
      if (this.#mayBegin()) this.#timer = setTimeout(() => this.#begin(), mostWaitMs);
    } else if (this.#running === 0) {
      this.#timer = setTimeout(() => this.#waiting.length === 0 && this.#forget(), rememberedMs).unref();
    }
  }

  async #runGroup(group: readonly Waiting[]): Promise<void> {
    this.#running += 1;
    this.#answering += 1;
    this.#asked += group.length;
    let isAnswering = true;
    const answered = () => {
      if (!isAnswering) return;
      isAnswering = false;
      this.#answering -= 1;
      this.#begin();
    };
    const isInLine = group.reduce((sum, { weight }) => sum + weight, 0) <= (this.#rules.mostInLine ?? 0);
    const lateness = isInLine ? this.#watch(answered) : null;
    try {
      await this.#run(group, { isInLine, answered });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    if (lateness?.end() === true) this.#late -= 1;
    else this.#running -= 1;
    this.#asked -= group.length;
    this.#waitsSince = performance.now();
    answered();
    this.#begin();
  }

  /** Lets others begin in the place of a transaction that takes long. `end` answers whether it did. */
  #watch(answered: () => void): { end: () => boolean } {
    let isLate = false;
    const timer = setTimeout(() => {
      if (this.#late >= mostLate) return;
      isLate = true;
      this.#late += 1;
      this.#running -= 1;
      answered();
      this.#begin();
    }, lateMs);
    const end = () => {
      clearTimeout(timer);
      return isLate;
    };
    return { end };
  }

  #mayBegin(): boolean {
    if (this.#running >= (this.#isCrowded ? 1 : mostRunning)) return false;
    return this.#answering === 0 || this.#isHeavy() || this.#waiting.length >= (this.#rules.enoughBeside ?? Infinity);
  }

  #isHeavy(): boolean {
    return this.#weight * 2 >= this.#rules.most;
  }

  /** Whether nearly all wait who are likely to ask soon, or have had their time. Who comes alone or with a few does not wait. */
  #isReady(): boolean {
    const waiting = this.#waiting.length;
    if (waiting === 0 || !this.#mayBegin()) return false;
    if (this.#callers < fewCallers || this.#isHeavy()) return true;
    if (waiting >= Math.min(this.#share(), this.#callers - this.#asked) * mostOf) return true;
    if (performance.now() - this.#waitsSince < mostWaitMs) return false;
    // There are fewer than there were.
    this.#callers = waiting + this.#asked;
    return true;
  }

  /** About how many asks are in a group. All who there are where they would wait for one another anyway. */
  #share(): number {
    return this.#isCrowded ? this.#callers : Math.max(smallestShare, Math.ceil(this.#callers / 2));
  }

  #takeGroup(): Waiting[] {
    const isHeavy = this.#isHeavy();
    this.#isCrowded = !isHeavy && this.#isCrowd();
    const mostAsks = isHeavy ? this.#waiting.length : this.#share();
    let weight = 0;
    let count = 0;
    for (const each of this.#waiting) {
      if (count >= mostAsks || (count > 0 && weight + each.weight > this.#rules.most)) break;
      weight += each.weight;
      count += 1;
    }
    this.#weight -= weight;
    this.#waitsSince = performance.now();
    return this.#waiting.splice(0, count);
  }

  /** Whether most of those who wait have to do with the same. */
  #isCrowd(): boolean {
    const subjectOf = this.#rules.subjectOf as ((ask: unknown) => string) | undefined;
    if (subjectOf === undefined) return false;
    const subjects = new Set<string>();
    for (const { ask } of this.#waiting) {
      subjects.add(subjectOf(ask));
      if (subjects.size * 2 > this.#waiting.length) return false;
    }
    return true;
  }
}
