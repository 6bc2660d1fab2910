import { isMatch, meterSlug, type Properties, type Where } from './catalogue-usage.ts';

/** The credit pools of the simulated world: what usage costs in them, and what plans and packs grant of them. */

/** All amounts of a pool are whole numbers of these parts of a unit. */
export const smallestPerUnit = 2_162_160n * 10n ** 12n;

/** `per` units of a meter cost `cost` units of the pool. */
export interface PoolRate {
  readonly usageMeterSlug: string;
  readonly where?: Where;
  readonly per: number;
  readonly cost: string;
}

export interface Pool {
  readonly slug: string;
  readonly unit: string;
  readonly rates: readonly PoolRate[];
  /** Whether usage without a rate costs the amount of its price. */
  readonly drawAtPrice?: true;
}

export const pools: readonly Pool[] = [
  {
    slug: 'ai',
    unit: 'credit',
    rates: [
      { usageMeterSlug: meterSlug, per: 100, cost: '1.5' },
      { usageMeterSlug: meterSlug, where: { size: ['large'] }, per: 7, cost: '0.25' },
      { usageMeterSlug: 'tokens', per: 3600, cost: '7' },
      { usageMeterSlug: 'answers', where: { size: ['huge'] }, per: 3, cost: '0.1' },
    ],
  },
  {
    slug: 'money',
    unit: 'USD',
    drawAtPrice: true,
    rates: [
      { usageMeterSlug: meterSlug, where: { size: ['huge'], region: ['eu'] }, per: 1, cost: '0.000000000001' },
      { usageMeterSlug: 'tokens', where: { size: ['small'] }, per: 1000, cost: '0.333333333' },
      { usageMeterSlug: 'answers', per: 1, cost: '0.07' },
      { usageMeterSlug: 'payments', where: { card: ['visa'] }, per: 100, cost: '0.03' },
    ],
  },
];

/** Credits of a pool per unit of a plan, in whole units, as those of the meter. */
export interface PoolGrants {
  readonly once?: number;
  readonly recurring?: number;
  readonly rollover?: { readonly maximum: number; readonly periods: number };
}

/** The rate of usage: the one that its properties match best. Null: no pool pays for it. */
export function rateOf(meter: string, properties: Properties) {
  const all = pools.flatMap(({ slug, rates }) => rates.map((rate) => ({ slug, rate })));
  const of = all.filter(
    ({ rate: { usageMeterSlug, where } }) => usageMeterSlug === meter && isMatch(where, properties),
  );
  const conditions = ({ rate: { where = {} } }: (typeof of)[number]) => Object.keys(where).length;
  const [best] = of.toSorted((one, other) => conditions(other) - conditions(one));
  if (best === undefined) return null;
  return { rate: best.rate, pool: best.slug, cost: poolUnits(best.rate.cost) / BigInt(best.rate.per) };
}

/** A decimal text in smallest units. */
export function poolUnits(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return (BigInt(whole + decimals) * smallestPerUnit) / 10n ** BigInt(decimals.length);
}

/** As the service shows it: cut off after the twelfth decimal. */
export function poolText(amount: bigint): string {
  const shown = 10n ** 12n;
  const parts = amount * shown;
  const cut = parts / smallestPerUnit - (parts < 0n && parts % smallestPerUnit !== 0n ? 1n : 0n);
  const [size, sign] = cut < 0n ? [-cut, '-'] : [cut, ''];
  const decimals = String(size % shown)
    .padStart(12, '0')
    .replace(/0+$/, '');
  return `${sign}${size / shown}${decimals === '' ? '' : `.${decimals}`}`;
}

/** The pools as a part of the body of `POST /pricing-models/setup`. */
export function poolsOf() {
  return pools.map(({ slug, ...terms }) => ({ slug, name: slug, ...terms }));
}
