import { z } from 'zod';
import { CurrencyCode } from '../kernel/currency.ts';
import { idPrefixes, idSchema } from '../kernel/id.ts';
import { amountInput, countInput, freeText, SafeString, WholeNumber } from '../kernel/json.ts';
import { invalid } from '../kernel/problem.ts';
import { type NewRecord, stamps } from '../kernel/record.ts';
import { findTie } from '../rating/conditions.ts';
import { poolAmount, poolText, smallestPerUnit, unitCostOf } from '../rating/pool-units.ts';
import { fineAmount, fineText } from './pricing.ts';
import { Where } from './usage-meter.ts';

/** The most credit pools of a pricing model, and the most rates of one. The table has the first limit too. */
export const maxCreditPools = 100;
const maxPoolRates = 200;

export const CreditPoolId = idSchema('creditPool');

/** Whether an id of what credits are of is that of a credit pool, and not of a usage meter. */
export function isCreditPool(id: string): boolean {
  return id.startsWith(`${idPrefixes.creditPool}_`);
}

/** Units of a usage meter or credit pool as the ledger counts them: those of a pool in its smallest units. */
export function ledgerUnits(subjectId: string, units: bigint): bigint {
  return isCreditPool(subjectId) ? units * smallestPerUnit : units;
}

/** Features with their credits in units of the ledger. */
export function inLedgerUnits<Feature extends { readonly usageMeterId: string | null; readonly amount: bigint | null }>(
  features: readonly Feature[],
): Feature[] {
  return features.map((feature) => {
    const { usageMeterId, amount } = feature;
    return usageMeterId === null || amount === null
      ? feature
      : { ...feature, amount: ledgerUnits(usageMeterId, amount) };
  });
}

/** The two fields of the API in which an account says what its credits are of. */
export function subjectOf(id: string): { readonly usageMeterId: string | null; readonly creditPoolId: string | null } {
  return isCreditPool(id) ? { usageMeterId: null, creditPoolId: id } : { usageMeterId: id, creditPoolId: null };
}

/** An amount of an account as the API tells it: units of a meter, or a decimal text in units of a pool. */
export function amountOf(subjectId: string, amount: bigint): bigint | string {
  return isCreditPool(subjectId) ? poolText(amount) : amount;
}

const decimalPattern = /^\d{1,12}(\.\d{1,12})?$/;
const decimalText = 'must be a decimal text above 0 such as "0.25", with up to 12 digits and 12 decimals';

/** An amount of a credit pool in a request. */
export const PoolAmount = z
  .string()
  .regex(decimalPattern, { abort: true, message: decimalText })
  .refine((text) => fineAmount(text) > 0n, { abort: true, message: decimalText })
  .overwrite((text) => fineText(fineAmount(text)))
  .meta({ description: 'A decimal text above 0, with up to 12 digits and 12 decimals.', example: '0.25' });

/** Units of a usage meter, or an amount of a credit pool. */
export const CreditAmount = z
  .union([WholeNumber, z.string().meta({ description: 'An amount of a credit pool.', example: '0.25' })])
  .meta({ id: 'CreditAmount', description: 'Units of a usage meter, or a decimal text in units of a credit pool.' });
export type CreditAmount = z.infer<typeof CreditAmount>;

/** Units of a usage meter or an amount of a credit pool, in a request. */
export const CreditAmountInput = z.union([amountInput(1), PoolAmount], {
  error: 'must be a whole number of units, or for a pool a decimal text',
});

const rateTexts = {
  where:
    'The events of the meter that it is for; null: all others. Of several, the one with the most properties applies.',
  per: 'The number of units of the usage meter that cost `cost`.',
  cost: 'A decimal text, in units of the pool.',
} as const;

/** The cost of the usage of a meter in units of a pool. */
const PoolRate = z
  .object({
    usageMeterSlug: z.string(),
    where: Where.nullable().meta({ description: rateTexts.where }),
    per: z.int().meta({ description: rateTexts.per }),
    cost: z.string().meta({ description: rateTexts.cost, example: '0.25' }),
  })
  .meta({ id: 'CreditPoolRate' });

const PoolRateInput = z
  .object({
    usageMeterSlug: SafeString,
    where: Where.nullable().default(null).meta({ description: rateTexts.where }),
    per: countInput(1).default(1).meta({ description: rateTexts.per }),
    cost: PoolAmount.meta({ description: rateTexts.cost }),
  })
  // A `per` that is no count has its own issue, and nothing can be divided by it.
  .refine((rate) => !(Number.isSafeInteger(rate.per) && rate.per >= 1) || unitCostOf(rate) !== null, {
    path: ['cost'],
    message: 'must be exact for one unit of the meter when divided by `per`: choose a `per` such as 1, 100 or 1000000',
  });
export type PoolRateInput = z.output<typeof PoolRateInput>;

const drawAtPrice = {
  description:
    'Whether use of a meter without a rate for it draws the amount of its price. For a pool whose unit is the currency of prices; ' +
    'a pricing model has one such pool. It never changes. Usage is drawn at a price whose first unit costs something and that has no ' +
    '`freeUnits`, `minimumAmount` or `maximumAmount`, and not with the models `volume` and `stairstep`: other usage is billed. Tiers ' +
    'and packages of what the pool pays for, and of what is billed, are counted apart.',
};

const unit = {
  description: 'The unit of its amounts: `credit`, or a currency such as `USD`. It never changes.',
};

const lowBalanceThreshold = {
  description:
    'A decimal text in units of the pool. A balance that falls below it causes the event `usage_balance.low`. Null: no event.',
  example: '10',
};

/** Credits of a customer that the usage of several meters draws from, each at a rate of its own. */
export const CreditPool = z
  .object({
    id: CreditPoolId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    slug: z.string(),
    name: z.string(),
    unit: z.string().meta(unit),
    drawAtPrice: z.boolean().meta(drawAtPrice),
    lowBalanceThreshold: z.string().nullable().meta(lowBalanceThreshold),
    rates: z.array(PoolRate).meta({ description: 'The meters that draw from it, after the credits of each meter.' }),
  })
  .meta({ id: 'CreditPool' });
export type CreditPool = z.infer<typeof CreditPool>;

/** A rate that has found its usage meter. */
export interface StoredRate extends PoolRateInput {
  readonly usageMeterId: string;
}
export interface NewCreditPool extends Omit<NewRecord<CreditPool>, 'rates'> {
  readonly rates: readonly StoredRate[];
}

const rates = z
  .array(PoolRateInput)
  .max(maxPoolRates)
  .meta({ description: `At most ${maxPoolRates}, all of them: those that are missing end.` });

/** The fields of a pool in a setup. */
export const poolFields = {
  slug: SafeString,
  name: SafeString,
  unit: z.union([z.literal('credit'), CurrencyCode]).meta(unit),
  drawAtPrice: z.boolean().default(false).meta(drawAtPrice),
  lowBalanceThreshold: PoolAmount.nullable().default(null).meta(lowBalanceThreshold),
  rates: rates.default([]),
};

/** A request for a credit pool. */
export const CreditPoolInput = z.object({ ...poolFields, pricingModelId: freeText('name').nullish() });
export type CreditPoolInput = z.output<typeof CreditPoolInput>;

/** A change of a credit pool. Absent fields keep their value. Another rate is for later usage only. */
export const CreditPoolChange = z.object({
  id: CreditPoolId.optional(),
  slug: SafeString.optional(),
  name: SafeString.optional(),
  lowBalanceThreshold: PoolAmount.nullable().optional().meta(lowBalanceThreshold),
  rates: rates.optional(),
});
export type CreditPoolChange = z.output<typeof CreditPoolChange>;

/** A rate with its place in a request. */
interface PlacedRate {
  readonly usageMeterSlug: string;
  readonly where: Where | null;
  readonly path: readonly (string | number)[];
}

/**
 * The first rate that could tie with another one of the pricing model, and why: an event has one best rate, whichever
 * pool it is of. Null: none does.
 */
export function rateIssue(rates: readonly PlacedRate[]): { path: (string | number)[]; message: string } | null {
  for (const ofMeter of Map.groupBy(rates, ({ usageMeterSlug }) => usageMeterSlug).values()) {
    const [, again] = ofMeter.filter(({ where }) => where === null);
    if (again !== undefined)
      return {
        path: [...again.path, 'where'],
        message: 'must be given: the meter has a rate without conditions already',
      };
    const tie = findTie(ofMeter.flatMap(({ where, path }) => (where === null ? [] : { where, path })));
    if (tie !== null)
      return {
        path: [...tie[0].path, 'where'],
        message: 'must tell its events from those of another rate of the meter with as many properties',
      };
  }
  return null;
}

/** An amount of a request in units of the ledger. Refuses a part of a unit of a meter. */
export function ledgerAmount(subjectId: string, amount: bigint | string, path: (string | number)[]): bigint {
  if (isCreditPool(subjectId)) return smallestUnitsOf(amount);
  if (typeof amount === 'string') throw invalid(path, 'must be a whole number of units of a usage meter');
  return amount;
}

/** The reason why a pool cannot draw at the price beside the other pools of its pricing model, or null. A null currency is not known. */
export function drawIssue(
  { unit, drawAtPrice }: Pick<CreditPool, 'unit' | 'drawAtPrice'>,
  currency: string | null,
  others: readonly Pick<CreditPool, 'slug' | 'unit' | 'drawAtPrice'>[],
): string | null {
  if (!drawAtPrice) return null;
  if (unit === 'credit' || unit !== (currency ?? unit))
    return `must be false unless the unit is ${currency ?? 'a currency'}, the currency of prices`;
  const other = others.find((each) => each.drawAtPrice && each.unit === unit);
  return other === undefined ? null : `must be false: credit pool ${other.slug} draws at the price already`;
}

/** The amount that a grant names, in smallest units: a whole number, or a decimal text. */
export function smallestUnitsOf(amount: bigint | string): bigint {
  return typeof amount === 'string' ? poolAmount(amount) : amount * smallestPerUnit;
}
