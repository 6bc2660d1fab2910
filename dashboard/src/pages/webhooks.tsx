import { Button, MultiSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Webhook, WebhookFilterType } from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { type Column, Records, useFilters } from '../parts/records.tsx';
import { Secret } from '../parts/secret.tsx';
import { Heading, Status, When } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const pageSize = 25;

const columns: readonly Column<Webhook>[] = [
  { title: 'Name', cell: ({ name }) => name },
  { title: 'Address', cell: ({ url }) => <span className="identifier">{url}</span>, from: 'sm' },
  { title: 'Events', cell: ({ filterTypes }) => typesText(filterTypes), from: 'lg' },
  { title: 'Since', cell: ({ createdAt }) => <When at={createdAt} />, from: 'md' },
  { title: 'Status', cell: (webhook) => <Status of={webhookStatus(webhook)} /> },
];

function webhookStatus({ active, disabledReason }: Webhook): string {
  if (active) return 'active';
  return disabledReason === null ? 'inactive' : 'disabled';
}

function typesText(types: readonly string[]): string {
  if (types.length === 0) return 'The usual ones';
  return types.length > 3 ? `${types.slice(0, 3).join(', ')} and ${types.length - 3} more` : types.join(', ');
}

export function Page() {
  const { filters } = useFilters();
  const mayChange = useMay('webhooks:admin');
  const [isOpen, setIsOpen] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const { cursor } = filters;
  return (
    <>
      <Heading
        title="Webhooks"
        below="Your systems are told of events as they happen, signed, in order, and again until they answer."
        aside={mayChange && <Button onClick={() => setIsOpen(true)}>Add a webhook</Button>}
      />
      <Records
        query={read('webhooks', 'list', { limit: pageSize, order: 'desc', ...(cursor && { cursor }) })}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => `/webhooks/${id}`}
        caption="Webhooks"
        empty={
          <Empty title="No webhooks">
            On your own machine, <code>npx tollkeeper listen</code> shows the messages without any server.
          </Empty>
        }
      />
      <AddDialog opened={isOpen} onClose={() => setIsOpen(false)} onSecret={setSecret} />
      <Secret title="The signing secret" secret={secret} onClose={() => setSecret(null)} />
    </>
  );
}

interface AddDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
}

function AddDialog({ opened, onClose, onSecret }: AddDialogProps) {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState<string[]>([]);
  const isFilled = name.trim() !== '' && url.trim() !== '';
  const webhook = { name: name.trim(), url: url.trim(), filterTypes: types as WebhookFilterType[] };
  return (
    <ChangeDialog
      title="Add a webhook"
      opened={opened}
      onClose={onClose}
      input={isFilled ? { webhook } : null}
      call={(given, options) => api.webhooks.create(given, options)}
      effects={({ webhook: made }) => [
        { text: `Events from now on are sent to ${made.url}` },
        { text: `Event types: ${made.filterTypes.length === 0 ? 'the usual ones' : made.filterTypes.join(', ')}` },
      ]}
      confirm="Add the webhook"
      done="The webhook is added."
      onDone={({ secret }) => onSecret(secret)}
    >
      <TextInput
        label="Name"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={255}
        data-autofocus
      />
      <TextInput
        label="Address"
        placeholder="https://example.com/webhooks"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <MultiSelect
        label="Event types"
        description="None: the usual ones, which stay the same with later versions"
        data={[...values.WebhookFilterType]}
        value={types}
        onChange={setTypes}
        searchable
        clearable
      />
    </ChangeDialog>
  );
}
