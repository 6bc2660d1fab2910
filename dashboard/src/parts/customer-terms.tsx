import { Button, Group, NumberInput, Select, Stack, Switch, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Customer, CustomersUpdateInput } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { useMay } from '../session.ts';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { counted, metadataFacts } from './format.ts';
import { metadataEffects, metadataOf, type Pair, PairFields, pairsOf } from './metadata.tsx';
import { Facts, Section } from './shown.tsx';

const mostDays = 365;
const mostReviewHours = 720;
const mostFields = 10;
const mostAddresses = 10;

type Terms = NonNullable<Customer['billingTerms']>;
type Fact = readonly [name: string, value: string];

const languages: readonly NonNullable<Terms['language']>[] = ['en', 'de', 'es', 'fr', 'it', 'ja', 'nl', 'pt'];
const languageNames = new Intl.DisplayNames(navigator.language, { type: 'language' });
const ofSettings = 'As the settings say';

/** The terms of a customer, and those that the settings decide. */
function factsOf({
  billingTerms = {},
  reviewHours,
  consolidateInvoices,
}: Pick<Customer, 'billingTerms' | 'reviewHours' | 'consolidateInvoices'>): Fact[] {
  const {
    netTermsDays,
    taxId,
    reverseCharge,
    purchaseOrderNumber,
    language,
    timeZone,
    invoiceEmails,
    memo,
    customFields,
  } = billingTerms;
  return [
    ['Days to pay', netTermsDays === undefined ? ofSettings : counted(netTermsDays, 'day')],
    ['Renewals wait as a draft for', reviewHours === undefined ? ofSettings : counted(reviewHours, 'hour')],
    ['Renewals of one day', consolidateInvoices ? 'One invoice' : 'An invoice each'],
    ['Tax id', taxId ?? '–'],
    ['Reverse charge', reverseCharge ? 'Yes: its invoices bear no tax' : 'No'],
    ['Order number', purchaseOrderNumber ?? '–'],
    ['Language', language === undefined ? ofSettings : (languageNames.of(language) ?? language)],
    ['Time zone', timeZone ?? ofSettings],
    ['Invoices go to', invoiceEmails?.join(', ') ?? 'The customer'],
    ['Memo', memo ?? '–'],
    ...(customFields ?? []).map(({ name, value }): Fact => [name, value]),
  ];
}

/** The billing terms and the metadata of a customer, with their forms. */
export function CustomerTerms({ customer }: { readonly customer: Customer }) {
  const may = useMay('customers:write') && !customer.archived;
  const [opened, setOpened] = useState<'terms' | 'metadata' | null>(null);
  const facts = metadataFacts(customer.metadata);
  const change = (part: 'terms' | 'metadata', label: string) =>
    may && (
      <Button variant="default" size="xs" aria-label={label} onClick={() => setOpened(part)}>
        Change
      </Button>
    );
  return (
    <>
      <Section title="Billing terms" aside={change('terms', 'Change the billing terms')}>
        <Facts facts={factsOf(customer)} />
      </Section>
      <Section title="Metadata" aside={change('metadata', 'Change the metadata')}>
        {facts.length === 0 ? <p className="quiet">Nothing. Lists can be filtered by it.</p> : <Facts facts={facts} />}
      </Section>
      {opened === 'terms' && <TermsDialog customer={customer} onClose={() => setOpened(null)} />}
      {opened === 'metadata' && <MetadataDialog customer={customer} onClose={() => setOpened(null)} />}
    </>
  );
}

interface DialogProps {
  readonly customer: Customer;
  readonly onClose: () => void;
}

interface Form {
  readonly netTermsDays: number | null;
  readonly reviewHours: number | null;
  readonly consolidateInvoices: boolean;
  readonly taxId: string;
  readonly reverseCharge: boolean;
  readonly purchaseOrderNumber: string;
  readonly language: Terms['language'] | null;
  readonly timeZone: string;
  readonly invoiceEmails: readonly string[];
  readonly memo: string;
  readonly customFields: readonly Pair[];
}

function formOf({ billingTerms = {}, reviewHours, consolidateInvoices }: Customer): Form {
  return {
    netTermsDays: billingTerms.netTermsDays ?? null,
    reviewHours: reviewHours ?? null,
    consolidateInvoices: consolidateInvoices ?? false,
    taxId: billingTerms.taxId ?? '',
    reverseCharge: billingTerms.reverseCharge ?? false,
    purchaseOrderNumber: billingTerms.purchaseOrderNumber ?? '',
    language: billingTerms.language ?? null,
    timeZone: billingTerms.timeZone ?? '',
    invoiceEmails: billingTerms.invoiceEmails ?? [],
    memo: billingTerms.memo ?? '',
    customFields: (billingTerms.customFields ?? []).map(({ name, value }, index) => ({
      key: String(index),
      name,
      value,
    })),
  };
}

/** The change for the service; null while a field is incomplete. Terms are replaced as a whole. */
function changeOf(form: Form): CustomersUpdateInput['customer'] | null {
  const customFields = form.customFields.map(({ name, value }) => ({ name: name.trim(), value: String(value).trim() }));
  if (customFields.some(({ name, value }) => name === '' || value === '')) return null;
  return {
    reviewHours: form.reviewHours,
    consolidateInvoices: form.consolidateInvoices,
    billingTerms: {
      netTermsDays: form.netTermsDays,
      taxId: form.taxId.trim() || null,
      reverseCharge: form.reverseCharge || null,
      purchaseOrderNumber: form.purchaseOrderNumber.trim() || null,
      language: form.language ?? null,
      timeZone: form.timeZone || null,
      invoiceEmails: [...form.invoiceEmails],
      memo: form.memo.trim() || null,
      customFields,
    },
  };
}

/** The facts that differ, as sentences. A fact that is gone is a loss. */
function differences(before: readonly Fact[], after: readonly Fact[]): readonly Effect[] {
  const [was, is] = [new Map(before), new Map(after)];
  const names = [...new Set([...was.keys(), ...is.keys()])].filter((name) => was.get(name) !== is.get(name));
  const changed = names.map((name) => ({ text: `${name}: ${was.get(name) ?? 'none'} → ${is.get(name) ?? 'none'}` }));
  if (changed.length === 0) return [{ text: 'Nothing changes.' }];
  return [...changed, { text: 'It applies from the next invoice on. Invoices that exist stay as they are.' }];
}

function TermsDialog({ customer, onClose }: DialogProps) {
  const { externalId, pricingModelId } = customer;
  const [before] = useState(() => formOf(customer));
  const [form, setForm] = useState(before);
  const change = JSON.stringify(form) === JSON.stringify(before) ? null : changeOf(form);
  return (
    <ChangeDialog
      title="Billing terms"
      size="lg"
      opened
      onClose={onClose}
      input={change && { externalId, pricingModelId, customer: change }}
      call={(input, options) => api.customers.update(input, options)}
      effects={({ customer: after }) => differences(factsOf(customer), factsOf(after))}
      confirm="Save the terms"
      done="The terms are saved"
    >
      <TermsFields form={form} onChange={setForm} />
    </ChangeDialog>
  );
}

function TermsFields({ form, onChange }: { readonly form: Form; readonly onChange: (form: Form) => void }) {
  const set = (part: Partial<Form>) => onChange({ ...form, ...part });
  return (
    <Stack gap="sm">
      <Group grow align="flex-start">
        <NumberInput
          label="Days to pay"
          description="Empty: as the settings say"
          min={0}
          max={mostDays}
          allowDecimal={false}
          value={form.netTermsDays ?? ''}
          onChange={(value) => set({ netTermsDays: typeof value === 'number' ? value : null })}
        />
        <NumberInput
          label="Hours as a draft"
          description="Of a renewal. 0: none"
          min={0}
          max={mostReviewHours}
          allowDecimal={false}
          value={form.reviewHours ?? ''}
          onChange={(value) => set({ reviewHours: typeof value === 'number' ? value : null })}
        />
      </Group>
      <Switch
        label="One invoice for the renewals of a day"
        description="It is made at the end of the day, in UTC"
        checked={form.consolidateInvoices}
        onChange={(event) => set({ consolidateInvoices: event.currentTarget.checked })}
      />
      <Group grow align="flex-start">
        <TextInput
          label="Order number"
          description="On new invoices"
          maxLength={255}
          value={form.purchaseOrderNumber}
          onChange={(event) => set({ purchaseOrderNumber: event.currentTarget.value })}
        />
        <TextInput
          label="Tax id"
          description="On documents"
          maxLength={255}
          value={form.taxId}
          onChange={(event) => set({ taxId: event.currentTarget.value })}
        />
      </Group>
      <Switch
        label="Reverse charge"
        description="It accounts for the VAT itself. Check its tax id first: invoices then bear no tax, and say why"
        disabled={form.taxId.trim() === ''}
        checked={form.reverseCharge}
        onChange={(event) => set({ reverseCharge: event.currentTarget.checked })}
      />
      <Group grow align="flex-start">
        <Select
          label="Language"
          placeholder="As the settings say"
          clearable
          data={languages.map((value) => ({ value, label: languageNames.of(value) ?? value }))}
          value={form.language ?? null}
          onChange={(value) => set({ language: languages.find((each) => each === value) ?? null })}
        />
        <Select
          label="Time zone of dates"
          placeholder="As the settings say"
          clearable
          searchable
          limit={50}
          data={['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]}
          value={form.timeZone || null}
          onChange={(value) => set({ timeZone: value ?? '' })}
        />
      </Group>
      <TagsInput
        label="Addresses that get invoices"
        description="In place of the customer's own"
        maxTags={mostAddresses}
        value={[...form.invoiceEmails]}
        onChange={(invoiceEmails) => set({ invoiceEmails })}
      />
      <Textarea
        label="Memo"
        description="On invoices without their own"
        autosize
        minRows={1}
        value={form.memo}
        onChange={(event) => set({ memo: event.currentTarget.value })}
      />
      <PairFields
        title="Printed on invoices"
        one="field"
        most={mostFields}
        pairs={form.customFields}
        onChange={(customFields) => set({ customFields })}
      />
    </Stack>
  );
}

function MetadataDialog({ customer, onClose }: DialogProps) {
  const { externalId, pricingModelId } = customer;
  const [before] = useState(() => pairsOf(customer.metadata));
  const [pairs, setPairs] = useState(before);
  const metadata = metadataOf(pairs);
  const isChanged = metadata !== undefined && JSON.stringify(pairs) !== JSON.stringify(before);
  return (
    <ChangeDialog
      title="Metadata"
      opened
      onClose={onClose}
      input={isChanged ? { externalId, pricingModelId, customer: { metadata } } : null}
      call={(input, options) => api.customers.update(input, options)}
      effects={({ customer: after }) => metadataEffects(customer.metadata, after.metadata)}
      confirm="Save"
      done="The metadata is saved"
    >
      <PairFields title="Your own data" one="entry" pairs={pairs} onChange={setPairs} />
    </ChangeDialog>
  );
}
