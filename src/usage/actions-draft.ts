import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { accountKeyText } from '../ledger/ledger.ts';
import { openAccounts } from '../ledger/store.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { findPrices } from './actions-prices.ts';
import { transactionKeyOf } from './store.ts';
import { type FoundSeries, findSeries, openSeries, type SeriesKey } from './store-series.ts';
import { holdRemembered, holdSubscriptions, recallSubscriptions } from './store-subscriptions.ts';
import type { Draft, Drafted, UsageAsk } from './usage-draft.ts';
import {
  type BillablePrice,
  checkProperties,
  type EventPath,
  type NewUsageEvent,
  referenceOf,
  requirePrice,
  requireSubscription,
  type UsageEvent,
  type UsageSubscription,
} from './usage-event.ts';

/** Does what is due for these subscriptions, so that what is recorded next meets them as they are now. */
export type CatchUp = (work: Work, subscriptionIds: readonly string[]) => Promise<void>;

/** What is asked for, checked. */
export interface Drafts {
  readonly asks: readonly Drafted[];
  /** The subscriptions, where they are remembered and nobody holds them. Null where they are held until the work ends. */
  readonly remembered: readonly UsageSubscription[] | null;
}

/** Checks what is asked for, as `draftUnheld` does, on subscriptions that stay held until the work ends. */
export async function draftAsks(work: Work, asks: readonly UsageAsk[], catchUp: CatchUp): Promise<readonly Drafted[]> {
  const drafts = await draftUnheld(work, asks, catchUp);
  if (drafts.remembered !== null) holdRemembered(work, drafts.remembered);
  return drafts.asks;
}

/**
 * Checks what is asked for, each ask by itself: one that is refused says why and stands in nobody's way. Where all is
 * remembered, it is for who goes on to have the database compare that. A constant number of statements, whatever is asked.
 */
export async function draftUnheld(work: Work, asks: readonly UsageAsk[], catchUp: CatchUp): Promise<Drafts> {
  const { subscriptions, ...held } = await findSubscriptions(work, asks, catchUp);
  let { remembered } = held;
  const targets = new Targets(subscriptions);
  const aimed = asks.map((ask) => attempt(ask, (event, path) => targets.of(event, path)));
  const priceOf = await findPrices(work, targets.all());
  const counters = new Counters(work);
  const counted = asks.map((ask, index) =>
    then(at(aimed, index), (aims) =>
      aims.map((target, position) => {
        target.counter ??= counters.of(target, requirePrice(target.event, ask.pathOf(position), priceOf(target)));
        return target.counter;
      }),
    ),
  );
  await findCounted(work, counters.all());
  const checked = asks.map((ask, index) =>
    then(at(counted, index), (leads) => leads.map((counter, position) => checkedEvent(ask, position, counter))),
  );
  const used = new Set(checked.flatMap((each) => passed(each).map(({ counter }) => counter)));
  const missing = [...used].filter((counter) => foundOf(counter).series === undefined);
  if (missing.length > 0 && remembered !== null) {
    holdRemembered(work, remembered);
    remembered = null;
  }
  await openMissing(work, missing);
  const drafted = asks.map((ask, index) => ({
    ask,
    drafts: then(at(checked, index), (events) => events.map((event) => toDraft(work, event))),
  }));
  return { asks: drafted, remembered };
}

type Outcome<Value> = readonly Value[] | Problem;

function passed<Value>(outcome: Outcome<Value>): readonly Value[] {
  return outcome instanceof Problem ? [] : outcome;
}

function attempt<Value>(ask: UsageAsk, act: (event: NewUsageEvent, path: EventPath) => Value): Outcome<Value> {
  return then(ask.events, (events) => events.map((event, position) => act(event, ask.pathOf(position))));
}

/** Goes on with what has passed; a refusal stays one. */
function then<Value, Next>(outcome: Outcome<Value>, act: (values: readonly Value[]) => readonly Next[]): Outcome<Next> {
  if (outcome instanceof Problem) return outcome;
  try {
    return act(outcome);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index];
  assert(value !== undefined, 'one answer for each that was asked');
  return value;
}

/** The subscriptions of the events: as they are remembered, or held as they are now. One statement where all exist and nothing is due. */
async function findSubscriptions(work: Work, asks: readonly UsageAsk[], catchUp: CatchUp) {
  const ids = [...new Set(asks.flatMap(({ events }) => events.map((event) => event.subscriptionId)))];
  const remembered = recallSubscriptions(work, ids);
  const found = remembered ?? (await holdSubscriptions(work, ids));
  const subscriptions = new Map(found.map((subscription) => [subscription.id, subscription]));
  const others = ids.filter((id) => !subscriptions.has(id));
  if (others.length > 0) {
    await catchUp(work, others);
    for (const each of await holdSubscriptions(work, others)) subscriptions.set(each.id, each);
  }
  return { subscriptions, remembered };
}

/** A subscription and what was used of it, as events name them: looked at once for all that name the same. */
interface Target {
  /** One of them. */
  readonly event: NewUsageEvent;
  readonly subscription: UsageSubscription;
  counter?: Counter;
}

class Targets {
  readonly #subscriptions: ReadonlyMap<string, UsageSubscription>;
  readonly #targets = new Map<string, Target>();

  constructor(subscriptions: ReadonlyMap<string, UsageSubscription>) {
    this.#subscriptions = subscriptions;
  }

  of(event: NewUsageEvent, path: EventPath): Target {
    const { kind, value } = referenceOf(event);
    const text = `${event.subscriptionId} ${kind} ${value}`;
    const known = this.#targets.get(text);
    if (known !== undefined) return known;
    const subscription = requireSubscription(event, path, this.#subscriptions.get(event.subscriptionId));
    const target: Target = { event, subscription };
    this.#targets.set(text, target);
    return target;
  }

  all(): Target[] {
    return [...this.#targets.values()];
  }
}

/** A price of a subscription, and the series that counts its events. */
interface Counter {
  readonly subscription: UsageSubscription;
  readonly price: BillablePrice;
  readonly key: SeriesKey;
  found?: FoundSeries;
}

class Counters {
  readonly #now: Instant;
  readonly #counters = new Map<string, Counter>();

  constructor({ now }: Work) {
    this.#now = now;
  }

  of({ subscription }: Target, price: BillablePrice): Counter {
    // The price decides the meter, and a subscription has one period that is current.
    const text = `${subscription.id} ${price.priceId}`;
    const known = this.#counters.get(text);
    if (known !== undefined) return known;
    const { id: subscriptionId, currentBillingPeriodStart: start } = subscription;
    // Before a subscription starts there is no period to count in.
    const periodStart = start !== null && start <= this.#now ? start : null;
    const counter: Counter = { subscription, price, key: { subscriptionId, priceId: price.priceId, periodStart } };
    this.#counters.set(text, counter);
    return counter;
  }

  all(): Counter[] {
    return [...this.#counters.values()];
  }
}

async function findCounted(work: Work, counters: readonly Counter[]): Promise<void> {
  if (counters.length === 0) return;
  const found = await findSeries(
    work,
    counters.map(({ key }) => key),
  );
  for (const [index, counter] of counters.entries()) counter.found = at(found, index);
}

interface Checked {
  readonly event: NewUsageEvent;
  readonly path: EventPath;
  readonly counter: Counter;
  readonly propertiesText: string | null;
}

function checkedEvent(ask: UsageAsk, position: number, counter: Counter): Checked {
  const event = at(ask.events, position);
  const path = ask.pathOf(position);
  const propertiesText = event.properties === undefined ? null : JSON.stringify(event.properties);
  const { aggregationType } = counter.price;
  checkProperties(event, path, propertiesText, { aggregationType, billingPeriodId: foundOf(counter).billingPeriodId });
  return { event, path, counter, propertiesText };
}

function foundOf({ found }: Counter): FoundSeries {
  assert(found !== undefined, 'each was looked for');
  return found;
}

/** Opens series that have no event yet, and their accounts. */
async function openMissing(work: Work, missing: readonly Counter[]): Promise<void> {
  if (missing.length === 0) return;
  const wanted = missing.map((counter) => ({
    pricingModelId: counter.subscription.pricingModelId,
    customerId: counter.subscription.customerId,
    subscriptionId: counter.subscription.id,
    usageMeterId: counter.price.usageMeterId,
    priceId: counter.price.priceId,
    billingPeriodId: foundOf(counter).billingPeriodId,
  }));
  const accounts = await openAccounts(work, wanted);
  const opened = wanted.map((each) => {
    const ledgerAccountId = accounts.get(accountKeyText(each));
    assert(ledgerAccountId !== undefined, 'the account is open');
    return { ...each, ledgerAccountId };
  });
  const ids = await openSeries(work, opened);
  for (const [index, counter] of missing.entries()) {
    const { billingPeriodId, ledgerAccountId } = at(opened, index);
    counter.found = { billingPeriodId, series: { id: at(ids, index), ledgerAccountId } };
  }
}

function toDraft(work: Work, { event, path, counter, propertiesText }: Checked): Draft {
  const { subscription, price } = counter;
  const { billingPeriodId, series } = foundOf(counter);
  assert(series !== undefined, 'the series is open');
  const { transactionId, amount, usageDate = work.now, properties = {} } = event;
  const stored: UsageEvent = {
    id: newId('usageEvent'),
    createdAt: work.now,
    updatedAt: work.now,
    livemode: work.livemode,
    pricingModelId: subscription.pricingModelId,
    customerId: subscription.customerId,
    subscriptionId: subscription.id,
    usageMeterId: price.usageMeterId,
    priceId: price.priceId,
    billingPeriodId,
    transactionId,
    amount,
    usageDate,
    properties,
  };
  return {
    event: stored,
    path,
    price,
    propertiesText,
    transactionKey: transactionKeyOf(work.environmentId, price.usageMeterId, transactionId),
    seriesId: series.id,
    ledgerAccountId: series.ledgerAccountId,
    revision: subscription.revision,
  };
}
