import type { World } from './world.ts';

/** A valid call of a route: the path with its parameters filled in, and the body. `n` makes unique values unique. */
export interface Call {
  readonly path: string;
  readonly body?: unknown;
}

type CallOf = (world: World, n: string) => Call;

const at = (path: string, body?: unknown): Call => (body === undefined ? { path } : { path, body });

const usageEvent = (world: World, n: string) => ({
  subscriptionId: world.subscriptionId,
  priceSlug: world.usagePriceSlug,
  transactionId: `call-${n}`,
  amount: 1,
});
const twoUnits = ({ priceId }: World) => ({
  adjustment: { timing: 'auto', newSubscriptionItems: [{ priceId, quantity: 2 }] },
});
const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 100, isDefault: true };

/**
 * One valid call for every operation, by method and path. A route that is missing here fails the test that walks the
 * route list, so none can escape it.
 */
export const calls: Readonly<Record<string, CallOf>> = {
  'GET /utils/ping': () => at('/utils/ping'),
  'GET /api-keys': () => at('/api-keys'),
  'GET /api-keys/{id}': (w) => at(`/api-keys/${w.apiKeyId}`),

  'GET /audit-log': () => at('/audit-log'),

  'GET /test-clock': () => at('/test-clock'),
  // The last route of all, because time stands still in the environment from then on.
  'PUT /test-clock': () => at('/test-clock', { testClock: { now: Date.now() + 60_000 } }),

  'GET /settings': () => at('/settings'),
  'PUT /settings': (_, n) => at('/settings', { settings: { seller: { name: `Seller ${n}` }, netTermsDays: 0 } }),

  'GET /pricing-models': () => at('/pricing-models'),
  'POST /pricing-models': (_, n) => at('/pricing-models', { pricingModel: { name: `Model ${n}` } }),
  'GET /pricing-models/default': () => at('/pricing-models/default'),
  'POST /pricing-models/setup': (_, n) =>
    at('/pricing-models/setup', { name: `Setup ${n}`, features: [], products: [], usageMeters: [] }),
  'GET /pricing-models/{id}': (w) => at(`/pricing-models/${w.pricingModelId}`),
  'PUT /pricing-models/{id}': (w, n) =>
    at(`/pricing-models/${w.pricingModelId}`, { pricingModel: { id: w.pricingModelId, name: `Renamed ${n}` } }),
  'POST /pricing-models/{id}/clone': (w, n) => at(`/pricing-models/${w.pricingModelId}/clone`, { name: `Clone ${n}` }),
  'GET /catalogs': () => at('/catalogs'),
  'POST /catalogs': (_, n) => at('/catalogs', { catalog: { name: `Catalog ${n}` } }),
  'GET /catalogs/default': () => at('/catalogs/default'),
  'GET /catalogs/{id}': (w) => at(`/catalogs/${w.pricingModelId}`),
  'PUT /catalogs/{id}': (w, n) =>
    at(`/catalogs/${w.pricingModelId}`, { catalog: { id: w.pricingModelId, name: `Catalog ${n}` } }),
  'POST /catalogs/{id}/clone': (w, n) => at(`/catalogs/${w.pricingModelId}/clone`, { name: `Catalog ${n}` }),
  'GET /pricing-models/{id}/export': (w) => at(`/pricing-models/${w.pricingModelId}/export`),

  'GET /products': () => at('/products'),
  'POST /products': (w, n) =>
    at('/products', {
      product: { name: 'Extra', slug: `extra-${n}`, pricingModelId: w.pricingModelId, active: true },
      price: monthly,
      featureIds: [w.featureId],
    }),
  'GET /products/{id}': (w) => at(`/products/${w.productId}`),
  'PUT /products/{id}': (w, n) =>
    at(`/products/${w.productId}`, { product: { id: w.productId, name: `Team ${n}`, active: true } }),
  'GET /prices': () => at('/prices'),
  'POST /prices': (w, n) =>
    at('/prices', {
      price: {
        type: 'usage',
        usageMeterId: w.usageMeterId,
        slug: `usage-${n}`,
        intervalUnit: 'month',
        intervalCount: 1,
        unitPrice: 2,
        usageEventsPerUnit: 10,
        isDefault: false,
      },
    }),
  'GET /prices/{id}': (w) => at(`/prices/${w.priceId}`),
  'PUT /prices/{id}': (w, n) =>
    at(`/prices/${w.priceId}`, { price: { id: w.priceId, type: 'subscription', isDefault: true, name: `Price ${n}` } }),
  'GET /features': () => at('/features'),
  'POST /features': (w, n) =>
    at('/features', {
      feature: { type: 'toggle', slug: `toggle-${n}`, name: 'T', description: '', pricingModelId: w.pricingModelId },
    }),
  'GET /features/{id}': (w) => at(`/features/${w.featureId}`),
  'PUT /features/{id}': (w, n) =>
    at(`/features/${w.featureId}`, { feature: { id: w.featureId, type: 'toggle', name: `SSO ${n}` } }),
  'GET /product-features': () => at('/product-features'),
  'POST /product-features': (w) =>
    at('/product-features', { productFeature: { productId: w.productId, featureId: w.spareFeatureId } }),
  'GET /product-features/{id}': (w) => at(`/product-features/${w.productFeatureId}`),
  'POST /product-features/{id}/expire': (w) => at(`/product-features/${w.productFeatureId}/expire`, {}),
  'GET /usage-meters': () => at('/usage-meters'),
  'POST /usage-meters': (w, n) =>
    at('/usage-meters', { usageMeter: { name: 'Meter', slug: `meter-${n}`, pricingModelId: w.pricingModelId } }),
  'GET /usage-meters/{id}': (w) => at(`/usage-meters/${w.usageMeterId}`),
  'PUT /usage-meters/{id}': (w, n) =>
    at(`/usage-meters/${w.usageMeterId}`, { usageMeter: { id: w.usageMeterId, name: `Calls ${n}` } }),
  'GET /resources': () => at('/resources'),
  'POST /resources': (w, n) =>
    at('/resources', { resource: { slug: `resource-${n}`, name: 'R', pricingModelId: w.pricingModelId } }),
  'GET /resources/{id}': (w) => at(`/resources/${w.resourceId}`),
  'PUT /resources/{id}': (w, n) =>
    at(`/resources/${w.resourceId}`, { resource: { id: w.resourceId, name: `Seat ${n}` } }),

  'GET /discounts': () => at('/discounts'),
  'POST /discounts': (w, n) =>
    at('/discounts', {
      discount: {
        name: 'Spring',
        code: `SPRING-${n}`,
        amount: 10,
        amountType: 'percent',
        duration: 'once',
        pricingModelId: w.pricingModelId,
      },
    }),
  'GET /discounts/{id}': (w) => at(`/discounts/${w.discountId}`),
  'PUT /discounts/{id}': (w, n) => at(`/discounts/${w.discountId}`, { discount: { name: `Summer ${n}` } }),

  'GET /customers': () => at('/customers'),
  'POST /customers': (_, n) =>
    at('/customers', { customer: { externalId: `new-${n}`, email: 'n@acme.test', name: 'New' } }),
  'GET /customers/{externalId}': (w) => at(`/customers/${w.externalId}`),
  'PUT /customers/{externalId}': (w, n) => at(`/customers/${w.externalId}`, { customer: { name: `Acme ${n}` } }),
  'POST /customers/{externalId}/archive': (w) => at(`/customers/${w.externalId}/archive`, {}),
  'GET /customers/{externalId}/billing': (w) => at(`/customers/${w.externalId}/billing`),
  'GET /customers/{externalId}/usage-balances': (w) => at(`/customers/${w.externalId}/usage-balances`),
  'GET /customers/{externalId}/ledger': (w) => at(`/customers/${w.externalId}/ledger`),

  'GET /subscriptions': () => at('/subscriptions'),
  'POST /subscriptions': (w) => at('/subscriptions', { customerId: w.customerId, priceId: w.priceId, quantity: 2 }),
  'GET /subscriptions/{id}': (w) => at(`/subscriptions/${w.subscriptionId}`),
  'POST /subscriptions/{id}/cancel': (w) =>
    at(`/subscriptions/${w.subscriptionId}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } }),
  'POST /subscriptions/{id}/pause': (w) =>
    at(`/subscriptions/${w.subscriptionId}/pause`, { pause: { resumesAt: 4_102_444_800_000 } }),
  'POST /subscriptions/{id}/resume': (w) => at(`/subscriptions/${w.subscriptionId}/resume`, {}),
  'POST /subscriptions/{id}/adjust': (w) => at(`/subscriptions/${w.subscriptionId}/adjust`, twoUnits(w)),
  'POST /subscriptions/{id}/preview-adjust': (w) =>
    at(`/subscriptions/${w.subscriptionId}/preview-adjust`, twoUnits(w)),
  'POST /subscriptions/{id}/retry-payment': (w) => at(`/subscriptions/${w.owingSubscriptionId}/retry-payment`, {}),
  'POST /subscriptions/{id}/cancel-scheduled-adjustment': (w) =>
    at(`/subscriptions/${w.changingSubscriptionId}/cancel-scheduled-adjustment`, {}),
  'POST /subscriptions/{id}/uncancel': (w) => at(`/subscriptions/${w.subscriptionId}/uncancel`, {}),
  'POST /subscriptions/{id}/add-feature': (w) =>
    at(`/subscriptions/${w.subscriptionId}/add-feature`, { featureId: w.spareFeatureId }),
  'POST /subscription-item-features': (w) =>
    at('/subscription-item-features', {
      subscriptionItemFeature: {
        subscriptionItemId: w.subscriptionItemId,
        featureId: w.spareFeatureId,
        type: 'toggle',
      },
    }),
  'GET /subscription-item-features/{id}': (w) => at(`/subscription-item-features/${w.subscriptionItemFeatureId}`),
  'PUT /subscription-item-features/{id}': (w) =>
    at(`/subscription-item-features/${w.subscriptionItemFeatureId}`, {
      subscriptionItemFeature: { id: w.subscriptionItemFeatureId, type: 'toggle', expiredAt: 4_102_444_800_000 },
    }),
  'POST /subscription-item-features/{id}/expire': (w) =>
    at(`/subscription-item-features/${w.subscriptionItemFeatureId}/expire`, { expiredAt: '2099-01-01T00:00:00Z' }),
  'GET /customers/{externalId}/entitlements': (w) => at(`/customers/${w.externalId}/entitlements`),
  'POST /entitlements/check': (w) =>
    at('/entitlements/check', { checks: [{ customerExternalId: w.externalId, featureSlug: 'sso' }] }),

  'POST /resource-claims/{subscriptionId}/claim': (w, n) =>
    at(`/resource-claims/${w.subscriptionId}/claim`, { resourceSlug: 'seat', externalId: `claim-${n}` }),
  'GET /resource-claims/{subscriptionId}/claims': (w) => at(`/resource-claims/${w.subscriptionId}/claims`),
  'POST /resource-claims/{subscriptionId}/release': (w) =>
    at(`/resource-claims/${w.subscriptionId}/release`, { resourceSlug: 'seat', externalId: 'ada' }),
  'GET /resource-claims/{subscriptionId}/usage': (w) =>
    at(`/resource-claims/${w.subscriptionId}/usage?resourceSlug=seat`),
  'GET /resource-claims/{subscriptionId}/usages': (w) => at(`/resource-claims/${w.subscriptionId}/usages`),

  'GET /usage-events': () => at('/usage-events'),
  'POST /usage-events': (w, n) => at('/usage-events', { usageEvent: usageEvent(w, n) }),
  'POST /usage-events/bulk': (w, n) =>
    at('/usage-events/bulk', { usageEvents: [usageEvent(w, `${n}-a`), usageEvent(w, `${n}-b`)] }),
  'GET /usage-events/{id}': (w) => at(`/usage-events/${w.usageEventId}`),
  'GET /usage-events/{id}/ledger-entry': (w) => at(`/usage-events/${w.usageEventId}/ledger-entry`),
  'GET /usage-meters/{id}/summary': (w) => at(`/usage-meters/${w.usageMeterId}/summary`),
  'POST /usage-events/consume': (w, n) => at('/usage-events/consume', { usageEvent: usageEvent(w, `consumed-${n}`) }),

  'GET /holds': () => at('/holds'),
  'POST /holds': (w) =>
    at('/holds', {
      hold: { subscriptionId: w.subscriptionId, meter: 'api-calls', amount: 1, expiresAt: Date.now() + 86_400_000 },
    }),
  'GET /holds/{id}': (w) => at(`/holds/${w.holdId}`),
  'POST /holds/{id}/settle': (w) => at(`/holds/${w.holdId}/settle`, { amount: 3 }),
  'POST /holds/{id}/release': (w) => at(`/holds/${w.spareHoldId}/release`, {}),

  'GET /usage-credits': () => at('/usage-credits'),
  'POST /usage-credits': (w) =>
    at('/usage-credits', {
      usageCredit: { subscriptionId: w.subscriptionId, usageMeterId: w.usageMeterId, amount: 5, reason: 'Sorry' },
    }),
  'GET /usage-credits/{id}': (w) => at(`/usage-credits/${w.usageCreditId}`),
  'POST /usage-credits/{id}/take-back': (w) => at(`/usage-credits/${w.usageCreditId}/take-back`, { amount: 1 }),

  'GET /invoices': () => at('/invoices'),
  'GET /invoices/{id}': (w) => at(`/invoices/${w.invoiceId}`),
  'GET /invoices/upcoming': (w) => at(`/invoices/upcoming?subscriptionId=${w.subscriptionId}`),
  'GET /invoices/{id}/explain': (w) => at(`/invoices/${w.invoiceId}/explain`),
  'GET /invoices/{id}/html': (w) => at(`/invoices/${w.invoiceId}/html`),
  'GET /invoices/{id}/pdf': (w) => at(`/invoices/${w.invoiceId}/pdf`),
  'POST /invoices/{id}/void': (w) => at(`/invoices/${w.openInvoiceId}/void`, {}),
  'POST /invoices/{id}/mark-uncollectible': (w) => at(`/invoices/${w.openInvoiceId}/mark-uncollectible`, {}),
  'POST /invoices/{id}/record-payment': (w) =>
    at(`/invoices/${w.openInvoiceId}/record-payment`, { payment: { reference: 'transfer 17' } }),
  'GET /invoice-line-items': () => at('/invoice-line-items'),
  'GET /invoice-line-items/{id}': (w) => at(`/invoice-line-items/${w.invoiceLineItemId}`),
  'GET /tax-rates': () => at('/tax-rates'),
  'POST /tax-rates': (_, n) =>
    at('/tax-rates', { taxRate: { country: 'US', state: `state ${n}`, type: 'sales_tax', percentage: '8.875' } }),
  'GET /tax-rates/{id}': (w) => at(`/tax-rates/${w.taxRateId}`),
  'PUT /tax-rates/{id}': (w, n) => at(`/tax-rates/${w.taxRateId}`, { taxRate: { name: `VAT ${n}` } }),
  'DELETE /tax-rates/{id}': (w) => at(`/tax-rates/${w.taxRateId}`),
  'GET /purchases': () => at('/purchases'),
  'GET /purchases/{id}': (w) => at(`/purchases/${w.purchaseId}`),

  'GET /checkout-sessions': () => at('/checkout-sessions'),
  'POST /checkout-sessions': (w) =>
    at('/checkout-sessions', {
      checkoutSession: {
        type: 'product',
        customerExternalId: w.externalId,
        priceId: w.priceId,
        successUrl: 'https://app.example.com/paid',
        cancelUrl: 'https://app.example.com/plans',
      },
    }),
  'GET /checkout-sessions/{id}': (w) => at(`/checkout-sessions/${w.checkoutSessionId}`),
  'POST /customers/{externalId}/portal-sessions': (w) => at(`/customers/${w.externalId}/portal-sessions`, {}),

  'GET /payments': () => at('/payments'),
  'GET /payments/{id}': (w) => at(`/payments/${w.paymentId}`),
  'POST /payments/{id}/refund': (w) => at(`/payments/${w.paymentId}/refund`, { partialAmount: 1 }),
  'GET /payment-methods': () => at('/payment-methods'),
  'POST /payment-methods': (w) =>
    at('/payment-methods', { paymentMethod: { customerId: w.customerId, type: 'card', token: 'pm_card_mastercard' } }),
  'GET /payment-methods/{id}': (w) => at(`/payment-methods/${w.paymentMethodId}`),

  'GET /webhooks': () => at('/webhooks'),
  'POST /webhooks': (w, n) =>
    at('/webhooks', {
      webhook: {
        url: 'https://hooks.example.com/in',
        name: `Hook ${n}`,
        filterTypes: [],
        pricingModelId: w.pricingModelId,
        active: false,
      },
    }),
  'GET /webhooks/{id}': (w) => at(`/webhooks/${w.webhookId}`),
  'PUT /webhooks/{id}': (w, n) =>
    at(`/webhooks/${w.webhookId}`, {
      webhook: { id: w.webhookId, name: `Hook ${n}`, url: 'https://hooks.example.com/in', filterTypes: [] },
    }),
  'DELETE /webhooks/{id}': (w) => at(`/webhooks/${w.webhookId}`),
  'POST /webhooks/{id}/rotate-secret': (w) => at(`/webhooks/${w.webhookId}/rotate-secret`),
  'POST /webhooks/{id}/test': (w) => at(`/webhooks/${w.webhookId}/test`, { test: { type: 'payment.failed' } }),
  'POST /webhooks/{id}/replay': (w) => at(`/webhooks/${w.webhookId}/replay`, { replay: { since: 0 } }),
  'GET /webhooks/{id}/deliveries': (w) => at(`/webhooks/${w.webhookId}/deliveries`),
  'GET /deliveries/{id}': (w) => at(`/deliveries/${w.deliveryId}`),
  'POST /deliveries/{id}/retry': (w) => at(`/deliveries/${w.deliveryId}/retry`),
  'GET /events': () => at('/events'),
  'GET /events/{id}': (w) => at(`/events/${w.eventId}`),
};

/** Calls that only one of them can follow: the world is built anew before each. */
export const spoils: ReadonlySet<string> = new Set([
  'POST /customers/{externalId}/archive',
  'POST /subscriptions/{id}/cancel-scheduled-adjustment',
  'DELETE /webhooks/{id}',
  'POST /subscriptions/{id}/retry-payment',
  'POST /invoices/{id}/void',
  'POST /invoices/{id}/mark-uncollectible',
  'POST /invoices/{id}/record-payment',
  'DELETE /tax-rates/{id}',
  'POST /product-features/{id}/expire',
  'POST /subscription-item-features',
  'POST /resource-claims/{subscriptionId}/release',
]);
