import assert from 'node:assert/strict';
import { z } from 'zod';
import { CurrencyCode } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { amountInput, freeText, SafeString, Timestamp, WholeNumber } from '../kernel/json.ts';
import { smallerOf } from '../kernel/money.ts';
import { stamps } from '../kernel/record.ts';

export const CustomerBalanceId = idSchema('customerBalance');

/** The money that a customer has with the seller in one currency. It pays for the next invoices. */
export const CustomerBalance = z
  .object({
    id: CustomerBalanceId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    customerId: z.string(),
    currency: CurrencyCode,
    balance: WholeNumber.meta({ description: 'What is left: `credited` less `debited`, at least 0.' }),
    credited: WholeNumber.meta({ description: 'All that was added, also by invoices that were voided.' }),
    debited: WholeNumber.meta({ description: 'All that invoices and corrections took.' }),
  })
  .meta({ id: 'CustomerBalance' });
export type CustomerBalance = z.infer<typeof CustomerBalance>;

const BalanceEntrySource = z.enum(['manual', 'invoice', 'voided_invoice', 'credit_note', 'voided_credit_note']).meta({
  id: 'BalanceEntrySource',
  description:
    'The other side of the entry. `manual`: given or taken by hand. `invoice`: paid for an invoice. `voided_invoice`: that came back. ' +
    '`credit_note`: returned by a credit note. `voided_credit_note`: taken off again.',
});
export type BalanceEntrySource = z.infer<typeof BalanceEntrySource>;

/** A movement between the balance of a customer and the other side that `source` names. */
export const CustomerBalanceEntry = z
  .object({
    id: idSchema('customerBalanceEntry'),
    createdAt: Timestamp,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    customerId: z.string(),
    customerBalanceId: z.string(),
    source: BalanceEntrySource,
    amount: WholeNumber.meta({ description: 'Positive: added to the balance. Negative: taken off it.' }),
    balanceAfter: WholeNumber,
    invoiceId: z.string().nullable(),
    creditNoteId: z.string().nullable(),
    description: z.string().nullable(),
  })
  .meta({ id: 'CustomerBalanceEntry' });
export type CustomerBalanceEntry = z.infer<typeof CustomerBalanceEntry>;

// As much as one payment may carry, in either direction.
const maxAdjustment = 4_503_599_627_370_495;

export const BalanceAdjustment = z
  .object({
    customerExternalId: SafeString,
    amount: amountInput(-maxAdjustment, maxAdjustment)
      .refine((amount) => amount !== 0n, 'must not be 0')
      .meta({ description: 'Positive: added to the balance. Negative: taken off it, at most what is left.' }),
    description: freeText('description').nullish(),
  })
  .meta({ id: 'BalanceAdjustment' });
export type BalanceAdjustment = z.output<typeof BalanceAdjustment>;

/**
 * The part of each amount due that a balance pays, oldest first. Worked example: 50 pay 30 of 30 and 20 of 40, and nothing
 * of 10.
 */
export function decideApplied(balance: bigint, dues: readonly bigint[]): bigint[] {
  assert(balance >= 0n, 'a balance is never negative');
  let left = balance;
  return dues.map((due) => {
    const applied = smallerOf(left, due);
    left -= applied;
    return applied;
  });
}
