import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Question } from '../api.ts';
import { countText } from './format.ts';
import { Problem } from './problem.tsx';
import { type Column, Rows } from './records.tsx';
import { Go } from './shown.tsx';

interface ListedProps<Row> {
  readonly query: Question<{ readonly data: readonly Row[]; readonly total?: number }>;
  readonly columns: readonly Column<Row>[];
  readonly caption: string;
  /** The words where there is none. */
  readonly nothing: ReactNode;
  readonly to?: (row: Row) => string;
  /** The page with all of them. */
  readonly all?: string;
}

/** The newest records of a list, as a part of a page about something else. */
export function Listed<Row extends { readonly id: string }>({
  query,
  columns,
  caption,
  nothing,
  to,
  all,
}: ListedProps<Row>) {
  const { data: page, error, refetch } = useQuery({ ...query, placeholderData: (before) => before });
  if (page === undefined) return error === null ? <Skeleton height={80} /> : <Problem error={error} retry={refetch} />;
  if (page.data.length === 0)
    return (
      <Text c="dimmed" size="sm">
        {nothing}
      </Text>
    );
  const { total = 0 } = page;
  return (
    <>
      <Rows rows={page.data} columns={columns} caption={caption} keyOf={({ id }) => id} {...(to && { to })} />
      {total > page.data.length && (
        <Text size="sm" c="dimmed" mt="sm" px="sm">
          The newest {countText(page.data.length)} of {countText(total)}.{' '}
          {all !== undefined && <Go to={all}>Show all</Go>}
        </Text>
      )}
    </>
  );
}
