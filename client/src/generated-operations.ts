// Made from openapi.json by scripts/generate-client.ts: change the API instead.

import { methodsOf } from './methods.ts';
import type { Caller, Operation } from './transport.ts';
import type {
  UtilsMethods,
  ApiKeysMethods,
  OrganizationsMethods,
  SettingsMethods,
  ArchivesMethods,
  AuditLogMethods,
  ChangesMethods,
  CustomersMethods,
  SubscriptionsMethods,
  PricingModelsMethods,
  ProductsMethods,
  ProductFeaturesMethods,
  PricesMethods,
  FeaturesMethods,
  UsageMetersMethods,
  CreditPoolsMethods,
  ResourcesMethods,
  CatalogsMethods,
  DiscountsMethods,
  SubscriptionItemFeaturesMethods,
  ResourceClaimsMethods,
  EntitlementsMethods,
  UsageCreditsMethods,
  UsageEventsMethods,
  HoldsMethods,
  InvoicesMethods,
  InvoiceLineItemsMethods,
  CreditNotesMethods,
  CustomerBalancesMethods,
  ExportsMethods,
  InvoiceItemsMethods,
  TaxRatesMethods,
  PurchasesMethods,
  CheckoutSessionsMethods,
  PaymentsMethods,
  PaymentMethodsMethods,
  WebhooksMethods,
  DeliveriesMethods,
  EventsMethods,
  EmailsMethods,
  EmailTemplatesMethods,
  TestClockMethods,
  AnalyticsMethods,
  SearchMethods,
} from './generated-types.ts';

/** Every operation of the API, by family and name. */
export const operations = {
  utils: {
    getPing: { method: 'GET', path: '/api/v1/utils/ping', params: [], query: [] },
  },
  apiKeys: {
    get: { method: 'GET', path: '/api/v1/api-keys/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/api-keys/{id}', params: ['id'], query: [] },
    list: { method: 'GET', path: '/api/v1/api-keys', params: [], query: ['cursor', 'limit', 'order', 'active', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/api-keys', params: [], query: [] },
    rotate: { method: 'POST', path: '/api/v1/api-keys/{id}/rotate', params: ['id'], query: [] },
    revoke: { method: 'POST', path: '/api/v1/api-keys/{id}/revoke', params: ['id'], query: [] },
  },
  organizations: {
    create: { method: 'POST', path: '/api/v1/organizations', params: [], query: [] },
  },
  settings: {
    get: { method: 'GET', path: '/api/v1/settings', params: [], query: [] },
    update: { method: 'PUT', path: '/api/v1/settings', params: [], query: [] },
    brandingPreview: { method: 'POST', path: '/api/v1/settings/branding/preview', params: [], query: [] },
  },
  archives: {
    list: { method: 'GET', path: '/api/v1/archives', params: [], query: ['cursor', 'limit', 'order'], pages: true },
  },
  auditLog: {
    list: { method: 'GET', path: '/api/v1/audit-log', params: [], query: ['cursor', 'limit', 'order', 'recordId', 'record', 'action', 'apiKeyId', 'userId', 'requestId', 'since', 'until'], pages: true },
  },
  changes: {
    list: { method: 'GET', path: '/api/v1/changes', params: [], query: ['after', 'seconds'], answers: 'text' },
  },
  customers: {
    list: { method: 'GET', path: '/api/v1/customers', params: [], query: ['cursor', 'limit', 'order', 'ids', 'search', 'email', 'externalId', 'pricingModelId', 'archived', 'erased', 'metadata', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/customers', params: [], query: [] },
    get: { method: 'GET', path: '/api/v1/customers/{externalId}', params: ['externalId'], query: ['pricingModelId'] },
    update: { method: 'PUT', path: '/api/v1/customers/{externalId}', params: ['externalId'], query: ['pricingModelId', 'upsert'] },
    archive: { method: 'POST', path: '/api/v1/customers/{externalId}/archive', params: ['externalId'], query: ['pricingModelId'] },
    erase: { method: 'POST', path: '/api/v1/customers/{externalId}/erase', params: ['externalId'], query: ['pricingModelId'] },
    getBilling: { method: 'GET', path: '/api/v1/customers/{externalId}/billing', params: ['externalId'], query: ['pricingModelId'] },
    getEntitlements: { method: 'GET', path: '/api/v1/customers/{externalId}/entitlements', params: ['externalId'], query: ['subscriptionId', 'pricingModelId'] },
    getUsageBalances: { method: 'GET', path: '/api/v1/customers/{externalId}/usage-balances', params: ['externalId'], query: ['subscriptionId', 'pricingModelId'] },
    getCreditBalances: { method: 'GET', path: '/api/v1/customers/{externalId}/credit-balances', params: ['externalId'], query: ['pricingModelId', 'asOf'] },
    listLedger: { method: 'GET', path: '/api/v1/customers/{externalId}/ledger', params: ['externalId'], query: ['cursor', 'limit', 'order', 'subscriptionId', 'usageMeterId', 'usageMeterSlug', 'pricingModelId', 'asOf'], pages: true },
    createPortalSession: { method: 'POST', path: '/api/v1/customers/{externalId}/portal-sessions', params: ['externalId'], query: ['pricingModelId'] },
    deletePortalSessions: { method: 'DELETE', path: '/api/v1/customers/{externalId}/portal-sessions', params: ['externalId'], query: ['pricingModelId'] },
    getSpendControls: { method: 'GET', path: '/api/v1/customers/{externalId}/spend-controls', params: ['externalId'], query: ['pricingModelId'] },
    updateSpendControls: { method: 'PUT', path: '/api/v1/customers/{externalId}/spend-controls', params: ['externalId'], query: ['pricingModelId'] },
  },
  subscriptions: {
    list: { method: 'GET', path: '/api/v1/subscriptions', params: [], query: ['cursor', 'limit', 'order', 'status', 'customerId', 'customerExternalId', 'priceId', 'pricingModelId', 'billingAnchor', 'metadata', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/subscriptions', params: [], query: ['pricingModelId'] },
    get: { method: 'GET', path: '/api/v1/subscriptions/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/subscriptions/{id}', params: ['id'], query: [] },
    getDetails: { method: 'GET', path: '/api/v1/subscriptions/{id}/details', params: ['id'], query: [] },
    cancel: { method: 'POST', path: '/api/v1/subscriptions/{id}/cancel', params: ['id'], query: [] },
    uncancel: { method: 'POST', path: '/api/v1/subscriptions/{id}/uncancel', params: ['id'], query: [] },
    adjust: { method: 'POST', path: '/api/v1/subscriptions/{id}/adjust', params: ['id'], query: [] },
    previewAdjust: { method: 'POST', path: '/api/v1/subscriptions/{id}/preview-adjust', params: ['id'], query: [], safe: true },
    cancelScheduledAdjustment: { method: 'POST', path: '/api/v1/subscriptions/{id}/cancel-scheduled-adjustment', params: ['id'], query: [] },
    pause: { method: 'POST', path: '/api/v1/subscriptions/{id}/pause', params: ['id'], query: [] },
    resume: { method: 'POST', path: '/api/v1/subscriptions/{id}/resume', params: ['id'], query: [] },
    addFeature: { method: 'POST', path: '/api/v1/subscriptions/{id}/add-feature', params: ['id'], query: [] },
    getDiscounts: { method: 'GET', path: '/api/v1/subscriptions/{id}/discounts', params: ['id'], query: [] },
    createDiscount: { method: 'POST', path: '/api/v1/subscriptions/{id}/discounts', params: ['id'], query: [] },
    deleteDiscounts: { method: 'DELETE', path: '/api/v1/subscriptions/{id}/discounts/{discountId}', params: ['id', 'discountId'], query: [] },
    retryPayment: { method: 'POST', path: '/api/v1/subscriptions/{id}/retry-payment', params: ['id'], query: [] },
  },
  pricingModels: {
    create: { method: 'POST', path: '/api/v1/pricing-models', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/pricing-models', params: [], query: ['cursor', 'limit', 'order', 'isDefault', 'createdAtFrom', 'createdAtTo'], pages: true },
    getDefault: { method: 'GET', path: '/api/v1/pricing-models/default', params: [], query: [] },
    get: { method: 'GET', path: '/api/v1/pricing-models/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/pricing-models/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/pricing-models/{id}', params: ['id'], query: [] },
    setup: { method: 'POST', path: '/api/v1/pricing-models/setup', params: [], query: [] },
    apply: { method: 'POST', path: '/api/v1/pricing-models/apply', params: [], query: [] },
    applyTo: { method: 'POST', path: '/api/v1/pricing-models/{id}/apply', params: ['id'], query: [] },
    export: { method: 'GET', path: '/api/v1/pricing-models/{id}/export', params: ['id'], query: [] },
    clone: { method: 'POST', path: '/api/v1/pricing-models/{id}/clone', params: ['id'], query: [] },
  },
  products: {
    create: { method: 'POST', path: '/api/v1/products', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/products', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'active', 'default', 'slug', 'addOn', 'metadata', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/products/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/products/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/products/{id}', params: ['id'], query: [] },
  },
  productFeatures: {
    create: { method: 'POST', path: '/api/v1/product-features', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/product-features', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'productId', 'featureId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/product-features/{id}', params: ['id'], query: [] },
    expire: { method: 'POST', path: '/api/v1/product-features/{id}/expire', params: ['id'], query: [] },
  },
  prices: {
    create: { method: 'POST', path: '/api/v1/prices', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/prices', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'productId', 'usageMeterId', 'type', 'active', 'isDefault', 'slug', 'billingTiming', 'usageInterval', 'metadata', 'createdAtFrom', 'createdAtTo'], pages: true },
    quote: { method: 'POST', path: '/api/v1/prices/quote', params: [], query: [] },
    get: { method: 'GET', path: '/api/v1/prices/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/prices/{id}', params: ['id'], query: [] },
  },
  features: {
    create: { method: 'POST', path: '/api/v1/features', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/features', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'type', 'active', 'slug', 'usageMeterId', 'resourceId', 'renewalFrequency', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/features/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/features/{id}', params: ['id'], query: [] },
  },
  usageMeters: {
    create: { method: 'POST', path: '/api/v1/usage-meters', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/usage-meters', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'slug', 'aggregationType', 'eventName', 'recurring', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/usage-meters/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/usage-meters/{id}', params: ['id'], query: [] },
    getSummary: { method: 'GET', path: '/api/v1/usage-meters/{id}/summary', params: ['id'], query: ['from', 'to', 'groupBy', 'property', 'customerId', 'subscriptionId'] },
  },
  creditPools: {
    create: { method: 'POST', path: '/api/v1/credit-pools', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/credit-pools', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'slug', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/credit-pools/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/credit-pools/{id}', params: ['id'], query: [] },
  },
  resources: {
    create: { method: 'POST', path: '/api/v1/resources', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/resources', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId'] },
    get: { method: 'GET', path: '/api/v1/resources/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/resources/{id}', params: ['id'], query: [] },
  },
  catalogs: {
    create: { method: 'POST', path: '/api/v1/catalogs', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/catalogs', params: [], query: ['cursor', 'limit', 'order', 'isDefault', 'createdAtFrom', 'createdAtTo'], pages: true },
    getDefault: { method: 'GET', path: '/api/v1/catalogs/default', params: [], query: [] },
    get: { method: 'GET', path: '/api/v1/catalogs/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/catalogs/{id}', params: ['id'], query: [] },
    clone: { method: 'POST', path: '/api/v1/catalogs/{id}/clone', params: ['id'], query: [] },
  },
  discounts: {
    create: { method: 'POST', path: '/api/v1/discounts', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/discounts', params: [], query: ['cursor', 'limit', 'order', 'pricingModelId', 'code', 'duration', 'amountType', 'active', 'productId', 'firstPurchaseOnly', 'hasExpiry', 'hasMaximum', 'createdAtFrom', 'createdAtTo'], pages: true },
    update: { method: 'PUT', path: '/api/v1/discounts/{id}', params: ['id'], query: [] },
    get: { method: 'GET', path: '/api/v1/discounts/{id}', params: ['id'], query: [] },
  },
  subscriptionItemFeatures: {
    create: { method: 'POST', path: '/api/v1/subscription-item-features', params: [], query: [] },
    get: { method: 'GET', path: '/api/v1/subscription-item-features/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/subscription-item-features/{id}', params: ['id'], query: [] },
    expire: { method: 'POST', path: '/api/v1/subscription-item-features/{id}/expire', params: ['id'], query: [] },
  },
  resourceClaims: {
    claim: { method: 'POST', path: '/api/v1/resource-claims/{subscriptionId}/claim', params: ['subscriptionId'], query: [] },
    getClaims: { method: 'GET', path: '/api/v1/resource-claims/{subscriptionId}/claims', params: ['subscriptionId'], query: ['cursor', 'limit', 'order', 'resourceSlug'] },
    release: { method: 'POST', path: '/api/v1/resource-claims/{subscriptionId}/release', params: ['subscriptionId'], query: [] },
    getUsage: { method: 'GET', path: '/api/v1/resource-claims/{subscriptionId}/usage', params: ['subscriptionId'], query: ['resourceSlug', 'resourceId'] },
    getUsages: { method: 'GET', path: '/api/v1/resource-claims/{subscriptionId}/usages', params: ['subscriptionId'], query: ['resourceSlugs', 'resourceIds'] },
  },
  entitlements: {
    check: { method: 'POST', path: '/api/v1/entitlements/check', params: [], query: [], safe: true },
  },
  usageCredits: {
    create: { method: 'POST', path: '/api/v1/usage-credits', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/usage-credits', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'subscriptionId', 'usageMeterId', 'creditPoolId', 'source', 'createdAtFrom', 'createdAtTo'], pages: true },
    takeBack: { method: 'POST', path: '/api/v1/usage-credits/{id}/take-back', params: ['id'], query: [] },
    get: { method: 'GET', path: '/api/v1/usage-credits/{id}', params: ['id'], query: [] },
  },
  usageEvents: {
    create: { method: 'POST', path: '/api/v1/usage-events', params: [], query: [], safe: true },
    list: { method: 'GET', path: '/api/v1/usage-events', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'subscriptionId', 'usageMeterId', 'priceId', 'billingPeriodId', 'transactionId', 'label', 'usageDateFrom', 'usageDateTo'], pages: true },
    bulk: { method: 'POST', path: '/api/v1/usage-events/bulk', params: [], query: [], safe: true },
    consume: { method: 'POST', path: '/api/v1/usage-events/consume', params: [], query: [], safe: true },
    getTail: { method: 'GET', path: '/api/v1/usage-events/tail', params: [], query: ['usageMeterId', 'seconds'], answers: 'text' },
    get: { method: 'GET', path: '/api/v1/usage-events/{id}', params: ['id'], query: [] },
    getLedgerEntry: { method: 'GET', path: '/api/v1/usage-events/{id}/ledger-entry', params: ['id'], query: [] },
  },
  holds: {
    create: { method: 'POST', path: '/api/v1/holds', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/holds', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'subscriptionId', 'usageMeterId', 'status', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/holds/{id}', params: ['id'], query: [] },
    settle: { method: 'POST', path: '/api/v1/holds/{id}/settle', params: ['id'], query: [] },
    release: { method: 'POST', path: '/api/v1/holds/{id}/release', params: ['id'], query: [] },
  },
  invoices: {
    getUpcoming: { method: 'GET', path: '/api/v1/invoices/upcoming', params: [], query: ['subscriptionId'] },
    list: { method: 'GET', path: '/api/v1/invoices', params: [], query: ['cursor', 'limit', 'order', 'status', 'type', 'customerId', 'customerExternalId', 'subscriptionId', 'purchaseId', 'billingPeriodId', 'consolidatedInvoiceId', 'invoiceNumber', 'pastDue', 'metadata', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/invoices', params: [], query: ['pricingModelId'] },
    get: { method: 'GET', path: '/api/v1/invoices/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/invoices/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/invoices/{id}', params: ['id'], query: [] },
    createLine: { method: 'POST', path: '/api/v1/invoices/{id}/lines', params: ['id'], query: [] },
    deleteLines: { method: 'DELETE', path: '/api/v1/invoices/{id}/lines/{lineId}', params: ['id', 'lineId'], query: [] },
    finalize: { method: 'POST', path: '/api/v1/invoices/{id}/finalize', params: ['id'], query: [] },
    send: { method: 'POST', path: '/api/v1/invoices/{id}/send', params: ['id'], query: [] },
    explain: { method: 'GET', path: '/api/v1/invoices/{id}/explain', params: ['id'], query: [] },
    void: { method: 'POST', path: '/api/v1/invoices/{id}/void', params: ['id'], query: [] },
    markUncollectible: { method: 'POST', path: '/api/v1/invoices/{id}/mark-uncollectible', params: ['id'], query: [] },
    recordPayment: { method: 'POST', path: '/api/v1/invoices/{id}/record-payment', params: ['id'], query: [] },
    pay: { method: 'POST', path: '/api/v1/invoices/{id}/pay', params: ['id'], query: [] },
    createCreditNote: { method: 'POST', path: '/api/v1/invoices/{id}/credit-notes', params: ['id'], query: [] },
    getHtml: { method: 'GET', path: '/api/v1/invoices/{id}/html', params: ['id'], query: [], answers: 'text' },
    getPdf: { method: 'GET', path: '/api/v1/invoices/{id}/pdf', params: ['id'], query: [], answers: 'bytes' },
    getReceiptHtml: { method: 'GET', path: '/api/v1/invoices/{id}/receipt/html', params: ['id'], query: [], answers: 'text' },
    getReceiptPdf: { method: 'GET', path: '/api/v1/invoices/{id}/receipt/pdf', params: ['id'], query: [], answers: 'bytes' },
  },
  invoiceLineItems: {
    list: { method: 'GET', path: '/api/v1/invoice-line-items', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'invoiceId', 'type', 'priceId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/invoice-line-items/{id}', params: ['id'], query: [] },
  },
  creditNotes: {
    list: { method: 'GET', path: '/api/v1/credit-notes', params: [], query: ['cursor', 'limit', 'order', 'status', 'settle', 'customerId', 'customerExternalId', 'invoiceId', 'paymentId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/credit-notes/{id}', params: ['id'], query: [] },
    explain: { method: 'GET', path: '/api/v1/credit-notes/{id}/explain', params: ['id'], query: [] },
    void: { method: 'POST', path: '/api/v1/credit-notes/{id}/void', params: ['id'], query: [] },
    getHtml: { method: 'GET', path: '/api/v1/credit-notes/{id}/html', params: ['id'], query: [], answers: 'text' },
    getPdf: { method: 'GET', path: '/api/v1/credit-notes/{id}/pdf', params: ['id'], query: [], answers: 'bytes' },
  },
  customerBalances: {
    adjust: { method: 'POST', path: '/api/v1/customer-balances/adjust', params: [], query: ['pricingModelId'] },
    list: { method: 'GET', path: '/api/v1/customer-balances', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/customer-balances/{id}', params: ['id'], query: [] },
    listEntries: { method: 'GET', path: '/api/v1/customer-balances/{id}/entries', params: ['id'], query: ['cursor', 'limit', 'order', 'source', 'invoiceId', 'createdAtFrom', 'createdAtTo'], pages: true },
  },
  exports: {
    get: { method: 'GET', path: '/api/v1/exports/{file}', params: ['file'], query: ['from', 'to'], answers: 'text' },
  },
  invoiceItems: {
    create: { method: 'POST', path: '/api/v1/invoice-items', params: [], query: ['pricingModelId'] },
    list: { method: 'GET', path: '/api/v1/invoice-items', params: [], query: ['cursor', 'limit', 'order', 'status', 'customerId', 'customerExternalId', 'subscriptionId', 'invoiceId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/invoice-items/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/invoice-items/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/invoice-items/{id}', params: ['id'], query: [] },
  },
  taxRates: {
    create: { method: 'POST', path: '/api/v1/tax-rates', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/tax-rates', params: [], query: ['cursor', 'limit', 'order', 'country', 'state', 'type', 'active', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/tax-rates/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/tax-rates/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/tax-rates/{id}', params: ['id'], query: [] },
  },
  purchases: {
    list: { method: 'GET', path: '/api/v1/purchases', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'status', 'priceId', 'subscriptionId', 'checkoutSessionId', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/purchases', params: [], query: ['pricingModelId'] },
    get: { method: 'GET', path: '/api/v1/purchases/{id}', params: ['id'], query: [] },
  },
  checkoutSessions: {
    list: { method: 'GET', path: '/api/v1/checkout-sessions', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'priceId', 'pricingModelId', 'type', 'status', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/checkout-sessions', params: [], query: ['pricingModelId'] },
    get: { method: 'GET', path: '/api/v1/checkout-sessions/{id}', params: ['id'], query: [] },
  },
  payments: {
    list: { method: 'GET', path: '/api/v1/payments', params: [], query: ['cursor', 'limit', 'order', 'status', 'customerId', 'customerExternalId', 'subscriptionId', 'invoiceId', 'purchaseId', 'paymentMethodId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/payments/{id}', params: ['id'], query: [] },
    refund: { method: 'POST', path: '/api/v1/payments/{id}/refund', params: ['id'], query: [] },
    getHtml: { method: 'GET', path: '/api/v1/payments/{id}/html', params: ['id'], query: [], answers: 'text' },
    getPdf: { method: 'GET', path: '/api/v1/payments/{id}/pdf', params: ['id'], query: [], answers: 'bytes' },
  },
  paymentMethods: {
    list: { method: 'GET', path: '/api/v1/payment-methods', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'type', 'default', 'createdAtFrom', 'createdAtTo'], pages: true },
    create: { method: 'POST', path: '/api/v1/payment-methods', params: [], query: ['pricingModelId'] },
    get: { method: 'GET', path: '/api/v1/payment-methods/{id}', params: ['id'], query: [] },
    update: { method: 'PUT', path: '/api/v1/payment-methods/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/payment-methods/{id}', params: ['id'], query: [] },
  },
  webhooks: {
    create: { method: 'POST', path: '/api/v1/webhooks', params: [], query: [] },
    list: { method: 'GET', path: '/api/v1/webhooks', params: [], query: ['cursor', 'limit', 'order', 'active', 'pricingModelId', 'createdAtFrom', 'createdAtTo'], pages: true },
    update: { method: 'PUT', path: '/api/v1/webhooks/{id}', params: ['id'], query: [] },
    get: { method: 'GET', path: '/api/v1/webhooks/{id}', params: ['id'], query: [] },
    delete: { method: 'DELETE', path: '/api/v1/webhooks/{id}', params: ['id'], query: [] },
    rotateSecret: { method: 'POST', path: '/api/v1/webhooks/{id}/rotate-secret', params: ['id'], query: [] },
    listDeliveries: { method: 'GET', path: '/api/v1/webhooks/{id}/deliveries', params: ['id'], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'status', 'eventId', 'eventType', 'objectId', 'createdAtFrom', 'createdAtTo'], pages: true },
    test: { method: 'POST', path: '/api/v1/webhooks/{id}/test', params: ['id'], query: [] },
    replay: { method: 'POST', path: '/api/v1/webhooks/{id}/replay', params: ['id'], query: [] },
  },
  deliveries: {
    get: { method: 'GET', path: '/api/v1/deliveries/{id}', params: ['id'], query: [] },
    retry: { method: 'POST', path: '/api/v1/deliveries/{id}/retry', params: ['id'], query: [] },
  },
  events: {
    list: { method: 'GET', path: '/api/v1/events', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'type', 'object', 'objectId', 'occurredAtFrom', 'occurredAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/events/{id}', params: ['id'], query: [] },
  },
  emails: {
    list: { method: 'GET', path: '/api/v1/emails', params: [], query: ['cursor', 'limit', 'order', 'customerId', 'customerExternalId', 'status', 'template', 'eventId', 'createdAtFrom', 'createdAtTo'], pages: true },
    get: { method: 'GET', path: '/api/v1/emails/{id}', params: ['id'], query: [] },
    resend: { method: 'POST', path: '/api/v1/emails/{id}/resend', params: ['id'], query: [] },
  },
  emailTemplates: {
    getPreview: { method: 'GET', path: '/api/v1/email-templates/{name}/preview', params: ['name'], query: ['language'] },
  },
  testClock: {
    get: { method: 'GET', path: '/api/v1/test-clock', params: [], query: [] },
    update: { method: 'PUT', path: '/api/v1/test-clock', params: [], query: [] },
  },
  analytics: {
    getMrr: { method: 'GET', path: '/api/v1/analytics/mrr', params: [], query: ['from', 'to', 'interval', 'groupBy'] },
    getChurn: { method: 'GET', path: '/api/v1/analytics/churn', params: [], query: ['from', 'to', 'interval', 'groupBy'] },
    getRetention: { method: 'GET', path: '/api/v1/analytics/retention', params: [], query: ['from', 'to', 'interval'] },
    getRevenue: { method: 'GET', path: '/api/v1/analytics/revenue', params: [], query: ['from', 'to', 'interval', 'groupBy'] },
    getPayments: { method: 'GET', path: '/api/v1/analytics/payments', params: [], query: ['from', 'to', 'interval', 'groupBy'] },
    getUsage: { method: 'GET', path: '/api/v1/analytics/usage', params: [], query: ['from', 'to', 'interval'] },
    getAttention: { method: 'GET', path: '/api/v1/analytics/attention', params: [], query: [] },
    getHealth: { method: 'GET', path: '/api/v1/analytics/health', params: [], query: [] },
  },
  search: {
    list: { method: 'GET', path: '/api/v1/search', params: [], query: ['q'] },
  },
} as const satisfies Record<string, Record<string, Operation>>;

/** The families of the API's operations. */
export abstract class Families {
  readonly utils: UtilsMethods;
  readonly apiKeys: ApiKeysMethods;
  readonly organizations: OrganizationsMethods;
  readonly settings: SettingsMethods;
  readonly archives: ArchivesMethods;
  readonly auditLog: AuditLogMethods;
  readonly changes: ChangesMethods;
  readonly customers: CustomersMethods;
  readonly subscriptions: SubscriptionsMethods;
  readonly pricingModels: PricingModelsMethods;
  readonly products: ProductsMethods;
  readonly productFeatures: ProductFeaturesMethods;
  readonly prices: PricesMethods;
  readonly features: FeaturesMethods;
  readonly usageMeters: UsageMetersMethods;
  readonly creditPools: CreditPoolsMethods;
  readonly resources: ResourcesMethods;
  readonly catalogs: CatalogsMethods;
  readonly discounts: DiscountsMethods;
  readonly subscriptionItemFeatures: SubscriptionItemFeaturesMethods;
  readonly resourceClaims: ResourceClaimsMethods;
  readonly entitlements: EntitlementsMethods;
  readonly usageCredits: UsageCreditsMethods;
  readonly usageEvents: UsageEventsMethods;
  readonly holds: HoldsMethods;
  readonly invoices: InvoicesMethods;
  readonly invoiceLineItems: InvoiceLineItemsMethods;
  readonly creditNotes: CreditNotesMethods;
  readonly customerBalances: CustomerBalancesMethods;
  readonly exports: ExportsMethods;
  readonly invoiceItems: InvoiceItemsMethods;
  readonly taxRates: TaxRatesMethods;
  readonly purchases: PurchasesMethods;
  readonly checkoutSessions: CheckoutSessionsMethods;
  readonly payments: PaymentsMethods;
  readonly paymentMethods: PaymentMethodsMethods;
  readonly webhooks: WebhooksMethods;
  readonly deliveries: DeliveriesMethods;
  readonly events: EventsMethods;
  readonly emails: EmailsMethods;
  readonly emailTemplates: EmailTemplatesMethods;
  readonly testClock: TestClockMethods;
  readonly analytics: AnalyticsMethods;
  readonly search: SearchMethods;

  constructor(caller: Caller) {
    this.utils = methodsOf(caller, operations.utils);
    this.apiKeys = methodsOf(caller, operations.apiKeys);
    this.organizations = methodsOf(caller, operations.organizations);
    this.settings = methodsOf(caller, operations.settings);
    this.archives = methodsOf(caller, operations.archives);
    this.auditLog = methodsOf(caller, operations.auditLog);
    this.changes = methodsOf(caller, operations.changes);
    this.customers = methodsOf(caller, operations.customers);
    this.subscriptions = methodsOf(caller, operations.subscriptions);
    this.pricingModels = methodsOf(caller, operations.pricingModels);
    this.products = methodsOf(caller, operations.products);
    this.productFeatures = methodsOf(caller, operations.productFeatures);
    this.prices = methodsOf(caller, operations.prices);
    this.features = methodsOf(caller, operations.features);
    this.usageMeters = methodsOf(caller, operations.usageMeters);
    this.creditPools = methodsOf(caller, operations.creditPools);
    this.resources = methodsOf(caller, operations.resources);
    this.catalogs = methodsOf(caller, operations.catalogs);
    this.discounts = methodsOf(caller, operations.discounts);
    this.subscriptionItemFeatures = methodsOf(caller, operations.subscriptionItemFeatures);
    this.resourceClaims = methodsOf(caller, operations.resourceClaims);
    this.entitlements = methodsOf(caller, operations.entitlements);
    this.usageCredits = methodsOf(caller, operations.usageCredits);
    this.usageEvents = methodsOf(caller, operations.usageEvents);
    this.holds = methodsOf(caller, operations.holds);
    this.invoices = methodsOf(caller, operations.invoices);
    this.invoiceLineItems = methodsOf(caller, operations.invoiceLineItems);
    this.creditNotes = methodsOf(caller, operations.creditNotes);
    this.customerBalances = methodsOf(caller, operations.customerBalances);
    this.exports = methodsOf(caller, operations.exports);
    this.invoiceItems = methodsOf(caller, operations.invoiceItems);
    this.taxRates = methodsOf(caller, operations.taxRates);
    this.purchases = methodsOf(caller, operations.purchases);
    this.checkoutSessions = methodsOf(caller, operations.checkoutSessions);
    this.payments = methodsOf(caller, operations.payments);
    this.paymentMethods = methodsOf(caller, operations.paymentMethods);
    this.webhooks = methodsOf(caller, operations.webhooks);
    this.deliveries = methodsOf(caller, operations.deliveries);
    this.events = methodsOf(caller, operations.events);
    this.emails = methodsOf(caller, operations.emails);
    this.emailTemplates = methodsOf(caller, operations.emailTemplates);
    this.testClock = methodsOf(caller, operations.testClock);
    this.analytics = methodsOf(caller, operations.analytics);
    this.search = methodsOf(caller, operations.search);
  }
}
