import { Checkbox, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { CreditNoteSettlement, Invoice, InvoiceLineItem } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { moneyText, words } from './format.ts';

interface CreditNoteDialogProps {
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLineItem[];
  readonly onClose: () => void;
}

const settlements: readonly { readonly value: CreditNoteSettlement; readonly label: string }[] = [
  { value: 'refund', label: 'Refund' },
  { value: 'offset', label: 'Less to pay' },
  { value: 'balance', label: 'Balance' },
];

/** Credits lines of an invoice, whole or in part. Each line shows its shares of discount and tax before it is done. */
export function CreditNoteDialog({ invoice, lines, onClose }: CreditNoteDialogProps) {
  const navigate = useNavigate();
  const { id, currency, amountPaid } = invoice;
  const [amounts, setAmounts] = useState<Readonly<Record<string, number | null>>>({});
  const [settle, setSettle] = useState<CreditNoteSettlement>(amountPaid > 0 ? 'refund' : 'offset');
  const [reason, setReason] = useState('');
  const creditable = lines.filter((line) => leftOf(line) > 0);
  const chosen = creditable.filter((line) => line.id in amounts);
  const isComplete = chosen.length > 0 && chosen.every((line) => (amounts[line.id] ?? 0) > 0);
  const toggle = (line: InvoiceLineItem) => {
    const { [line.id]: known, ...others } = amounts;
    setAmounts(known === undefined ? { ...others, [line.id]: leftOf(line) } : others);
  };
  const creditNote = {
    lines: chosen.map((line) => ({ invoiceLineItemId: line.id, amount: amounts[line.id] ?? 0 })),
    settle,
    reason: reason.trim() || null,
  };
  const money = (amount: number) => moneyText(amount, currency);
  return (
    <ChangeDialog
      title={`Credit ${invoice.invoiceNumber ?? 'the invoice'}`}
      opened
      onClose={onClose}
      input={isComplete ? { id, creditNote } : null}
      call={(input, options) => api.invoices.createCreditNote(input, options)}
      effects={({ creditNote: made, creditNoteLines }): readonly Effect[] => [
        ...creditNoteLines.map(({ description, amount, discountAmount, taxAmount }) => ({
          text:
            `${description ?? 'Line'}: ${money(amount)}` +
            `${discountAmount === 0 ? '' : ` − ${money(discountAmount)} discount`}` +
            `${taxAmount === 0 ? '' : ` + ${money(taxAmount)} tax`}`,
        })),
        { text: settledText(settle, money(made.total)), isLoss: settle === 'refund' },
      ]}
      confirm="Make the credit note"
      done="The credit note is made"
      isDanger={settle === 'refund'}
      onDone={({ creditNote: made }) => void navigate({ to: `/credit-notes/${made.id}` })}
    >
      <Stack gap="xs">
        {creditable.map((line) => (
          <div key={line.id} className="credit-line">
            <Checkbox
              label={line.description ?? words(line.type)}
              description={leftText(line, money)}
              checked={line.id in amounts}
              onChange={() => toggle(line)}
            />
            {line.id in amounts && (
              <AmountInput
                label={`Amount of ${line.description ?? 'the line'}`}
                isLabelHidden
                currency={currency}
                value={amounts[line.id] ?? null}
                onChange={(amount) => setAmounts({ ...amounts, [line.id]: amount })}
                max={leftOf(line)}
              />
            )}
          </div>
        ))}
      </Stack>
      <SegmentedControl
        aria-label="Settled by"
        data={[...settlements]}
        value={settle}
        onChange={(value) => setSettle(value as CreditNoteSettlement)}
      />
      <TextInput
        label="Reason"
        description="Printed on the credit note"
        value={reason}
        maxLength={255}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </ChangeDialog>
  );
}

/** The amount of a line that no credit note has taken back. */
function leftOf({ amount, creditedAmount = 0 }: InvoiceLineItem): number {
  return amount - creditedAmount;
}

function leftText(line: InvoiceLineItem, money: (amount: number) => string): string {
  const { amount, creditedAmount = 0 } = line;
  return creditedAmount === 0 ? money(amount) : `${money(leftOf(line))} left of ${money(amount)}`;
}

function settledText(settle: CreditNoteSettlement, total: string): string {
  switch (settle) {
    case 'refund':
      return `${total} goes back to the customer.`;
    case 'offset':
      return `${total} less is to be paid of the invoice.`;
    case 'balance':
      return `${total} is added to the customer's balance, for the next invoices.`;
    default:
      return settle satisfies never;
  }
}
