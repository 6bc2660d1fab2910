import { type Pack, pack, packs } from './catalogue.ts';
import { poolText, poolUnits } from './catalogue-pools.ts';
import { meterSlug } from './catalogue-usage.ts';
import { balance, balanceIn, poolOf } from './oracle-pools.ts';
import { type Books, type Customer, holderOf } from './oracle-records.ts';
import { setTopUp, subjectOf, type TopUpTerms } from './oracle-top-ups.ts';
import type { Random } from './random.ts';
import type { Draw } from './step.ts';

/** Lets packs of calls or of credits of a pool be bought whenever the balance falls below a line, or not any more. */
export const setAutoTopUp: Draw = ({ random, books, customers, wish }) => {
  const customer = random.pick(customers);
  const isOfMeter = wish.isOfPool === undefined ? random.chance(0.4) : !wish.isOfPool;
  const ofPools = packs.filter(({ credits, calls }) => credits > 0 && !(wish.isGood && calls > 0));
  const of = isOfMeter ? pack : random.pick(ofPools);
  if (customer === undefined || of === undefined) return null;
  const isRemoved = !wish.isGood && random.chance(0.15);
  const { below, upTo, quantity, maximum } = isOfMeter
    ? drawForMeter(random, books, customer)
    : drawForPool(random, books, customer, of);
  const terms: TopUpTerms | null = isRemoved ? null : { pack: of, below, upTo, quantity, maximum };
  return {
    text: `tops ${customer.name} up ${told(terms)}`,
    customer,
    ask: async () => {
      const autoTopUp = terms && {
        priceSlug: of.slug,
        below: amountOf(of, below),
        ...(upTo === null ? { quantity } : { upTo: amountOf(of, upTo) }),
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
      if (terms !== null && of.calls > 0 && of.credits > 0) return 'refused';
      setTopUp(books, customer, terms);
      return 'done';
    },
  };
};

type Size = Omit<TopUpTerms, 'pack'>;

// Often just below the present balance, so that it is soon crossed.
const presentRate = 0.4;
const quantityRate = 0.4;

function drawForPool(random: Random, books: Books, customer: Customer, { pool }: Pack): Size {
  const present = poolUnits(poolText(balanceIn(books, customer, poolOf(customer, pool))));
  const line = poolUnits(random.pick(['0.5', '1', '2.5', '6.25', '20']) ?? '1');
  const below = present > 0n && random.chance(presentRate) ? present : line;
  const quantity = random.chance(quantityRate) ? random.between(1, 3) : null;
  const upTo = quantity === null ? below + poolUnits(String(random.between(0, 30))) : null;
  return { below, upTo, quantity, maximum: random.pick([500, 1500, 4000, 100_000]) ?? 4000 };
}

function drawForMeter(random: Random, books: Books, customer: Customer): Size {
  const holder = holderOf(customer);
  const present = holder === undefined ? 0 : balance(books, holder);
  const below = BigInt(present > 0 && random.chance(presentRate) ? present : random.between(1, 400));
  const quantity = random.chance(quantityRate) ? random.between(1, 3) : null;
  const upTo = quantity === null ? below + BigInt(random.between(0, 900)) : null;
  return { below, upTo, quantity, maximum: random.pick([1200, 3000, 9000, 30_000]) ?? 9000 };
}

/** Units of a meter are a number, and an amount of a pool is a text. */
function amountOf(of: Pack, amount: bigint): number | string {
  return subjectOf(of) === meterSlug ? Number(amount) : poolText(amount);
}

function told(terms: TopUpTerms | null): string {
  if (terms === null) return 'no more';
  const { pack: of, below, upTo, quantity, maximum } = terms;
  const size = upTo === null ? `by ${quantity}` : `up to ${amountOf(of, upTo)}`;
  return `with ${of.slug} below ${amountOf(of, below)} ${size}, for ${maximum} a month`;
}
