import { checkInvariants } from '../src/invariants/check-invariants.ts';
import { beginning } from './beginning.ts';
import { meterSlug, usersSlug } from './catalogue-usage.ts';
import type { Answer, Ask, Body } from './client.ts';
import { differences, expectedOf, networkDifferences } from './comparison.ts';
import { assertDelivered } from './deliveries.ts';
import { overuses } from './fair-use.ts';
import { askWith, bearable, drawFault, type Fault, faultText } from './faults.ts';
import { dayMs, hourMs, minuteMs } from './oracle-arithmetic.ts';
import { moveTo, nextDue } from './oracle-clock.ts';
import { noteReached } from './oracle-limits.ts';
import { balance, creditsIn } from './oracle-pools.ts';
import { type Books, type Customer, isCurrent } from './oracle-records.ts';
import { creditsOf, usersLeft } from './oracle-usage.ts';
import { plotsInTurn } from './plots.ts';
import { Random } from './random.ts';
import { pictureOf, readReality, type Told } from './reality.ts';
import type { ClockMove, Plot, Scene } from './scenes.ts';
import { type Drawing, type Expected, Records, type Step } from './step.ts';
import { commute, drawStep, makesAttempt, type StepKind } from './steps.ts';
import { type Deeds, World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly steps: number;
  readonly crashes: boolean;
  readonly serves?: number;
  /** No steps start after this real time. */
  readonly until?: number;
  /** Called for each step. */
  readonly log?: (line: string) => void;
  /** A deliberate defect, planted after this many steps. */
  readonly plant?: { readonly afterStep: number; readonly perform: (world: World) => Promise<unknown> };
  /** An inspection at the end, when everything agrees: `find` returns new differences. */
  readonly atEnd?: (world: World, find: () => Promise<readonly string[]>) => Promise<void>;
}

export interface Summary extends Deeds {
  readonly steps: number;
  readonly cuts: number;
  readonly troubles: number;
  readonly customers: number;
  readonly subscriptions: number;
  readonly invoices: number;
  readonly payments: number;
  readonly usageEvents: number;
  readonly eventsDelivered: number;
  readonly byKind: Readonly<Partial<Record<StepKind | 'clock', number>>>;
  /** How often each notable situation has occurred. */
  readonly reached: Readonly<Record<string, number>>;
}

/** A difference between the service and the oracle, and how to reproduce it. */
export class Disagreement extends Error {
  constructor({ seed, crashes }: RunOptions, step: number, what: string, found: string) {
    const again = `npm run simulate -- --seed ${seed} --steps ${step} --crashes ${crashes ? 'on' : 'off'}`;
    super(
      `seed ${seed}, step ${step}: ${what}\n${found}\nTo repeat it: ${again}; --steps ${step - 1} stops right before.`,
    );
  }
}

// All instants are whole minutes: renewals within one minute may be batched.
const invariantsEvery = 8;
const troubleRate = 0.35;
// Free steps come between those of the plots.
const plotRate = 0.85;
const drawsOfScene = 8;

/** Runs the life of one world, from its first customer to the last delivered message. Throws Disagreement. */
export async function simulate(options: RunOptions): Promise<Summary> {
  const random = new Random(options.seed);
  // Faults have their own generator, so that switching them off changes no step.
  const [stepRandom, faultRandom, worldRandom] = [random.fork(), random.fork(), random.fork()];
  const world = await World.create(worldRandom, { serves: options.serves ?? 2 });
  try {
    return await new Run(options, world, stepRandom, faultRandom).live();
  } finally {
    await world.remove();
  }
}

class Run {
  readonly #options: RunOptions;
  readonly #world: World;
  readonly #random: Random;
  readonly #faults: Random;
  readonly #books: Books;
  /** The service's records at the last comparison. */
  #told: readonly Told[] = [];
  readonly #byKind: Partial<Record<StepKind | 'clock', number>> = {};
  readonly #plots: Generator<Plot, never>;
  /** The rest of the plot that goes on, and its customer; null before that is there. */
  #plot: { readonly customer: Customer | null; readonly scenes: readonly Scene[] } = { customer: null, scenes: [] };
  #names = 0;
  #step = 0;
  #text = 'the beginning';

  constructor(options: RunOptions, world: World, random: Random, faults: Random) {
    this.#options = options;
    this.#world = world;
    this.#random = random;
    this.#faults = faults;
    this.#plots = plotsInTurn(random);
    // Dates before and after the present, with all kinds of month ends.
    const now = Date.UTC(random.chance(0.5) ? 2024 : 2031, random.below(12), random.between(1, 31), random.below(24));
    this.#books = {
      now,
      netTerms: 0,
      threshold: null,
      withheld: ['unpaid'],
      allowsSeveral: random.chance(0.5),
      customers: [],
      orders: [],
      attempts: new Map(),
      reached: new Map(),
    };
  }

  async live(): Promise<Summary> {
    const { steps, plant, until = Number.POSITIVE_INFINITY } = this.#options;
    await this.#begin();
    while (this.#step < steps && Date.now() < until) {
      this.#step += 1;
      try {
        await this.#once();
      } catch (error) {
        if (error instanceof Disagreement) throw error;
        throw this.#disagree((error as Error).stack ?? String(error));
      }
      if (plant?.afterStep === this.#step) await plant.perform(this.#world);
    }
    return this.#end();
  }

  async #begin(): Promise<void> {
    const world = this.#world;
    await world.setClock(this.#books.now);
    for (const ask of beginning(world.inbox.url, this.#books.allowsSeveral)) {
      const answer = await world.ask(ask);
      if (answer.status !== 200) throw this.#disagree(`${ask.path}: ${JSON.stringify(answer.body)}`);
    }
    world.inbox.failureRate = 0.1;
  }

  async #once(): Promise<void> {
    const fault = drawFault(this.#faults, this.#options.crashes);
    const isTroubled = this.#faults.chance(0.5);
    this.#world.network.troubleRate = isTroubled ? troubleRate : 0;
    const next = this.#random.chance(plotRate) ? this.#nextOfPlot() : null;
    const isClock = this.#books.customers.length > 0 && this.#random.chance(0.22);
    if (next === null ? isClock : next.kind === 'clock')
      await this.#moveClock(fault, isTroubled, next?.kind === 'clock' ? next.move : null);
    else await this.#act(fault, !isTroubled, next === null || next.kind === 'clock' ? null : next);
    await this.#world.sendNotices();
    this.#world.network.troubleRate = 0;
    await this.#world.settle(this.#books.now);
    await this.#compare(this.#step % invariantsEvery === 0);
  }

  /** The next step of the plot that is possible, or a move of the clock; that of the next plot if it is over. */
  #nextOfPlot(): Drawn | Extract<Scene, { kind: 'clock' }> | null {
    const { customer, scenes } = this.#plot;
    if (scenes.length === 0 || (customer !== null && !this.#books.customers.includes(customer))) {
      this.#plot = { customer: null, scenes: this.#plots.next().value };
      return this.#drawOf('newCustomer', { customers: [], wish: {} });
    }
    const actor = customer ?? this.#books.customers.at(-1) ?? null;
    for (const [index, scene] of scenes.entries()) {
      this.#plot = { customer: actor, scenes: scenes.slice(index + 1) };
      if (scene.kind === 'clock') return scene;
      const among = { customers: actor === null ? [] : [actor], wish: scene.wish };
      for (let tries = 0; tries < drawsOfScene; tries++) {
        const drawn = this.#drawOf(scene.kind, among);
        if (drawn !== null) return drawn;
      }
    }
    return null;
  }

  /** One step, or two concurrent independent ones. */
  async #act(fault: Fault, isCalm: boolean, ofPlot: Drawn | null): Promise<void> {
    const first = ofPlot ?? this.#draw();
    const expected = first === null ? [] : [this.#apply(first)];
    const isOfOne = first !== null && first.step.customer !== null;
    const second = this.#random.chance(0.25) && isOfOne ? this.#draw(first) : null;
    if (second !== null) expected.push(this.#apply(second));
    const done = [first, second].flatMap((each) => each?.step ?? []);
    const borne = bearable(fault, expected);
    this.#tell(`${done.map(({ text }) => text).join(' | ')}${faultText(borne)}`);
    const records = new Records(this.#world.database.owner, this.#told);
    const asks: Ask[] = [];
    for (const [index, step] of done.entries()) {
      step.prepare?.(this.#world.network);
      asks.push({ ...(await step.ask(records, this.#world.network)), key: `step ${this.#step} ${index}` });
    }
    const answers = await askWith(this.#world, asks, borne, isCalm);
    const times = answers.length / asks.length;
    for (const [index, answer] of answers.entries()) this.#check(expected[Math.floor(index / times)] ?? 'done', answer);
    for (const [index, { visit }] of done.entries()) await this.#visit(visit, answers[index * times]?.body);
  }

  /** A step that is possible now and, beside another one, independent of its order. Null if none was found quickly. */
  #draw(beside: Drawn | null = null): Drawn | null {
    for (let tries = 0; tries < 40; tries++) {
      const drawn = this.#drawOf(null, { customers: this.#books.customers, wish: {} });
      if (drawn === null || (beside !== null && !touchesNothingOf(drawn, beside))) continue;
      return drawn;
    }
    return null;
  }

  #drawOf(wished: StepKind | null, among: Pick<Drawing, 'customers' | 'wish'>): Drawn | null {
    const newName = (kind: string) => `${kind}-${++this.#names}`;
    const [kind, step] = drawStep({ random: this.#random, books: this.#books, newName, ...among }, wished);
    return step === null ? null : { kind, step };
  }

  #apply({ kind, step }: Drawn): Expected {
    this.#byKind[kind] = (this.#byKind[kind] ?? 0) + 1;
    const expected = step.apply();
    noteReached(this.#books);
    moveTo(this.#books, this.#books.now);
    return expected;
  }

  /** Sends the forms of a step, one after the other. They have no key to be repeated with, so nothing disturbs them. */
  async #visit(visit: Step['visit'], answer: Body): Promise<void> {
    if (visit === undefined) return;
    this.#world.network.troubleRate = 0;
    await this.#world.raise();
    const records = new Records(this.#world.database.owner, this.#told);
    const { is, should } = await visit(answer, this.#world, records);
    if (is !== should) throw this.#disagree(`its forms should be answered with ${should}, and were with ${is}`);
  }

  #check(expected: Expected, { status, body }: Answer): void {
    const isRight = expected === 'done' ? status === 200 : status >= 400 && status < 500;
    if (!isRight) throw this.#disagree(`it should be ${expected}, and was answered ${status}: ${JSON.stringify(body)}`);
  }

  /** Moves the clock: a little, to the next due instant, or over many boundaries. */
  async #moveClock(fault: Fault, isTroubled: boolean, move: ClockMove | null): Promise<void> {
    const { now } = this.#books;
    const due = nextDue(this.#books);
    const any = this.#random.weighted({ minutes: 2, hours: 3, due: 5, days: 4, weeks: 2, months: 1.5, year: 0.2 });
    const drawn = {
      minutes: this.#random.between(1, 90) * minuteMs,
      hours: this.#random.between(1, 40) * hourMs,
      due: Math.max(minuteMs, (due ?? now) - now),
      days: this.#random.between(1, 12) * dayMs,
      renewal: Math.max(minuteMs, (this.#nextRenewal() ?? now) - now),
      weeks: this.#random.between(2, 6) * 7 * dayMs,
      months: this.#random.between(30, 100) * dayMs,
      year: 366 * dayMs,
    }[move ?? any];
    // Work that a broken connection or the network has deferred runs at the end of the move: at its own instant only if
    // that is the end.
    const breaks =
      isTroubled ||
      fault.kind === 'cut' ||
      (fault.kind === 'crash' && fault.crash !== 'serve' && fault.crash !== 'work');
    const target = breaks && due !== null ? Math.min(now + drawn, Math.max(due, now + minuteMs)) : now + drawn;
    this.#byKind.clock = (this.#byKind.clock ?? 0) + 1;
    const borne: Fault = fault.kind === 'twice' || fault.kind === 'reordered' ? { kind: 'none' } : fault;
    this.#tell(
      `moves the clock by ${(target - now) / hourMs} hours to ${new Date(target).toISOString()}${faultText(borne)}`,
    );
    moveTo(this.#books, target);
    const [answer] = await askWith(
      this.#world,
      [{ method: 'PUT', path: '/test-clock', body: { testClock: { now: target } } }],
      borne,
      false,
    );
    if (answer?.status !== 200) throw this.#disagree(`the clock does not move: ${JSON.stringify(answer?.body)}`);
  }

  /** The end of a period of the customer of the plot. */
  #nextRenewal(): number | null {
    const ends = this.#plot.customer?.subscriptions.filter(isCurrent).flatMap(({ period }) => period?.end ?? []) ?? [];
    return ends.length === 0 ? null : Math.min(...ends);
  }

  async #compare(isFull: boolean): Promise<void> {
    const found = await this.#find(isFull);
    if (found.length > 0) throw this.#disagree(found.join('\n'));
  }

  /** Compares all records with the books and the network's operations, and queries the service's balances. */
  async #find(isFull: boolean): Promise<string[]> {
    const { owner } = this.#world.database;
    this.#told = await readReality(owner, this.#books.now);
    const found = [
      ...differences(expectedOf(this.#books), pictureOf(this.#told)),
      ...networkDifferences(this.#books.customers, this.#world.network.totals()),
      ...overuses(this.#books, this.#told),
    ];
    if (!isFull) return found;
    const checked = await checkInvariants(owner);
    const broken = checked.filter(({ violations }) => violations.count > 0);
    found.push(
      ...broken.map(({ name, violations }) => `invariant ${name}: ${JSON.stringify(violations, bigintAsText)}`),
    );
    return found.length > 0 ? found : this.#readBalances();
  }

  async #readBalances(): Promise<string[]> {
    const found: string[] = [];
    for (const customer of this.#books.customers) {
      const current = customer.subscriptions.filter(isCurrent);
      const { body } = await this.#world.ask({ method: 'GET', path: `/customers/${customer.name}/usage-balances` });
      const of = (meter: string) =>
        (body.usageMeterBalances ?? [])
          .filter(({ slug }: { slug: string }) => slug === meter)
          .map((row: { availableBalance: number }) => row.availableBalance);
      const inOrder = (balances: number[]) => balances.toSorted((a, b) => a - b);
      const is = [...inOrder(of(meterSlug)), ...inOrder(of(usersSlug))];
      const should = [
        ...inOrder(current.map((each) => balance(this.#books, each))),
        ...inOrder(current.map((each) => usersLeft(this.#books, each))),
      ];
      if (JSON.stringify(is) !== JSON.stringify(should))
        found.push(`${customer.name} should have balances of ${should}, and is told ${is}`);
      found.push(...(await this.#readCredits(customer)));
    }
    return found;
  }

  async #readCredits(customer: Customer): Promise<string[]> {
    const { body } = await this.#world.ask({ method: 'GET', path: `/customers/${customer.name}/credit-balances` });
    const all = [
      [meterSlug, creditsOf(this.#books, customer)] as const,
      ...customer.pools.map((pool) => [pool.slug, creditsIn(this.#books, customer, pool)] as const),
    ];
    return all.flatMap(([name, expected]) => {
      const [told] = (body.creditBalances ?? []).filter(({ slug }: { slug: string }) => slug === name);
      const { availableBalance, granted, paid, held } = told ?? {};
      const is = JSON.stringify({ availableBalance, granted, paid, held });
      const should = JSON.stringify(expected);
      return is === should ? [] : [`${customer.name} should have ${name} of ${should}, and is told ${is}`];
    });
  }

  async #end(): Promise<Summary> {
    this.#text = 'the end';
    await this.#world.settle(this.#books.now);
    await this.#compare(true);
    await this.#options.atEnd?.(this.#world, () => this.#find(true));
    const eventsDelivered = await assertDelivered(this.#world).catch((error: Error) => {
      throw this.#disagree(error.message);
    });
    const { customers } = this.#books;
    const subscriptions = customers.flatMap((each) => each.subscriptions);
    const invoices = customers.flatMap((each) => each.invoices);
    return {
      ...this.#world.deeds,
      steps: this.#step,
      cuts: this.#world.cuts,
      troubles: this.#world.network.troubles,
      customers: customers.length,
      subscriptions: subscriptions.length,
      invoices: invoices.length,
      payments: invoices.reduce((sum, { payments }) => sum + payments.length, 0),
      usageEvents: subscriptions.reduce((sum, { events }) => sum + events.size, 0),
      eventsDelivered,
      byKind: this.#byKind,
      reached: Object.fromEntries(this.#books.reached),
    };
  }

  #tell(text: string): void {
    this.#text = text;
    this.#options.log?.(`${this.#step}: ${text}`);
  }

  #disagree(found: string): Disagreement {
    return new Disagreement(this.#options, this.#step, this.#text, found);
  }
}

/** A step with its kind. */
interface Drawn {
  readonly kind: StepKind;
  readonly step: Step;
}

function touchesNothingOf(one: Drawn, other: Drawn): boolean {
  if (one.step.customer === null) return false;
  // The order of two attempts decides how many failures of everybody are left.
  if (makesAttempt(one.kind) && makesAttempt(other.kind)) return false;
  return one.step.customer !== other.step.customer || commute(one.kind, other.kind);
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
