import assert from 'node:assert/strict';
import { renderCustomer } from '../customers/actions.ts';
import { listCustomersById } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import type { Work } from '../database/work.ts';
import { crossedThresholds } from '../rating/spending.ts';
import { type CountedLimit, type CountedPeriod, shownAmount, subjectOfLimit } from './spend-limit.ts';

/** A limit of which a part of the amount is used for the first time in a period. */
interface CrossedThreshold {
  readonly limit: CountedLimit;
  readonly period: CountedPeriod;
  readonly used: bigint;
  /** 100: all of it. */
  readonly percent: number;
}

/** The thresholds of a limit that a change of what is used reaches: all of the amount is always one. */
export function crossedBy(
  { limit, period }: Pick<CrossedThreshold, 'limit' | 'period'>,
  before: bigint,
  used: bigint,
): CrossedThreshold[] {
  const { amount } = limit;
  const thresholds = [...limit.thresholds.filter((percent) => percent !== 100), 100];
  return crossedThresholds({ amount, thresholds }, before, used).map((percent) => ({ limit, period, used, percent }));
}

/** Publishes thresholds in the commit that crosses them: each once in a period, as long as the amount is the same. */
export async function publishCrossed(work: Work, crossed: readonly CrossedThreshold[]): Promise<void> {
  if (crossed.length === 0) return;
  const ids = [...new Set(crossed.map(({ limit }) => limit.customerId))];
  const customers = new Map((await listCustomersById(work, ids)).map((customer) => [customer.id, customer]));
  await publish(
    work,
    crossed.map(({ limit, period, used, percent }) => {
      const row = customers.get(limit.customerId);
      assert(row !== undefined, 'a limit has a customer');
      const { id, setBy, subscriptionId, label, unit, amount, action } = limit;
      return {
        type: percent === 100 ? 'spend_limit.reached' : 'usage_threshold.reached',
        object: 'customer',
        objectId: row.id,
        pricingModelId: row.pricingModelId,
        customer: { id: row.id, externalId: row.externalId },
        data: renderCustomer(work, row),
        spendLimit: {
          ...{
            id,
            setBy,
            subscriptionId,
            ...subjectOfLimit(limit),
            label,
            period: limit.period,
            unit,
            amount: shownAmount(limit, amount),
            action,
            threshold: percent,
          },
          usedAmount: shownAmount(limit, used),
          resetsAt: period.end,
        },
        cause: `${id} ${period.key} ${amount} ${percent}`,
      };
    }),
  );
}
