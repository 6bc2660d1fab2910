import { Button, Loader, NumberInput, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { Settings, SettingsUpdateInput } from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { api, read } from '../api.ts';
import { ChangeDialog, type Effect } from '../parts/change-dialog.tsx';
import { counted, words } from '../parts/format.ts';
import { isInTheWay, PageProblem } from '../parts/problem.tsx';
import { Facts, Heading, Section } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const BrandingForm = lazy(() => import('../parts/branding.tsx').then(({ BrandingForm: Form }) => ({ default: Form })));

type Change = SettingsUpdateInput['settings'];

/** A part of the settings: what is shown, and the form that changes it. */
interface Part {
  readonly title: string;
  readonly facts: (settings: Settings) => readonly (readonly [string, ReactNode])[];
  readonly Form: (props: FormProps) => ReactNode;
  /** Pictures below the facts. */
  readonly Pictures?: (props: { readonly settings: Settings }) => ReactNode;
  readonly size?: 'xl';
}

interface FormProps {
  readonly settings: Settings;
  readonly change: Change;
  readonly onChange: (change: Change) => void;
}

const yesNo = (value: boolean) => (value ? 'Yes' : 'No');
const daysText = (days: readonly number[]) =>
  days.length === 0 ? 'No retry' : days.map((day) => `${day} days`).join(', then ');
const mostUnsearched = 10;
const mostReviewHours = 720;

function choicesOf<Value extends string>(of: readonly Value[]) {
  return of.map((value) => ({ value, label: words(value) }));
}

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly choices: readonly { readonly value: Value; readonly label: string }[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

/** One of several values. */
function Choice<Value extends string>({ label, choices, value, onChange }: ChoiceProps<Value>) {
  const choose = (wanted: string | null) => {
    const chosen = choices.find((each) => each.value === wanted);
    if (chosen !== undefined) onChange(chosen.value);
  };
  return (
    <Select
      label={label}
      data={[...choices]}
      value={value}
      onChange={choose}
      searchable={choices.length > mostUnsearched}
    />
  );
}

interface ToggleProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (value: boolean) => void;
}

function Toggle({ label, checked, onChange }: ToggleProps) {
  return <Switch label={label} checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />;
}

interface AddressProps {
  readonly lines: readonly string[];
  readonly onChange: (lines: string[]) => void;
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** An address as somebody writes it: its lines are those with something on them. A typed text stays while it means them. */
function AddressField({ lines, onChange }: AddressProps) {
  const stored = lines.join('\n');
  const [typed, setTyped] = useState(stored);
  const change = (text: string) => {
    setTyped(text);
    onChange(linesOf(text));
  };
  return (
    <Textarea
      label="Address"
      autosize
      minRows={2}
      value={linesOf(typed).join('\n') === stored ? typed : stored}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

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
        <AddressField lines={known.addressLines ?? []} onChange={(addressLines) => set({ addressLines })} />
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
  facts: ({ netTermsDays, reviewHours, taxProvider, timeZone, numbering }) => [
    ['Due after', `${netTermsDays} days`],
    ['Renewals wait as a draft for', reviewHours === 0 ? 'No time' : counted(reviewHours, 'hour')],
    ['Tax', taxProvider === 'rates' ? 'By the tax rates' : 'None'],
    ['Time zone of the seller', timeZone],
    ['Numbers of invoices', seriesText(numbering.invoices)],
    ['Numbers of credit notes', seriesText(numbering.creditNotes)],
  ],
  Form({ settings, change, onChange }) {
    const known = { ...settings, ...change };
    const set = (part: Change) => onChange({ ...change, ...part });
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
        <NumberInput
          label="Hours for which a renewal waits as a draft"
          description="You look at it and add lines. 0: it is finalized at once"
          min={0}
          max={mostReviewHours}
          value={known.reviewHours}
          onChange={(value) => typeof value === 'number' && set({ reviewHours: value })}
        />
        <Choice
          label="Tax"
          choices={[
            { value: 'none', label: 'None' },
            { value: 'rates', label: 'By the tax rates' },
          ]}
          value={known.taxProvider}
          onChange={(value) => set({ taxProvider: value })}
        />
        <TextInput
          label="Time zone of the seller"
          value={known.timeZone}
          onChange={(event) => set({ timeZone: event.currentTarget.value })}
        />
        {(['invoices', 'creditNotes'] as const).map((of) => (
          <SeriesFields
            key={of}
            name={of === 'invoices' ? 'invoices' : 'credit notes'}
            series={{ ...settings.numbering[of], ...change.numbering?.[of] }}
            onChange={(part) =>
              set({ numbering: { ...change.numbering, [of]: { ...change.numbering?.[of], ...part } } })
            }
          />
        ))}
      </>
    );
  },
};

type Series = Settings['numbering']['invoices'];

interface SeriesFieldsProps {
  /** The documents that it numbers. */
  readonly name: string;
  readonly series: Series;
  readonly onChange: (part: Partial<Series>) => void;
}

/** The fields of a series of numbers. */
function SeriesFields({ name, series, onChange }: SeriesFieldsProps) {
  return (
    <fieldset className="draft-lines series">
      <legend>Numbers of {name}</legend>
      <Choice
        label="A series"
        choices={[
          { value: 'customer', label: 'For each customer' },
          { value: 'environment', label: 'For all customers' },
        ]}
        value={series.per}
        onChange={(value) => onChange({ per: value })}
      />
      <TextInput
        label="Prefix"
        value={series.prefix ?? ''}
        onChange={(event) => onChange({ prefix: event.currentTarget.value || null })}
      />
      <Toggle
        label="Begins anew with each year"
        checked={series.yearly}
        onChange={(value) => onChange({ yearly: value })}
      />
    </fieldset>
  );
}

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
          allowDuplicates
          value={dunning.retryDays.map(String)}
          onChange={(days) =>
            set({ dunning: { ...change.dunning, retryDays: days.map(Number).filter(Number.isInteger) } })
          }
        />
        <Choice
          label="After the last attempt, the subscription is"
          choices={choicesOf(values.TerminalAction)}
          value={dunning.terminalAction}
          onChange={(value) => set({ dunning: { ...change.dunning, terminalAction: value } })}
        />
        <Choice
          label="Access while it is retried"
          choices={choicesOf(values.AccessLevel)}
          value={access.pastDue}
          onChange={(value) => set({ access: { ...change.access, pastDue: value } })}
        />
        <Choice
          label="Access afterwards"
          choices={choicesOf(values.AccessLevel)}
          value={access.unpaid}
          onChange={(value) => set({ access: { ...change.access, unpaid: value } })}
        />
      </>
    );
  },
};

const subscriptions: Part = {
  title: 'Subscriptions',
  facts: ({ currency, bankDebits, allowMultipleSubscriptions, ...others }) => [
    ['Currency', currency],
    ['Bank debits on pages of buyers', yesNo(bankDebits)],
    ['Several paid ones at a time', yesNo(allowMultipleSubscriptions)],
    ['A trial more than once', yesNo(others.allowRepeatedTrials)],
    ['A discount more than once', yesNo(others.allowRepeatedDiscounts)],
    ['Unknown fields of requests', words(others.unknownFields)],
  ],
  Form({ settings, change, onChange }) {
    const known = { ...settings, ...change };
    const set = (part: Change) => onChange({ ...change, ...part });
    return (
      <>
        <Choice
          label="Currency"
          choices={values.CurrencyCode.map((value) => ({ value, label: value }))}
          value={known.currency}
          onChange={(value) => set({ currency: value })}
        />
        <Toggle
          label="Pages of buyers take bank debits"
          checked={known.bankDebits}
          onChange={(value) => set({ bankDebits: value })}
        />
        <Toggle
          label="A customer may have several paid subscriptions at a time"
          checked={known.allowMultipleSubscriptions}
          onChange={(value) => set({ allowMultipleSubscriptions: value })}
        />
        <Toggle
          label="A customer may have a trial more than once"
          checked={known.allowRepeatedTrials}
          onChange={(value) => set({ allowRepeatedTrials: value })}
        />
        <Toggle
          label="A customer may use a discount more than once"
          checked={known.allowRepeatedDiscounts}
          onChange={(value) => set({ allowRepeatedDiscounts: value })}
        />
        <Choice
          label="Unknown fields of requests"
          choices={choicesOf(values.UnknownFields)}
          value={known.unknownFields}
          onChange={(value) => set({ unknownFields: value })}
        />
      </>
    );
  },
};

const emails: Part = {
  title: 'Emails',
  facts: ({ mail: { enabled, replyTo, testRecipients, texts } }) => [
    ['Sent to customers', yesNo(enabled)],
    ['Answers go to', replyTo ?? 'The sender'],
    ['In test mode only to', testRecipients.join(', ') || 'Nobody'],
    ['Own texts', Object.keys(texts).map(words).join(', ') || 'None'],
  ],
  Form({ settings, change, onChange }) {
    const known = { ...settings.mail, ...change.mail };
    const set = (part: NonNullable<Change['mail']>) => onChange({ mail: { ...change.mail, ...part } });
    return (
      <>
        <Toggle
          label="Customers get emails about their invoices, payments and subscriptions"
          checked={known.enabled}
          onChange={(value) => set({ enabled: value })}
        />
        <TextInput
          label="Address for answers"
          description="Empty: the address of the sender, which the operator of the service sets"
          type="email"
          value={known.replyTo ?? ''}
          onChange={(event) => set({ replyTo: event.currentTarget.value || null })}
        />
        <TagsInput
          label="Addresses that get emails in test mode"
          description="jo@example.com, or @example.com for all of a domain"
          value={[...known.testRecipients]}
          onChange={(addresses) => set({ testRecipients: addresses })}
        />
      </>
    );
  },
};

/** The branding as words, which tell one picture from another. */
function brandingFacts({ logo, icon, primaryColor, legalFooter }: Settings['branding']) {
  return [
    ['Logo', pictureText(logo)],
    ['Icon', pictureText(icon)],
    ['Colour', primaryColor ?? 'Dark grey'],
    ['Legal text', legalFooter?.replaceAll('\n', ' · ') ?? 'None'],
  ] as const;
}

/** `384 × 160, 12.1 kB` */
function pictureText(uri: string | null): string {
  if (uri === null) return 'None';
  const bytes = Uint8Array.from(atob(uri.slice(uri.indexOf(',') + 1)), (letter) => letter.charCodeAt(0));
  const header = new DataView(bytes.buffer);
  return `${header.getUint32(16)} × ${header.getUint32(20)}, ${(bytes.length / 1000).toFixed(1)} kB`;
}

/** The logo and the icon as they are stored. */
function BrandingPictures({ branding: { logo, icon } }: { readonly branding: Settings['branding'] }) {
  if (logo === null && icon === null) return null;
  return (
    <div className="branding-pictures">
      {logo !== null && <img src={logo} alt="The logo" />}
      {icon !== null && <img src={icon} alt="The icon" />}
    </div>
  );
}

const branding: Part = {
  title: 'Branding',
  size: 'xl',
  facts: (settings) => brandingFacts(settings.branding),
  Pictures: ({ settings }) => <BrandingPictures branding={settings.branding} />,
  Form: ({ settings, change, onChange }) => (
    <Suspense fallback={<Loader size="sm" />}>
      <BrandingForm
        branding={settings.branding}
        change={change.branding ?? {}}
        onChange={(changed) => onChange({ branding: changed })}
      />
    </Suspense>
  ),
};

const parts = [seller, branding, invoices, collection, emails, subscriptions];

export function Page() {
  const { data, error, refetch } = useQuery(read('settings', 'get', {}));
  const mayChange = useMay('settings:admin');
  const [opened, setOpened] = useState<Part | null>(null);
  if (isInTheWay(error, data)) return <PageProblem error={error} retry={refetch} />;
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
            {part.Pictures && <part.Pictures settings={settings} />}
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

function PartDialog({ part: { title, facts, Form, size }, settings, onClose }: PartDialogProps) {
  const [change, setChange] = useState<Change>({});
  return (
    <ChangeDialog
      title={title}
      {...(size && { size })}
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
