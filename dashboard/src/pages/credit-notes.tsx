import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { creditNoteColumns, MoneyRecords } from '../parts/money-columns.tsx';
import { EmptyList, useFilters } from '../parts/records.tsx';
import { SaveList } from '../parts/save-file.tsx';
import { Heading } from '../parts/shown.tsx';

const statuses = ['issued', 'settled', 'void'] as const;

export function Page() {
  const { filters } = useFilters();
  const { status, customerId, cursor } = filters;
  return (
    <>
      <Heading title="Credit notes" aside={<SaveList file="credit-notes.csv" />} />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="creditNotes"
        input={{ status, customerId, cursor }}
        columns={creditNoteColumns}
        to={({ id }) => `/credit-notes/${id}`}
        caption="Credit notes"
        empty={
          <EmptyList of="credit notes">
            A credit note takes back lines of an invoice, by a refund or off the amount due.
          </EmptyList>
        }
      />
    </>
  );
}
