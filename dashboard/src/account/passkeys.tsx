import { Button, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { send } from '../api.ts';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { type Column, Rows } from '../parts/records.tsx';
import { Section, When } from '../parts/shown.tsx';
import { deviceText, type Passkey, passkeysQuery } from './account.ts';
import { FormDialog } from './form-dialog.tsx';
import { addPasskey } from './webauthn.ts';

type Opened = { readonly kind: 'add' } | { readonly kind: 'remove'; readonly passkey: Passkey } | null;

const nameOf = ({ name }: Passkey) => name ?? 'Without a name';

/** The passkeys of the person, and the forms that add and remove them. */
export function Passkeys() {
  const { data, error, refetch } = useQuery(passkeysQuery);
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  const columns: readonly Column<Passkey>[] = [
    { title: 'Passkey', cell: nameOf },
    { title: 'Added', cell: ({ createdAt }) => <When at={Date.parse(createdAt)} />, from: 'xs' },
    {
      title: '',
      align: 'right',
      cell: (passkey) => (
        <Button
          variant="subtle"
          size="compact-sm"
          aria-label={`Remove ${nameOf(passkey)}`}
          onClick={() => setOpened({ kind: 'remove', passkey })}
        >
          Remove
        </Button>
      ),
    },
  ];
  return (
    <Section
      title="Passkeys"
      aside={
        <Button variant="default" size="xs" onClick={() => setOpened({ kind: 'add' })}>
          Add a passkey
        </Button>
      }
    >
      {error !== null && data === undefined && <Problem error={error} retry={refetch} />}
      {data?.length === 0 && (
        <Empty title="No passkeys yet">
          A passkey signs you in by your fingerprint, face or PIN, without a password. Nobody can steal it by a false
          page.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Rows rows={data} columns={columns} keyOf={({ id }) => id} caption="Passkeys" />
      )}
      {opened?.kind === 'add' && (
        <FormDialog
          title="Add a passkey"
          onClose={close}
          submit={({ name = '' }) => addPasskey(name.trim())}
          confirm="Go on"
          done="The passkey is added."
        >
          <TextInput
            name="name"
            label="Name"
            description="It tells your passkeys apart. Your device asks next who you are."
            defaultValue={deviceText(navigator.userAgent)}
            maxLength={100}
            required
            data-autofocus
          />
        </FormDialog>
      )}
      {opened?.kind === 'remove' && (
        <FormDialog
          title={`Remove ${nameOf(opened.passkey)}`}
          onClose={close}
          submit={() => send('POST', '/auth/passkey/delete-passkey', { id: opened.passkey.id })}
          confirm="Remove it"
          done="The passkey is removed."
          isDanger
        >
          <Text size="sm">It signs you in no more. Your device still lists it until you delete it there.</Text>
        </FormDialog>
      )}
    </Section>
  );
}
