import assert from 'node:assert/strict';
import { Problem } from '../kernel/problem.ts';
import { accountKeyText } from '../ledger/ledger.ts';
import { openAccounts } from '../ledger/store.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { findPrices } from './actions-prices.ts';
import { holdSubscriptions, transactionKeyOf } from './store.ts';
import { type FoundSeries, findSeries, openSeries, type Series, type SeriesKey } from './store-series.ts';
import type { Draft, Drafted, UsageAsk } from './usage-draft.ts';
import {
  type BillablePrice,
  checkProperties,
  type EventPath,
  type NewUsageEvent,
  requirePrice,
  requireSubscription,
  type UsageEvent,
  type UsageSubscription,
} from './usage-event.ts';

/** Does what is due for these subscriptions, so that what is recorded next meets them as they are now. */
export type CatchUp = (work: Work, subscriptionIds: readonly string[]) => Promise<void>;

/**
 * Checks what is asked for, each ask by itself: one that is refused says why and stands in nobody's way. Subscriptions
 * stay held until the work ends. A constant number of statements, whatever is asked.
 */
export async function draftAsks(work: Work, asks: readonly UsageAsk[], catchUp: CatchUp): Promise<Drafted[]> {
  const subscriptions = await holdAll(work, asks, catchUp);
  const found = asks.map((ask) => attempt(ask, (event, path) => subscribed(event, path, subscriptions)));
  const priceOf = await findPrices(work, found.flatMap(passed));
  const priced = asks.map((_, index) =>
    then(at(found, index), (events) =>
      events.map(({ event, subscription, path }) => {
        const price = requirePrice(event, path, priceOf(event, subscription));
        return { event, subscription, path, price, key: seriesKey(work, subscription, price) };
      }),
    ),
  );
  const series = await seriesOf(work, priced.flatMap(passed));
  const checked = priced.map((each) =>
    then(each, (events) => events.map((event) => ({ ...event, ...checkedEvent(event, series) }))),
  );
  await openMissing(work, checked.flatMap(passed), series);
  const booking = subscriptions.values().next().value?.booking ?? 0;
  return asks.map((ask, index) => ({
    ask,
    drafts: then(at(checked, index), (events) => events.map((event) => toDraft(work, booking, event, series))),
  }));
}

interface Subscribed {
  readonly event: NewUsageEvent;
  readonly path: EventPath;
  readonly subscription: UsageSubscription;
}

interface Priced extends Subscribed {
  readonly price: BillablePrice;
  readonly key: SeriesKey;
}

interface Checked extends Priced {
  readonly propertiesText: string | null;
  readonly billingPeriodId: string | null;
}

type Outcome<Value> = readonly Value[] | Problem;

function passed<Value>(outcome: Outcome<Value>): readonly Value[] {
  return outcome instanceof Problem ? [] : outcome;
}

function attempt(ask: UsageAsk, act: (event: NewUsageEvent, path: EventPath) => Subscribed): Outcome<Subscribed> {
  return then([ask], ([each]) => {
    assert(each !== undefined);
    return each.events.map((event, index) => act(event, each.pathOf(index)));
  });
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

/** The subscriptions of the events as they are now. Where nothing is due, and all exist, one statement. */
async function holdAll(work: Work, asks: readonly UsageAsk[], catchUp: CatchUp) {
  const ids = [...new Set(asks.flatMap(({ events }) => events.map((event) => event.subscriptionId)))];
  const found = await holdSubscriptions(work, ids);
  const byId = new Map(found.map((subscription) => [subscription.id, subscription]));
  const others = ids.filter((id) => !byId.has(id));
  if (others.length === 0) return byId;
  await catchUp(work, others);
  for (const subscription of await holdSubscriptions(work, others)) byId.set(subscription.id, subscription);
  return byId;
}

function subscribed(
  event: NewUsageEvent,
  path: EventPath,
  subscriptions: ReadonlyMap<string, UsageSubscription>,
): Subscribed {
  return { event, path, subscription: requireSubscription(event, path, subscriptions.get(event.subscriptionId)) };
}

function seriesKey(work: Work, { id, currentBillingPeriodStart: start }: UsageSubscription, price: BillablePrice) {
  // Before a subscription starts there is no period to count in.
  const periodStart = start !== null && start <= work.now ? start : null;
  return { subscriptionId: id, priceId: price.priceId, periodStart };
}

type SeriesByKey = Map<string, FoundSeries>;

// The price decides the meter, and a subscription has one period that is current.
function keyText({ subscriptionId, priceId }: SeriesKey): string {
  return `${subscriptionId} ${priceId}`;
}

async function seriesOf(work: Work, events: readonly Priced[]): Promise<SeriesByKey> {
  const keys = new Map(events.map(({ key }) => [keyText(key), key]));
  const found = keys.size === 0 ? [] : await findSeries(work, [...keys.values()]);
  return new Map([...keys.keys()].map((text, index) => [text, at(found, index)]));
}

function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index];
  assert(value !== undefined, 'one answer for each that was asked');
  return value;
}

function found(series: SeriesByKey, key: SeriesKey): FoundSeries {
  const each = series.get(keyText(key));
  assert(each !== undefined, 'each key was looked for');
  return each;
}

function checkedEvent({ event, path, price, key }: Priced, series: SeriesByKey) {
  const { billingPeriodId } = found(series, key);
  const propertiesText = event.properties === undefined ? null : JSON.stringify(event.properties);
  checkProperties(event, path, propertiesText, { aggregationType: price.aggregationType, billingPeriodId });
  return { propertiesText, billingPeriodId };
}

/** Opens the series that have no event yet, and their accounts. Nothing when none is missing. */
async function openMissing(work: Work, events: readonly Checked[], series: SeriesByKey): Promise<void> {
  const missing = new Map<string, Checked>();
  for (const event of events) {
    if (found(series, event.key).series === undefined) missing.set(keyText(event.key), event);
  }
  if (missing.size === 0) return;
  const wanted = [...missing.values()].map(({ subscription, price, billingPeriodId }) => ({
    pricingModelId: subscription.pricingModelId,
    customerId: subscription.customerId,
    subscriptionId: subscription.id,
    usageMeterId: price.usageMeterId,
    priceId: price.priceId,
    billingPeriodId,
  }));
  const accounts = await openAccounts(work, wanted);
  const opened = wanted.map((each) => {
    const ledgerAccountId = accounts.get(accountKeyText(each));
    assert(ledgerAccountId !== undefined, 'the account is open');
    return { ...each, ledgerAccountId };
  });
  const ids = await openSeries(work, opened);
  for (const [index, { subscriptionId, priceId, billingPeriodId, ledgerAccountId }] of opened.entries()) {
    const id = at(ids, index);
    series.set(keyText({ subscriptionId, priceId, periodStart: null }), {
      billingPeriodId,
      series: { id, ledgerAccountId },
    });
  }
}

function toDraft(work: Work, booking: number, checked: Checked, allSeries: SeriesByKey): Draft {
  const { event, path, subscription, price, propertiesText, billingPeriodId } = checked;
  const series: Series | undefined = found(allSeries, checked.key).series;
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
    booking,
    transactionKey: transactionKeyOf(work.environmentId, price.usageMeterId, transactionId),
    seriesId: series.id,
    ledgerAccountId: series.ledgerAccountId,
  };
}
