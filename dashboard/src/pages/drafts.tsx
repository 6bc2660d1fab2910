import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import type { Invoice } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Empty } from '../parts/empty.tsx';
import { dateText, instantText } from '../parts/format.ts';
import { DraftAction } from '../parts/invoice-actions.tsx';
import { type Column, Records, useFilters } from '../parts/records.tsx';
import { Go, Heading, Money } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const AddLines = lazy(() => import('../parts/draft-lines.tsx').then(({ AddLines: Part }) => ({ default: Part })));

const pageSize = 25;

function reasonText({ billingPeriodStartDate: start, billingPeriodEndDate: end, type }: Invoice): string {
  if (start !== null && end !== null) return `${dateText(start)} – ${dateText(end)}`;
  return type === 'standalone' ? 'Written by hand' : 'A subscription';
}

const columns: readonly Column<Invoice>[] = [
  { title: 'For', cell: reasonText },
  { title: 'Customer', cell: ({ customerId }) => <CustomerName id={customerId} /> },
  {
    title: 'Finalized by itself',
    cell: ({ finalizesAt }) => (finalizesAt === undefined ? 'Never' : instantText(finalizesAt)),
    from: 'sm',
  },
  { title: 'Total', cell: ({ total, currency }) => <Money amount={total} currency={currency} />, align: 'right' },
  { title: 'Actions', cell: (invoice) => <DraftButtons invoice={invoice} />, align: 'right', from: 'md' },
];

/** The invoices that wait for a look, with the times at which they are finalized by themselves. */
export function Page() {
  const { filters } = useFilters();
  const { cursor } = filters;
  const query = read('invoices', 'list', {
    status: 'draft',
    limit: pageSize,
    order: 'asc',
    ...(cursor !== undefined && { cursor }),
  });
  const { data } = useQuery(query);
  return (
    <>
      <Heading
        title="Drafts to review"
        below={
          <>
            The oldest first. <Go to="/settings">The settings</Go> and the terms of a customer say how long a renewal
            waits. Usage that arrives late still joins it.
          </>
        }
      />
      <CustomerNames ids={(data?.data ?? []).map(({ customerId }) => customerId)}>
        <Records
          query={query}
          columns={columns}
          keyOf={({ id }) => id}
          to={({ id }) => `/invoices/${id}`}
          caption="Drafts to review"
          empty={
            <Empty title="No drafts wait">
              A renewal waits here if the settings say so, and so does an invoice that somebody writes.
            </Empty>
          }
        />
      </CustomerNames>
    </>
  );
}

function DraftButtons({ invoice }: { readonly invoice: Invoice }) {
  const may = useMay('invoices:money');
  const [opened, setOpened] = useState<'add' | 'finalize' | null>(null);
  if (!may) return null;
  const close = () => setOpened(null);
  return (
    <Group gap="xs" justify="flex-end" wrap="nowrap">
      <Button variant="default" size="compact-sm" onClick={() => setOpened('add')}>
        Add lines
      </Button>
      <Button variant="default" size="compact-sm" onClick={() => setOpened('finalize')}>
        Finalize now
      </Button>
      {opened === 'finalize' && <DraftAction action="finalize" invoice={invoice} onClose={close} />}
      {opened === 'add' && (
        <Suspense>
          <AddLines invoice={invoice} onClose={close} />
        </Suspense>
      )}
    </Group>
  );
}
