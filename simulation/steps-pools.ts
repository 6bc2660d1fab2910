import { poolText, poolUnits } from './catalogue-pools.ts';
import { dayMs } from './oracle-arithmetic.ts';
import { give, usualPriority } from './oracle-credits.ts';
import { balanceIn, poolCreditLine } from './oracle-pools.ts';
import type { Credit, Customer, PoolAccount } from './oracle-records.ts';
import { takeBackOf } from './oracle-usage.ts';
import type { Draw } from './step.ts';

const amounts = ['0.000000000001', '0.07', '0.333333333333', '1', '2.5', '9.123456789012', '40'] as const;
const priorities = [0, 50, 99, usualPriority, 101, 1000];

/** Grants credits of a pool by hand, for good or for a time. */
export const grantInPool: Draw = ({ random, books, customers, newName }) => {
  const customer = random.pick(customers);
  const pool = random.pick(customer?.pools ?? []);
  if (customer === undefined || pool === undefined) return null;
  const amount = random.pick(amounts) ?? '1';
  const priority = random.chance(0.5) ? null : (random.pick(priorities) ?? null);
  const ahead = random.chance(0.9) ? random.between(1, 40) * dayMs : 0;
  const expiresAt = random.chance(0.5) ? books.now + ahead : null;
  const earlier = random.chance(0.2) ? random.pick(grantsOf(pool)) : undefined;
  const transactionId = earlier?.transactionId ?? newName('grant');
  return {
    text: `grants ${amount} of ${pool.slug} as ${transactionId} (${priority}) to ${customer.name} until ${expiresAt ?? 'ever'}`,
    customer,
    ask: async () => {
      const to = { customerExternalId: customer.name, creditPoolSlug: pool.slug };
      return {
        method: 'POST',
        path: '/usage-credits',
        body: { usageCredit: { ...to, amount, expiresAt, priority, transactionId } },
      };
    },
    apply: () => {
      // A repeat returns the first grant, whatever else it says.
      if (earlier !== undefined) return 'done';
      if (expiresAt !== null && expiresAt <= books.now) return 'refused';
      const known = { issued: poolUnits(amount), expiresAt, kind: 'by_hand', transactionId } as const;
      give(pool, { ...known, priority: priority ?? usualPriority });
      return 'done';
    },
  };
};

function grantsOf({ credits }: PoolAccount): Credit[] {
  return credits.filter(({ transactionId }) => transactionId !== null);
}

/** Takes back the remainder of a credit of a pool or a part of it: by hand, of a plan, or bought. */
export const takePoolCreditBack: Draw = ({ random, books, customers }) => {
  const all = customers.flatMap((customer) =>
    customer.pools.flatMap((pool) => pool.credits.map((credit) => ({ customer, pool, credit }))),
  );
  const left = all.filter((each) => each.credit.left > 0n);
  const picked = random.pick(random.chance(0.85) && left.length > 0 ? left : all);
  if (picked === undefined) return null;
  const { customer, pool, credit } = picked;
  const part = poolText((credit.left * BigInt(random.between(1, 110))) / 100n);
  const requested = random.chance(0.4) || part === '0' ? null : part;
  // Its line before the step changes it.
  const line = poolCreditLine(customer, pool.slug, credit, books.now);
  const place = placeOf(customer, pool, credit, JSON.stringify(line), books.now);
  return {
    text: `takes ${requested ?? 'the rest'} back of ${JSON.stringify(line)}, balance ${poolText(balanceIn(books, customer, pool))}, of ${customer.name}`,
    customer,
    ask: async (records) => {
      const path = `/usage-credits/${records.told(customer.name, line, place)}/take-back`;
      return { method: 'POST', path, body: requested === null ? {} : { amount: requested } };
    },
    apply: () => {
      const account = { customer, pool, credits: pool.credits };
      const amount = takeBackOf(books, account, credit, requested === null ? null : poolUnits(requested));
      if (amount === null) return 'refused';
      credit.left -= amount;
      credit.takenBack += amount;
      credit.takenByHand += amount;
      return 'done';
    },
  };
};

/** Its place among the credits that look the same. */
function placeOf(
  customer: Customer,
  { slug, credits }: PoolAccount,
  credit: Credit,
  line: string,
  now: number,
): number {
  const equals = credits.filter((each) => JSON.stringify(poolCreditLine(customer, slug, each, now)) === line);
  return equals.indexOf(credit);
}
