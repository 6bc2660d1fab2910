import {
  type Account,
  at,
  balanceOf,
  book,
  bookEnds,
  type Credit,
  catchUp,
  get,
  give,
  type Hold,
  hasEnded,
  type NewEvent,
  type Refused,
  restOf,
  type StoredEvent,
  use,
  type World,
} from './usage-oracle.ts';

/*
 * What the oracle answers to requests. A request meets its subscriptions as they are now: the ends of periods that nobody
 * has lived through come first. A world that has refused one is to be thrown away, because nothing of it is kept.
 */

function meterOf(world: World, price: string): string {
  return get(world.prices, price).meter;
}

function accountAt(world: World, subscription: string, price: string): Account {
  return get(get(world.subscriptions, subscription).accounts, meterOf(world, price));
}

function findEvent(world: World, { price, transaction }: NewEvent): StoredEvent | undefined {
  const meter = meterOf(world, price);
  return world.events.find((event) => event.transaction === transaction && meterOf(world, event.price) === meter);
}

/** On a meter that counts distinct properties the first event with its own counts in a billing period, else each does. */
function counts(world: World, event: NewEvent, period: number): boolean {
  const meter = meterOf(world, event.price);
  if (!world.distinctMeters.includes(meter)) return true;
  return !world.events.some(
    (earlier) =>
      meterOf(world, earlier.price) === meter &&
      earlier.subscription === event.subscription &&
      earlier.period === period &&
      earlier.properties === event.properties,
  );
}

function store(world: World, event: NewEvent): StoredEvent {
  const { start } = get(world.subscriptions, event.subscription);
  const stored = { ...event, period: start, counted: counts(world, event, start) };
  world.events.push(stored);
  return stored;
}

/** Answers for each event the one that is stored, which may be an earlier one. Of one price, all is used as a whole. */
export function record(world: World, events: readonly NewEvent[]): { events: StoredEvent[] } | Refused {
  for (const event of events) catchUp(world, event.subscription);
  const answers: StoredEvent[] = [];
  const sums = new Map<string, { event: StoredEvent; units: number }>();
  for (const event of events) {
    const earlier = findEvent(world, event);
    if (earlier !== undefined && earlier.subscription !== event.subscription) return { status: 409 };
    const stored = earlier ?? store(world, event);
    answers.push(stored);
    if (earlier !== undefined) continue;
    const key = `${stored.subscription} ${stored.price}`;
    const sum = sums.get(key) ?? { event: stored, units: 0 };
    sums.set(key, { ...sum, units: sum.units + (stored.counted ? stored.amount : 0) });
  }
  for (const { event, units } of [...sums.values()].filter((sum) => sum.units > 0))
    use(world, accountAt(world, event.subscription, event.price), event.price, units);
  return { events: answers };
}

/** Records one event only if the balance covers what it counts. */
export function consume(world: World, event: NewEvent): { event: StoredEvent; balance: number } | Refused {
  catchUp(world, event.subscription);
  const account = accountAt(world, event.subscription, event.price);
  const balance = balanceOf(account, world.now);
  const { start } = get(world.subscriptions, event.subscription);
  const isNew = findEvent(world, event) === undefined;
  if (isNew && counts(world, event, start) && event.amount > balance) return { status: 402, balance };
  const answer = record(world, [event]);
  return 'status' in answer ? answer : { event: at(answer.events, 0), balance: balanceOf(account, world.now) };
}

export interface Ask {
  readonly subscription: string;
  readonly price: string;
  readonly amount: number;
  readonly expiresAt: number;
}

export function hold(world: World, { subscription, ...requested }: Ask): { hold: Hold; balance: number } | Refused {
  catchUp(world, subscription);
  const account = accountAt(world, subscription, requested.price);
  const balance = balanceOf(account, world.now);
  if (requested.expiresAt <= world.now || world.distinctMeters.includes(meterOf(world, requested.price)))
    return { status: 400 };
  if (requested.amount > balance) return { status: 402, balance };
  const taken: Hold = { ...requested, status: 'open', settled: null };
  account.holds.push(taken);
  return { hold: taken, balance: balance - requested.amount };
}

/** Which hold: by its place on its account. */
export interface HoldPlace {
  readonly subscription: string;
  readonly meter: string;
  readonly place: number;
  /** Its id, which is the transaction of its use. */
  readonly id: string;
}

export interface Closed {
  readonly hold: Hold;
  readonly balance: number;
  readonly event: StoredEvent | null;
}

export function settleHold(
  world: World,
  { subscription, meter, place, id }: HoldPlace,
  amount: number,
): Closed | Refused {
  const account = get(get(world.subscriptions, subscription).accounts, meter);
  const closing = at(account.holds, place);
  if (closing.status !== 'open') {
    if (closing.status !== 'settled' || closing.settled !== amount) return { status: 409 };
    const event = world.events.find(({ transaction }) => transaction === id) ?? null;
    return { hold: closing, balance: balanceOf(account, world.now), event };
  }
  catchUp(world, subscription);
  closing.status = 'settled';
  closing.settled = amount;
  if (amount === 0) return { hold: closing, balance: balanceOf(account, world.now), event: null };
  const { price } = closing;
  const event = { subscription, price, transaction: id, amount, usageDate: world.now, properties: '{}' };
  const answer = record(world, [event]);
  if ('status' in answer) return answer;
  return { hold: closing, balance: balanceOf(account, world.now), event: at(answer.events, 0) };
}

/** Time alone brings nothing due here: what was held is free again, whatever the subscription has become. */
export function releaseHold(world: World, { subscription, meter, place }: HoldPlace): Closed | Refused {
  const account = get(get(world.subscriptions, subscription).accounts, meter);
  const closing = at(account.holds, place);
  if (closing.status === 'settled') return { status: 409 };
  closing.status = 'released';
  return { hold: closing, balance: balanceOf(account, world.now), event: null };
}

export interface Grant {
  readonly subscription: string;
  readonly meter: string;
  readonly amount: number;
  readonly priority: number;
  readonly expiresAt: number | null;
  readonly transaction: string | null;
}

export function grant(world: World, { subscription, meter, ...requested }: Grant): { credit: Credit } | Refused {
  catchUp(world, subscription);
  for (const [name, { accounts }] of Object.entries(world.subscriptions)) {
    const earlier = get(accounts, meter).credits.find(
      ({ transaction }) => transaction !== null && transaction === requested.transaction,
    );
    if (earlier !== undefined) return name === subscription ? { credit: earlier } : { status: 409 };
  }
  if (hasEnded(requested, world.now)) return { status: 400 };
  const account = get(get(world.subscriptions, subscription).accounts, meter);
  const { amount: issued, ...rest } = requested;
  give(world, account, { source: 'manual_adjustment', feature: null, issued, ...rest });
  return { credit: at(account.credits, account.credits.length - 1) };
}

/** Which credit: by its place on its account. */
export interface CreditPlace {
  readonly subscription: string;
  readonly meter: string;
  readonly place: number;
}

/** Takes back `requested`, or all that is left; what open holds were promised stays. */
export function takeBack(
  world: World,
  { subscription, meter, place }: CreditPlace,
  requested: number | null,
): { credit: Credit } | Refused {
  catchUp(world, subscription);
  const account = get(get(world.subscriptions, subscription).accounts, meter);
  const credit = at(account.credits, place);
  const rest = hasEnded(credit, world.now) ? 0 : restOf(credit);
  const amount = requested ?? rest;
  const isHolding = account.holds.some((each) => each.status === 'open' && !hasEnded(each, world.now));
  if (rest === 0 || amount > rest || (isHolding && amount > balanceOf(account, world.now))) return { status: 400 };
  bookEnds(world, account);
  credit.takenBack += amount;
  book(world, account, { type: 'take_back', amount: -amount, credit: place });
  return { credit };
}
