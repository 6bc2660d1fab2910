import { Code, Drawer, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import type { Event, EventType } from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { instantText, words } from '../parts/format.ts';
import { isInTheWay, Problem } from '../parts/problem.tsx';
import { addressWith, type Column, Records, useFilters } from '../parts/records.tsx';
import { Facts, Go, Heading, Identifier } from '../parts/shown.tsx';

const pageSize = 25;

const columns: readonly Column<Event>[] = [
  { title: 'Event', cell: ({ type }) => <EventName type={type} /> },
  { title: 'About', cell: ({ object, objectId }) => <RecordLink object={object} id={objectId} />, from: 'sm' },
  {
    title: 'Customer',
    cell: ({ payload: { customer } }) => <Go to={`/customers/${customer.id}`}>{customer.externalId}</Go>,
    from: 'md',
  },
  { title: 'Occurred', cell: ({ occurredAt }) => <span className="amount">{instantText(occurredAt)}</span> },
];

/** A narrow screen breaks it after its dots and underscores. */
function EventName({ type }: { readonly type: string }) {
  return type.split(/(?<=[._])/).map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ));
}

const pagesOfObjects: Readonly<Record<string, string>> = {
  customer: '/customers',
  subscription: '/subscriptions',
  invoice: '/invoices',
  payment: '/payments',
  creditNote: '/credit-notes',
};

/** The record that an event is about: a link where it has a page. */
function RecordLink({ object, id }: { readonly object: string; readonly id: string }) {
  const page = pagesOfObjects[object];
  return page === undefined ? <Identifier id={id} /> : <Go to={`${page}/${id}`}>{words(object)}</Go>;
}

export function Page() {
  const { filters, setFilters } = useFilters();
  const { type, cursor, event } = filters;
  const query = read('events', 'list', {
    limit: pageSize,
    order: 'desc',
    ...(type && { type: type as EventType }),
    ...(cursor && { cursor }),
  });
  return (
    <>
      <Heading
        title="Events"
        below="Each change that your systems may want to know of, in the order in which it happened."
      />
      <FilterBar>
        <ChoiceFilter name="type" label="Type" choices={values.EventType} />
      </FilterBar>
      <Records
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => addressWith('/events', { ...filters, event: id })}
        caption="Events"
        empty={
          <Empty title="No events">
            An event is written with each change of a customer, a subscription or a payment.
          </Empty>
        }
      />
      <Drawer
        opened={event !== undefined}
        onClose={() => setFilters({ event: undefined, cursor })}
        position="right"
        size="lg"
        title={<span className="dialog-title">Event</span>}
      >
        {event !== undefined && <OneEvent id={event} />}
      </Drawer>
    </>
  );
}

function OneEvent({ id }: { readonly id: string }) {
  const { data, error, refetch } = useQuery(read('events', 'get', { id }));
  if (isInTheWay(error, data)) return <Problem error={error} retry={refetch} />;
  if (data === undefined) return null;
  const { event } = data;
  return (
    <Stack>
      <Facts
        facts={[
          ['Type', event.type],
          ['About', <RecordLink key="about" object={event.object} id={event.objectId} />],
          ['Occurred', instantText(event.occurredAt)],
          ['Id', <Identifier key="id" id={event.id} />],
        ]}
      />
      <div>
        <h2>Payload</h2>
        <Code block>{JSON.stringify(event.payload, null, 2)}</Code>
      </div>
    </Stack>
  );
}
