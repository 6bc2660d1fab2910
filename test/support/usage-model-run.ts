import assert from 'node:assert/strict';
import type { Answer, Body, TestApp } from './harness.ts';
import { type Act, type EventStep, references } from './usage-model-steps.ts';
import type { ModelWorld } from './usage-model-world.ts';
import {
  accountOf,
  at,
  balanceOf,
  type Credit,
  catchUp,
  collect,
  get,
  hasEnded,
  isRefused,
  type NewEvent,
  pass,
  type Refused,
  restOf,
  type StoredEvent,
  takePictures,
  type World,
} from './usage-oracle.ts';
import * as oracleOf from './usage-oracle-requests.ts';

/** What the run remembers of the service beside the oracle's world. */
export interface Known extends ModelWorld {
  oracle: World;
  /** The ids of holds, by subscription and meter, in the order of their places. */
  readonly holdIds: Map<string, string[]>;
  /** The ids of credits, by subscription and meter, as the list told them last. */
  readonly creditIds: Map<string, string[]>;
  /** Transactions that were refused, to be tried again. */
  readonly freeTransactions: string[];
  /** Each event as it was first answered, by usage meter and transactionId. */
  readonly told: Map<string, Body>;
  /** By subscription and the beginning of a billing period. */
  readonly periodIds: Map<string, string>;
}

export function placeText(subscription: string, meter: string): string {
  return `${subscription}/${meter}`;
}

export const meters = ['calls', 'users'] as const;
const pricesOf = { calls: ['call', 'call-in-batch'], users: ['user', 'users_no_charge'] } as const;

function pick<Value>(values: readonly Value[], which: number): Value | undefined {
  return values[which % values.length];
}

function nameOf(known: Known, index: number): string {
  const name = Object.keys(known.oracle.subscriptions)[index];
  assert(name !== undefined);
  return name;
}

export function idOf({ ids }: ModelWorld, name: string): string {
  const id = ids[name];
  assert(id !== undefined, `something is called ${name}`);
  return id;
}

function meterOf({ oracle }: Known, price: string): string {
  return get(oracle.prices, price).meter;
}

let transactions = 0;
function newTransaction(): string {
  transactions += 1;
  return `transaction ${transactions}`;
}

/** An event as the oracle takes it, and as it is sent to the service. */
interface Meant {
  readonly event: NewEvent;
  readonly sent: Body;
}

function meantBy(known: Known, steps: readonly EventStep[]): Meant[] {
  const meant: Meant[] = [];
  for (const given of steps) meant.push(eventOf(known, given, meant));
  return meant;
}

function eventOf(known: Known, given: EventStep, others: readonly Meant[]): Meant {
  const { oracle } = known;
  const repeated =
    given.again === null ? undefined : pick([...oracle.events, ...others.map(({ event }) => event)], given.again.which);
  const same = repeated === undefined ? 'nothing' : given.again?.same;
  const meter = meters[given.meter] ?? 'calls';
  const subscription = same === 'subscription and price' ? repeated?.subscription : nameOf(known, given.subscription);
  const price = repeated && same !== 'nothing' ? repeated.price : pricesOf[meter][given.second ? 1 : 0];
  const transaction = repeated?.transaction ?? known.freeTransactions.pop() ?? newTransaction();
  const usageDate = oracle.now - (given.minutesAgo ?? 0) * 60_000;
  const properties = given.turned ? { team: 'a', user: given.user } : { user: given.user, team: 'a' };
  assert(subscription !== undefined);
  const event = { subscription, price, transaction, amount: given.amount, usageDate };
  const sent = {
    subscriptionId: idOf(known, subscription),
    transactionId: transaction,
    amount: given.amount,
    properties,
    ...(given.minutesAgo === null ? {} : { usageDate }),
    ...referenceOf(known, price, given.by),
  };
  return { event: { ...event, properties: `a ${given.user}` }, sent };
}

/** One of the ways to name a price: the default one of a meter by that too. */
function referenceOf(known: Known, price: string, by: number): object {
  const meter = meterOf(known, price);
  const isDefault = price === 'call' || price === 'user';
  const kind = references[isDefault ? by : 2 + (by % 2)] ?? 'priceId';
  const value = {
    usageMeterSlug: meter,
    usageMeterId: idOf(known, meter),
    priceSlug: price,
    priceId: idOf(known, price),
  };
  return { [kind]: value[kind] };
}

/**
 * What the service and the oracle do of one request. Where it is refused, the oracle forgets it; what was due of the
 * subscriptions by then may have been done all the same, so there it follows the service.
 */
async function ask<Expected extends object>(
  app: TestApp,
  known: Known,
  names: readonly string[],
  request: () => Promise<Answer>,
  expect: (world: World) => Expected | Refused,
): Promise<{ expected: Expected; body: Body } | null> {
  const before = structuredClone(known.oracle);
  const expected = expect(known.oracle);
  const { status, body } = await request();
  // What was due is charged by whoever did it, or else by its job. A job left over would settle a late payment later.
  await app.runJobs({ all: true });
  if (isRefused(expected)) {
    assert.equal(status, expected.status, JSON.stringify(body));
    if (expected.balance !== undefined) assert.equal(body.usageBalance.availableBalance, expected.balance);
    known.oracle = before;
    for (const name of new Set(names)) if (isBehind(before, [name])) await follow(known, name);
  } else assert.equal(status, 200, JSON.stringify(body));
  collect(known.oracle, { late: false });
  return isRefused(expected) ? null : { expected, body };
}

function isBehind({ subscriptions, now }: World, names: readonly string[]): boolean {
  return names.some((name) => get(subscriptions, name).end <= now);
}

async function follow(known: Known, name: string): Promise<void> {
  const { subscription } = await known.get(`/subscriptions/${idOf(known, name)}`);
  const followed = get(known.oracle.subscriptions, name);
  if (subscription.currentBillingPeriodStart === followed.start) return;
  catchUp(known.oracle, name);
  assert.equal(followed.start, subscription.currentBillingPeriodStart, 'all that was due is done, or nothing');
}

/** The event is answered as it was stored: a repeat as it was answered first, to the letter. */
function checkEvent(known: Known, answered: Body, stored: StoredEvent): void {
  const meter = meterOf(known, stored.price);
  const key = `${meter} ${stored.transaction}`;
  const first = known.told.get(key);
  if (first !== undefined) {
    assert.deepEqual(answered, first);
    return;
  }
  known.told.set(key, answered);
  const period = `${stored.subscription} ${stored.period}`;
  const periodId = known.periodIds.get(period) ?? answered.billingPeriodId;
  known.periodIds.set(period, periodId);
  assert.equal(new Set(known.periodIds.values()).size, known.periodIds.size, 'each billing period has its id');
  const { subscriptionId, usageMeterId, priceId, transactionId, amount, usageDate, createdAt, billingPeriodId } =
    answered;
  assert.deepEqual(
    { subscriptionId, usageMeterId, priceId, transactionId, amount, usageDate, createdAt, billingPeriodId },
    {
      subscriptionId: idOf(known, stored.subscription),
      usageMeterId: idOf(known, meter),
      priceId: idOf(known, stored.price),
      transactionId: stored.transaction,
      amount: stored.amount,
      usageDate: stored.usageDate,
      createdAt: known.oracle.now,
      billingPeriodId: periodId,
    },
  );
}

/** Does one thing in the service and in the oracle, and compares what is answered. */
export async function take(app: TestApp, known: Known, act: Act): Promise<void> {
  switch (act.does) {
    case 'record':
      await record(app, known, [act.event], async (events) => {
        const { status, body, headers } = await known.request('POST', '/usage-events', { usageEvent: events[0] });
        return { status, headers, body: status === 200 ? { usageEvents: [body.usageEvent] } : body };
      });
      break;
    case 'bulk':
      await record(app, known, act.events, (usageEvents) =>
        known.request('POST', '/usage-events/bulk', { usageEvents }),
      );
      break;
    case 'consume':
      await consume(app, known, act);
      break;
    case 'grant':
      await grant(app, known, act);
      break;
    case 'takeBack':
      await takeBack(app, known, act);
      break;
    case 'hold':
      await hold(app, known, act);
      break;
    case 'settle':
    case 'release':
      await close(app, known, act);
      break;
    case 'pass':
      await passTime(app, known, act.ms);
      break;
    case 'outage':
      known.oracle.now += act.ms;
      await known.setClock(known.oracle.now);
      break;
    default:
      act satisfies never;
  }
  takePictures(known.oracle);
}

async function passTime(app: TestApp, known: Known, ms: number): Promise<void> {
  const now = known.oracle.now + ms;
  const { status } = await known.request('PUT', '/test-clock', { testClock: { now } });
  assert.equal(status, 200);
  await app.runJobs({ all: true });
  pass(known.oracle, now);
}

type Amount = { readonly amount: number; readonly fits: number | null };
type AuditContext<Kind extends Act['does']> = Extract<Act, { does: Kind }>;

/** Transactions of which nothing was stored. */
function setFree(known: Known, events: readonly NewEvent[]): void {
  const stored = new Set(known.oracle.events.map(({ transaction }) => transaction));
  known.freeTransactions.push(...events.map(({ transaction }) => transaction).filter((each) => !stored.has(each)));
}

async function record(
  app: TestApp,
  known: Known,
  given: readonly EventStep[],
  request: (events: Body[]) => Promise<Answer>,
): Promise<void> {
  const meant = meantBy(known, given);
  const events = meant.map(({ event }) => event);
  const names = events.map(({ subscription }) => subscription);
  const send = () => request(meant.map(({ sent }) => sent));
  const done = await ask(app, known, names, send, (world) => oracleOf.record(world, events));
  if (done === null) return setFree(known, events);
  assert.equal(done.body.usageEvents.length, events.length);
  for (const [index, stored] of done.expected.events.entries()) checkEvent(known, done.body.usageEvents[index], stored);
}

/** The amount, or where it is to fit, what that balance is as far as anybody has lived, or one more. */
function amountOf(
  known: Known,
  { subscription, price }: { subscription: string; price: string },
  given: Amount,
): number {
  const balance = balanceOf(accountOf(known.oracle, subscription, meterOf(known, price)), known.oracle.now);
  return given.fits === null || balance <= 0 ? given.amount : balance + given.fits;
}

async function consume(app: TestApp, known: Known, given: AuditContext<'consume'>): Promise<void> {
  const meant = eventOf(known, given.event, []);
  const amount = amountOf(known, meant.event, { amount: given.event.amount, fits: given.fits });
  const event = { ...meant.event, amount };
  const request = () => known.request('POST', '/usage-events/consume', { usageEvent: { ...meant.sent, amount } });
  const done = await ask(app, known, [event.subscription], request, (world) => oracleOf.consume(world, event));
  if (done === null) return setFree(known, [event]);
  checkEvent(known, done.body.usageEvent, done.expected.event);
  assert.equal(done.body.usageBalance.availableBalance, done.expected.balance);
}

async function grant(app: TestApp, known: Known, given: AuditContext<'grant'>): Promise<void> {
  const [subscription, meter] = [nameOf(known, given.subscription), meters[given.meter] ?? 'calls'];
  const { amount, priority } = given;
  const expiresAt = given.lastsMs === null ? null : known.oracle.now + given.lastsMs;
  const transaction = given.transaction === null ? null : `grant ${given.transaction}`;
  const usageCredit = {
    subscriptionId: idOf(known, subscription),
    usageMeterSlug: meter,
    amount,
    priority,
    expiresAt,
    transactionId: transaction,
  };
  const requested = { subscription, meter, amount, priority: priority ?? 100, expiresAt, transaction };
  const request = () => known.request('POST', '/usage-credits', { usageCredit });
  const done = await ask(app, known, [subscription], request, (world) => oracleOf.grant(world, requested));
  if (done !== null) checkCredit(known, done.body.usageCredit, done.expected.credit);
}

/** All credits or holds, by their places on the accounts. */
function places(known: Known, ids: ReadonlyMap<string, readonly string[]>): oracleOf.HoldPlace[] {
  return Object.keys(known.oracle.subscriptions).flatMap((subscription) =>
    meters.flatMap((meter) =>
      (ids.get(placeText(subscription, meter)) ?? []).map((id, place) => ({ subscription, meter, place, id })),
    ),
  );
}

async function takeBack(app: TestApp, known: Known, { which, any, amount }: AuditContext<'takeBack'>): Promise<void> {
  const all = places(known, known.creditIds);
  const usable = all.filter(({ subscription, meter, place }) => {
    const credit = at(accountOf(known.oracle, subscription, meter).credits, place);
    return restOf(credit) > 0 && !hasEnded(credit, known.oracle.now);
  });
  const place = pick(any || usable.length === 0 ? all : usable, which);
  assert(place !== undefined, 'there are credits from the start');
  const body = amount === null ? {} : { amount };
  const request = () => known.request('POST', `/usage-credits/${place.id}/take-back`, body);
  const done = await ask(app, known, [place.subscription], request, (world) => oracleOf.takeBack(world, place, amount));
  if (done !== null) checkCredit(known, done.body.usageCredit, done.expected.credit);
}

function checkCredit(known: Known, answered: Body, credit: Credit): void {
  const { issuedAmount, appliedAmount, takenBackAmount, priority, expiresAt, remainingAmount } = answered;
  assert.deepEqual(
    { issuedAmount, appliedAmount, takenBackAmount, priority, expiresAt, remainingAmount },
    {
      issuedAmount: credit.issued,
      appliedAmount: credit.applied,
      takenBackAmount: credit.takenBack,
      priority: credit.priority,
      expiresAt: credit.expiresAt,
      remainingAmount: hasEnded(credit, known.oracle.now) ? 0 : restOf(credit),
    },
  );
}

async function hold(app: TestApp, known: Known, given: AuditContext<'hold'>): Promise<void> {
  const [subscription, meter] = [nameOf(known, given.subscription), meters[given.meter] ?? 'calls'];
  const price = pricesOf[meter][given.second ? 1 : 0];
  const expiresAt = known.oracle.now + given.lastsMs;
  const amount = amountOf(known, { subscription, price }, given);
  // `meter` is its id or slug.
  const named = given.second ? { priceId: idOf(known, price) } : { meter: pick([meter, idOf(known, meter)], amount) };
  const body = { hold: { subscriptionId: idOf(known, subscription), amount, expiresAt, ...named } };
  const requested = { subscription, price, amount, expiresAt };
  const request = () => known.request('POST', '/holds', body);
  const done = await ask(app, known, [subscription], request, (world) => oracleOf.hold(world, requested));
  if (done === null) return;
  const place = placeText(subscription, meter);
  known.holdIds.set(place, [...(known.holdIds.get(place) ?? []), done.body.hold.id]);
  assert.equal(done.body.usageBalance.availableBalance, done.expected.balance);
}

async function close(app: TestApp, known: Known, act: AuditContext<'settle' | 'release'>): Promise<void> {
  const all = places(known, known.holdIds);
  const heldAt = (place: oracleOf.HoldPlace) =>
    at(accountOf(known.oracle, place.subscription, place.meter).holds, place.place);
  const open = all.filter((place) => heldAt(place).status === 'open');
  const place = pick(act.any || open.length === 0 ? all : open, act.which);
  if (place === undefined) return;
  const { amount: held } = heldAt(place);
  const amounts = { nothing: 0, less: Math.floor(held / 2), all: held, more: held + 7 };
  const amount = act.does === 'settle' ? amounts[act.used] : null;
  const request = () =>
    known.request('POST', `/holds/${place.id}/${act.does}`, amount === null ? undefined : { amount });
  const done = await ask(app, known, [place.subscription], request, (world) =>
    amount === null ? oracleOf.releaseHold(world, place) : oracleOf.settleHold(world, place, amount),
  );
  if (done === null) return;
  assert.equal(done.body.usageBalance.availableBalance, done.expected.balance);
  if (done.expected.event !== null) checkEvent(known, done.body.usageEvent, done.expected.event);
  else assert.equal(done.body.usageEvent ?? null, null);
}
