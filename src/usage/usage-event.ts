import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, maxSafeInteger, Timestamp, TimestampInput, WholeNumber } from '../kernel/json.ts';
import { invalid, type Problem, type ProblemName, refusal } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { DecimalAmount } from '../pricing/pricing.ts';
import { noCreditsOfMeasured, type UsageMeter } from '../pricing/usage-meter.ts';
import { bestMatch, type ConditionIndex, type Conditions, unmetCondition } from '../rating/conditions.ts';
import { type StoredSpendLimit, UsageLabel } from '../spend-controls/spend-limit.ts';
import { type Arrears, isTerminal, type SubscriptionStatus } from '../subscriptions/subscription.ts';

export const UsageEventId = idSchema('usageEvent');

/** The maximum number of events in one request. More would keep the accounts locked too long. */
export const maxEventsPerRequest = 10_000;
/** The maximum size of an event's properties as JSON: enough to describe a use, too small for documents. */
const maxPropertiesBytes = 16 * 1024;

const Properties = z.record(z.string(), z.unknown());

/** A customer's use of units at a time, at a price of a usage meter. */
export const UsageEvent = z
  .object({
    id: UsageEventId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    customerId: z.string(),
    subscriptionId: z.string(),
    usageMeterId: z.string(),
    priceId: z.string(),
    billingPeriodId: z.string().nullable().meta({
      description: 'The billing period that was current when the event arrived, independent of its `usageDate`.',
    }),
    transactionId: z.string(),
    amount: z.int().min(-maxSafeInteger).max(maxSafeInteger).meta({
      description: 'Negative only on a recurring meter, where it takes units away.',
    }),
    usageDate: Timestamp,
    properties: Properties.nullable(),
    price: z.string().optional().meta({
      description: 'Present at a price with the model `dynamic`: the price of the event itself, in minor units.',
    }),
    label: z.string().optional().meta({ description: 'Present if it was sent.' }),
    beyondLimit: z
      .literal(true)
      .optional()
      .meta({ description: 'Present if a blocking spend limit was reached. The event was stored nevertheless.' }),
  })
  .meta({ id: 'UsageEvent' });
export type UsageEvent = z.infer<typeof UsageEvent>;

/** The remaining balance of a meter on one subscription. */
export const UsageBalance = z
  .object({ subscriptionId: z.string(), usageMeterId: z.string(), availableBalance: WholeNumber })
  .meta({ id: 'UsageBalance' });
export type UsageBalance = z.infer<typeof UsageBalance>;

/** The ways to reference the price of usage. Each event uses exactly one. */
export const references = ['priceId', 'priceSlug', 'usageMeterId', 'usageMeterSlug'] as const;
export type ReferenceKind = (typeof references)[number];

/** The names of which an event has exactly one: that of its price or meter, or its own. */
const namings = [...references, 'eventName'] as const;

const reference = z.string().min(1).max(255).nullish();

/** The ways to name the user. Each event uses exactly one. */
const addresses = ['subscriptionId', 'customerId', 'customerExternalId'] as const;
type AddressKind = (typeof addresses)[number];

/** The subscription or customer that used the units. */
export interface Address {
  readonly kind: AddressKind;
  readonly value: string;
}

const ofMeter =
  'The event is rated by the price whose `where` it matches with the most properties, else by the rate of the plan, else by the default price.';

const inPlace = 'in place of `subscriptionId`: its one current subscription that has the usage meter';

export const addressFields = {
  subscriptionId: reference,
  customerId: reference.meta({ description: `The customer, ${inPlace}.` }),
  customerExternalId: reference.meta({ description: `Your own id of the customer, ${inPlace}.` }),
};

/** Whether a request names its user in exactly one way. */
export function hasOneAddress(given: { readonly [kind in AddressKind]?: string | null | undefined }): boolean {
  return addresses.filter((kind) => typeof given[kind] === 'string').length === 1;
}

export const oneAddress = {
  path: ['subscriptionId'] as ['subscriptionId'],
  message: `send exactly one of ${addresses.join(', ')}`,
};

/** A request to record an event. */
export const NewUsageEvent = z
  .object({
    ...addressFields,
    transactionId: z
      .string()
      .min(1)
      .max(255)
      .meta({
        description:
          'Your own id of the event. An event with the same `transactionId` counts once on a usage meter, without a limit of time ' +
          'unless the service has one: see `deduplicationDays` of `GET /archives`.',
      }),
    amount: countInput(-maxSafeInteger)
      .optional()
      .meta({
        description:
          'The units of the use, 1 or more. A meter that counts events takes 1 alone, and may go without; any other requires it. ' +
          'Meters of type `max`, `latest` and `unit_hours` take 0 too, and recurring ones also a negative amount.',
      }),
    usageDate: TimestampInput.optional().meta({ description: 'The time of use, by default now.' }),
    properties: Properties.nullish().meta({
      description: `Details of the use, at most ${maxPropertiesBytes} bytes of JSON. A meter of distinct properties requires them.`,
    }),
    price: DecimalAmount.optional().meta({
      description:
        'The price of the event itself, a decimal text in the smallest unit of the currency. Required at a price with the ' +
        'model `dynamic`, and refused at any other.',
    }),
    label: UsageLabel,
    priceId: reference,
    priceSlug: reference.meta({ description: 'The slug of an active usage price.' }),
    usageMeterId: reference.meta({ description: `The usage meter. ${ofMeter}` }),
    usageMeterSlug: reference.meta({ description: `The slug of the usage meter. ${ofMeter}` }),
    eventName: reference.meta({
      description:
        'The name of the event, in place of a price or meter. It counts on every usage meter with this `eventName` whose `where` ' +
        'it matches: one event for each, with the same `transactionId`. All of them are stored, or none.',
    }),
  })
  .refine((event) => namings.filter((kind) => typeof event[kind] === 'string').length === 1, {
    message: `send exactly one of ${namings.join(', ')}`,
  })
  .refine(hasOneAddress, oneAddress)
  .meta({
    id: 'NewUsageEvent',
    description: `Send exactly one of ${addresses.join(', ')}, and exactly one of ${namings.join(', ')}.`,
  });
export type NewUsageEvent = z.infer<typeof NewUsageEvent>;

/** A usage meter that counts events by their name. */
export interface EventMeter {
  readonly id: string;
  readonly slug: string;
  readonly where: Conditions | null;
  readonly valueProperty: string | null;
  readonly aggregationType: UsageMeter['aggregationType'];
  readonly isMeasured: boolean;
  readonly isRecurring: boolean;
}

/**
 * The uses of an event with an `eventName`, one for each meter that it matches, as events that name the meter. Refuses
 * an event that no meter counts: it would be lost. A value of 0 counts nothing on its meter, unless it is measured.
 */
export function usesOf(
  { eventName, ...event }: NewUsageEvent,
  path: EventPath,
  meters: readonly EventMeter[],
): NewUsageEvent[] {
  const uses = meters.flatMap((meter): NewUsageEvent[] => {
    if (meter.where !== null && unmetCondition(meter.where, event.properties) !== null) return [];
    const given = meter.aggregationType === 'count' ? 1 : (event.amount ?? 1);
    const amount = meter.valueProperty === null ? given : unitsOf(event, path, meter.valueProperty, meter);
    return amount === 0 && !meter.isMeasured ? [] : [{ ...event, usageMeterId: meter.id, amount }];
  });
  if (uses.length === 0) throw refusal('noMeterMatches', [...path, 'eventName'], eventName ?? '');
  return uses;
}

function unitsOf(
  { properties }: Pick<NewUsageEvent, 'properties'>,
  path: EventPath,
  property: string,
  { slug, isRecurring }: EventMeter,
): number {
  const value = properties && Object.hasOwn(properties, property) ? properties[property] : undefined;
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
  const isWhole = typeof number === 'number' && Number.isSafeInteger(number);
  if (isWhole && (number >= 0 || isRecurring)) return number;
  const range = isRecurring ? '' : ', 0 or more';
  throw invalid([...path, 'properties', property], `must be a whole number${range}: usage meter ${slug} counts it`);
}

/** The field of the event that references its price, and its value. */
export function referenceOf(event: NewUsageEvent): { kind: ReferenceKind; value: string } {
  const kind = references.find((each) => typeof event[each] === 'string');
  const value = kind && event[kind];
  assert(kind && value, 'the schema lets no event pass without one');
  return { kind, value };
}

/** The field that names the user of an event, and its value. */
export function addressOf(event: NewUsageEvent): Address {
  const { subscriptionId } = event;
  if (typeof subscriptionId === 'string') return { kind: 'subscriptionId', value: subscriptionId };
  const kind = addresses.find((each) => typeof event[each] === 'string');
  const value = kind && event[kind];
  assert(kind && value, 'the schema lets no event pass without one');
  return { kind, value };
}

/** The position of an event in the request: ['usageEvents', 17]. */
export type EventPath = readonly (string | number)[];

/** The fields of an event's subscription that events need. */
export interface UsageSubscription {
  readonly id: string;
  /** Changes with everything that decides about usage. */
  readonly revision: number;
  readonly status: SubscriptionStatus;
  readonly arrears: Arrears;
  readonly pricingModelId: string;
  /** The product of its plan, whose rates apply. */
  readonly productId: string;
  readonly customerId: string;
  readonly customerArchived: boolean;
  readonly currentBillingPeriodStart: Instant | null;
  readonly currentBillingPeriodEnd: Instant | null;
  /** When its end, its resumption or its renewal is due. Null: nothing is. */
  readonly dueAt: Instant | null;
  /** The version of its pricing model. Changes with its prices and meters, and with the threshold of the settings. */
  readonly catalogVersion: number;
  /** Whether its unbilled usage is invoiced when it reaches a threshold. */
  readonly hasThreshold: boolean;
  /** The spend limits of its customer. Null: there are none. */
  readonly spendLimits: readonly StoredSpendLimit[] | null;
}

/** Whether a price has an amount for each event (`counted`), or each event brings its own (`own`). */
type EventPricing = 'none' | 'counted' | 'own';

/** The price that an event's reference resolves to, billable or not. */
export interface UsagePrice {
  /** Null if the referenced usage meter has no default price. */
  readonly priceId: string | null;
  readonly priceType: string | null;
  readonly usageMeterId: string | null;
  readonly aggregationType: UsageMeter['aggregationType'] | null;
  readonly isMeasured: boolean | null;
  readonly isRecurring: boolean | null;
  /** A balance that falls below it is published. */
  readonly lowBalanceThreshold: bigint | null;
  readonly ofEvents: EventPricing;
  /** Whether other prices of the meter rate some of its events, by their properties. */
  readonly isRest: boolean;
  /** The events that it rates; null: all, or the rest. */
  readonly where: Conditions | null;
  /** The rates of its meter in credit pools; null: none. */
  readonly poolRates: PoolRates | null;
}

/** The rate at which use of a meter draws from a credit pool. */
export interface PoolRate {
  readonly creditPoolId: string;
  /** In smallest units of the pool. Null: what the price says. */
  readonly unitCost: bigint | null;
  /** The low-balance threshold of the pool, in its smallest units; null: none. */
  readonly lowBalanceThreshold: bigint | null;
}

/** The rates of a meter: those with conditions, and that of any other event. */
export interface PoolRates {
  readonly conditional: ConditionIndex<PoolRate & { readonly where: Conditions }> | null;
  readonly rest: PoolRate | null;
}

/** The rate of an event: that whose conditions it meets with the most properties. Null: no credit pool pays for it. */
export function choosePoolRate(
  { poolRates }: Pick<UsagePrice, 'poolRates'>,
  { properties }: NewUsageEvent,
): PoolRate | null {
  if (poolRates === null) return null;
  return (poolRates.conditional && bestMatch(poolRates.conditional, properties)) ?? poolRates.rest;
}

/** A price with conditions. */
export interface ConditionalPrice extends UsagePrice {
  readonly where: Conditions;
}

/** The prices that a reference may mean: those of a meter with conditions, and the price of any other event. */
export interface UsagePrices {
  readonly conditional: ConditionIndex<ConditionalPrice> | null;
  readonly rest: UsagePrice;
}

/** The price of an event, of those that its reference may mean. */
export function choosePrice({ conditional, rest }: UsagePrices, { properties }: NewUsageEvent): UsagePrice {
  return (conditional && bestMatch(conditional, properties)) ?? rest;
}

/** The price and meter of a valid event. */
export interface BillablePrice {
  readonly priceId: string;
  readonly usageMeterId: string;
  readonly aggregationType: UsageMeter['aggregationType'];
  /** Whether its units are measured when a period is billed, and whether they are kept over periods. */
  readonly isMeasured: boolean;
  readonly isRecurring: boolean;
  readonly lowBalanceThreshold: bigint | null;
  readonly ofEvents: EventPricing;
  readonly isRest: boolean;
  readonly poolRates: PoolRates | null;
}

/** A subscription of a customer that has not ended. */
interface OpenSubscription {
  readonly id: string;
  readonly status: SubscriptionStatus;
  /** Whether the customer has it now. */
  readonly isCurrent: boolean;
  /** The usage meters that its plan grants credits of or has a rate for. Read only if the customer has several current subscriptions. */
  readonly usageMeterIds: readonly string[];
}

/** A customer with the subscriptions that have not ended. */
export interface UsageCustomer {
  readonly id: string;
  readonly archived: boolean;
  readonly subscriptions: readonly OpenSubscription[];
}

/** The current subscriptions of a customer that have a usage meter. The only current one has every meter. */
export function subscriptionsWithMeter(
  { subscriptions }: UsageCustomer,
  usageMeterId: string | null,
): readonly OpenSubscription[] {
  const current = subscriptions.filter(({ isCurrent }) => isCurrent);
  if (current.length <= 1) return current;
  const having = current.filter(({ usageMeterIds }) => usageMeterIds.some((id) => id === usageMeterId));
  return having.length > 0 ? having : current;
}

// More of them help nobody to choose one.
const maxListed = 10;

/** The refusal of a customer without exactly one subscription that has the meter. It lists what there is. */
export function refuseCustomer({ id, subscriptions }: UsageCustomer, path: EventPath): Problem {
  const current = subscriptions.filter(({ isCurrent }) => isCurrent);
  const listed = (current.length > 0 ? current : subscriptions).slice(0, maxListed);
  const names = listed.map((each) => `${each.id} (${each.status})`).join(', ');
  if (current.length > 0) return refusal('severalCurrentSubscriptions', path, id, { subscriptions: names });
  return refusal('noCurrentSubscription', path, id, { others: names || 'none is left' });
}

/** The customer that an event names. Refuses one that is unknown, archived or not the only one. */
export function requireCustomer(
  { kind, value }: Address,
  path: EventPath,
  found: UsageCustomer | 'several' | null,
): UsageCustomer {
  const at = [...path, kind];
  if (found === null) throw refusal('customerNotFound', at, value);
  if (found === 'several') throw invalid(at, 'must be in one pricing model, and several have it: send customerId');
  if (found.archived) throw refusal('customerArchived', at, found.id);
  return found;
}

/** Whether usage can be recorded on a subscription. */
export function isUsable({ customerArchived, status }: UsageSubscription): boolean {
  return !customerArchived && !isTerminal(status);
}

/** The subscription that an event names. Refuses one that is unknown or has ended, or whose customer is archived. */
export function requireSubscription(
  { kind, value }: Address,
  path: EventPath,
  found: UsageSubscription | undefined,
): UsageSubscription {
  const refuse = (problem: ProblemName, id: string, details = {}) => refusal(problem, [...path, kind], id, details);
  if (found === undefined) throw refuse('subscriptionNotFound', value);
  if (found.customerArchived) throw refuse('customerArchived', found.customerId);
  if (isTerminal(found.status)) throw refuse('subscriptionTerminal', found.id, { status: found.status });
  return found;
}

/** The price of an event. Refuses anything but a usage price of the subscription's pricing model. */
export function requirePrice(event: NewUsageEvent, path: EventPath, found: UsagePrice | undefined): BillablePrice {
  const { kind, value } = referenceOf(event);
  const isPrice = kind === 'priceId' || kind === 'priceSlug';
  if (found !== undefined && isBillable(found)) {
    // A price that was chosen by the properties matches them.
    if (isPrice && found.where !== null) requireMatch(event, path, found.where, value);
    return found;
  }
  const at = [...path, kind];
  const problem = isPrice ? 'priceNotFound' : 'usageMeterNotFound';
  if (found === undefined) throw refusal(problem, at, value);
  if (found.priceId === null) throw invalid(at, 'the usage meter has no default price: send one of its prices instead');
  throw invalid(at, `must be a usage price, not a ${found.priceType} price`);
}

// A refusal names some of them.
const maxNamedValues = 10;

/** Refuses an event that does not meet the conditions of the price that it names: it would be billed as another use. */
function requireMatch({ properties }: NewUsageEvent, path: EventPath, where: Conditions, name: string): void {
  const property = unmetCondition(where, properties);
  if (property === null) return;
  const values = where[property] ?? [];
  const listed = values.slice(0, maxNamedValues).join(', ') + (values.length > maxNamedValues ? ', ...' : '');
  throw invalid([...path, 'properties', property], `must be one of ${listed}: price ${name} rates no other event`);
}

function isBillable(price: UsagePrice): price is UsagePrice & BillablePrice {
  const { priceId, priceType, usageMeterId, aggregationType } = price;
  return priceId !== null && priceType === 'usage' && usageMeterId !== null && aggregationType !== null;
}

/**
 * Refuses properties whose JSON (`text`) is too long. On a meter that counts distinct properties, also refuses missing
 * properties and subscriptions without a billing period.
 */
export function checkProperties(
  event: NewUsageEvent,
  path: EventPath,
  text: string | null,
  counts: { aggregationType: UsageMeter['aggregationType']; billingPeriodId: string | null },
): void {
  const at = [...path, 'properties'];
  if (text !== null && Buffer.byteLength(text) > maxPropertiesBytes)
    throw invalid(at, `must be at most ${maxPropertiesBytes} bytes of JSON`);
  if (counts.aggregationType !== 'count_distinct_properties') return;
  if (Object.keys(event.properties ?? {}).length === 0)
    throw invalid(at, 'must not be empty: the usage meter counts distinct properties');
  if (counts.billingPeriodId === null)
    throw invalid(
      [...path, 'subscriptionId'],
      'must be in a billing period: the usage meter counts distinct properties in each',
    );
}

/**
 * `record` stores events, whatever the balance. `consume` stores one only if the balance covers it, and `hold` sets
 * aside the units of one.
 */
export type UsageKind = 'record' | 'consume' | 'hold';

/** The amount of an event. A meter that counts events needs none, and takes no other than 1. */
export function amountOfEvent(
  { amount }: NewUsageEvent,
  path: EventPath,
  price: BillablePrice,
  kind: UsageKind,
): number {
  const at = [...path, 'amount'];
  if (price.aggregationType === 'count') {
    // A hold may be settled by 0, which is no event.
    if (amount !== undefined && amount !== 1 && !(amount === 0 && kind === 'hold'))
      throw invalid(at, 'must be 1 or absent: the usage meter counts events, and each of them once');
    return amount ?? 1;
  }
  if (amount === undefined) throw invalid(at, 'must be given: the usage meter does not count events but their amounts');
  const least = price.isRecurring ? -maxSafeInteger : price.isMeasured || kind === 'hold' ? 0 : 1;
  if (amount < least) throw invalid(at, `must be ${least} or more`);
  return amount;
}

/**
 * Refuses a use of a measured meter that names a price, is to be consumed, or is in no period. Its units have one
 * price, that of the plan, and are known when the period is billed.
 */
export function checkMeasured(
  event: NewUsageEvent,
  path: EventPath,
  price: BillablePrice,
  { kind, billingPeriodId }: { readonly kind: UsageKind; readonly billingPeriodId: string | null },
): void {
  if (!price.isMeasured) return;
  const { kind: named } = referenceOf(event);
  if (kind !== 'record') throw invalid([...path, named], noCreditsOfMeasured);
  if (named === 'priceId' || named === 'priceSlug')
    throw invalid(
      [...path, named],
      'must be absent: name the usage meter, whose units are billed at the price of the plan',
    );
  if (billingPeriodId === null)
    throw invalid(
      [...path, addressOf(event).kind],
      'must be in a billing period: the usage meter measures the units of each',
    );
}

/** Refuses a missing price of the event itself, and one that its price does not take. */
export function checkOwnPrice({ price }: NewUsageEvent, path: EventPath, { ofEvents }: BillablePrice): void {
  const at = [...path, 'price'];
  if (ofEvents === 'own' && price === undefined)
    throw invalid(at, 'must be given: with dynamic pricing each event has its own price');
  if (ofEvents !== 'own' && price !== undefined)
    throw invalid(at, 'must be absent: only dynamic pricing takes the price of an event');
}

/** JSON with sorted keys, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonicalJson(each)}`).join(',')}}`;
}
