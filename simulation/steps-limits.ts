import { pools, poolText, poolUnits } from './catalogue-pools.ts';
import { meterSlug } from './catalogue-usage.ts';
import { keyOfLimit, type LimitTerms, setLimits, thresholds } from './oracle-limits.ts';
import type { Random } from './random.ts';
import type { Draw } from './step.ts';

const labels = ['bot', 'team'] as const;

/** The label of usage, a hold or a limit; null: none. */
export function drawLabel(random: Random): string | null {
  return random.chance(0.4) ? (random.pick(labels) ?? null) : null;
}

const periods = ['day', 'week', 'month', 'billing_period'] as const;
const metersOfLimits = [null, null, meterSlug, meterSlug, 'tokens', 'answers', 'payments', 'resale', 'users'] as const;

/** Some limits of a pool are as small as one use, and some as large as the credits of a plan. */
function drawLimitOfPool(random: Random, setBy: LimitTerms['setBy'], pool = random.pick(pools)): LimitTerms {
  const text = random.pick(['0.000000000003', '0.07', '0.333333333333', '1', '2.5', '6', '15']) ?? '1';
  return {
    setBy,
    meter: null,
    pool: pool?.slug ?? null,
    label: random.chance(0.3) ? drawLabel(random) : null,
    period: random.pick(periods) ?? 'day',
    unit: 'units',
    amount: poolUnits(text),
    action: random.chance(0.7) ? 'block' : 'notify',
  };
}

function drawLimit(random: Random, setBy: LimitTerms['setBy'], isOfPool = random.chance(0.35)): LimitTerms {
  if (isOfPool) return drawLimitOfPool(random, setBy);
  const unit = random.chance(0.5) ? 'units' : 'money';
  return {
    setBy,
    meter: random.pick(metersOfLimits) ?? null,
    pool: null,
    label: random.chance(0.3) ? drawLabel(random) : null,
    period: random.pick(periods) ?? 'day',
    unit,
    amount: BigInt(random.between(1, random.chance(0.5) ? 400 : 4000)),
    action: random.chance(0.7) ? 'block' : 'notify',
  };
}

type Amount = Pick<LimitTerms, 'pool' | 'amount'>;

/** As callers say it. */
function shown({ pool, amount }: Amount): number | string {
  return pool === null ? Number(amount) : poolText(amount);
}

/** A part of its amount that callers can say, and not nothing. */
function partOf({ pool, amount }: Amount, percent: number): bigint {
  const part = (amount * BigInt(percent)) / 100n;
  const said = pool === null ? part : poolUnits(poolText(part));
  return said > 0n ? said : amount;
}

/** Sets limits of the use of a customer: by the seller, or by the customer for itself, which may only be stricter. */
export const limitSpending: Draw = ({ random, books, customers, wish }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const setBy = wish.isOfPool || random.chance(0.6) ? 'seller' : 'customer';
  // Some stay as they are or with another amount.
  const kept = customer.limits
    .filter((each) => random.chance(0.6) && (each.setBy === setBy || random.chance(0.3)))
    .map((limit): LimitTerms => {
      const { meter, pool, label, period, unit, action } = limit;
      const percent = random.chance(0.5) ? 100 : random.between(50, 150);
      return {
        setBy,
        meter,
        pool,
        label,
        period,
        unit,
        amount: partOf(limit, percent),
        action: random.chance(0.8) ? action : 'block',
      };
    });
  const ofPools = pools.map((pool): LimitTerms => {
    return { ...drawLimitOfPool(random, setBy, pool), label: null, action: 'block' };
  });
  const added = wish.isOfPool ? ofPools : Array.from({ length: random.below(3) }, () => drawLimit(random, setBy));
  const limits = [...new Map([...kept, ...added].map((each) => [keyOfLimit(each), each])).values()];
  const texts = limits.map((each) => `${shown(each)} ${keyOfLimit(each)} ${each.action}`);
  return {
    text: `limits ${customer.name} by its ${setBy === 'seller' ? 'seller' : 'own wish'} to ${texts.join(', ') || 'nothing'}`,
    customer,
    ask: async () => {
      const body = limits.map((limit) => {
        const { meter, pool, setBy: _, ...terms } = limit;
        const ofMeter = meter === null ? {} : { usageMeterSlug: meter };
        const subject = pool === null ? ofMeter : { creditPoolSlug: pool };
        return { ...terms, ...subject, amount: shown(limit), thresholds: [...thresholds] };
      });
      const spendControls = setBy === 'seller' ? { limits: body } : { ownLimits: body };
      return { method: 'PUT', path: `/customers/${customer.name}/spend-controls`, body: { spendControls } };
    },
    apply: () => (setLimits(books, customer, setBy, limits) ? 'done' : 'refused'),
  };
};
