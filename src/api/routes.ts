import { z } from 'zod';
import type { Route } from '../http/route.ts';
import { analyticsRoutes } from './analytics.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { archiveRoutes } from './archives.ts';
import { auditLogRoutes } from './audit-log.ts';
import { catalogRoutes } from './catalogs.ts';
import { changeRoutes } from './changes.ts';
import { checkoutSessionRoutes } from './checkout-sessions.ts';
import { creditNoteRoutes } from './credit-notes.ts';
import { creditPoolRoutes } from './credit-pools.ts';
import { customerBalanceRoutes } from './customer-balances.ts';
import { customerRoutes } from './customers.ts';
import { deliveryRoutes } from './deliveries.ts';
import { discountRoutes } from './discounts.ts';
import { emailTemplateRoutes } from './email-templates.ts';
import { emailRoutes } from './emails.ts';
import { entitlementRoutes } from './entitlements.ts';
import { eventRoutes } from './events.ts';
import { exportRoutes } from './exports.ts';
import { featureRoutes } from './features.ts';
import { holdRoutes } from './holds.ts';
import { invitationRoutes } from './invitations.ts';
import { invoiceItemRoutes } from './invoice-items.ts';
import { invoiceLineItemRoutes } from './invoice-line-items.ts';
import { invoiceRoutes } from './invoices.ts';
import { memberRoutes } from './members.ts';
import { organizationRoutes } from './organizations.ts';
import { paymentMethodRoutes } from './payment-methods.ts';
import { paymentRoutes } from './payments.ts';
import { pingRoutes } from './ping.ts';
import { priceRoutes } from './prices.ts';
import { pricingModelRoutes } from './pricing-models.ts';
import { productFeatureRoutes } from './product-features.ts';
import { productRoutes } from './products.ts';
import { purchaseRoutes } from './purchases.ts';
import { resourceClaimRoutes } from './resource-claims.ts';
import { resourceRoutes } from './resources.ts';
import { searchRoutes } from './search.ts';
import { settingsRoutes } from './settings.ts';
import { signInProviderRoutes } from './sign-in-provider.ts';
import { subscriptionItemFeatureRoutes } from './subscription-item-features.ts';
import { subscriptionRoutes } from './subscriptions.ts';
import { taxRateRoutes } from './tax-rates.ts';
import { testClockRoutes } from './test-clock.ts';
import { usageCreditRoutes } from './usage-credits.ts';
import { usageEventRoutes } from './usage-events.ts';
import { usageMeterRoutes } from './usage-meters.ts';
import { webhookRoutes } from './webhooks.ts';

/**
 * Operations for people only. They are not in `openapi.json`, because no key may call them: the dashboard does. Otherwise they
 * are as all others.
 */
export const routesOfPeople: readonly Route[] = [...memberRoutes, ...invitationRoutes, ...signInProviderRoutes];

const itemOfAnswer = ['createdAt', 'updatedAt', 'livemode', 'pricingModelId', 'price'].map(
  (field) => `adjustment.newSubscriptionItems.*.${field}`,
);

/**
 * Fields that the clients of the reference send and the reference ignores, by operation. `*` is a position in an array,
 * and `?` marks a parameter of the query. They are ignored here too, and named in the header `Tollkeeper-Ignored`.
 */
const fieldsOfReference: Readonly<Record<string, readonly string[]>> = {
  // A customer is archived by an operation of its own. The route handler passes on the whole body of the browser.
  'PUT /customers/{externalId}': ['customer.archived', 'externalId', 'customer.id', 'customer.phone'],
  // An item may be sent back as it was answered.
  'POST /subscriptions/{id}/adjust': itemOfAnswer,
  'POST /subscriptions/{id}/preview-adjust': itemOfAnswer,
  // The price of a product is its default and as active as the product.
  'PUT /products/{id}': ['price.isDefault', 'price.active'],
  // The feature has its name and slug. The document of the reference requires them.
  'POST /subscription-item-features': ['subscriptionItemFeature.name', 'subscriptionItemFeature.slug'],
  // The path names the subscription already.
  'GET /resource-claims/{subscriptionId}/usage': ['?subscriptionId'],
  // The pricing model of a feature is fixed.
  'PUT /features/{id}': ['feature.pricingModelId'],
};

/** The routes, with the fields that each ignores for the clients of the reference. */
function withFieldsOfReference(routes: readonly Route[]): Route[] {
  return routes.map((route) => {
    const ignores = fieldsOfReference[`${route.method} ${route.path}`];
    return ignores === undefined ? route : { ...route, ignores };
  });
}

const reportFamilies = ['analytics', 'exports', 'search'];

/** The reads that a replica may answer: lists, reports, exports and search. Nothing is decided by them. */
function withReadsThatMayLag(routes: readonly Route[]): Route[] {
  return routes.map((route) => {
    const isList = route.returns instanceof z.ZodObject && 'hasMore' in route.returns.shape;
    const isReport = reportFamilies.includes(route.path.split('/')[1] ?? '');
    return route.method === 'GET' && (isList || isReport) ? { ...route, mayLag: true } : route;
  });
}

/** Every operation of the API, in the order of its documentation. */
export const routes: readonly Route[] = withReadsThatMayLag(
  withFieldsOfReference([
    ...pingRoutes,
    ...apiKeyRoutes,
    ...organizationRoutes,
    ...settingsRoutes,
    ...archiveRoutes,
    ...auditLogRoutes,
    ...changeRoutes,
    ...customerRoutes,
    ...subscriptionRoutes,
    ...pricingModelRoutes,
    ...productRoutes,
    ...productFeatureRoutes,
    ...priceRoutes,
    ...featureRoutes,
    ...usageMeterRoutes,
    ...creditPoolRoutes,
    ...resourceRoutes,
    ...catalogRoutes,
    ...discountRoutes,
    ...subscriptionItemFeatureRoutes,
    ...resourceClaimRoutes,
    ...entitlementRoutes,
    ...usageCreditRoutes,
    ...usageEventRoutes,
    ...holdRoutes,
    ...invoiceRoutes,
    ...invoiceLineItemRoutes,
    ...creditNoteRoutes,
    ...customerBalanceRoutes,
    ...exportRoutes,
    ...invoiceItemRoutes,
    ...taxRateRoutes,
    ...purchaseRoutes,
    ...checkoutSessionRoutes,
    ...paymentRoutes,
    ...paymentMethodRoutes,
    ...webhookRoutes,
    ...deliveryRoutes,
    ...eventRoutes,
    ...emailRoutes,
    ...emailTemplateRoutes,
    ...testClockRoutes,
    ...analyticsRoutes,
    ...searchRoutes,
  ]),
);
