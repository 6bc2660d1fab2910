import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Payment } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { countText, moneyText } from './format.ts';

interface RefundButtonProps {
  readonly payment: Payment;
  readonly size?: 'sm' | 'compact-sm';
}

/** Refunds a payment, whole or in part. Shown to roles that move money, for payments with something left. */
export function RefundButton({ payment, size = 'compact-sm' }: RefundButtonProps) {
  const mayRefund = useMay('payments:money');
  const [isOpen, setOpen] = useState(false);
  const { id, amount, currency, status, refundedAmount } = payment;
  const left = amount - (refundedAmount ?? 0);
  const [partialAmount, setPartialAmount] = useState<number | null>(left);
  if (!mayRefund || status !== 'succeeded' || left <= 0) return null;
  const money = (sum: number) => moneyText(sum, currency);
  const open = () => {
    setPartialAmount(left);
    setOpen(true);
  };
  return (
    <>
      <Button variant="default" size={size} onClick={open}>
        Refund
      </Button>
      <ChangeDialog
        title={`Refund ${money(amount)}`}
        opened={isOpen}
        onClose={() => setOpen(false)}
        input={partialAmount === null || partialAmount <= 0 ? null : { id, partialAmount }}
        call={(input, options) => api.payments.refund(input, options)}
        effects={(answer, input): readonly Effect[] => [
          { text: `${money(input.partialAmount)} goes back to the customer.` },
          { text: `${money(amount - (answer.payment.refundedAmount ?? 0))} of the payment is kept.` },
          ...answer.credits.map(({ takenBackAmount, usedAmount }) => ({
            text: `${countText(takenBackAmount)} credits are taken back; ${countText(usedAmount)} were used.`,
            isLoss: true,
          })),
        ]}
        confirm="Refund"
        done={`${money(partialAmount ?? 0)} was refunded`}
        isDanger
      >
        <AmountInput
          label="Amount"
          currency={currency}
          description={`At most ${money(left)}`}
          value={partialAmount}
          onChange={setPartialAmount}
          max={left}
        />
      </ChangeDialog>
    </>
  );
}
