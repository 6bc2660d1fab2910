import assert from 'node:assert/strict';
import type { Instant } from '../kernel/calendar.ts';
import type { IdKind } from '../kernel/id.ts';
import type { NewFeature } from './feature.ts';
import type { NewPrice } from './price.ts';
import { isLinkActive } from './product-change.ts';
import type { StructureChanges } from './structure-changes.ts';
import type { PricingModelContents } from './structure-contents.ts';

interface CopyContext {
  readonly pricingModelId: string;
  readonly now: Instant;
  readonly newId: (kind: IdKind) => string;
}

/**
 * Copies every record of a pricing model in the same order, with new ids and references to the copies. Inactive records
 * are copied too; expired links are not, because they do not affect the future.
 */
export function copyContents(contents: PricingModelContents, context: CopyContext): StructureChanges {
  const { pricingModelId, newId } = context;
  const ids = new Map<string, string>();
  const copied = <Row extends { id: string }>(kind: IdKind, { id, ...row }: Row) => {
    const copy = newId(kind);
    ids.set(id, copy);
    return { ...row, id: copy, pricingModelId };
  };
  const idOf = (id: string) => {
    const copy = ids.get(id);
    assert(copy !== undefined, 'a record refers to its own pricing model only');
    return copy;
  };
  return {
    resources: made(contents.resources.map((row) => copied('resource', row))),
    usageMeters: made(contents.usageMeters.map((row) => copied('usageMeter', row))),
    features: made(
      contents.features.map((row): NewFeature => {
        switch (row.type) {
          case 'toggle':
            return copied('feature', row);
          case 'usage_credit_grant':
            return { ...copied('feature', row), usageMeterId: idOf(row.usageMeterId) };
          case 'resource':
            return { ...copied('feature', row), resourceId: idOf(row.resourceId) };
          default:
            return row satisfies never;
        }
      }),
    ),
    products: made(contents.products.map((row) => copied('product', row))),
    prices: {
      ...made(
        contents.prices.map((row): NewPrice => {
          if (row.type === 'usage') return { ...copied('price', row), usageMeterId: idOf(row.usageMeterId) };
          if (row.type === 'subscription') return { ...copied('price', row), productId: idOf(row.productId) };
          return { ...copied('price', row), productId: idOf(row.productId) };
        }),
      ),
      renamed: [],
    },
    productFeatures: {
      linked: contents.productFeatures
        .filter((row) => isLinkActive(row, context.now))
        .map((row) => ({
          ...copied('productFeature', row),
          productId: idOf(row.productId),
          featureId: idOf(row.featureId),
        })),
      expired: [],
    },
  };
}

function made<Made>(rows: Made[]) {
  return { made: rows, changed: [] };
}
