import { z } from 'zod';
import { countInput, WholeNumber } from '../kernel/json.ts';
import { decimalText } from '../kernel/money-text.ts';
import type { MeasuredUnits } from '../rating/measured-usage.ts';
import { fineDigits, type PriceModel, priceUsage, type Tier, type TierAmount } from '../rating/price-model.ts';
import type { SpendPrice } from '../rating/spending.ts';
import { priceUnits } from '../rating/usage-parts.ts';

/** The maximum unit price of the API specification. */
export const maxUnitPrice = 4_503_599_627_370_495;

const decimalPattern = /^\d{1,16}(\.\d{1,12})?$/;

/** A decimal text of the caller as a fine amount: "0.25" is 250,000,000,000. */
export function fineAmount(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(fineDigits, '0'));
}

/** A fine amount as a decimal text without trailing zeros. */
export function fineText(amount: bigint): string {
  return decimalText(amount, fineDigits).replace(/\.?0+$/, '');
}

function decimal(max: number, unit: string) {
  return (
    z
      .string()
      .regex(decimalPattern, {
        abort: true,
        message: `must be a decimal text such as "0.25", ${unit}, with up to 12 decimals`,
      })
      .refine((text) => fineAmount(text) <= fineAmount(String(max)), { abort: true, message: `must be at most ${max}` })
      // One text for one amount: stored pricings are compared.
      .overwrite((text) => fineText(fineAmount(text)))
      .meta({ description: `A decimal text, ${unit}, with up to 12 decimals.`, example: '0.25' })
  );
}

export const DecimalAmount = decimal(maxUnitPrice, 'in the smallest unit of the currency');
const Rate = decimal(1000, 'in percent');

const bounds = {
  freeUnits: countInput(0).optional(),
  minimumAmount: DecimalAmount.optional().meta({
    description: 'The least that a usage period costs, from its first unit on. Without usage it costs nothing.',
  }),
  maximumAmount: DecimalAmount.optional(),
};

const maxTiers = 100;

interface TierInput {
  readonly upTo: number | null;
}

const UpTo = countInput(1).nullable().meta({ description: 'The last unit of the tier; null in the last tier.' });

function tiersOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z
    .array(z.object({ upTo: UpTo, ...shape }))
    .min(1)
    .max(maxTiers)
    .check((context) => {
      const tiers = context.value as readonly TierInput[];
      const refuse = (index: number, message: string) =>
        context.issues.push({ code: 'custom', message, path: [index, 'upTo'], input: tiers[index]?.upTo });
      for (const [index, { upTo }] of tiers.entries()) {
        const isLast = index === tiers.length - 1;
        const before = tiers[index - 1]?.upTo ?? 0;
        if (isLast && upTo !== null) refuse(index, 'must be null: the last tier has no end');
        else if (!isLast && upTo === null) refuse(index, 'must be a number: only the last tier has no end');
        else if (upTo !== null && upTo <= before) refuse(index, `must be more than ${before}`);
      }
    });
}

const AmountTiers = tiersOf({ unitAmount: DecimalAmount, flatAmount: DecimalAmount.optional() });

/** How a price turns units into money. `upTo` is inclusive. */
export const Pricing = z
  .discriminatedUnion(
    'model',
    [
      z.object({ model: z.literal('per_unit'), unitAmount: DecimalAmount, ...bounds }),
      z.object({ model: z.literal('package'), packageSize: countInput(1), packageAmount: DecimalAmount, ...bounds }),
      z.object({ model: z.enum(['graduated', 'volume']), tiers: AmountTiers, ...bounds }),
      z.object({ model: z.literal('stairstep'), tiers: tiersOf({ flatAmount: DecimalAmount }), ...bounds }),
      z.object({
        model: z.literal('percentage'),
        rate: Rate,
        fixedAmountPerEvent: DecimalAmount.optional(),
        ...bounds,
      }),
      z.object({
        model: z.literal('graduated_percentage'),
        tiers: tiersOf({ rate: Rate, flatAmount: DecimalAmount.optional() }),
        ...bounds,
      }),
      z.object({
        model: z.literal('dynamic'),
        minimumAmount: bounds.minimumAmount,
        maximumAmount: bounds.maximumAmount,
      }),
    ],
    {
      error: ({ code }) =>
        code === 'invalid_union'
          ? 'must be per_unit, package, graduated, volume, stairstep, percentage, graduated_percentage or dynamic'
          : undefined,
    },
  )
  .refine(({ minimumAmount: least, maximumAmount: most }) => !least || !most || fineAmount(least) <= fineAmount(most), {
    message: 'must be at least minimumAmount',
    path: ['maximumAmount'],
  })
  .meta({
    id: 'Pricing',
    description:
      'How units become money, in each usage period. `per_unit`: each unit. `package`: whole packages, rounded up. ' +
      '`graduated`: each unit at the rate of its own tier. `volume`: all units at the rate of the tier of the last one. ' +
      '`stairstep`: one amount for each tier. `percentage` and `graduated_percentage`: units are an amount of money. ' +
      '`dynamic`: each event has its own price. `freeUnits` come off before tiers and packages.',
  });
export type Pricing = z.output<typeof Pricing>;

interface PricedInput {
  readonly type?: string | undefined;
  readonly unitPrice?: bigint | undefined;
  readonly usageEventsPerUnit?: number | null | undefined;
  readonly pricing?: Pricing | null | undefined;
  readonly setupFeeAmount?: bigint | null | undefined;
  readonly minimumCommitment?: bigint | null | undefined;
}

/** The amounts of a subscription price beside its unit price. */
export const extraAmounts = ['setupFeeAmount', 'minimumCommitment'] as const;

// A pricing of 0 needs a way to pay, as any price but one of 0.
export const extraOfFreePrice =
  'must be 0, null or absent for a price that costs nothing, unless it has a pricing such as {"model": "per_unit", "unitAmount": "0"}';

/** The models of a quantity, which is no money and has no events. */
export const quantityModels: readonly Pricing['model'][] = ['per_unit', 'package', 'graduated', 'volume', 'stairstep'];

/** The part of the events that usage at a price counts beside its units: none, their number, or their own prices. */
export function eventsCountedBy(pricing: Pricing | null): 'none' | 'counted' | 'own' {
  if (pricing?.model === 'dynamic') return 'own';
  return pricing !== null && 'fixedAmountPerEvent' in pricing ? 'counted' : 'none';
}

/** Refuses a price with neither a unit price nor a pricing, with both, or with a pricing that its type does not have. */
export function refinePricing(
  { type, unitPrice, usageEventsPerUnit, pricing, ...extra }: PricedInput,
  context: z.RefinementCtx,
): void {
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  for (const field of extraAmounts)
    if (extra[field] && !unitPrice && pricing == null) refuse([field], extraOfFreePrice);
  if (pricing == null) {
    if (unitPrice === undefined)
      context.addIssue({ code: 'invalid_type', expected: 'int', path: ['unitPrice'], input: undefined });
    return;
  }
  if (unitPrice) refuse(['unitPrice'], 'must be 0 or absent: pricing says how units become money');
  if ((usageEventsPerUnit ?? 1) !== 1)
    refuse(['usageEventsPerUnit'], 'must be 1 or absent: pricing says how units become money');
  if (type === 'subscription' && !quantityModels.includes(pricing.model))
    refuse(['pricing', 'model'], `must be one of ${quantityModels.join(', ')} for a subscription price`);
}

const noTier = { unitAmount: 0n, rate: 0n, flatAmount: 0n };

/** The model by which a pricing is computed. */
export function priceModelOf(pricing: Pricing): PriceModel {
  const { minimumAmount, maximumAmount } = pricing;
  const bounded = {
    freeUnits: BigInt('freeUnits' in pricing ? (pricing.freeUnits ?? 0) : 0),
    minimumAmount: minimumAmount === undefined ? null : fineAmount(minimumAmount),
    maximumAmount: maximumAmount === undefined ? null : fineAmount(maximumAmount),
  };
  const tiered = (kind: 'graduated' | 'volume', tiers: readonly Tier[], amountPerEvent = 0n): PriceModel => {
    return { ...bounded, kind, tiers, amountPerEvent };
  };
  switch (pricing.model) {
    case 'per_unit':
      return tiered('graduated', [{ ...noTier, upTo: null, unitAmount: fineAmount(pricing.unitAmount) }]);
    case 'package': {
      const { packageSize, packageAmount } = pricing;
      const size = BigInt(packageSize);
      return { ...bounded, kind: 'package', packageSize: size, packageAmount: fineAmount(packageAmount) };
    }
    case 'graduated':
    case 'volume':
      return tiered(pricing.model, pricing.tiers.map(tierOf));
    case 'stairstep':
      return tiered('volume', pricing.tiers.map(tierOf));
    case 'percentage': {
      const tier = { ...noTier, upTo: null, rate: fineAmount(pricing.rate) };
      return tiered('graduated', [tier], fineAmount(pricing.fixedAmountPerEvent ?? '0'));
    }
    case 'graduated_percentage':
      return tiered('graduated', pricing.tiers.map(tierOf));
    case 'dynamic':
      return { ...bounded, kind: 'dynamic' };
    default:
      return pricing satisfies never;
  }
}

/** An amount for each of a quantity, or a function of the quantity in its place. */
export interface Priced {
  /** In minor units; 0 where there is a `pricing`. */
  readonly unitPrice: bigint;
  readonly pricing: Pricing | null;
}

/**
 * The price of a quantity for a whole billing period, in minor units: what its invoice line says, and what a part of the
 * period is a share of. A `pricing` is rounded once, to a multiple of `step`. Every amount of a subscription comes from
 * here. Worked example: 12 seats in volume tiers, up to 10 at 10.00 and then at 8.00, cost 96.00.
 */
export function amountOf({ unitPrice, pricing }: Priced, quantity: number, step: bigint): bigint {
  if (pricing === null) return unitPrice * BigInt(quantity);
  return priceUnits(priceModelOf(pricing), BigInt(quantity), step).amount;
}

/**
 * The price of measured units, in minor units. It is exact, and rounded once. Worked example: 7.5 units at 100 for 3
 * units are 250.
 */
export function priceMeasured(
  { unitPrice, usageEventsPerUnit, pricing }: Priced & { readonly usageEventsPerUnit: number },
  { units, per }: MeasuredUnits,
  step = 1n,
) {
  const usage = { units, events: 0n, ownAmount: 0n };
  if (pricing !== null) return priceUsage(priceModelOf(pricing), { ...usage, per }, step);
  const model = priceModelOf({ model: 'per_unit', unitAmount: String(unitPrice) });
  return priceUsage(model, { ...usage, per: per * BigInt(usageEventsPerUnit) }, step);
}

/** The price of counted units: what they cost by a pricing, or `usageEventsPerUnit` of them by the unit price. */
export function priceOfUsage({
  unitPrice,
  usageEventsPerUnit,
  pricing,
}: Priced & { readonly usageEventsPerUnit: number }): SpendPrice {
  if (pricing !== null) return { model: priceModelOf(pricing), per: 1n };
  const model = priceModelOf({ model: 'per_unit', unitAmount: String(unitPrice) });
  return { model, per: BigInt(usageEventsPerUnit) };
}

/** Whether some quantity may cost something. */
export function mayCost({ unitPrice, pricing }: Priced): boolean {
  return unitPrice > 0n || pricing !== null;
}

interface AnyTier extends TierInput {
  readonly unitAmount?: string | undefined;
  readonly rate?: string | undefined;
  readonly flatAmount?: string | undefined;
}

function tierOf({ upTo, unitAmount = '0', rate = '0', flatAmount = '0' }: AnyTier): Tier {
  return {
    upTo: upTo === null ? null : BigInt(upTo),
    unitAmount: fineAmount(unitAmount),
    rate: fineAmount(rate),
    flatAmount: fineAmount(flatAmount),
  };
}

/** A tier that holds units, with its share of the price. */
export const PricedTier = z.object({
  upTo: WholeNumber.nullable(),
  units: WholeNumber,
  unitAmount: z.string(),
  rate: z.string(),
  flatAmount: z.string(),
  amount: WholeNumber,
});

export function shownTier({ tier, units, amount }: TierAmount): z.infer<typeof PricedTier> {
  return {
    upTo: tier.upTo,
    units,
    unitAmount: fineText(tier.unitAmount),
    rate: fineText(tier.rate),
    flatAmount: fineText(tier.flatAmount),
    amount,
  };
}
