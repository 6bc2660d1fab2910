import { insertNewCustomer } from '../customers/actions.ts';
import type { CustomerRow, NewCustomer } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { resolvePricingModel } from '../pricing/actions.ts';
import { startDefaultPlan } from './default-plan.ts';
import type { Opened } from './open-subscription.ts';

/**
 * Creates a customer in the given pricing model or the default one, and starts its default plan in the same commit:
 * neither exists without the other. The `plan` is null if the pricing model has no default product.
 */
export async function createCustomer(
  work: Work,
  given: NewCustomer,
): Promise<{ customer: CustomerRow; plan: Opened | null }> {
  const pricingModelId = await resolvePricingModel(work, given.pricingModelId);
  const customer = await insertNewCustomer(work, pricingModelId, given);
  return { customer, plan: customer.archived ? null : await startDefaultPlan(work, customer, work.now) };
}
