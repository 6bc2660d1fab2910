import { z } from 'zod';
import { isSameJson } from '../kernel/json.ts';
import type { PricingModelExport } from './structure-copy.ts';

const recordNames = ['pricingModel', 'feature', 'product', 'price', 'usageMeter', 'usagePrice', 'resource'] as const;

/** A difference between two states of a pricing model. */
const PricingDifference = z.object({
  operation: z.enum(['create', 'update', 'remove']),
  record: z.enum(recordNames),
  slug: z
    .string()
    .nullable()
    .meta({ description: 'Its slug. For a `price` the slug of its product; null for the pricing model itself.' }),
  usageMeterSlug: z.string().nullable().meta({ description: 'The usage meter of a `usagePrice`.' }),
  fields: z
    .array(z.object({ name: z.string(), before: z.unknown().nullable(), after: z.unknown().nullable() }))
    .meta({ description: 'The fields that differ, with their values; null where there is none.' }),
});
export type PricingDifference = z.infer<typeof PricingDifference>;

/** A difference that an apply makes, and the customers who have the record. */
export const PricingChange = PricingDifference.extend({
  subscriptions: z.int().meta({
    description:
      'The current subscriptions that have the record: by its product, by its feature, or by usage on its meter. A ' +
      'lower bound from 10,000 on.',
  }),
  customers: z.int().meta({ description: 'The customers of these subscriptions.' }),
}).meta({ id: 'PricingChange' });
export type PricingChange = z.infer<typeof PricingChange>;

type Exported = PricingModelExport['pricingModel'];
type GivenFeature = Exported['products'][number]['features'][number];

interface ExportedRecord extends Pick<PricingDifference, 'record' | 'slug' | 'usageMeterSlug'> {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The records of an export by a key that stays the same while a record is the same. */
function recordsOf({
  name,
  isDefault,
  features,
  products,
  usageMeters,
  resources,
}: Exported): Map<string, ExportedRecord> {
  const records: ExportedRecord[] = [
    { record: 'pricingModel', slug: null, usageMeterSlug: null, fields: { name, isDefault } },
    ...features.map((fields) => named('feature', fields)),
    ...resources.map((fields) => named('resource', fields)),
    ...usageMeters.flatMap(({ usageMeter, prices }) => [
      named('usageMeter', usageMeter),
      ...prices.map((fields) => ({ ...named('usagePrice', fields), usageMeterSlug: usageMeter.slug })),
    ]),
    ...products.flatMap(({ product, price, features: granted }) => [
      named('product', { ...product, features: granted.toSorted(bySlug) }),
      { ...named('price', price), slug: product.slug },
    ]),
  ];
  const seen = new Map<string, number>();
  return new Map(
    records.map((each) => {
      // A usage price without a slug is only its terms, of which there may be several.
      const terms = each.record === 'pricingModel' ? null : each.fields;
      const key = JSON.stringify([each.record, each.usageMeterSlug, each.slug ?? terms]);
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      return [`${key} ${count}`, each];
    }),
  );
}

/** Features of a product are a set, so their order says nothing. */
function bySlug(one: GivenFeature, other: GivenFeature): number {
  const [a, b] = [one, other].map((each) => (typeof each === 'string' ? each : each.slug));
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

function named<Fields extends { readonly slug?: string | undefined }>(
  record: ExportedRecord['record'],
  fields: Fields,
): ExportedRecord {
  return { record, slug: fields.slug ?? null, usageMeterSlug: null, fields: { ...fields } };
}

/** The differences between two exports; null: there was no pricing model before. */
export function pricingChanges(before: Exported | null, after: Exported): PricingDifference[] {
  const [old, now] = [before === null ? new Map<string, ExportedRecord>() : recordsOf(before), recordsOf(after)];
  const changes = [...now].flatMap(([key, each]): PricingDifference[] => {
    const former = old.get(key);
    const fields = differences(former?.fields ?? {}, each.fields);
    return fields.length === 0 ? [] : [{ ...each, operation: former === undefined ? 'create' : 'update', fields }];
  });
  const removed = [...old].filter(([key]) => !now.has(key));
  return [
    ...changes,
    ...removed.map(
      ([, each]): PricingDifference => ({ ...each, operation: 'remove', fields: differences(each.fields, {}) }),
    ),
  ];
}

function differences(before: ExportedRecord['fields'], after: ExportedRecord['fields']): PricingDifference['fields'] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSameJson(before[name], after[name]))
    .map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null }));
}
