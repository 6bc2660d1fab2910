import { ActionIcon, Button, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import type { Invoice, Metadata } from '../../../client/src/generated-entry.ts';
import { api } from '../api.ts';
import { ChangeDialog, type Effect } from './change-dialog.tsx';

const mostKeys = 50;
const longestKey = 40;
const longestValue = 500;

/** A name and its value. One that is not written again keeps its type. */
export interface Pair {
  readonly key: string;
  readonly name: string;
  readonly value: string | number | boolean;
}

export function pairsOf(metadata: Metadata | null | undefined): Pair[] {
  return Object.entries(metadata ?? {}).map(([name, value]) => ({ key: name, name, value }));
}

/** The metadata for the service; undefined while a pair is incomplete, or two have one name. */
export function metadataOf(pairs: readonly Pair[]): Metadata | null | undefined {
  const names = pairs.map(({ name }) => name.trim());
  if (names.includes('') || new Set(names).size < names.length) return undefined;
  return pairs.length === 0 ? null : Object.fromEntries(pairs.map(({ value }, index) => [names[index] ?? '', value]));
}

interface PairFieldsProps {
  readonly title: string;
  /** The name of one pair in labels. */
  readonly one: string;
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: Pair[]) => void;
  readonly most?: number;
}

/** The fields of names with their values. */
export function PairFields({ title, one, pairs, onChange, most = mostKeys }: PairFieldsProps) {
  const set = (key: string, part: Partial<Pair>) =>
    onChange(pairs.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)));
  return (
    <fieldset className="draft-lines">
      <legend>{title}</legend>
      {pairs.map(({ key, name, value }, index) => (
        <div key={key} className="pair-line">
          <TextInput
            aria-label={`Name of ${one} ${index + 1}`}
            placeholder="Name"
            maxLength={longestKey}
            value={name}
            onChange={(event) => set(key, { name: event.currentTarget.value })}
          />
          <TextInput
            aria-label={`Value of ${one} ${index + 1}`}
            placeholder="Value"
            maxLength={longestValue}
            value={String(value)}
            onChange={(event) => set(key, { value: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Remove ${one} ${index + 1}`}
            onClick={() => onChange(pairs.filter((pair) => pair.key !== key))}
          >
            <IconTrash size={17} />
          </ActionIcon>
        </div>
      ))}
      {pairs.length < most && (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => onChange([...pairs, { key: crypto.randomUUID(), name: '', value: '' }])}
        >
          Add {one}
        </Button>
      )}
    </fieldset>
  );
}

/** The differences of metadata, as sentences. */
export function metadataEffects(
  before: Metadata | null | undefined,
  after: Metadata | null | undefined,
): readonly Effect[] {
  const [was, is] = [before ?? {}, after ?? {}];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((name) => was[name] !== is[name]);
  return names.map((name) => ({
    text: `${name}: ${String(was[name] ?? 'none')} → ${String(is[name] ?? 'none')}`,
    isLoss: is[name] === undefined,
  }));
}

interface InvoiceMetadataProps {
  readonly invoice: Invoice;
  readonly onClose: () => void;
}

/** Changes the metadata of an invoice, after its finalization too. No document shows it. */
export function InvoiceMetadata({ invoice, onClose }: InvoiceMetadataProps) {
  const [before] = useState(() => pairsOf(invoice.metadata));
  const [pairs, setPairs] = useState(before);
  const metadata = metadataOf(pairs);
  const isChanged = metadata !== undefined && JSON.stringify(pairs) !== JSON.stringify(before);
  return (
    <ChangeDialog
      title="Metadata"
      opened
      onClose={onClose}
      input={isChanged ? { id: invoice.id, invoice: { metadata } } : null}
      call={(input, options) => api.invoices.update(input, options)}
      effects={({ invoice: after }) => [
        ...metadataEffects(invoice.metadata, after.metadata),
        { text: 'No document shows it.' },
      ]}
      confirm="Save"
      done="The metadata is saved"
    >
      <PairFields title="Your own data" one="entry" pairs={pairs} onChange={setPairs} />
    </ChangeDialog>
  );
}
