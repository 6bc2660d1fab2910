import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { queries, send } from '../api.ts';
import { Problem } from '../parts/problem.tsx';
import { OpenPage } from '../shell/open-page.tsx';

interface NewOwner {
  readonly token: string;
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

/** The page of the link that the first start prints. It makes the first owner, once. */
export function Page() {
  const navigate = useNavigate();
  const { token = '' }: { token?: string } = useSearch({ strict: false });
  const creation = useMutation({
    mutationFn: (owner: NewOwner) => send('POST', '/api/v1/me/first-owner', { owner }),
    onSuccess: async () => {
      await queries.resetQueries();
      await navigate({ to: '/', replace: true });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name));
    creation.mutate({ token, name: text('name'), email: text('email'), password: text('password') });
  };
  return (
    <OpenPage title="Become the first owner">
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            The owner invites other people and gives them roles. This link works once.
          </Text>
          <TextInput name="name" label="Name" autoComplete="name" required autoFocus />
          <TextInput name="email" type="email" label="E-mail address" autoComplete="username" required />
          <PasswordInput name="password" label="Password" autoComplete="new-password" required minLength={8} />
          {creation.isError && <Problem error={creation.error} />}
          <Button type="submit" loading={creation.isPending} fullWidth>
            Create the account
          </Button>
        </Stack>
      </form>
    </OpenPage>
  );
}
