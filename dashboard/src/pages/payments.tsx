import { Empty } from '../parts/empty.tsx';
import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { MoneyRecords, paymentColumns } from '../parts/money-columns.tsx';
import { useFilters } from '../parts/records.tsx';
import { Heading } from '../parts/shown.tsx';

const statuses = ['succeeded', 'processing', 'requires_action', 'failed', 'canceled', 'refunded'] as const;

export function Page() {
  const { filters } = useFilters();
  const { status, cursor } = filters;
  return (
    <>
      <Heading title="Payments" />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="payments"
        input={{ status, cursor }}
        columns={paymentColumns}
        to={({ customerId }) => `/customers/${customerId}`}
        caption="Payments"
        empty={<Empty title="No such payments">Each attempt to collect an invoice is one payment.</Empty>}
      />
    </>
  );
}
