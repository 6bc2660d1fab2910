import type { Work } from '../database/work.ts';
import { describeUsage, type NewLine } from '../invoicing/invoice-line-item.ts';
import { usageAmount } from '../rating/usage.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { claimOverage, readOverage } from '../usage/actions-ledger.ts';
import type { Overage } from '../usage/ledger.ts';

type Charged = Pick<SubscriptionRow, 'id' | 'doNotCharge'>;

/**
 * Invoice lines, by subscription, for unbilled usage without credits. The usage is marked as invoiced: the caller must
 * invoice the lines in the same commit. Subscriptions that are not charged owe nothing for usage.
 */
export async function takeUsageLines(work: Work, subscriptions: readonly Charged[]): Promise<Map<string, NewLine[]>> {
  return linesBySubscription(await claimOverage(work, idsOfCharged(subscriptions)));
}

/** The lines that `takeUsageLines` would return now, without marking the usage. */
export async function draftUsageLines(work: Work, subscriptions: readonly Charged[]): Promise<Map<string, NewLine[]>> {
  return linesBySubscription(await readOverage(work, idsOfCharged(subscriptions)));
}

function idsOfCharged(subscriptions: readonly Charged[]): string[] {
  return subscriptions.flatMap(({ id, doNotCharge }) => (doNotCharge ? [] : id));
}

function linesBySubscription(overages: readonly Overage[]): Map<string, NewLine[]> {
  const lines = new Map<string, NewLine[]>();
  for (const overage of overages) {
    const others = lines.get(overage.subscriptionId);
    if (others === undefined) lines.set(overage.subscriptionId, [usageLine(overage)]);
    else others.push(usageLine(overage));
  }
  return lines;
}

function usageLine({ ledgerAccountId, priceId, units, meterName, unitPrice, usageEventsPerUnit }: Overage): NewLine {
  return {
    type: 'usage',
    explanation: { kind: 'usage', units, unitPrice, usageEventsPerUnit },
    units,
    amount: usageAmount({ units, unitPrice, usageEventsPerUnit: BigInt(usageEventsPerUnit) }),
    priceId,
    ledgerAccountId,
    description: describeUsage({ meterName, units, unitPrice, usageEventsPerUnit }),
  };
}
