import { Button, Code, Group, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { currentEnvironment, refreshAll, send } from '../api.ts';
import { useMay, useSession } from '../session.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { Empty } from './empty.tsx';
import { Problem } from './problem.tsx';
import { Facts, Section, When } from './shown.tsx';

interface Provider {
  readonly protocol: 'oidc' | 'saml';
  readonly domain: string;
  readonly domainVerifiedAt: number | null;
  readonly issuer: string | null;
  readonly clientId: string | null;
  readonly entityId: string | null;
  readonly entryPoint: string | null;
  readonly certificate: string | null;
}

interface ProviderAnswer {
  readonly signInProvider: Provider | null;
  readonly domainRecord: { readonly name: string; readonly value: string } | null;
  readonly addresses: {
    readonly redirectUri: string;
    readonly assertionConsumer: string;
    readonly audience: string;
    readonly signIn: string;
  };
}

const path = '/api/v1/sign-in-provider';
const providerQuery = () =>
  queryOptions({
    queryKey: [currentEnvironment(), 'sign-in-provider'],
    queryFn: () => send<ProviderAnswer>('GET', path),
  });

/** The provider by which the organization signs in its members, and the forms that change it. */
export function SignInProvider() {
  const mayChange = useMay('sign-in-provider:admin');
  const { data } = useQuery(providerQuery());
  const [opened, setOpened] = useState<'set' | 'remove' | null>(null);
  if (data === undefined) return null;
  const { signInProvider: provider } = data;
  return (
    <Section title="Sign-in by your company">
      {provider === null ? (
        <Empty title="No provider">Members sign in with a password or a passkey.</Empty>
      ) : (
        <Registered answer={data} provider={provider} mayChange={mayChange} />
      )}
      {mayChange && (
        <Group gap="xs" mt="sm">
          <Button variant="default" onClick={() => setOpened('set')}>
            {provider === null ? 'Register a provider' : 'Change the provider'}
          </Button>
          {provider !== null && (
            <Button variant="default" onClick={() => setOpened('remove')}>
              Remove the provider
            </Button>
          )}
        </Group>
      )}
      {opened === 'set' && <SetDialog answer={data} onClose={() => setOpened(null)} />}
      {opened === 'remove' && (
        <ChangeDialog
          title="Remove the provider"
          opened
          onClose={() => setOpened(null)}
          input={{}}
          call={(_, options) => send('DELETE', path, undefined, options)}
          effects={() => [{ text: 'The sessions of people who signed in by it end now.', isLoss: true }]}
          confirm="Remove it"
          done="The provider is removed."
          isDanger
        />
      )}
    </Section>
  );
}

interface RegisteredProps {
  readonly answer: ProviderAnswer;
  readonly provider: Provider;
  readonly mayChange: boolean;
}

function Registered({ answer: { domainRecord, addresses }, provider, mayChange }: RegisteredProps) {
  const organizationId = useSession()?.membership.organization.id;
  const verifying = useMutation({
    mutationFn: () => send('POST', '/auth/company/verify-domain', { organizationId }),
    onSuccess: refreshAll,
  });
  const isVerified = provider.domainVerifiedAt !== null;
  return (
    <Stack gap="sm">
      <Facts
        facts={[
          ['Protocol', provider.protocol === 'oidc' ? 'OpenID Connect' : 'SAML'],
          [provider.protocol === 'oidc' ? 'Issuer' : 'Entity id', provider.issuer ?? provider.entityId],
          [
            'Link for members',
            <Code key="link" className="identifier wrapped">
              {addresses.signIn}
            </Code>,
          ],
          ['Domain', provider.domain],
          ['Verified', isVerified ? <When key="verified" at={provider.domainVerifiedAt} /> : 'No'],
        ]}
      />
      {!isVerified && domainRecord !== null && (
        <>
          <Text size="sm">
            Add this TXT record to the DNS, so that the sign-in page finds your company by an e-mail address:
          </Text>
          <Code block className="identifier wrapped">{`${domainRecord.name}  ${domainRecord.value}`}</Code>
          {verifying.isError && <Problem error={verifying.error} />}
          {mayChange && (
            <Group>
              <Button variant="default" loading={verifying.isPending} onClick={() => verifying.mutate()}>
                Verify the domain
              </Button>
            </Group>
          )}
        </>
      )}
    </Stack>
  );
}

const fields = {
  oidc: [
    { name: 'issuer', label: 'Issuer', hint: 'https://login.example.com' },
    { name: 'clientId', label: 'Client id', hint: '' },
    { name: 'clientSecret', label: 'Client secret', hint: '' },
  ],
  saml: [
    { name: 'entityId', label: 'Entity id of the provider', hint: '' },
    { name: 'entryPoint', label: 'Address of its sign-in page', hint: 'https://login.example.com/saml' },
    { name: 'certificate', label: 'Certificate', hint: '-----BEGIN CERTIFICATE-----' },
  ],
} as const;

function SetDialog({ answer, onClose }: { readonly answer: ProviderAnswer; readonly onClose: () => void }) {
  const { signInProvider: before, addresses } = answer;
  const [protocol, setProtocol] = useState<'oidc' | 'saml'>(before?.protocol ?? 'oidc');
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({
    domain: before?.domain ?? '',
    issuer: before?.issuer ?? '',
    clientId: before?.clientId ?? '',
    entityId: before?.entityId ?? '',
    entryPoint: before?.entryPoint ?? '',
    certificate: before?.certificate ?? '',
  });
  const names = ['domain', ...fields[protocol].map(({ name }) => name)];
  const given = Object.fromEntries(
    names.flatMap((name) => (texts[name]?.trim() ? [[name, texts[name].trim()] as const] : [])),
  );
  const isComplete = names.every((name) => given[name] !== undefined || (name === 'clientSecret' && before !== null));
  const change = (name: string, value: string) => setTexts({ ...texts, [name]: value });
  return (
    <ChangeDialog
      title="The provider of your company"
      opened
      onClose={onClose}
      input={isComplete ? { signInProvider: { protocol, ...given } } : null}
      call={(sent, options) => send('PUT', path, sent, options)}
      effects={() => [
        { text: `Members sign in by it at ${addresses.signIn}.` },
        ...(before === null
          ? []
          : [{ text: 'The sessions of people who signed in by the old one end.', isLoss: true }]),
      ]}
      confirm="Register it"
      done="The provider is registered."
    >
      <SegmentedControl
        value={protocol}
        onChange={(value) => setProtocol(value === 'saml' ? 'saml' : 'oidc')}
        data={[
          { value: 'oidc', label: 'OpenID Connect' },
          { value: 'saml', label: 'SAML' },
        ]}
      />
      <Text size="sm">
        {protocol === 'oidc'
          ? 'Redirect address for the provider:'
          : 'Assertion consumer and audience for the provider:'}
      </Text>
      <Code block className="identifier wrapped">
        {protocol === 'oidc' ? addresses.redirectUri : `${addresses.assertionConsumer}\n${addresses.audience}`}
      </Code>
      <TextInput
        label="E-mail domain"
        placeholder="example.com"
        value={texts.domain}
        onChange={(event) => change('domain', event.currentTarget.value)}
      />
      {fields[protocol].map(({ name, label, hint }) =>
        name === 'certificate' ? (
          <Textarea
            key={name}
            label={label}
            placeholder={hint}
            autosize
            minRows={3}
            maxRows={6}
            value={texts[name]}
            onChange={(event) => change(name, event.currentTarget.value)}
          />
        ) : (
          <TextInput
            key={name}
            label={label}
            placeholder={name === 'clientSecret' && before?.protocol === 'oidc' ? 'As it is' : hint}
            type={name === 'clientSecret' ? 'password' : 'text'}
            autoComplete="off"
            value={texts[name] ?? ''}
            onChange={(event) => change(name, event.currentTarget.value)}
          />
        ),
      )}
    </ChangeDialog>
  );
}
