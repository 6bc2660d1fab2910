import { CloseButton, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { words } from './format.ts';
import { useFilters } from './records.tsx';

const typingMs = 250;
const minSearchLength = 3;

/** A search field whose text is in the address. The service searches from three letters on. */
export function SearchFilter({ label }: { readonly label: string }) {
  const { filters, setFilters } = useFilters();
  const [text, setText] = useState(filters.search ?? '');
  const search = useDebouncedCallback((wanted: string) => {
    const trimmed = wanted.trim();
    if (trimmed === '' || trimmed.length >= minSearchLength) setFilters({ search: trimmed || undefined });
  }, typingMs);
  const change = (wanted: string) => {
    setText(wanted);
    search(wanted);
  };
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      leftSection={<IconSearch size={16} />}
      rightSection={text !== '' && <CloseButton size="sm" aria-label="Clear the search" onClick={() => change('')} />}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
      className="search-filter"
    />
  );
}

interface ChoiceFilterProps {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly string[];
}

/** A filter by one of several words. */
export function ChoiceFilter({ name, label, choices }: ChoiceFilterProps) {
  const { filters, setFilters } = useFilters();
  return (
    <Select
      aria-label={label}
      placeholder={label}
      clearable
      data={choices.map((value) => ({ value, label: words(value) }))}
      value={filters[name] ?? null}
      onChange={(value) => setFilters({ [name]: value ?? undefined })}
      w={190}
    />
  );
}

export function FilterBar({ children }: { readonly children: React.ReactNode }) {
  return (
    <Group gap="xs" mb="md">
      {children}
    </Group>
  );
}
