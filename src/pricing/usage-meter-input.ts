import { z } from 'zod';
import { amountInput, countInput, SafeString } from '../kernel/json.ts';
import { maxUnitPrice } from './price.ts';
import { AggregationType, LowBalanceThreshold, UsageMeterId } from './usage-meter.ts';

/** A request for a usage meter. */
export const UsageMeterInput = z.object({
  name: SafeString,
  slug: SafeString,
  aggregationType: AggregationType.default('sum'),
  lowBalanceThreshold: LowBalanceThreshold.default(null),
  pricingModelId: z.string().nullish(),
});
export type UsageMeterInput = z.output<typeof UsageMeterInput>;

/** The price of a new usage meter's usage; without any field only the no-charge price is created. */
export const FirstUsagePrice = z.object({
  type: z.literal('usage').optional(),
  unitPrice: amountInput(0, maxUnitPrice).optional(),
  usageEventsPerUnit: countInput(1).optional(),
});
export type FirstUsagePrice = z.output<typeof FirstUsagePrice>;

/** A change of a usage meter. Absent fields keep their value. */
export const UsageMeterChange = z.object({
  id: UsageMeterId.optional(),
  name: SafeString.optional(),
  slug: SafeString.optional(),
  aggregationType: AggregationType.optional(),
  lowBalanceThreshold: LowBalanceThreshold.optional(),
});
export type UsageMeterChange = z.output<typeof UsageMeterChange>;
