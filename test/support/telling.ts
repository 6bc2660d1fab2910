import { publish } from '../../src/customers/store-events.ts';
import { anyId } from './any-id.ts';
import type { TestApp } from './harness.ts';

/** Tells that customers were changed, by the ids of them, in one commit. */
export function tellChanges(app: TestApp, pricingModelId: string, objectIds: readonly string[]): Promise<unknown> {
  const events = objectIds.map((objectId) => {
    // The event is where its customer is.
    const customer = { id: anyId('customer'), externalId: objectId };
    return {
      type: 'customer.updated',
      object: 'customer',
      objectId,
      pricingModelId,
      customer,
      data: { id: objectId },
    } as const;
  });
  return app.inEnvironment((work) => publish(work, events));
}
