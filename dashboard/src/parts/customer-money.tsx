import type { Customer } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { words } from './format.ts';
import { Listed } from './listed.tsx';
import { MoneyBalance } from './money-balance.tsx';
import { creditNoteColumns, invoiceColumns, paymentColumns } from './money-columns.tsx';
import { addressWith } from './records.tsx';
import { RefundButton } from './refund.tsx';
import { Section, When } from './shown.tsx';

const mostShown = 20;

interface MoneyOfProps {
  readonly customer: Customer;
  /** The currency of a balance that does not exist yet. */
  readonly currency: string;
}

/** The invoices, payments and balance of a customer. */
export function MoneyOf({ customer, currency }: MoneyOfProps) {
  const recent = { customerId: customer.id, limit: mostShown, order: 'desc' as const };
  return (
    <>
      <MoneyBalance customer={customer} currency={currency} />
      <Section title="Invoices">
        <Listed
          query={read('invoices', 'list', recent)}
          columns={invoiceColumns}
          caption="Invoices"
          nothing="Nothing was invoiced."
          to={(row) => `/invoices/${row.id}`}
          all={addressWith('/invoices', { customerId: customer.id })}
        />
      </Section>
      <Section title="Payments">
        <Listed
          query={read('payments', 'list', recent)}
          caption="Payments"
          nothing="Nothing was collected."
          to={(row) => `/payments/${row.id}`}
          all={addressWith('/payments', { customerId: customer.id })}
          columns={[
            ...paymentColumns,
            { title: 'Actions', cell: (payment) => <RefundButton payment={payment} />, align: 'right' },
          ]}
        />
      </Section>
      <Section title="Credit notes">
        <Listed
          query={read('creditNotes', 'list', recent)}
          columns={creditNoteColumns}
          caption="Credit notes"
          nothing="Nothing was credited."
          to={(row) => `/credit-notes/${row.id}`}
        />
      </Section>
      <Section title="Ways to pay">
        <Listed
          query={read('paymentMethods', 'list', { customerId: customer.id, limit: mostShown })}
          caption="Payment methods"
          nothing="There is no way to collect money from this customer."
          columns={[
            {
              title: 'Method',
              cell: ({ type, paymentMethodData: { brand, last4 } }) =>
                `${words(String(brand ?? type))}${last4 === undefined ? '' : ` ending in ${last4}`}`,
            },
            { title: 'Default', cell: ({ default: isDefault }) => (isDefault ? 'Default' : '') },
            { title: 'Since', cell: ({ createdAt }) => <When at={createdAt} />, align: 'right' },
          ]}
        />
      </Section>
    </>
  );
}
