import { type ExampleRequest, requestsOf } from '../../examples/requests.ts';
import { usualCells } from './many-cells.ts';
import { addItem, insertOwing, type World, type WorldApp, writeDraft } from './world.ts';

/** A valid call of a route. */
export type Call = ExampleRequest;

type CallOf = (world: World, n: string) => Call;

/** The example of every operation, to be sent now. `n` makes unique values unique. */
export const calls: Readonly<Record<string, CallOf>> = Object.fromEntries(
  Object.entries(requestsOf).map(([operation, make]): [string, CallOf] => [
    operation,
    (world, n) => make(world, n, Date.now()),
  ]),
);

/** A part of a world that a call uses up. */
export type Part =
  | 'api key'
  | 'changing subscription'
  | 'credited invoice'
  | 'draft invoice'
  | 'everything'
  | 'invoice item'
  | 'leaving customer'
  | 'product feature'
  | 'redeemed discount'
  | 'seat'
  | 'spare discount'
  | 'spare card'
  | 'spare pricing model'
  | 'spare product'
  | 'subscription item'
  | 'tax rate'
  | 'webhook';

/** Calls that only one of them can follow, by what they use up: each needs a world that still has it. */
export const spoils: ReadonlyMap<string, Part> = new Map([
  ['POST /api-keys/{id}/rotate', 'api key'],
  ['POST /customers/{externalId}/archive', 'everything'],
  ['POST /customers/{externalId}/erase', 'leaving customer'],
  ['POST /subscriptions/{id}/cancel-scheduled-adjustment', 'changing subscription'],
  ['DELETE /pricing-models/{id}', 'spare pricing model'],
  ['DELETE /products/{id}', 'spare product'],
  ['DELETE /webhooks/{id}', 'webhook'],
  ['DELETE /payment-methods/{id}', 'spare card'],
  ['POST /subscriptions/{id}/retry-payment', 'credited invoice'],
  ['POST /subscriptions/{id}/discounts', 'spare discount'],
  ['DELETE /subscriptions/{id}/discounts/{discountId}', 'redeemed discount'],
  ['PUT /invoice-items/{id}', 'invoice item'],
  ['DELETE /invoices/{id}', 'draft invoice'],
  ['DELETE /invoice-items/{id}', 'invoice item'],
  ['DELETE /invoices/{id}/lines/{lineId}', 'draft invoice'],
  ['POST /invoices/{id}/finalize', 'draft invoice'],
  ['POST /invoices/{id}/void', 'credited invoice'],
  ['POST /invoices/{id}/mark-uncollectible', 'credited invoice'],
  ['POST /invoices/{id}/record-payment', 'credited invoice'],
  ['POST /invoices/{id}/pay', 'credited invoice'],
  ['POST /invoices/{id}/credit-notes', 'credited invoice'],
  ['POST /credit-notes/{id}/void', 'credited invoice'],
  ['DELETE /tax-rates/{id}', 'tax rate'],
  ['POST /product-features/{id}/expire', 'product feature'],
  ['POST /subscription-item-features', 'subscription item'],
  ['POST /resource-claims/{subscriptionId}/release', 'seat'],
]);

/** The events of a bulk request that is stored or refused as a whole, also over cells. */
export const bulkParts = usualCells === 1 ? ['a', 'b', 'c'] : ['a'];

type Remake = (app: WorldApp, world: World, suffix: string) => Promise<Partial<World>>;

/** How a part that many calls use up is made again, which takes less than another world. */
export const remake: Readonly<Partial<Record<Part, Remake>>> = {
  'credited invoice': ({ post, get }, { pricingModelId, priceId }, suffix) =>
    insertOwing(post, get, { pricingModelId, priceId, externalId: `owing-${suffix}` }),
  'draft invoice': ({ post }, { externalId }) => writeDraft(post, externalId),
  'invoice item': ({ post }, { externalId }) => addItem(post, externalId),
};
