import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { amountInput, countInput, freeText, Timestamp, WholeNumber } from '../kernel/json.ts';
import { CreditAmount, CreditAmountInput, smallestUnitsOf } from '../pricing/credit-pool.ts';
import { maxQuantity } from '../pricing/product.ts';

const texts = {
  below:
    'A purchase is made when the available balance falls below these units of the meter, or this amount of the credit pool.',
  upTo: 'The balance that a purchase reaches, as `below`. Its quantity closes the gap.',
  quantity: 'The quantity that a purchase has, in place of `upTo`.',
  maximumAmountPerMonth:
    'The most that the purchases of a month in UTC may cost, with tax, in minor units. A purchase that does not fit is smaller, ' +
    'or waits for the next month.',
} as const;

/** The automatic top-up of a customer. */
export const AutoTopUp = z
  .object({
    priceId: z.string(),
    priceSlug: z.string().nullable(),
    usageMeterId: z.string().nullable().meta({
      description: 'The usage meter whose credits the price buys. Null for those of a credit pool.',
    }),
    creditPoolId: z.string().optional().meta({ description: 'The credit pool, in place of a usage meter.' }),
    below: CreditAmount.meta({ description: texts.below }),
    upTo: CreditAmount.nullable().meta({ description: texts.upTo }),
    quantity: z.int().nullable().meta({ description: texts.quantity }),
    maximumAmountPerMonth: WholeNumber.meta({ description: texts.maximumAmountPerMonth }),
    amountThisMonth: WholeNumber.meta({ description: 'The cost of the purchases of this month, paid and open ones.' }),
    openPurchaseId: z.string().nullable().meta({ description: 'The purchase whose payment is in progress.' }),
    failures: z.int().meta({ description: 'The purchases that failed one after the other.' }),
    stoppedAt: Timestamp.nullable().meta({
      description: 'When it stopped after three failures. Setting it again starts it again.',
    }),
  })
  .meta({ id: 'AutoTopUp' });
export type AutoTopUp = z.infer<typeof AutoTopUp>;

/** An automatic top-up as a caller sends it. */
export const AutoTopUpInput = z
  .object({
    priceSlug: freeText('longName').trim().min(1).meta({
      description:
        'The slug of an active price that is paid once, whose product gives credits of one usage meter or credit pool.',
    }),
    below: CreditAmountInput.meta({ description: texts.below }),
    upTo: CreditAmountInput.nullish().meta({ description: texts.upTo }),
    quantity: countInput(1, maxQuantity).nullish().meta({ description: texts.quantity }),
    maximumAmountPerMonth: amountInput(1).meta({ description: texts.maximumAmountPerMonth }),
  })
  .refine(({ upTo, quantity }) => (upTo == null) !== (quantity == null), {
    path: ['upTo'],
    message: 'send exactly one of upTo and quantity',
  })
  .refine(({ upTo, below }) => upTo == null || smallestUnitsOf(upTo) >= smallestUnitsOf(below), {
    path: ['upTo'],
    message: 'must be at least below',
  })
  .meta({ id: 'AutoTopUpInput' });
export type AutoTopUpInput = z.output<typeof AutoTopUpInput>;

/** A stored automatic top-up. */
export interface AutoTopUpRow {
  readonly customerId: string;
  readonly pricingModelId: string;
  readonly priceId: string;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string;
  /** In units of the ledger. */
  readonly below: bigint;
  readonly upTo: bigint | null;
  readonly quantity: number | null;
  readonly maximumAmountPerMonth: bigint;
  readonly failures: number;
  readonly stoppedAt: Instant | null;
}
