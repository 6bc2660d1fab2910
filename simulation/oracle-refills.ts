import { freePlan } from './catalogue.ts';
import { smallestPerUnit } from './catalogue-pools.ts';
import { meterSlug } from './catalogue-usage.ts';
import { boundary, total } from './oracle-arithmetic.ts';
import { draft } from './oracle-billing.ts';
import { bookedBalance, hasNewEnds, noteFallOfMeter } from './oracle-falls.ts';
import { balance, balanceIn, poolOf } from './oracle-pools.ts';
import { linesOfPacks, sellPacks } from './oracle-purchases.ts';
import { type Books, type Credit, type Customer, holderOf, isTerminal, reach } from './oracle-records.ts';
import { subscriptionWith } from './oracle-subscription.ts';
import { activeTopUp, countFailure, monthOf, noteFall, spentIn, subjectOf, type TopUp } from './oracle-top-ups.ts';

/** The work of automatic top-ups that comes due with time. */

/** The instants at which a balance is looked at, or credits end that a top-up may replace. */
export function refillsAt(customer: Customer, now: number): number[] {
  const { checkAt } = customer.refills;
  const topUp = activeTopUp(customer);
  const credits = topUp === null ? [] : creditsFor(customer, topUp);
  const ends = credits.flatMap(({ left, expiresAt }) =>
    left > 0n && expiresAt !== null && expiresAt > now ? expiresAt : [],
  );
  return checkAt === null ? ends : [checkAt, ...ends];
}

/** The credits whose end a top-up may replace. */
function creditsFor(customer: Customer, { pack }: TopUp): readonly Credit[] {
  if (subjectOf(pack) !== meterSlug) return poolOf(customer, pack.pool).credits;
  return customer.subscriptions.filter((each) => !isTerminal(each)).flatMap(({ credits }) => credits);
}

/** Does other work that is due, and notes the balances that fall below a line by credits that end at the same time. */
export function whileCreditsEnd(books: Books, act: () => void): void {
  const { now } = books;
  const before = books.customers.flatMap((customer) => {
    const topUp = activeTopUp(customer);
    if (topUp === null || subjectOf(topUp.pack) === meterSlug) return [];
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
    noteFall(books, customer, account.slug, balance, balanceIn(books, customer, account));
  }
  for (const { subscriptions, refills } of books.customers) {
    // Credits of plans have ended with their periods.
    for (const each of subscriptions.filter((one) => !isTerminal(one) && hasNewEnds(books, one)))
      noteFallOfMeter(books, each, bookedBalance(books, each));
    refills.endsSeen = now;
  }
}

/** Whether the balance of anybody is due to be looked at. */
export function isLookDue({ customers, now }: Books): boolean {
  return customers.some(({ refills: { checkAt } }) => checkAt !== null && checkAt <= now);
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
  const ofMeter = subjectOf(pack) === meterSlug ? ' of a usage meter' : '';
  const left = leftFor(books, customer, topUp);
  if (left === null || left >= topUp.below) return;
  if (method === null) {
    countFailure(books, customer);
    return;
  }
  const month = monthOf(books.now);
  const [quantity, amount] = sizeOf(books, customer, topUp, left);
  if (quantity === 0) {
    reach(books, `top-up${ofMeter} at its maximum of the month`, customer);
    refills.checkAt = boundary(month, { unit: 'month', count: 1 }, 1);
    return;
  }
  reach(books, `top-up${ofMeter} asked for`, customer);
  refills.isOpen = true;
  refills.bought.push({ month, amount });
  sellPacks(books, customer, { quantity, method, of: pack, isTopUp: true });
}

/** The balance that a line is compared with: of a usage meter that of the subscription that gets the credits. Null: none does. */
function leftFor(books: Books, customer: Customer, { pack }: TopUp): bigint | null {
  if (subjectOf(pack) !== meterSlug) return balanceIn(books, customer, poolOf(customer, pack.pool));
  const holder = holderOf(customer);
  return holder === undefined ? null : BigInt(balance(books, holder));
}

/** The largest quantity up to the wanted one that the rest of the month pays, and its total. */
function sizeOf(
  books: Books,
  customer: Customer,
  { pack, upTo, quantity, maximum }: TopUp,
  left: bigint,
): [number, number] {
  const perPack = subjectOf(pack) === meterSlug ? BigInt(pack.calls) : BigInt(pack.credits) * smallestPerUnit;
  const gap = upTo === null ? 0n : upTo - left;
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
