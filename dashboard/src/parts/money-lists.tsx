import type { ReactNode } from 'react';
import { read } from '../api.ts';
import { Listed } from './listed.tsx';
import { creditNoteColumns, invoiceColumns, paymentColumns } from './money-columns.tsx';
import { RefundButton } from './refund.tsx';
import { Section } from './shown.tsx';

interface ListProps {
  /** The filters of the list. */
  readonly of: Readonly<Record<string, string | number>>;
  /** The page with all of them; absent where these are all. */
  readonly all?: string;
}

/** The invoices of a record. */
export function InvoicesOf({ of, all }: ListProps): ReactNode {
  return (
    <Section title="Invoices">
      <Listed
        query={read('invoices', 'list', of)}
        columns={invoiceColumns}
        caption="Invoices"
        nothing="Nothing was invoiced."
        to={(row) => `/invoices/${row.id}`}
        {...(all !== undefined && { all })}
      />
    </Section>
  );
}

/** The payments of a record, each with its refund. */
export function PaymentsOf({ of, all }: ListProps): ReactNode {
  return (
    <Section title="Payments">
      <Listed
        query={read('payments', 'list', of)}
        caption="Payments"
        nothing="Nothing was collected."
        to={(row) => `/payments/${row.id}`}
        {...(all !== undefined && { all })}
        columns={[
          ...paymentColumns,
          { title: 'Actions', cell: (payment) => <RefundButton payment={payment} />, align: 'right' },
        ]}
      />
    </Section>
  );
}

/** The credit notes of a record. */
export function CreditNotesOf({ of }: ListProps): ReactNode {
  return (
    <Section title="Credit notes">
      <Listed
        query={read('creditNotes', 'list', of)}
        columns={creditNoteColumns}
        caption="Credit notes"
        nothing="Nothing was credited."
        to={(row) => `/credit-notes/${row.id}`}
      />
    </Section>
  );
}
