import { Drawer, Stack, Table, TextInput, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { AuditLogEntry } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { FilterBar } from '../parts/filters.tsx';
import { instantText, words } from '../parts/format.ts';
import { type Column, Records, useFilters } from '../parts/records.tsx';
import { Facts, Heading, Identifier } from '../parts/shown.tsx';

const pageSize = 25;

const actors: Readonly<Record<AuditLogEntry['actor']['type'], string>> = {
  api_key: 'API key',
  user: 'Person',
  customer: 'Customer',
  operator: 'Operator',
  system: 'Background work',
};
const operations: Readonly<Record<AuditLogEntry['operation'], string>> = {
  insert: 'Created',
  update: 'Changed',
  delete: 'Deleted',
};

function actorOf({ actor: { type, apiKeyId, userId } }: AuditLogEntry) {
  const id = userId ?? apiKeyId;
  return (
    <>
      {actors[type]} {id !== null && <Identifier id={id} />}
    </>
  );
}

export function Page() {
  const { filters, setFilters } = useFilters();
  const { recordId, requestId, cursor } = filters;
  const [opened, setOpened] = useState<AuditLogEntry | null>(null);
  const columns: readonly Column<AuditLogEntry>[] = [
    {
      title: 'Record',
      cell: (entry) => (
        <UnstyledButton className="row-link" onClick={() => setOpened(entry)}>
          {operations[entry.operation]} {words(entry.record.type).toLowerCase()}
        </UnstyledButton>
      ),
    },
    { title: 'By', cell: actorOf, from: 'md' },
    { title: 'Operation', cell: ({ action }) => action ?? '–', from: 'lg' },
    { title: 'Real time', cell: ({ occurredAt }) => <span className="amount">{instantText(occurredAt)}</span> },
  ];
  const query = read('auditLog', 'list', {
    limit: pageSize,
    order: 'desc',
    ...(recordId && { recordId }),
    ...(requestId && { requestId }),
    ...(cursor && { cursor }),
  });
  return (
    <>
      <Heading title="Audit log" below="Who changed what, with the fields before and after. Nobody can change it." />
      <FilterBar>
        <TextFilter name="recordId" label="Id of a record" />
        <TextFilter name="requestId" label="Id of a request" />
      </FilterBar>
      <Records
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        caption="Audit log"
        empty={
          <Empty title="No changes">
            {recordId || requestId ? 'No change matches these ids.' : 'Changes appear here as they are made.'}
          </Empty>
        }
      />
      <Drawer
        opened={opened !== null}
        onClose={() => setOpened(null)}
        position="right"
        size="xl"
        title={<span className="dialog-title">Change</span>}
      >
        {opened !== null && (
          <OneChange
            entry={opened}
            onRecord={(id) => {
              setOpened(null);
              setFilters({ recordId: id, requestId: undefined });
            }}
          />
        )}
      </Drawer>
    </>
  );
}

/** A filter by an exact text. */
function TextFilter({ name, label }: { readonly name: string; readonly label: string }) {
  const { filters, setFilters } = useFilters();
  const apply = (text: string) => {
    const wanted = text.trim() || undefined;
    if (wanted !== filters[name]) setFilters({ [name]: wanted });
  };
  return (
    <TextInput
      key={filters[name]}
      aria-label={label}
      placeholder={label}
      defaultValue={filters[name] ?? ''}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
      className="search-filter"
    />
  );
}

function OneChange({ entry, onRecord }: { readonly entry: AuditLogEntry; readonly onRecord: (id: string) => void }) {
  const { before, after } = entry;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter((name) => textOf(before?.[name]) !== textOf(after?.[name]));
  return (
    <Stack>
      <Facts
        facts={[
          ['Record', `${operations[entry.operation]} ${words(entry.record.type).toLowerCase()}`],
          [
            'Its history',
            <UnstyledButton key="history" className="identifier" onClick={() => onRecord(entry.record.id)}>
              {entry.record.id}
            </UnstyledButton>,
          ],
          ['By', actorOf(entry)],
          ['Operation', entry.action ?? '–'],
          ['Request', entry.requestId === null ? '–' : <Identifier key="request" id={entry.requestId} />],
          ['Real time', instantText(entry.occurredAt)],
        ]}
      />
      <Table className="records" verticalSpacing="xs">
        <Table.Caption className="visually-hidden">Changed fields</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Field</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changed.map((name) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td className="identifier">{textOf(before?.[name])}</Table.Td>
              <Table.Td className="identifier">{textOf(after?.[name])}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
