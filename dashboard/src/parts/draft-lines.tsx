import { ActionIcon, Button, Checkbox, Group, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Invoice, InvoiceLineItem, WrittenLine } from '../../../client/src/generated-entry.ts';
import { api, read } from '../api.ts';
import { AmountInput } from './amount-input.tsx';
import { ChangeDialog, type Effect } from './change-dialog.tsx';
import { dateText, instantText, moneyText } from './format.ts';

const dayMs = 86_400_000;

/** A line as the form has it. */
export interface FormLine {
  readonly key: string;
  readonly description: string;
  readonly quantity: number;
  readonly unitAmount: number | null;
  /** A price of the catalog, in place of an amount. */
  readonly priceId: string | null;
  readonly isTaxed: boolean;
  /** The first and the last day that it is for, as dates; empty without any. */
  readonly from: string;
  readonly until: string;
  /** The stored time of these days, which begins and ends at any instant. */
  readonly stored?: InvoiceLineItem['servicePeriod'];
}

export const emptyLine = (): FormLine => ({
  key: crypto.randomUUID(),
  description: '',
  quantity: 1,
  unitAmount: null,
  priceId: null,
  isTaxed: true,
  from: '',
  until: '',
});

/** An instant as the value of a field of dates. */
export function dayOf(instant: number | null | undefined): string {
  return typeof instant === 'number' ? new Date(instant).toISOString().slice(0, 'yyyy-mm-dd'.length) : '';
}

function lastDayOf(period: InvoiceLineItem['servicePeriod']): string {
  return period === undefined ? '' : dayOf(period.end - 1);
}

/** The form of a stored line at an amount of its own. */
export function formLineOf({ id, description, quantity, price, taxable, servicePeriod }: InvoiceLineItem): FormLine {
  return {
    ...emptyLine(),
    key: id,
    description: description ?? '',
    quantity,
    unitAmount: price,
    isTaxed: taxable !== false,
    from: dayOf(servicePeriod?.start),
    until: lastDayOf(servicePeriod),
    stored: servicePeriod,
  };
}

/** The lines for the service; null while one is incomplete. */
export function writtenLines(lines: readonly FormLine[]): WrittenLine[] | null {
  const written = lines.map(writtenLine);
  return written.length > 0 && written.every((line) => line !== null) ? written : null;
}

function writtenLine({ description, quantity, unitAmount, priceId, isTaxed, from, until, stored }: FormLine) {
  const [start, lastDay] = [Date.parse(from), Date.parse(until)];
  const isWhole = priceId !== null || (description.trim() !== '' && unitAmount !== null);
  const isKept = stored !== undefined && from === dayOf(stored.start) && until === lastDayOf(stored);
  const given = isKept ? stored : { start, end: lastDay + dayMs };
  if (!isWhole || Number.isNaN(start) !== Number.isNaN(lastDay)) return null;
  return {
    description: description.trim() || null,
    quantity,
    ...(priceId === null ? { unitAmount: unitAmount ?? 0 } : { priceId }),
    ...(isTaxed ? {} : { taxable: false }),
    ...(Number.isNaN(start) ? {} : { servicePeriod: given }),
  };
}

interface LineFieldsProps {
  readonly lines: readonly FormLine[];
  readonly onChange: (lines: FormLine[]) => void;
  readonly currency: string;
  readonly pricingModelId: string;
}

/** The fields of lines that somebody writes. */
export function LineFields({ lines, onChange, currency, pricingModelId }: LineFieldsProps) {
  const setLine = (key: string, part: Partial<FormLine>) =>
    onChange(lines.map((line) => (line.key === key ? { ...line, ...part } : line)));
  return (
    <fieldset className="draft-lines">
      <legend>Lines, in {currency}</legend>
      {lines.map((line, index) => (
        <Line
          key={line.key}
          line={line}
          place={index + 1}
          currency={currency}
          pricingModelId={pricingModelId}
          onChange={(part) => setLine(line.key, part)}
          {...(lines.length > 1 && { onRemove: () => onChange(lines.filter(({ key }) => key !== line.key)) })}
        />
      ))}
      <Button variant="subtle" size="compact-sm" onClick={() => onChange([...lines, emptyLine()])}>
        Add a line
      </Button>
    </fieldset>
  );
}

interface LineProps {
  readonly line: FormLine;
  readonly place: number;
  readonly currency: string;
  readonly pricingModelId: string;
  readonly onChange: (part: Partial<FormLine>) => void;
  /** Absent for the only line. */
  readonly onRemove?: () => void;
}

function Line({ line, place, currency, pricingModelId, onChange, onRemove }: LineProps) {
  const { description, quantity, unitAmount, priceId, isTaxed, from, until } = line;
  const [isOpen, setOpen] = useState(priceId !== null || !isTaxed || from !== '');
  return (
    <Stack gap={6} w="100%">
      <div className="draft-line">
        <TextInput
          aria-label={`Text of line ${place}`}
          placeholder="Text"
          value={description}
          onChange={(event) => onChange({ description: event.currentTarget.value })}
        />
        <NumberInput
          aria-label={`Quantity of line ${place}`}
          min={1}
          allowDecimal={false}
          hideControls
          value={quantity}
          onChange={(value) => typeof value === 'number' && onChange({ quantity: value })}
        />
        {priceId === null ? (
          <AmountInput
            label={`Amount of one of line ${place}`}
            isLabelHidden
            currency={currency}
            value={unitAmount}
            onChange={(value) => onChange({ unitAmount: value })}
          />
        ) : (
          <TextInput aria-label={`Amount of one of line ${place}`} disabled value="By its price" />
        )}
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={`Remove line ${place}`}
          disabled={onRemove === undefined}
          onClick={onRemove}
        >
          <IconTrash size={17} />
        </ActionIcon>
      </div>
      {isOpen ? (
        <div className="draft-line-more">
          <PriceChoice
            place={place}
            value={priceId}
            pricingModelId={pricingModelId}
            onChange={(value) => onChange({ priceId: value })}
          />
          <TextInput
            type="date"
            label="For the time from"
            value={from}
            onChange={(event) => onChange({ from: event.currentTarget.value })}
          />
          <TextInput
            type="date"
            label="To the end of"
            value={until}
            onChange={(event) => onChange({ until: event.currentTarget.value })}
          />
          <Checkbox
            label="Bears tax"
            checked={isTaxed}
            onChange={(event) => onChange({ isTaxed: event.currentTarget.checked })}
          />
        </div>
      ) : (
        <Group>
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => setOpen(true)}
            aria-label={`Price, time and tax of line ${place}`}
          >
            Price, time and tax
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface PriceChoiceProps {
  readonly place: number;
  readonly value: string | null;
  readonly pricingModelId: string;
  readonly onChange: (priceId: string | null) => void;
}

function PriceChoice({ place, value, pricingModelId, onChange }: PriceChoiceProps) {
  const { data } = useQuery(read('pricingModels', 'get', { id: pricingModelId }));
  const ofProducts = data?.pricingModel.products.flatMap(({ prices }) => prices) ?? [];
  const prices = ofProducts.filter(({ active }) => active);
  return (
    <Select
      label="Price"
      placeholder="None"
      aria-label={`Price of line ${place}`}
      searchable
      clearable
      data={prices.map(({ id, name, slug }) => ({ value: id, label: [name, slug].filter(Boolean).join(' · ') || id }))}
      value={value}
      onChange={onChange}
    />
  );
}

/** The sums of a draft as the service computed them. */
export function draftEffects({ invoice }: { readonly invoice: Invoice }): readonly Effect[] {
  const { total, taxAmount, discountAmount, currency, dueDate, finalizesAt } = invoice;
  const tax = taxAmount === null || taxAmount === 0 ? '' : `, of which ${moneyText(taxAmount, currency)} tax`;
  const off = discountAmount === 0 ? '' : `, after ${moneyText(discountAmount, currency)} off`;
  return [
    { text: `The draft comes to ${moneyText(total, currency)}${tax}${off}.` },
    ...(dueDate === null ? [] : [{ text: `It is due on ${dateText(dueDate)}.` }]),
    finalizesAt === undefined
      ? { text: 'It has no number, and the customer does not see it, before it is finalized.' }
      : { text: `It is finalized by itself on ${instantText(finalizesAt)}.` },
  ];
}

interface DialogProps {
  readonly invoice: Invoice;
  readonly onClose: () => void;
}

/** Adds lines to a draft, that of a renewal too. */
export function AddLines({ invoice: { id, currency, pricingModelId }, onClose }: DialogProps) {
  const [lines, setLines] = useState<FormLine[]>([emptyLine()]);
  const written = writtenLines(lines);
  return (
    <ChangeDialog
      title="Add lines"
      size="lg"
      opened
      onClose={onClose}
      input={written && { id, lines: written }}
      call={(input, options) => api.invoices.createLine(input, options)}
      effects={draftEffects}
      confirm="Add to the draft"
      done="The lines are added"
    >
      <LineFields lines={lines} onChange={setLines} currency={currency} pricingModelId={pricingModelId} />
    </ChangeDialog>
  );
}

/** Takes a line off a draft. */
export function RemoveLine({ invoice: { id }, line, onClose }: DialogProps & { readonly line: InvoiceLineItem }) {
  return (
    <ChangeDialog
      title={`Take off ${line.description ?? 'the line'}`}
      opened
      onClose={onClose}
      input={{ id, lineId: line.id }}
      call={(input, options) => api.invoices.deleteLines(input, options)}
      effects={draftEffects}
      confirm="Take it off"
      done="The line is taken off"
    />
  );
}
