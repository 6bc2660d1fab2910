import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Work } from '../database/work.ts';
import { smallerOf } from '../kernel/money.ts';
import { amountOf, CreditAmount } from '../pricing/credit-pool.ts';
import { grantSubject } from '../pricing/feature.ts';
import { creditsToTakeBack } from '../rating/credits.ts';
import { tellingLowAccounts } from './actions-low-balance.ts';
import { lockBalances } from './store-accounts.ts';
import { type BoughtCredit, listBoughtCredits } from './store-bought.ts';
import { takeBackCredits, writePendingApplication } from './store-credits.ts';

/** The effect of a refund on the credits that the refunded purchase bought on one meter or in one pool. */
export const RefundedCredit = z
  .object({
    usageMeterId: z.string().nullable().meta({ description: 'The usage meter. Null for credits of a pool.' }),
    creditPoolId: z.string().optional().meta({
      description: 'The credit pool, in place of a usage meter. Its amounts are decimal texts.',
    }),
    boughtAmount: CreditAmount.meta({ description: 'The units that the purchase bought.' }),
    usedAmount: CreditAmount.meta({ description: 'The units of these that were used. They stay used.' }),
    takenBackAmount: CreditAmount.meta({ description: 'The units that this refund took back.' }),
    remainingAmount: CreditAmount.meta({
      description: 'The units that are left. After a refund in full, those that open holds set aside.',
    }),
  })
  .meta({ id: 'RefundedCredit' });
export type RefundedCredit = z.infer<typeof RefundedCredit>;

/** A refund of a purchase for `price`, with all refunds of it so far in `refunded`, in minor units. */
interface PurchaseRefund {
  readonly refundId: string;
  readonly purchaseId: string;
  readonly refunded: bigint;
  readonly price: bigint;
}

/**
 * Takes back the unused credits of a refunded purchase, in proportion to the refund, wherever transfers have moved them.
 * Units that are used stay used, and units of open holds stay. The caller has locked the customer, so nothing is
 * transferred meanwhile.
 */
export async function takeBackBought(work: Work, refund: PurchaseRefund): Promise<void> {
  const read = () => listBoughtCredits(work, refund.purchaseId, refund.refundId);
  const usable = (await read()).filter(({ remaining }) => remaining > 0n);
  if (usable.length === 0) return;
  const accountIds = [...new Set(usable.map(({ ledgerAccountId }) => ledgerAccountId))];
  const balances = await lockBalances(work, accountIds);
  await tellingLowAccounts(work, accountIds, async () => {
    await writePendingApplication(work, accountIds);
    const free = new Map(
      [...balances].flatMap(([id, { balance, held }]) => (held > 0n ? [[id, balance > 0n ? balance : 0n]] : [])),
    );
    await takeBackCredits(work, decideRemovals(await read(), free, refund), refund.refundId);
  });
}

/** The units to remove from each credit. `free` are the units beside open holds, by account; others have no hold. */
function decideRemovals(credits: readonly BoughtCredit[], free: Map<string, bigint>, refund: PurchaseRefund) {
  const chains = [...Map.groupBy(credits, ({ rootId }) => rootId).values()];
  return chains.flatMap((chain) => {
    const [root] = chain;
    assert(root, 'a group is not empty');
    let takenBack = sumOf(chain.map((credit) => credit.takenBack - credit.transferred));
    return chain.flatMap(({ id, pricingModelId, ledgerAccountId, remaining }) => {
      const beside = free.get(ledgerAccountId);
      const usable = beside === undefined ? remaining : smallerOf(remaining, beside);
      const amount = creditsToTakeBack({ bought: root.issued, takenBack, free: usable }, refund);
      takenBack += amount;
      if (beside !== undefined) free.set(ledgerAccountId, beside - amount);
      return amount === 0n ? [] : { id, pricingModelId, amount };
    });
  });
}

/** The state of the credits that a purchase bought, after this refund of it. */
export async function readRefundedCredits(
  work: Work,
  { purchaseId, refundId }: Pick<PurchaseRefund, 'purchaseId' | 'refundId'>,
): Promise<RefundedCredit[]> {
  const byMeter = Map.groupBy(await listBoughtCredits(work, purchaseId, refundId), ({ usageMeterId }) => usageMeterId);
  return [...byMeter].map(([id, credits]) => {
    const sum = (amountsOf: (credit: BoughtCredit) => bigint) => amountOf(id, sumOf(credits.map(amountsOf)));
    return {
      ...grantSubject(id),
      boughtAmount: sum((credit) => (credit.id === credit.rootId ? credit.issued : 0n)),
      usedAmount: sum(({ applied }) => applied),
      takenBackAmount: sum(({ takenBackNow }) => takenBackNow),
      remainingAmount: sum(({ remaining }) => remaining),
    };
  });
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
