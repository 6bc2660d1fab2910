import { Button, Checkbox, Menu, MultiSelect, Select, Stack, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ApiKey, Permission } from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { FilterBar } from '../parts/filters.tsx';
import { instantText } from '../parts/format.ts';
import { type Column, Records, useFilters } from '../parts/records.tsx';
import { Secret } from '../parts/secret.tsx';
import { Heading, Identifier, Status, When } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const pageSize = 25;
const hourSeconds = 3_600;
const overlaps = [
  { value: '0', label: 'At once' },
  { value: String(hourSeconds), label: 'After an hour' },
  { value: String(24 * hourSeconds), label: 'After a day' },
  { value: String(7 * 24 * hourSeconds), label: 'After a week' },
];

type Opened = { readonly kind: 'create' } | { readonly kind: 'rotate' | 'revoke'; readonly apiKey: ApiKey } | null;

export function Page() {
  const { filters, setFilters } = useFilters();
  const mayChange = useMay('api-keys:admin');
  const [opened, setOpened] = useState<Opened>(null);
  const [token, setToken] = useState<string | null>(null);
  const { cursor, ended } = filters;
  const close = () => setOpened(null);
  const query = read('apiKeys', 'list', {
    limit: pageSize,
    order: 'desc',
    ...(ended === undefined && { active: true }),
    ...(cursor && { cursor }),
  });
  const columns: readonly Column<ApiKey>[] = [
    { title: 'Name', cell: ({ name }) => name },
    { title: 'Key', cell: ({ token: masked }) => <Identifier id={masked} />, from: 'sm' },
    { title: 'May', cell: ({ permissions }) => permissions.join(', '), from: 'md' },
    { title: 'Last used', cell: ({ lastUsedAt }) => <When at={lastUsedAt} />, from: 'lg' },
    { title: 'Status', cell: (key) => <Status of={statusOf(key)} /> },
    ...(mayChange
      ? [
          {
            title: '',
            align: 'right' as const,
            cell: (apiKey: ApiKey) => apiKey.active && <Actions apiKey={apiKey} onChoose={setOpened} />,
          },
        ]
      : []),
  ];
  return (
    <>
      <Heading
        title="API keys"
        below="Your systems call the API with a key. A key belongs to this environment, and may do what its permissions say."
        aside={mayChange && <Button onClick={() => setOpened({ kind: 'create' })}>Create a key</Button>}
      />
      <FilterBar>
        <Switch
          label="Show ended keys"
          checked={ended !== undefined}
          onChange={(event) => setFilters({ ended: event.currentTarget.checked ? 'yes' : undefined })}
        />
      </FilterBar>
      <Records
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        caption="API keys"
        empty={<Empty title="No keys">Create one, and give it to the system that calls the API.</Empty>}
      />
      <CreateDialog opened={opened?.kind === 'create'} onClose={close} onToken={setToken} />
      {opened !== null && opened.kind !== 'create' && (
        <EndDialog kind={opened.kind} apiKey={opened.apiKey} onClose={close} onToken={setToken} />
      )}
      <Secret title="The new key" secret={token} onClose={() => setToken(null)} />
    </>
  );
}

function statusOf({ active, expiresAt }: ApiKey): string {
  if (!active) return 'ended';
  return expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'active';
}

function Actions({ apiKey, onChoose }: { readonly apiKey: ApiKey; readonly onChoose: (opened: Opened) => void }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" size="compact-sm" aria-label={`Actions for ${apiKey.name}`}>
          …
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChoose({ kind: 'rotate', apiKey })}>Rotate</Menu.Item>
        <Menu.Item color="red" onClick={() => onChoose({ kind: 'revoke', apiKey })}>
          Revoke
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const kinds = values.Permission.filter((permission) => !permission.includes(':'));
const ofGroups = values.Permission.filter((permission) => permission.includes(':'));
const aboutKinds: Readonly<Record<string, string>> = {
  read: 'Read everything',
  write: 'Daily work: customers, subscriptions, usage, checkouts',
  money: 'Move money: refunds, credits, invoices',
  catalog: 'Change what is for sale',
  admin: 'Change keys, webhooks and settings',
};

interface CreateDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onToken: (token: string) => void;
}

function CreateDialog({ opened, onClose, onToken }: CreateDialogProps) {
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<string[]>(['read', 'write']);
  const permissions = chosen as Permission[];
  const input = name.trim() === '' || permissions.length === 0 ? null : { apiKey: { name: name.trim(), permissions } };
  const ofKind = chosen.filter((permission) => !permission.includes(':'));
  const ofGroup = chosen.filter((permission) => permission.includes(':'));
  return (
    <ChangeDialog
      title="Create a key"
      opened={opened}
      onClose={onClose}
      input={input}
      call={(given, options) => api.apiKeys.create(given, options)}
      effects={({ apiKey }) => [
        { text: `A key named “${apiKey.name}” that may: ${apiKey.permissions.join(', ')}` },
        ...(apiKey.expiresAt === null
          ? []
          : [{ text: `It ends on ${instantText(apiKey.expiresAt)}, as your access does.` }]),
      ]}
      confirm="Create the key"
      done="The key is created."
      onDone={({ token }) => onToken(token)}
    >
      <TextInput
        label="Name"
        description="The system that will use it"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={255}
        data-autofocus
      />
      <Checkbox.Group label="It may" value={ofKind} onChange={(next) => setChosen([...next, ...ofGroup])}>
        <Stack gap="xs" mt={6}>
          {kinds.map((kind) => (
            <Checkbox key={kind} value={kind} label={aboutKinds[kind] ?? kind} />
          ))}
        </Stack>
      </Checkbox.Group>
      <MultiSelect
        label="And single groups"
        description="For a system that needs less than a whole kind of access"
        data={ofGroups}
        value={ofGroup}
        onChange={(next) => setChosen([...ofKind, ...next])}
        searchable
        clearable
      />
    </ChangeDialog>
  );
}

interface EndDialogProps extends Omit<CreateDialogProps, 'opened'> {
  readonly kind: 'rotate' | 'revoke';
  readonly apiKey: ApiKey;
}

function EndDialog({ kind, apiKey, onClose, onToken }: EndDialogProps) {
  const [overlap, setOverlap] = useState<string>(String(24 * hourSeconds));
  if (kind === 'revoke')
    return (
      <ChangeDialog
        title={`Revoke ${apiKey.name}`}
        opened
        onClose={onClose}
        input={{ id: apiKey.id }}
        call={(given, options) => api.apiKeys.revoke(given, options)}
        effects={() => [{ text: 'Each further request with this key is refused, from the next one on.', isLoss: true }]}
        confirm="Revoke the key"
        done="The key is revoked."
        isDanger
      />
    );
  return (
    <ChangeDialog
      title={`Rotate ${apiKey.name}`}
      opened
      onClose={onClose}
      input={{ id: apiKey.id, overlapSeconds: Number(overlap) }}
      call={(given, options) => api.apiKeys.rotate(given, options)}
      effects={({ apiKey: next }) => [
        { text: `A new key with the same permissions: ${next.permissions.join(', ')}` },
        { text: overlap === '0' ? 'The old key ends at once.' : `The old key ends ${labelOf(overlap)}.`, isLoss: true },
      ]}
      confirm="Rotate the key"
      done="The key is rotated."
      onDone={({ token }) => onToken(token)}
    >
      <Select
        label="The old key ends"
        data={overlaps}
        value={overlap}
        onChange={(value) => setOverlap(value ?? '0')}
        allowDeselect={false}
      />
    </ChangeDialog>
  );
}

function labelOf(seconds: string): string {
  return overlaps.find(({ value }) => value === seconds)?.label.toLowerCase() ?? '';
}
