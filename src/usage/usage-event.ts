import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { countInput, maxSafeInteger, Timestamp, TimestampInput, WholeNumber } from '../kernel/json.ts';
import { invalid, Problem, type ProblemName } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import type { UsageMeter } from '../pricing/usage-meter.ts';
import { isTerminal, type SubscriptionStatus } from '../subscriptions/subscription.ts';

export const UsageEventId = idSchema('usageEvent');

/** Events in one request. More would hold the accounts, and whoever waits for them, too long. */
export const maxEventsPerRequest = 10_000;
/** Bytes of the properties of one event, as JSON: room for what describes a use, too small for documents. */
export const maxPropertiesBytes = 16 * 1024;

const Properties = z.record(z.string(), z.unknown());

/** That a customer used something: so many units, at a time, at a price of a usage meter. */
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
    billingPeriodId: z
      .string()
      .nullable()
      .meta({
        description: 'The billing period that was current when the event arrived, independent of its `usageDate`.',
      }),
    transactionId: z.string(),
    amount: z.int().min(1).max(maxSafeInteger),
    usageDate: Timestamp,
    properties: Properties.nullable(),
  })
  .meta({ id: 'UsageEvent' });
export type UsageEvent = z.infer<typeof UsageEvent>;

/** What is left to use of a meter, on one subscription. */
export const UsageBalance = z
  .object({ subscriptionId: z.string(), usageMeterId: z.string(), availableBalance: WholeNumber })
  .meta({ id: 'UsageBalance' });
export type UsageBalance = z.infer<typeof UsageBalance>;

/** The ways to say what was used. Each event takes exactly one. */
export const references = ['priceId', 'priceSlug', 'usageMeterId', 'usageMeterSlug'] as const;
export type ReferenceKind = (typeof references)[number];

const reference = z.string().min(1).max(255).nullish();

/** An event as it is sent. */
export const NewUsageEvent = z
  .object({
    subscriptionId: z.string().min(1).max(255),
    transactionId: z
      .string()
      .min(1)
      .max(255)
      .meta({
        description:
          'Your own id of the event. An event with the same `transactionId` counts once on a usage meter, without a limit of time.',
      }),
    amount: countInput(1),
    usageDate: TimestampInput.optional().meta({ description: 'The time of use, by default now.' }),
    properties: Properties.nullish().meta({
      description: `Details of the use, at most ${maxPropertiesBytes} bytes of JSON. A meter of distinct properties requires them.`,
    }),
    priceId: reference,
    priceSlug: reference.meta({ description: 'The slug of an active usage price.' }),
    usageMeterId: reference.meta({ description: 'The usage meter, whose default price applies.' }),
    usageMeterSlug: reference.meta({ description: 'The slug of the usage meter, whose default price applies.' }),
  })
  .refine((event) => references.filter((kind) => typeof event[kind] === 'string').length === 1, {
    message: `exactly one of ${references.join(', ')} must be given`,
  })
  .meta({ id: 'NewUsageEvent', description: `Send exactly one of ${references.join(', ')}.` });
export type NewUsageEvent = z.infer<typeof NewUsageEvent>;

/** Which field of the event says what was used, and its value. */
export function referenceOf(event: NewUsageEvent): { kind: ReferenceKind; value: string } {
  const kind = references.find((each) => typeof event[each] === 'string');
  const value = kind && event[kind];
  assert(kind && value, 'the schema lets no event pass without one');
  return { kind, value };
}

/** Where in the request an event stands: ['usageEvents', 17]. */
export type EventPath = readonly (string | number)[];

/** The subscription that an event names, as far as events need it. */
export interface UsageSubscription {
  readonly id: string;
  /** What is remembered of it holds as long as this is the same. */
  readonly revision: number;
  readonly status: SubscriptionStatus;
  readonly pricingModelId: string;
  readonly customerId: string;
  readonly customerArchived: boolean;
  readonly currentBillingPeriodStart: Instant | null;
  /** From when on it is no more what it was, as its end, its going on or its renewal is due; null: nothing is. */
  readonly dueAt: Instant | null;
  /** Of its pricing model: what is remembered of its prices holds as long as this is the same. */
  readonly catalogVersion: number;
}

/** What an event's reference leads to: a price that usage is billed at, or why it is none. */
export interface UsagePrice {
  /** Null when a usage meter was named that has no default price. */
  readonly priceId: string | null;
  readonly priceType: string | null;
  readonly usageMeterId: string | null;
  readonly aggregationType: UsageMeter['aggregationType'] | null;
  /** A balance of the meter that falls below it is told. */
  readonly lowBalanceThreshold: bigint | null;
}

/** The price and the meter of an event that passed every check. */
export interface BillablePrice {
  readonly priceId: string;
  readonly usageMeterId: string;
  readonly aggregationType: UsageMeter['aggregationType'];
  readonly lowBalanceThreshold: bigint | null;
}

/** The subscription of an event. Refuses one that is unknown or has ended, or whose customer is archived. */
export function requireSubscription(
  event: NewUsageEvent,
  path: EventPath,
  found: UsageSubscription | undefined,
): UsageSubscription {
  const refuse = (problem: ProblemName, id: string, details = {}) =>
    refusal(problem, [...path, 'subscriptionId'], id, details);
  if (found === undefined) throw refuse('subscriptionNotFound', event.subscriptionId);
  if (found.customerArchived) throw refuse('customerArchived', found.customerId);
  if (isTerminal(found.status)) throw refuse('subscriptionTerminal', found.id, { status: found.status });
  return found;
}

/** The price that an event is counted at. Refuses what is not a usage price of the subscription's pricing model. */
export function requirePrice(event: NewUsageEvent, path: EventPath, found: UsagePrice | undefined): BillablePrice {
  if (found !== undefined && isBillable(found)) return found;
  const { kind, value } = referenceOf(event);
  const at = [...path, kind];
  const problem = kind === 'priceId' || kind === 'priceSlug' ? 'priceNotFound' : 'usageMeterNotFound';
  if (found === undefined) throw refusal(problem, at, value);
  if (found.priceId === null) throw invalid(at, 'the usage meter has no default price: name a price of it instead');
  throw invalid(at, `must be a usage price, and this is a ${found.priceType} price`);
}

function isBillable(price: UsagePrice): price is UsagePrice & BillablePrice {
  const { priceId, priceType, usageMeterId, aggregationType } = price;
  return priceId !== null && priceType === 'usage' && usageMeterId !== null && aggregationType !== null;
}

/**
 * Refuses properties that are too long as JSON (`text`), and on a meter that counts distinct ones, properties that are
 * missing and subscriptions without a billing period to count in.
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
      'must have a billing period: the usage meter counts distinct properties in it',
    );
}

/** A refusal of a part of the request that an existing refusal has words for: names the part too. */
export function refusal(
  problem: ProblemName,
  path: EventPath,
  id: string,
  details: Readonly<Record<string, string>> = {},
): Problem {
  const named = { ...details, id: `${id} (${path.join('.')})` };
  const { message } = new Problem(problem, named);
  return new Problem(problem, named, [{ path, message, code: 'custom' }]);
}

/** JSON with every object's keys in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonicalJson(each)}`).join(',')}}`;
}
