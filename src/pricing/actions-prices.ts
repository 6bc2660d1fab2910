import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { chargedStep } from '../kernel/currency.ts';
import { maxSafeInteger } from '../kernel/json.ts';
import { maxSafeAmount } from '../kernel/money.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { type PriceModel, priceUsage } from '../rating/price-model.ts';
import { currencyOf, only, refuseOtherId, required, requiredLocked, resolvePricingModel } from './actions.ts';
import type { NewPrice, Price } from './price.ts';
import {
  decidePriceChange,
  defaultWithConditions,
  newProductPrice,
  newUsagePrice,
  type PriceChange,
  type PriceInput,
  type Quote,
  type QuoteInput,
  type QuoteLineInput,
  refuseAmbiguous,
  type UsagePriceInput,
} from './price-input.ts';
import { fineAmount, type Pricing, priceModelOf, shownTier } from './pricing.ts';
import { decideUsagePrices, type Product, type ProductUsagePrice, type UsagePricesInput } from './product.ts';
import * as store from './store-prices.ts';
import { findProduct, findProductRating, saveProducts } from './store-products.ts';
import { findUsageMeter, listUsageMeters } from './store-usage-meters.ts';
import { isSold, standingPrice } from './structure-contents.ts';
import { isMeasured, issueOfMeasuredPrice, type UsageMeter } from './usage-meter.ts';

/** Creates a price. It becomes its product's only active price, or an additional price of its usage meter. */
export async function createPrice(work: Work, requested: PriceInput): Promise<Price> {
  return requested.type === 'usage' ? createUsagePrice(work, requested) : createProductPrice(work, requested);
}

async function createProductPrice(work: Work, requested: Exclude<PriceInput, { type: 'usage' }>): Promise<Price> {
  const product = await requiredLocked(work, findProduct, requested.productId, 'productNotFound');
  refuseOtherModel(requested, product);
  if (product.default) {
    throw new Problem('defaultProductProtected', { id: product.id, rule: 'it cannot have another price' });
  }
  const prices = await store.listPricesOfProducts(work, [product.id]);
  const other = prices.find((price) => price.type !== requested.type);
  if (other !== undefined) throw new Problem('priceTypeFixed', { id: product.id, type: other.type });
  const outdated = prices
    .filter((price) => price.active || price.isDefault)
    .map((price) => ({ ...price, active: false, isDefault: false }));
  const price = newProductPrice(newId('price'), product, requested, currencyOf(work));
  await sellAgain(work, product, prices, pricesAfter(prices, { save: outdated, insert: [price] }));
  await store.savePrices(work, outdated);
  return only(await store.insertPrices(work, [price]));
}

/** Gives a product whose price is active again the rates of now. The caller has locked its pricing model. */
async function sellAgain(
  work: Work,
  product: Product,
  before: readonly NewPrice[],
  after: readonly NewPrice[],
): Promise<void> {
  const usagePrices = await ratesAfter(work, { product, prices: before }, { product, prices: after });
  if (usagePrices !== product.usagePrices) await saveProducts(work, [{ ...product, usagePrices }]);
}

async function createUsagePrice(work: Work, requested: UsagePriceInput): Promise<Price> {
  const meter = await requiredLocked(work, findUsageMeter, requested.usageMeterId, 'usageMeterNotFound');
  refuseOtherModel(requested, meter);
  return addUsagePrice(work, meter, requested);
}

/** Adds a price to a usage meter. The caller has locked its pricing model. */
export async function addUsagePrice(work: Work, meter: UsageMeter, requested: UsagePriceInput): Promise<Price> {
  const price = newUsagePrice(newId('price'), meter, requested, currencyOf(work));
  const issue = isMeasured(meter) ? issueOfMeasuredPrice(price) : null;
  if (issue !== null) throw invalid(['price', ...issue.path], issue.message);
  if (price.isDefault && !price.active) throw invalid(['price', 'active'], 'must be true for a default price');
  if (price.isDefault && price.where !== null) throw invalid(['price', 'isDefault'], defaultWithConditions);
  const isConditional = price.active && price.where !== null;
  const prices = price.isDefault || isConditional ? await store.listPricesOfUsageMeters(work, [meter.id]) : [];
  if (isConditional) refuseAmbiguous(price, prices, ['price', 'where']);
  if (price.isDefault) {
    const former = prices.filter((each) => each.isDefault).map((each) => ({ ...each, isDefault: false }));
    await store.savePrices(work, former);
  }
  return only(await store.insertPrices(work, [price]));
}

function refuseOtherModel(
  requested: { readonly pricingModelId?: string | null | undefined },
  parent: { readonly pricingModelId: string },
): void {
  if (requested.pricingModelId != null && requested.pricingModelId !== parent.pricingModelId) {
    throw invalid(['price', 'pricingModelId'], `must be ${parent.pricingModelId}, or absent`);
  }
}

/** Returns a price, active or not. */
export async function getPrice(work: Work, id: string): Promise<Price> {
  return required(work, store.findPrice, id, 'priceNotFound');
}

/** Lists the prices of products and usage meters, inactive ones included. */
export async function listPrices(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPrices(work, request);
  return page(request, rows, total);
}

/** Changes a price's name, slug, default flag or activity; see `decidePriceChange`. */
export async function updatePrice(
  work: Work,
  id: string,
  { id: bodyId, ...change }: PriceChange & { readonly id?: string | undefined },
): Promise<Price> {
  refuseOtherId(id, bodyId);
  const price = await requiredLocked(work, store.findPrice, id, 'priceNotFound');
  const family =
    price.productId === null
      ? await store.listPricesOfUsageMeters(work, [price.usageMeterId])
      : await store.listPricesOfProducts(work, [price.productId]);
  const product = price.productId === null ? null : await findProduct(work, price.productId);
  const siblings = family.filter((each) => each.id !== id);
  const ofDefaultProduct = product?.default ?? false;
  const decided = decidePriceChange(price, siblings, change, { ofDefaultProduct });
  await refuseLostRate(work, price, decided[0]);
  if (product !== null) await sellAgain(work, product, family, pricesAfter(family, { save: decided }));
  const [changed = price] = await store.savePrices(work, decided);
  return changed;
}

/**
 * Refuses to take a price away while an active product rates usage by it. Its slug stays for every product, because its record
 * and its export name the price by it.
 */
async function refuseLostRate(work: Work, before: Price, after: Price | undefined): Promise<void> {
  if (before.type !== 'usage' || after === undefined) return;
  const refuse = (field: string, { slug }: { slug: string }) =>
    invalid(['price', field], `must stay, because product ${slug} names the price in its usagePrices`);
  const rating = before.active && !after.active ? await findProductRating(work, before, { isActive: true }) : null;
  if (rating !== null) throw refuse('active', rating);
  const naming = before.slug !== null && after.slug === null ? await findProductRating(work, before) : null;
  if (naming !== null) throw refuse('slug', naming);
}

/** The prices of units without any customer, by the same function that bills them. Each line is rounded by itself. */
export async function quotePrices(work: Work, { currency = currencyOf(work), lines }: QuoteInput): Promise<Quote> {
  const priceOf = await findPrices(work, lines);
  const step = chargedStep(currency);
  const models = new Map<Price, ReturnType<typeof modelOfPrice>>();
  let total = 0n;
  const quoted = lines.map((line, index) => {
    const path = ['quote', 'lines', index];
    const price = priceOf(line);
    if (price !== undefined && price.currency !== currency) {
      throw invalid(['quote', 'currency'], `must be ${price.currency}, the currency of ${price.slug ?? price.id}`);
    }
    refuseUnused(line, price?.pricing ?? line.pricing, path);
    const known = price && models.get(price);
    const { model, per } = known ?? (price === undefined ? modelOfPricing(line) : modelOfPrice(price));
    if (price !== undefined) models.set(price, { model, per });
    const { units, events = units > 0 ? 1 : 0, eventsAmount = '0' } = line;
    const usage = { units: BigInt(units), per, events: BigInt(events), ownAmount: fineAmount(eventsAmount) };
    const { amount, tiers } = priceUsage(model, usage, step);
    total += amount;
    if (total > maxSafeAmount)
      throw invalid([...path, 'units'], `must be fewer: the total is more than ${maxSafeInteger}`);
    return { units: usage.units, amount, tiers: per === 1n ? tiers.map(shownTier) : [] };
  });
  return { currency, lines: quoted, total };
}

/** Refuses facts about events that the model does not use, and a missing one that it needs. */
function refuseUnused(
  { events, eventsAmount }: QuoteLineInput,
  pricing: Pricing | undefined,
  path: readonly (string | number)[],
): void {
  const model = pricing?.model;
  if (events !== undefined && model !== 'percentage')
    throw invalid([...path, 'events'], 'must be absent: only percentage pricing has an amount per event');
  if (eventsAmount !== undefined && model !== 'dynamic')
    throw invalid([...path, 'eventsAmount'], 'must be absent: only dynamic pricing uses it');
  if (eventsAmount === undefined && model === 'dynamic')
    throw invalid([...path, 'eventsAmount'], 'must be given: with dynamic pricing each event has its own price');
}

function modelOfPricing({ pricing }: QuoteLineInput): { model: PriceModel; per: bigint } {
  assert(pricing !== undefined, 'a line without a price has a pricing');
  return { model: priceModelOf(pricing), per: 1n };
}

/** A price without `pricing` is `unitPrice` for a unit, or for `usageEventsPerUnit` units. */
function modelOfPrice({ unitPrice, usageEventsPerUnit, pricing }: Price): { model: PriceModel; per: bigint } {
  if (pricing !== null) return { model: priceModelOf(pricing), per: 1n };
  const model = priceModelOf({ model: 'per_unit', unitAmount: unitPrice.toString() });
  return { model, per: BigInt(usageEventsPerUnit ?? 1) };
}

/** Finds the prices that lines name, in two statements. Refuses the first that is not there. */
async function findPrices(work: Work, lines: readonly QuoteLineInput[]) {
  const named = (key: 'priceId' | 'priceSlug') => [...new Set(lines.flatMap((line) => line[key] ?? []))];
  const [ids, slugs] = [named('priceId'), named('priceSlug')];
  const pricingModelId = slugs.length === 0 ? null : await resolvePricingModel(work);
  const bySlug = pricingModelId === null ? [] : await store.listActivePricesBySlug(work, pricingModelId, slugs);
  const found = new Map<string, Price>([
    ...(await store.listPricesByIds(work, ids)).map((price) => [`id ${price.id}`, price] as const),
    ...bySlug.map((price) => [`slug ${price.slug}`, price] as const),
  ]);
  return ({ priceId, priceSlug, pricing }: QuoteLineInput): Price | undefined => {
    if (pricing !== undefined) return undefined;
    const price = found.get(priceId === undefined ? `slug ${priceSlug}` : `id ${priceId}`);
    if (price === undefined) throw new Problem('priceNotFound', { id: priceId ?? priceSlug ?? '' });
    return price;
  };
}

/** The rates that are requested of a product, by the active prices of its pricing model. */
export async function findRates(
  work: Work,
  pricingModelId: string,
  requested: UsagePricesInput,
): Promise<ProductUsagePrice[]> {
  if (requested.length === 0) return [];
  const slugs = requested.map(({ priceSlug }) => priceSlug);
  const meters = await listUsageMeters(work, [pricingModelId]);
  return decideUsagePrices(requested, meters, await store.listActivePricesBySlug(work, pricingModelId, slugs));
}

/** A product with its prices, of which one at least is there. */
interface OnSale {
  readonly product: Product;
  readonly prices: readonly NewPrice[];
}

/** The rates of a product after a change. Sold again, it takes the prices that have their slugs now: its own may have ended. */
export async function ratesAfter(work: Work, before: OnSale, after: OnSale): Promise<ProductUsagePrice[]> {
  const { pricingModelId, usagePrices } = after.product;
  const isForSale = ({ product, prices }: OnSale) => isSold(product, standingPrice(prices));
  if (isForSale(before) || !isForSale(after)) return usagePrices;
  const names = usagePrices.map(({ usageMeterSlug, priceSlug }) => ({ usageMeterSlug, priceSlug }));
  return findRates(work, pricingModelId, names);
}

/** The prices of a family after some of them are saved and others are added. */
export function pricesAfter(
  prices: readonly NewPrice[],
  { save, insert = [] }: { readonly save: readonly NewPrice[]; readonly insert?: readonly NewPrice[] },
): NewPrice[] {
  const saved = new Map(save.map((price) => [price.id, price]));
  return [...prices.map((price) => saved.get(price.id) ?? price), ...insert];
}
