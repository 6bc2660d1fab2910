import { z } from 'zod';
import { isSameJson } from '../kernel/json.ts';
import type { PricingModelExport } from './structure-copy.ts';

const recordNames = ['pricingModel', 'feature', 'product', 'price', 'usageMeter', 'usagePrice', 'resource'] as const;

/** A difference between a pricing model before and after an apply. */
export const PricingChange = z
  .object({
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
  })
  .meta({ id: 'PricingChange' });
export type PricingChange = z.infer<typeof PricingChange>;

type Exported = PricingModelExport['pricingModel'];

interface ExportedRecord extends Pick<PricingChange, 'record' | 'slug' | 'usageMeterSlug'> {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The records of an export by a key that stays the same while a record is the same. */
function recordsOf({ isDefault, features, products, usageMeters, resources }: Exported): Map<string, ExportedRecord> {
  const records: ExportedRecord[] = [
    { record: 'pricingModel', slug: null, usageMeterSlug: null, fields: { isDefault } },
    ...features.map((fields) => named('feature', fields)),
    ...resources.map((fields) => named('resource', fields)),
    ...usageMeters.flatMap(({ usageMeter, prices }) => [
      named('usageMeter', usageMeter),
      ...prices.map((fields) => ({ ...named('usagePrice', fields), usageMeterSlug: usageMeter.slug })),
    ]),
    ...products.flatMap(({ product, price, features: granted }) => [
      named('product', { ...product, features: [...granted].sort() }),
      { ...named('price', price), slug: product.slug },
    ]),
  ];
  const seen = new Map<string, number>();
  return new Map(
    records.map((each) => {
      // A usage price without a slug is only its terms, of which there may be several.
      const key = JSON.stringify([each.record, each.usageMeterSlug, each.slug ?? each.fields]);
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      return [`${key} ${count}`, each];
    }),
  );
}

function named<Fields extends { readonly slug?: string | undefined }>(
  record: ExportedRecord['record'],
  fields: Fields,
): ExportedRecord {
  return { record, slug: fields.slug ?? null, usageMeterSlug: null, fields: { ...fields } };
}

/** The differences between two exports; null: there was no pricing model before. */
export function pricingChanges(before: Exported | null, after: Exported): PricingChange[] {
  const [old, now] = [before === null ? new Map<string, ExportedRecord>() : recordsOf(before), recordsOf(after)];
  const changes = [...now].flatMap(([key, each]): PricingChange[] => {
    const former = old.get(key);
    const fields = differences(former?.fields ?? {}, each.fields);
    return fields.length === 0 ? [] : [{ ...each, operation: former === undefined ? 'create' : 'update', fields }];
  });
  const removed = [...old].filter(([key]) => !now.has(key));
  return [
    ...changes,
    ...removed.map(
      ([, each]): PricingChange => ({ ...each, operation: 'remove', fields: differences(each.fields, {}) }),
    ),
  ];
}

function differences(before: ExportedRecord['fields'], after: ExportedRecord['fields']): PricingChange['fields'] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSameJson(before[name], after[name]))
    .map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null }));
}
