import { Button, Group, Skeleton, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Question } from '../api.ts';
import { Empty } from './empty.tsx';
import { totalText } from './format.ts';
import { Problem } from './problem.tsx';

export interface PageOfRecords<Row> {
  readonly data: readonly Row[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly nextCursor?: string;
}

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'right';
  /** The window from which on there is room for it; always when absent. */
  readonly from?: 'xs' | 'sm' | 'md' | 'lg' | 'xl';
}

interface RowsProps<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** The page of a row: its first cell is the link. */
  readonly to?: (row: Row) => string;
  readonly caption: string;
}

/** A table. A row with a page of its own is a link as a whole, and the keyboard reaches it by its first cell. */
export function Rows<Row>({ rows, columns, keyOf, to, caption }: RowsProps<Row>) {
  return (
    <Table className="records" verticalSpacing="sm" horizontalSpacing="sm" highlightOnHover={to !== undefined}>
      <Table.Caption className="visually-hidden">{caption}</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ title, align, from }) => (
            <Table.Th key={title} ta={align} {...(from && { visibleFrom: from })}>
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={keyOf(row)}>
            {columns.map(({ title, cell, align, from }, index) => (
              <Table.Td key={title} ta={align} {...(from && { visibleFrom: from })}>
                {index === 0 && to !== undefined ? (
                  <Link to={to(row)} className="row-link">
                    {cell(row)}
                  </Link>
                ) : (
                  cell(row)
                )}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface RecordsProps<Row> extends Omit<RowsProps<Row>, 'rows'> {
  readonly query: Question<PageOfRecords<Row>>;
  readonly empty: ReactNode;
}

/** A list of records by pages. Filters and the page are in the address, so that a link shows the same. */
export function Records<Row>({ query, empty, ...table }: RecordsProps<Row>) {
  const { data: page, error, refetch, isPlaceholderData } = useQuery({ ...query, placeholderData: (before) => before });
  if (page === undefined) return error === null ? <RecordsSkeleton /> : <Problem error={error} retry={refetch} />;
  if (page.data.length === 0) return empty;
  return (
    <div aria-busy={isPlaceholderData}>
      <Rows rows={page.data} {...table} />
      <Pager page={page} />
    </div>
  );
}

function Pager({ page }: { readonly page: PageOfRecords<unknown> }) {
  const { filters, setFilters } = useFilters();
  const isFirst = filters.cursor === undefined;
  return (
    <Group justify="space-between" mt="sm" px="sm">
      <Text size="sm" c="dimmed">
        {totalText(page.total)} in all
      </Text>
      {(page.hasMore || !isFirst) && (
        <Group gap="xs">
          <Button variant="default" size="xs" disabled={isFirst} onClick={() => setFilters({ cursor: undefined })}>
            First page
          </Button>
          <Button
            variant="default"
            size="xs"
            disabled={!page.hasMore}
            onClick={() => setFilters({ cursor: page.nextCursor })}
          >
            Next page
          </Button>
        </Group>
      )}
    </Group>
  );
}

const skeletonRows = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

export function RecordsSkeleton() {
  return (
    <output aria-label="Loading">
      {skeletonRows.map((name) => (
        <Skeleton key={name} height={20} my={20} radius="sm" />
      ))}
    </output>
  );
}

type Filters = Readonly<Record<string, string | undefined>>;

/** The address of a page with these filters. */
export function addressWith(path: string, filters: Filters): string {
  const given = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return `${path}?${new URLSearchParams(given)}`;
}

/** The filters of the address. A change of them returns to the first page, and does not fill the history. */
export function useFilters(): { readonly filters: Filters; readonly setFilters: (change: Filters) => void } {
  const filters: Filters = useSearch({ strict: false });
  const navigate = useNavigate();
  const setFilters = (change: Filters) => {
    const isPaging = 'cursor' in change;
    void navigate({ to: '.', search: { ...filters, cursor: undefined, ...change }, replace: !isPaging });
  };
  return { filters, setFilters };
}

interface EmptyListProps {
  /** The records in the plural, such as `payments`. */
  readonly of: string;
  readonly children: ReactNode;
}

/** Stands in a list without records, which has none yet or none that its filters let through. */
export function EmptyList({ of, children }: EmptyListProps) {
  const { filters } = useFilters();
  return (
    <Empty title={Object.values(filters).some((value) => value !== undefined) ? `No such ${of}` : `No ${of} yet`}>
      {children}
    </Empty>
  );
}
