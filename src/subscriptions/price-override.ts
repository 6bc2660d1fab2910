import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { amountInput, isSameJson, Timestamp, TimestampInput, WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { isNoChargePrice, type Price, PriceId } from '../pricing/price.ts';
import { eventsCountedBy, maxUnitPrice, type Priced, Pricing, quantityModels } from '../pricing/pricing.ts';

const Reference = z.string().min(1).max(255);

// Each is looked at by every invoice of the subscription.
const maxOverrides = 100;

/** The terms that a price has for one subscription, as shown. One of `unitPrice` and `pricing` is null. */
export const PriceOverride = z
  .object({
    priceId: PriceId,
    unitPrice: WholeNumber.nullable(),
    pricing: Pricing.nullable(),
    startsAt: Timestamp.meta({
      description: 'A usage price has these terms for usage periods that begin then or later.',
    }),
  })
  .meta({ id: 'PriceOverride' });
export type PriceOverride = z.output<typeof PriceOverride>;

const overrideFields = {
  priceId: Reference.optional(),
  priceSlug: Reference.optional().meta({ description: 'The slug of an active price, instead of `priceId`.' }),
  unitPrice: amountInput(0, maxUnitPrice).nullish().meta({
    description: 'In place of that of the price: of one, or of `usageEventsPerUnit` units.',
  }),
  pricing: Pricing.nullish().meta({ description: 'In place of that of the price.' }),
  startsAt: TimestampInput.optional().meta({ description: 'Ignored: the terms begin with the change.' }),
};

const AnyOverride = z
  .object(overrideFields)
  .refine(({ priceId, priceSlug }) => (priceId === undefined) !== (priceSlug === undefined), {
    path: ['priceId'],
    message: 'send exactly one of priceId and priceSlug',
  })
  .refine(({ unitPrice, pricing }) => unitPrice == null || pricing == null, {
    path: ['pricing'],
    message: 'must be null or absent beside unitPrice',
  });

/** Own prices of a new subscription. */
export const NewPriceOverrides = z
  .array(
    AnyOverride.refine(({ unitPrice, pricing }) => unitPrice != null || pricing != null, {
      path: ['unitPrice'],
      message: 'send unitPrice or pricing',
    }).meta({ id: 'NewPriceOverride' }),
  )
  .max(maxOverrides)
  .meta({
    description:
      'Own terms of this customer for the price of an item or of usage, in place of those of the price. ' +
      'A setup fee, the interval and the trial stay those of the price.',
  });

/** Changes of own prices. */
export const ChangedPriceOverrides = z
  .array(
    AnyOverride.refine(({ unitPrice, pricing }) => unitPrice !== undefined || pricing !== undefined, {
      path: ['unitPrice'],
      message: 'send unitPrice or pricing, or null to return to the terms of the price',
    }).meta({ id: 'ChangedPriceOverride' }),
  )
  .max(maxOverrides)
  .meta({
    description:
      'Own terms of this customer, for the prices that are named. Null in `unitPrice` or `pricing` without the other: the price ' +
      'has its own terms again. Those of other prices stay. Those of an item end with it.',
  });

type GivenOverride = z.output<typeof AnyOverride>;

/** A change of the terms of a price for one subscription; neither amount: the price has its own terms again. */
export interface OverrideChange {
  readonly priceId: string;
  readonly isUsage: boolean;
  readonly unitPrice: bigint | null;
  readonly pricing: Pricing | null;
}

/** The terms in force between two instants. */
export interface OverrideSpan extends Pick<OverrideChange, 'unitPrice' | 'pricing'> {
  readonly startAt: Instant;
  readonly endAt: Instant | null;
}

/** The changes that a request asks for. Refuses prices of another pricing model, and terms that a price cannot have. */
export function resolveOverrides(
  given: readonly GivenOverride[],
  prices: readonly Price[],
  path: readonly string[],
): OverrideChange[] {
  const changes = given.map((each, index) => {
    const field = each.priceId === undefined ? 'priceSlug' : 'priceId';
    const price = prices.find(({ id, slug, active }) =>
      each.priceId === undefined ? active && slug === each.priceSlug : id === each.priceId,
    );
    const refuse = (name: string, message: string) => invalid([...path, index, name], message);
    if (price === undefined) throw refuse(field, 'must be a price of the pricing model of the subscription');
    if (price.type === 'single_payment') throw refuse(field, 'must be a subscription or usage price');
    if (isNoChargePrice(price)) throw refuse(field, 'must not be a no-charge price: give the meter another price');
    const { unitPrice = null, pricing = null } = each;
    const { id: priceId, type } = price;
    const change: OverrideChange = { priceId, isUsage: type === 'usage', unitPrice, pricing };
    if (isRemoval(change)) return change;
    const at = pricing === null ? ['unitPrice'] : ['pricing', 'model'];
    const reason = unsuitable(price, pricing);
    if (reason !== null) throw invalid([...path, index, ...at], reason);
    // An amount of usage is rounded on its line, but an item is billed as it is priced.
    if (!change.isUsage) refuseFineAmount([...path, index, 'unitPrice'], unitPrice ?? 0n, price.currency);
    if (unitPrice === 0n && (price.setupFeeAmount || price.minimumCommitment))
      throw refuse('unitPrice', 'must be above 0: the price has a setup fee or a commitment');
    return change;
  });
  const seen = new Set<string>();
  for (const [index, { priceId }] of changes.entries()) {
    if (seen.has(priceId)) throw invalid([...path, index], 'must name a price that no other entry names');
    seen.add(priceId);
  }
  return changes;
}

/**
 * The reason why a price cannot have the pricing. Events are counted by the price, because they are counted as they
 * come.
 */
function unsuitable(price: Price, pricing: Pricing | null): string | null {
  if (price.type === 'subscription')
    return pricing === null || quantityModels.includes(pricing.model)
      ? null
      : `must be one of ${quantityModels.join(', ')} for a subscription price`;
  const counted = eventsCountedBy(price.pricing);
  if (eventsCountedBy(pricing) === counted) return null;
  if (counted === 'own') return 'must be pricing with the model dynamic, as that of the price';
  if (counted === 'counted') return 'must be pricing with fixedAmountPerEvent, as that of the price';
  return 'must not count events: use neither dynamic nor fixedAmountPerEvent, as the price';
}

/** Whether the price has its own terms again. */
export function isRemoval({ unitPrice, pricing }: Pick<OverrideChange, 'unitPrice' | 'pricing'>): boolean {
  return unitPrice === null && pricing === null;
}

/** The terms of a price in force, as those of an item. */
export function termsOf({ unitPrice, pricing }: Pick<OverrideChange, 'unitPrice' | 'pricing'>): Priced {
  return { unitPrice: unitPrice ?? 0n, pricing };
}

type OwnTerms = Pick<OverrideChange, 'priceId' | 'unitPrice' | 'pricing'>;

/** The price with the terms that the subscription has. */
export function withOverride(price: Price, changes: readonly OwnTerms[]): Price {
  // Only a subscription price is an item, and both variants of its terms are valid.
  return { ...price, ...ownTermsOf(price.id, changes) } as Price;
}

/** The terms that the subscription has for a price; nothing where it has those of the price. */
export function ownTermsOf(priceId: string, changes: readonly OwnTerms[]): Partial<Priced> {
  const own = changes.find((each) => each.priceId === priceId);
  return own === undefined || isRemoval(own) ? {} : termsOf(own);
}

/**
 * The changes to make: those that change something, and the end of the terms of items that are left out. The terms of a
 * usage price stay through every change of the plan.
 */
export function decideOverrides(
  requested: readonly OverrideChange[],
  inForce: readonly (PriceOverride & { readonly isUsage: boolean })[],
  itemPriceIds: ReadonlySet<string>,
): OverrideChange[] {
  const present = new Map(inForce.map((override) => [override.priceId, override]));
  const named = new Set(requested.map(({ priceId }) => priceId));
  const effective = requested.filter((change) => {
    const { unitPrice = null, pricing = null } = present.get(change.priceId) ?? {};
    return unitPrice !== change.unitPrice || !isSameJson(pricing, change.pricing);
  });
  const left = inForce.filter(({ priceId, isUsage }) => !isUsage && !itemPriceIds.has(priceId) && !named.has(priceId));
  return [...effective, ...left.map(({ priceId }) => ({ priceId, isUsage: false, unitPrice: null, pricing: null }))];
}

/** Refuses terms for a subscription price that is no item. */
export function refuseStrayOverrides(
  changes: readonly OverrideChange[],
  itemPriceIds: ReadonlySet<string>,
  path: readonly string[],
): void {
  const index = changes.findIndex((each) => !each.isUsage && !isRemoval(each) && !itemPriceIds.has(each.priceId));
  if (index >= 0)
    throw invalid([...path, index], 'must name a usage price, or the price of an item of the subscription');
}

/** The terms in force after the changes, made at `at` in the period that began at `periodStart`. */
export function overridesAfter(
  inForce: readonly PriceOverride[],
  changes: readonly OverrideChange[],
  made: { readonly at: Instant; readonly periodStart: Instant | null },
): PriceOverride[] {
  const changed = new Set(changes.map(({ priceId }) => priceId));
  const started = changes
    .filter((change) => !isRemoval(change))
    .map((change): PriceOverride => {
      const { priceId, unitPrice, pricing } = change;
      return { priceId, unitPrice, pricing, startsAt: overrideStart(change, made) };
    });
  return [...inForce.filter(({ priceId }) => !changed.has(priceId)), ...started];
}

/**
 * The instant from which a change holds. A usage period has the terms in force at its start, so a change at that very
 * instant must not reach the period that has begun.
 */
export function overrideStart(
  { isUsage }: Pick<OverrideChange, 'isUsage'>,
  { at, periodStart }: { readonly at: Instant; readonly periodStart: Instant | null },
): Instant {
  return isUsage && at === periodStart ? at + 1 : at;
}

/**
 * The terms of a price for a usage period that begins at `start`: those in force then. So all parts of a period have
 * the same price, whenever they are billed. Null: those of the price.
 */
export function overrideAt(spans: readonly OverrideSpan[], start: Instant): Priced | null {
  const found = spans.find(({ startAt, endAt }) => startAt <= start && (endAt === null || start < endAt));
  return found === undefined ? null : termsOf(found);
}
