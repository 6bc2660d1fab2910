import { invalid, Problem } from '../kernel/problem.ts';
import { isNoChargePrice, isReservedPriceSlug } from './no-charge-price.ts';
import type { Price } from './price.ts';
import { type PriceChange, reservedPriceSlugMessage } from './price-input.ts';

const maxSlugLength = 255;

/**
 * Returns a price after a change, first, and its siblings (the other prices of its product or meter) that change with
 * it. A product or meter always keeps a default price. If a meter's default is unset or deactivated, the no-charge
 * price becomes the default. If a product's default is deactivated, its newest active price does, if there is one.
 */
export function decidePriceChange(
  price: Price,
  siblings: readonly Price[],
  change: PriceChange,
  { ofDefaultProduct }: { readonly ofDefaultProduct: boolean },
): Price[] {
  if (change.type !== undefined && change.type !== price.type) {
    throw invalid(['price', 'type'], `must be ${price.type}: the type of a price cannot change`);
  }
  const { name = price.name, slug = price.slug, active = price.active, isDefault = price.isDefault } = change;
  if (ofDefaultProduct) protectDefaultProduct(price, { slug, active, isDefault });
  if (isNoChargePrice(price)) protectNoCharge(price, { slug, active, isDefault });
  else if (slug !== price.slug) refuseBadSlug(slug);
  if (!price.isDefault && change.isDefault && !active) {
    throw invalid(['price', 'isDefault'], 'an inactive price cannot become the default: send active: true as well');
  }
  if (price.isDefault && !isDefault && price.productId !== null) {
    throw new Problem('defaultPriceNeeded', { id: price.id });
  }
  return settleDefault({ ...price, name, slug, active, isDefault }, price, siblings);
}

/** Gives the default flag to exactly one of the prices and returns those that changed. */
function settleDefault(changed: Price, before: Price, siblings: readonly Price[]): Price[] {
  const inForce = siblings.find((each) => each.isDefault);
  const takes = changed.isDefault && changed.active;
  const isFirstActive = changed.active && !before.isDefault && changed.productId !== null && inForce?.active === false;
  if (takes || isFirstActive) {
    return [{ ...changed, isDefault: true }, ...(inForce ? [{ ...inForce, isDefault: false }] : [])];
  }
  if (!before.isDefault) return [changed];
  const heir = siblings.findLast((each) => (each.type === 'usage' ? isNoChargePrice(each) : each.active));
  // A product without an active price keeps its default, for when it is activated again.
  if (heir === undefined) return [{ ...changed, isDefault: true }];
  return [
    { ...changed, isDefault: false },
    { ...heir, isDefault: true },
  ];
}

interface Wanted {
  readonly slug: string | null;
  readonly active: boolean;
  readonly isDefault: boolean;
}

function protectNoCharge(price: Price, wanted: Wanted): void {
  const refuse = (rule: string) => new Problem('noChargePriceProtected', { id: price.id, rule });
  if (!wanted.active) throw refuse('it must stay active');
  if (wanted.slug !== price.slug) throw refuse('its slug follows the slug of the usage meter');
  if (price.isDefault && !wanted.isDefault) {
    throw refuse('it stays the default until another price of the usage meter becomes the default');
  }
}

function protectDefaultProduct(price: Price, wanted: Wanted): void {
  const refuse = (rule: string) => new Problem('defaultProductProtected', { id: price.productId ?? '', rule });
  if (wanted.slug !== price.slug) throw refuse('the slug of its price cannot change');
  if (wanted.isDefault !== price.isDefault) throw refuse('its default price cannot be replaced');
  if (wanted.active !== price.active) throw refuse('its price cannot be activated or deactivated');
}

/** Refuses a slug that is reserved for no-charge prices; `path` is where the slug was sent. */
export function refuseBadSlug(slug: string | null, path: readonly string[] = ['price', 'slug']): void {
  if (isReservedPriceSlug(slug)) throw invalid(path, reservedPriceSlugMessage);
  if ((slug?.length ?? 0) > maxSlugLength) throw invalid(path, `must have at most ${maxSlugLength} characters`);
}
