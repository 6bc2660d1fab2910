import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import { inOtherEnvironment } from '../database/switch-environment.ts';
import type { Work } from '../database/work.ts';
import { endTurn } from '../jobs/turns.ts';
import type { IntervalUnit } from '../kernel/calendar.ts';
import { isSameJson } from '../kernel/json.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import {
  currencyOf,
  describeUses,
  joinUses,
  keepElsewhere,
  refuseOtherId,
  removeElsewhere,
  resolvePricingModel,
} from './actions.ts';
import type { DestinationEnvironment } from './cloned-pricing-model.ts';
import { freePlan, type PricingModel, type PricingModelDetails } from './pricing-model.ts';
import { insertDiscounts, listDiscountsOfModel } from './store-discounts.ts';
import { insertPrices } from './store-prices.ts';
import * as store from './store-pricing-models.ts';
import { insertPricingModel, loadPricingModelDetails, lockPricingModel } from './store-pricing-models.ts';
import { insertProducts } from './store-products.ts';
import {
  applyChanges,
  type DeletedParts,
  deletePricingModel as deleteRowsOfModel,
  lockAgainstUse,
  readContents,
  type Use,
  usesOfCustomers,
} from './store-structure.ts';
import type { SetupInput, UpdatedStructure, UpdateInput } from './structure.ts';
import { completeStructure, prepareUpdate } from './structure-check.ts';
import { countChanges, describeContents, noContents, type StructureChanges } from './structure-contents.ts';
import {
  copyContents,
  exportStructure,
  type PricingDifference,
  type PricingModelExport,
  pricingChanges,
} from './structure-copy.ts';
import { planStructure } from './structure-plan.ts';

interface PricingModelRequest {
  readonly name: string;
  readonly isDefault?: boolean | undefined;
  /** The billing interval of the free plan; undefined: it does not renew. */
  readonly defaultPlanIntervalUnit?: IntervalUnit | undefined;
}

/** Creates a pricing model with only its default product, the free plan. */
export async function createPricingModel(work: Work, requested: PricingModelRequest): Promise<PricingModel> {
  const isDefault = requested.isDefault ?? false;
  if (isDefault) await takeDefault(work);
  const model = await store.insertPricingModel(work, { id: newId('pricingModel'), name: requested.name, isDefault });
  const { product, price } = freePlan({
    pricingModelId: model.id,
    productId: newId('product'),
    priceId: newId('price'),
    currency: currencyOf(work),
    intervalUnit: requested.defaultPlanIntervalUnit ?? null,
  });
  await insertProducts(work, [product]);
  await insertPrices(work, [price]);
  return model;
}

/**
 * Clears the current default pricing model and serializes changes of the default until the transaction ends. Call it
 * before locking any pricing model.
 */
async function takeDefault(work: Work): Promise<string | null> {
  // A pinned key cannot take the flag away from another pricing model.
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  await store.lockDefaultPricingModel(work);
  return store.clearDefaultPricingModel(work);
}

/** Lists pricing models without their contents. */
export async function listPricingModels(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPricingModels(work, request);
  return page(request, rows, total);
}

/** Returns a pricing model with everything that is for sale. */
export async function getPricingModel(work: Work, id: string): Promise<PricingModelDetails> {
  const [details] = await loadPricingModelDetails(work, [id]);
  if (details === undefined) throw new Problem('pricingModelNotFound', { id });
  return details;
}

/** Returns the default pricing model with everything that is for sale; for a pinned key, its pricing model. */
export async function getDefaultPricingModel(work: Work): Promise<PricingModelDetails> {
  return getPricingModel(work, await resolvePricingModel(work));
}

interface CloneRequest {
  readonly name: string;
  /** Undefined: the environment of the source. */
  readonly destinationEnvironment?: DestinationEnvironment | undefined;
}

/**
 * Copies a pricing model with all its contents, inactive records and discounts included, under a new name and with new
 * ids. The copy is not the default one.
 *
 * It may be copied into the other mode. No other operation reads in one environment and writes in another, so
 * everything is read first. Refuses with `otherCurrency` a destination with another currency. Customers, subscriptions
 * and discount redemptions stay with the source.
 */
export async function clonePricingModel(
  work: Work,
  id: string,
  { name, destinationEnvironment = work.livemode ? 'livemode' : 'testmode' }: CloneRequest,
): Promise<PricingModelDetails> {
  const source = await lockPricingModel(work, id);
  if (source === null) throw new Problem('pricingModelNotFound', { id });
  // A pinned key could not see the copy.
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  const contents = await readContents(work, id);
  const discounts = await listDiscountsOfModel(work, id);
  const write = async (there: Work): Promise<PricingModelDetails> => {
    if (there.currency !== work.currency) {
      throw new Problem('otherCurrency', { currency: work.currency, otherCurrency: there.currency });
    }
    const copy = await insertPricingModel(there, { id: newId('pricingModel'), name, isDefault: false });
    await endTurn();
    // A link that expires in the future is copied, and "now" is the source's time.
    const changes = copyContents(contents, { pricingModelId: copy.id, now: work.now, newId });
    await applyChanges(there, changes);
    const copies = new Map(
      contents.products.map(({ id: from }, index) => [from, changes.products.made[index]?.id ?? '']),
    );
    const stamps = { pricingModelId: copy.id, createdAt: there.now, updatedAt: there.now };
    await insertDiscounts(
      there,
      discounts.map((discount) => ({
        ...discount,
        ...stamps,
        id: newId('discount'),
        productIds: discount.productIds?.map((from) => copies.get(from) ?? '') ?? null,
      })),
    );
    return getPricingModel(there, copy.id);
  };
  const livemode = destinationEnvironment === 'livemode';
  return livemode === work.livemode ? write(work) : inOtherEnvironment(work, livemode, write);
}

/** The pricing model as a setup body, and the time of its last change. */
export async function exportPricingModel(work: Work, id: string): Promise<PricingModelExport> {
  const model = await lockPricingModel(work, id);
  if (model === null) throw new Problem('pricingModelNotFound', { id });
  const contents = await readContents(work, id);
  await endTurn();
  const updatedAt = Object.values(contents)
    .flat()
    .reduce((latest, record) => Math.max(latest, record.updatedAt), model.updatedAt);
  const structure = describeContents(contents, work.now);
  await endTurn();
  return { pricingModel: exportStructure(model, structure), updatedAt };
}

interface SetUp {
  readonly pricingModel: PricingModelDetails;
  /** The pricing model that was the default until now; null if the default did not move. */
  readonly formerDefaultPricingModelId: string | null;
}

/**
 * Creates a whole pricing model from its structure, or nothing. Adds the Free Plan if no product is the default, and
 * the no-charge price of each usage meter. Returns it with everything that is for sale.
 */
export async function setUpPricingModel(work: Work, { name, isDefault, structure }: SetupInput): Promise<SetUp> {
  // A pinned key could not see the new pricing model.
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  const wanted = completeStructure(structure, [], { currency: currencyOf(work) });
  const formerDefaultPricingModelId = isDefault ? await takeDefault(work) : null;
  const { id } = await insertPricingModel(work, { id: newId('pricingModel'), name, isDefault });
  const context = { pricingModelId: id, currency: currencyOf(work), now: work.now, newId };
  await applyChanges(work, planStructure(noContents, wanted, context));
  return { pricingModel: await getPricingModel(work, id), formerDefaultPricingModelId };
}

/** Creates the default pricing model of a new environment, which contains the Free Plan. */
export async function provisionPricingModel(work: Work): Promise<PricingModelDetails> {
  const structure = { features: [], products: [], usageMeters: [], resources: [], creditPools: [] };
  return (await setUpPricingModel(work, { name: 'Default', isDefault: true, structure })).pricingModel;
}

// A refusal names some of them.
const maxNamed = 3;

interface AppliedPricingModel extends UpdatedPricingModel {
  readonly changes: readonly PricingDifference[];
}

/**
 * Makes the pricing model with this name as described: creates it, or updates it. A repeat changes nothing. `isDefault`
 * can give the default flag and never takes it away, so that a deploy does not leave an environment without a default.
 */
export async function applyPricingModel(
  work: Work,
  input: SetupInput,
): Promise<AppliedPricingModel & { readonly isNew: boolean }> {
  const { name } = input;
  // Two first deploys at once make one pricing model. A pinned key cannot make any.
  if (work.pinnedTo === null) await store.lockDefaultPricingModel(work);
  const [model, ...others] = await store.findPricingModelsByName(work, name, maxNamed);
  if (model === undefined) {
    const { id } = (await setUpPricingModel(work, input)).pricingModel;
    const { pricingModel: made } = await exportPricingModel(work, id);
    await endTurn();
    const pricingModel = await requiredModel(work, id);
    return { pricingModel, isNew: true, changes: pricingChanges(null, made), expiredProductFeatureIds: [] };
  }
  if (others.length > 0) {
    const ids = [model, ...others].map(({ id }) => id).join(', ');
    throw new Problem('pricingModelNameAmbiguous', { name, ids });
  }
  const { pricingModel: before } = await exportPricingModel(work, model.id);
  return { ...(await applyFrom(work, model.id, before, input, [])), isNew: false };
}

/**
 * Makes this pricing model as described. The base is the state on which the description is built. A model that has
 * changed since then is refused with the differences, unless it is as described already. So a repeat changes nothing.
 */
export async function applyToPricingModel(
  work: Work,
  id: string,
  { pricingModel: input, base }: { readonly pricingModel: SetupInput; readonly base?: SetupInput | undefined },
): Promise<AppliedPricingModel> {
  if (work.pinnedTo === null) await store.lockDefaultPricingModel(work);
  const { pricingModel: before } = await exportPricingModel(work, id);
  if (base !== undefined) await refuseChangedSince(work, id, { base, before, input });
  return applyFrom(work, id, before, input, ['pricingModel']);
}

type Exported = PricingModelExport['pricingModel'];

async function applyFrom(
  work: Work,
  id: string,
  before: Exported,
  input: SetupInput,
  path: readonly string[],
): Promise<AppliedPricingModel> {
  const { name, structure } = input;
  const change = { id: undefined, name, isDefault: input.isDefault || undefined, structure };
  const updated = await updatePricingModel(work, id, change, path);
  const { pricingModel: after } = await exportPricingModel(work, id);
  await endTurn();
  refuseFixedDefault(structure, after, path);
  await endTurn();
  return { ...updated, changes: pricingChanges(before, after) };
}

async function refuseChangedSince(
  work: Work,
  id: string,
  { base, before, input }: { readonly base: SetupInput; readonly before: Exported; readonly input: SetupInput },
): Promise<void> {
  const changes = pricingChanges(exportStructure(base, base.structure), before);
  await endTurn();
  if (changes.length === 0 || (await isAsDescribed(work, id, before, input))) return;
  const records = changes.map(({ record, slug }) => (slug === null ? record : `${record} ${slug}`));
  const others = records.length > maxNamed ? ` and ${records.length - maxNamed} more` : '';
  const named = `${records.slice(0, maxNamed).join(', ')}${others}`;
  throw new Problem('pricingModelChanged', { id, changes: named }, [], { changes });
}

/** Whether an apply would change nothing. A description that would be refused is none of the present state. */
async function isAsDescribed(work: Work, id: string, before: Exported, input: SetupInput): Promise<boolean> {
  if (input.name !== before.name || (input.isDefault && !before.isDefault)) return false;
  try {
    return countChanges(await planUpdate(work, id, input.structure, ['pricingModel'])) === 0;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

async function requiredModel(work: Work, id: string): Promise<PricingModel> {
  const model = await store.findPricingModel(work, id);
  assert(model !== null, 'the pricing model was just made');
  return model;
}

/** Refuses fields of the default product that an update would leave as they are. */
function refuseFixedDefault(given: UpdatedStructure, after: Exported, path: readonly string[]): void {
  const index = given.products.findIndex(({ product }) => product.default);
  const asked = exportStructure(after, { ...given, creditPools: given.creditPools ?? [] }).products[index];
  const standing = after.products.find(({ product }) => product.default);
  if (asked === undefined || standing === undefined) return;
  for (const part of ['product', 'price'] as const) {
    const kept = new Map(Object.entries(standing[part]));
    for (const [field, value] of Object.entries(asked[part])) {
      if (isSameJson(value, kept.get(field))) continue;
      const message = `must be ${JSON.stringify(kept.get(field) ?? null)}: the default product keeps its slug, labels and price`;
      throw invalid([...path, 'products', index, part, field], message);
    }
  }
}

interface UpdatedPricingModel {
  readonly pricingModel: PricingModel;
  /** The product feature links that the update expired. */
  readonly expiredProductFeatureIds: readonly string[];
}

/**
 * Changes a pricing model: its name, its default flag and, if a structure is given, all its contents. Absent parts stay
 * unchanged. An update without changes writes nothing. `path` leads to the structure in the request.
 */
export async function updatePricingModel(
  work: Work,
  id: string,
  input: UpdateInput,
  path: readonly string[] = ['pricingModel'],
): Promise<UpdatedPricingModel> {
  refuseOtherId(id, input.id);
  const isPinned = work.pinnedTo !== null;
  if (input.isDefault !== undefined && !isPinned) await store.lockDefaultPricingModel(work);
  const model = await store.lockPricingModel(work, id);
  if (model === null) throw new Problem('pricingModelNotFound', { id });
  const { name = model.name, isDefault = model.isDefault, structure } = input;
  const changesDefault = isDefault !== model.isDefault;
  // A pinned key cannot change other pricing models, one of which would lose or get the flag.
  if (changesDefault && isPinned) throw new Problem('outsidePinnedPricingModel');
  const changes = structure === null ? null : await planUpdate(work, id, structure, path);
  const isSame = name === model.name && !changesDefault && (changes === null || countChanges(changes) === 0);
  if (isSame) return { pricingModel: model, expiredProductFeatureIds: [] };
  if (changesDefault && isDefault) await store.clearDefaultPricingModel(work, id);
  if (changes !== null) await applyChanges(work, changes);
  return {
    pricingModel: await store.savePricingModel(work, { ...model, name, isDefault }),
    expiredProductFeatureIds: changes?.productFeatures.expired ?? [],
  };
}

async function planUpdate(
  work: Work,
  id: string,
  structure: UpdatedStructure,
  path: readonly string[],
): Promise<StructureChanges> {
  const contents = await readContents(work, id);
  const currency = currencyOf(work);
  await endTurn();
  const wanted = prepareUpdate(contents, structure, path, { now: work.now, currency });
  await endTurn();
  return planStructure(contents, wanted, { pricingModelId: id, currency, now: work.now, newId });
}

/** The records of this cell's customers that use a pricing model. */
export async function listUsesOfModel(work: Work, id: string): Promise<Use[]> {
  return usesOfCustomers(await lockAgainstUse(work, id));
}

/**
 * Deletes a pricing model that nothing uses, with all that it contains. Returns it as it was, and how many records went
 * with it. Refuses the default one with `defaultPricingModelNotDeletable`, and one in use with `pricingModelInUse`.
 */
export async function deletePricingModel(
  work: Work,
  id: string,
  elsewhere: readonly (readonly Use[])[],
): Promise<{ pricingModel: PricingModel; deleted: DeletedParts } | Problem> {
  const removal = { table: 'pricing_models', id } as const;
  // A pinned key sees no other pricing model, and uses its own.
  if (work.pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  const uses = joinUses([await lockAgainstUse(work, id), ...elsewhere]);
  const pricingModel = await store.findPricingModel(work, id);
  if (pricingModel === null) throw new Problem('pricingModelNotFound', { id });
  if (pricingModel.isDefault) throw new Problem('defaultPricingModelNotDeletable', { id });
  if (uses.length > 0) {
    await keepElsewhere(work, removal);
    return new Problem('pricingModelInUse', { id, uses: describeUses(uses) });
  }
  await removeElsewhere(work, removal);
  return { pricingModel, deleted: await deleteRowsOfModel(work, id) };
}
