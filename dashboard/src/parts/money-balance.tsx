import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Customer, CustomerBalance } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { useMay } from '../session.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { moneyText, words } from './format.ts';
import { Listed } from './listed.tsx';
import { Go, Money, Section, When } from './shown.tsx';

interface MoneyBalanceProps {
  readonly customer: Customer;
  /** The currency of a balance that does not exist yet; undefined while it is not known. */
  readonly currency: string | undefined;
}

const mostEntries = 10;

/** The money that a customer has with the seller: it pays for the next invoices. */
export function MoneyBalance({ customer, currency }: MoneyBalanceProps) {
  const may = useMay('customer-balances:money');
  const [isOpen, setOpen] = useState(false);
  const { data } = useQuery(read('customerBalances', 'list', { customerId: customer.id, limit: mostEntries }));
  const balances = data?.data ?? [];
  const inCurrency = balances[0]?.currency ?? currency;
  return (
    <Section
      title="Balance"
      aside={
        may &&
        inCurrency !== undefined && (
          <Button variant="default" size="xs" onClick={() => setOpen(true)}>
            Change the balance
          </Button>
        )
      }
    >
      {data !== undefined && balances.length === 0 && (
        <p className="quiet">Nothing. A credit note may be put there, and so may a gift.</p>
      )}
      {balances.map((balance) => (
        <Entries key={balance.id} balance={balance} />
      ))}
      {isOpen && inCurrency !== undefined && (
        <AdjustDialog customer={customer} currency={inCurrency} onClose={() => setOpen(false)} />
      )}
    </Section>
  );
}

function Entries({ balance: { id, balance, currency } }: { readonly balance: CustomerBalance }) {
  return (
    <>
      <p className="balance">
        <Money amount={balance} currency={currency} />
      </p>
      <Listed
        query={read('customerBalances', 'listEntries', { id, limit: mostEntries, order: 'desc' })}
        caption={`Entries in ${currency}`}
        nothing="No entries."
        columns={[
          { title: 'Entry', cell: ({ source, description }) => description ?? words(source) },
          {
            title: 'By',
            cell: ({ invoiceId, creditNoteId }) =>
              creditNoteId !== null ? (
                <Go to={`/credit-notes/${creditNoteId}`}>Credit note</Go>
              ) : invoiceId !== null ? (
                <Go to={`/invoices/${invoiceId}`}>Invoice</Go>
              ) : (
                'By hand'
              ),
            from: 'sm',
          },
          { title: 'Date', cell: ({ createdAt }) => <When at={createdAt} />, from: 'xs' },
          { title: 'Amount', cell: ({ amount }) => <Money amount={amount} currency={currency} />, align: 'right' },
          {
            title: 'After it',
            cell: ({ balanceAfter }) => <Money amount={balanceAfter} currency={currency} />,
            align: 'right',
            from: 'sm',
          },
        ]}
      />
    </>
  );
}

interface AdjustDialogProps {
  readonly customer: Customer;
  readonly currency: string;
  readonly onClose: () => void;
}

function AdjustDialog({ customer, currency, onClose }: AdjustDialogProps) {
  const [amount, setAmount] = useState<number | null>(null);
  const [description, setDescription] = useState('');
  const { externalId, pricingModelId } = customer;
  const adjustment = { customerExternalId: externalId, amount: amount ?? 0, description: description.trim() || null };
  return (
    <ChangeDialog
      title="Change the balance"
      opened
      onClose={onClose}
      input={amount === null || amount === 0 ? null : { pricingModelId, adjustment }}
      call={(input, options) => api.customerBalances.adjust(input, options)}
      effects={({ customerBalance, customerBalanceEntry }) => [
        {
          text: `${moneyText(Math.abs(customerBalanceEntry.amount), currency)} is ${customerBalanceEntry.amount > 0 ? 'added' : 'taken off'}.`,
          isLoss: customerBalanceEntry.amount < 0,
        },
        { text: `${moneyText(customerBalance.balance, currency)} pays for the next invoices.` },
      ]}
      confirm="Change the balance"
      done="The balance is changed"
    >
      <AmountInput
        label="Amount"
        description="Below zero, it is taken off"
        currency={currency}
        value={amount}
        onChange={setAmount}
        mayBeNegative
      />
      <TextInput
        label="Reason"
        description="Kept with the entry"
        value={description}
        maxLength={255}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </ChangeDialog>
  );
}
