import { z } from 'zod';
import { renderCustomer, requireCustomerByExternalId } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { Customer } from '../customers/customer.ts';
import { portalUrl } from '../customers/portal-link.ts';
import type { Work } from '../database/work.ts';
import { listActiveItemFeatures } from '../entitlements/actions.ts';
import { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { listInvoicesOfCustomer } from '../invoicing/actions.ts';
import { Invoice } from '../invoicing/invoice.ts';
import { InvoiceLineItem } from '../invoicing/invoice-line-item.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { Problem } from '../kernel/problem.ts';
import { accessOf } from '../organizations/setting.ts';
import { listPaymentMethodsOfCustomer } from '../payments/actions.ts';
import { PaymentMethod } from '../payments/payment-method.ts';
import { Price } from '../pricing/price.ts';
import { PricingModelDetails } from '../pricing/pricing-model.ts';
import { loadPricingModelDetails } from '../pricing/store-details.ts';
import { listPrices } from '../pricing/store-prices.ts';
import { listPurchasesOfCustomer } from '../purchases/actions.ts';
import { Purchase } from '../purchases/purchase.ts';
import { listSubscriptionsOfCustomer } from '../subscriptions/store.ts';
import { listSubscriptionItems } from '../subscriptions/store-items.ts';
import {
  hasAccess,
  NonRenewingSubscription,
  RenewingSubscription,
  type SubscriptionRow,
  toSubscription,
} from '../subscriptions/subscription.ts';
import { isActiveItem, SubscriptionItem } from '../subscriptions/subscription-item.ts';
import { readBalances } from '../usage/actions-balances.ts';
import { UsageMeterBalance } from '../usage/ledger.ts';

const SubscriptionItemWithPrice = z.object({ ...SubscriptionItem.shape, price: Price });

const contents = {
  subscriptionItems: z.array(SubscriptionItemWithPrice).meta({ description: 'The items that are active now.' }),
  experimental: z.object({
    featureItems: z.array(SubscriptionItemFeature).meta({ description: 'The features that are active now.' }),
    usageMeterBalances: z.array(UsageMeterBalance),
  }),
};

/** A subscription with its items and features. */
const SubscriptionDetails = z
  .discriminatedUnion('renews', [RenewingSubscription.extend(contents), NonRenewingSubscription.extend(contents)])
  .meta({ id: 'SubscriptionDetails' });
type SubscriptionDetails = z.infer<typeof SubscriptionDetails>;

/** All data about one customer in one response. */
export const CustomerBilling = z
  .object({
    customer: Customer,
    subscriptions: z
      .array(SubscriptionDetails)
      .meta({ description: 'The subscriptions of every status, newest first.' }),
    currentSubscriptions: z
      .array(SubscriptionDetails)
      .meta({ description: 'The current subscriptions, newest first.' }),
    currentSubscription: SubscriptionDetails.optional(),
    invoices: z.array(z.object({ invoice: Invoice, invoiceLineItems: z.array(InvoiceLineItem) })),
    paymentMethods: z.array(PaymentMethod),
    purchases: z.array(Purchase).meta({ description: 'The purchases that are paid and not refunded, newest first.' }),
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
  const rows = await listSubscriptionsOfCustomer(work, customer.id);
  const subscriptions = await listDetails(work, customer.pricingModelId, rows);
  const currentSubscriptions = subscriptions.filter((subscription) => subscription.current);
  const [currentSubscription] = currentSubscriptions;
  const [pricingModel] = await loadPricingModelDetails(work, [customer.pricingModelId]);
  if (pricingModel === undefined) throw new Problem('pricingModelNotFound', { id: customer.pricingModelId });
  return {
    customer: renderCustomer(work, customer),
    subscriptions,
    currentSubscriptions,
    ...(currentSubscription === undefined ? {} : { currentSubscription }),
    invoices: await listInvoicesOfCustomer(work, customer.id),
    paymentMethods: await listPaymentMethodsOfCustomer(work, customer.id),
    purchases: await listPurchasesOfCustomer(work, customer.id),
    pricingModel,
    catalog: pricingModel,
    billingPortalUrl: billingPortalUrl(work, encryption, customer),
  };
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

async function listDetails(
  work: Work,
  pricingModelId: string,
  rows: readonly SubscriptionRow[],
): Promise<SubscriptionDetails[]> {
  const ids = rows.map((row) => row.id);
  const prices = new Map((await listPrices(work, [pricingModelId])).map((price) => [price.id, price]));
  const items = Map.groupBy(await listSubscriptionItems(work, ids), (item) => item.subscriptionId);
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
      return price === undefined || !isActiveItem(item, work.now) ? [] : { ...item, livemode: work.livemode, price };
    }),
    experimental: {
      featureItems: features.get(row.id) ?? [],
      usageMeterBalances: balances.get(row.id) ?? [],
    },
  }));
}
