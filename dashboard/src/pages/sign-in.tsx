import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { Problem } from '../parts/problem.tsx';
import { signIn } from '../session.ts';
import { OpenPage } from '../shell/open-page.tsx';

/** The sign-in. It returns to the address that was asked for, which must be one of ours. */
export function Page() {
  const navigate = useNavigate();
  const { next = '/' }: { next?: string } = useSearch({ strict: false });
  const signing = useMutation({
    mutationFn: ({ email, password }: { email: string; password: string }) => signIn(email, password),
    onSuccess: () => navigate({ href: /^\/(?!\/)/.test(next) ? next : '/', replace: true }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signing.mutate({ email: String(form.get('email')), password: String(form.get('password')) });
  };
  return (
    <OpenPage title="Sign in">
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput name="email" type="email" label="E-mail address" autoComplete="username" required autoFocus />
          <PasswordInput name="password" label="Password" autoComplete="current-password" required />
          {signing.isError && <Problem error={signing.error} />}
          <Button type="submit" loading={signing.isPending} fullWidth>
            Sign in
          </Button>
        </Stack>
      </form>
    </OpenPage>
  );
}
