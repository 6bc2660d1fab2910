import { Button, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { NewPassword } from '../account/new-password.tsx';
import { queries, send } from '../api.ts';
import { Problem } from '../parts/problem.tsx';
import { Go } from '../parts/shown.tsx';
import { meQuery } from '../session.ts';
import { OpenPage } from '../shell/open-page.tsx';

interface Invitation {
  readonly organization: { readonly name: string };
  readonly role: string;
  /** Null for the first link: the person gives an address. */
  readonly email: string | null;
  readonly isKnown: boolean;
}

/** The page of a link that makes the first owner, or a member. */
export function Page() {
  const { token = '' }: { token?: string } = useParams({ strict: false });
  const { data, error } = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => send<{ invitation: Invitation }>('GET', `/auth/invitation?token=${encodeURIComponent(token)}`),
    retry: false,
  });
  if (error !== null)
    return (
      <OpenPage title="This link does not work">
        <Problem error={error} />
      </OpenPage>
    );
  if (data === undefined)
    return (
      <OpenPage title="One moment">
        <Skeleton height={180} />
      </OpenPage>
    );
  return <Join token={token} invitation={data.invitation} />;
}

function Join({ token, invitation }: { readonly token: string; readonly invitation: Invitation }) {
  const { organization, role, email, isKnown } = invitation;
  const navigate = useNavigate();
  const joining = useMutation({
    mutationFn: (person: object) => send('POST', '/auth/invitation/accept', { token, ...person }),
    onSuccess: async () => {
      // The link is used up, and asking for it again would fail.
      await queries.resetQueries({ queryKey: meQuery.queryKey });
      await navigate({ to: '/', replace: true });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const texts = Object.fromEntries([...form].map(([name, value]) => [name, String(value)]));
    joining.mutate(texts);
  };
  return (
    <OpenPage title={`Join ${organization.name}`}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            You become {role} of the organization. This link works once.
          </Text>
          {isKnown ? (
            <Text size="sm">
              {email} has an account: <Go to={`/sign-in?next=/join/${token}`}>sign in first</Go>, then join.
            </Text>
          ) : (
            <>
              <TextInput name="name" label="Name" autoComplete="name" required autoFocus />
              {email === null && (
                <TextInput name="email" type="email" label="E-mail address" autoComplete="username" required />
              )}
              <NewPassword name="password" label="Password" />
            </>
          )}
          {joining.isError && <Problem error={joining.error} />}
          <Button type="submit" loading={joining.isPending} fullWidth>
            Join
          </Button>
        </Stack>
      </form>
    </OpenPage>
  );
}
