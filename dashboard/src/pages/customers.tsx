import { read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { ChoiceFilter, FilterBar, SearchFilter } from '../parts/filters.tsx';
import { NewCustomer } from '../parts/new-customer.tsx';
import { Records, useFilters } from '../parts/records.tsx';
import { SaveList } from '../parts/save-file.tsx';
import { Heading, When } from '../parts/shown.tsx';

const pageSize = 25;
const archivedOf: Readonly<Record<string, boolean>> = { current: false, archived: true };

export function Page() {
  const { filters } = useFilters();
  const { search, cursor, show } = filters;
  const archived = archivedOf[show ?? ''];
  const query = read('customers', 'list', {
    limit: pageSize,
    order: 'desc',
    ...(search !== undefined && { search }),
    ...(cursor !== undefined && { cursor }),
    ...(archived !== undefined && { archived }),
  });
  const isFiltered = search !== undefined || show !== undefined;
  return (
    <>
      <Heading
        title="Customers"
        aside={
          <>
            <SaveList file="customers.csv" />
            <NewCustomer />
          </>
        }
      />
      <FilterBar>
        <SearchFilter label="Search by name, e-mail address or your id" />
        <ChoiceFilter name="show" label="Current and archived" choices={Object.keys(archivedOf)} />
      </FilterBar>
      <Records
        query={query}
        keyOf={({ id }) => id}
        to={({ id }) => `/customers/${id}`}
        caption="Customers"
        columns={[
          { title: 'Name', cell: ({ name, externalId }) => name || externalId },
          { title: 'E-mail address', cell: ({ email }) => email, from: 'sm' },
          { title: 'Your id', cell: ({ externalId }) => <span className="identifier">{externalId}</span>, from: 'md' },
          { title: 'Since', cell: ({ createdAt }) => <When at={createdAt} />, align: 'right' },
        ]}
        empty={
          isFiltered ? (
            <Empty title="Nobody matches">Search for a part of the name, the e-mail address or your id.</Empty>
          ) : (
            <Empty title="No customers yet">
              Your application makes them with <code>POST /api/v1/customers</code>, and so does the form. Each one
              starts on the default plan.
              <div className="empty-action">
                <NewCustomer isFirst />
              </div>
            </Empty>
          )
        }
      />
    </>
  );
}
