import { isNoChargePrice, noChargePrice } from './no-charge-price.ts';
import type { NewPrice, Price } from './price.ts';
import type { UsageMeterStructure, UsagePriceStructure } from './structure.ts';
import { type Changes, type PlanContext, withFields } from './structure-changes.ts';
import { type PricingModelContents, pricesByOwner, type UsagePrice } from './structure-contents.ts';
import type { NewUsageMeter, UsageMeter } from './usage-meter.ts';

export interface UsageMeterPlan extends Changes<NewUsageMeter, UsageMeter> {
  readonly ids: ReadonlyMap<string, string>;
  readonly prices: Changes<NewPrice, Price>;
}

/** Usage meters are created or changed, never removed; their prices follow. */
export function planUsageMeters(
  current: PricingModelContents,
  wanted: readonly UsageMeterStructure[],
  context: PlanContext,
): UsageMeterPlan {
  const stored = new Map(current.usageMeters.map((meter) => [meter.slug, meter]));
  const { ofUsageMeter } = pricesByOwner(current.prices);
  const ids = new Map<string, string>();
  const made: NewUsageMeter[] = [];
  const changed: UsageMeter[] = [];
  const prices = { made: [] as NewPrice[], changed: [] as Price[] };
  for (const { usageMeter, prices: wantedPrices } of wanted) {
    const row = stored.get(usageMeter.slug);
    const meter = row ?? { id: context.newId('usageMeter'), pricingModelId: context.pricingModelId, ...usageMeter };
    ids.set(usageMeter.slug, meter.id);
    const change = row && withFields(row, usageMeter);
    if (row === undefined) made.push(meter);
    if (change) changed.push(change);
    const plan = planUsagePrices({ ...meter, ...usageMeter }, ofUsageMeter.get(meter.id) ?? [], wantedPrices, context);
    prices.made.push(...plan.made);
    prices.changed.push(...plan.changed);
  }
  return { made, changed, ids, prices };
}

/**
 * Plans the prices of one meter: those missing in `wanted` end, and the no-charge price is the default if no other is.
 */
function planUsagePrices(
  meter: NewUsageMeter,
  current: readonly UsagePrice[],
  wanted: readonly UsagePriceStructure[],
  context: PlanContext,
): Changes<NewPrice, Price> {
  const made: NewPrice[] = [];
  const changed: Price[] = [];
  const free = new Set(current.filter((price) => !isNoChargePrice(price)));
  for (const price of wanted) {
    const row = matchUsagePrice([...free], price);
    const { name, isDefault, active } = price;
    if (row !== undefined && hasTerms(row, price)) {
      free.delete(row);
      const change = withFields<UsagePrice, Partial<UsagePrice>>(row, { name, isDefault, active });
      if (change) changed.push(change);
    } else {
      // A row with the same slug and other terms stays unmatched and ends below: agreed terms are never rewritten.
      made.push(newUsagePrice(meter, price, context));
    }
  }
  const ended = [...free].filter(({ active, isDefault }) => active || isDefault);
  changed.push(...ended.map((row) => ({ ...row, active: false, isDefault: false })));

  const isDefault = !wanted.some((price) => price.isDefault);
  const noCharge = current.find((price) => isNoChargePrice(price) && price.active);
  const change = noCharge && withFields<UsagePrice, Partial<UsagePrice>>(noCharge, { isDefault });
  if (noCharge === undefined) {
    made.push(noChargePrice(context.newId('price'), meter, { isDefault, currency: context.currency }));
  }
  if (change) changed.push(change);
  return { made, changed };
}

function newUsagePrice(meter: NewUsageMeter, price: UsagePriceStructure, context: PlanContext): NewPrice {
  return {
    id: context.newId('price'),
    pricingModelId: context.pricingModelId,
    productId: null,
    usageMeterId: meter.id,
    type: 'usage',
    trialPeriodDays: null,
    currency: context.currency,
    ...price,
  };
}

/**
 * The stored price that matches a wanted one. With a slug: the active one, else the newest with the same terms. Without
 * a slug: by terms only; among equals, one that needs no change comes first.
 */
function matchUsagePrice(candidates: readonly UsagePrice[], wanted: UsagePriceStructure): UsagePrice | undefined {
  const named = candidates.filter(({ slug }) => slug === wanted.slug);
  if (wanted.slug !== null) {
    return named.find(({ active }) => active) ?? named.findLast((price) => hasTerms(price, wanted));
  }
  const alike = named.filter((price) => hasTerms(price, wanted));
  return (
    alike.find((price) => isLike(price, wanted)) ?? alike.find(({ active }) => active) ?? alike.findLast(() => true)
  );
}

/** Whether the price has these terms, which never change on a price. */
function hasTerms(price: UsagePrice, wanted: UsagePriceStructure): boolean {
  return (
    price.unitPrice === wanted.unitPrice &&
    price.usageEventsPerUnit === wanted.usageEventsPerUnit &&
    price.intervalUnit === wanted.intervalUnit &&
    price.intervalCount === wanted.intervalCount
  );
}

function isLike(price: UsagePrice, { name, isDefault, active }: UsagePriceStructure): boolean {
  return price.name === name && price.isDefault === isDefault && price.active === active;
}
