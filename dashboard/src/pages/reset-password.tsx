import { Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { NewPassword } from '../account/new-password.tsx';
import { send } from '../api.ts';
import { Problem } from '../parts/problem.tsx';
import { Go } from '../parts/shown.tsx';
import { OpenPage } from '../shell/open-page.tsx';

/** The page of a link of the operator that sets a new password. */
export function Page() {
  const { token = '' }: { token?: string } = useSearch({ strict: false });
  const setting = useMutation({
    mutationFn: (newPassword: string) => send('POST', '/auth/reset-password', { token, newPassword }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setting.mutate(String(new FormData(event.currentTarget).get('password')));
  };
  if (setting.isSuccess)
    return (
      <OpenPage title="Your password is changed">
        <Text size="sm">
          You are signed out everywhere. <Go to="/sign-in">Sign in with the new password</Go>
        </Text>
      </OpenPage>
    );
  return (
    <OpenPage title="Choose a new password">
      <form onSubmit={submit}>
        <Stack gap="md">
          <NewPassword name="password" />
          <Text size="sm" c="dimmed">
            This link works once. Every browser in which you are signed in is signed out.
          </Text>
          {setting.isError && <Problem error={setting.error} />}
          <Button type="submit" loading={setting.isPending} fullWidth>
            Save the password
          </Button>
        </Stack>
      </form>
    </OpenPage>
  );
}
