/**
 * One valid request of each operation. The reference page shows them, with ids in place of those of real records, and
 * `test/api/api.test.ts` sends each of them to a running service.
 */
import { type Ids, placeholders } from './request-ids.ts';

/** The path below /api/v1, with its parameters and query, and the body. */
export interface ExampleRequest {
  readonly path: string;
  readonly body?: unknown;
}

/** Makes the request: `n` makes unique values unique, and `now` is the time at which it is sent. */
export type MakeRequest = (ids: Ids, n: string, now: number) => ExampleRequest;

const at = (path: string, body?: unknown): ExampleRequest => (body === undefined ? { path } : { path, body });

const usageEvent = (ids: Ids, n: string) => ({
  subscriptionId: ids.subscriptionId,
  priceSlug: ids.usagePriceSlug,
  transactionId: `request-${n}`,
  amount: 1,
});
const twoUnits = ({ priceId }: Ids) => ({
  adjustment: { timing: 'auto', newSubscriptionItems: [{ priceId, quantity: 2 }] },
});
/** A whole pricing model, with every type of feature and a price of each common type. */
export function teamPlan(name: string) {
  return {
    name,
    features: [
      { type: 'toggle', slug: 'sso', name: 'SSO', description: 'Single sign-on' },
      { type: 'toggle', slug: 'audit', name: 'Audit log', description: 'Who did what' },
      {
        type: 'usage_credit_grant',
        slug: 'calls',
        name: '10k calls',
        description: 'Monthly calls',
        amount: 10_000,
        renewalFrequency: 'every_billing_period',
        usageMeterSlug: 'api-calls',
      },
      { type: 'resource', slug: 'seats', name: '5 seats', description: 'Seats', amount: 5, resourceSlug: 'seat' },
    ],
    products: [
      {
        product: { name: 'Team', slug: 'team', active: true },
        price: {
          type: 'subscription',
          slug: 'team-monthly',
          intervalUnit: 'month',
          intervalCount: 1,
          unitPrice: 2900,
          isDefault: true,
        },
        features: ['sso', 'calls', 'seats'],
      },
    ],
    usageMeters: [
      {
        usageMeter: { name: 'API calls', slug: 'api-calls' },
        prices: [
          {
            type: 'usage',
            slug: 'call-overage',
            intervalUnit: 'month',
            intervalCount: 1,
            unitPrice: 1,
            usageEventsPerUnit: 100,
            isDefault: true,
          },
        ],
      },
    ],
    resources: [{ slug: 'seat', name: 'Seat' }],
    creditPools: [
      {
        slug: 'ai',
        name: 'AI credits',
        unit: 'credit',
        rates: [{ usageMeterSlug: 'api-calls', per: 1000, cost: '0.5' }],
      },
    ],
  };
}

const dayMs = 86_400_000;
const later = (now: number, days: number) => new Date(now + days * dayMs).toISOString();

/** One valid request of every operation, by method and path. The test that walks the list of routes misses none. */
export const requestsOf: Readonly<Record<string, MakeRequest>> = {
  'GET /utils/ping': () => at('/utils/ping'),
  'GET /api-keys': () => at('/api-keys'),
  'GET /api-keys/{id}': (ids) => at(`/api-keys/${ids.apiKeyId}`),
  'POST /api-keys': (_ids, n, now) =>
    at('/api-keys', {
      apiKey: { name: `Ingest ${n}`, permissions: ['usage-events:write'], expiresAt: later(now, 365) },
    }),
  'PUT /api-keys/{id}': (ids, n) =>
    at(`/api-keys/${ids.spareApiKeyId}`, { apiKey: { name: `Reader ${n}`, permissions: ['read'] } }),
  'POST /api-keys/{id}/rotate': (ids) => at(`/api-keys/${ids.spareApiKeyId}/rotate`, { overlapSeconds: 3600 }),
  'POST /api-keys/{id}/revoke': (ids) => at(`/api-keys/${ids.spareApiKeyId}/revoke`),

  'POST /organizations': (_ids, n) => at('/organizations', { organization: { name: `Acme ${n}` } }),

  'GET /archives': () => at('/archives'),
  'GET /audit-log': () => at('/audit-log'),
  'GET /changes': () => at('/changes'),
  'GET /analytics/attention': () => at('/analytics/attention'),
  'GET /analytics/health': () => at('/analytics/health'),
  'GET /analytics/mrr': () => at('/analytics/mrr?interval=month'),
  'GET /analytics/churn': () => at('/analytics/churn?interval=month'),
  'GET /analytics/retention': () => at('/analytics/retention?interval=month'),
  'GET /analytics/revenue': () => at('/analytics/revenue?interval=month'),
  'GET /analytics/payments': () => at('/analytics/payments?interval=month'),
  'GET /analytics/usage': () => at('/analytics/usage?interval=month'),

  'GET /test-clock': () => at('/test-clock'),
  // The last route of all, because time stands still in the environment from then on.
  'PUT /test-clock': (_ids, _n, now) => at('/test-clock', { testClock: { now: new Date(now + 60_000).toISOString() } }),

  'GET /settings': () => at('/settings'),
  'POST /settings/branding/preview': () =>
    at('/settings/branding/preview', { settings: { branding: { primaryColor: '#1f5aa0' } }, language: 'de' }),
  'PUT /settings': (_, n) =>
    at('/settings', {
      settings: {
        netTermsDays: 0,
        seller: {
          name: `Example Software ${n}`,
          email: 'billing@example.com',
          addressLines: ['1 Market Street', 'San Francisco, CA 94105', 'United States'],
        },
      },
    }),

  'GET /pricing-models': () => at('/pricing-models'),
  'POST /pricing-models': (_, n) => at('/pricing-models', { pricingModel: { name: `Pricing ${n}` } }),
  'GET /pricing-models/default': () => at('/pricing-models/default'),
  'POST /pricing-models/setup': (_, n) => at('/pricing-models/setup', teamPlan(`Pricing ${n}`)),
  'POST /pricing-models/apply': (_, n) => at('/pricing-models/apply', teamPlan(`Pricing ${n}`)),
  'POST /pricing-models/{id}/apply': (ids, n) =>
    at(`/pricing-models/${ids.sparePricingModelId}/apply`, { pricingModel: teamPlan(`Pricing ${n}`) }),
  'GET /pricing-models/{id}': (ids) => at(`/pricing-models/${ids.pricingModelId}`),
  'PUT /pricing-models/{id}': (ids, n) =>
    at(`/pricing-models/${ids.pricingModelId}`, { pricingModel: { id: ids.pricingModelId, name: `Pricing ${n}` } }),
  'DELETE /pricing-models/{id}': (ids) => at(`/pricing-models/${ids.sparePricingModelId}`),
  'POST /pricing-models/{id}/clone': (ids, n) =>
    at(`/pricing-models/${ids.pricingModelId}/clone`, { name: `Copy ${n}` }),
  'GET /catalogs': () => at('/catalogs'),
  'POST /catalogs': (_, n) => at('/catalogs', { catalog: { name: `Catalog ${n}` } }),
  'GET /catalogs/default': () => at('/catalogs/default'),
  'GET /catalogs/{id}': (ids) => at(`/catalogs/${ids.pricingModelId}`),
  'PUT /catalogs/{id}': (ids, n) =>
    at(`/catalogs/${ids.pricingModelId}`, { catalog: { id: ids.pricingModelId, name: `Catalog ${n}` } }),
  'POST /catalogs/{id}/clone': (ids, n) => at(`/catalogs/${ids.pricingModelId}/clone`, { name: `Copy ${n}` }),
  'GET /pricing-models/{id}/export': (ids) => at(`/pricing-models/${ids.pricingModelId}/export`),

  'GET /products': () => at('/products'),
  'POST /products': (ids, n) =>
    at('/products', {
      product: { name: 'Business', slug: `business-${n}`, pricingModelId: ids.pricingModelId, active: true },
      price: { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 9900, isDefault: true },
      featureIds: [ids.featureId],
    }),
  'GET /products/{id}': (ids) => at(`/products/${ids.productId}`),
  'PUT /products/{id}': (ids, n) =>
    at(`/products/${ids.productId}`, {
      product: { id: ids.productId, name: `Team ${n}`, description: 'For small teams', active: true },
    }),
  'DELETE /products/{id}': (ids) => at(`/products/${ids.spareProductId}`),
  'GET /prices': () => at('/prices'),
  'POST /prices/quote': () =>
    at('/prices/quote', {
      quote: {
        lines: [
          {
            pricing: {
              model: 'graduated',
              tiers: [
                { upTo: 1000, unitAmount: '0' },
                { upTo: null, unitAmount: '0.25' },
              ],
            },
            units: 2500,
          },
        ],
      },
    }),
  'POST /prices': (ids, n) =>
    at('/prices', {
      price: {
        type: 'usage',
        usageMeterId: ids.usageMeterId,
        slug: `usage-${n}`,
        intervalUnit: 'month',
        intervalCount: 1,
        pricing: {
          model: 'graduated',
          tiers: [
            { upTo: 1000, unitAmount: '0' },
            { upTo: null, unitAmount: '0.25' },
          ],
        },
        isDefault: false,
      },
    }),
  'GET /prices/{id}': (ids) => at(`/prices/${ids.priceId}`),
  'PUT /prices/{id}': (ids, n) =>
    at(`/prices/${ids.priceId}`, {
      price: { id: ids.priceId, type: 'subscription', isDefault: true, name: `Monthly ${n}` },
    }),
  'GET /features': () => at('/features'),
  'POST /features': (ids, n) =>
    at('/features', {
      feature: {
        type: 'toggle',
        slug: `support-${n}`,
        name: 'Priority support',
        description: 'An answer within four hours',
        pricingModelId: ids.pricingModelId,
      },
    }),
  'GET /features/{id}': (ids) => at(`/features/${ids.featureId}`),
  'PUT /features/{id}': (ids, n) =>
    at(`/features/${ids.featureId}`, { feature: { id: ids.featureId, type: 'toggle', name: `Single sign-on ${n}` } }),
  'GET /product-features': () => at('/product-features'),
  'POST /product-features': (ids) =>
    at('/product-features', { productFeature: { productId: ids.productId, featureId: ids.spareFeatureId } }),
  'GET /product-features/{id}': (ids) => at(`/product-features/${ids.productFeatureId}`),
  'POST /product-features/{id}/expire': (ids) => at(`/product-features/${ids.productFeatureId}/expire`, {}),
  'GET /usage-meters': () => at('/usage-meters'),
  'POST /usage-meters': (ids, n) =>
    at('/usage-meters', { usageMeter: { name: 'Exports', slug: `exports-${n}`, pricingModelId: ids.pricingModelId } }),
  'GET /usage-meters/{id}': (ids) => at(`/usage-meters/${ids.usageMeterId}`),
  'PUT /usage-meters/{id}': (ids, n) =>
    at(`/usage-meters/${ids.usageMeterId}`, { usageMeter: { id: ids.usageMeterId, name: `API calls ${n}` } }),
  'GET /credit-pools': () => at('/credit-pools'),
  'POST /credit-pools': (ids, n) =>
    at('/credit-pools', {
      creditPool: {
        name: 'Prepaid usage',
        slug: `prepaid-${n}`,
        unit: 'USD',
        lowBalanceThreshold: '2.5',
        rates: [{ usageMeterSlug: 'api-calls', where: { model: [`large-${n}`] }, per: 1000, cost: '2.5' }],
        pricingModelId: ids.pricingModelId,
      },
    }),
  'GET /credit-pools/{id}': (ids) => at(`/credit-pools/${ids.creditPoolId}`),
  'PUT /credit-pools/{id}': (ids, n) =>
    at(`/credit-pools/${ids.creditPoolId}`, { creditPool: { id: ids.creditPoolId, name: `AI credits ${n}` } }),
  'GET /resources': () => at('/resources'),
  'POST /resources': (ids, n) =>
    at('/resources', { resource: { slug: `project-${n}`, name: 'Project', pricingModelId: ids.pricingModelId } }),
  'GET /resources/{id}': (ids) => at(`/resources/${ids.resourceId}`),
  'PUT /resources/{id}': (ids, n) =>
    at(`/resources/${ids.resourceId}`, { resource: { id: ids.resourceId, name: `Seat ${n}` } }),

  'GET /discounts': () => at('/discounts'),
  'POST /discounts': (ids, n) =>
    at('/discounts', {
      discount: {
        name: 'Spring',
        code: `SPRING-${n}`,
        amount: 10,
        amountType: 'percent',
        duration: 'once',
        pricingModelId: ids.pricingModelId,
      },
    }),
  'GET /discounts/{id}': (ids) => at(`/discounts/${ids.discountId}`),
  'PUT /discounts/{id}': (ids, n) => at(`/discounts/${ids.discountId}`, { discount: { name: `Summer ${n}` } }),

  'GET /customers': () => at('/customers'),
  'POST /customers': (_, n) =>
    at('/customers', { customer: { externalId: `user-${n}`, email: 'ada@example.com', name: 'Ada Lovelace' } }),
  'GET /customers/{externalId}': (ids) => at(`/customers/${ids.externalId}`),
  'PUT /customers/{externalId}': (ids, n) =>
    at(`/customers/${ids.externalId}`, { customer: { name: `Ada Byron ${n}` } }),
  'POST /customers/{externalId}/archive': (ids) => at(`/customers/${ids.externalId}/archive`, {}),
  'POST /customers/{externalId}/erase': (ids) => at(`/customers/${ids.leavingExternalId}/erase`, {}),
  'GET /customers/{externalId}/billing': (ids) => at(`/customers/${ids.externalId}/billing`),
  'GET /customers/{externalId}/usage-balances': (ids) => at(`/customers/${ids.externalId}/usage-balances`),
  'GET /customers/{externalId}/credit-balances': (ids) => at(`/customers/${ids.externalId}/credit-balances`),
  'GET /customers/{externalId}/spend-controls': (ids) => at(`/customers/${ids.externalId}/spend-controls`),
  'PUT /customers/{externalId}/spend-controls': (ids, n) =>
    at(`/customers/${ids.externalId}/spend-controls`, {
      spendControls: {
        limits: [
          { usageMeterSlug: 'api-calls', label: `agent ${n}`, period: 'day', amount: 100_000, action: 'block' },
          { period: 'month', amount: 50_000, unit: 'money', action: 'notify', thresholds: [80] },
          { creditPoolSlug: 'ai', period: 'day', amount: '12.5', action: 'notify' },
        ],
      },
    }),
  'GET /customers/{externalId}/ledger': (ids) => at(`/customers/${ids.externalId}/ledger`),

  'GET /subscriptions': () => at('/subscriptions'),
  'POST /subscriptions': (ids) =>
    at('/subscriptions', { customerId: ids.customerId, priceId: ids.priceId, quantity: 2 }),
  'PUT /subscriptions/{id}': (ids, n) =>
    at(`/subscriptions/${ids.subscriptionId}`, {
      subscription: { id: ids.subscriptionId, name: `Team ${n}`, metadata: { order: `A-${n}` } },
    }),
  'GET /subscriptions/{id}': (ids) => at(`/subscriptions/${ids.subscriptionId}`),
  'GET /subscriptions/{id}/details': (ids) => at(`/subscriptions/${ids.subscriptionId}/details`),
  'POST /subscriptions/{id}/cancel': (ids) =>
    at(`/subscriptions/${ids.subscriptionId}/cancel`, { cancellation: { timing: 'at_end_of_current_billing_period' } }),
  'POST /subscriptions/{id}/pause': (ids, _n, now) =>
    at(`/subscriptions/${ids.subscriptionId}/pause`, { pause: { resumesAt: later(now, 30) } }),
  'POST /subscriptions/{id}/resume': (ids) => at(`/subscriptions/${ids.subscriptionId}/resume`, {}),
  'POST /subscriptions/{id}/adjust': (ids) => at(`/subscriptions/${ids.subscriptionId}/adjust`, twoUnits(ids)),
  'POST /subscriptions/{id}/preview-adjust': (ids) =>
    at(`/subscriptions/${ids.subscriptionId}/preview-adjust`, twoUnits(ids)),
  'GET /subscriptions/{id}/discounts': (ids) => at(`/subscriptions/${ids.subscriptionId}/discounts`),
  'POST /subscriptions/{id}/discounts': (ids) =>
    at(`/subscriptions/${ids.subscriptionId}/discounts`, { discount: { discountId: ids.spareDiscountId } }),
  'DELETE /subscriptions/{id}/discounts/{discountId}': (ids) =>
    at(`/subscriptions/${ids.subscriptionId}/discounts/${ids.subscriptionDiscountId}`),
  'POST /subscriptions/{id}/retry-payment': (ids) => at(`/subscriptions/${ids.owingSubscriptionId}/retry-payment`, {}),
  'POST /subscriptions/{id}/cancel-scheduled-adjustment': (ids) =>
    at(`/subscriptions/${ids.changingSubscriptionId}/cancel-scheduled-adjustment`, {}),
  'POST /subscriptions/{id}/uncancel': (ids) => at(`/subscriptions/${ids.subscriptionId}/uncancel`, {}),
  'POST /subscriptions/{id}/add-feature': (ids) =>
    at(`/subscriptions/${ids.subscriptionId}/add-feature`, { featureId: ids.spareFeatureId }),
  'POST /subscription-item-features': (ids) =>
    at('/subscription-item-features', {
      subscriptionItemFeature: {
        subscriptionItemId: ids.subscriptionItemId,
        featureId: ids.spareFeatureId,
        type: 'toggle',
      },
    }),
  'GET /subscription-item-features/{id}': (ids) => at(`/subscription-item-features/${ids.subscriptionItemFeatureId}`),
  'PUT /subscription-item-features/{id}': (ids, _n, now) =>
    at(`/subscription-item-features/${ids.subscriptionItemFeatureId}`, {
      subscriptionItemFeature: { id: ids.subscriptionItemFeatureId, type: 'toggle', expiredAt: later(now, 30) },
    }),
  'POST /subscription-item-features/{id}/expire': (ids, _n, now) =>
    at(`/subscription-item-features/${ids.subscriptionItemFeatureId}/expire`, { expiredAt: later(now, 30) }),
  'GET /customers/{externalId}/entitlements': (ids) => at(`/customers/${ids.externalId}/entitlements`),
  'POST /entitlements/check': (ids) =>
    at('/entitlements/check', { checks: [{ customerExternalId: ids.externalId, featureSlug: 'sso' }] }),

  'POST /resource-claims/{subscriptionId}/claim': (ids, n) =>
    at(`/resource-claims/${ids.subscriptionId}/claim`, { resourceSlug: 'seat', externalId: `member-${n}` }),
  'GET /resource-claims/{subscriptionId}/claims': (ids) => at(`/resource-claims/${ids.subscriptionId}/claims`),
  'POST /resource-claims/{subscriptionId}/release': (ids) =>
    at(`/resource-claims/${ids.subscriptionId}/release`, { resourceSlug: 'seat', externalId: 'ada' }),
  'GET /resource-claims/{subscriptionId}/usage': (ids) =>
    at(`/resource-claims/${ids.subscriptionId}/usage?resourceSlug=seat`),
  'GET /resource-claims/{subscriptionId}/usages': (ids) => at(`/resource-claims/${ids.subscriptionId}/usages`),

  'GET /usage-events': () => at('/usage-events'),
  'POST /usage-events': (ids, n) => at('/usage-events', { usageEvent: usageEvent(ids, n) }),
  'POST /usage-events/bulk': (ids, n) =>
    at('/usage-events/bulk', { usageEvents: [usageEvent(ids, `${n}-a`), usageEvent(ids, `${n}-b`)] }),
  'GET /usage-events/tail': (ids) => at(`/usage-events/tail?usageMeterId=${ids.usageMeterId}`),
  'GET /usage-events/{id}': (ids) => at(`/usage-events/${ids.usageEventId}`),
  'GET /usage-events/{id}/ledger-entry': (ids) => at(`/usage-events/${ids.usageEventId}/ledger-entry`),
  'GET /usage-meters/{id}/summary': (ids) => at(`/usage-meters/${ids.usageMeterId}/summary`),
  'POST /usage-events/consume': (ids, n) =>
    at('/usage-events/consume', { usageEvent: usageEvent(ids, `consumed-${n}`) }),

  'GET /holds': () => at('/holds'),
  'POST /holds': (ids, _n, now) =>
    at('/holds', {
      hold: {
        subscriptionId: ids.subscriptionId,
        usageMeterSlug: 'api-calls',
        amount: 1,
        expiresAt: later(now, 1),
      },
    }),
  'GET /holds/{id}': (ids) => at(`/holds/${ids.holdId}`),
  'POST /holds/{id}/settle': (ids) => at(`/holds/${ids.holdId}/settle`, { amount: 3 }),
  'POST /holds/{id}/release': (ids) => at(`/holds/${ids.spareHoldId}/release`, {}),

  'GET /usage-credits': () => at('/usage-credits'),
  'POST /usage-credits': (ids) =>
    at('/usage-credits', {
      usageCredit: {
        subscriptionId: ids.subscriptionId,
        usageMeterId: ids.usageMeterId,
        amount: 5,
        reason: 'Goodwill',
      },
    }),
  'GET /usage-credits/{id}': (ids) => at(`/usage-credits/${ids.usageCreditId}`),
  'POST /usage-credits/{id}/take-back': (ids) => at(`/usage-credits/${ids.usageCreditId}/take-back`, { amount: 1 }),

  'GET /invoices': () => at('/invoices'),
  'POST /invoices': (ids) =>
    at('/invoices', {
      invoice: {
        customerExternalId: ids.externalId,
        lines: [
          {
            description: 'Onboarding workshop',
            quantity: 2,
            unitAmount: 45000,
            servicePeriod: { start: '2026-11-02', end: '2026-11-04' },
          },
        ],
        netTermsDays: 14,
        purchaseOrderNumber: 'PO-4711',
      },
    }),
  'PUT /invoices/{id}': (ids) => at(`/invoices/${ids.draftInvoiceId}`, { invoice: { memo: 'Thank you' } }),
  'DELETE /invoices/{id}': (ids) => at(`/invoices/${ids.draftInvoiceId}`),
  'POST /invoices/{id}/lines': (ids) =>
    at(`/invoices/${ids.draftInvoiceId}/lines`, {
      lines: [{ description: 'Travel', unitAmount: 12000, taxable: false }],
    }),
  'DELETE /invoices/{id}/lines/{lineId}': (ids) =>
    at(`/invoices/${ids.draftInvoiceId}/lines/${ids.draftInvoiceLineItemId}`),
  'POST /invoices/{id}/finalize': (ids) => at(`/invoices/${ids.draftInvoiceId}/finalize`, {}),
  'POST /invoices/{id}/send': (ids) => at(`/invoices/${ids.invoiceId}/send`, {}),
  'GET /invoices/{id}': (ids) => at(`/invoices/${ids.invoiceId}`),
  'GET /invoices/upcoming': (ids) => at(`/invoices/upcoming?subscriptionId=${ids.subscriptionId}`),
  'GET /invoices/{id}/explain': (ids) => at(`/invoices/${ids.invoiceId}/explain`),
  'GET /invoices/{id}/html': (ids) => at(`/invoices/${ids.invoiceId}/html`),
  'GET /invoices/{id}/pdf': (ids) => at(`/invoices/${ids.invoiceId}/pdf`),
  'GET /invoices/{id}/receipt/html': (ids) => at(`/invoices/${ids.invoiceId}/receipt/html`),
  'GET /invoices/{id}/receipt/pdf': (ids) => at(`/invoices/${ids.invoiceId}/receipt/pdf`),
  'POST /invoices/{id}/void': (ids) => at(`/invoices/${ids.openInvoiceId}/void`, {}),
  'POST /invoices/{id}/mark-uncollectible': (ids) => at(`/invoices/${ids.openInvoiceId}/mark-uncollectible`, {}),
  'POST /invoices/{id}/record-payment': (ids) =>
    at(`/invoices/${ids.openInvoiceId}/record-payment`, { payment: { reference: 'Bank transfer 4711' } }),
  'POST /invoices/{id}/pay': (ids) => at(`/invoices/${ids.openInvoiceId}/pay`, {}),
  'GET /invoice-line-items': () => at('/invoice-line-items'),
  'GET /invoice-line-items/{id}': (ids) => at(`/invoice-line-items/${ids.invoiceLineItemId}`),
  'POST /invoices/{id}/credit-notes': (ids) => {
    const lines = [{ invoiceLineItemId: ids.openInvoiceLineItemId, amount: 100 }];
    return at(`/invoices/${ids.openInvoiceId}/credit-notes`, {
      creditNote: { lines, settle: 'offset', reason: 'The service was down for a day' },
    });
  },
  'GET /credit-notes': () => at('/credit-notes'),
  'GET /credit-notes/{id}': (ids) => at(`/credit-notes/${ids.creditNoteId}`),
  'GET /credit-notes/{id}/explain': (ids) => at(`/credit-notes/${ids.creditNoteId}/explain`),
  'GET /credit-notes/{id}/html': (ids) => at(`/credit-notes/${ids.creditNoteId}/html`),
  'GET /credit-notes/{id}/pdf': (ids) => at(`/credit-notes/${ids.creditNoteId}/pdf`),
  'POST /credit-notes/{id}/void': (ids) => at(`/credit-notes/${ids.issuedCreditNoteId}/void`, {}),
  'POST /invoice-items': (ids) => {
    const invoiceItem = { subscriptionId: ids.subscriptionId, description: 'Workshop', quantity: 2, unitAmount: 45000 };
    return at('/invoice-items', { invoiceItem });
  },
  'GET /invoice-items': () => at('/invoice-items?status=pending'),
  'GET /invoice-items/{id}': (ids) => at(`/invoice-items/${ids.invoiceItemId}`),
  'PUT /invoice-items/{id}': (ids) =>
    at(`/invoice-items/${ids.invoiceItemId}`, { invoiceItem: { description: 'Workshop', unitAmount: 40000 } }),
  'DELETE /invoice-items/{id}': (ids) => at(`/invoice-items/${ids.invoiceItemId}`),
  'POST /customer-balances/adjust': (ids) => {
    const adjustment = { customerExternalId: ids.externalId, amount: 500, description: 'An hour without service' };
    return at('/customer-balances/adjust', { adjustment });
  },
  'GET /customer-balances': () => at('/customer-balances'),
  'GET /customer-balances/{id}': (ids) => at(`/customer-balances/${ids.customerBalanceId}`),
  'GET /customer-balances/{id}/entries': (ids) => at(`/customer-balances/${ids.customerBalanceId}/entries`),
  'GET /search': (ids) => at(`/search?q=${ids.externalId}`),
  'GET /exports/{file}': () => at('/exports/invoices.csv'),
  'GET /tax-rates': () => at('/tax-rates'),
  'POST /tax-rates': (_, n) =>
    at('/tax-rates', { taxRate: { country: 'US', state: `NY ${n}`, type: 'sales_tax', percentage: '8.875' } }),
  'GET /tax-rates/{id}': (ids) => at(`/tax-rates/${ids.taxRateId}`),
  'PUT /tax-rates/{id}': (ids, n) => at(`/tax-rates/${ids.taxRateId}`, { taxRate: { name: `Sales tax ${n}` } }),
  'DELETE /tax-rates/{id}': (ids) => at(`/tax-rates/${ids.taxRateId}`),
  'GET /purchases': () => at('/purchases'),
  'POST /purchases': (ids) =>
    at('/purchases', { purchase: { customerExternalId: ids.externalId, priceSlug: ids.packPriceSlug, quantity: 2 } }),
  'GET /purchases/{id}': (ids) => at(`/purchases/${ids.purchaseId}`),

  'GET /checkout-sessions': () => at('/checkout-sessions'),
  'POST /checkout-sessions': (ids) =>
    at('/checkout-sessions', {
      checkoutSession: {
        type: 'product',
        customerExternalId: ids.externalId,
        priceId: ids.priceId,
        successUrl: 'https://app.example.com/paid',
        cancelUrl: 'https://app.example.com/plans',
      },
    }),
  'GET /checkout-sessions/{id}': (ids) => at(`/checkout-sessions/${ids.checkoutSessionId}`),
  'POST /customers/{externalId}/portal-sessions': (ids) => at(`/customers/${ids.externalId}/portal-sessions`, {}),
  'DELETE /customers/{externalId}/portal-sessions': (ids) => at(`/customers/${ids.externalId}/portal-sessions`),

  'GET /payments': () => at('/payments'),
  'GET /payments/{id}': (ids) => at(`/payments/${ids.paymentId}`),
  'GET /payments/{id}/html': (ids) => at(`/payments/${ids.paymentId}/html`),
  'GET /payments/{id}/pdf': (ids) => at(`/payments/${ids.paymentId}/pdf`),
  'POST /payments/{id}/refund': (ids) => at(`/payments/${ids.paymentId}/refund`, { partialAmount: 1 }),
  'GET /payment-methods': () => at('/payment-methods'),
  'POST /payment-methods': (ids) =>
    at('/payment-methods', {
      paymentMethod: { customerId: ids.customerId, type: 'card', token: 'pm_card_mastercard' },
    }),
  'GET /payment-methods/{id}': (ids) => at(`/payment-methods/${ids.paymentMethodId}`),
  'PUT /payment-methods/{id}': (ids, n) =>
    at(`/payment-methods/${ids.paymentMethodId}`, {
      paymentMethod: { id: ids.paymentMethodId, default: true, metadata: { label: `Card ${n}` } },
    }),
  'DELETE /payment-methods/{id}': (ids) => at(`/payment-methods/${ids.sparePaymentMethodId}`),

  'GET /webhooks': () => at('/webhooks'),
  'POST /webhooks': (ids, n) =>
    at('/webhooks', {
      webhook: {
        url: 'https://hooks.example.com/tollkeeper',
        name: `Webhook ${n}`,
        filterTypes: ['payment.failed', 'subscription.canceled'],
        pricingModelId: ids.pricingModelId,
        active: false,
      },
    }),
  'GET /webhooks/{id}': (ids) => at(`/webhooks/${ids.webhookId}`),
  'PUT /webhooks/{id}': (ids, n) =>
    at(`/webhooks/${ids.webhookId}`, {
      webhook: {
        id: ids.webhookId,
        name: `Webhook ${n}`,
        url: 'https://hooks.example.com/tollkeeper',
        filterTypes: ['payment.failed', 'subscription.canceled'],
      },
    }),
  'DELETE /webhooks/{id}': (ids) => at(`/webhooks/${ids.webhookId}`),
  'POST /webhooks/{id}/rotate-secret': (ids) => at(`/webhooks/${ids.webhookId}/rotate-secret`),
  'POST /webhooks/{id}/test': (ids) => at(`/webhooks/${ids.webhookId}/test`, { test: { type: 'payment.failed' } }),
  'POST /webhooks/{id}/replay': (ids) => at(`/webhooks/${ids.webhookId}/replay`, { replay: { since: 0 } }),
  'GET /webhooks/{id}/deliveries': (ids) => at(`/webhooks/${ids.webhookId}/deliveries`),
  'GET /deliveries/{id}': (ids) => at(`/deliveries/${ids.deliveryId}`),
  'POST /deliveries/{id}/retry': (ids) => at(`/deliveries/${ids.deliveryId}/retry`),
  'GET /emails': () => at('/emails'),
  'GET /emails/{id}': (ids) => at(`/emails/${ids.emailId}`),
  'POST /emails/{id}/resend': (ids) => at(`/emails/${ids.emailId}/resend`),
  'GET /email-templates/{name}/preview': () => at('/email-templates/receipt/preview?language=de'),
  'GET /events': () => at('/events'),
  'GET /events/{id}': (ids) => at(`/events/${ids.eventId}`),
};

// In the future, so that an expiry is accepted as it is shown.
const shownNow = Date.parse('2030-01-01T00:00:00Z');

/** Every request as the reference page shows it. */
export const requests: Readonly<Record<string, ExampleRequest>> = Object.fromEntries(
  Object.entries(requestsOf).map(([operation, make]) => [operation, make(placeholders, '42', shownNow)]),
);
