import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Invoice } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Empty } from '../parts/empty.tsx';
import { CollectDialog, dueOf } from '../parts/invoice-actions.tsx';
import { type Column, Records, useFilters } from '../parts/records.tsx';
import { Go, Heading, Money, When } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const pageSize = 25;

const columns: readonly Column<Invoice>[] = [
  { title: 'Invoice', cell: ({ invoiceNumber, id }) => invoiceNumber ?? id },
  { title: 'Customer', cell: ({ customerId }) => <CustomerName id={customerId} /> },
  { title: 'Due since', cell: ({ dueDate, invoiceDate }) => <When at={dueDate ?? invoiceDate} />, from: 'md' },
  {
    title: 'Next attempt',
    cell: ({ nextAttemptAt }) => (nextAttemptAt === undefined ? 'None' : <When at={nextAttemptAt} />),
    from: 'sm',
  },
  {
    title: 'To be paid',
    cell: (invoice) => <Money amount={dueOf(invoice)} currency={invoice.currency} />,
    align: 'right',
  },
  { title: 'Actions', cell: (invoice) => <CollectButton invoice={invoice} />, align: 'right', from: 'md' },
];

/** The invoices that are owed, with the times at which they are tried again. */
export function Page() {
  const { filters } = useFilters();
  const { cursor } = filters;
  const query = read('invoices', 'list', {
    pastDue: true,
    limit: pageSize,
    order: 'desc',
    ...(cursor !== undefined && { cursor }),
  });
  const { data } = useQuery(query);
  return (
    <>
      <Heading
        title="Dunning"
        below={
          <>
            Invoices that are past due, or whose charge failed. <Go to="/settings">The settings</Go> say when each is
            tried again.
          </>
        }
      />
      <CustomerNames ids={(data?.data ?? []).map(({ customerId }) => customerId)}>
        <Records
          query={query}
          columns={columns}
          keyOf={({ id }) => id}
          to={({ id }) => `/invoices/${id}`}
          caption="Invoices past due"
          empty={<Empty title="Nobody owes anything">Every invoice is paid, or not due yet.</Empty>}
        />
      </CustomerNames>
    </>
  );
}

function CollectButton({ invoice }: { readonly invoice: Invoice }) {
  const may = useMay('invoices:money');
  const [isOpen, setOpen] = useState(false);
  if (!may || invoice.status !== 'open') return null;
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={() => setOpen(true)}>
        Collect now
      </Button>
      {isOpen && <CollectDialog invoice={invoice} onClose={() => setOpen(false)} />}
    </>
  );
}
