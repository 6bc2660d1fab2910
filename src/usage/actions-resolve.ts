import assert from 'node:assert/strict';
import { LRUCache } from 'lru-cache';
import { nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { accountKeyText } from './ledger.ts';
import { type KeyScope, type PriceReference, readScope, resolvePrices } from './store.ts';
import { openAccounts } from './store-accounts.ts';
import { findSeries, openSeries, type SeriesKey, seriesText } from './store-series.ts';
import { lockSubscriptions } from './store-subscriptions.ts';
import type { Draft, FoundSeries, Resolve } from './usage-draft.ts';
import {
  isUsable,
  type NewUsageEvent,
  type ReferenceKind,
  referenceOf,
  requirePrice,
  requireSubscription,
  type UsagePrice,
  type UsageSubscription,
} from './usage-event.ts';

/** Prices by kind of reference, then by its value. */
type PricesByReference = Readonly<Record<ReferenceKind, Map<string, UsagePrice>>>;

/** A subscription as it was read last, with its prices and its series. */
interface KnownSubscription {
  readonly environmentId: number;
  readonly subscription: UsageSubscription;
  /** The next instant at which something is due for it or its first period begins. */
  readonly validUntil: Instant;
  readonly prices: PricesByReference;
  readonly series: Map<string, FoundSeries>;
}

/**
 * The subscriptions, prices and series that one process has read. None of it is a balance, and all of it has a version
 * that the database compares when usage is recorded: the subscription's revision and the pricing model's catalog version.
 */
export class UsageCache {
  readonly #scopes = new LRUCache<string, KeyScope>({ max: 10_000 });
  readonly #subscriptions = new LRUCache<string, KnownSubscription>({ max: 100_000 });
  readonly #prices = new LRUCache<string, PricesByReference>({ max: 2_000 });

  /** The environment of an API key. Null where the key is not valid. */
  async scopeOf(database: Database, apiKeyHash: Buffer): Promise<KeyScope | null> {
    const key = nameOfHash(apiKeyHash);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const scope = await readScope(database, apiKeyHash);
    if (scope !== null) this.#scopes.set(key, scope);
    return scope;
  }

  pricesOf({ pricingModelId, catalogVersion }: UsageSubscription): PricesByReference {
    const key = `${pricingModelId} ${catalogVersion}`;
    const known = this.#prices.get(key);
    if (known !== undefined) return known;
    const prices = { priceId: new Map(), priceSlug: new Map(), usageMeterId: new Map(), usageMeterSlug: new Map() };
    this.#prices.set(key, prices);
    return prices;
  }

  /** Keeps what was read. Series that are not open yet are read again. */
  keep(environmentId: number, now: Instant, subscription: UsageSubscription, series: ReadonlyMap<string, FoundSeries>) {
    if (!isUsable(subscription)) return;
    const { id, revision, catalogVersion, dueAt, currentBillingPeriodStart: start } = subscription;
    const before = this.#subscriptions.get(id);
    const isSame =
      before?.subscription.revision === revision &&
      before.subscription.catalogVersion === catalogVersion &&
      before.validUntil > now;
    const open = isSame ? before.series : new Map<string, FoundSeries>();
    for (const [priceId, found] of series) if (found.series !== undefined) open.set(priceId, { ...found });
    if (isSame) return;
    const startsAt = start !== null && start > now ? start : Number.POSITIVE_INFINITY;
    const validUntil = Math.min(dueAt ?? Number.POSITIVE_INFINITY, startsAt);
    const prices = this.pricesOf(subscription);
    this.#subscriptions.set(id, { environmentId, subscription, validUntil, prices, series: open });
  }

  /** Resolves events from what is known. */
  resolver({ environmentId, pricingModelId }: KeyScope, now: Instant): Resolve {
    return (event, path) => {
      const known = this.#subscriptions.get(event.subscriptionId);
      if (known === undefined || known.environmentId !== environmentId || known.validUntil <= now) return null;
      const { subscription, prices, series } = known;
      if (pricingModelId !== null && subscription.pricingModelId !== pricingModelId) return null;
      const { kind, value } = referenceOf(event);
      const found = prices[kind].get(value);
      if (found === undefined) return null;
      const price = requirePrice(event, path, found);
      const ofPrice = series.get(price.priceId);
      return ofPrice === undefined ? null : { subscription, price, found: ofPrice };
    };
  }

  /** Drops what may be out of date. */
  forget(apiKeyHash: Buffer, subscriptionIds: Iterable<string>): void {
    this.#scopes.delete(nameOfHash(apiKeyHash));
    for (const id of subscriptionIds) this.#subscriptions.delete(id);
  }
}

/** Performs what is due for these subscriptions. */
export type CatchUp = (work: Work, subscriptionIds: readonly string[]) => Promise<void>;

/**
 * Reads the records that events refer to, and keeps them in the cache. The subscriptions stay locked until the work ends:
 * a renewal or an end waits for the usage. At most five statements where nothing is due.
 */
export async function resolveEvents(
  work: Work,
  events: readonly NewUsageEvent[],
  { catchUp, cache }: { readonly catchUp: CatchUp; readonly cache: UsageCache },
): Promise<Resolve> {
  const subscriptions = await lockCurrentSubscriptions(work, events, catchUp);
  const prices = await findPrices(work, events, { subscriptions, cache });
  const keys = new Map<string, SeriesKey>();
  for (const event of events) {
    const subscription = subscriptions.get(event.subscriptionId);
    const price = subscription && prices(event, subscription);
    if (!subscription || typeof price?.priceId !== 'string') continue;
    const { id: subscriptionId, currentBillingPeriodStart: start } = subscription;
    // Before a subscription starts, there is no period to count in.
    const periodStart = start !== null && start <= work.now ? start : null;
    const key = { subscriptionId, priceId: price.priceId, periodStart };
    keys.set(seriesText(key), key);
  }
  const series = await findSeries(work, [...keys.values()]);
  const ofSubscription = new Map<string, Map<string, FoundSeries>>();
  for (const [text, { subscriptionId, priceId }] of keys) {
    const found = series.get(text);
    assert(found !== undefined, 'each series was looked for');
    const ofPrices = ofSubscription.get(subscriptionId) ?? new Map<string, FoundSeries>();
    ofSubscription.set(subscriptionId, ofPrices.set(priceId, found));
  }
  for (const [id, found] of ofSubscription) {
    const subscription = subscriptions.get(id);
    if (subscription !== undefined) cache.keep(work.environmentId, work.now, subscription, found);
  }
  return (event, path) => {
    const subscription = requireSubscription(event, path, subscriptions.get(event.subscriptionId));
    const price = requirePrice(event, path, prices(event, subscription));
    const found = series.get(seriesText({ subscriptionId: subscription.id, priceId: price.priceId }));
    assert(found !== undefined, 'each series was looked for');
    return { subscription, price, found };
  };
}

/** The subscriptions of events, locked, by id. Due work of a subscription is done first. */
async function lockCurrentSubscriptions(
  work: Work,
  events: readonly NewUsageEvent[],
  catchUp: CatchUp,
): Promise<ReadonlyMap<string, UsageSubscription>> {
  const ids = [...new Set(events.map((event) => event.subscriptionId))];
  const subscriptions = new Map((await lockSubscriptions(work, ids)).map((each) => [each.id, each]));
  if (subscriptions.size < ids.length) {
    const others = ids.filter((id) => !subscriptions.has(id));
    await catchUp(work, others);
    for (const each of await lockSubscriptions(work, others)) subscriptions.set(each.id, each);
  }
  return subscriptions;
}

/** The prices that events refer to. One statement for those that the cache does not have. */
async function findPrices(
  work: Work,
  events: readonly NewUsageEvent[],
  { subscriptions, cache }: { subscriptions: ReadonlyMap<string, UsageSubscription>; cache: UsageCache },
): Promise<(event: NewUsageEvent, subscription: UsageSubscription) => UsagePrice | undefined> {
  const missing = new Map<string, { reference: PriceReference; prices: PricesByReference }>();
  for (const event of events) {
    const subscription = subscriptions.get(event.subscriptionId);
    if (subscription === undefined || !isUsable(subscription)) continue;
    const prices = cache.pricesOf(subscription);
    const { pricingModelId } = subscription;
    const { kind, value } = referenceOf(event);
    if (prices[kind].has(value)) continue;
    missing.set(`${pricingModelId} ${kind} ${value}`, { reference: { pricingModelId, kind, value }, prices });
  }
  if (missing.size > 0) {
    const requested = [...missing.values()];
    const found = await resolvePrices(
      work,
      requested.map(({ reference }) => reference),
    );
    for (const [index, { reference, prices }] of requested.entries()) {
      const price = found[index];
      if (price !== undefined) prices[reference.kind].set(reference.value, price);
    }
  }
  return (event, subscription) => {
    const { kind, value } = referenceOf(event);
    return cache.pricesOf(subscription)[kind].get(value);
  };
}

/** Opens the series and accounts that drafts need and that are missing. Answers the series that it opened. */
export async function openMissingSeries(work: Work, drafts: readonly Draft[]): Promise<ReadonlySet<FoundSeries>> {
  const missing = new Map<FoundSeries, Draft>();
  for (const draft of drafts) if (draft.found.series === undefined) missing.set(draft.found, draft);
  if (missing.size === 0) return new Set();
  const wanted = Array.from(missing.values(), ({ event, found }) => ({
    pricingModelId: event.pricingModelId,
    customerId: event.customerId,
    subscriptionId: event.subscriptionId,
    usageMeterId: event.usageMeterId,
    priceId: event.priceId,
    billingPeriodId: found.billingPeriodId,
  }));
  const accounts = await openAccounts(work, wanted);
  const opened = wanted.map((each) => {
    const ledgerAccountId = accounts.get(accountKeyText(each));
    assert(ledgerAccountId !== undefined, 'the account is open');
    return { ...each, ledgerAccountId };
  });
  const ids = await openSeries(work, opened);
  for (const [index, found] of [...missing.keys()].entries()) {
    const [id, series] = [ids[index], opened[index]];
    assert(id !== undefined && series !== undefined, 'one answer for each that was asked');
    found.series = { id, ledgerAccountId: series.ledgerAccountId };
  }
  return new Set(missing.keys());
}
