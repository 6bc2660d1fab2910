import { ActionIcon, Button, Group, NumberInput, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { Invoice, InvoiceLineItem } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { dateText, moneyText } from './format.ts';

/** A line as the form has it. */
interface FormLine {
  readonly key: string;
  readonly description: string;
  readonly quantity: number;
  readonly unitAmount: number | null;
}

interface Form {
  readonly lines: readonly FormLine[];
  readonly dueDate: string;
  readonly memo: string;
  readonly purchaseOrderNumber: string;
  readonly autoCollect: boolean;
}

const emptyLine = (): FormLine => ({ key: crypto.randomUUID(), description: '', quantity: 1, unitAmount: null });

const isWhole = ({ description, unitAmount }: FormLine) => description.trim() !== '' && unitAmount !== null;

/** The fields of the API; null while a line is incomplete. */
function invoiceOf({ lines, dueDate, memo, purchaseOrderNumber, autoCollect }: Form) {
  if (lines.length === 0 || !lines.every(isWhole)) return null;
  const due = Date.parse(dueDate);
  return {
    lines: lines.map(({ description, quantity, unitAmount }) => ({
      description: description.trim(),
      quantity,
      unitAmount: unitAmount ?? 0,
    })),
    ...(Number.isNaN(due) ? {} : { dueDate: due }),
    memo: memo.trim() || null,
    purchaseOrderNumber: purchaseOrderNumber.trim() || null,
    autoCollect,
  };
}

interface Written {
  readonly invoice: Invoice;
}

/** The sums of the draft as the service computed them. */
function effectsOf({ invoice }: Written): readonly Effect[] {
  const { total, taxAmount, currency, dueDate } = invoice;
  const tax = taxAmount === null || taxAmount === 0 ? '' : `, of which ${moneyText(taxAmount, currency)} tax`;
  return [
    { text: `The draft comes to ${moneyText(total, currency)}${tax}.` },
    ...(dueDate === null ? [] : [{ text: `It is due on ${dateText(dueDate)}.` }]),
    { text: 'It has no number, and the customer does not see it, before it is finalized.' },
  ];
}

interface NewDraftProps {
  readonly customerId: string;
  readonly currency: string;
  readonly onClose: () => void;
}

/** Writes an invoice for anything that no price covers, as a draft. */
export function NewDraft({ customerId, currency, onClose }: NewDraftProps) {
  const navigate = useNavigate();
  const [form, setForm] = useState<Form>({
    lines: [emptyLine()],
    dueDate: '',
    memo: '',
    purchaseOrderNumber: '',
    autoCollect: false,
  });
  const written = invoiceOf(form);
  return (
    <ChangeDialog
      title="Write an invoice"
      size="lg"
      opened
      onClose={onClose}
      input={written && { invoice: { customerId, ...written } }}
      call={(input, options) => api.invoices.create(input, options)}
      effects={effectsOf}
      confirm="Save the draft"
      done="The draft is saved"
      onDone={({ invoice }) => void navigate({ to: `/invoices/${invoice.id}` })}
    >
      <Fields form={form} onChange={setForm} currency={currency} />
    </ChangeDialog>
  );
}

interface EditDraftProps {
  readonly invoice: Invoice;
  readonly lines: readonly InvoiceLineItem[];
  readonly onClose: () => void;
}

/** Changes a draft. Its lines are replaced by those of the form. */
export function EditDraft({ invoice, lines, onClose }: EditDraftProps) {
  const { id, currency, dueDate, memo, purchaseOrderNumber } = invoice;
  const [form, setForm] = useState<Form>({
    lines: lines.map((line) => ({
      key: line.id,
      description: line.description ?? '',
      quantity: line.quantity,
      unitAmount: line.price,
    })),
    dueDate: dueDate === null ? '' : new Date(dueDate).toISOString().slice(0, 'yyyy-mm-dd'.length),
    memo: memo ?? '',
    purchaseOrderNumber: purchaseOrderNumber ?? '',
    autoCollect: 'autoCollect' in invoice && invoice.autoCollect === true,
  });
  const written = invoiceOf(form);
  return (
    <ChangeDialog
      title="Change the draft"
      size="lg"
      opened
      onClose={onClose}
      input={written && { id, invoice: written }}
      call={(input, options) => api.invoices.update(input, options)}
      effects={effectsOf}
      confirm="Save the draft"
      done="The draft is saved"
    >
      <Fields form={form} onChange={setForm} currency={currency} />
    </ChangeDialog>
  );
}

interface FieldsProps {
  readonly form: Form;
  readonly onChange: (form: Form) => void;
  readonly currency: string;
}

function Fields({ form, onChange, currency }: FieldsProps): ReactNode {
  const { lines, dueDate, memo, purchaseOrderNumber, autoCollect } = form;
  const set = (part: Partial<Form>) => onChange({ ...form, ...part });
  const setLine = (key: string, part: Partial<FormLine>) =>
    set({ lines: lines.map((line) => (line.key === key ? { ...line, ...part } : line)) });
  return (
    <Stack gap="sm">
      <fieldset className="draft-lines">
        <legend>Lines, in {currency}</legend>
        {lines.map(({ key, description, quantity, unitAmount }, index) => (
          <div key={key} className="draft-line">
            <TextInput
              aria-label={`Text of line ${index + 1}`}
              placeholder="Text"
              value={description}
              onChange={(event) => setLine(key, { description: event.currentTarget.value })}
            />
            <NumberInput
              aria-label={`Quantity of line ${index + 1}`}
              min={1}
              allowDecimal={false}
              hideControls
              value={quantity}
              onChange={(value) => typeof value === 'number' && setLine(key, { quantity: value })}
            />
            <AmountInput
              label={`Amount of one of line ${index + 1}`}
              isLabelHidden
              currency={currency}
              value={unitAmount}
              onChange={(value) => setLine(key, { unitAmount: value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="lg"
              aria-label={`Remove line ${index + 1}`}
              disabled={lines.length === 1}
              onClick={() => set({ lines: lines.filter((line) => line.key !== key) })}
            >
              <IconTrash size={17} />
            </ActionIcon>
          </div>
        ))}
        <Button variant="subtle" size="compact-sm" onClick={() => set({ lines: [...lines, emptyLine()] })}>
          Add a line
        </Button>
      </fieldset>
      <Group grow align="flex-start">
        <TextInput
          type="date"
          label="Due"
          description="Without a date, as the settings say"
          value={dueDate}
          onChange={(event) => set({ dueDate: event.currentTarget.value })}
        />
        <TextInput
          label="Order number"
          description="Of the buyer, if they want it"
          value={purchaseOrderNumber}
          onChange={(event) => set({ purchaseOrderNumber: event.currentTarget.value })}
        />
      </Group>
      <Textarea
        label="Memo"
        description="Printed above the lines"
        autosize
        minRows={1}
        value={memo}
        onChange={(event) => set({ memo: event.currentTarget.value })}
      />
      <Switch
        label="Collect it from the payment method when it is finalized"
        checked={autoCollect}
        onChange={(event) => set({ autoCollect: event.currentTarget.checked })}
      />
    </Stack>
  );
}
