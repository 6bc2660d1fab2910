import { changeCustomer, insertOrFindCustomer, saveChangedCustomer, updateCustomer } from '../customers/actions.ts';
import { type CustomerChange, type CustomerRow, decideChange, type NewCustomer } from '../customers/customer.ts';
import { findCustomerByExternalId, findCustomerEvenArchived, lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { resolvePricingModel } from '../pricing/actions.ts';
import { listLivingSubscriptions, lockLivingSubscriptions } from '../subscriptions/store.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isCurrent } from '../subscriptions/subscription.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import { startDefaultPlan } from './default-plan.ts';
import { endSubscription } from './end-subscription.ts';
import type { Opened } from './open-subscription.ts';

/**
 * Creates a customer in the given pricing model or the default one, and starts its default plan in the same commit:
 * neither exists without the other. The `plan` is null if the pricing model has no default product.
 *
 * Applications create their customer at first load, several times at once. So a customer that is there already and has
 * all that is sent is returned, with its default plan if that is current. Refuses another one with `externalIdTaken`.
 */
export async function createCustomer(
  work: Work,
  given: NewCustomer,
): Promise<{ customer: CustomerRow; plan: Pick<Opened, 'subscription' | 'items'> | null }> {
  const pricingModelId = await resolvePricingModel(work, given.pricingModelId);
  const { customer, isNew } = await insertOrFindCustomer(work, pricingModelId, given);
  if (isNew) return { customer, plan: customer.archived ? null : await startDefaultPlan(work, customer, work.now) };
  if (decideChange(customer, given) !== null) throw new Problem('externalIdTaken', { externalId: given.externalId });
  return { customer, plan: await findDefaultPlan(work, customer.id) };
}

/**
 * Updates the customer with this external id, or creates it with its default plan. Any number of callers at once make one
 * customer. Refuses a new customer without an email address or a name.
 */
export async function upsertCustomer(
  work: Work,
  externalId: string,
  pricingModelId: string | undefined,
  change: CustomerChange,
): Promise<CustomerRow> {
  if (change.externalId !== undefined && change.externalId !== externalId) {
    throw invalid(['customer', 'externalId'], `must be ${externalId} or absent: an upsert keeps the external id`);
  }
  if ((await findCustomerByExternalId(work, externalId, pricingModelId)) !== null) {
    return updateCustomer(work, externalId, pricingModelId, change);
  }
  const { email, name } = change;
  if (email === undefined) throw invalid(['customer', 'email'], 'is required, because there is no such customer yet');
  if (name === undefined) throw invalid(['customer', 'name'], 'is required, because there is no such customer yet');
  const modelId = await resolvePricingModel(work, pricingModelId);
  const { customer, isNew } = await insertOrFindCustomer(work, modelId, { ...change, externalId, email, name });
  if (isNew) await startDefaultPlan(work, customer, work.now);
  const changed = isNew ? customer : await changeCustomer(work, customer, change);
  if (changed === null) throw new Problem('customerNotFound', { id: externalId });
  return changed;
}

async function findDefaultPlan(work: Work, customerId: string) {
  const subscriptions = await listLivingSubscriptions(work, customerId);
  const subscription = subscriptions.find((each) => each.isDefaultPlan && isCurrent(each.status));
  if (subscription === undefined) return null;
  return { subscription, items: await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]) };
}

/**
 * Archives a customer: all its subscriptions end now, and its external id is free again. An archived customer stays as
 * it is. Refuses with `customerNotFound`.
 */
export async function archiveCustomer(
  work: Work,
  externalId: string,
  pricingModelId: string | undefined,
): Promise<CustomerRow> {
  const found = await findCustomerEvenArchived(work, externalId, pricingModelId);
  const customer = found === null ? null : await lockCustomer(work, found.id);
  if (customer === null) throw new Problem('customerNotFound', { id: externalId });
  if (customer.archived) return customer;
  await endAllSubscriptions(work, customer);
  return saveChangedCustomer(work, { ...customer, archived: true });
}

/** Ends all subscriptions of a locked customer that is leaving: it gets no default plan again. */
export async function endAllSubscriptions(work: Work, customer: CustomerRow): Promise<void> {
  const living = await lockLivingSubscriptions(work, customer.id);
  // Locks the accounts of all of them in the order that usage uses, before they end one by one.
  await lockAccountsOfSubscriptions(
    work,
    living.map(({ id }) => id),
  );
  for (const subscription of living) {
    await endSubscription(work, { customer, subscription }, { at: work.now, reason: 'customer_archived' });
  }
}
