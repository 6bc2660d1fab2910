import { Group, NumberInput, Select, Stack, TagsInput, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import type { Where } from '../../../client/src/generated-entry.ts';
import { unitsOf, words } from '../parts/format.ts';
import { type FeatureValue, slugFrom } from './draft.ts';

/** A decimal text with its point moved: ("12.5", 2) -> "1250". Amounts are never floats on the way. */
export function shift(text: string, by: number): string {
  const [whole = '', decimals = ''] = text.split('.');
  const digits = by >= 0 ? whole + decimals.padEnd(by, '0') : whole.padStart(1 - by, '0') + decimals;
  const point = by >= 0 ? whole.length + by : Math.max(whole.length, 1 - by) + by;
  const end = digits.slice(point).replace(/0+$/, '');
  const begin = digits.slice(0, point).replace(/^0+(?=\d)/, '') || '0';
  return end === '' ? begin : `${begin}.${end}`;
}

const decimal = /^\d{0,13}(\.\d{0,12})?$/;

interface DecimalFieldProps {
  readonly label: string;
  /** A decimal text; undefined: empty. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  readonly by?: number;
  readonly sign: ReactNode;
  readonly hidden?: boolean;
  readonly description?: string;
  readonly disabled?: boolean;
}

/** A decimal of any precision. A typed text stays while it means the value. */
export function DecimalField({ label, value, onChange, by = 0, sign, hidden = false, ...rest }: DecimalFieldProps) {
  const read = (typed: string) => (/\d/.test(typed) ? shift(typed, by) : undefined);
  const [typed, setTyped] = useState(value === undefined ? '' : shift(value, -by));
  const shown = read(typed) === value ? typed : value === undefined ? '' : shift(value, -by);
  return (
    <TextInput
      {...(hidden ? { 'aria-label': label } : { label })}
      leftSection={
        <Text size="sm" c="dimmed" aria-hidden>
          {sign}
        </Text>
      }
      leftSectionWidth={30}
      inputMode="decimal"
      value={shown}
      onChange={({ currentTarget }) => {
        const text = currentTarget.value.replaceAll(',', '');
        if (!decimal.test(text)) return;
        setTyped(text);
        onChange(read(text));
      }}
      {...rest}
    />
  );
}

interface MoneyFieldProps extends Omit<DecimalFieldProps, 'by' | 'sign'> {
  readonly currency: string;
}

/** An amount of money. The value is in the smallest unit, what is typed is not. */
export function MoneyField({ currency, ...props }: MoneyFieldProps) {
  const by = Math.round(Math.log10(unitsOf(currency)));
  const parts = new Intl.NumberFormat(undefined, { style: 'currency', currency }).formatToParts(0);
  return <DecimalField by={by} sign={parts.find(({ type }) => type === 'currency')?.value ?? currency} {...props} />;
}

export function PercentField(props: Omit<DecimalFieldProps, 'by' | 'sign'>) {
  return <DecimalField sign="%" {...props} />;
}

interface WholeFieldProps {
  readonly label: string;
  readonly value: number | null | undefined;
  readonly onChange: (value: number | undefined) => void;
  readonly min?: number;
  readonly description?: string;
  readonly placeholder?: string;
  readonly hidden?: boolean;
  readonly disabled?: boolean;
}

const mostUnits = 1_000_000_000_000;

export function WholeField({ label, value, onChange, min = 0, hidden = false, ...rest }: WholeFieldProps) {
  return (
    <NumberInput
      {...(hidden ? { 'aria-label': label } : { label })}
      value={value ?? ''}
      onChange={(next) => onChange(next === '' ? undefined : Number(next))}
      min={min}
      max={mostUnits}
      clampBehavior="none"
      allowDecimal={false}
      allowNegative={false}
      thousandSeparator=","
      hideControls
      {...rest}
    />
  );
}

interface NamedProps {
  readonly name: string;
  readonly slug: string;
  readonly isNew: boolean;
  readonly onChange: (change: { name: string; slug: string }) => void;
}

/** A name, and the slug of a record that is new. Another slug would be another record. */
export function NameFields({ name, slug, isNew, onChange }: NamedProps) {
  const rename = (next: string) => {
    const follows = isNew && (slug === '' || slug === slugFrom(name));
    onChange({ name: next, slug: follows ? slugFrom(next) : slug });
  };
  return (
    <Group grow align="start" preventGrowOverflow={false}>
      <TextInput label="Name" value={name} onChange={(event) => rename(event.currentTarget.value)} data-autofocus />
      <TextInput
        label="Slug"
        value={slug}
        onChange={(event) => onChange({ name, slug: event.currentTarget.value.trim() })}
        disabled={!isNew}
        classNames={{ input: 'identifier' }}
      />
    </Group>
  );
}

const units = ['day', 'week', 'month', 'year'] as const;
export interface Interval {
  readonly unit: (typeof units)[number];
  readonly count: number;
}

export function IntervalField({
  label,
  value: { unit, count },
  onChange,
}: {
  readonly label: string;
  readonly value: Interval;
  readonly onChange: (value: Interval) => void;
}) {
  return (
    <Group align="end" gap="xs" wrap="nowrap">
      <NumberInput
        label={label}
        aria-label={`${label}, number`}
        value={count}
        onChange={(next) => onChange({ unit, count: Math.max(1, Number(next)) })}
        min={1}
        max={1200}
        allowDecimal={false}
        w={84}
      />
      <Select
        aria-label={`${label}, unit`}
        data={units.map((each) => ({ value: each, label: count === 1 ? each : `${each}s` }))}
        value={unit}
        onChange={(next) => onChange({ unit: (next ?? 'month') as Interval['unit'], count })}
        style={{ flex: 1 }}
      />
    </Group>
  );
}

interface ValueFieldProps {
  readonly label: string;
  readonly value: FeatureValue;
  readonly onChange: (value: FeatureValue) => void;
}

/** A number, a text or a list of texts, as the value is now. */
export function ValueField({ label, value, onChange }: ValueFieldProps) {
  if (typeof value === 'number')
    return (
      <NumberInput
        label={label}
        value={value}
        onChange={(next) => onChange(Number(next) || 0)}
        min={-Number.MAX_SAFE_INTEGER}
        max={Number.MAX_SAFE_INTEGER}
        thousandSeparator=","
        hideControls
      />
    );
  if (typeof value === 'string')
    return <TextInput label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)} />;
  return <TagsInput label={label} placeholder={value.length === 0 ? 'None' : ''} value={value} onChange={onChange} />;
}

interface WhereFieldsProps {
  readonly label: string;
  readonly description: string;
  readonly value: Where | undefined;
  readonly onChange: (value: Where | undefined) => void;
}

const mostProperties = 5;

/** Conditions on the properties of an event. */
export function WhereFields({ label, description, value, onChange }: WhereFieldsProps) {
  const [rows, setRows] = useState<readonly (readonly [string, string[]])[]>(Object.entries(value ?? {}));
  const change = (next: typeof rows) => {
    setRows(next);
    const given = next.filter(([name, values]) => name !== '' && values.length > 0);
    onChange(given.length === 0 ? undefined : Object.fromEntries(given));
  };
  return (
    <Stack gap={6}>
      <div>
        <Text size="sm" fw={500}>
          {label}
        </Text>
        <Text size="xs" c="dimmed">
          {description}
        </Text>
      </div>
      {rows.map(([name, values], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name while it is typed
        <Group key={index} gap="xs" wrap="nowrap" align="start">
          <TextInput
            aria-label="Property"
            placeholder="model"
            value={name}
            onChange={(event) => change(rows.with(index, [event.currentTarget.value.trim(), values]))}
            w={130}
          />
          <TagsInput
            aria-label={`Values of ${name || 'the property'}`}
            placeholder={values.length === 0 ? 'gpt-5, gpt-5-mini' : ''}
            value={values}
            onChange={(next) => change(rows.with(index, [name, next]))}
            style={{ flex: 1 }}
          />
          <RemoveRow label={`Remove ${name || 'the condition'}`} onClick={() => change(rows.toSpliced(index, 1))} />
        </Group>
      ))}
      {rows.length < mostProperties && <AddRow onClick={() => setRows([...rows, ['', []]])}>Add a condition</AddRow>}
    </Stack>
  );
}

export function AddRow({ onClick, children }: { readonly onClick: () => void; readonly children: ReactNode }) {
  return (
    <UnstyledButton className="add-row" onClick={onClick}>
      <IconPlus size={15} aria-hidden /> {children}
    </UnstyledButton>
  );
}

export function RemoveRow({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <UnstyledButton className="remove-row" aria-label={label} onClick={onClick}>
      <IconTrash size={16} aria-hidden />
    </UnstyledButton>
  );
}

/** Choices as a select wants them. */
export function choices(names: readonly string[], labels: Readonly<Record<string, string>> = {}) {
  return names.map((value) => ({ value, label: labels[value] ?? words(value) }));
}
