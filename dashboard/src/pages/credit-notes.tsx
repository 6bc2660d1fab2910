import { Empty } from '../parts/empty.tsx';
import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { creditNoteColumns, MoneyRecords } from '../parts/money-columns.tsx';
import { useFilters } from '../parts/records.tsx';
import { Heading } from '../parts/shown.tsx';

const statuses = ['issued', 'settled', 'void'] as const;

export function Page() {
  const { filters } = useFilters();
  const { status, cursor } = filters;
  return (
    <>
      <Heading title="Credit notes" />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="creditNotes"
        input={{ status, cursor }}
        columns={creditNoteColumns}
        to={({ invoiceId }) => `/invoices/${invoiceId}`}
        caption="Credit notes"
        empty={
          <Empty title="No such credit notes">
            A credit note takes back lines of an invoice, by a refund or off the amount due.
          </Empty>
        }
      />
    </>
  );
}
