import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid } from '../kernel/problem.ts';
import { currencyOf, only, refuseOtherId, required, requiredLocked, resolveLockedPricingModel } from './actions.ts';
import { isNoChargePrice, noChargePrice, noChargeSlug } from './price.ts';
import { newUsagePrice, refuseBadSlug } from './price-input.ts';
import { insertPrices, listPricesOfUsageMeters, savePrices } from './store-prices.ts';
import * as store from './store-usage-meters.ts';
import {
  changedKind,
  eventNameIssue,
  type FirstUsagePrice,
  isMeasured,
  issueOfMeasuredPrice,
  meterIssues,
  type UsageMeter,
  type UsageMeterChange,
  type UsageMeterInput,
} from './usage-meter.ts';

interface UsageMeterRequest {
  readonly usageMeter: UsageMeterInput;
  readonly price?: FirstUsagePrice | undefined;
}

/** Creates a usage meter with its no-charge price, and with a price of its own if any of its terms is given. */
export async function createUsageMeter(
  work: Work,
  { usageMeter: requested, price = {} }: UsageMeterRequest,
): Promise<UsageMeter> {
  const pricingModelId = await resolveLockedPricingModel(work, requested.pricingModelId);
  const { name, slug, aggregationType, recurring, proration, lowBalanceThreshold, eventName, where, valueProperty } =
    requested;
  await refuseCommonName(work, { pricingModelId, eventName });
  const { unitPrice, usageEventsPerUnit, pricing = null } = price;
  const unfit = isMeasured(requested) ? issueOfMeasuredPrice({ pricing }) : null;
  if (unfit !== null) throw invalid(['price', ...unfit.path], unfit.message);
  const hasOwnPrice = unitPrice !== undefined || usageEventsPerUnit !== undefined || pricing !== null;
  if (hasOwnPrice) refuseBadSlug(slug, ['usageMeter', 'slug']);
  const counts = { aggregationType, recurring, proration, lowBalanceThreshold, eventName, where, valueProperty };
  const made = { id: newId('usageMeter'), pricingModelId, name, slug, ...counts };
  const meter = only(await store.insertUsageMeters(work, [made]));
  const currency = currencyOf(work);
  const terms = {
    name,
    slug,
    unitPrice: unitPrice ?? 0n,
    usageEventsPerUnit: usageEventsPerUnit ?? 1,
    pricing,
    isDefault: true,
  } as const;
  await insertPrices(work, [
    ...(hasOwnPrice ? [newUsagePrice(newId('price'), meter, terms, currency)] : []),
    noChargePrice(newId('price'), meter, { isDefault: !hasOwnPrice, currency }),
  ]);
  return meter;
}

/** Refuses an event name that too many other usage meters of the pricing model have. The pricing model is locked. */
async function refuseCommonName(
  work: Work,
  { pricingModelId, eventName }: Pick<UsageMeter, 'pricingModelId' | 'eventName'>,
): Promise<void> {
  if (eventName === null) return;
  const issue = eventNameIssue(eventName, await store.listUsageMeters(work, [pricingModelId]));
  if (issue !== null) throw invalid(['usageMeter', 'eventName'], issue);
}

/** Returns a usage meter without its prices. */
export async function getUsageMeter(work: Work, id: string): Promise<UsageMeter> {
  return required(work, store.findUsageMeter, id, 'usageMeterNotFound');
}

/** Lists usage meters without their prices. */
export async function listUsageMeters(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfUsageMeters(work, request);
  return page(request, rows, total);
}

/** Changes a usage meter. The slug of its no-charge price follows the meter's slug; its other prices keep theirs. */
export async function updateUsageMeter(work: Work, id: string, change: UsageMeterChange): Promise<UsageMeter> {
  refuseOtherId(id, change.id);
  const meter = await requiredLocked(work, store.findUsageMeter, id, 'usageMeterNotFound');
  const { name = meter.name, slug = meter.slug, aggregationType = meter.aggregationType } = change;
  const { lowBalanceThreshold = meter.lowBalanceThreshold } = change;
  const { recurring = meter.recurring, proration = meter.proration } = change;
  const { eventName = meter.eventName, where = meter.where, valueProperty = meter.valueProperty } = change;
  const counts = { aggregationType, recurring, proration, lowBalanceThreshold, eventName, where, valueProperty };
  const wanted = { ...meter, name, slug, ...counts };
  const issue = changedKind(meter, wanted) ?? meterIssues(wanted)[0];
  if (issue) throw invalid(['usageMeter', issue.field], issue.message);
  if (eventName !== meter.eventName) await refuseCommonName(work, { ...meter, eventName });
  const changed = only(await store.saveUsageMeters(work, [wanted]));
  if (slug !== meter.slug) {
    const prices = await listPricesOfUsageMeters(work, [id]);
    const following = prices.filter(isNoChargePrice).map((price) => ({ ...price, slug: noChargeSlug(slug) }));
    await savePrices(work, following);
  }
  return changed;
}
