import { type ExampleRequest, requestsOf } from '../../examples/requests.ts';
import type { World } from './world.ts';

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

/** Calls that only one of them can follow: the world is built anew before each. */
export const spoils: ReadonlySet<string> = new Set([
  'POST /api-keys/{id}/rotate',
  'POST /customers/{externalId}/archive',
  'POST /customers/{externalId}/erase',
  'POST /subscriptions/{id}/cancel-scheduled-adjustment',
  'DELETE /pricing-models/{id}',
  'DELETE /products/{id}',
  'DELETE /webhooks/{id}',
  'DELETE /payment-methods/{id}',
  'POST /subscriptions/{id}/retry-payment',
  'PUT /invoice-items/{id}',
  'DELETE /invoices/{id}',
  'DELETE /invoice-items/{id}',
  'DELETE /invoices/{id}/lines/{lineId}',
  'POST /invoices/{id}/finalize',
  'POST /invoices/{id}/void',
  'POST /invoices/{id}/mark-uncollectible',
  'POST /invoices/{id}/record-payment',
  'POST /invoices/{id}/pay',
  'POST /invoices/{id}/credit-notes',
  'POST /credit-notes/{id}/void',
  'DELETE /tax-rates/{id}',
  'POST /product-features/{id}/expire',
  'POST /subscription-item-features',
  'POST /resource-claims/{subscriptionId}/release',
]);
