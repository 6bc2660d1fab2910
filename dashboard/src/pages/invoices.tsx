import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { invoiceColumns, MoneyRecords } from '../parts/money-columns.tsx';
import { EmptyList, useFilters } from '../parts/records.tsx';
import { SaveList } from '../parts/save-file.tsx';
import { Heading } from '../parts/shown.tsx';

const statuses = ['draft', 'open', 'paid', 'partially_refunded', 'refunded', 'void', 'uncollectible'] as const;

export function Page() {
  const { filters } = useFilters();
  const { status, customerId, cursor } = filters;
  return (
    <>
      <Heading title="Invoices" aside={<SaveList file="invoices.csv" />} />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="invoices"
        input={{ status, customerId, cursor }}
        columns={invoiceColumns}
        to={({ id }) => `/invoices/${id}`}
        caption="Invoices"
        empty={<EmptyList of="invoices">A subscription makes one when it starts and at each renewal.</EmptyList>}
      />
    </>
  );
}
