import type { Instant } from '../kernel/calendar.ts';
import type { Issue } from '../kernel/problem.ts';
import type { ProductStructure, Structure } from './structure.ts';
import { completeStructure, type Path, structureIssue } from './structure-check.ts';
import { describeContents, type PricingModelContents, representatives } from './structure-contents.ts';

/**
 * What a pricing model is to hold after an update: the given structure, in which the default product is as it was (its
 * slug, price, state and labels), and which is checked as a whole.
 *
 * Refuses with every issue there is: what a setup refuses, a second default product, a usage meter that is left out, and
 * another type for an active feature or for the price of an active product.
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
 * Which of the given products is the default one: that with its slug, else the only one that is marked as the default,
 * which has then got another slug, unless it is another product that has this slug already. -1 when it is left out.
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

/** The default product with the texts and features that are given for it: everyone stands on the rest. */
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
      // The price of the default product is put back whatever is sent.
      if (!row?.active || row.default || type === undefined || type === price.type) return [];
      const message = `must be ${type}: the type of a product's price cannot change`;
      return [structureIssue(['products', index, 'price', 'type'], message)];
    }),
  ];
}
