import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useRef } from 'react';
import { send } from '../api.ts';
import { Problem } from '../parts/problem.tsx';
import { signIn } from '../session.ts';
import { OpenPage } from '../shell/open-page.tsx';

// The reasons for which the provider of a company signs nobody in.
const refusals: Readonly<Record<string, string>> = {
  sign_in_expired: 'The sign-in took too long, or was used before. Try again.',
  email_not_verified: 'Your company has not verified your e-mail address.',
  not_a_member: 'You are no member of this organization. Ask one of its owners to invite you.',
  accept_the_invitation_first: 'You have an account here. Sign in with it, and open the link of your invitation.',
  known_by_another_name: 'Your company knows you by another name than before. Ask an owner to invite you again.',
};
const otherRefusal = 'Your company did not sign you in. Try again, or tell an owner of the organization.';

/** The sign-in. It returns to the address that was asked for, which must be one of ours. */
export function Page() {
  const navigate = useNavigate();
  const search: { next?: string; company?: string; error?: string } = useSearch({ strict: false });
  const { next = '/', company, error } = search;
  const form = useRef<HTMLFormElement>(null);
  const leaving = useMutation({
    mutationFn: () => {
      const email = String(new FormData(form.current ?? undefined).get('email')).trim();
      return send<{ url: string }>('POST', '/auth/company/start', company ? { organizationId: company } : { email });
    },
    onSuccess: ({ url }) => location.assign(url),
  });
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
      <form onSubmit={submit} ref={form}>
        <Stack gap="md">
          {error !== undefined && (
            <Alert color="red" variant="light" role="alert" title={refusals[error] ?? otherRefusal} />
          )}
          <TextInput name="email" type="email" label="E-mail address" autoComplete="username" required autoFocus />
          <PasswordInput name="password" label="Password" autoComplete="current-password" required />
          {signing.isError && <Problem error={signing.error} />}
          <Button type="submit" loading={signing.isPending} fullWidth>
            Sign in
          </Button>
          {leaving.isError && <Problem error={leaving.error} />}
          <Button variant="default" loading={leaving.isPending} onClick={() => leaving.mutate()} fullWidth>
            Use the sign-in of your company
          </Button>
        </Stack>
      </form>
    </OpenPage>
  );
}
