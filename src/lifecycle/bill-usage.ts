import { describeUsage, type NewLine } from '../invoicing/invoice-line-item.ts';
import { claimOverage } from '../ledger/actions.ts';
import type { Work } from '../platform/work.ts';
import { listPrices } from '../pricing/store-prices.ts';
import { listUsageMeters } from '../pricing/store-usage-meters.ts';
import { usageAmount } from '../rating/usage.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';

/**
 * The lines for usage of the subscription that no credit covered and no invoice billed. It is taken: whoever asks puts
 * the lines on an invoice in the same commit. Who is not charged owes nothing for usage.
 */
export async function takeUsageLines(work: Work, subscription: SubscriptionRow): Promise<NewLine[]> {
  if (subscription.doNotCharge) return [];
  const overages = await claimOverage(work, subscription.id);
  if (overages.length === 0) return [];
  const models = [subscription.pricingModelId];
  const prices = new Map((await listPrices(work, models)).map((price) => [price.id, price]));
  const meterNames = new Map((await listUsageMeters(work, models)).map((meter) => [meter.id, meter.name]));
  return overages.flatMap(({ ledgerAccountId, usageMeterId, priceId, units }) => {
    const price = prices.get(priceId);
    if (price?.type !== 'usage') return [];
    const { unitPrice, usageEventsPerUnit } = price;
    const meterName = meterNames.get(usageMeterId) ?? usageMeterId;
    return {
      type: 'usage',
      units,
      amount: usageAmount({ units, unitPrice, usageEventsPerUnit: BigInt(usageEventsPerUnit) }),
      priceId,
      ledgerAccountId,
      description: describeUsage({ meterName, units, unitPrice, usageEventsPerUnit }),
    };
  });
}
