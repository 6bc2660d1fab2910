import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { read } from '../api.ts';
import { Go } from './shown.tsx';

const Names = createContext<ReadonlyMap<string, string>>(new Map());

interface NamesProps {
  /** The query of a list whose rows name their customers. */
  readonly ids: readonly string[];
  readonly children: ReactNode;
}

/** Reads the names of the customers of a page of records, in one request. */
export function CustomerNames({ ids, children }: NamesProps) {
  const wanted = [...new Set(ids)].sort();
  const { data } = useQuery({
    ...read('customers', 'list', { ids: wanted.join(','), limit: 100 }),
    enabled: wanted.length > 0,
  });
  const names = new Map((data?.data ?? []).map(({ id, name, externalId }) => [id, name || externalId]));
  return <Names value={names}>{children}</Names>;
}

/** The name of a customer, as a link to the customer. */
export function CustomerName({ id }: { readonly id: string }) {
  const name = useContext(Names).get(id);
  return <Go to={`/customers/${id}`}>{name ?? '…'}</Go>;
}
