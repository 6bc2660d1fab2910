import { Button, Menu, Select, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { currentEnvironment, send } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { words } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { type Column, RecordsSkeleton, Rows } from '../parts/records.tsx';
import { Secret } from '../parts/secret.tsx';
import { Heading, Section, Status, When } from '../parts/shown.tsx';
import { SignInProvider } from '../parts/sign-in-provider.tsx';
import { useMay, useSession } from '../session.ts';

interface Member {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  readonly role: string;
  readonly twoFactorEnabled: boolean;
  readonly createdAt: number;
}

interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: string;
  readonly expiresAt: number;
}

const roles = [
  { value: 'owner', label: 'Owner', about: 'everything, people and keys too' },
  { value: 'billing', label: 'Billing', about: 'reads everything, and moves money: refunds, credits, invoices' },
  {
    value: 'support',
    label: 'Support',
    about: 'reads everything, cancels subscriptions, sends webhooks and emails again',
  },
  {
    value: 'developer',
    label: 'Developer',
    about:
      'reads everything, changes customers, subscriptions and usage, and keys, webhooks, the catalog and test time',
  },
  { value: 'viewer', label: 'Viewer', about: 'reads everything' },
];

function aboutRole(role: string): string {
  return roles.find(({ value }) => value === role)?.about ?? '';
}

const membersQuery = () =>
  queryOptions({
    queryKey: [currentEnvironment(), 'members'],
    queryFn: async () => (await send<{ members: readonly Member[] }>('GET', '/api/v1/members')).members,
  });
const invitationsQuery = () =>
  queryOptions({
    queryKey: [currentEnvironment(), 'invitations'],
    queryFn: async () => (await send<{ invitations: readonly Invitation[] }>('GET', '/api/v1/invitations')).invitations,
  });

type Opened =
  | { readonly kind: 'invite' }
  | { readonly kind: 'role' | 'remove'; readonly member: Member }
  | { readonly kind: 'withdraw'; readonly invitation: Invitation }
  | null;

export function Page() {
  const me = useSession()?.me.user.id;
  const mayChange = useMay('members:admin');
  const members = useQuery(membersQuery());
  const invitations = useQuery(invitationsQuery());
  const [opened, setOpened] = useState<Opened>(null);
  const [link, setLink] = useState<string | null>(null);
  const columns: readonly Column<Member>[] = [
    { title: 'Name', cell: ({ name, userId }) => (userId === me ? `${name} (you)` : name) },
    { title: 'E-mail address', cell: ({ email }) => email, from: 'sm' },
    { title: 'Role', cell: ({ role }) => words(role) },
    { title: 'Second factor', cell: ({ twoFactorEnabled }) => (twoFactorEnabled ? 'On' : 'Off'), from: 'md' },
    { title: 'Since', cell: ({ createdAt }) => <When at={createdAt} />, from: 'lg' },
    ...(mayChange
      ? [
          {
            title: '',
            align: 'right' as const,
            cell: (member: Member) => <Actions member={member} onChoose={setOpened} />,
          },
        ]
      : []),
  ];
  const invited: readonly Column<Invitation>[] = [
    { title: 'E-mail address', cell: ({ email }) => email },
    { title: 'Role', cell: ({ role }) => words(role) },
    { title: 'Ends', cell: ({ expiresAt }) => <When at={expiresAt} />, from: 'sm' },
    { title: 'Status', cell: () => <Status of="pending" />, from: 'md' },
    ...(mayChange
      ? [
          {
            title: '',
            align: 'right' as const,
            cell: (invitation: Invitation) => (
              <Button variant="subtle" size="compact-sm" onClick={() => setOpened({ kind: 'withdraw', invitation })}>
                Withdraw
              </Button>
            ),
          },
        ]
      : []),
  ];
  return (
    <>
      <Heading
        title="People"
        below="Members of the organization, in test and in live mode. Their role says what they may do."
        aside={mayChange && <Button onClick={() => setOpened({ kind: 'invite' })}>Invite somebody</Button>}
      />
      {members.error !== null && <Problem error={members.error} retry={members.refetch} />}
      {members.data === undefined && members.error === null && <RecordsSkeleton />}
      {members.data && (
        <section className="section">
          <Rows rows={members.data} columns={columns} keyOf={({ userId }) => userId} caption="Members" />
        </section>
      )}
      {invitations.data && (
        <Section title="Invitations">
          {invitations.data.length === 0 ? (
            <Empty title="No open invitation" />
          ) : (
            <Rows rows={invitations.data} columns={invited} keyOf={({ id }) => id} caption="Invitations" />
          )}
        </Section>
      )}
      <SignInProvider />
      {opened !== null && <Dialog opened={opened} onClose={() => setOpened(null)} onLink={setLink} />}
      <Secret
        title="The link to join"
        advice="It is shown only now. Send it to the person whom you invited. It works once."
        secret={link}
        onClose={() => setLink(null)}
      />
    </>
  );
}

function Actions({ member, onChoose }: { readonly member: Member; readonly onChoose: (opened: Opened) => void }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" size="compact-sm" aria-label={`Actions for ${member.name}`}>
          …
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChoose({ kind: 'role', member })}>Change the role</Menu.Item>
        <Menu.Item color="red" onClick={() => onChoose({ kind: 'remove', member })}>
          Remove
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface DialogProps {
  readonly opened: NonNullable<Opened>;
  readonly onClose: () => void;
  readonly onLink: (link: string) => void;
}

function Dialog({ opened, onClose, onLink }: DialogProps) {
  switch (opened.kind) {
    case 'invite':
      return <InviteDialog onClose={onClose} onLink={onLink} />;
    case 'role':
      return <RoleDialog member={opened.member} onClose={onClose} />;
    case 'remove': {
      const { userId, name } = opened.member;
      return (
        <ChangeDialog
          title={`Remove ${name}`}
          opened
          onClose={onClose}
          input={{ userId }}
          call={(_, options) => send('DELETE', `/api/v1/members/${userId}`, undefined, options)}
          effects={() => [{ text: `${name} may do nothing more here, from the next request on.`, isLoss: true }]}
          confirm="Remove"
          done={`${name} is removed.`}
          isDanger
        />
      );
    }
    case 'withdraw': {
      const { id, email } = opened.invitation;
      return (
        <ChangeDialog
          title="Withdraw the invitation"
          opened
          onClose={onClose}
          input={{ id }}
          call={(_, options) => send('DELETE', `/api/v1/invitations/${id}`, undefined, options)}
          effects={() => [{ text: `The link for ${email} works no more.`, isLoss: true }]}
          confirm="Withdraw it"
          done="The invitation is withdrawn."
          isDanger
        />
      );
    }
    default:
      return opened satisfies never;
  }
}

function InviteDialog({ onClose, onLink }: Omit<DialogProps, 'opened'>) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('viewer');
  const invitation = { email: email.trim(), role };
  return (
    <ChangeDialog
      title="Invite somebody"
      opened
      onClose={onClose}
      input={invitation.email === '' ? null : { invitation }}
      call={(given, options) => send<{ url: string; mailed: boolean }>('POST', '/api/v1/invitations', given, options)}
      effects={({ mailed }) => [
        { text: `${invitation.email} may join by a link that works once, for seven days.` },
        {
          text: mailed ? 'The link is sent to the address, and shown to you.' : 'You are shown the link, and send it.',
        },
        { text: `May then do: ${aboutRole(role)}.` },
      ]}
      confirm="Make the link"
      done="The invitation is made."
      onDone={({ url }) => onLink(url)}
    >
      <TextInput
        label="E-mail address"
        type="email"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        data-autofocus
      />
      <RoleSelect role={role} onChange={setRole} />
    </ChangeDialog>
  );
}

function RoleDialog({
  member: { userId, name, role: before },
  onClose,
}: {
  readonly member: Member;
  readonly onClose: () => void;
}) {
  const [role, setRole] = useState(before);
  return (
    <ChangeDialog
      title={`The role of ${name}`}
      opened
      onClose={onClose}
      input={role === before ? null : { member: { role } }}
      call={(given, options) => send('PUT', `/api/v1/members/${userId}`, given, options)}
      effects={() => [
        { text: `May do from the next request on: ${aboutRole(role)}.` },
        { text: `Until now: ${aboutRole(before)}.`, isLoss: true },
      ]}
      confirm="Change the role"
      done="The role is changed."
    >
      <RoleSelect role={role} onChange={setRole} />
    </ChangeDialog>
  );
}

function RoleSelect({ role, onChange }: { readonly role: string; readonly onChange: (role: string) => void }) {
  return (
    <Select
      label="Role"
      description={`${aboutRole(role).slice(0, 1).toUpperCase()}${aboutRole(role).slice(1)}`}
      data={roles.map(({ value, label }) => ({ value, label }))}
      value={role}
      onChange={(value) => value !== null && onChange(value)}
    />
  );
}
