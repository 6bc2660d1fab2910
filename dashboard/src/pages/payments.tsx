import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { MoneyRecords, paymentColumns } from '../parts/money-columns.tsx';
import { EmptyList, useFilters } from '../parts/records.tsx';
import { SaveList } from '../parts/save-file.tsx';
import { Heading } from '../parts/shown.tsx';

const statuses = ['succeeded', 'processing', 'requires_action', 'failed', 'canceled', 'refunded'] as const;

export function Page() {
  const { filters } = useFilters();
  const { status, customerId, cursor } = filters;
  return (
    <>
      <Heading title="Payments" aside={<SaveList file="payments.csv" />} />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="payments"
        input={{ status, customerId, cursor }}
        columns={paymentColumns}
        to={({ id }) => `/payments/${id}`}
        caption="Payments"
        empty={<EmptyList of="payments">Each attempt to collect an invoice is one payment.</EmptyList>}
      />
    </>
  );
}
