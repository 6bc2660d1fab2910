import { Kbd, Text, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, spotlight } from '@mantine/spotlight';
import {
  type Icon,
  IconCash,
  IconCreditCardRefund,
  IconFileInvoice,
  IconPackage,
  IconRefresh,
  IconSearch,
  IconTag,
  IconUser,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { SearchResult } from '../../../client/src/generated-entry.ts';
import { read } from '../api.ts';
import { words } from '../parts/format.ts';
import { destinations } from './navigation.ts';

const typingMs = 150;
const minSearchLength = 3;

interface Found {
  readonly key: string;
  readonly to: string;
  readonly name: string;
  readonly about: string;
  readonly icon: Icon;
}

/** Finds pages and records by the keyboard. */
export function Search() {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const groups = useFound(text.trim()).filter(({ found }) => found.length > 0);
  return (
    <Spotlight.Root
      query={text}
      onQueryChange={setText}
      shortcut={['mod + K', '/']}
      scrollable
      maxHeight={420}
      attributes={{ content: { 'aria-label': 'Search' } }}
    >
      <Spotlight.Search
        placeholder="Search customers, invoices, products, pages"
        leftSection={<IconSearch size={18} />}
      />
      <Spotlight.ActionsList>
        {groups.map(({ group, found }) => (
          <Spotlight.ActionsGroup label={group} key={group}>
            {found.map(({ key, to, name, about, icon: Shown }) => (
              <Spotlight.Action key={key} onClick={() => void navigate({ to })}>
                <Shown size={17} aria-hidden className="found-icon" />
                <Text size="sm">{name}</Text>
                <Text size="sm" className="found-about" ml="auto">
                  {about}
                </Text>
              </Spotlight.Action>
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && <Spotlight.Empty>Nothing has this name, address, number or id.</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

type RecordType = SearchResult['type'];

interface Shown {
  readonly group: string;
  readonly icon: Icon;
  readonly to: (result: SearchResult) => string;
}

/** The page of each type of record. A price has no page of its own: its catalog shows it. */
const shownTypes: Readonly<Record<RecordType, Shown>> = {
  customer: { group: 'Customers', icon: IconUser, to: ({ id }) => `/customers/${id}` },
  subscription: { group: 'Subscriptions', icon: IconRefresh, to: ({ id }) => `/subscriptions/${id}` },
  invoice: { group: 'Invoices', icon: IconFileInvoice, to: ({ id }) => `/invoices/${id}` },
  product: {
    group: 'Products',
    icon: IconPackage,
    to: ({ pricingModelId, detail }) => `/catalog?model=${pricingModelId}&edit=products.${detail}`,
  },
  price: { group: 'Prices', icon: IconTag, to: ({ pricingModelId }) => `/catalog?model=${pricingModelId}` },
  payment: { group: 'Payments', icon: IconCash, to: ({ id }) => `/payments/${id}` },
  creditNote: { group: 'Credit notes', icon: IconCreditCardRefund, to: ({ id }) => `/credit-notes/${id}` },
};

/** The pages at once, and the records as soon as they are found. */
function useFound(text: string): { readonly group: string; readonly found: readonly Found[] }[] {
  const [settled] = useDebouncedValue(text, typingMs);
  const mayAsk = settled.length >= minSearchLength;
  const { data } = useQuery({ ...read('search', 'list', { q: settled }), enabled: mayAsk });
  const lower = text.toLowerCase();
  const pages = destinations.flatMap(({ group, pages: ofGroup }) =>
    ofGroup.map((page) => ({ ...page, key: page.to, about: group })),
  );
  const results = mayAsk ? (data?.results ?? []) : [];
  const groups = Map.groupBy(results, ({ type }) => type);
  return [
    { group: 'Pages', found: pages.filter(({ name }) => name.toLowerCase().includes(lower)) },
    ...[...groups].map(([type, ofType]) => ({ group: shownTypes[type].group, found: ofType.map(toFound) })),
  ];
}

function toFound(result: SearchResult): Found {
  const { type, id, name, detail, status } = result;
  const { icon, to } = shownTypes[type];
  const about = [detail, status && words(status).toLowerCase()].filter(Boolean).join(', ');
  return { key: id, to: to(result), name: name ?? (type === 'invoice' ? 'Draft' : id), about, icon };
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function SearchButton() {
  return (
    <UnstyledButton className="search-button" onClick={spotlight.open}>
      <IconSearch size={16} aria-hidden />
      <span className="search-button-text">Search</span>
      <Kbd size="xs" className="search-button-keys">
        {isApple ? '⌘K' : 'Ctrl K'}
      </Kbd>
    </UnstyledButton>
  );
}
