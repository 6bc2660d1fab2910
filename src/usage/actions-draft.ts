import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { findPrices } from './actions-prices.ts';
import { accountKeyText } from './ledger.ts';
import { transactionKeyOf } from './store.ts';
import { openAccounts } from './store-accounts.ts';
import {
  type FoundSeries,
  findSeries,
  openSeries,
  recallSeries,
  type Series,
  type SeriesKey,
  seriesText,
} from './store-series.ts';
import { holdRemembered, holdSubscriptions, recallSubscriptions } from './store-subscriptions.ts';
import type { Draft, Drafted, UsageAsk } from './usage-draft.ts';
import {
  type BillablePrice,
  checkProperties,
  type EventPath,
  type NewUsageEvent,
  requirePrice,
  requireSubscription,
  type UsageEvent,
  type UsagePrice,
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
  const aimed = asks.map((ask) =>
    then(ask.events, (events) => events.map((event, position) => aimOf(event, ask.pathOf(position), subscriptions))),
  );
  const priceOf = await findPrices(work, aimed.flatMap(passed));
  const priced = aimed.map((aims) => then(aims, (all) => all.map((aim) => pricedOf(work, aim, priceOf(aim)))));
  const others = await findSeries(
    work,
    priced.flatMap(passed).filter(({ known }) => known === undefined),
  );
  const checked = priced.map((leads) => then(leads, (all) => all.map((lead) => checkedOf(lead, others))));
  const missing = checked.flatMap(passed).filter(({ found }) => found.series === undefined);
  if (missing.length > 0 && remembered !== null) {
    holdRemembered(work, remembered);
    remembered = null;
  }
  const opened = await openMissing(work, missing);
  const drafted = asks.map((ask, index) => ({
    ask,
    drafts: then(at(checked, index), (events) => events.map((event) => toDraft(work, event, opened))),
  }));
  return { asks: drafted, remembered };
}

type Outcome<Value> = readonly Value[] | Problem;

function passed<Value>(outcome: Outcome<Value>): readonly Value[] {
  return outcome instanceof Problem ? [] : outcome;
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

/**
 * The subscriptions of the events: as they are remembered, or held as they are now. One statement where all exist and nothing is
 * due.
 */
async function findSubscriptions(work: Work, asks: readonly UsageAsk[], catchUp: CatchUp) {
  const ids = [...new Set(asks.flatMap(({ events }) => events.map((event) => event.subscriptionId)))];
  const remembered = recallSubscriptions(work, ids);
  const found = remembered ?? (await holdSubscriptions(work, ids));
  const subscriptions = new Map(found.map((subscription) => [subscription.id, subscription]));
  if (subscriptions.size < ids.length) {
    const others = ids.filter((id) => !subscriptions.has(id));
    await catchUp(work, others);
    for (const each of await holdSubscriptions(work, others)) subscriptions.set(each.id, each);
  }
  return { subscriptions, remembered };
}

/** An event, and the subscription that it names. */
interface Aim {
  readonly event: NewUsageEvent;
  readonly path: EventPath;
  readonly subscription: UsageSubscription;
}

function aimOf(event: NewUsageEvent, path: EventPath, subscriptions: ReadonlyMap<string, UsageSubscription>): Aim {
  const subscription = requireSubscription(event, path, subscriptions.get(event.subscriptionId));
  return { event, path, subscription };
}

/** An event with the price that it is counted at, and the period that it is counted in. */
interface Priced extends Aim, SeriesKey {
  readonly price: BillablePrice;
  /** Its series, where that is remembered. */
  readonly known: FoundSeries | undefined;
}

function pricedOf({ now }: Work, { event, path, subscription }: Aim, found: UsagePrice | undefined): Priced {
  const price = requirePrice(event, path, found);
  const { id: subscriptionId, currentBillingPeriodStart: start } = subscription;
  // Before a subscription starts there is no period to count in.
  const periodStart = start !== null && start <= now ? start : null;
  const key = { subscriptionId, priceId: price.priceId, periodStart };
  return { event, path, subscription, price, known: recallSeries(key), ...key };
}

/** An event that passed every check, and where it goes. */
interface Checked {
  readonly lead: Priced;
  readonly found: FoundSeries;
  readonly propertiesText: string | null;
}

function checkedOf(lead: Priced, others: ReadonlyMap<string, FoundSeries>): Checked {
  const { event, path, price, known: found = others.get(seriesText(lead)) } = lead;
  assert(found !== undefined, 'each was looked for');
  const propertiesText = event.properties === undefined ? null : JSON.stringify(event.properties);
  const { aggregationType } = price;
  checkProperties(event, path, propertiesText, { aggregationType, billingPeriodId: found.billingPeriodId });
  return { lead, found, propertiesText };
}

/** Opens series that have no event yet, and their accounts. Answers them by `seriesText`. */
async function openMissing(work: Work, missing: readonly Checked[]): Promise<ReadonlyMap<string, Series>> {
  if (missing.length === 0) return new Map();
  const wanted = new Map(
    missing.map(({ lead, found }) => [
      seriesText(lead),
      {
        pricingModelId: lead.subscription.pricingModelId,
        customerId: lead.subscription.customerId,
        subscriptionId: lead.subscriptionId,
        usageMeterId: lead.price.usageMeterId,
        priceId: lead.priceId,
        billingPeriodId: found.billingPeriodId,
      },
    ]),
  );
  const accounts = await openAccounts(work, [...wanted.values()]);
  const opened = Array.from(wanted.values(), (each) => {
    const ledgerAccountId = accounts.get(accountKeyText(each));
    assert(ledgerAccountId !== undefined, 'the account is open');
    return { ...each, ledgerAccountId };
  });
  const ids = await openSeries(work, opened);
  return new Map(
    Array.from(wanted.keys(), (text, index) => {
      const { ledgerAccountId } = at(opened, index);
      return [text, { id: at(ids, index), ledgerAccountId }];
    }),
  );
}

function toDraft(work: Work, { lead, found, propertiesText }: Checked, opened: ReadonlyMap<string, Series>): Draft {
  const { event, path, subscription, price } = lead;
  const { billingPeriodId } = found;
  const series = found.series ?? opened.get(seriesText(lead));
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
    isFirst: found.series === undefined,
    revision: subscription.revision,
  };
}
