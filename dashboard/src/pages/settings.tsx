import { Button, NumberInput, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Settings, SettingsUpdateInput } from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { api, read } from '../api.ts';
import { ChangeDialog, type Effect } from '../parts/change-dialog.tsx';
import { words } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { Facts, Heading, Section } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

type Change = SettingsUpdateInput['settings'];

/** A part of the settings: what is shown, and the form that changes it. */
interface Part {
  readonly title: string;
  readonly facts: (settings: Settings) => readonly (readonly [string, ReactNode])[];
  readonly Form: (props: FormProps) => ReactNode;
}

interface FormProps {
  readonly settings: Settings;
  readonly change: Change;
  readonly onChange: (change: Change) => void;
}

const yesNo = (value: boolean) => (value ? 'Yes' : 'No');
const daysText = (days: readonly number[]) =>
  days.length === 0 ? 'No retry' : days.map((day) => `${day} days`).join(', then ');
const choicesOf = (of: readonly string[]) => of.map((value) => ({ value, label: words(value) }));

const seller: Part = {
  title: 'Seller',
  facts: ({ seller: known }) => [
    ['Name', known?.name ?? '–'],
    ['E-mail address', known?.email ?? '–'],
    ['Address', known?.addressLines.join(', ') || '–'],
    ['Tax id', known?.taxId ?? '–'],
  ],
  Form({ settings, change, onChange }) {
    const known = { ...settings.seller, ...change.seller };
    const set = (part: NonNullable<Change['seller']>) => onChange({ seller: { ...change.seller, ...part } });
    return (
      <>
        <TextInput
          label="Name"
          value={known.name ?? ''}
          onChange={(event) => set({ name: event.currentTarget.value || null })}
        />
        <TextInput
          label="E-mail address"
          value={known.email ?? ''}
          onChange={(event) => set({ email: event.currentTarget.value || null })}
        />
        <Textarea
          label="Address"
          autosize
          minRows={2}
          value={(known.addressLines ?? []).join('\n')}
          onChange={(event) => set({ addressLines: event.currentTarget.value.split('\n') })}
        />
        <TextInput
          label="Tax id"
          value={known.taxId ?? ''}
          onChange={(event) => set({ taxId: event.currentTarget.value || null })}
        />
      </>
    );
  },
};

const invoices: Part = {
  title: 'Invoices',
  facts: ({ netTermsDays, taxProvider, timeZone, numbering }) => [
    ['Due after', `${netTermsDays} days`],
    ['Tax', taxProvider === 'rates' ? 'By the tax rates' : 'None'],
    ['Time zone of the seller', timeZone],
    ['Numbers of invoices', seriesText(numbering.invoices)],
    ['Numbers of credit notes', seriesText(numbering.creditNotes)],
  ],
  Form({ settings, change, onChange }) {
    const known = { ...settings, ...change };
    const series = { ...settings.numbering.invoices, ...change.numbering?.invoices };
    const set = (part: Change) => onChange({ ...change, ...part });
    const number = (part: Partial<typeof series>) =>
      set({ numbering: { ...change.numbering, invoices: { ...change.numbering?.invoices, ...part } } });
    return (
      <>
        <NumberInput
          label="Days until an invoice is due"
          description="For customers without a payment method"
          min={0}
          max={365}
          value={known.netTermsDays}
          onChange={(value) => typeof value === 'number' && set({ netTermsDays: value })}
        />
        <Select
          label="Tax"
          data={[
            { value: 'none', label: 'None' },
            { value: 'rates', label: 'By the tax rates' },
          ]}
          value={known.taxProvider}
          onChange={(value) => value !== null && set({ taxProvider: value as Settings['taxProvider'] })}
          allowDeselect={false}
        />
        <TextInput
          label="Time zone of the seller"
          value={known.timeZone}
          onChange={(event) => set({ timeZone: event.currentTarget.value })}
        />
        <Select
          label="Invoices are numbered"
          data={[
            { value: 'customer', label: 'For each customer' },
            { value: 'environment', label: 'In one series for all customers' },
          ]}
          value={series.per}
          onChange={(value) => value !== null && number({ per: value as typeof series.per })}
          allowDeselect={false}
        />
        <TextInput
          label="Prefix of the numbers"
          value={series.prefix ?? ''}
          onChange={(event) => number({ prefix: event.currentTarget.value || null })}
        />
        <Switch
          label="A series for each year"
          checked={series.yearly}
          onChange={(event) => number({ yearly: event.currentTarget.checked })}
        />
      </>
    );
  },
};

function seriesText({ per, prefix, yearly }: Settings['numbering']['invoices']): string {
  const ofWhom = per === 'customer' ? 'For each customer' : 'In one series';
  return [ofWhom, prefix === null ? null : `with ${prefix}`, yearly ? 'a series a year' : null]
    .filter((text) => text !== null)
    .join(', ');
}

const collection: Part = {
  title: 'Failed payments',
  facts: ({ dunning, access }) => [
    ['Retried after', daysText(dunning.retryDays)],
    ['After the last attempt', words(dunning.terminalAction)],
    ['Access while it is retried', words(access.pastDue)],
    ['Access afterwards', words(access.unpaid)],
  ],
  Form({ settings, change, onChange }) {
    const dunning = { ...settings.dunning, ...change.dunning };
    const access = { ...settings.access, ...change.access };
    const set = (part: Change) => onChange({ ...change, ...part });
    return (
      <>
        <TagsInput
          label="Days from each failed attempt to the next"
          value={dunning.retryDays.map(String)}
          onChange={(days) =>
            set({ dunning: { ...change.dunning, retryDays: days.map(Number).filter(Number.isInteger) } })
          }
        />
        <Select
          label="After the last attempt, the subscription is"
          data={choicesOf(values.TerminalAction)}
          value={dunning.terminalAction}
          onChange={(value) =>
            value !== null &&
            set({ dunning: { ...change.dunning, terminalAction: value as typeof dunning.terminalAction } })
          }
          allowDeselect={false}
        />
        <Select
          label="Access while it is retried"
          data={choicesOf(values.AccessLevel)}
          value={access.pastDue}
          onChange={(value) =>
            value !== null && set({ access: { ...change.access, pastDue: value as typeof access.pastDue } })
          }
          allowDeselect={false}
        />
        <Select
          label="Access afterwards"
          data={choicesOf(values.AccessLevel)}
          value={access.unpaid}
          onChange={(value) =>
            value !== null && set({ access: { ...change.access, unpaid: value as typeof access.unpaid } })
          }
          allowDeselect={false}
        />
      </>
    );
  },
};

const subscriptions: Part = {
  title: 'Subscriptions',
  facts: ({ currency, allowMultipleSubscriptions, allowRepeatedTrials, allowRepeatedDiscounts, unknownFields }) => [
    ['Currency', currency],
    ['Several paid ones at a time', yesNo(allowMultipleSubscriptions)],
    ['A trial more than once', yesNo(allowRepeatedTrials)],
    ['A discount more than once', yesNo(allowRepeatedDiscounts)],
    ['Unknown fields of requests', words(unknownFields)],
  ],
  Form({ settings, change, onChange }) {
    const known = { ...settings, ...change };
    const set = (part: Change) => onChange({ ...change, ...part });
    return (
      <>
        <Select
          label="Currency"
          data={[...values.CurrencyCode]}
          value={known.currency}
          onChange={(value) => value !== null && set({ currency: value as Settings['currency'] })}
          allowDeselect={false}
          searchable
        />
        <Switch
          label="A customer may have several paid subscriptions at a time"
          checked={known.allowMultipleSubscriptions}
          onChange={(event) => set({ allowMultipleSubscriptions: event.currentTarget.checked })}
        />
        <Switch
          label="A customer may have a trial more than once"
          checked={known.allowRepeatedTrials}
          onChange={(event) => set({ allowRepeatedTrials: event.currentTarget.checked })}
        />
        <Switch
          label="A customer may use a discount more than once"
          checked={known.allowRepeatedDiscounts}
          onChange={(event) => set({ allowRepeatedDiscounts: event.currentTarget.checked })}
        />
        <Select
          label="Unknown fields of requests"
          data={choicesOf(values.UnknownFields)}
          value={known.unknownFields}
          onChange={(value) => value !== null && set({ unknownFields: value as Settings['unknownFields'] })}
          allowDeselect={false}
        />
      </>
    );
  },
};

const parts = [seller, invoices, collection, subscriptions];

export function Page() {
  const { data, error, refetch } = useQuery(read('settings', 'get', {}));
  const mayChange = useMay('settings:admin');
  const [opened, setOpened] = useState<Part | null>(null);
  if (error !== null) return <Problem error={error} retry={refetch} />;
  const settings = data?.settings;
  return (
    <>
      <Heading
        title="Settings"
        below="Of this environment. They apply from the next invoice, attempt and request on."
      />
      {settings &&
        parts.map((part) => (
          <Section
            key={part.title}
            title={part.title}
            aside={
              mayChange && (
                <Button
                  variant="default"
                  size="xs"
                  onClick={() => setOpened(part)}
                  aria-label={`Change ${part.title.toLowerCase()}`}
                >
                  Change
                </Button>
              )
            }
          >
            <Facts facts={part.facts(settings)} />
          </Section>
        ))}
      {settings && opened !== null && (
        <PartDialog key={opened.title} part={opened} settings={settings} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

interface PartDialogProps {
  readonly part: Part;
  readonly settings: Settings;
  readonly onClose: () => void;
}

function PartDialog({ part: { title, facts, Form }, settings, onClose }: PartDialogProps) {
  const [change, setChange] = useState<Change>({});
  return (
    <ChangeDialog
      title={title}
      opened
      onClose={onClose}
      input={Object.keys(change).length === 0 ? null : { settings: change }}
      call={(given, options) => api.settings.update(given, options)}
      effects={({ settings: after }) => differences(facts(settings), facts(after))}
      confirm="Save"
      done="The settings are saved."
    >
      <Stack gap="sm">
        <Form settings={settings} change={change} onChange={setChange} />
      </Stack>
    </ChangeDialog>
  );
}

/** The facts that differ, as sentences. */
function differences(before: ReturnType<Part['facts']>, after: ReturnType<Part['facts']>): readonly Effect[] {
  const changed = after.flatMap(([name, value], index) => {
    const former = before[index]?.[1];
    return former === value ? [] : [{ text: `${name}: ${String(former)} → ${String(value)}` }];
  });
  return changed.length > 0 ? changed : [{ text: 'Nothing changes.' }];
}
