import { Button, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Email, EmailStatus, SettingsUpdateInput } from '../../../client/src/generated-entry.ts';
import { values } from '../../../client/src/generated-values.ts';
import { api, read } from '../api.ts';
import { ChangeDialog } from '../parts/change-dialog.tsx';
import { CustomerName, CustomerNames } from '../parts/customer-name.tsx';
import { Empty } from '../parts/empty.tsx';
import { ChoiceFilter, FilterBar } from '../parts/filters.tsx';
import { words } from '../parts/format.ts';
import { isInTheWay, Problem } from '../parts/problem.tsx';
import { type Column, Records, Rows, useFilters } from '../parts/records.tsx';
import { Go, Heading, Section, Status, When } from '../parts/shown.tsx';
import { useMay } from '../session.ts';

const pageSize = 25;

type TemplateName = Email['template'];

/** The emails to customers, and what their own texts may name. */
const templates: readonly { readonly name: TemplateName; readonly placeholders: string }[] = [
  { name: 'invoice_issued', placeholders: '{seller} {customer} {number} {amount} {date}' },
  { name: 'receipt', placeholders: '{seller} {customer} {number} {amount} {date}' },
  { name: 'payment_failed', placeholders: '{seller} {customer} {number} {amount} {date} {retry}' },
  { name: 'payment_action_required', placeholders: '{seller} {customer} {number} {amount} {date}' },
  { name: 'payment_waiting', placeholders: '{seller} {customer} {amount} {date}' },
  { name: 'subscription_canceled', placeholders: '{seller} {customer} {plan} {date}' },
  { name: 'credit_note_issued', placeholders: '{seller} {customer} {number} {amount} {date}' },
  { name: 'trial_ending', placeholders: '{seller} {customer} {plan} {date}' },
  { name: 'card_expiring', placeholders: '{seller} {customer} {card} {date}' },
  { name: 'spend_limit_reached', placeholders: '{seller} {customer} {limit} {again}' },
  { name: 'top_up_action_required', placeholders: '{seller} {customer} {date}' },
];

const languages = [
  { value: 'en', label: 'English' },
  { value: 'de', label: 'German' },
  { value: 'es', label: 'Spanish' },
  { value: 'fr', label: 'French' },
  { value: 'it', label: 'Italian' },
  { value: 'ja', label: 'Japanese' },
  { value: 'nl', label: 'Dutch' },
  { value: 'pt', label: 'Portuguese' },
] as const;
type Language = (typeof languages)[number]['value'];

export function Page() {
  const { filters } = useFilters();
  const mayResend = useMay('emails:write');
  const { status, cursor } = filters;
  const query = read('emails', 'list', {
    limit: pageSize,
    order: 'desc',
    ...(status && { status: status as EmailStatus }),
    ...(cursor && { cursor }),
  });
  // The list below has the same query, so both are one request.
  const { data } = useQuery(query);
  const columns: Column<Email>[] = [
    { title: 'Email', cell: ({ subject, template }) => subject ?? words(template) },
    { title: 'Customer', cell: ({ customerId }) => <CustomerName id={customerId} />, from: 'sm' },
    { title: 'To', cell: ({ recipients }) => recipients.join(', ') || '–', from: 'md' },
    {
      title: 'Status',
      cell: ({ status: of, lastError }) => (
        <>
          <Status of={of} />
          {lastError !== null && <div className="quiet">{lastError}</div>}
        </>
      ),
    },
    { title: 'Made', cell: ({ createdAt }) => <When at={createdAt} />, from: 'lg' },
    ...(mayResend ? [{ title: '', align: 'right' as const, cell: (email: Email) => <Resend email={email} /> }] : []),
  ];
  return (
    <>
      <Heading title="Emails" below="To customers, about their invoices, payments and subscriptions." />
      <State />
      <FilterBar>
        <ChoiceFilter name="status" label="Status" choices={values.EmailStatus} />
      </FilterBar>
      <CustomerNames ids={(data?.data ?? []).map(({ customerId }) => customerId)}>
        <Records
          query={query}
          columns={columns}
          keyOf={({ id }) => id}
          caption="Emails"
          empty={<Empty title="No emails">An email is written when an event asks for one, once emails are on.</Empty>}
        />
      </CustomerNames>
      <Texts />
    </>
  );
}

/** Whether customers get emails at all. */
function State() {
  const { data } = useQuery(read('settings', 'get', {}));
  if (data === undefined || data.settings.mail.enabled) return null;
  return (
    <p className="quiet">
      Customers get no emails at present. <Go to="/settings">The settings</Go> turn them on.
    </p>
  );
}

function Resend({ email: { id, template } }: { readonly email: Email }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="subtle" size="compact-sm" onClick={open}>
        Send again
      </Button>
      <ChangeDialog
        title={`Send again: ${words(template)}`}
        opened={opened}
        onClose={close}
        input={{ id }}
        call={(input, options) => api.emails.resend(input, options)}
        effects={() => [
          { text: 'The email goes to the present address of the customer, with the present texts.' },
          { text: 'It is an email of its own in this list.' },
        ]}
        confirm="Send it"
        done="The email is about to be sent."
      />
    </>
  );
}

type Template = (typeof templates)[number];

/** The texts of each email: the usual ones, in the language of the customer, or those of the seller. */
function Texts() {
  const { data, error, refetch } = useQuery(read('settings', 'get', {}));
  const mayChange = useMay('settings:admin');
  const [shown, setShown] = useState<Template | null>(null);
  const [changed, setChanged] = useState<Template | null>(null);
  if (isInTheWay(error, data)) return <Problem error={error} retry={refetch} />;
  const own = data?.settings.mail.texts ?? {};
  const columns: readonly Column<Template>[] = [
    { title: 'Email', cell: ({ name }) => words(name) },
    { title: 'Text', cell: ({ name }) => (own[name] === undefined ? 'The usual one' : 'Your own'), from: 'sm' },
    {
      title: '',
      align: 'right',
      cell: (template) => (
        <>
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => setShown(template)}
            aria-label={`Preview ${words(template.name).toLowerCase()}`}
          >
            Preview
          </Button>
          {mayChange && (
            <Button
              variant="subtle"
              size="compact-sm"
              onClick={() => setChanged(template)}
              aria-label={`Change ${words(template.name).toLowerCase()}`}
            >
              Change
            </Button>
          )}
        </>
      ),
    },
  ];
  return (
    <Section title="Texts">
      <Rows rows={templates} columns={columns} keyOf={({ name }) => name} caption="Texts of emails" />
      {shown !== null && <Preview key={shown.name} name={shown.name} onClose={() => setShown(null)} />}
      {changed !== null && (
        <TextDialog
          key={changed.name}
          template={changed}
          own={own[changed.name] ?? { subject: null, text: null }}
          onClose={() => setChanged(null)}
        />
      )}
    </Section>
  );
}

/** The email as it is written now, with values of an example. */
function Preview({ name, onClose }: { readonly name: TemplateName; readonly onClose: () => void }) {
  const [language, setLanguage] = useState<Language>('en');
  const { data, error } = useQuery(read('emailTemplates', 'getPreview', { name, language }));
  return (
    <Stack gap="sm" role="region" aria-label="Preview" className="section">
      <Select
        label="Language of the customer"
        data={[...languages]}
        value={language}
        onChange={(value) => setLanguage(languages.find((each) => each.value === value)?.value ?? 'en')}
      />
      {error !== null && <Problem error={error} />}
      {data && (
        <>
          <strong>{data.preview.subject}</strong>
          <pre className="wrapped">{data.preview.text}</pre>
        </>
      )}
      <Button variant="default" onClick={onClose} ml="auto">
        Close the preview
      </Button>
    </Stack>
  );
}

interface TextDialogProps {
  readonly template: Template;
  readonly own: { readonly subject: string | null; readonly text: string | null };
  readonly onClose: () => void;
}

function TextDialog({ template: { name, placeholders }, own, onClose }: TextDialogProps) {
  const [subject, setSubject] = useState(own.subject ?? '');
  const [text, setText] = useState(own.text ?? '');
  const texts = { subject: subject.trim() || null, text: text.trim() || null };
  const isSame = texts.subject === own.subject && texts.text === own.text;
  // Null of both is the usual email: a text that is left out would be kept.
  const change: SettingsUpdateInput['settings'] = {
    mail: { texts: { [name]: texts.subject === null && texts.text === null ? null : texts } },
  };
  return (
    <ChangeDialog
      title={words(name)}
      opened
      onClose={onClose}
      input={isSame ? null : { settings: change }}
      call={(input, options) => api.settings.update(input, options)}
      effects={({ settings: { mail } }) => [
        mail.texts[name] === undefined
          ? { text: 'The usual text is sent, in the language of the customer.' }
          : { text: 'Your text is sent to every customer, whatever their language.' },
      ]}
      confirm="Save"
      done="The texts are saved."
    >
      <TextInput
        label="Subject"
        placeholder="The usual one"
        value={subject}
        onChange={(event) => setSubject(event.currentTarget.value)}
      />
      <Textarea
        label="Text"
        description={`May have ${placeholders}`}
        placeholder="The usual one"
        autosize
        minRows={4}
        maxRows={12}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </ChangeDialog>
  );
}
