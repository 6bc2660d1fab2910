import { freePlan } from './catalogue.ts';
import { smallestPerUnit } from './catalogue-pools.ts';
import { boundary, total } from './oracle-arithmetic.ts';
import { draft } from './oracle-billing.ts';
import { balanceIn, poolOf } from './oracle-pools.ts';
import { linesOfPacks, sellPacks } from './oracle-purchases.ts';
import { type Books, type Customer, reach } from './oracle-records.ts';
import { subscriptionWith } from './oracle-subscription.ts';
import { activeTopUp, countFailure, monthOf, noteFall, spentIn, type TopUp } from './oracle-top-ups.ts';

/** The work of automatic top-ups that comes due with time. */

/** The instants at which a balance is looked at, or credits end that a top-up may replace. */
export function refillsAt(customer: Customer, now: number): number[] {
  const { checkAt } = customer.refills;
  const topUp = activeTopUp(customer);
  const credits = topUp === null ? [] : poolOf(customer, topUp.pack.pool).credits;
  const ends = credits.flatMap(({ left, expiresAt }) =>
    left > 0n && expiresAt !== null && expiresAt > now ? expiresAt : [],
  );
  return checkAt === null ? ends : [checkAt, ...ends];
}

/** Does other work that is due, and notes the balances that fall below a line by credits that end at the same time. */
export function whileCreditsEnd(books: Books, act: () => void): void {
  const { now } = books;
  const before = books.customers.flatMap((customer) => {
    const topUp = activeTopUp(customer);
    if (topUp === null) return [];
    const account = poolOf(customer, topUp.pack.pool);
    const { endsSeen } = customer.refills;
    const ending = account.credits.filter(
      ({ expiresAt }) => expiresAt !== null && expiresAt > endsSeen && expiresAt <= now,
    );
    const balance = balanceIn(books, customer, account) + total(ending, ({ left }) => left);
    return [{ customer, account, balance }];
  });
  act();
  for (const { customer, account, balance } of before) {
    noteFall(books, customer, account, balance, balanceIn(books, customer, account));
    customer.refills.endsSeen = now;
  }
}

/** Buys for the balances that are due to be looked at. */
export function lookAtBalances(books: Books): void {
  for (const customer of books.customers) {
    const { refills } = customer;
    if (refills.checkAt === null || refills.checkAt > books.now) continue;
    refills.checkAt = null;
    const topUp = activeTopUp(customer);
    if (topUp !== null && !refills.isOpen) refill(books, customer, topUp);
  }
}

function refill(books: Books, customer: Customer, topUp: TopUp): void {
  const { refills, defaultMethod: method } = customer;
  const { pack } = topUp;
  const balance = balanceIn(books, customer, poolOf(customer, pack.pool));
  if (balance >= topUp.below) return;
  if (method === null) {
    countFailure(books, customer);
    return;
  }
  const month = monthOf(books.now);
  const [quantity, amount] = sizeOf(books, customer, topUp, balance);
  if (quantity === 0) {
    reach(books, 'top-up at its maximum of the month', customer);
    refills.checkAt = boundary(month, { unit: 'month', count: 1 }, 1);
    return;
  }
  reach(books, 'top-up asked for', customer);
  refills.isOpen = true;
  refills.bought.push({ month, amount });
  sellPacks(books, customer, { quantity, method, of: pack, isTopUp: true });
}

/** The largest quantity up to the wanted one that the rest of the month pays, and its total. */
function sizeOf(
  books: Books,
  customer: Customer,
  { pack, upTo, quantity, maximum }: TopUp,
  balance: bigint,
): [number, number] {
  const perPack = BigInt(pack.credits) * smallestPerUnit;
  const gap = upTo === null ? 0n : upTo - balance;
  const wanted = quantity ?? Number((gap + perPack - 1n) / perPack);
  const rest = maximum - spentIn(customer, monthOf(books.now));
  const account = subscriptionWith(books, { customer, plan: freePlan });
  for (let count = wanted; count > 0; count--) {
    const lines = linesOfPacks(pack, count);
    const { total: amount } = draft(account, { reason: 'purchase', at: books.now, period: null, lines });
    if (amount <= rest) return [count, amount];
  }
  return [0, 0];
}
