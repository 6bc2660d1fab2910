import { z } from 'zod';
import { CurrencyCode } from '../kernel/currency.ts';
import { countInput, SafeString, WholeNumber } from '../kernel/json.ts';
import { decimalText } from '../kernel/money-text.ts';
import { fineDigits, type PriceModel, type Tier } from '../rating/price-model.ts';
import { maxUnitPrice, PriceId } from './price.ts';

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
  return z
    .string()
    .regex(decimalPattern, {
      abort: true,
      message: `must be a decimal text such as "0.25", ${unit}, with up to 12 decimals`,
    })
    .refine((text) => fineAmount(text) <= fineAmount(String(max)), { message: `must be at most ${max}` })
    .meta({ description: `A decimal text, ${unit}, with up to 12 decimals.`, example: '0.25' });
}

const DecimalAmount = decimal(maxUnitPrice, 'in the smallest unit of the currency');
const Rate = decimal(1000, 'in percent');

const bounds = {
  freeUnits: countInput(0).optional(),
  minimumAmount: DecimalAmount.optional(),
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
const Pricing = z
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
type Pricing = z.output<typeof Pricing>;

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

const QuotedTier = z.object({
  upTo: WholeNumber.nullable(),
  units: WholeNumber,
  unitAmount: z.string(),
  rate: z.string(),
  flatAmount: z.string(),
  amount: WholeNumber,
});

export const Quote = z
  .object({
    currency: CurrencyCode,
    lines: z.array(
      z.object({
        units: WholeNumber,
        amount: WholeNumber,
        tiers: z.array(QuotedTier).meta({
          description:
            'The tiers that hold units. They add up to the amount, unless packages, events or bounds decide it.',
        }),
      }),
    ),
    total: WholeNumber,
  })
  .meta({ id: 'Quote' });
export type Quote = z.output<typeof Quote>;
