import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { MoneyRecords, subscriptionColumns } from '../parts/money-columns.tsx';
import { EmptyList, useFilters } from '../parts/records.tsx';
import { Heading } from '../parts/shown.tsx';

const statuses = [
  'active',
  'trialing',
  'past_due',
  'unpaid',
  'cancellation_scheduled',
  'paused',
  'incomplete',
  'canceled',
] as const;

export function Page() {
  const { filters } = useFilters();
  const { status, customerId, cursor } = filters;
  return (
    <>
      <Heading title="Subscriptions" />
      <FilterBar>
        <ChoiceFilter name="status" label="Any status" choices={statuses} />
      </FilterBar>
      <MoneyRecords
        family="subscriptions"
        input={{ status, customerId, cursor }}
        columns={subscriptionColumns}
        to={({ id }) => `/subscriptions/${id}`}
        caption="Subscriptions"
        empty={<EmptyList of="subscriptions">A customer starts on the default plan, and moves to others.</EmptyList>}
      />
    </>
  );
}
