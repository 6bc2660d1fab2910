import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../api.ts';
import { Problem } from '../parts/problem.tsx';
import { type Column, RecordsSkeleton, Rows } from '../parts/records.tsx';
import { Section, When } from '../parts/shown.tsx';
import { signOut } from '../session.ts';
import { accountQuery, deviceText, type OwnSession, sessionsQuery } from './account.ts';
import { FormDialog } from './form-dialog.tsx';

/** The browsers in which the person is signed in. Each can be signed out, for one that was lost or left open. */
export function Sessions() {
  const current = useQuery(accountQuery).data?.session.id;
  const { data, error, refetch } = useQuery(sessionsQuery);
  const [opened, setOpened] = useState<OwnSession | 'others' | null>(null);
  const close = () => setOpened(null);
  const columns: readonly Column<OwnSession>[] = [
    {
      title: 'Browser',
      cell: ({ id, userAgent }) => `${deviceText(userAgent)}${id === current ? ' (this one)' : ''}`,
    },
    { title: 'Network address', cell: ({ ipAddress }) => ipAddress || '–', from: 'sm' },
    { title: 'Signed in', cell: ({ createdAt }) => <When at={Date.parse(createdAt)} />, from: 'xs' },
    { title: 'Last use', cell: ({ updatedAt }) => <When at={Date.parse(updatedAt)} />, from: 'md' },
    {
      title: '',
      align: 'right',
      cell: (session) => (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => (session.id === current ? void signOut() : setOpened(session))}
        >
          Sign out
        </Button>
      ),
    },
  ];
  // This one first, then the last that was used.
  const rows = data?.toSorted(
    (one, other) =>
      Number(other.id === current) - Number(one.id === current) || other.updatedAt.localeCompare(one.updatedAt),
  );
  return (
    <Section
      title="Where you are signed in"
      aside={
        (rows?.length ?? 0) > 1 && (
          <Button variant="default" size="xs" onClick={() => setOpened('others')}>
            Sign out everywhere else
          </Button>
        )
      }
    >
      {error !== null && rows === undefined && <Problem error={error} retry={refetch} />}
      {error === null && rows === undefined && <RecordsSkeleton />}
      {rows !== undefined && <Rows rows={rows} columns={columns} keyOf={({ id }) => id} caption="Sessions" />}
      {opened === 'others' && (
        <FormDialog
          title="Sign out everywhere else"
          onClose={close}
          submit={() => send('POST', '/auth/revoke-other-sessions', {})}
          confirm="Sign them out"
          done="You are signed in only here."
          isDanger
        >
          <Text size="sm">Every other browser is signed out with its next request. You stay signed in here.</Text>
        </FormDialog>
      )}
      {opened !== null && opened !== 'others' && (
        <FormDialog
          title={`Sign out ${deviceText(opened.userAgent)}`}
          onClose={close}
          submit={() => send('POST', '/auth/revoke-session', { token: opened.token })}
          confirm="Sign it out"
          done="The browser is signed out."
          isDanger
        >
          <Text size="sm">It is signed out with its next request. Change your password if you do not know it.</Text>
        </FormDialog>
      )}
    </Section>
  );
}
