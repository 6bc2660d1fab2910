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

/** Records to make, and records to write again with what has changed of them. */
export interface Changes<Made, Kept> {
  readonly made: readonly Made[];
  readonly changed: readonly Kept[];
}

/** What to write so that a pricing model holds another structure. Nothing to do means that every list is empty. */
export interface StructureChanges {
  readonly resources: Changes<NewResource, Resource>;
  readonly usageMeters: Changes<NewUsageMeter, UsageMeter>;
  readonly features: Changes<NewFeature, Feature>;
  readonly products: Changes<NewProduct, Product>;
  /** `renamed` are those of `changed` whose slug is not what it was: another price may be about to get the old one. */
  readonly prices: Changes<NewPrice, Price> & { readonly renamed: readonly Price[] };
  /** `linked` are made, or revived where the pair has a link that has expired; `expired` are ids. */
  readonly productFeatures: { readonly linked: readonly NewProductFeature[]; readonly expired: readonly string[] };
}

/** What new records need that no structure says. */
export interface PlanContext {
  readonly pricingModelId: string;
  readonly currency: CurrencyCode;
  readonly now: Instant;
  readonly newId: (kind: IdKind) => string;
}

/** What becomes of the features: their ids by slug, and those that their slugs no longer stand for. */
export interface FeaturePlan extends Changes<NewFeature, Feature> {
  readonly ids: ReadonlyMap<string, string>;
  /** Every feature that the structure speaks of: the wanted ones, and those that it removes by leaving them out. */
  readonly spokenOf: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

/** How many records the changes make or write. */
export function countChanges(changes: StructureChanges): number {
  const { resources, usageMeters, features, products, prices, productFeatures } = changes;
  const records = [resources, usageMeters, features, products, prices].reduce(
    (count, { made, changed }) => count + made.length + changed.length,
    0,
  );
  return records + productFeatures.linked.length + productFeatures.expired.length;
}

/** The record with the given fields, or null when it has them already. */
export function withFields<Row extends object, Fields extends Partial<Row>>(row: Row, fields: Fields): Row | null {
  const isSame = Object.entries(fields).every(([key, value]) => row[key as keyof Row] === value);
  return isSame ? null : { ...row, ...fields };
}

/** The id that a slug stands for; that the structure holds the slug was checked before. */
export function known(ids: ReadonlyMap<string, string>, slug: string): string {
  const id = ids.get(slug);
  assert(id !== undefined, `the structure contains ${slug}`);
  return id;
}
