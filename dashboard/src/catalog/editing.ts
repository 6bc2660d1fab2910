import { useLocalStorage } from '@mantine/hooks';
import { currentEnvironment } from '../api.ts';
import { useFilters } from '../parts/records.tsx';
import { type Catalog, changedSlugs, countChanges, type Draft, isSame, type List, lists, redraw } from './draft.ts';

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

export interface DraftState {
  /** The catalog with the changes of the draft. */
  readonly shown: Catalog;
  readonly base: Catalog;
  readonly changes: number;
  /** The records that somebody else changed since the draft was begun. */
  readonly changedByOthers: readonly string[];
  readonly save: (next: Catalog) => void;
  readonly discard: () => void;
  readonly redraw: () => void;
}

/** The draft of a pricing model. It is kept in this browser, for each environment and model, until it is applied. */
export function useDraft(modelId: string, current: Catalog): DraftState {
  const [stored, setStored, discard] = useLocalStorage<Draft | null>({
    key: `tollkeeper.draft.${currentEnvironment()}.${modelId}`,
    defaultValue: null,
    getInitialValueInEffect: false,
  });
  // An applied draft, of which the answer was lost, is no draft any more.
  const draft = stored !== null && !isSame(stored.draft, current) ? stored : null;
  const base = draft?.base ?? current;
  const shown = draft?.draft ?? current;
  return {
    shown,
    base,
    changes: countChanges(base, shown),
    changedByOthers: lists.flatMap((list) => changedSlugs(list, base, current)),
    save: (next) => (isSame(next, base) ? discard() : setStored({ base, draft: next })),
    discard,
    redraw: () => draft !== null && setStored({ base: current, draft: redraw(draft, current) }),
  };
}
