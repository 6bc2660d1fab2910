import type { Route } from '../http/route.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { auditLogRoutes } from './audit-log.ts';
import { catalogRoutes } from './catalogs.ts';
import { checkoutSessionRoutes } from './checkout-sessions.ts';
import { customerRoutes } from './customers.ts';
import { deliveryRoutes } from './deliveries.ts';
import { discountRoutes } from './discounts.ts';
import { entitlementRoutes } from './entitlements.ts';
import { eventRoutes } from './events.ts';
import { featureRoutes } from './features.ts';
import { holdRoutes } from './holds.ts';
import { invoiceLineItemRoutes } from './invoice-line-items.ts';
import { invoiceRoutes } from './invoices.ts';
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
import { settingsRoutes } from './settings.ts';
import { subscriptionItemFeatureRoutes } from './subscription-item-features.ts';
import { subscriptionRoutes } from './subscriptions.ts';
import { taxRateRoutes } from './tax-rates.ts';
import { testClockRoutes } from './test-clock.ts';
import { usageCreditRoutes } from './usage-credits.ts';
import { usageEventRoutes } from './usage-events.ts';
import { usageMeterRoutes } from './usage-meters.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every operation of the API, in the order of its documentation. */
export const routes: readonly Route[] = [
  ...pingRoutes,
  ...apiKeyRoutes,
  ...settingsRoutes,
  ...auditLogRoutes,
  ...customerRoutes,
  ...subscriptionRoutes,
  ...pricingModelRoutes,
  ...productRoutes,
  ...productFeatureRoutes,
  ...priceRoutes,
  ...featureRoutes,
  ...usageMeterRoutes,
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
  ...taxRateRoutes,
  ...purchaseRoutes,
  ...checkoutSessionRoutes,
  ...paymentRoutes,
  ...paymentMethodRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...eventRoutes,
  ...testClockRoutes,
];
