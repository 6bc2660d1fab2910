import { Group, NumberInput, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Invoice, InvoiceLineItem } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { dayOf, draftEffects, emptyLine, type FormLine, formLineOf, LineFields, writtenLines } from './draft-lines.tsx';

const mostDays = 365;

interface Terms {
  readonly dueDate: string;
  readonly netTermsDays: number | null;
  readonly memo: string;
  readonly footer: string;
  readonly purchaseOrderNumber: string;
  readonly autoCollect: boolean;
}

const noTerms: Terms = {
  dueDate: '',
  netTermsDays: null,
  memo: '',
  footer: '',
  purchaseOrderNumber: '',
  autoCollect: false,
};

/** The fields of the API. Days to pay take the place of a date. */
function givenTerms({ dueDate, netTermsDays, memo, footer, purchaseOrderNumber, autoCollect }: Terms) {
  const due = Date.parse(dueDate);
  return {
    ...(Number.isNaN(due) ? { dueDate: null, netTermsDays } : { dueDate: due, netTermsDays: null }),
    memo: memo.trim() || null,
    footer: footer.trim() || null,
    purchaseOrderNumber: purchaseOrderNumber.trim() || null,
    autoCollect,
  };
}

type Given = ReturnType<typeof givenTerms>;

/** The fields that differ, so that nothing else is written again. */
function changedTerms(before: Terms, after: Terms): Partial<Given> {
  const [stored, given] = [givenTerms(before), givenTerms(after)];
  const changed = Object.entries(given).filter(([name, value]) => value !== stored[name as keyof Given]);
  return Object.fromEntries(changed);
}

interface NewDraftProps {
  readonly customerId: string;
  readonly pricingModelId: string;
  readonly currency: string;
  readonly onClose: () => void;
}

/** Writes an invoice, at amounts or prices, as a draft. */
export function NewDraft({ customerId, pricingModelId, currency, onClose }: NewDraftProps) {
  const navigate = useNavigate();
  const [lines, setLines] = useState<FormLine[]>([emptyLine()]);
  const [terms, setTerms] = useState(noTerms);
  const [discountCode, setDiscountCode] = useState('');
  const written = writtenLines(lines);
  const discount = discountCode.trim() === '' ? {} : { discountCode: discountCode.trim() };
  return (
    <ChangeDialog
      title="Write an invoice"
      size="lg"
      opened
      onClose={onClose}
      input={written && { invoice: { customerId, lines: written, ...givenTerms(terms), ...discount } }}
      call={(input, options) => api.invoices.create(input, options)}
      effects={draftEffects}
      confirm="Save the draft"
      done="The draft is saved"
      onDone={({ invoice }) => void navigate({ to: `/invoices/${invoice.id}` })}
    >
      <Stack gap="sm">
        <LineFields lines={lines} onChange={setLines} currency={currency} pricingModelId={pricingModelId} />
        <TextInput
          label="Code of a discount"
          value={discountCode}
          onChange={(event) => setDiscountCode(event.currentTarget.value)}
        />
        <TermsFields terms={terms} onChange={setTerms} isOfPeriod={false} />
      </Stack>
    </ChangeDialog>
  );
}

interface EditDraftProps {
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLineItem[];
  readonly onClose: () => void;
}

function termsOf(invoice: Invoice): Terms {
  const { dueDate, memo, footer, purchaseOrderNumber } = invoice;
  return {
    dueDate: dayOf(dueDate),
    netTermsDays: invoice.type === 'standalone' ? (invoice.netTermsDays ?? null) : null,
    memo: memo ?? '',
    footer: footer ?? '',
    purchaseOrderNumber: purchaseOrderNumber ?? '',
    autoCollect: invoice.type === 'standalone' && invoice.autoCollect === true,
  };
}

/** Changes the terms of a draft, and its lines where each has an amount of its own. */
export function EditDraft({ invoice, lines: stored, onClose }: EditDraftProps) {
  const { id, currency, pricingModelId } = invoice;
  const isOfPeriod = invoice.type !== 'standalone';
  // A line at a price is added and taken off as a whole: its price decides its amount.
  const isEditable = !isOfPeriod && stored.every(({ type, priceId }) => type === 'static' && priceId === null);
  const [before] = useState(() => ({
    terms: termsOf(invoice),
    lines: stored.length > 0 ? stored.map(formLineOf) : [emptyLine()],
  }));
  const [terms, setTerms] = useState(before.terms);
  const [lines, setLines] = useState<FormLine[]>(before.lines);
  const hasLines = isEditable && JSON.stringify(lines) !== JSON.stringify(before.lines);
  const written = hasLines ? writtenLines(lines) : [];
  const change = written && { ...changedTerms(before.terms, terms), ...(hasLines ? { lines: written } : {}) };
  return (
    <ChangeDialog
      title="Change the draft"
      size="lg"
      opened
      onClose={onClose}
      input={change === null || Object.keys(change).length === 0 ? null : { id, invoice: change }}
      call={(input, options) => api.invoices.update(input, options)}
      effects={draftEffects}
      confirm="Save the draft"
      done="The draft is saved"
    >
      <Stack gap="sm">
        {isEditable ? (
          <LineFields lines={lines} onChange={setLines} currency={currency} pricingModelId={pricingModelId} />
        ) : (
          <Text size="sm" c="dimmed">
            Lines are added and taken off on the page of the draft.
          </Text>
        )}
        <TermsFields terms={terms} onChange={setTerms} isOfPeriod={isOfPeriod} />
      </Stack>
    </ChangeDialog>
  );
}

interface TermsFieldsProps {
  readonly terms: Terms;
  readonly onChange: (terms: Terms) => void;
  readonly isOfPeriod: boolean;
}

function TermsFields({ terms, onChange, isOfPeriod }: TermsFieldsProps) {
  const { dueDate, netTermsDays, memo, footer, purchaseOrderNumber, autoCollect } = terms;
  const set = (part: Partial<Terms>) => onChange({ ...terms, ...part });
  return (
    <>
      <Group grow align="flex-start">
        <TextInput
          type="date"
          label="Due"
          description="Without a date, by the days"
          value={dueDate}
          onChange={(event) => set({ dueDate: event.currentTarget.value })}
        />
        <NumberInput
          label="Days to pay"
          description="Without both, by the terms"
          min={0}
          max={mostDays}
          allowDecimal={false}
          disabled={dueDate !== ''}
          value={dueDate === '' ? (netTermsDays ?? '') : ''}
          onChange={(value) => set({ netTermsDays: typeof value === 'number' ? value : null })}
        />
      </Group>
      <TextInput
        label="Order number"
        description="Of the buyer, if they want it"
        value={purchaseOrderNumber}
        onChange={(event) => set({ purchaseOrderNumber: event.currentTarget.value })}
      />
      <Textarea
        label="Memo"
        description="Printed below the totals"
        autosize
        minRows={1}
        value={memo}
        onChange={(event) => set({ memo: event.currentTarget.value })}
      />
      <Textarea
        label="Footer"
        autosize
        minRows={1}
        value={footer}
        onChange={(event) => set({ footer: event.currentTarget.value })}
      />
      {!isOfPeriod && (
        <Switch
          label="Collect it from the payment method when it is finalized"
          checked={autoCollect}
          onChange={(event) => set({ autoCollect: event.currentTarget.checked })}
        />
      )}
    </>
  );
}
