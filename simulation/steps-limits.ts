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

function drawLimit(random: Random, setBy: LimitTerms['setBy']): LimitTerms {
  const unit = random.chance(0.5) ? 'units' : 'money';
  return {
    setBy,
    meter: random.pick(metersOfLimits) ?? null,
    label: random.chance(0.3) ? drawLabel(random) : null,
    period: random.pick(periods) ?? 'day',
    unit,
    amount: random.between(1, random.chance(0.5) ? 400 : 4000),
    action: random.chance(0.7) ? 'block' : 'notify',
  };
}

/** Sets limits of the use of a customer: by the seller, or by the customer for itself, which may only be stricter. */
export const limitSpending: Draw = ({ random, books, customers }) => {
  const customer = random.pick(customers);
  if (customer === undefined) return null;
  const setBy = random.chance(0.6) ? 'seller' : 'customer';
  // Some stay as they are or with another amount.
  const kept = customer.limits
    .filter((each) => random.chance(0.6) && (each.setBy === setBy || random.chance(0.3)))
    .map(({ meter, label, period, unit, amount, action }): LimitTerms => {
      const other = random.chance(0.5) ? amount : Math.max(1, Math.round(amount * (0.5 + random.next())));
      return { setBy, meter, label, period, unit, amount: other, action: random.chance(0.8) ? action : 'block' };
    });
  const added = Array.from({ length: random.below(3) }, () => drawLimit(random, setBy));
  const limits = [...new Map([...kept, ...added].map((each) => [keyOfLimit(each), each])).values()];
  const texts = limits.map((each) => `${each.amount} ${keyOfLimit(each)} ${each.action}`);
  return {
    text: `limits ${customer.name} by its ${setBy === 'seller' ? 'seller' : 'own wish'} to ${texts.join(', ') || 'nothing'}`,
    customer,
    ask: async () => {
      const body = limits.map(({ meter, setBy: _, ...limit }) => {
        return { ...limit, ...(meter === null ? {} : { usageMeterSlug: meter }), thresholds: [...thresholds] };
      });
      const spendControls = setBy === 'seller' ? { limits: body } : { ownLimits: body };
      return { method: 'PUT', path: `/customers/${customer.name}/spend-controls`, body: { spendControls } };
    },
    apply: () => (setLimits(books, customer, setBy, limits) ? 'done' : 'refused'),
  };
};
