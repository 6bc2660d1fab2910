import type { Purchase } from '../../../client/src/generated-entry.ts';
import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { countText } from '../parts/format.ts';
import { MoneyRecords } from '../parts/money-columns.tsx';
import { type Column, EmptyList, useFilters } from '../parts/records.tsx';
import { Heading, Status, When } from '../parts/shown.tsx';

const statuses = ['open', 'pending', 'paid', 'failed', 'partial_refund', 'refunded'] as const;

const columns: readonly Column<Purchase>[] = [
  { title: 'Purchase', cell: ({ name }) => name },
  { title: 'Status', cell: ({ status }) => <Status of={status} /> },
  { title: 'Kind', cell: ({ priceType }) => (priceType === 'subscription' ? 'Subscription' : 'Once'), from: 'md' },
  { title: 'Quantity', cell: ({ quantity }) => countText(quantity), align: 'right', from: 'md' },
  {
    title: 'Date',
    cell: ({ purchaseDate, createdAt }) => <When at={purchaseDate ?? createdAt} />,
    align: 'right',
    from: 'sm',
  },
];

export function Page() {
  const { filters } = useFilters();
  const { status, cursor } = filters;
  return (
    <>
      <Heading title="Purchases" />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="purchases"
        input={{ status, cursor }}
        columns={columns}
        to={placeOf}
        caption="Purchases"
        empty={
          <EmptyList of="purchases">A checkout makes one, for a subscription or for something bought once.</EmptyList>
        }
      />
    </>
  );
}

/** The page of what a purchase brought: its subscription, else its invoice, else its customer. */
function placeOf({ subscriptionId, invoiceId, customerId }: Purchase & { subscriptionId?: string | null }): string {
  if (subscriptionId) return `/subscriptions/${subscriptionId}`;
  return invoiceId === null ? `/customers/${customerId}` : `/invoices/${invoiceId}`;
}
