import { z } from 'zod';
import {
  changeCustomer,
  insertOrFindCustomer,
  renderCustomer,
  requireCustomerByExternalId,
  saveChangedCustomer,
  updateCustomer,
} from '../customers/actions.ts';
import {
  Customer,
  type CustomerChange,
  type CustomerRow,
  decideChange,
  type NewCustomer,
} from '../customers/customer.ts';
import { portalUrl } from '../customers/portal-link.ts';
import { findCustomerByExternalId, findCustomerEvenArchived, lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { listActiveItemFeatures } from '../entitlements/actions.ts';
import { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { listInvoicesOfCustomer } from '../invoicing/actions.ts';
import { Invoice } from '../invoicing/invoice.ts';
import { InvoiceLineItem } from '../invoicing/invoice-line-item.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { accessOf } from '../organizations/setting.ts';
import { listPaymentMethodsOfCustomer } from '../payments/actions.ts';
import { PaymentMethod } from '../payments/payment-method.ts';
import { resolvePricingModel } from '../pricing/actions.ts';
import { Price } from '../pricing/price.ts';
import { PricingModelDetails } from '../pricing/pricing-model.ts';
import { listPricesByIds } from '../pricing/store-prices.ts';
import { loadPricingModelDetails } from '../pricing/store-pricing-models.ts';
import { listPurchasesOfCustomer } from '../purchases/actions.ts';
import { Purchase } from '../purchases/purchase.ts';
import {
  findSubscription,
  listLivingSubscriptions,
  listNewestSubscriptions,
  lockLivingSubscriptions,
} from '../subscriptions/store.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import {
  hasAccess,
  isCurrent,
  NonRenewingSubscription,
  RenewingSubscription,
  type SubscriptionRow,
  toSubscription,
} from '../subscriptions/subscription.ts';
import { SubscriptionItem } from '../subscriptions/subscription-item.ts';
import { readBalances } from '../usage/actions-balances.ts';
import { UsageMeterBalance } from '../usage/ledger.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import { endSubscription } from './end-subscription.ts';
import type { Opened } from './open-subscription.ts';
import { startDefaultPlan } from './open-subscription.ts';

const SubscriptionItemWithPrice = z.object({ ...SubscriptionItem.shape, price: Price });

const contents = {
  subscriptionItems: z.array(SubscriptionItemWithPrice).meta({ description: 'The items that are active now.' }),
  experimental: z.object({
    featureItems: z.array(SubscriptionItemFeature).meta({ description: 'The features that are active now.' }),
    usageMeterBalances: z.array(UsageMeterBalance),
  }),
};

/** A subscription with its items and features. */
export const SubscriptionDetails = z
  .discriminatedUnion('renews', [RenewingSubscription.extend(contents), NonRenewingSubscription.extend(contents)])
  .meta({ id: 'SubscriptionDetails' });
type SubscriptionDetails = z.infer<typeof SubscriptionDetails>;

// The records of each kind in the answer. The lists of these records have pages.
const mostShown = 100;
// Clients ask here whether something was ever bought, so more of these: about half a megabyte.
const mostPurchases = 1000;

const HasMore = z.object({
  subscriptions: z.boolean(),
  invoices: z.boolean(),
  paymentMethods: z.boolean(),
  purchases: z.boolean(),
});

/** The data about one customer in one response. */
export const CustomerBilling = z
  .object({
    customer: Customer,
    subscriptions: z
      .array(SubscriptionDetails)
      .meta({ description: 'The newest 100 subscriptions of every status, and all current ones; newest first.' }),
    currentSubscriptions: z
      .array(SubscriptionDetails)
      .meta({ description: 'The current subscriptions, newest first.' }),
    currentSubscription: SubscriptionDetails.optional(),
    invoices: z
      .array(
        z.object({
          invoice: Invoice,
          invoiceLineItems: z.array(InvoiceLineItem).meta({ description: 'The first 100 lines.' }),
          hasMore: z.boolean().meta({ description: 'Whether the invoice has more lines.' }),
        }),
      )
      .meta({ description: 'The newest 100 invoices, newest first.' }),
    paymentMethods: z.array(PaymentMethod).meta({ description: 'At most 100, the default first.' }),
    purchases: z
      .array(Purchase)
      .meta({ description: 'The newest 1,000 purchases that are paid and not refunded, newest first.' }),
    hasMore: HasMore.meta({ description: 'Whether there are more records of a kind, which its list has.' }),
    pricingModel: PricingModelDetails,
    catalog: PricingModelDetails.meta({ description: 'The same pricing model, under its former name.' }),
    billingPortalUrl: z.string().meta({
      format: 'uri',
      description: 'A link to the customer portal, valid for a day. Give it to this customer only.',
    }),
  })
  .meta({ id: 'CustomerBilling' });
export type CustomerBilling = z.infer<typeof CustomerBilling>;

/**
 * The customer's subscriptions, invoices and more. The number of statements is fixed. Refuses with `customerNotFound`.
 */
export async function getBilling(
  work: Work,
  encryption: Encryption,
  externalId: string,
  pricingModelId: string | undefined,
): Promise<CustomerBilling> {
  const customer = await requireCustomerByExternalId(work, externalId, pricingModelId);
  const { rows, hasMore } = await listShown(work, customer.id);
  const subscriptions = await listDetails(work, rows);
  const currentSubscriptions = subscriptions.filter((subscription) => subscription.current);
  const [currentSubscription] = currentSubscriptions;
  const [pricingModel] = await loadPricingModelDetails(work, [customer.pricingModelId]);
  if (pricingModel === undefined) throw new Problem('pricingModelNotFound', { id: customer.pricingModelId });
  const invoices = await listInvoicesOfCustomer(work, customer.id, mostShown + 1);
  const paymentMethods = await listPaymentMethodsOfCustomer(work, customer.id, mostShown + 1);
  const purchases = await listPurchasesOfCustomer(work, customer.id, mostPurchases + 1);
  return {
    customer: renderCustomer(work, customer),
    subscriptions,
    currentSubscriptions,
    ...(currentSubscription === undefined ? {} : { currentSubscription }),
    invoices: invoices.slice(0, mostShown),
    paymentMethods: paymentMethods.slice(0, mostShown),
    purchases: purchases.slice(0, mostPurchases),
    hasMore: {
      subscriptions: hasMore,
      invoices: invoices.length > mostShown,
      paymentMethods: paymentMethods.length > mostShown,
      purchases: purchases.length > mostPurchases,
    },
    pricingModel,
    catalog: pricingModel,
    billingPortalUrl: billingPortalUrl(work, encryption, customer),
  };
}

/** One subscription with its items, features and balances. Refuses with `subscriptionNotFound`. */
export async function getSubscriptionDetails(work: Work, id: string): Promise<SubscriptionDetails> {
  const row = await findSubscription(work, id);
  const [details] = row === null ? [] : await listDetails(work, [row]);
  if (details === undefined) throw new Problem('subscriptionNotFound', { id });
  return details;
}

/** The newest subscriptions, and every one that has not ended: those decide what the customer has. */
async function listShown(work: Work, customerId: string): Promise<{ rows: SubscriptionRow[]; hasMore: boolean }> {
  const newest = await listNewestSubscriptions(work, customerId, mostShown + 1);
  if (newest.length <= mostShown) return { rows: newest, hasMore: false };
  const shown = newest.slice(0, mostShown);
  const ids = new Set(shown.map(({ id }) => id));
  const older = (await listLivingSubscriptions(work, customerId)).filter(({ id }) => !ids.has(id));
  return { rows: [...shown, ...older], hasMore: true };
}

const hourMs = 3_600_000;
const portalHours = 24;

/** A link valid for about a day. It stays the same within an hour, so that responses are comparable. */
function billingPortalUrl(
  { publicUrl, environmentId }: Work,
  encryption: Encryption,
  { id: customerId, portalVersion: version }: CustomerRow,
): string {
  const expiresAt = (Math.ceil(Date.now() / hourMs) + portalHours) * hourMs;
  return portalUrl(publicUrl, encryption, { environmentId, customerId, version, expiresAt, returnUrl: null });
}

async function listDetails(work: Work, rows: readonly SubscriptionRow[]): Promise<SubscriptionDetails[]> {
  const active = await listActiveItems(
    work,
    rows.map((row) => ({ subscriptionId: row.id, at: work.now })),
  );
  const priceIds = [...new Set(active.flatMap(({ priceId }) => priceId ?? []))];
  const prices = new Map((await listPricesByIds(work, priceIds)).map((price) => [price.id, price]));
  const items = Map.groupBy(active, (item) => item.subscriptionId);
  // Existing clients decide by these: a paused subscription grants nothing, and neither does one without access.
  const access = accessOf(work);
  const usable = rows.filter((row) => hasAccess(row, access));
  const givingIds = usable.filter((row) => row.status !== 'paused').map((row) => row.id);
  const features = Map.groupBy(await listActiveItemFeatures(work, givingIds), (feature) => feature.subscriptionId);
  const usableIds = usable.map((row) => row.id);
  const balances = Map.groupBy(await readBalances(work, usableIds), (balance) => balance.subscriptionId);
  return rows.map((row) => ({
    ...toSubscription(work, row),
    subscriptionItems: (items.get(row.id) ?? []).flatMap((item) => {
      // The item of manually added features has no price and was not bought.
      const price = item.priceId === null ? undefined : prices.get(item.priceId);
      return price === undefined ? [] : { ...item, livemode: work.livemode, price };
    }),
    experimental: {
      featureItems: features.get(row.id) ?? [],
      usageMeterBalances: balances.get(row.id) ?? [],
    },
  }));
}

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
 * Updates the customer with this external id, or creates it with its default plan. Any number of callers at once make
 * one customer. Refuses a new customer without an email address or a name.
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
  // A request that began later than this one may have made the customer, and this one waited for it.
  const at = Math.max(work.now, subscription.startDate);
  return { subscription, items: await listActiveItems(work, [{ subscriptionId: subscription.id, at }]) };
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
