import { Alert, Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { send } from '../api.ts';
import { Problem } from '../parts/problem.tsx';
import { signIn, signInWithCode, signInWithPasskey } from '../session.ts';
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
  const { next = '/' }: { next?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [needsCode, setNeedsCode] = useState(false);
  const enter = () => navigate({ href: /^\/(?!\/)/.test(next) ? next : '/', replace: true });
  return needsCode ? (
    <Code onEnter={enter} onRestart={() => setNeedsCode(false)} />
  ) : (
    <FirstStep onEnter={enter} onCode={() => setNeedsCode(true)} />
  );
}

interface FirstStepProps {
  readonly onEnter: () => unknown;
  readonly onCode: () => void;
}

function FirstStep({ onEnter, onCode }: FirstStepProps) {
  const { company, error }: { company?: string; error?: string } = useSearch({ strict: false });
  const form = useRef<HTMLFormElement>(null);
  const leaving = useMutation({
    mutationFn: (by: { organizationId: string } | { email: string }) =>
      send<{ url: string }>('POST', '/auth/company/start', by),
    onSuccess: ({ url }) => location.assign(url),
  });
  const proving = useMutation({ mutationFn: signInWithPasskey, onSuccess: onEnter });
  const signing = useMutation({
    mutationFn: ({ email, password }: { email: string; password: string }) => signIn(email, password),
    onSuccess: ({ needsCode }) => (needsCode ? onCode() : onEnter()),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signing.mutate({ email: String(form.get('email')), password: String(form.get('password')) });
  };
  const leave = () => {
    if (company !== undefined) return leaving.mutate({ organizationId: company });
    // The domain of the address leads to the company.
    const email = form.current?.elements.namedItem('email');
    if (email instanceof HTMLInputElement && email.reportValidity()) leaving.mutate({ email: email.value.trim() });
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
          <Divider label="or" />
          {proving.isError && <Problem error={proving.error} />}
          <Button variant="default" loading={proving.isPending} onClick={() => proving.mutate()} fullWidth>
            Use a passkey
          </Button>
          {leaving.isError && <Problem error={leaving.error} />}
          <Button variant="default" loading={leaving.isPending} onClick={leave} fullWidth>
            Use the sign-in of your company
          </Button>
          <Text size="xs" c="dimmed">
            Without your password or authenticator, ask the operator of this service for help.
          </Text>
        </Stack>
      </form>
    </OpenPage>
  );
}

interface CodeProps {
  readonly onEnter: () => unknown;
  readonly onRestart: () => void;
}

/** The second step of somebody who has an authenticator. */
function Code({ onEnter, onRestart }: CodeProps) {
  const [kind, setKind] = useState<'totp' | 'backup-code'>('totp');
  const isBackup = kind === 'backup-code';
  const proving = useMutation({
    mutationFn: (code: string) => signInWithCode(code, kind),
    onSuccess: onEnter,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    proving.mutate(String(new FormData(event.currentTarget).get('code')).replaceAll(' ', ''));
  };
  return (
    <OpenPage title="Enter your code">
      <form onSubmit={submit} key={kind}>
        <Stack gap="md">
          <TextInput
            name="code"
            label={isBackup ? 'Backup code' : 'The six digits of your authenticator'}
            autoComplete={isBackup ? 'off' : 'one-time-code'}
            required
            autoFocus
            {...(!isBackup && { inputMode: 'numeric' as const, pattern: '[0-9 ]{6,7}' })}
          />
          {proving.isError && <Problem error={proving.error} />}
          <Button type="submit" loading={proving.isPending} fullWidth>
            Sign in
          </Button>
          <Anchor
            component="button"
            type="button"
            size="sm"
            onClick={() => {
              proving.reset();
              setKind(isBackup ? 'totp' : 'backup-code');
            }}
          >
            {isBackup ? 'Use the authenticator' : 'Use a backup code'}
          </Anchor>
          <Anchor component="button" type="button" size="sm" onClick={onRestart}>
            Begin again
          </Anchor>
        </Stack>
      </form>
    </OpenPage>
  );
}
