import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { IdKind } from '../kernel/id.ts';
import type { Feature, NewFeature } from './feature.ts';
import type { NewPrice, Price } from './price.ts';
import type { NewProduct, Product } from './product.ts';
import type { NewProductFeature } from './product-feature.ts';
import type { NewResource, Resource } from './resource.ts';
import type { NewUsageMeter, UsageMeter } from './usage-meter.ts';

/** Records to insert, and existing records with their new values. */
export interface Changes<Made, Kept> {
  readonly made: readonly Made[];
  readonly changed: readonly Kept[];
}

/** The writes that give a pricing model another structure. Without changes, every list is empty. */
export interface StructureChanges {
  readonly resources: Changes<NewResource, Resource>;
  readonly usageMeters: Changes<NewUsageMeter, UsageMeter>;
  readonly features: Changes<NewFeature, Feature>;
  readonly products: Changes<NewProduct, Product>;
  /** The members of `changed` with a new slug: another price may be about to take the old one. */
  readonly prices: Changes<NewPrice, Price> & { readonly renamed: readonly Price[] };
  /** `linked` are inserted, or revived if the pair has an expired link; `expired` are ids. */
  readonly productFeatures: { readonly linked: readonly NewProductFeature[]; readonly expired: readonly string[] };
}

/** The values of new records that a structure does not contain. */
export interface PlanContext {
  readonly pricingModelId: string;
  readonly currency: CurrencyCode;
  readonly now: Instant;
  readonly newId: (kind: IdKind) => string;
}

/** The planned features: their ids by slug, and those that no longer own their slugs. */
export interface FeaturePlan extends Changes<NewFeature, Feature> {
  readonly ids: ReadonlyMap<string, string>;
  /** All features that the structure affects: those it contains, and those it removes by omission. */
  readonly spokenOf: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

/** The number of records that the changes insert or update. */
export function countChanges(changes: StructureChanges): number {
  const { resources, usageMeters, features, products, prices, productFeatures } = changes;
  const records = [resources, usageMeters, features, products, prices].reduce(
    (count, { made, changed }) => count + made.length + changed.length,
    0,
  );
  return records + productFeatures.linked.length + productFeatures.expired.length;
}

/** The record with the given fields, or null if it has them already. */
export function withFields<Row extends object, Fields extends Partial<Row>>(row: Row, fields: Fields): Row | null {
  const isSame = Object.entries(fields).every(([key, value]) => row[key as keyof Row] === value);
  return isSame ? null : { ...row, ...fields };
}

/** The id of a slug, which has been checked to be in the structure. */
export function known(ids: ReadonlyMap<string, string>, slug: string): string {
  const id = ids.get(slug);
  assert(id !== undefined, `the structure contains ${slug}`);
  return id;
}
