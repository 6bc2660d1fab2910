import { useFilters } from '../parts/records.tsx';
import { type List, lists } from './draft.ts';

/** The address of a record's form: `products.pro`, or `products.` for a new one. */
export function useEditing() {
  const { filters, setFilters } = useFilters();
  const [name = '', ...rest] = (filters.edit ?? '').split('.');
  const list = lists.find((each) => each === name) ?? null;
  return {
    list,
    slug: rest.join('.') || null,
    edit: (which: List, slug = '') => setFilters({ edit: `${which}.${slug}` }),
    close: () => setFilters({ edit: undefined }),
  };
}
