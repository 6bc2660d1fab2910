import {
  ActionIcon,
  Button,
  FileButton,
  Group,
  Menu,
  Modal,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCopy, IconDots, IconDownload, IconPencil, IconSparkles, IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { api } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { counted } from '../parts/format.ts';
import { useFilters } from '../parts/records.tsx';
import { useMay, useSession } from '../session.ts';
import type { Catalog } from './draft.ts';
import type { DraftState } from './editing.ts';
import { readCatalog } from './import.ts';

interface ModelMenuProps {
  readonly modelId: string;
  readonly current: Catalog;
  readonly draft: DraftState;
  readonly onExamples: () => void;
}

type Opened = 'clone' | 'name' | null;

/** All that is done with a pricing model as a whole. */
export function ModelMenu({ modelId, current, draft, onExamples }: ModelMenuProps) {
  const [opened, setOpened] = useState<Opened>(null);
  const mayChange = useMay('pricing-models:catalog');
  const close = () => setOpened(null);
  return (
    <>
      <Menu position="bottom-end" width={230}>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label="Actions for the pricing model">
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {mayChange && (
            <>
              <Menu.Item leftSection={<IconPencil size={16} />} onClick={() => setOpened('name')}>
                Name and default
              </Menu.Item>
              <Menu.Item leftSection={<IconCopy size={16} />} onClick={() => setOpened('clone')}>
                Clone
              </Menu.Item>
              <ImportItem draft={draft} />
            </>
          )}
          <Menu.Item leftSection={<IconDownload size={16} />} onClick={() => download(current)}>
            Export as JSON
          </Menu.Item>
          {mayChange && (
            <Menu.Item leftSection={<IconSparkles size={16} />} onClick={onExamples}>
              Begin another from an example
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <CloneDialog
        key={`clone ${modelId}`}
        opened={opened === 'clone'}
        onClose={close}
        modelId={modelId}
        name={current.name}
      />
      <NameDialog opened={opened === 'name'} onClose={close} draft={draft} />
    </>
  );
}

/** Saves a catalog as a file, which `tollkeeper pricing apply` and the import take. */
function download(catalog: Catalog): void {
  const address = URL.createObjectURL(
    new Blob([`${JSON.stringify(catalog, null, 2)}\n`], { type: 'application/json' }),
  );
  const link = document.createElement('a');
  link.href = address;
  link.download = `${catalog.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.json`;
  link.click();
  URL.revokeObjectURL(address);
}

/** A file becomes a draft: it is compared and applied as any other change. */
function ImportItem({ draft }: { readonly draft: DraftState }) {
  const take = async (file: File | null) => {
    if (file === null) return;
    const read = readCatalog(await file.text(), draft.base);
    if ('problem' in read)
      notifications.show({ title: `${file.name} was not taken`, message: read.problem, color: 'red' });
    else draft.save(read.catalog);
  };
  return (
    <FileButton
      onChange={(file) => void take(file)}
      accept="application/json,.json"
      inputProps={{ 'aria-label': 'File to import' }}
    >
      {({ onClick }) => (
        <Menu.Item leftSection={<IconUpload size={16} />} onClick={onClick} closeMenuOnClick={false}>
          Import into a draft
        </Menu.Item>
      )}
    </FileButton>
  );
}

interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

const places = [
  { value: 'testmode', label: 'Test mode' },
  { value: 'livemode', label: 'Live mode' },
];

function CloneDialog({
  modelId,
  name: given,
  ...dialog
}: DialogProps & { readonly modelId: string; readonly name: string }) {
  const session = useSession();
  const { setFilters } = useFilters();
  const here = session?.environment.livemode ? 'livemode' : 'testmode';
  const [name, setName] = useState(`${given}, copy`);
  const [place, setPlace] = useState<string>(here);
  const destinationEnvironment = place === 'livemode' ? ('livemode' as const) : ('testmode' as const);
  return (
    <ChangeDialog
      {...dialog}
      title="Clone the pricing model"
      input={name.trim() === '' ? null : { id: modelId, name: name.trim(), destinationEnvironment }}
      call={(input, options) => api.pricingModels.clone(input, options)}
      effects={({ pricingModel: { products, usageMeters } }) => [
        {
          text: `${counted(products.length, 'product')} and ${counted(usageMeters.length, 'usage meter')} are copied.`,
        },
        { text: 'Customers and subscriptions stay where they are. The copy is not the default.' },
      ]}
      confirm="Clone it"
      done="The copy is there."
      onDone={({ pricingModel }) => place === here && setFilters({ model: pricingModel.id })}
    >
      <Stack gap="sm">
        <TextInput
          label="Name of the copy"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <SegmentedControl aria-label="Where" data={places} value={place} onChange={setPlace} />
      </Stack>
    </ChangeDialog>
  );
}

function NameDialog({ opened, onClose, draft }: DialogProps & { readonly draft: DraftState }) {
  return (
    <Modal opened={opened} onClose={onClose} title={<span className="dialog-title">Name and default</span>}>
      {opened && <NameForm draft={draft} onClose={onClose} />}
    </Modal>
  );
}

function NameForm({ draft, onClose }: { readonly draft: DraftState; readonly onClose: () => void }) {
  const [name, setName] = useState(draft.shown.name);
  const [isDefault, setDefault] = useState(draft.shown.isDefault);
  const keep = () => {
    draft.save({ ...draft.shown, name: name.trim(), isDefault });
    onClose();
  };
  return (
    <Stack>
      <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
      <Switch
        label="The default for new customers"
        checked={isDefault}
        disabled={draft.base.isDefault}
        onChange={(event) => setDefault(event.currentTarget.checked)}
      />
      {draft.base.isDefault && (
        <Text size="sm" c="dimmed">
          Another pricing model takes this over when it becomes the default.
        </Text>
      )}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button disabled={name.trim() === ''} onClick={keep}>
          Keep in the draft
        </Button>
      </Group>
    </Stack>
  );
}
