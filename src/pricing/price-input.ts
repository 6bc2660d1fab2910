import { z } from 'zod';
import { CurrencyCode, refuseFineAmount } from '../kernel/currency.ts';
import {
  amountInput,
  countInput,
  freeText,
  isSameJson,
  MetadataInput,
  SafeString,
  Unused,
  WholeNumber,
} from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { textLimits } from '../kernel/text-limits.ts';
import { type Conditions, findTie } from '../rating/conditions.ts';
import {
  BillingTiming,
  IntervalUnit,
  isNoChargePrice,
  isReservedPriceSlug,
  maxTrialPeriodDays,
  type NewPrice,
  noChargeSuffix,
  Overage,
  type Price,
  PriceId,
  PriceType,
  UsageInterval,
  usageIntervalInput,
  usageIntervalOf,
  usualOverage,
} from './price.ts';
import { DecimalAmount, extraAmounts, maxUnitPrice, PricedTier, Pricing, refinePricing } from './pricing.ts';
import { type Product, ProductId } from './product.ts';
import { UsageMeterId, Where } from './usage-meter.ts';

export const reservedPriceSlugMessage = `must not end in ${noChargeSuffix}, which is reserved for no-charge prices`;

const PriceSlug = SafeString.refine((slug) => !isReservedPriceSlug(slug), { message: reservedPriceSlugMessage });
const UnitPrice = amountInput(0, maxUnitPrice);
const AmountFields = { unitPrice: UnitPrice.optional(), pricing: Pricing.nullish() };
const IntervalCount = countInput(1);
const TrialPeriodDays = countInput(0, maxTrialPeriodDays).nullable();
const OverageInput = Overage.nullish().meta({ description: 'By default `none` for the default product, else `bill`.' });

const anyPrice = {
  name: SafeString.nullable().default(null),
  slug: PriceSlug.nullable().default(null),
  isDefault: z.boolean().optional(),
  active: z.boolean().optional(),
  metadata: MetadataInput,
};
const subscriptionPrice = {
  ...anyPrice,
  ...AmountFields,
  type: z.literal('subscription'),
  intervalUnit: IntervalUnit,
  intervalCount: IntervalCount.default(1),
  trialPeriodDays: TrialPeriodDays.default(null),
  overage: OverageInput,
  setupFeeAmount: UnitPrice.nullish(),
  minimumCommitment: UnitPrice.nullish(),
  usageInterval: Unused,
  billingTiming: BillingTiming.nullish().meta({ description: 'By default `in_advance`.' }),
  usageEventsPerUnit: Unused,
  usageMeterId: Unused,
  where: Unused,
};
const singlePaymentPrice = {
  ...anyPrice,
  unitPrice: UnitPrice,
  pricing: Unused,
  type: z.literal('single_payment'),
  intervalUnit: Unused,
  intervalCount: Unused,
  trialPeriodDays: Unused,
  overage: Unused,
  setupFeeAmount: Unused,
  minimumCommitment: Unused,
  usageInterval: Unused,
  billingTiming: Unused,
  usageEventsPerUnit: Unused,
  usageMeterId: Unused,
  where: Unused,
};
const usagePrice = {
  ...anyPrice,
  ...AmountFields,
  type: z.literal('usage'),
  usageMeterId: UsageMeterId,
  usageEventsPerUnit: countInput(1).default(1),
  ...usageIntervalInput,
  trialPeriodDays: Unused,
  overage: Unused,
  setupFeeAmount: Unused,
  minimumCommitment: Unused,
  billingTiming: Unused,
  where: Where.nullish().meta({
    description:
      'The events that it rates. Of several prices of the usage meter that match an event, the one with the most properties ' +
      'rates it. The default price, which has none, rates the rest.',
  }),
  productId: Unused,
};

const anyTypeMessage = {
  error: ({ code }: { readonly code: string }) =>
    code === 'invalid_union' ? 'must be subscription, single_payment or usage' : undefined,
};

/** The first price of a new product. A usage price belongs to its usage meter, and the product itself is free. */
export const FirstPriceInput = z.discriminatedUnion(
  'type',
  [
    z.object(subscriptionPrice).superRefine(refinePricing),
    z.object(singlePaymentPrice),
    z.object(usagePrice).superRefine(refinePricing),
  ],
  anyTypeMessage,
);
export type FirstPriceInput = z.output<typeof FirstPriceInput>;
type ProductPriceInput = Exclude<FirstPriceInput, { type: 'usage' }>;

const ofProduct = { productId: ProductId, pricingModelId: freeText('name').nullish() };

/** An additional price of a product, or a price of a usage meter. */
export const PriceInput = z.discriminatedUnion(
  'type',
  [
    z.object({ ...subscriptionPrice, ...ofProduct }).superRefine(refinePricing),
    z.object({ ...singlePaymentPrice, ...ofProduct }),
    z.object({ ...usagePrice, pricingModelId: freeText('name').nullish() }).superRefine(refinePricing),
  ],
  anyTypeMessage,
);
export type PriceInput = z.output<typeof PriceInput>;
export type UsagePriceInput = Extract<PriceInput, { type: 'usage' }>;

/**
 * A change of a product's default price. Absent fields keep their value. `isDefault` and `active` follow from the
 * product.
 */
export const ProductPriceChange = z
  .object({
    type: PriceType.optional(),
    productId: ProductId.optional(),
    name: SafeString.nullish(),
    slug: SafeString.nullish(),
    ...AmountFields,
    intervalUnit: IntervalUnit.nullish(),
    intervalCount: IntervalCount.nullish(),
    trialPeriodDays: TrialPeriodDays.optional(),
    overage: Overage.nullish(),
    setupFeeAmount: UnitPrice.nullish(),
    minimumCommitment: UnitPrice.nullish(),
    usageInterval: Unused,
    billingTiming: BillingTiming.nullish(),
    usageEventsPerUnit: Unused,
    usageMeterId: Unused,
    where: Unused,
    metadata: MetadataInput,
  })
  .superRefine((change, context) => {
    if (change.pricing) refinePricing({ type: 'subscription', ...change }, context);
  });
export type ProductPriceChange = z.output<typeof ProductPriceChange>;

/** A change of a price. Its amount is fixed, because subscribers agreed to it. */
export const PriceChange = z.object({
  type: PriceType.optional(),
  name: SafeString.nullish(),
  // A no-charge price may be sent back with its own slug, which is longer than its meter's by the reserved ending.
  slug: freeText('longName').trim().min(1).nullish(),
  isDefault: z.boolean().optional(),
  active: z.boolean().optional(),
  overage: Overage.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  pricing: Pricing.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  setupFeeAmount: UnitPrice.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  minimumCommitment: UnitPrice.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  billingTiming: BillingTiming.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  where: Where.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  usageInterval: UsageInterval.nullish().meta({ description: 'As it is, or absent: it cannot change.' }),
  metadata: MetadataInput,
});
export type PriceChange = z.output<typeof PriceChange>;

/** Builds the default price of a product from a request. */
export function newProductPrice(
  id: string,
  product: Pick<Product, 'id' | 'pricingModelId' | 'default'>,
  input: ProductPriceInput,
  currency: CurrencyCode,
): NewPrice {
  const { unitPrice = 0n } = input;
  refuseFineAmount(['price', 'unitPrice'], unitPrice, currency);
  for (const field of extraAmounts) refuseFineAmount(['price', field], input[field] ?? 0n, currency);
  const price = {
    id,
    pricingModelId: product.pricingModelId,
    productId: product.id,
    usageMeterId: null,
    name: input.name,
    slug: input.slug,
    unitPrice,
    usageEventsPerUnit: null,
    currency,
    where: null,
    isDefault: true,
    active: true,
    metadata: input.metadata ?? null,
  };
  if (input.type === 'single_payment') {
    const none = { intervalUnit: null, intervalCount: null, trialPeriodDays: null, overage: null, pricing: null };
    const extra = { setupFeeAmount: null, minimumCommitment: null, usageInterval: null, billingTiming: null };
    return { ...price, type: input.type, ...none, ...extra };
  }
  const { type, intervalUnit, intervalCount, trialPeriodDays } = input;
  const overage = input.overage ?? usualOverage(product);
  const { pricing = null, setupFeeAmount = null, minimumCommitment = null } = input;
  const billingTiming = input.billingTiming ?? 'in_advance';
  const extra = { setupFeeAmount, minimumCommitment, billingTiming, usageInterval: null } as const;
  return { ...price, type, intervalUnit, intervalCount, trialPeriodDays, overage, pricing, ...extra };
}

/** The price of a product that is sold by usage alone: subscribing costs nothing. */
export function freePriceOf({ intervalUnit, intervalCount }: UsagePriceInput): ProductPriceInput {
  const free = { unitPrice: 0n, name: null, slug: null, trialPeriodDays: null };
  const interval = { intervalUnit: intervalUnit ?? 'month', intervalCount: intervalCount ?? 1 };
  return { ...free, type: 'subscription', ...interval, usageEventsPerUnit: null, usageMeterId: null };
}

/** Builds a price of a usage meter from a request. */
export function newUsagePrice(
  id: string,
  meter: { readonly id: string; readonly pricingModelId: string },
  input: Omit<UsagePriceInput, 'usageMeterId' | 'type'>,
  currency: CurrencyCode,
): NewPrice {
  return {
    id,
    pricingModelId: meter.pricingModelId,
    productId: null,
    usageMeterId: meter.id,
    type: 'usage',
    name: input.name,
    slug: input.slug,
    unitPrice: input.unitPrice ?? 0n,
    usageEventsPerUnit: input.usageEventsPerUnit,
    ...usageIntervalOf(input),
    trialPeriodDays: null,
    overage: null,
    pricing: input.pricing ?? null,
    setupFeeAmount: null,
    minimumCommitment: null,
    billingTiming: null,
    where: input.where ?? null,
    currency,
    isDefault: input.isDefault ?? false,
    active: input.active ?? true,
    metadata: input.metadata ?? null,
  };
}

/**
 * Returns a price after a change, first, and its siblings (the other prices of its product or meter) that change with
 * it. A product or meter always keeps a default price. If a meter's default is unset or deactivated, the no-charge
 * price becomes the default. If a product's default is unset or deactivated, its newest active price does; without one,
 * it stays the default.
 */
export function decidePriceChange(
  price: Price,
  siblings: readonly Price[],
  change: PriceChange,
  { ofDefaultProduct }: { readonly ofDefaultProduct: boolean },
): Price[] {
  if (change.type !== undefined && change.type !== price.type) {
    throw invalid(['price', 'type'], `must be ${price.type}: the type of a price cannot change`);
  }
  if (change.overage && change.overage !== price.overage) {
    throw invalid(['price', 'overage'], `must be ${price.overage}: subscribers agreed to it, so make another price`);
  }
  if (change.billingTiming && change.billingTiming !== price.billingTiming) {
    const same = `must be ${price.billingTiming}: subscribers agreed to it, so make another price`;
    throw invalid(['price', 'billingTiming'], same);
  }
  if (change.pricing !== undefined && !isSameJson(change.pricing, price.pricing)) {
    throw invalid(['price', 'pricing'], 'must stay as it is: subscribers agreed to it, so make another price');
  }
  for (const field of extraAmounts) {
    if (change[field] !== undefined && (change[field] ?? 0n) !== (price[field] ?? 0n))
      throw invalid(['price', field], 'must stay as it is: subscribers agreed to it, so make another price');
  }
  if (change.where !== undefined && !isSameJson(change.where, price.where)) {
    throw invalid(['price', 'where'], 'must stay as it is: subscribers agreed to it, so make another price');
  }
  if (change.usageInterval !== undefined && change.usageInterval !== price.usageInterval) {
    throw invalid(['price', 'usageInterval'], 'must stay as it is: subscribers agreed to it, so make another price');
  }
  const { name = price.name, slug = price.slug, active = price.active, isDefault = price.isDefault } = change;
  if (ofDefaultProduct) protectDefaultProduct(price, { slug, active, isDefault });
  if (isNoChargePrice(price)) protectNoCharge(price, { slug, active, isDefault });
  else if (slug !== price.slug) refuseBadSlug(slug);
  if (!price.isDefault && change.isDefault && !active) {
    throw invalid(['price', 'isDefault'], 'an inactive price cannot become the default: send active: true as well');
  }
  if (price.where !== null && change.isDefault) throw invalid(['price', 'isDefault'], defaultWithConditions);
  if (active && !price.active) refuseAmbiguous(price, siblings, ['price', 'active']);
  const metadata = change.metadata === undefined ? price.metadata : change.metadata;
  return settleDefault({ ...price, name, slug, active, isDefault, metadata }, price, siblings);
}

export const defaultWithConditions = 'must be false for a price with conditions: the default price rates the rest';

/** Refuses an active price that could rate an event as well as another price of its usage meter does. */
export function refuseAmbiguous(
  price: Pick<Price, 'where'>,
  siblings: readonly Price[],
  path: readonly string[],
): void {
  if (price.where === null) return;
  const others = siblings.flatMap(({ id, slug, active, where }) =>
    active && where !== null ? [{ name: slug ?? id, where }] : [],
  );
  const issue = ambiguityOf([...others, { name: 'this price', where: price.where }]);
  if (issue !== null) throw invalid(path, issue.message);
}

/**
 * The first of conditional prices of a usage meter that could tie with an earlier one; null: no event has two best
 * matches.
 */
export function ambiguityOf<Named extends { readonly name: string; readonly where: Conditions }>(
  prices: readonly Named[],
): { price: Named; message: string } | null {
  const [price, other] = findTie(prices) ?? [];
  if (price === undefined || other === undefined) return null;
  const message = `must tell its events from those of ${other.name}: some event meets both, with as many conditions`;
  return { price, message };
}

/** Gives the default flag to exactly one of the prices and returns those that changed. */
function settleDefault(changed: Price, before: Price, siblings: readonly Price[]): Price[] {
  const inForce = siblings.find((each) => each.isDefault);
  const takes = changed.isDefault && changed.active;
  const isFirstActive = changed.active && !before.isDefault && changed.productId !== null && inForce?.active === false;
  if (takes || isFirstActive) {
    return [{ ...changed, isDefault: true }, ...(inForce ? [{ ...inForce, isDefault: false }] : [])];
  }
  if (!before.isDefault) return [changed];
  const heir = siblings.findLast((each) => (each.type === 'usage' ? isNoChargePrice(each) : each.active));
  // A product without an active price keeps its default, for when it is activated again.
  if (heir === undefined) return [{ ...changed, isDefault: true }];
  return [
    { ...changed, isDefault: false },
    { ...heir, isDefault: true },
  ];
}

interface Wanted {
  readonly slug: string | null;
  readonly active: boolean;
  readonly isDefault: boolean;
}

function protectNoCharge(price: Price, wanted: Wanted): void {
  const refuse = (rule: string) => new Problem('noChargePriceProtected', { id: price.id, rule });
  if (!wanted.active) throw refuse('it must stay active');
  if (wanted.slug !== price.slug) throw refuse('its slug follows the slug of the usage meter');
  if (price.isDefault && !wanted.isDefault) {
    throw refuse('it stays the default until another price of the usage meter becomes the default');
  }
}

function protectDefaultProduct(price: Price, wanted: Wanted): void {
  const refuse = (rule: string) => new Problem('defaultProductProtected', { id: price.productId ?? '', rule });
  if (wanted.slug !== price.slug) throw refuse('the slug of its price cannot change');
  if (wanted.isDefault !== price.isDefault) throw refuse('its default price cannot be replaced');
  if (wanted.active !== price.active) throw refuse('its price cannot be activated or deactivated');
}

/** Refuses a slug that is reserved for no-charge prices; `path` is where the slug was sent. */
export function refuseBadSlug(slug: string | null, path: readonly string[] = ['price', 'slug']): void {
  if (isReservedPriceSlug(slug)) throw invalid(path, reservedPriceSlugMessage);
  if ((slug?.length ?? 0) > textLimits.name) throw invalid(path, `must have at most ${textLimits.name} characters`);
}

const maxLines = 1000;

const QuoteLineInput = z
  .object({
    priceId: PriceId.optional(),
    priceSlug: SafeString.optional(),
    pricing: Pricing.optional(),
    units: countInput(0).meta({ description: 'Units of one usage period, or the quantity of a product.' }),
    events: countInput(0).optional().meta({
      description: 'The number of events, for `percentage`. By default 1, and 0 without units.',
    }),
    eventsAmount: DecimalAmount.optional().meta({ description: 'The sum of the prices of the events, for `dynamic`.' }),
  })
  .refine((line) => [line.priceId, line.priceSlug, line.pricing].filter((each) => each !== undefined).length === 1, {
    message: 'must have exactly one of priceId, priceSlug and pricing',
  });
export type QuoteLineInput = z.output<typeof QuoteLineInput>;

export const QuoteInput = z.object({
  currency: CurrencyCode.optional().meta({ description: 'By default the currency of the environment.' }),
  lines: z.array(QuoteLineInput).min(1).max(maxLines),
});
export type QuoteInput = z.output<typeof QuoteInput>;

export const Quote = z
  .object({
    currency: CurrencyCode,
    lines: z.array(
      z.object({
        units: WholeNumber,
        amount: WholeNumber,
        tiers: z.array(PricedTier).meta({
          description:
            'The tiers that hold units. They add up to the amount, unless packages, events or bounds decide it.',
        }),
      }),
    ),
    total: WholeNumber,
  })
  .meta({ id: 'Quote' });
export type Quote = z.output<typeof Quote>;
