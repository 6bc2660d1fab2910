import type { Instant } from '../kernel/calendar.ts';
import type { Issue } from '../kernel/problem.ts';
import type { ProductStructure, Structure } from './structure.ts';
import { completeStructure, type Path, structureIssue } from './structure-check.ts';
import { describeContents, type PricingModelContents, representatives } from './structure-contents.ts';

/**
 * The checked structure of a pricing model after an update: the given one, with the default product's slug, price,
 * state and labels unchanged.
 *
 * Refuses with all issues at once. They are those of a setup, a second default product, a missing usage meter, and a
 * new type for an active feature or the price of an active product.
 */
export function prepareUpdate(contents: PricingModelContents, given: Structure, path: Path, now: Instant): Structure {
  const stored = describeContents(contents, now);
  const isDefault = ({ product }: ProductStructure) => product.default;
  const standing = stored.products.find(isDefault);
  const issues = [...removedUsageMeterIssues(stored, given), ...typeIssues(contents, stored, given)];
  if (standing === undefined) return completeStructure(given, path, { issues });
  const activeSlugs = new Set(contents.products.filter(({ active }) => active).map(({ slug }) => slug));
  const index = findDefault(given.products, standing, activeSlugs);
  const products = given.products.map((each, position) => {
    if (position === index) return protect(standing, each);
    if (!each.product.default) return each;
    const message = `must be false: the default product is ${standing.product.slug} and cannot change`;
    issues.push(structureIssue(['products', position, 'product', 'default'], message));
    return { ...each, product: { ...each.product, default: false } };
  });
  return completeStructure({ ...given, products }, path, { kept: standing, issues });
}

/**
 * The index of the default product among the given ones, or -1 if it is missing. It is the one with its slug, else the
 * only one marked as default, whose slug is then new (unless another product already has that slug).
 */
function findDefault(
  products: readonly ProductStructure[],
  standing: ProductStructure,
  activeSlugs: ReadonlySet<string>,
): number {
  const bySlug = products.findIndex(({ product }) => product.slug === standing.product.slug);
  if (bySlug >= 0) return bySlug;
  const marked = products.findIndex(({ product }) => product.default);
  return activeSlugs.has(products[marked]?.product.slug ?? '') ? -1 : marked;
}

/** The default product with the given texts and features; everything else is fixed. */
function protect(standing: ProductStructure, given: ProductStructure): ProductStructure {
  const { name, description, imageURL } = given.product;
  return {
    product: { ...standing.product, name, description, imageURL },
    price: standing.price,
    features: given.features,
  };
}

function removedUsageMeterIssues(stored: Structure, given: Structure): Issue[] {
  const slugs = new Set(given.usageMeters.map(({ usageMeter }) => usageMeter.slug));
  const removed = stored.usageMeters.filter(({ usageMeter }) => !slugs.has(usageMeter.slug));
  return removed.map(({ usageMeter }) =>
    structureIssue(['usageMeters'], `must contain ${usageMeter.slug}: a usage meter cannot be removed`),
  );
}

function typeIssues(contents: PricingModelContents, stored: Structure, given: Structure): Issue[] {
  const features = representatives(contents.features);
  const sold = new Map(stored.products.map(({ product, price }) => [product.slug, price.type]));
  const products = representatives(contents.products);
  return [
    ...given.features.flatMap(({ slug, type }, index) => {
      const row = features.get(slug);
      if (!row?.active || row.type === type) return [];
      return [structureIssue(['features', index, 'type'], `must be ${row.type}: the type of a feature cannot change`)];
    }),
    ...given.products.flatMap(({ product, price }, index) => {
      const row = products.get(product.slug);
      const type = sold.get(product.slug);
      // The default product's price is restored whatever is sent.
      if (!row?.active || row.default || type === undefined || type === price.type) return [];
      const message = `must be ${type}: the type of a product's price cannot change`;
      return [structureIssue(['products', index, 'price', 'type'], message)];
    }),
  ];
}
