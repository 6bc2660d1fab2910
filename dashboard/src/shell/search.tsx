import { Kbd, Text, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, spotlight } from '@mantine/spotlight';
import { type Icon, IconFileInvoice, IconPackage, IconSearch, IconUser } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { read } from '../api.ts';
import { moneyText, words } from '../parts/format.ts';
import { destinations } from './navigation.ts';

const typingMs = 150;
const minSearchLength = 3;
const mostFound = 5;

interface Found {
  readonly to: string;
  readonly name: string;
  readonly about: ReactNode;
  readonly icon: Icon;
}

/** Finds pages, customers, products and invoices by the keyboard. */
export function Search() {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const groups = useFound(text.trim()).filter(({ found }) => found.length > 0);
  return (
    <Spotlight.Root query={text} onQueryChange={setText} shortcut={['mod + K', '/']} scrollable maxHeight={420}>
      <Spotlight.Search
        placeholder="Search customers, invoices, products, pages"
        leftSection={<IconSearch size={18} />}
      />
      <Spotlight.ActionsList>
        {groups.map(({ group, found }) => (
          <Spotlight.ActionsGroup label={group} key={group}>
            {found.map(({ to, name, about, icon: Shown }) => (
              <Spotlight.Action key={to} onClick={() => void navigate({ to })}>
                <Shown size={17} aria-hidden className="found-icon" />
                <Text size="sm">{name}</Text>
                <Text size="sm" c="dimmed" ml="auto">
                  {about}
                </Text>
              </Spotlight.Action>
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && <Spotlight.Empty>Nothing has this name, address or id.</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

/** The pages at once, and the records as soon as they are found. */
function useFound(text: string): { readonly group: string; readonly found: readonly Found[] }[] {
  const [settled] = useDebouncedValue(text, typingMs);
  const mayAsk = settled.length >= minSearchLength;
  const isId = /^inv_\w+$/.test(settled);
  const { data: customers } = useQuery({
    ...read('customers', 'list', { search: settled, limit: mostFound }),
    enabled: mayAsk,
  });
  const { data: model } = useQuery({ ...read('pricingModels', 'getDefault', {}), enabled: mayAsk });
  const { data: invoice } = useQuery({ ...read('invoices', 'get', { id: settled }), enabled: isId });
  const lower = text.toLowerCase();
  const pages = destinations.flatMap(({ group, pages: ofGroup }) => ofGroup.map((page) => ({ ...page, about: group })));
  const products = mayAsk ? (model?.pricingModel.products ?? []) : [];
  return [
    { group: 'Pages', found: pages.filter(({ name }) => name.toLowerCase().includes(lower)) },
    {
      group: 'Customers',
      found: (mayAsk ? (customers?.data ?? []) : []).map(({ id, name, email }) => ({
        to: `/customers/${id}`,
        name,
        about: email,
        icon: IconUser,
      })),
    },
    {
      group: 'Products',
      found: products
        .filter(({ name, slug }) => `${name} ${slug}`.toLowerCase().includes(lower))
        .slice(0, mostFound)
        .map(({ id, name, slug }) => ({ to: `/catalog?product=${id}`, name, about: slug, icon: IconPackage })),
    },
    {
      group: 'Invoices',
      found: (isId && invoice !== undefined ? [invoice.invoice] : []).map(
        ({ id, invoiceNumber, total, currency, status }) => ({
          to: `/invoices/${id}`,
          name: invoiceNumber ?? 'Draft',
          about: `${moneyText(total, currency)}, ${words(status).toLowerCase()}`,
          icon: IconFileInvoice,
        }),
      ),
    },
  ];
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
