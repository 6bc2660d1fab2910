import type { TenantWorld } from './tenants-world.ts';

/** Fields that name no record of ours, by the end of their place, and why. */
export const namesNoRecord: Readonly<Record<string, string>> = {
  'customer.userId': "the application's own id of a person: text to us",
  'seller.taxId': 'a number that the seller has from its tax office: text to us',
  'billingTerms.taxId': 'a number that the customer has from its tax office: text to us',
  'seller.email': 'text to us',
  'paymentMethod.token': 'named at the processor, which is asked with the account of the environment',
  postal_code: 'part of an address',
  'products[].features[].slug': 'a feature of the same body',
  'creditPools[].rates[].usageMeterSlug': 'a usage meter of the same body',
  'features[].creditPoolSlug': 'a credit pool of the same body',
  'features[].spendLimit.usageMeterSlug': 'a usage meter of the same body',
  'features[].spendLimit.creditPoolSlug': 'a credit pool of the same body',
  ...Object.fromEntries(
    [
      'features[].slug',
      'features[].usageMeterSlug',
      'features[].resourceSlug',
      'products[].product.slug',
      'products[].product.usagePrices[].usageMeterSlug',
      'products[].product.usagePrices[].priceSlug',
      'products[].price.slug',
      'usageMeters[].usageMeter.slug',
      'usageMeters[].usageMeter.eventName',
      'usageMeters[].prices[].slug',
      'resources[].slug',
      'creditPools[].slug',
    ].map((place) => [` base.${place}`, 'the base is compared with the model of the path, and finds nothing']),
  ),
};

type Coin = (victim: TenantWorld) => string;
const featureSlug: Coin = (w) => w.toggleSlug;
const productSlug: Coin = (w) => w.productSlug;
const priceSlug: Coin = (w) => w.planPriceSlug;
const meterSlug: Coin = (w) => w.callsMeterSlug;
const eventName: Coin = (w) => w.callsEventName;
const seatSlug: Coin = (w) => w.seatSlug;
const poolSlug: Coin = (w) => w.poolSlug;
const seatClaimName: Coin = (w) => w.seatClaimName;
const transactionId: Coin = (w) => w.usageTransactionId;

/**
 * Fields that give a new record its name, and what the victim has called its own so: for the intruder that name is free,
 * so that nobody finds out by trying which names others have.
 */
export const coined: Readonly<Record<string, Coin>> = {
  'POST /customers customer.externalId': (w) => w.externalId,
  'PUT /customers/{externalId} customer.externalId': (w) => w.externalId,
  'POST /subscriptions/{id}/adjust adjustment.newSubscriptionItems[].externalId': (w) => w.email,
  'POST /subscriptions/{id}/preview-adjust adjustment.newSubscriptionItems[].externalId': (w) => w.email,
  'POST /products product.slug': productSlug,
  'POST /products price.slug': priceSlug,
  'PUT /products/{id} product.slug': productSlug,
  'PUT /products/{id} price.slug': priceSlug,
  'POST /prices price.slug': priceSlug,
  'PUT /prices/{id} price.slug': priceSlug,
  'POST /features feature.slug': featureSlug,
  'PUT /features/{id} feature.slug': featureSlug,
  'POST /usage-meters usageMeter.slug': meterSlug,
  'PUT /usage-meters/{id} usageMeter.slug': meterSlug,
  'POST /usage-meters usageMeter.eventName': eventName,
  'PUT /usage-meters/{id} usageMeter.eventName': eventName,
  'POST /pricing-models/setup usageMeters[].usageMeter.eventName': eventName,
  'POST /pricing-models/apply usageMeters[].usageMeter.eventName': eventName,
  'PUT /pricing-models/{id} pricingModel.usageMeters[].usageMeter.eventName': eventName,
  'POST /pricing-models/{id}/apply pricingModel.usageMeters[].usageMeter.eventName': eventName,
  'POST /credit-pools creditPool.slug': poolSlug,
  'PUT /credit-pools/{id} creditPool.slug': poolSlug,
  'PUT /pricing-models/{id} pricingModel.creditPools[].slug': poolSlug,
  'POST /pricing-models/{id}/apply pricingModel.creditPools[].slug': poolSlug,
  'POST /pricing-models/setup creditPools[].slug': poolSlug,
  'POST /pricing-models/apply creditPools[].slug': poolSlug,
  'POST /resources resource.slug': seatSlug,
  'PUT /resources/{id} resource.slug': seatSlug,
  'POST /discounts discount.code': (w) => w.discountCode,
  'PUT /discounts/{id} discount.code': (w) => w.discountCode,
  'POST /pricing-models/setup features[].slug': featureSlug,
  'POST /pricing-models/apply features[].slug': featureSlug,
  'POST /pricing-models/setup products[].product.slug': productSlug,
  'POST /pricing-models/apply products[].product.slug': productSlug,
  'POST /pricing-models/setup products[].price.slug': priceSlug,
  'POST /pricing-models/apply products[].price.slug': priceSlug,
  'POST /pricing-models/setup usageMeters[].prices[].slug': (w) => w.callsPriceSlug,
  'POST /pricing-models/apply usageMeters[].prices[].slug': (w) => w.callsPriceSlug,
  'PUT /pricing-models/{id} pricingModel.features[].slug': featureSlug,
  'POST /pricing-models/{id}/apply pricingModel.features[].slug': featureSlug,
  'PUT /pricing-models/{id} pricingModel.products[].product.slug': productSlug,
  'POST /pricing-models/{id}/apply pricingModel.products[].product.slug': productSlug,
  'PUT /pricing-models/{id} pricingModel.products[].price.slug': priceSlug,
  'POST /pricing-models/{id}/apply pricingModel.products[].price.slug': priceSlug,
  'PUT /pricing-models/{id} pricingModel.usageMeters[].prices[].slug': (w) => w.callsPriceSlug,
  'POST /pricing-models/{id}/apply pricingModel.usageMeters[].prices[].slug': (w) => w.callsPriceSlug,
  'PUT /pricing-models/{id} pricingModel.usageMeters[].usageMeter.slug': meterSlug,
  'POST /pricing-models/{id}/apply pricingModel.usageMeters[].usageMeter.slug': meterSlug,
  'PUT /pricing-models/{id} pricingModel.resources[].slug': seatSlug,
  'POST /pricing-models/{id}/apply pricingModel.resources[].slug': seatSlug,
  'POST /resource-claims/{subscriptionId}/claim externalId': seatClaimName,
  'POST /resource-claims/{subscriptionId}/claim externalIds[]': seatClaimName,
  'POST /usage-credits usageCredit.transactionId': transactionId,
  'POST /usage-events usageEvent.transactionId': transactionId,
  'POST /usage-events/bulk usageEvents[].transactionId': transactionId,
  'POST /usage-events/consume usageEvent.transactionId': transactionId,
};

export interface Otherwise {
  readonly status: number;
  readonly reason: string;
}

const ofCustomer = {
  status: 400,
  reason: 'it must be one of the customer: whatever else it is, the answer is the same',
};
const ofPricingModel = {
  status: 400,
  reason: 'it must be of the pricing model: whatever else it is, the answer is the same',
};
const ofNoMeter = {
  status: 400,
  reason: 'it must be that of a usage meter of the subscription: whatever else it is, the answer is the same',
};
const ofNobody = { status: 400, reason: 'a code that nobody has is a mistake of whoever typed it' };
const fixed = { status: 400, reason: 'it cannot be changed: whatever else is given, the answer is the same' };
const leftOut = { status: 200, reason: 'what is not there is left out of the answer' };
const toldEach = { status: 200, reason: 'each check is answered by itself: not found' };
const refusalTold = { status: 200, reason: 'a preview answers why the change would be refused' };

/** Where the answer is neither 404 nor an empty list, by operation and place, and why. */
export const answeredOtherwise: Readonly<Record<string, Otherwise>> = {
  'POST /subscriptions defaultPaymentMethodId': ofCustomer,
  'POST /subscriptions backupPaymentMethodId': ofCustomer,
  'PUT /subscriptions/{id} subscription.defaultPaymentMethodId': ofCustomer,
  'PUT /subscriptions/{id} subscription.backupPaymentMethodId': ofCustomer,
  'POST /subscriptions discountCode': ofNobody,
  'POST /checkout-sessions checkoutSession.discountCode': ofNobody,
  'POST /purchases purchase.discountCode': ofNobody,
  'POST /subscriptions/{id}/discounts discount.discountId': ofNobody,
  'POST /subscriptions/{id}/discounts discount.code': ofNobody,
  'POST /invoices invoice.discountCode': ofNobody,
  'PUT /invoices/{id} invoice.discountCode': ofNobody,
  'POST /purchases purchase.paymentMethodId': ofCustomer,
  'POST /subscriptions/{id}/retry-payment paymentMethodId': ofCustomer,
  'POST /invoices/{id}/pay paymentMethodId': ofCustomer,
  'POST /invoices/{id}/credit-notes creditNote.lines[].invoiceLineItemId': {
    status: 400,
    reason: 'it must be a line of the invoice',
  },
  'POST /subscriptions/{id}/preview-adjust id': refusalTold,
  'POST /subscriptions/{id}/preview-adjust adjustment.newSubscriptionItems[].id': refusalTold,
  'POST /subscriptions/{id}/preview-adjust adjustment.newSubscriptionItems[].subscriptionId': refusalTold,
  'POST /subscriptions/{id}/preview-adjust adjustment.newSubscriptionItems[].priceId': refusalTold,
  'POST /subscriptions/{id}/preview-adjust adjustment.newSubscriptionItems[].priceSlug': refusalTold,
  'POST /subscriptions priceOverrides[].priceId': ofPricingModel,
  'POST /subscriptions priceOverrides[].priceSlug': ofPricingModel,
  'POST /subscriptions/{id}/adjust adjustment.priceOverrides[].priceId': ofPricingModel,
  'POST /subscriptions/{id}/adjust adjustment.priceOverrides[].priceSlug': ofPricingModel,
  'POST /subscriptions/{id}/preview-adjust adjustment.priceOverrides[].priceId': refusalTold,
  'POST /subscriptions/{id}/preview-adjust adjustment.priceOverrides[].priceSlug': refusalTold,
  'POST /prices price.pricingModelId': { status: 400, reason: "it must be the product's: it only repeats that" },
  'PUT /subscription-item-features/{id} subscriptionItemFeature.featureId': fixed,
  'PUT /subscription-item-features/{id} subscriptionItemFeature.subscriptionItemId': fixed,
  'PUT /subscription-item-features/{id} subscriptionItemFeature.subscriptionId': fixed,
  'PUT /webhooks/{id} webhook.pricingModelId': fixed,
  'PUT /features/{id} feature.spendLimit.usageMeterId': fixed,
  'PUT /features/{id} feature.spendLimit.creditPoolId': fixed,
  ...Object.fromEntries(
    ['POST /products', 'PUT /products/{id}'].flatMap((operation) =>
      ['usageMeterId', 'usageMeterSlug', 'priceId', 'priceSlug'].map((field) => [
        `${operation} product.usagePrices[].${field}`,
        ofPricingModel,
      ]),
    ),
  ),
  'POST /usage-events usageEvent.eventName': ofNoMeter,
  'POST /usage-events/bulk usageEvents[].eventName': ofNoMeter,
  'POST /usage-events/consume usageEvent.eventName': ofNoMeter,
  'POST /entitlements/check pricingModelId': toldEach,
  'POST /entitlements/check checks[].customerExternalId': toldEach,
  'POST /entitlements/check checks[].featureSlug': toldEach,
  'GET /resource-claims/{subscriptionId}/usages resourceSlugs': leftOut,
  'GET /resource-claims/{subscriptionId}/usages resourceSlugs[]': leftOut,
  'GET /resource-claims/{subscriptionId}/usages resourceIds': leftOut,
  'GET /resource-claims/{subscriptionId}/usages resourceIds[]': leftOut,
  'GET /usage-meters/{id}/summary customerId': leftOut,
  'GET /usage-meters/{id}/summary subscriptionId': leftOut,
};

/** What a pinned key may not do even with what it sees, because more than its pricing model would change. */
export const closedToPinned: ReadonlySet<string> = new Set([
  'POST /organizations',
  'PUT /settings',
  'POST /pricing-models',
  'POST /pricing-models/setup',
  'POST /pricing-models/apply',
  'POST /pricing-models/{id}/clone',
  'DELETE /pricing-models/{id}',
  'POST /catalogs',
  'POST /catalogs/{id}/clone',
  'PUT /tax-rates/{id}',
  'POST /tax-rates',
  'DELETE /tax-rates/{id}',
  'PUT /test-clock',
]);

/** What is never done in live mode. */
export const closedToLive: ReadonlySet<string> = new Set(['PUT /test-clock']);

/** Records of the environment, and of no pricing model: a pinned key reads them as every key of the environment does. */
export const sharedWithPinned: ReadonlySet<string> = new Set([
  'GET /tax-rates/{id} id',
  'PUT /tax-rates/{id} id',
  'PUT /tax-rates/{id} taxRate.id',
  'DELETE /tax-rates/{id} id',
  // Which key of the environment changed what the pinned one sees is told to it.
  'GET /audit-log apiKeyId',
]);

/** Filters that the tenants' own records do not show at work: nothing of theirs has it. */
export const emptyForAll: ReadonlySet<string> = new Set([
  'GET /purchases subscriptionId',
  // No invoice of a tenant is consolidated.
  'GET /invoices consolidatedInvoiceId',
  // Items of tenants are pending, and of no one subscription.
  'GET /invoice-items subscriptionId',
  'GET /invoice-items invoiceId',
  'GET /purchases checkoutSessionId',
  'GET /payments purchaseId',
  // Balances that were only given something by hand.
  'GET /customer-balances/{id}/entries invoiceId',
  // The only delivery of a tenant is a sample, which is about nobody.
  'GET /webhooks/{id}/deliveries customerId',
  'GET /webhooks/{id}/deliveries customerExternalId',
]);
