import assert from 'node:assert/strict';
import { LRUCache } from 'lru-cache';
import { nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { type KeyEntry, RunAgain, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { accountKeyText } from './ledger.ts';
import { findEventMeters, type KeyScope, type PriceReference, readScope, resolvePrices, textOfName } from './store.ts';
import { openAccounts } from './store-accounts.ts';
import { findSeries, openSeries, type SeriesKey, seriesText } from './store-series.ts';
import { type FoundCustomer, listLate, lockSubscriptions, readCustomers } from './store-subscriptions.ts';
import type { Draft, FoundSeries, NamedCustomer, Resolution, Resolve } from './usage-draft.ts';
import {
  type Address,
  addressOf,
  choosePrice,
  type EventMeter,
  type EventPath,
  isUsable,
  type NewUsageEvent,
  type ReferenceKind,
  referenceOf,
  refuseCustomer,
  requireCustomer,
  requirePrice,
  requireSubscription,
  subscriptionsWithMeter,
  type UsagePrice,
  type UsagePrices,
  type UsageSubscription,
  usesOf,
} from './usage-event.ts';

/** Prices by kind of reference, then by its value. */
type PricesByReference = Readonly<Record<ReferenceKind, Map<string, UsagePrices>>> & {
  /** The meters that count events of a name. */
  readonly eventMeters: Map<string, readonly EventMeter[]>;
};

/** A subscription as it was read last, with its prices and its series. */
interface KnownSubscription {
  readonly environmentId: number;
  readonly subscription: UsageSubscription;
  /** The next instant at which something is due for it or its first period begins. */
  readonly validUntil: Instant;
  readonly prices: PricesByReference;
  readonly series: Map<string, FoundSeries>;
}

/** The part of a key's scope that decides which records it finds. */
type Sight = Pick<KeyScope, 'environmentId' | 'pricingModelId'>;

/**
 * The subscriptions, customers, prices and series that one process has read. None of it is a balance. All of it has a
 * version that the database compares when usage is recorded: a revision, a state or a catalog version.
 */
export class UsageCache {
  readonly #scopes: LRUCache<string, KeyScope>;
  readonly #subscriptions: LRUCache<string, KnownSubscription>;
  readonly #customers: LRUCache<string, FoundCustomer>;
  readonly #prices: LRUCache<string, PricesByReference>;
  /** Customers with an account in a pool that draws at the price. */
  readonly #pooled: LRUCache<string, true>;

  /** For that many events at once, or for all that a process records. A cache takes its whole memory when it is made. */
  constructor(events = 100_000) {
    // A request may hold none.
    const max = Math.max(events, 1);
    this.#scopes = new LRUCache({ max: Math.min(max, 10_000) });
    this.#subscriptions = new LRUCache({ max });
    this.#customers = new LRUCache({ max });
    this.#prices = new LRUCache({ max: Math.min(max, 10_000) });
    this.#pooled = new LRUCache({ max: Math.min(max, 10_000) });
  }

  /** The environment of an API key. Null where the key is not valid. */
  async scopeOf(database: Database, entry: KeyEntry): Promise<KeyScope | null> {
    const key = nameOfHash(entry.apiKeyHash);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const scope = await readScope(database, entry);
    if (scope !== null) this.#scopes.set(key, scope);
    return scope;
  }

  /** A usage meter has another price on each plan with a rate for it. */
  pricesOf(subscription: UsageSubscription): PricesByReference {
    const key = pricesKey(subscription);
    const known = this.#prices.get(key);
    if (known !== undefined) return known;
    const prices = {
      priceId: new Map(),
      priceSlug: new Map(),
      usageMeterId: new Map(),
      usageMeterSlug: new Map(),
      eventMeters: new Map(),
    };
    this.#prices.set(key, prices);
    return prices;
  }

  /** Keeps what was read. Series that are not open yet are read again. */
  keep(environmentId: number, now: Instant, subscription: UsageSubscription, series: ReadonlyMap<string, FoundSeries>) {
    if (!isUsable(subscription)) return;
    const known = this.#seriesOf(subscription, now);
    const open = known ?? new Map<string, FoundSeries>();
    for (const [priceId, found] of series) if (found.series !== undefined) open.set(priceId, { ...found });
    if (known !== null) return;
    const { id, dueAt, currentBillingPeriodStart: start } = subscription;
    const startsAt = start !== null && start > now ? start : Number.POSITIVE_INFINITY;
    const validUntil = Math.min(dueAt ?? Number.POSITIVE_INFINITY, startsAt);
    const prices = this.pricesOf(subscription);
    this.#subscriptions.set(id, { environmentId, subscription, validUntil, prices, series: open });
  }

  /** The open series of a price of a subscription that the caller has locked. */
  findSeries(subscription: UsageSubscription, priceId: string, now: Instant): FoundSeries | undefined {
    return this.#seriesOf(subscription, now)?.get(priceId);
  }

  /** The series of a subscription by price. Null where they may be those of another revision. */
  #seriesOf({ id, revision, catalogVersion }: UsageSubscription, now: Instant): Map<string, FoundSeries> | null {
    const known = this.#subscriptions.get(id);
    const isSame =
      known?.subscription.revision === revision &&
      known.subscription.catalogVersion === catalogVersion &&
      known.validUntil > now;
    return isSame ? known.series : null;
  }

  /**
   * Whether the customer is known to have an account in a pool that draws at the price. Such an account is never removed.
   * The first event after it opens fails the single statement once: its transaction keeps the customer.
   */
  hasPool(customerId: string): boolean {
    return this.#pooled.has(customerId);
  }

  keepPool(customerId: string): void {
    this.#pooled.set(customerId, true);
  }

  keepCustomer(sight: Sight, found: FoundCustomer): void {
    if (found.customer !== null && found.customer !== 'several') this.#customers.set(customerKey(sight, found), found);
  }

  /** Resolves events from what is known. */
  resolver(scope: KeyScope, now: Instant): Resolve {
    return (event, path) => {
      const address = addressOf(event);
      const customer = address.kind === 'subscriptionId' ? undefined : this.#customers.get(customerKey(scope, address));
      const resolve = (use: NewUsageEvent): Resolution | null => {
        const id = address.kind === 'subscriptionId' ? address.value : this.#choose(scope, customer, use, now);
        const known = id === null ? null : this.#find(scope, id, now);
        if (known === null) return null;
        const { subscription, prices, series } = known;
        const { kind, value } = referenceOf(use);
        const found = prices[kind].get(value);
        if (found === undefined) return null;
        const price = requirePrice(use, path, choosePrice(found, use));
        const ofPrice = series.get(price.priceId);
        return ofPrice === undefined ? null : { use, subscription, customer, price, found: ofPrice };
      };
      const resolutions: Resolution[] = [];
      for (const use of this.#usesOf(scope, customer, event, { path, now }) ?? [null]) {
        const resolution = use && resolve(use);
        if (resolution === null) return null;
        resolutions.push(resolution);
      }
      return resolutions;
    };
  }

  /** The uses of an event. Null where the meters that count it are not known without a query. */
  #usesOf(
    sight: Sight,
    known: FoundCustomer | undefined,
    event: NewUsageEvent,
    { path, now }: { path: EventPath; now: Instant },
  ): readonly NewUsageEvent[] | null {
    const { eventName } = event;
    if (typeof eventName !== 'string') return [event];
    const id = typeof event.subscriptionId === 'string' ? event.subscriptionId : currentOf(known, now)?.[0]?.id;
    const meters = id && this.#find(sight, id, now)?.prices.eventMeters.get(eventName);
    return meters ? usesOf(event, path, meters) : null;
  }

  #find({ environmentId, pricingModelId }: Sight, id: string, now: Instant): KnownSubscription | null {
    const known = this.#subscriptions.get(id);
    if (known === undefined || known.environmentId !== environmentId || known.validUntil <= now) return null;
    return pricingModelId !== null && known.subscription.pricingModelId !== pricingModelId ? null : known;
  }

  /** The subscription of a customer for the event. Null where it is not known without a query, or there is not one. */
  #choose(sight: Sight, known: FoundCustomer | undefined, event: NewUsageEvent, now: Instant): string | null {
    const customer = known?.customer;
    const [first, ...others] = currentOf(known, now) ?? [];
    if (!customer || customer === 'several' || first === undefined) return null;
    if (others.length === 0) return first.id;
    const { kind, value } = referenceOf(event);
    const prices = this.#find(sight, first.id, now)?.prices[kind].get(value);
    if (prices === undefined) return null;
    const [only, ...more] = subscriptionsWithMeter(customer, prices.rest.usageMeterId);
    return only === undefined || more.length > 0 ? null : only.id;
  }

  /** Drops what may be out of date. */
  forget({ apiKeyHash }: KeyEntry, sight: Sight, drafts: readonly Draft[]): void {
    this.#scopes.delete(nameOfHash(apiKeyHash));
    for (const { event, customer } of drafts) {
      this.#subscriptions.delete(event.subscriptionId);
      if (customer !== undefined) this.#customers.delete(customerKey(sight, customer));
    }
  }
}

function pricesKey({ pricingModelId, catalogVersion, productId }: UsageSubscription): string {
  return `${pricingModelId} ${catalogVersion} ${productId}`;
}

/** The current subscriptions of a known customer. Null where something is due for one. */
function currentOf(known: FoundCustomer | undefined, now: Instant) {
  const customer = known?.customer;
  if (!customer || customer === 'several' || (known.dueAt !== null && known.dueAt <= now)) return null;
  return customer.subscriptions.filter(({ isCurrent }) => isCurrent);
}

/** A pinned key may find another customer by the same external id. */
function customerKey({ environmentId, pricingModelId }: Sight, { kind, value }: Address): string {
  return `${environmentId} ${pricingModelId} ${kind} ${value}`;
}

/** Performs what is due for these subscriptions. */
export type CatchUp = (work: Work, subscriptionIds: readonly string[]) => Promise<void>;

/**
 * Reads the records that events refer to, and keeps them in the cache. The subscriptions stay locked until the work ends:
 * a renewal or an end waits for the usage. At most six statements where nothing is due, and two more for customers.
 */
export async function resolveEvents(
  work: Work,
  events: readonly NewUsageEvent[],
  { catchUp, cache }: { readonly catchUp: CatchUp; readonly cache: UsageCache },
): Promise<Resolve> {
  const users = await lockUsers(work, events, catchUp);
  const { subscriptions } = users;
  const pricesOf = keepingPrices(cache);
  const expand = await findUses(work, events, { users, pricesOf });
  const uses = events.flatMap((event) => triedUses(expand, event));
  const prices = await findPrices(work, uses, { users, pricesOf });
  const series = new Map<string, FoundSeries>();
  const missing = new Map<string, SeriesKey>();
  for (const use of uses) {
    const subscription = userOf(users, prices, use);
    const price = subscription && prices(use, subscription);
    if (!subscription || typeof price?.priceId !== 'string') continue;
    const { id: subscriptionId, currentBillingPeriodStart: start } = subscription;
    // Before a subscription starts, there is no period to count in.
    const periodStart = start !== null && start <= work.now ? start : null;
    const key = { subscriptionId, priceId: price.priceId, periodStart };
    const known = cache.findSeries(subscription, price.priceId, work.now);
    if (known === undefined) missing.set(seriesText(key), key);
    else series.set(seriesText(key), known);
  }
  const ofSubscription = new Map<string, Map<string, FoundSeries>>();
  for (const [key, found] of await findSeries(work, [...missing.values()])) {
    series.set(key, found);
    const { subscriptionId, priceId } = found;
    const ofPrices = ofSubscription.get(subscriptionId) ?? new Map<string, FoundSeries>();
    ofSubscription.set(subscriptionId, ofPrices.set(priceId, found));
  }
  for (const [id, found] of ofSubscription) {
    const subscription = subscriptions.get(id);
    if (subscription !== undefined) cache.keep(work.environmentId, work.now, subscription, found);
  }
  const sight = { environmentId: work.environmentId, pricingModelId: work.pinnedTo };
  for (const customer of users.customers.values()) cache.keepCustomer(sight, customer);
  return (event, path) =>
    expand(event, path).map((use) => {
      const { subscription, customer } = requireUser(users, userOf(users, prices, use), use, path);
      const price = requirePrice(use, path, prices(use, subscription));
      const found = series.get(seriesText({ subscriptionId: subscription.id, priceId: price.priceId }));
      assert(found !== undefined, 'each series was looked for');
      return { use, subscription, customer, price, found };
    });
}

type PricesOf = (subscription: UsageSubscription) => PricesByReference;

/** The prices of subscriptions, kept until the work ends: a small cache may drop those of one for those of another. */
function keepingPrices(cache: UsageCache): PricesOf {
  const kept = new Map<string, PricesByReference>();
  return (subscription) => {
    const key = pricesKey(subscription);
    const prices = kept.get(key) ?? cache.pricesOf(subscription);
    kept.set(key, prices);
    return prices;
  };
}

/** The uses of an event, one for each meter that counts it, or throws its refusal. */
type Expand = (event: NewUsageEvent, path: EventPath) => readonly NewUsageEvent[];

/** One statement for the meters of event names that the cache does not have. */
async function findUses(
  work: Work,
  events: readonly NewUsageEvent[],
  { users, pricesOf }: { users: Users; pricesOf: PricesOf },
): Promise<Expand> {
  const missing = new Map<string, { pricingModelId: string; name: string; missingIn: Set<PricesByReference> }>();
  for (const event of events) {
    const { eventName: name } = event;
    const [subscription] = typeof name === 'string' ? candidatesOf(users, event) : [];
    if (typeof name !== 'string' || subscription === undefined || !isUsable(subscription)) continue;
    const prices = pricesOf(subscription);
    if (prices.eventMeters.has(name)) continue;
    const { pricingModelId } = subscription;
    const text = textOfName({ pricingModelId, name });
    const asked = missing.get(text) ?? { pricingModelId, name, missingIn: new Set() };
    asked.missingIn.add(prices);
    missing.set(text, asked);
  }
  if (missing.size > 0) {
    const found = await findEventMeters(work, [...missing.values()]);
    for (const [text, { name, missingIn }] of missing)
      for (const prices of missingIn) prices.eventMeters.set(name, found.get(text) ?? []);
  }
  return (event, path) => {
    const { eventName } = event;
    if (typeof eventName !== 'string') return [event];
    const [candidate] = candidatesOf(users, event);
    const isKnown = candidate !== undefined && isUsable(candidate);
    const { subscription } = isKnown ? { subscription: candidate } : requireUser(users, candidate, event, path);
    const meters = pricesOf(subscription).eventMeters.get(eventName);
    assert(meters !== undefined, 'each event name was looked for');
    return usesOf(event, path, meters);
  };
}

/** The uses of an event; none where it is refused, which happens later. */
function triedUses(expand: Expand, event: NewUsageEvent): readonly NewUsageEvent[] {
  try {
    return expand(event, []);
  } catch (error) {
    if (error instanceof Problem) return [];
    throw error;
  }
}

/** The subscriptions that events may be of, locked, by id, and the customers that events name, by `textOf`. */
interface Users {
  readonly subscriptions: ReadonlyMap<string, UsageSubscription>;
  readonly customers: ReadonlyMap<string, FoundCustomer>;
}

function textOf({ kind, value }: Address): string {
  return `${kind} ${value}`;
}

// A customer's subscriptions rarely change between two statements.
const maxRounds = 3;

/**
 * Locks the subscriptions of events. A named customer is read again when its subscriptions are locked: if one ended or
 * began meanwhile, the usage would be on the wrong one.
 */
async function lockUsers(work: Work, events: readonly NewUsageEvent[], catchUp: CatchUp): Promise<Users> {
  const ids = new Set<string>();
  const named = new Map<string, Address>();
  for (const address of events.map(addressOf)) {
    if (address.kind === 'subscriptionId') ids.add(address.value);
    else named.set(textOf(address), address);
  }
  const read = () => readCustomers(work, [...named.values()]);
  let before = await read();
  for (let round = 1; ; round++) {
    const open = before.flatMap(({ customer }) => (customer === 'several' ? [] : (customer?.subscriptions ?? [])));
    const subscriptions = await lockCurrentSubscriptions(
      work,
      [...ids.union(new Set(open.map(({ id }) => id)))],
      catchUp,
    );
    const after = await read();
    if (after.every(({ state }, index) => state === before[index]?.state))
      return { subscriptions, customers: new Map(after.map((each) => [textOf(each), each])) };
    if (round === maxRounds) throw new RunAgain();
    before = after;
  }
}

/** The subscriptions that an event may be of. */
function candidatesOf({ subscriptions, customers }: Users, event: NewUsageEvent): readonly UsageSubscription[] {
  const address = addressOf(event);
  if (address.kind === 'subscriptionId') {
    const found = subscriptions.get(address.value);
    return found === undefined ? [] : [found];
  }
  const customer = customers.get(textOf(address))?.customer;
  if (!customer || customer === 'several') return [];
  const current = customer.subscriptions.filter(({ isCurrent }) => isCurrent);
  return current.flatMap(({ id }) => subscriptions.get(id) ?? []);
}

/** The subscription of an event. Undefined where there is none, or several have the meter. */
function userOf(users: Users, prices: PriceOf, event: NewUsageEvent): UsageSubscription | undefined {
  const [first, ...others] = candidatesOf(users, event);
  if (first === undefined || others.length === 0) return first;
  const price = prices(event, first);
  // The refusal of the price comes first.
  if (price === undefined) return first;
  const customer = users.customers.get(textOf(addressOf(event)))?.customer;
  if (!customer || customer === 'several') return undefined;
  const [only, ...more] = subscriptionsWithMeter(customer, price.usageMeterId);
  return only === undefined || more.length > 0 ? undefined : users.subscriptions.get(only.id);
}

/** The subscription of an event, and the customer that it names. Throws the refusal of an event without one. */
function requireUser(
  { customers }: Users,
  found: UsageSubscription | undefined,
  event: NewUsageEvent,
  path: EventPath,
): { subscription: UsageSubscription; customer?: NamedCustomer | undefined } {
  const address = addressOf(event);
  if (address.kind === 'subscriptionId') return { subscription: requireSubscription(address, path, found) };
  const named = customers.get(textOf(address));
  const customer = requireCustomer(address, path, named?.customer ?? null);
  if (found !== undefined) return { subscription: found, customer: named };
  throw refuseCustomer(customer, [...path, address.kind]);
}

/**
 * The subscriptions with these ids, locked, by id. Their due work is done first, and that of others with which they share a credit
 * pool. The end of one takes away what its plan granted.
 */
async function lockCurrentSubscriptions(
  work: Work,
  ids: readonly string[],
  catchUp: CatchUp,
): Promise<ReadonlyMap<string, UsageSubscription>> {
  const lock = async (ifNoneIsLate: boolean) =>
    new Map((await lockSubscriptions(work, ids, { ifNoneIsLate })).map((each) => [each.id, each]));
  const subscriptions = await lock(true);
  if (subscriptions.size === ids.length) return subscriptions;
  const late = await listLate(work, ids);
  if (late.length > 0) await catchUp(work, late);
  // All again: the end of one subscription may change another.
  return lock(false);
}

type PriceOf = (event: NewUsageEvent, subscription: UsageSubscription) => UsagePrice | undefined;

/** The prices that events refer to. One statement for those that the cache does not have. */
async function findPrices(
  work: Work,
  events: readonly NewUsageEvent[],
  { users, pricesOf }: { users: Users; pricesOf: PricesOf },
): Promise<PriceOf> {
  const missing = new Map<string, { reference: PriceReference; prices: PricesByReference }>();
  for (const event of events) {
    const { kind, value } = referenceOf(event);
    for (const subscription of candidatesOf(users, event)) {
      if (!isUsable(subscription)) continue;
      const prices = pricesOf(subscription);
      const { pricingModelId, productId } = subscription;
      if (prices[kind].has(value)) continue;
      const reference = { pricingModelId, productId, kind, value };
      missing.set(`${pricingModelId} ${productId} ${kind} ${value}`, { reference, prices });
    }
  }
  if (missing.size > 0) {
    const requested = [...missing.values()];
    const found = await resolvePrices(
      work,
      requested.map(({ reference }) => reference),
    );
    for (const [index, { reference, prices }] of requested.entries()) {
      const meant = found[index];
      if (meant !== undefined) prices[reference.kind].set(reference.value, meant);
    }
  }
  return (event, subscription) => {
    const { kind, value } = referenceOf(event);
    const meant = pricesOf(subscription)[kind].get(value);
    return meant && choosePrice(meant, event);
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
