import { type Pack, packs } from './catalogue.ts';
import { poolText, poolUnits } from './catalogue-pools.ts';
import { balanceIn, poolOf } from './oracle-pools.ts';
import { setTopUp, type TopUpTerms } from './oracle-top-ups.ts';
import type { Draw } from './step.ts';

const lines = ['0.5', '1', '2.5', '6.25', '20'] as const;

/** Lets a pack of credits of a pool be bought whenever the balance falls below a line, or not any more. */
export const setAutoTopUp: Draw = ({ random, books, customers, wish }) => {
  const customer = random.pick(customers);
  const of = random.pick(packs.filter(({ credits, calls }) => credits > 0 && !(wish.isGood && calls > 0)));
  if (customer === undefined || of === undefined) return null;
  const isRemoved = !wish.isGood && random.chance(0.15);
  const account = poolOf(customer, of.pool);
  // Often just below the present balance, so that it is soon crossed.
  const present = poolUnits(poolText(balanceIn(books, customer, account)));
  const line = poolUnits(random.pick(lines) ?? '1');
  const below = present > 0n && random.chance(0.4) ? present : line;
  const quantity = random.chance(0.4) ? random.between(1, 3) : null;
  const upTo = quantity === null ? below + poolUnits(String(random.between(0, 30))) : null;
  const maximum = random.pick([500, 1500, 4000, 100_000]) ?? 4000;
  const terms: TopUpTerms | null = isRemoved ? null : { pack: of, below, upTo, quantity, maximum };
  return {
    text: `tops ${customer.name} up ${told(terms)}`,
    customer,
    ask: async () => {
      const autoTopUp = terms && {
        priceSlug: of.slug,
        below: poolText(below),
        ...(upTo === null ? { quantity } : { upTo: poolText(upTo) }),
        maximumAmountPerMonth: maximum,
      };
      return {
        method: 'PUT',
        path: `/customers/${customer.name}/spend-controls`,
        body: { spendControls: { autoTopUp } },
      };
    },
    apply: () => {
      // Its product must give credits of one meter or pool.
      if (terms !== null && of.calls > 0) return 'refused';
      setTopUp(books, customer, terms);
      return 'done';
    },
  };
};

function told(terms: TopUpTerms | null): string {
  if (terms === null) return 'no more';
  const { pack, below, upTo, quantity, maximum }: TopUpTerms & { readonly pack: Pack } = terms;
  const size = upTo === null ? `by ${quantity}` : `up to ${poolText(upTo)}`;
  return `with ${pack.slug} below ${poolText(below)} ${size}, for ${maximum} a month`;
}
