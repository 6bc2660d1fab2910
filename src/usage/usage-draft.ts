import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import { idBeside } from '../kernel/id.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import type { Access } from '../organizations/setting.ts';
import { fineAmount } from '../pricing/pricing.ts';
import type { SpendUse } from '../spend-controls/actions-count.ts';
import { hasAccess } from '../subscriptions/subscription.ts';
import { hourOf } from './event-query.ts';
import {
  type Address,
  amountOfEvent,
  type BillablePrice,
  checkMeasured,
  checkOwnPrice,
  checkProperties,
  choosePoolRate,
  type EventPath,
  maxEventsPerRequest,
  type NewUsageEvent,
  type PoolRate,
  type UsageBalance,
  type UsageEvent,
  type UsageKind,
  type UsageSubscription,
} from './usage-event.ts';

/** The events of one request, of which all are stored or none. Only `record` has several. */
export interface UsageRequest {
  readonly kind: UsageKind;
  readonly events: readonly NewUsageEvent[];
  /** The path of an event in the body. */
  readonly pathOf: (index: number) => EventPath;
}

/**
 * One event for each event of the request, in order. For one with an `eventName`, there is one for each meter that
 * counts it. `balances` are left after a `consume`, one for each event.
 */
export interface UsageAnswer {
  readonly events: readonly UsageEvent[];
  readonly balances: readonly UsageBalance[];
  /** The number of events for each event of the request; absent: one. */
  readonly sizes?: readonly number[];
}

/** The series that the events of a subscription at a price are counted in. `series` is undefined until it is opened. */
export interface FoundSeries {
  readonly billingPeriodId: string | null;
  series: Series | undefined;
}

interface Series {
  readonly id: number;
  readonly ledgerAccountId: string;
}

/** A customer that events name, and all that decides about its subscription, as the database tells it. */
export interface NamedCustomer extends Address {
  readonly state: string;
}

/** The records that a use of a meter refers to. */
export interface Resolution {
  /** The event, or the part of an event with an `eventName` that one meter counts. */
  readonly use: NewUsageEvent;
  readonly subscription: UsageSubscription;
  /** The customer that the event names in place of the subscription. */
  readonly customer?: NamedCustomer | undefined;
  readonly price: BillablePrice;
  /** The same object for all events of the same subscription and price. */
  readonly found: FoundSeries;
}

/**
 * Finds the records that an event refers to, for each meter that counts it, or throws its refusal. Null where they are
 * not known without a query.
 */
export type Resolve = (event: NewUsageEvent, path: EventPath) => readonly Resolution[] | null;

/** An event that passed every check and is not stored yet. */
export interface Draft extends Resolution {
  readonly event: UsageEvent;
  readonly path: EventPath;
  readonly propertiesText: string | null;
  /** The rate at which a credit pool may pay for it; null: none does. */
  readonly poolRate: PoolRate | null;
}

/** A request with its drafts, or with its refusal. */
export interface Drafted {
  readonly request: UsageRequest;
  readonly drafts: readonly Draft[] | Problem;
}

/** The fields that all new events of a batch share. */
interface Stamp {
  readonly now: Instant;
  readonly livemode: boolean;
  readonly newEventId: (subscriptionId: string) => string;
}

/**
 * Checks each request by itself, an event in each step. Null where `resolve` does not know the records of an event.
 */
export function* draftRequests(
  requests: readonly UsageRequest[],
  resolve: Resolve,
  stamp: Stamp,
): Generator<void, readonly Drafted[] | null> {
  const drafted: Drafted[] = [];
  for (const request of requests) {
    const drafts = yield* draftRequest(request, resolve, stamp);
    if (drafts === null) return null;
    drafted.push({ request, drafts });
  }
  return drafted;
}

function* draftRequest(
  { kind, events, pathOf }: UsageRequest,
  resolve: Resolve,
  stamp: Stamp,
): Generator<void, Draft[] | Problem | null> {
  const drafts: Draft[] = [];
  try {
    for (const [index, event] of events.entries()) {
      const path = pathOf(index);
      const resolutions = resolve(event, path);
      if (resolutions === null) return null;
      const pricedUse = resolutions.length > 1 && resolutions.some(({ price }) => price.ofEvents === 'own');
      for (const resolution of resolutions) {
        const { use, price } = resolution;
        // The price of an event is for the meter that takes one.
        const requested = pricedUse && price.ofEvents !== 'own' ? { ...use, price: undefined } : use;
        drafts.push(draftEvent({ kind, event: requested, path }, resolution, stamp));
      }
      if (drafts.length > maxEventsPerRequest)
        throw invalid(
          [...path, 'eventName'],
          `must be sent in another request: one stores ${maxEventsPerRequest} events at most`,
        );
      yield;
    }
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return drafts;
}

interface Asked {
  readonly kind: UsageRequest['kind'];
  readonly event: NewUsageEvent;
  readonly path: EventPath;
}

function draftEvent(
  { kind, event: requested, path }: Asked,
  resolution: Resolution,
  { now, livemode, newEventId }: Stamp,
): Draft {
  const propertiesText = requested.properties === undefined ? null : JSON.stringify(requested.properties);
  const { subscription, price, found } = resolution;
  const { billingPeriodId } = found;
  checkProperties(requested, path, propertiesText, { aggregationType: price.aggregationType, billingPeriodId });
  checkMeasured(requested, path, price, { kind, billingPeriodId });
  checkOwnPrice(requested, path, price);
  const amount = amountOfEvent(requested, path, price, kind);
  const { transactionId, usageDate = now, properties = {}, label } = requested;
  const event: UsageEvent = {
    id: newEventId(subscription.id),
    createdAt: now,
    updatedAt: now,
    livemode,
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
    ...(requested.price === undefined ? {} : { price: requested.price }),
    ...(typeof label === 'string' ? { label } : {}),
  };
  return { event, path, propertiesText, poolRate: choosePoolRate(price, requested), ...resolution };
}

/** The drafts of all requests of one kind that passed. */
export function draftsOf(drafted: readonly Drafted[]): Draft[] {
  return drafted.flatMap(({ drafts }) => (drafts instanceof Problem ? [] : drafts));
}

/** The series of a draft, which is open. */
export function seriesOf({ found: { series } }: Draft): Series {
  assert(series !== undefined, 'the series is open');
  return series;
}

export function countsDistinct({ price }: Draft): boolean {
  return price.aggregationType === 'count_distinct_properties';
}

/** The subscriptions whose billing threshold this usage may reach. */
export function thresholdsOf(drafts: readonly Draft[]): string[] {
  return [...new Set(drafts.flatMap(({ subscription }) => (subscription.hasThreshold ? subscription.id : [])))];
}

/** Whether the event counts for what is measured when its period is billed, and for no balance. */
export function isMeasured({ price }: Draft): boolean {
  return price.isMeasured;
}

/** Whether spend limits may count the event. */
export function isLimited({ subscription, price }: Draft): boolean {
  return subscription.spendLimits !== null && !price.isMeasured;
}

/** Whether a spend limit counts what the event draws from a credit pool. */
export function isLimitedByPool({ subscription: { spendLimits }, poolRate }: Draft): boolean {
  return poolRate !== null && spendLimits?.some((limit) => limit.usageMeterId === poolRate.creditPoolId) === true;
}

/** The use that spend limits count; one that does not count uses nothing. `poolAmount`: that of its credit pool. */
export function spendUseOf(
  { event, subscription, price, poolRate }: Draft,
  isCounted = true,
  poolAmount = 0n,
): SpendUse {
  const { customerId, usageMeterId, priceId, billingPeriodId, label = null } = event;
  const [periodStart, periodEnd] = [subscription.currentBillingPeriodStart, subscription.currentBillingPeriodEnd];
  const hasEvents = isCounted && price.ofEvents !== 'none';
  return {
    ...{ customerId, usageMeterId, priceId, label },
    pool: poolRate && { id: poolRate.creditPoolId, drawn: poolAmount },
    subscription: { id: subscription.id, billingPeriodId, periodStart, periodEnd },
    units: isCounted ? BigInt(event.amount) : 0n,
    events: hasEvents ? 1n : 0n,
    ownAmount: hasEvents ? fineAmount(event.price ?? '0') : 0n,
  };
}

/** The refusal of an event that neither the balance nor `pooled` units of its credit pool cover. It carries the balance. */
export function insufficientBalance({ event }: Draft, balance: bigint, pooled: bigint): Problem {
  const { subscriptionId, usageMeterId, amount } = event;
  const shown = pooled > 0n ? `, with ${pooled} more from the credit pool,` : '';
  return new Problem('insufficientBalance', { amount, balance, pooled: shown }, [], {
    usageBalance: { subscriptionId, usageMeterId, availableBalance: balance },
  });
}

/** The refusal of an event that uses a subscription without access, or null. Events that record a use are stored. */
export function accessRefusal({ subscription: { id, arrears } }: Draft, access: Access): Problem | null {
  return hasAccess({ arrears }, access) ? null : new Problem('subscriptionUnpaid', { id });
}

/** The sums of new events of one series. */
export interface UsageSum {
  /** One of the events. */
  readonly draft: Draft;
  /** The amounts of the events that count. */
  units: bigint;
  /** At a price with an amount for each event: how many count, and the sum of their own prices (fine). Else 0. */
  events: bigint;
  ownAmount: bigint;
  /** The part of the units with a usage date in the present hour. */
  hourUnits: bigint;
  hourEvents: number;
  /** The events of other hours, by hour. */
  readonly otherHours: Map<Instant, { units: bigint; events: number }>;
  /** On a meter with rates in credit pools: its units in parts of one rate. */
  readonly parts: UsagePart[];
}

/** Units of a usage that came one after the other on their account, with one rate. */
export interface UsagePart {
  /** Parts of an account are numbered in the order in which they came. */
  readonly position: number;
  readonly rate: PoolRate | null;
  /** Whether a spend limit counts what it draws: it is of one event then. */
  readonly isLimited: boolean;
  /** The id of its ledger entry: that of its first event with another prefix, so that its events find the entry. */
  readonly entryId: string;
  units: bigint;
  /** At a price with an amount for each event: that of its one event. Else 0. */
  readonly events: bigint;
  readonly ownAmount: bigint;
  /** The units that a pool pays for, and at a price what they cost. Null: the database decides. */
  paid: { readonly units: bigint; readonly amount: bigint | null } | null;
}

/** Adds up new events by series, in the order in which the series first occur. `counts` tells which amounts count. */
export function sumUp(drafts: readonly Draft[], counts: (draft: Draft) => boolean, now: Instant): UsageSum[] {
  const sums = new Map<FoundSeries, UsageSum>();
  const latest = new Map<string, { readonly sum: UsageSum; readonly part: UsagePart }>();
  const hour = hourOf(now);
  for (const [position, draft] of drafts.entries()) {
    const { event, found, price } = draft;
    let sum = sums.get(found);
    if (sum === undefined) {
      sum = {
        draft,
        units: 0n,
        events: 0n,
        ownAmount: 0n,
        hourUnits: 0n,
        hourEvents: 0,
        otherHours: new Map(),
        parts: [],
      };
      sums.set(found, sum);
    }
    const units = counts(draft) ? BigInt(event.amount) : 0n;
    sum.units += units;
    const hasEvents = units > 0n && price.ofEvents !== 'none';
    const events = hasEvents ? 1n : 0n;
    const ownAmount = hasEvents ? fineAmount(event.price ?? '0') : 0n;
    sum.events += events;
    sum.ownAmount += ownAmount;
    if (units > 0n && price.poolRates !== null) {
      const entryId = idBeside('ledgerEntry', event.id);
      const part = { position, rate: draft.poolRate, entryId, units, events, ownAmount, paid: null };
      addToParts(sum, { ...part, isLimited: isLimitedByPool(draft) }, latest);
    }
    const hourOfEvent = hourOf(event.usageDate);
    if (hourOfEvent === hour) {
      sum.hourUnits += units;
      sum.hourEvents += 1;
    } else {
      const other = sum.otherHours.get(hourOfEvent) ?? { units: 0n, events: 0 };
      other.units += units;
      other.events += 1;
      sum.otherHours.set(hourOfEvent, other);
    }
  }
  return [...sums.values()];
}

/** Whether a rate is the price itself. */
export function isAtPrice(rate: PoolRate | null): boolean {
  return rate !== null && rate.unitCost === null;
}

/** Adds units to the latest part of their account where that is of the same usage and rate, or else as a part of their own. */
function addToParts(
  sum: UsageSum,
  part: UsagePart,
  latest: Map<string, { readonly sum: UsageSum; readonly part: UsagePart }>,
): void {
  const { subscriptionId, usageMeterId } = sum.draft.event;
  const account = `${subscriptionId} ${usageMeterId}`;
  const before = latest.get(account);
  // A pool that draws at the price pays for an event with an amount of its own or does not.
  const isAlone = part.isLimited || (part.events > 0n && isAtPrice(part.rate));
  if (before?.sum === sum && before.part.rate === part.rate && !isAlone) {
    before.part.units += part.units;
    return;
  }
  sum.parts.push(part);
  latest.set(account, { sum, part });
}

/** The parts of a usage, of which those at its price are one: their costs add up. */
export function mergePaid(parts: readonly UsagePart[]): UsagePart[] {
  const merged: UsagePart[] = [];
  for (const part of parts) {
    const first = merged.find(({ rate }) => rate === part.rate);
    if (part.isLimited || first?.paid?.amount == null || part.paid?.amount == null) {
      merged.push({ ...part });
      continue;
    }
    first.units += part.units;
    first.paid = { units: first.paid.units + part.paid.units, amount: first.paid.amount + part.paid.amount };
  }
  return merged;
}

/** The events for each event of a request. */
export function eventsOfEach({ events, sizes }: UsageAnswer): readonly (readonly UsageEvent[])[] {
  if (sizes === undefined) return events.map((event) => [event]);
  let end = 0;
  return sizes.map((size) => {
    end += size;
    return events.slice(end - size, end);
  });
}

/** The first event or balance in the answer to a request of one event. */
export function first<Answered>(answered: readonly Answered[]): Answered {
  const [one] = answered;
  assert(one !== undefined, 'one answer at least for one event');
  return one;
}
