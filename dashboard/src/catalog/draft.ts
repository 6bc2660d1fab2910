import type { PricingModelExport } from '../../../client/src/generated-entry.ts';

/** A pricing model as its export says it. */
export type Catalog = PricingModelExport['pricingModel'];
export type CatalogProduct = Catalog['products'][number];
export type CatalogFeature = Catalog['features'][number];
export type GivenFeature = CatalogProduct['features'][number];
export type FeatureValue = Extract<CatalogFeature, { type: 'value' }>['value'];
export type CatalogMeter = Catalog['usageMeters'][number];
export type CatalogResource = Catalog['resources'][number];
export type CatalogPool = NonNullable<Catalog['creditPools']>[number];
export type PlanPrice = CatalogProduct['price'];
export type UsagePrice = CatalogMeter['prices'][number];

/** Changes that are not applied yet, and the state on which they are built. */
export interface Draft {
  readonly base: Catalog;
  readonly draft: Catalog;
}

/** The lists of a catalog, and the slug by which a record of each is known. */
const slugsOf = {
  products: ({ product }: CatalogProduct) => product.slug,
  features: ({ slug }: CatalogFeature) => slug,
  usageMeters: ({ usageMeter }: CatalogMeter) => usageMeter.slug,
  resources: ({ slug }: CatalogResource) => slug,
  creditPools: ({ slug }: CatalogPool) => slug,
} as const;
export type List = keyof typeof slugsOf;
export type RecordOf<L extends List> = NonNullable<Catalog[L]>[number];
export const lists = Object.keys(slugsOf) as List[];

/** The records of a list, which an export without any may leave out. */
export function recordsIn<L extends List>(catalog: Pick<Catalog, L>, list: L): RecordOf<L>[] {
  return (catalog[list] ?? []) as RecordOf<L>[];
}

export function slugOf<L extends List>(list: L, record: RecordOf<L>): string {
  return (slugsOf[list] as (each: RecordOf<L>) => string)(record);
}

export function find<L extends List>(catalog: Catalog, list: L, slug: string | null): RecordOf<L> | undefined {
  return recordsIn(catalog, list).find((record) => slugOf(list, record) === slug);
}

/** The feature that a product gives, and the value that it gives in place of that of the feature. */
export function givenOf(given: GivenFeature): { readonly slug: string; readonly value: FeatureValue | undefined } {
  return typeof given === 'string' ? { slug: given, value: undefined } : given;
}

/** The catalog with a record in place of the one with this slug, or at the end. */
export function putRecord<L extends List>(
  catalog: Catalog,
  list: L,
  record: RecordOf<L>,
  slug: string | null = slugOf(list, record),
): Catalog {
  const records = recordsIn(catalog, list);
  const index = records.findIndex((each) => slugOf(list, each) === slug);
  const next = index < 0 ? [...records, record] : records.with(index, record);
  return withRecords(catalog, list, next);
}

export function removeRecord<L extends List>(catalog: Catalog, list: L, slug: string): Catalog {
  const records = recordsIn(catalog, list).filter((record) => slugOf(list, record) !== slug);
  return withRecords(catalog, list, records);
}

/** An export leaves out the list of credit pools where there are none, and so does a draft. */
function withRecords<L extends List>(catalog: Catalog, list: L, records: RecordOf<L>[]): Catalog {
  const { creditPools: _, ...rest } = catalog;
  return list === 'creditPools' && records.length === 0 ? rest : { ...catalog, [list]: records };
}

/** The record with a field, or without it where there is no value. */
export function put<Record extends object, Key extends keyof Record>(
  record: Record,
  key: Key,
  value: Record[Key] | undefined | '',
): Record {
  const { [key]: _, ...rest } = record;
  return (value === undefined || value === '' ? rest : { ...record, [key]: value }) as Record;
}

/** Equal values, whatever the order of their keys. */
export function isSame(a: unknown, b: unknown): boolean {
  return textOf(a) === textOf(b);
}

function textOf(value: unknown): string {
  const sorted = (_: string, each: unknown) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each;
  return JSON.stringify(value, sorted) ?? '';
}

/** The records of a list that differ, by slug. */
export function changedSlugs(list: List, before: Catalog, after: Catalog): string[] {
  const slugs = [before, after].flatMap((catalog) => recordsIn(catalog, list).map((record) => slugOf(list, record)));
  return [...new Set(slugs)].filter((slug) => !isSame(find(before, list, slug), find(after, list, slug)));
}

/** How many records a draft changes. */
export function countChanges(before: Catalog, after: Catalog): number {
  const own = before.name === after.name && before.isDefault === after.isDefault ? 0 : 1;
  return lists.reduce((count, list) => count + changedSlugs(list, before, after).length, own);
}

/** The draft on the present state: its own changes, and everything else as it is now. */
export function redraw({ base, draft }: Draft, current: Catalog): Catalog {
  const redrawn = lists.reduce<Catalog>(
    (catalog, list) => withRecords(catalog, list, redrawList(list, { base, draft }, current)),
    current,
  );
  return {
    ...redrawn,
    name: draft.name === base.name ? current.name : draft.name,
    isDefault: draft.isDefault === base.isDefault ? current.isDefault : draft.isDefault,
  };
}

function redrawList<L extends List>(list: L, { base, draft }: Draft, current: Catalog): RecordOf<L>[] {
  const theirs = recordsIn(current, list);
  const mine = recordsIn(draft, list);
  const isMine = (slug: string) => !isSame(find(base, list, slug), find(draft, list, slug));
  const kept = theirs.flatMap((record) => {
    const slug = slugOf(list, record);
    return isMine(slug) ? mine.filter((each) => slugOf(list, each) === slug) : [record];
  });
  const added = mine.filter((record) => {
    const slug = slugOf(list, record);
    return isMine(slug) && find(current, list, slug) === undefined;
  });
  return [...kept, ...added];
}

/** `Pro, annual` -> pro-annual */
export function slugFrom(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** A catalog in which nothing is for sale yet but the default plan. */
export function isBare({ products, features, usageMeters, resources, creditPools = [] }: Catalog): boolean {
  const others = [features, usageMeters, resources, creditPools];
  return products.every(({ product }) => product.default) && others.every(({ length }) => length === 0);
}
