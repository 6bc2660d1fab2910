import { Button, PasswordInput, Skeleton, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { accountQuery } from '../account/account.ts';
import { FormDialog } from '../account/form-dialog.tsx';
import { NewPassword } from '../account/new-password.tsx';
import { Passkeys } from '../account/passkeys.tsx';
import { SecondFactor } from '../account/second-factor.tsx';
import { Sessions } from '../account/sessions.tsx';
import { send } from '../api.ts';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { Facts, Go, Heading, Section } from '../parts/shown.tsx';

/** The person who is signed in: name, the ways to sign in, and the browsers in which that was done. */
export function Page() {
  const { data, error, refetch } = useQuery(accountQuery);
  const [opened, setOpened] = useState<'name' | 'password' | null>(null);
  const close = () => setOpened(null);
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={320} />;
  const { user, session } = data;
  const isByCompany = session.signInProviderId !== null;
  return (
    <>
      <Heading title="Your account" below="How you sign in. It is the same in all organizations of this service." />
      <Section
        title="Profile"
        aside={
          !isByCompany && (
            <>
              <Button variant="default" size="xs" onClick={() => setOpened('name')}>
                Change your name
              </Button>
              <Button variant="default" size="xs" onClick={() => setOpened('password')}>
                Change your password
              </Button>
            </>
          )
        }
      >
        <Facts
          facts={[
            ['Name', user.name],
            ['E-mail address', user.email],
          ]}
        />
      </Section>
      {isByCompany ? (
        <Section title="Sign-in by your company">
          <Text size="sm" maw={520}>
            Your company signed you in, and decides how it recognizes you. To change a password, codes or passkeys of
            your own, <Go to="/sign-in?next=/account">sign in with one of them</Go>.
          </Text>
        </Section>
      ) : (
        <>
          <Passkeys />
          <SecondFactor isOn={user.twoFactorEnabled} />
          <Sessions />
        </>
      )}
      {opened === 'name' && (
        <FormDialog
          title="Change your name"
          onClose={close}
          submit={({ name = '' }) => send('POST', '/auth/update-user', { name: name.trim() })}
          confirm="Save"
          done="Your name is saved."
        >
          <TextInput
            name="name"
            label="Name"
            defaultValue={user.name}
            autoComplete="name"
            maxLength={255}
            pattern=".*\S.*"
            required
            data-autofocus
          />
        </FormDialog>
      )}
      {opened === 'password' && (
        <FormDialog
          title="Change your password"
          onClose={close}
          submit={(passwords) => send('POST', '/auth/change-password', { ...passwords, revokeOtherSessions: true })}
          confirm="Change it"
          done="Your password is changed. Other browsers are signed out."
        >
          <PasswordInput
            name="currentPassword"
            label="The present password"
            autoComplete="current-password"
            required
            data-autofocus
          />
          <NewPassword name="newPassword" />
          <Text size="sm" c="dimmed">
            Every other browser is signed out. You stay signed in here.
          </Text>
        </FormDialog>
      )}
    </>
  );
}
